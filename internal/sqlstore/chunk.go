package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func cloneChunks(chunks []blob.Chunk) (out []blob.Chunk, size int) {
	for i := range chunks {
		c := chunks[i]
		c.Bytes = append([]byte(nil), c.Bytes...)
		size += len(c.Bytes)
		out = append(out, c)
	}
	return out, size
}

// scopeKey returns the key of a scope's row, or 0 if there is none.
func (g *group) scopeKey(id string) (int64, error) {
	if key, ok := g.scopes[id]; ok {
		return key, nil
	}
	var key int64
	err := g.w.scope.QueryRowContext(g.ctx(), id).Scan(&key)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	g.scopes[id] = key
	return key, nil
}

// lookBytes is the size from which on a chunk is looked for before it is
// written: to look for a smaller one takes longer than to write it again.
const lookBytes = 4 << 10

// appendChunks adds chunks to the journal, but for large ones that are settled.
// One that is in the journal or is settled already is dropped when the journal
// is settled.
func (g *group) appendChunks(chunks []blob.Chunk) (refusal, err error) {
	for i := range chunks {
		c := &chunks[i]
		key, err := g.scopeKey(c.Scope)
		if err != nil {
			return nil, err
		}
		if key == 0 {
			return fault.New(blob.ErrScopeNotFound, "sqlstore.Put", "there is no scope %q for chunk %s", c.Scope, c.ID), nil
		}
	}
	for i := range chunks {
		c := &chunks[i]
		name := chunkName{g.scopes[c.Scope], c.ID}
		there := false
		if len(c.Bytes) >= lookBytes {
			if there, err = isSettled(g.ctx(), g.w.hasChunk, name); err != nil {
				return nil, err
			}
		}
		if !there {
			g.w.row = appendChunk(g.w.row, name.scope, name.id, c.Bytes)
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
	err = s.do(ctx, op, &job{apply: func(g *group) (refusal, err error) {
		key, err := g.scopeKey(id)
		if err != nil || key != 0 {
			return nil, err
		}
		delete(g.scopes, id)
		_, err = g.w.insertScope.ExecContext(g.ctx(), id, secret)
		return nil, err
	}})
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
	mine, size := cloneChunks(chunks)
	return asBlob(s.do(ctx, "sqlstore.Put", &job{bytes: size, apply: func(g *group) (refusal, err error) { return g.appendChunks(mine) }}))
}

// Get implements [blob.Store].
func (s *Store) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	const op = "sqlstore.Get"
	b, err := s.chunk(ctx, scope, id)
	if err == nil && b == nil {
		return nil, fault.New(blob.ErrNotFound, op, "chunk %s of scope %q is not in the store", id, scope)
	}
	if err != nil && fault.CodeOf(err) != ErrRow && fault.CodeOf(err) != packed.ErrData {
		return nil, fault.Wrap(blob.ErrStore, op, err, "reading chunk %s", id)
	}
	return b, err
}

// chunk returns a chunk, or nil if there is none. What is not settled may be
// in the journal, and what is not in the journal may have been settled since
// the first look.
func (s *Store) chunk(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	b, err := s.settledChunk(ctx, scope, id)
	if b != nil || err != nil {
		return b, err
	}
	if err := s.tail.refresh(ctx, s.read); err != nil {
		return nil, err
	}
	var key int64
	if err := s.reader.scopeKey.QueryRowContext(ctx, scope).Scan(&key); errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if b, ok := s.tail.chunk(chunkName{key, id}); ok {
		return b, nil
	}
	return s.settledChunk(ctx, scope, id)
}

func (s *Store) settledChunk(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	var key int64
	var start, size int
	err := s.reader.chunk.QueryRowContext(ctx, scope, id[:]).Scan(&key, &start, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pack, err := s.openPack(ctx, key)
	if err != nil || pack == nil {
		return nil, err
	}
	if start < 0 || size < 0 || start+size > len(pack) {
		return nil, fault.New(ErrRow, "sqlstore.Get", "chunk %s lies at %d+%d of a pack of %d bytes", id, start, size, len(pack))
	}
	return pack[start : start+size : start+size], nil
}

// openPack returns the bytes of a pack, or nil if it was erased. The last few
// packs are remembered, because the chunks of an attachment lie together.
func (s *Store) openPack(ctx context.Context, key int64) ([]byte, error) {
	if b := s.packs.get(key); b != nil {
		return b, nil
	}
	var data []byte
	err := s.reader.pack.QueryRowContext(ctx, key).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := s.pack.Unpack(data, packBytes+blob.MaxChunk)
	if err == nil {
		s.packs.put(key, b)
	}
	return b, err
}

// packCache remembers the packs that were opened last. Keys of packs are
// never used again, so nothing in it can be stale.
type packCache struct {
	mu   sync.Mutex
	keys [16]int64
	data [16][]byte
	next int
}

func (c *packCache) get(key int64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.keys[:], key); i >= 0 {
		return c.data[i]
	}
	return nil
}

func (c *packCache) put(key int64, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[c.next], c.data[c.next] = key, data
	c.next = (c.next + 1) % len(c.keys)
}

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		fresh, err := s.freshChunks(ctx, scope)
		if err != nil {
			yield(canon.Digest{}, asBlob(storeErr("sqlstore.List", err, "reading the journal")))
			return
		}
		settled := pages("sqlstore.List", func(last canon.Digest) ([]canon.Digest, error) {
			//nolint:sqlclosecheck // collect closes them
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
		for d, err := range settled {
			if err != nil {
				yield(canon.Digest{}, asBlob(err))
				return
			}
			for len(fresh) > 0 && bytes.Compare(fresh[0][:], d[:]) <= 0 {
				if fresh[0] != d && !yield(fresh[0], nil) {
					return
				}
				fresh = fresh[1:]
			}
			if !yield(d, nil) {
				return
			}
		}
		for _, d := range fresh {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// freshChunks returns the ids of a scope's chunks in the journal, in order.
func (s *Store) freshChunks(ctx context.Context, scope string) ([]canon.Digest, error) {
	if err := s.tail.refresh(ctx, s.read); err != nil {
		return nil, err
	}
	var key int64
	err := s.reader.scopeKey.QueryRowContext(ctx, scope).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	ids := s.tail.chunkIDs(key)
	slices.SortFunc(ids, func(a, b canon.Digest) int { return bytes.Compare(a[:], b[:]) })
	return ids, err
}

// Erase implements [blob.Store]. The journal is settled first, so that the
// chunks that are still in it are erased as well.
//
// Bodies and recipes of entries are not chunks and stay.
func (s *Store) Erase(ctx context.Context, scope string) error {
	return asBlob(s.do(ctx, "sqlstore.Erase", &job{alone: true, scrub: true, apply: func(g *group) (refusal, err error) {
		key, err := g.scopeKey(scope)
		if err != nil || key == 0 {
			return nil, err
		}
		if err := g.settle([]byte{}); err != nil {
			return nil, err
		}
		for _, stmt := range []*sql.Stmt{g.w.deleteChunks, g.w.deletePacks, g.w.deleteScope} {
			if _, err := stmt.ExecContext(g.ctx(), key); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}))
}

// asBlob gives a failure of the store the code of this seam.
func asBlob(err error) error {
	if fault.CodeOf(err) == ledger.ErrStore {
		return fault.Wrap(blob.ErrStore, "sqlstore", err, "the store failed")
	}
	return err
}
