package memory

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Scope implements [blob.Store].
func (s *Store) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	const op = "memory.Scope"
	if err := s.enter(ctx, op, blob.ErrStore); err != nil {
		return blob.Scope{}, err
	}
	defer s.mu.Unlock()
	sc := s.scopes[id]
	if sc == nil {
		if create == nil {
			return blob.Scope{}, fault.New(blob.ErrScopeNotFound, op, "there is no scope %q", id)
		}
		if err := blob.CheckScope(id, create); err != nil {
			return blob.Scope{}, err
		}
		sc = &scope{key: create.Key, chunks: map[canon.Digest][]byte{}}
		s.scopes[id] = sc
	}
	return blob.Scope{ID: id, Key: sc.key}, nil
}

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, chunks []blob.Chunk) error {
	if err := blob.CheckChunks(chunks); err != nil {
		return err
	}
	if err := s.enter(ctx, "memory.Put", blob.ErrStore); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.scoped(chunks); err != nil {
		return err
	}
	s.put(chunks)
	return nil
}

// scoped checks that every chunk's scope has a key.
func (s *Store) scoped(chunks []blob.Chunk) error {
	for i := range chunks {
		if s.scopes[chunks[i].Scope] == nil {
			return fault.New(blob.ErrScopeNotFound, "memory.Put", "there is no scope %q for chunk %s", chunks[i].Scope, chunks[i].ID)
		}
	}
	return nil
}

func (s *Store) put(chunks []blob.Chunk) {
	for _, c := range chunks {
		if in := s.scopes[c.Scope].chunks; in[c.ID] == nil {
			in[c.ID] = append([]byte{}, c.Bytes...)
		}
	}
}

// Get implements [blob.Store].
func (s *Store) Get(ctx context.Context, id string, chunk canon.Digest) ([]byte, error) {
	const op = "memory.Get"
	if err := s.enter(ctx, op, blob.ErrStore); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if sc := s.scopes[id]; sc != nil && sc.chunks[chunk] != nil {
		return sc.chunks[chunk], nil
	}
	return nil, fault.New(blob.ErrNotFound, op, "chunk %s of scope %q is not in the store", chunk, id)
}

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, id string) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		if err := s.enter(ctx, "memory.List", blob.ErrStore); err != nil {
			yield(canon.Digest{}, err)
			return
		}
		var ids []canon.Digest
		if sc := s.scopes[id]; sc != nil {
			ids = slices.Collect(maps.Keys(sc.chunks))
		}
		s.mu.Unlock()
		slices.SortFunc(ids, func(a, b canon.Digest) int { return bytes.Compare(a[:], b[:]) })
		for _, d := range ids {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Erase implements [blob.Store].
func (s *Store) Erase(ctx context.Context, id string) error {
	if err := s.enter(ctx, "memory.Erase", blob.ErrStore); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.scopes, id)
	return nil
}
