// Package ledgertest is the conformance suite of [ledger.Store].
//
// Every backend passes [Run]; one that outlives its process passes
// [RunRestart] too, and one that several processes can open [RunProcesses].
// [Flaky] wraps a store so that it gives up, loses acknowledgements and
// refuses at random, and [Append] is a caller that copes with it: who writes
// another caller tests it on the same wrapper.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Opener opens a new, empty store, and closes it when the test ends.
type Opener func(t *testing.T) ledger.Store

// Run tests everything that a store promises within one process. A store that
// also is a [blob.Store] is asked for the chunks that came with its entries.
func Run(t *testing.T, open func(t *testing.T) ledger.Store) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s ledger.Store)
	}{
		{"what is appended is read back byte for byte", testReadBack},
		{"a run is not there until its first entry", testNotFound},
		{"reading begins at any entry", testReadFrom},
		{"reading may stop anywhere", testReadStops},
		{"an append elsewhere than at the end conflicts", testConflict},
		{"an append whose acknowledgement was lost may be repeated", testLostAcknowledgement},
		{"a batch is stored whole or not at all", testAtomic},
		{"what no store may take is refused", testRefused},
		{"the same holder keeps its lease, another waits for its end", testLease},
		{"a writer whose lease was taken over is fenced", testFencing},
		{"a lease that was given back is free", testRelease},
		{"an expired lease holds until it is taken", testExpired},
		{"statements come by count, each once", testStatements},
		{"statements about the store need no lease", testStoreStatements},
		{"runs are listed newest first", testRuns},
		{"runs of an engine are found by it", testRunsOf},
		{"many runs and statements are listed whole", testLongLists},
		{"bodies may be huge, tiny, odd or absent", testBodies},
		{"chunks are stored with their batch", testChunks},
		{"the caller's memory is its own again", testNoAliasing},
		{"a context that ended stores nothing", testCanceled},
		{"readers see whole batches while a writer appends", testReadsDuringAppends},
		{"16 writers append at the same time", func(t *testing.T, s ledger.Store) { testWriters(t, s, 16, 40) }},
		{"256 writers append at the same time", func(t *testing.T, s ledger.Store) { testWriters(t, s, 256, 5) }},
		{"of many who append the same place one wins", testRace},
		{"a caller copes with a flaky store", testFlaky},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open(t))
		})
	}
}

// RunRestart tests that what was acknowledged is there after the store was
// closed and opened again. Open opens the store at a place, twice or more.
func RunRestart(t *testing.T, open func(t *testing.T, place string) ledger.Store, closeStore func(s ledger.Store) error) {
	place := t.TempDir()
	s := open(t, place)
	w := NewWriter(t, s)
	var want []ledger.Entry
	for round := range 4 {
		for i := range 3 {
			b := w.Append(t, s, fmt.Sprint("round ", round, " batch ", i), strings.Repeat("x", 1000*i))
			want = append(want, b.Entries...)
		}
		head := ledger.Statement{Run: w.Lease.Run, Type: ledger.HeadType, Count: w.At.Count, Envelope: []byte(fmt.Sprint(round))}
		if err := s.Append(t.Context(), &ledger.Batch{Lease: w.Lease, At: w.At, Statements: []ledger.Statement{head}}); err != nil {
			t.Fatalf("round %d: Append of a statement = %v", round, err)
		}
		if err := closeStore(s); err != nil {
			t.Fatalf("round %d: Close = %v", round, err)
		}
		if err := s.Append(t.Context(), w.Batch(t, "late")); !errors.Is(err, ledger.ErrStore) {
			t.Errorf("round %d: Append after Close = %v, want %v", round, err, ledger.ErrStore)
		}
		s = open(t, place)
		sameEntries(t, fmt.Sprint("round ", round), collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), want)
		if got := len(collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, ledger.HeadType))); got != round+1 {
			t.Errorf("round %d: %d statements, want %d", round, got, round+1)
		}
		if _, err := s.Acquire(t.Context(), w.Lease.Run, "another", ttl); !errors.Is(err, ledger.ErrLeased) {
			t.Errorf("round %d: Acquire by another = %v, want %v: a lease outlives the process", round, err, ledger.ErrLeased)
		}
	}
}

