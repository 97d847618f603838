package canon

import (
	"crypto/sha256"
	"hash"
)

// Binder computes [Bind] over bytes that come in pieces. It can be used again
// and again and then allocates nothing. It is not for concurrent use.
type Binder struct {
	salt  Salt
	h     hash.Hash
	block [blockSize]byte // kept here, since what is passed to h escapes
	inner Digest
}

// NewBinder returns a Binder that has seen no bytes.
func NewBinder(salt *Salt) *Binder {
	b := &Binder{h: sha256.New()}
	b.Reset(salt)
	return b
}

// Reset begins anew with the salt given.
func (b *Binder) Reset(salt *Salt) {
	b.salt = *salt
	b.h.Reset()
	b.block = pad(b.salt[:], innerPad)
	b.h.Write(b.block[:])
}

// Write adds bytes. It never fails.
func (b *Binder) Write(p []byte) (int, error) { return b.h.Write(p) }

// Sum returns the binding of all bytes written since the last Reset. More can
// be written afterwards.
func (b *Binder) Sum() Digest {
	b.h.Sum(b.inner[:0])
	return outer(b.salt[:], b.inner)
}
