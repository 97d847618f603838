package job

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	// ErrEvent means that a value is no APT event, or that events do not come in
	// the order of their index. Mend who writes them.
	ErrEvent fault.Invalid = "job.bad_event"
	// ErrOverride means that a MANUAL_OVERRIDE does not name the signed act of an
	// admin or of the council that allows it. Have it signed.
	ErrOverride fault.Denied = "job.unsigned_override"
)

// The types of APT events.
const (
	CouncilApproval  = "COUNCIL_APPROVAL"
	GroundTruthLabel = "GROUND_TRUTH_LABEL"
	AgentTimeout     = "AGENT_TIMEOUT"
	AgentException   = "AGENT_EXCEPTION"
	ManualOverride   = "MANUAL_OVERRIDE"
	OperationalNote  = "OPERATIONAL_NOTE"
	UserFeedback     = "USER_FEEDBACK"
)

var aptTypes = [...]string{CouncilApproval, GroundTruthLabel, AgentTimeout, AgentException, ManualOverride, OperationalNote, UserFeedback}

// APTEvent is something that happened to a node and that its trust follows. Only
// the payload of its type counts; the rest of Payload is zero.
type APTEvent struct {
	Stamp   Stamp
	Seed    det.Seed // of the job
	Node    string
	Type    string
	Payload Payload
	TraceID string
}

// Payload is what the types of events carry.
type Payload struct {
	Good      bool   // COUNCIL_APPROVAL approve, GROUND_TRUTH_LABEL correct, USER_FEEDBACK upvote
	TimeoutMS int64  // AGENT_TIMEOUT
	ErrorCode string // AGENT_EXCEPTION
	Note      string // OPERATIONAL_NOTE
	Override  Override
}

// Override is what a MANUAL_OVERRIDE carries.
type Override struct {
	APT    Nano   // new_apt; beyond [0, 1] it is clamped
	Status Status // empty: as trust and failures lead to
	Reason string
	Act    string // the digest of the act of an admin or the council that allows it
}

// Row is a line of the history of a node's trust.
type Row struct {
	EventID       string
	Before, After Nano // of the trust
}

// Apply returns s after an event, and the line of history of it. It is a pure
// function: the same events in the same order give the same state, and another
// order another (M-06). It refuses a node that is not there ([ErrNode]), a stamp
// that the seed does not give ([ErrStamp]), an event that does not come after
// the one before ([ErrEvent]), and an override that nobody allowed
// ([ErrOverride]); whether that act was admitted is for the caller to check.
func (s SelfRep) Apply(e APTEvent) (SelfRep, Row, error) {
	const op = "job.SelfRep.Apply"
	if err := e.Stamp.Check(e.Seed, e.Type); err != nil {
		return s, Row{}, err
	}
	if e.Stamp.Index <= s.last {
		return s, Row{}, fault.New(ErrEvent, op, "event %d comes after event %d", e.Stamp.Index, s.last)
	}
	i, ok := s.find(e.Node)
	if !ok {
		return s, Row{}, fault.New(ErrNode, op, "there is no node %q", e.Node)
	}
	n, err := s.trust.step(s.nodes[i], e)
	if err != nil {
		return s, Row{}, err
	}
	n.Updated = e.Stamp.At
	row := Row{EventID: e.Stamp.ID, Before: s.nodes[i].APT, After: n.APT}
	s.nodes = slices.Clone(s.nodes)
	s.nodes[i], s.last = n, e.Stamp.Index
	return s, row, nil
}

// Reduce applies the events in turn. The state is the one after the last event
// that was applied.
func (s SelfRep) Reduce(events []APTEvent) (SelfRep, []Row, error) {
	var rows []Row
	for _, e := range events {
		next, row, err := s.Apply(e)
		if err != nil {
			return s, rows, err
		}
		s, rows = next, append(rows, row)
	}
	return s, rows, nil
}

// step moves the trust of a node, and its status with it. What the document
// leaves open is settled thus: a good vote or label ends a row of failures, and
// a vote counts as a call that was answered. Notes and users move nothing; the
// council has the last word.
func (t Trust) step(n Node, e APTEvent) (Node, error) {
	const op = "job.SelfRep.Apply"
	switch e.Type {
	case OperationalNote, UserFeedback:
		return n, nil
	case CouncilApproval, GroundTruthLabel:
		input := Nano(0)
		if e.Payload.Good {
			input, n.Failures = One, 0
		}
		n.APT = drift(n.APT, t.Decay, input, t.Beta)
		if e.Type == CouncilApproval {
			n.Calls++
		}
	case AgentTimeout, AgentException:
		n.APT = drift(n.APT, t.Decay, One, -t.Gamma)
		n.Failures++
		n.Calls++
	case ManualOverride:
		o := e.Payload.Override
		if _, err := canon.ParseDigest(o.Act); err != nil {
			return n, fault.Wrap(ErrOverride, op, err, "the override of %s names no act that allows it", n.ID)
		}
		n.APT = o.APT.clamp()
		if o.Status != "" {
			if !slices.Contains(statuses[:], string(o.Status)) {
				return n, fault.New(ErrEvent, op, "there is no status %q", o.Status)
			}
			// Who sets a status begins a new row of failures: else the next
			// event would undo it.
			n.Status, n.StatusReason, n.Failures = o.Status, o.Reason, 0
			n.Events++
			return n, nil
		}
	default:
		return n, fault.New(ErrEvent, op, "there is no event of the type %q", e.Type)
	}
	n.Events++
	return t.settle(n), nil
}

