package job

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Types of the events about what is not safe to say.
const (
	EventSafetyBlock  = "SAFETY_BLOCK_EVENT"
	EventRedaction    = "REDACTION_EVENT"
	EventSafetyReview = "SAFETY_REVIEW_REQUEST"
)

// ActionReview is the request that a council looks at an output of which a part
// was left out. That it approves brings nothing back: what was left out is kept
// nowhere.
const ActionReview = EventSafetyReview

// Verdict is what the safety rules say of a text, in the words of the document.
type Verdict string

// The verdicts, from the mildest.
const (
	Safe         Verdict = "OK"
	SafetyRedact Verdict = "REDACT"
	SafetyFlag   Verdict = "FLAG_FOR_REVIEW"
	SafetyBlock  Verdict = "BLOCK"
)

var verdicts = [...]string{string(Safe), string(SafetyRedact), string(SafetyFlag), string(SafetyBlock)}

func (v Verdict) rank() int { return slices.Index(verdicts[:], string(v)) }

// standIn is what stands where something was left out of an answer.
const standIn = "[redacted]"

const maxSafetyRules = 256

// SafetyRule is a kind of text that is not to be said, and the pattern by which
// it is found. The rules of a job stand in its privacy snapshot, so that a
// replay judges by those of the run.
type SafetyRule struct {
	ID      string // rule_id
	Verdict Verdict
	Pattern string // RE2
	Reason  string // for people
	re      *regexp.Regexp
}

func (s SafetyRule) value() canon.Value {
	return canon.Object(
		canon.M("pattern", canon.String(s.Pattern)),
		canon.M("reason", canon.String(s.Reason)),
		canon.M("rule_id", canon.String(s.ID)),
		canon.M("verdict", canon.String(string(s.Verdict))))
}

// parseSafety reads the rules of a privacy snapshot. A rule that would find
// what we say in place of something is refused: then no text would ever be safe.
func parseSafety(r record) (rules []SafetyRule) {
	const op = "job.ParsePrivacy"
	list := r.list("safety_rules")
	if len(list) == 0 || len(list) > maxSafetyRules {
		r.Fail("privacy.safety_rules has 1 to %d elements, or is not there", maxSafetyRules)
	}
	for i, e := range list {
		f := newRecord(e, ErrPrivacyRules, op, "safety rule", "pattern", "reason", "rule_id", "verdict")
		s := SafetyRule{
			ID: f.Name("rule_id"), Pattern: f.Text("pattern", maxPattern), Reason: f.Text("reason", maxText),
			Verdict: Verdict(f.Word("verdict", verdicts[1:]...)),
		}
		re, err := regexp.Compile(s.Pattern)
		switch {
		case err != nil:
			f.Take("pattern", fault.New(ErrPrivacyRules, op, "the pattern of %q is not RE2: %s", s.ID, err))
		case re.MatchString(""), re.MatchString(standIn), re.MatchString(SayRedaction), re.MatchString(SaySafetyBlock):
			f.Fail("the pattern of %q finds nothing at all, or what stands in for what was left out", s.ID)
		}
		if s.re = re; i > 0 && rules[i-1].ID >= s.ID {
			f.Fail("the safety rules are not sorted by rule_id, or %q is there twice", s.ID)
		}
		rules = append(rules, s)
		r.Take("safety_rules", f.Err)
	}
	return rules
}

// Judged is what the safety rules say of a text.
type Judged struct {
	Verdict Verdict
	Rules   []string // rule_ids that found something, in order
	Text    string   // what may be said
	Cuts    int      // places that were left out
}

