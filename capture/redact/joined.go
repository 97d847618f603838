package redact

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Messages finds secrets that a model spells over many messages of a stream, a
// few letters in each: the texts of one field of all messages are one text. A
// message is held back, from the record and never from the client, as long as
// a secret may begin in it. Only the strings that hold a part of a secret are
// written anew; every other byte of a message stays as it came.
type Messages struct {
	f      *Finder
	queue  []*Message
	fields map[string]*field
	order  []*field
	names  []string
	size   int // bytes that are held back
	dec    jsontext.Decoder
	in     bytes.Reader
	levels []level
	found  []spot
	holes  []hole
	seen   []span
	key    []byte
	alone  field // of a text that is looked at by itself
	last   alike
	drops  int // how often fields were forgotten
}

// Message is one message of a stream: raw is how it stands there, of which the
// bytes from at to end are JSON.
type Message struct {
	raw     []byte
	at, end int
	texts   []*text
	open    int // texts of which it is not known yet whether a secret is in them

	typ, item span // as they stand in the JSON
	whole     bool // none of its texts is a part of one

	frame *frame // of a binary stream
}

// NewMessage returns a message that stands by itself.
func NewMessage(raw []byte) *Message {
	m := &Message{raw: raw}
	if protocol.LooksJSON(raw) && len(raw) <= maxLine {
		m.end = len(raw)
	}
	return m
}

// Whole reports whether the message says by its type that it says all of
// something. It is known when the message was added.
func (m *Message) Whole() bool { return m.whole }

// Clean returns the message without the secrets that are spelled over many.
func (m *Message) Clean() []byte {
	if m.at == m.end {
		return m.raw
	}
	b, _ := m.json()
	return b
}

// text is a string in a message.
type text struct {
	m        *Message
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
	typ, item []byte // of the messages that it is in

	r     Replacer // for what belongs to a secret that was found
	text  []byte   // what is not decided yet, and one byte before
	base  int64    // where text begins
	at    int      // in text: what stands before is decided
	texts []*text
}

const (
	maxHeldBack = 1 << 20   // bytes of messages
	maxLine     = 256 << 10 // bytes of a message whose texts are joined with those of others
	maxFields   = 10_000
)

// Use sets what is looked for from now on.
func (j *Messages) Use(f *Finder) { j.f = f }

// Waiting returns how many messages wait for what follows.
func (j *Messages) Waiting() int { return len(j.queue) }

// Add takes the next message.
func (j *Messages) Add(m *Message) {
	if m.at < m.end {
		j.look(m)
	}
	j.push(m)
}

// push takes the next message, which was looked at.
func (j *Messages) push(m *Message) {
	j.queue = append(j.queue, m)
	j.size += len(m.raw)
	if j.size > maxHeldBack {
		j.GiveUp()
	}
}

// Next returns the first message of which everything is decided.
func (j *Messages) Next(last bool) *Message {
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

// look looks for secrets in a message that is JSON.
func (j *Messages) look(m *Message) {
	if j.skim(m) || j.read(m) {
		j.enter(m)
	} else {
		m.whole = false
	}
}

// enter puts the texts of a message into their fields.
func (j *Messages) enter(m *Message) {
	known, drops := !m.whole, j.drops
	for i := range j.found {
		s := &j.found[i]
		f := &j.alone
		if m.whole {
			f.r.inside, f.text, f.base, f.at, f.texts = nil, f.text[:0], 0, 0, f.texts[:0]
		} else if f = j.field(m, s); f == nil {
			known = false
			continue
		}
		if s.hole >= 0 {
			j.holes[s.hole].f = f
		} else {
			known = false
		}
		j.say(f, m, s.at, s.end)
	}
	if known && drops == j.drops {
		j.learn(m)
	}
}

// say adds a text to a field.
func (j *Messages) say(f *field, m *Message, at, end int) {
	had, decided := len(f.text), f.decided()
	if !f.hear(m.raw[at:end]) {
		return
	}
	if decided && j.clear(f, m.whole) {
		f.at = len(f.text)
		f.settle()
		return
	}
	t := &text{m: m, at: at, end: end, says: bytes.Clone(f.text[had:]), from: f.base + int64(had), to: f.base + int64(len(f.text))}
	m.texts = append(m.texts, t)
	m.open++
	f.texts = append(f.texts, t)
	j.scan(f, m.whole)
}

// hear adds what a string says to the field; false if it is none.
func (f *field) hear(raw []byte) bool {
	if inside := raw[1 : len(raw)-1]; bytes.IndexByte(inside, '\\') < 0 {
		f.text = append(f.text, inside...)
		return true
	}
	all, err := jsontext.AppendUnquote(f.text, raw)
	if err == nil {
		f.text = all
	}
	return err == nil
}

// decided reports whether nothing of the field waits for what follows.
func (f *field) decided() bool {
	return len(f.texts) == 0 && f.r.inside == nil && f.at == len(f.text)
}

// clear reports whether no secret is or may begin in what is new of a field of
// which everything was decided. Nearly always it is so, and then nothing needs
// to be kept of the text.
func (j *Messages) clear(f *field, last bool) bool {
	for i := f.at; ; i++ {
		at, buckets := j.f.next(f.text, i)
		if at == len(f.text) {
			return true
		}
		var before byte
		if at > 0 {
			before = f.text[at-1]
		}
		if _, _, v := j.f.best(f.text, at, buckets, before, last); v != isNot {
			return false
		}
		i = at
	}
}

// forget lets go of the fields of which everything is decided.
func (j *Messages) forget() {
	j.drops++
	j.last.raw = j.last.raw[:0]
	j.order = slices.DeleteFunc(j.order, func(f *field) bool {
		over := f.decided()
		if over {
			delete(j.fields, f.name)
		}
		return over
	})
}

// scan decides what can be decided of a field.
func (j *Messages) scan(f *field, last bool) {
	i := f.at
	for i < len(f.text) {
		if f.r.inside != nil {
			n, ends := f.r.swallow(f.text[i:], last)
			f.cut(i, i+n, "", f.r.inside.Name)
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
		f.cut(at+p.keep, end, p.standIn(), p.Name)
		if !slices.Contains(j.names, p.Name) {
			j.names = append(j.names, p.Name)
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

// LetGo decides of what waits for nothing but what may follow the first few
// letters of a secret. These are not taken out; what follows them is, if it is
// one. With m only that is decided of which m is the end.
func (j *Messages) LetGo(m *Message) {
	if len(j.queue) == 0 {
		return
	}
	var of, item []byte
	if m != nil {
		var last []byte
		if of, last = family(m.typ.of(m.raw)); !isEnd(last) {
			return
		}
		item = m.item.of(m.raw)
	}
	for _, f := range j.order {
		if len(f.texts) == 0 || len(f.text)-f.at > maxShort || f.r.inside != nil {
			continue
		}
		if !bytes.HasPrefix(f.typ, of) || len(item) > 0 && !bytes.Equal(f.item, item) {
			continue
		}
		for _, t := range f.texts {
			t.m.open--
		}
		f.texts = f.texts[:0]
	}
}

// GiveUp takes out what may be the beginning of secrets, because too much
// waits for what follows.
func (j *Messages) GiveUp() {
	if j.LetGo(nil); len(j.queue) == 0 || j.queue[0].open == 0 {
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
func (m *Message) json() ([]byte, bool) {
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

// Names returns the names of what was taken out of the message.
func (m *Message) Names() []string {
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
