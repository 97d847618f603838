package canon

import (
	"math"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// appendNumberSerde appends a number as Rust's serde_json prints it after
// reading it: an integer of 64 bits as it is, and everything else as a double.
// Parsing and printing are conversions; no float is computed here.
func appendNumberSerde(dst []byte, token string) ([]byte, error) {
	if out, err := appendNumberInt64(dst, token); err == nil {
		return out, nil
	}
	f, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return dst, fault.New(ErrNumber, "canon.Append", "%s overflows a double; send it as a string", excerpt(token))
	}
	return appendRyu(dst, f), nil
}

// appendRyu appends a double with the fewest digits that give it back, always
// with a point or an exponent, and with an exponent outside of [1e-5, 1e16).
func appendRyu(dst []byte, f float64) []byte {
	n := len(dst)
	if abs := math.Abs(f); abs == 0 || (abs >= 1e-5 && abs < 1e16) {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if !strings.Contains(string(dst[n:]), ".") {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	text := strconv.FormatFloat(f, 'e', -1, 64) // 1e+21, 1.5e-07
	digits, exponent, _ := strings.Cut(text, "e")
	dst = append(append(dst, digits...), 'e')
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, strings.TrimLeft(exponent[1:], "0")...)
}
