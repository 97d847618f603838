package entrycode

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const run = ledger.RunID("01936c4e-7a00-7000-8000-000000000001")

func digestOf(t *rapid.T) (d canon.Digest) {
	copy(d[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	return d
}

func optionalBytes(t *rapid.T, limit int) []byte {
	if rapid.Bool().Draw(t, "absent") {
		return nil
	}
	return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, "bytes")...)
}

func anyEntry(t *rapid.T, n int64) ledger.Entry {
	scopes := rapid.SampledFrom([]string{"", string(run), "subject", "\x00\xff", strings.Repeat("s", blob.MaxScope)})
	h := ledger.Header{
		Run: run, N: n, Bind: digestOf(t), Size: rapid.Int64Range(0, 1<<53-1).Draw(t, "size"),
		Kind: ledger.Kind(rapid.StringMatching("[a-z_]{1,20}").Draw(t, "kind")),
		Type: rapid.SampledFrom([]string{ledger.BodyType, "text/plain"}).Draw(t, "type"),
		T:    rapid.StringMatching("[0-9TZ:.-]{1,30}").Draw(t, "time"),
	}
	if n > 0 {
		h.Prev = digestOf(t)
	}
	e := ledger.Entry{
		ID: digestOf(t), Header: h.Append(nil), Scope: scopes.Draw(t, "scope"),
		Salt: canon.Salt(digestOf(t)), Body: optionalBytes(t, 300),
	}
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		e.Parts = append(e.Parts, blob.Part{
			Scope: scopes.Draw(t, "scope"), Salt: canon.Salt(digestOf(t)),
			Size: rapid.Int64Range(0, 1<<63-1).Draw(t, "size"), Recipe: optionalBytes(t, 100),
		})
	}
	return e
}

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, 1000).Draw(t, "first")
		var raw []byte
		var want []ledger.Entry
		for i := range rapid.Int64Range(1, 4).Draw(t, "entries") {
			e := anyEntry(t, first+i)
			h, err := ledger.ParseHeader(e.Header)
			if err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
				// A header that the short form would not give back.
				e.Header = append(e.Header, ' ')
			}
			raw = Append(raw, &h, &e)
			want = append(want, e)
		}
		d := Decoder{Run: run, N: first, Rest: raw}
		for i := range want {
			var got ledger.Entry
			if !d.Entry(&got) {
				t.Fatalf("entry %d cannot be read", i)
			}
			if !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("entry %d comes back as\n%+v, want\n%+v", i, got, want[i])
			}
		}
		if len(d.Rest) != 0 {
			t.Fatalf("%d bytes are left", len(d.Rest))
		}
	})
}

// FuzzEntries reads any bytes as a segment: no panic, and what is accepted is
// written again as the same bytes.
func FuzzEntries(f *testing.F) {
	h := ledger.Header{Run: run, N: 0, Kind: ledger.KindOpen, Type: ledger.BodyType, Size: 2, T: "2026"}
	e := ledger.Entry{ID: canon.Digest{1}, Header: h.Append(nil), Scope: "s", Body: []byte("{}"), Parts: []blob.Part{{Recipe: []byte{1}}}}
	f.Add(Append(nil, &h, &e))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := Decoder{Run: run, Rest: raw}
		var e ledger.Entry
		if !d.Entry(&e) {
			return
		}
		h, err := ledger.ParseHeader(e.Header)
		if err != nil || raw[32] == headerWhole {
			return
		}
		if again := Append(nil, &h, &e); !bytes.Equal(again, raw[:len(raw)-len(d.Rest)]) && !ambiguous(&e) {
			t.Fatalf("%x is read and written again as %x", raw, again)
		}
	})
}

// ambiguous reports whether a scope or type was written out where the short
// form would have done.
func ambiguous(e *ledger.Entry) bool {
	long := func(scope string) bool { return scope == string(run) || scope == "" }
	if long(e.Scope) || bytes.Contains(e.Header, []byte(ledger.BodyType)) {
		return true
	}
	for i := range e.Parts {
		if long(e.Parts[i].Scope) {
			return true
		}
	}
	return false
}
