package sign

import (
	"bytes"
	"crypto/ed25519"

	"filippo.io/edwards25519"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of keys.
const (
	// ErrKey means that bytes are not an acceptable Ed25519 key. Get the key
	// again from its owner.
	ErrKey fault.Invalid = "sign.bad_key"
	// ErrMAC means that a message authentication code does not fit: the bytes
	// were changed, or made under another key. Trust them no longer.
	ErrMAC fault.Integrity = "sign.bad_mac"
)

// spkiPrefix is the DER encoding of an Ed25519 SubjectPublicKeyInfo up to the
// 32 bytes of the key (RFC 8410).
var spkiPrefix = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// PublicKey is an Ed25519 key that passed the enrolment check. The zero
// PublicKey verifies nothing.
type PublicKey struct {
	key [ed25519.PublicKeySize]byte
	id  canon.Digest
	ok  bool
}

// ParseKey checks the 32 bytes of an Ed25519 public key: the point must
// decode, encode to the same bytes and not be of small order.
func ParseKey(raw []byte) (PublicKey, error) {
	const op = "sign.ParseKey"
	if len(raw) != ed25519.PublicKeySize {
		return PublicKey{}, fault.New(ErrKey, op, "an Ed25519 key has 32 bytes, not %d", len(raw))
	}
	p, err := new(edwards25519.Point).SetBytes(raw)
	if err != nil {
		return PublicKey{}, fault.Wrap(ErrKey, op, err, "not a point of the curve")
	}
	if !bytes.Equal(p.Bytes(), raw) {
		return PublicKey{}, fault.New(ErrKey, op, "the encoding is not canonical")
	}
	if new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return PublicKey{}, fault.New(ErrKey, op, "the key is of small order: one signature would fit many messages")
	}
	k := PublicKey{ok: true}
	copy(k.key[:], raw)
	k.id = canon.SHA256(k.SPKI())
	return k, nil
}

// ParseSPKI reads the DER form that PEM files hold.
func ParseSPKI(der []byte) (PublicKey, error) {
	if len(der) != len(spkiPrefix)+ed25519.PublicKeySize || !bytes.HasPrefix(der, spkiPrefix) {
		return PublicKey{}, fault.New(ErrKey, "sign.ParseSPKI", "not the SubjectPublicKeyInfo of an Ed25519 key")
	}
	return ParseKey(der[len(spkiPrefix):])
}

// SPKI returns the DER form of k.
func (k PublicKey) SPKI() []byte {
	return append(append(make([]byte, 0, 44), spkiPrefix...), k.key[:]...)
}

// Raw returns the 32 bytes of k.
func (k PublicKey) Raw() []byte { return append([]byte(nil), k.key[:]...) }

// ID returns the key id: SHA-256 over the SPKI form.
func (k PublicKey) ID() canon.Digest { return k.id }

// IsZero reports whether k is the zero key.
func (k PublicKey) IsZero() bool { return !k.ok }

// Verify reports whether sig is k's signature over msg.
func (k PublicKey) Verify(msg, sig []byte) bool {
	return k.ok && len(sig) == ed25519.SignatureSize && ed25519.Verify(k.key[:], msg, sig)
}

// Signer makes signatures. It may stand for a key that lives elsewhere.
type Signer interface {
	// Public returns the key that verifies the signatures.
	Public() PublicKey
	// Sign returns an Ed25519 signature over msg.
	Sign(msg []byte) ([]byte, error)
}

// PrivateKey is a [Signer] whose key is in memory.
type PrivateKey struct {
	key ed25519.PrivateKey
	pub PublicKey
}

// NewPrivateKey returns the key of a 32-byte seed, which must come from a
// source of true randomness.
func NewPrivateKey(seed []byte) (*PrivateKey, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fault.New(ErrKey, "sign.NewPrivateKey", "a seed has 32 bytes, not %d", len(seed))
	}
	key := ed25519.NewKeyFromSeed(seed)
	pub, err := ParseKey(key[ed25519.SeedSize:])
	if err != nil {
		return nil, err
	}
	return &PrivateKey{key: key, pub: pub}, nil
}

// Public implements [Signer].
func (k *PrivateKey) Public() PublicKey { return k.pub }

// Sign implements [Signer].
func (k *PrivateKey) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(k.key, msg), nil }

// Seed returns the 32 bytes that [NewPrivateKey] takes.
func (k *PrivateKey) Seed() []byte { return k.key.Seed() }

// minMACKey is the least length of a MAC key, in bytes.
const minMACKey = 16

// MAC returns the full HMAC-SHA256 of the parts under key, which must be a
// key for this one purpose.
func MAC(key []byte, parts ...[]byte) (canon.Digest, error) {
	if len(key) < minMACKey {
		return canon.Digest{}, fault.New(ErrKey, "sign.MAC", "a key of %d bytes is too short; the least is %d", len(key), minMACKey)
	}
	return canon.MAC(key, parts...), nil
}

// CheckMAC compares in constant time. A tag of another length, an empty one
// included, fails.
func CheckMAC(key, tag []byte, parts ...[]byte) error {
	want, err := MAC(key, parts...)
	if err != nil {
		return err
	}
	if !equal(want[:], tag) {
		return fault.New(ErrMAC, "sign.CheckMAC", "the code does not fit these bytes under this key")
	}
	return nil
}
