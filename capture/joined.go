package capture

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

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

	typ, item string // as they stand in the JSON
	whole     bool   // none of its texts is a part of one

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
	name    string // of the secret
}

// field is the texts of one place in all messages.
type field struct {
	name      string
	typ, item string // of the messages that it is in

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

// isWhole reports whether a message says by its type, as it stands in JSON,
// that it says all of something. Its texts are looked at one by one, and it
// never waits for others. Types that are not known may carry parts.
func isWhole(typ string) bool {
	of, last := family(typ)
	if strings.HasPrefix(of, `"response.`) || strings.HasPrefix(of, `"session.`) || strings.HasPrefix(of, `"transcription_session.`) {
		switch last {
		case `create"`, `created"`, `update"`, `updated"`, `added"`, `queued"`, `in_progress"`:
			return true
		}
		return isEnd(last)
	}
	return typ == `"error"` || of == `"conversation.item.input_audio_transcription.` && isEnd(last)
}

// family cuts the last word off a type.
func family(typ string) (of, last string) {
	i := strings.LastIndexByte(typ, '.') + 1
	return typ[:i], typ[i:]
}

func isEnd(word string) bool {
	switch word {
	case `done"`, `completed"`, `failed"`, `incomplete"`, `cancelled"`:
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
			if now == 0 && name == "type" && !j.levels[0].array {
				m.typ = string(v)
				m.whole = isWhole(m.typ)
				j.levels[0].index += "#" + m.typ // what two types of messages say are two texts
			}
			if now == 0 && name == "item_id" {
				m.item = string(v)
			}
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
		if err != nil {
			continue
		}
		var f *field
		if m.whole {
			f = &field{}
		} else if f = j.field(m, &t); f == nil {
			continue
		}
		t.m, t.says = m, says
		t.from = f.base + int64(len(f.text))
		t.to = t.from + int64(len(says))
		m.texts = append(m.texts, &t)
		m.open++
		f.text = append(f.text, says...)
		f.texts = append(f.texts, &t)
		j.scan(f, m.whole)
	}
}

// field returns the field of a text; nil if there are too many.
func (j *joined) field(m *message, t *text) *field {
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
	if f == nil && len(j.order) >= maxFields {
		j.forget()
	}
	if f == nil && len(j.order) < maxFields {
		f = &field{name: string(j.key), typ: m.typ, item: m.item}
		if j.fields == nil {
			j.fields = map[string]*field{}
		}
		j.fields[f.name] = f
		j.order = append(j.order, f)
	}
	return f
}

// forget lets go of the fields of which everything is decided.
func (j *joined) forget() {
	j.order = slices.DeleteFunc(j.order, func(f *field) bool {
		over := f.at == len(f.text) && f.r.inside == nil
		if over {
			delete(j.fields, f.name)
		}
		return over
	})
}

// scan decides what can be decided of a field.
func (j *joined) scan(f *field, last bool) {
	i := f.at
	for i < len(f.text) {
		if f.r.inside != nil {
			n, ends := f.r.swallow(f.text[i:], last)
			f.cut(i, i+n, "", f.r.inside.name)
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
		f.cut(at+p.keep, end, p.standIn(), p.name)
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
func (f *field) cut(at, end int, with, name string) {
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
		t.cuts = append(t.cuts, cut{at: int(a - t.from), end: int(b - t.from), with: with, name: name})
		with = ""
	}
}

// unfinished is the name of what was taken out because nobody could know in
// time whether it is the beginning of a secret.
const unfinished = "unfinished"

// maxShort is how many bytes of what may be a secret say nothing of it.
const maxShort = 3

// letGo decides of what waits for nothing but what may follow the first few
// letters of a secret. These are not taken out; what follows them is, if it is
// one. With m only that is decided of which m is the end.
func (j *joined) letGo(m *message) {
	if len(j.queue) == 0 {
		return
	}
	var of string
	if m != nil {
		var last string
		if of, last = family(m.typ); !isEnd(last) {
			return
		}
	}
	for _, f := range j.order {
		if len(f.texts) == 0 || len(f.text)-f.at > maxShort || f.r.inside != nil {
			continue
		}
		if m != nil && (!strings.HasPrefix(f.typ, of) || m.item != "" && f.item != m.item) {
			continue
		}
		for _, t := range f.texts {
			t.m.open--
		}
		f.texts = f.texts[:0]
	}
}

// giveUp takes out what may be the beginning of secrets, because too much
// waits for what follows.
func (j *joined) giveUp() {
	if j.letGo(nil); len(j.queue) == 0 || j.queue[0].open == 0 {
		return
	}
	for _, f := range j.order {
		if f.at < len(f.text) {
			f.cut(f.at, len(f.text), StandIn(unfinished), unfinished)
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

// names returns the names of what was taken out of a message.
func (m *message) names() []string {
	var out []string
	for _, t := range m.texts {
		for _, c := range t.cuts {
			if !slices.Contains(out, c.name) {
				out = append(out, c.name)
			}
		}
	}
	return out
}
