package redact

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/reprise-dev/reprise/internal/codings"
)

// unfolding decodes a body whose bytes come in parts. What it holds is given
// as far as the bytes say it that came; it says too which bytes tell no more
// than was given.
type unfolding struct {
	coding string
	in     *bufio.Reader
	part   []byte // that came and is not read yet
	read   int64  // bytes that were
	last   bool   // no part follows
	resume func() ([]byte, bool)
	stop   func() // ends it; whoever began it calls it
	give   func([]byte) bool
	err    error // why it has ended

	stopped bool

	given  int64 // bytes that were decoded
	turn   place // where the decoder was when it gave something last
	before int64 // and where it was the time before
	tail   []byte
	parted bool    // it may be of several members, as bodies of gzip can be
	sure   []place // that are not cleared yet, in their order
}

// place is a place in the bytes that came: they tell no more, up to there,
// than so many bytes of what they hold.
type place struct{ at, plain int64 }

// errStopped ends a decoder of which nothing more is wanted.
var errStopped = errors.New("capture: stopped")

// decodedPart is how many bytes a decoder gives at a time, at most.
const decodedPart = 64 << 10

// window is how far a deflated body may refer back to.
const window = 32 << 10

func unfold(coding string) *unfolding {
	u := &unfolding{coding: coding}
	// As large as the one that the decoder makes for itself, so that it takes
	// this one, and it is known how far it has read.
	u.in = bufio.NewReaderSize(u, codings.ReadAhead)
	u.resume, u.stop = iter.Pull(u.run)
	return u
}

// run decodes. It is a coroutine: it rests while it has given something, and
// while there is nothing to read.
func (u *unfolding) run(give func([]byte) bool) {
	u.give = give
	r, closer, err := codings.NewReader(u.coding, u.in)
	if err != nil {
		u.err = err
		return
	}
	defer closer()
	buf := make([]byte, decodedPart)
	for {
		n, err := r.Read(buf)
		if n > 0 && !give(buf[:n]) {
			return
		}
		if err != nil {
			u.err = err
			return
		}
	}
}

// Read implements [io.Reader] for the decoder.
func (u *unfolding) Read(p []byte) (int, error) {
	for len(u.part) == 0 {
		if u.last {
			return 0, io.EOF
		}
		if u.stopped = u.stopped || !u.give(nil); u.stopped {
			return 0, errStopped
		}
	}
	n := copy(p, u.part)
	u.part = u.part[n:]
	u.read += int64(n)
	return n, nil
}

// write gives f what the next part says.
func (u *unfolding) write(p []byte, f func(plain []byte)) {
	u.member(p)
	u.part = p
	for {
		plain, _ := u.resume()
		if len(plain) == 0 {
			if u.err == nil || u.err == io.EOF { //nolint:errorlint // the decoder gives it as it is
				u.settle()
			}
			return
		}
		u.gave(len(plain))
		f(plain)
	}
}

// member notes whether another member of gzip may begin in a part.
func (u *unfolding) member(p []byte) {
	const magic = "\x1f\x8b\x08"
	if u.read == 0 && len(u.tail) == 0 {
		p = p[min(len(p), 1):] // the first one begins there
	}
	seam := append(u.tail, p[:min(len(p), len(magic)-1)]...)
	u.parted = u.parted || bytes.Contains(p, []byte(magic)) || bytes.Contains(seam, []byte(magic))
	if len(p) >= len(magic)-1 {
		seam = p
	}
	u.tail = append(u.tail[:0], seam[max(0, len(seam)-len(magic)+1):]...)
}

// gave notes where the decoder is that gives something. A decoder of deflated
// bodies or of zstd reads on only when it has given all that it knows.
func (u *unfolding) gave(n int) {
	at := u.read - int64(u.in.Buffered())
	if at != u.turn.at && u.coding != "br" {
		u.settle()
		u.before = u.turn.at
	}
	u.given += int64(n)
	u.turn = place{at, u.given}
}

// settle notes where the decoder was for sure, now that it reads on or rests.
func (u *unfolding) settle() {
	p := u.turn
	switch {
	case u.coding == "br": // it reads ahead, and rests when it has given all that it knows
		p = place{u.read, u.given}
	case u.coding == "zstd": // it reads block by block
	case u.parted:
		// What it had read the time before it has given since.
		p.at = u.before - 1
	case p.plain%window == 0:
		// Its window is full, and it may have read more than it gave.
		return
	default:
		// It gave all, because it was flushed or ends. Of the last byte some
		// bits may belong to what follows.
		p.at--
	}
	if n := len(u.sure); n == 0 || u.sure[n-1].at < p.at {
		u.sure = append(u.sure, p)
	}
}

// clear returns up to where the bytes that came tell no more than the first so
// many bytes of what they hold.
func (u *unfolding) clear(plain int64) (at int64) {
	n := 0
	for n < len(u.sure) && u.sure[n].plain <= plain {
		at = u.sure[n].at
		n++
	}
	u.sure = append(u.sure[:0], u.sure[n:]...)
	if len(u.sure) > maxSure {
		u.sure = append(u.sure[:1], u.sure[maxSure/2:]...)
	}
	return at
}

// maxSure bounds the places that wait to be clear.
const maxSure = 1000

// Clearing looks for secrets in a coded body that comes in parts.
type Clearing struct {
	u     *unfolding
	look  Cleaner
	limit int64
	buf   []byte

	decided int64 // bytes that it holds in which there is no secret
	at      int64 // bytes that tell no more
}

// NewClearing returns one for a body of one coding, of which at most limit
// bytes are looked at behind it. Whoever made it stops it.
func NewClearing(coding string, look Cleaner, limit int64) *Clearing {
	return &Clearing{u: unfold(coding), look: look, limit: limit}
}

// Stop ends it.
func (c *Clearing) Stop() { c.u.stop() }

// Write takes the next part and returns up to where no secret is or may begin
// in the bytes that came; false if there is one behind that, or if they are not
// what they say.
func (c *Clearing) Write(p []byte) (clear int64, ok bool) {
	if c.u.err != nil { // it had ended
		return c.at, false
	}
	c.u.write(p, c.plain)
	c.advance()
	ok = c.u.err == nil || c.u.err == io.EOF //nolint:errorlint // the decoder gives it as it is
	return c.at, ok && c.look.Found() == nil && c.u.given <= c.limit
}

// End reports whether no secret is in all of it, and it is what it says or
// broke off.
func (c *Clearing) End(broke bool) bool {
	if c.u.last = true; c.u.err == nil {
		c.u.write(nil, c.plain)
	}
	c.buf = c.look.Write(c.buf[:0], nil, true)
	return c.look.Found() == nil && c.u.given <= c.limit && (broke || c.u.err == io.EOF) //nolint:errorlint // the decoder gives it as it is
}

func (c *Clearing) plain(p []byte) {
	c.advance()
	c.buf = c.look.Write(c.buf[:0], p, false)
	if c.look.Found() == nil {
		c.decided = c.u.given - int64(c.look.Held())
	}
}

func (c *Clearing) advance() { c.at = max(c.at, c.u.clear(c.decided)) }
