// Package budget is money, prices and limits. All of it is integers: a cost
// that is computed twice is the same twice.
//
// Money is [Pico], a millionth of a millionth of a US dollar. A price per
// million tokens with six decimals is then a whole number for each token, and
// no cost is ever rounded. 64 bits reach to nine million dollars; beyond that
// every operation refuses.
//
// A [Table] holds dated [Price] lists with their source. A rate that is not
// known is not zero: [Table.Cost] refuses to price what it has no rate for.
//
// An [Account] is a value: reserving, settling and releasing return another
// account. What is reserved counts as spent until it is settled, so that calls
// that run at the same time cannot together exceed what each alone would keep
// to.
package budget

import "github.com/reprise-dev/reprise/kernel/fault"

// The codes of this package.
const (
	// ErrAmount means that a text is no amount in dollars with at most twelve
	// decimals, or that a number is negative where it must not be. Mend it.
	ErrAmount fault.Invalid = "budget.amount"

	// ErrOverflow means that a sum is more than 64 bits hold, which is beyond
	// nine million dollars or 2^63 tokens. Split the work.
	ErrOverflow fault.Invalid = "budget.overflow"

	// ErrPrice means that a price table contradicts itself, or that a price
	// lacks its date, model or source. Mend the table.
	ErrPrice fault.Invalid = "budget.price"

	// ErrNoPrice means that no price is known for a model at a date, or none
	// for a kind of token that it used. Add it to the table.
	ErrNoPrice fault.NotFound = "budget.no_price"

	// ErrExceeded means that a call would go beyond a limit. It was not begun.
	// Raise the limit or stop.
	ErrExceeded fault.Denied = "budget.exceeded"

	// ErrReservation means that a reservation is made twice, or that the one
	// to settle or release is not there. The caller lost count.
	ErrReservation fault.Conflict = "budget.reservation"
)
