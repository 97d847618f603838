package bundle

import (
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// index says where the chunks of a bundle are.
type index struct {
	at  []int64 // where the bytes of a chunk begin
	sum []int64 // of the sizes of all chunks before; one more than chunks
}

func newIndex() *index { return &index{sum: []int64{0}} }

func (x *index) add(at, size int64) {
	x.at = append(x.at, at)
	x.sum = append(x.sum, x.sum[len(x.sum)-1]+size)
}

func (x *index) count() int64 { return int64(len(x.at)) }

// size returns how many bytes the chunks from first on have together.
func (x *index) size(first, count int64) int64 { return x.sum[first+count] - x.sum[first] }

// walker reads the entries of one run, and checks that the records of a
// bundle are what the format allows. The first pass, which learns where the
// chunks are, and the second, which knows it, are the same code.
type walker struct {
	c      *cursor
	chunks *index
	learn  bool
	seen   int64 // chunks that stand before the present entry
	used   int64 // chunks that were used up to here
	n      int64 // entries before the present one
	entry  ledger.Entry
	parts  []blob.Part
	head   func(at, size, count int64) // of a head that stands behind count entries; may be nil
}

func malformed(format string, args ...any) error {
	return fault.New(ErrMalformed, "bundle.Open", format, args...)
}

// next reads one entry and all that belongs to it. It returns nil where
// another run begins or the bundle ends. The entry is valid until the next
// call.
func (w *walker) next() (*ledger.Entry, error) {
	w.c.mark()
	typ, size, err := w.c.record()
	if err != nil {
		return nil, err
	}
	for chunked := false; typ != recHeader; chunked = true {
		if typ != recChunk {
			if chunked || typ != recRun && typ != recEnd {
				return nil, malformed("a record of type %d where an entry is due", typ)
			}
			return nil, nil
		}
		if typ, size, err = w.chunk(size); err != nil {
			return nil, err
		}
	}
	if w.c.pos-w.c.pin > maxPin {
		w.c.pin = w.c.pos
	}
	b, err := w.c.take(size)
	if err != nil {
		return nil, err
	}
	e := &w.entry
	*e = ledger.Entry{Header: b[digest:]}
	copy(e.ID[:], b)
	if err := w.body(e); err != nil {
		return nil, err
	}
	if w.used != w.seen {
		return nil, malformed("a chunk stands before an entry that does not use it")
	}
	w.n++
	return e, w.heads()
}

// chunk passes a chunk and returns what stands behind it.
func (w *walker) chunk(size int64) (byte, int64, error) {
	if w.learn {
		w.chunks.add(w.c.pos+frame, size)
	} else if w.seen >= w.chunks.count() {
		return 0, 0, malformed("the file was changed while it was read")
	}
	w.seen++
	if w.c.pos-w.c.pin > maxPin {
		w.c.pin = w.c.pos
	}
	if _, err := w.c.take(size); err != nil {
		return 0, 0, err
	}
	return w.c.record()
}

func (w *walker) body(e *ledger.Entry) error {
	typ, size, err := w.c.record()
	if err != nil {
		return err
	}
	if typ != recBody && typ != recWithheld {
		return malformed("a record of type %d where a body is due", typ)
	}
	b, err := w.c.take(size)
	if err != nil || typ == recWithheld {
		return err
	}
	copy(e.Salt[:], b)
	e.Body = b[digest:]
	w.parts = w.parts[:0]
	for {
		if more, err := w.c.nextIs(recAttachment, recWithheldAttachment); err != nil {
			return err
		} else if !more {
			break
		}
		typ, size, err := w.c.record()
		if err != nil {
			return err
		}
		if len(w.parts) >= ledger.MaxAttachments {
			return malformed("an entry has more than %d attachments", ledger.MaxAttachments)
		}
		b, err := w.c.take(size)
		if err != nil {
			return err
		}
		var p blob.Part
		if typ == recAttachment {
			copy(p.Salt[:], b)
			p.Recipe = b[digest:]
			if p.Size, err = w.pieces(p.Recipe); err != nil {
				return err
			}
		}
		w.parts = append(w.parts, p)
	}
	e.Parts = w.parts
	return nil
}

// pieces checks the pieces of an attachment and returns its size.
func (w *walker) pieces(p []byte) (size int64, err error) {
	var last piece
	for len(p) > 0 {
		x, rest, err := nextPiece(p)
		if err != nil {
			return 0, err
		}
		p = rest
		n := int64(len(x.literal))
		if x.literal != nil {
			if last.literal != nil {
				return 0, malformed("an attachment has bytes in two pieces that could be one")
			}
		} else {
			if last.count > 0 && last.first+last.count == x.first {
				return 0, malformed("an attachment has chunks in two pieces that could be one")
			}
			if x.first > w.used || x.first+x.count > w.seen {
				return 0, malformed("an attachment names chunks from %d on, which are not next or not there", x.first)
			}
			w.used = max(w.used, x.first+x.count)
			n = w.chunks.size(x.first, x.count)
		}
		if n > maxSize-size {
			return 0, malformed("an attachment is larger than %d bytes", int64(maxSize))
		}
		size += n
		last = x
	}
	return size, nil
}

func (w *walker) heads() error {
	for {
		if more, err := w.c.nextIs(recHead, recHead); err != nil || !more {
			return err
		}
		_, size, err := w.c.record()
		if err != nil {
			return err
		}
		if w.head != nil {
			w.head(w.c.pos+frame, size, w.n)
		}
		if _, err := w.c.take(size); err != nil {
			return err
		}
	}
}
