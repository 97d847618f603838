package assembly

type number float64

func score(a, b, c float64) float64 {
	x := float64(a*b) + c
	x += float64((a * b))
	x = a*b + c          // want "write float64"
	x = float64(a*b + c) // want "write float64"
	x = float64(float64(a*b) * c)
	x = float64(number(a)*2) - 1
	x = float64(number(number(a) * 2))   // want "write float64"
	x = float64(float32(float32(a) * 2)) // want "write float64"
	x = identity(a * b)                  // want "write float64"
	x *= c                               // want "may be fused"
	x = x / c
	return x
}

func identity(x float64) float64 { return x }
