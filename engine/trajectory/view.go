package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Pending is a proposal that waits for people.
type Pending struct {
	Agent    string
	Channel  string
	Reason   string
	Proposal Proposal
	ID       canon.Digest
	Matter   govern.Matter // what an answer must be about
	Roles    []govern.Role // that have a say
	Votes    []govern.Vote
	Quorums  []govern.Quorum
}

// Pending returns the proposals that wait for people, in the order of their
// agents.
func (m *Machine) Pending() []Pending {
	var out []Pending
	for _, a := range m.agents {
		if a.phase != waiting {
			continue
		}
		st := a.act.proposal.Status
		out = append(out, Pending{
			Agent: a.Name, Channel: st.Channel, Reason: st.Reason, Proposal: *a.act.proposal, ID: a.act.id,
			Matter: a.act.ballot.Matter(), Roles: a.act.ballot.Roles(), Votes: a.act.ballot.Votes(), Quorums: m.charter.quorums(st.Channel),
		})
	}
	return out
}

// AgentState is where an agent stands.
type AgentState struct {
	Name    string
	Writ    canon.Digest
	Outside bool   // its intents come from outside
	Listens bool   // it has answered, and waits for a message
	Status  string // once it is finished
	Phase   string // for people
	Spent   Budget
	Steps   int64
	// Awaits is the trajectory of the delegate that the agent waits for and
	// that will report, or zero.
	Awaits canon.Digest
}

// phases are the words for phases.
var phases = [...]string{
	"waits for intents", "asks its model", "waits to ask its model again", "reads the clock", "calls a tool",
	"waits to commit", "waits for approval", "delegates", "delegates", "delegates", "waits for a delegate", "finished",
}

// Agents returns where the agents stand, in the order of the charter.
func (m *Machine) Agents() []AgentState {
	out := make([]AgentState, len(m.agents))
	for i, a := range m.agents {
		out[i] = AgentState{
			Name: a.Name, Writ: a.writ.ID, Outside: a.Model.IsZero(), Status: a.status, Phase: phases[a.phase],
			Spent: m.spentOf(a), Steps: a.steps, Listens: a.Conversational && a.phase == idle,
		}
		if out[i].Listens {
			out[i].Phase = "waits for a message"
		}
		if a.phase == handed {
			out[i].Awaits = a.act.delegation.id
		}
	}
	return out
}

// Halts returns what stands still.
func (m *Machine) Halts() []govern.Halt { return m.halts.Standing() }

// Head returns the last commit and how many there are. The digest is zero
// before the first.
func (m *Machine) Head() (commit canon.Digest, commits int64) { return m.head, m.commits }

// Err returns why the trajectory cannot go on, or "".
func (m *Machine) Err() string { return m.err }

// Consult returns the error with which an input from outside would be refused,
// and changes nothing. What counts, or is only recorded, gives nil.
func (m *Machine) Consult(in effect.Input) error {
	ds, err := m.Clone().Apply(in)
	if err != nil {
		return err
	}
	for _, d := range ds {
		if d.Kind != ledger.KindDecision || d.Body.Get("name").Str() != NameRefused {
			continue
		}
		data := d.Body.Get("data")
		return fault.New(refusalCode(data.Get("code").Str()), "trajectory.Consult", "%s", data.Get("message").Str())
	}
	return nil
}

// refusalCode returns the code that a refusal names.
func refusalCode(code string) fault.Code {
	for _, c := range [...]fault.Code{
		govern.ErrUnknownActor, govern.ErrSignature, govern.ErrVerb, govern.ErrRole, govern.ErrTenant, govern.ErrMatter,
		govern.ErrRepeated, govern.ErrDecided, govern.ErrTooMany, govern.ErrAct, govern.ErrHalted, ErrIntent, ErrMessage, ErrRouting,
	} {
		if c.Error() == code {
			return c
		}
	}
	return ErrRefusedInput
}

// ErrRefusedInput means that a trajectory takes no such input now. Its message
// says why.
const ErrRefusedInput fault.Denied = "trajectory.input_refused"

// FindCommit returns the commit whose id begins so.
func (m *Machine) FindCommit(prefix string) (canon.Digest, error) {
	var found []canon.Digest
	for i := range m.history {
		if id := m.history[i].id; !id.IsZero() && len(prefix) > 0 && len(prefix) <= 64 && id.String()[:len(prefix)] == prefix {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		return canon.Digest{}, fault.New(ErrNoCommit, "trajectory.FindCommit", "%d commits have an id that begins with %q", len(found), prefix)
	}
	return found[0], nil
}

// ErrNoCommit means that a trajectory has no commit of that id, or more than
// one whose id begins so.
const ErrNoCommit fault.NotFound = "trajectory.no_such_commit"
