package job

import (
	"slices"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// Premise is what a job begins with, beside its snapshots: its input as it may
// be kept, and the memories and people that it finds.
type Premise struct {
	JobID      string
	Seed       det.Seed
	Query      string // redacted
	Blocked    bool   // the query holds personal data that nobody consented to
	User       string
	Roles      []string
	Candidates []string
	Goal       GoalSpec // its metadata redacted
	Roster     govern.Roster
	Tenant     string
	Semantic   Semantic
	Episodes   Episodes
}

// state is what the events of a job have made of its premise and its snapshots.
// The machine that runs a job and the replay that checks one fold the same
// events by the same function: that is why a replay can tell.
type state struct {
	Premise
	ids     Set
	router  RouterConfig
	rules   Governance
	privacy Privacy

	selfrep  SelfRep
	brain    Brain
	consents Consents
	requests []ActionRequest // of this job, in the order of their creation
	standing []ActionRequest // that the governance snapshot holds as open, in its order
	allowed  []override      // that somebody has signed, and that were not done yet
	seen     govern.Seen     // the acts of overrides
	reads    []canon.Value   // what semantic memory has answered

	next   int64 // index of the next event
	route  RouteRequest
	work   work
	steps  []iteration
	list   []EventRef
	wrote  []Write
	text   string     // of the last output that was one; the answer, unless something failed after it
	saved  bool       // whether text is one
	final  bool       // whether that output was what was asked for
	missed bool       // whether it asked for a fact that is not there
	code   fault.Code // why there is no better answer, or nil
	ticks  []string   // digests of the brain state after each tick
}

// work is what has happened since the last tick.
type work struct {
	open     bool // an iteration has begun
	refused  bool // the router or the council let nothing be done
	failed   bool // the agent failed for good
	failures []Failure
	council  Word
	user     Word
}

// iteration is one round: a decision of the router, what came of it, and the
// tick that closed it.
type iteration struct {
	id       string
	number   int64
	input    canon.Value
	output   canon.Value
	event    string // event_id of the decision
	node     string
	outputID string // empty: there was none
	digest   canon.Digest
	failures []string // event_ids
	tick     canon.Value
}

// Write is a memory that the job wrote.
type Write struct {
	Event string // event_id
	Type  string // of the event
	ID    string // episodic_id, or the key of the fact
}

func (w Write) value() canon.Value {
	return canon.Object(canon.M("event_id", canon.String(w.Event)), canon.M("event_type", canon.String(w.Type)), canon.M("id", canon.String(w.ID)))
}

// newState reads the snapshots of a job.
func newState(p Premise, set Set) (*state, error) {
	s := &state{Premise: p, ids: set}
	var err error
	for _, k := range kinds {
		held, _ := set.Of(k)
		switch k {
		case KindSelfRep:
			s.selfrep, err = ParseSelfRep(held.Content)
		case KindBrainState:
			s.brain, err = ParseBrain(held.Content)
		case KindRouter:
			s.router, err = ParseRouterConfig(held.Content)
		case KindPrivacy:
			s.privacy, err = ParsePrivacy(held.Content)
		case KindGovernance:
			s.rules, err = ParseGovernance(held.Content)
		}
		if err != nil {
			return nil, err
		}
	}
	if s.brain.State.Seed != p.Seed {
		return nil, fault.New(ErrSpec, "job.newState", "the brain state is that of the seed %q", s.brain.State.Seed)
	}
	if s.standing, err = s.stand(); err != nil {
		return nil, err
	}
	id := func(k Kind) string { held, _ := set.Of(k); return held.ID }
	s.route = RouteRequest{
		JobID: p.JobID, JobSeed: p.Seed, Query: p.Query, Roles: p.Roles, PII: p.Blocked, Candidates: p.Candidates,
		Attempts:  s.brain.Constants.MaxAttempts,
		SelfRepID: id(KindSelfRep), BrainID: id(KindBrainState), RouterID: id(KindRouter), TraceID: det.ID(string(p.Seed), "trace"),
	}
	return s, nil
}

// clone returns a state that goes its own way. What it holds besides lists are
// values.
func (s *state) clone() *state {
	c := *s
	c.requests, c.steps = slices.Clone(s.requests), slices.Clone(s.steps)
	c.list, c.wrote, c.ticks = slices.Clip(s.list), slices.Clip(s.wrote), slices.Clip(s.ticks)
	c.standing, c.allowed, c.reads = slices.Clone(s.standing), slices.Clone(s.allowed), slices.Clip(s.reads)
	c.work.failures = slices.Clip(s.work.failures)
	return &c
}

// IterationID returns iteration_id.
func IterationID(seed det.Seed, n int64) string { return numbered(seed, "iteration", n) }

// OutputID returns agent_output_id.
func OutputID(seed det.Seed, n int64) string { return numbered(seed, "output", n) }

func numbered(seed det.Seed, what string, n int64) string {
	return det.ID(string(seed), what, strconv.FormatInt(n, 10))
}

// goalID names the goal of the job.
func (s *state) goalID() string { return numbered(s.Seed, "goal", 0) }

// decide asks the router.
func (s *state) decide(q RouteRequest) (RouteOutput, error) {
	mind := s.brain.Mind()
	return Decide(RouteInput{Config: &s.router, SelfRep: &s.selfrep, Mind: &mind, Request: q})
}

// purpose says for what an output or an input is kept.
func (s *state) purpose(hashes map[string]string) Purpose {
	return Purpose{Hashes: hashes, Seed: s.Seed, User: s.User, Consents: s.consents}
}

// guard stands before memories. What comes to it is redacted already, so that
// it needs no key.
func (s *state) guard() Guard {
	return Guard{Rules: s.privacy, Purpose: s.purpose(map[string]string{})}
}

// first returns the tick with which a job begins: its goal comes in.
func (s *state) first(at det.Instant) TickInput {
	goal := GoalType(s.router.Action(s.Query))
	switch goal {
	case GoalAnswer, GoalClarify, GoalSave, GoalVerify, GoalPlan:
	default:
		goal = GoalAnswer
	}
	return TickInput{At: at, Goals: []NewGoal{{
		ID: s.goalID(), Type: goal, Origin: FromUser, User: s.Goal.User, Heuristic: s.Goal.Heuristic, Metadata: s.Goal.Metadata,
	}}}
}

// tick returns the tick that closes an iteration, out of what happened in it.
// The output is nil if there was none.
func (s *state) tick(at det.Instant, out *AgentOutput) TickInput {
	in := TickInput{At: at, Failures: s.work.failures, Council: s.work.council, User: s.work.user}
	a := Attempt{Goal: s.goalID(), Exhausted: s.work.refused || s.work.failed && s.route.Attempts <= 1}
	if out != nil {
		a.Deliverable, a.Confidence = out.Deliverable, out.Confidence
		in.Insert, in.TokensUsed = out.Insert, out.Tokens
		for _, id := range out.Reference {
			if s.remembers(id) {
				in.Reference = append(in.Reference, id)
			}
		}
	}
	in.Attempts = []Attempt{a}
	return in
}

func (s *state) remembers(id string) bool {
	b := s.brain.State
	return slices.ContainsFunc(b.Working, func(m Memory) bool { return m.ID == id }) ||
		slices.ContainsFunc(b.Context.Items, func(c Consolidated) bool { return c.ID == id })
}

// active reports whether the goal of the job is still to be reached.
func (s *state) active() bool {
	g, ok := s.brain.State.Goal(s.goalID())
	return ok && g.Status == GoalActive
}

// answer returns what the user is told at the end: what the last output says,
// unless something that the user must know has a text of its own.
func (s *state) answer() string {
	if s.missed && !s.final {
		return SayMemoryMiss
	}
	if s.code == nil || s.saved && s.code.Error() != EventWriteFail {
		return s.text
	}
	if text, ok := Say(s.code.Error()); ok {
		return text
	}
	switch s.code {
	case ErrPermission, ErrNotApproved, ErrPolicy:
		return SaySafetyBlock
	default:
		return SayModelDown
	}
}

// failure returns the code of why there is no better answer, or "".
func (s *state) failure() string {
	switch {
	case s.code != nil:
		return s.code.Error()
	case s.missed && !s.final:
		return ErrNoFact.Error()
	default:
		return ""
	}
}

// payloadOf begins to read the payload of an event.
func payloadOf(e Event, names ...string) record {
	return newRecord(e.Payload, ErrJobEvent, "job.state.apply", e.Type, names...)
}

// apply folds the next event. It refuses one that does not follow.
func (s *state) apply(e Event) error {
	const op = "job.state.apply"
	if e.Stamp.Index != s.next {
		return fault.New(ErrJobEvent, op, "event %d stands where event %d belongs", e.Stamp.Index, s.next)
	}
	if err := e.Stamp.Check(s.Seed, e.Type); err != nil {
		return err
	}
	b, err := e.Bytes(s.Seed)
	if err != nil {
		return err
	}
	if err := s.step(e); err != nil {
		return fault.Wrap(fault.CodeOf(err), op, err, "event %d", e.Stamp.Index)
	}
	s.next++
	s.list = append(s.list, EventRef{Index: e.Stamp.Index, ID: e.Stamp.ID, Type: e.Type, Digest: canon.SHA256(b)})
	return nil
}

func (s *state) step(e Event) error {
	switch e.Type {
	case EventConsent:
		c, err := ParseConsent(e.Payload)
		if err == nil {
			s.consents, err = s.consents.Give(c, s.privacy)
		}
		return err
	case EventFlagged:
		return payloadOf(e, "redactions", "status", "where").Err
	case EventRouter:
		return s.applyRoute(e)
	case EventOutput:
		return s.applyOutput(e)
	case EventTick:
		return s.applyTick(e)
	case EventEpisode:
		row, err := ParseEpisode(e.Payload)
		if err == nil && (s.work.open || !s.over()) {
			err = fault.New(ErrJobEvent, "job.state.apply", "the job is not over")
		}
		if err == nil {
			s.Episodes, err = s.Episodes.Add(row)
		}
		if err == nil {
			s.wrote = append(s.wrote, Write{Event: e.Stamp.ID, Type: e.Type, ID: row.ID})
		}
		return err
	case EventRequested, EventVote, EventExpired, EventRefused, EventExecuted:
		return s.applyAction(e)
	case EventFact, EventWriteFail:
		return s.applyFact(e)
	case EventRead:
		return s.applyRead(e)
	case EventViolation:
		return s.applyViolation(e)
	case EventSafetyBlock, EventRedaction:
		return s.applySafety(e)
	case EventOverrideAct:
		return s.applyOverrideAct(e)
	case EventOverride:
		return s.applyEmergency(e)
	default:
		return s.applyTrust(e)
	}
}

func (s *state) applyRoute(e Event) error {
	r := payloadOf(e, "iteration_id", "router_input_snapshot", "router_output")
	n := int64(len(s.steps))
	if r.digest("iteration_id") != IterationID(s.Seed, n) || s.work.open || s.over() {
		r.Fail("no iteration %d is due", n)
	}
	if r.Err != nil {
		return r.Err
	}
	out := e.Payload.Get("router_output")
	s.steps = append(s.steps, iteration{
		id: IterationID(s.Seed, n), number: n, input: e.Payload.Get("router_input_snapshot"), output: out, event: e.Stamp.ID, node: out.Get("selected_agent").Str(),
	})
	s.work = work{open: true, user: s.work.user}
	if code := out.Get("error").Str(); code != "" {
		s.work.refused = true
		s.code = routeCode(code)
	}
	return nil
}

// routeCode gives back the code of a refusal of the router.
func routeCode(code string) fault.Code {
	switch code {
	case ErrPrivacy.Error():
		return ErrPrivacy
	case ErrPermission.Error():
		return ErrPermission
	default:
		return ErrNoMatch
	}
}

func (s *state) applyOutput(e Event) error {
	r := payloadOf(e, "agent_output_id", "answer_digest", "iteration_id", "node_id")
	n := len(s.steps) - 1
	if n < 0 || !s.work.open || r.digest("iteration_id") != s.steps[n].id || r.digest("agent_output_id") != OutputID(s.Seed, int64(n)) {
		r.Fail("no iteration waits for this output")
	}
	digest, _ := canon.ParseDigest(r.digest("answer_digest"))
	if r.Err == nil && (r.Name("node_id") != s.steps[n].node || s.steps[n].outputID != "" || s.work.failed || !s.mayRun(n)) {
		r.Fail("the agent was not to answer now")
	}
	if r.Err != nil {
		return r.Err
	}
	s.steps[n].outputID, s.steps[n].digest = OutputID(s.Seed, int64(n)), digest
	return nil
}

// say takes the text of an output. It stands in no event: whether outputs are
// kept is decided at the end.
func (s *state) say(o AgentOutput) {
	s.text, s.saved, s.final, s.missed = o.Text, true, o.Deliverable, false
}

func (s *state) applyTick(e Event) error {
	in, err := ParseTickInput(e.Payload)
	if err != nil {
		return err
	}
	if in.At != e.Stamp.At {
		return fault.New(ErrJobEvent, "job.state.apply", "the tick is not at the instant of its event")
	}
	next, report, err := s.brain.Tick(in)
	if err != nil {
		return err
	}
	s.brain = next
	digest := digestOf(next.State.Value()).String()
	s.ticks = append(s.ticks, digest)
	if s.work.open {
		n := len(s.steps) - 1
		s.steps[n].tick = canon.Object(
			canon.M("event_id", canon.String(e.Stamp.ID)),
			canon.M("input", e.Payload),
			canon.M("report", report.Value()),
			canon.M("state_digest", canon.String(digest)))
		if s.work.failed && s.route.Attempts > 1 {
			if s.route, err = s.route.Drop(s.steps[n].node); err != nil {
				return err
			}
		} else {
			s.route.Iteration++
		}
	}
	s.work = work{}
	return nil
}

// applyTrust folds an APT event.
func (s *state) applyTrust(e Event) error {
	t, err := ParseAPTEvent(e.Payload)
	if err != nil {
		return err
	}
	if t.Stamp != e.Stamp || t.Type != e.Type || t.Seed != s.Seed {
		return fault.New(ErrJobEvent, "job.state.apply", "the payload is that of another event")
	}
	if err := s.fits(t); err != nil {
		return err
	}
	if s.selfrep, _, err = s.selfrep.Apply(t); err != nil {
		return err
	}
	switch t.Type {
	case AgentTimeout, AgentException:
		reason := t.Type
		if t.Payload.ErrorCode != "" {
			reason = t.Payload.ErrorCode
		}
		s.work.failures = append(slices.Clip(s.work.failures), Failure{Node: t.Node, At: t.Stamp.At, Reason: reason})
		if n := len(s.steps) - 1; n >= 0 && s.work.open {
			s.steps[n].failures = append(slices.Clip(s.steps[n].failures), e.Stamp.ID)
			s.work.failed = !s.retries()
		}
		s.code = failureCode(t)
	case CouncilApproval:
		s.work.council = opinion(t.Payload.Good)
	case UserFeedback:
		s.work.user = opinion(t.Payload.Good)
	case ManualOverride:
		s.allowed = slices.DeleteFunc(slices.Clone(s.allowed), func(o override) bool { return o.is(t) })
	default:
	}
	return nil
}

// fits refuses an event of trust that nothing in the iteration has led to.
func (s *state) fits(t APTEvent) error {
	n := len(s.steps) - 1
	fits := true
	switch t.Type {
	case AgentTimeout, AgentException:
		fits = s.work.open && t.Node == s.steps[n].node && s.steps[n].outputID == "" && !s.work.failed
	case CouncilApproval:
		last := len(s.requests) - 1
		if fits = s.work.open && last >= 0 && s.requests[last].Origin == t.Node; fits {
			status := s.requests[last].Status()
			fits = status != ActionPending && t.Payload.Good == (status == ActionApproved || status == ActionExecuted)
		}
	case ManualOverride:
		fits = slices.ContainsFunc(s.allowed, func(o override) bool { return o.is(t) })
	case GroundTruthLabel, OperationalNote:
		fits = false // nothing leads to one in a job
	default:
	}
	if !fits {
		return fault.New(ErrJobEvent, "job.state.apply", "nothing has led to the %s of %s", t.Type, t.Node)
	}
	return nil
}

// retries reports whether the agent that has just failed is asked once more, at
// once: that is for the seed to say, and only once in an iteration.
func (s *state) retries() bool { return s.Seed.RetryBit() && len(s.work.failures) == 1 }

func opinion(good bool) Word {
	if good {
		return Yes
	}
	return No
}

func failureCode(t APTEvent) fault.Code {
	if t.Type == AgentTimeout {
		return ErrAgentTimeout
	}
	switch t.Payload.ErrorCode {
	case ErrModelDown.Error():
		return ErrModelDown
	case ErrPolicy.Error():
		return ErrPolicy
	default:
		return ErrAgentException
	}
}

// ErrModelDown means that the model behind an agent does not answer. Try again
// later.
const ErrModelDown fault.Unavailable = "LLM_SERVICE_DOWN"
