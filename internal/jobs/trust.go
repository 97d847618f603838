package jobs

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Nothing is permitted on the word of a governance ledger that does not verify:
// who may act, what was voted and what stands still is folded in the very pass
// that checks its hashes, links, heads and acts. What such a pass cannot see,
// that the newest entries were taken away together with their heads, is seen by
// a pin that lies outside of the store.

// founded is a governance ledger of a store.
type founded struct {
	run          ledger.RunID
	tenant, root string
}

// governances returns the governance ledgers of a tenant, oldest first: of two
// that were begun at the same time the first one counts. The begin of a ledger
// that is not what its id says is refused, whoever's it is: it may be this
// tenant's.
func governances(ctx context.Context, store drive.Store, tenant string) ([]founded, error) {
	var out []founded
	for info, err := range store.RunsOf(ctx, EngineGovernance) {
		if err != nil {
			return nil, err
		}
		o, err := firstEntry(ctx, store, info.Run)
		if err != nil {
			return nil, err
		}
		if d := o.Data(); d.Get("tenant").Str() == tenant {
			out = append(out, founded{info.Run, tenant, d.Get("root").Str()})
		}
	}
	slices.Reverse(out)
	return out, nil
}

// firstEntry returns the open of a governance ledger, which binds its body.
func firstEntry(ctx context.Context, store drive.Store, run ledger.RunID) (*ledger.Opened, error) {
	for e, err := range store.Read(ctx, run, 0) {
		if err != nil {
			return nil, distrust(run, err)
		}
		o, err := ledger.Parse(e)
		switch {
		case err != nil:
			return nil, distrust(run, err)
		case o.Run != run || o.N != 0 || ledger.ID(e.Header) != e.ID || canon.Bind(&e.Salt, e.Body) != o.Bind || o.Body.Get("engine").Str() != EngineGovernance:
			return nil, fault.New(ErrGovernance, opGovernance, "the first entry of the governance ledger %s is not what was recorded", run)
		}
		return &o, nil
	}
	return nil, fault.New(ErrGovernance, opGovernance, "the governance ledger %s has no entry", run)
}

const opGovernance = "jobs.Governance"

// distrust makes an error about what a governance ledger holds one that says so.
// That a store cannot be reached is no such error.
func distrust(run ledger.RunID, err error) error {
	if !unreadable(err) {
		return err
	}
	return fault.Wrap(ErrGovernance, opGovernance, err, "the governance ledger %s cannot be read", run)
}

// trusted verifies a governance ledger and returns where it stands. One that was
// begun under the user's root must reach level 1 and hold what was pinned; one
// that came with a bundle holds by its own manifests.
func trusted(ctx context.Context, cfg *drive.Config, k *keys.Keys, x founded) (*standing, ledger.Ref, error) {
	fold := &audit{}
	o := &archive.VerifyOptions{
		Level: new(ledger.LevelChain),
		Check: func(open ledger.Opened) (ledger.Check, error) {
			if open.Run != x.run {
				return Check(open)
			}
			return fold, nil
		},
	}
	store := cfg.Store
	own := k != nil && x.root == k.Root().ID().String()
	var anchored bool
	var where string
	if own {
		at, err := pinsOf(ctx, cfg.Store, k)
		if err != nil {
			return nil, ledger.Ref{}, err
		}
		pin, err := at.read(x.run)
		if err != nil {
			return nil, ledger.Ref{}, err
		}
		where = at.where(x.run)
		o.Roots, o.Manifests, o.Expect = k.Roots(), k.Manifests(), pin
		if anchored = pin != nil; anchored {
			store = unrevoked{store, revoked(k)}
		}
		if cfg.Signer != nil && !anchored {
			*o.Level = ledger.LevelSigned
		}
	}
	report, err := archive.VerifyRun(ctx, store, x.run, o)
	if err != nil {
		return nil, ledger.Ref{}, distrust(x.run, err)
	}
	if f := ledger.First(report.Phases); f != nil {
		err := fault.New(ErrGovernance, opGovernance, "the governance ledger %s: %s", x.run, f.Msg).With("code: " + f.Code.Error())
		if f.N >= 0 {
			err = err.With("entry: " + canon.Int(f.N).String())
		}
		if f.Code == fault.Code(ledger.ErrExpectedHead) {
			err = err.With(where)
		}
		return nil, ledger.Ref{}, err
	}
	if report.Verdict != replay.Verified || fold.broken {
		return nil, ledger.Ref{}, fault.New(ErrGovernance, opGovernance, "the governance ledger %s is %s: no head that a key of yours has signed vouches for it, or not all of it is there", x.run, report.Verdict)
	}
	return &fold.st, fold.last, nil
}

// revoked returns the ids of the head keys that were revoked.
func revoked(k *keys.Keys) map[canon.Digest]bool {
	out := map[canon.Digest]bool{}
	for _, l := range k.List() {
		if l.State == sign.Revoked {
			out[l.Key.ID()] = true
		}
	}
	return out
}

// unrevoked is a store without the heads that a revoked key has signed. A ledger
// that goes on for years outlives its head keys; what the revoked one vouched
// for, the pin does.
type unrevoked struct {
	drive.Store
	keys map[canon.Digest]bool
}

func (s unrevoked) Statements(ctx context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	list := s.Store.Statements(ctx, run, typ)
	if typ != ledger.HeadType || len(s.keys) == 0 {
		return list
	}
	return func(yield func(ledger.Statement, error) bool) {
		for st, err := range list {
			if err == nil {
				if e, err := sign.ParseEnvelope(st.Envelope); err == nil && s.keys[e.KeyID] {
					continue
				}
			}
			if !yield(st, err) {
				return
			}
		}
	}
}

// neverFounded refuses to begin the governance of a tenant a second time: a job
// of the tenant stands on a ledger that this user has written to in this store,
// and that is not there any more.
func neverFounded(ctx context.Context, cfg *drive.Config, k *keys.Keys, tenant string) error {
	at, err := pinsOf(ctx, cfg.Store, k)
	if err != nil {
		return err
	}
	for o, err := range opens(ctx, cfg.Store, job.Engine) {
		if err != nil {
			return err
		}
		ref, err := ledger.ParseRef(o.Body.Get("refs").Get("governance"))
		if err != nil || o.Data().Get("tenant").Str() != tenant {
			continue
		}
		pin, err := at.read(ref.Run)
		if err != nil {
			return err
		}
		if _, err := cfg.Store.At(ctx, ref.Run); pin != nil && errors.Is(err, ledger.ErrNotFound) {
			return fault.New(ErrGovernance, opGovernance, "the governance ledger %s, on which the job %s stands, is not in the store any more", ref.Run, o.Run).With(at.where(ref.Run))
		}
	}
	return nil
}
