package s3blob

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha512"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// sealInfo separates the key that seals from what else a scope's key is used
// for. Ids of chunks are HMAC-SHA256 under it; this is HKDF with SHA-512.
const sealInfo = "reprise/s3blob/v1"

// sealer seals the chunks of one scope.
type sealer struct {
	scope blob.Scope
	gcm   cipher.AEAD // draws a fresh nonce for each chunk and puts it in front
	pack  *packed.Packer
}

func (s *Store) sealer(sc blob.Scope) (*sealer, error) {
	const op = "s3blob.seal"
	key, err := hkdf.Key(sha512.New, sc.Key[:], nil, sealInfo, 32)
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", sc.ID)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", sc.ID)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", sc.ID)
	}
	return &sealer{sc, gcm, s.packer}, nil
}

// maxSealed is the most that a chunk can be in the bucket.
const maxSealed = blob.MaxChunk + 1 + 64

func (s *sealer) seal(c *blob.Chunk) []byte {
	return s.gcm.Seal(nil, nil, s.pack.Pack(c.Bytes), c.ID[:])
}

// open returns the bytes of the chunk with that id, or [ErrContent].
func (s *sealer) open(id canon.Digest, sealed []byte) ([]byte, error) {
	const op = "s3blob.Get"
	raw, err := s.gcm.Open(nil, nil, sealed, id[:])
	if err == nil {
		raw, err = s.pack.Unpack(raw, blob.MaxChunk)
	}
	if err != nil {
		return nil, fault.Wrap(ErrContent, op, err, "chunk %s of scope %q", id, s.scope.ID)
	}
	if canon.MAC(s.scope.Key[:], raw) != id {
		return nil, fault.New(ErrContent, op, "chunk %s of scope %q holds other bytes than its id says", id, s.scope.ID)
	}
	return raw, nil
}
