package trajectory

import (
	"encoding/hex"
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Calls of a delegation: a key for the delegate, and its trajectory.
const (
	callKey        = "key"
	callTrajectory = "trajectory"
)

// NameDelegated is the decision that says what a delegate gave.
const NameDelegated = "delegated"

// EventDelegate is the input with which a delegate reports that had to wait
// for a person while its parent's process went on or ended.
const EventDelegate = "delegate.reported"

// What a call of kind trajectory gives back as data.state.
const (
	DelegateDone    = "done"
	DelegateWaiting = "waiting"
)

// delegation is a delegate on its way (T-41).
type delegation struct {
	name     string
	task     string
	writ     Writ // its body, and then its signature
	id       canon.Digest
	charter  ledger.Content
	attempts int64
	away     bool // it waits for a person; it will report
}

// entitle makes the writ that a delegate is to have: half of what is left of
// the budget, no tool and no effect more, and one step less to delegate.
func (m *Machine) entitle(a *agent) error {
	args := a.act.proposal.Args
	body := WritBody{
		Issuer: a.writ.Body.Subject, IssuerKey: a.writ.Body.SubjectKey,
		Subject: fmt.Sprintf("%s/%d", a.Name, len(m.history)+int(a.steps)),
		Parent:  a.writ.ID, Tenant: a.writ.Body.Tenant, Scopes: a.grant.Scopes,
		Budget: a.grant.Budget.Minus(m.spentOf(a)).Half(), Ceiling: a.grant.Ceiling, Window: a.writ.Body.Window,
		Delegation: Bounds{MaySubdivide: a.writ.Body.Delegation.MaySubdivide},
	}
	if d := a.writ.Body.Delegation.MaxDepth; d > 0 {
		body.Delegation.MaxDepth = d - 1
	}
	copy(body.Nonce[:], a.act.id[:])
	if tools := args.Get("tools"); tools.Len() > 0 {
		body.Scopes = nil
		for _, t := range tools.Elems() {
			body.Scopes = append(body.Scopes, t.Str())
		}
	}
	a.act.delegation = &delegation{name: body.Subject, task: args.Get("task").Str(), writ: Writ{Body: body}}
	a.act.delegation.id = ChildTrajectory(a.act.delegation.task, a.act.id)
	return body.Within(&a.writ.Body)
}

// delegateCall asks for what a delegation needs next.
func (*Machine) delegateCall(a *agent) effect.Call {
	d := a.act.delegation
	data := canon.Object(canon.M("agent", canon.String(a.Name)), canon.M("attempt", canon.Int(d.attempts)))
	switch a.phase {
	case keying:
		return effect.Call{Kind: callKey, Name: d.name, Class: effect.Read, Data: data.With("trajectory_id", canon.String(d.id.String()))}
	case entitling:
		c := effect.Call{Kind: callSign, Name: signWrit, Class: effect.Read, Data: data.With("key", keyValue(a.writ.Body.SubjectKey))}
		if msg, err := canon.Encode(d.writ.Body.Value(), canon.Thymos); err == nil {
			c.Contents = []ledger.Content{{Name: messageName, Type: jsonType, Bytes: msg}}
		}
		return c
	default:
		return effect.Call{
			Kind: callTrajectory, Name: d.name, Class: effect.External,
			Data:     data.With("child_trajectory_id", canon.String(d.id.String())),
			Contents: []ledger.Content{d.charter},
		}
	}
}

// delegated takes what came back of a delegation's calls.
func (m *Machine) delegated(a *agent, in effect.Input) ([]ledger.Decision, error) {
	d := a.act.delegation
	d.attempts++
	if in.Outcome.Status != effect.OK {
		if in.Outcome.Status == effect.Interrupted && d.attempts < maxSigning {
			return nil, nil // asked again: a delegate's trajectory is found by its id and goes on
		}
		return m.undelegated(a, codeOf(in.Outcome), message(in.Outcome))
	}
	switch a.phase {
	case keying:
		raw, err := hex.DecodeString(in.Outcome.Data.Get("key").Str())
		if err != nil {
			return m.undelegated(a, "trajectory.bad_key", "the key of the delegate cannot be read")
		}
		if d.writ.Body.SubjectKey, err = sign.ParseKey(raw); err != nil {
			return m.undelegated(a, fault.CodeOf(err).Error(), fault.Text(err))
		}
		a.phase, d.attempts = entitling, 0
		return nil, nil
	case entitling:
		return m.entitled(a, in)
	default:
		if in.Outcome.Data.Get("state").Str() == DelegateWaiting {
			d.away, a.phase = true, handed
			return nil, nil
		}
		return m.handedBack(a, in.Outcome.Data)
	}
}

// undelegated ends a delegation that did not come about.
func (m *Machine) undelegated(a *agent, code, msg string) ([]ledger.Decision, error) {
	if a.phase == handing {
		m.refund(a, Budget{})
	}
	return m.toolFailed(a, code, msg)
}

// entitled completes the delegate's writ, and records that work is handed on.
func (m *Machine) entitled(a *agent, in effect.Input) ([]ledger.Decision, error) {
	d := a.act.delegation
	var err error
	if d.writ.Signature, err = hex.DecodeString(in.Outcome.Data.Get("signature").Str()); err == nil {
		if d.writ.ID, err = ContentID(d.writ.Body.Value()); err == nil {
			err = CheckChild(a.writ, &d.writ)
		}
	}
	if err != nil {
		return m.undelegated(a, fault.CodeOf(err).Error(), fault.Text(err))
	}
	child := *m.charter
	child.Task, child.Parent = d.task, &Descent{Trajectory: m.id, Proposal: a.act.id}
	child.Writs = append(m.charter.Chain(a.writ.ID), &d.writ)
	child.Agents = []Agent{{Name: d.name, Writ: d.writ.ID, Prompt: a.Prompt, Model: a.Model}}
	if d.charter, err = child.Content(); err != nil {
		return m.undelegated(a, fault.CodeOf(err).Error(), fault.Text(err))
	}
	writ, err := Lift(d.writ.Value())
	if err != nil {
		return nil, err
	}
	a.phase, d.attempts = handing, 0
	m.spend(a, d.writ.Body.Budget) // what it may cost is set aside until it is known
	return []ledger.Decision{entry(ledger.KindDelegation, d.name, canon.Object(
		canon.M("child_trajectory_id", canon.String(d.id.String())),
		canon.M("final_answer", canon.Null()),
		canon.M("proposal_id", canon.String(a.act.id.String())),
		canon.M("task", canon.String(d.task)),
		canon.M("writ", writ),
	))}, nil
}

// delegateReports takes the report of a delegate that had to wait.
func (m *Machine) delegateReports(in effect.Input) ([]ledger.Decision, error) {
	for _, a := range m.agents {
		if a.phase == handed && in.Data.Get("child_trajectory_id").Str() == a.act.delegation.id.String() {
			return m.handedBack(a, in.Data)
		}
	}
	return []ledger.Decision{refuse(in, fault.New(ErrIntent, "trajectory.delegate", "no such delegate is awaited"))}, nil
}

// handedBack takes what a delegate gave, and what it cost.
func (m *Machine) handedBack(a *agent, report canon.Value) ([]ledger.Decision, error) {
	d := a.act.delegation
	spent, err := Lower(report.Get("spent"))
	var cost Budget
	if err == nil {
		cost, err = ParseBudget(spent)
	}
	if err != nil || !cost.Within(d.writ.Body.Budget) {
		cost = d.writ.Body.Budget // what is not known is all of it
	}
	m.refund(a, cost)
	answer := report.Get("answer").OrNull()
	lifted, err := Lift(answer)
	if err != nil {
		lifted = canon.String(answer.String())
	}
	out := []ledger.Decision{entry(ledger.KindDecision, NameDelegated, canon.Object(
		canon.M("child_trajectory_id", canon.String(d.id.String())),
		canon.M("final_answer", lifted),
		canon.M("proposal_id", canon.String(a.act.id.String())),
		canon.M("spent", cost.liftedValue()),
		canon.M("status", canon.String(cut(report.Get("status").Str(), canon.MaxName))),
	))}
	m.history = append(m.history, committed{proposal: a.act.id, intent: a.act.intentID, tool: a.act.tool.Name, effect: EffectExternal, delegate: d.id})
	a.answer(a.act.call, said(lifted))
	return m.carryOn(a, out)
}

// refund gives back what a delegate was given and did not spend.
func (m *Machine) refund(a *agent, cost Budget) {
	given := a.act.delegation.writ.Body.Budget
	for _, w := range a.chain {
		m.spent[w] = m.spent[w].Minus(given).Plus(cost)
	}
}
