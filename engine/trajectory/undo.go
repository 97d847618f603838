package trajectory

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Names of decisions about a compensation.
const (
	NameUndone   = "compensated"         // everything that was asked for is taken back
	NameUndoHalt = "compensation_halted" // a commit cannot be taken back; those before it stand
)

// undoing is a compensation on its way: commits are taken back, newest first.
type undoing struct {
	left    []int // of history; the first is under way
	calling bool  // its tool is called
}

// undoCall is the call that takes a commit back.
type undoCall struct {
	tool *Tool
	args canon.Value
}

// undoCall makes the call that would take an action back, while its arguments
// and its answer are at hand.
func (act *action) undoCall(r *Registry) (*undoCall, error) {
	u := act.tool.Undo
	if u == nil || u.Inverse {
		return nil, nil
	}
	tool, ok := r.Find(u.Tool)
	if !ok {
		return nil, fault.New(ErrTool, "trajectory.undo", "%s is taken back by %s, which is no tool here", act.tool.Name, u.Tool)
	}
	args, err := u.Args(act.proposal.Args, act.output)
	if err != nil {
		return nil, err
	}
	return &undoCall{tool: tool, args: args}, nil
}

// compensate begins to take back the commits from the newest to the one that
// the act names. The act is bound to the newest commit, so that what was
// committed since is not taken back unseen.
func (m *Machine) compensate(in effect.Input) ([]ledger.Decision, error) {
	const op = "trajectory.compensate"
	act, err := m.charter.Roster.Readmit(in.Data.Get("act"), m.requirement([]govern.Role{govern.Admin, govern.Operator}, govern.Compensate))
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	to := -1
	for i, c := range m.history {
		if c.id.String() == act.Act().Matter.Subject {
			to = i
		}
	}
	switch {
	case to < 0:
		err = fault.New(govern.ErrMatter, op, "there is no commit %s", cut(act.Act().Matter.Subject, canon.MaxName))
	case act.Act().Matter.Bound != m.head:
		err = fault.New(govern.ErrMatter, op, "more was committed since: the last commit is %s", m.head)
	case m.undo != nil || m.busy():
		err = fault.New(govern.ErrMatter, op, "the trajectory is at work; wait until it rests")
	}
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	m.undo = &undoing{}
	for i := len(m.history) - 1; i >= to; i-- {
		m.undo.left = append(m.undo.left, i)
	}
	return m.undoNext()
}

// busy reports whether an agent is anywhere but at rest.
func (m *Machine) busy() bool {
	for _, a := range m.agents {
		if a.phase != finished && a.phase != idle && a.phase != waiting {
			return true
		}
	}
	return m.pending != nil
}

// undoNext takes back the next commit, or says that it is over.
func (m *Machine) undoNext() ([]ledger.Decision, error) {
	for len(m.undo.left) > 0 {
		c := &m.history[m.undo.left[0]]
		switch {
		case c.undone || !c.of.IsZero() || c.effect == EffectRead:
			m.undo.left = m.undo.left[1:] // nothing to take back; a second time changes nothing
		case !c.delegate.IsZero():
			return m.undoHalts(c, "it is the work of a delegate: take back the commits of trajectory "+c.delegate.String()), nil
		case c.undo != nil:
			m.undo.calling = true
			return nil, nil
		case c.inverse:
			return m.takeBack(c, canon.Value{}, 0)
		default:
			return m.undoHalts(c, "its tool declares no way back"), nil
		}
	}
	m.undo = nil
	return []ledger.Decision{entry(ledger.KindDecision, NameUndone, canon.Object(canon.M("head", canon.String(m.head.String()))))}, nil
}

func (m *Machine) undoHalts(c *committed, why string) []ledger.Decision {
	m.undo = nil
	return []ledger.Decision{entry(ledger.KindDecision, NameUndoHalt, canon.Object(
		canon.M("commit_id", canon.String(c.id.String())),
		canon.M("proposal_id", canon.String(c.proposal.String())),
		canon.M("reason", canon.String(why)),
	))}
}

// undoCall is the call of the tool that takes the present commit back.
func (m *Machine) undoCall() (effect.Call, bool) {
	if m.undo == nil || !m.undo.calling {
		return effect.Call{}, false
	}
	c := &m.history[m.undo.left[0]]
	call := callOf(c.undo.tool, c.undo.args, canon.Object(
		canon.M("compensates", canon.String(c.id.String())),
		canon.M("idempotency_key", canon.String("undo-"+c.proposal.String())),
	))
	return call, true
}

// undoOutcome takes what the tool answered. A tool that fails, or of which
// nobody knows whether it did, halts the compensation.
func (m *Machine) undoOutcome(in effect.Input) ([]ledger.Decision, error) {
	if m.undo == nil || !m.undo.calling {
		return nil, fault.New(ErrInput, "trajectory.undo", "nothing waits for the outcome of %s", in.Call.Name)
	}
	m.undo.calling = false
	c := &m.history[m.undo.left[0]]
	if in.Outcome.Status != effect.OK {
		return m.undoHalts(c, fmt.Sprintf("%s failed: %s", c.undo.tool.Name, message(in.Outcome))), nil
	}
	output, failed := readOutput(in.Outcome)
	if failed != "" {
		return m.undoHalts(c, fmt.Sprintf("%s failed: %s", c.undo.tool.Name, failed)), nil
	}
	lifted, err := Lift(output)
	if err != nil {
		return m.undoHalts(c, fault.Text(err)), nil
	}
	clean, _ := Redact(lifted)
	return m.takeBack(c, clean, latencyOf(in.Outcome))
}

// takeBack makes the commit that compensates c, and lets it be signed.
func (m *Machine) takeBack(c *committed, output canon.Value, latency uint64) ([]ledger.Decision, error) {
	delta, err := Inverse(c.delta, c.before, m)
	if err != nil {
		return m.undoHalts(c, fault.Text(err)), nil
	}
	u := &unsigned{commit: m.next(), agent: -1, record: committed{
		proposal: c.proposal, intent: c.intent, writ: c.writ, tool: c.tool, effect: c.effect, of: c.id,
	}}
	u.commit.Proposal, u.commit.Intent, u.commit.Writ = c.proposal, c.intent, c.writ
	u.commit.Delta, u.commit.Compensates = delta, c.id
	u.commit.Trace = Trace{Rules: []string{CompensationRule}, Decision: Ruling{Kind: Permit}}
	if c.undo != nil {
		if err := u.seen(c.undo.tool.Name, output, latency); err != nil {
			return nil, err
		}
	}
	if err := u.spill(); err != nil {
		return nil, err
	}
	m.pending = u
	return nil, nil
}

// undone follows a compensation that is committed.
func (m *Machine) undone() ([]ledger.Decision, error) {
	m.history[m.undo.left[0]].undone = true
	m.undo.left = m.undo.left[1:]
	return m.undoNext()
}

// snapshot is the part of a world that a delta touched, as it was before.
type snapshot []struct {
	thing
	state
}

// before returns what is there of all that a delta touches.
func before(delta []ledger.Change, w WorldView) snapshot {
	var s snapshot
	for _, c := range delta {
		k := thing{c.Kind, c.ID}
		if _, _, seen := s.Find(k.kind, k.id); seen {
			continue
		}
		s = append(s, struct {
			thing
			state
		}{k, look(w, k)})
	}
	return s
}

// Find implements [WorldView].
func (s snapshot) Find(kind, id string) (int64, canon.Value, bool) {
	for _, x := range s {
		if x.kind == kind && x.id == id {
			return x.version, x.value, x.version > 0
		}
	}
	return 0, canon.Value{}, false
}
