package canon

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// checkBytes is the single pass behind [Check]. Only when it finds something
// does it look closer, to tell bytes that are no I-JSON at all from bytes that
// are merely not canonical.
func checkBytes(b []byte, p Profile) error { return checkMembers(b, p, nil) }

// Members takes the members of an object one by one: the name as it stands
// between its quotation marks, escapes included, and the bytes of the value.
type Members interface {
	Member(name, value []byte)
}

// CheckMembers is [Check] for [Native] bytes, and gives the members of the
// outermost object, if they are one, to m as it goes. What m was given counts
// only if there is no error.
func CheckMembers(b []byte, m Members) error { return checkMembers(b, Native, m) }

func checkMembers(b []byte, p Profile, m Members) error {
	if len(b) > MaxSize {
		return fault.New(ErrTooLarge, "canon.Check", "%d bytes are more than %d", len(b), MaxSize)
	}
	c := checker{b: b, profile: p, members: m}
	end := c.value(0, 0)
	if end == len(b) {
		return nil
	}
	if _, err := Parse(b); err != nil {
		return err
	}
	at := end
	if end < 0 {
		at = c.at
	}
	return fault.New(ErrNotCanonical, "canon.Check", "not the %s form at byte %d", p, at)
}

// checker walks canonical bytes. Its methods take where something begins and
// return where it ends, or -1 after setting at.
type checker struct {
	b       []byte
	profile Profile
	members Members // of the outermost object; may be nil
	at      int
}

func (c *checker) fail(i int) int {
	c.at = i
	return -1
}

func (c *checker) value(i, depth int) int {
	if i >= len(c.b) {
		return c.fail(i)
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

func (c *checker) literal(i int, s string) int {
	if len(c.b)-i < len(s) || string(c.b[i:i+len(s)]) != s {
		return c.fail(i)
	}
	return i + len(s)
}

func (c *checker) array(i, depth int) int {
	if depth >= MaxDepth {
		return c.fail(i)
	}
	i++
	if i < len(c.b) && c.b[i] == ']' {
		return i + 1
	}
	for {
		if i = c.value(i, depth+1); i < 0 {
			return -1
		}
		if i >= len(c.b) {
			return c.fail(i)
		}
		switch c.b[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return c.fail(i)
		}
	}
}

func (c *checker) object(i, depth int) int {
	if depth >= MaxDepth {
		return c.fail(i)
	}
	i++
	if i < len(c.b) && c.b[i] == '}' {
		return i + 1
	}
	var last []byte // the name before, between its quotes
	lastEscaped, first := false, true
	for {
		if i >= len(c.b) || c.b[i] != '"' {
			return c.fail(i)
		}
		end, escaped := c.text(i)
		if end < 0 {
			return -1
		}
		name := c.b[i+1 : end-1]
		if !first && !follows(last, name, lastEscaped || escaped) {
			return c.fail(i)
		}
		last, lastEscaped, first = name, escaped, false
		if end >= len(c.b) || c.b[end] != ':' {
			return c.fail(end)
		}
		if i = c.value(end+1, depth+1); i < 0 {
			return -1
		}
		if i >= len(c.b) {
			return c.fail(i)
		}
		if depth == 0 && c.members != nil {
			c.members.Member(name, c.b[end+1:i])
		}
		switch c.b[i] {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return c.fail(i)
		}
	}
}

// follows reports whether name stands strictly after last.
func follows(last, name []byte, escaped bool) bool {
	if escaped {
		return compareRawNames(last, name) < 0
	}
	// Most names differ in their first byte.
	if len(last) > 0 && len(name) > 0 && last[0] != name[0] {
		return compareUnits(last[0], name[0]) < 0
	}
	return compareNames(last, name) < 0
}

// text checks the string whose opening quote stands at i, and reports whether
// it has escapes.
func (c *checker) text(i int) (end int, escaped bool) {
	b := c.b
	i++
	for {
		// skipPlain by hand: the compiler does not inline its loop, and most
		// strings are short.
		if i+8 <= len(b) {
			m := specials(binary.LittleEndian.Uint64(b[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		} else if i = skipPlain(b, i); i >= len(b) {
			return c.fail(i), escaped
		}
		switch ch := b[i]; {
		case ch == '"':
			return i + 1, escaped
		case ch == '\\':
			n := canonicalEscape(b[i:])
			if n == 0 {
				return c.fail(i), escaped
			}
			i += n
			escaped = true
		case ch >= utf8.RuneSelf:
			j := skipUnicode(b, i)
			if j < 0 {
				return c.fail(i), escaped
			}
			i = j
		default:
			return c.fail(i), escaped
		}
	}
}

// canonicalEscape returns how long the escape at the beginning of b is, or 0
// if RFC 8785 does not write it so.
func canonicalEscape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 || b[2] != '0' || b[3] != '0' || b[4] > '1' {
			return 0
		}
		low := unhex(b[5])
		if low > 15 || b[5] >= 'A' && b[5] <= 'F' || b[4] < '0' {
			return 0
		}
		switch ch := (b[4]-'0')<<4 | low; ch {
		case '\b', '\t', '\n', '\f', '\r':
			return 0
		default:
			return 6
		}
	default:
		return 0
	}
}

func (c *checker) number(i int) int {
	b := c.b
	start := i
	if b[i] == '-' {
		i++
	}
	digits := i
	i = skipDigits(b, i)
	switch n := i - digits; {
	case n == 0, b[digits] == '0' && n > 1:
		return c.fail(start)
	}
	if i >= len(b) || b[i] != '.' && b[i] != 'e' && b[i] != 'E' {
		if b[digits] == '0' && digits > start {
			return c.fail(start) // -0
		}
		if i-digits < len(maxSafeDigits) || isSafe(b[start:i]) {
			return i
		}
	}
	return c.wideNumber(start)
}

// wideNumber checks a number that is no safe integer.
func (c *checker) wideNumber(start int) int {
	// No double is written with more characters than this.
	const longest = len("-2.2250738585072014e-308") + 1
	end, integer := skipNumber(c.b, start)
	switch {
	case end < 0 || c.profile == Native:
		return c.fail(start)
	case integer && c.profile == Foreign:
		if overflows(string(c.b[start:end]), true) {
			return c.fail(start)
		}
		return end
	case end-start > longest:
		return c.fail(start)
	}
	token := c.b[start:end]
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return c.fail(start)
	}
	var buf [longest]byte
	if string(appendES6(buf[:0], f)) != string(token) {
		return c.fail(start)
	}
	return end
}