func testReadBack(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	var want []ledger.Entry
	for i := range 50 {
		texts := []string{fmt.Sprint("entry ", i)}
		for k := range i % 4 {
			texts = append(texts, fmt.Sprint("entry ", i, " and ", k))
		}
		want = append(want, w.Append(t, s, texts...).Entries...)
		if at, err := s.At(t.Context(), w.Lease.Run); err != nil || at != w.At {
			t.Fatalf("At = %v, %v, want %v", at, err, w.At)
		}
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), want)
}

func testNotFound(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	for _, run := range []ledger.RunID{w.Lease.Run, NewRun(t), "", "no id"} {
		if at, err := s.At(t.Context(), run); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("At(%q) = %v, %v, want %v", run, at, err, ledger.ErrNotFound)
		}
		n := 0
		for _, err := range s.Read(t.Context(), run, 0) {
			n++
			if !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("Read(%q) = %v, want %v", run, err, ledger.ErrNotFound)
			}
		}
		if n != 1 {
			t.Errorf("Read(%q) yields %d times, want the error once", run, n)
		}
	}
	if runs := collect(t, "Runs", s.Runs(t.Context())); len(runs) != 0 {
		t.Errorf("Runs = %v, want none: a lease makes no run", runs)
	}
	if got := collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, ledger.HeadType)); len(got) != 0 {
		t.Errorf("Statements = %v, want none", got)
	}
}

func testReadFrom(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	var want []ledger.Entry
	for i := range 7 {
		want = append(want, w.Append(t, s, make([]string, i+1)...).Entries...)
	}
	for from := range len(want) + 3 {
		sameEntries(t, fmt.Sprint("Read from ", from), collect(t, "Read", s.Read(t.Context(), w.Lease.Run, int64(from))), want[min(from, len(want)):])
	}
}

func testReadStops(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	w.Append(t, s, "a", "b", "c", "d")
	for _, err := range s.Read(t.Context(), w.Lease.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	for e, err := range s.Read(t.Context(), w.Lease.Run, 1) {
		if err != nil {
			t.Fatal(err)
		}
		// A reader may use the store, also to write.
		if _, err := s.At(t.Context(), w.Lease.Run); err != nil {
			t.Fatal(err)
		}
		w.Append(t, s, "written while reading")
		if e.ID == w.At.Last {
			break
		}
		if w.At.Count > 20 {
			break
		}
	}
}

func testConflict(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	first := w.Append(t, s, "first", "second")
	late := &Writer{Lease: w.Lease}
	middle := &Writer{Lease: w.Lease, At: ledger.Position{Count: 1, Last: first.Entries[0].ID}}
	beyond := &Writer{Lease: w.Lease, At: ledger.Position{Count: 3, Last: canon.SHA256([]byte("x"))}}
	other := &Writer{Lease: w.Lease, At: ledger.Position{Count: 2, Last: canon.SHA256([]byte("x"))}}
	for _, c := range []struct {
		name string
		b    *ledger.Batch
	}{
		{"at the front", late.Batch(t, "other")},
		{"in the middle", middle.Batch(t, "other")},
		{"the same and one more", late.Batch(t, "first", "second", "third")},
		{"beyond the end", beyond.Batch(t, "other")},
		{"behind another id", other.Batch(t, "other")},
		{"behind another id, without entries", &ledger.Batch{Lease: w.Lease, At: other.At}},
		{"beyond the end, without entries", &ledger.Batch{Lease: w.Lease, At: beyond.At}},
	} {
		if err := s.Append(t.Context(), c.b); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("Append %s = %v, want %v", c.name, err, ledger.ErrConflict)
		}
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), first.Entries)
}

