package archive

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/reprise-dev/reprise/internal/drive"
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
	// Partial counts contents that a store does not have as withheld, after a
	// partial import.
	Partial bool
}

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

// VerifyRun verifies a run of a store.
func VerifyRun(ctx context.Context, store Store, run ledger.RunID, opts *VerifyOptions) (*replay.Report, error) {
	if opts == nil {
		opts = &VerifyOptions{}
	}
	if _, err := store.At(ctx, run); err != nil {
		return nil, err
	}
	manifests, err := manifestsOf(ctx, store, run)
	if err != nil {
		return nil, err
	}
	v, err := opts.verify(ctx, manifests, ledger.Evidence{
		Run: run, Entries: store.Read(ctx, run, 0),
		Statements: store.Statements(ctx, run, ledger.HeadType),
		Attachment: drive.NewReader(store, run).Attachment(ctx),
		Scopes:     true, Withheld: opts.Partial,
	}, true)
	if err != nil {
		return nil, err
	}
	return replay.OfVerification(v, opts.asked()), nil
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
		return nil, err
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
	v, err := opts.verify(ctx, b.Manifests(run), b.Evidence(run), true)
	if err != nil {
		return nil, err
	}
	for _, other := range b.Runs() {
		if other == run {
			continue
		}
		o, err := opts.verify(ctx, b.Manifests(other), b.Evidence(other), false)
		if err != nil {
			return nil, err
		}
		alongside(v, o)
	}
	return replay.OfVerification(v, opts.asked()), nil
}

// alongside lets a verification take in that of a run that the bundle brings
// along. The levels of the two are their own.
func alongside(v, o *ledger.Verification) {
	if f := o.First(); f != nil {
		v.Fail(ledger.PhasePins, ledger.Finding{
			Code: f.Code, N: -1, Where: fmt.Sprintf("run %s, entry %d, %s", o.Run, f.N, f.Where),
			Expected: f.Expected, Found: f.Found, Msg: "a run that comes with it: " + f.Msg,
		})
		return
	}
	v.Withheld += o.Withheld
	v.Remarks = append(v.Remarks, fmt.Sprintf("run %s, which comes with it, verifies at level %s, with %d contents withheld", o.Run, o.Level, o.Withheld))
}

// verify verifies a ledger with the keys that its manifests list. What the
// caller expects is of the run asked for only.
func (o *VerifyOptions) verify(ctx context.Context, manifests [][]byte, ev ledger.Evidence, main bool) (*ledger.Verification, error) {
	keys, err := o.keyring(manifests)
	if err != nil && fault.ClassOf(err) != fault.ClassIntegrity {
		return nil, err
	}
	ev.Keys = keys
	if main {
		ev.Expect, ev.World = o.Expect, o.World
	}
	v, failed := ledger.Verify(ctx, ev)
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		v.Fail(ledger.PhaseSignatures, ledger.Finding{Code: fault.CodeOf(err), N: -1, Where: "key manifests", Msg: fault.Text(err)})
	}
	return v, nil
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
