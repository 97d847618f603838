package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

const (
	// InputOverride is an approval: data {act, node_id, override}. The act is one
	// of an admin or of a member of the council, signed about
	// [Override.Matter]; the override has its form of [Override.Value].
	InputOverride = "job.override"
	// EventOverrideAct is the type of the event that holds that act. The
	// MANUAL_OVERRIDE behind it names its digest.
	EventOverrideAct = "MANUAL_OVERRIDE_ACT"
	// ActionOverride is the request for an override: payload {node_id, override}.
	// Only so is a node quarantined, or let out again: by default that takes the
	// council.
	ActionOverride = "module_override"

	overrideTag = "reprise/job/override/v1\n"
)

// Value returns what is signed of an override: all but the act. The trust is a
// text of nine decimals, since the body of an entry holds no fractions.
func (o Override) Value() canon.Value {
	return canon.Object(
		canon.M("new_apt", canon.String(o.APT.String())),
		canon.M("reason", canon.String(o.Reason)),
		canon.M("status", canon.Text(string(o.Status)).OrNull()))
}

// ParseOverride reads what [Override.Value] writes and nothing else. It refuses
// with [ErrEvent].
func ParseOverride(v canon.Value) (Override, error) {
	r := newRecord(v, ErrEvent, "job.ParseOverride", "the override", "new_apt", "reason", "status")
	o := Override{Reason: r.Text("reason", maxText)}
	apt, err := canon.Parse([]byte(r.Name("new_apt")))
	var ok bool
	if o.APT, ok = ParseNano(apt); err != nil || !ok {
		r.Fail("new_apt is no text of nine decimals such as %s", One)
	}
	if !v.Get("status").IsNull() {
		o.Status = Status(r.Word("status", statuses[:]...))
	}
	return o, r.Err
}

// Matter returns what an act that allows the override of a node in a job must
// be about.
func (o Override) Matter(jobID, node string) (govern.Matter, error) {
	b, err := canon.Encode(canon.Object(canon.M("node_id", canon.String(node)), canon.M("override", o.Value())), canon.MACEFixed9)
	if err != nil {
		return govern.Matter{}, fault.Wrap(ErrEvent, "job.Override.Matter", err, "the override of %.80q", node)
	}
	return govern.Matter{Ledger: jobID, Subject: node, Bound: canon.Hash(overrideTag, b)}, nil
}

// OverrideRequirement returns what an act must meet to allow an override.
func OverrideRequirement(jobID, tenant string) govern.Requirement {
	return govern.Requirement{
		Verbs: []govern.Verb{govern.Approve}, Roles: []govern.Role{govern.Admin, govern.Council}, Tenant: tenant, Ledger: jobID,
	}
}

// override is one that somebody has allowed.
type override struct {
	node string
	o    Override // with the digest of the act, or the id of the request
}

// is reports whether the event does just that.
func (o override) is(t APTEvent) bool {
	return t.Type == ManualOverride && t.Node == o.node && t.Payload.Override == o.o
}

// readOverride reads {node_id, override} out of a payload.
func (s *state) readOverride(r record) override {
	o, err := ParseOverride(r.Value.Get("override"))
	r.Take("override", err)
	x := override{r.Name("node_id"), o}
	if _, ok := s.selfrep.Node(x.node); r.Err == nil && !ok {
		r.Err = fault.New(ErrNode, "job.state.override", "there is no node %q", x.node)
	}
	return x
}

// applyOverrideAct folds the act that allows an override. It refuses one that is
// not signed by an admin or the council for just that ([ErrOverride] beside what
// the roster refuses), and the use of an act a second time.
func (s *state) applyOverrideAct(e Event) error {
	const op = "job.state.override"
	r := payloadOf(e, "act", "node_id", "override")
	x := s.readOverride(r)
	if r.Err != nil {
		return r.Err
	}
	act, err := s.Roster.Readmit(e.Payload.Get("act"), OverrideRequirement(s.JobID, s.Tenant))
	if err != nil {
		return err
	}
	matter, err := x.o.Matter(s.JobID, x.node)
	switch a := act.Act(); {
	case err != nil:
		return err
	case a.Matter != matter:
		return fault.New(ErrOverride, op, "the act is not about this override of %s", x.node)
	case a.Role == govern.Council && !slices.Contains(s.rules.Council, a.Actor):
		return fault.New(govern.ErrRole, op, "%q is not on the council of the snapshot", a.Actor)
	}
	if node, _ := s.selfrep.Node(x.node); x.o.Status == Quarantined || node.Status == Quarantined {
		return fault.New(ErrOverride, op, "to quarantine %s, or to let it out, takes a request for %s", x.node, ActionOverride)
	}
	if s.seen, err = s.seen.Add(act); err != nil {
		return err
	}
	x.o.Act = act.Digest().String()
	s.allowed = append(slices.Clip(s.allowed), x)
	return nil
}

// override takes the act of somebody who sets the trust of a node.
func (m *Machine) override(data canon.Value) error {
	r := newRecord(data, ErrInput, "job.Machine.override", "the override", "act", "node_id", "override")
	if r.Err != nil {
		return r.Err
	}
	if err := m.emit(EventOverrideAct, data); err != nil {
		return err
	}
	return m.overridden()
}

// overridden does what was allowed last.
func (m *Machine) overridden() error {
	x := m.s.allowed[len(m.s.allowed)-1]
	return m.trust(x.node, ManualOverride, Payload{Override: x.o})
}