// Value returns e as a log holds it.
func (e APTEvent) Value() canon.Value {
	return canon.Object(
		canon.M("event_id", canon.String(e.Stamp.ID)),
		canon.M("event_sequence_index", canon.Int(e.Stamp.Index)),
		canon.M("event_type", canon.String(e.Type)),
		canon.M("job_seed", canon.String(string(e.Seed))),
		canon.M("node_id", canon.String(e.Node)),
		canon.M("payload", e.payload()),
		canon.M("timestamp_seeded", canon.String(e.Stamp.At.String())),
		canon.M("trace_id", canon.Text(e.TraceID).OrNull()))
}

func (e APTEvent) payload() canon.Value {
	p := e.Payload
	switch e.Type {
	case CouncilApproval:
		return canon.Object(canon.M("approve", canon.Bool(p.Good)))
	case GroundTruthLabel:
		return canon.Object(canon.M("correct", canon.Bool(p.Good)))
	case UserFeedback:
		return canon.Object(canon.M("upvote", canon.Bool(p.Good)))
	case AgentTimeout:
		return canon.Object(canon.M("timeout_ms", canon.Int(p.TimeoutMS)))
	case AgentException:
		return canon.Object(canon.M("error_code", canon.String(p.ErrorCode)))
	case OperationalNote:
		return canon.Object(canon.M("note", canon.String(p.Note)))
	default:
		return canon.Object(
			canon.M("act", canon.String(p.Override.Act)),
			canon.M("new_apt", p.Override.APT.Value()),
			canon.M("reason", canon.String(p.Override.Reason)),
			canon.M("status", canon.Text(string(p.Override.Status)).OrNull()))
	}
}

// ParseAPTEvent reads what [APTEvent.Value] writes and nothing else, and checks
// the stamp. It refuses with [ErrEvent] or [ErrStamp].
func ParseAPTEvent(v canon.Value) (APTEvent, error) {
	const op = "job.ParseAPTEvent"
	r := newRecord(v, ErrEvent, op, "an APT event", strings.Fields(`event_id event_sequence_index event_type job_seed node_id
		payload timestamp_seeded trace_id`)...)
	e := APTEvent{
		Stamp: Stamp{Index: r.Count("event_sequence_index", maxCount), ID: r.digest("event_id"), At: r.instant("timestamp_seeded")},
		Seed:  det.Seed(r.Name("job_seed")), Node: r.Name("node_id"),
		Type: r.Word("event_type", aptTypes[:]...), TraceID: r.TextOrNull("trace_id", canon.MaxName),
	}
	e.Payload = parsePayload(r, e.Type)
	if r.Err != nil {
		return APTEvent{}, r.Err
	}
	if err := e.Stamp.Check(e.Seed, e.Type); err != nil {
		return APTEvent{}, err
	}
	return e, nil
}

func parsePayload(r record, eventType string) (p Payload) {
	var f record
	switch eventType {
	case CouncilApproval:
		f = r.sub("payload", "approve")
		p.Good = f.Bool("approve")
	case GroundTruthLabel:
		f = r.sub("payload", "correct")
		p.Good = f.Bool("correct")
	case UserFeedback:
		f = r.sub("payload", "upvote")
		p.Good = f.Bool("upvote")
	case AgentTimeout:
		f = r.sub("payload", "timeout_ms")
		p.TimeoutMS = f.Count("timeout_ms", maxCount)
	case AgentException:
		f = r.sub("payload", "error_code")
		p.ErrorCode = f.Name("error_code")
	case OperationalNote:
		f = r.sub("payload", "note")
		p.Note = f.Text("note", maxText)
	default:
		f = r.sub("payload", "act", "new_apt", "reason", "status")
		p.Override = Override{Act: f.digest("act"), APT: f.nano("new_apt"), Reason: f.Text("reason", maxText)}
		if !f.Value.Get("status").IsNull() {
			p.Override.Status = Status(f.Word("status", statuses[:]...))
		}
	}
	r.Take("payload", f.Err)
	return p
}

// Value returns r as the history holds it.
func (r Row) Value() canon.Value {
	return canon.Object(
		canon.M("apt_after", r.After.Value()),
		canon.M("apt_before", r.Before.Value()),
		canon.M("event_id", canon.String(r.EventID)))
}
