package trajectory

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrWrit means that a writ cannot be read, or that its id or signature does
// not fit what it says. Honour nothing that rests on it.
const ErrWrit fault.Integrity = "trajectory.bad_writ"

// Ceiling says which effects are allowed. There is no order among them: each
// is allowed by its own word only.
type Ceiling struct{ Read, Write, External, Irreversible bool }

// And returns what both allow.
func (c Ceiling) And(d Ceiling) Ceiling {
	return Ceiling{c.Read && d.Read, c.Write && d.Write, c.External && d.External, c.Irreversible && d.Irreversible}
}

// Within reports whether d allows all that c allows.
func (c Ceiling) Within(d Ceiling) bool { return c.And(d) == c }

// Value returns the form of c that is hashed.
func (c Ceiling) Value() canon.Value {
	return canon.Object(
		canon.M("external", canon.Bool(c.External)),
		canon.M("irreversible", canon.Bool(c.Irreversible)),
		canon.M("read", canon.Bool(c.Read)),
		canon.M("write", canon.Bool(c.Write)),
	)
}

func (r record) ceiling(name string) Ceiling {
	s := r.Sub(name, "read", "write", "external", "irreversible")
	c := Ceiling{Read: s.Bool("read"), Write: s.Bool("write"), External: s.Bool("external"), Irreversible: s.Bool("irreversible")}
	r.Take(name, s.Err)
	return c
}

// Window is a span of time in Unix seconds; both ends belong to it.
type Window struct{ NotBefore, ExpiresAt uint64 }

// Holds reports whether now lies in the window.
func (w Window) Holds(now uint64) bool { return w.NotBefore <= now && now <= w.ExpiresAt }

// Bounds says how far a writ may be handed on.
type Bounds struct {
	MaxDepth     uint64 // how many writs may follow, one from another
	MaySubdivide bool   // without it none may, whatever the depth
}

// WritBody is what a writ says, and what its issuer signs.
type WritBody struct {
	Issuer     string
	IssuerKey  sign.PublicKey
	Subject    string
	SubjectKey sign.PublicKey
	Nonce      [16]byte
	Parent     canon.Digest // the writ that this one comes from; zero for a root writ
	Tenant     string       // empty: the system
	Scopes     []string     // tools: a name, or the beginning of names and an asterisk
	Budget     Budget
	Ceiling    Ceiling
	Window     Window
	Delegation Bounds
}

// Value returns the form of b that is hashed and signed.
func (b *WritBody) Value() canon.Value {
	return canon.Object(
		canon.M("budget", b.Budget.Value()),
		canon.M("delegation", canon.Object(
			canon.M("max_depth", uintValue(b.Delegation.MaxDepth)),
			canon.M("may_subdivide", canon.Bool(b.Delegation.MaySubdivide)),
		)),
		canon.M("effect_ceiling", b.Ceiling.Value()),
		canon.M("issuer", canon.String(b.Issuer)),
		canon.M("issuer_pubkey", canon.String(hex.EncodeToString(b.IssuerKey.Raw()))),
		canon.M("nonce", nonceValue(b.Nonce)),
		canon.M("parent", digestOrNull(b.Parent)),
		canon.M("subject", canon.String(b.Subject)),
		canon.M("subject_pubkey", canon.String(hex.EncodeToString(b.SubjectKey.Raw()))),
		canon.M("tenant_id", canon.String(b.Tenant)),
		canon.M("time_window", canon.Object(
			canon.M("expires_at", uintValue(b.Window.ExpiresAt)),
			canon.M("not_before", uintValue(b.Window.NotBefore)),
		)),
		canon.M("tool_scopes", scopesValue(b.Scopes)),
	)
}

// Allows reports whether a scope of b covers the tool.
func (b *WritBody) Allows(tool string) bool { return allows(b.Scopes, tool) }

// Grant returns what b allows, for a skill to narrow.
func (b *WritBody) Grant() Grant {
	return Grant{Scopes: b.Scopes, Ceiling: b.Ceiling, Budget: b.Budget}
}

// Grant is what may be done: with which tools, to which effect, at what cost.
type Grant struct {
	Scopes  []string
	Ceiling Ceiling
	Budget  Budget
}

// Allows reports whether a scope of g covers the tool.
func (g Grant) Allows(tool string) bool { return allows(g.Scopes, tool) }

func allows(scopes []string, tool string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool {
		prefix, glob := strings.CutSuffix(s, "*")
		return s == tool || glob && strings.HasPrefix(tool, prefix)
	})
}

// covers reports whether scope a covers every tool that scope b covers.
func covers(a, b string) bool {
	prefix, glob := strings.CutSuffix(a, "*")
	if glob {
		return strings.HasPrefix(strings.TrimSuffix(b, "*"), prefix)
	}
	return a == b
}

