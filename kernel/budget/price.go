package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Usage counts the tokens of one call. No token is in two of the counts: Input
// is without what the cache answered or took, Output without Reasoning.
// Providers nest these differently; who reads their answers separates them.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
	Reasoning  int64
}

// counts lists the counts in the order of the fields.
func (u Usage) counts() [5]int64 {
	return [5]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning}
}

// Total returns how many tokens there are. Negative counts are refused with
// [ErrAmount].
func (u Usage) Total() (int64, error) {
	const op = "budget.Usage.Total"
	var total int64
	for _, n := range u.counts() {
		if n < 0 {
			return 0, fault.New(ErrAmount, op, "%d tokens", n)
		}
		var err error
		if total, err = sum(op, total, n); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// Add returns the usage of two calls together.
func (u Usage) Add(v Usage) (Usage, error) {
	a, b := u.counts(), v.counts()
	for i := range a {
		var err error
		if a[i], err = sum("budget.Usage.Add", a[i], b[i]); err != nil {
			return Usage{}, err
		}
	}
	return Usage{Input: a[0], Output: a[1], CacheRead: a[2], CacheWrite: a[3], Reasoning: a[4]}, nil
}

// Rate is the price of one token. The zero Rate is not known, which is not
// free.
type Rate struct {
	perToken Pico
	known    bool
}

// Free is the rate of tokens that cost nothing.
func Free() Rate { return Rate{known: true} }

// PerMillion returns the rate of so many dollars for a million tokens. At most
// six decimals are accepted, so that one token costs a whole number of Pico.
func PerMillion(dollars string) (Rate, error) {
	const million = 1_000_000
	p, err := ParsePico(dollars)
	switch {
	case err != nil:
		return Rate{}, err
	case p < 0 || p%million != 0:
		return Rate{}, fault.New(ErrAmount, "budget.PerMillion", "%s dollars for a million tokens: negative, or more than six decimals", dollars)
	default:
		return Rate{perToken: p / million, known: true}, nil
	}
}

// PerToken returns the price of one token, and whether it is known.
func (r Rate) PerToken() (Pico, bool) { return r.perToken, r.known }

// Price is what a model costs from a day on.
type Price struct {
	Model      string
	From       string // the first day, as YYYY-MM-DD
	Source     string // where the price was read, such as a URL
	Input      Rate
	Output     Rate
	CacheRead  Rate
	CacheWrite Rate
	Reasoning  Rate
}

// Cost returns what the usage costs. It refuses negative counts with
// [ErrAmount], a count without a rate with [ErrNoPrice], and [ErrOverflow].
func (p Price) Cost(u Usage) (Pico, error) {
	const op = "budget.Price.Cost"
	rates := [5]Rate{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.Reasoning}
	names := [5]string{"input", "output", "cache read", "cache write", "reasoning"}
	var total Pico
	for i, n := range u.counts() {
		switch {
		case n < 0:
			return 0, fault.New(ErrAmount, op, "%d %s tokens", n, names[i])
		case n == 0:
			continue
		case !rates[i].known:
			return 0, fault.New(ErrNoPrice, op, "%s has no rate for %s tokens from %s on", p.Model, names[i], p.From)
		}
		part, err := rates[i].perToken.Mul(n)
		if err != nil {
			return 0, err
		}
		if total, err = total.Add(part); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// Table holds prices by model and day. It is immutable; the zero Table has
// none.
type Table struct {
	prices []Price // ascending by model, then by first day
}

// NewTable returns a table of the prices given, in any order. It refuses with
// [ErrPrice] a price without model, day or source, and two of one model and day.
func NewTable(prices []Price) (Table, error) {
	const op = "budget.NewTable"
	sorted := slices.Clone(prices)
	slices.SortFunc(sorted, comparePrices)
	for i, p := range sorted {
		switch {
		case p.Model == "" || p.Source == "":
			return Table{}, fault.New(ErrPrice, op, "a price lacks its model or its source: %q, %q", p.Model, p.Source)
		case !isDay(p.From):
			return Table{}, fault.New(ErrPrice, op, "%s: %q is no day such as 2026-01-31", p.Model, p.From)
		case i > 0 && comparePrices(sorted[i-1], p) == 0:
			return Table{}, fault.New(ErrPrice, op, "%s has two prices from %s on", p.Model, p.From)
		}
	}
	return Table{prices: sorted}, nil
}

// comparePrices orders by model, then by first day: days in ISO form sort as
// text.
func comparePrices(p, q Price) int {
	return cmp.Or(strings.Compare(p.Model, q.Model), strings.Compare(p.From, q.From))
}

// Prices returns the prices by model and day. They must not be changed.
func (t Table) Prices() []Price { return t.prices }

// At returns the price of a model that holds on a day, which is the one with
// the latest first day not after it. It refuses with [ErrNoPrice].
func (t Table) At(model, day string) (Price, error) {
	const op = "budget.Table.At"
	if !isDay(day) {
		return Price{}, fault.New(ErrPrice, op, "%q is no day such as 2026-01-31", day)
	}
	i, exact := slices.BinarySearchFunc(t.prices, Price{Model: model, From: day}, comparePrices)
	if !exact {
		i--
	}
	if i < 0 || t.prices[i].Model != model {
		return Price{}, fault.New(ErrNoPrice, op, "no price of %q on %s", model, day)
	}
	return t.prices[i], nil
}

// Cost returns what a call of that model on that day costs.
func (t Table) Cost(model, day string, u Usage) (Pico, error) {
	p, err := t.At(model, day)
	if err != nil {
		return 0, err
	}
	return p.Cost(u)
}

// isDay reports whether s is a day of the calendar, as YYYY-MM-DD.
func isDay(s string) bool {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' || !isDigits(s[:4]+s[5:7]+s[8:]) {
		return false
	}
	year := int(s[0]-'0')*1000 + int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
	month := int(s[5]-'0')*10 + int(s[6]-'0')
	day := int(s[8]-'0')*10 + int(s[9]-'0')
	return day >= 1 && day <= daysIn(year, month)
}

func daysIn(year, month int) int {
	switch month {
	case 1, 3, 5, 7, 8, 10, 12:
		return 31
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	default:
		return 0
	}
}
