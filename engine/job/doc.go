// Package job is seeded runs over named snapshots: an agent job of which every
// decision follows from its seed, its input, five signed snapshots and the
// ordered events, so that it can be run again bit for bit.
//
// # Numbers
//
// Whatever decides is a [Nano], a number of nine decimals. It is rounded in
// score.go, once for each formula, and compared exactly afterwards: two scores
// are equal or they are not, and a tie is broken by a total order. Snapshots,
// the reflective log and diffs are written in the profile canon.MACEFixed9,
// which prints a Nano digit for digit.
//
// # Constants
//
// The constants of the formulas come from snapshots. None stands in a formula,
// and one that a snapshot lacks is an error, so that a replay computes with
// what the run had. Those of the brain state have defaults in the document:
// they are taken, and [Brain] names them in a warning.
//
// # Names and order
//
// Events, snapshots and memories are named by the formulas of the document
// ([EventID], [SnapshotID], …). A [Sequence] numbers the events of a job; that
// number, and never an instant, is their order.
package job
