package blob

import (
	"encoding/binary"
	"io"
	"iter"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of this package.
const (
	// ErrNotFound means that a chunk is not in the store. The attachment
	// cannot be rebuilt; restore the store from a copy.
	ErrNotFound fault.Integrity = "blob.not_found"
	// ErrScopeNotFound means that the key of a scope is not in the store: it
	// was erased, or the store is not the one that wrote the record.
	ErrScopeNotFound fault.NotFound = "blob.scope_not_found"
	// ErrRecipe means that a stored recipe cannot be read. Trust the entry no
	// longer.
	ErrRecipe fault.Integrity = "blob.bad_recipe"
	// ErrSize means that a rebuilt attachment, or one of its chunks, has
	// another length than its entry says. Trust the entry no longer.
	ErrSize fault.Integrity = "blob.size_mismatch"
	// ErrTooLarge means that an attachment is over the limit of the caller.
	ErrTooLarge fault.Invalid = "blob.too_large"
)

// maxDepth is how deep recipes may nest: with groups of at least minGroup
// this is enough for 2^64 bytes.
const maxDepth = 16

// Get returns the bytes of a chunk. They are not to be changed.
type Get func(id canon.Digest) ([]byte, error)

// Rebuild writes the bytes of p to w. It checks lengths; that the bytes are
// the recorded ones is for the caller to check against the commitment.
func Rebuild(p Part, get Get, w io.Writer) error {
	ops, err := topOps(p)
	if err != nil {
		return err
	}
	return rebuild(ops, get, w, 0)
}

// IDs yields the ids of all chunks that p needs, those of nested recipes
// included, in order. An id may come more than once.
func IDs(p Part, get Get) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		ops, err := topOps(p)
		if err != nil {
			yield(canon.Digest{}, err)
			return
		}
		ids(ops, get, 0, yield)
	}
}

func ids(ops []byte, get Get, depth int, yield func(canon.Digest, error) bool) bool {
	for len(ops) > 0 {
		o, rest, err := nextOp(ops)
		if err != nil {
			yield(canon.Digest{}, err)
			return false
		}
		ops = rest
		if o.kind == opBytes {
			continue
		}
		if !yield(o.id, nil) {
			return false
		}
		if o.kind != opRecipe {
			continue
		}
		nested, err := nestedOps(o, get, depth)
		if err != nil {
			yield(canon.Digest{}, err)
			return false
		}
		if !ids(nested, get, depth+1, yield) {
			return false
		}
	}
	return true
}

func rebuild(ops []byte, get Get, w io.Writer, depth int) error {
	for len(ops) > 0 {
		o, rest, err := nextOp(ops)
		if err != nil {
			return err
		}
		ops = rest
		b := o.literal
		switch o.kind {
		case opChunk:
			if b, err = get(o.id); err != nil {
				return err
			}
			if int64(len(b)) != o.length {
				return fault.New(ErrSize, "blob.Rebuild", "chunk %s has %d bytes, its recipe says %d", o.id, len(b), o.length)
			}
		case opRecipe:
			nested, err := nestedOps(o, get, depth)
			if err != nil {
				return err
			}
			if err := rebuild(nested, get, w, depth+1); err != nil {
				return err
			}
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// topOps returns the operations of a part, which give exactly its size.
func topOps(p Part) ([]byte, error) {
	if len(p.Recipe) == 0 || p.Recipe[0] != recipeVersion {
		return nil, fault.New(ErrRecipe, "blob.Rebuild", "the recipe is empty or of an unknown version")
	}
	return p.Recipe[1:], checkOps(p.Recipe[1:], p.Size)
}

// nestedOps returns the operations that o stands for, which give exactly its
// length.
func nestedOps(o op, get Get, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return nil, fault.New(ErrRecipe, "blob.Rebuild", "recipes nest deeper than %d", maxDepth)
	}
	ops, err := get(o.id)
	if err != nil {
		return nil, err
	}
	return ops, checkOps(ops, o.length)
}

// checkOps reads all operations and adds up their lengths. Since no length
// is zero, what a recipe opens to is never more than the size its entry
// states, however often it names the same chunk.
func checkOps(ops []byte, want int64) error {
	left := want
	for len(ops) > 0 {
		o, rest, err := nextOp(ops)
		if err != nil {
			return err
		}
		if o.length > left {
			return fault.New(ErrSize, "blob.Rebuild", "a recipe gives more than the %d bytes that are stated", want)
		}
		left -= o.length
		ops = rest
	}
	if left != 0 {
		return fault.New(ErrSize, "blob.Rebuild", "a recipe gives %d bytes where %d are stated", want-left, want)
	}
	return nil
}

func nextOp(p []byte) (o op, rest []byte, err error) {
	o.kind = p[0]
	length, n := binary.Uvarint(p[1:])
	if n <= 0 || length == 0 || length > 1<<62 || n > 1 && p[n] == 0 {
		return o, nil, fault.New(ErrRecipe, "blob.Rebuild", "a length of the recipe is none, or not in its one spelling")
	}
	o.length = int64(length)
	p = p[1+n:]
	switch o.kind {
	case opBytes:
		if length > uint64(len(p)) {
			return o, nil, fault.New(ErrRecipe, "blob.Rebuild", "the recipe ends inside its bytes")
		}
		o.literal = p[:length]
		return o, p[length:], nil
	case opChunk, opRecipe:
		if len(p) < len(o.id) {
			return o, nil, fault.New(ErrRecipe, "blob.Rebuild", "the recipe ends inside a chunk id")
		}
		copy(o.id[:], p)
		return o, p[len(o.id):], nil
	default:
		return o, nil, fault.New(ErrRecipe, "blob.Rebuild", "unknown operation %d", o.kind)
	}
}
