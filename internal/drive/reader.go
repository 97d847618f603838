package drive

import (
	"bytes"
	"context"
	"io"
	"iter"
	"sync"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Reader reads entries and contents of one recorded run by number. It keeps a
// bounded window of both, because a replay asks for neighbours. It is safe
// for concurrent use.
type Reader struct {
	store Store
	run   ledger.RunID

	mu     sync.Mutex
	window window
	before window // what the window was until it was full
	chunks map[canon.Digest][]byte
	held   int
}

// window is entries by number.
type window struct {
	entries map[place]*held
	size    int64 // bytes of their bodies
}

// held is an entry of a window. It is parsed when it is asked for, and not by
// whoever reads ahead, for whom the others wait.
type held struct {
	at place
	e  ledger.Entry

	mu sync.Mutex
	o  *ledger.Opened // nil until it was asked for
}

const (
	readAhead  = 1 << 20 // bytes of bodies that are read at once
	maxWindow  = 4 << 20 // bytes of bodies in a window
	entryBytes = 512     // that count for an entry beside its body
	maxHeld    = 8 << 20 // bytes of chunks that are kept
	maxContent = 1 << 30 // bytes of one content that Bytes gives back
)

// NewReader returns a reader of a run.
func NewReader(store Store, run ledger.RunID) *Reader {
	return &Reader{store: store, run: run, window: window{entries: map[place]*held{}}, chunks: map[canon.Digest][]byte{}}
}

// place is where an entry stands. A branch's history is in more than one run.
type place struct {
	run ledger.RunID
	n   int64
}

// Run returns the run that is read.
func (r *Reader) Run() ledger.RunID { return r.run }

// Open returns entry n, which must have its body.
func (r *Reader) Open(ctx context.Context, n int64) (*ledger.Opened, error) {
	return r.open(ctx, place{r.run, n})
}

// Place returns entry n of whichever run.
func (r *Reader) Place(ctx context.Context, run ledger.RunID, n int64) (*ledger.Opened, error) {
	return r.open(ctx, place{run, n})
}

// Ref returns the entry that ref names, of whichever run: a branch's record
// stands in part in its source.
func (r *Reader) Ref(ctx context.Context, ref ledger.Ref) (*ledger.Opened, error) {
	o, err := r.open(ctx, place{ref.Run, ref.N})
	if err == nil && o.ID != ref.ID {
		return nil, fault.New(ErrLineage, "drive.Reader", "entry %d of run %s is not the one that is meant", ref.N, ref.Run)
	}
	return o, err
}

func (r *Reader) open(ctx context.Context, at place) (*ledger.Opened, error) {
	h, err := r.hold(ctx, at)
	if err != nil {
		return nil, err
	}
	return r.parse(ctx, h)
}

// hold returns an entry out of the windows, and reads ahead from it if it is
// in none.
func (r *Reader) hold(ctx context.Context, at place) (*held, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.find(at); h != nil {
		return h, nil
	}
	n, read := at.n, 0
	for e, err := range r.store.Read(ctx, at.run, at.n) {
		if err != nil {
			return nil, err
		}
		r.keep(place{at.run, n}, e)
		n++
		if read += entryBytes + len(e.Body); read >= readAhead {
			break
		}
	}
	h := r.find(at)
	if h == nil {
		return nil, fault.New(ledger.ErrNotFound, "drive.Reader", "run %s has no entry %d", at.run, at.n)
	}
	return h, nil
}

// find returns an entry of the two windows, or nil.
func (r *Reader) find(n place) *held {
	if h := r.window.entries[n]; h != nil {
		return h
	}
	return r.before.entries[n]
}

// keep puts an entry into the window, which begins anew when it is full: what
// was asked for last is still in the one before.
func (r *Reader) keep(at place, e *ledger.Entry) {
	if r.window.size > maxWindow {
		r.before, r.window = r.window, window{entries: map[place]*held{}}
	}
	r.window.entries[at] = &held{at: at, e: *e}
	r.window.size += entryBytes + int64(len(e.Body))
}

// parse returns an entry of the window with its contents resolved.
func (r *Reader) parse(ctx context.Context, h *held) (*ledger.Opened, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.o != nil {
		return h.o, nil
	}
	o, err := ledger.Parse(&h.e)
	if err != nil {
		return nil, err
	}
	if h.at != (place{o.Run, o.N}) {
		return nil, fault.New(ledger.ErrNotFound, "drive.Reader", "run %s has no entry %d", h.at.run, h.at.n)
	}
	if o.Body.IsZero() {
		return nil, fault.New(ledger.ErrAbsent, "drive.Reader", "the body of entry %d is absent", o.N)
	}
	if err := r.resolve(ctx, &o); err != nil {
		return nil, err
	}
	h.o = &o
	return h.o, nil
}

// parts returns the attachments of the entry that ref names, without the rest
// of it.
func (r *Reader) parts(ctx context.Context, ref ledger.Ref) ([]ledger.Attachment, []blob.Part, error) {
	h, err := r.hold(ctx, place{ref.Run, ref.N})
	if err != nil {
		return nil, nil, err
	}
	if h.e.ID == ref.ID && h.e.Body != nil {
		if att, pins, err := ledger.ParseContents(&h.e); err == nil && !pins {
			return att, h.e.Parts, nil
		}
	}
	o, err := r.Ref(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	return o.Att, o.Parts, nil
}

// All yields the history of the run; see [Lineage].
func (r *Reader) All(ctx context.Context) iter.Seq2[*ledger.Opened, error] {
	return Lineage(ctx, r.store, r.run)
}

// resolve gives an entry that points at another one, because its contents
// were the same, the attachments of that one.
func (r *Reader) resolve(ctx context.Context, o *ledger.Opened) error {
	pin := o.Body.Get("refs").Get("pin")
	if pin.IsZero() || len(o.Att) > 0 {
		return nil
	}
	ref, err := ledger.ParseRef(pin)
	if err != nil {
		return err
	}
	for e, err := range r.store.Read(ctx, ref.Run, ref.N) {
		if err != nil {
			return err
		}
		there, err := ledger.Parse(e)
		if err != nil {
			return err
		}
		if there.ID != ref.ID || there.Body.IsZero() {
			return fault.New(ledger.ErrAbsent, "drive.Reader", "entry %d points at entry %d of run %s, which is not the one that it names", o.N, ref.N, ref.Run)
		}
		if err := r.resolve(ctx, &there); err != nil {
			return err
		}
		o.Att, o.Parts = there.Att, there.Parts
		return nil
	}
	return fault.New(ledger.ErrAbsent, "drive.Reader", "entry %d points at entry %d of run %s, which is not in this store", o.N, ref.N, ref.Run)
}

// WriteTo writes the bytes of attachment i of o to w, whatever their size.
func (r *Reader) WriteTo(ctx context.Context, o *ledger.Opened, i int, w io.Writer) error {
	if i >= len(o.Parts) || o.Parts[i].Recipe == nil {
		return fault.New(ledger.ErrAbsent, "drive.Reader", "attachment %d of entry %d is absent", i, o.N)
	}
	return blob.Rebuild(o.Parts[i], r.get(ctx, o.Parts[i].Scope), w)
}

// Bytes returns the bytes of attachment i of o, and checks that they are the
// recorded ones.
func (r *Reader) Bytes(ctx context.Context, o *ledger.Opened, i int) ([]byte, error) {
	if i < len(o.Att) && o.Att[i].Size > maxContent {
		return nil, fault.New(blob.ErrTooLarge, "drive.Reader", "attachment %d of entry %d has %d bytes", i, o.N, o.Att[i].Size)
	}
	var buf bytes.Buffer
	if i < len(o.Att) {
		buf.Grow(int(min(o.Att[i].Size, 1<<20)))
	}
	if err := r.WriteTo(ctx, o, i, &buf); err != nil {
		return nil, err
	}
	if !o.Att[i].Holds(o.Parts[i].Salt, buf.Bytes()) {
		return nil, fault.New(ledger.ErrBindMismatch, "drive.Reader", "attachment %d of entry %d is not the one that was recorded", i, o.N)
	}
	return buf.Bytes(), nil
}

// Contents returns all contents of o but its timing.
func (r *Reader) Contents(ctx context.Context, o *ledger.Opened) ([]ledger.Content, error) {
	var out []ledger.Content
	for i, a := range o.Att {
		if a.Type == ledger.TimingType {
			continue
		}
		b, err := r.Bytes(ctx, o, i)
		if err != nil {
			return nil, err
		}
		out = append(out, ledger.Content{Name: a.Name, Type: a.Type, Bytes: b})
	}
	return out, nil
}

func (r *Reader) get(ctx context.Context, scope string) blob.Get {
	return func(id canon.Digest) ([]byte, error) {
		r.mu.Lock()
		b, ok := r.chunks[id]
		r.mu.Unlock()
		if ok {
			return b, nil
		}
		b, err := r.store.Get(ctx, scope, id)
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.held += len(b); r.held > maxHeld {
			clear(r.chunks)
			r.held = len(b)
		}
		r.chunks[id] = b
		return b, nil
	}
}

// Attachment returns the callback with which [ledger.Verify] reads contents.
func (r *Reader) Attachment(ctx context.Context) func(*ledger.Entry, int, io.Writer) error {
	return func(e *ledger.Entry, i int, w io.Writer) error {
		return blob.Rebuild(e.Parts[i], r.get(ctx, e.Parts[i].Scope), w)
	}
}
