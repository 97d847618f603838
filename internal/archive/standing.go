package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// part says how much of a run is verified, and what is asked of it.
type part struct {
	run    ledger.RunID
	count  int64 // entries from the first on; 0: all
	expect *ledger.Position
	world  *canon.Digest
}

// upTo is the beginning of a run that ends with the entry that ref names.
func upTo(ref ledger.Ref) part {
	return part{run: ref.Run, count: ref.N + 1, expect: &ledger.Position{Count: ref.N + 1, Last: ref.ID}}
}

// standing is a run, or the beginning of one, that was verified on the runs
// that it stands on. What it fails is its own: what those fail is theirs.
type standing struct {
	run       ledger.RunID
	v         *ledger.Verification
	open      *ledger.Opened // nil if it cannot be read
	source    *standing      // of a branch; nil too if the source is absent
	depth     int            // branches that stand on one another below it
	check     ledger.Check   // the engine's; may be nil
	delegated []delegation
	missing   ledger.RunID // the source that is absent
}

// verifier verifies runs of one origin, the beginning of each source once.
type verifier struct {
	opts    *VerifyOptions
	from    origin
	sources map[ledger.Ref]*standing // beginnings; nil while they are verified
	trees   map[ledger.RunID]*child
	above   map[ledger.RunID]bool  // runs whose children are being verified
	absent  map[ledger.RunID]int64 // contents withheld, by run
	lines   []*child               // in the order in which they were found
	climbed int                    // beginnings that are being verified
}

func newVerifier(from origin, opts *VerifyOptions) *verifier {
	return &verifier{
		opts: opts, from: from, sources: map[ledger.Ref]*standing{}, trees: map[ledger.RunID]*child{},
		above: map[ledger.RunID]bool{}, absent: map[ledger.RunID]int64{},
	}
}

// stand verifies a part of a run with the keys that its manifests list: of a
// branch first the beginning of its source, whose world is the one that its
// own entries are folded on (T-38).
func (x *verifier) stand(ctx context.Context, p part) (*standing, error) {
	manifests, err := x.from.manifests(ctx, p.run)
	if err != nil {
		return nil, err
	}
	keys, badKeys := x.opts.keyring(manifests)
	if badKeys != nil && fault.ClassOf(badKeys) != fault.ClassIntegrity {
		return nil, badKeys
	}
	s := &standing{run: p.run}
	ev := x.from.evidence(ctx, p.run)
	if s.open, err = openOf(ev.Entries); err != nil {
		return nil, err
	}
	broken, err := x.base(ctx, s, &ev)
	if err != nil {
		return nil, err
	}
	badCheck, err := x.engine(s)
	if err != nil {
		return nil, err
	}
	if p.count > 0 {
		beginning(&ev, p.count)
	}
	watch := &watch{run: p.run, check: s.check, calls: map[int64]canon.Digest{}}
	ev.Keys, ev.Expect, ev.World, ev.Check = keys, p.expect, p.world, watch
	if s.v, err = ledger.Verify(ctx, ev); err != nil {
		return nil, err
	}
	s.delegated = watch.delegated
	if badKeys != nil {
		s.v.Fail(ledger.PhaseSignatures, ledger.Finding{Code: fault.CodeOf(badKeys), N: -1, Where: "key manifests", Msg: fault.Text(badKeys)})
	}
	if broken != nil {
		s.v.Fail(ledger.PhaseLoad, *broken)
	}
	if badCheck != nil {
		s.v.Fail(ledger.PhasePins, *badCheck)
	}
	if s.missing != "" && broken == nil {
		s.v.Withheld++
	}
	x.absent[s.run] = max(x.absent[s.run], s.v.Withheld)
	return s, nil
}

