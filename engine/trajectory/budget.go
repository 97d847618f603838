package trajectory

import (
	"math"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrBudget means that a budget cannot be read: it has exactly four counters,
// each a whole number that is not negative. Mend it.
const ErrBudget fault.Invalid = "trajectory.bad_budget"

// Budget is the four counters that a writ limits. Money is in thousandths of a
// cent: one dollar is 100,000.
type Budget struct {
	Tokens        uint64
	ToolCalls     uint64
	WallClockMS   uint64
	USDMillicents uint64
}

// Within reports whether no counter of b is above that of limit.
func (b Budget) Within(limit Budget) bool { return b.Min(limit) == b }

// Plus adds counter by counter. A sum that does not fit stays at the largest
// number, so that it is above every limit but that one.
func (b Budget) Plus(c Budget) Budget {
	return b.with(c, func(x, y uint64) uint64 {
		if x > math.MaxUint64-y {
			return math.MaxUint64
		}
		return x + y
	})
}

// Minus subtracts counter by counter and stops at zero.
func (b Budget) Minus(c Budget) Budget {
	return b.with(c, func(x, y uint64) uint64 { return x - min(x, y) })
}

// Min returns the smaller of each two counters.
func (b Budget) Min(c Budget) Budget {
	return b.with(c, func(x, y uint64) uint64 { return min(x, y) })
}

// Half halves each counter, rounding down: what a delegation hands on.
func (b Budget) Half() Budget {
	return b.with(b, func(x, _ uint64) uint64 { return x / 2 })
}

func (b Budget) with(c Budget, f func(x, y uint64) uint64) Budget {
	return Budget{
		Tokens:        f(b.Tokens, c.Tokens),
		ToolCalls:     f(b.ToolCalls, c.ToolCalls),
		WallClockMS:   f(b.WallClockMS, c.WallClockMS),
		USDMillicents: f(b.USDMillicents, c.USDMillicents),
	}
}

// Value returns the form of b that is hashed.
func (b Budget) Value() canon.Value {
	return canon.Object(
		canon.M("tokens", uintValue(b.Tokens)),
		canon.M("tool_calls", uintValue(b.ToolCalls)),
		canon.M("usd_millicents", uintValue(b.USDMillicents)),
		canon.M("wall_clock_ms", uintValue(b.WallClockMS)),
	)
}

// ParseBudget reads what [Budget.Value] writes.
func ParseBudget(v canon.Value) (Budget, error) {
	r := newRecord(v, ErrBudget, "trajectory.ParseBudget", "a budget", "tokens", "tool_calls", "usd_millicents", "wall_clock_ms")
	b := Budget{
		Tokens:        r.uint("tokens", 64),
		ToolCalls:     r.uint("tool_calls", 64),
		WallClockMS:   r.uint("wall_clock_ms", 64),
		USDMillicents: r.uint("usd_millicents", 64),
	}
	return b, r.Err
}
