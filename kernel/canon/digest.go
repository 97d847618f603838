package canon

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/zeebo/blake3"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Digest is a 32-byte digest.
type Digest [32]byte

// String returns the digest as 64 lower-case hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the digest is all zero, which stands for none.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns the text of [Digest.String].
func (d Digest) MarshalText() ([]byte, error) { return AppendHex(nil, d), nil }

// UnmarshalText reads what [ParseDigest] reads.
func (d *Digest) UnmarshalText(text []byte) error {
	parsed, err := ParseDigest(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// AppendHex appends the text of [Digest.String].
func AppendHex(dst []byte, d Digest) []byte { return hex.AppendEncode(dst, d[:]) }

// ParseDigest reads 64 lower-case hexadecimal digits, and refuses anything
// else, capitals too, with [ErrDigest]: a digest has one spelling.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 2*len(d) {
		return Digest{}, fault.New(ErrDigest, "canon.ParseDigest", "%s is not 64 lower-case hexadecimal digits", excerpt(s))
	}
	for i := range d {
		high, low := unhex(s[2*i]), unhex(s[2*i+1])
		if high > 15 || low > 15 || isCapital(s[2*i]) || isCapital(s[2*i+1]) {
			return Digest{}, fault.New(ErrDigest, "canon.ParseDigest", "%s is not 64 lower-case hexadecimal digits", excerpt(s))
		}
		d[i] = high<<4 | low
	}
	return d, nil
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'F' }

// SHA256 returns the SHA-256 of b.
func SHA256(b []byte) Digest { return sha256.Sum256(b) }

// BLAKE3 returns the BLAKE3-256 of b, by which [Thymos] names its contents.
func BLAKE3(b []byte) Digest { return blake3.Sum256(b) }

// onStack is how many bytes are put together on the stack and hashed at once,
// which is faster than a hasher and allocates nothing.
const onStack = 2048

// small spares the nodes of a tree and the like the clearing of a long buffer.
const small = 128

// Hash returns SHA-256(tag ‖ parts). The tag keeps digests of different
// purposes apart; it ends in a newline, which no tag contains elsewhere. Parts
// are not delimited: pass at most one of variable length.
func Hash(tag string, parts ...[]byte) Digest {
	size := len(tag)
	for _, p := range parts {
		size += len(p)
	}
	if size <= small {
		var buf [small]byte
		b := append(buf[:0], tag...)
		for _, p := range parts {
			b = append(b, p...)
		}
		return sha256.Sum256(b)
	}
	if size <= onStack {
		var buf [onStack]byte
		b := append(buf[:0], tag...)
		for _, p := range parts {
			b = append(b, p...)
		}
		return sha256.Sum256(b)
	}
	h := sha256.New()
	h.Write([]byte(tag))
	for _, p := range parts {
		h.Write(p)
	}
	var d Digest
	h.Sum(d[:0])
	return d
}

// Salt is the key of a binding. It is drawn at random for each body or
// attachment and kept with it.
type Salt [32]byte

// Bind returns HMAC-SHA256(salt, b): a commitment to b that reveals nothing
// about it to who lacks the salt, and cannot be opened to other bytes.
func Bind(salt *Salt, b []byte) Digest {
	return hmacSum(salt[:], b)
}

// MAC returns HMAC-SHA256(key, parts). Parts are not delimited.
func MAC(key []byte, parts ...[]byte) Digest {
	return hmacSum(key, parts...)
}

const blockSize = sha256.BlockSize

// pad returns the key of HMAC, one block long, with every byte combined with x.
func pad(key []byte, x byte) [blockSize]byte {
	var block [blockSize]byte
	if len(key) > blockSize {
		sum := sha256.Sum256(key)
		copy(block[:], sum[:])
	} else {
		copy(block[:], key)
	}
	for i := range block {
		block[i] ^= x
	}
	return block
}

const (
	innerPad = 0x36
	outerPad = 0x5c
)

func hmacSum(key []byte, parts ...[]byte) Digest {
	size := blockSize
	for _, p := range parts {
		size += len(p)
	}
	block := pad(key, innerPad)
	var inner Digest
	if size <= onStack {
		var buf [onStack]byte
		b := append(buf[:0], block[:]...)
		for _, p := range parts {
			b = append(b, p...)
		}
		inner = sha256.Sum256(b)
	} else {
		h := sha256.New()
		h.Write(block[:])
		for _, p := range parts {
			h.Write(p)
		}
		h.Sum(inner[:0])
	}
	return outer(key, inner)
}

func outer(key []byte, inner Digest) Digest {
	var b [blockSize + len(inner)]byte
	block := pad(key, outerPad)
	copy(b[:], block[:])
	copy(b[blockSize:], inner[:])
	return sha256.Sum256(b[:])
}
