package canon

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Profile names one exact encoding. The set is closed: a name once given keeps
// its bytes for ever, and a change is a new name.
type Profile string

const (
	// Native is the form of ledger headers and bodies: RFC 8785 over strings,
	// booleans, null, arrays, objects and integers of at most 2^53-1.
	Native Profile = "reprise/v1"

	// JCS is RFC 8785. An integer of which a double loses digits is refused.
	JCS Profile = "rfc8785"

	// Foreign is RFC 8785 for what others wrote, but an integer beyond 2^53 is
	// kept digit for digit, so that two different ones stay different.
	Foreign Profile = "reprise-foreign/v1"
)

// format is what a profile decides.
type format struct {
	number  func(dst []byte, token string) ([]byte, error)
	text    func(dst []byte, s string) ([]byte, error)
	ordered bool // members stay in their order instead of being sorted
}

func (p Profile) format() (format, bool) {
	switch p {
	case Native:
		return format{number: appendNumberNative, text: appendText}, true
	case JCS:
		return format{number: appendNumberJCS, text: appendText}, true
	case Foreign:
		return format{number: appendNumberForeign, text: appendText}, true
	default:
		return format{}, false
	}
}

// Encode returns the canonical bytes of v in the profile.
func Encode(v Value, p Profile) ([]byte, error) {
	return Append(nil, v, p)
}

// Append appends the canonical bytes of v in the profile to dst. On an error
// dst is returned as it was. It refuses an absent value and an unknown profile
// with [ErrProfile], numbers that the profile cannot hold with [ErrNumber],
// invalid UTF-8 with [ErrSyntax], and [ErrDuplicateName] and [ErrDepth].
func Append(dst []byte, v Value, p Profile) ([]byte, error) {
	f, ok := p.format()
	if !ok {
		return dst, fault.New(ErrProfile, "canon.Append", "profile %s is not known to this version", excerpt(string(p)))
	}
	out, err := f.append(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func (f *format) append(dst []byte, v Value, depth int) ([]byte, error) {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...), nil
	case KindBool:
		return strconv.AppendBool(dst, v.yes), nil
	case KindNumber:
		return f.number(dst, v.text)
	case KindString:
		return f.text(dst, v.text)
	case KindArray:
		return f.appendArray(dst, v, depth)
	case KindObject:
		return f.appendObject(dst, v, depth)
	default:
		return dst, fault.New(ErrProfile, "canon.Append", "an absent value has no canonical form")
	}
}

func (f *format) appendArray(dst []byte, v Value, depth int) ([]byte, error) {
	if err := tooDeep(depth); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	var err error
	for i, e := range v.Elems() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = f.append(dst, e, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func (f *format) appendObject(dst []byte, v Value, depth int) ([]byte, error) {
	if err := tooDeep(depth); err != nil {
		return dst, err
	}
	members, unique := v.inOrder()
	if !unique {
		return dst, fault.New(ErrDuplicateName, "canon.Append", "a member name stands twice in an object")
	}
	if f.ordered {
		members = v.Members()
	}
	dst = append(dst, '{')
	var err error
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = f.text(dst, members[i].Name); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = f.append(dst, members[i].Value, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func tooDeep(depth int) error {
	if depth >= MaxDepth {
		return fault.New(ErrDepth, "canon.Append", "nesting beyond %d", MaxDepth)
	}
	return nil
}

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, fault.New(ErrSyntax, "canon.Append", "%s is not valid UTF-8", excerpt(s))
	}
	return AppendString(dst, s), nil
}

// Check refuses bytes that are not the canonical form of a value in the
// profile. For [Native], [JCS] and [Foreign] it is one pass and allocates
// nothing. It refuses bytes that [Parse] refuses with the same code, and
// others with [ErrNotCanonical].
func Check(b []byte, p Profile) error {
	switch p {
	case Native, JCS, Foreign:
		return checkBytes(b, p)
	default:
		v, err := Parse(b)
		if err != nil {
			return err
		}
		again, err := Encode(v, p)
		if err != nil {
			return err
		}
		if i := firstDifference(b, again); i >= 0 {
			return fault.New(ErrNotCanonical, "canon.Check", "not the %s form at byte %d", p, i)
		}
		return nil
	}
}

// firstDifference returns where a and b differ, or -1.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
