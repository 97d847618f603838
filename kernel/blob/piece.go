package blob

import (
	"iter"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Piece is a part of an attachment as its recipe has it: bytes in place, or a
// chunk.
type Piece struct {
	Literal []byte // nil for a chunk; not to be changed or kept
	ID      canon.Digest
	Length  int64
}

// Pieces yields what p is put together from, in order, nested recipes opened.
// Of chunks it fetches only those that hold recipes. It checks no lengths;
// [Rebuild] does.
func Pieces(p Part, get Get) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		ops, err := topOps(p)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		pieces(ops, get, 0, yield)
	}
}

func pieces(ops []byte, get Get, depth int, yield func(Piece, error) bool) bool {
	for len(ops) > 0 {
		o, rest, err := nextOp(ops)
		ops = rest
		var nested []byte
		if err == nil && o.kind == opRecipe {
			nested, err = nestedOps(o, get, depth)
		}
		switch {
		case err != nil:
			yield(Piece{}, err)
			return false
		case o.kind == opRecipe:
			if !pieces(nested, get, depth+1, yield) {
				return false
			}
		case !yield(Piece{Literal: o.literal, ID: o.id, Length: o.length}, nil):
			return false
		}
	}
	return true
}
