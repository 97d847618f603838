package trajectory

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// decimal is a JSON number without rounding: 0.d₁d₂… × 10^exp, with neither a
// leading nor a trailing zero among the digits. Zero has no digits. The
// exponent may be astronomical, so the number is never written out. Policies and
// schemas see lifted numbers as what they stand for, or a fraction would slip
// past every threshold.
type decimal struct {
	negative bool
	digits   string
	exp      *big.Int
}

// decimalOf returns the number that v is, lifted or not.
func decimalOf(v canon.Value) (decimal, bool) {
	token, ok := v.Token()
	if !ok && v.Len() == 1 {
		text, isText := v.Get(numberName).AsString()
		if !isText {
			return decimal{}, false
		}
		n, err := canon.Number(text)
		if err != nil {
			return decimal{}, false
		}
		token, ok = n.Token()
	}
	if !ok {
		return decimal{}, false
	}
	return parseDecimal(token), true
}

// parseDecimal reads a token that is known to be a JSON number.
func parseDecimal(token string) decimal {
	d := decimal{exp: new(big.Int)}
	token, d.negative = strings.CutPrefix(token, "-")
	mantissa, exponent := token, ""
	if i := strings.IndexAny(token, "eE"); i >= 0 {
		mantissa, exponent = token[:i], strings.TrimPrefix(token[i+1:], "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	shift := len(whole) - (len(all) - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{exp: d.exp} // zero has no sign
	}
	if exponent != "" {
		d.exp.SetString(exponent, 10)
	}
	d.exp.Add(d.exp, big.NewInt(int64(shift)))
	return d
}

// compare returns -1, 0 or +1 as d is below, at or above e.
func (d decimal) compare(e decimal) int {
	s := d.sign()
	if c := cmp.Compare(s, e.sign()); c != 0 || s == 0 {
		return c
	}
	c := d.exp.Cmp(e.exp)
	if c == 0 {
		c = strings.Compare(d.digits, e.digits)
	}
	return s * c
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// isInteger reports whether d has no fraction. As in JSON Schema, 1.0 has none.
func (d decimal) isInteger() bool {
	return d.digits == "" || d.exp.Cmp(big.NewInt(int64(len(d.digits)))) >= 0
}

// count returns d as a number of things, if it is an integer from 0 to 10^18-1.
func (d decimal) count() (int64, bool) {
	const most = 18 // digits that 64 bits hold in any case
	if d.digits == "" {
		return 0, true
	}
	if d.negative || !d.isInteger() || d.exp.Cmp(big.NewInt(most)) > 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(d.digits+strings.Repeat("0", int(d.exp.Int64())-len(d.digits)), 10, 64)
	return n, err == nil
}

// appendExact appends a text that two values share exactly if JSON Schema and
// policies call them equal: numbers by what they are worth, objects without
// order. It is compared and never hashed.
func appendExact(dst []byte, v canon.Value) []byte {
	if d, ok := decimalOf(v); ok {
		if d.negative {
			dst = append(dst, '-')
		}
		dst = append(append(dst, '#'), d.digits...)
		if d.digits != "" {
			dst = d.exp.Append(append(dst, 'e'), 10)
		}
		return dst
	}
	switch v.Kind() {
	case canon.KindArray:
		dst = append(dst, '[')
		for _, e := range v.Elems() {
			dst = append(appendExact(dst, e), ',')
		}
		return append(dst, ']')
	case canon.KindObject:
		members := slices.SortedFunc(slices.Values(v.Members()), func(a, b canon.Member) int { return strings.Compare(a.Name, b.Name) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(canon.AppendString(dst, m.Name), ':')
			dst = append(appendExact(dst, m.Value), ',')
		}
		return append(dst, '}')
	case canon.KindString:
		return canon.AppendString(dst, v.Str())
	default:
		return append(dst, v.String()...)
	}
}

// same reports whether a and b are the same value, numbers compared exactly.
func same(a, b canon.Value) bool {
	return string(appendExact(nil, a)) == string(appendExact(nil, b))
}

// lifted returns v with every number that a body cannot hold in its lifted
// form. What is lifted already stays, as declarations come from files and from
// ledgers.
func lifted(v canon.Value) (canon.Value, error) {
	switch {
	case v.Kind() == canon.KindNumber:
		return Lift(v)
	case v.Has(numberName):
		_, err := Lower(v)
		return v, err
	default:
		return within(v, lifted)
	}
}
