package canon

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// maxSafeDigits is 2^53-1, the largest integer that every reader of JSON holds.
const maxSafeDigits = "9007199254740991"

// skipNumber returns the index after the number that begins at i, and whether
// it is an integer without fraction and exponent. It returns -1 if no number
// begins there.
func skipNumber[T ~string | ~[]byte](b T, i int) (end int, integer bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || b[i] < '0' || b[i] > '9':
		return -1, false
	case b[i] == '0':
		i++
	default:
		i = skipDigits(b, i)
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		integer = false
		j := skipDigits(b, i+1)
		if j == i+1 {
			return -1, false
		}
		i = j
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		integer = false
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return -1, false
		}
		i = j
	}
	return i, integer
}

func skipDigits[T ~string | ~[]byte](b T, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// checkToken refuses what is no JSON number, or overflows a double.
func checkToken(op, token string) error {
	end, integer := skipNumber(token, 0)
	if end != len(token) || end == 0 {
		return fault.New(ErrSyntax, op, "%s is not a JSON number", excerpt(token))
	}
	if overflows(token, integer) {
		return fault.New(ErrNumber, op, "%s overflows a double; send it as a string", excerpt(token))
	}
	return nil
}

func overflows(token string, integer bool) bool {
	// 309 digits are needed to overflow, and without an exponent nothing else
	// moves the point.
	if integer && len(token) < 309 {
		return false
	}
	_, err := strconv.ParseFloat(token, 64)
	return errors.Is(err, strconv.ErrRange)
}

// isSafe reports whether an integer token is of at most 2^53-1.
func isSafe[T ~string | ~[]byte](token T) bool {
	if len(token) > 0 && token[0] == '-' {
		token = token[1:]
	}
	if len(token) != len(maxSafeDigits) {
		return len(token) < len(maxSafeDigits)
	}
	for i := range len(token) {
		if token[i] != maxSafeDigits[i] {
			return token[i] < maxSafeDigits[i]
		}
	}
	return true
}

// appendES6 appends a double as ECMAScript writes it, which is how RFC 8785
// does. This is conversion: no float is computed here.
func appendES6(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // also of -0
	}
	abs := math.Abs(f)
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1] // e-07 is written e-7
		dst = dst[:n-1]
	}
	return dst
}

// appendNumberJCS appends a valid token as RFC 8785 writes it. A fraction may
// be rounded to the nearest double, as that document says; an integer of which
// a double loses digits is refused.
func appendNumberJCS(dst []byte, token string) ([]byte, error) {
	_, integer := skipNumber(token, 0)
	if integer && token != "-0" && isSafe(token) {
		return append(dst, token...), nil
	}
	f, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return dst, fault.New(ErrNumber, "canon.Append", "%s overflows a double; send it as a string", excerpt(token))
	}
	n := len(dst)
	dst = appendES6(dst, f)
	if integer && significant(token) != significant(string(dst[n:])) {
		return dst[:n], fault.New(ErrNumber, "canon.Append", "a double cannot hold every digit of %s; send it as a string", excerpt(token))
	}
	return dst, nil
}

// appendNumberForeign appends a valid token as RFC 8785 writes it, but an
// integer beyond 2^53 digit for digit.
func appendNumberForeign(dst []byte, token string) ([]byte, error) {
	if _, integer := skipNumber(token, 0); integer {
		if token == "-0" {
			return append(dst, '0'), nil
		}
		if overflows(token, true) {
			return dst, fault.New(ErrNumber, "canon.Append", "%s overflows a double; send it as a string", excerpt(token))
		}
		return append(dst, token...), nil
	}
	return appendNumberJCS(dst, token)
}

// appendNumberNative appends an integer token of at most 2^53-1.
func appendNumberNative(dst []byte, token string) ([]byte, error) {
	if _, integer := skipNumber(token, 0); !integer || token == "-0" || !isSafe(token) {
		return dst, fault.New(ErrNumber, "canon.Append", "%s is not an integer of at most 2^53-1; write it as a string", excerpt(token))
	}
	return append(dst, token...), nil
}

// significant returns the digits of a number without sign, point, exponent and
// the zeros at its ends.
func significant(s string) string {
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		s = s[:i]
	}
	return strings.Trim(strings.Replace(s, ".", "", 1), "0")
}

// sameNumber reports whether two tokens have one form in the Foreign profile.
func sameNumber(a, b string) bool {
	var bufA, bufB [32]byte
	x, errA := appendNumberForeign(bufA[:0], a)
	y, errB := appendNumberForeign(bufB[:0], b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// excerpt shortens what came from outside for an error message.
func excerpt(s string) string {
	const limit = 40
	if len(s) > limit {
		return strconv.Quote(s[:limit]) + "…"
	}
	return strconv.Quote(s)
}
