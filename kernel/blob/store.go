package blob

import (
	"context"
	"iter"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of stores.
const (
	// ErrChunk means that a chunk is over the limit of its size, or names no
	// scope. Mend the caller.
	ErrChunk fault.Invalid = "blob.bad_chunk"
	// ErrScope means that a scope has no id, one over [MaxScope], or another id
	// than it is created under, or that its key is all zero. Mend the caller.
	ErrScope fault.Invalid = "blob.bad_scope"
	// ErrStore means that the store cannot be reached or cannot store. What
	// was not acknowledged may or may not be there.
	ErrStore fault.Unavailable = "blob.store_failed"
)

// MaxScope is the size limit of a scope id, in bytes.
const MaxScope = 255

// CheckScope refuses a scope that no store may create under id, with
// [ErrScope].
func CheckScope(id string, create *Scope) error {
	if id == "" || len(id) > MaxScope || create.ID != id || create.Key == [32]byte{} {
		return fault.New(ErrScope, "blob.CheckScope", "scope %q created as %q: it needs one id of at most %d bytes and a random key", create.ID, id, MaxScope)
	}
	return nil
}

// CheckChunks refuses chunks that no store may take, with [ErrChunk].
func CheckChunks(chunks []Chunk) error {
	for i := range chunks {
		if c := &chunks[i]; len(c.Bytes) > MaxChunk || c.Scope == "" {
			return fault.New(ErrChunk, "blob.CheckChunks", "chunk %s of %d bytes in scope %q: the limit is %d bytes, and a scope is needed", c.ID, len(c.Bytes), c.Scope, MaxChunk)
		}
	}
	return nil
}

// Store keeps chunks and the keys of their scopes. All methods are safe for
// concurrent use, also by other processes on the same store.
type Store interface {
	// Scope returns the scope with that id. If there is none and create is
	// not nil, create's scope is stored and returned; of two that create at
	// the same time both get the first. Without create the error is
	// [ErrScopeNotFound]. A scope is durable when Scope returns.
	Scope(ctx context.Context, id string, create *Scope) (Scope, error)

	// Put stores chunks. They are durable when Put returns. A chunk that is
	// already there stays as it is. One whose scope has no key, so that
	// nothing could be erased with it, gives [ErrScopeNotFound] and nothing
	// is stored. Put does not keep the bytes.
	Put(ctx context.Context, chunks []Chunk) error

	// Get returns the bytes of a chunk, which the caller may keep but not
	// change, or [ErrNotFound].
	Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error)

	// List yields the ids of a scope's chunks, in the order of the ids.
	List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error]

	// Erase removes a scope: its chunks and its key. It is done when Erase
	// returns, and to repeat it is no error.
	Erase(ctx context.Context, scope string) error
}