func testLostAcknowledgement(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	var all []*ledger.Batch
	var want []ledger.Entry
	for i := range 4 {
		b := w.Batch(t, fmt.Sprint(i), "and one more")
		b.Statements = []ledger.Statement{{Run: w.Lease.Run, Type: ledger.HeadType, Count: int64(i), Envelope: []byte("e")}}
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.Done(b)
		all, want = append(all, b), append(want, b.Entries...)
	}
	for i, b := range all {
		if err := s.Append(t.Context(), b); err != nil {
			t.Errorf("Append of batch %d again = %v, want nil", i, err)
		}
		if err := s.Append(t.Context(), &ledger.Batch{Lease: w.Lease, At: b.At}); err != nil {
			t.Errorf("Append of nothing at a position that was reached = %v, want nil", err)
		}
	}
	both := &ledger.Batch{Lease: w.Lease, At: all[0].At, Entries: want[:4]}
	if err := s.Append(t.Context(), both); err != nil {
		t.Errorf("Append of two batches as one, both there = %v, want nil", err)
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), want)
	if got := len(collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, ledger.HeadType))); got != 4 {
		t.Errorf("%d statements, want 4: each once", got)
	}
}

func testAtomic(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	first := w.Append(t, s, "first")
	b := w.Batch(t, "second")
	b.Statements = []ledger.Statement{{Run: w.Lease.Run, Type: ledger.HeadType, Count: 1, Envelope: []byte("e")}}
	b.Chunks = []blob.Chunk{{Scope: "a scope that nobody made", ID: canon.SHA256(nil), Bytes: []byte("x")}}
	if err := s.Append(t.Context(), b); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Fatalf("Append with a chunk of no scope = %v, want %v", err, blob.ErrScopeNotFound)
	}
	b.Chunks, b.Lease.Token = nil, w.Lease.Token+1
	if err := s.Append(t.Context(), b); !errors.Is(err, ledger.ErrFenced) {
		t.Fatalf("Append with another token = %v, want %v", err, ledger.ErrFenced)
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), first.Entries)
	if got := collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, ledger.HeadType)); len(got) != 0 {
		t.Errorf("%d statements of refused batches, want none", len(got))
	}
}

func testRefused(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	change := func(f func(b *ledger.Batch)) *ledger.Batch {
		b := w.Batch(t, "one", "two")
		f(b)
		return b
	}
	for _, c := range []struct {
		name string
		b    *ledger.Batch
	}{
		{"a header that is none", change(func(b *ledger.Batch) { b.Entries[1].Header = []byte("{}") })},
		{"entries out of order", change(func(b *ledger.Batch) { b.Entries[0], b.Entries[1] = b.Entries[1], b.Entries[0] })},
		{"an entry twice", change(func(b *ledger.Batch) { b.Entries[1] = b.Entries[0] })},
		{"a gap", change(func(b *ledger.Batch) { b.Entries = b.Entries[1:] })},
		{"another run", change(func(b *ledger.Batch) { b.Lease.Run = NewRun(t) })},
		{"no run", change(func(b *ledger.Batch) { b.Lease.Run = "" })},
		{"a body over the limit", change(func(b *ledger.Batch) { b.Entries[0].Body = make([]byte, ledger.MaxBody+1) })},
		{"too many attachments", change(func(b *ledger.Batch) { b.Entries[0].Parts = make([]blob.Part, ledger.MaxAttachments+1) })},
		{"a recipe over the limit", change(func(b *ledger.Batch) { b.Entries[0].Parts = []blob.Part{{Recipe: make([]byte, ledger.MaxRecipe+1)}} })},
		{"a scope over the limit", change(func(b *ledger.Batch) { b.Entries[0].Scope = strings.Repeat("s", blob.MaxScope+1) })},
		{"no id", change(func(b *ledger.Batch) { b.Entries[0].ID = canon.Digest{} })},
		{"a count without a last id", change(func(b *ledger.Batch) { b.At.Count = 1 })},
		{"a statement about another run", change(func(b *ledger.Batch) { b.Statements = []ledger.Statement{{Run: NewRun(t)}} })},
		{"a chunk over the limit", change(func(b *ledger.Batch) {
			b.Chunks = []blob.Chunk{{Scope: "s", Bytes: make([]byte, blob.MaxChunk+1)}}
		})},
		{"nothing at all", &ledger.Batch{}},
	} {
		if err := s.Append(t.Context(), c.b); fault.ClassOf(err) != fault.ClassInvalid {
			t.Errorf("Append of %s = %v, want an error of class invalid", c.name, err)
		}
	}
	for _, c := range []struct {
		run    ledger.RunID
		holder string
		ttl    time.Duration
	}{{"no id", "h", ttl}, {NewRun(t), "", ttl}, {NewRun(t), "h", -1}} {
		if _, err := s.Acquire(t.Context(), c.run, c.holder, c.ttl); fault.ClassOf(err) != fault.ClassInvalid {
			t.Errorf("Acquire(%q, %q, %s) = %v, want an error of class invalid", c.run, c.holder, c.ttl, err)
		}
	}
}

