package trajectories

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrBranchPoint means that a trajectory cannot be left at that entry: it
// stands in the middle of what follows from one input. The message names the
// next one where it can.
const ErrBranchPoint fault.Invalid = "trajectories.bad_branch_point"

// Branch begins a trajectory that shares another one up to and with entry n,
// and goes its own way from there (T-38). A script replaces that of the source.
func (r *Runner) Branch(ctx context.Context, run ledger.RunID, n int64, note string, script Script) (*Result, error) {
	t, err := r.branchOff(ctx, run, n, note, script, keys.Operator)
	if err != nil {
		return nil, err
	}
	return r.goOn(ctx, t)
}

// branchOff opens a branch; n is -1 for the last entry that is no seal.
func (r *Runner) branchOff(ctx context.Context, run ledger.RunID, n int64, note string, script Script, from string) (*Run, error) {
	const op = "trajectories.Branch"
	open, err := r.first(ctx, run)
	if err != nil {
		return nil, err
	}
	at, err := r.at(ctx, run, n)
	if err != nil {
		return nil, err
	}
	w := r.watch(run, silent)
	f, err := drive.Follow(ctx, r.Config.Store, at, w)
	if err != nil {
		return nil, err
	}
	if f.Due > 0 {
		return nil, fault.New(ErrBranchPoint, op, "at entry %d not all is recorded that follows from the entry before; leave at entry %d", at.N, at.N+int64(f.Due))
	}
	if script == nil {
		if script, err = r.scriptAt(ctx, open); err != nil {
			return nil, err
		}
	}
	red := redactionOf(open.Data().Get("redact"))
	o, err := opening(w.m.Charter(), script, red)
	if err != nil {
		return nil, err
	}
	o.Mode, o.Source = drive.ModeBranch, &at
	s, err := drive.Open(ctx, r.Config, o)
	if err != nil {
		return nil, err
	}
	if from == "" {
		from = keys.Operator
	}
	data := w.m.BranchData(note)
	if err := s.Receive(ctx, ledger.KindBranch, "branch", from, data); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if _, err := w.Apply(effect.Input{Kind: ledger.KindBranch, Name: "branch", From: from, Data: data}); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	w.run, w.skip, w.seen = s.Run(), f.Inputs, 0 // the branch entry and what follows from it are new
	return &Run{id: s.Run(), session: s, watch: w, charter: w.m.Charter(), script: script, redact: red}, nil
}

// at returns the place of entry n; a seal is no place to leave from.
func (r *Runner) at(ctx context.Context, run ledger.RunID, n int64) (ledger.Ref, error) {
	read := drive.NewReader(r.Config.Store, run)
	if n < 0 {
		at, err := r.Config.Store.At(ctx, run)
		if err != nil {
			return ledger.Ref{}, err
		}
		n = at.Count - 1
	}
	o, err := read.Open(ctx, n)
	if err == nil && o.Kind == ledger.KindSeal {
		o, err = read.Open(ctx, n-1)
	}
	if err != nil {
		return ledger.Ref{}, err
	}
	return ledger.Ref{Run: run, N: o.N, ID: o.ID}, nil
}
