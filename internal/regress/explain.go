package regress

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Explain finds the cause of the first divergence of a replay or a diff and
// puts it into the report, with what of the step shows it. What the records do
// not tell stays empty: a report is never worse for it.
func Explain(ctx context.Context, store drive.Store, r *replay.Report) error {
	d := r.First()
	if d == nil || r.Verb == replay.Verify || r.Other == "" {
		return nil
	}
	x := &explainer{r: r, d: d}
	var err error
	if x.then, err = open(ctx, store, r.Run); err == nil {
		x.now, err = open(ctx, store, r.Other)
	}
	if err == nil {
		err = x.explain(ctx)
	}
	// A run of an engine has no requests, and contents may be withheld.
	if errors.Is(err, capture.ErrNotACall) || errors.Is(err, ledger.ErrAbsent) || fault.ClassOf(err) == fault.ClassNotFound {
		return nil
	}
	return err
}

// explainer looks at one divergence.
type explainer struct {
	r         *replay.Report
	d         *replay.Divergence
	then, now *side
}

func (x *explainer) explain(ctx context.Context) error {
	d := x.d
	if d.What != "call" && d.What != "outcome" {
		return nil
	}
	recorded := d.Recorded
	if recorded < 0 {
		recorded = d.Nearest
	}
	a, b := x.then.at(d.Run, recorded), x.now.at(d.NowRun, d.Now)
	switch {
	case a != nil && b != nil:
		return x.both(ctx, a, b)
	case d.Kind == replay.Missing && a != nil:
		d.Cause = &replay.Cause{About: "the agent no longer asks for it, though all answers before it are equal", Origin: replay.FromAgent, Entry: -1}
		d.Effect = effectOf(a)
	case d.Kind == replay.Extra && b != nil:
		d.Cause = &replay.Cause{About: "the agent asks for more, though all answers before it are equal", Origin: replay.FromAgent, Entry: -1}
		d.Effect = effectOf(b)
	}
	return nil
}

// both explains a step that both runs have.
func (x *explainer) both(ctx context.Context, a, b *exchange) error {
	where, err := capture.Differences(ctx, x.then.rec, x.now.rec, a.call, b.call)
	if err != nil {
		return err
	}
	answers, err := x.answers(ctx, a, b)
	if err != nil {
		return err
	}
	if len(where) == 0 && x.d.Kind == replay.Different && a.outcome.N < 0 {
		x.d.Effect = effectOf(b)
		x.d.Cause = &replay.Cause{About: "the record ends before it was answered", Origin: replay.FromServer, Entry: -1}
		return nil
	}
	if len(where) == 0 && x.d.Kind == replay.Extra {
		x.d.Effect, x.d.Cause = effectOf(b), unanswered(a, b)
		return nil
	}
	if len(where) == 0 {
		x.d.Effect = answers
		x.d.Cause, err = x.server(ctx, a, b)
		return err
	}
	was, err := x.then.request(ctx, a)
	if err != nil {
		return err
	}
	is, err := x.now.request(ctx, b)
	if err != nil {
		return err
	}
	at := first(where)
	p := partAt(at, was, is)
	x.d.Effect = answers
	if answers == "" && b.tool() != "" {
		x.d.Effect = "tool " + b.tool() + argument(at.Pointer)
	}
	of := " of the request"
	if !strings.HasPrefix(at.Pointer, "/") {
		of = of[:0]
	}
	c := &replay.Cause{Part: p.text + of, Pointer: at.Pointer, About: p.about, Origin: replay.FromAgent, Entry: -1, Was: at.A, Now: at.B}
	x.d.Cause = c
	return x.origin(ctx, c, p, a, b)
}

// unanswered says why a request got no answer although an equal one is
// recorded.
func unanswered(a, b *exchange) *replay.Cause {
	c := &replay.Cause{About: "the agent asks for it more often than was recorded", Origin: replay.FromAgent, Entry: -1}
	switch {
	case a.cred.Get("key").Str() == b.cred.Get("key").Str() && !a.cred.IsZero() && !b.cred.IsZero() && !a.cred.Equal(b.cred):
		c.About, c.Origin = "the request is the recorded one, but it was recorded with another credential", replay.FromCaller
	case a.evidence:
		c.About, c.Origin = "the recording was imported from what does not hold the answer as it was sent, so it answers nothing", replay.FromServer
	}
	return c
}

// argument returns the pointer within the arguments of a tool.
func argument(pointer string) string {
	if rest, ok := strings.CutPrefix(pointer, "/params/arguments"); ok && rest != "" {
		return " " + rest
	}
	return ""
}

// effectOf names a step by its tool, if it is one.
func effectOf(e *exchange) string {
	if e.tool() == "" {
		return ""
	}
	return "tool " + e.tool()
}

