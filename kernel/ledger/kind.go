package ledger

import "slices"

// Kind says what an entry records. The set is closed: an entry of another
// kind fails verification.
type Kind string

// The kinds.
const (
	KindOpen            Kind = "open"             // the first entry: what this ledger is
	KindCall            Kind = "call"             // something is about to cross the boundary
	KindOutcome         Kind = "outcome"          // what came back: ok, error or interrupted
	KindDecision        Kind = "decision"         // what an engine concluded
	KindCommit          Kind = "commit"           // the only kind that changes the world (T-05)
	KindEvent           Kind = "event"            // what arrived or happened besides: messages, revocations, votes, halts
	KindRejection       Kind = "rejection"        // a proposal that was refused
	KindPendingApproval Kind = "pending_approval" // a proposal that waits for a person
	KindApproval        Kind = "approval"         // a person's answer
	KindDelegation      Kind = "delegation"       // a child ledger was given work
	KindBranch          Kind = "branch"           // a branch left this ledger here
	KindSkillBound      Kind = "skill_bound"      // a named, versioned callable was bound
	KindSnapshot        Kind = "snapshot"         // a state was frozen under a name
	KindResult          Kind = "result"           // what the run gave
	KindErasure         Kind = "erasure"          // contents were erased on purpose
	KindSeal            Kind = "seal"             // the last entry: nothing follows
)

// members lists, for each kind, the members that a body may have beside att,
// data, refs and scope. A body with any other member fails verification.
func (k Kind) members() (extra []string, known bool) {
	switch k {
	case KindOpen:
		return openMembers, true
	case KindCall:
		return callMembers, true
	case KindOutcome:
		return outcomeMembers, true
	case KindCommit:
		return commitMembers, true
	case KindSeal:
		return sealMembers, true
	case KindDecision, KindEvent, KindRejection, KindPendingApproval, KindApproval,
		KindDelegation, KindBranch, KindSkillBound, KindSnapshot, KindResult, KindErasure:
		return namedMembers, true
	default:
		return nil, false
	}
}

var (
	openMembers    = []string{"engine", "mode", "rules", "title"}
	callMembers    = []string{"class", "cred", "kind", "match", "name", "occurrence", "path"}
	outcomeMembers = []string{"code", "redacted", "status"}
	commitMembers  = []string{"delta", "name", "rules"}
	sealMembers    = []string{"status", "world"}
	namedMembers   = []string{"from", "name", "rules"} // from: the entry came from outside and is an input
)

// Known reports whether k is one of the kinds of this version.
func (k Kind) Known() bool {
	_, ok := k.members()
	return ok
}

// allows reports whether a body of kind k may have a member of that name.
func (k Kind) allows(name []byte) bool {
	switch string(name) {
	case "att", "data", "refs", "scope":
		return true
	}
	extra, _ := k.members()
	return slices.Contains(extra, string(name))
}
