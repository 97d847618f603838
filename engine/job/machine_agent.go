package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// InputContent is the name of the content of an agent's call that holds what
	// the agent is given.
	InputContent = "input"
	// TransportContent is the name of the content of an agent's call that holds
	// how it is called: the transport of the job.
	TransportContent = "transport"

	drawLabel = "agent" // the stream of the seeds that agents get
	maxBroken = 8       // calls of one agent that may break off
)

// agent returns how the selected node is called.
func (m *Machine) agent() (Agent, bool) {
	i := slices.IndexFunc(m.spec.Agents, func(a Agent) bool { return a.Node == m.routed.Selected })
	if i < 0 {
		return Agent{}, false
	}
	return m.spec.Agents[i], true
}

// run asks the selected agent.
func (m *Machine) run() error {
	if _, ok := m.agent(); !ok {
		return m.fail(AgentException, ErrNode)
	}
	m.phase = calling
	return nil
}

// agentCall is the call of the selected agent. Its own calls stand under it.
func (m *Machine) agentCall() effect.Call {
	a, _ := m.agent()
	c, err := m.s.asks(m.routed, m.tries).to(a)
	if err != nil {
		panic("job: " + err.Error()) // it is made of what was written
	}
	return c
}

// question is what an agent is asked, whichever way it is called.
type question struct {
	data  canon.Value
	input canon.Value
}

// asks returns what the selected agent is asked in the iteration that is under
// way, after so many calls that failed.
func (s *state) asks(routed RouteOutput, tries int64) question {
	n := int64(len(s.steps)) - 1
	b := s.brain.State
	q := question{
		data: canon.Object(
			canon.M("agent", canon.String(routed.Selected)),
			canon.M("attempt", canon.Int(tries)),
			canon.M("depth", canon.Int(routed.Depth)),
			canon.M("hints", s.brain.Hints().Value()),
			canon.M("iteration", canon.Int(n)),
			canon.M("iteration_id", canon.String(s.steps[n].id)),
			canon.M("seed", drawValue(s.Seed.Draw(drawLabel, uint64(n))).Get("value")),
			canon.M("timeout_ms", canon.Int(s.rules.AgentTimeoutMS)),
			canon.M("token_budget", canon.Int(routed.Tokens))),
		// The query and what the job remembers about it, all of it redacted.
		input: canon.Object(
			canon.M("action", canon.String(routed.Action)),
			canon.M("context", canon.ArrayOf(b.Context.Items, Consolidated.value)),
			canon.M("episodes", canon.ArrayOf(s.Episodes.Query(Query{Text: s.Query}), Ranked.Value)),
			canon.M("job_id", canon.String(s.JobID)),
			canon.M("query_text", canon.String(s.Query)),
			canon.M("sem_snapshot_hash", canon.String(s.Semantic.Hash())),
			canon.M("working_memory", canon.ArrayOf(b.Working, Memory.value))),
	}
	if len(s.reads) > 0 {
		q.input = q.input.With("semantic", canon.Array(s.reads...))
	}
	return q
}

// to returns the call that puts the question to an agent.
func (q question) to(a Agent) (effect.Call, error) {
	class, err := a.class()
	if err != nil {
		return effect.Call{}, err
	}
	input, err := canon.Encode(q.input, canon.MACEFixed9)
	if err != nil {
		return effect.Call{}, err
	}
	transport, err := canon.Encode(a.Transport, canon.MACEFixed9)
	if err != nil {
		return effect.Call{}, err
	}
	return effect.Call{
		Kind: a.Transport.Get("kind").Str(), Name: a.Node, Class: class, Data: q.data,
		Contents: []ledger.Content{
			{Name: InputContent, Type: "application/json", Bytes: input},
			{Name: TransportContent, Type: "application/json", Bytes: transport},
		},
	}, nil
}

// answered takes what came back from an agent.
func (m *Machine) answered(o *effect.Outcome) error {
	a, _ := m.agent()
	class, _ := a.class()
	switch {
	case o.Status == effect.Interrupted && class != effect.Irreversible && m.broken < maxBroken:
		m.broken++
		return nil // asked again: nobody knows whether it had answered
	case o.Status == effect.Interrupted:
		return m.fail(AgentException, effect.ErrNoOutcome)
	case o.Status == effect.Error && o.Code != nil && o.Code.Error() == AgentTimeout:
		return m.fail(AgentTimeout, o.Code)
	case o.Status == effect.Error && o.Code != nil:
		return m.fail(AgentException, o.Code)
	case o.Status == effect.Error:
		return m.fail(AgentException, ErrAgentException)
	}
	out, err := ParseAgentOutput(contentOf(o.Contents, OutputContent))
	if err != nil {
		return m.fail(AgentException, ErrOutput)
	}
	m.values = m.s.privacy.Sensitive(out.texts(), m.s.purpose(nil))
	switch {
	case len(m.values) > maxValues:
		return m.fail(AgentException, ErrOutput)
	case len(m.values) > 0:
		return m.hash(&out)
	default:
		return m.keep(out, map[string]string{})
	}
}

// fail records the failure of the selected agent. It is asked once more if the
// seed says so, else the iteration ends and the router decides again without it.
func (m *Machine) fail(eventType string, code fault.Code) error {
	p := Payload{ErrorCode: code.Error()}
	if eventType == AgentTimeout {
		p = Payload{TimeoutMS: m.s.rules.AgentTimeoutMS}
	}
	if err := m.trust(m.routed.Selected, eventType, p); err != nil {
		return err
	}
	if !m.s.work.failed {
		m.tries++
		return m.run()
	}
	return m.tick()
}

// keep takes an output as the privacy rules let it be kept.
func (m *Machine) keep(out AgentOutput, hashes map[string]string) error {
	h, err := m.s.privacy.Handle(out.texts(), m.s.purpose(hashes))
	if err != nil {
		return err
	}
	out, judged := m.s.privacy.judge(out.withTexts(h.Value))
	if action, found := m.s.forbidden(out); found {
		return m.violate(action)
	}
	b, err := canon.Encode(out.Value(), canon.MACEFixed9)
	if err == nil {
		_, err = parseKept(b)
	}
	if err == nil { // what no tick can take is no output
		_, _, err = m.s.brain.Tick(m.s.tick(m.at(EventTick), &out))
	}
	if err != nil {
		return m.fail(AgentException, ErrOutput)
	}
	n := int64(len(m.s.steps)) - 1
	id := OutputID(m.s.Seed, n)
	if err := m.flag(id, h); err != nil {
		return err
	}
	if judged.Verdict != Safe {
		if err := m.emit(judged.Verdict.event(), judged.payload(m.s.steps[n].id, id)); err != nil {
			return err
		}
	}
	if err := m.emit(EventOutput, canon.Object(
		canon.M("agent_output_id", canon.String(id)),
		canon.M("answer_digest", canon.String(canon.SHA256(b).String())),
		canon.M("iteration_id", canon.String(m.s.steps[n].id)),
		canon.M("node_id", canon.String(m.routed.Selected)),
	), ledger.Content{Name: OutputContent, Type: OutputMedia, Bytes: b, Scope: OutputScope}); err != nil {
		return err
	}
	m.s.say(out)
	m.output, m.todo, m.bytes[n] = &out, out.Requests, b
	if err := m.look(out); err != nil {
		return err
	}
	if judged.Verdict == SafetyFlag {
		m.memory = ""
		return m.request(m.s.wantsReview(judged))
	}
	return m.remember()
}
