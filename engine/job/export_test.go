package job

// The formulas of score.go, for their tests.
var (
	Drift  = drift
	Blend  = blend
	Scale  = scale
	Route  = route
	Affine = affine
	Ratio  = ratio
)
