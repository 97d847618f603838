package drive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// stuck is a store whose disk answers nothing any more until it is dead.
type stuck struct {
	drive.Store
	from atomic.Bool
	dead chan struct{}
}

func (s *stuck) Append(ctx context.Context, b *ledger.Batch) error {
	if s.from.Load() {
		<-s.dead
		return errors.New("the disk is gone")
	}
	return s.Store.Append(ctx, b)
}

// killed is a recorder that was killed before anything but the open was
// committed: two answers were coming.
type killed struct {
	store *memory.Store
	cfg   drive.Config // of who finds it
	run   ledger.RunID
	calls []int64
	asked []byte // what each call sent
}

func kill(t *testing.T) *killed {
	t.Helper()
	ctx := context.Background()
	clock := time.Now()
	k := &killed{store: memory.New(&memory.Options{Now: func() time.Time { return clock }}), asked: make([]byte, 200_000)}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(k.asked)
	disk := &stuck{Store: k.store, dead: make(chan struct{})}
	t.Cleanup(func() { close(disk.dead) })
	k.cfg = config(t, disk, "recorder")
	rec, err := drive.Open(ctx, k.cfg, drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	k.run = rec.Run()
	disk.from.Store(true)
	for _, prompt := range []string{"one", "two"} {
		c := modelCall(prompt)
		c.Contents = []ledger.Content{{Name: "request", Type: "application/octet-stream", Bytes: k.asked}}
		x, err := rec.Begin(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		k.calls = append(k.calls, x.N())
		stream(t, x, prompt+" first. ", prompt+" last. ")
	}
	clock = clock.Add(time.Minute)
	k.cfg.Store, k.cfg.Holder = k.store, "another process"
	return k
}

// spool returns the one file that the recorder has staged to.
func (k *killed) spool() string { return filepath.Join(k.cfg.Spool, string(k.run), "00000000.parts") }

// A client gets the first part of an answer before its call is committed. So
// the call is staged with it, and is in the ledger after a kill.
func TestKilledRecorderLeavesTheCallsThatWereNotCommitted(t *testing.T) {
	t.Parallel()
	k := kill(t)
	ctx := context.Background()
	if done, err := drive.Recover(ctx, k.cfg); err != nil || len(done) != 1 {
		t.Fatalf("Recover = %v, %v; want the run", done, err)
	}
	verify(t, k.store, k.run)
	r := drive.NewReader(k.store, k.run)
	j := journal(t, k.store, k.run)
	for i, prompt := range []string{"one", "two"} {
		call, err := r.Open(ctx, k.calls[i])
		if err != nil {
			t.Fatal(err)
		}
		asked, err := r.Bytes(ctx, call, 0)
		if err != nil || !bytes.Equal(asked, k.asked) {
			t.Errorf("call %q has a request of %d bytes, %v; want the %d that were sent", prompt, len(asked), err, len(k.asked))
		}
	}
	for _, left := range j.Left() {
		o, err := r.Open(ctx, left.Outcome.N)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Bytes(ctx, o, 0)
		want := map[int64]string{k.calls[0]: "one first. one last. ", k.calls[1]: "two first. two last. "}[left.Call.N]
		if err != nil || string(got) != want {
			t.Errorf("the answer to call %d is %q, %v; want %q", left.Call.N, got, err, want)
		}
	}
	if n := len(j.Left()); n != 2 {
		t.Errorf("%d calls have an outcome, want 2", n)
	}
}

// Whatever of the file is there: what can be read of it makes a ledger that
// verifies, in which an answer is a part of what came.
func TestTornSpoolIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	whole := kill(t)
	b, err := os.ReadFile(whole.spool())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // places to cut at
	for range 40 {
		k, cut := kill(t), rng.IntN(len(b))
		if err := os.Truncate(k.spool(), int64(cut)); err != nil {
			t.Fatal(err)
		}
		if _, err := drive.Recover(context.Background(), k.cfg); err != nil {
			t.Fatalf("cut at %d: Recover = %v", cut, err)
		}
		verify(t, k.store, k.run)
		r := drive.NewReader(k.store, k.run)
		for _, left := range journal(t, k.store, k.run).Left() {
			o, err := r.Open(t.Context(), left.Outcome.N)
			if err != nil {
				t.Fatal(err)
			}
			if len(o.Att) == 0 {
				continue
			}
			got, err := r.Bytes(t.Context(), o, 0)
			if err != nil || !bytes.HasPrefix([]byte("one first. one last. "), got) && !bytes.HasPrefix([]byte("two first. two last. "), got) {
				t.Errorf("cut at %d: an answer is %q, %v", cut, got, err)
			}
		}
	}
}

// A request that is too large to be written twice is committed before its
// answer is given away.
func TestLargeCallIsCommittedBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	s, err := drive.Open(t.Context(), config(t, store, "recorder"), drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 800_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(long)
	c := modelCall("long")
	c.Contents = []ledger.Content{{Name: "request", Type: "application/octet-stream", Bytes: long}}
	x, err := s.Begin(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	st, err := x.Stream("response", "text/event-stream", canon.Object())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(st, "a part"); err != nil {
		t.Fatal(err)
	}
	if at, err := store.At(t.Context(), s.Run()); err != nil || at.Count <= x.N() {
		t.Errorf("At = %+v, %v; want the call at %d", at, err, x.N())
	}
	if err := x.End(t.Context(), effect.Outcome{Status: effect.OK}); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	verify(t, store, s.Run())
}

// faltering is a store that refuses an append now and then.
type faltering struct {
	drive.Store
	refuse atomic.Int64 // how many appends
}

func (f *faltering) Append(ctx context.Context, b *ledger.Batch) error {
	if f.refuse.Add(-1) >= 0 {
		return fault.New(ledger.ErrStore, "faltering.Append", "not now")
	}
	return f.Store.Append(ctx, b)
}

// What a store cannot take at the moment it is given again, and counts when it
// is there.
func TestWriterTriesAgain(t *testing.T) {
	t.Parallel()
	store := &faltering{Store: newMemory(t)}
	s, err := drive.Open(t.Context(), config(t, store, "recorder"), drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	store.refuse.Store(2)
	if got, err := exchange(t.Context(), s, "hello", shout); err != nil || got != "hello!" {
		t.Errorf("exchange = %q, %v", got, err)
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	verify(t, store, s.Run())
	if n := len(bodies(t, store, s.Run())); n != 4 {
		t.Errorf("the ledger has %d entries, want open, call, outcome and seal", n)
	}
}
