package jobs

import (
	"context"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrScript means that a scripted agent has no line left. Write another one.
const ErrScript fault.Invalid = "jobs.script_ended"

// Kinds of agents that this package calls itself.
const (
	kindScript = "script"
	kindModel  = "model"
	kindGo     = "go"
	kindExec   = "exec"
)

// Script is what scripted agents answer. A run holds its script, so that it
// can be resumed without the file.
type Script []scripted

type scripted struct {
	node  string
	lines []canon.Value // {output: …}, {fail: text} or {timeout: true}
}

const (
	scriptName  = "script"
	scriptMedia = "application/vnd.reprise.job-script.v1+json"
)

// script reads the lines of a scripted agent:
//
//   - text: A kestrel is a small falcon.
//     confidence: 0.9
//   - fail: overloaded
//   - timeout: true
//
// The last line answers every call that comes behind it.
func (r *reader) script(n yamlfile.Node, node string) error {
	items, err := n.Items()
	if err != nil {
		return err
	}
	s := scripted{node: node}
	for _, e := range items {
		line, err := e.Section("text", "confidence", "deliverable", "tokens_used", "wm_inserts", "references", "requests", "reads", "fail", "timeout")
		if err != nil {
			return err
		}
		v, err := e.JSON()
		if err != nil {
			return err
		}
		switch {
		case (line.Has("fail") || line.Has("timeout")) && len(line.Members) != 1:
			return e.Fail("a line that fails says nothing else")
		case line.Has("fail"), line.Has("timeout"):
			s.lines = append(s.lines, v)
			continue
		}
		b, err := canon.Encode(v, canon.Foreign)
		if err != nil {
			return e.Because(err)
		}
		if _, err := job.ParseAgentOutput(b); err != nil {
			return e.Because(err)
		}
		s.lines = append(s.lines, canon.Object(canon.M("output", v)))
	}
	if len(s.lines) == 0 {
		return n.Fail("a script without a line")
	}
	r.job.Script = append(r.job.Script, s)
	return nil
}

// content returns the script as a run holds it.
func (s Script) content() (ledger.Content, error) {
	members := make([]canon.Member, len(s))
	for i, a := range s {
		members[i] = canon.M(a.node, canon.Array(a.lines...))
	}
	b, err := canon.Encode(canon.Object(members...), canon.Foreign)
	return ledger.Content{Name: scriptName, Type: scriptMedia, Bytes: b}, err
}

// scriptOf reads the script that a run holds.
func scriptOf(contents []ledger.Content) (Script, error) {
	i := slices.IndexFunc(contents, func(c ledger.Content) bool { return c.Name == scriptName })
	if i < 0 {
		return nil, nil
	}
	v, err := canon.Parse(contents[i].Bytes)
	if err != nil {
		return nil, fault.Wrap(ErrScript, "jobs.scriptOf", err, "the script")
	}
	var s Script
	for _, m := range v.Members() {
		s = append(s, scripted{node: m.Name, lines: m.Value.Elems()})
	}
	return s, nil
}

// player plays the scripted agents of one run.
type player struct {
	script Script
	mu     sync.Mutex
	asked  map[string]int // calls of each agent so far
}

func (p *player) answer(_ context.Context, c *effect.Call) (effect.Outcome, error) {
	i := slices.IndexFunc(p.script, func(s scripted) bool { return s.node == c.Name })
	if i < 0 {
		return effect.Outcome{}, fault.New(ErrScript, "jobs.script", "the script has nothing for %s", c.Name)
	}
	p.mu.Lock()
	n := p.asked[c.Name]
	p.asked[c.Name]++
	p.mu.Unlock()
	line := p.script[i].lines[min(n, len(p.script[i].lines)-1)]
	switch {
	case line.Has("timeout"):
		return effect.Outcome{}, fault.New(job.ErrAgentTimeout, "jobs.script", "%s gives no answer in time, as its script says", c.Name)
	case line.Has("fail"):
		return effect.Outcome{}, fault.New(job.ErrAgentException, "jobs.script", "%s", line.Get("fail").Str())
	}
	b, err := canon.Encode(line.Get("output"), canon.Foreign)
	return output(b), err
}

// output is the outcome of an agent that has answered.
func output(b []byte) effect.Outcome {
	return effect.Outcome{Status: effect.OK, Data: canon.Object(), Contents: []ledger.Content{
		{Name: job.OutputContent, Type: "application/json", Bytes: b, Scope: job.OutputScope},
	}}
}
