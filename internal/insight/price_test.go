package insight_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/budget"
)

func TestBuiltInPricesAreWellFormed(t *testing.T) {
	t.Parallel()
	table, err := insight.Prices(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Prices() {
		if !strings.HasPrefix(p.Source, "https://") {
			t.Errorf("%s from %s has the source %q", p.Model, p.From, p.Source)
		}
		if _, ok := p.Input.PerToken(); !ok {
			t.Errorf("%s from %s has no price of input", p.Model, p.From)
		}
	}
	cost, err := table.Cost("gpt-4o-mini", "2026-11-21", budget.Usage{Input: 1_000_000, Output: 1_000_000})
	if err != nil || cost.String() != "0.75" {
		t.Errorf("a million tokens each way cost %s, %v; want 0.75", cost, err)
	}
}

func TestAFileOfPricesTakesThePlaceOfAModel(t *testing.T) {
	t.Parallel()
	table, err := insight.Prices([]byte(`{"prices":[{"model":"gpt-4o-mini","from":"2026-01-01","source":"our contract","input":"0.10"},{"model":"ours","from":"2026-01-01","source":"us","input":"0"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		model, day string
		usage      budget.Usage
		want       string
	}{
		{"gpt-4o-mini", "2026-02-01", budget.Usage{Input: 1_000_000}, "0.1"},
		{"gpt-4o-mini", "2025-02-01", budget.Usage{Input: 1}, "unknown"},
		{"gpt-4o-mini", "2026-02-01", budget.Usage{Output: 1}, "unknown"},
		{"ours", "2026-02-01", budget.Usage{Input: 5}, "0"},
		{"gpt-4o", "2026-02-01", budget.Usage{Input: 1_000_000}, "2.5"},
		{"nobody-knows", "2026-02-01", budget.Usage{Input: 1}, "unknown"},
	} {
		got := "unknown"
		if cost, err := table.Cost(test.model, test.day, test.usage); err == nil {
			got = cost.String()
		}
		if got != test.want {
			t.Errorf("Cost(%s, %s, %+v) = %s, want %s", test.model, test.day, test.usage, got, test.want)
		}
	}
	if want := table.Version; !strings.HasPrefix(want, "own@") || !strings.HasSuffix(want, ", 2026-11-21") {
		t.Errorf("version = %q, want that of the file by its digest, and the built-in one", want)
	}
	only, err := insight.Prices([]byte(`{"version":"contract 7","only":true,"prices":[{"model":"ours","from":"2026-01-01","source":"us","input":"1"}]}`))
	if err != nil || only.Version != "contract 7" || len(only.Prices()) != 1 {
		t.Errorf("a list that is the only one = %q with %d prices, %v", only.Version, len(only.Prices()), err)
	}
	for _, in := range []string{`{"prices":[],"version":7}`, `{"prices":[],"version":""}`, `{"prices":[],"only":"yes"}`, `{`, `{}`, `{"prices":{}}`, `{"prices":[],"x":1}`, `{"prices":[{"model":"a","from":"2026-01-01","source":"b","input":1}]}`, `{"prices":[{"model":"a","from":"2026-01-01","source":"b","inputs":"1"}]}`} {
		if _, err := insight.Prices([]byte(in)); !errors.Is(err, insight.ErrPrices) {
			t.Errorf("Prices(%s) = %v, want %v", in, err, insight.ErrPrices)
		}
	}
}
