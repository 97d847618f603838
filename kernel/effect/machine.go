package effect

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Machine is an engine at work on one run. It owns its state and changes it
// only in Apply. Given the same inputs in the same order it asks for the same
// calls and gives the same decisions.
type Machine interface {
	// Next says what the machine wants now. It changes nothing, and is asked
	// only when all decisions of the last Apply are in the ledger.
	Next() Step

	// Apply takes the next input in ledger order and returns what the machine
	// concludes from it. The error is for an input that the machine cannot
	// take; the run then stops.
	Apply(Input) ([]ledger.Decision, error)

	// Clone returns a machine in the same state that goes its own way.
	Clone() Machine
}

// Step is what a machine wants: calls, an input from outside, or nothing any
// more. The calls of one step may run at the same time.
type Step struct {
	Calls []Call
	Wait  string // what the machine waits for, for people to read
	Done  bool
}

// Input is what a machine takes: the open, the outcome of one of its calls,
// or an entry from outside (a body with the member from).
type Input struct {
	Kind ledger.Kind // open, outcome, approval, event, …
	N    int64       // entry number, for messages only: it must enter no decision
	Name string      // of an entry from outside
	From string      // who sent it
	Data canon.Value

	// Of an outcome: the call that it answers, and what came back with the
	// contents loaded.
	Call    *Call
	Key     Key
	Outcome *Outcome

	Contents []ledger.Content // of the open and of an entry from outside
}
