// Package det derives from a recorded seed what a program would otherwise draw:
// random numbers, identifiers, delays and instants. The same seed gives the
// same values on every machine and in every version, so a replay draws what
// the run drew.
//
// # Streams
//
// A [Seed] has any number of named streams. Each name counts its own draws, so
// that a new consumer of randomness never shifts an old one. Draw n of a stream
// is HMAC-SHA256 under the seed over "rng/1:" ‖ label ‖ ":" ‖ n, read as one
// big-endian integer of 64 bits. Any draw can be recomputed alone from (label,
// n), which is what a recorded [Draw] holds.
//
// # Identifiers, delays, instants
//
// [ID] and [Seed.ID] are the formulas by which the source documents name
// things. A [Backoff] is exact: its arithmetic is rational, and it rounds once.
// An [Instant] is a recorded time plus derived offsets, in whole nanoseconds;
// nothing here reads a clock.
package det

import "github.com/reprise-dev/reprise/kernel/fault"

// The codes of this package.
const (
	// ErrBackoff means that a backoff policy cannot be computed: a negative
	// or oversized number, or a multiplier that is no decimal. Mend the policy.
	ErrBackoff fault.Invalid = "det.backoff"

	// ErrInstant means that a text is no RFC 3339 instant, or that a time is
	// outside the years 1678 to 2261. Mend the record.
	ErrInstant fault.Invalid = "det.instant"

	// ErrDraw means that a recorded draw is not what the seed gives. The
	// record or the seed is not the one of the run.
	ErrDraw fault.Diverged = "det.draw"
)
