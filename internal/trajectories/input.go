package trajectories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of inputs.
const (
	// ErrNotOnRoster means that the actor's key is not on the roster of the
	// trajectory. Act as somebody who is.
	ErrNotOnRoster fault.Denied = "trajectories.not_on_roster"
	// ErrNothingPending means that no proposal waits for an approval, or none
	// of that id.
	ErrNothingPending fault.NotFound = "trajectories.nothing_pending"
	// ErrWhich means that more than one thing is meant. Name it.
	ErrWhich fault.Invalid = "trajectories.ambiguous"
	// ErrNoCommit means that the trajectory has committed nothing.
	ErrNoCommit fault.NotFound = "trajectories.no_commit"
)

// Act is what somebody says about a trajectory.
type Act struct {
	As     string // the name of the actor's key; empty: the operator's
	Reason string
}

// statement is an act before it is signed.
type statement struct {
	kind   ledger.Kind
	name   string
	verb   govern.Verb
	matter govern.Matter
	roles  []govern.Role // in which it counts
}

// Approve answers a proposal that waits: yes, or no. The answer is bound to
// the proposal and its exact arguments. Proposal is the beginning of its id,
// and may be empty where one waits.
func (r *Runner) Approve(ctx context.Context, run ledger.RunID, proposal string, yes bool, a Act) (*Result, error) {
	return r.act(ctx, run, a, func(m *trajectory.Machine) (statement, error) {
		p, err := pending(m, proposal)
		verb := govern.Approve
		if !yes {
			verb = govern.Deny
		}
		return statement{ledger.KindApproval, trajectory.EventApproval, verb, p.Matter, p.Roles}, err
	})
}

func pending(m *trajectory.Machine, prefix string) (trajectory.Pending, error) {
	const op = "trajectories.Approve"
	prefix = strings.TrimPrefix(strings.ToLower(prefix), trajectory.PrefixProposal)
	list := slices.DeleteFunc(m.Pending(), func(p trajectory.Pending) bool { return !strings.HasPrefix(p.ID.String(), prefix) })
	switch len(list) {
	case 0:
		return trajectory.Pending{}, fault.New(ErrNothingPending, op, "nothing waits for an approval")
	case 1:
		return list[0], nil
	}
	err := fault.New(ErrWhich, op, "%d proposals wait; name one", len(list))
	for _, p := range list {
		err = err.With(fmt.Sprintf("%s: %s of %s on channel %s", p.ID.String()[:12], p.Proposal.Tool, p.Agent, p.Channel))
	}
	return trajectory.Pending{}, err
}

// SetWrit revokes a writ, or restores it. Writ is the beginning of its id or
// the name of an agent; it may be empty where there is one.
func (r *Runner) SetWrit(ctx context.Context, run ledger.RunID, writ string, revoke bool, a Act) (*Result, error) {
	return r.act(ctx, run, a, func(m *trajectory.Machine) (statement, error) {
		id, err := writOf(m, writ)
		s := statement{
			ledger.KindEvent, trajectory.EventRevoked, govern.Revoke,
			govern.Matter{Ledger: m.Trajectory().String(), Subject: id.String(), Bound: id},
			[]govern.Role{govern.Admin, govern.Operator},
		}
		if !revoke {
			s.name, s.verb = trajectory.EventRestored, govern.Restore
		}
		return s, err
	})
}

func writOf(m *trajectory.Machine, name string) (canon.Digest, error) {
	var found []canon.Digest
	prefix := strings.TrimPrefix(strings.ToLower(name), trajectory.PrefixWrit)
	for _, a := range m.Agents() {
		if a.Name == name {
			return a.Writ, nil
		}
	}
	for _, w := range m.Charter().Writs {
		if strings.HasPrefix(w.ID.String(), prefix) {
			found = append(found, w.ID)
		}
	}
	if len(found) != 1 {
		return canon.Digest{}, fault.New(ErrWhich, "trajectories.SetWrit", "%d writs are named by %q; name an agent, or the beginning of a writ's id", len(found), name)
	}
	return found[0], nil
}

// Halt stops a trajectory until it is cleared.
func (r *Runner) Halt(ctx context.Context, run ledger.RunID, a Act) (*Result, error) {
	return r.act(ctx, run, a, func(m *trajectory.Machine) (statement, error) {
		id := m.Trajectory()
		return statement{
			ledger.KindEvent, govern.EventHalted, govern.Stop,
			govern.Matter{Ledger: id.String(), Subject: id.String(), Bound: id},
			[]govern.Role{govern.Admin, govern.Operator, govern.Council},
		}, nil
	})
}

