package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	// EventRead is the type of the event by which an agent reads semantic memory.
	EventRead = "SEM_READ"
	// ActionGet is the action that a read is, for the policies of agents.
	ActionGet = "sem_get"
	// EventViolation is the type of the event that an agent wanted what its policy
	// forbids.
	EventViolation = "POLICY_VIOLATION"

	maxReads     = 16       // of one output
	maxReadFacts = 256      // that one read returns
	maxReadBytes = 64 << 10 // of the facts that one read returns
)

// ErrPolicy means that an agent wanted something that its policy forbids. It has
// failed: nothing of its output counts. Look at what it was told.
const ErrPolicy fault.Denied = "POLICY_VIOLATION"

// MemoryRead is what an agent asks semantic memory for: the fact of exactly a
// key, or those whose keys begin with a prefix. There is no other search.
type MemoryRead struct {
	Key    string
	Prefix string // counts if Key is empty; then it is not
}

func (q MemoryRead) value() canon.Value {
	if q.Key != "" {
		return canon.Object(canon.M("get", canon.String(q.Key)))
	}
	return canon.Object(canon.M("prefix", canon.String(q.Prefix)))
}

// readMemoryRead reads {"get": key} or {"prefix": prefix}.
func readMemoryRead(r record, v canon.Value) MemoryRead {
	name := "prefix"
	if v.Has("get") {
		name = "get"
	}
	f := newRecord(v, ErrOutput, r.Op, "read", name)
	q := MemoryRead{Prefix: f.Name(name)}
	if name == "get" {
		q = MemoryRead{Key: q.Prefix}
	}
	r.Take("reads", f.Err)
	return q
}

// read answers a read of the selected agent, as its event holds it. Facts that
// hold personal data which may not be shown in this job are not shown; hidden
// says how many there are that were not.
func (s *state) read(q MemoryRead) canon.Value {
	n := len(s.steps) - 1
	var facts []canon.Value
	var code fault.Code
	hidden, size := int64(0), 0
	if q.Key != "" {
		f, err := s.Semantic.Get(q.Key)
		if code = fault.CodeOf(err); code == nil {
			if v, _, ok := s.shown(f); ok {
				facts = append(facts, v)
			} else {
				code, hidden = ErrPrivacy, 1
			}
		}
	} else {
		for f := range s.Semantic.Search(q.Prefix) {
			v, n, ok := s.shown(f)
			if ok = ok && len(facts) < maxReadFacts && size+n <= maxReadBytes; !ok {
				hidden++
				continue
			}
			size, facts = size+n, append(facts, v)
		}
	}
	return canon.Object(
		canon.M("code", codeValue(code)),
		canon.M("facts", canon.Array(facts...)),
		canon.M("hidden", canon.Int(hidden)),
		canon.M("iteration_id", canon.String(s.steps[n].id)),
		canon.M("node_id", canon.String(s.steps[n].node)),
		canon.M("read", q.value()),
		canon.M("sem_snapshot_hash", canon.String(s.Semantic.Hash())))
}

// shown returns a fact as an agent may see it, and how many bytes that is.
func (s *state) shown(f Fact) (canon.Value, int, bool) {
	v := canon.Object(canon.M("key", canon.String(f.Key)), canon.M("source", canon.String(f.Source)), canon.M("value", f.Value))
	why := s.purpose(nil)
	why.Council = true // it was written with the approval of the council
	b, err := canon.Encode(v, canon.MACEFixed9)
	return v, len(b), err == nil && len(b) <= maxReadBytes && len(s.privacy.Sensitive(v, why)) == 0
}

func codeValue(c fault.Code) canon.Value {
	if c == nil {
		return canon.Null()
	}
	return canon.String(c.Error())
}

// applyRead folds a read. What it says must be what semantic memory holds.
func (s *state) applyRead(e Event) error {
	r := payloadOf(e, "code", "facts", "hidden", "iteration_id", "node_id", "read", "sem_snapshot_hash")
	n := len(s.steps) - 1
	if n < 0 || !s.work.open || s.steps[n].outputID == "" {
		r.Fail("no agent has asked for anything")
	}
	f := newRecord(canon.Object(canon.M("read", e.Payload.Get("read"))), ErrJobEvent, "job.state.apply", e.Type, "read")
	q := readMemoryRead(f, e.Payload.Get("read"))
	r.Take("read", f.Err)
	if r.Err == nil && !e.Payload.Equal(s.read(q)) {
		r.Fail("semantic memory answers otherwise")
	}
	if r.Err != nil {
		return r.Err
	}
	s.reads = append(slices.Clip(s.reads), e.Payload)
	if e.Payload.Get("code").Str() == ErrNoFact.Error() {
		s.missed = true
	}
	return nil
}

// look answers what an output wants to know. The agent that is asked next gets
// the answers.
func (m *Machine) look(o AgentOutput) error {
	for _, q := range o.Reads {
		if err := m.emit(EventRead, m.s.read(q)); err != nil {
			return err
		}
	}
	return nil
}

// forbidden returns the first action that an output wants and the policy of the
// selected agent forbids.
func (s *state) forbidden(o AgentOutput) (action string, found bool) {
	n, _ := s.selfrep.Node(s.steps[len(s.steps)-1].node)
	var wants []string
	for _, q := range o.Requests {
		wants = append(wants, q.Action)
	}
	if len(o.Reads) > 0 {
		wants = append(wants, ActionGet)
	}
	i := slices.IndexFunc(wants, func(a string) bool { return slices.Contains(n.Policy.Forbidden, a) })
	if i < 0 {
		return "", false
	}
	return wants[i], true
}

// violate records what the selected agent wanted, and that it has failed.
func (m *Machine) violate(action string) error {
	if err := m.emit(EventViolation, canon.Object(
		canon.M("action", canon.String(action)),
		canon.M("iteration_id", canon.String(m.s.steps[len(m.s.steps)-1].id)),
		canon.M("node_id", canon.String(m.routed.Selected)))); err != nil {
		return err
	}
	return m.fail(AgentException, ErrPolicy)
}

// applyViolation folds the note that an agent wanted what it may not do.
func (s *state) applyViolation(e Event) error {
	r := payloadOf(e, "action", "iteration_id", "node_id")
	n := len(s.steps) - 1
	if n < 0 || !s.work.open || s.steps[n].outputID != "" || r.digest("iteration_id") != s.steps[n].id || r.Name("node_id") != s.steps[n].node {
		r.Fail("no agent was at work")
	}
	if r.Err != nil {
		return r.Err
	}
	if node, _ := s.selfrep.Node(s.steps[n].node); !slices.Contains(node.Policy.Forbidden, r.Name("action")) {
		r.Fail("the policy of %s does not forbid that", node.ID)
	}
	return r.Err
}
