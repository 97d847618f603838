package jobs

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrNotOnRoster means that the actor's key is not on the roster of the
	// tenant or of the job. Act as somebody who is, or have it enrolled.
	ErrNotOnRoster fault.Denied = "jobs.not_on_roster"
	// ErrRandom means that the system gives no randomness. Nothing is signed
	// without it.
	ErrRandom fault.Unavailable = "jobs.no_randomness"
	// ErrNoRequest means that the governance ledger holds no request, or no halt,
	// that is named so.
	ErrNoRequest fault.NotFound = "jobs.no_such_request"
	// ErrWhich means that more than one thing is meant. Name more of it.
	ErrWhich fault.Invalid = "jobs.ambiguous"
)

const (
	// EngineGovernance is the engine of the ledger of a tenant's governance.
	EngineGovernance = "governance"

	modeLedger = "ledger"
	service    = "reprise" // who the events are from that no person signs

	leasePause = 20 * time.Millisecond
	leaseTries = 500
)

// Governance is the governance ledger of a tenant in a store, as it stood when
// it was read last.
type Governance struct {
	cfg   drive.Config
	keys  *keys.Keys
	run   ledger.RunID
	root  string // the key that it was begun under
	last  ledger.Ref
	state *standing
	stale bool // an append has failed: what state says may not be written
}

// OpenGovernance returns the governance of a tenant, and begins it if there is
// none: with the user's operator key in every role, until that key enrols
// others. One that does not verify is refused with [ErrGovernance].
func OpenGovernance(ctx context.Context, cfg drive.Config, k *keys.Keys, tenant string) (*Governance, error) {
	g, _, err := openGovernance(ctx, cfg, k, tenant)
	return g, err
}

// openGovernance returns the governance of a tenant, and which other governance
// ledgers of it the store holds: those came from elsewhere, or were begun at the
// same time. They are not verified.
func openGovernance(ctx context.Context, cfg drive.Config, k *keys.Keys, tenant string) (*Governance, []founded, error) {
	g, others, err := findGovernance(ctx, cfg, k, tenant)
	if g != nil || err != nil {
		return g, others, err
	}
	if err := neverFounded(ctx, &cfg, k, tenant); err != nil {
		return nil, nil, err
	}
	g = &Governance{cfg: cfg, keys: k, root: k.Root().ID().String()}
	return g, others, g.begin(ctx, tenant, g.root)
}

// findGovernance returns the governance of a tenant, or nil if there is none,
// and the other governance ledgers of it.
func findGovernance(ctx context.Context, cfg drive.Config, k *keys.Keys, tenant string) (*Governance, []founded, error) {
	runs, err := governances(ctx, cfg.Store, tenant)
	if err != nil {
		return nil, nil, err
	}
	root := k.Root().ID().String()
	for i, x := range runs {
		if x.root == root {
			g := &Governance{cfg: cfg, keys: k, root: root, run: x.run}
			return g, slices.Delete(runs, i, i+1), g.read(ctx)
		}
	}
	return nil, runs, nil
}

func (g *Governance) begin(ctx context.Context, tenant, root string) error {
	own, err := g.keys.Named(keys.Actors, keys.Operator)
	if err != nil {
		return err
	}
	roster, err := govern.NewRoster(govern.Actor{
		ID: keys.Operator, Key: own.Public(), Tenant: tenant,
		Roles: []govern.Role{govern.Operator, govern.Admin, govern.Auditor, govern.Council},
	})
	if err != nil {
		return err
	}
	s, err := drive.Open(ctx, g.cfg, drive.Opening{Engine: EngineGovernance, Mode: modeLedger, Title: "governance " + tenant, Data: canon.Object(
		canon.M("ledger_id", canon.String(det.ID(EngineGovernance, tenant, root))),
		canon.M("root", canon.String(root)),
		canon.M("roster", roster.Value()),
		canon.M("tenant", canon.String(tenant)))})
	if err != nil {
		return err
	}
	g.run = s.Run()
	at := s.At()
	if err := s.Close(ctx); err != nil {
		return err
	}
	if err := g.pin(ctx, ledger.Ref{Run: g.run, N: at.Count - 1, ID: at.Last}); err != nil {
		return err
	}
	return g.read(ctx)
}

// read verifies and folds the ledger, as it stands now.
func (g *Governance) read(ctx context.Context) error {
	st, last, err := trusted(ctx, &g.cfg, g.keys, founded{run: g.run, root: g.root})
	if err == nil {
		g.state, g.last = st, last
	}
	return err
}