// server says that the request is the same and its answer is not.
func (x *explainer) server(ctx context.Context, a, b *exchange) (*replay.Cause, error) {
	c := &replay.Cause{Part: "the answer", Origin: replay.FromServer, Entry: -1}
	if b.kind != capture.KindModel {
		c.About = "the same request was answered otherwise"
		return c, nil
	}
	was, err := x.then.answer(ctx, a)
	if err != nil {
		return nil, err
	}
	now, err := x.now.answer(ctx, b)
	if err != nil {
		return nil, err
	}
	c.About = "the model answered the same request otherwise"
	if was.Model != now.Model && was.Model != "" && now.Model != "" {
		c.About = fmt.Sprintf("another model answered: %s, not %s", now.Model, was.Model)
		c.Was, c.Now = canon.String(was.Model), canon.String(now.Model)
	}
	return c, nil
}

// answers says in which of its parts an answer of a model differs: the first
// tool that it asks for otherwise, or its text.
func (x *explainer) answers(ctx context.Context, a, b *exchange) (string, error) {
	if a.outcome.N < 0 || b.outcome.N < 0 || b.kind != capture.KindModel {
		return effectOf(b), nil
	}
	was, err := x.then.answer(ctx, a)
	if err != nil {
		return "", err
	}
	now, err := x.now.answer(ctx, b)
	if err != nil {
		return "", err
	}
	if !was.ok || !now.ok {
		return "", nil // a miss has no answer to compare with
	}
	for i := range max(len(was.Calls), len(now.Calls)) {
		switch {
		case i >= len(now.Calls):
			return "tool " + was.Calls[i].Name + " (no longer asked for)", nil
		case i >= len(was.Calls):
			return "tool " + now.Calls[i].Name + " (not asked for before)", nil
		case was.Calls[i].Name != now.Calls[i].Name:
			return "tool " + now.Calls[i].Name + " instead of " + was.Calls[i].Name, nil
		}
		if d := canon.Diff(arguments(&was.Calls[i]), arguments(&now.Calls[i]), 1); len(d) > 0 {
			return strings.TrimSpace("tool " + now.Calls[i].Name + " " + d[0].Pointer), nil
		}
	}
	return "", nil
}

// origin looks for where the part comes from.
func (x *explainer) origin(ctx context.Context, c *replay.Cause, p part, a, b *exchange) error {
	if p.role == ofTool {
		c.Origin = replay.FromTool
		e, tool, err := x.now.asked(ctx, p.id, p.tool, b)
		if err != nil {
			return err
		}
		if p.tool == "" && tool != "" {
			c.About = "the result of the tool " + tool
		}
		if e != nil {
			c.Step, c.Name, c.Entry, c.Run = e.step, e.name, e.outcome.N, e.call.Run
		}
	}
	if c.Origin == replay.FromAgent && p.about == "the system prompt" {
		return nil // nobody answers with one
	}
	e, err := x.now.says(ctx, needles(c.Now, c.Was), b)
	if err != nil {
		return err
	}
	if e != nil && (p.role != ofTool || e.kind != capture.KindModel) {
		c.Origin, c.Step, c.Name, c.Entry, c.Run = replay.FromAnswer, e.step, effectName(e), e.outcome.N, e.call.Run
		return nil
	}
	if c.Origin == replay.FromTool {
		return nil
	}
	// The agent changed what an answer said: the record tells which one.
	e, err = x.then.says(ctx, needles(c.Was, c.Now), a)
	if err == nil && e != nil {
		c.Step, c.Name, c.Entry, c.Run = e.step, effectName(e), e.outcome.N, e.call.Run
	}
	return err
}

func effectName(e *exchange) string {
	if e.tool() != "" {
		return "tool " + e.tool()
	}
	return e.name
}

// minNeedle is the shortest text whose place in an answer says that it comes
// from there.
const minNeedle = 6

// needles are the texts to look for in answers: the whole, and what is not in
// the other one, up to the ends of its words.
func needles(v, other canon.Value) []string {
	s, ok := v.AsString()
	if !ok {
		return nil
	}
	var out []string
	if len(s) >= minNeedle {
		out = append(out, s)
	}
	o := other.Str()
	i := 0
	for i < len(s) && i < len(o) && s[i] == o[i] {
		i++
	}
	k := 0
	for k < len(s)-i && k < len(o)-i && s[len(s)-1-k] == o[len(o)-1-k] {
		k++
	}
	from, to := i, len(s)-k
	for from > 0 && s[from-1] > ' ' {
		from--
	}
	for to < len(s) && s[to] > ' ' {
		to++
	}
	if from < to && to-from >= minNeedle && to-from < len(s) {
		out = append(out, s[from:to])
	}
	return out
}
