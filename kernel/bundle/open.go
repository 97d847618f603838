package bundle

import (
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Bundle is an open bundle. It is safe for concurrent use if its file is.
type Bundle struct {
	f        file
	runs     []ledger.RunID
	sections []section // of the runs that are there, in their order
	chunks   *index
	damage   *Damage
}

// section is where a run stands.
type section struct {
	manifests [][]byte
	at        int64 // of the first record behind the manifests
	chunk     int64 // number of the first chunk behind it
	count     int64 // entries
	heads     []headPlace
	broken    bool // it ends in the damage
}

type headPlace struct{ at, size, count int64 }

// Damage is what is wrong with the file itself.
type Damage struct {
	Code  fault.Code
	Run   ledger.RunID // in which it is, or empty
	Entry int64        // in which it is, or -1
	At    int64        // about where in the file, in bytes
	Msg   string
}

// Parse opens a bundle that is in memory. The bytes must not change while it
// is used.
func Parse(b []byte) (*Bundle, error) {
	if b == nil {
		b = []byte{}
	}
	return open(file{whole: b, size: int64(len(b))})
}

// Open opens a bundle of size bytes. It reads all of it once, and keeps it if
// it is at most 32 MiB. The error says
// that it is no bundle or cannot be read; a bundle that is damaged opens, and
// then nothing in it verifies. See [Bundle.Damage].
func Open(r io.ReaderAt, size int64) (*Bundle, error) {
	f := file{r: r, size: size}
	if size > maxWhole {
		return open(f)
	}
	b := make([]byte, size)
	if err := f.readAt(b, 0); err != nil {
		return nil, err
	}
	return Parse(b)
}

// maxWhole is up to which size a bundle is kept in memory while it is open,
// instead of being read twice.
const maxWhole = 32 << 20

func open(f file) (*Bundle, error) {
	b := &Bundle{f: f, chunks: newIndex()}
	c := newCursor(&b.f, 0)
	head, err := c.peek(len(magic))
	if err != nil || string(head) != magic {
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		return nil, fault.New(ErrNotBundle, "bundle.Open", "the file does not begin as a bundle does")
	}
	return b, b.scan()
}

// scan is the first pass. It returns an error only where the file cannot be
// read or is of another version.
func (b *Bundle) scan() error {
	c := newCursor(&b.f, 0)
	c.hashAll(b.f.size - endSize)
	c.pos = int64(len(magic))
	w := &walker{c: c, chunks: b.chunks, learn: true}
	err := b.records(c, w)
	if err == nil {
		return nil
	}
	d := &Damage{Code: fault.CodeOf(err), Entry: -1, At: c.pos, Msg: fault.Text(err)}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && fault.CodeOf(err) == fault.Code(fault.ErrUnknown):
		d.Code, d.Msg = ErrTruncated, "the file ends inside a record, or before its end record"
	case fault.ClassOf(err) != fault.ClassIntegrity:
		return err
	}
	if n := len(b.sections); n > 0 && d.Code != fault.Code(ErrDigest) {
		s := &b.sections[n-1]
		s.count, s.broken = w.n, true
		d.Run, d.Entry = b.runs[n-1], w.n
	}
	b.damage = d
	return nil
}

func (b *Bundle) records(c *cursor, w *walker) error {
	typ, size, err := c.record()
	if err != nil {
		return err
	}
	if typ != recFormat {
		return malformed("the first record is of type %d", typ)
	}
	p, err := c.take(size)
	if err != nil {
		return err
	}
	if b.runs, err = parseFormat(p); err != nil {
		return err
	}
	for _, run := range b.runs {
		if err := b.readRun(c, w, run); err != nil {
			return err
		}
	}
	typ, size, err = c.record()
	if err != nil {
		return err
	}
	if typ != recEnd {
		return malformed("a record of type %d where the end is due", typ)
	}
	if p, err = c.take(size); err != nil {
		return err
	}
	if c.pos != b.f.size {
		return malformed("there are %d bytes behind the end", b.f.size-c.pos)
	}
	if sum := c.hash.Sum(); sum != canon.Digest(p) {
		return fault.New(ErrDigest, "bundle.Open", "the file says %s, its bytes give %s", canon.Digest(p), sum)
	}
	return nil
}