// catchUp is read, unless nothing was written since.
func (g *Governance) catchUp(ctx context.Context) error {
	at, err := g.cfg.Store.At(ctx, g.run)
	if err != nil || !g.stale && at == (ledger.Position{Count: g.last.N + 1, Last: g.last.ID}) {
		return err
	}
	if err = g.read(ctx); err == nil {
		g.stale = false
	}
	return err
}

// Run returns the run that is the ledger.
func (g *Governance) Run() ledger.RunID { return g.run }

// Entries yields the ledger as it stands.
func (g *Governance) Entries(ctx context.Context) iter.Seq2[*ledger.Opened, error] {
	return drive.NewReader(g.cfg.Store, g.run).All(ctx)
}

// Roster returns who may act.
func (g *Governance) Roster() govern.Roster { return g.state.roster }

// Standing returns the halts that stand, oldest first.
func (g *Governance) Standing() []govern.Halt { return g.state.halts.Standing() }

// Requests returns the requests for replays, oldest first.
func (g *Governance) Requests() []*Request { return g.state.requests }

// line is an event that is to be appended.
type line struct {
	name, from string
	data       canon.Value
}

// append appends what say returns about the ledger as it stands, while nobody
// else writes to it. What the fold would refuse is refused, and nothing of it
// is written.
func (g *Governance) append(ctx context.Context, say func(*standing) ([]line, error)) error {
	for try := 0; ; try++ {
		err := g.tryAppend(ctx, say)
		if !errors.Is(err, ledger.ErrLeased) || try == leaseTries {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(leasePause):
		}
	}
}

