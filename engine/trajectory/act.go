package trajectory

import (
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Names of decisions. The entries of the source document (rejection,
// pending_approval, commit, …) are kinds; these are what stands between them.
const (
	NameIntent     = "intent"           // what a model, or somebody outside, asks for
	NameProposal   = "proposal"         // staged: it may be executed now
	NameToolFailed = "tool_failed"      // the tool answered with an error, or gave no answer
	NameRepeated   = "repeated"         // it was committed before and is not done again
	NameRefused    = "approval_refused" // an answer from outside that does not count
)

// CodeToolError is the code of a tool that answered with an error.
const CodeToolError = "trajectory.tool_error"

// ChannelUnknown is where a person is asked about an effect that may have
// happened: its tool was called and no answer came. It is never called again
// on its own.
const ChannelUnknown = "effect-unknown"

func clockCall(a *agent) effect.Call {
	return effect.Call{Kind: "clock", Name: "now", Class: effect.Read, Data: canon.Object(canon.M("agent", canon.String(a.Name)))}
}

// timed takes the time, and with it compiles what waits.
func (m *Machine) timed(a *agent, in effect.Input) ([]ledger.Decision, error) {
	if in.Outcome.Status != effect.OK {
		return nil, nil // read again
	}
	t, err := time.Parse(time.RFC3339Nano, in.Outcome.Data.Str())
	if err != nil || t.Unix() < 0 {
		return nil, fault.New(ErrInput, "trajectory.timed", "the clock says %s, which is no time", in.Outcome.Data)
	}
	m.now = max(m.now, uint64(t.Unix())) // a clock that goes back makes no writ valid again
	if a.act != nil {
		return m.resume(a)
	}
	return m.proceed(a)
}

// proceed compiles the intents of a turn until one is staged or suspended.
func (m *Machine) proceed(a *agent) ([]ledger.Decision, error) {
	var out []ledger.Decision
	for len(a.turn) > 0 {
		p := a.turn[0]
		a.turn = a.turn[1:]
		ds, err := m.compile(a, p)
		out = append(out, ds...)
		if err != nil {
			return nil, err
		}
		if a.act != nil {
			return out, nil
		}
	}
	ds := m.rest(a)
	return append(out, ds...), nil
}

// rest says what an agent does when its turn is over.
func (m *Machine) rest(a *agent) []ledger.Decision {
	switch {
	case a.Model.IsZero():
		a.phase = idle
	case a.steps >= m.charter.MaxSteps:
		return m.finish(a, "max_steps", canon.String(fmt.Sprintf("not done after %d steps", a.steps)))
	case m.exhausted(a):
		return m.finish(a, "budget_exhausted", canon.String("the budget of the writ is spent"))
	default:
		a.phase = thinking
	}
	return nil
}

// exhausted reports whether the model may not be asked again.
func (m *Machine) exhausted(a *agent) bool {
	spent, limit := m.spentOf(a), a.grant.Budget
	return !spent.Within(limit) || limit.Tokens > 0 && spent.Tokens == limit.Tokens
}

// compile holds an intent against the law.
func (m *Machine) compile(a *agent, p proposed) ([]ledger.Decision, error) {
	id, err := p.intent.ID()
	if err != nil {
		return nil, err
	}
	body, err := p.intent.Entry()
	if err != nil {
		return nil, err
	}
	out := []ledger.Decision{entry(ledger.KindDecision, NameIntent, body)}
	if i, done := m.known[id]; done {
		c := m.history[i]
		a.answer(p.call, "this was committed before as "+PrefixCommit+c.id.String())
		return append(out, entry(ledger.KindDecision, NameRepeated, canon.Object(
			canon.M("commit_id", canon.String(c.id.String())),
			canon.M("intent_id", canon.String(id.String())),
			canon.M("proposal_id", canon.String(c.proposal.String())),
		))), nil
	}
	rejected := p.refused
	var proposal *Proposal
	if rejected == nil {
		proposal, rejected = m.law.Compile(m.caseOf(a, &p.intent))
	}
	if rejected != nil {
		return append(out, m.reject(a, p.call, id, canon.Digest{}, rejected)), nil
	}
	a.act = &action{call: p.call, intent: p.intent, intentID: id, proposal: proposal}
	if a.act.id, err = proposal.ID(); err != nil {
		return nil, err
	}
	a.act.key = a.act.id
	a.act.tool, _ = m.charter.Registry.Find(proposal.Tool) // it compiled
	if proposal.Status.Kind == Suspended {
		d, err := m.suspend(a, proposal.Status)
		return append(out, d), err
	}
	staged, err := m.stage(a)
	return append(out, staged...), err
}

// caseOf is what the compiler needs to know about an intent of a.
func (m *Machine) caseOf(a *agent, i *Intent) *Case {
	return &Case{
		Intent: i, Writ: a.writ, Ancestors: a.above, Skill: a.Skill, Now: m.now, Spent: m.spentOf(a), World: m,
		Revoked: func(id canon.Digest) bool { return m.revoked[id] },
	}
}

// stage lets a proposal be executed.
func (m *Machine) stage(a *agent) ([]ledger.Decision, error) {
	if a.act.tool.Name == ToolDelegate {
		if err := m.entitle(a); err != nil {
			r := &Rejection{Kind: AuthorityVoid, Detail: cut(fault.Text(err), maxText), Gate: GateDelegation}
			return m.carryOn(a, []ledger.Decision{m.reject(a, a.act.call, a.act.intentID, a.act.id, r)})
		}
	}
	body, err := a.act.proposal.Entry()
	if err != nil {
		return nil, err
	}
	out := []ledger.Decision{entry(ledger.KindDecision, NameProposal, body)}
	m.spend(a, Budget{ToolCalls: 1})
	switch {
	case a.act.tool.Name == ToolDelegate:
		a.phase = keying
	case a.act.tool.Builtin():
		// It reads and changes nothing but the world, so there is nothing to call.
		ds, err := m.observe(a, a.act.tool.Answer(a.act.proposal.Args, m), 0)
		return append(out, ds...), err
	default:
		a.phase = acting
	}
	return out, nil
}

// toolCall makes the call that a staged proposal is. The id that the proposal
// had first goes with it, for tools that keep what they have done from being
// done twice: a proposal that is asked about once more has another id.
func (*Machine) toolCall(a *agent) effect.Call {
	return callOf(a.act.tool, a.act.proposal.Args, canon.Object(
		canon.M("agent", canon.String(a.Name)),
		canon.M("attempt", canon.Int(a.act.attempts)),
		canon.M("idempotency_key", canon.String(a.act.key.String())),
	))
}

// callOf returns the call of a tool with lifted arguments.
func callOf(t *Tool, args, data canon.Value) effect.Call {
	transport, err := Lift(t.Transport)
	if err != nil {
		transport = t.Transport // lifted already, in its declaration
	}
	c := effect.Call{
		Kind: transport.Get("kind").Str(), Name: t.Name, Class: t.Effect.Class(),
		Data: data.With("transport", transport.Without("kind")),
	}
	if args, err := Lower(args); err == nil { // Lift made them
		if b, err := canon.Encode(args, canon.Foreign); err == nil {
			c.Contents = []ledger.Content{{Name: "arguments", Type: jsonType, Bytes: b}}
		}
	}
	return c
}

// GateDelegation is where a delegation is refused that its writ does not allow.
const GateDelegation Gate = "delegation"

// maxTries is how often a tool that only reads is called when its answer
// breaks off.
const maxTries = 3

// acted takes what a tool answered.
func (m *Machine) acted(a *agent, in effect.Input) ([]ledger.Decision, error) {
	o := in.Outcome
	a.act.attempts++
	if o.Status == effect.OK {
		output, failed := readOutput(o)
		if failed != "" {
			return m.toolFailed(a, CodeToolError, failed)
		}
		lifted, err := Lift(output)
		if err != nil {
			return m.toolFailed(a, fault.CodeOf(err).Error(), fault.Text(err))
		}
		return m.observe(a, lifted, latencyOf(o))
	}
	if a.act.tool.Effect == EffectRead {
		if o.Status == effect.Interrupted && a.act.attempts < maxTries {
			return nil, nil
		}
		return m.toolFailed(a, codeOf(o), message(o))
	}
	if o.Status == effect.Error && o.Code != nil && o.Code.Class() == fault.ClassInvalid {
		return m.toolFailed(a, codeOf(o), message(o)) // it never left
	}
	a.act.unknown = true
	d, err := m.suspend(a, Status{
		Kind: Suspended, Channel: ChannelUnknown,
		Reason: "the tool was called and gave no answer, so nobody knows whether it had its effect; approve to call it again, deny to leave it",
	})
	return []ledger.Decision{d}, err
}

func codeOf(o *effect.Outcome) string {
	if o.Code == nil {
		return string(o.Status)
	}
	return o.Code.Error()
}

func message(o *effect.Outcome) string {
	if s := o.Data.Get("message").Str(); s != "" {
		return s
	}
	return "the answer broke off"
}

// toolFailed records that nothing is to be committed, and tells the model.
func (m *Machine) toolFailed(a *agent, code, msg string) ([]ledger.Decision, error) {
	out := []ledger.Decision{entry(ledger.KindDecision, NameToolFailed, canon.Object(
		canon.M("code", canon.String(code)),
		canon.M("message", canon.String(cut(msg, maxText))),
		canon.M("proposal_id", canon.String(a.act.id.String())),
		canon.M("tool", canon.String(a.act.tool.Name)),
	))}
	a.answer(a.act.call, "the tool failed: "+cut(msg, maxText))
	return m.carryOn(a, out)
}

// carryOn leaves an action behind and compiles what else its turn holds.
func (m *Machine) carryOn(a *agent, out []ledger.Decision) ([]ledger.Decision, error) {
	a.act = nil
	ds, err := m.proceed(a)
	return append(out, ds...), err
}

// reject records a refusal and tells the model.
func (*Machine) reject(a *agent, call string, intent, proposal canon.Digest, r *Rejection) ledger.Decision {
	a.answer(call, "rejected: "+r.String())
	data := canon.Object(canon.M("intent_id", canon.String(intent.String())), canon.M("reason", r.Value()))
	if r.Trace != nil {
		data = data.With("policy_trace", r.Trace.Value())
	}
	if r.Gate != "" {
		data = data.With("gate", canon.String(string(r.Gate)))
	}
	if r.Trace != nil {
		data = data.With("policy_trace", r.Trace.Value())
	}
	if !proposal.IsZero() {
		data = data.With("proposal_id", canon.String(proposal.String()))
	}
	return entry(ledger.KindRejection, a.Name, data)
}

// spend charges a writ and all that it comes from: what is handed on is spent
// by who handed it on.
func (m *Machine) spend(a *agent, b Budget) {
	for _, w := range a.chain {
		m.spent[w] = m.spent[w].Plus(b)
	}
}

func (m *Machine) spentOf(a *agent) Budget { return m.spent[a.writ.ID] }

// liftedValue returns the form of b that a body can hold.
func (b Budget) liftedValue() canon.Value {
	v, err := Lift(b.Value())
	if err != nil {
		return canon.Null() // four counters have no member of that name
	}
	return v
}
