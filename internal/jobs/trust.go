package jobs

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

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
// that checks its hashes, links, heads and acts. There is one such pass,
// [trusted], for whoever reads a governance ledger. What it cannot see, that the
// newest entries were taken away together with their heads, is seen by a pin
// that lies outside of the store.

// founded is a governance ledger of a store.
type founded struct {
	run          ledger.RunID
	tenant, root string
}

// foundedBy is the governance ledger that begins so.
func foundedBy(o *ledger.Opened) founded {
	return founded{o.Run, o.Data().Get("tenant").Str(), o.Data().Get("root").Str()}
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
		if x := foundedBy(o); x.tenant == tenant {
			out = append(out, x)
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

// governed returns the governance ledgers that a replay of a job stands on, each
// verified: the one of this user, which is begun if there is none; and the
// others of the tenant, with the one that the job began under. If one of them
// was changed, or is gone, it is not known who may ask and what stands still:
// that is INTEGRITY_FAILURE, nothing is replayed until it is as it was, and
// nothing can be recorded in it either.
func (r *Runner) governed(ctx context.Context, s *Stored) (own *Governance, others []*Governance, err error) {
	own, rest, err := openGovernance(ctx, r.Config, r.Keys, s.Tenant)
	if err == nil && s.Governance.Run != "" {
		rest, err = r.under(ctx, s.Governance, own, rest)
	}
	for _, x := range rest {
		if err != nil {
			break
		}
		g := &Governance{cfg: r.Config, keys: r.Keys, root: x.root, run: x.run}
		others, err = append(others, g), g.read(ctx)
	}
	if err == nil {
		err = distrust(s.Governance.Run, holds(ctx, r.Config.Store, s.Governance))
	}
	if errors.Is(err, ErrGovernance) {
		err = unjudged(err)
	}
	return own, others, err
}

// under adds the ledger that a job began under to the others of its tenant,
// among which it is unless somebody has taken it away.
func (r *Runner) under(ctx context.Context, ref ledger.Ref, own *Governance, rest []founded) ([]founded, error) {
	if ref.Run == own.run || slices.ContainsFunc(rest, func(x founded) bool { return x.run == ref.Run }) {
		return rest, nil
	}
	_, err := r.Config.Store.At(ctx, ref.Run)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, fault.New(job.ErrIntegrity, "jobs.Replay", "missing: the governance ledger %s, under which the job began", ref.Run).With("missing: governance " + string(ref.Run))
	}
	if err != nil {
		return nil, err
	}
	o, err := firstEntry(ctx, r.Config.Store, ref.Run)
	if err != nil {
		return nil, err
	}
	return append(rest, foundedBy(o)), nil
}

// steps are what the audit says of the governance ledgers that were verified.
func steps(own *Governance, others []*Governance) []job.Step {
	var out []job.Step
	for _, g := range append([]*Governance{own}, others...) {
		out = append(out, job.Step{Name: "verify_governance", Subject: string(g.run)})
	}
	slices.SortFunc(out, func(a, b job.Step) int { return strings.Compare(a.Subject, b.Subject) })
	return out
}

// trusted verifies a governance ledger and returns where it stands. One that was
// begun under the user's root must reach level 1 and hold what was pinned; one
// that came with a bundle holds by its own manifests. All of it must be there.
func trusted(ctx context.Context, cfg *drive.Config, k *keys.Keys, x founded) (*standing, ledger.Ref, error) {
	at, err := cfg.Store.At(ctx, x.run)
	if err != nil {
		return nil, ledger.Ref{}, err
	}
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
	store, where, err := anchor(ctx, cfg, k, x, o)
	if err != nil {
		return nil, ledger.Ref{}, err
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
	if err := holds(ctx, cfg.Store, ledger.Ref{Run: x.run, N: at.Count - 1, ID: at.Last}); err != nil {
		return nil, ledger.Ref{}, distrust(x.run, err)
	}
	if err := whole(ctx, cfg.Store, x.run, at); err != nil {
		return nil, ledger.Ref{}, distrust(x.run, err)
	}
	return &fold.st, fold.last, nil
}

// anchor sets what is known of a governance ledger outside of the store, and
// returns the store as it is verified, and where the pin of the ledger is.
func anchor(ctx context.Context, cfg *drive.Config, k *keys.Keys, x founded, o *archive.VerifyOptions) (store drive.Store, where string, err error) {
	store = cfg.Store
	if k == nil || x.root != k.Root().ID().String() {
		return store, "", nil
	}
	at, err := pinsOf(ctx, cfg.Store, k)
	if err != nil {
		return nil, "", err
	}
	pin, err := at.read(x.run)
	if err != nil {
		return nil, "", err
	}
	o.Roots, o.Manifests, o.Expect = k.Roots(), k.Manifests(), pin
	switch {
	case pin != nil:
		store = unrevoked{store, revoked(k)}
	case cfg.Signer != nil:
		*o.Level = ledger.LevelSigned
	}
	return store, at.where(x.run), nil
}

// holds refuses a run that does not hold an entry in its place. The zero
// ref is in every run.
func holds(ctx context.Context, store drive.Store, ref ledger.Ref) error {
	if ref.Run == "" {
		return nil
	}
	var o *ledger.Opened
	err := error(ledger.ErrNotFound)
	if ref.N >= 0 {
		o, err = drive.NewReader(store, ref.Run).Open(ctx, ref.N)
	}
	if err == nil && o.ID != ref.ID || errors.Is(err, ledger.ErrNotFound) {
		return fault.New(job.ErrIntegrity, "jobs.Replay", "run %s does not hold the entry %d that is named", ref.Run, ref.N)
	}
	return err
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
