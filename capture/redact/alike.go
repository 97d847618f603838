package redact

import "unicode/utf8"

// alike is the last message of a stream that was read. Most messages are like
// the one before: they have the same members, and only what some of these say
// is not the same. Of such a message it is known without reading it which of
// its strings belongs to which text.
type alike struct {
	raw   []byte // its JSON; empty: there is none
	holes []hole // in the order in which they stand there

	values []span  // memory: of a message that is compared, what stands in the holes
	added  []added // and what its texts were put into
}

// hole is a string, number or word of a message, where others may have another
// one. What says to which texts a message belongs is no hole: it must be the
// same.
type hole struct {
	span        // strings with their quotation marks
	text   bool // it is a string
	spoken bool // and may be a part of a text
	f      *field
}

// added is a field to which something was added, and how long it was before.
type added struct {
	f   *field
	had int
}

// find finds what stands in the holes, and reports whether all else is the same.
func (a *alike) find(b []byte) bool {
	if len(a.raw) == 0 || !utf8.Valid(b) {
		return false
	}
	a.values = a.values[:0]
	at, done := 0, 0
	for i := range a.holes {
		h := &a.holes[i]
		n := h.at - done
		if len(b)-at <= n || string(b[at:at+n]) != string(a.raw[done:h.at]) {
			return false
		}
		at += n
		var end int
		if h.text {
			end, _ = quotedEnd(b, at)
		} else {
			end = bareEnd(b, at)
		}
		if end < 0 {
			return false
		}
		a.values = append(a.values, span{at, end})
		at, done = end, h.end
	}
	return string(b[at:]) == string(a.raw[done:])
}

// again reports whether a message is like the one before and no secret is in
// it or may begin there. Its texts are in their fields then; else nothing is
// changed.
func (j *Messages) again(b []byte) bool {
	a := &j.last
	if len(j.queue) > 0 || !a.find(b) {
		return false
	}
	a.added = a.added[:0]
	clear := true
	for i, v := range a.values {
		h := &a.holes[i]
		if !h.spoken || v.end-v.at == len(`""`) {
			continue
		}
		if clear = h.f != nil && h.f.decided(); !clear {
			break
		}
		a.added = append(a.added, added{h.f, len(h.f.text)})
		if clear = h.f.hear(v.of(b)) && j.clear(h.f, false); !clear {
			break
		}
	}
	for _, h := range a.added {
		if clear {
			h.f.at = len(h.f.text)
			h.f.settle()
		} else {
			h.f.text = h.f.text[:h.had]
		}
	}
	return clear
}

// learn keeps a message whose texts are in their fields.
func (j *Messages) learn(m *Message) {
	a := &j.last
	a.raw = append(a.raw[:0], m.raw[m.at:m.end]...)
	a.holes, j.holes = j.holes, a.holes
	for i := range a.holes {
		a.holes[i].at -= m.at
		a.holes[i].end -= m.at
	}
}
