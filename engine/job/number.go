package job

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrNumber means that a value is no number that can decide something: it is
// not a number, or it is beyond [MaxNano]. Mend the snapshot or the input.
const ErrNumber fault.Invalid = "job.bad_number"

// Nano is a number of nine decimals, in units of 10^-9: the NUMERIC_PRECISION
// of the document (M-36), whose NUMERIC_EPSILON (M-37) is the least difference
// between two of them. State holds and compares Nanos, so that nothing is ever
// within an epsilon of something else without being equal to it.
type Nano int64

const (
	// One is 1.
	One Nano = 1_000_000_000
	// MaxNano is the largest Nano, a million. Up to there a double prints all
	// nine decimals of a Nano as they are.
	MaxNano = 1_000_000 * One
)

const decimals = 9

// Quantise returns a number that somebody wrote, rounded as the serializer
// rounds it: by the double next to it, half to even. What is recorded already
// is read by [ParseNano].
func Quantise(v canon.Value) (Nano, error) {
	const op = "job.Quantise"
	token, ok := v.Token()
	if !ok {
		return 0, fault.New(ErrNumber, op, "%s is not a number", v.Kind())
	}
	f, err := strconv.ParseFloat(token, 64)
	if err != nil {
		return 0, fault.Wrap(ErrNumber, op, err, "a number of %d characters", len(token))
	}
	n, ok := nearest(f)
	if !ok {
		return 0, fault.New(ErrNumber, op, "%.40s is beyond a million", token)
	}
	return n, nil
}

// ParseNano reads what [Nano.Value] writes and nothing else: nine decimals,
// and no sign before a zero. Anything else would be a second spelling of what
// is hashed.
func ParseNano(v canon.Value) (Nano, bool) {
	token, ok := v.Token()
	whole, fraction, _ := strings.Cut(token, ".")
	if !ok || len(fraction) != decimals {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || n < -int64(MaxNano) || n > int64(MaxNano) || Nano(n).String() != token {
		return 0, false
	}
	return Nano(n), true
}

// nearest returns the Nano that a double prints as, if there is one. This is
// conversion: no float is computed here.
func nearest(f float64) (Nano, bool) {
	var buf [64]byte
	text := strconv.AppendFloat(buf[:0], f, 'f', decimals, 64)
	n, err := strconv.ParseInt(string(slices.DeleteFunc(text, func(c byte) bool { return c == '.' })), 10, 64)
	if err != nil || n < -int64(MaxNano) || n > int64(MaxNano) {
		return 0, false
	}
	return Nano(n), true
}

// String returns n with nine decimals, as canon.MACEFixed9 writes it.
func (n Nano) String() string {
	sign, m := "", int64(n)
	if m < 0 {
		sign, m = "-", -m
	}
	digits := strconv.FormatInt(m, 10)
	if pad := decimals + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	point := len(digits) - decimals
	return sign + digits[:point] + "." + digits[point:]
}

// Value returns n as snapshots and logs hold it.
func (n Nano) Value() canon.Value {
	v, err := canon.Number(n.String())
	if err != nil {
		panic("job: " + err.Error()) // digits are a number
	}
	return v
}

// Unit reports whether n is of 0 to 1.
func (n Nano) Unit() bool { return 0 <= n && n <= One }

// Of returns floor(n·k), exactly. The document floors products such as
// gain·depth; in doubles 0.29·100 is below 29.
func (n Nano) Of(k int64) int64 {
	x := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(k))
	x.Div(x, big.NewInt(int64(One))) // Euclidean: rounds down
	if !x.IsInt64() {
		panic("job: a product of counts overflows") // counts are limited where they are read
	}
	return x.Int64()
}

// clamp returns n, or the end of [0, 1] that is next to it.
func (n Nano) clamp() Nano { return min(max(n, 0), One) }
