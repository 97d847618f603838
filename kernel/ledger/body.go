package ledger

import (
	"bytes"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// body holds the raw members of a canonical body that the kernel itself
// reads. It exists because Verify must not build a tree for every entry.
type body struct {
	att, refs, scope, delta, world []byte
}

// maxScope is the size limit of a scope id, in bytes.
const maxScope = 255

// bodyReader takes the members of a body while it is checked. It is used again
// and again.
type bodyReader struct {
	kind              Kind
	body              body
	foreign, formless []byte // the names of members that may not be, or not so
}

// read refuses a body that is not a canonical object in the native profile, or
// that has a member its kind does not have.
func (r *bodyReader) read(k Kind, b []byte) (body, error) {
	const op = "ledger.readBody"
	var out body
	if !k.Known() {
		return out, fault.New(ErrBody, op, "unknown kind %q", k)
	}
	if len(b) > MaxBody {
		return out, fault.New(ErrBody, op, "%d bytes are over the limit of %d", len(b), MaxBody)
	}
	*r = bodyReader{kind: k}
	if err := canon.CheckMembers(b, r); err != nil {
		return out, fault.Wrap(ErrBody, op, err, "a %s body", k)
	}
	switch {
	case b[0] != '{':
		return out, fault.New(ErrBody, op, "a %s body is not an object", k)
	case r.foreign != nil:
		return out, fault.New(ErrBody, op, "a %s body has no member %q", k, r.foreign)
	case r.formless != nil:
		return out, fault.New(ErrBody, op, "the member %s of a %s body is not of its form", r.formless, k)
	}
	return r.body, nil
}

// Member implements [canon.Members].
func (r *bodyReader) Member(name, value []byte) {
	if !r.kind.allows(name) {
		r.foreign = name
	} else if !r.body.set(name, value) {
		r.formless = name
	}
}

// set keeps a member that the kernel reads. It reports whether it has the
// form that the readers rely on.
func (m *body) set(name, value []byte) bool {
	switch string(name) {
	case "att":
		m.att = value
		return value[0] == '[' && len(value) > 2
	case "refs":
		m.refs = value
		return value[0] == '{'
	case "scope":
		m.scope = value
		return isText(value) && len(value) <= maxScope+2
	case "delta":
		m.delta = value
		return value[0] == '['
	case "world":
		m.world = value
		_, err := canon.ParseDigest(string(value[min(1, len(value)):max(1, len(value)-1)]))
		return value[0] == '"' && err == nil
	}
	return true
}

// checkValue is [bodyReader.read] for a body that is being written: it refuses
// the same members without reading the bytes again.
func checkValue(k Kind, v canon.Value) error {
	const op = "ledger.checkValue"
	if !k.Known() {
		return fault.New(ErrBody, op, "unknown kind %q", k)
	}
	if v.Kind() != canon.KindObject {
		return fault.New(ErrBody, op, "a %s body is not an object", k)
	}
	for _, m := range v.Members() {
		if !k.allows([]byte(m.Name)) {
			return fault.New(ErrBody, op, "a %s body has no member %q", k, m.Name)
		}
		if !hasForm(m.Name, m.Value) {
			return fault.New(ErrBody, op, "the member %s of a %s body is not of its form", m.Name, k)
		}
	}
	return nil
}

// hasForm is body.set for a value that is being written.
func hasForm(name string, v canon.Value) bool {
	raw := func() []byte { return canon.AppendString(nil, v.Str()) }
	switch name {
	case "att":
		return v.Kind() == canon.KindArray && v.Len() > 0
	case "refs":
		return v.Kind() == canon.KindObject
	case "scope":
		return v.Kind() == canon.KindString && isText(raw()) && len(raw()) <= maxScope+2
	case "delta":
		return v.Kind() == canon.KindArray
	case "world":
		return v.Kind() == canon.KindString && len(raw()) == 66
	}
	return true
}

// isText reports whether a raw value is a string that is not empty.
func isText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// rawAtt is an element of att, its values raw but for the size.
type rawAtt struct {
	bind             []byte // without its quotation marks
	name, scope, typ []byte
	size             int64
}

// parseRawAtt reads an element of att. It is [parseAtt] without a tree.
func parseRawAtt(raw []byte) (a rawAtt, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return a, false
	}
	n := 0
	for rest := raw; ; n++ {
		name, value, next, more := member(rest)
		if !more {
			break
		}
		rest = next
		switch string(name) {
		case "bind":
			if len(value) != 66 || value[0] != '"' {
				return a, false
			}
			a.bind = value[1:65]
		case "name":
			a.name = value
		case "scope":
			if a.scope, n = value, n-1; !isText(value) || len(value) > maxScope+2 {
				return a, false
			}
		case "size":
			if a.size, ok = safeInt(value); !ok {
				return a, false
			}
		case "type":
			a.typ = value
		default:
			return a, false
		}
	}
	return a, n == 4 && isText(a.name) && isText(a.typ)
}

// member returns the first member of a canonical object, from its opening
// brace or from the comma before the member. The name is as it stands, with
// its escapes.
func member(b []byte) (name, value, rest []byte, ok bool) {
	if len(b) < 3 || b[1] != '"' {
		return nil, nil, nil, false
	}
	b = b[1:]
	n := stringEnd(b)
	name = b[1 : n-1]
	b = b[n+1:]
	n = valueEnd(b)
	return name, b[:n], b[n:], true
}

// element returns the first element of a canonical array, from its opening
// bracket or from the comma before the element.
func element(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 3 {
		return nil, nil, false
	}
	b = b[1:]
	n := valueEnd(b)
	return b[:n], b[n:], true
}

// field returns the raw value of one member of a canonical object, or nil.
func field(obj []byte, name string) []byte {
	for {
		n, v, rest, ok := member(obj)
		if !ok {
			return nil
		}
		if string(n) == name {
			return v
		}
		obj = rest
	}
}

// stringEnd returns the length of the string at the front of b.
func stringEnd(b []byte) int {
	i := 1
	for {
		q := bytes.IndexByte(b[i:], '"')
		back := 0
		for j := i + q - 1; j >= 1 && b[j] == '\\'; j-- {
			back++
		}
		i += q + 1
		if back%2 == 0 {
			return i
		}
	}
}

// valueEnd returns the length of the value at the front of b.
func valueEnd(b []byte) int {
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
	default:
		i := 0
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
			i++
		}
		return i
	}
	depth := 0
	for i := 0; ; {
		switch b[i] {
		case '"':
			i += stringEnd(b[i:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// safeInt reads a canonical integer; ok is false if raw is none.
func safeInt(raw []byte) (int64, bool) {
	p := parser{rest: raw}
	n := p.integer()
	return n, !p.failed && len(p.rest) == 0
}
