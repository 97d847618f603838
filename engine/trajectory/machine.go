package trajectory

import (
	"maps"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrInput means that an input does not belong to a trajectory: an outcome of
// a call that was not asked for, an open without a charter. Trust the ledger
// no longer.
const ErrInput fault.Integrity = "trajectory.bad_input"

// Machine is one trajectory at work: several agents that propose, one world
// that commits change. It implements [effect.Machine]; everything that it
// knows came in as an input.
//
//	thinking → timing → acting → signing → thinking …
//
// An agent's model is asked; the clock is read; each intent of the answer is
// compiled; what is staged is called; what came of it is signed and committed.
// A proposal that waits for a person leaves its agent in waiting, and the
// others go on.
type Machine struct {
	charter *Charter // nil before the open
	law     Compiler
	id      canon.Digest
	hash    canon.Digest // of the policies
	now     uint64       // Unix seconds, as the clock said last
	world   ledger.World
	large   map[string]canon.Value // world values that stand in attachments, by what stands for them
	agents  []*agent

	// Commits follow one another, so that one is signed at a time.
	queue   []int // agents whose effect waits to be committed, in order
	pending *unsigned
	head    canon.Digest // the last commit; zero before the first
	commits int64
	history []committed
	known   map[canon.Digest]int // committed proposals and intents, as index in history

	spent   map[canon.Digest]Budget // by writ, what hangs below it included
	revoked map[canon.Digest]bool
	halts   govern.Halts
	seen    govern.Seen
	undo    *undoing
	err     string // why the trajectory cannot go on
}

// committed is what must be remembered of a commit.
type committed struct {
	id       canon.Digest
	proposal canon.Digest
	intent   canon.Digest
	writ     canon.Digest
	tool     string
	effect   Effect
	delta    []ledger.Change // with all values in place
	before   snapshot
	inverse  bool      // the inverse of delta takes it back
	undo     *undoCall // the call that takes it back, or nil
	undone   bool
	delegate canon.Digest // the trajectory that did it, instead of a commit
	of       canon.Digest // the commit that this one compensates, or zero
}

type phase uint8

const (
	idle      phase = iota // waits for intents from outside
	thinking               // its model is asked
	backing                // waits a little before it is asked again
	timing                 // the clock is read
	acting                 // its tool is called
	signing                // its effect waits to be committed
	waiting                // a person is asked
	keying                 // a delegate's key is made
	entitling              // a delegate's writ is signed
	handing                // a delegate works
	handed                 // a delegate waits for a person, and will report
	finished
)

// agent is one author at work.
type agent struct {
	*Agent
	writ   *Writ
	above  []*Writ        // the writs that it comes from, root first
	chain  []canon.Digest // its writs, root first
	grant  Grant
	phase  phase
	said   []canon.Value // the conversation so far
	steps  int64
	fails  int64
	tokens uint64 // of the last answer, not yet on a commit
	turn   []proposed
	act    *action
	status string // once finished
}

// proposed is an intent that is still to be compiled.
type proposed struct {
	call    string // the model's name for it
	intent  Intent
	refused *Rejection // it could not even be read
}

// action is a proposal on its way to a commit.
type action struct {
	call       string // the model's name for it
	intent     Intent
	intentID   canon.Digest
	proposal   *Proposal
	id         canon.Digest
	key        canon.Digest // the id that it had first; its tool knows it by that one
	tool       *Tool
	ballot     govern.Ballot
	asked      bool // a person is or was asked
	approved   bool
	unknown    bool // the effect may have happened; a person decides what next
	attempts   int64
	output     canon.Value // lifted and redacted, once it came
	latency    uint64
	delegation *delegation
}

// NewMachine returns a machine that waits for its open.
func NewMachine() *Machine { return &Machine{} }

// Clone implements [effect.Machine].
func (m *Machine) Clone() effect.Machine {
	c := *m
	c.world = m.world.Clone()
	c.agents = make([]*agent, len(m.agents))
	for i, a := range m.agents {
		b := *a
		b.said, b.turn = slices.Clone(a.said), slices.Clone(a.turn)
		if a.act != nil {
			act := *a.act
			if act.delegation != nil {
				d := *act.delegation
				act.delegation = &d
			}
			b.act = &act
		}
		c.agents[i] = &b
	}
	c.queue, c.history = slices.Clone(m.queue), slices.Clone(m.history)
	c.large = maps.Clone(m.large)
	c.known, c.spent, c.revoked = maps.Clone(m.known), maps.Clone(m.spent), maps.Clone(m.revoked)
	if m.pending != nil {
		p := *m.pending
		c.pending = &p
	}
	if m.undo != nil {
		u := *m.undo
		u.left = slices.Clone(u.left)
		c.undo = &u
	}
	return &c
}

// Trajectory returns the domain id of the trajectory, once it is open.
func (m *Machine) Trajectory() canon.Digest { return m.id }

// Charter returns what the trajectory was opened with, or nil.
func (m *Machine) Charter() *Charter { return m.charter }

// Next implements [effect.Machine].
func (m *Machine) Next() effect.Step {
	if m.charter == nil {
		return effect.Step{Wait: "the open"}
	}
	if m.err != "" {
		return effect.Step{Done: true}
	}
	if h, ok := m.halts.Halted(m.id.String()); ok {
		return effect.Step{Wait: "halt " + h.Matter(m.id.String()).Subject + " to be cleared: " + h.Reason}
	}
	var step effect.Step
	if m.pending != nil {
		step.Calls = append(step.Calls, m.pending.call(m.charter.Signer))
	}
	if c, ok := m.undoCall(); ok {
		step.Calls = append(step.Calls, c)
	}
	var waits []string
	open := m.undo != nil || m.pending != nil
	for _, a := range m.agents {
		if c, ok := m.wants(a); ok {
			step.Calls = append(step.Calls, c)
		} else if why := a.waitsFor(); why != "" {
			waits = append(waits, why)
		}
		open = open || a.phase != finished
	}
	step.Done = !open
	step.Wait = strings.Join(waits, "; ")
	return step
}

// wants returns the call that an agent's phase asks for.
func (m *Machine) wants(a *agent) (effect.Call, bool) {
	switch a.phase {
	case thinking:
		return m.modelCall(a), true
	case backing:
		return sleepCall(a), true
	case timing:
		return clockCall(a), true
	case acting:
		return m.toolCall(a), true
	case keying, entitling, handing:
		return m.delegateCall(a), true
	default:
		return effect.Call{}, false
	}
}

func (a *agent) waitsFor() string {
	switch a.phase {
	case waiting:
		return "approval of " + PrefixProposal + a.act.id.String() + " on channel " + a.act.proposal.Status.Channel
	case handed:
		return "the delegate " + a.act.delegation.name
	case idle:
		return "intents of " + a.Name
	default:
		return ""
	}
}

// Apply implements [effect.Machine].
func (m *Machine) Apply(in effect.Input) ([]ledger.Decision, error) {
	if (in.Kind == ledger.KindOpen) != (m.charter == nil) {
		return nil, fault.New(ErrInput, "trajectory.Apply", "a trajectory begins with its open and has one")
	}
	switch in.Kind {
	case ledger.KindOpen:
		return m.open(in)
	case ledger.KindOutcome:
		return m.outcome(in)
	case ledger.KindBranch:
		return m.branch(in)
	case ledger.KindApproval:
		return m.approval(in)
	case ledger.KindEvent:
		return m.event(in)
	default:
		return nil, fault.New(ErrInput, "trajectory.Apply", "a trajectory takes no %s from outside", in.Kind)
	}
}

// open reads the charter and binds the agents to their writs and skills.
func (m *Machine) open(in effect.Input) ([]ledger.Decision, error) {
	const op = "trajectory.open"
	i := slices.IndexFunc(in.Contents, func(c ledger.Content) bool { return c.Name == CharterName })
	if i < 0 {
		return nil, fault.New(ErrInput, op, "the open has no charter")
	}
	v, err := canon.Parse(in.Contents[i].Bytes)
	if err != nil {
		return nil, fault.Wrap(ErrInput, op, err, "the charter")
	}
	c, err := ParseCharter(v)
	if err != nil {
		return nil, fault.Wrap(ErrInput, op, err, "the charter")
	}
	if c.Compiler != CompilerVersion {
		return nil, fault.New(ErrCompiler, op, "the trajectory was compiled by %s; this is %s", c.Compiler, CompilerVersion)
	}
	if m.id, err = c.Trajectory(); err != nil {
		return nil, err
	}
	if m.halts, err = govern.NewHalts(m.id.String(), govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin, govern.Council}}); err != nil {
		return nil, fault.Wrap(ErrInput, op, err, "halts")
	}
	m.charter, m.hash = c, c.Policies.Hash()
	m.law = Compiler{Registry: c.Registry, Policies: c.Policies, GateIrreversible: c.GateIrreversible, RiskAt: c.RiskAt}
	m.large = map[string]canon.Value{}
	m.known, m.spent, m.revoked = map[canon.Digest]int{}, map[canon.Digest]Budget{}, map[canon.Digest]bool{}
	var out []ledger.Decision
	for i := range c.Agents {
		a := &c.Agents[i]
		ag := &agent{Agent: a, writ: c.Writ(a.Writ), phase: thinking}
		for _, w := range c.Chain(a.Writ) {
			ag.chain = append(ag.chain, w.ID)
			if w.ID != a.Writ {
				ag.above = append(ag.above, w)
			}
		}
		ag.grant = ag.writ.Body.Grant()
		instructions := ""
		if a.Skill != nil {
			ag.grant = a.Skill.Narrow(ag.grant)
			if instructions, err = a.Skill.Bind(a.Params); err != nil {
				return nil, fault.Wrap(ErrInput, op, err, "the skill of agent %q", a.Name)
			}
			d, err := a.bound()
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
		if a.Model.IsZero() {
			ag.phase = idle
		}
		ag.begin(c.Task, instructions)
		m.agents = append(m.agents, ag)
	}
	return out, nil
}