func testBodies(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	const frame = len(`{"data":"","name":"test"}`)
	texts := []string{"open", "", "x", strings.Repeat("ab", 300), strings.Repeat("y", ledger.MaxBody-frame)}
	b := w.Batch(t, texts...)
	if n := len(b.Entries[4].Body); n != ledger.MaxBody {
		t.Fatalf("the largest body has %d bytes, want %d", n, ledger.MaxBody)
	}
	b.Entries[1].Body = nil // withheld
	b.Entries[2].Body = []byte{}
	b.Entries[2].Scope = ""
	b.Entries[3].Scope = "somebody else\x00\xff"
	b.Entries[3].Parts = []blob.Part{
		{Scope: string(w.Lease.Run), Salt: canon.Salt{1}, Size: 1 << 62, Recipe: []byte{1}},
		{Scope: "s", Size: 0, Recipe: nil},
		{Scope: "", Salt: canon.Salt{2}, Size: 7, Recipe: []byte{}},
		{Scope: "s", Size: 9, Recipe: []byte(strings.Repeat("r", ledger.MaxRecipe))},
	}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), b.Entries)
}

func testChunks(t *testing.T, s ledger.Store) {
	blobs, ok := s.(blob.Store)
	if !ok {
		t.Log("not a blob.Store")
		return
	}
	w := NewWriter(t, s)
	scope := blob.Scope{ID: string(w.Lease.Run), Key: [32]byte{1}}
	if _, err := blobs.Scope(t.Context(), scope.ID, &scope); err != nil {
		t.Fatal(err)
	}
	bytes := []byte(strings.Repeat("chunk ", 500))
	c := blob.Chunk{Scope: scope.ID, ID: canon.MAC(scope.Key[:], bytes), Bytes: bytes}
	b := w.Batch(t, "one")
	b.Chunks = []blob.Chunk{c, c}
	for range 2 {
		if err := s.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	w.Done(b)
	got, err := blobs.Get(t.Context(), scope.ID, c.ID)
	if err != nil || string(got) != string(bytes) {
		t.Errorf("Get = %d bytes, %v, want the chunk", len(got), err)
	}
	b = w.Batch(t, "two")
	b.At, b.Entries = ledger.Position{}, (&Writer{Lease: w.Lease}).Entries(t, "conflict")
	b.Chunks = []blob.Chunk{{Scope: scope.ID, ID: canon.SHA256([]byte("2")), Bytes: []byte("2")}}
	if err := s.Append(t.Context(), b); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("Append = %v, want %v", err, ledger.ErrConflict)
	}
}

