package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrInput means that an input does not belong to a job: an outcome that nobody
// asked for, or an open without a job. Trust the ledger no longer.
const ErrInput fault.Integrity = "job.bad_input"

// Names of what a job takes from outside.
const (
	// InputVote is an approval: data {act, after}. The act is a signed act about
	// the matter of the request that waits, after the seconds since it was made;
	// with a member request_id, about that request of the governance snapshot.
	InputVote = "job.vote"
	// InputElapsed is an event: data {after}. So many seconds have passed since
	// the request that waits was made, or the one that a member request_id names.
	InputElapsed = "job.elapsed"
	// InputFeedback is an event: data {upvote}. The user said yes or no.
	InputFeedback = "job.feedback"
	// InputRetry is an event: data {}. The server key is at hand again.
	InputRetry = "job.retry"

	// RefusedInput is the name of the rejection of an input that changes nothing.
	RefusedInput = "job.input_refused"
	// LogResult is the name of the result that holds the reflective log.
	LogResult = "reflective_log"
)

// OutputScope is the unit of erasure of what agents say: the contents of their
// outcomes, and what is kept of them. Where they are not to be kept its key is
// destroyed when the job is over. It is below the scope of the run.
const OutputScope = "outputs"

// maxValues is how many different personal data one text may hold.
const maxValues = 512

type phase uint8

const (
	unopened phase = iota
	hashing        // personal data are named by the server key
	calling        // an agent works
	voting         // an action waits for approval
	signing        // the log is signed
	stalled        // the server key is not at hand
	over
)

// Machine is one job at work. It implements [effect.Machine]: what it knows
// came in as an input, and what it concludes are the events of the job and at
// the end its reflective log.
//
//	query → route → call → keep → vote → tick → route … → sign
type Machine struct {
	spec    *Spec
	premise Premise
	s       *state
	phase   phase
	key     string // id of the server key
	out     []ledger.Decision

	values []string     // personal data whose hashes are asked for
	raw    *AgentOutput // the output that they stand in; nil: the query
	routed RouteOutput
	tries  int64 // calls of the agent in this iteration
	broken int64 // calls that broke off

	output *AgentOutput    // of this iteration, as it is kept
	bytes  [][]byte        // of each output that was kept, by iteration; nil: none
	todo   []MemoryRequest // of the output, that are still to be asked for
	memory string          // the key of the fact that is voted on
	log    *Log
	signed []byte // the message of log
}

// NewMachine returns a job before its open.
func NewMachine() *Machine { return &Machine{} }

// Clone implements [effect.Machine].
func (m *Machine) Clone() effect.Machine {
	c := *m
	if m.s != nil {
		c.s = m.s.clone()
	}
	c.bytes, c.todo = slices.Clip(m.bytes), slices.Clip(m.todo)
	if m.log != nil {
		log := *m.log
		c.log = &log
	}
	return &c
}

// Log returns the reflective log once the job is over.
func (m *Machine) Log() (*Log, bool) { return m.log, m.phase == over }

// Pending returns the request that waits for approval, if one does.
func (m *Machine) Pending() (ActionRequest, bool) {
	if m.phase != voting {
		return ActionRequest{}, false
	}
	return m.s.requests[len(m.s.requests)-1], true
}

// Next implements [effect.Machine].
func (m *Machine) Next() effect.Step {
	switch m.phase {
	case hashing:
		list, err := canon.Encode(canon.Strings(m.values), canon.Foreign)
		if err != nil {
			panic("job: " + err.Error()) // they come from JSON
		}
		return effect.Step{Calls: []effect.Call{macCall(macPII, m.key, m.s.Seed, list, OutputScope)}}
	case calling:
		return effect.Step{Calls: []effect.Call{m.agentCall()}}
	case signing:
		return effect.Step{Calls: []effect.Call{macCall(macLog, m.key, m.s.Seed, m.signed, "")}}
	case over:
		return effect.Step{Done: true}
	case voting:
		return effect.Step{Wait: "approval of request " + m.s.requests[len(m.s.requests)-1].ID()}
	case stalled:
		return effect.Step{Wait: "the server key " + m.key}
	default:
		return effect.Step{Wait: "the open"}
	}
}

// Apply implements [effect.Machine].
func (m *Machine) Apply(in effect.Input) ([]ledger.Decision, error) {
	m.out = nil
	err := m.take(in)
	out := m.out
	m.out = nil
	return out, err
}

