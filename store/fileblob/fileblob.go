// Package fileblob keeps chunks as files of a folder.
//
//	DIR/SCOPE/key              the key of a scope, 32 bytes, readable by its owner only
//	DIR/SCOPE/ab/cdef…         a chunk, named by its id
//	DIR/SCOPE/ab/.new-…        a chunk that is being written
//
// SCOPE is the scope's id in hexadecimal. A chunk is a byte that says how it
// is packed and its bytes. A file is written under another name, made
// durable, and then linked to its own name, so that it is whole or not there;
// it is never written again.
package fileblob

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	keyName   = "key"
	newPrefix = ".new-"
	noScope   = ".none"
)

// Store is a [blob.Store].
type Store struct {
	root   string
	packer *packed.Packer
}

// Open opens the store in the folder dir and creates it if it is not there.
func Open(dir string) (*Store, error) {
	const op = "fileblob.Open"
	root, err := filepath.Abs(dir)
	if err == nil {
		err = mkdir(root)
	}
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "the folder %q", dir)
	}
	p, err := packed.New()
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "the compressor")
	}
	return &Store{root: root, packer: p}, nil
}

// Close frees what the store holds in memory.
func (s *Store) Close() error {
	s.packer.Close()
	return nil
}

// maxName is how long a name may be, a little less than file systems allow.
const maxName = 250

// scopeDir returns the folder of a scope. Hexadecimal doubles the length, so
// a long id goes over several levels; "-" occurs in no other name, so no
// folder of a scope lies in that of another. An id that no scope can have
// gives a folder that is not there.
func (s *Store) scopeDir(id string) string {
	if id == "" || len(id) > blob.MaxScope {
		return filepath.Join(s.root, noScope)
	}
	dir, name := s.root, hex.EncodeToString([]byte(id))
	for len(name) > maxName {
		dir = filepath.Join(dir, name[:maxName]+"-")
		name = name[maxName:]
	}
	return filepath.Join(dir, name)
}

func chunkPath(dir string, id canon.Digest) string {
	name := id.String()
	return filepath.Join(dir, name[:2], name[2:])
}

// Scope implements [blob.Store].
func (s *Store) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	const op = "fileblob.Scope"
	if err := ctx.Err(); err != nil {
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "given up before it began")
	}
	sc, err := readKey(s.scopeDir(id), id)
	if create == nil || !errors.Is(err, blob.ErrScopeNotFound) {
		return sc, err
	}
	if err := blob.CheckScope(id, create); err != nil {
		return blob.Scope{}, err
	}
	dir := s.scopeDir(id)
	if err := mkdir(dir); err != nil {
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "the folder of scope %q", id)
	}
	if err := writeOnce(filepath.Join(dir, keyName), create.Key[:]); err != nil {
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", id)
	}
	if err := syncDir(dir); err != nil {
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", id)
	}
	return readKey(dir, id)
}

func notFound(op, id string) error {
	return fault.New(blob.ErrScopeNotFound, op, "there is no scope %q", id)
}

func readKey(dir, id string) (blob.Scope, error) {
	const op = "fileblob.Scope"
	raw, err := os.ReadFile(filepath.Join(dir, keyName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return blob.Scope{}, notFound(op, id)
	case err != nil:
		return blob.Scope{}, fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", id)
	case len(raw) != len(blob.Scope{}.Key):
		return blob.Scope{}, fault.New(packed.ErrData, op, "the key of scope %q has %d bytes", id, len(raw))
	}
	return blob.Scope{ID: id, Key: [32]byte(raw)}, nil
}

// Put implements [blob.Store]. All chunks are written before the folders that
// name them are made durable, once each.
func (s *Store) Put(ctx context.Context, chunks []blob.Chunk) error {
	const op = "fileblob.Put"
	if err := blob.CheckChunks(chunks); err != nil {
		return err
	}
	scopes := map[string]string{}
	for i := range chunks {
		id := chunks[i].Scope
		if _, ok := scopes[id]; ok {
			continue
		}
		if _, err := s.Scope(ctx, id, nil); err != nil {
			return err
		}
		scopes[id] = s.scopeDir(id)
	}
	dirs := map[string]bool{}
	for i := range chunks {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(blob.ErrStore, op, err, "given up after %d of %d chunks", i, len(chunks))
		}
		c := &chunks[i]
		path := chunkPath(scopes[c.Scope], c.ID)
		// The folder of one that is there is made durable too: who wrote it
		// may not have come so far.
		dirs[filepath.Dir(path)] = true
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := s.write(path, c); err != nil {
			return fault.Wrap(blob.ErrStore, op, err, "chunk %s of scope %q", c.ID, c.Scope)
		}
	}
	for dir := range dirs {
		if err := errors.Join(syncDir(dir), syncDir(filepath.Dir(dir))); err != nil {
			return fault.Wrap(blob.ErrStore, op, err, "making the folder %s durable", dir)
		}
	}
	// A scope that was erased meanwhile has taken the chunks with it, or they
	// came too late and have no key: either way they were not stored.
	for id := range scopes {
		if _, err := s.Scope(ctx, id, nil); err != nil {
			return errors.Join(err, s.Erase(ctx, id))
		}
	}
	return nil
}

func (s *Store) write(path string, c *blob.Chunk) error {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeOnce(path, s.packer.Pack(c.Bytes))
}

// Get implements [blob.Store].
func (s *Store) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	const op = "fileblob.Get"
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "given up before it began")
	}
	raw, err := os.ReadFile(chunkPath(s.scopeDir(scope), id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(blob.ErrNotFound, op, "chunk %s of scope %q is not in the store", id, scope)
	}
	if err != nil {
		return nil, fault.Wrap(blob.ErrStore, op, err, "chunk %s of scope %q", id, scope)
	}
	return s.packer.Unpack(raw, blob.MaxChunk)
}

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		ids, err := s.list(ctx, scope)
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
		if err != nil {
			yield(canon.Digest{}, fault.Wrap(blob.ErrStore, "fileblob.List", err, "listing scope %q", scope))
		}
	}
}

func (s *Store) list(ctx context.Context, scope string) ([]canon.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(globEscape(s.scopeDir(scope)), "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		return nil, err
	}
	var ids []canon.Digest
	for _, p := range paths {
		dir, name := filepath.Split(p)
		if strings.HasPrefix(name, newPrefix) {
			continue
		}
		id, err := canon.ParseDigest(filepath.Base(dir) + name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b canon.Digest) int { return bytes.Compare(a[:], b[:]) })
	return ids, nil
}

func globEscape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Erase implements [blob.Store]. The key goes first and durably: without it
// the chunks belong to nothing, whatever interrupts the rest.
func (s *Store) Erase(ctx context.Context, scope string) error {
	const op = "fileblob.Erase"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(blob.ErrStore, op, err, "given up before it began")
	}
	dir := s.scopeDir(scope)
	err := os.Remove(filepath.Join(dir, keyName))
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(blob.ErrStore, op, err, "the key of scope %q", scope)
	}
	err = os.RemoveAll(dir)
	if err == nil {
		err = syncDir(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(blob.ErrStore, op, err, "the chunks of scope %q", scope)
	}
	return nil
}
