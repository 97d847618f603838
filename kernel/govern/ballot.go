package govern

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of ballots.
const (
	// ErrQuorum means that a ballot cannot be held like that: the matter is
	// not exact, or a quorum needs nobody, too many, an unknown role or a
	// role that another quorum counts. Mend the policy that asks for it.
	ErrQuorum fault.Invalid = "govern.bad_quorum"
	// ErrDecided means that a ballot is over, by votes or by time. What was
	// decided stands; begin a new ballot on a new matter.
	ErrDecided fault.Conflict = "govern.already_decided"
	// ErrTooMany means that so many acts came that somebody is playing with
	// the ballot. Let it expire.
	ErrTooMany fault.Denied = "govern.too_many_acts"
)

// Limits on ballots.
const (
	MaxNeed = 100
	MaxActs = 1024 // on one ballot, changed minds included
)

// Rule says how the votes of a quorum decide.
type Rule uint8

// The rules.
const (
	// Veto grants when Need actors approve, and denies at the first denial.
	// Thymos decides so.
	Veto Rule = iota
	// Majority decides when Need actors have approved or denied: it grants
	// if more approve than deny, and a tie denies. An abstention does not
	// count. MACE's council decides so.
	Majority
)

// String returns the name of the rule.
func (r Rule) String() string {
	if r == Majority {
		return "majority"
	}
	return "veto"
}

// Quorum is how many must act, in which roles, by which rule.
type Quorum struct {
	Need  int    // at least 1
	Roles []Role // that count; at least one
	Rule  Rule
}

func (q Quorum) value() canon.Value {
	return canon.Object(
		canon.M("need", canon.Int(int64(q.Need))),
		canon.M("roles", canon.Strings(q.Roles)),
		canon.M("rule", canon.String(q.Rule.String())),
	)
}

// decide returns the state that the votes in q's roles amount to.
func (q Quorum) decide(votes []Vote) State {
	yes, no := 0, 0
	for _, v := range votes {
		switch {
		case !slices.Contains(q.Roles, v.Role):
		case v.Verb == Approve:
			yes++
		case v.Verb == Deny:
			no++
		}
	}
	switch {
	case q.Rule == Veto && no > 0:
		return Denied
	case q.Rule == Veto && yes >= q.Need:
		return Granted
	case q.Rule == Majority && yes+no >= q.Need && yes > no:
		return Granted
	case q.Rule == Majority && yes+no >= q.Need:
		return Denied
	default:
		return Open
	}
}

// State says where a ballot stands.
type State string

// The states. All but Open are final.
const (
	Open    State = "open"
	Granted State = "granted"
	Denied  State = "denied"
	Expired State = "expired" // neither granted nor denied in time
)

// Vote is the last word of one actor.
type Vote struct {
	Actor string
	Role  Role
	Verb  Verb // Approve, Deny or Abstain
	Act   canon.Digest
}

// Ballot decides one matter. Where several quorums are asked for, all must be
// granted, and one that is denied denies the matter; an actor counts in the
// one quorum that their act's role belongs to. What may be granted in two
// ways (M-81) is two ballots.
type Ballot struct {
	matter  Matter
	quorums []Quorum
	votes   []Vote // in the order in which the actors first acted
	seen    Seen
	state   State // empty: open
}

// NewBallot returns a ballot without votes. It refuses with [ErrQuorum].
func NewBallot(m Matter, quorums ...Quorum) (Ballot, error) {
	const op = "govern.NewBallot"
	if !m.wellFormed() {
		return Ballot{}, fault.New(ErrQuorum, op, "the matter lacks ledger, subject or bound")
	}
	quorums, err := checkQuorums(op, quorums)
	if err != nil {
		return Ballot{}, err
	}
	return Ballot{matter: m, quorums: quorums}, nil
}

// checkQuorums returns a copy of quorums that can be asked for together.
func checkQuorums(op string, quorums []Quorum) ([]Quorum, error) {
	if len(quorums) == 0 {
		return nil, fault.New(ErrQuorum, op, "there is no quorum")
	}
	out := make([]Quorum, len(quorums))
	var all []Role
	for i, q := range quorums {
		if q.Need < 1 || q.Need > MaxNeed || q.Rule > Majority || len(q.Roles) == 0 {
			return nil, fault.New(ErrQuorum, op, "quorum %d does not need 1 to %d actors of some role by a known rule", i, MaxNeed)
		}
		q.Roles = slices.Sorted(slices.Values(q.Roles))
		all = append(all, q.Roles...)
		out[i] = q
	}
	if err := checkRoles(all); err != nil {
		return nil, fault.Wrap(ErrQuorum, op, err, "the quorums")
	}
	return out, nil
}