// Clear lets a trajectory go on that was halted: the oldest halt is cleared.
func (r *Runner) Clear(ctx context.Context, run ledger.RunID, a Act) (*Result, error) {
	return r.act(ctx, run, a, func(m *trajectory.Machine) (statement, error) {
		standing := m.Halts()
		if len(standing) == 0 {
			return statement{}, fault.New(ErrNothingPending, "trajectories.Clear", "the trajectory is not halted")
		}
		return statement{
			ledger.KindEvent, govern.EventCleared, govern.Clear, standing[0].Matter(m.Trajectory().String()),
			[]govern.Role{govern.Admin, govern.Council},
		}, nil
	})
}

// Compensate takes commits back, from the newest to the one whose id begins
// so; empty: the newest alone. A run that is sealed takes nothing more: its
// commits are taken back in a branch.
func (r *Runner) Compensate(ctx context.Context, run ledger.RunID, commit string, a Act) (*Result, error) {
	t, err := r.take(ctx, run)
	if errors.Is(err, drive.ErrSealed) {
		t, err = r.branchOff(ctx, run, -1, "compensation", nil, a.As)
	}
	if err != nil {
		return nil, err
	}
	return r.say(ctx, t, a, func(m *trajectory.Machine) (statement, error) {
		head, commits := m.Head()
		if commits == 0 {
			return statement{}, fault.New(ErrNoCommit, "trajectories.Compensate", "nothing was committed")
		}
		subject := head
		if prefix := strings.TrimPrefix(strings.ToLower(commit), trajectory.PrefixCommit); prefix != "" {
			var err error
			if subject, err = m.FindCommit(prefix); err != nil {
				return statement{}, err
			}
		}
		return statement{
			ledger.KindEvent, trajectory.EventCompensate, govern.Compensate,
			govern.Matter{Ledger: m.Trajectory().String(), Subject: subject.String(), Bound: head},
			[]govern.Role{govern.Admin, govern.Operator},
		}, nil
	})
}

// act takes a run over, and to it what somebody says. A run that another
// process is writing stays there, and that process is told.
func (r *Runner) act(ctx context.Context, run ledger.RunID, a Act, about func(*trajectory.Machine) (statement, error)) (*Result, error) {
	t, err := r.take(ctx, run)
	if errors.Is(err, ledger.ErrLeased) && r.Config.Spool != "" {
		res, taken, err := r.send(ctx, run, a, about)
		if err != nil || taken {
			return res, err
		}
		t, err = r.take(ctx, run)
		if err != nil {
			return nil, err
		}
		return r.say(ctx, t, a, about)
	}
	if err != nil {
		return nil, err
	}
	return r.say(ctx, t, a, about)
}

// say signs an act, and gives it to the trajectory if it counts there.
func (r *Runner) say(ctx context.Context, t *Run, a Act, about func(*trajectory.Machine) (statement, error)) (*Result, error) {
	in, err := r.sign(t.watch.m, a, about)
	if err == nil {
		err = t.watch.m.Consult(in)
	}
	if err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.give(ctx, t, in)
}

// give appends an input, and goes on.
func (r *Runner) give(ctx context.Context, t *Run, in effect.Input) (*Result, error) {
	if err := t.session.Receive(ctx, in.Kind, in.Name, in.From, in.Data); err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.goOn(ctx, t)
}

func (r *Runner) sign(m *trajectory.Machine, a Act, about func(*trajectory.Machine) (statement, error)) (effect.Input, error) {
	s, err := about(m)
	if err != nil {
		return effect.Input{}, err
	}
	as := a.As
	if as == "" {
		as = keys.Operator
	}
	key, err := r.Keys.Existing(keys.Actors, as)
	if err != nil {
		return effect.Input{}, err
	}
	roster := m.Charter().Roster
	actor, ok := roster.FindKey(key.Public().ID())
	if !ok {
		return effect.Input{}, r.notOnRoster(roster, as)
	}
	role := actor.Roles[0]
	for _, x := range actor.Roles {
		if slices.Contains(s.roles, x) {
			role = x
			break
		}
	}
	v, err := r.Keys.SignAct(as, govern.Act{Verb: s.verb, Actor: actor.ID, Role: role, Matter: s.matter, Reason: a.Reason}, r.Config.Now())
	return effect.Input{Kind: s.kind, Name: s.name, From: actor.ID, Data: canon.Object(canon.M("act", v))}, err
}

// notOnRoster says as whom the user could act.
func (r *Runner) notOnRoster(roster govern.Roster, as string) error {
	err := fault.New(ErrNotOnRoster, "trajectories.act", "the key %q is not on the roster of the trajectory", as)
	names, listErr := r.Keys.Names(keys.Actors)
	for _, n := range names {
		k, keyErr := r.Keys.Existing(keys.Actors, n)
		if keyErr != nil {
			continue
		}
		if x, ok := roster.FindKey(k.Public().ID()); ok {
			err = err.With(fmt.Sprintf("--as %s acts as %s %v", n, x.ID, x.Roles))
		}
	}
	return errors.Join(err, listErr)
}

