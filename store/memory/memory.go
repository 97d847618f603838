// Package memory keeps ledgers and chunks in the memory of the process. It is
// a store like the others, with the same guarantees but durability, for
// programs that keep nothing and for tests: it can refuse appends with
// conflicts that nobody caused, so that every caller learns to live with them.
package memory

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// Now is the clock that leases run by; nil is time.Now.
	Now func() time.Time
	// Conflict, if not nil, is asked before each append and acquisition; true
	// refuses it with a conflict, and nothing is stored.
	Conflict func() bool
}

// Store is a [ledger.Store] and a [blob.Store].
type Store struct {
	now      func() time.Time
	conflict func() bool

	mu         sync.Mutex
	closed     bool
	runs       map[ledger.RunID]*run
	engines    map[string][]ledger.RunID // runs by the engine that their open names
	statements map[ledger.RunID][]ledger.Statement
	scopes     map[string]*scope
}

type run struct {
	entries []*ledger.Entry // never changed once they are in
	info    ledger.RunInfo
	token   int64
	holder  string // empty if nobody holds the lease
	until   time.Time
}

type scope struct {
	key    [32]byte
	chunks map[canon.Digest][]byte
}

// New returns an empty store.
func New(opts *Options) *Store {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{
		now: opts.Now, conflict: opts.Conflict,
		runs:       map[ledger.RunID]*run{},
		engines:    map[string][]ledger.RunID{},
		statements: map[ledger.RunID][]ledger.Statement{},
		scopes:     map[string]*scope{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.conflict == nil {
		s.conflict = func() bool { return false }
	}
	return s
}

// Close makes every later call fail. It returns nil.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// enter locks the store for one operation.
func (s *Store) enter(ctx context.Context, op string, code fault.Code) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(code, op, err, "given up before it began")
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fault.New(code, op, "the store is closed")
	}
	return nil
}

// Acquire implements [ledger.Store].
func (s *Store) Acquire(ctx context.Context, id ledger.RunID, holder string, ttl time.Duration) (ledger.Lease, error) {
	const op = "memory.Acquire"
	if !id.Valid() || holder == "" || ttl < 0 {
		return ledger.Lease{}, fault.New(ledger.ErrBatch, op, "run %q, holder %q, ttl %s: a lease needs a run id, a holder and a time", id, holder, ttl)
	}
	if err := s.enter(ctx, op, ledger.ErrStore); err != nil {
		return ledger.Lease{}, err
	}
	defer s.mu.Unlock()
	if s.conflict() {
		return ledger.Lease{}, fault.New(ledger.ErrConflict, op, "a conflict, injected")
	}
	r := s.runs[id]
	if r == nil {
		r = &run{info: ledger.RunInfo{Run: id}}
		s.runs[id] = r
	}
	now := s.now()
	if r.holder != "" && r.holder != holder && now.Before(r.until) {
		return ledger.Lease{}, fault.New(ledger.ErrLeased, op, "run %s is written by %s until %s", id, r.holder, r.until.UTC().Format(time.RFC3339))
	}
	switch {
	case ttl == 0 && r.holder == holder:
		r.holder = ""
	case ttl > 0:
		if r.holder != holder {
			r.token++
		}
		r.holder, r.until = holder, now.Add(ttl)
	}
	return ledger.Lease{Run: id, Token: r.token}, nil
}

// Append implements [ledger.Store].
func (s *Store) Append(ctx context.Context, b *ledger.Batch) error {
	const op = "memory.Append"
	if err := b.Check(); err != nil {
		return err
	}
	if err := s.enter(ctx, op, ledger.ErrStore); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.conflict() {
		return fault.New(ledger.ErrConflict, op, "a conflict, injected")
	}
	if b.Lease.Run == "" {
		s.state("", b.Statements)
		return nil
	}
	r := s.runs[b.Lease.Run]
	if r == nil || r.holder == "" || r.token != b.Lease.Token {
		return fault.New(ledger.ErrFenced, op, "the lease %d of run %s is not the present one", b.Lease.Token, b.Lease.Run)
	}
	there, err := r.compare(b)
	if err != nil {
		return err
	}
	if err := s.scoped(b.Chunks); err != nil {
		return err
	}
	s.put(b.Chunks)
	s.state(b.Lease.Run, b.Statements)
	if there {
		return nil
	}
	if b.At.Count == 0 {
		engine := ledger.EngineOf(&b.Entries[0])
		s.engines[engine] = append(s.engines[engine], b.Lease.Run)
	}
	return r.add(b)
}

