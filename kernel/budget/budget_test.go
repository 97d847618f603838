package budget_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func Example() {
	input, _ := budget.PerMillion("3")
	output, _ := budget.PerMillion("15")
	table, _ := budget.NewTable([]budget.Price{{
		Model: "sonnet", From: "2026-01-01", Source: "https://example.com/prices", Input: input, Output: output,
	}})
	cost, _ := table.Cost("sonnet", "2026-07-01", budget.Usage{Input: 1200, Output: 345})
	fmt.Println(cost)

	account := budget.New(budget.Limits{Cost: budget.AtMost(int64(budget.Cent))})
	account, _ = account.Reserve("call-1", budget.Amount{Cost: cost, Calls: 1})
	_, err := account.Reserve("call-2", budget.Amount{Cost: cost, Calls: 1})
	fmt.Println(fault.CodeOf(err))
	// Output:
	// 0.008775
	// budget.exceeded
}

func TestMoneyIsReadAndWrittenExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want budget.Pico
		out  string
		err  error
	}{
		{"0", 0, "0", nil},
		{"0.000000000001", 1, "0.000000000001", nil},
		{"-0.5", -budget.Dollar / 2, "-0.5", nil},
		{"0012.50", 12*budget.Dollar + 50*budget.Cent, "12.5", nil},
		{"9223372.036854775807", math.MaxInt64, "9223372.036854775807", nil},
		{"-9223372.036854775807", -math.MaxInt64, "-9223372.036854775807", nil},
		{"9223372.036854775808", 0, "", budget.ErrOverflow},
		{"99999999999999999999999", 0, "", budget.ErrOverflow},
		{"0.0000000000001", 0, "", budget.ErrAmount},
		{"", 0, "", budget.ErrAmount},
		{"-", 0, "", budget.ErrAmount},
		{".5", 0, "", budget.ErrAmount},
		{"5.", 0, "", budget.ErrAmount},
		{"+5", 0, "", budget.ErrAmount},
		{"1e3", 0, "", budget.ErrAmount},
		{"1,5", 0, "", budget.ErrAmount},
		{" 5", 0, "", budget.ErrAmount},
	} {
		got, err := budget.ParsePico(c.in)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParsePico(%q) = %d, %v, want %d, %v", c.in, got, err, c.want, c.err)
		}
		if err == nil && got.String() != c.out {
			t.Errorf("ParsePico(%q).String() = %s, want %s", c.in, got, c.out)
		}
	}
	if got := budget.Pico(math.MinInt64).String(); got != "-9223372.036854775808" {
		t.Errorf("the smallest amount is written %s", got)
	}
}

func TestMoneySurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := budget.Pico(rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "p"))
		text, _ := p.MarshalText()
		var back budget.Pico
		if err := back.UnmarshalText(text); err != nil || back != p {
			t.Fatalf("%d is written %s and read %d, %v", p, text, back, err)
		}
	})
}

// Every operation gives what integers without limit give, or refuses.
func TestMoneyNeverWraps(t *testing.T) {
	t.Parallel()
	edges := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 32, -1 << 32, 3037000500})
	number := rapid.OneOf(rapid.Int64(), edges)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		for _, op := range []struct {
			name string
			do   func() (budget.Pico, error)
			want *big.Int
		}{
			{"+", func() (budget.Pico, error) { return budget.Pico(a).Add(budget.Pico(b)) }, new(big.Int).Add(big.NewInt(a), big.NewInt(b))},
			{"-", func() (budget.Pico, error) { return budget.Pico(a).Sub(budget.Pico(b)) }, new(big.Int).Sub(big.NewInt(a), big.NewInt(b))},
			{"*", func() (budget.Pico, error) { return budget.Pico(a).Mul(b) }, new(big.Int).Mul(big.NewInt(a), big.NewInt(b))},
		} {
			got, err := op.do()
			if op.want.IsInt64() != (err == nil) || err == nil && int64(got) != op.want.Int64() {
				t.Fatalf("%d %s %d = %d, %v, want %s", a, op.name, b, got, err, op.want)
			}
			if err != nil && !errors.Is(err, budget.ErrOverflow) {
				t.Fatalf("%d %s %d: %v", a, op.name, b, err)
			}
		}
	})
}

