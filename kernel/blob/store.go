package blob

import (
	"context"
	"iter"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Store keeps chunks and the keys of their scopes. All methods are safe for
// concurrent use, also by other processes on the same store.
type Store interface {
	// Scope returns the scope with that id. If there is none and create is
	// not nil, create's scope is stored and returned; of two that create at
	// the same time both get the first. Without create the error is
	// [ErrScopeNotFound]. A scope is durable when Scope returns.
	Scope(ctx context.Context, id string, create *Scope) (Scope, error)

	// Put stores chunks. They are durable when Put returns. A chunk that is
	// already there stays as it is. Put does not keep the bytes.
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
