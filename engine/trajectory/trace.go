package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrTrace means that a recorded policy trace is not in its one form. Trust
// the record no longer.
const ErrTrace fault.Integrity = "trajectory.bad_trace"

// RulingKind says what a policy wants done with an intent.
type RulingKind string

// The kinds of a ruling. The zero kind rules nothing and is refused wherever
// it is read.
const (
	Permit          RulingKind = "permit"
	Deny            RulingKind = "deny"
	RequireApproval RulingKind = "require_approval"
)

// Ruling is the word of a policy on one intent.
type Ruling struct {
	Kind    RulingKind
	Channel string // of require_approval: who is asked
	Reason  string // of deny and require_approval
}

// Value returns r as a trace records it. A rule of a policy spells the same
// ruling differently; see [Rule].
func (r Ruling) Value() canon.Value {
	kind := canon.M("kind", canon.String(string(r.Kind)))
	switch r.Kind {
	case Deny:
		return canon.Object(kind, canon.M("detail", canon.String(r.Reason)))
	case RequireApproval:
		return canon.Object(kind, canon.M("detail", canon.Object(
			canon.M("channel", canon.String(r.Channel)),
			canon.M("reason", canon.String(r.Reason)))))
	default:
		return canon.Object(kind)
	}
}

// ParseRuling reads what [Ruling.Value] writes, and nothing else.
func ParseRuling(v canon.Value) (Ruling, error) {
	r := Ruling{Kind: RulingKind(v.Get("kind").Str())}
	detail := v.Get("detail")
	switch r.Kind {
	case Deny:
		r.Reason = detail.Str()
	case RequireApproval:
		r.Channel, r.Reason = detail.Get("channel").Str(), detail.Get("reason").Str()
	case Permit:
	default:
		return Ruling{}, fault.New(ErrTrace, "trajectory.ParseRuling", "the decision has kind %q, want permit, deny or require_approval", r.Kind)
	}
	if !v.Equal(r.Value()) {
		return Ruling{}, fault.New(ErrTrace, "trajectory.ParseRuling", "the decision of kind %s has other members than such a decision has", r.Kind)
	}
	return r, nil
}

// Trace says which rules were asked about an intent, in their order, and what
// came of it.
type Trace struct {
	Rules    []string
	Decision Ruling
}

// Value returns t as commits and proposals record it.
func (t Trace) Value() canon.Value {
	return canon.Object(
		canon.M("rules_evaluated", canon.Strings(t.Rules)),
		canon.M("decision", t.Decision.Value()))
}

// ParseTrace reads what [Trace.Value] writes, and nothing else.
func ParseTrace(v canon.Value) (Trace, error) {
	const op = "trajectory.ParseTrace"
	list := v.Get("rules_evaluated")
	if v.Len() != 2 || list.Kind() != canon.KindArray {
		return Trace{}, fault.New(ErrTrace, op, "a policy trace has the members rules_evaluated, a list, and decision")
	}
	decision, err := ParseRuling(v.Get("decision"))
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Decision: decision, Rules: make([]string, list.Len())}
	for i, e := range list.Elems() {
		name, ok := e.AsString()
		if !ok {
			return Trace{}, fault.New(ErrTrace, op, "rules_evaluated/%d is no string", i)
		}
		t.Rules[i] = name
	}
	return t, nil
}
