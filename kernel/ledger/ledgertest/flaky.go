package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Flaky returns a store that does what s does and in addition, at random by
// the seed: gives up before an append, loses the acknowledgement of one that
// was stored, cancels the context while it runs, and refuses with a conflict
// that nobody caused. What it acknowledges is stored.
func Flaky(s ledger.Store, seed uint64) ledger.Store {
	return &flaky{Store: s, rng: rand.New(rand.NewPCG(seed, 1))}
}

type flaky struct {
	ledger.Store
	mu  sync.Mutex
	rng *rand.Rand
}

// mishap says what goes wrong with a call.
type mishap int

const (
	early mishap = iota
	lost
	canceled
	spurious
	none  // and all above it
	draws = 3 * none
)

func (f *flaky) draw() mishap {
	f.mu.Lock()
	defer f.mu.Unlock()
	return mishap(f.rng.IntN(int(draws)))
}

func (f *flaky) around(ctx context.Context, call func(context.Context) error) error {
	const op = "ledgertest.Flaky"
	switch f.draw() {
	case early:
		return fault.New(ledger.ErrStore, op, "given up before anything was stored")
	case lost:
		if err := call(ctx); err != nil {
			return err
		}
		return fault.New(ledger.ErrStore, op, "the acknowledgement was lost")
	case canceled:
		ctx, cancel := context.WithTimeout(ctx, 50*time.Microsecond)
		defer cancel()
		return call(ctx)
	case spurious:
		return fault.New(ledger.ErrConflict, op, "a conflict that nobody caused")
	default:
		return call(ctx)
	}
}

func (f *flaky) Acquire(ctx context.Context, run ledger.RunID, holder string, ttl time.Duration) (lease ledger.Lease, err error) {
	err = f.around(ctx, func(ctx context.Context) error {
		var err error
		lease, err = f.Store.Acquire(ctx, run, holder, ttl)
		return err
	})
	return lease, err
}

func (f *flaky) Append(ctx context.Context, b *ledger.Batch) error {
	return f.around(ctx, func(ctx context.Context) error { return f.Store.Append(ctx, b) })
}

func (f *flaky) At(ctx context.Context, run ledger.RunID) (at ledger.Position, err error) {
	err = f.around(ctx, func(ctx context.Context) error {
		var err error
		at, err = f.Store.At(ctx, run)
		return err
	})
	if errors.Is(err, ledger.ErrConflict) {
		err = fault.New(ledger.ErrStore, "ledgertest.Flaky", "given up while reading")
	}
	return at, err
}

func (f *flaky) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		stop := f.draw() == early
		for e, err := range f.Store.Read(ctx, run, from) {
			if stop && err == nil {
				e, err = nil, fault.New(ledger.ErrStore, "ledgertest.Flaky", "given up while reading")
			}
			if !yield(e, err) || err != nil {
				return
			}
			stop = f.draw() == early
		}
	}
}

// Append appends b and, whenever the outcome is in doubt, asks the store
// where the ledger stands and goes on from there. It gives up when the ledger
// has grown by other entries, when it is fenced, and when ctx ends.
func Append(ctx context.Context, s ledger.Store, b *ledger.Batch) error {
	for {
		err := s.Append(ctx, b)
		if err == nil || ctx.Err() != nil || !fault.ClassOf(err).Retryable() {
			return err
		}
		at, atErr := s.At(ctx, b.Lease.Run)
		switch {
		case errors.Is(atErr, ledger.ErrNotFound):
			at = ledger.Position{}
		case atErr != nil && !fault.ClassOf(atErr).Retryable():
			return atErr
		case atErr != nil:
			continue
		}
		if at != b.At && at != behind(b) {
			return err
		}
	}
}

func testFlaky(t *testing.T, inner ledger.Store) {
	const writers, appends = 8, 25
	var wg sync.WaitGroup
	for i := range writers {
		w := NewWriter(t, inner)
		s := Flaky(inner, uint64(i))
		wg.Go(func() {
			var want []ledger.Entry
			for k := range appends {
				b := w.Batch(t, fmt.Sprintf("writer %d append %d", i, k), "")
				b.Statements = []ledger.Statement{{Run: w.Lease.Run, Type: ledger.HeadType, Count: int64(k), Envelope: []byte("e")}}
				if err := Append(t.Context(), s, b); err != nil {
					t.Errorf("writer %d append %d = %v", i, k, err)
					return
				}
				w.Done(b)
				want = append(want, b.Entries...)
			}
			got, err := readAll(t.Context(), s, w.Lease.Run)
			if err != nil {
				t.Errorf("writer %d: Read = %v", i, err)
				return
			}
			sameEntries(t, fmt.Sprint("writer ", i), got, want)
			if n := len(collect(t, "Statements", inner.Statements(t.Context(), w.Lease.Run, ledger.HeadType))); n != appends {
				t.Errorf("writer %d: %d statements, want %d", i, n, appends)
			}
			// A ledger that grew by somebody else is a true conflict.
			other := &Writer{Lease: w.Lease, At: ledger.Position{Count: 1, Last: canon.SHA256([]byte("x"))}}
			if err := Append(t.Context(), s, other.Batch(t, "other")); !errors.Is(err, ledger.ErrConflict) && !errors.Is(err, ledger.ErrStore) {
				t.Errorf("writer %d: Append behind another id = %v, want %v", i, err, ledger.ErrConflict)
			}
		})
	}
	wg.Wait()
}

// readAll reads a run, beginning again behind the last entry that came.
func readAll(ctx context.Context, s ledger.Store, run ledger.RunID) ([]*ledger.Entry, error) {
	var out []*ledger.Entry
	for {
		var failed error
		for e, err := range s.Read(ctx, run, int64(len(out))) {
			if failed = err; err != nil {
				break
			}
			out = append(out, e)
		}
		if failed == nil || !fault.ClassOf(failed).Retryable() {
			return out, failed
		}
	}
}
