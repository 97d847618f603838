package bundle

import (
	"encoding/binary"

	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	pieceBytes  = 0
	pieceChunks = 1
)

// maxSize is the largest attachment, as ledger.MaxHeader's integers allow.
const maxSize = 1<<53 - 1

// piece is bytes in place, or a run of chunks.
type piece struct {
	literal      []byte // nil for chunks
	first, count int64
}

// nextPiece reads the piece at the front of p.
func nextPiece(p []byte) (x piece, rest []byte, err error) {
	switch p[0] {
	case pieceBytes:
		n, rest, ok := number(p[1:])
		if !ok || n == 0 || n > int64(len(rest)) {
			return x, nil, fault.New(ErrMalformed, "bundle.Open", "an attachment ends inside its bytes, or holds none")
		}
		return piece{literal: rest[:n]}, rest[n:], nil
	case pieceChunks:
		first, rest, ok1 := number(p[1:])
		count, rest, ok2 := number(rest)
		if !ok1 || !ok2 || count == 0 || first > maxSize-count {
			return x, nil, fault.New(ErrMalformed, "bundle.Open", "an attachment names chunks that cannot be")
		}
		return piece{first: first, count: count}, rest, nil
	default:
		return x, nil, fault.New(ErrMalformed, "bundle.Open", "an attachment has a piece of the unknown kind %d", p[0])
	}
}

// number reads an unsigned varint in its shortest form.
func number(p []byte) (n int64, rest []byte, ok bool) {
	if len(p) > 0 && p[0] < 0x80 {
		return int64(p[0]), p[1:], true
	}
	u, size := binary.Uvarint(p)
	if size <= 1 || u > maxSize || p[size-1] == 0 {
		return 0, nil, false
	}
	return int64(u), p[size:], true
}

// pieceWriter writes pieces in their one spelling: what can be one piece is.
type pieceWriter struct {
	out          []byte
	literal      []byte
	first, count int64
}

func (w *pieceWriter) reset() {
	w.out, w.literal, w.count = w.out[:0], w.literal[:0], 0
}

func (w *pieceWriter) bytes(p []byte) {
	if len(p) == 0 {
		return
	}
	w.endChunks()
	w.literal = append(w.literal, p...)
}

func (w *pieceWriter) chunk(ordinal int64) {
	w.endBytes()
	if w.count > 0 && ordinal == w.first+w.count {
		w.count++
		return
	}
	w.endChunks()
	w.first, w.count = ordinal, 1
}

func (w *pieceWriter) endBytes() {
	if len(w.literal) > 0 {
		w.out = binary.AppendUvarint(append(w.out, pieceBytes), uint64(len(w.literal)))
		w.out = append(w.out, w.literal...)
		w.literal = w.literal[:0]
	}
}

func (w *pieceWriter) endChunks() {
	if w.count > 0 {
		w.out = binary.AppendUvarint(append(w.out, pieceChunks), uint64(w.first))
		w.out = binary.AppendUvarint(w.out, uint64(w.count))
		w.count = 0
	}
}

// end returns the pieces written since reset.
func (w *pieceWriter) end() []byte {
	w.endBytes()
	w.endChunks()
	return w.out
}