func TestCentsRoundUp(t *testing.T) {
	t.Parallel()
	for p, want := range map[budget.Pico]int64{0: 0, 1: 1, budget.Cent: 1, budget.Cent + 1: 2, -1: 0} {
		if got := p.Cents(); got != want {
			t.Errorf("Pico(%d).Cents() = %d, want %d", p, got, want)
		}
	}
}

func rate(t *testing.T, dollars string) budget.Rate {
	t.Helper()
	r, err := budget.PerMillion(dollars)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCostIsTheSumOfItsParts(t *testing.T) {
	t.Parallel()
	p := budget.Price{
		Model: "m", Input: rate(t, "3"), Output: rate(t, "15"), CacheRead: rate(t, "0.30"),
		CacheWrite: rate(t, "3.75"), Reasoning: budget.Free(),
	}
	for _, c := range []struct {
		name string
		u    budget.Usage
		want string
		err  error
	}{
		{"nothing", budget.Usage{}, "0", nil},
		{"one token", budget.Usage{Input: 1}, "0.000003", nil},
		{"all kinds", budget.Usage{Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000, Reasoning: 5}, "22.05", nil},
		{"negative", budget.Usage{Output: -1}, "0", budget.ErrAmount},
		{"too much", budget.Usage{Output: math.MaxInt64}, "0", budget.ErrOverflow},
	} {
		if got, err := p.Cost(c.u); got.String() != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: Cost = %s, %v, want %s, %v", c.name, got, err, c.want, c.err)
		}
	}
	p.CacheRead = budget.Rate{}
	if got, err := p.Cost(budget.Usage{CacheRead: 1}); !errors.Is(err, budget.ErrNoPrice) {
		t.Errorf("Cost of tokens without a rate = %s, %v", got, err)
	}
	if _, err := budget.PerMillion("0.0000001"); !errors.Is(err, budget.ErrAmount) {
		t.Errorf("PerMillion of seven decimals = %v", err)
	}
}

func TestTableFindsThePriceOfTheDay(t *testing.T) {
	t.Parallel()
	table, err := budget.NewTable([]budget.Price{
		{Model: "b", From: "2026-03-01", Source: "s", Input: rate(t, "2")},
		{Model: "b", From: "2025-01-01", Source: "s", Input: rate(t, "1")},
		{Model: "a", From: "2020-01-01", Source: "s", Input: rate(t, "9")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model, day, from string
		err              error
	}{
		{"b", "2025-01-01", "2025-01-01", nil},
		{"b", "2026-02-28", "2025-01-01", nil},
		{"b", "2026-03-01", "2026-03-01", nil},
		{"b", "2030-01-01", "2026-03-01", nil},
		{"b", "2024-12-31", "", budget.ErrNoPrice},
		{"c", "2026-01-01", "", budget.ErrNoPrice},
		{"b", "2026-02-29", "", budget.ErrPrice},
		{"b", "today", "", budget.ErrPrice},
	} {
		if got, err := table.At(c.model, c.day); got.From != c.from || !errors.Is(err, c.err) {
			t.Errorf("At(%s, %s) = from %q, %v, want %q, %v", c.model, c.day, got.From, err, c.from, c.err)
		}
	}
}

func TestTableRefusesWhatContradictsItself(t *testing.T) {
	t.Parallel()
	for name, prices := range map[string][]budget.Price{
		"no model":  {{From: "2026-01-01", Source: "s"}},
		"no source": {{Model: "m", From: "2026-01-01"}},
		"no day":    {{Model: "m", Source: "s"}},
		"bad day":   {{Model: "m", From: "2026-13-01", Source: "s"}},
		"two":       {{Model: "m", From: "2026-01-01", Source: "s"}, {Model: "m", From: "2026-01-01", Source: "t"}},
	} {
		if _, err := budget.NewTable(prices); !errors.Is(err, budget.ErrPrice) {
			t.Errorf("%s: NewTable = %v", name, err)
		}
	}
}

func TestReservationsTogetherKeepToTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 100).Draw(t, "limit")
		account := budget.New(budget.Limits{Cost: budget.AtMost(limit), Tokens: budget.AtMost(1000), Calls: budget.AtMost(6)})
		held := map[string]int64{}
		var spent int64
		for i := range rapid.IntRange(0, 30).Draw(t, "steps") {
			before := account
			id := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "id"))
			n := rapid.Int64Range(0, 40).Draw(t, "n")
			var err error
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				account, err = account.Reserve(id, budget.Amount{Cost: budget.Pico(n), Tokens: n, Calls: 1})
				if err == nil {
					held[id] = n
				}
			case 1:
				n = min(n, held[id])
				account, err = account.Settle(id, budget.Amount{Cost: budget.Pico(n), Tokens: n, Calls: 1})
				if err == nil {
					spent += n
					delete(held, id)
				}
			default:
				if account, err = account.Release(id); err == nil {
					delete(held, id)
				}
			}
			if err != nil && fmt.Sprint(account) != fmt.Sprint(before) {
				t.Fatalf("step %d: a refusal changed the account", i)
			}
			var reserved int64
			for _, n := range held {
				reserved += n
			}
			if int64(account.Reserved().Cost) != reserved || int64(account.Spent().Cost) != spent {
				t.Fatalf("step %d: reserved %s, spent %s, want %d and %d", i, account.Reserved().Cost, account.Spent().Cost, reserved, spent)
			}
			if spent+reserved > limit || int64(account.Left().Cost) != limit-spent-reserved || account.Over() {
				t.Fatalf("step %d: %d spent and %d reserved of %d, left %s", i, spent, reserved, limit, account.Left().Cost)
			}
		}
	})
}