// compare reports whether the entries of b are already there.
func (r *run) compare(b *ledger.Batch) (there bool, err error) {
	n := r.info.At.Count
	if r.info.At == b.At {
		return len(b.Entries) == 0, nil
	}
	end := b.At.Count + int64(len(b.Entries))
	same := end <= n && (b.At.Count == 0 || r.entries[b.At.Count-1].ID == b.At.Last)
	for i := 0; same && i < len(b.Entries); i++ {
		old := r.entries[b.At.Count+int64(i)]
		same = old.ID == b.Entries[i].ID && bytes.Equal(old.Header, b.Entries[i].Header)
	}
	if !same {
		return false, fault.New(ledger.ErrConflict, "memory.Append", "run %s stands at %d (%s), not at %d (%s)", r.info.Run, n, r.info.At.Last, b.At.Count, b.At.Last)
	}
	return true, nil
}

func (r *run) add(b *ledger.Batch) error {
	for i := range b.Entries {
		h, err := ledger.ParseHeader(b.Entries[i].Header)
		if err != nil {
			return err
		}
		if h.N == 0 {
			r.info.Opened = h.T
		}
		r.info.Ended, r.info.Sealed = h.T, h.Kind == ledger.KindSeal
		r.info.At = ledger.Position{Count: h.N + 1, Last: b.Entries[i].ID}
		r.entries = append(r.entries, clone(&b.Entries[i]))
	}
	return nil
}

func clone(e *ledger.Entry) *ledger.Entry {
	c := *e
	c.Header, c.Body, c.Parts = bytes.Clone(e.Header), bytes.Clone(e.Body), nil
	for _, p := range e.Parts {
		p.Recipe = bytes.Clone(p.Recipe)
		c.Parts = append(c.Parts, p)
	}
	return &c
}

func (s *Store) state(id ledger.RunID, list []ledger.Statement) {
	for _, st := range list {
		same := func(o ledger.Statement) bool {
			return o.Type == st.Type && o.Count == st.Count && bytes.Equal(o.Envelope, st.Envelope)
		}
		if !slices.ContainsFunc(s.statements[id], same) {
			st.Envelope = bytes.Clone(st.Envelope)
			s.statements[id] = append(s.statements[id], st)
		}
	}
}

// At implements [ledger.Store].
func (s *Store) At(ctx context.Context, id ledger.RunID) (ledger.Position, error) {
	_, at, err := s.snapshot(ctx, "memory.At", id)
	return at, err
}

func (s *Store) snapshot(ctx context.Context, op string, id ledger.RunID) ([]*ledger.Entry, ledger.Position, error) {
	if err := s.enter(ctx, op, ledger.ErrStore); err != nil {
		return nil, ledger.Position{}, err
	}
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil || r.info.At.Count == 0 {
		return nil, ledger.Position{}, fault.New(ledger.ErrNotFound, op, "there is no run %s", id)
	}
	return r.entries, r.info.At, nil
}

// Read implements [ledger.Store].
func (s *Store) Read(ctx context.Context, id ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		entries, at, err := s.snapshot(ctx, "memory.Read", id)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := max(from, 0); n < at.Count; n++ {
			if !yield(clone(entries[n]), nil) {
				return
			}
		}
	}
}

// Statements implements [ledger.Store].
func (s *Store) Statements(ctx context.Context, id ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	return func(yield func(ledger.Statement, error) bool) {
		if err := s.enter(ctx, "memory.Statements", ledger.ErrStore); err != nil {
			yield(ledger.Statement{}, err)
			return
		}
		list := slices.DeleteFunc(slices.Clone(s.statements[id]), func(st ledger.Statement) bool { return st.Type != typ })
		s.mu.Unlock()
		slices.SortStableFunc(list, func(a, b ledger.Statement) int { return cmp.Compare(a.Count, b.Count) })
		for _, st := range list {
			if !yield(st, nil) {
				return
			}
		}
	}
}

// Runs implements [ledger.Store].
func (s *Store) Runs(ctx context.Context) iter.Seq2[ledger.RunInfo, error] {
	return s.list(ctx, "memory.Runs", func() iter.Seq[ledger.RunID] { return maps.Keys(s.runs) })
}

// RunsOf implements [ledger.Store].
func (s *Store) RunsOf(ctx context.Context, engine string) iter.Seq2[ledger.RunInfo, error] {
	return s.list(ctx, "memory.RunsOf", func() iter.Seq[ledger.RunID] { return slices.Values(s.engines[engine]) })
}

// list yields runs, newest first. It asks which under the lock.
func (s *Store) list(ctx context.Context, op string, which func() iter.Seq[ledger.RunID]) iter.Seq2[ledger.RunInfo, error] {
	return func(yield func(ledger.RunInfo, error) bool) {
		if err := s.enter(ctx, op, ledger.ErrStore); err != nil {
			yield(ledger.RunInfo{}, err)
			return
		}
		var list []ledger.RunInfo
		for id := range which() {
			if r := s.runs[id]; r.info.At.Count > 0 {
				list = append(list, r.info)
			}
		}
		s.mu.Unlock()
		slices.SortFunc(list, func(a, b ledger.RunInfo) int { return strings.Compare(string(b.Run), string(a.Run)) })
		for _, info := range list {
			if !yield(info, nil) {
				return
			}
		}
	}
}