func (g *Governance) tryAppend(ctx context.Context, say func(*standing) ([]line, error)) (err error) {
	s, err := drive.Resume(ctx, g.cfg, g.run, drive.Opening{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if err := g.catchUp(ctx); err != nil {
		return err
	}
	lines, err := say(g.state)
	if err != nil {
		return err
	}
	next := *g.state
	for _, l := range lines {
		if err := next.event(l.name, l.from, l.data); err != nil {
			return err
		}
	}
	g.stale = true
	for _, l := range lines {
		if err := s.Receive(ctx, ledger.KindEvent, l.name, l.from, l.data); err != nil {
			return err
		}
	}
	at := s.At()
	g.state, g.last, g.stale = &next, ledger.Ref{Run: g.run, N: at.Count - 1, ID: at.Last}, false
	return g.pin(ctx, g.last)
}

// Act is what somebody says.
type Act struct {
	As     string      // the name of the actor's key; empty: the operator's
	Role   govern.Role // in which; empty: the first that counts
	Reason string
}

// signAct signs an act as somebody of a roster.
func signAct(cfg *drive.Config, k *keys.Keys, roster govern.Roster, a Act, verb govern.Verb, m govern.Matter, roles ...govern.Role) (actor string, act canon.Value, err error) {
	const op = "jobs.sign"
	as := a.As
	if as == "" {
		as = keys.Operator
	}
	key, err := k.Existing(keys.Actors, as)
	if err != nil {
		return "", act, err
	}
	who, ok := roster.FindKey(key.Public().ID())
	if !ok {
		return "", act, fault.New(ErrNotOnRoster, op, "the key %q is not on the roster", as)
	}
	role := a.Role
	if role == "" {
		i := slices.IndexFunc(roles, func(r govern.Role) bool { return who.Has(r) })
		if i < 0 {
			return "", act, fault.New(govern.ErrRole, op, "%s is %v, and this takes %v", who.ID, who.Roles, roles)
		}
		role = roles[i]
	}
	act, err = k.SignAct(as, govern.Act{Verb: verb, Actor: who.ID, Role: role, Matter: m, Reason: a.Reason}, cfg.Now())
	return who.ID, act, err
}

// Enrol gives an actor these roles; without roles the actor is taken off.
func (g *Governance) Enrol(ctx context.Context, id string, a Actor, by Act) error {
	a.ID = id
	return g.append(ctx, func(st *standing) ([]line, error) {
		if _, listed := st.roster.Find(id); !listed && a.Key.IsZero() && len(a.Roles) > 0 {
			own, err := g.keys.Named(keys.Actors, id)
			if err != nil {
				return nil, err
			}
			a.Key = own.Public()
		}
		roster, err := st.enrolled(a)
		if err != nil {
			return nil, err
		}
		actor, act, err := signAct(&g.cfg, g.keys, st.roster, by, verbEnrol, st.rosterMatter(roster), govern.Admin)
		return []line{{EventRoster, actor, canon.Object(canon.M("act", act), canon.M("roster", roster.Value()))}}, err
	})
}

// Incident halts all replays of the snapshots, because somebody says so.
func (g *Governance) Incident(ctx context.Context, subjects []string, a Act) error {
	return g.append(ctx, func(st *standing) ([]line, error) {
		var out []line
		next := *st
		for _, subject := range subjects {
			m := govern.Matter{Ledger: st.id, Subject: subject, Bound: canon.SHA256([]byte(subject))}
			actor, act, err := signAct(&g.cfg, g.keys, st.roster, a, govern.Stop, m, govern.Admin, govern.Operator, govern.Council)
			if err != nil {
				return nil, err
			}
			l := line{EventIncident, actor, canon.Object(canon.M("act", act), canon.M("snapshot_id", canon.String(subject)))}
			if err := next.event(l.name, l.from, l.data); err != nil {
				return nil, err
			}
			h, _ := next.halts.Halted(subject)
			out = append(out, l, line{EventHalt, service, canon.Object(canon.M("halt", h.Value()))})
		}
		return out, nil
	})
}

// halting is what halts all replays of the snapshots after what a replay has
// found.
func (s *standing) halting(subjects []string, cause fault.Code, reason string, data canon.Value) ([]line, error) {
	var out []line
	next := *s
	for _, subject := range subjects {
		l := line{EventIntegrity, service, data.With("cause", causeValue(cause)).With("reason", canon.String(reason)).With("snapshot_id", canon.String(subject))}
		if err := next.event(l.name, l.from, l.data); err != nil {
			return nil, err
		}
		h, _ := next.halts.Halted(subject)
		out = append(out, l, line{EventHalt, service, canon.Object(canon.M("halt", h.Value()))})
	}
	return out, nil
}

// Clear is a vote to let a halted snapshot go on, or not: that of an admin
// decides, those of the council when they are more than half of it. Subject is
// the beginning of its id; empty where one stands.
func (g *Governance) Clear(ctx context.Context, subject string, yes bool, a Act) (govern.State, error) {
	state := govern.Open
	err := g.append(ctx, func(st *standing) ([]line, error) {
		h, err := st.halted(subject)
		if err != nil {
			return nil, err
		}
		verb := govern.Clear
		if !yes {
			verb = govern.Deny
		}
		actor, act, err := signAct(&g.cfg, g.keys, st.roster, a, verb, h.Matter(st.id), clearing...)
		if err != nil {
			return nil, err
		}
		l := line{govern.EventVote, actor, canon.Object(canon.M("about", canon.String(aboutHalt)), canon.M("act", act))}
		next := *st
		if err := next.event(l.name, l.from, l.data); err != nil {
			return nil, err
		}
		state = next.lastVote
		if state != govern.Granted {
			return []line{l}, nil
		}
		return []line{l, {EventClear, service, canon.Object(canon.M("halt", h.Value()))}}, nil
	})
	return state, err
}

// Approve is a vote on a replay: on one that its mode does not let its actor
// run, or on going on behind the divergence that it has found. ID is the
// beginning of a request's id.
func (g *Governance) Approve(ctx context.Context, id string, verb govern.Verb, a Act) (*Request, error) {
	var q *Request
	err := g.append(ctx, func(st *standing) ([]line, error) {
		var err error
		if q, err = st.request(id); err != nil {
			return nil, err
		}
		m, roles, about := q.Matter(st.id), []govern.Role{govern.Council, govern.Admin, govern.Auditor}, aboutRequest
		if !q.Divergence.Bound.IsZero() {
			m, roles, about = q.Divergence, []govern.Role{govern.Council, govern.Admin}, aboutDivergence
		}
		actor, act, err := signAct(&g.cfg, g.keys, st.roster, a, verb, m, roles...)
		return []line{{govern.EventVote, actor, canon.Object(
			canon.M("about", canon.String(about)), canon.M("act", act), canon.M("request_id", canon.String(q.ID)))}}, err
	})
	if err != nil {
		return nil, err
	}
	return g.state.request(q.ID)
}

// prefixed finds the one thing that begins so.
func prefixed[T any](list []T, id func(T) string, prefix, what string) (T, error) {
	var found []T
	for _, x := range list {
		if strings.HasPrefix(id(x), prefix) {
			found = append(found, x)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var none T
	if len(found) == 0 {
		return none, fault.New(ErrNoRequest, "jobs.Governance", "there is no %s %q", what, prefix)
	}
	err := fault.New(ErrWhich, "jobs.Governance", "%d %ss begin with %q", len(found), what, prefix)
	for _, x := range found {
		err = err.With(id(x))
	}
	return none, err
}
