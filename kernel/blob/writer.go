package blob

import (
	"encoding/binary"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// InlineMax is the size up to which an attachment stands in its recipe as it
// is, in bytes: below it a chunk would cost more than it can save.
const InlineMax = 512

const (
	recipeVersion = 1
	opBytes       = 0
	opChunk       = 1
	opRecipe      = 2

	// A piece shorter than minPiece stands in the recipe: as a chunk it would
	// take more room, not less.
	minPiece = 96

	// A list of operations longer than maxOps is cut into chunks of between
	// minGroup and maxGroup operations.
	maxOps   = 24
	minGroup = 8
	maxGroup = 128
	groupIn  = 32 // a group ends at one operation in so many
)

// Part is how one attachment is stored. The salt belongs to the bytes: who
// has both can check the commitment, who has neither learns nothing from it.
type Part struct {
	Scope  string
	Salt   canon.Salt
	Size   int64
	Recipe []byte // nil where the attachment is withheld or erased
}

// Emit takes a chunk. It may see the same chunk more than once, and must not
// keep the bytes after it returns unless it copies them.
type Emit func(Chunk) error

// Writer cuts the bytes of one attachment. It is not safe for concurrent use.
// A Writer may be used again after [Writer.Reset].
type Writer struct {
	scope Scope
	emit  Emit
	salt  canon.Salt
	bind  *canon.Binder
	split splitter
	buf   []byte
	ops   []op
	size  int64
	apart bool
}

type op struct {
	kind    byte
	length  int64
	id      canon.Digest
	literal []byte
}

// NewWriter returns a writer for one attachment. JSON text is cut between
// array members if isJSON is set; a wrong hint costs space, never bytes.
func NewWriter(scope Scope, salt canon.Salt, isJSON bool, emit Emit) *Writer {
	w := &Writer{}
	w.Reset(scope, salt, isJSON, emit)
	return w
}

// Reset makes w as if it had come from [NewWriter], keeping its memory.
func (w *Writer) Reset(scope Scope, salt canon.Salt, isJSON bool, emit Emit) {
	if w.bind == nil {
		w.bind = canon.NewBinder(&salt)
	} else {
		w.bind.Reset(&salt)
	}
	w.scope, w.salt, w.emit = scope, salt, emit
	w.split = splitter{json: isJSON}
	w.buf, w.ops, w.size, w.apart = w.buf[:0], w.ops[:0], 0, false
}

// Apart keeps every byte of the attachment in chunks, however few there are.
// A recipe stays when its scope is erased; what is to be erased without its
// entry must not stand in it. It is called before the first Write.
func (w *Writer) Apart() { w.apart = true }

// Write takes the next bytes. The error is that of [Emit].
func (w *Writer) Write(p []byte) (int, error) {
	_, _ = w.bind.Write(p)
	total := len(p)
	w.size += int64(total)
	for len(p) > 0 {
		n, done := w.split.next(p)
		if !done {
			w.buf = append(w.buf, p[:n]...)
			return total, nil
		}
		piece := p[:n]
		if len(w.buf) > 0 {
			w.buf = append(w.buf, piece...)
			piece = w.buf
		}
		if err := w.chunk(piece); err != nil {
			return 0, err
		}
		w.buf = w.buf[:0]
		p = p[n:]
	}
	return total, nil
}

// Close ends the attachment and returns how it is stored and the commitment
// to its bytes.
func (w *Writer) Close() (Part, canon.Digest, error) {
	part := Part{Scope: w.scope.ID, Salt: w.salt, Size: w.size}
	if len(w.ops) == 0 && len(w.buf) <= InlineMax && (!w.apart || len(w.buf) == 0) {
		part.Recipe = append([]byte{recipeVersion}, appendBytesOp(nil, w.buf)...)
		return part, w.bind.Sum(), nil
	}
	if len(w.buf) > 0 {
		if err := w.chunk(w.buf); err != nil {
			return Part{}, canon.Digest{}, err
		}
	}
	ops, err := w.fold(w.ops)
	if err != nil {
		return Part{}, canon.Digest{}, err
	}
	part.Recipe = appendOps([]byte{recipeVersion}, ops)
	return part, w.bind.Sum(), nil
}

func (w *Writer) chunk(p []byte) error {
	if len(p) < minPiece && !w.apart {
		w.ops = append(w.ops, op{kind: opBytes, length: int64(len(p)), literal: append([]byte(nil), p...)})
		return nil
	}
	id := canon.MAC(w.scope.Key[:], p)
	w.ops = append(w.ops, op{kind: opChunk, length: int64(len(p)), id: id})
	return w.emit(Chunk{Scope: w.scope.ID, ID: id, Bytes: p})
}

// fold cuts a long list of operations into chunks until a short one is left.
func (w *Writer) fold(ops []op) ([]op, error) {
	for len(ops) > maxOps {
		var up []op
		for len(ops) > 0 {
			n := groupEnd(ops)
			b := appendOps(nil, ops[:n])
			id := canon.MAC(w.scope.Key[:], b)
			if err := w.emit(Chunk{Scope: w.scope.ID, ID: id, Bytes: b}); err != nil {
				return nil, err
			}
			var length int64
			for _, o := range ops[:n] {
				length += o.length
			}
			up = append(up, op{kind: opRecipe, length: length, id: id})
			ops = ops[n:]
		}
		ops = up
	}
	return ops, nil
}

func groupEnd(ops []op) int {
	for i, o := range ops {
		if i+1 >= maxGroup || i+1 >= minGroup && o.kind != opBytes && o.id[31]%groupIn == 0 {
			return i + 1
		}
	}
	return len(ops)
}

func appendOps(dst []byte, ops []op) []byte {
	for _, o := range ops {
		dst = append(dst, o.kind)
		dst = binary.AppendUvarint(dst, uint64(o.length))
		if o.kind == opBytes {
			dst = append(dst, o.literal...)
		} else {
			dst = append(dst, o.id[:]...)
		}
	}
	return dst
}

func appendBytesOp(dst, p []byte) []byte {
	if len(p) == 0 {
		return dst
	}
	dst = append(dst, opBytes)
	dst = binary.AppendUvarint(dst, uint64(len(p)))
	return append(dst, p...)
}

// Inline returns the part of a small attachment without a writer. It must not
// be larger than [InlineMax].
func Inline(scope string, salt canon.Salt, p []byte) (Part, canon.Digest) {
	if len(p) > InlineMax {
		panic(fault.New(fault.ErrUnknown, "blob.Inline", "%d bytes are over InlineMax", len(p)))
	}
	r := append(make([]byte, 0, len(p)+4), recipeVersion)
	return Part{Scope: scope, Salt: salt, Size: int64(len(p)), Recipe: appendBytesOp(r, p)}, canon.Bind(&salt, p)
}
