package ledgertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func testStatements(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	w.Append(t, s, "one", "two")
	say := func(typ string, count int64, envelope string) {
		t.Helper()
		st := ledger.Statement{Run: w.Lease.Run, Type: typ, Count: count, Envelope: []byte(envelope)}
		if err := s.Append(t.Context(), &ledger.Batch{Lease: w.Lease, At: w.At, Statements: []ledger.Statement{st}}); err != nil {
			t.Fatalf("Append of a statement = %v", err)
		}
	}
	say("head", 2, "b")
	say("head", 1, "a")
	say("other", 1, "x")
	say("head", 2, "c")
	say("head", 1, "a")
	var got []string
	for _, st := range collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, "head")) {
		if st.Run != w.Lease.Run || st.Type != "head" {
			t.Errorf("Statements yields one about %q of type %q", st.Run, st.Type)
		}
		got = append(got, fmt.Sprint(st.Count, string(st.Envelope)))
	}
	if want := []string{"1a", "2b", "2c"}; !slices.Equal(got, want) {
		t.Errorf("Statements = %v, want %v", got, want)
	}
	if n := len(collect(t, "Statements", s.Statements(t.Context(), NewRun(t), "head"))); n != 0 {
		t.Errorf("%d statements about another run, want none", n)
	}
}

func testStoreStatements(t *testing.T, s ledger.Store) {
	w := NewWriter(t, s)
	w.Append(t, s, "one")
	st := ledger.Statement{Type: "manifest", Count: 1, Envelope: []byte("m")}
	for range 2 {
		if err := s.Append(t.Context(), &ledger.Batch{Statements: []ledger.Statement{st}}); err != nil {
			t.Fatalf("Append of a statement about the store = %v", err)
		}
	}
	got := collect(t, "Statements", s.Statements(t.Context(), "", "manifest"))
	if len(got) != 1 || string(got[0].Envelope) != "m" {
		t.Errorf("Statements = %v, want the one", got)
	}
}

func testRuns(t *testing.T, s ledger.Store) {
	var ws []*Writer
	for i := range 5 {
		w := NewWriter(t, s)
		w.Append(t, s, "open", fmt.Sprint(i))
		ws = append(ws, w)
	}
	// A seal ends a run; what Ended and Sealed say follows the last entry.
	sealed := ws[2]
	p, err := ledger.Prepare(ledger.Draft{
		Run:  sealed.Lease.Run,
		Kind: ledger.KindSeal, Body: canon.Object(canon.M("status", canon.String("done"))), T: "2026-11-21T11:00:00Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	e, at := sealed.At.Next(sealed.Lease.Run, p)
	if err := s.Append(t.Context(), &ledger.Batch{Lease: sealed.Lease, At: sealed.At, Entries: []ledger.Entry{e}}); err != nil {
		t.Fatal(err)
	}
	sealed.At = at
	slices.SortFunc(ws, func(a, b *Writer) int {
		if a.Lease.Run < b.Lease.Run {
			return 1
		}
		return -1
	})
	got := collect(t, "Runs", s.Runs(t.Context()))
	if len(got) != len(ws) {
		t.Fatalf("Runs yields %d, want %d", len(got), len(ws))
	}
	for i, w := range ws {
		want := ledger.RunInfo{Run: w.Lease.Run, At: w.At, Opened: "2026-11-21T10:00:00.000Z", Ended: "2026-11-21T10:00:00.001Z"}
		if w == sealed {
			want.Sealed, want.Ended = true, "2026-11-21T11:00:00Z"
		}
		if got[i] != want {
			t.Errorf("Runs yields %+v in place %d, want %+v", got[i], i, want)
		}
	}
}

// testRunsOf asks for more runs of an engine than a store reads at once.
func testRunsOf(t *testing.T, s ledger.Store) {
	want := map[string][]ledger.RunID{}
	for i := range 1100 {
		w := NewWriter(t, s)
		engine := "many"
		if i%100 == 7 {
			engine = "few"
		}
		p, err := ledger.Prepare(ledger.Draft{
			Run: w.Lease.Run, Kind: ledger.KindOpen, Body: canon.Object(canon.M("engine", canon.String(engine))), T: "2026-11-21T11:00:00Z",
		})
		if err != nil {
			t.Fatal(err)
		}
		e, at := w.At.Next(w.Lease.Run, p)
		for range 2 { // as after a lost acknowledgement
			if err := s.Append(t.Context(), &ledger.Batch{Lease: w.Lease, At: w.At, Entries: []ledger.Entry{e}}); err != nil {
				t.Fatal(err)
			}
		}
		w.At = at
		w.Append(t, s, "more")
		want[engine] = append(want[engine], w.Lease.Run)
	}
	NewWriter(t, s).Append(t, s, "no engine")
	for _, engine := range []string{"many", "few", "none", "FEW", "fe"} {
		runs := want[engine]
		slices.Sort(runs)
		slices.Reverse(runs)
		var got []ledger.RunID
		for _, info := range collect(t, "RunsOf", s.RunsOf(t.Context(), engine)) {
			if info.At.Count != 2 || info.Opened != "2026-11-21T11:00:00Z" {
				t.Fatalf("RunsOf(%q) yields %+v, want a run of two entries", engine, info)
			}
			got = append(got, info.Run)
		}
		if !slices.Equal(got, runs) {
			t.Errorf("RunsOf(%q) yields %d runs, want %d, newest first", engine, len(got), len(runs))
		}
	}
}

// testLongLists goes beyond what a store reads at once.
func testLongLists(t *testing.T, s ledger.Store) {
	const many = 1100
	w := NewWriter(t, s)
	w.Append(t, s, "open")
	var list []ledger.Statement
	for i := range many {
		list = append(list, ledger.Statement{Run: w.Lease.Run, Type: "t", Count: int64(i / 3), Envelope: fmt.Append(nil, i)})
	}
	if err := s.Append(t.Context(), &ledger.Batch{Lease: w.Lease, At: w.At, Statements: list}); err != nil {
		t.Fatal(err)
	}
	for i, st := range collect(t, "Statements", s.Statements(t.Context(), w.Lease.Run, "t")) {
		if string(st.Envelope) != fmt.Sprint(i) {
			t.Fatalf("statement %d is %s", i, st.Envelope)
		}
	}
	texts := make([]string, 4*many)
	want := append(collectEntries(t, s, w), w.Append(t, s, texts...).Entries...)
	sameEntries(t, "Read", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)), want)
	sameEntries(t, "Read of the last", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 4*many)), want[4*many:])
}

func collectEntries(t *testing.T, s ledger.Store, w *Writer) []ledger.Entry {
	t.Helper()
	var out []ledger.Entry
	for _, e := range collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 0)) {
		out = append(out, *e)
	}
	return out
}
