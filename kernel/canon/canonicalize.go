package canon

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Canonicalize returns the [Foreign] form of a JSON text that others wrote: it
// is Parse and Encode in one pass, without building the value. It refuses what
// [Parse] refuses, with the same codes.
func Canonicalize(b []byte) ([]byte, error) {
	return AppendCanonical(make([]byte, 0, len(b)), b)
}

// AppendCanonical appends the [Foreign] form of a JSON text to dst, like
// [Canonicalize]. On an error dst is returned as it was.
func AppendCanonical(dst, b []byte) ([]byte, error) {
	if len(b) > MaxSize {
		return dst, fault.New(ErrTooLarge, "canon.Canonicalize", "%d bytes are more than %d", len(b), MaxSize)
	}
	c := rewriter{b: b, out: dst}
	end := c.value(skipSpace(b, 0), 0)
	if end >= 0 && skipSpace(b, end) == len(b) {
		return c.out, nil
	}
	// Something is wrong, or the one pass would move too much. The slow way
	// gives the exact error, or the answer in linear time.
	v, err := Parse(b)
	if err != nil {
		return dst, err
	}
	return Append(dst, v, Foreign)
}

// rewriter writes canonical bytes as it reads. Its methods take where
// something begins in b and return where it ends, or -1.
type rewriter struct {
	b       []byte
	out     []byte
	members []span // of all open objects, the innermost last
	scratch []byte
	moved   int // bytes that sorting has moved so far
}

// span is one member in out.
type span struct {
	start, end int
	nameEnd    int // of the name between its quotes, which begins at start+1
	escaped    bool
}

func (c *rewriter) value(i, depth int) int {
	if i >= len(c.b) {
		return -1
	}
	switch c.b[i] {
	case '"':
		end, _ := c.text(i)
		return end
	case '{':
		return c.object(i, depth)
	case '[':
		return c.array(i, depth)
	case 't':
		return c.literal(i, "true")
	case 'f':
		return c.literal(i, "false")
	case 'n':
		return c.literal(i, "null")
	default:
		return c.number(i)
	}
}

func (c *rewriter) literal(i int, s string) int {
	if len(c.b)-i < len(s) || string(c.b[i:i+len(s)]) != s {
		return -1
	}
	c.out = append(c.out, s...)
	return i + len(s)
}

func (c *rewriter) number(i int) int {
	end, integer := skipNumber(c.b, i)
	if end < 0 {
		return -1
	}
	if token := c.b[i:end]; integer && token[0] != '-' && len(token) < 309 {
		c.out = append(c.out, token...)
		return end
	}
	out, err := appendNumberForeign(c.out, string(c.b[i:end]))
	if err != nil {
		return -1
	}
	c.out = out
	return end
}

// text copies a string, and reports whether it is written with escapes.
func (c *rewriter) text(i int) (end int, escaped bool) {
	end, escaped = skipString(c.b, i)
	if end < 0 {
		return -1, false
	}
	if !escaped {
		c.out = append(c.out, c.b[i:end]...)
		return end, false
	}
	from := len(c.out)
	c.out = append(c.out, '"')
	for i++; c.b[i] != '"'; {
		if c.b[i] != '\\' {
			j := skipPlain(c.b, i)
			if j == i {
				j = skipUnicode(c.b, i)
			}
			c.out = append(c.out, c.b[i:j]...)
			i = j
			continue
		}
		n := escapeLen(c.b[i:])
		if r := appendUnescaped(c.scratch[:0], c.b[i:i+n]); len(r) == 1 && (r[0] < 0x20 || r[0] == '"' || r[0] == '\\') {
			c.out = appendEscape(c.out, r[0])
		} else {
			c.out = append(c.out, r...)
		}
		i += n
	}
	c.out = append(c.out, '"')
	return end, slices.Contains(c.out[from:], '\\')
}

func (c *rewriter) array(i, depth int) int {
	if depth >= MaxDepth {
		return -1
	}
	c.out = append(c.out, '[')
	i = skipSpace(c.b, i+1)
	if i < len(c.b) && c.b[i] == ']' {
		c.out = append(c.out, ']')
		return i + 1
	}
	for {
		if i = c.value(i, depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(c.b, i); i >= len(c.b) {
			return -1
		}
		ch := c.b[i]
		c.out = append(c.out, ch)
		switch ch {
		case ',':
			i = skipSpace(c.b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

func (c *rewriter) object(i, depth int) int {
	if depth >= MaxDepth {
		return -1
	}
	c.out = append(c.out, '{')
	i = skipSpace(c.b, i+1)
	if i < len(c.b) && c.b[i] == '}' {
		c.out = append(c.out, '}')
		return i + 1
	}
	base, inOrder := len(c.members), true
	for {
		if i >= len(c.b) || c.b[i] != '"' {
			return -1
		}
		start := len(c.out)
		end, escaped := c.text(i)
		if end < 0 {
			return -1
		}
		m := span{start: start, nameEnd: len(c.out) - 1, escaped: escaped}
		if n := len(c.members); n > base && inOrder {
			inOrder = c.compare(c.members[n-1], m) < 0
		}
		if i = skipSpace(c.b, end); i >= len(c.b) || c.b[i] != ':' {
			return -1
		}
		c.out = append(c.out, ':')
		// The inner objects use members beyond this one, so it is put last.
		c.members = append(c.members, m)
		if i = c.value(skipSpace(c.b, i+1), depth+1); i < 0 {
			return -1
		}
		c.members[len(c.members)-1].end = len(c.out)
		if i = skipSpace(c.b, i); i >= len(c.b) {
			return -1
		}
		ch := c.b[i]
		c.out = append(c.out, ch)
		switch ch {
		case ',':
			i = skipSpace(c.b, i+1)
		case '}':
			if !inOrder && !c.sort(c.members[base:]) {
				return -1
			}
			c.members = c.members[:base]
			return i + 1
		default:
			return -1
		}
	}
}

func (c *rewriter) compare(m, n span) int {
	a, b := c.out[m.start+1:m.nameEnd], c.out[n.start+1:n.nameEnd]
	if m.escaped || n.escaped {
		return compareRawNames(a, b)
	}
	return compareNames(a, b)
}

// sort puts the members of one object, which end out but for its brace, into
// order. It refuses a name that stands twice. Objects within objects that are
// all out of order would be moved once for each level; beyond a few times the
// input it gives up.
func (c *rewriter) sort(members []span) bool {
	start := members[0].start
	size := len(c.out) - 1 - start
	if c.moved += size; c.moved > 16*len(c.b) {
		return false
	}
	slices.SortFunc(members, c.compare)
	for i := 1; i < len(members); i++ {
		if c.compare(members[i-1], members[i]) == 0 {
			return false
		}
	}
	c.scratch = append(c.scratch[:0], c.out[start:len(c.out)-1]...)
	at := c.out[:start]
	for i, m := range members {
		if i > 0 {
			at = append(at, ',')
		}
		at = append(at, c.scratch[m.start-start:m.end-start]...)
	}
	return true
}
