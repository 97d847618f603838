package sign

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of statements.
const (
	// ErrEnvelope means that bytes are not a signed statement in its one
	// spelling. Trust it no longer.
	ErrEnvelope fault.Integrity = "sign.bad_envelope"
	// ErrSignature means that a signature does not fit its statement. Trust
	// the statement no longer.
	ErrSignature fault.Integrity = "sign.bad_signature"
)

// MaxEnvelope is the size limit of an envelope, in bytes.
const MaxEnvelope = 1 << 20

// Envelope is a DSSE envelope with one signature.
type Envelope struct {
	Type    string // media type of the payload
	Payload []byte
	KeyID   canon.Digest
	Sig     []byte
}

func equal(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }

// pae is the pre-authentication encoding of DSSE version 1.
func pae(typ string, payload []byte) []byte {
	b := make([]byte, 0, len(typ)+len(payload)+40)
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(typ)), 10)
	b = append(b, ' ')
	b = append(b, typ...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, ' ')
	return append(b, payload...)
}

// Seal signs a payload.
func Seal(s Signer, typ string, payload []byte) (Envelope, error) {
	sig, err := s.Sign(pae(typ, payload))
	if err != nil {
		return Envelope{}, err
	}
	return Envelope{Type: typ, Payload: payload, KeyID: s.Public().ID(), Sig: sig}, nil
}

// Encode returns the one spelling of e: canonical JSON in the form of DSSE.
func (e *Envelope) Encode() []byte {
	b64 := base64.StdEncoding
	b := make([]byte, 0, len(e.Payload)*4/3+len(e.Type)+320)
	b = append(b, `{"payload":"`...)
	b = b64.AppendEncode(b, e.Payload)
	b = append(b, `","payloadType":`...)
	b = canon.AppendString(b, e.Type)
	b = append(b, `,"signatures":[{"keyid":"`...)
	b = canon.AppendHex(b, e.KeyID)
	b = append(b, `","sig":"`...)
	b = b64.AppendEncode(b, e.Sig)
	return append(b, `"}]}`...)
}

// ParseEnvelope reads what [Envelope.Encode] writes and nothing else.
func ParseEnvelope(b []byte) (Envelope, error) {
	const op = "sign.ParseEnvelope"
	if len(b) > MaxEnvelope {
		return Envelope{}, fault.New(ErrEnvelope, op, "%d bytes are over the limit of %d", len(b), MaxEnvelope)
	}
	v, err := canon.Parse(b)
	if err != nil {
		return Envelope{}, fault.Wrap(ErrEnvelope, op, err, "not JSON")
	}
	first := v.Get("signatures").At(0)
	e := Envelope{Type: v.Get("payloadType").Str()}
	strict := base64.StdEncoding.Strict()
	if e.Payload, err = strict.DecodeString(v.Get("payload").Str()); err != nil {
		return Envelope{}, fault.Wrap(ErrEnvelope, op, err, "the payload")
	}
	if e.Sig, err = strict.DecodeString(first.Get("sig").Str()); err != nil {
		return Envelope{}, fault.Wrap(ErrEnvelope, op, err, "the signature")
	}
	if e.KeyID, err = canon.ParseDigest(first.Get("keyid").Str()); err != nil {
		return Envelope{}, fault.Wrap(ErrEnvelope, op, err, "the key id")
	}
	if !bytes.Equal(e.Encode(), b) {
		return Envelope{}, fault.New(ErrEnvelope, op, "not in canonical form: one signature, canonical JSON, no other member")
	}
	return e, nil
}

// Check reports whether e is of that type and signed by k. An envelope that
// names another key, or has no signature, fails.
func (e *Envelope) Check(k PublicKey, typ string) error {
	const op = "sign.Check"
	if e.Type != typ {
		return fault.New(ErrEnvelope, op, "a statement of type %q stands where %q is asked for", e.Type, typ)
	}
	if e.KeyID != k.ID() || !k.Verify(pae(e.Type, e.Payload), e.Sig) {
		return fault.New(ErrSignature, op, "the signature does not fit the statement under key %s", k.ID())
	}
	return nil
}

// Digest names an envelope: SHA-256 over its bytes with a tag.
func Digest(envelope []byte) canon.Digest {
	return canon.Hash("reprise/statement/v1\n", envelope)
}
