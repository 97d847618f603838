package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// packedChunk is a chunk, ready to be stored.
type packedChunk struct {
	scope string
	id    canon.Digest
	data  []byte
}

func (s *Store) packChunks(chunks []blob.Chunk) []packedChunk {
	var out []packedChunk
	for i := range chunks {
		c := &chunks[i]
		out = append(out, packedChunk{scope: c.Scope, id: c.ID, data: s.pack.Pack(c.Bytes)})
	}
	return out
}

// scopeKey returns the key of a scope's row, or 0 if there is none.
func (g *group) scopeKey(id string) (int64, error) {
	if key, ok := g.scopes[id]; ok {
		return key, nil
	}
	var key int64
	var secret []byte
	err := g.w.scope.QueryRowContext(g.ctx, id).Scan(&key, &secret)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	g.scopes[id] = key
	return key, nil
}

func (g *group) insertChunks(chunks []packedChunk) (refusal, err error) {
	for _, c := range chunks {
		key, err := g.scopeKey(c.scope)
		if err != nil {
			return nil, err
		}
		if key == 0 {
			return fault.New(blob.ErrScopeNotFound, "sqlstore.Put", "there is no scope %q for chunk %s", c.scope, c.id), nil
		}
	}
	for _, c := range chunks {
		if _, err := g.w.insertChunk.ExecContext(g.ctx, g.scopes[c.scope], c.id[:], c.data); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Scope implements [blob.Store].
func (s *Store) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	const op = "sqlstore.Scope"
	sc, err := s.findScope(ctx, id)
	if err == nil || create == nil || !errors.Is(err, blob.ErrScopeNotFound) {
		return sc, err
	}
	if err := blob.CheckScope(id, create); err != nil {
		return blob.Scope{}, err
	}
	secret := append([]byte(nil), create.Key[:]...)
	err = s.do(ctx, op, 0, func(g *group) (refusal, err error) {
		key, err := g.scopeKey(id)
		if err != nil || key != 0 {
			return nil, err
		}
		delete(g.scopes, id)
		_, err = g.w.insertScope.ExecContext(g.ctx, id, secret)
		return nil, err
	})
	if err != nil {
		return blob.Scope{}, asBlob(err)
	}
	return s.findScope(ctx, id)
}

func (s *Store) findScope(ctx context.Context, id string) (blob.Scope, error) {
	const op = "sqlstore.Scope"
	var secret []byte
	err := s.read.QueryRowContext(ctx, "SELECT secret FROM scopes WHERE scope = ?", id).Scan(&secret)
	if errors.Is(err, sql.ErrNoRows) {
		return blob.Scope{}, fault.New(blob.ErrScopeNotFound, op, "there is no scope %q", id)
	}
	if err != nil {
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "reading scope %q", id)
	}
	key, err := digest(secret)
	return blob.Scope{ID: id, Key: key}, err
}

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, chunks []blob.Chunk) error {
	if err := blob.CheckChunks(chunks); err != nil || len(chunks) == 0 {
		return err
	}
	packed := s.packChunks(chunks)
	size := 0
	for _, c := range packed {
		size += len(c.data)
	}
	return asBlob(s.do(ctx, "sqlstore.Put", size, func(g *group) (refusal, err error) { return g.insertChunks(packed) }))
}

// Get implements [blob.Store].
func (s *Store) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	const op = "sqlstore.Get"
	var data []byte
	err := s.read.QueryRowContext(ctx, "SELECT data FROM chunks WHERE scope = (SELECT key FROM scopes WHERE scope = ?) AND id = ?", scope, id[:]).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(blob.ErrNotFound, op, "chunk %s of scope %q is not in the store", id, scope)
	}
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "reading chunk %s", id)
	}
	return s.pack.Unpack(data, blob.MaxChunk)
}

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	ids := pages("sqlstore.List", func(last canon.Digest) ([]canon.Digest, error) {
		rows, err := s.read.QueryContext(ctx, "SELECT id FROM chunks WHERE scope = (SELECT key FROM scopes WHERE scope = ?) AND id > ? ORDER BY id LIMIT ?", scope, last[:], listPage)
		return collect(rows, err, func(d *canon.Digest) error {
			var raw []byte
			err := rows.Scan(&raw)
			if err == nil {
				*d, err = digest(raw)
			}
			return err
		})
	})
	return func(yield func(canon.Digest, error) bool) {
		for d, err := range ids {
			if !yield(d, asBlob(err)) {
				return
			}
		}
	}
}

// Erase implements [blob.Store].
func (s *Store) Erase(ctx context.Context, scope string) error {
	return asBlob(s.do(ctx, "sqlstore.Erase", 0, func(g *group) (refusal, err error) {
		key, err := g.scopeKey(scope)
		if err != nil || key == 0 {
			return nil, err
		}
		if _, err = g.w.deleteChunks.ExecContext(g.ctx, key); err != nil {
			return nil, err
		}
		g.scopes[scope] = 0
		_, err = g.w.deleteScope.ExecContext(g.ctx, key)
		return nil, err
	}))
}

// asBlob gives a failure of the store the code of this seam.
func asBlob(err error) error {
	if fault.CodeOf(err) == ledger.ErrStore {
		return fault.Wrap(blob.ErrStore, "sqlstore", err, "the store failed")
	}
	return err
}
