// Package packed is how stores compress what they keep: a byte that says how,
// then the bytes.
//
//	0  as they are
//	1  one zstd frame
package packed

import (
	"github.com/klauspost/compress/zstd"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrData means that stored bytes cannot be unpacked: they were damaged,
// changed by hand or written by a newer version. Restore the store from a
// copy; what else it holds can still be read.
const ErrData fault.Integrity = "store.bad_data"

const (
	whole  = 0
	zipped = 1
)

const (
	// minZipped is the size below which compression gains nothing.
	minZipped = 64
	// window is how far back the compressor looks.
	window = 256 << 10
)

// MaxUnpacked limits what anything unpacks to, whatever it claims.
const MaxUnpacked = 32 << 20

// Packer packs and unpacks. It is safe for concurrent use.
type Packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// New returns a Packer, which holds memory until it is closed.
func New() (*Packer, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxUnpacked), zstd.WithDecoderConcurrency(0))
	if err != nil {
		return nil, err
	}
	return &Packer{enc: enc, dec: dec}, nil
}

// Close frees the memory. Nothing may be packed or unpacked afterwards.
func (p *Packer) Close() {
	_ = p.enc.Close()
	p.dec.Close()
}

// Pack returns src in the smaller of its forms, in new memory.
func (p *Packer) Pack(src []byte) []byte {
	if len(src) >= minZipped {
		dst := p.enc.EncodeAll(src, append(make([]byte, 0, len(src)/2+64), zipped))
		if len(dst) <= len(src) {
			return dst
		}
	}
	return append(append(make([]byte, 0, len(src)+1), whole), src...)
}

// Unpack returns what Pack was given, if that is at most limit bytes. It may
// be a part of src.
func (p *Packer) Unpack(src []byte, limit int) ([]byte, error) {
	const op = "packed.Unpack"
	if len(src) == 0 {
		return nil, fault.New(ErrData, op, "no bytes at all")
	}
	out := src[1:]
	switch src[0] {
	case whole:
	case zipped:
		var err error
		if out, err = p.dec.DecodeAll(src[1:], nil); err != nil {
			return nil, fault.Wrap(ErrData, op, err, "a zstd frame of %d bytes", len(src)-1)
		}
	default:
		return nil, fault.New(ErrData, op, "packed in the unknown form %d", src[0])
	}
	if len(out) > limit {
		return nil, fault.New(ErrData, op, "%d bytes are over the limit of %d", len(out), limit)
	}
	return out, nil
}
