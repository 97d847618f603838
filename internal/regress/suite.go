package regress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Suite is what one command compared: one case of a replay or a diff, one for
// each recording of a test.
type Suite struct {
	Title string
	Made  time.Time
	Cases []Case
}

// Case is one comparison.
type Case struct {
	Name   string
	File   string // that it is about, for annotations; empty: none
	Report *replay.Report
	Err    error // why there is no report
	Took   time.Duration
	Note   string // what was done besides
	// Updated says that the recording differed and was made anew, on purpose.
	Updated bool
	Output  string // the end of what the agent printed
	Sides   *Sides
}

// Passed reports whether nothing differs.
func (c *Case) Passed() bool { return c.Err == nil && (c.Updated || c.Report.Verdict == replay.Same) }

// Sentence says in a line what came of the case.
func (c *Case) Sentence() string {
	if c.Err != nil {
		return fault.CodeOf(c.Err).Error() + ": " + fault.Text(c.Err)
	}
	return c.Report.Sentence()
}

// Failed returns how many cases diverged and how many could not be compared.
func (s *Suite) Failed() (diverged, broken int) {
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case c.Err != nil:
			broken++
		case !c.Passed():
			diverged++
		}
	}
	return diverged, broken
}

// ExitStatus returns the status with which a command ends that reports s: that
// of the gravest case. What could not be compared is graver than what differs.
func (s *Suite) ExitStatus() int {
	status := fault.ExitDone
	for i := range s.Cases {
		c := &s.Cases[i]
		own := fault.ExitDone
		switch {
		case c.Err != nil:
			own = fault.CodeOf(c.Err).Class().ExitStatus()
		case !c.Passed():
			own = c.Report.Verdict.ExitStatus()
		}
		status = max(status, own)
	}
	return status
}

// Sum says in a line what came of all cases.
func (s *Suite) Sum() string {
	diverged, broken := s.Failed()
	parts := []string{fmt.Sprintf("%d same", len(s.Cases)-diverged-broken)}
	if diverged > 0 {
		parts = append(parts, fmt.Sprintf("%d diverged", diverged))
	}
	if broken > 0 {
		parts = append(parts, fmt.Sprintf("%d not compared", broken))
	}
	return strings.Join(parts, ", ")
}

// Conditions says under what the agents ran: at which level, what was blocked
// and what was not. Where cases differ in that, each line says how many of them
// it is about. Comparisons without an agent have none.
func (s *Suite) Conditions() []string {
	type group struct {
		line string
		n    int
	}
	var list []group
	add := func(l string) {
		if i := slices.IndexFunc(list, func(g group) bool { return g.line == l }); i >= 0 {
			list[i].n++
			return
		}
		list = append(list, group{l, 1})
	}
	ran := 0
	for i := range s.Cases {
		if s.Cases[i].Report == nil || s.Cases[i].Report.Detail.Get("level").IsZero() {
			continue
		}
		ran++
		d := s.Cases[i].Report.Detail
		add("level: " + d.Get("level").Str())
		for _, w := range []struct{ head, member string }{{"blocked: ", "blocked"}, {"not blocked: ", "not_blocked"}} {
			if parts := texts(d.Get(w.member)); len(parts) > 0 {
				add(w.head + strings.Join(parts, "; "))
			}
		}
	}
	out := make([]string, len(list))
	for i, g := range list {
		if out[i] = g.line; g.n < ran {
			out[i] += fmt.Sprintf(" (%d of %d recordings)", g.n, ran)
		}
	}
	return out
}

// texts returns the elements of a list of strings.
func texts(v canon.Value) []string {
	var out []string
	for _, e := range v.Elems() {
		out = append(out, e.Str())
	}
	return out
}

// Value returns the suite as JSON.
func (s *Suite) Value() canon.Value {
	cases := make([]canon.Value, len(s.Cases))
	for i := range s.Cases {
		c := &s.Cases[i]
		v := canon.Object(
			canon.M("name", canon.String(c.Name)), canon.M("passed", canon.Bool(c.Passed())),
			canon.M("sentence", canon.String(strings.ToValidUTF8(c.Sentence(), "\uFFFD"))), canon.M("duration_ms", canon.Int(c.Took.Milliseconds())),
		)
		if c.File != "" {
			v = v.With("file", canon.String(strings.ToValidUTF8(c.File, "\uFFFD")))
		}
		if c.Note != "" {
			v = v.With("note", canon.String(c.Note))
		}
		if c.Err != nil {
			v = v.With("code", canon.String(fault.CodeOf(c.Err).Error()))
		} else {
			v = v.With("report", c.Report.Value())
		}
		cases[i] = v
	}
	diverged, broken := s.Failed()
	return canon.Object(
		canon.M("cases", canon.Array(cases...)),
		canon.M("same", canon.Int(int64(len(s.Cases)-diverged-broken))),
		canon.M("diverged", canon.Int(int64(diverged))),
		canon.M("not_compared", canon.Int(int64(broken))),
		canon.M("exit_status", canon.Int(int64(s.ExitStatus()))),
	)
}

// Sides are the two versions of what differs first, for people to read.
type Sides struct {
	What       string // request or answer
	Left       string
	Right      string
	LeftTitle  string
	RightTitle string
}

// maxSide bounds the text of one side.
const maxSide = 256 << 10

// SidesOf reads what the first divergence of a report is about on both sides:
// the requests of a call, the answers of an outcome. It returns nil if there is
// nothing to show.
func SidesOf(ctx context.Context, store drive.Store, r *replay.Report) (*Sides, error) {
	d := r.First()
	if d == nil || d.What != "call" && d.What != "outcome" {
		return nil, nil
	}
	out := &Sides{What: "request"}
	out.LeftTitle, out.RightTitle = sidesOf(r)
	if d.What == "outcome" {
		out.What = "answer"
	}
	then := d.Recorded
	if then < 0 {
		then = d.Nearest
	}
	var err error
	if out.Left, err = text(ctx, store, orRun(d.Run, r.Run), then, d.What); err == nil {
		out.Right, err = text(ctx, store, orRun(d.NowRun, r.Other), d.Now, d.What)
	}
	if err == nil && out.Left == "" && out.Right == "" {
		return nil, nil
	}
	if errors.Is(err, ledger.ErrAbsent) || fault.ClassOf(err) == fault.ClassNotFound {
		return nil, nil
	}
	return out, err
}

func orRun(run, fallback ledger.RunID) ledger.RunID {
	if run != "" {
		return run
	}
	return fallback
}

// text returns the content of an entry, JSON with line breaks. A call is no
// answer: where an outcome is wanted and there is none, there is no text.
func text(ctx context.Context, store drive.Store, run ledger.RunID, n int64, what string) (string, error) {
	if n < 0 || run == "" {
		return "", nil
	}
	d, err := insight.Load(ctx, drive.NewReader(store, run), n)
	if err != nil || len(d.Parts) == 0 || what == "outcome" && d.Kind == ledger.KindCall {
		return "", err
	}
	p := &d.Parts[0]
	if p.Gone != "" {
		return "", nil
	}
	b := p.Plain
	if pretty, ok := insight.Pretty(b); ok {
		b = pretty
	}
	b = b[:min(len(b), maxSide)]
	if !utf8.Valid(b) {
		return strings.ToValidUTF8(string(b), "\uFFFD"), nil
	}
	return string(b), nil
}
