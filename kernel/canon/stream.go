package canon

import (
	"crypto/sha256"
	"hash"
)

// Stream computes [SHA256] over bytes that come in pieces. It is not for
// concurrent use.
type Stream struct{ h hash.Hash }

// NewStream returns a Stream that has seen no bytes.
func NewStream() *Stream { return &Stream{h: sha256.New()} }

// Write adds bytes. It never fails.
func (s *Stream) Write(p []byte) (int, error) { return s.h.Write(p) }

// Sum returns the digest of all bytes written. More can be written afterwards.
func (s *Stream) Sum() (d Digest) {
	s.h.Sum(d[:0])
	return d
}
