package trajectories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrScript means that a scripted model has no answer left, or was not told
// what to answer. Write another line.
const ErrScript fault.Invalid = "trajectories.script_ended"

// errScripted is what a line that fails gives.
const errScripted fault.Unavailable = "trajectories.scripted_failure"

// Script is what scripted models answer, by agent. A run holds its script, so
// that it can be resumed and branched without the file.
type Script []scriptedAgent

type scriptedAgent struct {
	name  string // of the agent; empty: of every agent but delegates
	lines []scriptLine
}

// scriptLine is one answer, or one failure.
type scriptLine struct {
	text   string
	fail   string
	tokens int64
	calls  []scriptCall
}

type scriptCall struct {
	tool string
	args canon.Value
}

// The content of an open that holds a script.
const (
	scriptName = "script"
	scriptType = "application/vnd.reprise.trajectory.script.v1+json"
)

const kindScript = "script"

// ScriptModel returns the model that answers from the script of its run.
func ScriptModel() canon.Value { return canon.Object(canon.M("kind", canon.String(kindScript))) }

// ReadScript reads a file of scripted answers:
//
//   - text: I store it.
//     calls: [{kv_set: {key: a, value: 1}}]
//   - fail: overloaded          # one attempt fails
//   - text: Done.
//
// With more than one agent the file is their names, each with such a list.
func ReadScript(path string) (Script, error) {
	n, err := yamlfile.Read(path, ErrTask)
	if err != nil {
		return nil, err
	}
	return parseScript(n)
}

func parseScript(n yamlfile.Node) (Script, error) {
	if _, err := n.Items(); err == nil {
		lines, err := scriptLines(n)
		return Script{{lines: lines}}, err
	}
	s, err := n.Section()
	if err != nil {
		return nil, err
	}
	var out Script
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		lines, err := scriptLines(s.Members[name])
		if err != nil {
			return nil, err
		}
		out = append(out, scriptedAgent{name: name, lines: lines})
	}
	return out, nil
}

