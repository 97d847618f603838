// Package store opens the stores of ledgers and chunks by name.
//
//	sqlite:PATH   one SQLite file; chunks too, unless Options.Blobs names another place
//	memory:       the memory of the process
//	file:DIR      chunks as files, for Options.Blobs
//	s3://BUCKET   chunks in a bucket, for Options.Blobs; see package s3blob
package store

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/fileblob"
	"github.com/reprise-dev/reprise/store/memory"
	"github.com/reprise-dev/reprise/store/s3blob"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// ErrName means that a text does not name a store. The message lists what
// does.
const ErrName fault.Invalid = "store.bad_name"

// Store keeps ledgers and the chunks of their attachments.
type Store interface {
	ledger.Store
	blob.Store
	io.Closer
}

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// Blobs names where chunks are kept; empty is where the ledgers are. It is
	// part of where a store is: with another one its contents are not found.
	Blobs string
	// S3 says how a bucket is reached; nil is as the user's environment says.
	S3 *s3blob.Options
	// Now is the clock that leases run by; nil is time.Now.
	Now func() time.Time
}

// Open opens the store of that name, and creates it if it is not there.
func Open(ctx context.Context, name string, opts *Options) (Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	open, err := blobsAt(opts.Blobs, opts.S3)
	if err != nil {
		return nil, err
	}
	s, err := openLedgers(ctx, name, opts)
	if err != nil || open == nil {
		return s, err
	}
	b, err := open(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return Join(s, b), nil
}

// blobsAt reads the name of a place for chunks. Nil keeps them with the
// ledgers.
func blobsAt(name string, s3 *s3blob.Options) (func(context.Context) (blob.Store, error), error) {
	if name == "" {
		return nil, nil
	}
	if strings.HasPrefix(name, s3blob.Scheme) {
		if _, err := s3blob.ParsePlace(name); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (blob.Store, error) {
			b, err := s3blob.Open(ctx, name, s3)
			if err != nil {
				return nil, err // not b: an interface that holds a nil store is not nil
			}
			return b, nil
		}, nil
	}
	dir, ok := strings.CutPrefix(name, "file:")
	if !ok || dir == "" || strings.HasPrefix(dir, "//") {
		return nil, fault.New(ErrName, "store.Open", "%q names no place for chunks: give file:DIR or s3://BUCKET/PREFIX, or nothing to keep them with the ledgers", name)
	}
	return func(context.Context) (blob.Store, error) {
		b, err := fileblob.Open(dir)
		if err != nil {
			return nil, err
		}
		return b, nil
	}, nil
}

func openLedgers(ctx context.Context, name string, opts *Options) (Store, error) {
	const op = "store.Open"
	kind, rest, ok := strings.Cut(name, ":")
	switch {
	case ok && kind == "memory" && rest == "":
		return memory.New(&memory.Options{Now: opts.Now}), nil
	case ok && kind == "memory":
		return nil, fault.New(ErrName, op, "%q: a store in memory has no place; give memory:", name)
	case ok && kind == "sqlite" && rest == "":
		return nil, fault.New(ErrName, op, "%q names no file: give sqlite:PATH", name)
	case ok && kind == "sqlite" && strings.HasPrefix(rest, "//"):
		return nil, fault.New(ErrName, op, "%q: a path follows the colon, without //: give sqlite:PATH", name)
	case ok && kind == "sqlite":
		s, err := sqlite.Open(ctx, rest, &sqlite.Options{Now: opts.Now})
		if err != nil {
			return nil, err // not s: an interface that holds a nil store is not nil
		}
		return s, nil
	case ok && kind == "file":
		return nil, fault.New(ErrName, op, "%q keeps chunks, not ledgers: give sqlite:PATH or memory:, and this one as the place of the blobs", name)
	default:
		return nil, fault.New(ErrName, op, "%q names no store: give sqlite:PATH or memory:", name)
	}
}

// Join makes one store of two. An append first makes its chunks durable in
// blobs and then the entries in ledgers, so that no entry is ever without
// its chunks; an append that fails between the two leaves chunks behind that
// nothing names, which the repeated append uses. Close closes both where they
// can be closed.
func Join(ledgers ledger.Store, blobs blob.Store) Store {
	return &joined{Store: ledgers, blobs: blobs}
}

// blobs is an alias, so that joined can embed both seams.
type blobs = blob.Store

type joined struct {
	ledger.Store
	blobs
}

func (j *joined) Append(ctx context.Context, b *ledger.Batch) error {
	if len(b.Chunks) == 0 {
		return j.Store.Append(ctx, b)
	}
	if err := b.Check(); err != nil {
		return err
	}
	if err := j.Put(ctx, b.Chunks); err != nil {
		return err
	}
	rest := *b
	rest.Chunks = nil
	return j.Store.Append(ctx, &rest)
}

func (j *joined) Close() error {
	var err error
	for _, s := range []any{j.Store, j.blobs} {
		if c, ok := s.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
