package drive

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

func note(ctx context.Context, s *Session) error {
	_, err := s.Note(ctx, -1, "test", canon.Value{})
	return err
}

// Whoever waits, whether they can give up or not, everything that was
// acknowledged is durable and in order, and nobody waits for ever.
func TestWritersOfBothKinds(t *testing.T) {
	t.Parallel()
	cfg := Config{Store: memory.New(nil), Now: time.Now, Rand: rand.Reader, Holder: "test"}
	s, err := Open(t.Context(), cfg, Opening{Engine: "test", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	const each = 50
	patient := context.WithoutCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 8 {
		ctx := t.Context()
		if i%2 == 0 {
			ctx = patient
		}
		wg.Go(func() {
			for range each {
				if err := note(ctx, s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if at, err := cfg.Store.At(t.Context(), s.Run()); err != nil || at.Count != 1+8*each {
		t.Errorf("At() = %d, %v, want %d durable entries", at.Count, err, 1+8*each)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []context.Context{patient, t.Context()} {
		if err := note(ctx, s); !errors.Is(err, ErrEnded) {
			t.Errorf("Note() behind the end = %v, want %v", err, ErrEnded)
		}
	}
	res, err := ledger.Verify(t.Context(), ledger.Evidence{Run: s.Run(), Entries: cfg.Store.Read(t.Context(), s.Run(), 0)})
	if err != nil || res.Failed() {
		t.Errorf("Verify() = %+v, %v", res, err)
	}
}

// An entry that nobody waits for is stored all the same.
func TestAnEntryThatNobodyWaitsForIsStored(t *testing.T) {
	t.Parallel()
	cfg := Config{Store: memory.New(nil), Now: time.Now, Rand: rand.Reader, Holder: "test"}
	s, err := Open(t.Context(), cfg, Opening{Engine: "test", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	for range 3 {
		_, g, err := s.append(ledger.KindEvent, canon.Object(canon.M("name", canon.String("x"))), canon.Value{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-g.done
		if g.err != nil {
			t.Error(g.err)
		}
	}
}