func (m *Machine) take(in effect.Input) error {
	switch {
	case in.Kind == ledger.KindOpen && m.phase == unopened:
		return m.open(in.Contents)
	case in.Kind == ledger.KindOutcome && in.Call.Kind == KindMAC && (m.phase == hashing || m.phase == signing):
		return m.tagged(in.Outcome)
	case in.Kind == ledger.KindOutcome && m.phase == calling:
		return m.answered(in.Outcome)
	case in.From != "" && m.phase != unopened:
		return m.outside(in)
	default:
		return fault.New(ErrInput, "job.Machine.Apply", "entry %d is a %s that the job does not wait for", in.N, in.Kind)
	}
}

func (m *Machine) open(contents []ledger.Content) error {
	spec, set, err := readOpen(contents)
	if err != nil {
		return err
	}
	held, _ := set.Of(KindSelfRep)
	m.spec, m.key = spec, held.KeyID
	m.premise = Premise{
		JobID: spec.ID, Seed: spec.Seed, User: spec.User, Roles: spec.Roles, Candidates: spec.Candidates, Goal: spec.Goal,
		Roster: spec.Roster, Tenant: spec.Tenant, Semantic: spec.Semantic, Episodes: spec.Episodes,
	}
	if m.s, err = newState(m.premise, set); err != nil {
		return err
	}
	for _, c := range spec.Consents {
		if err := m.emit(EventConsent, c.Value()); err != nil {
			return err
		}
	}
	if m.values = m.s.privacy.Sensitive(m.asked(), m.s.purpose(nil)); len(m.values) == 0 {
		return m.begin(nil)
	}
	return m.hash(nil)
}

// asked returns what of the input may hold personal data.
func (m *Machine) asked() canon.Value {
	return canon.Object(canon.M("metadata", m.spec.Goal.Metadata), canon.M("query_text", canon.String(m.spec.Query)))
}

// hash asks for the hashes of the values that an output, or the query, holds.
func (m *Machine) hash(raw *AgentOutput) error {
	if len(m.values) > maxValues {
		return fault.New(ErrSpec, "job.Machine", "%d personal data in one text; the most is %d", len(m.values), maxValues)
	}
	m.raw, m.phase = raw, hashing
	return nil
}

// tagged takes the tags of the server key.
func (m *Machine) tagged(o *effect.Outcome) error {
	switch o.Status {
	case effect.Interrupted:
		return nil // asked again
	case effect.Error:
		m.phase = stalled
		return nil
	default:
	}
	if m.signed != nil {
		list, err := tags(o, 1)
		if err != nil {
			return err
		}
		return m.close(list[0])
	}
	list, err := tags(o, len(m.values))
	if err != nil {
		return err
	}
	hashes := map[string]string{}
	for i, v := range m.values {
		hashes[v] = list[i]
	}
	if m.raw == nil {
		return m.begin(hashes)
	}
	return m.keep(*m.raw, hashes)
}

// begin takes the query, redacted, and begins the first iteration.
func (m *Machine) begin(hashes map[string]string) error {
	if hashes == nil {
		hashes = map[string]string{}
	}
	h, err := m.s.privacy.Handle(m.asked(), m.s.purpose(hashes))
	if err != nil {
		return err
	}
	p := &m.premise
	p.Query, p.Goal.Metadata = h.Value.Get("query_text").Str(), h.Value.Get("metadata")
	if len(p.Query) > maxText {
		return fault.New(ErrSpec, "job.Machine.begin", "the query is too long to be redacted")
	}
	p.Blocked = slices.ContainsFunc(h.Redactions, func(r Redaction) bool { return r.Sensitivity != LowSensitivity })
	m.s.Query, m.s.Goal, m.s.Blocked = p.Query, p.Goal, p.Blocked
	m.s.route.Query, m.s.route.PII = p.Query, p.Blocked
	if err := m.flag("query", h); err != nil {
		return err
	}
	if err := m.carryOut(); err != nil {
		return err
	}
	if err := m.emit(EventTick, m.s.first(m.at(EventTick)).Value()); err != nil {
		return err
	}
	return m.proceed()
}

// proceed begins the next iteration, if there is to be one.
func (m *Machine) proceed() error {
	if m.s.over() {
		return m.finish()
	}
	return m.iterate()
}

// flag records what the privacy rules have found.
func (m *Machine) flag(where string, h Handled) error {
	if len(h.Redactions) == 0 {
		return nil
	}
	return m.emit(EventFlagged, h.Event().With("where", canon.String(where)))
}

// stamp returns the stamp that the next event gets, if it is of that type.
func (m *Machine) stamp(eventType string) Stamp { return NewStamp(m.s.Seed, m.s.next, eventType) }

func (m *Machine) at(eventType string) det.Instant { return m.stamp(eventType).At }

// emit folds the next event and concludes it. An event that the state refuses
// leaves no trace.
func (m *Machine) emit(eventType string, payload canon.Value, contents ...ledger.Content) error {
	return m.conclude(ledger.KindDecision, eventType, payload, canon.Value{}, contents...)
}

