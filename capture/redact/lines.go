package redact

import (
	"bytes"

	"github.com/reprise-dev/reprise/internal/protocol"
)

// lines replaces secrets in a stream of messages of which each is a line:
// server-sent events, or lines of JSON; or each an element of one array.
type lines struct {
	j      Messages
	rest   *Replacer
	next   *Message // memory for one
	part   []byte   // of a line
	long   bool     // the line is so long that it is not looked at as one
	arrays bool     // what is no array is one document, of which no field comes in parts
	whole  bool     // it is one
	array  bool
	begun  bool
	depth  int
	quoted bool
	esc    bool
}

func (l *lines) Found() []string { return Union(l.j.names, l.rest.names) }

func (l *lines) Held() int { return len(l.part) + l.j.size + l.rest.Held() }

func (l *lines) Write(dst, p []byte, last bool) []byte {
	at, done := 0, 0 // done: what is recorded, or waits
	for at < len(p) && !l.whole {
		n := l.until(p[at:])
		if l.whole {
			break
		}
		now := p[at : at+max(n, -n)]
		at += len(now)
		line := now
		if n > 0 && !l.long {
			if len(l.part) > 0 {
				line = append(l.part, now...)
				l.part = line[:0]
			}
			if l.take(line) && len(line) == len(now) {
				continue // what is clear is recorded together
			}
		}
		dst = l.rest.Write(dst, p[done:at-len(now)], false)
		done = at
		switch {
		case n > 0 && !l.long:
			if len(l.j.queue) == 0 {
				dst = l.rest.Write(dst, line, false)
			}
		case l.long && len(l.j.queue) == 0:
			dst = l.rest.Write(dst, now, false)
		case l.long:
			l.j.Add(&Message{raw: bytes.Clone(now)})
		default:
			if l.part = append(l.part, now...); len(l.part) > maxLine { // no message of a few letters
				l.long = true
				l.j.Add(&Message{raw: l.part})
				l.part = nil
			}
		}
		l.long = l.long && n < 0
		dst = l.give(dst, false)
	}
	if at > done {
		dst = l.rest.Write(dst, p[done:at], false)
	}
	if l.whole {
		dst = l.rest.Write(dst, l.part, false)
		l.part = nil
		return l.rest.Write(dst, p[at:], last)
	}
	if last && len(l.part) > 0 {
		if l.take(l.part) {
			dst = l.rest.Write(dst, l.part, false)
		}
		l.part = nil
	}
	if !last {
		return dst
	}
	return l.rest.Write(l.give(dst, true), nil, true)
}

// give appends the messages of which everything is decided.
func (l *lines) give(dst []byte, last bool) []byte {
	for m := l.j.Next(last); m != nil; m = l.j.Next(last) {
		json, changed := m.json()
		if !changed {
			dst = l.rest.Write(dst, m.raw, false)
			continue
		}
		dst = l.rest.Write(dst, m.raw[:m.at], false)
		dst = l.rest.Write(dst, json, false)
		dst = l.rest.Write(dst, m.raw[m.end:], false)
	}
	return dst
}

// until returns how many bytes there are to the end of the line or element,
// or the negative number of all if it does not end.
func (l *lines) until(p []byte) int {
	if !l.begun {
		if i := bytes.IndexFunc(p, func(r rune) bool { return r != ' ' && r != '\n' && r != '\r' && r != '\t' }); i >= 0 {
			l.begun, l.array = true, p[i] == '['
			l.whole = l.arrays && !l.array
		}
	}
	if !l.array {
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			return i + 1
		}
		return -len(p)
	}
	for i, c := range p {
		switch {
		case l.esc:
			l.esc = false
		case l.quoted:
			l.esc, l.quoted = c == '\\', c != '"'
		case c == '"':
			l.quoted = true
		case c == '{' || c == '[':
			l.depth++
		case c == '}' || c == ']':
			if l.depth--; l.depth == 1 {
				return i + 1
			}
		}
	}
	return -len(p)
}

// take takes a line that is whole now, and reports whether it can be recorded
// as it is: no secret is in it or may begin there, and no other waits.
func (l *lines) take(line []byte) bool {
	if l.next == nil {
		l.next = &Message{}
	}
	m := l.next
	*m = Message{raw: line}
	l.find(m)
	if m.at < m.end && !l.j.again(m.raw[m.at:m.end]) {
		l.j.look(m)
	}
	if len(m.texts) == 0 && len(l.j.queue) == 0 {
		return true
	}
	m.raw = bytes.Clone(line)
	l.next = nil
	l.j.push(m)
	return false
}

// find finds the JSON in a line.
func (l *lines) find(m *Message) {
	m.end = len(m.raw)
	switch {
	case bytes.HasPrefix(m.raw, []byte("data:")):
		m.at = len("data:")
	case l.array:
		m.at = max(0, bytes.IndexByte(m.raw, '{'))
	}
	if !protocol.LooksJSON(m.raw[m.at:]) {
		m.at = m.end
	}
}
