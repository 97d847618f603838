package job

import (
	"errors"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// loadOutputs is step 6: it says what was persisted. That something was not is
// for step 8 to judge.
func (r *replayer) loadOutputs() error {
	for _, it := range r.log.Iterations {
		if it.OutputID == "" {
			continue
		}
		b, err := r.persisted(it)
		s := Step{Name: "load_output", Subject: it.OutputID, Expected: it.Digest.String()}
		switch {
		case errors.Is(err, ErrNoMaterial):
			s.Note, err = "not persisted", nil
		case b != nil:
			s.Found = canon.SHA256(b).String()
		}
		if err := r.step(s, err); err != nil {
			return err
		}
	}
	return nil
}

// persisted returns the output of an iteration as it was kept.
func (r *replayer) persisted(it Iteration) ([]byte, error) {
	b, err := r.m.Output(it.OutputID)
	if err != nil {
		return nil, err
	}
	// The digest stands in an event and in the log; the log is signed, and the
	// event was compared with it. So it is the output that was changed.
	if canon.SHA256(b) != it.Digest {
		return nil, broken(nil, "", "the output %s is not the one that was persisted", it.OutputID)
	}
	return b, nil
}

// fold returns the state before the first event.
func (r *replayer) fold() (*state, error) {
	s, err := newState(r.log.Premise, r.set)
	if err != nil {
		return nil, broken(err, "", "the snapshots do not fit the job")
	}
	return s, nil
}

// materialise is step 7: the states at the end, out of the events alone.
func (r *replayer) materialise() error {
	s, err := r.fold()
	if err != nil {
		return err
	}
	for _, e := range r.events {
		if err := s.apply(e); err != nil {
			return r.step(Step{Name: "materialise", Subject: e.Stamp.ID}, broken(err, "", "event %s does not follow from those before", e.Stamp.ID))
		}
	}
	ends := s.ends()
	for _, c := range []struct{ what, recorded, now string }{
		{"selfrep", r.log.Ends.SelfRep, ends.SelfRep},
		{"brainstate", r.log.Ends.Brain, ends.Brain},
		{"semantic", r.log.Ends.Semantic, ends.Semantic},
	} {
		st := Step{Name: "materialise", Subject: c.what, Expected: c.recorded, Found: c.now}
		if c.recorded != c.now {
			st.Diff = Diff(canon.String(c.recorded), canon.String(c.now))
		}
		if err := r.compared(st, ErrDivergence, -1, "end state of "+c.what); err != nil {
			return err
		}
	}
	return nil
}

// iterations is step 8. The state is reduced event by event, so that each
// iteration is decided in the state before it (C24): the end state, as the
// document's pseudocode has it, would judge the first decision by what came of
// it.
func (r *replayer) iterations() error {
	s, err := r.fold()
	if err != nil {
		return err
	}
	var out *AgentOutput
	reads := 0
	for _, e := range r.events {
		if err := r.inTime(); err != nil {
			return err
		}
		switch e.Type {
		case EventRouter:
			out, reads = nil, 0
			err = r.router(s, e)
		case EventRead:
			err = r.read(s, e, out, reads)
			reads++
		case EventTick:
			if err = r.unread(s, e, out, reads); err == nil {
				err = r.tick(s, e, out)
			}
		case AgentException:
			err = r.failed(s, e)
		case EventOutput:
			out, err = r.output(s)
		case EventEpisode:
			err = r.episode(s, e)
		default:
		}
		if err == nil {
			if err = s.apply(e); err != nil {
				err = broken(err, "", "event %s does not follow from those before", e.Stamp.ID)
			}
		}
		if err != nil {
			return err
		}
		if e.Type == EventTick && len(s.steps) > 0 {
			if err := r.closed(s); err != nil {
				return err
			}
		}
		if out != nil && e.Type == EventOutput {
			s.say(*out)
		}
	}
	return r.ended(s)
}

// line returns the line of the trace for the iteration that begins, or is.
func (r *replayer) line(n int) (Iteration, error) {
	if n >= len(r.log.Iterations) || r.log.Iterations[n].Number != int64(n) || r.log.Iterations[n].ID != IterationID(r.log.Seed, int64(n)) {
		return Iteration{}, broken(nil, "", "the trace holds no iteration %d, or not in its place", n)
	}
	return r.log.Iterations[n], nil
}

// router decides again and compares bit for bit (M-55).
func (r *replayer) router(s *state, e Event) error {
	n := len(s.steps)
	it, err := r.line(n)
	if err != nil {
		return err
	}
	r.result.Iterations++
	if err := r.compare("router_input", it, it.Input, s.route.Value()); err != nil {
		return err
	}
	q, err := ParseRouteRequest(it.Input)
	if err != nil {
		return broken(err, "", "the router input of iteration %s cannot be read", it.ID)
	}
	now, err := s.decide(q)
	if err != nil && now.Error == "" {
		return err
	}
	if err := r.compare("router_output", it, it.Router, now.Value()); err != nil {
		return err
	}
	r.routed = now
	// The event says the same as the trace, or one of them was changed.
	if err := r.compare("router_event", it, e.Payload, canon.Object(
		canon.M("iteration_id", canon.String(it.ID)),
		canon.M("router_input_snapshot", s.route.Value()),
		canon.M("router_output", now.Value()))); err != nil {
		return err
	}
	return nil
}

// output compares what an agent said with what was recorded (M-56), and returns
// what the replay goes on with.
func (r *replayer) output(s *state) (*AgentOutput, error) {
	it, err := r.line(len(s.steps) - 1)
	if err != nil {
		return nil, err
	}
	again := r.rerun(s, it)
	again.Recorded = it.Output
	b, err := r.persisted(it)
	if errors.Is(err, ErrNoMaterial) {
		if b, err = r.mock(s, it, again); err != nil {
			return nil, err
		}
	}
	if err == nil && r.o.Again != nil {
		b, err = r.again(s, it, again, b)
	}
	if err != nil {
		return nil, err
	}
	out, err := parseKept(b)
	if err != nil {
		return nil, broken(err, "", "the output of iteration %s cannot be read", it.ID)
	}
	if said, j := s.privacy.judge(out); j.Verdict != Safe {
		if err := r.compare("safety", it, out.Value(), said.Value()); err != nil {
			return nil, err
		}
	}
	recorded := it.Output
	if recorded.IsZero() { // it was not kept, but its digest was
		if found := canon.SHA256(b); found != it.Digest {
			return &out, r.compared(Step{
				Name: "agent_output", Subject: it.ID, Expected: it.Digest.String(), Found: found.String(),
				Diff: Diff(canon.String(it.Digest.String()), canon.String(found.String())),
			}, ErrDivergence, it.Number, "agent_output")
		}
		recorded = out.Value()
	}
	return &out, r.compare("agent_output", it, recorded, out.Value())
}

// rerun returns the call of an agent that the iteration has come to.
func (r *replayer) rerun(s *state, it Iteration) Rerun {
	tries := int64(len(s.work.failures))
	return Rerun{Iteration: it.ID, Node: s.steps[len(s.steps)-1].node, Attempt: tries, Input: it.Input, asks: s.asks(r.routed, tries)}
}

// again runs the agent of an iteration again, if it is to run, and returns the
// output that the replay goes on with: the fresh one, or that of then if there
// is none and those who may have agreed to go on.
func (r *replayer) again(s *state, it Iteration, q Rerun, then []byte) ([]byte, error) {
	ran, err := r.ran(it, q)
	if err != nil || ran == nil || ran.Output == nil && ran.Failed == nil {
		return then, err
	}
	if ran.Failed == nil {
		b, err := r.kept(s, ran.Output)
		switch {
		case errors.Is(err, ErrOutput):
			ran.Failed = ErrOutput
		case err == nil && s.forbids(b):
			ran.Failed = ErrPolicy
		default:
			return b, err
		}
	}
	recorded := q.Recorded
	if recorded.IsZero() { // it was not kept, but its digest was
		recorded = canon.Object(canon.M("digest", canon.String(it.Digest.String())))
	}
	return then, r.compare("agent_output", it, recorded, failure(ran.Failed.Error()))
}

// failed runs again an agent that failed then. One that gave no answer in time
// is not waited for once more.
func (r *replayer) failed(s *state, e Event) error {
	if r.o.Again == nil || !s.work.open {
		return nil
	}
	t, err := ParseAPTEvent(e.Payload)
	if err != nil {
		return broken(err, "", "event %s is not of its form", e.Stamp.ID)
	}
	it, err := r.line(len(s.steps) - 1)
	if err != nil {
		return err
	}
	q := r.rerun(s, it)
	if t.Node != q.Node {
		return nil
	}
	q.Failed = t.Payload.ErrorCode
	ran, err := r.ran(it, q)
	if err != nil || ran == nil || ran.Output == nil && ran.Failed == nil {
		return err
	}
	now := canon.Value{}
	if ran.Failed == nil {
		b, err := r.kept(s, ran.Output)
		if err == nil {
			now, err = canon.Parse(b)
		}
		switch {
		case err == nil && s.forbids(b):
			ran.Failed = ErrPolicy
		case errors.Is(err, ErrOutput), err == nil && s.refuses(b, e.Stamp.At):
			ran.Failed = ErrOutput
		case err != nil:
			return err
		}
	}
	if ran.Failed != nil {
		now = failure(ran.Failed.Error())
	}
	return r.compare("agent_output", it, failure(q.Failed), now)
}

// refuses reports whether no tick can take an output, so that it was none.
func (s *state) refuses(kept []byte, at det.Instant) bool {
	out, err := parseKept(kept)
	if err == nil {
		_, _, err = s.brain.Tick(s.tick(at, &out))
	}
	return err != nil
}

// forbids reports whether an output wants what the policy of its agent forbids.
func (s *state) forbids(kept []byte) bool {
	out, err := parseKept(kept)
	_, found := s.forbidden(out)
	return err == nil && found
}

// failure stands in diffs for the output of an agent that gave none.
func failure(code string) canon.Value {
	return canon.Object(canon.M("error_code", canon.String(code)))
}

// ran runs an agent again and compares what was asked on the way; nil: it is
// not to run.
func (r *replayer) ran(it Iteration, q Rerun) (*Ran, error) {
	ran, err := r.o.Again(q)
	if err != nil || ran == nil {
		return nil, err
	}
	r.reran, r.fresh = true, r.fresh || ran.Mocked
	for _, a := range ran.Asked {
		if err := r.compared(Step{Name: "agent_request", Subject: it.ID, Note: a.What, Diff: a.Diff}, ErrDivergence, it.Number, "agent_request"); err != nil {
			return nil, err
		}
	}
	return ran, nil
}

// mock returns what stands in for an output that was not kept. In production
// nothing does (M-60).
func (r *replayer) mock(s *state, it Iteration, again Rerun) ([]byte, error) {
	if r.o.Mode != Production && r.o.Mock != nil {
		if raw, ok := r.o.Mock(again); ok {
			r.mocked = true
			b, err := r.kept(s, raw)
			if err != nil {
				return nil, err
			}
			return b, r.step(Step{Name: "mock_output", Subject: it.ID, Found: canon.SHA256(b).String(), Note: "a mock stands in: the result is not authoritative"}, nil)
		}
	}
	r.result.Missing = append(r.result.Missing, "agent_output "+it.ID)
	return nil, r.step(Step{Name: "agent_output", Subject: it.ID},
		fault.New(ErrMissingOutput, "job.Replay", "the agent output of iteration %s was not persisted", it.ID).With("iteration_id: "+it.ID))
}

// kept returns an output that somebody gives now as the run would have kept it.
func (r *replayer) kept(s *state, raw []byte) ([]byte, error) {
	out, err := ParseAgentOutput(raw)
	if err != nil {
		return nil, err
	}
	key, err := r.key(r.log.KeyID)
	if err != nil {
		return nil, err
	}
	why := s.purpose(nil)
	why.Key = key.Secret
	h, err := s.privacy.Handle(out.texts(), why)
	if err != nil {
		return nil, err
	}
	said, _ := s.privacy.judge(out.withTexts(h.Value))
	return canon.Encode(said.Value(), canon.MACEFixed9)
}

// read compares what an agent has read with what it asked for, and with what
// semantic memory holds.
func (r *replayer) read(s *state, e Event, out *AgentOutput, n int) error {
	now := canon.Null()
	if out != nil && n < len(out.Reads) {
		now = s.read(out.Reads[n])
	}
	st := Step{Name: "memory_read", Subject: e.Stamp.ID}
	if !e.Payload.Equal(now) {
		st.Diff = Diff(e.Payload, now)
	}
	return r.compared(st, ErrDivergence, int64(len(s.steps))-1, "memory_read")
}

// unread finds reads that an agent has asked for and that were not answered.
func (r *replayer) unread(s *state, e Event, out *AgentOutput, n int) error {
	if out == nil || n >= len(out.Reads) {
		return nil
	}
	st := Step{Name: "memory_read", Subject: e.Stamp.ID, Diff: Diff(canon.Null(), s.read(out.Reads[n]))}
	return r.compared(st, ErrDivergence, int64(len(s.steps))-1, "memory_read")
}

// tick computes the tick again from what happened in the iteration.
func (r *replayer) tick(s *state, e Event, out *AgentOutput) error {
	in := s.first(e.Stamp.At)
	if len(s.steps) > 0 {
		in = s.tick(e.Stamp.At, out)
	}
	n := int64(len(s.steps)) - 1
	st := Step{Name: "tick", Subject: e.Stamp.ID}
	if !e.Payload.Equal(in.Value()) {
		st.Diff = Diff(e.Payload, in.Value())
	}
	return r.compared(st, ErrDivergence, n, "tick")
}

// closed compares the rest of a line of the trace once its tick is done.
func (r *replayer) closed(s *state) error {
	n := len(s.steps) - 1
	it, err := r.line(n)
	if err != nil {
		return err
	}
	now := s.steps[n]
	if err := r.compare("tick_state", it, it.Tick, now.tick); err != nil {
		return err
	}
	rest := Iteration{
		ID: now.id, Number: now.number, Event: now.event, Input: it.Input, Router: it.Router, OutputID: now.outputID, Digest: now.digest,
		Output: it.Output, Failures: now.failures, Tick: it.Tick,
	}
	return r.compare("trace", it, it.Value(), rest.Value())
}

// episode computes again what the job left behind.
func (r *replayer) episode(s *state, e Event) error {
	row, ok, err := s.episode(e.Stamp.At)
	now := canon.Null()
	if ok && err == nil {
		now = row.Value()
	}
	st := Step{Name: "episode", Subject: e.Stamp.ID}
	if !e.Payload.Equal(now) {
		st.Diff = Diff(e.Payload, now)
	}
	return r.compared(st, ErrDivergence, -1, "episode")
}

// ended checks what the log says about the end, and keeps the answer.
func (r *replayer) ended(s *state) error {
	if len(s.steps) != len(r.log.Iterations) {
		return broken(nil, "", "the trace holds %d iterations, and the events %d", len(r.log.Iterations), len(s.steps))
	}
	if !s.over() {
		return broken(nil, "", "the events end before the job does")
	}
	for _, c := range []struct {
		what          string
		recorded, now canon.Value
	}{
		{"rng_draws", canon.ArrayOf(r.log.Draws, drawValue), canon.ArrayOf(s.draws(), drawValue)},
		{"memory_writes", canon.ArrayOf(r.log.Writes, Write.value), canon.ArrayOf(s.wrote, Write.value)},
		{"error", canon.Text(r.log.Error).OrNull(), canon.Text(s.failure()).OrNull()},
	} {
		st := Step{Name: c.what, Subject: r.log.JobID}
		if !c.recorded.Equal(c.now) {
			st.Diff = Diff(c.recorded, c.now)
		}
		if err := r.compared(st, ErrDivergence, -1, c.what); err != nil {
			return err
		}
	}
	r.result.Final = s.answer()
	return nil
}

// final is step 9.
func (r *replayer) final() error {
	st := Step{Name: "final_answer", Subject: r.log.JobID}
	recorded, now := canon.String(r.log.Final), canon.String(r.result.Final)
	if r.log.Final != r.result.Final {
		st.Diff = Diff(recorded, now)
	}
	return r.compared(st, ErrResult, -1, "final_answer")
}

// compare compares a part of an iteration.
func (r *replayer) compare(name string, it Iteration, recorded, now canon.Value) error {
	st := Step{Name: name, Subject: it.ID, Expected: digestOf(recorded).String(), Found: digestOf(now).String()}
	if st.Expected != st.Found {
		st.Diff = Diff(recorded, now)
	}
	return r.compared(st, ErrDivergence, it.Number, name)
}

// compared records a comparison. A difference stops the replay, unless those
// who may have agreed that it goes on.
func (r *replayer) compared(st Step, code fault.Code, iteration int64, what string) error {
	if st.Diff.IsZero() {
		return r.step(st, nil)
	}
	st.Code = code
	d := Divergence{ID: DivergenceID(r.log.Seed, iteration), Code: code, Iteration: iteration, What: what, Diff: st.Diff}
	r.result.Divergences = append(r.result.Divergences, d)
	shown, err := canon.Encode(d.Value(r.log.Seed), canon.MACEFixed9)
	if err != nil {
		return broken(err, "", "a difference in %s cannot be written", what)
	}
	if len(r.result.Divergences) == 1 {
		r.result.Matter = govern.Matter{Ledger: r.log.JobID, Subject: d.ID, Bound: canon.Hash(divergenceTag, shown)}
	}
	if err := r.step(st, nil); err != nil {
		return err
	}
	diff, _ := canon.Encode(st.Diff, canon.MACEFixed9)
	found := fault.New(code, "job.Replay", "%s of iteration %d comes out differently", what, iteration).With(string(diff), "event_id: "+d.ID)
	switch {
	case !r.o.Force:
		return found
	case r.forced || r.approved():
		r.forced = true
		return nil
	}
	e := fault.New(ErrForce, "job.Replay", "to go on behind the divergence %s takes an admin and the council", d.ID)
	e.Err = found
	return r.step(Step{Name: "force_continue", Subject: d.ID}, e)
}

// approved reports whether an admin and the council want to go on behind the
// first divergence. Acts that do not count are passed over: they were admitted
// for something else.
func (r *replayer) approved() bool {
	quorums := []govern.Quorum{
		{Need: 1, Roles: []govern.Role{govern.Admin}, Rule: govern.Veto},
		{Need: int(r.rules.Quorum), Roles: []govern.Role{govern.Council}, Rule: govern.Majority},
	}
	ballot, err := govern.NewBallot(r.result.Matter, quorums...)
	if err != nil {
		return false
	}
	for _, a := range r.o.Approvals {
		if act := a.Act(); act.Role == govern.Council && !r.member(act.Actor) {
			continue
		}
		if next, err := ballot.Cast(a); err == nil {
			ballot = next
		}
	}
	return ballot.State() == govern.Granted
}

func (r *replayer) member(actor string) bool {
	return slices.Contains(r.rules.Council, actor)
}
