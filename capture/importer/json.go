package importer

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// source is a file as the readers look at it: its bytes and, if it is JSON,
// the members of its one object or its sequence of values.
type source struct {
	b     []byte
	top   object           // of a file that is one object
	list  []jsontext.Value // of one array, or of several values one after another
	first object           // the first of the list
	lines bool             // the list was no array
	cut   bool             // the last value broke off, as a killed writer leaves it
}

// newSource looks at b. Values are slices of b, so that what is kept of them
// has the bytes of the file.
func newSource(b []byte, limit int) (*source, error) {
	s := &source{b: b}
	all, cut, err := values(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), limit)
	switch {
	case err != nil || len(all) == 0:
		return s, err
	case len(all) == 1 && !cut && all[0].Kind() == '{':
		s.top = members(all[0])
		s.list, s.lines, s.first = all, true, s.top
		return s, nil
	case len(all) == 1 && !cut && all[0].Kind() == '[':
		s.list, err = elements(all[0], limit)
	default:
		s.list, s.lines, s.cut = all, true, cut
	}
	if len(s.list) > 0 {
		s.first = members(s.list[0])
	}
	return s, err
}

// values splits b into its JSON values. It gives none if b does not begin with
// an object or an array. Only the last line may be broken.
func values(b []byte, limit int) (all []jsontext.Value, cut bool, err error) {
	if s := bytes.TrimLeft(b, " \t\r\n"); len(s) == 0 || s[0] != '{' && s[0] != '[' {
		return nil, false, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		v, err := d.ReadValue()
		end := int(d.InputOffset())
		switch {
		case errors.Is(err, io.EOF):
			return all, false, nil
		case err != nil:
			rest := b
			if n := len(all); n > 0 {
				rest = bytes.TrimSpace(b[end:])
			}
			if len(all) == 0 || bytes.IndexByte(rest, '\n') >= 0 {
				return nil, false, nil // something else that begins with a brace
			}
			return all, true, nil
		case len(all) == limit:
			return nil, false, fault.New(ErrTooLarge, "importer.values", "more than %d values", limit)
		}
		all = append(all, b[end-len(v):end:end])
	}
}

// elements returns the elements of an array, none of anything else.
func elements(v jsontext.Value, limit int) ([]jsontext.Value, error) {
	if v.Kind() != '[' {
		return nil, nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, fault.Wrap(ErrMalformed, "importer.elements", err, "an array")
	}
	var out []jsontext.Value
	for d.PeekKind() != ']' {
		e, err := d.ReadValue()
		if err != nil {
			return nil, fault.Wrap(ErrMalformed, "importer.elements", err, "an array")
		}
		if len(out) == limit {
			return nil, fault.New(ErrTooLarge, "importer.elements", "more than %d elements", limit)
		}
		end := int(d.InputOffset())
		out = append(out, v[end-len(e):end:end])
	}
	return out, nil
}

// object holds the members of a JSON object by name; nil is no object.
type object map[string]jsontext.Value

// members returns the members of v; nil if it is no object, or if a name
// stands in it twice: which one counts is undefined.
func members(v jsontext.Value) object {
	if v.Kind() != '{' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	o := object{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		n := name.String()
		m, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		o[n] = v[end-len(m) : end : end]
	}
	return o
}

// has reports whether o has all members of these names, whatever they hold.
func (o object) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { _, ok := o[n]; return !ok })
}

// str returns the text of a member, empty if it is none.
func (o object) str(name string) string { s, _ := unquoted(o[name]); return s }

// first returns the first text among members of these names.
func (o object) first(names ...string) string {
	for _, n := range names {
		if s := o.str(n); s != "" {
			return s
		}
	}
	return ""
}

func (o object) obj(name string) object { return members(o[name]) }

// list returns the elements of a member. What is longer than any list that a
// recording has is none.
func (o object) list(name string) []jsontext.Value {
	l, err := elements(o[name], maxElements)
	if err != nil {
		return nil
	}
	return l
}

// maxElements bounds a list inside of a recording.
const maxElements = 1_000_000

// num returns an integer; ok is false if the member is none. A number in a
// text counts: OTLP writes 64 bits so.
func (o object) num(name string) (n int64, ok bool) {
	v := o[name]
	s := string(v)
	if v.Kind() == '"' {
		s, _ = unquoted(v)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// unquoted returns the text of a JSON string; exact is false if v is none, or
// if it holds half a surrogate pair or bytes that are no UTF-8, for which
// U+FFFD stands then.
func unquoted(v jsontext.Value) (s string, exact bool) {
	if v.Kind() != '"' {
		return "", false
	}
	if b, err := jsontext.AppendUnquote(nil, v); err == nil {
		return string(b), true
	} else if b != nil {
		return string(b), false
	}
	return "", false
}

// plain returns what v says: the text of a string, and otherwise v itself.
// Null and nothing give nil.
func plain(v jsontext.Value) []byte {
	switch v.Kind() {
	case '"':
		s, _ := unquoted(v)
		return []byte(s)
	case 'n', 0:
		return nil
	default:
		return v
	}
}

// inOrder returns the names of an object's members as they stand.
func inOrder(v jsontext.Value) []string {
	var out []string
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		out = append(out, name.String())
		if err := d.SkipValue(); err != nil {
			return nil
		}
	}
	return out
}