func (s *section) readManifests(c *cursor) error {
	for {
		c.mark()
		typ, size, err := c.record()
		if err != nil || typ != recManifest {
			return err
		}
		if len(s.manifests) >= maxKeys {
			return malformed("more than %d manifests", maxKeys)
		}
		p, err := c.take(size)
		if err != nil {
			return err
		}
		s.manifests = append(s.manifests, slices.Clone(p))
	}
}

func (b *Bundle) readRun(c *cursor, w *walker, run ledger.RunID) error {
	c.mark()
	typ, size, err := c.record()
	if err != nil {
		return err
	}
	if typ != recRun {
		return malformed("a record of type %d where run %s is due", typ, run)
	}
	p, err := c.take(size)
	if err != nil {
		return err
	}
	if string(p) != string(run) {
		return malformed("a record of type %d where run %s is due", typ, run)
	}
	w.n = 0
	b.sections = append(b.sections, section{})
	s := &b.sections[len(b.sections)-1]
	if err := s.readManifests(c); err != nil {
		return err
	}
	s.at, s.chunk = c.pos, b.chunks.count()
	w.head = func(at, size, count int64) { s.heads = append(s.heads, headPlace{at, size, count}) }
	for {
		e, err := w.next()
		if err != nil {
			return err
		}
		if e == nil {
			s.count = w.n
			return nil
		}
	}
}

// Runs returns the runs, the one asked for first.
func (b *Bundle) Runs() []ledger.RunID { return slices.Clone(b.runs) }

// Manifests returns the key manifests that a run carries, oldest first. They
// are claims: roots of trust do not come from here.
func (b *Bundle) Manifests(run ledger.RunID) [][]byte {
	if x := b.reader(run); x.s != nil {
		return slices.Clone(x.s.manifests)
	}
	return nil
}

// Damage returns what is wrong with the file, or nil.
func (b *Bundle) Damage() *Damage { return b.damage }

// finding returns the damage as a verification of run reports it.
func (b *Bundle) finding(run ledger.RunID) *ledger.Finding {
	d := b.damage
	if d == nil {
		return nil
	}
	f := &ledger.Finding{Code: d.Code, N: -1, Where: "bundle", Msg: d.Msg}
	if d.Run == run {
		f.N = d.Entry
	}
	return f
}

// Evidence returns what ledger.Verify looks at. The caller adds keys and
// expectations. An entry is valid until the next one is asked for, and its
// recipes are of the bundle: only Attachment can read them. It is for one
// goroutine.
func (b *Bundle) Evidence(run ledger.RunID) ledger.Evidence {
	x := b.reader(run)
	return ledger.Evidence{
		Run: run, Entries: x.entries, Statements: x.statements,
		Attachment: func(e *ledger.Entry, i int, w io.Writer) error { return x.rebuild(&e.Parts[i], w) },
		Withheld:   true,
		Damage:     b.finding(run),
	}
}

// Source returns the bundle as the source of another one. A damaged bundle is
// refused with its code.
func (b *Bundle) Source() (Source, error) {
	if d := b.damage; d != nil {
		return Source{}, fault.New(d.Code, "bundle.Source", "%s", d.Msg)
	}
	var src Source
	for _, run := range b.runs {
		x := b.reader(run)
		src.Runs = append(src.Runs, Run{ID: run, Manifests: b.Manifests(run), Entries: x.entries, Heads: x.statements, Pieces: x.blobPieces, Get: x.get})
	}
	return src, nil
}

func (b *Bundle) reader(run ledger.RunID) *reader {
	x := &reader{b: b, run: run}
	if i := slices.Index(b.runs, run); i >= 0 && i < len(b.sections) {
		x.s = &b.sections[i]
	}
	return x
}

// reader reads one run, in the second pass.
type reader struct {
	b      *Bundle
	run    ledger.RunID
	s      *section // nil if the run is not there
	c      *cursor
	recent map[int64][]byte // chunks out of the window
	held   int
}

const maxRecent = 16 << 20

