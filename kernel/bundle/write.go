package bundle

import (
	"io"
	"iter"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Source is what goes into a bundle: the run asked for first, then those that
// it needs.
type Source struct {
	Runs []Run
}

// Run is one ledger as a source.
type Run struct {
	ID        ledger.RunID
	Manifests [][]byte // oldest first
	Entries   iter.Seq2[*ledger.Entry, error]
	Heads     iter.Seq2[ledger.Statement, error] // by count; may be nil

	// Pieces yields what attachment i of e is put together from; blob.Pieces
	// does. It is not called for a part without a recipe.
	Pieces func(e *ledger.Entry, i int) iter.Seq2[blob.Piece, error]

	// Get returns the bytes of a chunk that Pieces named.
	Get func(scope string, id canon.Digest) ([]byte, error)
}

// Body is the what of [Options.Withhold] that stands for the body.
const Body = -1

// Options says how a bundle is written. The zero Options withholds nothing.
type Options struct {
	// Withhold reports whether the body of an entry, or one of its
	// attachments by number, is left out. Without a body there are no
	// attachments.
	Withhold func(run ledger.RunID, n int64, what int) bool
}

// Write writes a bundle. What the source does not have is withheld. Write
// verifies nothing: a broken ledger gives a bundle that does not verify. It
// keeps about 100 bytes for each chunk, and otherwise one entry.
func Write(w io.Writer, src Source, o Options) error {
	x := writer{w: w, hash: canon.NewStream(), o: o, ordinals: map[chunkKey]int64{}}
	ids := make([]ledger.RunID, len(src.Runs))
	for i, r := range src.Runs {
		ids[i] = r.ID
	}
	x.buf = appendFormat(append(x.buf, magic...), ids)
	if _, err := parseFormat(x.buf[len(magic)+frame:]); err != nil {
		return fault.Wrap(ErrSource, "bundle.Write", err, "the list of runs")
	}
	for i := range src.Runs {
		if err := x.run(&src.Runs[i]); err != nil {
			return err
		}
	}
	if err := x.flush(); err != nil {
		return err
	}
	sum := x.hash.Sum()
	x.record(recEnd, sum[:])
	return x.flush()
}

type chunkKey struct {
	scope string
	id    canon.Digest
}

type writer struct {
	w        io.Writer
	hash     *canon.Stream
	o        Options
	buf      []byte
	err      error
	ordinals map[chunkKey]int64
	entry    []byte // the records of the present entry, behind its chunks
	pieces   pieceWriter
}

const flushAt = 256 << 10

func (x *writer) record(typ byte, parts ...[]byte) {
	x.buf = x.appendRecord(x.buf, typ, parts...)
}

func (x *writer) appendRecord(dst []byte, typ byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if least, most, _ := limits(typ); int64(n) < least || int64(n) > most {
		x.err = fault.New(ErrSource, "bundle.Write", "a record of type %d would have %d bytes; it may have %d to %d", typ, n, least, most)
		return dst
	}
	dst = appendFrame(dst, typ, n)
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

func (x *writer) flush() error {
	if x.err != nil {
		return x.err
	}
	_, _ = x.hash.Write(x.buf)
	if _, err := x.w.Write(x.buf); err != nil {
		return fault.Wrap(ErrWrite, "bundle.Write", err, "the bundle")
	}
	x.buf = x.buf[:0]
	return nil
}

func (x *writer) run(r *Run) error {
	if len(r.Manifests) > maxKeys {
		return fault.New(ErrSource, "bundle.Write", "run %s has more than %d manifests", r.ID, maxKeys)
	}
	x.record(recRun, []byte(r.ID))
	for _, m := range r.Manifests {
		x.record(recManifest, m)
	}
	next, stop := func() (ledger.Statement, error, bool) { return ledger.Statement{}, nil, false }, func() {}
	if r.Heads != nil {
		next, stop = iter.Pull2(r.Heads)
	}
	defer stop()
	head, err, more := next()
	if err != nil {
		return err
	}
	n := int64(0)
	for e, err := range r.Entries {
		if err != nil {
			return err
		}
		if err := x.writeEntry(r, e, n); err != nil {
			return err
		}
		for n++; more && head.Count == n; {
			x.record(recHead, head.Envelope)
			if head, err, more = next(); err != nil {
				return err
			}
		}
		if more && head.Count < n {
			return fault.New(ErrSource, "bundle.Write", "the heads of run %s are not in order at %d", r.ID, head.Count)
		}
		if len(x.buf) >= flushAt {
			if err := x.flush(); err != nil {
				return err
			}
		}
	}
	if more {
		return fault.New(ErrSource, "bundle.Write", "run %s has %d entries, but a head of %d: its end was cut off", r.ID, n, head.Count)
	}
	return x.err
}

func (x *writer) withhold(r *Run, n int64, what int) bool {
	return x.o.Withhold != nil && x.o.Withhold(r.ID, n, what)
}

func (x *writer) writeEntry(r *Run, e *ledger.Entry, n int64) error {
	x.entry = x.appendRecord(x.entry[:0], recHeader, e.ID[:], e.Header)
	if e.Body == nil || x.withhold(r, n, Body) {
		x.entry = x.appendRecord(x.entry, recWithheld)
		x.buf = append(x.buf, x.entry...)
		return x.err
	}
	x.entry = x.appendRecord(x.entry, recBody, e.Salt[:], e.Body)
	for i := range e.Parts {
		if e.Parts[i].Recipe == nil || x.withhold(r, n, i) {
			x.entry = x.appendRecord(x.entry, recWithheldAttachment)
			continue
		}
		if err := x.attachment(r, e, i); err != nil {
			return err
		}
	}
	x.buf = append(x.buf, x.entry...)
	return x.err
}

// attachment writes the chunks that are new, and puts the attachment behind
// the entry.
func (x *writer) attachment(r *Run, e *ledger.Entry, i int) error {
	part := &e.Parts[i]
	x.pieces.reset()
	for p, err := range r.Pieces(e, i) {
		if err != nil {
			return err
		}
		if p.Literal != nil || p.Length == 0 {
			x.pieces.bytes(p.Literal)
			continue
		}
		ordinal, err := x.ordinal(r, chunkKey{part.Scope, p.ID}, p.Length)
		if err != nil {
			return err
		}
		x.pieces.chunk(ordinal)
	}
	x.entry = x.appendRecord(x.entry, recAttachment, part.Salt[:], x.pieces.end())
	return x.err
}

func (x *writer) ordinal(r *Run, key chunkKey, length int64) (int64, error) {
	if ordinal, ok := x.ordinals[key]; ok {
		return ordinal, nil
	}
	b, err := r.Get(key.scope, key.id)
	if err != nil {
		return 0, err
	}
	if int64(len(b)) != length {
		return 0, fault.New(blob.ErrSize, "bundle.Write", "chunk %s has %d bytes, its recipe says %d", key.id, len(b), length)
	}
	x.record(recChunk, b)
	if len(x.buf) >= flushAt {
		if err := x.flush(); err != nil {
			return 0, err
		}
	}
	ordinal := int64(len(x.ordinals))
	x.ordinals[key] = ordinal
	return ordinal, x.err
}
