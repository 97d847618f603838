package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// What a governance snapshot holds as open was asked for elsewhere: by an
// earlier job, by a person. A job does what is approved of it before its first
// decision, and takes votes on the rest for as long as it is not over.

// stand reads the requests of the governance snapshot. It refuses one that is
// decided already, or that was made under the seed of this job: its id would be
// that of an event here.
func (s *state) stand() ([]ActionRequest, error) {
	const op = "job.state.stand"
	var out []ActionRequest
	for i, v := range s.rules.Requests {
		q, err := ParseActionRequest(v, s.rules, s.Roster, s.Tenant)
		switch {
		case err != nil:
			return nil, fault.Wrap(ErrSpec, op, err, "request %d of the governance snapshot", i)
		case q.Status() != ActionPending && q.Status() != ActionApproved:
			return nil, fault.New(ErrSpec, op, "request %s of the governance snapshot is %s, and not open", q.ID(), q.Status())
		case q.Seed == s.Seed:
			return nil, fault.New(ErrSpec, op, "request %s of the governance snapshot has the seed of the job", q.ID())
		case slices.ContainsFunc(out, func(x ActionRequest) bool { return x.ID() == q.ID() }):
			return nil, fault.New(ErrSpec, op, "request %s stands in the governance snapshot twice", q.ID())
		}
		q.within = s.Seed
		out = append(out, q)
	}
	return out, nil
}

// find returns a request of that id, of this job or standing.
func (s *state) find(id string) (ActionRequest, bool) {
	for _, list := range [][]ActionRequest{s.requests, s.standing} {
		if i := slices.IndexFunc(list, func(q ActionRequest) bool { return q.ID() == id }); i >= 0 {
			return list[i], true
		}
	}
	return ActionRequest{}, false
}

// amend puts a request in the place of the one of its id.
func (s *state) amend(q ActionRequest) {
	for _, list := range []*[]ActionRequest{&s.requests, &s.standing} {
		if i := slices.IndexFunc(*list, func(x ActionRequest) bool { return x.ID() == q.ID() }); i >= 0 {
			*list = slices.Clone(*list)
			(*list)[i] = q
		}
	}
}

// stands reports whether a request was open before the job began.
func (s *state) stands(id string) bool {
	return slices.ContainsFunc(s.standing, func(q ActionRequest) bool { return q.ID() == id })
}

// changed reports whether the job has changed governance or semantic memory, or
// has asked to (M-101).
func (s *state) changed() bool {
	return len(s.requests) > 0 || slices.ContainsFunc(s.list, func(e EventRef) bool {
		return e.Type == EventVote || e.Type == EventExecuted || e.Type == EventOverrideAct
	})
}

// Standing returns the requests that were open before the job began, as they
// stand now.
func (m *Machine) Standing() []ActionRequest {
	if m.s == nil {
		return nil
	}
	return slices.Clone(m.s.standing)
}

// carryOut does what was approved before the job began.
func (m *Machine) carryOut() error {
	for _, q := range m.Standing() {
		if q.Ready(q.Elapsed) == nil {
			if err := m.settled(q, q.Elapsed); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled goes on with a standing request if it is decided.
func (m *Machine) settled(q ActionRequest, after int64) error {
	payload := canon.Object(canon.M("after", canon.Int(after)), canon.M("request_id", canon.String(q.ID())))
	switch q = q.Elapse(after); q.Status() {
	case ActionApproved:
		if q.Ready(after) != nil {
			return nil // the council may still object
		}
	case ActionRejected:
		return m.emit(EventRefused, payload)
	case ActionExpired:
		return m.emit(EventExpired, payload)
	default:
		return nil
	}
	key := q.Payload.Get("key").Str()
	if err := m.emit(EventExecuted, payload); err != nil {
		if !isKey(key) {
			key = ""
		}
		return m.emit(EventWriteFail, canon.Object(
			canon.M("code", canon.String(fault.CodeOf(err).Error())), canon.M("key", canon.String(key)), canon.M("request_id", canon.String(q.ID()))))
	}
	if err := m.emergency(q.ID()); err != nil {
		return err
	}
	switch q.Action {
	case ActionOverride:
		return m.overridden()
	case ActionPut, ActionPromote:
		return m.emit(EventFact, canon.Object(
			canon.M("key", canon.String(key)), canon.M("request_id", canon.String(q.ID())), canon.M("sem_snapshot_hash", canon.String(m.s.Semantic.Hash()))))
	default:
		return nil
	}
}

// emergency records that something was done with two signatures, and until when
// the council must have reviewed it.
func (m *Machine) emergency(id string) error {
	q, _ := m.s.find(id)
	due, ok := q.ReviewDue()
	if !ok {
		return nil
	}
	return m.emit(EventOverride, canon.Object(canon.M("request_id", canon.String(id)), canon.M("review_due", canon.Int(due))))
}

// voteStanding takes an act on a request that stood before the job began, or
// that time has passed for it.
func (m *Machine) voteStanding(id string, in effect.Input) error {
	const op = "job.Machine.voteStanding"
	names := []string{"after", "request_id"}
	if in.Kind == ledger.KindApproval {
		names = append(names, "act")
	}
	r := newRecord(in.Data, ErrInput, op, "the vote", names...)
	after := r.Count("after", maxCount)
	if r.Err != nil {
		return r.Err
	}
	if q, _ := m.s.find(id); q.Status() != ActionPending && q.Status() != ActionApproved {
		return fault.New(govern.ErrDecided, op, "request %s is %s", id, q.Status())
	}
	if in.Kind == ledger.KindApproval {
		if err := m.emit(EventVote, in.Data); err != nil {
			return err
		}
	}
	q, _ := m.s.find(id)
	return m.settled(q, after)
}

// about returns the standing request that an input is about.
func (m *Machine) about(in effect.Input) (id string, ok bool) {
	id = in.Data.Get("request_id").Str()
	vote := in.Kind == ledger.KindApproval && in.Name == InputVote || in.Kind == ledger.KindEvent && in.Name == InputElapsed
	return id, vote && m.s.stands(id)
}
