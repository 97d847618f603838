package canon

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Profile names one exact encoding. The set is closed: a name once given keeps
// its bytes for ever, and a change is a new name.
type Profile string

// The profiles of Reprise itself.
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

// The profiles of the source documents. In all but those of Thymos a number
// whose token has a fraction or an exponent is a double, and any other an
// integer without limit; all sort names by code point. None can write NaN or
// an infinity, which some of their encoders let through: those are no JSON.
const (
	// MACEFixed9 is the serializer of the MACE document (M-35, M-36): doubles
	// with exactly nine decimals, text as it is.
	MACEFixed9 Profile = "mace-fixed9"

	// MACECode is what MACE's reference code writes: doubles rounded to nine
	// decimals and printed as Python does, and text values, but not names, in
	// Unicode normalisation form KD.
	MACECode Profile = "mace-1.0-code"

	// AOSSDK is the AOS Python SDK, trace schema 1.1: doubles as Python prints
	// them, text escaped to ASCII. Its JavaScript SDK writes [JCS].
	AOSSDK Profile = "aos-sdk-1.1-py"

	// AOSUtils is the AOS document's own form: as AOSSDK, with text raw.
	AOSUtils Profile = "aos-utils-1.0"

	// AOSTrace is the pre-image of a step hash in AOS trace records 1.0: as
	// AOSSDK, but doubles rounded to six decimals, and a space after every
	// comma and colon.
	AOSTrace Profile = "aos-trace-1.0"

	// Paxman is the stable JSON of Paxman 1.0 (P-23): the bytes of AOSSDK.
	Paxman Profile = "paxman-1"

	// Statewave is the body that hmac-sha256-canonical-v1 signs: doubles as
	// Python prints them, text raw.
	Statewave Profile = "statewave-1"

	// Thymos is the content form of Thymos: integers of 64 bits, signed or
	// not, and no doubles.
	Thymos Profile = "thymos-1"

	// ThymosSerde is what the serializer of Thymos writes: as Thymos, but a
	// number that is no integer of 64 bits is a double, printed as Rust does.
	// Its documents forbid doubles, its programs let them through.
	ThymosSerde Profile = "thymos-1-serde"
)

// Profiles returns all profiles.
func Profiles() []Profile {
	return []Profile{Native, JCS, Foreign, MACEFixed9, MACECode, AOSSDK, AOSUtils, AOSTrace, Paxman, Statewave, Thymos, ThymosSerde}
}

// format is what a profile decides.
type format struct {
	number func(dst []byte, token string) ([]byte, error)
	text   func(dst []byte, s string) []byte // of valid UTF-8
	name   func(dst []byte, s string) []byte
	order  func(a, b string) int // nil for UTF-16 code units
	comma  string
	colon  string
}

func (p Profile) format() (format, bool) {
	f := format{text: AppendString, order: strings.Compare, comma: ",", colon: ":"}
	switch p {
	case Native:
		f.number, f.order = appendNumberNative, nil
	case JCS:
		f.number, f.order = appendNumberJCS, nil
	case Foreign:
		f.number, f.order = appendNumberForeign, nil
	case MACEFixed9:
		f.number = appendNumberFixed9
	case MACECode:
		f.number, f.text, f.name = appendNumberRounded9, appendNFKD, AppendString
	case AOSSDK, Paxman:
		f.number, f.text = appendNumberPython, appendASCII
	case AOSUtils, Statewave:
		f.number = appendNumberPython
	case AOSTrace:
		f.number, f.text = appendNumberRounded6, appendASCII
		f.comma, f.colon = ", ", ": "
	case Thymos:
		f.number = appendNumberInt64
	case ThymosSerde:
		f.number = appendNumberSerde
	default:
		return format{}, false
	}
	if f.name == nil {
		f.name = f.text
	}
	return f, true
}

// Encode returns the canonical bytes of v in the profile.
func Encode(v Value, p Profile) ([]byte, error) {
	return Append(make([]byte, 0, v.roughSize()), v, p)
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
		if err := checkText(v.text); err != nil {
			return dst, err
		}
		return f.text(dst, v.text), nil
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
			dst = append(dst, f.comma...)
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
	if f.order != nil {
		members = slices.Clone(members)
		slices.SortFunc(members, func(m, n Member) int { return f.order(m.Name, n.Name) })
	}
	dst = append(dst, '{')
	var err error
	for i := range members {
		if i > 0 {
			dst = append(dst, f.comma...)
		}
		if err = checkText(members[i].Name); err != nil {
			return dst, err
		}
		dst = append(f.name(dst, members[i].Name), f.colon...)
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

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fault.New(ErrSyntax, "canon.Append", "%s is not valid UTF-8", excerpt(s))
	}
	return nil
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
