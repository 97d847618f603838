package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store/memory"
)

// at returns a reference to entry n of l.
func at(l *bundletest.Ledger, n int64) ledger.Ref {
	return ledger.Ref{Run: l.Run, N: n, ID: l.Entries[n].ID}
}

// branchOf opens a branch that leaves its source behind an entry.
func branchOf(name string, source ledger.Ref) *bundletest.Ledger {
	l := bundletest.New(name)
	l.Append(ledger.KindOpen, bundletest.Object(`{"engine":"test","mode":"branch"}`), canon.Object(canon.M("source", source.Value())))
	l.Head(bundletest.Key("head"))
	return l
}

// put commits the value of the thing "greeting"; version 0 creates it.
func put(l *bundletest.Ledger, version int64, value string) {
	c := ledger.Change{Op: ledger.OpReplace, Kind: "kv", ID: "greeting", Version: version, Value: canon.String(value)}
	if version == 0 {
		c.Op = ledger.OpCreate
	}
	l.Append(ledger.KindCommit, canon.Object(canon.M("delta", canon.Array(c.Encode())), canon.M("name", canon.String("put"))), canon.Value{}, bundletest.Text("why", value))
}

// end seals l with the hash of a world in which only the greeting is.
func end(l *bundletest.Ledger, values ...string) {
	var w ledger.World
	for i, v := range values {
		c := ledger.Change{Op: ledger.OpReplace, Kind: "kv", ID: "greeting", Version: int64(i), Value: canon.String(v)}
		if i == 0 {
			c.Op = ledger.OpCreate
		}
		if err := w.Apply(c, nil); err != nil {
			panic(err)
		}
	}
	sum, _ := w.Hash()
	l.Append(ledger.KindSeal, bundletest.Object(`{"status":"done","world":"%s"}`, sum), canon.Value{})
	l.Head(bundletest.Key("head"))
}

// branches returns a run, a branch on it and a branch on that. The first two go
// on behind the entry that is left.
func branches() (base, mid, top *bundletest.Ledger) {
	base = bundletest.New("base")
	base.Append(ledger.KindOpen, bundletest.Object(`{"engine":"test","mode":"run"}`), canon.Value{})
	base.Head(bundletest.Key("head"))
	put(base, 0, "hello")
	put(base, 1, "hi")
	base.Head(bundletest.Key("head"))
	put(base, 2, "never seen by the branch")
	end(base, "hello", "hi", "never seen by the branch")
	mid = branchOf("mid", at(base, 2))
	put(mid, 2, "bonjour")
	mid.Head(bundletest.Key("head"))
	put(mid, 3, "never seen by the branch of the branch")
	end(mid, "hello", "hi", "bonjour", "never seen by the branch of the branch")
	top = branchOf("top", at(mid, 1))
	put(top, 3, "salut")
	end(top, "hello", "hi", "bonjour", "salut")
	return base, mid, top
}

// ledgers is a store that holds what it is told to, forged or not.
type ledgers struct {
	*memory.Store
	runs map[ledger.RunID]*bundletest.Ledger
}

func holding(list ...*bundletest.Ledger) *ledgers {
	s := &ledgers{memory.New(nil), map[ledger.RunID]*bundletest.Ledger{}}
	for _, l := range list {
		s.runs[l.Run] = l
	}
	return s
}

func (s *ledgers) At(ctx context.Context, run ledger.RunID) (ledger.Position, error) {
	if l := s.runs[run]; l != nil {
		return l.At, nil
	}
	return s.Store.At(ctx, run)
}

func (s *ledgers) Read(_ context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		l := s.runs[run]
		for i := int(from); l != nil && i < len(l.Entries); i++ {
			if !yield(&l.Entries[i], nil) {
				return
			}
		}
	}
}

func (s *ledgers) Statements(_ context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	l := s.runs[run]
	switch {
	case l == nil:
		return bundletest.Seq[ledger.Statement](nil)
	case typ == ledger.HeadType:
		return bundletest.Seq(l.Heads)
	default:
		return bundletest.Seq([]ledger.Statement{{Run: run, Type: typ, Envelope: bundletest.Manifests()[0]}})
	}
}

