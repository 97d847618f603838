package capture

import "bytes"

// lines replaces secrets in a stream of messages of which each is a line:
// server-sent events, or lines of JSON; or each an element of one array.
type lines struct {
	j      joined
	rest   *replacer
	part   []byte // of a line
	long   bool   // the line is so long that it is not looked at as one
	arrays bool   // what is no array is one document, of which no field comes in parts
	whole  bool   // it is one
	array  bool
	begun  bool
	depth  int
	quoted bool
	esc    bool
}

func (l *lines) found() []string { return join(l.j.names, l.rest.names) }

func (l *lines) held() int { return len(l.part) + l.j.size + l.rest.held() }

func (l *lines) write(dst, p []byte, last bool) []byte {
	for len(p) > 0 && !l.whole {
		n := l.until(p)
		if l.whole {
			break
		}
		now := p[:max(n, -n)]
		p = p[len(now):]
		switch {
		case l.long && len(l.j.queue) == 0:
			dst = l.rest.write(dst, now, false)
		case l.long:
			l.j.add(&message{raw: bytes.Clone(now)})
		case n > 0:
			l.part = append(l.part, now...)
			l.take()
		default:
			if l.part = append(l.part, now...); len(l.part) > maxLine { // no message of a few letters
				l.long = true
				l.j.add(&message{raw: l.part})
				l.part = nil
			}
		}
		l.long = l.long && n < 0
		dst = l.give(dst, false)
	}
	if l.whole {
		dst = l.rest.write(dst, l.part, false)
		l.part = nil
		return l.rest.write(dst, p, last)
	}
	if last && len(l.part) > 0 {
		l.take()
	}
	if !last {
		return dst
	}
	return l.rest.write(l.give(dst, true), nil, true)
}

// give appends the messages of which everything is decided.
func (l *lines) give(dst []byte, last bool) []byte {
	for m := l.j.next(last); m != nil; m = l.j.next(last) {
		json, changed := m.json()
		if !changed {
			dst = l.rest.write(dst, m.raw, false)
			continue
		}
		dst = l.rest.write(dst, m.raw[:m.at], false)
		dst = l.rest.write(dst, json, false)
		dst = l.rest.write(dst, m.raw[m.end:], false)
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

// take takes the line that is whole now.
func (l *lines) take() {
	m := &message{raw: l.part, end: len(l.part)}
	l.part = nil
	switch {
	case bytes.HasPrefix(m.raw, []byte("data:")):
		m.at = len("data:")
	case l.array:
		m.at = max(0, bytes.IndexByte(m.raw, '{'))
	}
	if !looksJSON(m.raw[m.at:]) {
		m.at = m.end
	}
	l.j.add(m)
}