func scriptLines(n yamlfile.Node) ([]scriptLine, error) {
	items, err := n.Items()
	if err != nil {
		return nil, err
	}
	out := make([]scriptLine, len(items))
	for i, e := range items {
		if out[i], err = readLine(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readLine(n yamlfile.Node) (scriptLine, error) {
	s, err := n.Section("text", "fail", "tokens", "calls")
	if err != nil {
		return scriptLine{}, err
	}
	l := scriptLine{}
	if l.text, err = s.Text("text"); err != nil {
		return l, err
	}
	if l.fail, err = s.Text("fail"); err != nil {
		return l, err
	}
	tokens, err := s.Count("tokens", 0)
	if err != nil {
		return l, err
	}
	l.tokens = int64(tokens)
	if c, ok := s.Get("calls"); ok {
		items, err := c.Items()
		if err != nil {
			return l, err
		}
		for _, e := range items {
			call, err := e.Section()
			if err != nil {
				return l, err
			}
			if len(call.Members) != 1 {
				return l, e.Fail("a call is one tool with its arguments, as {kv_get: {key: a}}")
			}
			name := e.Content[0].Value
			args, err := call.Members[name].JSON()
			if err != nil {
				return l, err
			}
			l.calls = append(l.calls, scriptCall{tool: name, args: args})
		}
	}
	if l.fail != "" && (l.text != "" || len(l.calls) > 0) {
		return l, n.Fail("a line that fails says nothing else")
	}
	return l, nil
}

// merge adds the parts of another script.
func (s *Script) merge(o Script) error {
	for _, a := range o {
		if slices.ContainsFunc(*s, func(b scriptedAgent) bool { return a.name == b.name }) {
			return fault.New(ErrTask, "trajectories.script", "two scripts have answers for %q; put the answers of all agents into one file", a.name)
		}
		*s = append(*s, a)
	}
	return nil
}

// content returns the script as a run holds it.
func (s Script) content() (ledger.Content, error) {
	members := make([]canon.Member, len(s))
	for i, a := range s {
		lines := make([]canon.Value, len(a.lines))
		for j, l := range a.lines {
			lines[j] = l.value()
		}
		members[i] = canon.M(a.name, canon.Array(lines...))
	}
	b, err := canon.Encode(canon.Object(members...), canon.Foreign)
	return ledger.Content{Name: scriptName, Type: scriptType, Bytes: b}, err
}

func (l scriptLine) value() canon.Value {
	v := canon.Object(canon.M("text", canon.String(l.text)))
	if l.fail != "" {
		return canon.Object(canon.M("fail", canon.String(l.fail)))
	}
	if l.tokens > 0 {
		v = v.With("tokens", canon.Int(l.tokens))
	}
	if len(l.calls) > 0 {
		calls := make([]canon.Value, len(l.calls))
		for i, c := range l.calls {
			calls[i] = canon.Object(canon.M(c.tool, c.args))
		}
		v = v.With("calls", canon.Array(calls...))
	}
	return v
}

// scriptOf reads the script that a run holds.
func scriptOf(contents []ledger.Content) (Script, error) {
	for _, c := range contents {
		if c.Name == scriptName {
			n, err := yamlfile.Parse(scriptName, c.Bytes, ErrTask)
			if err != nil {
				return nil, err
			}
			return parseScript(n)
		}
	}
	return nil, nil
}

// actor plays the models of one run.
type actor struct {
	script Script
	mu     sync.Mutex
	failed map[string]int // attempts at an answer that have failed
}

// answer is a [live.Func]. The step of the call says which answer it is; lines
// that fail come before the one that answers.
func (p *actor) answer(_ context.Context, c *effect.Call) (effect.Outcome, error) {
	agent := c.Data.Get("agent").Str()
	step, _ := c.Data.Get("step").AsInt()
	lines, ok := p.linesOf(agent)
	if !ok {
		return effect.Outcome{}, fault.New(ErrScript, "trajectories.script", "the script has nothing for agent %q", agent)
	}
	answers := int64(0)
	fails := 0
	for _, l := range lines {
		switch {
		case answers == step && l.fail != "":
			if p.fails(agent, step, fails) {
				return effect.Outcome{}, fault.New(errScripted, "trajectories.script", "%s", l.fail)
			}
			fails++
		case answers == step:
			return l.answer(step)
		case l.fail == "":
			answers++
		}
	}
	return effect.Outcome{}, fault.New(ErrScript, "trajectories.script", "the script of agent %q has %d answers, and this is step %d", agent, answers, step)
}

func (p *actor) linesOf(agent string) ([]scriptLine, bool) {
	for _, a := range p.script {
		if a.name == agent || a.name == "" && !strings.Contains(agent, "/") { // a delegate has answers of its own
			return a.lines, true
		}
	}
	return nil, false
}

// fails reports whether this attempt is the one that the so-manieth line makes
// fail.
func (p *actor) fails(agent string, step int64, line int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := fmt.Sprintf("%s %d %d", agent, step, line)
	if p.failed[key] > 0 {
		return false
	}
	if p.failed == nil {
		p.failed = map[string]int{}
	}
	p.failed[key]++
	return true
}

// answer spells a line as a chat server does.
func (l scriptLine) answer(step int64) (effect.Outcome, error) {
	message := canon.Object(canon.M("role", canon.String("assistant")), canon.M("content", canon.String(l.text)))
	if len(l.calls) > 0 {
		calls := make([]canon.Value, len(l.calls))
		for i, c := range l.calls {
			args, err := canon.Encode(c.args, canon.Foreign)
			if err != nil {
				return effect.Outcome{}, fault.Wrap(ErrScript, "trajectories.script", err, "the arguments of %s", c.tool)
			}
			calls[i] = canon.Object(
				canon.M("id", canon.String(fmt.Sprintf("call_%d_%d", step, i))),
				canon.M("type", canon.String("function")),
				canon.M("function", canon.Object(canon.M("name", canon.String(c.tool)), canon.M("arguments", canon.String(string(args))))),
			)
		}
		message = message.With("tool_calls", canon.Array(calls...))
	}
	b, err := canon.Encode(canon.Object(
		canon.M("choices", canon.Array(canon.Object(canon.M("index", canon.Int(0)), canon.M("message", message)))),
		canon.M("model", canon.String(kindScript)),
		canon.M("object", canon.String("chat.completion")),
		canon.M("usage", canon.Object(canon.M("total_tokens", canon.Int(l.tokens)))),
	), canon.Foreign)
	return effect.Outcome{
		Status: effect.OK, Data: canon.Object(),
		Contents: []ledger.Content{{Name: "response", Type: "application/json", Bytes: b}},
	}, err
}

// needsScript reports whether an agent answers from a script that has nothing
// for it.
func (t *Task) needsScript() (string, bool) {
	p := actor{script: t.Script}
	for _, a := range t.Agents {
		if _, ok := p.linesOf(a.Name); !ok && a.Model.Get("kind").Str() == kindScript {
			return a.Name, true
		}
	}
	return "", false
}
