package job

import (
	"time"
)

func f(a, b float64, n int) float64 {
	const half = 1.0 / 2
	c := a + b // want "float arithmetic in pure code outside score.go"
	c = a - b  // want "float arithmetic"
	c = a * b  // want "float arithmetic"
	c = a / b  // want "float arithmetic"
	c += a     // want "float arithmetic"
	c -= a     // want "float arithmetic"
	c *= a     // want "float arithmetic"
	c /= a     // want "float arithmetic"
	c++        // want "float arithmetic"
	n = n*2 + n/2
	if a > b || -a == half {
		return max(a, c)
	}
	return float64(n)
}

func g[F ~float32 | ~float64](a F) F { return a + a } // want "float arithmetic"

func (s span) seconds() float64 { return time.Duration(s).Seconds() } // want "float arithmetic in pure code"

type span time.Duration

func h(a complex128) complex128 { return a * a } // want "float arithmetic"
