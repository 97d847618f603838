package govern

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrAct means that bytes are no signed act in its one form, or that an act
// which is to be signed lacks a part. Make the act anew.
const ErrAct fault.Invalid = "govern.bad_act"

// ActType is the media type of an act.
const ActType = "application/vnd.reprise.act.v1+json"

// Limits on acts, in bytes.
const (
	MaxAct    = 16 << 10 // a signed act
	MaxReason = 4 << 10
	maxName   = 256
)

// Verb says what an act does. An engine may take verbs of its own, such as
// those that its document fixes; which ones are taken where is said by
// [Requirement.Verbs]. A verb is a letter and up to 63 letters, digits,
// underscores and dots.
type Verb string

// The verbs that mean the same everywhere.
const (
	Approve    Verb = "approve"    // yes to the matter
	Deny       Verb = "deny"       // no to the matter
	Abstain    Verb = "abstain"    // neither; takes back an earlier yes or no
	Revoke     Verb = "revoke"     // what the subject allows is no longer allowed
	Restore    Verb = "restore"    // it is allowed again
	Stop       Verb = "halt"       // the subject stands still until that is cleared
	Clear      Verb = "clear"      // yes to lifting a halt
	Compensate Verb = "compensate" // what was done is to be undone
	Cancel     Verb = "cancel"     // the subject ends here
)

