package trajectory

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Names of inputs from outside. Each but intent, message and finish carries a
// signed act of an actor on the roster as data.act.
const (
	EventIntent     = "intent"        // an agent outside proposes
	EventMessage    = "message"       // {agent, text}: a conversational agent is told more
	EventFinish     = "finish"        // {agent, answer?}: an agent outside is done, or a conversation is over
	EventRevoked    = "writ.revoked"  // a writ no longer holds, nor what comes from it
	EventRestored   = "writ.restored" // it holds again
	EventCompensate = "compensate"    // commits are to be taken back
	EventApproval   = "act"           // an approval entry: yes or no to a proposal
)

// suspend makes a proposal wait for people (T-27, T-29). The entry holds the
// whole proposal with its trace, and what an answer must be about.
func (m *Machine) suspend(a *agent, st Status) (ledger.Decision, error) {
	act := a.act
	proposed := *act.proposal // a clone of the machine may hold the same one
	proposed.Status = st
	act.proposal = &proposed
	var err error
	if act.id, err = act.proposal.ID(); err != nil {
		return ledger.Decision{}, err
	}
	matter, err := m.matter(act)
	if err != nil {
		return ledger.Decision{}, err
	}
	if act.ballot, err = govern.NewBallot(matter, m.charter.quorums(st.Channel)...); err != nil {
		return ledger.Decision{}, fault.Wrap(ErrInput, "trajectory.suspend", err, "channel %q", st.Channel)
	}
	act.asked, act.approved = true, false
	a.phase = waiting
	proposal, err := act.proposal.Entry()
	if err != nil {
		return ledger.Decision{}, err
	}
	return entry(ledger.KindPendingApproval, a.Name, canon.Object(
		canon.M("channel", canon.String(st.Channel)),
		canon.M("matter", matter.Value()),
		canon.M("proposal", proposal),
		canon.M("reason", canon.String(st.Reason)),
	)), nil
}

// matter is what an approval must be about: this proposal, in this trajectory,
// with exactly these arguments, asked about at this attempt.
func (m *Machine) matter(act *action) (govern.Matter, error) {
	bound, err := ContentID(canon.Object(
		canon.M("args", act.proposal.Args.OrNull()),
		canon.M("attempt", canon.Int(act.attempts)),
		canon.M("proposal", canon.String(act.id.String())),
		canon.M("tool", canon.String(act.proposal.Tool)),
	))
	return govern.Matter{Ledger: m.id.String(), Subject: act.id.String(), Bound: bound}, err
}

// approval takes an answer to a proposal that waits. An answer that does not
// count is recorded with the reason and changes nothing.
func (m *Machine) approval(in effect.Input) ([]ledger.Decision, error) {
	subject := in.Data.Get("act")
	var refusal error
	for _, a := range m.agents {
		if a.phase != waiting {
			continue
		}
		act, err := m.charter.Roster.Readmit(subject, m.requirement(a.act.ballot.Roles(), govern.Approve, govern.Deny, govern.Abstain))
		if err != nil {
			refusal = err
			continue
		}
		ballot, err := a.act.ballot.Cast(act)
		if err != nil {
			refusal = err
			continue
		}
		a.act.ballot = ballot
		return m.decided(a)
	}
	if refusal == nil {
		refusal = fault.New(govern.ErrMatter, "trajectory.approval", "nothing waits for an approval")
	}
	return []ledger.Decision{refuse(in, refusal)}, nil
}

// requirement is what an act must meet that is to count here.
func (m *Machine) requirement(roles []govern.Role, verbs ...govern.Verb) govern.Requirement {
	return govern.Requirement{Verbs: verbs, Roles: roles, Tenant: m.charter.tenant(), Ledger: m.id.String()}
}

// refuse records that an input does not count.
func refuse(in effect.Input, why error) ledger.Decision {
	return entry(ledger.KindDecision, NameRefused, canon.Object(
		canon.M("code", canon.String(fault.CodeOf(why).Error())),
		canon.M("input", canon.String(in.Name)),
		canon.M("message", canon.String(cut(fault.Text(why), maxText))),
	))
}

// decided follows a ballot that may be over.
func (m *Machine) decided(a *agent) ([]ledger.Decision, error) {
	switch a.act.ballot.State() {
	case govern.Granted:
		// The time is read again: a writ that ran out while people thought
		// is not valid any more.
		a.act.approved = true
		a.phase = timing
		return []ledger.Decision{entry(ledger.KindDecision, govern.EventDecided, a.act.ballot.Value())}, nil
	case govern.Denied, govern.Expired:
		out := []ledger.Decision{
			entry(ledger.KindDecision, govern.EventDecided, a.act.ballot.Value()),
			m.reject(a, a.act.call, a.act.intentID, a.act.id, &Rejection{Kind: PolicyDenied, Detail: "approval denied by operator"}),
		}
		return m.carryOn(a, out)
	default:
		return nil, nil
	}
}

