package capture

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// cleaner replaces the secrets in bytes that come in parts.
type cleaner interface {
	// write appends what comes of the next bytes to dst; with last, all of it.
	write(dst, p []byte, last bool) []byte
	found() []string
}

func (r *replacer) found() []string { return r.names }

// cleaner returns what replaces secrets in an answer with that header.
func (r *Redactor) cleaner(h http.Header) cleaner {
	plain := r.stream()
	if isEventStream(h) {
		return &frames{r: r, rest: plain}
	}
	return plain
}

func isEventStream(h http.Header) bool {
	typ, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(typ), protocol.EventStreamType) && h.Get("Content-Encoding") == ""
}

// frames replaces secrets in a binary event stream of AWS, frame by frame: a
// frame says its lengths and checksums, and would be no frame any more. A
// frame without secrets stays as it came. What is no event stream is treated
// like any other bytes.
type frames struct {
	r      *Redactor
	hold   []byte
	rest   *replacer
	broken bool
	names  []string
}

func (f *frames) found() []string { return join(f.names, f.rest.names) }

func (f *frames) write(dst, p []byte, last bool) []byte {
	if f.broken {
		return f.rest.write(dst, p, last)
	}
	f.hold = append(f.hold, p...)
	at := 0
	for {
		e, n, err := protocol.NextEvent(f.hold[at:])
		if err != nil {
			f.broken = true
			break
		}
		if n == 0 {
			break
		}
		if clean, ok := f.clean(&e); ok {
			dst = clean.Append(dst)
		} else {
			dst = append(dst, f.hold[at:at+n]...)
		}
		at += n
	}
	if f.broken || last {
		dst = f.rest.write(dst, f.hold[at:], last)
		f.hold = nil
		return dst
	}
	f.hold = append(f.hold[:0], f.hold[at:]...)
	return dst
}

// clean returns the frame without secrets, if there are any. A chunk of an
// invoked model carries its message in base64.
func (f *frames) clean(e *protocol.Event) (*protocol.Event, bool) {
	if v, err := canon.Parse(e.Payload); err == nil {
		if inner, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str()); err == nil && len(inner) > 0 {
			if b, names := f.r.Bytes(inner); names != nil {
				f.names = join(f.names, names)
				v = v.With("bytes", canon.String(base64.StdEncoding.EncodeToString(b)))
				b, names = f.r.Bytes([]byte(v.String()))
				f.names = join(f.names, names)
				return &protocol.Event{Headers: e.Headers, Payload: b}, true
			}
		}
	}
	b, names := f.r.Bytes(e.Payload)
	f.names = join(f.names, names)
	return &protocol.Event{Headers: e.Headers, Payload: b}, names != nil
}

// answer returns what is stored of a whole answer.
func (r *Redactor) answer(h http.Header, b []byte, limit int64) (safe, error) {
	if isEventStream(h) {
		c := r.cleaner(h)
		out := c.write(make([]byte, 0, len(b)), b, true)
		if c.found() == nil {
			return safe{stored: b}, nil
		}
		return safe{stored: out, names: c.found()}, nil
	}
	return r.safe(h.Get("Content-Encoding"), b, limit)
}
