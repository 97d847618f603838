package job

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrAccess means that somebody asked for personal data that their role does
// not show. Ask an admin; in a replay for a data subject there is nobody else.
const ErrAccess fault.Denied = "job.access_denied"

// ConsentScope says for how long a consent holds.
type ConsentScope string

// The scopes.
const (
	ForJob     ConsentScope = "job"
	Persistent ConsentScope = "persistent"
)

// Consent is a user's yes to keeping personal data of them as they are.
type Consent struct {
	User  string
	Seed  det.Seed // of the job in which it was given
	Text  string   // what the user agreed to
	Scope ConsentScope
	Types []string // pii_types that it covers, sorted
}

// ID returns consent_id: the SHA-256 of the canonical array of user_id,
// job_seed and consent_text. The document joins the three without a mark, so
// that two consents could share an id.
func (c Consent) ID() string {
	b, err := canon.Encode(canon.Strings([]string{c.User, string(c.Seed), c.Text}), canon.MACEFixed9)
	if err != nil {
		return "" // the text is not UTF-8, which ParseConsent refuses
	}
	return canon.SHA256(b).String()
}

// Value returns the consent as the payload of [EventConsent] holds it.
func (c Consent) Value() canon.Value {
	return canon.Object(
		canon.M("consent_id", canon.String(c.ID())),
		canon.M("consent_text", canon.String(c.Text)),
		canon.M("job_seed", canon.String(string(c.Seed))),
		canon.M("pii_types", canon.Strings(c.Types)),
		canon.M("scope", canon.String(string(c.Scope))),
		canon.M("user_id", canon.String(c.User)),
	)
}

// ParseConsent reads what [Consent.Value] writes and nothing else. It refuses
// with [ErrConsent].
func ParseConsent(v canon.Value) (Consent, error) {
	r := newRecord(v, ErrConsent, "job.ParseConsent", "consent", "consent_id", "consent_text", "job_seed", "pii_types", "scope", "user_id")
	c := Consent{
		User: r.Name("user_id"), Seed: det.Seed(r.Name("job_seed")), Text: r.Text("consent_text", maxText),
		Scope: ConsentScope(r.Word("scope", string(ForJob), string(Persistent))), Types: r.set("pii_types"),
	}
	if c.Text == "" || r.digest("consent_id") != c.ID() {
		r.Fail("the consent says nothing, or its id is not %q", c.ID())
	}
	return c, r.Err
}

// Consents are those that were given and not revoked. It is a fold of
// [EventConsent] and [EventConsentRevoked], and a value: what changes it returns
// the changed one.
type Consents struct {
	given []Consent
}

// Give adds a consent. Under rules that know no persistent ones such a consent
// is refused with [ErrConsent].
func (s Consents) Give(c Consent, rules Privacy) (Consents, error) {
	if _, err := ParseConsent(c.Value()); err != nil {
		return s, err
	}
	if c.Scope == Persistent && !rules.allowPersistent {
		return s, fault.New(ErrConsent, "job.Consents.Give", "consents hold for one job here")
	}
	if s.find(c.ID()) < 0 {
		s.given = append(slices.Clone(s.given), c)
	}
	return s, nil
}

// Revoke takes a consent back. What was kept under it is not deleted by that.
// It refuses with [ErrConsent] one that does not hold.
func (s Consents) Revoke(id string) (Consents, error) {
	i := s.find(id)
	if i < 0 {
		return s, fault.New(ErrConsent, "job.Consents.Revoke", "no consent %.80q holds", id)
	}
	s.given = slices.Delete(slices.Clone(s.given), i, i+1)
	return s, nil
}

func (s Consents) find(id string) int {
	return slices.IndexFunc(s.given, func(c Consent) bool { return c.ID() == id })
}

// Covers reports whether the user has agreed that data of that type are kept
// in that job.
func (s Consents) Covers(user string, seed det.Seed, piiType string) bool {
	return slices.ContainsFunc(s.given, func(c Consent) bool {
		return c.User == user && (c.Scope == Persistent || c.Seed == seed) && slices.Contains(c.Types, piiType)
	})
}

// Held is a value that is kept twice: redacted for everybody, and raw for those
// who may see it.
type Held struct {
	ID       string // of what holds it: an event, an episode, a snapshot
	Redacted canon.Value
	Raw      canon.Value // absent if it is not kept
}

// Reader is who asks for a held value.
type Reader struct {
	Actor  string
	Role   string
	DSR    bool   // whether it is asked for in a replay for a data subject
	Raw    bool   // whether the unredacted value is asked for
	Reason string // for the log
}

// Read returns what a reader may see. Unredacted values are shown to the roles
// that the snapshot names, and in a replay for a data subject to admins only;
// such a read returns the payload of the [EventAccess] that must be appended
// before anything is shown. It refuses others with [ErrAccess].
func (p Privacy) Read(h Held, who Reader) (shown, access canon.Value, err error) {
	const op = "job.Privacy.Read"
	if !who.Raw {
		return h.Redacted, canon.Value{}, nil
	}
	const admin = "admin"
	switch {
	case who.Actor == "" || !slices.Contains(p.unredacted, who.Role):
		return canon.Value{}, canon.Value{}, fault.New(ErrAccess, op, "the role %q does not see what is redacted", who.Role)
	case who.DSR && who.Role != admin:
		return canon.Value{}, canon.Value{}, fault.New(ErrAccess, op, "in a replay for a data subject only an admin sees what is redacted")
	case h.Raw.IsZero():
		return canon.Value{}, canon.Value{}, fault.New(ErrAccess, op, "%q is kept redacted only", h.ID)
	}
	return h.Raw, canon.Object(
		canon.M("actor_id", canon.String(who.Actor)),
		canon.M("dsr", canon.Bool(who.DSR)),
		canon.M("object_id", canon.String(h.ID)),
		canon.M("reason", canon.String(who.Reason)),
		canon.M("role", canon.String(who.Role)),
	), nil
}

// EventDSR and EventDSRDelete are the types of the events of data subject
// requests.
const (
	EventDSR       = "DSR_REQUEST"
	EventDSRDelete = "DSR_DELETE_REQUEST"
)

// NewDeletion returns the request by which facts about a subject are deleted:
// [ActionDelete], for which the council must vote. The keys are those whose
// facts lie below one of the prefixes.
func (s Semantic) NewDeletion(ledger, subject string, prefixes ...string) (NewRequest, error) {
	const op = "job.Semantic.NewDeletion"
	var keys []string
	for _, prefix := range prefixes {
		if prefix == "" {
			return NewRequest{}, fault.New(ErrMemory, op, "an empty prefix is the memory of everybody")
		}
		for f := range s.Search(prefix) {
			keys = append(keys, f.Key)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if subject == "" || len(keys) == 0 {
		return NewRequest{}, fault.New(ErrMemory, op, "there is no subject, or no fact below %s", strings.Join(prefixes, ", "))
	}
	return NewRequest{
		Ledger: ledger, Origin: subject, Action: ActionDelete, Justification: EventDSRDelete,
		Payload: canon.Object(canon.M("keys", canon.Strings(keys)), canon.M("sem_snapshot_hash", canon.String(s.Hash()))),
	}, nil
}
