package capture

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// cleaner replaces the secrets in bytes that come in parts.
type cleaner interface {
	// write appends what comes of the next bytes to dst; with last, all of it.
	write(dst, p []byte, last bool) []byte
	found() []string
	// held returns how many of the bytes that came are not decided yet.
	held() int
}

func (r *replacer) found() []string { return r.names }

func (r *replacer) held() int { return len(r.hold) }

// cleaner returns what replaces secrets in an answer of that media type,
// behind its coding.
func (r *Redactor) cleaner(h http.Header) cleaner {
	plain := r.stream()
	typ, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch typ = strings.ToLower(strings.TrimSpace(typ)); {
	case typ == protocol.EventStreamType:
		return &frames{r: r, rest: plain, j: joined{f: plain.f}}
	case typ == "application/json":
		return &lines{rest: plain, j: joined{f: plain.f}, arrays: true}
	case typ == "text/event-stream", strings.HasSuffix(typ, "ndjson"), strings.HasSuffix(typ, "jsonl"), strings.HasSuffix(typ, "json-seq"):
		return &lines{rest: plain, j: joined{f: plain.f}}
	default:
		return plain
	}
}

// frames replaces secrets in a binary event stream of AWS, frame by frame: a
// frame says its lengths and checksums, and would be no frame any more. A
// frame without secrets stays as it came. What is no event stream is treated
// like any other bytes.
type frames struct {
	r      *Redactor
	j      joined
	hold   []byte
	queued int // bytes of frames that wait
	rest   *replacer
	broken bool
	names  []string
}

// frame is what a message of a binary stream stands in.
type frame struct {
	raw   []byte
	event protocol.Event
	inner bool // the message is in base64, as of an invoked model
}

func (f *frames) found() []string { return join(join(f.names, f.j.names), f.rest.names) }

func (f *frames) held() int { return len(f.hold) + f.queued + f.rest.held() }

func (f *frames) write(dst, p []byte, last bool) []byte {
	if f.broken {
		return f.rest.write(dst, p, last)
	}
	f.hold = append(f.hold, p...)
	at := 0
	for {
		_, n, err := protocol.NextEvent(f.hold[at:])
		if err != nil {
			f.broken = true
			break
		}
		if n == 0 {
			break
		}
		f.take(append([]byte(nil), f.hold[at:at+n]...))
		at += n
	}
	end := f.broken || last
	for m := f.j.next(end); m != nil; m = f.j.next(end) {
		f.queued -= len(m.frame.raw)
		dst = f.give(dst, m)
	}
	if end {
		dst = f.rest.write(dst, f.hold[at:], last)
		f.hold = nil
		return dst
	}
	f.hold = append(f.hold[:0], f.hold[at:]...)
	return dst
}

// take takes a frame that is whole.
func (f *frames) take(raw []byte) {
	e, _, err := protocol.NextEvent(raw)
	if err != nil {
		return // it was read before
	}
	f.queued += len(raw)
	fr := &frame{raw: raw, event: e}
	m := &message{raw: e.Payload, end: len(e.Payload), frame: fr}
	if v, err := canon.Parse(e.Payload); err == nil {
		if inner, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str()); err == nil && len(inner) > 0 {
			m.raw, m.end, fr.inner = inner, len(inner), true
		}
	}
	if !looksJSON(m.raw) {
		m.at = m.end
	}
	f.j.add(m)
}

// give appends a frame without secrets.
func (f *frames) give(dst []byte, m *message) []byte {
	fr := m.frame
	json := m.raw
	changed := false
	if m.at < m.end {
		json, changed = m.json()
	}
	clean, names := f.r.Bytes(json)
	f.names = join(f.names, names)
	payload := clean
	if fr.inner {
		payload = fr.event.Payload
		if changed || names != nil {
			v, err := canon.Parse(payload)
			if err == nil {
				payload = []byte(v.With("bytes", canon.String(base64.StdEncoding.EncodeToString(clean))).String())
			}
		}
		outer, more := f.r.Bytes(payload)
		f.names = join(f.names, more)
		payload, names = outer, join(names, more)
	}
	if !changed && names == nil {
		return append(dst, fr.raw...)
	}
	e := protocol.Event{Headers: fr.event.Headers, Payload: payload}
	return e.Append(dst)
}

// answer returns what is stored of a whole answer, or of one that broke off.
func (r *Redactor) answer(h http.Header, b []byte, limit int64, broke bool) (safe, error) {
	s, err := safely(h.Get("Content-Encoding"), b, limit, broke, func(p []byte) ([]byte, []string) {
		c := r.cleaner(h)
		out := c.write(make([]byte, 0, len(p)), p, true)
		if names := c.found(); names != nil {
			return out, names
		}
		return p, nil
	})
	// Recorders leave the header on what they have decoded: text hides nothing.
	s.blind = s.blind && !utf8.Valid(b)
	return s, err
}
