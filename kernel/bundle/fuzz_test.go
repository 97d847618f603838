package bundle_test

import (
	"bytes"
	"testing"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// The digest is made to fit, so that the fuzzer gets past it. Nothing crashes,
// memory and file read the same, and what is whole is its own encoding.
func FuzzWhatIsWholeIsItsOwnEncoding(f *testing.F) {
	l := bundletest.New("a")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{}, bundletest.Text("t", "text"), bundletest.History("h", 1))
	l.Append(ledger.KindCommit, bundletest.Object(`{"delta":[{"att":"x","id":"i","kind":"k","op":"create"}]}`), canon.Value{}, bundletest.Text("x", "y"))
	l.Head(bundletest.Key("head"))
	f.Add(bundletest.Bundle(bundle.Options{}, l))
	f.Add(bundletest.Bundle(bundle.Options{Withhold: func(_ ledger.RunID, n int64, _ int) bool { return n == 0 }}, l, bundletest.New("b")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > magicSize+frameSize+32 {
			raw = bytes.Clone(raw)
			resum(raw)
		}
		b, err := bundle.Parse(raw)
		if err != nil {
			return
		}
		for _, run := range b.Runs() {
			verify(t, b, run)
		}
		src, err := b.Source()
		if (err == nil) != (b.Damage() == nil) {
			t.Fatalf("Source = %v, damage %v", err, b.Damage())
		}
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := bundle.Write(&again, src, bundle.Options{}); err != nil || !bytes.Equal(again.Bytes(), raw) {
			t.Errorf("%d bytes became %d others, %v", len(raw), again.Len(), err)
		}
	})
}
