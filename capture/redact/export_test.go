package redact

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// HeaderOf returns what is stored of one header.
func HeaderOf(r *Redactor, name, value string) string {
	stored, _, _ := r.redactHeader(name, value)
	return stored
}

// Slowly replaces secrets in a stream of lines as a [Cleaner] does, but reads
// every message with a general decoder and keeps every text of it.
func Slowly(r *Redactor, stream string) (string, []string) {
	l := &lines{rest: r.Stream()}
	l.j.f = l.rest.f
	var out []byte
	for line := range strings.Lines(stream) {
		m := &Message{raw: []byte(line)}
		l.find(m)
		if m.at < m.end && l.j.read(m) {
			l.j.enterSlowly(m)
		}
		l.j.push(m)
		out = l.give(out, false)
	}
	out = l.rest.Write(l.give(out, true), nil, true)
	return string(out), l.Found()
}

func (j *Messages) enterSlowly(m *Message) {
	for _, s := range j.found {
		says, err := jsontext.AppendUnquote(nil, m.raw[s.at:s.end])
		f := &field{}
		if !m.whole {
			f = j.field(m, &s)
		}
		if err != nil || f == nil {
			continue
		}
		from := f.base + int64(len(f.text))
		t := &text{m: m, at: s.at, end: s.end, says: says, from: from, to: from + int64(len(says))}
		m.texts = append(m.texts, t)
		m.open++
		f.text = append(f.text, says...)
		f.texts = append(f.texts, t)
		j.scan(f, m.whole)
	}
}

// Walked says how a message is read: by whom, and which texts of which fields
// are found.
func Walked(b []byte, slowly bool) (string, bool) {
	var j Messages
	m := &Message{raw: b, end: len(b)}
	read := j.skim
	if slowly {
		read = j.read
	}
	if !read(m) {
		return "", false
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s %t", m.typ.of(b), m.item.of(b), m.whole)
	for _, s := range j.found {
		fmt.Fprintf(&out, "\n%d %d %q", s.at, s.end, j.field(m, &s).name)
	}
	return out.String(), true
}

// Replaced replaces texts, which are their own names, with a finder for them.
func Replaced(b []byte, texts ...string) string {
	var list []*Pattern
	for _, text := range texts {
		list = append(list, &Pattern{Name: text, Text: text})
	}
	out, _ := NewFinder(list).Replace(b)
	return string(out)
}
