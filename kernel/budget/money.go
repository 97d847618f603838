package budget

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Pico is an amount of money in millionths of a millionth of a US dollar.
type Pico int64

// The units that source documents count in.
const (
	Cent      Pico = Dollar / 100
	Millicent Pico = Cent / 1000
	Dollar    Pico = 1_000_000_000_000
)

const decimals = 12

// ParsePico reads an amount in dollars, such as "0.0125" or "-3", exactly. It
// refuses with [ErrAmount] what has more than twelve decimals, an exponent, a
// plus or no digit before the point, and with [ErrOverflow] what is too large.
func ParsePico(dollars string) (Pico, error) {
	const op = "budget.ParsePico"
	digits, negative := strings.CutPrefix(dollars, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !isDigits(whole) || point && !isDigits(fraction) || len(fraction) > decimals {
		return 0, fault.New(ErrAmount, op, "%.40q is no amount in dollars with at most %d decimals", dollars, decimals)
	}
	n, err := strconv.ParseUint(strings.TrimLeft(whole, "0")+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, fault.New(ErrOverflow, op, "%.40q dollars are more than 64 bits of picodollars hold", dollars)
	}
	if negative {
		return -Pico(n), nil
	}
	return Pico(n), nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// String returns the amount in dollars, with as many decimals as it needs and
// no sign of the currency. [ParsePico] reads it back.
func (p Pico) String() string {
	sign, n := "", uint64(p)
	if p < 0 {
		sign, n = "-", -n
	}
	s := sign + strconv.FormatUint(n/uint64(Dollar), 10)
	if f := n % uint64(Dollar); f != 0 {
		digits := strconv.FormatUint(f+uint64(Dollar), 10)[1:] // with its leading zeros
		s += "." + strings.TrimRight(digits, "0")
	}
	return s
}

// MarshalText returns the text of [Pico.String].
func (p Pico) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what [ParsePico] reads.
func (p *Pico) UnmarshalText(text []byte) error {
	parsed, err := ParsePico(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// Cents returns the amount in whole cents, rounded up, since a cost must not
// look smaller than it is.
func (p Pico) Cents() int64 {
	n := p / Cent
	if p%Cent > 0 {
		n++
	}
	return int64(n)
}

// Add returns p + q, or refuses with [ErrOverflow].
func (p Pico) Add(q Pico) (Pico, error) {
	n, err := sum("budget.Pico.Add", int64(p), int64(q))
	return Pico(n), err
}

// Sub returns p - q, or refuses with [ErrOverflow].
func (p Pico) Sub(q Pico) (Pico, error) {
	d := p - q
	if (d < p) != (q > 0) {
		return 0, fault.New(ErrOverflow, "budget.Pico.Sub", "%s - %s dollars", p, q)
	}
	return d, nil
}

// Mul returns p times n, or refuses with [ErrOverflow].
func (p Pico) Mul(n int64) (Pico, error) {
	a, b := uint64(p), uint64(n)
	if p < 0 {
		a = -a
	}
	if n < 0 {
		b = -b
	}
	high, low := bits.Mul64(a, b)
	negative := (p < 0) != (n < 0)
	switch {
	case high != 0, low > math.MaxInt64 && (!negative || low != 1<<63):
		return 0, fault.New(ErrOverflow, "budget.Pico.Mul", "%s dollars, %d times", p, n)
	case negative:
		return Pico(-low), nil
	default:
		return Pico(low), nil
	}
}

func sum(op string, a, b int64) (int64, error) {
	c := a + b
	if (c > a) != (b > 0) {
		return 0, fault.New(ErrOverflow, op, "%d + %d", a, b)
	}
	return c, nil
}
