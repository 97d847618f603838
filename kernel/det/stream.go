package det

import (
	"encoding/binary"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Seed is the job_seed of a run, as it is recorded. All its derivations use
// the bytes of the text; "42" and "042" are different seeds.
type Seed string

// Stream returns the stream of that label, at its first draw.
func (s Seed) Stream(label string) *Stream {
	return &Stream{seed: s, label: label}
}

// RetryBit reports whether the last byte of the seed's SHA-256 is even. It is
// the portable form of MACE's rule for its one immediate retry, which reads
// hash(job_seed) % 2 == 0 and leaves the hash open.
func (s Seed) RetryBit() bool {
	d := canon.SHA256([]byte(s))
	return d[len(d)-1]&1 == 0
}

// Draw is one draw as it is recorded.
type Draw struct {
	Label string
	N     uint64 // counted from 0
	Value uint64
}

// Draw returns draw n of the stream of that label.
func (s Seed) Draw(label string, n uint64) Draw {
	var buf [128]byte
	msg := append(buf[:0], "rng/1:"...)
	msg = append(append(msg, label...), ':')
	msg = strconv.AppendUint(msg, n, 10)
	d := canon.MAC([]byte(s), msg)
	return Draw{Label: label, N: n, Value: binary.BigEndian.Uint64(d[:])}
}

// Verify refuses a recorded draw that is not of this seed with [ErrDraw].
func (s Seed) Verify(d Draw) error {
	if want := s.Draw(d.Label, d.N); want != d {
		return fault.New(ErrDraw, "det.Seed.Verify", "draw %d of stream %q is recorded as %d, and the seed gives %d", d.N, d.Label, d.Value, want.Value)
	}
	return nil
}

// Stream is a sequence of draws. It is not for concurrent use: give each
// consumer a label of its own.
type Stream struct {
	seed  Seed
	label string
	next  uint64
}

// Label returns the name of the stream.
func (s *Stream) Label() string { return s.label }

// Position returns how many draws were taken, which is the number of the next.
func (s *Stream) Position() uint64 { return s.next }

// Seek makes n the number of the next draw, as a resumed run needs it.
func (s *Stream) Seek(n uint64) { s.next = n }

// Draw takes the next draw. The methods below take one too, or several.
func (s *Stream) Draw() Draw {
	d := s.seed.Draw(s.label, s.next)
	s.next++
	return d
}

// Uint64 returns the next draw.
func (s *Stream) Uint64() uint64 { return s.Draw().Value }

// Intn returns a number of 0 to k-1, each as likely. It passes over draws that
// would favour some, so that it may take several; Position tells. Intn panics
// if k is 0.
func (s *Stream) Intn(k uint64) uint64 {
	if k == 0 {
		panic("det: Intn of 0")
	}
	// 2^64 mod k. The draws in this last, incomplete group are passed over.
	rest := -k % k
	for {
		if u := s.Uint64(); rest == 0 || u < -rest {
			return u % k
		}
	}
}

// Frac53 returns the numerator, over 2^53, of a number of 0 to 1, 1 excluded.
// A double holds the quotient exactly.
func (s *Stream) Frac53() uint64 { return s.Uint64() >> 11 }

// Shuffle permutes n things by calls of swap, each order as likely.
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(s.Intn(uint64(i)+1)))
	}
}
