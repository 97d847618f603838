package drive

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Codes of sessions.
const (
	// ErrEnded means that a session was used after it ended.
	ErrEnded fault.Internal = "drive.session_ended"
	// ErrRandom means that the system gives no randomness. Nothing is written
	// without it.
	ErrRandom fault.Unavailable = "drive.no_randomness"
	// ErrSpool means that bytes could not be staged. Look at the disk.
	ErrSpool fault.Unavailable = "drive.spool_failed"
)

// Sources chooses the source of a call by its depth and kind.
type Sources func(depth int, kind string) effect.Source

// All makes src answer every call.
func All(src effect.Source) Sources {
	return func(int, string) effect.Source { return src }
}

// Opening is what the open of a new run says.
type Opening struct {
	Engine string
	Mode   string
	Title  string
	Rules  int64       // version of the engine's rules; 0: none
	Data   canon.Value // what the engine says beside
	Source *ledger.Ref // of a branch or a replay: the last entry that it stands on
	Parent *ledger.Ref // of a delegated run: the call that it answers
	// Refs are further places that the run stands on, such as the ledger that
	// says who may act in it. They are written, exports follow them, and no
	// engine decides by them.
	Refs []effect.Place

	Contents []ledger.Content // what is too large for Data

	Sources Sources // nil: everything is live
	// From is the recorded run that a journal among the sources was read
	// from; its contents are read there.
	From ledger.RunID
	// Lazy says that nobody needs single entries to be durable before the
	// end: this is a replay, whose answers come from a record.
	Lazy bool
	// Scope is the unit of erasure; empty: the run.
	Scope string
	// Trunk says that this is a branch whose agent runs again from the
	// beginning: what From answers is part of the branch already, and appends
	// nothing.
	Trunk bool
}

// Session is one run that is being written. It is safe for concurrent use.
type Session struct {
	Boundary // of the calls that no other call encloses

	cfg     Config
	run     ledger.RunID
	scope   blob.Scope
	w       *writer
	salts   *salts
	spool   *spool
	sources Sources
	lazy    bool
	trunk   bool
	record  *Reader       // of the recorded run
	large   chan struct{} // one for each large content that is cut now
	listen  func(context.Context) ([]Arrival, error)

	mu     sync.Mutex
	scopes map[string]blob.Scope // below scope, that contents have asked for
	seen   map[effect.Key]int64  // next occurrence, by path and match
	known  map[canon.Digest]bool
	misses []Miss
	counts Counts
}

// Counts says how the calls of a session were answered.
type Counts struct {
	Calls    int64
	Live     int64
	Recorded int64
	Given    int64
	Missed   int64
}

// Miss is a call that its source did not answer.
type Miss struct {
	Key  effect.Key
	Call effect.Call
	N    int64 // its entry
	Err  error
}

// NewRun draws the id of a new run.
func NewRun(cfg *Config) (ledger.RunID, error) {
	id, err := uuid.NewV7FromReader(cfg.Rand)
	if err != nil {
		return "", fault.Wrap(ErrRandom, "drive.NewRun", err, "no randomness")
	}
	ms := cfg.Now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	return ledger.RunID(id.String()), nil
}

// Open begins a new run. The open entry and a first signed head are durable
// when it returns.
func Open(ctx context.Context, cfg Config, o Opening) (*Session, error) {
	run, err := NewRun(&cfg)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, cfg, run, o, ledger.Position{}, ledger.Tree{})
	if err != nil {
		return nil, err
	}
	body := canon.Object(
		canon.M("engine", canon.String(o.Engine)),
		canon.M("mode", canon.String(o.Mode)),
		canon.M("title", canon.String(o.Title)),
		canon.M("data", o.Data),
	)
	if o.Rules > 0 {
		body = body.With("rules", canon.Int(o.Rules))
	}
	refs := canon.Object()
	if o.Source != nil {
		refs = refs.With("source", o.Source.Value())
	}
	if o.Parent != nil {
		refs = refs.With("parent", o.Parent.Value())
	}
	for _, p := range o.Refs {
		refs = refs.With(p.Name, p.Ref.Value())
	}
	s.w.declare(cfg.Manifests, 0)
	_, g, err := s.append(ledger.KindOpen, body, refs, o.Contents)
	if err == nil {
		err = g.wait(ctx)
	}
	if err != nil {
		_ = s.w.close(ctx)
		return nil, err
	}
	return s, nil
}

func begin(ctx context.Context, cfg Config, run ledger.RunID, o Opening, at ledger.Position, tree ledger.Tree) (*Session, error) {
	lease, err := cfg.Store.Acquire(ctx, run, cfg.Holder, leaseTTL)
	if err != nil {
		return nil, err
	}
	s := &Session{
		cfg: cfg, run: run, salts: &salts{from: cfg.Rand}, sources: o.Sources, lazy: o.Lazy, trunk: o.Trunk,
		seen: map[effect.Key]int64{}, known: map[canon.Digest]bool{}, scopes: map[string]blob.Scope{}, large: make(chan struct{}, maxLarge),
	}
	s.s = s
	if s.sources == nil {
		s.sources = All(effect.Live{})
	}
	if o.From != "" {
		s.record = NewReader(cfg.Store, o.From)
	}
	if s.scope, err = s.openScope(ctx, o.Scope); err != nil {
		return nil, err
	}
	if s.spool, err = openSpool(cfg.Spool, run); err != nil {
		return nil, err
	}
	s.w = newWriter(cfg, lease, at, tree, o.Lazy)
	return s, nil
}