func (x *reader) entries(yield func(*ledger.Entry, error) bool) {
	if x.s == nil {
		return
	}
	x.c = newCursor(&x.b.f, x.s.at)
	w := &walker{c: x.c, chunks: x.b.chunks, seen: x.s.chunk, used: x.s.chunk}
	for range x.s.count {
		e, err := w.next()
		if err == nil && e == nil {
			err = malformed("the file was changed while it was read")
		}
		if err != nil {
			// The last whole entry of a broken run: what stands behind it is
			// what is broken.
			if e == nil || !x.s.broken || w.n != x.s.count {
				yield(nil, err)
				return
			}
		}
		if !yield(e, nil) {
			return
		}
	}
}

func (x *reader) statements(yield func(ledger.Statement, error) bool) {
	if x.s == nil {
		return
	}
	for _, h := range x.s.heads {
		env := make([]byte, h.size)
		if x.b.f.whole != nil {
			copy(env, x.b.f.whole[h.at:])
		} else if err := x.b.f.readAt(env, h.at); err != nil {
			yield(ledger.Statement{}, err)
			return
		}
		if !yield(ledger.Statement{Run: x.run, Type: ledger.HeadType, Count: h.count, Envelope: env}, nil) {
			return
		}
	}
}

// chunk returns the bytes of a chunk.
func (x *reader) chunk(ordinal int64) ([]byte, error) {
	if ordinal < 0 || ordinal >= x.b.chunks.count() {
		return nil, malformed("there is no chunk %d", ordinal)
	}
	at, size := x.b.chunks.at[ordinal], int(x.b.chunks.size(ordinal, 1))
	if x.b.f.whole != nil {
		return x.b.f.whole[at : at+int64(size)], nil
	}
	if x.c != nil {
		if b := x.c.window(at, size); b != nil {
			return b, nil
		}
	}
	if b, ok := x.recent[ordinal]; ok {
		return b, nil
	}
	b := make([]byte, size)
	if err := x.b.f.readAt(b, at); err != nil {
		return nil, err
	}
	if x.held += size; x.held > maxRecent || x.recent == nil {
		x.recent, x.held = map[int64][]byte{}, size
	}
	x.recent[ordinal] = b
	return b, nil
}

func (x *reader) rebuild(p *blob.Part, w io.Writer) error {
	if p.Recipe == nil {
		return fault.New(ledger.ErrAbsent, "bundle.Attachment", "the attachment is withheld")
	}
	for rest := p.Recipe; len(rest) > 0; {
		q, next, err := nextPiece(rest)
		if err != nil {
			return err
		}
		rest = next
		if q.literal != nil {
			if _, err := w.Write(q.literal); err != nil {
				return err
			}
			continue
		}
		for i := range q.count {
			b, err := x.chunk(q.first + i)
			if err != nil {
				return err
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// blobPieces gives the pieces as those of a store, with the number of a chunk
// as its id.
func (x *reader) blobPieces(e *ledger.Entry, i int) iter.Seq2[blob.Piece, error] {
	return func(yield func(blob.Piece, error) bool) {
		for rest := e.Parts[i].Recipe; len(rest) > 0; {
			q, next, err := nextPiece(rest)
			if err != nil {
				yield(blob.Piece{}, err)
				return
			}
			rest = next
			if q.literal != nil {
				if !yield(blob.Piece{Literal: q.literal, Length: int64(len(q.literal))}, nil) {
					return
				}
				continue
			}
			for k := range q.count {
				ordinal := q.first + k
				if !yield(blob.Piece{ID: ordinalID(ordinal), Length: x.b.chunks.size(ordinal, 1)}, nil) {
					return
				}
			}
		}
	}
}

func (x *reader) get(_ string, id canon.Digest) ([]byte, error) { return x.chunk(idOrdinal(id)) }

func ordinalID(n int64) (id canon.Digest) {
	for i := range 8 {
		id[i] = byte(n >> (8 * i))
	}
	return id
}

func idOrdinal(id canon.Digest) (n int64) {
	for i := range 8 {
		n |= int64(id[i]) << (8 * i)
	}
	return n
}