// isScope reports whether s is a scope. An asterisk before the end would look
// like a pattern and be none.
func isScope(s string) bool {
	return s != "" && !strings.Contains(s[:len(s)-1], "*")
}

// Writ is a signed capability.
type Writ struct {
	ID        canon.Digest // of the body
	Body      WritBody
	Signature []byte // of the issuer's key over the canonical bytes of the body
}

// Value returns the form in which a writ is handed over. Its counters may be
// beyond what the body of an entry holds as numbers: [Lift] it there.
func (w *Writ) Value() canon.Value {
	return canon.Object(
		canon.M("body", w.Body.Value()),
		canon.M("id", canon.String(w.ID.String())),
		canon.M("signature", canon.String(hex.EncodeToString(w.Signature))),
	)
}

// ParseWrit reads what [Writ.Value] writes, with no member more or less. It
// does not check the id and the signature: [Writ.Check] does.
func ParseWrit(v canon.Value) (Writ, error) {
	const op = "trajectory.ParseWrit"
	r := newRecord(v, ErrWrit, op, "a writ", "body", "id", "signature")
	w := Writ{ID: r.Digest("id"), Signature: r.hex("signature", 64)}
	if r.Err != nil {
		return Writ{}, r.Err
	}
	b := r.sub("body", "budget", "delegation", "effect_ceiling", "issuer", "issuer_pubkey", "nonce", "parent",
		"subject", "subject_pubkey", "tenant_id", "time_window", "tool_scopes")
	budget, err := ParseBudget(b.Value.Get("budget"))
	b.Take("budget", err)
	window := b.sub("time_window", "expires_at", "not_before")
	bounds := b.sub("delegation", "max_depth", "may_subdivide")
	w.Body = WritBody{
		Issuer:     b.Name("issuer"),
		IssuerKey:  b.key("issuer_pubkey"),
		Subject:    b.Name("subject"),
		SubjectKey: b.key("subject_pubkey"),
		Nonce:      b.nonce("nonce"),
		Parent:     b.digestOrNull("parent"),
		Tenant:     b.Text("tenant_id", canon.MaxName),
		Scopes:     b.scopes("tool_scopes"),
		Budget:     budget,
		Ceiling:    b.ceiling("effect_ceiling"),
		Window:     Window{NotBefore: window.uint("not_before", 64), ExpiresAt: window.uint("expires_at", 64)},
		Delegation: Bounds{MaxDepth: bounds.uint("max_depth", 64), MaySubdivide: bounds.Bool("may_subdivide")},
	}
	b.Take("time_window", window.Err)
	b.Take("delegation", bounds.Err)
	if b.Err != nil {
		return Writ{}, b.Err
	}
	return w, nil
}

func (r record) key(name string) sign.PublicKey {
	k, err := sign.ParseKey(r.hex(name, 32))
	r.Take(name, err)
	return k
}

// IssueWrit signs a writ. The signer must hold the key that b names as its
// issuer's. A child writ is better made by [Delegate], which also sees that it
// is not wider than its parent.
func IssueWrit(b WritBody, s sign.Signer) (Writ, error) {
	const op = "trajectory.IssueWrit"
	if b.IssuerKey.IsZero() || b.SubjectKey.IsZero() || s.Public().ID() != b.IssuerKey.ID() {
		return Writ{}, fault.New(ErrWrit, op, "a writ names two keys and is signed by its issuer's")
	}
	w := Writ{Body: b, Signature: make([]byte, 64)}
	if _, err := ParseWrit(w.Value()); err != nil { // what is issued can be read
		return Writ{}, err
	}
	msg, err := canon.Encode(b.Value(), canon.Thymos)
	if err != nil {
		return Writ{}, fault.Wrap(ErrWrit, op, err, "the writ")
	}
	if w.Signature, err = s.Sign(msg); err != nil {
		return Writ{}, err
	}
	w.ID = canon.BLAKE3(msg)
	return w, nil
}

// Check refuses a writ whose id is not that of its body, or whose signature is
// not its issuer's.
func (w *Writ) Check() error {
	const op = "trajectory.Writ.Check"
	msg, err := canon.Encode(w.Body.Value(), canon.Thymos)
	if err != nil {
		return fault.Wrap(ErrWrit, op, err, "the writ")
	}
	if id := canon.BLAKE3(msg); id != w.ID {
		return fault.New(ErrWrit, op, "the writ claims the id %s and is %s", w.ID, id)
	}
	if !w.Body.IssuerKey.Verify(msg, w.Signature) {
		return fault.New(ErrWrit, op, "the signature of writ %s is not of the key of its issuer %q", w.ID, w.Body.Issuer)
	}
	return nil
}
