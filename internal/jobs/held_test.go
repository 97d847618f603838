package jobs_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
	"github.com/reprise-dev/reprise/store/memory"
)

// apart is a store whose job run is that of another store, and whatever else is
// written stands in one of its own: each replay finds a fresh governance.
type apart struct {
	drive.Store // all but the job
	job         drive.Store
	run         ledger.RunID
}

func (s apart) of(id string) drive.Store {
	if strings.HasPrefix(id, string(s.run)) {
		return s.job
	}
	return s.Store
}

func (s apart) Acquire(ctx context.Context, run ledger.RunID, holder string, ttl time.Duration) (ledger.Lease, error) {
	return s.of(string(run)).Acquire(ctx, run, holder, ttl)
}

func (s apart) At(ctx context.Context, run ledger.RunID) (ledger.Position, error) {
	return s.of(string(run)).At(ctx, run)
}

func (s apart) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return s.of(string(run)).Read(ctx, run, from)
}

func (s apart) Statements(ctx context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return s.of(string(run)).Statements(ctx, run, typ)
}

func (s apart) Scope(ctx context.Context, id string, create *blob.Scope) (blob.Scope, error) {
	return s.of(id).Scope(ctx, id, create)
}

func (s apart) Get(ctx context.Context, scope string, id canon.Digest) ([]byte, error) {
	return s.of(scope).Get(ctx, scope, id)
}

func (s apart) List(ctx context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return s.of(scope).List(ctx, scope)
}

// held is everything that a store keeps of one run, in the order in which it is
// read. What it does not keep it does not have.
type held struct {
	drive.Store // for what nobody asks of it
	run         ledger.RunID
	at          ledger.Position
	entries     []*ledger.Entry
	statements  []ledger.Statement // heads and manifests
	scopes      []blob.Scope
	chunks      []chunk
}

type chunk struct {
	scope string
	id    canon.Digest
	bytes []byte
}

// kept returns what the store of a rig keeps of a run.
func (r *rig) kept(run ledger.RunID) *held {
	r.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			r.t.Helper()
			r.t.Fatal(err)
		}
	}
	h := &held{run: run}
	var err error
	h.at, err = r.store.At(ctx, run)
	must(err)
	var scopes []string
	for e, err := range r.store.Read(ctx, run, 0) {
		must(err)
		h.entries = append(h.entries, e)
		scopes = append(scopes, e.Scope)
		for _, p := range e.Parts {
			scopes = append(scopes, p.Scope)
		}
	}
	for _, typ := range []string{ledger.HeadType, sign.ManifestType} {
		for s, err := range r.store.Statements(ctx, run, typ) {
			must(err)
			h.statements = append(h.statements, s)
		}
	}
	slices.Sort(scopes)
	for _, id := range slices.Compact(scopes) {
		s, err := r.store.Scope(ctx, id, nil)
		must(err)
		h.scopes = append(h.scopes, s)
		for id, err := range r.store.List(ctx, s.ID) {
			must(err)
			b, err := r.store.Get(ctx, s.ID, id)
			must(err)
			h.chunks = append(h.chunks, chunk{s.ID, id, b})
		}
	}
	return h
}

