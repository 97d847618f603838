package trajectory

import (
	"fmt"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of rejections, one for each kind. A rejection is an answer to the
// model, recorded as an entry; the run goes on.
const (
	// ErrAuthorityVoid means that the writ does not allow it: it does not
	// hold, was revoked, is not valid now, or does not cover the tool or its
	// effect. Ask for another writ.
	ErrAuthorityVoid fault.Denied = "trajectory.authority_void"
	// ErrPolicyDenied means that a policy, or a person who was asked, says
	// no. Propose something else.
	ErrPolicyDenied fault.Denied = "trajectory.policy_denied"
	// ErrBudgetExhausted means that the call would cost more than is left of
	// the writ's budget. Ask for another writ.
	ErrBudgetExhausted fault.Denied = "trajectory.budget_exhausted"
	// ErrTypeMismatch means that an intent is of a kind that leads to no call,
	// or that its arguments are not what the tool takes. Mend them.
	ErrTypeMismatch fault.Invalid = "trajectory.type_mismatch"
	// ErrPrecondition means that the world is not as the tool needs it. Read
	// it, and propose anew.
	ErrPrecondition fault.Conflict = "trajectory.precondition_failed"
	// ErrUnknownTool means that no tool of that name is registered. Name one
	// that is.
	ErrUnknownTool fault.NotFound = "trajectory.unknown_tool"
)

// RejectionKind is the kind of reason for which an intent is refused.
type RejectionKind string

// The kinds of reasons.
const (
	AuthorityVoid      RejectionKind = "authority_void"
	PolicyDenied       RejectionKind = "policy_denied"
	BudgetExhausted    RejectionKind = "budget_exhausted"
	TypeMismatch       RejectionKind = "type_mismatch"
	PreconditionFailed RejectionKind = "precondition_failed"
	UnknownTool        RejectionKind = "unknown_tool"
)

// Code returns the error code of the kind, or nil of one that is unknown.
func (k RejectionKind) Code() fault.Code {
	switch k {
	case AuthorityVoid:
		return ErrAuthorityVoid
	case PolicyDenied:
		return ErrPolicyDenied
	case BudgetExhausted:
		return ErrBudgetExhausted
	case TypeMismatch:
		return ErrTypeMismatch
	case PreconditionFailed:
		return ErrPrecondition
	case UnknownTool:
		return ErrUnknownTool
	}
	return nil
}

// Rejection is why an intent was refused. It is an error whose code is that of
// its kind.
type Rejection struct {
	Kind   RejectionKind
	Tool   string // of type_mismatch
	Detail string

	// Gate is the gate of the compiler that refused. It has no place in the
	// form of the source document: of a rejection that was parsed, or that a
	// person gave, it is empty.
	Gate Gate
	// Trace is that of the policies, where they refused. It has no place in
	// that form either.
	Trace *Trace
}

// Error returns the code and what was wrong.
func (r *Rejection) Error() string {
	code := "trajectory." + string(r.Kind)
	if r.Kind == TypeMismatch && r.Tool != "" {
		return fmt.Sprintf("%s: %s: %s", code, r.Tool, r.Detail)
	}
	return code + ": " + r.Detail
}

// String returns what r says, for people.
func (r *Rejection) String() string { return fault.Text(r) }

// Unwrap returns the code of r, for errors.Is and [fault.CodeOf].
func (r *Rejection) Unwrap() error { return r.Kind.Code() }

// Value returns the form of r that entries hold.
func (r *Rejection) Value() canon.Value {
	detail := canon.String(r.Detail)
	if r.Kind == TypeMismatch {
		detail = canon.Object(canon.M("detail", detail), canon.M("tool", canon.String(r.Tool)))
	}
	return canon.Object(canon.M("detail", detail), canon.M("kind", canon.String(string(r.Kind))))
}

// ParseRejection reads what [Rejection.Value] writes.
func ParseRejection(v canon.Value) (Rejection, error) {
	r := newRecord(v, ErrProposal, "trajectory.ParseRejection", "a reason", "detail", "kind")
	out := Rejection{Kind: RejectionKind(r.Name("kind"))}
	switch {
	case r.Err != nil:
	case out.Kind.Code() == nil:
		r.Fail("%q is no kind of reason", out.Kind)
	case out.Kind == TypeMismatch:
		d := r.sub("detail", "detail", "tool")
		out.Detail, out.Tool = d.Text("detail", maxText), d.Text("tool", canon.MaxName)
		r.Take("detail", d.Err)
	default:
		out.Detail = r.Text("detail", maxText)
	}
	if r.Err != nil {
		return Rejection{}, r.Err
	}
	return out, nil
}