// Matter returns what is decided.
func (b Ballot) Matter() Matter { return b.matter }

// State returns where the ballot stands.
func (b Ballot) State() State {
	if b.state == "" {
		return Open
	}
	return b.state
}

// Votes returns the last word of each actor, in the order in which they first
// acted.
func (b Ballot) Votes() []Vote { return slices.Clone(b.votes) }

// Roles returns the roles that have a say, for [Requirement.Roles].
func (b Ballot) Roles() []Role {
	var roles []Role
	for _, q := range b.quorums {
		roles = append(roles, q.Roles...)
	}
	return roles
}

// Cast counts an act: [Approve], [Deny] or [Abstain]. The last word of an
// actor replaces the one before, so that nobody counts twice. It refuses an
// act about another matter ([ErrMatter]), in a role that has no say
// ([ErrRole]), with another verb ([ErrVerb]), that has been cast before
// ([ErrRepeated]), or on a ballot that is over ([ErrDecided]).
func (b Ballot) Cast(a Admitted) (Ballot, error) {
	const op = "govern.Ballot.Cast"
	act := a.act
	seen, err := b.seen.Add(a)
	switch {
	case err != nil:
		return b, err
	case act.Matter != b.matter:
		return b, fault.New(ErrMatter, op, "the act of %q is about %q as %s; to be decided is %q as %s",
			act.Actor, act.Matter.Subject, act.Matter.Bound, b.matter.Subject, b.matter.Bound)
	case act.Verb != Approve && act.Verb != Deny && act.Verb != Abstain:
		return b, fault.New(ErrVerb, op, "%q is no vote", act.Verb)
	case !slices.Contains(b.Roles(), act.Role):
		return b, fault.New(ErrRole, op, "the role %q of %q has no say here", act.Role, act.Actor)
	case b.State() != Open:
		return b, fault.New(ErrDecided, op, "the ballot on %q is %s", b.matter.Subject, b.state)
	case len(seen.digests) > MaxActs:
		return b, fault.New(ErrTooMany, op, "more than %d acts on %q", MaxActs, b.matter.Subject)
	}
	b.seen = seen
	b.votes = slices.Clone(b.votes)
	vote := Vote{Actor: act.Actor, Role: act.Role, Verb: act.Verb, Act: a.digest}
	if i := slices.IndexFunc(b.votes, func(v Vote) bool { return v.Actor == act.Actor }); i >= 0 {
		b.votes[i] = vote
	} else {
		b.votes = append(b.votes, vote)
	}
	b.state = b.decide()
	return b, nil
}

func (b Ballot) decide() State {
	state := Granted
	for _, q := range b.quorums {
		switch q.decide(b.votes) {
		case Denied:
			return Denied
		case Granted:
		default:
			state = Open
		}
	}
	return state
}

// Expire ends a ballot whose time is over, as an entry of its ledger says. It
// refuses one that is over with [ErrDecided].
func (b Ballot) Expire() (Ballot, error) {
	if b.State() != Open {
		return b, fault.New(ErrDecided, "govern.Ballot.Expire", "the ballot on %q is %s", b.matter.Subject, b.state)
	}
	b.state = Expired
	return b, nil
}

// Value returns the ballot as a decision holds it: what was decided, what was
// needed, and who said what by which act.
func (b Ballot) Value() canon.Value {
	quorums := make([]canon.Value, len(b.quorums))
	for i, q := range b.quorums {
		quorums[i] = q.value()
	}
	votes := make([]canon.Value, len(b.votes))
	for i, v := range b.votes {
		votes[i] = canon.Object(
			canon.M("act", canon.String(v.Act.String())),
			canon.M("actor", canon.String(v.Actor)),
			canon.M("role", canon.String(string(v.Role))),
			canon.M("vote", canon.String(string(v.Verb))),
		)
	}
	return canon.Object(
		canon.M("matter", b.matter.Value()),
		canon.M("quorums", canon.Array(quorums...)),
		canon.M("state", canon.String(string(b.State()))),
		canon.M("votes", canon.Array(votes...)),
	)
}
