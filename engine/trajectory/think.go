package trajectory

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// The contents of a model call: a chat request and its answer in the form that
// OpenAI-compatible servers take.
const (
	requestName  = "request"
	responseName = "response"
	jsonType     = "application/json"
)

const (
	maxAttempts = 5   // of one model call before the agent gives up
	maxTurn     = 128 // intents of one answer
)

// begin writes the first messages of a conversation.
func (a *agent) begin(task, instructions string) {
	var system []string
	for _, s := range []string{a.Prompt, instructions} {
		if s != "" {
			system = append(system, s)
		}
	}
	if len(system) > 0 {
		a.say("system", strings.Join(system, "\n\n"))
	}
	a.say("user", task)
}

func (a *agent) say(role, content string) {
	a.said = append(a.said, canon.Object(canon.M("role", canon.String(role)), canon.M("content", canon.String(content))))
}

// answer tells the model what became of one of its calls. Intents from outside
// have no call; who made them reads the ledger.
func (a *agent) answer(call, content string) {
	if call == "" {
		return
	}
	a.said = append(a.said, canon.Object(
		canon.M("role", canon.String("tool")),
		canon.M("tool_call_id", canon.String(call)),
		canon.M("content", canon.String(content)),
	))
}

// modelCall asks the agent's model what it proposes. It is told of the tools
// that its grant covers, and of no others.
func (m *Machine) modelCall(a *agent) effect.Call {
	var tools []canon.Value
	for _, t := range m.charter.Registry.All() {
		if a.grant.Allows(t.Name) {
			tools = append(tools, canon.Object(
				canon.M("type", canon.String("function")),
				canon.M("function", canon.Object(
					canon.M("name", canon.String(t.Name)),
					canon.M("description", canon.String(t.Description)),
					canon.M("parameters", t.Args.Value()),
				)),
			))
		}
	}
	request := canon.Object(canon.M("messages", canon.Array(a.said...)))
	if len(tools) > 0 {
		request = request.With("tools", canon.Array(tools...))
	}
	for _, p := range a.Model.Get("parameters").Members() {
		request = request.With(p.Name, p.Value)
	}
	kind := a.Model.Get("kind").Str()
	data := a.Model.Without("kind", "parameters").With("agent", canon.String(a.Name)).With("step", canon.Int(a.steps))
	c := effect.Call{Kind: kind, Name: "propose", Class: effect.Read, Data: data}
	if b, err := canon.Encode(request, canon.Foreign); err == nil {
		c.Contents = []ledger.Content{{Name: requestName, Type: jsonType, Bytes: b}}
	}
	return c
}

// thought takes a model's answer. An answer that did not come is asked for
// again, some seconds later; one that cannot be read ends the agent, because a
// model that does not speak the protocol will not learn it.
func (m *Machine) thought(a *agent, in effect.Input) ([]ledger.Decision, error) {
	status, stated := in.Outcome.Data.Get("status").AsInt()
	if o := in.Outcome; o.Status == effect.Error && o.Code != nil && o.Code.Class() == fault.ClassInvalid {
		return m.finish(a, "model_failed", canon.String(cut(message(o), maxText))), nil // it never left, and never will
	}
	failed := in.Outcome.Status != effect.OK || stated && (status == 429 || status >= 500)
	if failed {
		if a.fails++; a.fails >= maxAttempts {
			why := message(in.Outcome)
			if in.Outcome.Status == effect.OK {
				why = fmt.Sprintf("its server answers with status %d", status)
			}
			return m.finish(a, "model_failed", canon.String(cut(fmt.Sprintf("the model gave no answer in %d attempts: %s", a.fails, why), maxText))), nil
		}
		a.phase = backing
		return nil, nil
	}
	if stated && status >= 400 {
		return m.finish(a, "model_refused", canon.String(fmt.Sprintf("the model's server answered with status %d", status))), nil
	}
	a.fails = 0
	message, tokens, err := readAnswer(in.Outcome)
	if err != nil {
		return m.finish(a, "model_unreadable", canon.String(fault.Text(err))), nil
	}
	a.steps++
	a.tokens += tokens
	m.spend(a, Budget{Tokens: tokens})
	calls := message.Get("tool_calls").Elems()
	if len(calls) == 0 && a.Conversational {
		return m.pause(a, message), nil
	}
	if len(calls) == 0 {
		return m.finish(a, "done", canon.String(message.Get("content").Str())), nil
	}
	if len(calls) > maxTurn {
		return m.finish(a, "model_unreadable", canon.String(fmt.Sprintf("one answer with %d calls; at most %d are taken", len(calls), maxTurn))), nil
	}
	a.said = append(a.said, message)
	for i, c := range calls {
		a.turn = append(a.turn, m.propose(a, i, c, message.Get("content").Str()))
	}
	a.phase = timing
	return nil, nil
}

