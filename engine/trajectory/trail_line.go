package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Label says in a word what an entry is to somebody who reads the trail.
type Label string

// The labels. Every kind of entry has one.
const (
	LabelRoot       Label = "ROOT"
	LabelBranch     Label = "BRANCH"
	LabelSkill      Label = "SKILL"
	LabelIntent     Label = "INTENT"
	LabelProposal   Label = "PROPOSAL"
	LabelSuspended  Label = "SUSPENDED"
	LabelApproved   Label = "APPROVED"
	LabelDenied     Label = "DENIED"
	LabelAbstained  Label = "ABSTAINED"
	LabelVote       Label = "VOTE" // an answer that cannot be read
	LabelDecided    Label = "DECIDED"
	LabelRejected   Label = "REJECTED"
	LabelCommit     Label = "COMMIT"
	LabelRepeated   Label = "REPEATED"
	LabelToolFailed Label = "TOOL FAILED"
	LabelIgnored    Label = "IGNORED" // an input that does not count
	LabelDelegation Label = "DELEGATION"
	LabelDelegated  Label = "DELEGATED"
	LabelRevoked    Label = "REVOKED"
	LabelRestored   Label = "RESTORED"
	LabelHalted     Label = "HALTED"
	LabelCleared    Label = "CLEARED"
	LabelUndo       Label = "COMPENSATE"
	LabelUndone     Label = "COMPENSATED"
	LabelUndoHalted Label = "COMPENSATION HALTED"
	LabelResult     Label = "RESULT"
	LabelSeal       Label = "SEAL"
	LabelErasure    Label = "ERASURE"
	LabelSnapshot   Label = "SNAPSHOT"
	LabelEvent      Label = "EVENT"
	LabelDecision   Label = "DECISION"
	LabelCall       Label = "CALL"
	LabelOutcome    Label = "OUTCOME"
	LabelOpen       Label = "OPEN" // of a branch, behind the history of its source
	LabelUnknown    Label = "UNKNOWN"
)

// Signed says what is known of a signature. Verified means that it was checked
// here, against the key that the charter names, and not that one is there.
type Signed uint8

// What is known of a signature.
const (
	NoSignature Signed = iota // the entry is none that anybody signs
	Unsigned                  // it should be signed and is not
	Verified
	Forged // there is one, and it does not hold
)

// String returns the word for s, or nothing where nobody signs.
func (s Signed) String() string {
	switch s {
	case Unsigned:
		return "unsigned"
	case Verified:
		return "verified"
	case Forged:
		return "NOT VERIFIED"
	default:
		return ""
	}
}

// Voice is what one actor said, and by which act.
type Voice struct {
	Actor string
	Role  string
	Verb  string
	Act   canon.Digest
	// Verified says that the act stands in this history and its signature was
	// checked here.
	Verified bool
}

// Line is one entry as an auditor reads it. What does not apply is empty.
type Line struct {
	Run       ledger.RunID
	N         int64
	T         string // header time; decides nothing
	Label     Label
	Technical bool // a call, an outcome or a step between: details of what the other lines say

	Agent    string
	Tool     string
	Trace    *Trace // rules evaluated, and the decision
	Channel  string
	Gate     string // that refused
	Reason   string
	Writ     canon.Digest
	Intent   canon.Digest
	Proposal canon.Digest
	Commit   canon.Digest
	Seq      int64 // of a commit, among commits
	Undoes   canon.Digest
	Child    canon.Digest // trajectory that work was handed to
	Source   canon.Digest // trajectory that a branch left
	Route    string       // what an adviser chose

	// Voices are who decided: of an answer the one who gave it, of a commit or
	// a rejection those whose ballot allowed or refused it.
	Voices []Voice
	Signed Signed
	Wrong  fault.Code // why a signature does not hold, or the entry cannot be read

	// Whole is the suspended proposal with its id and trace (T-29).
	Whole canon.Value
	// Observations are {tool, latency_ms} of a commit.
	Observations []Observed
	Withheld     bool // the body is not there
}

// Observed is one call of a tool that a commit rests on.
type Observed struct {
	Tool      string
	LatencyMS int64
}

// Value returns l with the names of the source document, ids with their
// prefixes. What does not apply is left out.
func (l *Line) Value() canon.Value {
	text := func(s string) canon.Value {
		if s == "" {
			return canon.Value{}
		}
		return canon.String(s)
	}
	id := func(prefix string, d canon.Digest) canon.Value {
		if d.IsZero() {
			return canon.Value{}
		}
		return canon.String(prefix + d.String())
	}
	v := canon.Object(
		canon.M("n", canon.Int(l.N)),
		canon.M("run", canon.String(string(l.Run))),
		canon.M("t", text(l.T)),
		canon.M("label", canon.String(string(l.Label))),
		canon.M("agent", text(l.Agent)),
		canon.M("tool", text(l.Tool)),
		canon.M("channel", text(l.Channel)),
		canon.M("gate", text(l.Gate)),
		canon.M("reason", text(l.Reason)),
		canon.M("trajectory_id", id(PrefixTrajectory, l.Source)),
		canon.M("child_trajectory_id", id(PrefixTrajectory, l.Child)),
		canon.M("writ_id", id(PrefixWrit, l.Writ)),
		canon.M("intent_id", id(PrefixIntent, l.Intent)),
		canon.M("proposal_id", id(PrefixProposal, l.Proposal)),
		canon.M("commit_id", id(PrefixCommit, l.Commit)),
		canon.M("compensates", id(PrefixCommit, l.Undoes)),
		canon.M("route", text(l.Route)),
		canon.M("proposal", l.Whole),
		canon.M("signature", text(l.Signed.String())),
	)
	if l.Label == LabelCommit {
		v = v.With("seq", canon.Int(l.Seq)).With("tool_calls", canon.ArrayOf(l.Observations, func(o Observed) canon.Value {
			return canon.Object(canon.M("latency_ms", canon.Int(o.LatencyMS)), canon.M("tool", canon.String(o.Tool)))
		}))
	}
	if l.Trace != nil && l.Trace.Decision.Kind != "" {
		v = v.With("policy_trace", l.Trace.Value())
	}
	if len(l.Voices) > 0 {
		v = v.With("decided_by", canon.ArrayOf(l.Voices, Voice.value))
	}
	if l.Wrong != nil {
		v = v.With("code", canon.String(l.Wrong.Error()))
	}
	if l.Withheld {
		v = v.With("withheld", canon.Bool(true))
	}
	return v
}

func (x Voice) value() canon.Value {
	return canon.Object(
		canon.M("act", canon.String(x.Act.String())),
		canon.M("actor", canon.String(x.Actor)),
		canon.M("role", canon.String(x.Role)),
		canon.M("verified", canon.Bool(x.Verified)),
		canon.M("vote", canon.String(x.Verb)),
	)
}