// Judge returns the verdict on a text, which is the gravest of the rules that
// find something, and what may be said instead. A text that may be said is
// judged [Safe] again: that is how a replay checks what was kept.
func (p Privacy) Judge(text string) Judged {
	j := Judged{Verdict: Safe, Text: text}
	var found [][]int
	for _, s := range p.safety {
		at := s.re.FindAllStringIndex(text, -1)
		if len(at) == 0 {
			continue
		}
		j.Rules, found = append(j.Rules, s.ID), append(found, at...)
		if s.Verdict.rank() > j.Verdict.rank() {
			j.Verdict = s.Verdict
		}
	}
	switch j.Verdict {
	case Safe:
		return j
	case SafetyBlock:
		j.Text = SaySafetyBlock
		return j
	default:
	}
	j.Text, j.Cuts = cut(text, found)
	// What was cut out may let its surroundings grow together into something
	// that a rule finds: then nothing of it is said.
	j.Text += "\n" + SayRedaction
	if slices.ContainsFunc(p.safety, func(s SafetyRule) bool { return s.re.MatchString(j.Text) }) {
		j.Verdict, j.Text, j.Cuts = SafetyBlock, SaySafetyBlock, 0
	}
	return j
}

// cut replaces places in a text by [standIn]: places that touch are one.
func cut(text string, places [][]int) (string, int) {
	slices.SortFunc(places, func(a, b []int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(b[1], a[1])) })
	var b strings.Builder
	end, cuts := 0, 0
	for _, at := range places {
		if cuts == 0 || at[0] > end {
			b.WriteString(text[end:at[0]])
			b.WriteString(standIn)
			cuts++
		}
		end = max(end, at[1])
	}
	return b.String() + text[end:], cuts
}

// event returns the type of the event that a verdict leads to.
func (v Verdict) event() string {
	switch v {
	case SafetyBlock:
		return EventSafetyBlock
	default:
		return EventRedaction
	}
}

// payload returns the verdict as its event holds it: which rules found
// something, and never what.
func (j Judged) payload(iteration, output string) canon.Value {
	return canon.Object(
		canon.M("agent_output_id", canon.String(output)),
		canon.M("iteration_id", canon.String(iteration)),
		canon.M("places", canon.Int(int64(j.Cuts))),
		canon.M("rule_ids", canon.Strings(j.Rules)),
		canon.M("verdict", canon.String(string(j.Verdict))))
}

// judge returns what of an output may be said, and the verdict. Of a blocked
// output nothing else counts either: what it wants remembered or read comes out
// of what it must not say.
func (p Privacy) judge(o AgentOutput) (AgentOutput, Judged) {
	j := p.Judge(o.Text)
	o.Text = j.Text
	if j.Verdict == SafetyBlock {
		o.Insert, o.Requests, o.Reads = nil, nil, nil
	}
	return o, j
}

// applySafety folds a verdict on the output that comes next.
func (s *state) applySafety(e Event) error {
	r := payloadOf(e, "agent_output_id", "iteration_id", "places", "rule_ids", "verdict")
	n := len(s.steps) - 1
	v := Verdict(r.Word("verdict", verdicts[1:]...))
	r.Count("places", maxCount)
	rules := r.set("rule_ids")
	for _, id := range rules {
		if !slices.ContainsFunc(s.privacy.safety, func(x SafetyRule) bool { return x.ID == id }) {
			r.Fail("the privacy snapshot has no rule %q", id)
		}
	}
	if n < 0 || !s.work.open || r.digest("iteration_id") != s.steps[n].id || r.digest("agent_output_id") != OutputID(s.Seed, int64(n)) ||
		s.steps[n].outputID != "" || v.event() != e.Type || len(rules) == 0 {
		r.Fail("no output waits for this verdict")
	}
	return r.Err
}

// wantsReview returns the request that the council looks at an output of which
// a part was left out.
func (s *state) wantsReview(j Judged) NewRequest {
	n := len(s.steps) - 1
	return NewRequest{
		Ledger: s.JobID, Origin: s.steps[n].node, Action: ActionReview, Justification: "a safety rule wants a part of the answer looked at",
		Payload: canon.Object(
			canon.M("agent_output_id", canon.String(OutputID(s.Seed, int64(n)))),
			canon.M("iteration_id", canon.String(s.steps[n].id)),
			canon.M("rule_ids", canon.Strings(j.Rules))),
		Evidence: []canon.Value{canon.Object(canon.M("event_id", canon.String(s.steps[n].event)))},
	}
}
