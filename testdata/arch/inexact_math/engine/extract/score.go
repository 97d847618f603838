package extract

import (
	"math"
)

func f(x float64) (float64, uint64) {
	x = math.Floor(math.Abs(math.Trunc(math.RoundToEven(x))))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, math.MaxUint64
	}
	x = math.Sqrt(x)      // want "math.Sqrt in pure code: not an exact function"
	x = math.Pow(x, 2)    // want "math.Pow"
	x = math.FMA(x, x, x) // want "math.FMA"
	x = math.Round(x)     // want "math.Round "
	g := math.Exp         // want "math.Exp"
	return g(x), math.Float64bits(x)
}