func TestAccountRefusesByCode(t *testing.T) {
	t.Parallel()
	one := budget.Amount{Cost: 1, Tokens: 1, Calls: 1}
	account, err := budget.New(budget.Limits{Calls: budget.AtMost(1)}).Reserve("a", one)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func() (budget.Account, error)
		want error
	}{
		{"reserved twice", func() (budget.Account, error) { return account.Reserve("a", one) }, budget.ErrReservation},
		{"one call too many", func() (budget.Account, error) { return account.Reserve("b", one) }, budget.ErrExceeded},
		{"negative", func() (budget.Account, error) { return account.Reserve("b", budget.Amount{Tokens: -1}) }, budget.ErrAmount},
		{"settle unknown", func() (budget.Account, error) { return account.Settle("b", one) }, budget.ErrReservation},
		{"settle negative", func() (budget.Account, error) { return account.Settle("a", budget.Amount{Cost: -1}) }, budget.ErrAmount},
		{"release unknown", func() (budget.Account, error) { return account.Release("b") }, budget.ErrReservation},
	} {
		if _, err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestWhatWasSpentIsRecordedBeyondTheLimit(t *testing.T) {
	t.Parallel()
	account, err := budget.New(budget.Limits{Cost: budget.AtMost(10)}).Reserve("a", budget.Amount{Cost: 10})
	if err != nil {
		t.Fatal(err)
	}
	account, err = account.Settle("a", budget.Amount{Cost: 12})
	if err != nil || !account.Over() || account.Spent().Cost != 12 || account.Left().Cost != 0 {
		t.Errorf("after settling 12 of 10: %+v, %v", account, err)
	}
	if _, err := account.Reserve("b", budget.Amount{}); !errors.Is(err, budget.ErrExceeded) {
		t.Errorf("Reserve of nothing when over = %v", err)
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	u, err := budget.Usage{Input: 1, Output: 2, CacheRead: 3}.Add(budget.Usage{CacheRead: 1, CacheWrite: 4, Reasoning: 5})
	if err != nil {
		t.Fatal(err)
	}
	if total, err := u.Total(); err != nil || total != 16 {
		t.Errorf("Total(%+v) = %d, %v", u, total, err)
	}
	if _, err := u.Add(budget.Usage{Input: math.MaxInt64}); !errors.Is(err, budget.ErrOverflow) {
		t.Errorf("Add beyond 64 bits = %v", err)
	}
	if _, err := (budget.Usage{Input: -1}).Total(); !errors.Is(err, budget.ErrAmount) {
		t.Errorf("Total of a negative count = %v", err)
	}
}