// ErrCompiler means that a trajectory was decided by another version of the
// compiler than this program has. Its hashes, signatures and world can be
// verified here; whether its decisions follow cannot. Ask the version that it
// names.
const ErrCompiler fault.Unavailable = "trajectory.other_compiler"

// bound is the entry that says to which skill an agent is bound.
func (a *Agent) bound() (ledger.Decision, error) {
	id, err := a.Skill.ID()
	if err != nil {
		return ledger.Decision{}, err
	}
	def, err := Lift(a.Skill.Value())
	if err != nil {
		return ledger.Decision{}, fault.Wrap(ErrInput, "trajectory.open", err, "the skill of agent %q", a.Name)
	}
	return entry(ledger.KindSkillBound, a.Name, canon.Object(
		canon.M("params", bindingsValue(a.Params)),
		canon.M("skill", def),
		canon.M("skill_id", canon.String(id.String())),
	)), nil
}

// entry returns a decision with a name and data.
func entry(kind ledger.Kind, name string, data canon.Value, contents ...ledger.Content) ledger.Decision {
	return ledger.Decision{Kind: kind, Body: canon.Object(canon.M("name", canon.String(name)), canon.M("data", data)), Contents: contents}
}

// outcome takes what came back of a call. Which agent asked is part of the
// call.
func (m *Machine) outcome(in effect.Input) ([]ledger.Decision, error) {
	switch {
	case in.Call.Kind == callSign && in.Call.Name == signCommit:
		return m.signed(in)
	case in.Call.Data.Has("compensates"):
		return m.undoOutcome(in)
	}
	name := in.Call.Data.Get("agent").Str()
	for _, a := range m.agents {
		if a.Name != name {
			continue
		}
		switch a.phase {
		case thinking:
			return m.thought(a, in)
		case backing:
			a.phase = thinking
			return nil, nil
		case timing:
			return m.timed(a, in)
		case acting:
			return m.acted(a, in)
		case keying, entitling, handing:
			return m.delegated(a, in)
		default:
		}
	}
	return nil, fault.New(ErrInput, "trajectory.outcome", "nothing waits for the outcome of %s %s", in.Call.Kind, in.Call.Name)
}

