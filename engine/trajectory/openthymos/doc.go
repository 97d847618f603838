// Package openthymos reads and verifies ledgers that OpenThymos (v0.8) made.
//
// Such a ledger is a list of entries {id, trajectory_id, parent, seq, kind,
// payload}. An entry's id is BLAKE3 over its payload alone; parent, seq, kind
// and the place of the entry are covered by nothing but what the next signed
// commit says of them. [Verify] therefore gives two verdicts:
//
//	compat  what OpenThymos itself says, in its words, holes included
//	strict  what may be believed
//
// # What strict adds
//
// The bytes that are stored are hashed, not what a program makes of them;
// members that the format does not have, and names that stand twice, are
// refused. Kind must be the type of the payload; a commit's id is computed
// again, and its body must name the entry's seq, trajectory and parent; a root
// or a branch stands at the beginning only. What was retracted is neither
// replaced nor shown as alive. A branch begins with the world of its source.
// An expected head or an anchor finds what was cut off or appended.
//
// What is covered by no signature, no anchor and no expected head could have
// been exchanged by whoever holds the file. Strict cannot find that; it counts
// those entries and says so ([Verdict.Remarks]).
//
// Verification is a function of the entries: it calls no model, no tool and no
// policy.
package openthymos
