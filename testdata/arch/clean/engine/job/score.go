package job

import "math"

// Score weighs two shares.
func Score(a, b float64) float64 { return math.Floor(float64(a*3) + float64(b*2)) }
