package redact

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// span is a part of a message.
type span struct{ at, end int }

func (s span) of(b []byte) []byte { return b[s.at:s.end] }

// spot is a string in a message that may be a part of a text.
type spot struct {
	hole    int // of the message; negative if it is none
	level   int
	name    span
	at, end int // with quotation marks
}

// level is an object or array in a message.
type level struct {
	parent int
	array  bool
	name   span             // in an object
	pos    int              // in an array
	next   int              // the place of its own next element
	names  int              // where those of its members begin that were seen
	index  [numberings]span // by which it says which of many it is
	n      int
}

// numberings is how many members may say which of many an object is: each has
// a name of its own.
const numberings = 7

// unread are members that never carry what a model says a part at a time.
func unread(name []byte) bool {
	switch string(name) {
	case "type", "object", "model", "id", "item_id", "role", "obfuscation", "system_fingerprint", "p":
		return true
	}
	return false
}

// numbering are members that say which of many something belongs to.
func numbering(name []byte) bool {
	switch string(name) {
	case "index", "output_index", "content_index", "summary_index", "item_id", "contentBlockIndex":
		return true
	}
	return false
}

// isWhole reports whether a message says by its type, as it stands in JSON,
// that it says all of something. Its texts are looked at one by one, and it
// never waits for others. Types that are not known may carry parts.
func isWhole(typ []byte) bool {
	of, last := family(typ)
	if hasPrefix(of, `"response.`) || hasPrefix(of, `"session.`) || hasPrefix(of, `"transcription_session.`) {
		switch string(last) {
		case `create"`, `created"`, `update"`, `updated"`, `added"`, `queued"`, `in_progress"`:
			return true
		}
		return isEnd(last)
	}
	return string(typ) == `"error"` || string(of) == `"conversation.item.input_audio_transcription.` && isEnd(last)
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// family cuts the last word off a type.
func family(typ []byte) (of, last []byte) {
	i := bytes.LastIndexByte(typ, '.') + 1
	return typ[:i], typ[i:]
}

func isEnd(word []byte) bool {
	switch string(word) {
	case `done"`, `completed"`, `failed"`, `incomplete"`, `cancelled"`:
		return true
	}
	return false
}

// scalar notes what a scalar value says of its message and of its level, and
// whether it may be a part of a text.
func (j *Messages) scalar(m *Message, now int, name, value span, isText bool) {
	l := &j.levels[now]
	var member []byte
	if l.array {
		l.next++
	} else {
		member = name.of(m.raw)
	}
	number := numbering(member)
	if now == 0 {
		switch string(member) {
		case "type": // what two types of messages say are two texts
			m.typ, number = value, true
			m.whole = isWhole(value.of(m.raw))
		case "item_id":
			m.item = value
		}
	}
	if number && l.n < numberings {
		l.index[l.n] = value
		l.n++
	}
	spoken, in := isText && !unread(member), -1
	if !number {
		in = len(j.holes)
		j.holes = append(j.holes, hole{span: value, text: isText, spoken: spoken})
	}
	if spoken && value.end-value.at > len(`""`) {
		j.found = append(j.found, spot{hole: in, level: now, name: name, at: value.at, end: value.end})
	}
}

// open notes that an object or array begins.
func (j *Messages) open(now int, name span, array bool) int {
	l := level{parent: now, array: array, name: name, names: len(j.seen)}
	if now >= 0 && j.levels[now].array {
		l.pos = j.levels[now].next
		j.levels[now].next++
	}
	j.levels = append(j.levels, l)
	return len(j.levels) - 1
}

// field returns the field of a text; nil if there are too many.
func (j *Messages) field(m *Message, s *spot) *field {
	key := j.named(j.key[:0], m, s.level, s.name)
	for at := s.level; at >= 0; at = j.levels[at].parent {
		l := &j.levels[at]
		key = append(key, '\n')
		switch {
		case l.parent < 0:
		case !j.levels[l.parent].array:
			key = j.named(key, m, l.parent, l.name)
		case l.n == 0: // else it says itself which it is
			key = strconv.AppendInt(key, int64(l.pos), 10)
		}
		for _, v := range l.index[:l.n] {
			key = append(append(key, '#'), v.of(m.raw)...)
		}
	}
	j.key = key
	f := j.fields[string(key)]
	if f == nil && len(j.order) >= maxFields {
		j.forget()
	}
	if f == nil && len(j.order) < maxFields {
		f = &field{name: string(key), typ: bytes.Clone(m.typ.of(m.raw)), item: bytes.Clone(m.item.of(m.raw))}
		if j.fields == nil {
			j.fields = map[string]*field{}
		}
		j.fields[f.name] = f
		j.order = append(j.order, f)
	}
	return f
}

// named appends the name of a member; in an array there is none.
func (j *Messages) named(key []byte, m *Message, level int, name span) []byte {
	switch {
	case j.levels[level].array:
		return key
	case name.at == name.end:
		return append(key, ' ')
	default:
		return append(key, name.of(m.raw)...)
	}
}

// read finds the texts of a message, and reports whether it is JSON.
func (j *Messages) read(m *Message) bool {
	j.in.Reset(m.raw[m.at:m.end])
	j.dec.Reset(&j.in)
	j.begin(m)
	now := -1
	var name span
	named := false
	for {
		kind := j.dec.PeekKind()
		isName := now >= 0 && !j.levels[now].array && !named
		switch kind {
		case '{', '[':
			if _, err := j.dec.ReadToken(); err != nil {
				return false
			}
			now, named = j.open(now, name, kind == '['), false
		case '}', ']':
			if _, err := j.dec.ReadToken(); err != nil {
				return false
			}
			now, named = j.levels[now].parent, false
		case 0: // the end, or no JSON
			return now == -1 && len(j.levels) > 0
		default:
			v, err := j.dec.ReadValue()
			if err != nil || now < 0 {
				return false
			}
			end := m.at + int(j.dec.InputOffset())
			value := span{end - len(v), end}
			if isName {
				name, named = span{value.at + 1, value.end - 1}, true
				continue
			}
			j.scalar(m, now, name, value, kind == '"')
			named = false
		}
	}
}

func (j *Messages) begin(m *Message) {
	j.levels, j.found, j.holes, j.seen = j.levels[:0], j.found[:0], j.holes[:0], j.seen[:0]
	m.typ, m.item, m.whole = span{}, span{}, false
}

// skim is read for JSON that stands there as most of it does. It reports false
// of all else, and of what is no JSON; then read decides.
func (j *Messages) skim(m *Message) bool {
	b := m.raw[:m.end]
	if !utf8.Valid(b[m.at:]) {
		return false
	}
	j.begin(m)
	now := -1
	var name span
	for i := m.at; ; {
		// A value begins here.
		if i = pastBlank(b, i); i == len(b) || now < 0 && b[i] != '{' && b[i] != '[' {
			return false
		}
		switch c := b[i]; c {
		case '{', '[':
			if len(j.levels) == maxSkimmed {
				return false
			}
			now = j.open(now, name, c == '[')
			i = pastBlank(b, i+1)
			if i == len(b) {
				return false
			}
			if b[i] != c+2 { // the closing one
				if c == '[' {
					continue
				}
				if name, i = j.name(b, i, now); i < 0 {
					return false
				}
				continue
			}
		case '"':
			end, _ := quotedEnd(b, i)
			if end < 0 {
				return false
			}
			j.scalar(m, now, name, span{i, end}, true)
			i = end
		default:
			end := bareEnd(b, i)
			if end < 0 {
				return false
			}
			j.scalar(m, now, name, span{i, end}, false)
			i = end
		}
		// What was begun may end, and with it what is around it.
		more := false
		for !more {
			if i = pastBlank(b, i); i == len(b) {
				return now < 0
			}
			if now < 0 {
				return false
			}
			l := &j.levels[now]
			switch c := b[i]; {
			case c == ',' && l.array:
				i, more = i+1, true
			case c == ',':
				if name, i = j.name(b, pastBlank(b, i+1), now); i < 0 {
					return false
				}
				more = true
			case c == ']' && l.array, c == '}' && !l.array:
				j.seen = j.seen[:l.names]
				now = l.parent
				i++
			default:
				return false
			}
		}
	}
}

const (
	maxSkimmed = 64 // objects and arrays, and names of an object
	beforeText = 0x20
)

// pastBlank returns where something stands at or after i.
func pastBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// name takes the name of a member with its colon, and returns where its value
// stands; a negative number if it is none, or one that the object has already.
func (j *Messages) name(b []byte, i, now int) (span, int) {
	end, plain := quotedEnd(b, i)
	if end < 0 || !plain {
		return span{}, -1
	}
	s := span{i + 1, end - 1}
	before := j.seen[j.levels[now].names:]
	if len(before) == maxSkimmed {
		return s, -1
	}
	for _, o := range before {
		if bytes.Equal(o.of(b), s.of(b)) {
			return s, -1
		}
	}
	j.seen = append(j.seen, s)
	if i = pastBlank(b, end); i == len(b) || b[i] != ':' {
		return s, -1
	}
	return s, i + 1
}

// quotedEnd returns where the string at i ends, and whether it stands there
// without escapes; a negative number if it is none.
func quotedEnd(b []byte, i int) (end int, plain bool) {
	if i >= len(b) || b[i] != '"' {
		return -1, false
	}
	plain = true
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c < beforeText:
			return -1, false
		case c == '\\':
			n := escape(b[i+1:])
			if n == 0 {
				return -1, false
			}
			plain = false
			i += n
		}
	}
	return -1, false
}

// escape returns how long what follows a backslash is. Of characters that
// are written as two halves it says 0, as of what is no escape.
func escape(b []byte) int {
	const hex = 5
	switch {
	case len(b) == 0:
	case bytes.IndexByte([]byte(`"\\/bfnrt`), b[0]) >= 0:
		return 1
	case b[0] != 'u' || len(b) < hex || (b[1]|0x20) == 'd' && b[2] > '7':
	default:
		for _, c := range b[1:hex] {
			if c < '0' || c > '9' && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return hex
	}
	return 0
}

// bareEnd returns where the number or word at i ends; a negative number if
// there is none.
func bareEnd(b []byte, i int) int {
	rest := b[i:]
	for _, word := range [...]string{"true", "false", "null"} {
		if len(rest) >= len(word) && string(rest[:len(word)]) == word {
			return i + len(word)
		}
	}
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
