package archive_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

var roots = []sign.PublicKey{bundletest.Key("root").Public()}

func options() archive.ImportOptions {
	return archive.ImportOptions{Rand: rand.Reader, Holder: "test"}
}

func doImport(t testing.TB, s archive.Store, raw []byte, o archive.ImportOptions) ([]archive.Imported, error) {
	t.Helper()
	return archive.Import(t.Context(), s, bytes.NewReader(raw), int64(len(raw)), o)
}

func mustImport(t testing.TB, s archive.Store, raw []byte) []archive.Imported {
	t.Helper()
	done, err := doImport(t, s, raw, options())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func export(t testing.TB, s archive.Store, run ledger.RunID, o *archive.ExportOptions) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := archive.Export(t.Context(), s, run, &buf, o); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func wantVerdict(t testing.TB, r *replay.Report, err error, want replay.Verdict, level ledger.Level) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != want || r.Level != level {
		t.Errorf("%s, want %s at level %s (first failure %+v)", r.Head(), want, level, ledger.First(r.Phases))
	}
}

func TestARunKeepsEverythingOverExportAndImport(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{}, l)
	s := memory.New(nil)
	if done := mustImport(t, s, raw); len(done) != 1 || done[0].Entries != 20 {
		t.Fatalf("Import = %v", done)
	}
	r, err := archive.VerifyRun(t.Context(), s, l.Run, &archive.VerifyOptions{Roots: roots, Expect: &l.At})
	wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
	n := 0
	for e, err := range s.Read(t.Context(), l.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		want := &l.Entries[n]
		if e.ID != want.ID || !bytes.Equal(e.Header, want.Header) || !bytes.Equal(e.Body, want.Body) || e.Salt != want.Salt || e.Scope != want.Scope {
			t.Errorf("entry %d is another one", n)
		}
		n++
	}
	if again := export(t, s, l.Run, nil); !bytes.Equal(again, raw) {
		t.Errorf("a bundle of %d bytes came back as another one of %d", len(raw), len(again))
	}
}

func TestImportingTwiceDoesNothing(t *testing.T) {
	t.Parallel()
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"), bundletest.Sample("b"))
	s := memory.New(nil)
	mustImport(t, s, raw)
	for _, d := range mustImport(t, s, raw) {
		if d.Entries != 0 {
			t.Errorf("run %s got %d more entries", d.Run, d.Entries)
		}
	}
}

func TestAnImportThatWasCutOffGoesOn(t *testing.T) {
	t.Parallel()
	whole := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{}, whole)
	for cut := 1; cut < 20; cut++ {
		part := bundletest.Sample("a")
		part.Entries, part.Heads = part.Entries[:cut], nil
		s := memory.New(nil)
		mustImport(t, s, bundletest.Bundle(bundle.Options{}, part))
		if done := mustImport(t, s, raw); done[0].Entries != int64(20-cut) {
			t.Errorf("cut at %d: %d entries were added", cut, done[0].Entries)
		}
		r, err := archive.VerifyRun(t.Context(), s, whole.Run, &archive.VerifyOptions{Roots: roots})
		wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
	}
}

func TestARunWithOtherEntriesIsAConflict(t *testing.T) {
	t.Parallel()
	s := memory.New(nil)
	other := bundletest.New("a")
	other.Append(ledger.KindOpen, bundletest.Object(`{"data":"another"}`), canon.Value{})
	mustImport(t, s, bundletest.Bundle(bundle.Options{}, other))
	_, err := doImport(t, s, bundletest.Bundle(bundle.Options{}, bundletest.Sample("b"), bundletest.Sample("a")), options())
	if !errors.Is(err, archive.ErrDiffers) {
		t.Errorf("Import = %v, want %v", err, archive.ErrDiffers)
	}
	if _, err := s.At(t.Context(), bundletest.RunID("b")); fault.ClassOf(err) != fault.ClassNotFound {
		t.Errorf("the other run of the bundle was written all the same: %v", err)
	}
}

