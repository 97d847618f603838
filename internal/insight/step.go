package insight

import (
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Step is one line of what an engine did: an input, a call, or a conclusion.
type Step struct {
	N    int64
	Kind ledger.Kind
	Name string
	Who  string // who proposed it, or from whom it came
	Text string
}

// Value returns the step as JSON.
func (s *Step) Value() canon.Value {
	return canon.Object(
		canon.M("entry", canon.Int(s.N)), canon.M("kind", canon.String(string(s.Kind))), canon.M("name", canon.Text(s.Name)),
		canon.M("who", canon.Text(s.Who)), canon.M("text", canon.Text(s.Text)),
	)
}

// Steps yields the lines of a run that an engine drives. Outcomes that say no
// more than that their call was answered are left out, and so are the calls
// that serve the engine alone: clocks and signatures.
func Steps(ctx context.Context, store drive.Store, run ledger.RunID) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		for e, err := range store.Read(ctx, run, 0) {
			if err != nil {
				yield(Step{}, err)
				return
			}
			o, err := ledger.Parse(e)
			if err != nil {
				yield(Step{}, err)
				return
			}
			s, ok := StepOf(o.Kind, o.Body)
			if s.N = o.N; ok && !yield(s, nil) {
				return
			}
		}
	}
}

// StepOf describes an entry by its body; ok is false of one that no line is
// given to.
func StepOf(kind ledger.Kind, body canon.Value) (s Step, ok bool) {
	data := body.Get("data")
	s = Step{Kind: kind, Name: body.Get("name").Str(), Who: body.Get("from").Str()}
	switch kind {
	case ledger.KindOpen:
		s.Name, s.Text = body.Get("mode").Str(), body.Get("title").Str()
	case ledger.KindCall:
		return called(s, body)
	case ledger.KindOutcome:
		return ended(s, body)
	case ledger.KindDecision:
		concluded(&s, data)
	case ledger.KindCommit:
		s.Text = committed(body)
	case ledger.KindRejection:
		s.Who, s.Name = s.Name, data.Get("reason").Get("kind").Str()
		s.Text = detail(data.Get("reason"))
		if g := data.Get("gate").Str(); g != "" {
			s.Text = "at the gate " + g + ": " + s.Text
		}
	case ledger.KindPendingApproval:
		plan := data.Get("proposal").Get("body").Get("plan")
		s.Who, s.Name = s.Name, data.Get("channel").Str()
		s.Text = plan.Get("tool").Str() + " " + brief(plan.Get("args")) + ": " + data.Get("reason").Str()
	case ledger.KindApproval:
		s.Name, s.Text = actOf(data)
	case ledger.KindEvent:
		event(&s, data)
	case ledger.KindDelegation:
		s.Text = data.Get("task").Str()
	case ledger.KindBranch:
		s.Text = data.Get("note").Str()
	case ledger.KindSkillBound:
		s.Who, s.Name = s.Name, data.Get("skill").Get("name").Str()
	case ledger.KindResult:
		s.Who, s.Name = s.Name, data.Get("status").Str()
		s.Text = plain(firstOf(data.Get("answer"), data.Get("reason")))
	case ledger.KindSeal:
		s.Name = body.Get("status").Str()
	default:
	}
	return s, true
}

func called(s Step, body canon.Value) (Step, bool) {
	kind, data := body.Get("kind").Str(), body.Get("data")
	if kind == "clock" || kind == "sign" || kind == "key" {
		return s, false
	}
	s.Who, s.Text = data.Get("agent").Str(), kind
	if url := data.Get("url").Str(); url != "" {
		s.Text += " " + url
	}
	if argv := data.Get("transport").Get("argv"); argv.Len() > 0 {
		s.Text += " " + argv.At(0).Str()
	}
	return s, true
}

// ended says what is not as it should be.
func ended(s Step, body canon.Value) (Step, bool) {
	status := body.Get("status").Str()
	if status == "ok" {
		return s, false
	}
	s.Name, s.Text = status, strings.TrimSpace(body.Get("code").Get("code").Str()+" "+body.Get("data").Get("message").Str())
	return s, true
}

