package canon

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Four of the five source systems are written in Python, whose json module
// prints a double by its own rule. Parsing and printing are conversions; no
// float is computed here.

// parseDouble returns the value of a token with a fraction or an exponent. Of
// an integer it returns the token, in the one form that Python gives it.
func parseDouble(token string) (f float64, integer string, err error) {
	if _, isInt := skipNumber(token, 0); isInt {
		if token == "-0" {
			token = "0"
		}
		return 0, token, nil
	}
	f, err = strconv.ParseFloat(token, 64)
	if err != nil {
		return 0, "", fault.New(ErrNumber, "canon.Append", "%s overflows a double; send it as a string", excerpt(token))
	}
	return f, "", nil
}

// appendRepr appends a double as Python's repr does.
func appendRepr(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !strings.Contains(string(dst[n:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendNumberPython(dst []byte, token string) ([]byte, error) {
	f, integer, err := parseDouble(token)
	if err != nil || integer != "" {
		return append(dst, integer...), err
	}
	return appendRepr(dst, f), nil
}

func appendNumberFixed9(dst []byte, token string) ([]byte, error) {
	f, integer, err := parseDouble(token)
	if err != nil || integer != "" {
		return append(dst, integer...), err
	}
	return strconv.AppendFloat(dst, f, 'f', 9, 64), nil
}

func appendNumberRounded9(dst []byte, token string) ([]byte, error) {
	return appendRounded(dst, token, 9)
}

func appendNumberRounded6(dst []byte, token string) ([]byte, error) {
	return appendRounded(dst, token, 6)
}

// appendRounded rounds by printing with so many decimals and reading back, as
// the source code does.
func appendRounded(dst []byte, token string, decimals int) ([]byte, error) {
	f, integer, err := parseDouble(token)
	if err != nil || integer != "" {
		return append(dst, integer...), err
	}
	f, err = strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	if err != nil {
		return dst, fault.New(ErrNumber, "canon.Append", "%s overflows a double when it is rounded", excerpt(token))
	}
	return appendRepr(dst, f), nil
}

// appendNumberInt64 appends an integer that Rust holds in 64 bits.
func appendNumberInt64(dst []byte, token string) ([]byte, error) {
	_, errSigned := strconv.ParseInt(token, 10, 64)
	_, errUnsigned := strconv.ParseUint(token, 10, 64)
	if errSigned != nil && errUnsigned != nil || token == "-0" {
		return dst, fault.New(ErrNumber, "canon.Append", "%s is not an integer of 64 bits; the profile has no others", excerpt(token))
	}
	return append(dst, token...), nil
}

// appendASCII appends a string with everything beyond printable ASCII escaped,
// DEL too.
func appendASCII(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r >= 0x20 && r < 0x7F && r != '"' && r != '\\':
			dst = append(dst, byte(r))
		case r < 0x7F:
			dst = appendEscape(dst, byte(r))
		case r <= 0xFFFF:
			dst = appendUnit(dst, r)
		default:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		}
	}
	return append(dst, '"')
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// appendNFKD appends a string in Unicode normalisation form KD.
func appendNFKD(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return AppendString(dst, decomposed(s))
		}
	}
	return AppendString(dst, s)
}
