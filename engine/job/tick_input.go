package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// EventTick is the type of the event that a tick is recorded as. Its payload is
// [TickInput.Value], and the state after it follows from the one before.
const EventTick = "BRAINSTATE_TICK"

// fixed returns a value with every number of nine decimals, as it comes back
// from what was recorded, and its canonical bytes. A state that would hold the
// value as it came in would go another way after it was loaded.
func fixed(v canon.Value) (canon.Value, []byte, error) {
	b, err := canon.Encode(v, canon.MACEFixed9)
	if err != nil {
		return canon.Value{}, nil, err
	}
	v, err = canon.Parse(b)
	return v, b, err
}

// Value returns the input as the payload of its event holds it.
func (in TickInput) Value() canon.Value {
	return canon.Object(
		canon.M("attempts", canon.ArrayOf(in.Attempts, Attempt.value)),
		canon.M("council_approval", in.Council.value()),
		canon.M("failures", canon.ArrayOf(in.Failures, Failure.value)),
		canon.M("goals", canon.ArrayOf(in.Goals, NewGoal.value)),
		canon.M("references", canon.Strings(in.Reference)),
		canon.M("timestamp_seeded", canon.String(in.At.String())),
		canon.M("tokens_used", canon.Int(in.TokensUsed)),
		canon.M("user_upvote", in.User.value()),
		canon.M("wm_inserts", canon.ArrayOf(in.Insert, NewMemory.value)),
	)
}

func (a Attempt) value() canon.Value {
	return canon.Object(
		canon.M("deliverable", canon.Bool(a.Deliverable)),
		canon.M("final_confidence", a.Confidence.Value()),
		canon.M("goal_id", canon.String(a.Goal)),
		canon.M("repairs_exhausted", canon.Bool(a.Exhausted)),
	)
}

func (g NewGoal) value() canon.Value {
	metadata := g.Metadata
	if metadata.IsZero() {
		metadata = canon.Object()
	}
	return canon.Object(
		canon.M("deadline_ts", canon.Text(g.Deadline).OrNull()),
		canon.M("goal_id", canon.String(g.ID)),
		canon.M("heuristic_score", g.Heuristic.Value()),
		canon.M("metadata", metadata),
		canon.M("origin", canon.String(string(g.Origin))),
		canon.M("type", canon.String(string(g.Type))),
		canon.M("user_specified", g.User.Value()),
	)
}

func (m NewMemory) value() canon.Value {
	return canon.Object(
		canon.M("ttl_ticks", canon.Int(m.TTL)),
		canon.M("type", canon.String(string(m.Type))),
		canon.M("value", m.Value),
	)
}

// ParseTickInput reads what [TickInput.Value] writes and nothing else. It
// refuses with [ErrBrain].
func ParseTickInput(v canon.Value) (TickInput, error) {
	const op = "job.ParseTickInput"
	r := newRecord(v, ErrBrain, op, "tick", "attempts", "council_approval", "failures", "goals", "references", "timestamp_seeded",
		"tokens_used", "user_upvote", "wm_inserts")
	in := TickInput{
		At: r.instant("timestamp_seeded"), Council: r.opinion("council_approval"), User: r.opinion("user_upvote"),
		TokensUsed: r.Count("tokens_used", maxCount), Reference: r.names("references"),
	}
	for _, e := range r.list("attempts") {
		a := newRecord(e, ErrBrain, op, "attempt", "deliverable", "final_confidence", "goal_id", "repairs_exhausted")
		in.Attempts = append(in.Attempts, Attempt{
			Goal: a.Name("goal_id"), Deliverable: a.Bool("deliverable"), Confidence: a.unit("final_confidence"), Exhausted: a.Bool("repairs_exhausted"),
		})
		r.Take("attempts", a.Err)
	}
	for _, e := range r.list("failures") {
		in.Failures = append(in.Failures, readFailure(r, e))
	}
	for _, e := range r.list("goals") {
		g := newRecord(e, ErrBrain, op, "goal", "deadline_ts", "goal_id", "heuristic_score", "metadata", "origin", "type", "user_specified")
		in.Goals = append(in.Goals, NewGoal{
			ID: g.Name("goal_id"), Type: goalType(g), Origin: goalOrigin(g), User: g.unit("user_specified"), Heuristic: g.unit("heuristic_score"),
			Deadline: g.TextOrNull("deadline_ts", canon.MaxName), Metadata: e.Get("metadata"),
		})
		r.Take("goals", g.Err)
	}
	for _, e := range r.list("wm_inserts") {
		m := newRecord(e, ErrBrain, op, "insert", "ttl_ticks", "type", "value")
		in.Insert = append(in.Insert, NewMemory{Type: memoryType(m), Value: e.Get("value"), TTL: m.Count("ttl_ticks", maxTicks)})
		r.Take("wm_inserts", m.Err)
	}
	return in, r.Err
}

func readFailure(r record, v canon.Value) Failure {
	f := newRecord(v, ErrBrain, r.Op, "failure", "node_id", "reason", "ts")
	failure := Failure{Node: f.Name("node_id"), Reason: f.Text("reason", canon.MaxName), At: f.instant("ts")}
	r.Take("failures", f.Err)
	return failure
}

// Value returns the report as the log holds it.
func (t TickReport) Value() canon.Value {
	return canon.Object(
		canon.M("dropped", canon.Strings(t.Dropped)),
		canon.M("goals_ended", canon.Strings(t.Ended)),
		canon.M("inserted", canon.Strings(t.Inserted)),
		canon.M("promoted", canon.Strings(t.Promoted)),
	)
}

// Replay folds recorded ticks over a brain, and calls see, which may be nil,
// with the brain after each. It stops at the first payload that is refused.
func (b Brain) Replay(payloads []canon.Value, see func(Brain, TickReport)) (Brain, error) {
	for i, payload := range payloads {
		in, err := ParseTickInput(payload)
		if err != nil {
			return b, err
		}
		next, report, err := b.Tick(in)
		if err != nil {
			return b, fault.Wrap(fault.CodeOf(err), "job.Brain.Replay", err, "tick %d", i)
		}
		b = next
		if see != nil {
			see(b, report)
		}
	}
	return b, nil
}

// deadline refuses a deadline that is neither empty nor an instant.
func deadline(s string) bool {
	at, err := det.ParseInstant(s)
	return s == "" || err == nil && at.String() == s
}
