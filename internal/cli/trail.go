package cli

import (
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// lineOptions say how much of a line is printed.
type lineOptions struct {
	trace bool // the rules that were evaluated
	whole bool // ids in full, and the arguments of a suspended proposal
	bad   bool // a check failed at this entry
}

// idLen is how much of an id stands in a line.
const idLen = 12

// line prints a line of a trail. What others wrote is made safe for a terminal.
func (a *app) line(l *trajectory.Line, run ledger.RunID, o lineOptions) {
	id := func(name, prefix string, d canon.Digest) string {
		if d.IsZero() {
			return ""
		}
		s := d.String()
		if !o.whole {
			s = s[:idLen]
		}
		return name + prefix + s
	}
	label := fmt.Sprintf("%-10s", string(l.Label))
	paint := a.paintLabel(l)
	mark := " "
	if o.bad {
		mark = a.out.bad("✗")
	}
	place := fmt.Sprintf("#%d", l.N)
	if l.Run != run {
		place = short(l.Run) + place // of the source of a branch
	}
	parts := []string{a.out.dim(fmt.Sprintf("%-5s", place)), paint(label)}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if l.Tool != "" {
		add(a.out.name(clean(l.Tool)))
	}
	add(labelled("agent=", l.Agent))
	if t := l.Trace; t != nil && t.Decision.Kind != "" {
		add("policy=" + string(t.Decision.Kind))
		if o.trace {
			add(a.out.dim("[" + clean(strings.Join(t.Rules, ", ")) + "]"))
		}
	}
	add(labelled("channel=", l.Channel))
	add(labelled("gate=", l.Gate))
	add(id("", trajectory.PrefixCommit, l.Commit))
	add(id("", trajectory.PrefixProposal, l.Proposal))
	add(id("writ=", "", l.Writ))
	add(id("compensates=", trajectory.PrefixCommit, l.Undoes))
	add(id("child=", trajectory.PrefixTrajectory, l.Child))
	add(id("source=", trajectory.PrefixTrajectory, l.Source))
	add(labelled("route=", l.Route))
	for _, v := range l.Voices {
		add(a.voice(&v, o))
	}
	add(a.signed(l))
	if l.Withheld {
		add(a.out.warn("withheld"))
	}
	if l.Reason != "" {
		add(a.out.dim("· ") + cut(clean(l.Reason), 160))
	}
	text := strings.Join(parts, " ")
	if l.Technical {
		text = a.out.dim(text)
	}
	a.printf("%s%s\n", mark, strings.TrimRight(text, " "))
	if o.whole && !l.Whole.IsZero() {
		plan := l.Whole.Get("body").Get("plan")
		a.printf("        %s%s\n", a.out.dim("proposal: "), clean(plan.String()))
	}
}

func labelled(name, value string) string {
	if value == "" {
		return ""
	}
	return name + clean(value)
}

func (a *app) paintLabel(l *trajectory.Line) func(string) string {
	switch l.Label {
	case trajectory.LabelCommit, trajectory.LabelApproved:
		return a.out.good
	case trajectory.LabelRejected, trajectory.LabelDenied, trajectory.LabelToolFailed, trajectory.LabelHalted, trajectory.LabelRevoked:
		return a.out.bad
	case trajectory.LabelSuspended, trajectory.LabelIgnored:
		return a.out.warn
	default:
		return a.out.bold
	}
}

// voice says who decided, and by which act.
func (a *app) voice(v *trajectory.Voice, o lineOptions) string {
	act := v.Act.String()
	if !o.whole {
		act = act[:idLen]
	}
	verb := clean(v.Verb)
	switch govern.Verb(v.Verb) {
	case govern.Approve:
		verb = "approved"
	case govern.Deny:
		verb = "denied"
	case govern.Abstain:
		verb = "abstained"
	default:
	}
	text := fmt.Sprintf("%s by %s (%s) act=%s", verb, clean(v.Actor), clean(v.Role), act)
	if !v.Verified {
		text += " " + a.out.bad("(no such act here)")
	}
	return text
}

// signed says whether a signature was checked and holds.
func (a *app) signed(l *trajectory.Line) string {
	switch l.Signed {
	case trajectory.Verified:
		return a.out.good("signed✓")
	case trajectory.Unsigned:
		return a.out.bad("UNSIGNED")
	case trajectory.Forged:
		text := "SIGNATURE DOES NOT HOLD"
		if l.Wrong != nil {
			text += " (" + l.Wrong.Error() + ")"
		}
		return a.out.bad(text)
	default:
		if l.Wrong != nil {
			return a.out.bad(l.Wrong.Error())
		}
		return ""
	}
}
