package budget

import (
	"math"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Amount is what a call uses up.
type Amount struct {
	Cost   Pico
	Tokens int64
	Calls  int64
}

func (a Amount) negative() bool { return a.Cost < 0 || a.Tokens < 0 || a.Calls < 0 }

// Add returns both amounts together, or refuses with [ErrOverflow].
func (a Amount) Add(b Amount) (Amount, error) {
	const op = "budget.Amount.Add"
	cost, err := a.Cost.Add(b.Cost)
	if err != nil {
		return Amount{}, err
	}
	tokens, err := sum(op, a.Tokens, b.Tokens)
	if err != nil {
		return Amount{}, err
	}
	calls, err := sum(op, a.Calls, b.Calls)
	if err != nil {
		return Amount{}, err
	}
	return Amount{Cost: cost, Tokens: tokens, Calls: calls}, nil
}

// Bound is an upper bound, or none, which is the zero Bound.
type Bound struct {
	most int64
	set  bool
}

// AtMost returns the bound that lets n through and no more.
func AtMost(n int64) Bound { return Bound{most: n, set: true} }

// Value returns the bound, and whether there is one.
func (b Bound) Value() (int64, bool) { return b.most, b.set }

func (b Bound) left(used int64) int64 {
	switch {
	case !b.set:
		return math.MaxInt64
	case used >= b.most:
		return 0
	default:
		return b.most - used
	}
}

// Limits bounds what an account may use up. The zero Limits bound nothing.
type Limits struct {
	Cost   Bound // in Pico
	Tokens Bound
	Calls  Bound
}

// exceeded names the first limit that the amount goes beyond.
func (l Limits) exceeded(a Amount) (what string, most, got int64) {
	switch {
	case l.Cost.set && int64(a.Cost) > l.Cost.most:
		return "picodollars", l.Cost.most, int64(a.Cost)
	case l.Tokens.set && a.Tokens > l.Tokens.most:
		return "tokens", l.Tokens.most, a.Tokens
	case l.Calls.set && a.Calls > l.Calls.most:
		return "calls", l.Calls.most, a.Calls
	default:
		return "", 0, 0
	}
}

// Account keeps what was spent and reserved under limits. It is immutable.
type Account struct {
	limits   Limits
	spent    Amount
	reserved Amount
	holds    []hold // ascending by id
}

type hold struct {
	id     string
	amount Amount
}

// New returns an account of which nothing was spent.
func New(limits Limits) Account { return Account{limits: limits} }

// Limits returns the limits of the account.
func (a Account) Limits() Limits { return a.limits }

// Spent returns what was settled.
func (a Account) Spent() Amount { return a.spent }

// Reserved returns what is reserved and neither settled nor released.
func (a Account) Reserved() Amount { return a.reserved }

// Left returns what can still be reserved; where there is no limit, the
// largest number.
func (a Account) Left() Amount {
	return Amount{
		Cost:   Pico(a.limits.Cost.left(used(int64(a.spent.Cost), int64(a.reserved.Cost)))),
		Tokens: a.limits.Tokens.left(used(a.spent.Tokens, a.reserved.Tokens)),
		Calls:  a.limits.Calls.left(used(a.spent.Calls, a.reserved.Calls)),
	}
}

// used adds what is not negative, and stops at the largest number.
func used(spent, reserved int64) int64 {
	if spent > math.MaxInt64-reserved {
		return math.MaxInt64
	}
	return spent + reserved
}

// Over reports whether more was spent than the limits allow, which happens
// when a call cost more than was reserved for it.
func (a Account) Over() bool {
	what, _, _ := a.limits.exceeded(a.spent)
	return what != ""
}

// Reserve sets an amount aside for the call of that id, before it begins. It
// refuses with [ErrExceeded] if spent and reserved would go beyond a limit.
func (a Account) Reserve(id string, want Amount) (Account, error) {
	const op = "budget.Account.Reserve"
	if want.negative() {
		return a, fault.New(ErrAmount, op, "a reservation must not be negative: %+v", want)
	}
	i, there := a.find(id)
	if there {
		return a, fault.New(ErrReservation, op, "%q is reserved already", id)
	}
	reserved, err := a.reserved.Add(want)
	if err != nil {
		return a, err
	}
	total, err := a.spent.Add(reserved)
	if err != nil {
		return a, err
	}
	if what, most, got := a.limits.exceeded(total); what != "" {
		return a, fault.New(ErrExceeded, op, "%d %s would be more than the limit of %d", got, what, most)
	}
	a.reserved = reserved
	a.holds = slices.Insert(slices.Clone(a.holds), i, hold{id: id, amount: want})
	return a, nil
}

// Settle replaces the reservation of a call by what it did use up. That is
// recorded even where it goes beyond the reservation or a limit, since it was
// spent; [Account.Over] then says so, and nothing more can be reserved.
func (a Account) Settle(id string, actual Amount) (Account, error) {
	const op = "budget.Account.Settle"
	if actual.negative() {
		return a, fault.New(ErrAmount, op, "what was used up must not be negative: %+v", actual)
	}
	spent, err := a.spent.Add(actual)
	if err != nil {
		return a, err
	}
	settled, err := a.remove(op, id)
	if err != nil {
		return a, err
	}
	settled.spent = spent
	return settled, nil
}

// Release gives the reservation of a call back, which used up nothing.
func (a Account) Release(id string) (Account, error) {
	return a.remove("budget.Account.Release", id)
}

func (a Account) remove(op, id string) (Account, error) {
	i, there := a.find(id)
	if !there {
		return a, fault.New(ErrReservation, op, "%q is not reserved", id)
	}
	h := a.holds[i].amount
	a.reserved = Amount{
		Cost:   a.reserved.Cost - h.Cost,
		Tokens: a.reserved.Tokens - h.Tokens,
		Calls:  a.reserved.Calls - h.Calls,
	}
	a.holds = slices.Delete(slices.Clone(a.holds), i, i+1)
	return a, nil
}

func (a Account) find(id string) (int, bool) {
	return slices.BinarySearchFunc(a.holds, id, func(h hold, id string) int { return strings.Compare(h.id, id) })
}