func TestNothingIsWrittenFromABrokenBundle(t *testing.T) {
	t.Parallel()
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
	for _, at := range []int{len(raw) - 1, len(raw) / 2, len(raw) / 3, 200} {
		bad := bytes.Clone(raw)
		bad[at] ^= 1
		s := memory.New(nil)
		if _, err := doImport(t, s, bad, options()); fault.ClassOf(err) != fault.ClassIntegrity {
			t.Errorf("byte %d: Import = %v", at, err)
		}
		for info, err := range s.Runs(t.Context()) {
			t.Errorf("byte %d: run %v, %v", at, info, err)
		}
	}
}

func TestAPartialBundleIsImportedOnlyOnDemand(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	raw := bundletest.Bundle(bundle.Options{Withhold: func(_ ledger.RunID, n int64, what int) bool {
		return n == 2 && what == 0 || n == 6 && what == bundle.Body
	}}, l)
	s := memory.New(nil)
	if _, err := doImport(t, s, raw, options()); !errors.Is(err, archive.ErrPartial) {
		t.Errorf("Import = %v, want %v", err, archive.ErrPartial)
	}
	o := options()
	o.Partial = true
	if _, err := doImport(t, s, raw, o); err != nil {
		t.Fatal(err)
	}
	r, err := archive.VerifyRun(t.Context(), s, l.Run, &archive.VerifyOptions{Roots: roots, Partial: true})
	wantVerdict(t, r, err, replay.Partial, ledger.LevelSigned)
	r, err = archive.VerifyRun(t.Context(), s, l.Run, &archive.VerifyOptions{Roots: roots})
	wantVerdict(t, r, err, replay.Failed, ledger.LevelChain)
	if again := export(t, s, l.Run, nil); !bytes.Equal(again, raw) {
		t.Error("exported again it is another bundle")
	}
}

func TestAStoreThatRefusesNowAndThenStillGetsAll(t *testing.T) {
	t.Parallel()
	n := 0
	s := memory.New(&memory.Options{Conflict: func() bool { n++; return n%3 != 0 }})
	l := bundletest.Sample("a")
	mustImport(t, s, bundletest.Bundle(bundle.Options{}, l))
	r, err := archive.VerifyRun(t.Context(), s, l.Run, &archive.VerifyOptions{Roots: roots})
	wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
}

