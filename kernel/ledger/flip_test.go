package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func verify(t testing.TB, ev ledger.Evidence) *ledger.Verification {
	t.Helper()
	v, err := ledger.Verify(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// field is one field of a row, as bytes that can be changed in place.
type field struct {
	name  string
	entry int64 // in which a change of it must be found
	bytes func(l *bundletest.Ledger) []byte
	put   func(l *bundletest.Ledger, b []byte)

	unsigned bool // it is of an entry, not of a head
}

// fieldsOf lists every field of every row of l.
func fieldsOf(l *bundletest.Ledger) []field {
	var out []field
	add := func(name string, n int, bytes func(l *bundletest.Ledger) []byte, put func(l *bundletest.Ledger, b []byte)) {
		out = append(out, field{fmt.Sprintf("%s of entry %d", name, n), int64(n), bytes, put, !strings.HasSuffix(name, "head")})
	}
	inPlace := func(*bundletest.Ledger, []byte) {}
	for n, e := range l.Entries {
		add("id", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].ID[:] }, inPlace)
		add("header", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].Header }, inPlace)
		add("salt", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].Salt[:] }, inPlace)
		add("body", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].Body }, inPlace)
		add("scope", n, func(l *bundletest.Ledger) []byte { return []byte(l.Entries[n].Scope) },
			func(l *bundletest.Ledger, b []byte) { l.Entries[n].Scope = string(b) })
		for i := range e.Parts {
			add("salt of a part", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].Parts[i].Salt[:] }, inPlace)
			add("recipe of a part", n, func(l *bundletest.Ledger) []byte { return l.Entries[n].Parts[i].Recipe }, inPlace)
			add("scope of a part", n, func(l *bundletest.Ledger) []byte { return []byte(l.Entries[n].Parts[i].Scope) },
				func(l *bundletest.Ledger, b []byte) { l.Entries[n].Parts[i].Scope = string(b) })
			add("size of a part", n, func(l *bundletest.Ledger) []byte { return big(l.Entries[n].Parts[i].Size) },
				func(l *bundletest.Ledger, b []byte) { l.Entries[n].Parts[i].Size = small(b) })
		}
	}
	for i, h := range l.Heads {
		n := int(h.Count - 1)
		add("envelope of the head", n, func(l *bundletest.Ledger) []byte { return l.Heads[i].Envelope }, inPlace)
		add("run of the head", n, func(l *bundletest.Ledger) []byte { return []byte(l.Heads[i].Run) },
			func(l *bundletest.Ledger, b []byte) { l.Heads[i].Run = ledger.RunID(b) })
		add("type of the head", n, func(l *bundletest.Ledger) []byte { return []byte(l.Heads[i].Type) },
			func(l *bundletest.Ledger, b []byte) { l.Heads[i].Type = string(b) })
		out = append(out, field{
			name: fmt.Sprintf("count of head %d", i), entry: -1, // it is the place itself
			bytes: func(l *bundletest.Ledger) []byte { return big(l.Heads[i].Count) },
			put:   func(l *bundletest.Ledger, b []byte) { l.Heads[i].Count = small(b) },
		})
	}
	return out
}

func big(n int64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

func small(b []byte) (n int64) {
	for i := range b {
		n |= int64(b[i]) << (8 * i)
	}
	return n
}

// spec: T-07, T-21, T-48
func TestEveryFlippedBitOfARowIsFoundInItsEntry(t *testing.T) {
	t.Parallel()
	fields := fieldsOf(bundletest.Sample("a"))
	var wg sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			l := bundletest.Sample("a")
			for i := w; i < len(fields); i += runtime.GOMAXPROCS(0) {
				flipAll(t, l, fields[i])
			}
		})
	}
	wg.Wait()
	if f := verify(t, bundletest.Sample("a").Evidence()).First(); f != nil {
		t.Fatalf("the sample itself does not verify: %+v", f)
	}
}

func flipAll(t *testing.T, l *bundletest.Ledger, f field) {
	t.Helper()
	b := f.bytes(l)
	for at := range b {
		for bit := range 8 {
			// Package sign flips every bit of an envelope.
			if len(b) > 512 && bit != at%8 {
				continue
			}
			b[at] ^= 1 << bit
			f.put(l, b)
			ev := l.Evidence()
			if f.unsigned && (bit != 0 || at%8 != 0) {
				// It is found without heads and without what follows, which
				// take most of the time. Some are tried with all of it.
				ev.Keys, ev.Statements, ev.Entries = nil, nil, upTo(l, f.entry)
			}
			v := verify(t, ev)
			got := v.First()
			switch {
			case got == nil || v.Level != ledger.LevelChain:
				t.Errorf("%s, byte %d, bit %d: accepted at level %s", f.name, at, bit, v.Level)
			case f.entry >= 0 && got.N != f.entry:
				t.Errorf("%s, byte %d, bit %d: %s found in entry %d", f.name, at, bit, got.Code, got.N)
			}
			b[at] ^= 1 << bit
			f.put(l, b)
		}
	}
}

// upTo yields the entries up to n.
func upTo(l *bundletest.Ledger, n int64) func(yield func(*ledger.Entry, error) bool) {
	return func(yield func(*ledger.Entry, error) bool) {
		for i := range l.Entries[:n+1] {
			if !yield(&l.Entries[i], nil) {
				return
			}
		}
	}
}

func TestEveryFlippedBitOfAChunkIsFoundWhereItIsFirstUsed(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	first := map[string]int64{}
	for n, e := range l.Entries {
		for i := range e.Parts {
			for _, id := range l.ChunkIDs(n, i) {
				if _, ok := first[id.String()]; !ok {
					first[id.String()] = int64(n)
				}
			}
		}
	}
	if len(first) < 2 {
		t.Fatal("the sample has no chunks")
	}
	for _, b := range l.Chunks() {
		for at := range b.Bytes {
			b.Bytes[at] ^= 1 << (at % 8)
			ev := l.Evidence()
			ev.Statements = nil
			f := verify(t, ev).First()
			if f == nil || f.N != first[b.ID.String()] || f.Code != ledger.ErrBindMismatch {
				t.Errorf("chunk %s, byte %d: %+v", b.ID, at, f)
			}
			b.Bytes[at] ^= 1 << (at % 8)
		}
	}
}
