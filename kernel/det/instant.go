package det

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Instant is a recorded point in time, in nanoseconds since 1970 UTC.
type Instant int64

// ParseInstant reads RFC 3339 with any offset.
func ParseInstant(s string) (Instant, error) {
	// In a location given, for Parse would look up the local one.
	t, err := time.ParseInLocation(time.RFC3339Nano, s, time.UTC)
	if err != nil {
		return 0, fault.Wrap(ErrInstant, "det.ParseInstant", err, "%q is no RFC 3339 instant", s)
	}
	// UnixNano is undefined beyond what 64 bits of nanoseconds hold.
	if y := t.UTC().Year(); y < 1678 || y > 2261 {
		return 0, fault.New(ErrInstant, "det.ParseInstant", "%q is outside the years 1678 to 2261", s)
	}
	return Instant(t.UnixNano()), nil
}

// String returns RFC 3339 in UTC with as many decimals as are needed.
func (i Instant) String() string { return i.Time().Format(time.RFC3339Nano) }

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)).UTC() }

// Add returns the instant d later. What 64 bits do not hold is refused.
func (i Instant) Add(d time.Duration) (Instant, error) {
	n := int64(d)
	if n > 0 && int64(i) > math.MaxInt64-n || n < 0 && int64(i) < math.MinInt64-n {
		return 0, fault.New(ErrInstant, "det.Instant.Add", "%s and %s are beyond the year 2262", i, d)
	}
	return i + Instant(n), nil
}

// Sub returns how much later i is than j. What 64 bits do not hold is refused.
func (i Instant) Sub(j Instant) (time.Duration, error) {
	d := i - j
	if (i >= j) != (d >= 0) {
		return 0, fault.New(ErrInstant, "det.Instant.Sub", "%s and %s are too far apart", i, j)
	}
	return time.Duration(d), nil
}

// Epoch is the base of MACE's seeded timestamps: 2025-01-01T00:00:00Z.
const Epoch Instant = 1735689600 * Instant(time.Second)

// spread is over how many seconds seeded instants are spread: ten years.
const spread = 315_360_000

// Instant returns the instant that belongs to a counter: base plus a whole
// number of seconds below ten years. It does not grow with the counter; the
// order of events is their sequence index, never their instant.
func (s Seed) Instant(base Instant, counter uint64) (Instant, error) {
	var buf [20]byte
	d := canon.MAC([]byte(s), strconv.AppendUint(buf[:0], counter, 10))
	seconds := binary.BigEndian.Uint32(d[:]) % spread
	return base.Add(time.Duration(seconds) * time.Second)
}
