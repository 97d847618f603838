package s3blob

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	scopesDir = "scopes"
	keyName   = "key"
	chunksDir = "chunks"
)

// Store is a [blob.Store]. Nothing is remembered between calls, so that a scope
// that another process erased is gone here too; a Get makes two requests, at the
// same time.
type Store struct {
	*bucket
	packer *packed.Packer
}

// Open opens the place, whose bucket must be there.
func Open(ctx context.Context, place string, opts *Options) (*Store, error) {
	b, err := open(ctx, place, opts)
	if err != nil {
		return nil, err
	}
	p, err := packed.New()
	if err != nil {
		b.close()
		return nil, fault.Wrap(blob.ErrStore, "s3blob.Open", err, "the compressor")
	}
	return &Store{b, p}, nil
}

// Close frees connections and memory.
func (s *Store) Close() error {
	s.packer.Close()
	s.close()
	return nil
}

// scopeName names the folder of a scope.
func (s *Store) scopeName(id string) string {
	d := canon.Hash("reprise/s3blob/scope/v1\n", []byte(id))
	return s.key(scopesDir + "/" + d.String())
}

func (s *Store) keyOf(id string) string { return s.scopeName(id) + "/" + keyName }

func (s *Store) chunksOf(id string) string { return s.scopeName(id) + "/" + chunksDir + "/" }

// valid reports whether a scope can have that id.
func valid(id string) bool { return id != "" && len(id) <= blob.MaxScope }

func ended(ctx context.Context, op string) error {
	return fault.Wrap(blob.ErrStore, op, ctx.Err(), "given up before it began")
}

// Scope implements [blob.Store].
func (s *Store) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	const op = "s3blob.Scope"
	if err := ended(ctx, op); err != nil {
		return blob.Scope{}, err
	}
	sc, err := s.scope(ctx, id)
	if create == nil || !errors.Is(err, blob.ErrScopeNotFound) {
		return sc, err
	}
	if err := blob.CheckScope(id, create); err != nil {
		return blob.Scope{}, err
	}
	// Without a lock: what cannot be deleted cannot be erased.
	if _, err := s.create(ctx, s.keyOf(id), create.Key[:], false); err != nil {
		return blob.Scope{}, s.fail(op, err, "the key of scope %q", id)
	}
	return s.scope(ctx, id)
}

func (s *Store) scope(ctx context.Context, id string) (blob.Scope, error) {
	const op = "s3blob.Scope"
	if !valid(id) {
		return blob.Scope{}, fault.New(blob.ErrScopeNotFound, op, "there is no scope %q", id)
	}
	sc := blob.Scope{ID: id}
	raw, err := s.read(ctx, s.keyOf(id), int64(len(sc.Key)))
	switch {
	case missing(err):
		return blob.Scope{}, fault.New(blob.ErrScopeNotFound, op, "there is no scope %q", id)
	case err != nil:
		return blob.Scope{}, s.fail(op, err, "the key of scope %q", id)
	case copy(sc.Key[:], raw) != len(raw) || len(raw) != len(sc.Key) || sc.Key == [32]byte{}:
		return blob.Scope{}, fault.New(ErrContent, op, "the key of scope %q is none: it has %d bytes", id, len(raw))
	}
	return sc, nil
}

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, chunks []blob.Chunk) error {
	const op = "s3blob.Put"
	if err := blob.CheckChunks(chunks); err != nil {
		return err
	}
	if err := ended(ctx, op); err != nil {
		return err
	}
	sealers := map[string]*sealer{}
	for i := range chunks {
		id := chunks[i].Scope
		if sealers[id] != nil {
			continue
		}
		sc, err := s.scope(ctx, id)
		if err != nil {
			return err
		}
		if sealers[id], err = s.sealer(sc); err != nil {
			return err
		}
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range chunks {
		c := &chunks[i]
		g.Go(func() error {
			_, err := s.create(within, s.chunksOf(c.Scope)+c.ID.String(), sealers[c.Scope].seal(c), true)
			if err != nil {
				return s.fail(op, err, "chunk %s of scope %q", c.ID, c.Scope)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	// A scope that was erased meanwhile has taken the chunks with it, or they
	// came too late and belong to a key that is gone: they were not stored.
	for id, sealer := range sealers {
		now, err := s.scope(ctx, id)
		if err == nil && now != sealer.scope {
			err = fault.New(blob.ErrScopeNotFound, op, "scope %q was erased while its chunks were stored", id)
		}
		if errors.Is(err, blob.ErrScopeNotFound) {
			return errors.Join(err, s.discard(ctx, id, chunks))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Get implements [blob.Store].
func (s *Store) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	const op = "s3blob.Get"
	if err := ended(ctx, op); err != nil {
		return nil, err
	}
	none := fault.New(blob.ErrNotFound, op, "chunk %s of scope %q is not in the store", id, scope)
	if !valid(scope) {
		return nil, none
	}
	var (
		sc     blob.Scope
		sealed []byte
	)
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		sc, err = s.scope(within, scope)
		return err
	})
	g.Go(func() (err error) {
		sealed, err = s.read(within, s.chunksOf(scope)+id.String(), maxSealed)
		return err
	})
	switch err := g.Wait(); {
	case missing(err), errors.Is(err, blob.ErrScopeNotFound):
		return nil, none
	case err != nil:
		if _, ok := errors.AsType[*fault.Error](err); ok {
			return nil, err
		}
		return nil, s.fail(op, err, "chunk %s of scope %q", id, scope)
	}
	sealer, err := s.sealer(sc)
	if err != nil {
		return nil, err
	}
	return sealer.open(id, sealed)
}

// List implements [blob.Store]. A scope without a key has no chunks.
func (s *Store) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	const op = "s3blob.List"
	return func(yield func(canon.Digest, error) bool) {
		if err := ended(ctx, op); err != nil {
			yield(canon.Digest{}, err)
			return
		}
		if _, err := s.scope(ctx, scope); err != nil {
			if !errors.Is(err, blob.ErrScopeNotFound) {
				yield(canon.Digest{}, err)
			}
			return
		}
		var bad error
		stopped := false
		prefix := s.chunksOf(scope)
		err := s.list(ctx, prefix, func(o types.Object) bool {
			id, err := canon.ParseDigest(strings.TrimPrefix(*o.Key, prefix))
			if err != nil {
				bad = fault.Wrap(ErrContent, op, err, "%q is among the chunks of scope %q", *o.Key, scope)
				return false
			}
			stopped = !yield(id, nil)
			return !stopped
		})
		switch {
		case stopped:
		case bad != nil:
			yield(canon.Digest{}, bad)
		case err != nil:
			yield(canon.Digest{}, s.fail(op, err, "listing scope %q", scope))
		}
	}
}
