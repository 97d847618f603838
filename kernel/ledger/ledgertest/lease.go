package ledgertest

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/kernel/ledger"
)

// moment is a ttl that has run out when the next call is made.
const moment = time.Nanosecond

func acquire(t *testing.T, s ledger.Store, run ledger.RunID, holder string, ttl time.Duration) ledger.Lease {
	t.Helper()
	lease, err := s.Acquire(t.Context(), run, holder, ttl)
	if err != nil {
		t.Fatalf("Acquire by %q = %v", holder, err)
	}
	return lease
}

func testLease(t *testing.T, s ledger.Store) {
	run := NewRun(t)
	first := acquire(t, s, run, "a", ttl)
	if first.Run != run {
		t.Errorf("Acquire gives the lease of %q, want %q", first.Run, run)
	}
	if again := acquire(t, s, run, "a", ttl); again != first {
		t.Errorf("Acquire by the same holder = %v, want %v again", again, first)
	}
	for _, want := range []time.Duration{ttl, 0} {
		if lease, err := s.Acquire(t.Context(), run, "b", want); !errors.Is(err, ledger.ErrLeased) {
			t.Errorf("Acquire by another for %s = %v, %v, want %v", want, lease, err, ledger.ErrLeased)
		}
	}
	w := &Writer{Lease: first}
	w.Append(t, s, "one")
}

// takeOver lets the lease of a writer run out and gives it to another.
func takeOver(t *testing.T, s ledger.Store, w *Writer, other string) *Writer {
	t.Helper()
	acquire(t, s, w.Lease.Run, Holder, moment)
	time.Sleep(2 * time.Millisecond)
	lease := acquire(t, s, w.Lease.Run, other, ttl)
	if lease.Token <= w.Lease.Token {
		t.Fatalf("the token of the new holder is %d, that of the old was %d; want a larger one", lease.Token, w.Lease.Token)
	}
	return &Writer{Lease: lease, At: w.At}
}

func testFencing(t *testing.T, s ledger.Store) {
	old := NewWriter(t, s)
	first := old.Append(t, s, "first")
	late := old.Batch(t, "late")
	next := takeOver(t, s, old, "another")
	if err := s.Append(t.Context(), late); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append by the old holder = %v, want %v", err, ledger.ErrFenced)
	}
	if err := s.Append(t.Context(), first); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append by the old holder, of what is there = %v, want %v", err, ledger.ErrFenced)
	}
	if _, err := s.Acquire(t.Context(), old.Lease.Run, Holder, ttl); !errors.Is(err, ledger.ErrLeased) {
		t.Errorf("Acquire by the old holder = %v, want %v", err, ledger.ErrLeased)
	}
	second := next.Append(t, s, "second")
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), old.Lease.Run, 0)), append(first.Entries, second.Entries...))
}

func testRelease(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	w.Append(t, s, "one")
	acquire(t, s, w.Lease.Run, Holder, 0)
	if err := s.Append(t.Context(), w.Batch(t, "two")); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append with a lease that was given back = %v, want %v", err, ledger.ErrFenced)
	}
	next := &Writer{Lease: acquire(t, s, w.Lease.Run, "another", ttl), At: w.At}
	if next.Lease.Token <= w.Lease.Token {
		t.Errorf("token %d after %d, want a larger one", next.Lease.Token, w.Lease.Token)
	}
	next.Append(t, s, "two")
	if err := s.Append(t.Context(), w.Batch(t, "two")); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append with a lease that another has = %v, want %v", err, ledger.ErrFenced)
	}
	unknown := NewRun(t)
	acquire(t, s, unknown, "a", 0)
	acquire(t, s, unknown, "b", ttl)
}

func testExpired(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	acquire(t, s, w.Lease.Run, Holder, moment)
	time.Sleep(2 * time.Millisecond)
	w.Append(t, s, "nobody else wants it")
	if again := acquire(t, s, w.Lease.Run, Holder, ttl); again != w.Lease {
		t.Errorf("Acquire of the own lease that ran out = %v, want %v", again, w.Lease)
	}
}
