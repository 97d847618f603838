package ledger

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// HeadType is the media type of a signed head.
const HeadType = "application/vnd.reprise.head.v1+json"

// ErrHead means that a head cannot be read, or that it says other than the
// entries. Trust neither.
const ErrHead fault.Integrity = "ledger.bad_head"

// Head is a statement about the first Count entries of a ledger.
type Head struct {
	Run   RunID
	Count int64
	Last  canon.Digest // id of entry Count-1
	Root  canon.Digest // RFC 6962 root over the ids
	T     string       // when it was signed, as the signer says
}

// Payload returns the canonical bytes of h.
func (h *Head) Payload() []byte {
	b, err := canon.Encode(canon.Object(
		canon.M("count", canon.Int(h.Count)),
		canon.M("last", canon.String(h.Last.String())),
		canon.M("root", canon.String(h.Root.String())),
		canon.M("run", canon.String(string(h.Run))),
		canon.M("t", canon.String(h.T)),
		canon.M("v", canon.Int(1)),
	), canon.Native)
	if err != nil {
		panic(fault.Wrap(fault.ErrUnknown, "ledger.Head", err, "a head is always encodable"))
	}
	return b
}

// Sign returns the envelope of h.
func (h *Head) Sign(s sign.Signer) ([]byte, error) {
	e, err := sign.Seal(s, HeadType, h.Payload())
	if err != nil {
		return nil, err
	}
	return e.Encode(), nil
}

// ParseHead reads an envelope that holds a head. It does not check the
// signature.
func ParseHead(envelope []byte) (Head, sign.Envelope, error) {
	const op = "ledger.ParseHead"
	e, err := sign.ParseEnvelope(envelope)
	if err != nil {
		return Head{}, e, err
	}
	if e.Type != HeadType {
		return Head{}, e, fault.New(ErrHead, op, "a statement of type %q is not a head", e.Type)
	}
	v, err := canon.Parse(e.Payload)
	if err != nil {
		return Head{}, e, fault.Wrap(ErrHead, op, err, "the payload")
	}
	h := Head{Run: RunID(v.Get("run").Str()), T: v.Get("t").Str()}
	var ok bool
	if h.Count, ok = v.Get("count").AsInt(); !ok || h.Count < 1 || h.Count > maxSafe {
		return Head{}, e, fault.New(ErrHead, op, "count is not a number of entries")
	}
	if h.Last, err = canon.ParseDigest(v.Get("last").Str()); err != nil {
		return Head{}, e, fault.Wrap(ErrHead, op, err, "last")
	}
	if h.Root, err = canon.ParseDigest(v.Get("root").Str()); err != nil {
		return Head{}, e, fault.Wrap(ErrHead, op, err, "root")
	}
	if string(h.Payload()) != string(e.Payload) {
		return Head{}, e, fault.New(ErrHead, op, "the payload is not a head of version 1 in canonical form")
	}
	return h, e, nil
}
