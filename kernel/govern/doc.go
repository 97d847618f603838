// Package govern is who may decide, and what their decisions add up to.
//
// # Acts
//
// An [Actor] is a person or service with a key, a tenant and roles; a [Roster]
// lists them. What an actor decides is an [Act]: a signed statement that names
// the exact thing it is about, its [Matter]. The matter holds the ledger, the
// subject within it and a digest of all that was shown to the actor, such as
// the canonical arguments of a tool. An act is therefore good for one thing in
// one place, and its nonce makes it good once.
//
// [Roster.Admit] is the only way from bytes to an [Admitted] act, and nothing
// below takes anything else: what was not checked cannot be counted.
//
// # Decisions
//
// A [Ballot] counts acts about one matter against one or more quorums. Each
// actor counts once, in one role, with the last word they gave; the first
// state that is not [Open] is final. [Halts] is what stands still, why, and
// what must come together before it goes on; to clear a halt is a ballot too.
//
// Both are folds: they are computed again from the acts that a ledger holds,
// in ledger order, and come out the same. They hold no clock; that a time to
// vote is over is told to them, see [Ballot.Expire].
//
// # Values
//
// Everything here is immutable. A method that changes something returns the
// changed value, and after an error what it returns is the value as it was. A
// copy by assignment is a clone. Zero values are safe: the zero [Roster]
// admits nobody, the zero [Ballot] is never granted, and a halt in the zero
// [Halts] cannot be cleared.
package govern

// Names of the events that ledgers hold about decisions. What an act does in
// an engine has a name of that engine.
const (
	EventVote    = "govern.vote"    // data.act: an act on a ballot
	EventDecided = "govern.decided" // data: [Ballot.Value] of a ballot that is not open
	EventHalted  = "govern.halted"  // data: [Halt.Value]; data.act too if a person halted
	EventCleared = "govern.cleared" // data: [Halt.Value] of the halt that no longer stands
)
