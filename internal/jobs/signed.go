package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrNoGovernance means that a tenant has no governance ledger in the store
// yet: no job of it was run, and nothing was asked for. It begins with the first
// job or request.
const ErrNoGovernance fault.NotFound = "jobs.no_governance"

// What people sign elsewhere, with keys that are not here, comes in as the act
// itself. It is admitted by the same fold as one that is signed here.

// Asked is a request for a replay as its actor signs it: everything that is
// asked for, with what was left out filled in, and the matter of the act.
type Asked struct {
	Request canon.Value
	Matter  govern.Matter
}

// Ask returns what whoever wants this replay has to sign, with the verb replay.
// Nothing is recorded, but for the governance ledger itself if the tenant has
// none yet.
func (r *Runner) Ask(ctx context.Context, q ReplayRequest) (Asked, error) {
	p, err := r.replaying(ctx, q)
	if err != nil {
		return Asked{}, err
	}
	return p.asking(p.g.state), nil
}

func (r *Runner) replaying(ctx context.Context, q ReplayRequest) (*replaying, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	q.Rerun = slices.DeleteFunc(slices.Clone(q.Rerun), func(name string) bool { return name == RerunNone })
	checked, broken, err := r.verify(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	s, err := r.subject(ctx, q.Run, broken != nil)
	if err != nil {
		return nil, err
	}
	g, others, err := r.governed(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := upheld(s, append([]*Governance{g}, others...)); err != nil && broken == nil {
		broken = err
	}
	if q.Approval != "" {
		// An approval is good for one request, by whatever part of its id it is
		// named.
		if other, err := g.state.request(q.Approval); err == nil {
			q.Approval = other.ID
		}
	}
	return &replaying{
		r: r, q: q, job: s, g: g, others: others, checked: append([]job.Step{checked}, steps(g, others)...), broken: broken, out: &Replayed{Mode: q.Mode},
	}, nil
}

// unjudged is what a replay is refused with where nobody can tell who may ask for
// it, and what stands still.
func unjudged(err error) error {
	e := fault.Wrap(job.ErrIntegrity, "jobs.Replay", err, "nobody can tell who may replay, and what stands still")
	if cause, ok := errors.AsType[*fault.Error](err); ok {
		if e, ok := errors.AsType[*fault.Error](e); ok {
			return e.With(cause.Detail...)
		}
	}
	return e
}

func (p *replaying) asking(st *standing) Asked {
	v := p.q.value(p.job)
	subject := p.job.JobID
	if subject == "" {
		subject = string(p.job.Run)
		v = v.With("job_id", canon.String(subject))
	}
	return Asked{v, govern.Matter{Ledger: st.id, Subject: subject, Bound: requestDigest(v)}}
}

// ReplaySigned answers a request that was signed elsewhere, as [Runner.Replay]
// answers one that is signed here. An act about something else is refused and
// not recorded; one of somebody who may not ask is recorded and refused.
func (r *Runner) ReplaySigned(ctx context.Context, q ReplayRequest, act canon.Value) (*Replayed, error) {
	p, err := r.replaying(ctx, q)
	if err != nil {
		return nil, err
	}
	b, err := canon.Encode(act, canon.Foreign)
	if err != nil {
		return nil, err
	}
	id := canon.SHA256(b).String()
	err = p.g.append(ctx, func(st *standing) ([]line, error) {
		asked := p.asking(st)
		said, err := govern.Peek(act)
		if err != nil {
			return nil, err
		}
		if said.Matter != asked.Matter {
			return nil, fault.New(govern.ErrMatter, "jobs.ReplaySigned", "the act is not about this request; the request has the digest %s", asked.Matter.Bound)
		}
		p.q.By = Act{As: said.Actor, Role: said.Role, Reason: said.Reason}
		return []line{{EventRequest, said.Actor, canon.Object(canon.M("act", act), canon.M("request", asked.Request))}}, nil
	})
	if err != nil {
		return p.out, err
	}
	p.out.Request = id
	if p.asked, err = p.g.state.request(id); err != nil {
		return p.out, err
	}
	if err := p.allowed(ctx); err != nil {
		return p.out, errors.Join(err, p.close(ctx, err))
	}
	return p.out, p.run(ctx)
}

// ReadGovernance returns the governance ledger of a tenant, and begins none. One
// that does not verify is refused with [ErrGovernance].
func (r *Runner) ReadGovernance(ctx context.Context, tenant string) (*Governance, error) {
	g, _, err := findGovernance(ctx, r.Config, r.Keys, tenant)
	if g == nil && err == nil {
		err = fault.New(ErrNoGovernance, "jobs.ReadGovernance", "the tenant %q has no governance ledger here", tenant)
	}
	return g, err
}

// LedgerID is what acts that belong in the ledger must name.
func (g *Governance) LedgerID() string { return g.state.id }

// Last returns the last entry that was read.
func (g *Governance) Last() ledger.Ref { return g.last }

// VoteMatter returns what a vote on a request must be about: going on behind
// the divergence that its replay has found, or else the request.
func (g *Governance) VoteMatter(q *Request) govern.Matter {
	if !q.Divergence.Bound.IsZero() {
		return q.Divergence
	}
	return q.Matter(g.state.id)
}

// ErrSameRoster means that an enrolment changes nothing: the actor has just these
// roles and that key, or is on no roster from which to be taken off.
const ErrSameRoster fault.Conflict = "jobs.roster_unchanged"

// Enrolling returns the roster that an actor with these roles, or without any,
// would be on, and what an admin has to sign for it, with the verb enrol.
func (g *Governance) Enrolling(a Actor) (govern.Roster, govern.Matter, error) {
	r, err := g.state.enrolled(a)
	if err == nil && r.Digest() == g.state.roster.Digest() {
		err = fault.New(ErrSameRoster, "jobs.Enrol", "the roster would be as it is")
	}
	return r, g.state.rosterMatter(r), err
}

// EnrolSigned enrols an actor by an act that was signed elsewhere, as
// [Governance.Enrol] does by one that is signed here. The act is about one whole
// roster: if somebody else has changed it since, it is refused, so that nothing of
// that is undone.
func (g *Governance) EnrolSigned(ctx context.Context, a Actor, act canon.Value) error {
	return g.append(ctx, func(st *standing) ([]line, error) {
		said, err := govern.Peek(act)
		if err != nil {
			return nil, err
		}
		roster, err := st.enrolled(a)
		if err != nil {
			return nil, err
		}
		if said.Matter != st.rosterMatter(roster) {
			return nil, fault.New(govern.ErrMatter, "jobs.EnrolSigned", "the act is not about the roster that this enrolment gives; if another one was signed since, get the matter again")
		}
		l := line{EventRoster, said.Actor, canon.Object(canon.M("act", act), canon.M("roster", roster.Value()))}
		if next := *st; roster.Digest() == st.roster.Digest() {
			if err := next.event(l.name, l.from, l.data); err != nil {
				return nil, err // one that was used before says so
			}
			return nil, fault.New(ErrSameRoster, "jobs.EnrolSigned", "the roster is as it would be")
		}
		return []line{l}, nil
	})
}

// IncidentSigned halts all replays of what an act is about that was signed
// elsewhere, as [Governance.Incident] does for one that is signed here.
func (g *Governance) IncidentSigned(ctx context.Context, act canon.Value) (govern.Halt, error) {
	var h govern.Halt
	err := g.append(ctx, func(st *standing) ([]line, error) {
		said, err := govern.Peek(act)
		if err != nil {
			return nil, err
		}
		l := line{EventIncident, said.Actor, canon.Object(canon.M("act", act), canon.M("snapshot_id", canon.String(said.Matter.Subject)))}
		next := *st
		if err := next.event(l.name, l.from, l.data); err != nil {
			return nil, err
		}
		h, _ = next.halts.Halted(said.Matter.Subject)
		return []line{l, {EventHalt, service, canon.Object(canon.M("halt", h.Value()))}}, nil
	})
	return h, err
}

// ClearSigned takes a vote on a halt that was signed elsewhere, as
// [Governance.Clear] takes one that is signed here.
func (g *Governance) ClearSigned(ctx context.Context, act canon.Value) (govern.State, error) {
	state := govern.Open
	err := g.append(ctx, func(st *standing) ([]line, error) {
		said, err := govern.Peek(act)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(st.halts.Standing(), func(h govern.Halt) bool { return h.Matter(st.id) == said.Matter })
		if i < 0 {
			return nil, fault.New(ErrNoRequest, "jobs.Governance", "no halt stands that the act is about")
		}
		h := st.halts.Standing()[i]
		l := line{govern.EventVote, said.Actor, canon.Object(canon.M("about", canon.String(aboutHalt)), canon.M("act", act))}
		next := *st
		if err := next.event(l.name, l.from, l.data); err != nil {
			return nil, err
		}
		if state = next.lastVote; state != govern.Granted {
			return []line{l}, nil
		}
		return []line{l, {EventClear, service, canon.Object(canon.M("halt", h.Value()))}}, nil
	})
	return state, err
}

// ApproveSigned takes a vote on a replay that was signed elsewhere, as
// [Governance.Approve] takes one that is signed here.
func (g *Governance) ApproveSigned(ctx context.Context, id string, act canon.Value) (*Request, error) {
	err := g.append(ctx, func(st *standing) ([]line, error) {
		q, err := st.request(id)
		if err != nil {
			return nil, err
		}
		id = q.ID
		said, err := govern.Peek(act)
		if err != nil {
			return nil, err
		}
		about := aboutRequest
		if !q.Divergence.Bound.IsZero() {
			about = aboutDivergence
		}
		return []line{{govern.EventVote, said.Actor, canon.Object(
			canon.M("about", canon.String(about)), canon.M("act", act), canon.M("request_id", canon.String(q.ID)))}}, nil
	})
	if err != nil {
		return nil, err
	}
	return g.state.request(id)
}

// Pending returns what a job asks the council for, and what a vote on it must
// meet. It refuses with [ErrNobodyAsked] a job that asks for nothing.
func (r *Runner) Pending(ctx context.Context, id ledger.RunID) (job.ActionRequest, govern.Requirement, error) {
	t, err := r.load(ctx, id)
	if err != nil {
		return job.ActionRequest{}, govern.Requirement{}, err
	}
	q, ok := t.watch.m.Pending()
	if !ok {
		return q, govern.Requirement{}, fault.New(ErrNobodyAsked, "jobs.Pending", "the job waits for no approval")
	}
	_, tenant, err := t.people(ctx, r.Config.Store)
	return q, q.Requirement(tenant), err
}

// Waiting returns the job that asks for the action of that id. Two jobs of one
// seed ask under the same id: then it takes the run to say which is meant.
func (r *Runner) Waiting(ctx context.Context, request string) (ledger.RunID, error) {
	var found []ledger.RunID
	for s, err := range List(ctx, r.Config.Store) {
		if err != nil {
			return "", err
		}
		if s.Done {
			continue
		}
		if q, _, err := r.Pending(ctx, s.Run); err == nil && q.ID() == request {
			found = append(found, s.Run)
		} else if fault.ClassOf(err) == fault.ClassUnavailable {
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return "", fault.New(ErrNobodyAsked, "jobs.Waiting", "no job waits for an action of that id")
	case 1:
		return found[0], nil
	default:
		err := fault.New(ErrWhich, "jobs.Waiting", "%d jobs wait for an action of that id; name the run", len(found))
		for _, run := range found {
			err = err.With(string(run))
		}
		return "", err
	}
}

// VoteSigned takes a vote on what a job asks the council for that was signed
// elsewhere, as [Runner.Vote] takes one that is signed here. The job goes on
// only if goOn says so: its agents are called then. Else the vote is recorded,
// and [Runner.Resume] goes on.
func (r *Runner) VoteSigned(ctx context.Context, id ledger.RunID, request string, act canon.Value, goOn bool) (*Result, error) {
	t, err := r.take(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.voteSigned(ctx, t, request, act); err != nil {
		return nil, errors.Join(err, t.session.Close(context.WithoutCancel(ctx)))
	}
	if goOn {
		return r.goOn(ctx, t)
	}
	if err := t.session.Close(ctx); err != nil {
		return nil, err
	}
	after, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	return after.result(drive.State{Waiting: after.watch.m.Next().Wait}), nil
}

func (r *Runner) voteSigned(ctx context.Context, t *run, request string, act canon.Value) error {
	const op = "jobs.VoteSigned"
	q, ok := t.watch.m.Pending()
	if !ok || q.ID() != request {
		return fault.New(ErrNobodyAsked, op, "the job does not wait for that action")
	}
	roster, tenant, err := t.people(ctx, r.Config.Store)
	if err != nil {
		return err
	}
	a, err := roster.Readmit(act, q.Requirement(tenant))
	if err != nil {
		return err
	}
	if a.Act().Matter != q.Matter() {
		return fault.New(govern.ErrMatter, op, "the act is not about this action")
	}
	after, err := t.waited(ctx, r)
	if err != nil {
		return err
	}
	in := input{ledger.KindApproval, job.InputVote, a.Act().Actor, canon.Object(canon.M("act", act), canon.M("after", canon.Int(after)))}
	if err := t.consult(in); err != nil {
		return err
	}
	return t.session.Receive(ctx, in.kind, in.name, in.from, in.data)
}
