// Package trajectories runs governed agents over a store: it is what stands
// between the pure engine of trajectories and files, keys, programs and the
// network.
//
// A [Task] is what a person writes, in YAML. [Task.Charter] makes of it what
// the engine decides by, with writs that the user's operator key issues. A
// [Runner] opens, resumes and branches runs, and takes to them what people
// say: approvals, revocations, halts, compensations. Such an act is signed
// here, and tried on a copy of the engine first: what would not count is an
// error for who said it and never recorded.
//
// # Calls
//
// The engine names a transport, and the caller makes the call by package
// live. Values of secrets come from the environment by name, when the call is
// made, and never enter the ledger; where an answer repeats one it is replaced
// before it is stored, and so are members whose names say that they are
// secret.
//
// # Delegates
//
// A delegate is a run of its own in the same store. It is found by the place
// of the call that it answers, so that a process that was killed goes on with
// it instead of beginning another one.
package trajectories
