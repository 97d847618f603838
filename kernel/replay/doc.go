// Package replay is the one report: what verify, replay, simulate and diff
// found, with the verb, the mode and the authority in its first line.
//
// Two words are never confused. Verify says what happened under the recorded
// runtime. Simulate says what would happen under another.
//
// A difference between a record and what was computed again is a
// [Divergence]: something is missing, extra or different. It is a result, not
// an error; to be unable to tell is an error.
package replay