// Propose gives an intent to an agent whose intents come from outside.
func (r *Runner) Propose(ctx context.Context, run ledger.RunID, agent, tool string, args canon.Value, rationale string) (*Result, error) {
	t, err := r.take(ctx, run)
	if err != nil {
		return nil, err
	}
	in, err := r.intent(t.watch.m, agent, tool, args, rationale)
	if err == nil {
		err = t.watch.m.Consult(in)
	}
	if err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.give(ctx, t, in)
}

func (r *Runner) intent(m *trajectory.Machine, agent, tool string, args canon.Value, rationale string) (effect.Input, error) {
	name, err := outside(m, agent)
	if err != nil {
		return effect.Input{}, err
	}
	lifted, err := trajectory.Lift(args)
	if err != nil {
		return effect.Input{}, err
	}
	i := trajectory.Intent{Author: name, Kind: trajectory.IntentAct, Target: tool, Args: lifted, Rationale: rationale}
	switch tool {
	case trajectory.ToolDelegate:
		i.Kind = trajectory.IntentDelegate
	case trajectory.ToolMemory:
		i.Kind = trajectory.IntentMemoryPromote
	}
	if head, n := m.Head(); n > 0 {
		i.Parent = &head
	}
	if _, err := io.ReadFull(r.Config.Rand, i.Nonce[:]); err != nil {
		return effect.Input{}, fault.Wrap(ErrRandom, "trajectories.Propose", err, "no randomness")
	}
	return effect.Input{Kind: ledger.KindEvent, Name: trajectory.EventIntent, From: name, Data: canon.Object(canon.M("intent", i.Value()))}, nil
}

// outside returns the agent of that name whose intents come from outside; any
// if the name is empty and there is one.
func outside(m *trajectory.Machine, name string) (string, error) {
	var found []string
	for _, a := range m.Agents() {
		if a.Outside && a.Status == "" && (name == "" || a.Name == name) {
			found = append(found, a.Name)
		}
	}
	if len(found) != 1 {
		return "", fault.New(ErrWhich, "trajectories.outside", "%d agents propose from outside and are named by %q", len(found), name)
	}
	return found[0], nil
}

// listener returns the agent of that name that waits for a message; any if the
// name is empty and there is one.
func listener(m *trajectory.Machine, name string) (string, error) {
	var found []string
	for _, a := range m.Agents() {
		if a.Listens && (name == "" || a.Name == name) {
			found = append(found, a.Name)
		}
	}
	if len(found) != 1 {
		return "", fault.New(ErrWhich, "trajectories.listener", "%d agents wait for a message and are named by %q", len(found), name)
	}
	return found[0], nil
}

func spoken(m *trajectory.Machine, agent, from, text string) (effect.Input, error) {
	name, err := listener(m, agent)
	if err != nil {
		return effect.Input{}, err
	}
	return effect.Input{Kind: ledger.KindEvent, Name: trajectory.EventMessage, From: cmp.Or(from, "user"), Data: canon.Object(
		canon.M("agent", canon.String(name)), canon.M("text", canon.String(text)),
	)}, nil
}

// Say tells a conversational agent more, which goes on from its last answer.
// From says who speaks.
func (r *Runner) Say(ctx context.Context, run ledger.RunID, agent, from, text string) (*Result, error) {
	t, err := r.take(ctx, run)
	if err != nil {
		return nil, err
	}
	in, err := spoken(t.watch.m, agent, from, text)
	if err == nil {
		err = t.watch.m.Consult(in)
	}
	if err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.give(ctx, t, in)
}

// idler returns the agent of that name that can be finished: whose intents come
// from outside, or that waits for a message.
func idler(m *trajectory.Machine, name string) (string, error) {
	if found, err := listener(m, name); err == nil {
		return found, nil
	}
	return outside(m, name)
}

// Finish says that an agent is done whose intents come from outside, or that
// waits for a message.
func (r *Runner) Finish(ctx context.Context, run ledger.RunID, agent, answer string) (*Result, error) {
	t, err := r.take(ctx, run)
	if err != nil {
		return nil, err
	}
	name, err := idler(t.watch.m, agent)
	if err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	said := canon.Null() // what it said last
	if answer != "" {
		said = canon.String(answer)
	}
	in := effect.Input{Kind: ledger.KindEvent, Name: trajectory.EventFinish, From: name, Data: canon.Object(
		canon.M("agent", canon.String(name)), canon.M("answer", said),
	)}
	if err := t.watch.m.Consult(in); err != nil {
		return nil, errors.Join(err, t.session.Close(ctx))
	}
	return r.give(ctx, t, in)
}
