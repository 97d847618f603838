package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Vote answers what a job waits for the council to say. The act is signed, and
// bound to the request with exactly its payload. When enough have voted the job
// goes on here.
func (r *Runner) Vote(ctx context.Context, id ledger.RunID, verb govern.Verb, a Act) (*Result, error) {
	return r.tell(ctx, id, func(t *run) (input, error) {
		q, ok := t.watch.m.Pending()
		if !ok {
			return input{}, fault.New(ErrNobodyAsked, "jobs.Vote", "the job waits for no approval")
		}
		actor, act, err := r.ballot(ctx, t, &q, verb, a)
		if err != nil {
			return input{}, err
		}
		after, err := t.waited(ctx, r)
		return input{ledger.KindApproval, job.InputVote, actor, canon.Object(canon.M("act", act), canon.M("after", canon.Int(after)))}, err
	})
}

// VoteOn answers a request that stood in the governance snapshot when the job
// began, by the beginning of its id. The job goes on here with what it was at.
func (r *Runner) VoteOn(ctx context.Context, id ledger.RunID, request string, verb govern.Verb, a Act) (*Result, error) {
	return r.tell(ctx, id, func(t *run) (input, error) {
		q, err := prefixed(t.watch.m.Standing(), job.ActionRequest.ID, request, "request")
		if err != nil {
			return input{}, err
		}
		actor, act, err := r.ballot(ctx, t, &q, verb, a)
		if err != nil {
			return input{}, err
		}
		after, err := t.since(ctx, r, ledger.KindOpen)
		return input{ledger.KindApproval, job.InputVote, actor, canon.Object(
			canon.M("act", act), canon.M("after", canon.Int(q.Elapsed+after)), canon.M("request_id", canon.String(q.ID())))}, err
	})
}

// ballot signs a vote on what a job asks the council for.
func (r *Runner) ballot(ctx context.Context, t *run, q *job.ActionRequest, verb govern.Verb, a Act) (actor string, act canon.Value, err error) {
	roster, tenant, err := t.people(ctx, r.Config.Store)
	if err != nil {
		return "", canon.Value{}, err
	}
	return r.countable(roster, q.Requirement(tenant), a, verb, q.Matter())
}

// countable signs an act, and refuses one that would not count.
func (r *Runner) countable(roster govern.Roster, need govern.Requirement, a Act, verb govern.Verb, m govern.Matter) (actor string, act canon.Value, err error) {
	actor, act, err = signAct(&r.Config, r.Keys, roster, a, verb, m, need.Roles...)
	if err == nil {
		_, err = roster.Readmit(act, need)
	}
	return actor, act, err
}

// Override sets the trust of a node in a job that is not over, and its status
// if it names one. It takes an admin, or one of the council.
func (r *Runner) Override(ctx context.Context, id ledger.RunID, node string, o job.Override, a Act) (*Result, error) {
	return r.tell(ctx, id, func(t *run) (input, error) {
		roster, tenant, err := t.people(ctx, r.Config.Store)
		if err != nil {
			return input{}, err
		}
		need := job.OverrideRequirement(t.watch.job, tenant)
		m, err := o.Matter(t.watch.job, node)
		if err != nil {
			return input{}, err
		}
		actor, act, err := r.countable(roster, need, a, govern.Approve, m)
		return input{ledger.KindApproval, job.InputOverride, actor, canon.Object(
			canon.M("act", act), canon.M("node_id", canon.String(node)), canon.M("override", o.Value()))}, err
	})
}

// Elapse tells a job that waits how long it has waited, so that what nobody
// answered in time expires.
func (r *Runner) Elapse(ctx context.Context, id ledger.RunID) (*Result, error) {
	return r.tell(ctx, id, func(t *run) (input, error) {
		if !waitsForPeople(t.watch.m) {
			return input{}, fault.New(ErrNobodyAsked, "jobs.Elapse", "the job waits for no approval")
		}
		after, err := t.waited(ctx, r)
		return input{ledger.KindEvent, job.InputElapsed, service, canon.Object(canon.M("after", canon.Int(after)))}, err
	})
}

// input is what somebody says to a job.
type input struct {
	kind       ledger.Kind
	name, from string
	data       canon.Value
}

// tell takes a job over, tries on a copy of the engine whether what is said
// counts, and goes on.
func (r *Runner) tell(ctx context.Context, id ledger.RunID, say func(*run) (input, error)) (*Result, error) {
	t, err := r.take(ctx, id)
	if err != nil {
		return nil, err
	}
	in, err := say(t)
	if err == nil {
		err = t.consult(in)
	}
	if err == nil {
		err = t.session.Receive(ctx, in.kind, in.name, in.from, in.data)
	}
	if err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.goOn(ctx, t)
}

// consult refuses what the job would not take, before it is recorded.
func (t *run) consult(in input) error {
	ds, err := t.watch.m.Clone().Apply(in.effect())
	if err != nil {
		return err
	}
	for _, d := range ds {
		if d.Kind == ledger.KindRejection {
			data := d.Body.Get("data")
			return fault.New(ErrNotTaken, "jobs.tell", "the job does not take this: %s", data.Get("code").Str())
		}
	}
	return nil
}

// ErrNotTaken means that what somebody said does not count in the job: it was
// said before, or by somebody who has no say. Nothing was recorded.
const ErrNotTaken fault.Denied = "jobs.not_taken"

// people returns who may vote in a job.
func (t *run) people(ctx context.Context, store drive.Store) (govern.Roster, string, error) {
	read := drive.NewReader(store, t.id)
	o, err := read.Open(ctx, 0)
	if err != nil {
		return govern.Roster{}, "", err
	}
	contents, err := read.Contents(ctx, o)
	if err != nil {
		return govern.Roster{}, "", err
	}
	v, err := canon.Parse(contentOf(contents, "job"))
	if err != nil {
		return govern.Roster{}, "", err
	}
	spec, err := job.ParseSpec(v)
	if err != nil {
		return govern.Roster{}, "", err
	}
	return spec.Roster, spec.Tenant, nil
}

// waited returns for how many seconds the request that waits has done so, by
// the times in the headers.
func (t *run) waited(ctx context.Context, r *Runner) (int64, error) {
	return t.since(ctx, r, ledger.KindPendingApproval)
}

// since returns how many seconds ago the last entry of a kind was written.
func (t *run) since(ctx context.Context, r *Runner, kind ledger.Kind) (int64, error) {
	since := r.Config.Now()
	for o, err := range drive.NewReader(r.Config.Store, t.id).All(ctx) {
		if err != nil {
			return 0, err
		}
		if o.Kind == kind {
			at, err := time.Parse(time.RFC3339Nano, o.T)
			if err != nil {
				return 0, fault.Wrap(ErrNotTaken, "jobs.waited", err, "the time of entry %d", o.N)
			}
			since = at
		}
	}
	return int64(max(0, r.Config.Now().Sub(since)) / time.Second), nil
}

func (in input) effect() effect.Input {
	return effect.Input{Kind: in.kind, Name: in.name, From: in.from, Data: in.data}
}
