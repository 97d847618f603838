package canon

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Parse reads one JSON text as I-JSON (RFC 7493), strictly. It refuses with
// [ErrSyntax], [ErrDuplicateName], [ErrNumber], [ErrDepth] or [ErrTooLarge].
// The Value keeps nothing of b.
func Parse(b []byte) (Value, error) {
	if len(b) > MaxSize {
		return Value{}, fault.New(ErrTooLarge, "canon.Parse", "%d bytes are more than %d", len(b), MaxSize)
	}
	// One copy of the whole text serves all strings and tokens.
	p := parser{b: b, s: string(b)}
	v, end, err := p.value(skipSpace(b, 0), 0)
	if err != nil {
		return Value{}, err
	}
	if end = skipSpace(b, end); end < len(b) {
		return Value{}, p.syntax(end, "data after the value")
	}
	return v, nil
}

type parser struct {
	b []byte
	s string // the same bytes
}

func (p *parser) syntax(i int, what string) error {
	if i >= len(p.b) {
		what += ", at the end"
	}
	if i == 0 && bytes.HasPrefix(p.b, []byte("\uFEFF")) {
		what = "a byte order mark"
	}
	return fault.New(ErrSyntax, "canon.Parse", "%s at byte %d", what, i)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func (p *parser) value(i, depth int) (Value, int, error) {
	if i >= len(p.b) {
		return Value{}, i, p.syntax(i, "no value")
	}
	switch c := p.b[i]; {
	case c == '"':
		s, end, err := p.text(i)
		return String(s), end, err
	case c == '{':
		return p.object(i, depth)
	case c == '[':
		return p.array(i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number(i)
	case strings.HasPrefix(p.s[i:], "true"):
		return Bool(true), i + 4, nil
	case strings.HasPrefix(p.s[i:], "false"):
		return Bool(false), i + 5, nil
	case strings.HasPrefix(p.s[i:], "null"):
		return Null(), i + 4, nil
	default:
		return Value{}, i, p.syntax(i, "no value")
	}
}

func (p *parser) number(i int) (Value, int, error) {
	end, integer := skipNumber(p.b, i)
	if end < 0 {
		return Value{}, i, p.syntax(i, "a malformed number")
	}
	token := p.s[i:end]
	if overflows(token, integer) {
		return Value{}, i, fault.New(ErrNumber, "canon.Parse", "%s overflows a double at byte %d; send it as a string", excerpt(token), i)
	}
	return Value{kind: KindNumber, text: token}, end, nil
}

func (*parser) deeper(i, depth int) error {
	if depth >= MaxDepth {
		return fault.New(ErrDepth, "canon.Parse", "nesting beyond %d at byte %d", MaxDepth, i)
	}
	return nil
}

func (p *parser) array(i, depth int) (Value, int, error) {
	if err := p.deeper(i, depth); err != nil {
		return Value{}, i, err
	}
	i = skipSpace(p.b, i+1)
	if i < len(p.b) && p.b[i] == ']' {
		return Array(), i + 1, nil
	}
	var elems []Value
	for {
		v, end, err := p.value(i, depth+1)
		if err != nil {
			return Value{}, i, err
		}
		elems = append(elems, v)
		i = skipSpace(p.b, end)
		switch {
		case i < len(p.b) && p.b[i] == ',':
			i = skipSpace(p.b, i+1)
		case i < len(p.b) && p.b[i] == ']':
			return Value{kind: KindArray, node: &node{elems: elems}}, i + 1, nil
		default:
			return Value{}, i, p.syntax(i, "neither comma nor ] after an element")
		}
	}
}

func (p *parser) object(i, depth int) (Value, int, error) {
	if err := p.deeper(i, depth); err != nil {
		return Value{}, i, err
	}
	start := i
	i = skipSpace(p.b, i+1)
	if i < len(p.b) && p.b[i] == '}' {
		return Object(), i + 1, nil
	}
	var members []Member
	for {
		if i >= len(p.b) || p.b[i] != '"' {
			return Value{}, i, p.syntax(i, "no member name")
		}
		name, end, err := p.text(i)
		if err != nil {
			return Value{}, i, err
		}
		i = skipSpace(p.b, end)
		if i >= len(p.b) || p.b[i] != ':' {
			return Value{}, i, p.syntax(i, "no colon after a member name")
		}
		v, end, err := p.value(skipSpace(p.b, i+1), depth+1)
		if err != nil {
			return Value{}, i, err
		}
		members = append(members, M(name, v))
		i = skipSpace(p.b, end)
		switch {
		case i < len(p.b) && p.b[i] == ',':
			i = skipSpace(p.b, i+1)
		case i < len(p.b) && p.b[i] == '}':
			n := &node{members: members, sorted: ascending(members)}
			if name, twice := n.duplicate(); twice {
				return Value{}, i, fault.New(ErrDuplicateName, "canon.Parse", "name %s stands twice in the object at byte %d", excerpt(name), start)
			}
			return Value{kind: KindObject, node: n}, i + 1, nil
		default:
			return Value{}, i, p.syntax(i, "neither comma nor } after a member")
		}
	}
}

// duplicate returns a name that stands twice.
func (n *node) duplicate() (string, bool) {
	if n.sorted {
		return "", false
	}
	names := make([]string, len(n.members))
	for i := range n.members {
		names[i] = n.members[i].Name
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i-1] == names[i] {
			return names[i], true
		}
	}
	return "", false
}

// text reads the string whose opening quote stands at i.
func (p *parser) text(i int) (string, int, error) {
	start := i
	i, escaped := skipString(p.b, i)
	if i < 0 {
		return "", start, p.syntax(^i, "a malformed string")
	}
	if !escaped {
		return p.s[start+1 : i-1], i, nil
	}
	return string(appendUnescaped(nil, p.b[start+1:i-1])), i, nil
}

// skipString returns the index after the I-JSON string whose opening quote
// stands at i, and whether it has escapes. If the string is malformed, the
// index is the complement of where.
func skipString(b []byte, i int) (end int, escaped bool) {
	i++
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			return ^i, escaped
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return ^i, escaped
			}
			i += n
			escaped = true
		case c >= utf8.RuneSelf:
			j := skipUnicode(b, i)
			if j < 0 {
				return ^i, escaped
			}
			i = j
		default:
			return ^i, escaped
		}
	}
}

// escapeLen returns how long the escape at the beginning of b is; a pair of
// surrogates is one escape. It returns 0 if the escape is malformed.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != 'u' {
		if unescape(b[1]) == 0 {
			return 0
		}
		return 2
	}
	r := hex4(b[2:])
	switch {
	case r < 0:
		return 0
	case !utf16.IsSurrogate(r):
		return 6
	case len(b) >= 12 && b[6] == '\\' && b[7] == 'u' && utf16.DecodeRune(r, hex4(b[8:])) != utf8.RuneError:
		return 12
	default:
		return 0
	}
}

// appendUnescaped appends what the inside of a well-formed string denotes.
func appendUnescaped(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		n := escapeLen(b[i:])
		switch n {
		case 2:
			dst = append(dst, unescape(b[i+1]))
		case 6:
			dst = utf8.AppendRune(dst, hex4(b[i+2:]))
		default:
			dst = utf8.AppendRune(dst, utf16.DecodeRune(hex4(b[i+2:]), hex4(b[i+8:])))
		}
		b = b[i+n:]
	}
}