func concluded(s *Step, data canon.Value) {
	switch s.Name {
	case "intent":
		b := data.Get("body")
		s.Who, s.Text = b.Get("author").Str(), b.Get("target").Str()+" "+brief(b.Get("args"))
	case "proposal":
		p := data.Get("body")
		s.Text = p.Get("plan").Get("tool").Str() + " may be called"
	case "tool_failed":
		s.Text = data.Get("tool").Str() + ": " + data.Get("message").Str()
	case "approval_refused":
		s.Text = data.Get("code").Str() + ": " + data.Get("message").Str()
	case "answer":
		s.Who, s.Text = data.Get("agent").Str(), plain(data.Get("answer"))
	case "delegated":
		s.Text = data.Get("status").Str() + ": " + plain(data.Get("final_answer"))
	case "govern.decided":
		s.Text = data.Get("state").Str()
	case "govern.halted", "govern.cleared":
		s.Text = data.Get("reason").Str()
	default:
		s.Text = brief(data)
	}
}

// committed says which things it changed.
func committed(body canon.Value) string {
	var parts []string
	for _, c := range body.Get("delta").Elems() {
		parts = append(parts, c.Get("op").Str()+" "+c.Get("kind").Str()+" "+c.Get("id").Str())
	}
	if len(parts) == 0 {
		parts = []string{"changes nothing"}
	}
	b := body.Get("data").Get("body")
	out := ""
	if n, ok := b.Get("seq").AsInt(); ok {
		out = fmt.Sprintf("#%d %s ", n, shortID(body.Get("data").Get("id")))
	}
	if b.Has("compensates") {
		out += "takes back " + shortID(b.Get("compensates")) + ": "
	}
	return out + strings.Join(parts, ", ")
}

// shortID is enough of a domain id to name it.
func shortID(v canon.Value) string {
	const digits = 12
	s := v.Str()
	return s[:min(digits, len(s))]
}

func event(s *Step, data canon.Value) {
	switch {
	case data.Has("text"):
		s.Text = data.Get("text").Str()
	case data.Has("act"):
		_, s.Text = actOf(data)
	case data.Has("intent"):
		i := data.Get("intent")
		s.Text = i.Get("target").Str() + " " + brief(i.Get("args"))
	case data.Has("child_trajectory_id"):
		s.Text = data.Get("status").Str() + ": " + plain(data.Get("answer"))
	}
}

// actOf reads what somebody signed: what they did, and why.
func actOf(data canon.Value) (verb, reason string) {
	v, ok := signed(data.Get("act"))
	if !ok {
		return "act", ""
	}
	return v.Get("act").Str(), v.Get("reason").Str()
}

// detail is the text of a reason, which some kinds put in an object.
func detail(reason canon.Value) string {
	d := reason.Get("detail")
	if s, ok := d.AsString(); ok {
		return s
	}
	return d.Get("tool").Str() + ": " + d.Get("detail").Str()
}

func firstOf(a, b canon.Value) canon.Value {
	if !a.IsZero() && !a.IsNull() {
		return a
	}
	return b
}

func plain(v canon.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	if v.IsZero() || v.IsNull() {
		return ""
	}
	return brief(v)
}

// maxBrief is how many bytes of JSON stand in a line.
const maxBrief = 160

func brief(v canon.Value) string {
	if v.IsZero() {
		return ""
	}
	s := numbers(v).String()
	if len(s) > maxBrief {
		s = strings.ToValidUTF8(s[:maxBrief], "") + "…"
	}
	return s
}

// numbers gives back the numbers that bodies hold as {"$number":"1.5"}.
func numbers(v canon.Value) canon.Value {
	switch v.Kind() {
	case canon.KindArray:
		elems := slices.Clone(v.Elems())
		for i, e := range elems {
			elems[i] = numbers(e)
		}
		return canon.Array(elems...)
	case canon.KindObject:
		if n, err := canon.Number(v.Get("$number").Str()); err == nil && v.Len() == 1 {
			return n
		}
		members := slices.Clone(v.Members())
		for i := range members {
			members[i].Value = numbers(members[i].Value)
		}
		return canon.Object(members...)
	default:
		return v
	}
}

// signed reads the payload of a signed act. Whether the signature holds is not
// asked here: the engine has.
func signed(v canon.Value) (canon.Value, bool) {
	b, err := base64.StdEncoding.DecodeString(v.Get("payload").Str())
	if err != nil {
		return canon.Value{}, false
	}
	act, err := canon.Parse(b)
	return act, err == nil
}
