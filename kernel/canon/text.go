package canon

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes are looked at as one word. A byte is special if it ends or
// escapes a string, is a control, or is not ASCII. Borrows of the
// subtractions can mark a byte that is not special only above one that is, so
// the lowest mark is exact.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
)

func specials(x uint64) uint64 {
	quote := x ^ '"'*eachByte
	slash := x ^ '\\'*eachByte
	return (x | (x - 0x20*eachByte) | (quote - eachByte) | (slash - eachByte)) & highBits
}

// skipPlain returns the index of the first byte at or after i that is special,
// or len(b).
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		if m := specials(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// skipPlainText is skipPlain for a string.
func skipPlainText(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if m := specials(wordAt(s, i)); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// wordAt returns the eight bytes of s at i, the first of them lowest, which
// the compiler makes one load.
func wordAt(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// skipUnicode returns the index after the run of characters beyond ASCII that
// begins at i, or -1 if it is not valid UTF-8.
func skipUnicode(b []byte, i int) int {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return -1
		}
		i += n
	}
	return i
}

// AppendString appends the canonical JSON string of s (RFC 8785, 3.2.2.2), as
// hand-written encoders need it. Bytes that are not UTF-8 become U+FFFD, one
// for each; [Append] refuses them instead.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if i = skipPlainText(s, i); i == len(s) {
			break
		}
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n <= 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
		default:
			dst = appendEscape(append(dst, s[from:i]...), c)
			i++
			from = i
		}
	}
	return append(append(dst, s[from:]...), '"')
}

const hexDigits = "0123456789abcdef"

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}

// compareNames orders names by their UTF-16 code units (RFC 8785, 3.2.3).
func compareNames[A, B ~string | ~[]byte](a A, b B) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return compareUnits(a[i], b[i])
		}
	}
	return len(a) - len(b)
}

// compareUnits orders two names at their first different UTF-8 byte. UTF-8
// sorts by code point. UTF-16 does too, except that a surrogate pair, whose
// UTF-8 leads with F0 or more, comes before U+E000 to U+FFFF, led by EE or EF.
func compareUnits(a, b byte) int {
	if a >= 0xEE && b >= 0xEE && (a >= 0xF0) != (b >= 0xF0) {
		return int(b) - int(a)
	}
	return int(a) - int(b)
}

// compareRawNames orders names as they stand between the quotes of canonical
// JSON, escapes and all.
func compareRawNames(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		ca, na := rawUnit(a)
		cb, nb := rawUnit(b)
		if ca != cb {
			return compareUnits(ca, cb)
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// rawUnit returns the first byte that a canonical string denotes, and how many
// bytes it is written with. Canonical escapes denote only ASCII.
func rawUnit(b []byte) (c byte, n int) {
	if b[0] != '\\' {
		return b[0], 1
	}
	if b[1] == 'u' {
		return unhex(b[4])<<4 | unhex(b[5]), 6
	}
	return unescape(b[1]), 2
}

// unescape returns what the escape \c denotes, or 0 if there is no such escape
// of two characters.
func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return 0
	}
}

// unhex returns the value of a hexadecimal digit, or 255.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	default:
		return 255
	}
}

// hex4 reads the four digits of an escape \uXXXX, or returns -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		d := unhex(c)
		if d > 15 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}
