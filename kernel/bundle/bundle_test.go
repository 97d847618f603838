package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func parse(t testing.TB, raw []byte) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// verify verifies a run of b as somebody does who trusts the test's root.
func verify(t testing.TB, b *bundle.Bundle, run ledger.RunID) *ledger.Verification {
	t.Helper()
	ev := b.Evidence(run)
	ev.Keys = bundletest.Keyring()
	v, err := ledger.Verify(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func wantVerified(t testing.TB, v *ledger.Verification, entries int64) {
	t.Helper()
	if f := v.First(); f != nil {
		t.Fatalf("entry %d, %s: %s: %s (expected %s, found %s)", f.N, f.Where, f.Code, f.Msg, f.Expected, f.Found)
	}
	if v.Level != ledger.LevelSigned || v.At.Count != entries || v.Withheld != 0 || v.Unsigned != 0 || !v.Sealed {
		t.Fatalf("level %v, %d entries, %d withheld, %d unsigned, sealed %v", v.Level, v.At.Count, v.Withheld, v.Unsigned, v.Sealed)
	}
}

func TestABundleVerifiesAsItsLedgerDoes(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	v, err := ledger.Verify(context.Background(), l.Evidence())
	if err != nil {
		t.Fatal(err)
	}
	wantVerified(t, v, 20)
	b := parse(t, bundletest.Bundle(bundle.Options{}, l))
	if d := b.Damage(); d != nil {
		t.Fatal(d)
	}
	got := verify(t, b, l.Run)
	wantVerified(t, got, 20)
	if got.At != v.At || got.Heads != v.Heads || got.Tree.Root() != v.Tree.Root() {
		t.Errorf("the bundle stands at %v with %d heads, the ledger at %v with %d", got.At, got.Heads, v.At, v.Heads)
	}
}

func TestParsingAndWritingAgainGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"), bundletest.Sample("b"))
	src, err := parse(t, raw).Source()
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := bundle.Write(&again, src, bundle.Options{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), raw) {
		t.Errorf("%d bytes became %d others", len(raw), again.Len())
	}
}

func TestAFileIsReadAsMemoryIs(t *testing.T) {
	t.Parallel()
	l := bundletest.New("long")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), bundletest.Object(`{}`))
	for i := range 60 {
		l.Append(ledger.KindEvent, bundletest.Object(`{"name":"turn"}`), bundletest.Object(`{}`), bundletest.History("request", 2*i+1), bundletest.Text("t", "x"))
	}
	l.Append(ledger.KindEvent, bundletest.Object(`{"name":"large"}`), bundletest.Object(`{}`), noise("large", 9<<20))
	l.Append(ledger.KindSeal, bundletest.Object(`{"status":"done"}`), bundletest.Object(`{}`))
	l.Head(bundletest.Key("head"))
	raw := bundletest.Bundle(bundle.Options{}, l)
	b, err := bundle.Open(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if d := b.Damage(); d != nil {
		t.Fatal(d)
	}
	wantVerified(t, verify(t, b, l.Run), 63)
	if int64(len(raw)) > 11<<20 {
		t.Errorf("60 turns that repeat their history take %d bytes", len(raw))
	}
}

func noise(name string, size int) ledger.Content {
	b := make([]byte, size)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return ledger.Content{Name: name, Type: "application/octet-stream", Bytes: b}
}

func TestWhatIsWithheldIsPartialAndNeverWrong(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	for n, e := range l.Entries {
		for what := bundle.Body; what < len(e.Parts); what++ {
			raw := bundletest.Bundle(bundle.Options{Withhold: func(_ ledger.RunID, m int64, w int) bool { return m == int64(n) && w == what }}, l)
			b := parse(t, raw)
			v := verify(t, b, l.Run)
			if f := v.First(); f != nil {
				t.Errorf("entry %d without %d: %s at %d", n, what, f.Code, f.N)
			}
			if v.Withheld == 0 {
				t.Errorf("entry %d without %d: nothing is withheld", n, what)
			}
			if what == bundle.Body && bytes.Contains(raw, e.Body) {
				t.Errorf("the body of entry %d is in the bundle that withholds it", n)
			}
			src, err := b.Source()
			if err != nil {
				t.Fatal(err)
			}
			var again bytes.Buffer
			if err := bundle.Write(&again, src, bundle.Options{}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again.Bytes(), raw) {
				t.Errorf("entry %d without %d: written again it is another", n, what)
			}
		}
	}
}

func TestRecipesOfRecipesAreOpened(t *testing.T) {
	t.Parallel()
	l := bundletest.New("nested")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), bundletest.Object(`{}`), bundletest.History("state", 200))
	e := l.Entries[0]
	nested := false
	for p, err := range blob.Pieces(e.Parts[0], func(id canon.Digest) ([]byte, error) { nested = true; return l.Get(e.Parts[0].Scope, id) }) {
		if err != nil || p.Length == 0 {
			t.Fatal(p, err)
		}
	}
	if !nested {
		t.Fatal("the recipe is flat: the test proves nothing")
	}
	b := parse(t, bundletest.Bundle(bundle.Options{}, l))
	for e, err := range b.Evidence(l.Run).Entries {
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := b.Evidence(l.Run).Attachment(e, 0, &got); err != nil {
			t.Fatal(err)
		}
		if want := bundletest.History("state", 200).Bytes; !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes came back of %d", got.Len(), len(want))
		}
	}
}

func TestNothingIsNoBundle(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "reprise", "reprise bundle\n", "PK\x03\x04 a file of another kind"} {
		if _, err := bundle.Parse([]byte(in)); !errors.Is(err, bundle.ErrNotBundle) {
			t.Errorf("Parse(%q) = %v, want %v", in, err, bundle.ErrNotBundle)
		}
		if _, err := bundle.Open(bytes.NewReader([]byte(in)), int64(len(in))); !errors.Is(err, bundle.ErrNotBundle) {
			t.Errorf("Open(%q) = %v, want %v", in, err, bundle.ErrNotBundle)
		}
	}
}

func TestEveryPrefixIsTruncated(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{}, l)
	for n := 0; n < len(raw); n += 1 + n/97 {
		b, err := bundle.Parse(raw[:n])
		if err != nil {
			if !errors.Is(err, bundle.ErrNotBundle) {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if d := b.Damage(); d == nil || d.Code != fault.Code(bundle.ErrTruncated) {
			t.Errorf("%d bytes: damage %v", n, d)
		}
		if _, err := b.Source(); err == nil {
			t.Errorf("%d bytes can be written again", n)
		}
		if !verify(t, b, l.Run).Failed() {
			t.Errorf("%d bytes verify", n)
		}
	}
}

type failing struct{ after int64 }

var errDisk = errors.New("disk failed")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
	if off+int64(len(p)) > f.after {
		return 0, errDisk
	}
	return bytes.NewReader(raw).ReadAt(p, off)
}

func TestADiskThatFailsIsAnErrorNotADamage(t *testing.T) {
	t.Parallel()
	if _, err := bundle.Open(failing{}, 5000); !errors.Is(err, bundle.ErrRead) || !errors.Is(err, errDisk) {
		t.Errorf("Open = %v", err)
	}
	if err := bundle.Write(errWriter{}, bundle.Source{Runs: []bundle.Run{bundletest.Sample("a").Source()}}, bundle.Options{}); !errors.Is(err, bundle.ErrWrite) {
		t.Errorf("Write = %v", err)
	}
}

type errWriter struct{}

func (errWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
