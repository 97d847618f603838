package archive

import (
	"bytes"
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ImportOptions are what an import needs from the world.
type ImportOptions struct {
	Rand   io.Reader // a cryptographic source, for the keys of scopes
	Holder string    // names this process among the writers of the store
	// Partial takes bundles that withhold contents. A run imported so
	// verifies only with VerifyOptions.Partial.
	Partial bool
	// Verify says what the bundle must hold up to; nil is what it says of
	// itself.
	Verify *VerifyOptions
}

// Imported says what became of one run.
type Imported struct {
	Run     ledger.RunID
	Entries int64 // that are new in the store
}

const (
	batchBytes   = 4 << 20
	batchEntries = 1000
	leaseTTL     = time.Minute
	retries      = 5
)

// Import verifies a bundle and then writes its runs, those first that others
// point at. Nothing is written from a bundle that does not verify. A run that
// is there already stays as it is; of one that is there in part, as after an
// import that was cut off, the rest is added; one with other entries gives
// [ErrDiffers], before anything is written. It returns the runs in the order
// of the bundle.
func Import(ctx context.Context, store Store, r io.ReaderAt, size int64, opts ImportOptions) ([]Imported, error) {
	b, err := bundle.Open(r, size)
	if err != nil {
		return nil, err
	}
	runs := b.Runs()
	done := make([]Imported, len(runs))
	at := make([]ledger.Position, len(runs))
	verify := opts.Verify
	if verify == nil {
		verify = &VerifyOptions{}
	}
	v := newVerifier(arriving{carriedBy(b), stored{store, false}}, verify)
	for i, run := range runs {
		if err := opts.check(ctx, v, run, i == 0); err != nil {
			return nil, err
		}
		if at[i], err = common(ctx, store, b, run); err != nil {
			return nil, err
		}
		done[i].Run = run
	}
	for i, run := range slices.Backward(runs) {
		x := &importer{ctx: ctx, store: store, opts: &opts, b: b, run: run, scopes: map[string]blob.Scope{}, seen: map[chunkKey]bool{}}
		if done[i].Entries, err = x.write(at[i]); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// check verifies a run before anything is written. What it stands on may be
// in the bundle or in the store.
func (o *ImportOptions) check(ctx context.Context, x *verifier, run ledger.RunID, main bool) error {
	var s *standing
	var err error
	if main {
		s, err = x.run(ctx, run)
	} else {
		s, err = x.stand(ctx, part{run: run})
	}
	if err != nil {
		return err
	}
	if main {
		x.report(s)
	} else {
		s.settle()
	}
	if f := s.v.First(); f != nil {
		return fault.Wrap(ErrBroken, "archive.Import", fault.New(f.Code, "archive.Import", "%s", f.Msg), "run %s, entry %d, %s", run, f.N, f.Where)
	}
	if main && s.v.Level < x.opts.asked() {
		return fault.New(sign.ErrUntrusted, "archive.Import", "run %s reaches level %s, and level %s is asked for", run, s.v.Level, x.opts.asked())
	}
	if s.v.Withheld == 0 || o.Partial {
		return nil
	}
	for _, below := range s.lineage() {
		if below.missing != "" {
			return fault.New(ErrPartial, "archive.Import", "run %s, on which run %s stands, is neither in the bundle nor in the store", below.missing, below.run)
		}
	}
	return fault.New(ErrPartial, "archive.Import", "the bundle withholds %d contents of run %s", s.v.Withheld, run)
}

// common returns how far the store has the run of the bundle.
func common(ctx context.Context, store Store, b *bundle.Bundle, run ledger.RunID) (ledger.Position, error) {
	var at ledger.Position
	if _, err := store.At(ctx, run); err != nil {
		if fault.ClassOf(err) == fault.ClassNotFound {
			return at, nil
		}
		return at, err
	}
	there, stop := iter.Pull2(store.Read(ctx, run, 0))
	defer stop()
	for e, err := range b.Evidence(run).Entries {
		if err != nil {
			return at, err
		}
		o, err, more := there()
		if err != nil {
			return at, err
		}
		if !more {
			break
		}
		if o.ID != e.ID || !bytes.Equal(o.Header, e.Header) {
			return at, fault.New(ErrDiffers, "archive.Import", "entry %d of run %s is %s in the store and %s in the bundle", at.Count, run, o.ID, e.ID)
		}
		at = ledger.Position{Count: at.Count + 1, Last: e.ID}
	}
	return at, nil
}

type chunkKey struct {
	scope string
	id    canon.Digest
}

// importer writes one run.
type importer struct {
	ctx    context.Context //nolint:containedctx // it lives for one call
	store  Store
	opts   *ImportOptions
	b      *bundle.Bundle
	run    ledger.RunID
	scopes map[string]blob.Scope
	seen   map[chunkKey]bool
	cutter blob.Writer
	batch  ledger.Batch
	size   int
	wrote  int
}

// write appends what lies behind at.
func (x *importer) write(at ledger.Position) (int64, error) {
	lease, err := x.acquire(x.ctx, leaseTTL)
	if err != nil {
		return 0, err
	}
	x.batch = ledger.Batch{Lease: lease, At: at}
	written, err := x.entries(at)
	if _, free := x.acquire(context.WithoutCancel(x.ctx), 0); err == nil {
		err = free
	}
	return written, err
}

func (x *importer) acquire(ctx context.Context, ttl time.Duration) (ledger.Lease, error) {
	for try := 0; ; try++ {
		lease, err := x.store.Acquire(ctx, x.run, x.opts.Holder, ttl)
		if err == nil || try >= retries || fault.CodeOf(err) != fault.Code(ledger.ErrConflict) {
			return lease, err
		}
	}
}

func (x *importer) entries(at ledger.Position) (int64, error) {
	ev := x.b.Evidence(x.run)
	next, stop := iter.Pull2(ev.Statements)
	defer stop()
	head, err, more := next()
	if err != nil {
		return 0, err
	}
	for i, m := range x.b.Manifests(x.run) {
		x.state(ledger.Statement{Run: x.run, Type: sign.ManifestType, Count: int64(i), Envelope: m})
	}
	var n, written int64
	for e, err := range ev.Entries {
		if err != nil {
			return written, err
		}
		if n++; n > at.Count {
			if err := x.entry(e, &ev); err != nil {
				return written, err
			}
			written++
		}
		for ; more && head.Count == n; head, err, more = next() {
			x.state(head)
		}
		if err != nil {
			return written, err
		}
		if x.size >= batchBytes || len(x.batch.Entries) >= batchEntries {
			if err := x.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, x.flush()
}

func (x *importer) state(st ledger.Statement) {
	st.Envelope = bytes.Clone(st.Envelope)
	x.batch.Statements = append(x.batch.Statements, st)
	x.size += len(st.Envelope)
}

// entry takes a copy of an entry, and cuts its contents anew.
func (x *importer) entry(e *ledger.Entry, ev *ledger.Evidence) error {
	c := ledger.Entry{ID: e.ID, Header: bytes.Clone(e.Header), Scope: string(x.run)}
	x.size += len(e.Header) + len(e.Body)
	if e.Body != nil {
		o, err := ledger.Parse(e)
		if err != nil {
			return err
		}
		if s := o.Body.Get("scope").Str(); s != "" {
			c.Scope = s
		}
		c.Salt, c.Body = e.Salt, bytes.Clone(e.Body)
		c.Parts = make([]blob.Part, len(e.Parts))
		for i := range e.Parts {
			if c.Parts[i], err = x.part(e, i, &o.Att[i], c.Scope, ev); err != nil {
				return err
			}
		}
	}
	x.batch.Entries = append(x.batch.Entries, c)
	return nil
}

func (x *importer) part(e *ledger.Entry, i int, a *ledger.Attachment, home string, ev *ledger.Evidence) (blob.Part, error) {
	name := home
	if a.Scope != "" {
		name = a.Scope
	}
	if e.Parts[i].Recipe == nil {
		return blob.Part{Scope: name, Size: a.Size}, nil
	}
	scope, err := x.scope(name)
	if err != nil {
		return blob.Part{}, err
	}
	x.cutter.Reset(scope, e.Parts[i].Salt, isJSON(a.Type), x.keep)
	if err := ev.Attachment(e, i, &x.cutter); err != nil {
		return blob.Part{}, err
	}
	part, bind, err := x.cutter.Close()
	if err == nil && bind != a.Bind {
		err = fault.New(ledger.ErrBindMismatch, "archive.Import", "the bundle was changed while it was read")
	}
	return part, err
}

// keep takes a chunk into the batch. Contents larger than a batch are stored
// ahead of their entry: chunks that no entry names are only wasted room.
func (x *importer) keep(c blob.Chunk) error {
	key := chunkKey{c.Scope, c.ID}
	if x.seen[key] {
		return nil
	}
	x.seen[key] = true
	c.Bytes = bytes.Clone(c.Bytes)
	x.batch.Chunks = append(x.batch.Chunks, c)
	if x.size += len(c.Bytes); x.size < 2*batchBytes {
		return nil
	}
	err := x.store.Put(x.ctx, x.batch.Chunks)
	x.batch.Chunks, x.size = nil, 0
	return err
}

func (x *importer) scope(id string) (blob.Scope, error) {
	if s, ok := x.scopes[id]; ok {
		return s, nil
	}
	fresh := blob.Scope{ID: id}
	if _, err := io.ReadFull(x.opts.Rand, fresh.Key[:]); err != nil {
		return fresh, fault.Wrap(ErrRandom, "archive.Import", err, "the key of a scope")
	}
	s, err := x.store.Scope(x.ctx, id, &fresh)
	if err == nil {
		x.scopes[id] = s
	}
	return s, err
}

// flush appends the batch. An append that may or may not have been stored is
// made again: a store takes the same entries twice as once.
func (x *importer) flush() error {
	b := &x.batch
	if len(b.Entries) == 0 && len(b.Statements) == 0 {
		return nil
	}
	if x.wrote++; x.wrote%16 == 0 {
		if _, err := x.acquire(x.ctx, leaseTTL); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		err := x.store.Append(x.ctx, b)
		if err == nil {
			break
		}
		again := fault.CodeOf(err) == fault.Code(ledger.ErrConflict) || fault.ClassOf(err) == fault.ClassUnavailable
		if !again || try >= retries || x.ctx.Err() != nil {
			return err
		}
	}
	if n := len(b.Entries); n > 0 {
		b.At = ledger.Position{Count: b.At.Count + int64(n), Last: b.Entries[n-1].ID}
	}
	b.Entries, b.Chunks, b.Statements, x.size = nil, nil, nil, 0
	return nil
}

// isJSON reports whether content of that type is cut as JSON, as the recorder
// cuts it.
func isJSON(typ string) bool {
	typ, _, _ = strings.Cut(typ, ";")
	typ = strings.ToLower(strings.TrimSpace(typ))
	return typ == "application/json" || strings.HasSuffix(typ, "+json")
}