func (s *Session) openScope(ctx context.Context, id string) (blob.Scope, error) {
	if id == "" {
		id = string(s.run)
	}
	fresh := blob.Scope{ID: id}
	if _, err := io.ReadFull(s.cfg.Rand, fresh.Key[:]); err != nil {
		return fresh, fault.Wrap(ErrRandom, "drive.Open", err, "no randomness")
	}
	return s.cfg.Store.Scope(ctx, id, &fresh)
}

// ScopeID returns the id of the scope that a content of that scope is kept in,
// when the rest of its run is kept in the scope home.
func ScopeID(home, scope string) string {
	if scope == "" {
		return home
	}
	return home + "/" + scope
}

// scopeOf returns the scope of a content. Its key is drawn when it is first
// used.
func (s *Session) scopeOf(name string) (blob.Scope, error) {
	if name == "" {
		return s.scope, nil
	}
	id := ScopeID(s.scope.ID, name)
	s.mu.Lock()
	scope, ok := s.scopes[id]
	s.mu.Unlock()
	if ok {
		return scope, nil
	}
	scope, err := s.openScope(context.Background(), id)
	if err != nil {
		return scope, err
	}
	s.mu.Lock()
	s.scopes[id] = scope
	s.mu.Unlock()
	return scope, nil
}

// Run returns the id of the run.
func (s *Session) Run() ledger.RunID { return s.run }

// Reader returns a reader of the run itself, as far as it is durable.
func (s *Session) Reader() *Reader { return NewReader(s.cfg.Store, s.run) }

// At returns where the run stands, entries that are not durable yet included.
func (s *Session) At() ledger.Position {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.w.at
}

// Counts returns how calls were answered so far.
func (s *Session) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Misses returns the calls that got no answer, in the order they came; at
// most 1000 are kept, [Counts] has their number.
func (s *Session) Misses() []Miss {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Miss(nil), s.misses...)
}

// Decide appends what an engine concluded and returns when all of it is
// durable.
func (s *Session) Decide(ctx context.Context, ds ...ledger.Decision) error {
	var last *group
	for i := range ds {
		_, g, err := s.append(ds[i].Kind, ds[i].Body, canon.Value{}, ds[i].Contents)
		if err != nil {
			return err
		}
		last = g
	}
	if last == nil || s.lazy {
		return nil
	}
	return last.wait(ctx)
}

// Note appends an event that decides nothing and is no input, such as a
// message of a duplex exchange, and returns when it is durable. Exchange is
// the entry of the call that it belongs to, or -1.
func (s *Session) Note(ctx context.Context, exchange int64, name string, data canon.Value, contents ...ledger.Content) (ledger.Ref, error) {
	if s.inTrunk() {
		return ledger.Ref{Run: s.run, N: -1}, nil
	}
	refs := canon.Object(canon.M("note", canon.Bool(true)))
	if exchange >= 0 {
		refs = refs.With("call", canon.Int(exchange))
	}
	ref, g, err := s.append(ledger.KindEvent, canon.Object(canon.M("name", canon.String(name)), canon.M("data", data)), refs, contents)
	if err != nil || s.lazy {
		return ref, err
	}
	return ref, g.wait(ctx)
}

// inTrunk reports whether everything until now is part of the run that this
// one branches from.
func (s *Session) inTrunk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trunk && s.counts.Calls == s.counts.Recorded
}

// Receive appends an input from outside, such as an approval, and returns when
// it is durable. From names who sent it; that it is really they is for the
// caller to have checked.
func (s *Session) Receive(ctx context.Context, kind ledger.Kind, name, from string, data canon.Value, contents ...ledger.Content) error {
	body := canon.Object(canon.M("name", canon.String(name)), canon.M("from", canon.String(from)), canon.M("data", data))
	_, g, err := s.append(kind, body, canon.Value{}, contents)
	if err != nil {
		return err
	}
	return g.wait(ctx)
}