// readAnswer returns the message of a chat answer and how many tokens it cost.
func readAnswer(o *effect.Outcome) (message canon.Value, tokens uint64, err error) {
	const op = "trajectory.readAnswer"
	var body []byte
	for _, c := range o.Contents {
		if c.Name == responseName {
			body = c.Bytes
		}
	}
	v, err := canon.Parse(bytes.TrimSpace(body))
	if err != nil {
		return v, 0, fault.Wrap(ErrAnswer, op, err, "the model's answer")
	}
	said := v.Get("choices").At(0).Get("message")
	if said.Kind() != canon.KindObject {
		return v, 0, fault.New(ErrAnswer, op, "the model's answer has no choices[0].message")
	}
	if n, ok := v.Get("usage").Get("total_tokens").AsInt(); ok && n > 0 {
		tokens = uint64(n)
	}
	content := said.Get("content")
	if content.Kind() != canon.KindString {
		content = canon.Null()
	}
	message = canon.Object(canon.M("role", canon.String("assistant")), canon.M("content", content))
	if calls := said.Get("tool_calls"); calls.Len() > 0 {
		message = message.With("tool_calls", calls)
	}
	return message, tokens, nil
}

// ErrAnswer means that a model's answer is no chat completion. Use a server
// that speaks the protocol.
const ErrAnswer fault.Invalid = "trajectory.bad_answer"

// propose makes an intent of a call that the model wants.
func (m *Machine) propose(a *agent, i int, c canon.Value, rationale string) proposed {
	name := c.Get("function").Get("name").Str()
	p := proposed{call: c.Get("id").Str(), intent: Intent{
		Author: a.Name, Kind: kindOf(name), Target: name, Rationale: cut(rationale, maxText),
		Nonce: m.nonce(a, i), Parent: m.headOrNil(), Args: canon.Object(),
	}}
	if p.call == "" {
		p.call = fmt.Sprintf("call_%d_%d", a.steps, i)
	}
	args, err := canon.Parse([]byte(c.Get("function").Get("arguments").Str()))
	if err == nil {
		args, err = Lift(args)
	}
	if err == nil {
		p.intent.Args = args
		_, err = p.intent.ID()
	}
	if err == nil && (name == "" || len(name) > canon.MaxName) {
		err = fault.New(ErrIntent, "trajectory.propose", "the call names no tool")
	}
	if err != nil {
		p.intent.Args = canon.Object()
		if name == "" || len(name) > canon.MaxName {
			p.intent.Target = "unnamed"
		}
		p.refused = &Rejection{Kind: TypeMismatch, Tool: p.intent.Target, Detail: "the arguments cannot be read: " + cut(fault.Text(err), canon.MaxName), Gate: GateArguments}
	}
	return p
}

// kindOf returns what an intent for a tool of that name is for.
func kindOf(tool string) IntentKind {
	switch tool {
	case ToolDelegate:
		return IntentDelegate
	case ToolMemory:
		return IntentMemoryPromote
	default:
		return IntentAct
	}
}

// nonce is derived, so that a replay proposes the same intents: from the
// trajectory, the agent, and the place of the intent in its answers.
func (m *Machine) nonce(a *agent, i int) (n [16]byte) {
	id, err := ContentID(canon.Array(canon.String(m.id.String()), canon.String(a.Name), canon.Int(a.steps), canon.Int(int64(i))))
	if err == nil { // a name that is no UTF-8 does not get past the charter
		copy(n[:], id[:])
	}
	return n
}

func (m *Machine) headOrNil() *canon.Digest {
	if m.head.IsZero() {
		return nil
	}
	head := m.head
	return &head
}

// sleepCall waits before a model is asked again: one second, then twice as
// long each time.
func sleepCall(a *agent) effect.Call {
	return effect.Call{Kind: "sleep", Name: "back off", Class: effect.Pure, Data: canon.Object(
		canon.M("agent", canon.String(a.Name)),
		canon.M("ms", canon.Int(1000<<max(a.fails-1, 0))),
	)}
}

// finish ends an agent with a result.
func (m *Machine) finish(a *agent, status string, answer canon.Value) []ledger.Decision {
	a.phase, a.status, a.turn, a.act = finished, status, nil, nil
	return []ledger.Decision{entry(ledger.KindResult, a.Name, canon.Object(
		canon.M("answer", bounded(answer)),
		canon.M("spent", m.spentOf(a).liftedValue()),
		canon.M("status", canon.String(status)),
		canon.M("steps", canon.Int(a.steps)),
	))}
}

// bounded returns an answer as far as a body can hold it. The whole of a longer
// one stands in the outcome or event that it came with.
func bounded(answer canon.Value) canon.Value {
	b, err := canon.Encode(answer, canon.Native)
	if err == nil && len(b) <= maxArgs {
		return answer
	}
	s, ok := answer.AsString()
	if !ok {
		s = answer.String()
	}
	return canon.String(cut(s, maxText))
}

// cut returns the beginning of s that has at most so many bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
