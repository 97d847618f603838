package archive

import (
	"bytes"
	"context"
	"os"

	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// VerifyOptions say what is asked for and what is known. A nil *VerifyOptions
// asks for what can be had without a root of trust.
type VerifyOptions struct {
	// Roots are the root keys that the caller trusts.
	Roots []sign.PublicKey
	// Manifests is the chain of key manifests that the caller knows, oldest
	// first. It counts where it goes further than the one at hand, so that a
	// key that was revoked since is known to be.
	Manifests [][]byte
	// Level is asked for; nil is level 1 with roots, and level 0 without.
	Level *ledger.Level
	// Expect is a position that the run must contain.
	Expect *ledger.Position
	// World is an observed world hash that the run must give.
	World *canon.Digest
	// Run is which run of a bundle to report on; empty is the first.
	Run ledger.RunID
	// Partial counts contents and runs that a store does not have as withheld,
	// after a partial import.
	Partial bool
	// Until is the last entry of the run that is looked at and folded; nil is
	// the last that there is. Heads behind it are not asked.
	Until *int64
	// Delegations follows what the run and the runs that it stands on
	// delegated: every child is verified under its own manifests, and that
	// parent and child name each other. The report then has the level that all
	// of them reach.
	Delegations bool
	// Check chooses what an engine checks of a run in the same pass; nil, and a
	// nil Check, choose nothing. It is asked once for every run or beginning of
	// a run that is verified: for a source before the branches that stand on
	// it, for a parent before its children. The open is the one that its
	// header binds, with no parts. An error of class integrity is a finding; any
	// other one ends the verification.
	//
	// A Check may be a [Detailer].
	Check func(open ledger.Opened) (ledger.Check, error)
}

// Detailer is a check that has more to say than findings.
type Detailer interface {
	// Detail returns an object for the report. It is called after the End of
	// the check.
	Detail() canon.Value
}

// ErrEnd means that the entry up to which a run should be verified is not
// there, or that something behind it is expected. Ask for another one.
const ErrEnd fault.Invalid = "archive.bad_end"

func (o *VerifyOptions) asked() ledger.Level {
	switch {
	case o.Level != nil:
		return *o.Level
	case len(o.Roots) > 0:
		return ledger.LevelSigned
	default:
		return ledger.LevelChain
	}
}

// VerifyRun verifies a run of a store, on the runs of the store that it stands
// on.
func VerifyRun(ctx context.Context, store Store, run ledger.RunID, opts *VerifyOptions) (*replay.Report, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	if _, err := store.At(ctx, run); err != nil {
		return nil, err
	}
	x := newVerifier(stored{store, opts.Partial}, opts)
	s, err := x.run(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.report(s), nil
}

// VerifyFile verifies the bundle at path: the run asked for and the runs that
// it brings along. A damaged bundle is a report; the error says that the file
// cannot be read or is no bundle.
func VerifyFile(ctx context.Context, path string, opts *VerifyOptions) (*replay.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(ErrFile, "archive.VerifyFile", err, "the bundle")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(ErrFile, "archive.VerifyFile", err, "the bundle")
	}
	b, err := bundle.Open(f, info.Size())
	if err != nil {
		return nil, fault.Wrap(fault.CodeOf(err), "archive.VerifyFile", err, "%s", path)
	}
	return VerifyBundle(ctx, b, opts)
}

// VerifyBundle verifies an open bundle, as [VerifyFile] does.
func VerifyBundle(ctx context.Context, b *bundle.Bundle, opts *VerifyOptions) (*replay.Report, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	run := opts.Run
	if runs := b.Runs(); run == "" && len(runs) > 0 {
		run = runs[0]
	}
	x := newVerifier(carriedBy(b), opts)
	s, err := x.run(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, other := range b.Runs() {
		if other == run {
			continue
		}
		if c := x.trees[other]; c != nil && c.s != nil {
			continue // it was followed
		}
		o, err := x.stand(ctx, part{run: other})
		if err != nil {
			return nil, err
		}
		alongside(s.v, o)
	}
	return x.report(s), nil
}

// run verifies the run asked for, and what the options ask for beside.
func (x *verifier) run(ctx context.Context, run ledger.RunID) (*standing, error) {
	o := x.opts
	p := part{run: run, expect: o.Expect, world: o.World}
	if o.Until != nil {
		if p.count = *o.Until + 1; p.count < 1 {
			return nil, fault.New(ErrEnd, "archive.Verify", "there is no entry %d", *o.Until)
		}
		if o.Expect != nil && o.Expect.Count > p.count {
			return nil, fault.New(ErrEnd, "archive.Verify", "the head of %d entries that is expected lies behind entry %d", o.Expect.Count, *o.Until)
		}
	}
	s, err := x.stand(ctx, p)
	if err != nil {
		return nil, err
	}
	if o.Until != nil {
		if s.v.At.Count < p.count && !s.v.Failed() {
			return nil, fault.New(ErrEnd, "archive.Verify", "run %s ends at entry %d; entry %d is asked for", run, s.v.At.Count-1, *o.Until)
		}
		remark(s.v, "up to and with entry %d: what stands behind it was not looked at", *o.Until)
	}
	if o.Delegations {
		return s, x.follow(ctx, s, 0)
	}
	return s, nil
}

// report makes the report of the run asked for, when everything is verified.
func (x *verifier) report(s *standing) *replay.Report {
	s.settle()
	if s.open != nil {
		if parent, err := ledger.ParseRef(s.open.Body.Get("refs").Get("parent")); err == nil {
			remark(s.v, "was delegated to by entry %d of run %s", parent.N, parent.Run)
		}
	}
	detail := s.detail()
	var children canon.Value
	if x.opts.Delegations {
		children = x.delegations(s)
	} else {
		children = s.identify()
	}
	if children.Len() > 0 {
		if detail.IsZero() {
			detail = canon.Object()
		}
		detail = detail.With("delegations", children)
	}
	s.v.Withheld += x.withheld(s.run)
	r := replay.OfVerification(s.v, x.opts.asked())
	r.Detail = detail
	return r
}

// alongside lets a verification take in that of a run that the bundle brings
// along. The levels of the two are their own.
func alongside(v *ledger.Verification, o *standing) {
	if f := o.v.First(); f != nil {
		x := elsewhere(v.Run, o.run, *f)
		x.Msg = "a run that comes with it: " + f.Msg
		v.Fail(ledger.PhasePins, x)
		return
	}
	remark(v, "run %s, which comes with it, verifies at level %s, with %d contents withheld", o.run, o.v.Level, o.v.Withheld)
}

// keyring returns the keys of a chain of manifests. That the root is not one
// of those trusted is no error: the keys then earn no level.
func (o *VerifyOptions) keyring(manifests [][]byte) (*sign.Keyring, error) {
	chain, err := o.longer(manifests)
	if err != nil {
		return nil, err
	}
	keys, err := sign.NewKeyring(o.Roots, chain)
	if fault.CodeOf(err) == fault.Code(sign.ErrUntrusted) {
		return keys, nil
	}
	return keys, err
}

// longer returns the chain that goes further, if one begins with the other.
// Chains of two roots have nothing to do with each other; two chains of one
// root are a lie.
func (o *VerifyOptions) longer(manifests [][]byte) ([][]byte, error) {
	if len(manifests) == 0 || len(o.Manifests) == 0 {
		return manifests, nil
	}
	for i := range min(len(manifests), len(o.Manifests)) {
		if bytes.Equal(manifests[i], o.Manifests[i]) {
			continue
		}
		mine, err := sign.NewKeyring(nil, o.Manifests)
		if err != nil {
			return nil, fault.Wrap(sign.ErrKey, "archive.Verify", err, "the manifests that you know")
		}
		theirs, err := sign.NewKeyring(nil, manifests)
		if err != nil {
			return nil, err
		}
		a, _, _ := mine.Last()
		b, _, _ := theirs.Last()
		if a.Root.ID() == b.Root.ID() {
			return nil, fault.New(ErrChains, "archive.Verify", "root %s signed another manifest %d than the one that you know", a.Root.ID(), i)
		}
		return manifests, nil
	}
	if len(o.Manifests) > len(manifests) {
		return o.Manifests, nil
	}
	return manifests, nil
}
