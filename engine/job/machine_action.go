package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// remember asks for the next thing that the output wants remembered, and closes
// the iteration if there is nothing more.
func (m *Machine) remember() error {
	for len(m.todo) > 0 {
		q := m.todo[0]
		m.todo, m.memory = m.todo[1:], q.Key
		in, err := m.s.wants(m.routed.Selected, q)
		if err == nil {
			err = m.request(in)
			if err == nil {
				return nil
			}
		}
		if err := m.writeFailed("", err); err != nil {
			return err
		}
	}
	return m.tick()
}

// writeFailed records why a memory was not written.
func (m *Machine) writeFailed(request string, why error) error {
	key := m.memory
	if !isKey(key) {
		key = "" // it might be anything
	}
	return m.emit(EventWriteFail, canon.Object(
		canon.M("code", canon.String(fault.CodeOf(why).Error())), canon.M("key", canon.String(key)), canon.M("request_id", canon.Text(request).OrNull())))
}

// request makes an action wait for approval.
func (m *Machine) request(in NewRequest) error {
	q, err := m.s.rules.Request(m.s.Seed, m.stamp(EventRequested), in)
	if err != nil {
		return err
	}
	if err := m.conclude(ledger.KindPendingApproval, EventRequested, q.Value(), canon.Object(
		canon.M("action", canon.String(q.Action)),
		canon.M("class", canon.String(string(q.Class))),
		canon.M("matter", q.Matter().Value()),
	)); err != nil {
		return err
	}
	m.phase = voting
	return nil
}

// vote takes an act on the request that waits.
func (m *Machine) vote(data canon.Value) error {
	r := newRecord(data, ErrInput, "job.Machine.vote", "the vote", "act", "after")
	after := r.Count("after", maxCount)
	if r.Err != nil {
		return r.Err
	}
	q, _ := m.Pending()
	if err := m.emit(EventVote, canon.Object(
		canon.M("act", data.Get("act")), canon.M("after", canon.Int(after)), canon.M("request_id", canon.String(q.ID())),
	)); err != nil {
		return err
	}
	return m.settle(after)
}

// elapse takes that time has passed.
func (m *Machine) elapse(data canon.Value) error {
	r := newRecord(data, ErrInput, "job.Machine.elapse", "the time", "after")
	after := r.Count("after", maxCount)
	if r.Err != nil {
		return r.Err
	}
	return m.settle(after)
}

// settle goes on if the request is decided.
func (m *Machine) settle(after int64) error {
	q, _ := m.Pending()
	q = q.Elapse(after)
	payload := canon.Object(canon.M("after", canon.Int(after)), canon.M("request_id", canon.String(q.ID())))
	switch q.Status() {
	case ActionApproved:
		if q.Ready(after) != nil {
			return nil // the council may still object
		}
		return m.execute(q, payload)
	case ActionRejected, ActionExpired:
		eventType := EventRefused
		if q.Status() == ActionExpired {
			eventType = EventExpired
		}
		if err := m.emit(eventType, payload); err != nil {
			return err
		}
		if q.runs() {
			return m.tick()
		}
		if err := m.approved(q, false); err != nil {
			return err
		}
		return m.remember()
	default:
		return nil
	}
}

// execute does what was approved.
func (m *Machine) execute(q ActionRequest, payload canon.Value) error {
	err := m.emit(EventExecuted, payload)
	switch {
	case err != nil && q.runs():
		return err
	case err != nil:
		if err := m.writeFailed(q.ID(), err); err != nil {
			return err
		}
	case q.runs():
		if err := m.emergency(q.ID()); err != nil {
			return err
		}
		return m.run()
	case q.Action == ActionReview:
	default:
		if err := m.emit(EventFact, canon.Object(
			canon.M("key", canon.String(m.memory)), canon.M("request_id", canon.String(q.ID())),
			canon.M("sem_snapshot_hash", canon.String(m.s.Semantic.Hash())),
		)); err != nil {
			return err
		}
	}
	if err := m.approved(q, true); err != nil {
		return err
	}
	return m.remember()
}

// approved moves the trust of who asked by what the council said.
func (m *Machine) approved(q ActionRequest, good bool) error {
	if q.Class != HighRisk {
		return nil
	}
	return m.trust(q.Origin, CouncilApproval, Payload{Good: good})
}
