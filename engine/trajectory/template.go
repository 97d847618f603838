package trajectory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrTemplate means that a placeholder names something that is not there, or
// that has no text. Nothing stands in for it: the tool answered, or was asked,
// something else than its declaration says.
const ErrTemplate fault.Invalid = "trajectory.missing_value"

// roots are the values that a placeholder can begin with, by name.
type roots []root

type root struct {
	name  string
	value canon.Value
}

// path names a place in one of the roots: output.reservations.0.id
type path []string

func parsePath(s string, allowed []string) (path, error) {
	p := path(strings.Split(s, "."))
	if !slices.Contains(allowed, p[0]) || slices.Contains(p, "") {
		return nil, fmt.Errorf("{%s} names nothing; a placeholder is {%s} and what follows in it, parted by dots", clip(s), strings.Join(allowed, "}, {"))
	}
	return p, nil
}

func (p path) String() string { return strings.Join(p, ".") }

// find returns what p names. Nothing there is an error, never an empty value.
func (p path) find(in roots) (canon.Value, error) {
	var v canon.Value
	for _, r := range in {
		if r.name == p[0] {
			v = r.value
		}
	}
	for _, name := range p[1:] {
		if v.Kind() != canon.KindArray {
			v = v.Get(name)
			continue
		}
		i, err := strconv.Atoi(name)
		if err != nil || strconv.Itoa(i) != name || i < 0 {
			v = canon.Value{}
			break
		}
		v = v.At(i)
	}
	if v.IsZero() {
		return v, fault.New(ErrTemplate, "trajectory.template", "there is no %s", p)
	}
	return v, nil
}

// template is a text with placeholders: reservation-{args.id}. A brace that is
// meant stands twice.
type template struct{ parts []templatePart }

type templatePart struct {
	literal string
	path    path // nil for a literal
}

func parseTemplate(s string, allowed ...string) (template, error) {
	var t template
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.parts = append(t.parts, templatePart{literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"):
			literal.WriteByte(s[i])
			i++
		case s[i] == '}':
			return template{}, fmt.Errorf("%q has a closing brace without an opening one; write }} for a brace", clip(s))
		case s[i] == '{':
			end := strings.IndexByte(s[i:], '}')
			if end < 0 {
				return template{}, fmt.Errorf("%q has a placeholder without an end; write {{ for a brace", clip(s))
			}
			p, err := parsePath(s[i+1:i+end], allowed)
			if err != nil {
				return template{}, err
			}
			flush()
			t.parts = append(t.parts, templatePart{path: p})
			i += end
		default:
			literal.WriteByte(s[i])
		}
	}
	flush()
	return t, nil
}

// String returns t as it is written.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path != nil {
			b.WriteString("{" + p.path.String() + "}")
			continue
		}
		b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.literal))
	}
	return b.String()
}

// value fills t in. A text that is one placeholder becomes what that names,
// whatever its kind.
func (t template) value(in roots) (canon.Value, error) {
	if len(t.parts) == 1 && t.parts[0].path != nil {
		return t.parts[0].path.find(in)
	}
	s, err := t.text(in)
	return canon.String(s), err
}

// text fills t in as text.
func (t template) text(in roots) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == nil {
			b.WriteString(p.literal)
			continue
		}
		v, err := p.path.find(in)
		if err != nil {
			return "", err
		}
		s, ok := textOf(v)
		if !ok {
			return "", fault.New(ErrTemplate, "trajectory.template", "%s is %s, want a string or an integer", p.path, v.Kind())
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// textOf returns the text of a string or an integer. 7 and 7.0 are one number
// and have one text, or one thing would go by two ids.
func textOf(v canon.Value) (string, bool) {
	if s, ok := v.AsString(); ok {
		return s, true
	}
	d, ok := decimalOf(v)
	if !ok {
		return "", false
	}
	n, ok := decimal{digits: d.digits, exp: d.exp}.count()
	if d.negative {
		n = -n
	}
	return strconv.FormatInt(n, 10), ok
}

// shape is a JSON value whose texts are templates.
type shape struct {
	source canon.Value
	leaf   *template
	elems  []shape
	names  []string // of an object, beside elems
}

// parseShape reads a shape. A text that looks like a path but is no
// placeholder is refused: it would be stored as that text.
func parseShape(v canon.Value, allowed ...string) (shape, error) {
	s := shape{source: v}
	switch v.Kind() {
	case canon.KindString:
		text := v.Str()
		if _, err := parsePath(text, allowed); err == nil {
			return shape{}, fmt.Errorf("%q would be stored as that text; write \"{%s}\" for the value", clip(text), clip(text))
		}
		t, err := parseTemplate(text, allowed...)
		if err != nil {
			return shape{}, err
		}
		s.leaf = &t
	case canon.KindArray:
		for _, e := range v.Elems() {
			part, err := parseShape(e, allowed...)
			if err != nil {
				return shape{}, err
			}
			s.elems = append(s.elems, part)
		}
	case canon.KindObject:
		if _, ok := decimalOf(v); ok {
			return s, nil
		}
		for _, m := range v.Members() {
			part, err := parseShape(m.Value, allowed...)
			if err != nil {
				return shape{}, err
			}
			s.elems, s.names = append(s.elems, part), append(s.names, m.Name)
		}
	case canon.Absent, canon.KindNull, canon.KindBool, canon.KindNumber:
	}
	return s, nil
}

// fill returns the value with every placeholder filled in.
func (s *shape) fill(in roots) (canon.Value, error) {
	if s.leaf != nil {
		return s.leaf.value(in)
	}
	if s.elems == nil {
		return s.source, nil
	}
	elems := make([]canon.Value, len(s.elems))
	for i := range s.elems {
		var err error
		if elems[i], err = s.elems[i].fill(in); err != nil {
			return canon.Value{}, err
		}
	}
	if s.names == nil {
		return canon.Array(elems...), nil
	}
	members := make([]canon.Member, len(elems))
	for i, e := range elems {
		members[i] = canon.M(s.names[i], e)
	}
	return canon.Object(members...), nil
}