// resume executes what was approved, if it is still allowed.
func (m *Machine) resume(a *agent) ([]ledger.Decision, error) {
	if r := m.law.Recheck(m.caseOf(a, &a.act.intent), a.act.proposal); r != nil {
		return m.carryOn(a, []ledger.Decision{m.reject(a, a.act.call, a.act.intentID, a.act.id, r)})
	}
	return m.stage(a)
}

// event takes an input from outside that is no approval.
func (m *Machine) event(in effect.Input) ([]ledger.Decision, error) {
	switch in.Name {
	case EventIntent:
		return m.intentFromOutside(in)
	case EventMessage:
		return m.message(in)
	case EventFinish:
		return m.finishFromOutside(in)
	case EventRevoked, EventRestored:
		return m.revocation(in)
	case govern.EventHalted, govern.EventCleared:
		return m.halt(in)
	case EventCompensate:
		return m.compensate(in)
	case EventDelegate:
		return m.delegateReports(in)
	default:
		return []ledger.Decision{refuse(in, fault.New(ErrIntent, "trajectory.event", "a trajectory takes no event %q", in.Name))}, nil
	}
}

// finishFromOutside ends an agent that waits for intents or messages. A
// conversation ends with its last answer, if the input gives no other.
func (m *Machine) finishFromOutside(in effect.Input) ([]ledger.Decision, error) {
	for _, a := range m.agents {
		if a.Name != in.Data.Get("agent").Str() || a.phase != idle {
			continue
		}
		answer := in.Data.Get("answer").OrNull()
		if a.Conversational && answer.IsNull() {
			answer = canon.String(a.last)
		}
		return m.finish(a, "done", answer), nil
	}
	return []ledger.Decision{refuse(in, fault.New(ErrIntent, "trajectory.event", "no agent of that name waits for intents or messages from outside"))}, nil
}

// intentFromOutside lets an agent without a model propose. The nonce is its
// own: a second intent with the same nonce and contents is the same intent,
// and is done once.
func (m *Machine) intentFromOutside(in effect.Input) ([]ledger.Decision, error) {
	intent, err := ParseIntent(in.Data.Get("intent"))
	if err == nil && !in.Data.Get("routing_evidence").IsZero() {
		intent.Routing = in.Data.Get("routing_evidence")
		err = CheckRouting(intent.Routing)
	}
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	i := slices.IndexFunc(m.agents, func(a *agent) bool { return a.Name == intent.Author })
	if i < 0 || !m.agents[i].Model.IsZero() || m.agents[i].phase == finished {
		return []ledger.Decision{refuse(in, fault.New(ErrIntent, "trajectory.event", "no agent %q proposes from outside", intent.Author))}, nil
	}
	a := m.agents[i]
	a.turn = append(a.turn, proposed{intent: intent})
	if a.phase == idle {
		a.steps++
		a.phase = timing
	}
	return nil, nil
}

// revocation takes a writ back, or gives it again.
func (m *Machine) revocation(in effect.Input) ([]ledger.Decision, error) {
	verb := govern.Revoke
	if in.Name == EventRestored {
		verb = govern.Restore
	}
	act, err := m.charter.Roster.Readmit(in.Data.Get("act"), m.requirement([]govern.Role{govern.Admin, govern.Operator}, verb))
	if err == nil {
		var seen govern.Seen
		if seen, err = m.seen.Add(act); err == nil {
			m.seen = seen
		}
	}
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	id, err := canon.ParseDigest(act.Act().Matter.Subject)
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	m.revoked[id] = verb == govern.Revoke
	return nil, nil
}

// halt stops everything, or lets it go on.
func (m *Machine) halt(in effect.Input) ([]ledger.Decision, error) {
	verb, roles := govern.Stop, []govern.Role{govern.Admin, govern.Operator, govern.Council}
	if in.Name == govern.EventCleared {
		verb, roles = govern.Clear, []govern.Role{govern.Admin, govern.Council}
	}
	act, err := m.charter.Roster.Readmit(in.Data.Get("act"), m.requirement(roles, verb))
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	var halts govern.Halts
	var h govern.Halt
	name := govern.EventHalted
	if verb == govern.Stop {
		halts, h, err = m.halts.Stop(act)
	} else {
		name = govern.EventCleared
		halts, h, _, err = m.halts.Clear(act)
	}
	if err != nil {
		return []ledger.Decision{refuse(in, err)}, nil
	}
	m.halts = halts
	return []ledger.Decision{entry(ledger.KindDecision, name, h.Value())}, nil
}
