package effect

import (
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of sources. None of them is ever answered by a live call.
const (
	// ErrMissing means that the journal holds no such call: the agent asks
	// for something else than it did. Read the report for the nearest call.
	ErrMissing fault.Diverged = "effect.not_recorded"
	// ErrNoOutcome means that the journal holds the call but no outcome: the
	// recording ended before it. Replay a shorter prefix.
	ErrNoOutcome fault.Integrity = "effect.outcome_missing"
	// ErrRefused means that this mode makes no calls of this kind.
	ErrRefused fault.Denied = "effect.refused"
)

// Mode says how a call is answered.
type Mode uint8

// The modes.
const (
	MakeIt   Mode = iota // make the call
	Recorded             // answer from the journal
	Given                // answer with the outcome that stands in the answer
)

// Answer is a source's word on a call.
type Answer struct {
	Mode     Mode
	Recorded *Record     // of mode Recorded
	Outcome  *Outcome    // of mode Given
	Price    budget.Pico // of a priced call
}

// Source decides how calls are answered. It is pure: the same calls in the
// same order get the same answers.
type Source interface {
	// Name is the name of the source in reports.
	Name() string
	// Answer decides one call. An error means that the call gets no answer.
	Answer(k Key, c *Call) (Answer, error)
}

// Live makes every call.
type Live struct{}

// Name implements [Source].
func (Live) Name() string { return "live" }

// Answer implements [Source].
func (Live) Answer(Key, *Call) (Answer, error) { return Answer{Mode: MakeIt}, nil }

// Refuse answers nothing. Code is the reason; nil stands for [ErrRefused].
type Refuse struct{ Code fault.Code }

// Name implements [Source].
func (Refuse) Name() string { return "refuse" }

// Answer implements [Source].
func (r Refuse) Answer(_ Key, c *Call) (Answer, error) {
	code := r.Code
	if code == nil {
		code = ErrRefused
	}
	return Answer{}, fault.New(code, "effect.Refuse", "%s %s is not called in this mode", c.Kind, c.Name)
}

// PriceOnly lists and prices calls and makes none. Price gives the price of a
// call; ok is false if it is not known, and then the call is refused rather
// than counted as free.
type PriceOnly struct {
	Price func(c *Call) (price budget.Pico, ok bool)
}

// Name implements [Source].
func (PriceOnly) Name() string { return "price-only" }

// Answer implements [Source].
func (p PriceOnly) Answer(_ Key, c *Call) (Answer, error) {
	price, ok := p.Price(c)
	if !ok {
		return Answer{}, fault.New(ErrRefused, "effect.PriceOnly", "%s %s has no price", c.Kind, c.Name)
	}
	return Answer{Mode: Given, Outcome: &Outcome{Status: OK}, Price: price}, nil
}

// Sandbox answers from mocks. A call without a mock is refused.
type Sandbox struct {
	Mock func(k Key, c *Call) (*Outcome, bool)
}

// Name implements [Source].
func (Sandbox) Name() string { return "sandbox" }

// Answer implements [Source].
func (s Sandbox) Answer(k Key, c *Call) (Answer, error) {
	o, ok := s.Mock(k, c)
	if !ok {
		return Answer{}, fault.New(ErrRefused, "effect.Sandbox", "%s %s has no mock", c.Kind, c.Name)
	}
	return Answer{Mode: Given, Outcome: o}, nil
}
