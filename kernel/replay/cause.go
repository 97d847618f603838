package replay

import (
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Origin says where the part of a request comes from that changed first.
type Origin string

// The origins.
const (
	FromAgent  Origin = "agent"  // the agent's own words: no earlier answer holds them
	FromTool   Origin = "tool"   // the result of a tool that ran in the agent itself
	FromAnswer Origin = "answer" // an earlier answer
	FromServer Origin = "server" // the request is the same: who answers it answers otherwise
	FromCaller Origin = "caller" // the request is the same: it was made with another credential
)

// Cause is why two runs differ, as far as their records tell: which part of a
// request changed first, and where that part comes from.
type Cause struct {
	// Part is the part in the words of people, such as messages[7] of the
	// request, and About what it is, such as the system prompt.
	Part    string
	Pointer string
	About   string
	Origin  Origin
	// Step is the earlier step that the part goes back to, with its name and
	// the entry of its answer in Run; 0 and -1 if it goes back to none.
	Step  int64
	Name  string
	Entry int64
	Run   ledger.RunID
	// Was and Now are what stands there.
	Was, Now canon.Value
}

// Text says the cause in a line.
func (c *Cause) Text() string {
	if c.Part == "" {
		return c.About
	}
	text := c.Part
	if c.About != "" {
		text += ", " + c.About
	}
	switch c.Origin {
	case FromTool:
		text += "; the tool ran in the agent itself and gave something else"
		if c.Step > 0 {
			text += fmt.Sprintf(" (step %d asked for it)", c.Step)
		}
	case FromAnswer:
		text += fmt.Sprintf("; it comes from the answer of step %d, %s", c.Step, c.Name)
	case FromServer:
	default:
		text += "; the agent's own change"
		if c.Step > 0 {
			text += fmt.Sprintf(": step %d had said otherwise", c.Step)
		}
	}
	return text
}

func (c *Cause) value() canon.Value {
	if c == nil {
		return canon.Value{}
	}
	v := canon.Object(
		canon.M("text", canon.String(c.Text())),
		canon.M("part", canon.Text(c.Part)),
		canon.M("pointer", canon.Text(c.Pointer)),
		canon.M("about", canon.Text(c.About)),
		canon.M("origin", canon.String(string(c.Origin))),
		canon.M("recorded", c.Was),
		canon.M("now", c.Now),
	)
	if c.Step > 0 {
		v = v.With("step", canon.Int(c.Step)).With("step_name", canon.Text(c.Name)).With("step_entry", index(c.Entry)).With("step_run", canon.Text(string(c.Run)))
	}
	return v
}

// First returns the divergence to look at, or nil if there is none.
func (r *Report) First() *Divergence {
	if len(r.Divergences) == 0 {
		return nil
	}
	return &r.Divergences[0]
}

// Sentence says in one line what the report comes to: how far the runs are
// equal, which step differs and in what, and why. Names in it come from
// outside and may hold anything.
func (r *Report) Sentence() string {
	d := r.First()
	if d == nil {
		switch n := r.steps(); {
		case n == 1:
			return "the only step is equal"
		case n > 1:
			return fmt.Sprintf("all %d steps equal", n)
		default:
			return "nothing differs"
		}
	}
	var b strings.Builder
	switch {
	case d.Step == 2:
		b.WriteString("step 1 equal; ")
	case d.Step > 2:
		fmt.Fprintf(&b, "steps 1 to %d equal; ", d.Step-1)
	}
	b.WriteString(d.subject())
	switch d.Kind {
	case Missing:
		b.WriteString(" is missing")
	case Extra:
		if d.Nearest < 0 {
			b.WriteString(" is new")
			break
		}
		b.WriteString(" differs")
	default:
		b.WriteString(" differs")
	}
	if d.Cause != nil {
		b.WriteString("; cause: " + d.Cause.Text())
	}
	return b.String()
}

// subject names the step and what of it shows.
func (d *Divergence) subject() string {
	var words []string
	if d.Step > 0 {
		words = append(words, fmt.Sprintf("step %d", d.Step))
	}
	switch {
	case d.Effect != "":
		words = append(words, d.Effect)
	case d.Name != "":
		words = append(words, d.Name)
	default:
		words = append(words, d.What)
	}
	return strings.Join(words, " ")
}

// steps returns how many steps were compared, where the report counts them.
func (r *Report) steps() int64 {
	for _, c := range r.Counts {
		if c.Name == "same" || c.Name == "calls" {
			return c.N
		}
	}
	return 0
}
