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

// PriceList is a table of prices under the version by which a cost names it.
type PriceList struct {
	budget.Table
	Version string // such as "2026-11-21", or "ours@1, 2026-11-21" with the user's own before it
}

// Prices returns the built-in prices. Where more is given (the contents of a
// file in the same form), its prices take the place of the built-in ones of
// each model that it names, or of all of them if it says that it is the only
// one.
func Prices(more []byte) (PriceList, error) {
	own, err := parsePrices(more)
	if err != nil {
		return PriceList{}, err
	}
	list, err := parsePrices(builtin)
	if err != nil {
		return PriceList{}, err
	}
	version := list.version
	if len(more) > 0 {
		if own.version == "" {
			own.version = "own@" + canon.SHA256(more).String()[:shortDigest]
		}
		version = own.version
		if !own.only {
			version += ", " + list.version
		}
	}
	named := map[string]bool{}
	for _, p := range own.prices {
		named[p.Model] = true
	}
	for _, p := range list.prices {
		if !named[p.Model] && !own.only {
			own.prices = append(own.prices, p)
		}
	}
	t, err := budget.NewTable(own.prices)
	return PriceList{Table: t, Version: version}, err
}

// shortDigest is how much of the digest of a file names its prices, where the
// file has no version.
const shortDigest = 12

// file is a file of prices.
type file struct {
	version string
	only    bool
	prices  []budget.Price
}

// parsePrices reads {"version", "only", "prices": [{model, from, source,
// input, …}]}, rates in dollars for a million tokens, as strings. A rate that
// is left out is not known, which is not free. Only says that no other prices
// hold.
func parsePrices(b []byte) (file, error) {
	const op = "insight.Prices"
	var out file
	if len(b) == 0 {
		return out, nil
	}
	if len(b) > maxPrices {
		return out, fault.New(ErrPrices, op, "%d bytes are over the limit of %d", len(b), maxPrices)
	}
	v, err := canon.Parse(b)
	if err != nil {
		return out, fault.Wrap(ErrPrices, op, err, "not JSON")
	}
	if v.Get("prices").Kind() != canon.KindArray {
		return out, fault.New(ErrPrices, op, `not of the form {"version": "…", "prices": [...]}`)
	}
	for _, m := range v.Members() {
		ok := m.Name == "prices"
		switch m.Name {
		case "version":
			out.version, ok = m.Value.AsString()
			ok = ok && out.version != "" && len(out.version) <= maxVersion
		case "only":
			out.only, ok = m.Value.AsBool()
		}
		if !ok {
			return out, fault.New(ErrPrices, op, "%q is no member of a file of prices, or its value does not fit", m.Name)
		}
	}
	for i, e := range v.Get("prices").Elems() {
		p, err := parsePrice(e)
		if err != nil {
			return out, fault.New(ErrPrices, op, "prices/%d: %s", i, fault.Text(err))
		}
		out.prices = append(out.prices, p)
	}
	return out, nil
}

// maxVersion bounds the name of a version.
const maxVersion = 100

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
