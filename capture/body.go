package capture

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/scratch"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// body is a request as it was sent, in memory or, if it is large, in a file.
// It is read by the upstream connection while the answer may already come, so
// that two must let go of it before its memory is used again.
type body struct {
	b       []byte
	buf     *[]byte
	large   *large
	mu      sync.Mutex
	holders int
	kept    bool
	written bool // to the upstream
}

// Bounds of a request that is held in memory: of one that says its length, and
// of one that does not, for which memory has to grow.
const (
	maxPooled  = 1 << 20
	maxUnknown = 256 << 10
)

//nolint:gochecknoglobals // memory that is used again, not state
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

func (b *body) release() {
	b.mu.Lock()
	b.holders--
	done := b.holders == 0
	kept := b.kept
	b.mu.Unlock()
	if !done {
		return
	}
	if b.large != nil {
		b.large.drop()
		_ = b.large.file.Close()
		return
	}
	if !kept && cap(*b.buf) <= maxPooled {
		buffers.Put(b.buf)
	}
}

// hold says that one more reads the request.
func (b *body) hold() {
	b.mu.Lock()
	b.holders++
	b.mu.Unlock()
}

// wrote lets go of a request in memory that has been written to the upstream.
// Where writing it failed nobody knows who still reads, and its memory is left
// to the collector.
func (b *body) wrote(info httptrace.WroteRequestInfo) {
	if info.Err != nil || b.empty() || b.large != nil {
		return
	}
	b.mu.Lock()
	again := b.written
	b.written = true
	b.mu.Unlock()
	if !again {
		b.release()
	}
}

func (b *body) keep() {
	b.mu.Lock()
	b.kept = true
	b.mu.Unlock()
}

// empty reports whether the request has no bytes.
func (b *body) empty() bool { return len(b.b) == 0 && b.large == nil }

// matched lets go of what was needed to match the request.
func (b *body) matched() {
	if b.large != nil {
		b.large.drop()
	}
}

// content returns what is stored of a large request.
func (b *body) content(r *http.Request) *drive.Large {
	if b.large == nil {
		return nil
	}
	return b.large.content(contentType(r.Header))
}

// readBody reads a request to its end.
func (h *handler) readBody(w http.ResponseWriter, r *http.Request) (*body, error) {
	const op = "capture.readBody"
	limit := h.p.o.MaxRequest
	if r.ContentLength > limit {
		return nil, fault.New(ErrTooLarge, op, "a request of %d bytes; the limit is %d", r.ContentLength, limit)
	}
	buf, _ := buffers.Get().(*[]byte)
	b := (*buf)[:0]
	if n := int(r.ContentLength); n > cap(b) && n <= maxPooled {
		b = make([]byte, 0, n)
	}
	var in io.Reader = r.Body
	if r.ContentLength < 0 {
		in = http.MaxBytesReader(w, r.Body, limit)
	}
	for {
		if len(b) == cap(b) {
			if r.ContentLength >= 0 && int64(len(b)) == r.ContentLength {
				break
			}
			if r.ContentLength > maxPooled || r.ContentLength < 0 && len(b) >= maxUnknown {
				*buf = b
				out, err := h.putAside(buf, in)
				return out, tooMuch(err, limit)
			}
			b = append(b, 0)[:len(b)]
		}
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			*buf = b
			buffers.Put(buf)
			return nil, tooMuch(err, limit)
		}
	}
	*buf = b
	return &body{b: b, buf: buf, holders: 1}, nil
}

// tooMuch says what reading a request ended with.
func tooMuch(err error, limit int64) error {
	if err == nil || fault.ClassOf(err) == fault.ClassUnavailable && fault.CodeOf(err) == scratch.ErrScratch {
		return err
	}
	if _, ok := err.(*http.MaxBytesError); ok { //nolint:errorlint // the reader gives it as it is
		return fault.New(ErrTooLarge, "capture.readBody", "a request of more than %d bytes", limit)
	}
	return fault.Wrap(ErrBody, "capture.readBody", err, "the request broke off")
}

// putAside takes a request that is too large to be held: what came of it, and
// what is still coming. It gives the buffer back before it waits for that.
func (h *handler) putAside(have *[]byte, in io.Reader) (*body, error) {
	f, err := h.p.s.Scratch()
	if err == nil {
		_, err = f.Write(*have)
	}
	buffers.Put(have)
	if err == nil {
		err = copyTo(f, in)
	}
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return nil, err
	}
	f.Flushed()
	g := &large{file: f, fresh: h.p.s.Scratch, room: h.p.o.Room, whole: h.p.o.MaxWhole}
	return &body{large: g, holders: 1}, nil
}

// unread answers a request that was not taken.
func (h *handler) unread(w http.ResponseWriter, err error) {
	switch code := fault.CodeOf(err); code {
	case ErrTooLarge, ErrWhole:
		problem(w, http.StatusRequestEntityTooLarge, code, err.Error())
	case ErrBody: // a client that broke off reads no answer
	default:
		h.broken(w, err)
	}
}

// askedLarge is [handler.asked] for a request that is not held.
func (h *handler) askedLarge(ctx context.Context, r *http.Request, g *large) (to route, _ effect.Call, err error) {
	call, err := h.callOf(r, &to, func() (said, error) {
		h.p.looks <- struct{}{}
		defer func() { <-h.p.looks }()
		coding := r.Header.Get("Content-Encoding")
		if err := g.read(ctx, coding, h.p.o.Redactor, h.p.rules, h.p.o.MaxRequest); err != nil {
			return said{}, err
		}
		var seen []byte
		if g.coding == "" {
			seen = g.left // behind a coding a small request is not looked at either
		}
		to = routeOf(r, seen)
		digest, norms, err := g.form(h.p.rules, to.kind)
		if err != nil {
			return said{}, err
		}
		return said{digest: digest, norms: norms, redacted: g.names, coding: g.coding, blind: g.blind}, nil
	})
	return to, call, err
}

// memory returns the request as it came, for what can only be done with the
// whole of it.
func (b *body) memory(ctx context.Context) ([]byte, error) {
	g := b.large
	if g == nil {
		return b.b, nil
	}
	if err := g.reserve(ctx, g.file.Size()); err != nil {
		return nil, err
	}
	return io.ReadAll(g.file.Reader(0, g.file.Size()))
}

// reader returns a reader of the request as it came.
func (b *body) reader() io.Reader {
	return b.large.file.Reader(0, b.large.file.Size())
}
