package trajectory_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
)

const most = math.MaxUint64

func TestBudgetArithmeticSaturates(t *testing.T) {
	t.Parallel()
	a := trajectory.Budget{Tokens: 5, ToolCalls: most, WallClockMS: 3, USDMillicents: 0}
	b := trajectory.Budget{Tokens: 7, ToolCalls: 1, WallClockMS: 3, USDMillicents: most}
	for _, c := range []struct {
		name      string
		got, want trajectory.Budget
	}{
		{"Plus", a.Plus(b), trajectory.Budget{Tokens: 12, ToolCalls: most, WallClockMS: 6, USDMillicents: most}},
		{"Minus", a.Minus(b), trajectory.Budget{Tokens: 0, ToolCalls: most - 1, WallClockMS: 0, USDMillicents: 0}},
		{"Min", a.Min(b), trajectory.Budget{Tokens: 5, ToolCalls: 1, WallClockMS: 3, USDMillicents: 0}},
		{"Half", a.Half(), trajectory.Budget{Tokens: 2, ToolCalls: most / 2, WallClockMS: 1, USDMillicents: 0}},
	} {
		if c.got != c.want {
			t.Errorf("%s = %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

func TestBudgetIsWithinOnlyIfEveryCounterIs(t *testing.T) {
	t.Parallel()
	limit := trajectory.Budget{Tokens: 1, ToolCalls: 1, WallClockMS: 1, USDMillicents: 1}
	for n := range 3 * 3 * 3 * 3 {
		b := trajectory.Budget{Tokens: uint64(n % 3), ToolCalls: uint64(n / 3 % 3), WallClockMS: uint64(n / 9 % 3), USDMillicents: uint64(n / 27)}
		want := b.Tokens <= 1 && b.ToolCalls <= 1 && b.WallClockMS <= 1 && b.USDMillicents <= 1
		if got := b.Within(limit); got != want {
			t.Errorf("%+v.Within(%+v) = %t, want %t", b, limit, got, want)
		}
	}
}

func TestBudgetsSurviveTheirForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64()
		b := trajectory.Budget{Tokens: n.Draw(t, "tokens"), ToolCalls: n.Draw(t, "calls"), WallClockMS: n.Draw(t, "clock"), USDMillicents: n.Draw(t, "money")}
		if got, err := trajectory.ParseBudget(b.Value()); err != nil || got != b {
			t.Fatalf("ParseBudget(%s) = %+v, %v", b.Value(), got, err)
		}
	})
	for _, in := range []string{
		`null`, `{}`, `{"tokens":1,"tool_calls":1,"usd_millicents":1}`,
		`{"tokens":1,"tool_calls":1,"usd_millicents":1,"wall_clock_ms":1,"more":1}`,
		`{"tokens":-1,"tool_calls":1,"usd_millicents":1,"wall_clock_ms":1}`,
		`{"tokens":-0,"tool_calls":1,"usd_millicents":1,"wall_clock_ms":1}`,
		`{"tokens":1.0,"tool_calls":1,"usd_millicents":1,"wall_clock_ms":1}`,
		`{"tokens":"1","tool_calls":1,"usd_millicents":1,"wall_clock_ms":1}`,
		`{"tokens":18446744073709551616,"tool_calls":1,"usd_millicents":1,"wall_clock_ms":1}`,
	} {
		if got, err := trajectory.ParseBudget(parse(t, in)); !errors.Is(err, trajectory.ErrBudget) {
			t.Errorf("ParseBudget(%s) = %+v, %v, want %v", in, got, err, trajectory.ErrBudget)
		}
	}
}
