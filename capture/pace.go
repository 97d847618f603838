package capture

import (
	"math"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrPace means that a text is no pace. It is original, none, or how many
// times as fast as it was.
const ErrPace fault.Invalid = "capture.bad_pace"

// ParsePace reads how fast recorded answers are given: none is at once (0),
// original as they came (1), and a number so many times as fast.
func ParsePace(s string) (float64, error) {
	switch s {
	case "none":
		return 0, nil
	case "original":
		return 1, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, fault.New(ErrPace, "capture.ParsePace", "%q is no pace: give none, original, or how many times as fast, as in 10", s)
	}
	return f, nil
}