// Erase records that the contents of a scope of this run (see
// [ledger.Content]) are to be erased, and returns when that is durable. The
// caller then erases the scope [ScopeID] from the store, after the run is
// sealed: what is recorded here and still there is only not erased yet.
func (s *Session) Erase(ctx context.Context, scope string) error {
	id := ScopeID(s.scope.ID, scope)
	if err := s.settle(ctx); err != nil {
		return err
	}
	var list []ledger.Erased
	for e, err := range s.cfg.Store.Read(ctx, s.run, 0) {
		if err != nil {
			return err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return err
		}
		for i := range o.Att {
			if i < len(e.Parts) && e.Parts[i].Scope == id {
				list = append(list, ledger.Erased{N: o.N, Att: o.Att[i].Name})
			}
		}
	}
	for part := range slices.Chunk(list, ledger.MaxErased) {
		body := canon.Object(canon.M("name", canon.String(scope)), canon.M("data", canon.Object(canon.M("contents", canon.Int(int64(len(part)))))))
		_, g, err := s.append(ledger.KindErasure, body, ledger.ErasureRefs(part), nil)
		if err == nil {
			err = g.wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Seal ends the run: nothing can follow. Everything is durable and covered by
// a signed head when it returns.
func (s *Session) Seal(ctx context.Context, status string, data canon.Value, world *canon.Digest) error {
	body := canon.Object(canon.M("status", canon.String(status)), canon.M("data", data))
	if world != nil {
		body = body.With("world", canon.String(world.String()))
	}
	if _, _, err := s.append(ledger.KindSeal, body, canon.Value{}, nil); err != nil {
		return err
	}
	return s.Close(ctx)
}

// Close ends the session without sealing the run, so that it can be resumed.
func (s *Session) Close(ctx context.Context) error {
	err := s.w.close(ctx)
	if err == nil {
		err = s.spool.close()
	}
	return err
}

// append stores contents, and puts the entry that names them into the ledger.
func (s *Session) append(kind ledger.Kind, body, refs canon.Value, contents []ledger.Content) (ledger.Ref, *group, error) {
	return s.appendAll(ledger.Draft{Kind: kind, Body: body, Refs: refs}, contents, nil, "")
}

func (s *Session) appendAll(d ledger.Draft, contents []ledger.Content, l *Large, scope string) (ledger.Ref, *group, error) {
	var st stage
	for _, c := range contents {
		if err := s.attach(&d, &st, c); err != nil {
			return ledger.Ref{}, nil, err
		}
	}
	if l != nil {
		if err := s.attachLarge(&d, &st, l, scope); err != nil {
			return ledger.Ref{}, nil, err
		}
	}
	return s.appendDraft(d, st.chunks)
}

func (s *Session) appendDraft(d ledger.Draft, chunks []blob.Chunk) (ledger.Ref, *group, error) {
	var err error
	if d.Salt, err = s.salts.next(); err != nil {
		return ledger.Ref{}, nil, err
	}
	d.Run, d.Scope, d.T = s.w.run, s.scope.ID, stamp(s.cfg.Now())
	p, err := ledger.Prepare(d)
	if err != nil {
		return ledger.Ref{}, nil, err
	}
	ref, g, err := s.w.append(p, chunks)
	if err == nil {
		s.remember(chunks)
	}
	return ref, g, err
}

func (s *Session) attach(d *ledger.Draft, st *stage, c ledger.Content) error {
	salt, err := s.salts.next()
	if err != nil {
		return err
	}
	scope, err := s.scopeOf(c.Scope)
	if err != nil {
		return err
	}
	var part blob.Part
	var bind canon.Digest
	if c.Scope == "" && len(c.Bytes) <= blob.InlineMax {
		part, bind = blob.Inline(scope.ID, salt, c.Bytes)
	} else {
		w := newBlobWriter(s, scope, salt, c.Type, st)
		if c.Scope != "" {
			w.Apart()
		}
		if _, err := w.Write(c.Bytes); err != nil {
			return err
		}
		if part, bind, err = w.Close(); err != nil {
			return err
		}
	}
	d.Att = append(d.Att, ledger.Attachment{Name: c.Name, Type: c.Type, Size: int64(len(c.Bytes)), Bind: bind})
	d.Parts = append(d.Parts, part)
	return nil
}

// stage collects the chunks of one entry that the store does not have.
type stage struct {
	chunks []blob.Chunk
	size   int
}

// maxKnown bounds what a session remembers of chunks it has stored. What it
// forgets is stored again, which a store takes as no change.
const maxKnown = 1 << 16

// maxStaged is how many bytes of one answer stay in memory; beyond it they
// are stored before the entry that names them.
const maxStaged = 1 << 20

func (st *stage) keep(s *Session) blob.Emit {
	return func(c blob.Chunk) error {
		s.mu.Lock()
		known := s.known[c.ID]
		s.mu.Unlock()
		if known {
			return nil
		}
		c.Bytes = append([]byte(nil), c.Bytes...)
		st.chunks = append(st.chunks, c)
		if st.size += len(c.Bytes); st.size < maxStaged {
			return nil
		}
		if err := s.cfg.Store.Put(context.Background(), st.chunks); err != nil {
			return err
		}
		s.remember(st.chunks)
		st.chunks, st.size = nil, 0
		return nil
	}
}

// remember notes chunks that are stored, or that stand in front of everything
// that is appended from now on. To note them earlier would let an entry become
// durable before the chunks that it needs.
func (s *Session) remember(chunks []blob.Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known)+len(chunks) > maxKnown {
		clear(s.known)
	}
	for i := range chunks {
		s.known[chunks[i].ID] = true
	}
}

// elapsed returns whole nanoseconds between two readings of the clock.
func elapsed(from, to time.Time) int64 { return max(0, to.Sub(from).Nanoseconds()) }
