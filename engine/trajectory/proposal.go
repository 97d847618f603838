package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrProposal means that a recorded proposal, or a part of one, cannot be read,
// or that its id is not that of its body. Trust the entry no longer.
const ErrProposal fault.Integrity = "trajectory.bad_proposal"

// StatusKind is where a proposal stands.
type StatusKind string

// The kinds of status.
const (
	Staged    StatusKind = "staged"    // may be executed
	Suspended StatusKind = "suspended" // waits for an approval
	Rejected  StatusKind = "rejected"
)

// Status is where a proposal stands, and why.
type Status struct {
	Kind      StatusKind
	Channel   string     // of suspended: whom to ask
	Reason    string     // of suspended
	Rejection *Rejection // of rejected
}

// Value returns the form of s that is hashed.
func (s Status) Value() canon.Value {
	kind := canon.M("kind", canon.String(string(s.Kind)))
	switch s.Kind {
	case Suspended:
		return canon.Object(canon.M("channel", canon.String(s.Channel)), kind, canon.M("reason", canon.String(s.Reason)))
	case Rejected:
		if s.Rejection != nil {
			return canon.Object(kind, canon.M("reason", s.Rejection.Value()))
		}
	case Staged:
	}
	return canon.Object(kind)
}

// ParseStatus reads what [Status.Value] writes. The plain string that older
// versions of the source system wrote is refused.
func ParseStatus(v canon.Value) (Status, error) {
	const op = "trajectory.ParseStatus"
	s := Status{Kind: StatusKind(v.Get("kind").Str())}
	var r record
	switch s.Kind {
	case Staged:
		r = newRecord(v, ErrProposal, op, "a status", "kind")
	case Suspended:
		r = newRecord(v, ErrProposal, op, "a status", "kind", "channel", "reason")
		s.Channel, s.Reason = r.Name("channel"), r.Text("reason", maxText)
	case Rejected:
		r = newRecord(v, ErrProposal, op, "a status", "kind", "reason")
		rejection, err := ParseRejection(v.Get("reason"))
		r.Take("reason", err)
		s.Rejection = &rejection
	default:
		return Status{}, fault.New(ErrProposal, op, "a status is an object whose kind is staged, suspended or rejected")
	}
	if r.Err != nil {
		return Status{}, r.Err
	}
	return s, nil
}

// Proposal is what the compiler makes of an intent: one call of a tool, and
// the reasons why it may be made.
type Proposal struct {
	IntentID canon.Digest
	WritID   canon.Digest
	Tool     string
	Args     canon.Value // lifted
	Trace    Trace
	Status   Status
	Routing  canon.Value // of the intent; no part of the id
}

// Value returns the body of p, which its id is of.
func (p *Proposal) Value() canon.Value {
	return canon.Object(
		canon.M("intent_id", canon.String(p.IntentID.String())),
		canon.M("plan", canon.Object(canon.M("args", p.Args.OrNull()), canon.M("tool", canon.String(p.Tool)))),
		canon.M("policy_trace", p.Trace.Value()),
		canon.M("status", p.Status.Value()),
		canon.M("writ_id", canon.String(p.WritID.String())),
	)
}

// ID returns the id of p.
func (p *Proposal) ID() (canon.Digest, error) {
	id, err := ContentID(p.Value())
	return id, fault.Wrap(ErrProposal, "trajectory.Proposal.ID", err, "the proposal")
}

// Entry returns the form in which an entry holds p: its body, its id, and the
// routing evidence if there is some.
func (p *Proposal) Entry() (canon.Value, error) {
	id, err := p.ID()
	if err != nil {
		return canon.Value{}, err
	}
	return named(id, p.Value(), p.Routing), nil
}

// ParseProposal reads what [Proposal.Value] writes, with no member more or
// less.
func ParseProposal(v canon.Value) (Proposal, error) {
	const op = "trajectory.ParseProposal"
	r := newRecord(v, ErrProposal, op, "a proposal", "intent_id", "plan", "policy_trace", "status", "writ_id")
	plan := r.sub("plan", "args", "tool")
	p := Proposal{
		IntentID: r.Digest("intent_id"), WritID: r.Digest("writ_id"),
		Tool: plan.Name("tool"), Args: plan.args("args"),
	}
	r.Take("plan", plan.Err)
	var err error
	p.Trace, err = ParseTrace(v.Get("policy_trace"))
	r.Take("policy_trace", err)
	p.Status, err = ParseStatus(v.Get("status"))
	r.Take("status", err)
	if r.Err != nil {
		return Proposal{}, r.Err
	}
	return p, nil
}

// ParseProposalEntry reads what [Proposal.Entry] writes and refuses an id that
// is not that of the body.
func ParseProposalEntry(v canon.Value) (Proposal, error) {
	r := newNamed(v, ErrProposal, "trajectory.ParseProposalEntry", "a proposal")
	if r.Err != nil {
		return Proposal{}, r.Err
	}
	p, err := ParseProposal(v.Get("body"))
	if err != nil {
		return Proposal{}, err
	}
	p.Routing = r.routing()
	id, err := p.ID()
	r.Take("body", err)
	r.same(id)
	if r.Err != nil {
		return Proposal{}, r.Err
	}
	return p, nil
}