func (v Verb) wellFormed() bool {
	if v == "" || len(v) > 64 {
		return false
	}
	for i := range len(v) {
		c := v[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		other := c >= '0' && c <= '9' || c == '_' || c == '.'
		if !letter && (i == 0 || !other) {
			return false
		}
	}
	return true
}

// Matter is the exact thing that is decided.
type Matter struct {
	// Ledger is the domain id of the ledger in which the decision counts, so
	// that an act cannot be used in another one. It is no place id: a replay
	// has to admit the same acts.
	Ledger string
	// Subject is the domain id of what is decided on: a proposal, a writ, a
	// snapshot, a run.
	Subject string
	// Bound is the digest of everything that was shown to who decides. It is
	// never zero. What has changed since then was not decided on.
	Bound canon.Digest
}

func (m Matter) wellFormed() bool { return isName(m.Ledger) && isName(m.Subject) && !m.Bound.IsZero() }

// Value returns the matter as bodies hold it.
func (m Matter) Value() canon.Value {
	return canon.Object(
		canon.M("bound", canon.String(m.Bound.String())),
		canon.M("ledger", canon.String(m.Ledger)),
		canon.M("subject", canon.String(m.Subject)),
	)
}

// Act is what an actor signs.
type Act struct {
	Verb   Verb
	Actor  string
	Role   Role // in which the actor acts; an actor with several chooses one
	Matter Matter
	Reason string      // for people; may be empty; no control characters but line breaks and tabs
	At     det.Instant // when, as the actor says; decides nothing
	Nonce  [16]byte    // drawn for this act and never zero: tells it from a copy
}

// check names the first part that is not of its form.
func (a *Act) check(op string) error {
	var bad string
	switch {
	case !a.Verb.wellFormed():
		bad = "act"
	case !isName(a.Actor):
		bad = "actor"
	case !a.Role.known():
		bad = "role"
	case !a.Matter.wellFormed():
		bad = "bound, ledger or subject"
	case len(a.Reason) > MaxReason || !isText(a.Reason):
		bad = "reason"
	case a.Nonce == [16]byte{}:
		bad = "nonce"
	default:
		return nil
	}
	return fault.New(ErrAct, op, "the %s of the act is missing or not of its form", bad)
}

// payload returns the canonical bytes of a.
func (a *Act) payload() ([]byte, error) {
	return canon.Encode(canon.Object(
		canon.M("act", canon.String(string(a.Verb))),
		canon.M("actor", canon.String(a.Actor)),
		canon.M("at", canon.String(a.At.String())),
		canon.M("bound", canon.String(a.Matter.Bound.String())),
		canon.M("ledger", canon.String(a.Matter.Ledger)),
		canon.M("nonce", canon.String(hex.EncodeToString(a.Nonce[:]))),
		canon.M("reason", canon.String(a.Reason)),
		canon.M("role", canon.String(string(a.Role))),
		canon.M("subject", canon.String(a.Matter.Subject)),
		canon.M("v", canon.Int(1)),
	), canon.Native)
}

// Sign returns the signed act. It refuses an act that nobody would admit with
// [ErrAct], before anything is signed.
func (a *Act) Sign(s sign.Signer) ([]byte, error) {
	const op = "govern.Act.Sign"
	if err := a.check(op); err != nil {
		return nil, err
	}
	payload, err := a.payload()
	if err != nil {
		return nil, fault.Wrap(ErrAct, op, err, "the payload")
	}
	e, err := sign.Seal(s, ActType, payload)
	if err != nil {
		return nil, err
	}
	return e.Encode(), nil
}

// Peek returns what an act in its envelope says. Nothing is known of who signed
// it: it is for finding what the act is about, and [Roster.Admit] says whether
// it counts. It refuses with [ErrAct] what is no act.
func Peek(v canon.Value) (Act, error) {
	const op = "govern.Peek"
	b, err := canon.Encode(v, canon.Native)
	if err != nil {
		return Act{}, fault.Wrap(ErrAct, op, err, "not a signed statement")
	}
	if len(b) > MaxAct {
		return Act{}, fault.New(ErrAct, op, "%d bytes are over the limit of %d", len(b), MaxAct)
	}
	e, err := sign.ParseEnvelope(b)
	if err != nil {
		return Act{}, fault.Wrap(ErrAct, op, err, "not a signed statement")
	}
	if e.Type != ActType {
		return Act{}, fault.New(ErrAct, op, "a statement of type %q is no act", e.Type)
	}
	return parseAct(e.Payload)
}

// parseAct reads what payload writes and nothing else.
func parseAct(b []byte) (Act, error) {
	const op = "govern.Roster.Admit"
	v, err := canon.Parse(b)
	if err != nil {
		return Act{}, fault.Wrap(ErrAct, op, err, "the payload")
	}
	a := Act{
		Verb: Verb(v.Get("act").Str()), Actor: v.Get("actor").Str(), Role: Role(v.Get("role").Str()),
		Matter: Matter{Ledger: v.Get("ledger").Str(), Subject: v.Get("subject").Str()}, Reason: v.Get("reason").Str(),
	}
	if a.Matter.Bound, err = canon.ParseDigest(v.Get("bound").Str()); err != nil {
		return Act{}, fault.Wrap(ErrAct, op, err, "bound")
	}
	if a.At, err = det.ParseInstant(v.Get("at").Str()); err != nil {
		return Act{}, fault.Wrap(ErrAct, op, err, "at")
	}
	if nonce, err := hex.DecodeString(v.Get("nonce").Str()); err != nil || copy(a.Nonce[:], nonce) != len(a.Nonce) {
		return Act{}, fault.New(ErrAct, op, "nonce is not 32 hexadecimal digits")
	}
	if err := a.check(op); err != nil {
		return Act{}, err
	}
	again, err := a.payload()
	if err != nil || !bytes.Equal(again, b) {
		return Act{}, fault.New(ErrAct, op, "the payload is not the canonical form of an act of version 1")
	}
	return a, nil
}

// isName reports whether s can name an actor, a tenant, a ledger or a subject.
// People decide by what they read, so names that differ must not look alike:
// nothing invisible, and no white space but single spaces between words. What
// is invisible is listed here, since the tables of the standard library change
// between versions, and a ledger must not.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && strings.Trim(s, " ") == s &&
		!strings.Contains(s, "  ") && !strings.ContainsFunc(s, invisible)
}

// isText reports whether s can be shown to a person: valid UTF-8 without
// controls but line breaks and tabs.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, control) }

func control(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }

func invisible(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0xa0, r == 0xad: // controls, no-break space, soft hyphen
		return true
	case r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x1680, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f:
		return true
	case r >= 0x2000 && r <= 0x200f, r >= 0x2028 && r <= 0x202f, r >= 0x205f && r <= 0x206f: // spaces, joiners, directions
		return true
	case r == 0x3000, r == 0x3164, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, r >= 0xfff0 && r <= 0xfffd:
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors
		return true
	default:
		return false
	}
}

// digest hashes a value that is made of well-formed text and small integers.
func digest(tag string, v canon.Value) canon.Digest {
	b, err := canon.Encode(v, canon.Native)
	if err != nil {
		panic("govern: a value of our own has no canonical form: " + err.Error())
	}
	return canon.Hash(tag, b)
}
