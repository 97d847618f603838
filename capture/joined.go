package capture

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// joined finds secrets that a model spells over many messages of a stream, a
// few letters in each: the texts of one field of all messages are one text. A
// message is held back, from the record and never from the client, as long as
// a secret may begin in it. Only the strings that hold a part of a secret are
// written anew; every other byte of a message stays as it came.
type joined struct {
	f      *finder
	queue  []*message
	fields map[string]*field
	order  []*field
	names  []string
	size   int // bytes that are held back
	dec    jsontext.Decoder
	in     bytes.Reader
	levels []level
	found  []text
	key    []byte
}

// message is one message of a stream: raw is how it stands there, of which the
// bytes from at to end are JSON.
type message struct {
	raw     []byte
	at, end int
	texts   []*text
	open    int // texts of which it is not known yet whether a secret is in them

	frame *frame // of a binary stream
}

// text is a string in a message.
type text struct {
	m        *message
	level    int
	name     string
	at, end  int    // in the message, with quotation marks
	says     []byte // without
	from, to int64  // in its field
	cuts     []cut
}

// cut is what is taken out of a text.
type cut struct {
	at, end int
	with    string
}

// field is the texts of one place in all messages.
type field struct {
	r     replacer // for what belongs to a secret that was found
	text  []byte   // what is not decided yet, and one byte before
	base  int64    // where text begins
	at    int      // in text: what stands before is decided
	texts []*text
}

// level is an object or array in a message.
type level struct {
	parent int
	array  bool
	name   string
	pos    int    // of its next element
	index  string // by which it says which of many it is
}

const (
	maxHeldBack = 1 << 20   // bytes of messages
	maxLine     = 256 << 10 // bytes of a message whose texts are joined with those of others
	maxFields   = 10_000
)

// unread are members that never carry what a model says a part at a time.
func unread(name string) bool {
	switch name {
	case "type", "object", "model", "id", "item_id", "role", "obfuscation", "system_fingerprint", "p":
		return true
	}
	return false
}

// numbering are members that say which of many something belongs to.
func numbering(name string) bool {
	switch name {
	case "index", "output_index", "content_index", "summary_index", "item_id", "contentBlockIndex":
		return true
	}
	return false
}

// add takes the next message.
func (j *joined) add(m *message) {
	j.queue = append(j.queue, m)
	j.size += len(m.raw)
	if m.at < m.end {
		j.read(m)
	}
	if j.size > maxHeldBack {
		j.giveUp()
	}
}

// next returns the first message of which everything is decided.
func (j *joined) next(last bool) *message {
	if last {
		for _, f := range j.order {
			j.scan(f, true)
		}
	}
	if len(j.queue) == 0 || j.queue[0].open > 0 {
		return nil
	}
	m := j.queue[0]
	j.queue[0] = nil
	j.queue = j.queue[1:]
	j.size -= len(m.raw)
	return m
}

// read finds the texts of a message. What is no JSON has none.
func (j *joined) read(m *message) {
	b := m.raw[m.at:m.end]
	j.in.Reset(b)
	j.dec.Reset(&j.in)
	j.levels, j.found = j.levels[:0], j.found[:0]
	now := -1
	name := ""
	for {
		kind := j.dec.PeekKind()
		isName := now >= 0 && !j.levels[now].array && name == ""
		switch kind {
		case '{', '[':
			if _, err := j.dec.ReadToken(); err != nil {
				return
			}
			l := level{parent: now, array: kind == '[', name: name}
			if now >= 0 && j.levels[now].array {
				l.name = strconv.Itoa(j.levels[now].pos)
				j.levels[now].pos++
			}
			j.levels = append(j.levels, l)
			now, name = len(j.levels)-1, ""
		case '}', ']':
			if _, err := j.dec.ReadToken(); err != nil {
				return
			}
			now, name = j.levels[now].parent, ""
		case 0: // the end, or no JSON
			if now == -1 && len(j.levels) > 0 {
				j.enter(m)
			}
			return
		default:
			v, err := j.dec.ReadValue()
			if err != nil || now < 0 {
				return
			}
			if isName {
				name = string(v[1 : len(v)-1])
				if name == "" {
					name = " "
				}
				continue
			}
			at := int(j.dec.InputOffset())
			if numbering(name) {
				j.levels[now].index += "#" + string(v)
			}
			if kind == '"' && len(v) > 2 && !unread(name) {
				j.found = append(j.found, text{level: now, name: name, at: m.at + at - len(v), end: m.at + at})
			}
			if j.levels[now].array {
				j.levels[now].pos++
			}
			name = ""
		}
	}
}

