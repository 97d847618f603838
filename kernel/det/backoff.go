package det

import (
	"encoding/binary"
	"math/big"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Backoff is the retry delay of the AOS document:
//
//	floor(BaseMS · Multiplier^attempt + jitter)
//	jitter = (h mod 100) / 100 · JitterMaxMS, if JitterEnabled
//
// The sum is rounded once. The document leaves h to a hash that differs from
// process to process; here it is the first eight bytes of the SHA-256 of
// run_id ‖ ":" ‖ attempt, big-endian. The arithmetic is exact, where doubles
// would lose a millisecond now and then.
type Backoff struct {
	BaseMS        int64
	Multiplier    string // decimal, such as "2.0"
	JitterEnabled bool
	JitterMaxMS   int64
}

const (
	maxAttempt    = 1000
	maxMultiplier = 32 // characters
)

// Delay returns the delay in milliseconds before a retry. Attempts count from 0.
func (b Backoff) Delay(runID string, attempt int) (int64, error) {
	const op = "det.Backoff.Delay"
	if b.BaseMS < 0 || b.JitterMaxMS < 0 {
		return 0, fault.New(ErrBackoff, op, "base %d ms and jitter %d ms must not be negative", b.BaseMS, b.JitterMaxMS)
	}
	if attempt < 0 || attempt > maxAttempt {
		return 0, fault.New(ErrBackoff, op, "attempt %d is not of 0 to %d", attempt, maxAttempt)
	}
	factor, err := parseDecimal(b.Multiplier)
	if err != nil {
		return 0, err
	}
	delay := new(big.Rat).SetInt64(b.BaseMS)
	delay.Mul(delay, power(factor, attempt))
	if b.JitterEnabled {
		bucket := int64(leading64(runID, attempt) % 100)
		jitter := big.NewRat(bucket, 100)
		delay.Add(delay, jitter.Mul(jitter, new(big.Rat).SetInt64(b.JitterMaxMS)))
	}
	return floor(op, delay)
}

// Schedule returns the delays before the first so many retries.
func (b Backoff) Schedule(runID string, retries int) ([]int64, error) {
	if retries < 0 || retries > maxAttempt {
		return nil, fault.New(ErrBackoff, "det.Backoff.Schedule", "%d retries are not of 0 to %d", retries, maxAttempt)
	}
	delays := make([]int64, 0, retries)
	for attempt := range retries {
		d, err := b.Delay(runID, attempt)
		if err != nil {
			return nil, err
		}
		delays = append(delays, d)
	}
	return delays, nil
}

// DelayUtils returns the delay in milliseconds of AOS's own utilities, to check
// what they recorded: 200 · 2^(attempt-1), up to a tenth more or less by the
// HMAC of run_id ‖ ":" ‖ attempt under run_id, then at most 10 s. Attempts
// count from 1.
func DelayUtils(runID string, attempt int) (int64, error) {
	const op = "det.DelayUtils"
	if attempt < 1 || attempt > maxAttempt {
		return 0, fault.New(ErrBackoff, op, "attempt %d is not of 1 to %d", attempt, maxAttempt)
	}
	d := canon.MAC([]byte(runID), preimage(runID, attempt))
	delay := new(big.Rat).SetInt64(200)
	delay.Mul(delay, power(big.NewRat(2, 1), attempt-1))
	delay.Mul(delay, tenth(binary.BigEndian.Uint32(d[:])))
	return floor(op, least(delay, 10_000))
}

// DelayContract returns the delay in milliseconds of AOS's error contract, to
// check what follows it: 100 · 2^attempt, at most 5 s, then up to a tenth more
// or less by the SHA-256 of seed ‖ ":" ‖ attempt. Attempts count from 0.
func DelayContract(seed string, attempt int) (int64, error) {
	const op = "det.DelayContract"
	if attempt < 0 || attempt > maxAttempt {
		return 0, fault.New(ErrBackoff, op, "attempt %d is not of 0 to %d", attempt, maxAttempt)
	}
	d := canon.SHA256(preimage(seed, attempt))
	delay := new(big.Rat).SetInt64(100)
	delay = least(delay.Mul(delay, power(big.NewRat(2, 1), attempt)), 5_000)
	return floor(op, delay.Mul(delay, tenth(binary.BigEndian.Uint32(d[:]))))
}

// tenth returns 1 + (2u-1)/10 for u = n / 2^32.
func tenth(n uint32) *big.Rat {
	const whole = 1 << 32
	return big.NewRat(9*whole+2*int64(n), 10*whole)
}

func preimage(id string, attempt int) []byte {
	return strconv.AppendInt(append([]byte(id), ':'), int64(attempt), 10)
}

func leading64(id string, attempt int) uint64 {
	d := canon.SHA256(preimage(id, attempt))
	return binary.BigEndian.Uint64(d[:])
}

func power(x *big.Rat, n int) *big.Rat {
	exponent := big.NewInt(int64(n))
	return new(big.Rat).SetFrac(
		new(big.Int).Exp(x.Num(), exponent, nil),
		new(big.Int).Exp(x.Denom(), exponent, nil))
}

func least(x *big.Rat, limit int64) *big.Rat {
	if y := new(big.Rat).SetInt64(limit); x.Cmp(y) > 0 {
		return y
	}
	return x
}

// floor rounds down what is not negative.
func floor(op string, x *big.Rat) (int64, error) {
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if !n.IsInt64() {
		return 0, fault.New(ErrBackoff, op, "the delay is more milliseconds than 64 bits hold; lower the attempts or the multiplier")
	}
	return n.Int64(), nil
}

// parseDecimal reads digits with at most one point, and nothing else that
// big.Rat would read, such as exponents, which grow without measure.
func parseDecimal(s string) (*big.Rat, error) {
	whole, fraction, point := strings.Cut(s, ".")
	if len(s) <= maxMultiplier && isDigits(whole) && (!point || isDigits(fraction)) {
		if x, ok := new(big.Rat).SetString(s); ok {
			return x, nil
		}
	}
	return nil, fault.New(ErrBackoff, "det.Backoff.Delay", "multiplier %q is no decimal such as 2 or 1.5", s)
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
