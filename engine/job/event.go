package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrJobEvent means that a value is no event of a job: its form, its type or its
// place among the others is wrong. Trust the stream no longer.
const ErrJobEvent fault.Integrity = "job.bad_job_event"

// Types of the events of a run, beside those of trust, memory, privacy, actions
// and ticks, which stand with what they are about.
const (
	EventRouter    = "ROUTER_DECISION"
	EventOutput    = "AGENT_OUTPUT"
	EventVote      = "COUNCIL_VOTE"
	EventRefused   = "ACTIONREQUEST_REFUSED" // a request that the council denied, or that was not in time
	EventFact      = "SEM_WRITE"
	EventWriteFail = "MEMORY_WRITE_FAIL"
)

var eventTypes = [...]string{
	CouncilApproval, GroundTruthLabel, AgentTimeout, AgentException, ManualOverride, OperationalNote, UserFeedback,
	EventRouter, EventOutput, EventVote, EventRefused, EventFact, EventWriteFail, EventTick, EventEpisode, EventConsent, EventFlagged,
	EventRequested, EventExecuted, EventExpired,
	EventRead, EventViolation, EventSafetyBlock, EventRedaction, EventOverrideAct, EventOverride,
}

// EventMedia is the media type of an event as an attachment holds it.
const EventMedia = "application/vnd.reprise.job-event.v1+json; profile=mace-fixed9"

// MaxEvent is how many bytes an event may have.
const MaxEvent = 4 << 20

// Event is a line of the append-only stream of a job (M-05): whatever moved its
// state, in the order of the index of its stamp.
type Event struct {
	Stamp   Stamp
	Type    string
	Payload canon.Value
}

// Value returns the event of a job of that seed.
func (e Event) Value(seed det.Seed) canon.Value {
	return canon.Object(
		canon.M("event_id", canon.String(e.Stamp.ID)),
		canon.M("event_sequence_index", canon.Int(e.Stamp.Index)),
		canon.M("event_type", canon.String(e.Type)),
		canon.M("job_seed", canon.String(string(seed))),
		canon.M("payload", e.Payload),
		canon.M("profile", canon.String(string(canon.MACEFixed9))),
		canon.M("timestamp_seeded", canon.String(e.Stamp.At.String())))
}

// Bytes returns the canonical bytes of [Event.Value]: what is stored.
func (e Event) Bytes(seed det.Seed) ([]byte, error) {
	b, err := canon.Encode(e.Value(seed), canon.MACEFixed9)
	if err != nil {
		return nil, fault.Wrap(ErrJobEvent, "job.Event.Bytes", err, "event %d of type %s", e.Stamp.Index, e.Type)
	}
	if len(b) > MaxEvent {
		return nil, fault.New(ErrJobEvent, "job.Event.Bytes", "event %d of type %s has %d bytes; the most is %d", e.Stamp.Index, e.Type, len(b), MaxEvent)
	}
	return b, nil
}

// ParseEvent reads what [Event.Bytes] writes for that seed and nothing else,
// and checks the stamp. It refuses with [ErrJobEvent] or [ErrStamp].
func ParseEvent(b []byte, seed det.Seed) (Event, error) {
	const op = "job.ParseEvent"
	v, err := parseFixed(b, MaxEvent)
	if err != nil {
		return Event{}, fault.Wrap(ErrJobEvent, op, err, "these bytes are no event")
	}
	r := newRecord(v, ErrJobEvent, op, "the event", "event_id", "event_sequence_index", "event_type", "job_seed", "payload", "profile", "timestamp_seeded")
	e := Event{
		Stamp: Stamp{Index: r.Count("event_sequence_index", maxCount), ID: r.digest("event_id"), At: r.instant("timestamp_seeded")},
		Type:  r.Word("event_type", eventTypes[:]...), Payload: v.Get("payload"),
	}
	if r.Word("profile", string(canon.MACEFixed9)); r.Err == nil && r.Name("job_seed") != string(seed) {
		r.Fail("the event is one of another seed")
	}
	if r.Err != nil {
		return Event{}, r.Err
	}
	return e, e.Stamp.Check(seed, e.Type)
}

// parseFixed reads canonical bytes of at most limit.
func parseFixed(b []byte, limit int) (canon.Value, error) {
	if len(b) > limit {
		return canon.Value{}, fault.New(canon.ErrTooLarge, "job.parseFixed", "%d bytes; the most is %d", len(b), limit)
	}
	if err := canon.Check(b, canon.MACEFixed9); err != nil {
		return canon.Value{}, err
	}
	return canon.Parse(b)
}

// EventRef is how the reflective log names an event. The id says where it
// stands, the digest what it says.
type EventRef struct {
	Index  int64
	ID     string
	Type   string
	Digest canon.Digest // SHA-256 of the canonical bytes
}

func (r EventRef) value() canon.Value {
	return canon.Object(
		canon.M("digest", canon.String(r.Digest.String())),
		canon.M("event_id", canon.String(r.ID)),
		canon.M("event_sequence_index", canon.Int(r.Index)),
		canon.M("event_type", canon.String(r.Type)))
}

func readRef(r record, v canon.Value) EventRef {
	f := newRecord(v, r.Code, r.Op, "event_ref", "digest", "event_id", "event_sequence_index", "event_type")
	ref := EventRef{Index: f.Count("event_sequence_index", maxCount), ID: f.digest("event_id"), Type: f.Word("event_type", eventTypes[:]...)}
	ref.Digest, _ = canon.ParseDigest(f.digest("digest"))
	r.Take("event_refs", f.Err)
	return ref
}

// digestOf returns the SHA-256 of the canonical bytes of a value that was
// written before, so that it can be written.
func digestOf(v canon.Value) canon.Digest {
	b, err := canon.Encode(v, canon.MACEFixed9)
	if err != nil {
		panic("job: " + err.Error())
	}
	return canon.SHA256(b)
}
