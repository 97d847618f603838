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
// ([EventID], [SnapshotID], …). The events of a job are numbered from 0 without
// gaps, whatever their type ([Stamp]); that number, and never an instant, is
// their order.
//
// # A run
//
// A [Spec] and a [Set] of sealed snapshots make the open ([Spec.Contents]). A
// [Machine] runs it: it calls the selected agent with the contents [InputContent]
// and [TransportContent], takes back [OutputContent] (see [ParseAgentOutput];
// the shell keeps it in the scope [OutputScope]), and concludes events, each
// with its stamp. Calls of the kind [KindMAC] are answered by [AnswerMAC], so
// that no key enters the record. What waits for approval is [Machine.Pending];
// it is moved by [InputVote] and [InputElapsed]. The last decision is the result
// [LogResult] with the reflective [Log]. Where that says that outputs were not
// kept, the shell erases the scope.
//
// # A replay
//
// [Replay] follows section 6 of the document over [Materials], of which [Archive]
// is one in memory that is filled from the ledger of the job. It folds the same
// events by the same state as the machine, and never calls anything; in
// reexecute [ReplayOptions.Again] may, with the calls that [Rerun.Call] makes. Who may
// replay, the audit of its steps and the halts are for the shell: the [Result]
// says what a halt binds to, and what approvals to force on must be about.
package job