// conclude is emit with a kind, and with what the body says beside the stamp.
func (m *Machine) conclude(kind ledger.Kind, eventType string, payload, data canon.Value, contents ...ledger.Content) error {
	e := Event{Stamp: m.stamp(eventType), Type: eventType, Payload: payload}
	if err := m.s.apply(e); err != nil {
		return err
	}
	b, err := e.Bytes(m.s.Seed)
	if err != nil {
		return err
	}
	members := []canon.Member{
		canon.M("event_id", canon.String(e.Stamp.ID)),
		canon.M("event_sequence_index", canon.Int(e.Stamp.Index)),
		canon.M("timestamp_seeded", canon.String(e.Stamp.At.String())),
	}
	m.out = append(m.out, ledger.Decision{
		Kind:     kind,
		Body:     canon.Object(canon.M("data", canon.Object(append(members, data.Members()...)...)), canon.M("name", canon.String(eventType))),
		Contents: append([]ledger.Content{{Name: eventContent, Type: EventMedia, Bytes: b}}, contents...),
	})
	return nil
}

// eventContent is the name of the content that holds an event.
const eventContent = "event"

// iterate begins an iteration: the router decides.
func (m *Machine) iterate() error {
	m.output, m.tries, m.broken = nil, 0, 0
	m.bytes = append(m.bytes, nil)
	out, err := m.s.decide(m.s.route)
	if err != nil && out.Error == "" {
		return err
	}
	if err := m.emit(EventRouter, canon.Object(
		canon.M("iteration_id", canon.String(IterationID(m.s.Seed, int64(len(m.s.steps))))),
		canon.M("router_input_snapshot", m.s.route.Value()),
		canon.M("router_output", out.Value()),
	)); err != nil {
		return err
	}
	m.routed = out
	switch {
	case out.Error != "":
		return m.tick()
	case out.Approval:
		return m.request(m.s.wantsRun(out))
	default:
		return m.run()
	}
}

// tick closes the iteration.
func (m *Machine) tick() error {
	if err := m.emit(EventTick, m.s.tick(m.at(EventTick), m.output).Value()); err != nil {
		return err
	}
	return m.proceed()
}

// outside takes an input that nobody asked for. One that changes nothing is
// rejected: anybody may send anything, and it must not stop the job.
func (m *Machine) outside(in effect.Input) error {
	var err error
	working := m.phase != signing && m.phase != over && m.phase != stalled
	id, standing := m.about(in)
	switch {
	case standing && working:
		err = m.voteStanding(id, in)
	case in.Kind == ledger.KindApproval && in.Name == InputOverride && working:
		err = m.override(in.Data)
	case in.Kind == ledger.KindApproval && in.Name == InputVote && m.phase == voting:
		err = m.vote(in.Data)
	case in.Kind == ledger.KindEvent && in.Name == InputElapsed && m.phase == voting:
		err = m.elapse(in.Data)
	case in.Kind == ledger.KindEvent && in.Name == InputFeedback && working:
		err = m.feedback(in.Data)
	case in.Kind == ledger.KindEvent && in.Name == InputRetry && m.phase == stalled:
		if m.phase = hashing; m.signed != nil {
			m.phase = signing
		}
		return nil
	default:
		err = fault.New(ErrInput, "job.Machine", "the job does not wait for a %s %.80q", in.Kind, in.Name)
	}
	if err == nil {
		return nil
	}
	m.out = append(m.out, ledger.Decision{Kind: ledger.KindRejection, Body: canon.Object(
		canon.M("data", canon.Object(
			canon.M("code", canon.String(fault.CodeOf(err).Error())),
			canon.M("from", canon.String(in.From)),
			canon.M("input", canon.String(in.Name)))),
		canon.M("name", canon.String(RefusedInput)))})
	return nil
}

// feedback notes what the user says to the last output.
func (m *Machine) feedback(data canon.Value) error {
	r := newRecord(data, ErrInput, "job.Machine.feedback", "the feedback", "upvote")
	good := r.Bool("upvote")
	if r.Err != nil {
		return r.Err
	}
	node := m.routed.Selected
	if node == "" {
		return fault.New(ErrInput, "job.Machine.feedback", "no agent has been asked yet")
	}
	return m.trust(node, UserFeedback, Payload{Good: good})
}

// trust concludes an APT event.
func (m *Machine) trust(node, eventType string, p Payload) error {
	e := APTEvent{Stamp: m.stamp(eventType), Seed: m.s.Seed, Node: node, Type: eventType, Payload: p, TraceID: m.s.route.TraceID}
	return m.emit(eventType, e.Value())
}
