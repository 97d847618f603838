package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// applyAction folds an event in the life of a request.
func (s *state) applyAction(e Event) error {
	if e.Type == EventRequested {
		q, err := ParseActionRequest(e.Payload, s.rules, s.Roster, s.Tenant)
		if err != nil {
			return err
		}
		if !s.work.open || q.Stamp != e.Stamp || q.Status() != ActionPending || q.Ledger != s.JobID {
			return fault.New(ErrJobEvent, "job.state.apply", "the request is that of another event, or not new")
		}
		s.requests = append(slices.Clip(s.requests), q)
		return nil
	}
	names := []string{"after", "request_id"}
	if e.Type == EventVote {
		names = append(names, "act")
	}
	r := payloadOf(e, names...)
	after := r.Count("after", maxCount)
	q, found := s.find(r.digest("request_id"))
	if !found {
		r.Fail("there is no such request")
	}
	if r.Err != nil {
		return r.Err
	}
	switch e.Type {
	case EventVote:
		act, err := s.Roster.Readmit(e.Payload.Get("act"), q.Requirement(s.Tenant))
		if err == nil {
			q, err = q.Vote(act, after)
		}
		if err != nil {
			return err
		}
	case EventExpired, EventRefused:
		q = q.Elapse(after)
		if q.Status() != ActionRejected && q.Status() != ActionExpired {
			return fault.New(ErrJobEvent, "job.state.apply", "request %s is %s", q.ID(), q.Status())
		}
		if q.runs() {
			s.work.refused = true
			s.code = ErrNotApproved
		}
	case EventExecuted:
		var err error
		if q, err = s.execute(q, e.Stamp, after); err != nil {
			return err
		}
	}
	s.amend(q)
	return nil
}

// execute does what a request asks for.
func (s *state) execute(q ActionRequest, stamp Stamp, after int64) (ActionRequest, error) {
	switch {
	case q.runs(), q.Action == ActionReview:
		return q.Execute(stamp, after)
	case q.Action == ActionOverride:
		r := newRecord(q.Payload, ErrAction, "job.state.execute", "the payload", "node_id", "override")
		x := s.readOverride(r)
		if r.Err != nil {
			return q, r.Err
		}
		if q.Class != HighRisk && q.Class != Emergency {
			return q, fault.New(ErrNotApproved, "job.state.execute", "request %s is of %s risk; modules are overridden by the council", q.ID(), q.Class)
		}
		done, err := q.Execute(stamp, after)
		if err != nil {
			return q, err
		}
		x.o.Act = q.ID()
		s.allowed = append(slices.Clip(s.allowed), x)
		return done, nil
	default:
		x, err := s.Semantic.Execute(q, stamp, after, s.guard())
		if err != nil {
			return q, err
		}
		s.Semantic = x.Memory
		return x.Request, nil
	}
}

// applyEmergency folds the note that an emergency action was done.
func (s *state) applyEmergency(e Event) error {
	r := payloadOf(e, "request_id", "review_due")
	q, _ := s.find(r.digest("request_id"))
	if due, ok := q.ReviewDue(); !ok || q.Status() != ActionExecuted || r.Count("review_due", maxCount) != due {
		r.Fail("no emergency action was done that is to be reviewed then")
	}
	return r.Err
}

// mayRun reports whether the agent of an iteration may be asked: the router has
// chosen it, and where that takes an approval it was given.
func (s *state) mayRun(n int) bool {
	it := s.steps[n]
	if needs, _ := it.output.Get("requires_action_request").AsBool(); !needs {
		return it.node != ""
	}
	return slices.ContainsFunc(s.requests, func(q ActionRequest) bool {
		return q.runs() && q.Payload.Get("iteration_id").Str() == it.id && q.Status() == ActionExecuted
	})
}

// runs reports whether a request is for an agent to be run.
func (r ActionRequest) runs() bool { return r.Payload.Has("run_agent") }

// applyFact notes what became of a write to semantic memory.
func (s *state) applyFact(e Event) error {
	if e.Type == EventWriteFail {
		r := payloadOf(e, "code", "key", "request_id")
		r.Text("key", canon.MaxName)
		if r.Name("code"); r.Err == nil && !s.stands(e.Payload.Get("request_id").Str()) {
			s.code = ErrMemoryWriteFail
		}
		return r.Err
	}
	r := payloadOf(e, "key", "request_id", "sem_snapshot_hash")
	if r.digest("sem_snapshot_hash") != s.Semantic.Hash() {
		r.Fail("the hash of semantic memory is %s", s.Semantic.Hash())
	}
	if r.Err == nil {
		s.wrote = append(slices.Clip(s.wrote), Write{Event: e.Stamp.ID, Type: e.Type, ID: r.Name("key")})
	}
	return r.Err
}

// wants returns the request for the approval of what an agent asks to be
// remembered. It refuses what may not be asked for.
func (s *state) wants(node string, q MemoryRequest) (NewRequest, error) {
	if q.Action == ActionPromote {
		return s.Semantic.NewPromotion(s.Episodes, s.JobID, node, q.Episode, q.Key, q.Justification)
	}
	in, _, err := NewPut(s.JobID, node, q.Key, q.Value, q.Justification, s.guard())
	return in, err
}

// wantsRun returns the request for the approval of an agent's run.
func (s *state) wantsRun(out RouteOutput) NewRequest {
	n := len(s.steps) - 1
	return NewRequest{
		Ledger: s.JobID, Origin: out.Selected, Action: out.Action, Justification: "the router finds the action to be of high risk",
		Payload: canon.Object(
			canon.M("iteration_id", canon.String(s.steps[n].id)),
			canon.M("query_text", canon.String(s.Query)),
			canon.M("run_agent", canon.String(out.Selected))),
		Evidence: []canon.Value{canon.Object(canon.M("event_id", canon.String(s.steps[n].event)))},
	}
}
