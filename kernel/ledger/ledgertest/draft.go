package ledgertest

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Holder is who writes in the suite.
const Holder = "writer"

// ttl is long enough that no lease runs out while a test runs.
const ttl = time.Hour

// NewRun returns the id of a run that no store has.
func NewRun(t testing.TB) ledger.RunID {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return ledger.RunID(id.String())
}

// Writer makes batches that follow one another, as a session does.
type Writer struct {
	Lease ledger.Lease
	At    ledger.Position // behind the last batch that Done was told of
}

// NewWriter takes the lease of a new run.
func NewWriter(t testing.TB, s ledger.Store) *Writer {
	t.Helper()
	lease, err := s.Acquire(t.Context(), NewRun(t), Holder, ttl)
	if err != nil {
		t.Fatalf("Acquire of a new run = %v", err)
	}
	return &Writer{Lease: lease}
}

// Entries makes the next entries of the writer's run, one for each text.
func (w *Writer) Entries(t testing.TB, texts ...string) []ledger.Entry {
	t.Helper()
	at := w.At
	var out []ledger.Entry
	for _, text := range texts {
		d := ledger.Draft{
			Run:   w.Lease.Run,
			Kind:  ledger.KindEvent,
			Body:  canon.Object(canon.M("data", canon.String(text)), canon.M("name", canon.String("test"))),
			Scope: string(w.Lease.Run),
			Salt:  canon.Salt(canon.SHA256([]byte(text))),
			T:     fmt.Sprintf("2026-11-21T10:%02d:%02d.%03dZ", at.Count/60000%60, at.Count/1000%60, at.Count%1000),
		}
		if at.Count == 0 {
			d.Kind = ledger.KindOpen
			d.Body = canon.Object(canon.M("data", canon.String(text)))
		}
		p, err := ledger.Prepare(d)
		if err != nil {
			t.Fatal(err)
		}
		e, next := at.Next(w.Lease.Run, p)
		at = next
		out = append(out, e)
	}
	return out
}

// Batch makes a batch of the next entries, one for each text.
func (w *Writer) Batch(t testing.TB, texts ...string) *ledger.Batch {
	t.Helper()
	return &ledger.Batch{Lease: w.Lease, At: w.At, Entries: w.Entries(t, texts...)}
}

// Done tells w that b was appended.
func (w *Writer) Done(b *ledger.Batch) { w.At = behind(b) }

// Append appends a batch of the next entries.
func (w *Writer) Append(t testing.TB, s ledger.Store, texts ...string) *ledger.Batch {
	t.Helper()
	b := w.Batch(t, texts...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatalf("Append of %d entries at %d = %v", len(b.Entries), b.At.Count, err)
	}
	w.Done(b)
	return b
}

// behind returns the position behind a batch.
func behind(b *ledger.Batch) ledger.Position {
	if len(b.Entries) == 0 {
		return b.At
	}
	return ledger.Position{Count: b.At.Count + int64(len(b.Entries)), Last: b.Entries[len(b.Entries)-1].ID}
}

// collect returns all of a sequence.
func collect[T any](t testing.TB, what string, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("%s = %v after %d", what, err, len(out))
		}
		out = append(out, v)
	}
	return out
}

// sameEntries compares what was read with what was appended, byte for byte.
func sameEntries(t testing.TB, what string, got []*ledger.Entry, want []ledger.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s gives %d entries, want %d", what, len(got), len(want))
	}
	for i := range want {
		if d := difference(got[i], &want[i]); d != "" {
			t.Fatalf("%s: entry %d of %d differs in %s", what, i, len(want), d)
		}
	}
}

func difference(a, b *ledger.Entry) string {
	var d []string
	if a.ID != b.ID {
		d = append(d, "id")
	}
	if !bytes.Equal(a.Header, b.Header) {
		d = append(d, fmt.Sprintf("header (%q, want %q)", a.Header, b.Header))
	}
	if a.Scope != b.Scope || a.Salt != b.Salt {
		d = append(d, "scope or salt")
	}
	if (a.Body == nil) != (b.Body == nil) || !bytes.Equal(a.Body, b.Body) {
		d = append(d, "body")
	}
	if len(a.Parts) != len(b.Parts) {
		return strings.Join(append(d, "number of parts"), ", ")
	}
	for i := range a.Parts {
		if !samePart(a.Parts[i], b.Parts[i]) {
			d = append(d, fmt.Sprintf("part %d", i))
		}
	}
	return strings.Join(d, ", ")
}

func samePart(a, b blob.Part) bool {
	return a.Scope == b.Scope && a.Salt == b.Salt && a.Size == b.Size && (a.Recipe == nil) == (b.Recipe == nil) && bytes.Equal(a.Recipe, b.Recipe)
}