func testNoAliasing(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	b := w.Batch(t, "one", "two")
	b.Entries[1].Parts = []blob.Part{{Scope: "s", Recipe: []byte{1, 2, 3}}}
	b.Statements = []ledger.Statement{{Run: w.Lease.Run, Type: ledger.HeadType, Count: 1, Envelope: []byte("envelope")}}
	want := (&Writer{Lease: w.Lease}).Entries(t, "one", "two")
	want[1].Parts = []blob.Part{{Scope: "s", Recipe: []byte{1, 2, 3}}}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]byte{b.Entries[0].Header, b.Entries[0].Body, b.Entries[1].Body, b.Entries[1].Parts[0].Recipe, b.Statements[0].Envelope} {
		clear(p)
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), want)
	if st := collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, ledger.HeadType)); string(st[0].Envelope) != "envelope" {
		t.Errorf("the statement is %q", st[0].Envelope)
	}
}

func testCanceled(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	first := w.Append(t, s, "first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(ctx, w.Batch(t, "second")); !errors.Is(err, context.Canceled) || !errors.Is(err, ledger.ErrStore) {
		t.Errorf("Append with a context that ended = %v, want %v by %v", err, ledger.ErrStore, context.Canceled)
	}
	if _, err := s.At(ctx, w.Lease.Run); !errors.Is(err, context.Canceled) {
		t.Errorf("At with a context that ended = %v, want %v", err, context.Canceled)
	}
	for _, err := range s.Read(ctx, w.Lease.Run, 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Read with a context that ended = %v, want %v", err, context.Canceled)
		}
	}
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), first.Entries)
}

func testReadsDuringAppends(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	w.Append(t, s, "a", "b")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for last := 0; ; {
				n := 0
				var at ledger.Position
				for e, err := range s.Read(t.Context(), w.Lease.Run, 0) {
					if err != nil {
						t.Errorf("Read during appends = %v", err)
						return
					}
					if h, err := ledger.ParseHeader(e.Header); err != nil || h.N != at.Count || h.Prev != at.Last {
						t.Errorf("Read during appends: entry %d does not follow its predecessor (%v)", at.Count, err)
						return
					}
					at = ledger.Position{Count: at.Count + 1, Last: e.ID}
					n++
				}
				if n%2 != 0 || n < last {
					t.Errorf("Read during appends gives %d entries after %d: a part of a batch, or fewer than before", n, last)
				}
				last = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 60 {
		w.Append(t, s, fmt.Sprint(i), strings.Repeat("z", 50*i))
	}
	close(done)
	wg.Wait()
}

func testWriters(t *testing.T, s ledger.Store, writers, appends int) {
	all := make([][]ledger.Entry, writers)
	ws := make([]*Writer, writers)
	var wg sync.WaitGroup
	for i := range ws {
		ws[i] = NewWriter(t, s)
		wg.Go(func() {
			for k := range appends {
				b := ws[i].Batch(t, fmt.Sprintf("writer %d append %d", i, k))
				if err := s.Append(t.Context(), b); err != nil {
					t.Errorf("writer %d: Append = %v", i, err)
					return
				}
				ws[i].Done(b)
				all[i] = append(all[i], b.Entries...)
			}
		})
	}
	wg.Wait()
	for i, w := range ws {
		sameEntries(t, fmt.Sprint("writer ", i), collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), all[i])
	}
	if got := len(collect(t, "Runs", s.Runs(t.Context()))); got != writers {
		t.Errorf("%d runs, want %d", got, writers)
	}
}

func testRace(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	const racers = 32
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		b := w.Batch(t, fmt.Sprint("racer ", i))
		wg.Go(func() { errs[i] = s.Append(t.Context(), b) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("Append = %v, want nil or %v", err, ledger.ErrConflict)
		}
	}
	if n := len(collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0))); won != 1 || n != 1 {
		t.Errorf("%d of %d appends to one place were acknowledged and %d entries are there, want 1 and 1", won, racers, n)
	}
}
