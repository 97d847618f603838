package main

import (
	"runtime"
	"slices"
	"time"
)

// interleave calls every f once a round and returns what each gave, by f. The
// order turns with the rounds, so that noise hits all of them alike.
func interleave(rounds int, fs ...func() (float64, error)) ([][]float64, error) {
	out := make([][]float64, len(fs))
	for r := range rounds {
		for i := range fs {
			k := (i + r) % len(fs)
			v, err := fs[k]()
			if err != nil {
				return nil, err
			}
			out[k] = append(out[k], v)
		}
	}
	return out, nil
}

func median(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return s[n/2]
	default:
		return (s[n/2-1] + s[n/2]) / 2
	}
}

// ratio returns the median of the ratios of two lists, round by round.
func ratio(of, to []float64) float64 {
	list := make([]float64, len(of))
	for i := range of {
		list[i] = of[i] / to[i]
	}
	return median(list)
}

// oneCore runs f on one core.
func oneCore(f func() error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return f()
}

// rate returns a function that runs f and returns how many of n a second it
// does.
func rate(n int, f func() error) func() (float64, error) {
	return func() (float64, error) {
		began := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		return float64(n) / time.Since(began).Seconds(), nil
	}
}

// seconds returns a function that runs f and returns how long it takes.
func seconds(f func() error) func() (float64, error) {
	return func() (float64, error) {
		began := time.Now()
		err := f()
		return time.Since(began).Seconds(), err
	}
}
