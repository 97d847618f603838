package bundle

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// file is the bytes of a bundle: at once, or where they can be read.
type file struct {
	r     io.ReaderAt
	whole []byte // all bytes, if r is nil
	size  int64
}

// readAt fills p from off on.
func (f *file) readAt(p []byte, off int64) error {
	n, err := f.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fault.Wrap(ErrRead, "bundle.Open", err, "%d bytes at %d", len(p), off)
}

const (
	readSize = 1 << 20 // what is read at once
	maxPin   = 4 << 20 // how far back an entry may hold the window
)

// cursor walks through a file and keeps a window of it.
type cursor struct {
	f    *file
	buf  []byte
	base int64 // where buf begins
	pos  int64
	pin  int64         // what stands from here on stays in the window
	idle []byte        // the window before, to be used again
	held bool          // something of the present entry may stand in idle
	hash *canon.Stream // takes all bytes up to hashEnd as they are read; may be nil
	end  int64         // of what is hashed
}

func newCursor(f *file, pos int64) *cursor {
	c := &cursor{f: f, base: pos, pos: pos, pin: pos}
	if f.whole != nil {
		c.base, c.buf = 0, f.whole
	}
	return c
}

// hashAll makes the cursor, which must stand at 0, hash the first n bytes.
func (c *cursor) hashAll(n int64) {
	c.hash, c.end = canon.NewStream(), max(n, 0)
	if c.f.whole != nil {
		_, _ = c.hash.Write(c.f.whole[:c.end])
	}
}

// peek returns the next n bytes, and io.ErrUnexpectedEOF if there are fewer.
// They stay as they are until something behind the window is asked for.
func (c *cursor) peek(n int) ([]byte, error) {
	if int64(n) > c.f.size-c.pos {
		return nil, io.ErrUnexpectedEOF
	}
	at := int(c.pos - c.base)
	if at+n > len(c.buf) {
		if err := c.fill(n); err != nil {
			return nil, err
		}
		at = int(c.pos - c.base)
	}
	return c.buf[at : at+n : at+n], nil
}

// mark says that what was given out before is not used any more.
func (c *cursor) mark() { c.pin, c.held = c.pos, false }

// fill reads on until n bytes from pos on are in the window. What was given
// out since the last mark is left as it is.
func (c *cursor) fill(n int) error {
	keep := c.buf[min(c.pin, c.pos)-c.base:]
	from := c.base + int64(len(c.buf))
	want := int(min(int64(max(n, readSize)), c.f.size-from))
	if len(c.buf)+want > cap(c.buf) {
		next := c.idle
		if c.held || len(keep)+want > cap(next) {
			next = make([]byte, 0, len(keep)+want+readSize)
		}
		if !c.held {
			c.idle, c.held = c.buf[:0], true
		}
		c.base, c.buf = from-int64(len(keep)), append(next[:0], keep...)
	}
	had := len(c.buf)
	c.buf = c.buf[:had+want]
	if err := c.f.readAt(c.buf[had:], from); err != nil {
		c.buf = c.buf[:had]
		return err
	}
	if c.hash != nil && from < c.end {
		_, _ = c.hash.Write(c.buf[had:][:min(int64(want), c.end-from)])
	}
	return nil
}

// window returns n bytes at off if they are at hand.
func (c *cursor) window(off int64, n int) []byte {
	at := off - c.base
	if at < 0 || at+int64(n) > int64(len(c.buf)) {
		return nil
	}
	return c.buf[at : at+int64(n)]
}

// record returns the type and length of the next record without passing it.
func (c *cursor) record() (typ byte, length int64, err error) {
	b, err := c.peek(frame)
	if err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint64(b[1:])
	least, most, known := limits(b[0])
	if !known || n < uint64(least) || n > uint64(most) {
		return 0, 0, fault.New(ErrMalformed, "bundle.Open", "a record of type %d with %d bytes", b[0], n)
	}
	return b[0], int64(n), nil
}

// nextIs reports whether a record of one of two types comes next. What is
// wrong with it is for record to say.
func (c *cursor) nextIs(a, b byte) (bool, error) {
	p, err := c.peek(1)
	if err != nil {
		return false, err
	}
	return p[0] == a || p[0] == b, nil
}

// take returns the bytes of the record at pos, whose length is n, and goes
// behind it.
func (c *cursor) take(n int64) ([]byte, error) {
	b, err := c.peek(frame + int(n))
	if err != nil {
		return nil, err
	}
	c.pos += frame + n
	return b[frame:], nil
}
