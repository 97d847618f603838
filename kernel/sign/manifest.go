package sign

import (
	"encoding/base64"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of manifests.
const (
	// ErrManifest means that a key manifest, or the chain it stands in, is
	// not well formed. Trust none of its keys.
	ErrManifest fault.Integrity = "sign.bad_manifest"
)

// ManifestType is the media type of a key manifest.
const ManifestType = "application/vnd.reprise.keys.v1+json"

// maxKeys is how many keys a manifest may list.
const maxKeys = 1000

// State is what a manifest says of a key.
type State string

// The states of a key.
const (
	Active  State = "active"  // may sign
	Retired State = "retired" // signed once; what it signed stands, its time is not provable
	Revoked State = "revoked" // its signatures fail
)

// RoleHead is the role of a key that signs heads of ledgers.
const RoleHead = "head"

// Listed is a key in a manifest.
type Listed struct {
	Key   PublicKey
	Role  string
	State State
}

// Manifest is a numbered list of keys, signed by the root key.
type Manifest struct {
	Seq  int64        // from 0, without gaps
	Prev canon.Digest // of the envelope before; zero for 0
	Root PublicKey
	Keys []Listed // sorted by key id
}

// Payload returns the canonical bytes of m.
func (m *Manifest) Payload() ([]byte, error) {
	keys := make([]canon.Value, len(m.Keys))
	for i, k := range m.Keys {
		keys[i] = canon.Object(
			canon.M("id", canon.String(k.Key.ID().String())),
			canon.M("pub", keyValue(k.Key)),
			canon.M("role", canon.String(k.Role)),
			canon.M("state", canon.String(string(k.State))),
		)
	}
	prev := canon.Null()
	if m.Seq > 0 {
		prev = canon.String(m.Prev.String())
	}
	return canon.Encode(canon.Object(
		canon.M("keys", canon.Array(keys...)),
		canon.M("prev", prev),
		canon.M("root", keyValue(m.Root)),
		canon.M("seq", canon.Int(m.Seq)),
		canon.M("v", canon.Int(1)),
	), canon.Native)
}

func keyValue(k PublicKey) canon.Value {
	return canon.String(base64.StdEncoding.EncodeToString(k.SPKI()))
}

func parseKeyValue(v canon.Value) (PublicKey, error) {
	der, err := base64.StdEncoding.Strict().DecodeString(v.Str())
	if err != nil {
		return PublicKey{}, fault.Wrap(ErrKey, "sign.ParseManifest", err, "a key")
	}
	return ParseSPKI(der)
}

// ParseManifest reads the payload of a manifest.
func ParseManifest(payload []byte) (Manifest, error) {
	const op = "sign.ParseManifest"
	bad := func(format string, args ...any) (Manifest, error) {
		return Manifest{}, fault.New(ErrManifest, op, format, args...)
	}
	if err := canon.Check(payload, canon.Native); err != nil {
		return Manifest{}, fault.Wrap(ErrManifest, op, err, "the payload")
	}
	v, err := canon.Parse(payload)
	if err != nil {
		return Manifest{}, fault.Wrap(ErrManifest, op, err, "the payload")
	}
	var m Manifest
	var ok bool
	if m.Seq, ok = v.Get("seq").AsInt(); !ok || m.Seq < 0 || v.Len() != 5 {
		return bad("the members are not keys, prev, root, seq and v")
	}
	if version, ok := v.Get("v").AsInt(); !ok || version != 1 {
		return bad("unknown version")
	}
	if m.Seq > 0 {
		if m.Prev, err = canon.ParseDigest(v.Get("prev").Str()); err != nil {
			return bad("prev is not a digest")
		}
	} else if v.Get("prev").Kind() != canon.KindNull {
		return bad("the first manifest has a predecessor")
	}
	if m.Root, err = parseKeyValue(v.Get("root")); err != nil {
		return Manifest{}, fault.Wrap(ErrManifest, op, err, "the root key")
	}
	if list := v.Get("keys"); list.Kind() != canon.KindArray || list.Len() > maxKeys {
		return bad("keys is not a list of at most %d keys", maxKeys)
	}
	for i, k := range v.Get("keys").Elems() {
		pub, err := parseKeyValue(k.Get("pub"))
		if err != nil {
			return Manifest{}, fault.Wrap(ErrManifest, op, err, "keys/%d", i)
		}
		l := Listed{Key: pub, Role: k.Get("role").Str(), State: State(k.Get("state").Str())}
		if k.Len() != 4 || k.Get("id").Str() != pub.ID().String() || l.Role == "" {
			return bad("keys/%d is not {id, pub, role, state} of one key", i)
		}
		if l.State != Active && l.State != Retired && l.State != Revoked {
			return bad("keys/%d has the unknown state %q", i, l.State)
		}
		if _, twice := m.find(pub.ID()); twice {
			return bad("keys/%d is there twice", i)
		}
		m.Keys = append(m.Keys, l)
	}
	return m, nil
}

// Keyring is what a chain of manifests says of keys.
type Keyring struct {
	last    Manifest
	head    canon.Digest
	count   int
	trusted bool
}

// NewKeyring checks a chain of manifests, oldest first. Where roots are
// given, the chain must be signed by one of them, else the error is
// [ErrUntrusted]; without roots the chain is checked against itself and the
// ring is not trusted. An empty chain gives an empty ring.
func NewKeyring(roots []PublicKey, manifests [][]byte) (*Keyring, error) {
	const op = "sign.NewKeyring"
	r := &Keyring{}
	for i, b := range manifests {
		e, err := ParseEnvelope(b)
		if err != nil {
			return nil, fault.Wrap(ErrManifest, op, err, "manifest %d", i)
		}
		m, err := ParseManifest(e.Payload)
		if err != nil {
			return nil, err
		}
		if err := e.Check(m.Root, ManifestType); err != nil {
			return nil, fault.Wrap(ErrManifest, op, err, "manifest %d", i)
		}
		if m.Seq != int64(i) || i > 0 && (m.Prev != r.head || m.Root.ID() != r.last.Root.ID()) {
			return nil, fault.New(ErrManifest, op, "manifest %d does not follow the one before it", i)
		}
		if err := r.last.check(&m); err != nil {
			return nil, err
		}
		r.last, r.head, r.count = m, Digest(b), i+1
	}
	if len(roots) == 0 || r.count == 0 {
		return r, nil
	}
	for _, root := range roots {
		r.trusted = r.trusted || root.ID() == r.last.Root.ID()
	}
	if !r.trusted {
		return r, fault.New(ErrUntrusted, op, "the manifests are signed by root %s, which is none of those you trust", r.last.Root.ID())
	}
	return r, nil
}

// ErrUntrusted means that evidence is signed, but by nobody whom the reader
// named. Get the right public key from its owner by another way.
const ErrUntrusted fault.Diverged = "sign.untrusted_root"

// check refuses a next manifest that forgets a key or brings one back.
func (m *Manifest) check(next *Manifest) error {
	for _, k := range m.Keys {
		now, ok := next.find(k.Key.ID())
		if !ok || now.Role != k.Role || rank(now.State) < rank(k.State) {
			return fault.New(ErrManifest, "sign.NewKeyring", "manifest %d forgets key %s or gives back what was taken from it", next.Seq, k.Key.ID())
		}
	}
	return nil
}

func rank(s State) int {
	switch s {
	case Active:
		return 0
	case Retired:
		return 1
	default:
		return 2
	}
}

func (m *Manifest) find(id canon.Digest) (Listed, bool) {
	for _, k := range m.Keys {
		if k.Key.ID() == id {
			return k, true
		}
	}
	return Listed{}, false
}

// Trusted reports whether the ring hangs on a root that the reader named.
func (r *Keyring) Trusted() bool { return r != nil && r.trusted }

// Find returns what the last manifest says of a key.
func (r *Keyring) Find(id canon.Digest) (Listed, bool) {
	if r == nil {
		return Listed{}, false
	}
	return r.last.find(id)
}

// Last returns the last manifest, the digest of its envelope and how many
// there are. Without manifests count is 0.
func (r *Keyring) Last() (m Manifest, digest canon.Digest, count int) {
	return r.last, r.head, r.count
}
