package insight

import (
	_ "embed"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrPrices means that a file of prices cannot be read. Mend the file; the
// message says where.
const ErrPrices fault.Invalid = "insight.bad_prices"

// builtin lists public list prices in dollars for a million tokens, each with
// the day from which it is known to hold. Prices by the length of the prompt
// are left out, because a call does not say which holds.
//
//go:embed prices.json
var builtin []byte

// maxPrices is the size limit of a file of prices, in bytes.
const maxPrices = 1 << 20

// Prices returns the built-in prices. Where more is given (the contents of a
// file in the same form), its prices take the place of the built-in ones of
// each model that it names.
func Prices(more []byte) (budget.Table, error) {
	own, err := parsePrices(more)
	if err != nil {
		return budget.Table{}, err
	}
	list, err := parsePrices(builtin)
	if err != nil {
		return budget.Table{}, err
	}
	named := map[string]bool{}
	for _, p := range own {
		named[p.Model] = true
	}
	for _, p := range list {
		if !named[p.Model] {
			own = append(own, p)
		}
	}
	return budget.NewTable(own)
}

// parsePrices reads {"prices": [{model, from, source, input, …}]}, rates in
// dollars for a million tokens, as strings. A rate that is left out is not
// known, which is not free.
func parsePrices(b []byte) ([]budget.Price, error) {
	const op = "insight.Prices"
	if len(b) == 0 {
		return nil, nil
	}
	if len(b) > maxPrices {
		return nil, fault.New(ErrPrices, op, "%d bytes are over the limit of %d", len(b), maxPrices)
	}
	v, err := canon.Parse(b)
	if err != nil {
		return nil, fault.Wrap(ErrPrices, op, err, "not JSON")
	}
	if v.Get("prices").Kind() != canon.KindArray || v.Len() != 1 {
		return nil, fault.New(ErrPrices, op, `not of the form {"prices": [...]}`)
	}
	var out []budget.Price
	for i, e := range v.Get("prices").Elems() {
		p, err := parsePrice(e)
		if err != nil {
			return nil, fault.Wrap(ErrPrices, op, err, "prices/%d", i)
		}
		out = append(out, p)
	}
	return out, nil
}

func parsePrice(e canon.Value) (budget.Price, error) {
	var p budget.Price
	texts := map[string]*string{"model": &p.Model, "from": &p.From, "source": &p.Source}
	rates := map[string]*budget.Rate{
		"input": &p.Input, "output": &p.Output, "cache_read": &p.CacheRead, "cache_write": &p.CacheWrite, "reasoning": &p.Reasoning,
	}
	for _, m := range e.Members() {
		s, isText := m.Value.AsString()
		if to, ok := texts[m.Name]; ok && isText {
			*to = s
			continue
		}
		to, ok := rates[m.Name]
		if !ok || !isText {
			return p, fault.New(ErrPrices, "insight.Prices", "%q is no member of a price, or its value is no string", m.Name)
		}
		var err error
		if *to, err = budget.PerMillion(s); err != nil {
			return p, err
		}
	}
	return p, nil
}
