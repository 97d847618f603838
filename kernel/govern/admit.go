package govern

import (
	"bytes"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of acts that are not admitted.
const (
	// ErrUnknownActor means that the roster in force lists nobody of that
	// name. Have the actor enrolled, or find out who signs in their name.
	ErrUnknownActor fault.Denied = "govern.unknown_actor"
	// ErrSignature means that an act is not signed with the key that is
	// enrolled for its actor. Somebody acts in their name or the act was
	// changed: do not count it.
	ErrSignature fault.Integrity = "govern.bad_signature"
	// ErrVerb means that acts of this kind are not taken here. Ask which
	// ones are.
	ErrVerb fault.Invalid = "govern.unknown_act"
	// ErrRole means that the actor does not hold the role of the act, or that
	// this role has no say here. Ask somebody who has.
	ErrRole fault.Denied = "govern.role_denied"
	// ErrTenant means that the actor belongs to another tenant. Ask somebody
	// of the tenant.
	ErrTenant fault.Denied = "govern.tenant_denied"
	// ErrMatter means that an act is about something else: another ledger,
	// another subject, or a thing that has changed since. Read what stands
	// there now, and sign an act about that.
	ErrMatter fault.Conflict = "govern.other_matter"
	// ErrRepeated means that this very act has been counted before. If it was
	// sent twice by accident nothing is to be done; else sign a new act.
	ErrRepeated fault.Conflict = "govern.repeated_act"
)

// Requirement is what an act must meet to be taken. Each part must be given:
// the zero Requirement admits nothing.
type Requirement struct {
	Verbs  []Verb // that are taken here
	Roles  []Role // one of which the actor must act in
	Tenant string // to which the actor must belong; empty: to none
	Ledger string // which the act must name
}

// Admitted is an act that [Roster.Admit] has checked. The zero Admitted is no
// act, and is counted nowhere.
type Admitted struct {
	act      Act
	digest   canon.Digest
	envelope canon.Value
}

// Act returns what was signed.
func (a Admitted) Act() Act { return a.act }

// Digest names the signed act; it is [sign.Digest] of its bytes.
func (a Admitted) Digest() canon.Digest { return a.digest }

// Value returns the signed act as bodies hold it: the same JSON as its bytes.
func (a Admitted) Value() canon.Value { return a.envelope }

// Admit checks a signed act: its form ([ErrAct]), that its actor is enrolled
// ([ErrUnknownActor]) and signed it ([ErrSignature]), that such an act is taken
// here ([ErrVerb], [ErrMatter] for another ledger), and that the actor is of
// the tenant ([ErrTenant]) and may act in the role of the act ([ErrRole]). What
// the act is about and whether it is new is for [Ballot], [Halts] or [Seen].
func (r Roster) Admit(envelope []byte, need Requirement) (Admitted, error) {
	const op = "govern.Roster.Admit"
	if len(envelope) > MaxAct {
		return Admitted{}, fault.New(ErrAct, op, "%d bytes are over the limit of %d", len(envelope), MaxAct)
	}
	v, err := canon.Parse(envelope)
	if err != nil {
		return Admitted{}, fault.Wrap(ErrAct, op, err, "not a signed statement")
	}
	e, err := sign.ParseEnvelope(envelope)
	if err != nil {
		return Admitted{}, fault.Wrap(ErrAct, op, err, "not a signed statement")
	}
	if e.Type != ActType {
		return Admitted{}, fault.New(ErrAct, op, "a statement of type %q is no act", e.Type)
	}
	a, err := parseAct(e.Payload)
	if err != nil {
		return Admitted{}, err
	}
	who, ok := r.Find(a.Actor)
	if !ok {
		return Admitted{}, fault.New(ErrUnknownActor, op, "nobody is enrolled as %q", a.Actor)
	}
	if err := e.Check(who.Key, ActType); err != nil {
		return Admitted{}, fault.Wrap(ErrSignature, op, err, "an act of %q", a.Actor)
	}
	switch {
	case !slices.Contains(need.Verbs, a.Verb):
		return Admitted{}, fault.New(ErrVerb, op, "%q is not taken here; %q are", a.Verb, need.Verbs)
	case a.Matter.Ledger != need.Ledger:
		return Admitted{}, fault.New(ErrMatter, op, "the act is for the ledger %q, not for %q", a.Matter.Ledger, need.Ledger)
	case who.Tenant != need.Tenant:
		return Admitted{}, fault.New(ErrTenant, op, "%q is of the tenant %q, not of %q", a.Actor, who.Tenant, need.Tenant)
	case !who.Has(a.Role):
		return Admitted{}, fault.New(ErrRole, op, "%q does not hold the role %q", a.Actor, a.Role)
	case !slices.Contains(need.Roles, a.Role):
		return Admitted{}, fault.New(ErrRole, op, "the role %q has no say here; %q have", a.Role, need.Roles)
	}
	return Admitted{act: a, digest: sign.Digest(envelope), envelope: v}, nil
}

// Readmit is [Roster.Admit] of an act as a body holds it.
func (r Roster) Readmit(v canon.Value, need Requirement) (Admitted, error) {
	b, err := canon.Encode(v, canon.Native)
	if err != nil {
		return Admitted{}, fault.Wrap(ErrAct, "govern.Roster.Readmit", err, "not a signed statement")
	}
	return r.Admit(b, need)
}

// Seen is a set of acts. It keeps whoever holds a signed act from using it a
// second time, for instance to restore what was revoked again. Ballots and
// halts look after theirs.
type Seen struct {
	digests []canon.Digest // ascending
}

// Add returns the set with a in it. It refuses an act that is there with
// [ErrRepeated], and the zero act with [ErrAct].
func (s Seen) Add(a Admitted) (Seen, error) {
	const op = "govern.Seen.Add"
	if a.digest.IsZero() {
		return s, fault.New(ErrAct, op, "not an act that was admitted")
	}
	i, there := slices.BinarySearchFunc(s.digests, a.digest, func(x, y canon.Digest) int { return bytes.Compare(x[:], y[:]) })
	if there {
		return s, fault.New(ErrRepeated, op, "the act %s of %q has been counted already", a.digest, a.act.Actor)
	}
	return Seen{slices.Insert(slices.Clone(s.digests), i, a.digest)}, nil
}
