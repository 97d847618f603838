package redact

import (
	"encoding/base64"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// frames replaces secrets in a binary event stream of AWS, frame by frame: a
// frame says its lengths and checksums, and would be no frame any more. A
// frame without secrets stays as it came. What is no event stream is treated
// like any other bytes.
type frames struct {
	r      *Redactor
	j      Messages
	hold   []byte
	queued int // bytes of frames that wait
	rest   *Replacer
	broken bool
	names  []string
}

// frame is what a message of a binary stream stands in.
type frame struct {
	raw   []byte
	event protocol.Event
	inner bool // the message is in base64, as of an invoked model
}

func (f *frames) Found() []string { return Union(Union(f.names, f.j.names), f.rest.names) }

func (f *frames) Held() int { return len(f.hold) + f.queued + f.rest.Held() }

func (f *frames) Write(dst, p []byte, last bool) []byte {
	if f.broken {
		return f.rest.Write(dst, p, last)
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
	for m := f.j.Next(end); m != nil; m = f.j.Next(end) {
		f.queued -= len(m.frame.raw)
		dst = f.give(dst, m)
	}
	if end {
		dst = f.rest.Write(dst, f.hold[at:], last)
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
	m := &Message{raw: e.Payload, end: len(e.Payload), frame: fr}
	if v, err := canon.Parse(e.Payload); err == nil {
		if inner, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str()); err == nil && len(inner) > 0 {
			m.raw, m.end, fr.inner = inner, len(inner), true
		}
	}
	if !protocol.LooksJSON(m.raw) {
		m.at = m.end
	}
	f.j.Add(m)
}

// give appends a frame without secrets.
func (f *frames) give(dst []byte, m *Message) []byte {
	fr := m.frame
	json := m.raw
	changed := false
	if m.at < m.end {
		json, changed = m.json()
	}
	clean, names := f.r.Bytes(json)
	f.names = Union(f.names, names)
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
		f.names = Union(f.names, more)
		payload, names = outer, Union(names, more)
	}
	if !changed && names == nil {
		return append(dst, fr.raw...)
	}
	e := protocol.Event{Headers: fr.event.Headers, Payload: payload}
	return e.Append(dst)
}