// copied returns a store that holds just this.
func (h *held) copied(t *testing.T) drive.Store {
	t.Helper()
	ctx := context.Background()
	to := memory.New(nil)
	lease, err := to.Acquire(ctx, h.run, "copy", time.Minute)
	b := &ledger.Batch{Lease: lease, Statements: h.statements}
	for _, e := range h.entries {
		b.Entries = append(b.Entries, *e)
	}
	for _, s := range h.scopes {
		if _, scopeErr := to.Scope(ctx, s.ID, &s); err == nil {
			err = scopeErr
		}
	}
	for _, c := range h.chunks {
		b.Chunks = append(b.Chunks, blob.Chunk{Scope: c.scope, ID: c.id, Bytes: c.bytes})
	}
	if err == nil {
		err = to.Append(ctx, b)
	}
	if err == nil {
		_, err = to.Acquire(ctx, h.run, "copy", 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func (*held) Acquire(context.Context, ledger.RunID, string, time.Duration) (ledger.Lease, error) {
	return ledger.Lease{}, fmt.Errorf("nobody writes to it")
}

func (h *held) At(context.Context, ledger.RunID) (ledger.Position, error) { return h.at, nil }

func (h *held) Read(_ context.Context, _ ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		for _, e := range h.entries[min(int64(len(h.entries)), from):] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (h *held) Statements(_ context.Context, run ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return func(yield func(ledger.Statement, error) bool) {
		for _, s := range h.statements {
			if s.Type == typ && s.Run == run && !yield(s, nil) {
				return
			}
		}
	}
}

func (h *held) Scope(_ context.Context, id string, _ *blob.Scope) (blob.Scope, error) {
	for _, s := range h.scopes {
		if s.ID == id {
			return s, nil
		}
	}
	return blob.Scope{}, blob.ErrScopeNotFound
}

func (h *held) Get(_ context.Context, scope string, id canon.Digest) ([]byte, error) {
	for _, c := range h.chunks {
		if c.scope == scope && c.id == id {
			return c.bytes, nil
		}
	}
	return nil, blob.ErrNotFound
}

func (h *held) List(_ context.Context, scope string) iter.Seq2[canon.Digest, error] {
	return func(yield func(canon.Digest, error) bool) {
		for _, c := range h.chunks {
			if c.scope == scope && !yield(c.id, nil) {
				return
			}
		}
	}
}

// object is something that a store keeps of a run.
type object struct {
	name string
	size int
	with func(at int) *held // what is kept, with one bit of that byte flipped
}

// objects returns all that is kept of a run: entries with their places, salts,
// scopes, recipes and sizes; the position; statements; scopes and their keys;
// chunks and their names.
func (h *held) objects() []object {
	var out []object
	bits := func(b []byte, at int) []byte {
		b = slices.Clone(b)
		b[at] ^= 1 << (at % 8)
		return b
	}
	text := func(s string, at int) string { return string(bits([]byte(s), at)) }
	add := func(name string, size int, change func(c *held, at int)) {
		out = append(out, object{name, size, func(at int) *held {
			c := *h
			change(&c, at)
			return &c
		}})
	}
	add("count of the position", 8, func(c *held, at int) { c.at.Count ^= 1 << (8 * at) })
	add("last of the position", len(h.at.Last), func(c *held, at int) { c.at.Last[at] ^= 1 })
	for n, e := range h.entries {
		name := func(what string) string { return fmt.Sprintf("%s of entry %d", what, n) }
		entry := func(what string, size int, change func(e *ledger.Entry, at int)) {
			add(name(what), size, func(c *held, at int) {
				x := *e
				x.Parts = slices.Clone(e.Parts)
				change(&x, at)
				c.entries = slices.Clone(c.entries)
				c.entries[n] = &x
			})
		}
		entry("id", len(e.ID), func(e *ledger.Entry, at int) { e.ID[at] ^= 1 })
		entry("header", len(e.Header), func(e *ledger.Entry, at int) { e.Header = bits(e.Header, at) })
		entry("scope", len(e.Scope), func(e *ledger.Entry, at int) { e.Scope = text(e.Scope, at) })
		entry("salt", len(e.Salt), func(e *ledger.Entry, at int) { e.Salt[at] ^= 1 })
		entry("body", len(e.Body), func(e *ledger.Entry, at int) { e.Body = bits(e.Body, at) })
		for i, p := range e.Parts {
			entry("recipe", len(p.Recipe), func(e *ledger.Entry, at int) { e.Parts[i].Recipe = bits(p.Recipe, at) })
			entry("salt of a part", len(p.Salt), func(e *ledger.Entry, at int) { e.Parts[i].Salt[at] ^= 1 })
			entry("scope of a part", len(p.Scope), func(e *ledger.Entry, at int) { e.Parts[i].Scope = text(p.Scope, at) })
			entry("size of a part", 8, func(e *ledger.Entry, at int) { e.Parts[i].Size ^= 1 << (8 * at) })
		}
	}
	for n, s := range h.statements {
		statement := func(what string, size int, change func(s *ledger.Statement, at int)) {
			add(fmt.Sprintf("%s of statement %d, %s", what, n, s.Type), size, func(c *held, at int) {
				c.statements = slices.Clone(c.statements)
				change(&c.statements[n], at)
			})
		}
		statement("envelope", len(s.Envelope), func(s *ledger.Statement, at int) { s.Envelope = bits(s.Envelope, at) })
		if s.Type == ledger.HeadType { // manifests are told apart by what they say
			statement("count", 8, func(s *ledger.Statement, at int) { s.Count ^= 1 << (8 * at) })
		}
	}
	for n, s := range h.scopes {
		if !slices.ContainsFunc(h.chunks, func(c chunk) bool { return c.scope == s.ID }) {
			continue // its key names nothing
		}
		scope := func(what string, size int, change func(s *blob.Scope, at int)) {
			add(fmt.Sprintf("%s of scope %q", what, s.ID), size, func(c *held, at int) {
				c.scopes = slices.Clone(c.scopes)
				change(&c.scopes[n], at)
			})
		}
		scope("id", len(s.ID), func(s *blob.Scope, at int) { s.ID = text(s.ID, at) })
		scope("key", len(s.Key), func(s *blob.Scope, at int) { s.Key[at] ^= 1 })
	}
	for n, k := range h.chunks {
		held := func(what string, size int, change func(k *chunk, at int)) {
			add(what, size, func(c *held, at int) {
				c.chunks = slices.Clone(c.chunks)
				change(&c.chunks[n], at)
			})
		}
		held("chunk", len(k.bytes), func(k *chunk, at int) { k.bytes = bits(k.bytes, at) })
		held("id of a chunk", len(k.id), func(k *chunk, at int) { k.id[at] ^= 1 })
	}
	return out
}
