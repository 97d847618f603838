// Package effect is the one boundary between what an agent decides and
// everything else.
//
// What crosses it is a [Call] and comes back as an [Outcome]. Whether a call
// is made, answered from a record, priced, answered by a mock or refused is
// decided by a [Source]; the five are [Live], [Journal], [PriceOnly],
// [Sandbox] and [Refuse]. A source is pure: it says how a call is answered,
// and the shell (internal/drive) does it and records both.
//
// # The journal
//
// A [Journal] is the calls and outcomes of a recorded ledger, found again by
// [Key]: the path of the enclosing calls, the match key and the occurrence.
// The match key is a digest of the call after named normalisers; two calls
// with one key under one path are told apart by their order. A call that the
// journal does not hold is never answered by another, and never made.
//
// # Machines
//
// An engine is a [Machine]: it names the calls it wants and takes inputs, and
// does nothing else. The loop that runs it is internal/drive.Run.
package effect
