package canon

import (
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Pointer returns what a JSON pointer (RFC 6901) names in v, and whether
// there is something. The empty pointer names v itself.
func (v Value) Pointer(ptr string) (Value, bool) {
	if ptr == "" {
		return v, !v.IsZero()
	}
	if ptr[0] != '/' {
		return Value{}, false
	}
	for token := range strings.SplitSeq(ptr[1:], "/") {
		name, ok := unescapeToken(token)
		if !ok {
			return Value{}, false
		}
		switch v.kind {
		case KindObject:
			v = v.Get(name)
		case KindArray:
			i, ok := arrayIndex(name)
			if !ok {
				return Value{}, false
			}
			v = v.At(i)
		default:
			return Value{}, false
		}
		if v.IsZero() {
			return Value{}, false
		}
	}
	return v, true
}

// CheckPointer refuses a text that is no JSON pointer with [ErrPointer].
func CheckPointer(ptr string) error {
	const op = "canon.CheckPointer"
	if ptr == "" {
		return nil
	}
	if ptr[0] != '/' {
		return fault.New(ErrPointer, op, "%s does not begin with a slash", excerpt(ptr))
	}
	for token := range strings.SplitSeq(ptr[1:], "/") {
		if _, ok := unescapeToken(token); !ok {
			return fault.New(ErrPointer, op, "%s has a ~ that neither 0 nor 1 follows", excerpt(ptr))
		}
	}
	return nil
}

// AppendPointer appends one reference token, with its slash, to a JSON pointer.
func AppendPointer(dst []byte, name string) []byte {
	dst = append(dst, '/')
	for i := range len(name) {
		switch name[i] {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = append(dst, name[i])
		}
	}
	return dst
}

func unescapeToken(token string) (string, bool) {
	if strings.IndexByte(token, '~') < 0 {
		return token, true
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '~' {
			b.WriteByte(token[i])
			continue
		}
		i++
		switch {
		case i < len(token) && token[i] == '0':
			b.WriteByte('~')
		case i < len(token) && token[i] == '1':
			b.WriteByte('/')
		default:
			return "", false
		}
	}
	return b.String(), true
}

func arrayIndex(s string) (int, bool) {
	if s == "" || len(s) > 1 && s[0] == '0' || skipDigits(s, 0) != len(s) {
		return 0, false
	}
	i, err := strconv.Atoi(s)
	return i, err == nil
}
