package trajectory

import (
	"encoding/hex"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrBundle means that a policy bundle is not signed by the issuer that it
// names, or not in its one form. Do not use it; get it again from its issuer.
const ErrBundle fault.Integrity = "trajectory.bad_bundle"

// AuthorityRule names the built-in rule that comes before every policy: the
// writ must allow what the intent asks.
const AuthorityRule = "writ.authority@1"

// MaxPolicies is how many policies one set may have.
const MaxPolicies = 256

// Bundle is a policy and who answers for it. Without a signature, Issuer is
// the zero key, and the set hash says so.
type Bundle struct {
	Policy    Policy
	Issuer    sign.PublicKey
	Signature []byte
}

// Seal signs a policy: Ed25519 over its canonical bytes.
func Seal(p Policy, s sign.Signer) (Bundle, error) {
	const op = "trajectory.Seal"
	msg, err := canon.Encode(p.Value(), canon.Thymos)
	if err != nil {
		return Bundle{}, fault.Wrap(ErrPolicy, op, err, "policy %s has no canonical form", p.ID())
	}
	sig, err := s.Sign(msg)
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{Policy: p, Issuer: s.Public(), Signature: sig}, nil
}

// ParseBundle reads {"policy", "issuer_pubkey", "signature"}. It checks the
// form; [Bundle.Check] checks the signature.
func ParseBundle(v canon.Value) (Bundle, error) {
	const op = "trajectory.ParseBundle"
	r := newRecord(v, ErrBundle, op, "a policy bundle", "policy", "issuer_pubkey", "signature")
	issuer, signature := r.hex("issuer_pubkey", 32), r.hex("signature", 64)
	if r.Err != nil {
		return Bundle{}, r.Err
	}
	policy, err := ParsePolicy(v.Get("policy"))
	if err != nil {
		return Bundle{}, err
	}
	key, err := sign.ParseKey(issuer)
	if err != nil {
		return Bundle{}, fault.Wrap(ErrBundle, op, err, "issuer_pubkey")
	}
	return Bundle{Policy: policy, Issuer: key, Signature: signature}, nil
}

// Value returns the wire form of b. The issuer and signature of an unsigned
// bundle are null, which [ParseBundle] does not take.
func (b *Bundle) Value() canon.Value {
	issuer, signature := canon.Null(), canon.Null()
	if !b.Issuer.IsZero() {
		issuer, signature = canon.String(hex.EncodeToString(b.Issuer.Raw())), canon.String(hex.EncodeToString(b.Signature))
	}
	return canon.Object(
		canon.M("policy", b.Policy.Value()),
		canon.M("issuer_pubkey", issuer),
		canon.M("signature", signature))
}

// Check refuses a bundle that its issuer did not sign with [ErrBundle]; an
// unsigned one is such. Where issuers are expected, a bundle of anybody else is
// refused with [sign.ErrUntrusted].
func (b *Bundle) Check(expected ...sign.PublicKey) error {
	const op = "trajectory.Bundle.Check"
	if b.Issuer.IsZero() {
		return fault.New(ErrBundle, op, "policy %s is not signed", b.Policy.ID())
	}
	msg, err := canon.Encode(b.Policy.Value(), canon.Thymos)
	if err != nil {
		return fault.Wrap(ErrBundle, op, err, "policy %s has no canonical form", b.Policy.ID())
	}
	if !b.Issuer.Verify(msg, b.Signature) {
		return fault.New(ErrBundle, op, "the signature of policy %s does not fit", b.Policy.ID())
	}
	if len(expected) > 0 && !slices.ContainsFunc(expected, func(k sign.PublicKey) bool { return k.ID() == b.Issuer.ID() }) {
		return fault.New(sign.ErrUntrusted, op, "policy %s is signed by %x, who is not among the %d expected issuers", b.Policy.ID(), b.Issuer.Raw(), len(expected))
	}
	return nil
}

// PolicySet is the policies in force, in their order. The zero PolicySet has
// none, and then only [AuthorityRule] rules. It does not change.
type PolicySet struct {
	bundles []Bundle
	hash    canon.Digest
}

// NewPolicySet returns the set of these bundles. It checks no signature, for
// whether an unsigned policy will do is for the caller to say; it refuses two
// policies of one name and version with [ErrPolicy], since a trace could not
// tell them apart.
func NewPolicySet(bundles ...Bundle) (PolicySet, error) {
	const op = "trajectory.NewPolicySet"
	if len(bundles) > MaxPolicies {
		return PolicySet{}, fault.New(ErrPolicy, op, "%d policies, at most %d are allowed", len(bundles), MaxPolicies)
	}
	s := PolicySet{bundles: slices.Clone(bundles)}
	rows := []canon.Value{canon.String(AuthorityRule)}
	seen := map[string]bool{AuthorityRule: true}
	for i := range s.bundles {
		b := &s.bundles[i]
		if id := b.Policy.ID(); seen[id] {
			return PolicySet{}, fault.New(ErrPolicy, op, "policy %s stands twice in the set", id)
		}
		seen[b.Policy.ID()] = true
		rows = append(rows, b.Value().Without("signature"))
	}
	b, err := canon.Encode(canon.Array(rows...), canon.Thymos)
	if err != nil {
		return PolicySet{}, fault.Wrap(ErrPolicy, op, err, "the set has no canonical form")
	}
	s.hash = canon.BLAKE3(b)
	return s, nil
}

// Bundles returns the bundles of the set. They must not be changed.
func (s PolicySet) Bundles() []Bundle { return s.bundles }

// Names returns the name of the built-in rule and of each policy, in order.
func (s PolicySet) Names() []string {
	names := []string{AuthorityRule}
	for i := range s.bundles {
		names = append(names, s.bundles[i].Policy.ID())
	}
	return names
}

// Hash pins the set: names, versions, every rule and every issuer, in order.
// The set without policies has the hash that upstream gives to it.
func (s PolicySet) Hash() canon.Digest {
	if s.hash.IsZero() {
		return UpstreamPolicyHash(s.Names())
	}
	return s.hash
}

// UpstreamPolicyHash is what upstream calls the hash of a policy set: over the
// names and versions alone. It does not see what the rules say, and serves to
// read ledgers that upstream wrote. Names that are not UTF-8 have the zero
// hash, which no ledger declares.
func UpstreamPolicyHash(names []string) canon.Digest {
	b, err := canon.Encode(canon.Strings(names), canon.Thymos)
	if err != nil {
		return canon.Digest{}
	}
	return canon.BLAKE3(b)
}

// Evaluate asks every policy in order and returns who was asked and what was
// decided. A denial ends it. That one policy permits, or wants to ask somebody,
// does not silence another that denies: an approval must not stand for what a
// policy forbids. Of several that ask, the first is heard. This is stricter
// than one bundle with the same rules, in which the first match decides.
//
// The trace begins with [AuthorityRule], which the compiler has held before;
// each policy follows as name@version, and after it the rule of it that matched
// as name@version/rule.
func (s PolicySet) Evaluate(f Fields) Trace {
	t := Trace{Rules: []string{AuthorityRule}, Decision: Ruling{Kind: Permit}}
	for i := range s.bundles {
		p := &s.bundles[i].Policy
		ruling, rule := p.Evaluate(f)
		t.Rules = append(t.Rules, p.ID())
		if rule != "" {
			t.Rules = append(t.Rules, p.ID()+"/"+rule)
		}
		switch {
		case ruling.Kind == Deny:
			t.Decision = ruling
			return t
		case ruling.Kind == RequireApproval && t.Decision.Kind == Permit:
			t.Decision = ruling
		}
	}
	return t
}