func TestContentsGoBackIntoTheirScopes(t *testing.T) {
	t.Parallel()
	l := bundletest.New("scoped")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{})
	d := ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{"name":"x"}`)}
	l.Store(&d, bundletest.Text("mine", "m"))
	l.Subject("alice")
	l.Store(&d, bundletest.History("hers", 2))
	l.AppendDraft(d)
	s := memory.New(nil)
	mustImport(t, s, bundletest.Bundle(bundle.Options{}, l))
	for e, err := range s.Read(t.Context(), l.Run, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Scope != "alice" || e.Parts[0].Scope != string(l.Run) || e.Parts[1].Scope != "alice" {
			t.Errorf("the contents are in %q, %q and %q", e.Scope, e.Parts[0].Scope, e.Parts[1].Scope)
		}
	}
	if err := s.Erase(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	r, err := archive.VerifyRun(t.Context(), s, l.Run, nil)
	wantVerdict(t, r, err, replay.Failed, ledger.LevelChain)
}

func TestARunBringsTheRunsThatItPointsAt(t *testing.T) {
	t.Parallel()
	s := memory.New(nil)
	base, middle, top := bundletest.Sample("base"), bundletest.New("middle"), bundletest.New("top")
	gone := bundletest.New("gone").Append(ledger.KindOpen, bundletest.Object(`{}`), canon.Value{})
	point := func(l *bundletest.Ledger, refs ...ledger.Ref) {
		v := bundletest.Object(`{}`)
		for i, r := range refs {
			v = v.With(string(rune('a'+i)), r.Value())
		}
		l.Append(ledger.KindOpen, bundletest.Object(`{}`), v)
	}
	point(middle, ledger.Ref{Run: base.Run, N: 3, ID: base.Entries[3].ID})
	point(top, ledger.Ref{Run: middle.Run, N: 0, ID: middle.Entries[0].ID}, gone)
	mustImport(t, s, bundletest.Bundle(bundle.Options{}, top, middle, base))
	b, err := bundle.Parse(export(t, s, top.Run, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Runs(); len(got) != 3 || got[0] != top.Run || got[1] != middle.Run || got[2] != base.Run {
		t.Errorf("the bundle has runs %v", got)
	}
	if b, err = bundle.Parse(export(t, s, top.Run, &archive.ExportOptions{Alone: true})); err != nil || len(b.Runs()) != 1 {
		t.Errorf("alone it has runs %v, %v", b.Runs(), err)
	}
	if err := archive.Export(t.Context(), s, gone.Run, &bytes.Buffer{}, nil); fault.ClassOf(err) != fault.ClassNotFound {
		t.Errorf("Export of a run that is not there = %v", err)
	}
}

func TestAFileNeedsARootFromOutside(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	path := filepath.Join(t.TempDir(), "a.reprise")
	if err := os.WriteFile(path, bundletest.Bundle(bundle.Options{}, l), 0o600); err != nil {
		t.Fatal(err)
	}
	signed := ledger.LevelSigned
	other := []sign.PublicKey{bundletest.Key("other root").Public()}
	for _, c := range []struct {
		name  string
		opts  *archive.VerifyOptions
		want  replay.Verdict
		level ledger.Level
	}{
		{"no root", nil, replay.Verified, ledger.LevelChain},
		{"no root, level 1 asked for", &archive.VerifyOptions{Level: &signed}, replay.Below, ledger.LevelChain},
		{"the root", &archive.VerifyOptions{Roots: roots}, replay.Verified, ledger.LevelSigned},
		{"another root", &archive.VerifyOptions{Roots: other}, replay.Below, ledger.LevelChain},
		{"one of two roots", &archive.VerifyOptions{Roots: append(other, roots...)}, replay.Verified, ledger.LevelSigned},
		{"a head that is expected", &archive.VerifyOptions{Roots: roots, Expect: &l.At}, replay.Verified, ledger.LevelSigned},
		{"a head of something else", &archive.VerifyOptions{Roots: roots, Expect: &ledger.Position{Count: 20, Last: l.Entries[3].ID}}, replay.Failed, ledger.LevelChain},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := archive.VerifyFile(t.Context(), path, c.opts)
			wantVerdict(t, r, err, c.want, c.level)
		})
	}
	if _, err := archive.VerifyFile(t.Context(), path+"x", nil); !errors.Is(err, archive.ErrFile) {
		t.Errorf("VerifyFile of nothing = %v", err)
	}
}

func TestAKeyRevokedSinceIsKnownToBe(t *testing.T) {
	t.Parallel()
	root, head := bundletest.Key("root"), bundletest.Key("head").Public()
	first := bundletest.Manifests()[0]
	raw := bundletest.Bundle(bundle.Options{}, bundletest.Sample("a"))
	next := func(root *sign.PrivateKey, prev []byte, state sign.State) []byte {
		return bundletest.Manifest(root, prev, sign.Listed{Key: head, Role: sign.RoleHead, State: state})
	}
	for _, c := range []struct {
		name  string
		known [][]byte
		want  replay.Verdict
		level ledger.Level
		code  fault.Code
	}{
		{"the same", [][]byte{first}, replay.Verified, ledger.LevelSigned, nil},
		{"retired since", [][]byte{first, next(root, first, sign.Retired)}, replay.Verified, ledger.LevelSigned, nil},
		{"revoked since", [][]byte{first, next(root, first, sign.Revoked)}, replay.Failed, ledger.LevelChain, ledger.ErrHeadSignature},
		{"another chain by the root", [][]byte{next(root, nil, sign.Retired)}, replay.Failed, ledger.LevelChain, archive.ErrChains},
		{"a chain by another root", [][]byte{next(bundletest.Key("x"), nil, sign.Revoked)}, replay.Verified, ledger.LevelSigned, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, err := bundle.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			r, err := archive.VerifyBundle(context.Background(), b, &archive.VerifyOptions{Roots: roots, Manifests: c.known})
			wantVerdict(t, r, err, c.want, c.level)
			if f := ledger.First(r.Phases); c.code != nil && (f == nil || f.Code != c.code) {
				t.Errorf("the failure is %+v, want %v", f, c.code)
			}
		})
	}
}