// base sets the world that the entries of s are folded on. The finding says
// that there is none because the source is not what the open says.
//
// A source that is absent counts as its contents would: withheld in a bundle,
// lost in a store. That holds for a branch without commits too. What its open
// names is the beginning of its own history, and a verdict that holds would
// vouch for calls that nobody can look at.
func (x *verifier) base(ctx context.Context, s *standing, ev *ledger.Evidence) (*ledger.Finding, error) {
	if s.open == nil {
		ev.NoBase = true // it may be a branch
		return nil, nil
	}
	ref, branch, err := drive.SourceOf(s.open)
	if err == nil && !branch {
		return nil, nil
	}
	ev.NoBase = true
	fail := func(code fault.Code, format string, args ...any) *ledger.Finding {
		return &ledger.Finding{Code: code, Where: "refs/source", Expected: named(ref), Msg: fmt.Sprintf(format, args...)}
	}
	if err != nil {
		return &ledger.Finding{Code: fault.CodeOf(err), Where: "refs/source", Msg: fault.Text(err)}, nil
	}
	there, err := x.from.has(ctx, ref.Run)
	switch {
	case err != nil:
		return nil, err
	case !there:
		if s.missing = ref.Run; !x.from.lenient() {
			return fail(drive.ErrLineage, "the run that it stands on is not in the store"), nil
		}
		return nil, nil
	}
	source, known := x.sources[ref]
	switch {
	case known && source == nil:
		return fail(drive.ErrLineage, "the runs that it stands on go in a circle"), nil
	case x.climbed >= drive.MaxLineage:
		return fail(drive.ErrLineage, "more than %d branches stand on one another", drive.MaxLineage), nil
	case !known:
		x.sources[ref] = nil
		x.climbed++
		if source, err = x.stand(ctx, upTo(ref)); err != nil {
			return nil, err
		}
		x.climbed--
		x.sources[ref] = source
	}
	if s.source, s.depth = source, source.depth+1; s.depth > drive.MaxLineage {
		return fail(drive.ErrLineage, "more than %d branches stand on one another", drive.MaxLineage), nil
	}
	ev.Base, ev.NoBase = &source.v.World, source.v.Lost || source.v.Failed() || source.v.At.Count == 0
	return nil, nil
}

// engine asks for what the engine checks besides. The finding says that it
// cannot take the open.
func (x *verifier) engine(s *standing) (*ledger.Finding, error) {
	if s.open == nil || x.opts.Check == nil {
		return nil, nil
	}
	var err error
	s.check, err = x.opts.Check(*s.open)
	if fault.ClassOf(err) == fault.ClassIntegrity {
		return &ledger.Finding{Code: fault.CodeOf(err), Where: "open", Msg: fault.Text(err)}, nil
	}
	return nil, err
}

// lineage returns s and the runs that it stands on, the first of all first.
func (s *standing) lineage() []*standing {
	var list []*standing
	for ; s != nil; s = s.source {
		list = append(list, s)
	}
	slices.Reverse(list)
	return list
}

// failed returns the runs of the lineage of s that fail.
func (s *standing) failed() []*standing {
	return slices.DeleteFunc(s.lineage(), func(s *standing) bool { return !s.v.Failed() })
}

// blame makes what s fails a failure of v, in the same phases.
func blame(v *ledger.Verification, s *standing) {
	for i := range s.v.Phases {
		if f := s.v.Phases[i].First; f != nil {
			v.Fail(s.v.Phases[i].Name, elsewhere(v.Run, s.run, *f))
		}
	}
}

// elsewhere makes a finding of run one of a verification of another run.
func elsewhere(of, run ledger.RunID, f ledger.Finding) ledger.Finding {
	if of == run {
		return f
	}
	at := f.Where
	if f.N >= 0 {
		at = fmt.Sprintf("entry %d, %s", f.N, f.Where)
	}
	f.N, f.Where = -1, fmt.Sprintf("run %s, %s", run, at)
	return f
}

// settle makes what the runs fail that s stands on its own failures. It is
// called once, when all of them are verified.
func (s *standing) settle() {
	for _, below := range s.lineage() {
		if below.missing != "" {
			remark(s.v, "partial: run %s, on which run %s stands, is not here, so the beginning of the history is not known", below.missing, below.run)
		}
		if below == s {
			continue
		}
		if blame(s.v, below); !below.v.Failed() {
			remark(s.v, "stands on run %s up to and with entry %d, which holds; its own heads give level %s", below.run, below.v.At.Count-1, below.v.Level)
		}
	}
}

// maxRemarks is how many lines a verification says of other runs.
const maxRemarks = 50

func remark(v *ledger.Verification, format string, args ...any) {
	switch n := len(v.Remarks); {
	case n < maxRemarks:
		v.Remarks = append(v.Remarks, fmt.Sprintf(format, args...))
	case n == maxRemarks:
		v.Remarks = append(v.Remarks, "and more, which this list does not hold")
	default:
	}
}

// withheld returns how many contents of other runs than one were withheld.
func (x *verifier) withheld(but ledger.RunID) (n int64) {
	for run, w := range x.absent {
		if run != but {
			n += w
		}
	}
	return n
}

func named(ref ledger.Ref) string {
	return fmt.Sprintf("entry %d of run %s, %s", ref.N, ref.Run, ref.ID)
}
