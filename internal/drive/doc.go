// Package drive is the boundary at run time. Whatever an agent does passes
// through it: the recording proxies, the engines' loop and the replays.
//
// # Session
//
// A [Session] is one run that is being written. [Boundary.Begin] takes a call
// and asks the session's sources how it is answered; [Exchange.End] records
// what came back. A call is in the ledger before its effect leaves, an outcome
// is durable before End returns, and so before a proxy gives its client the
// last byte. Only calls that may change something wait for their own entry to
// be durable; reads go out at once, because an outcome that is durable makes
// its call durable with it.
//
// # Crash order
//
// Chunks and entries of one append become durable together; a head never
// covers an entry that is not durable. The bytes of an answer that is still
// coming are staged in the spool folder, redacted already, before the client
// sees them. [Recover] closes the calls that a killed process left open as
// interrupted, with the staged bytes.
//
// # Run
//
// [Run] is the engines' loop: it folds what is recorded, appends the
// decisions that are missing, makes the calls of each step and applies their
// outcomes in ledger order. [Replay] is the same fold without a call.
package drive