// enter puts the texts of a message into their fields.
func (j *joined) enter(m *message) {
	for i := range j.found {
		t := j.found[i]
		says, err := jsontext.AppendUnquote(nil, m.raw[t.at:t.end])
		f := j.field(&t)
		if err != nil || f == nil {
			continue
		}
		t.m, t.says = m, says
		t.from = f.base + int64(len(f.text))
		t.to = t.from + int64(len(says))
		m.texts = append(m.texts, &t)
		m.open++
		f.text = append(f.text, says...)
		f.texts = append(f.texts, &t)
		j.scan(f, false)
	}
}

// field returns the field of a text; nil if there are too many.
func (j *joined) field(t *text) *field {
	j.key = append(j.key[:0], t.name...)
	for at := t.level; at >= 0; at = j.levels[at].parent {
		l := &j.levels[at]
		name := l.name
		if l.index != "" && l.parent >= 0 && j.levels[l.parent].array {
			name = "" // it says itself which it is
		}
		j.key = append(append(append(j.key, '\n'), name...), l.index...)
	}
	f := j.fields[string(j.key)]
	if f == nil && len(j.order) < maxFields {
		f = &field{r: replacer{f: j.f}}
		if j.fields == nil {
			j.fields = map[string]*field{}
		}
		j.fields[string(j.key)] = f
		j.order = append(j.order, f)
	}
	return f
}

// scan decides what can be decided of a field.
func (j *joined) scan(f *field, last bool) {
	i := f.at
	for i < len(f.text) {
		if f.r.inside != nil {
			n, ends := f.r.swallow(f.text[i:], last)
			f.cut(i, i+n, "")
			i += n
			if !ends {
				break
			}
			f.r.inside = nil
			continue
		}
		at, buckets := j.f.next(f.text, i)
		if i = at; at == len(f.text) {
			break
		}
		var before byte
		if at > 0 {
			before = f.text[at-1]
		}
		p, end, v := j.f.best(f.text, at, buckets, before, last)
		if v == maybe {
			break
		}
		if v == isNot {
			i++
			continue
		}
		f.cut(at+p.keep, end, p.standIn())
		if !slices.Contains(j.names, p.name) {
			j.names = append(j.names, p.name)
		}
		i = end
		if p.class != nil || p.label != "" {
			f.r.inside, f.r.depth = p, 0
		}
	}
	f.at = i
	f.settle()
}

// settle lets go of the texts of which everything is decided.
func (f *field) settle() {
	decided := f.base + int64(f.at)
	n := 0
	for n < len(f.texts) && f.texts[n].to <= decided {
		f.texts[n].m.open--
		n++
	}
	f.texts = append(f.texts[:0], f.texts[n:]...)
	if drop := f.at - 1; drop > 0 {
		f.text = append(f.text[:0], f.text[drop:]...)
		f.base += int64(drop)
		f.at -= drop
	}
}

// cut takes a part out of the texts of a field. A part that stands in one text
// as it is written there is left to who looks at the bytes.
func (f *field) cut(at, end int, with string) {
	from, to := f.base+int64(at), f.base+int64(end)
	for _, t := range f.texts {
		a, b := max(from, t.from), min(to, t.to)
		if a >= b {
			continue
		}
		plain := t.end-t.at == len(t.says)+2
		if a == from && b == to && with != "" && plain {
			return
		}
		t.cuts = append(t.cuts, cut{at: int(a - t.from), end: int(b - t.from), with: with})
		with = ""
	}
}

// unfinished is the name of what was taken out because nobody could know in
// time whether it is the beginning of a secret.
const unfinished = "unfinished"

// giveUp takes out what may be the beginning of secrets, because too much
// waits for what follows.
func (j *joined) giveUp() {
	for _, f := range j.order {
		if f.at < len(f.text) {
			f.cut(f.at, len(f.text), StandIn(unfinished))
			if !slices.Contains(j.names, unfinished) {
				j.names = append(j.names, unfinished)
			}
			f.at = len(f.text)
			f.settle()
		}
	}
}

// json returns the message's JSON as it is stored, and whether anything was
// taken out.
func (m *message) json() ([]byte, bool) {
	raw := m.raw[m.at:m.end]
	var out []byte
	done := m.at
	for _, t := range m.texts {
		if len(t.cuts) == 0 {
			continue
		}
		out = append(out, m.raw[done:t.at]...)
		var says []byte
		at := 0
		for _, c := range t.cuts {
			says = append(append(says, t.says[at:c.at]...), c.with...)
			at = c.end
		}
		out = canon.AppendString(out, string(append(says, t.says[at:]...)))
		done = t.end
	}
	if out == nil {
		return raw, false
	}
	return append(out, m.raw[done:m.end]...), true
}

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