func (s *ledgers) Get(_ context.Context, scope string, id canon.Digest) ([]byte, error) {
	for _, l := range s.runs {
		if b, err := l.Get(scope, id); err == nil {
			return b, nil
		}
	}
	return nil, fault.New(ledger.ErrAbsent, "ledgers.Get", "no chunk %s", id)
}

// looks verifies run, and demands that a bundle of the ledgers and a store of
// them give one verdict.
func looks(t testing.TB, o *archive.VerifyOptions, list ...*bundletest.Ledger) *replay.Report {
	t.Helper()
	r, err := archive.VerifyRun(t.Context(), holding(list...), list[0].Run, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Parse(bundletest.Bundle(bundle.Options{}, list...))
	if err != nil {
		t.Fatal(err)
	}
	again, err := archive.VerifyBundle(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	if again.Verdict != r.Verdict && again.Verdict != replay.Failed { // a bundle answers for all of its runs
		t.Errorf("the bundle is %s, the store %s (%+v)", again.Verdict, r.Verdict, ledger.First(again.Phases))
	}
	return r
}

// wantFinding demands that a phase fails first with a code at a place.
func wantFinding(t testing.TB, r *replay.Report, phase string, code fault.Code, place string) {
	t.Helper()
	f := ledger.First(r.Phases)
	if r.Verdict != replay.Failed || r.Level != ledger.LevelChain || f == nil {
		t.Errorf("%s, first failure %+v; want a failure in %s", r.Head(), f, place)
		return
	}
	got := f.Where
	if f.N >= 0 {
		got = fmt.Sprintf("entry %d, %s", f.N, f.Where)
	}
	i := slices.IndexFunc(r.Phases, func(p ledger.Phase) bool { return p.First == f })
	if !strings.HasPrefix(got, place) || code != nil && f.Code != code || phase != "" && r.Phases[i].Name != phase {
		t.Errorf("%s: %v in %q (%s); want %s: %v in %q", r.Phases[i].Name, f.Code, got, f.Msg, phase, code, place)
	}
}

func remarked(r *replay.Report, text string) bool {
	return slices.ContainsFunc(r.Remarks, func(s string) bool { return strings.Contains(s, text) })
}

// spec: T-38, T-39
func TestABranchIsVerifiedOnTheWorldOfItsSource(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	for _, list := range [][]*bundletest.Ledger{{top, mid, base}, {mid, base}, {base}, {base, top, mid}} {
		r := looks(t, &archive.VerifyOptions{Roots: roots, Expect: &list[0].At}, list...)
		wantVerdict(t, r, nil, replay.Verified, ledger.LevelSigned)
	}
	r := looks(t, nil, top, mid, base)
	for _, want := range []string{fmt.Sprintf("stands on run %s up to and with entry 2", base.Run), fmt.Sprintf("stands on run %s up to and with entry 1", mid.Run)} {
		if !remarked(r, want) {
			t.Errorf("remarks %q do not say %q", r.Remarks, want)
		}
	}
}

// spec: T-40
func TestWhatItsSourceDidLaterIsNotPartOfABranch(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	base, mid = base.Clone(), mid.Clone()
	for _, l := range []*bundletest.Ledger{base, mid} {
		n := len(l.Entries) - 2
		l.Entries[n].Body[3] ^= 1
		l.Heads[len(l.Heads)-1].Envelope[9] ^= 1
	}
	r, err := archive.VerifyRun(t.Context(), holding(top, mid, base), top.Run, &archive.VerifyOptions{Roots: roots})
	wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
}

// stride is how far flips lie apart: every byte is flipped if
// REPRISE_EXHAUSTIVE is set.
func stride() int {
	if os.Getenv("REPRISE_EXHAUSTIVE") != "" {
		return 1
	}
	return 5
}

// Whatever is flipped in what a branch stands on is a failure of the branch,
// in the run and entry where it is.
func TestEveryFlipInASourceIsFoundInTheBranch(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	flips := func(l *bundletest.Ledger, entries int, f func(l *bundletest.Ledger, n int, what string)) {
		for n := range entries {
			e := &l.Entries[n]
			for what, size := range map[string]int{"id": 32, "header": len(e.Header), "salt": 32, "body": len(e.Body), "part": 32 * len(e.Parts)} {
				for i := 0; i < size; i += stride() {
					c := l.Clone()
					x := &c.Entries[n]
					switch what {
					case "id":
						x.ID[i] ^= 1
					case "header":
						x.Header[i] ^= 1
					case "salt":
						x.Salt[i] ^= 1
					case "body":
						x.Body[i] ^= 1
					case "part":
						x.Parts[0].Salt[i] ^= 1
					}
					f(c, n, fmt.Sprintf("byte %d of the %s of entry %d of %s", i, what, n, l.Run))
				}
			}
		}
	}
	check := func(s *ledgers, l *bundletest.Ledger, n int, what string) {
		t.Helper()
		r, err := archive.VerifyRun(t.Context(), s, top.Run, &archive.VerifyOptions{Roots: roots})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		place := fmt.Sprintf("run %s, entry %d, ", l.Run, n)
		if l.Run == top.Run {
			place = fmt.Sprintf("entry %d, ", n)
		}
		if wantFinding(t, r, "", nil, place); t.Failed() {
			t.Fatal(what)
		}
	}
	flips(base, 3, func(l *bundletest.Ledger, n int, what string) { check(holding(top, mid, l), l, n, what) })
	flips(mid, 2, func(l *bundletest.Ledger, n int, what string) { check(holding(top, l, base), l, n, what) })
	flips(top, 1, func(l *bundletest.Ledger, n int, what string) { check(holding(l, mid, base), l, n, what) })
}

func TestAForgedSourceIsAFailureOfTheBranchInItsOwnPhase(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	entry := func(l *bundletest.Ledger, n int) string { return fmt.Sprintf("run %s, entry %d, ", l.Run, n) }
	for _, c := range []struct {
		name  string
		forge func(base, mid *bundletest.Ledger)
		phase string
		code  fault.Code
		place string
	}{
		{"a body", func(base, _ *bundletest.Ledger) { base.Entries[1].Body[4] ^= 1 }, ledger.PhaseHashes, ledger.ErrBindMismatch, entry(base, 1)},
		{"a parent", func(base, _ *bundletest.Ledger) {
			base.Header(2, func(h *ledger.Header) { h.Prev[0] ^= 1 })
			base.Reid(2)
		}, ledger.PhaseParents, ledger.ErrParentMismatch, entry(base, 2)},
		{"a head within", func(base, _ *bundletest.Ledger) { base.Heads[1].Envelope = base.Heads[0].Envelope }, ledger.PhaseSignatures, ledger.ErrHeadMismatch, entry(base, 2)},
		{"rebuilt by the signer", func(base, _ *bundletest.Ledger) {
			base.Edit(1, with("name", `"other"`))
			base.Rechain()
			base.Resign(bundletest.Key("head"))
		}, ledger.PhasePins, ledger.ErrExpectedHead, entry(base, 2)},
		{"cut off before", func(base, _ *bundletest.Ledger) { base.Cut(2) }, ledger.PhasePins, ledger.ErrExpectedHead, entry(base, 2)},
		{"the middle cut off", func(_, mid *bundletest.Ledger) { mid.Cut(1) }, ledger.PhasePins, ledger.ErrExpectedHead, entry(mid, 1)},
		{"a delta that does not fit", func(base, mid *bundletest.Ledger) {
			base.Body(2, []byte(`{"delta":[{"id":"greeting","kind":"kv","op":"retract","version":7}],"name":"put"}`))
			base.Entries[2].Parts = nil
			base.Rechain()
			base.Resign(bundletest.Key("head"))
		}, ledger.PhaseFold, ledger.ErrDelta, entry(base, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, m := base.Clone(), mid.Clone()
			c.forge(b, m)
			wantFinding(t, looks(t, &archive.VerifyOptions{Roots: roots}, top, m, b), c.phase, c.code, c.place)
		})
	}
}

func TestABranchThatNamesAnotherEntryIsFound(t *testing.T) {
	t.Parallel()
	base, _, _ := branches()
	other := at(base, 2)
	other.N = 1
	l := branchOf("other", other)
	wantFinding(t, looks(t, nil, l, base), ledger.PhasePins, ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 1, ", base.Run))
	nowhere := bundletest.New("nowhere")
	nowhere.Append(ledger.KindOpen, bundletest.Object(`{"mode":"branch"}`), canon.Value{})
	wantFinding(t, looks(t, nil, nowhere), ledger.PhaseLoad, drive.ErrLineage, "entry 0, refs/source")
}

// An absent source is treated as absent contents are: lost in a store, unless
// it was imported in part, and withheld in a bundle.
func TestABranchWithoutItsSource(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	capture := branchOf("capture", at(base, 2)) // no commit
	for _, c := range []struct {
		name    string
		ledgers []*bundletest.Ledger
		place   string
		absent  *bundletest.Ledger
	}{
		{"no source", []*bundletest.Ledger{mid}, "entry 0, refs/source", base},
		{"no commits", []*bundletest.Ledger{capture}, "entry 0, refs/source", base},
		{"the source of the source", []*bundletest.Ledger{top, mid}, fmt.Sprintf("run %s, entry 0, refs/source", mid.Run), base},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := c.ledgers[0].Run
			r, err := archive.VerifyRun(t.Context(), holding(c.ledgers...), run, &archive.VerifyOptions{Roots: roots})
			if err != nil {
				t.Fatal(err)
			}
			wantFinding(t, r, ledger.PhaseLoad, drive.ErrLineage, c.place)
			r, err = archive.VerifyRun(t.Context(), holding(c.ledgers...), run, &archive.VerifyOptions{Roots: roots, Partial: true})
			wantVerdict(t, r, err, replay.Partial, ledger.LevelSigned)
			raw := bundletest.Bundle(bundle.Options{}, c.ledgers...)
			b, err := bundle.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			r, err = archive.VerifyBundle(t.Context(), b, &archive.VerifyOptions{Roots: roots})
			wantVerdict(t, r, err, replay.Partial, ledger.LevelSigned)
			if !remarked(r, fmt.Sprintf("run %s, on which", c.absent.Run)) {
				t.Errorf("the remarks are %q", r.Remarks)
			}
			s := memory.New(nil)
			if _, err := doImport(t, s, raw, options()); fault.CodeOf(err) != fault.Code(archive.ErrPartial) {
				t.Errorf("Import = %v, want %v", err, archive.ErrPartial)
			}
			mustImport(t, s, bundletest.Bundle(bundle.Options{}, base))
			mustImport(t, s, raw) // the store has what the bundle leaves out
			r, err = archive.VerifyRun(t.Context(), s, run, &archive.VerifyOptions{Roots: roots})
			wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
		})
	}
}

// A commit that is withheld from a source hides its world, and nothing else.
func TestASourceThatIsWithheldInPartHidesTheWorldOnly(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	for _, n := range []int64{0, 1, 2} {
		b, err := bundle.Parse(bundletest.Bundle(bundle.Options{Withhold: func(run ledger.RunID, i int64, what int) bool {
			return run == base.Run && i == n && what == bundle.Body
		}}, top, mid, base))
		if err != nil {
			t.Fatal(err)
		}
		r, err := archive.VerifyBundle(t.Context(), b, &archive.VerifyOptions{Roots: roots})
		wantVerdict(t, r, err, replay.Partial, ledger.LevelSigned)
	}
}

// A circle needs ids that are not those of their headers, so it is no more than
// one of the things that are wrong.
func TestSourcesThatGoInACircleAreFound(t *testing.T) {
	t.Parallel()
	a := branchOf("a", ledger.Ref{Run: bundletest.RunID("b"), N: 0})
	b := branchOf("b", at(a, 0))
	own := branchOf("own", ledger.Ref{Run: bundletest.RunID("own"), N: 0})
	for _, list := range [][]*bundletest.Ledger{{a, b}, {b, a}, {own}} {
		r := looks(t, nil, list...)
		load := r.Phases[0]
		if r.Verdict != replay.Failed || load.First == nil || !strings.Contains(load.First.Msg, "circle") {
			t.Errorf("%s, %s: %+v; want a circle", r.Head(), load.Name, load.First)
		}
	}
}

func TestMoreBranchesOnOneAnotherThanAllowedAreRefused(t *testing.T) {
	t.Parallel()
	base, _, _ := branches()
	list := []*bundletest.Ledger{base}
	for i := range drive.MaxLineage + 1 {
		list = slices.Insert(list, 0, branchOf(fmt.Sprintf("branch %d", i), at(list[0], 0)))
	}
	r := looks(t, nil, list[1:]...)
	if r.Verdict != replay.Verified {
		t.Errorf("%d branches: %s, %+v", drive.MaxLineage, r.Head(), ledger.First(r.Phases))
	}
	if r := looks(t, nil, list...); r.Verdict != replay.Failed || ledger.First(r.Phases).Code != fault.Code(drive.ErrLineage) {
		t.Errorf("%d branches: %s", drive.MaxLineage+1, r.Head())
	}
}

// spec: T-16
func TestARunIsVerifiedUpToAnEntry(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	world := func(l *bundletest.Ledger, n int64, list ...*bundletest.Ledger) canon.Digest {
		t.Helper()
		s := holding(append(list, l)...)
		var first *ledger.Finding
		r, err := archive.VerifyRun(t.Context(), s, l.Run, &archive.VerifyOptions{Until: &n, World: &canon.Digest{}})
		if err != nil {
			t.Fatal(err)
		}
		if first = ledger.First(r.Phases); first == nil || first.Code != fault.Code(ledger.ErrWorldMismatch) {
			t.Fatalf("%+v", first)
		}
		d, err := canon.ParseDigest(first.Found)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if world(base, 2) != world(mid, 0, base) || world(mid, 1, base) != world(top, 0, base, mid) || world(base, 1) == world(base, 2) {
		t.Error("a branch does not begin with the world that its source had there")
	}
	cut := base.Clone()
	cut.Entries[3].Body[4] ^= 1
	cut.Heads[2].Envelope[5] ^= 1
	for n, want := range []replay.Verdict{replay.Verified, replay.Verified, replay.Verified, replay.Failed} {
		until := int64(n)
		r := looks(t, &archive.VerifyOptions{Roots: roots, Until: &until}, cut)
		if r.Verdict != want || !remarked(r, fmt.Sprintf("up to and with entry %d", n)) || remarked(r, "unsealed") {
			t.Errorf("up to %d: %s, remarks %q; want %s", n, r.Head(), r.Remarks, want)
		}
	}
	head := base.Clone()
	head.Heads[1].Envelope = head.Heads[0].Envelope
	until := int64(2)
	wantFinding(t, looks(t, &archive.VerifyOptions{Roots: roots, Until: &until}, head), ledger.PhaseSignatures, ledger.ErrHeadMismatch, "entry 2, ")
	for _, o := range []archive.VerifyOptions{{Until: new(int64(-1))}, {Until: new(int64(5))}, {Until: &until, Expect: &base.At}} {
		if _, err := archive.VerifyRun(t.Context(), holding(base), base.Run, &o); fault.CodeOf(err) != fault.Code(archive.ErrEnd) {
			t.Errorf("until %d: %v, want %v", *o.Until, err, archive.ErrEnd)
		}
	}
}

func TestABranchIsExportedAndImportedWithWhatItStandsOn(t *testing.T) {
	t.Parallel()
	base, mid, top := branches()
	s := holding(top, mid, base)
	raw := export(t, s, top.Run, nil)
	b, err := bundle.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Runs(), []ledger.RunID{top.Run, mid.Run, base.Run}; !slices.Equal(got, want) {
		t.Errorf("the bundle has runs %v, want %v", got, want)
	}
	fresh := memory.New(nil)
	mustImport(t, fresh, raw)
	r, err := archive.VerifyRun(t.Context(), fresh, top.Run, &archive.VerifyOptions{Roots: roots})
	wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
	if again := export(t, fresh, top.Run, nil); !bytes.Equal(again, raw) {
		t.Error("exported again it is another bundle")
	}
}