// branch makes this a trajectory of its own, with the world and the state of
// the one it left (T-38, T-39).
func (m *Machine) branch(in effect.Input) ([]ledger.Decision, error) {
	const op = "trajectory.branch"
	source, err := canon.ParseDigest(in.Data.Get("source_trajectory_id").Str())
	if err != nil || source != m.id {
		return nil, fault.New(ErrInput, op, "the branch leaves %s, and this is trajectory %s", in.Data.Get("source_trajectory_id"), m.id)
	}
	at := canon.Digest{}
	if v := in.Data.Get("source_commit_id"); !v.IsNull() {
		if at, err = canon.ParseDigest(v.Str()); err != nil {
			return nil, fault.Wrap(ErrInput, op, err, "source_commit_id")
		}
	}
	if at != m.head {
		return nil, fault.New(ErrInput, op, "the branch leaves behind commit %s, and the last one there is %s", at, m.head)
	}
	if n, ok := in.Data.Get("source_commits").AsInt(); !ok || n != m.commits {
		return nil, fault.New(ErrInput, op, "the branch leaves behind %s commits, and there are %d", in.Data.Get("source_commits"), m.commits)
	}
	m.id = BranchTrajectory(source, at)
	if m.halts, err = govern.NewHalts(m.id.String(), govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin, govern.Council}}); err != nil {
		return nil, fault.Wrap(ErrInput, op, err, "halts")
	}
	// What was proposed in the source is asked about anew here: an approval
	// there is none here.
	var out []ledger.Decision
	for _, a := range m.agents {
		if a.phase == waiting {
			d, err := m.suspend(a, a.act.proposal.Status)
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// BranchData is the data of the branch entry with which a branch begins.
//
// The machine is one that has been given the source up to there.
func (m *Machine) BranchData(note string) canon.Value {
	at := canon.Null()
	if !m.head.IsZero() {
		at = canon.String(m.head.String())
	}
	return canon.Object(
		canon.M("note", canon.String(note)),
		canon.M("source_commit_id", at),
		canon.M("source_commits", canon.Int(m.commits)),
		canon.M("source_trajectory_id", canon.String(m.id.String())),
	)
}

// Find implements [WorldView] over the committed world.
func (m *Machine) Find(kind, id string) (version int64, value canon.Value, ok bool) {
	it, ok := m.world.Find(kind, id)
	if !ok {
		return 0, canon.Value{}, false
	}
	if it.Attached {
		return it.Version, m.large[string(it.Value)], true
	}
	v, err := canon.Parse(it.Value)
	if err != nil {
		return 0, canon.Value{}, false
	}
	return it.Version, v, true
}
