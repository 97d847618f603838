package job

// The float arithmetic of the engine, all of it. The document writes its
// formulas over doubles, and its vectors hold to that; every function here takes
// Nanos, computes in doubles in the order in which the formula is written, and
// is rounded once, at its end, by quantise. Nothing but Nanos leaves the file.

// double returns the double next to n: the one that reading its nine decimals
// gives, since a quotient of two exact doubles is rounded correctly.
func double(n Nano) float64 { return float64(n) / float64(One) }

// quantise rounds a result as the serializer prints it, half to even. A result
// beyond [MaxNano] is cut there; a score is clamped to [0, 1] anyway.
func quantise(f float64) Nano {
	if n, ok := nearest(f); ok {
		return n
	}
	if f < 0 {
		return -MaxNano
	}
	return MaxNano // of NaN too, which no sum or product of Nanos is
}

// drift returns clamp(x·(1-decay) + input·gain): how trust (APT) and attention
// move. For a failure the input is one and the gain negative.
func drift(x, decay, input, gain Nano) Nano {
	kept := float64(double(x) * (1 - double(decay)))
	return quantise(kept + float64(double(input)*double(gain))).clamp()
}

// blend returns clamp(a·x + b·y): the reward and the priority of a goal.
func blend(a, x, b, y Nano) Nano {
	return quantise(float64(double(a)*double(x)) + float64(double(b)*double(y))).clamp()
}

// scale returns clamp(x·a·b): availability as trust, status and dependencies
// make it.
func scale(x, a, b Nano) Nano {
	return quantise(float64(float64(double(x)*double(a)) * double(b))).clamp()
}

// route returns clamp(w.Availability·avail + w.Goal·goal +
// w.Explore·(bias·(1-avail))): the final score of a candidate.
func route(w RouteWeights, avail, goal, bias Nano) Nano {
	explore := float64(double(bias) * (1 - double(avail)))
	raw := float64(double(w.Availability)*double(avail)) + float64(double(w.Goal)*double(goal))
	return quantise(raw + float64(double(w.Explore)*explore)).clamp()
}

// affine returns base + slope·x, not clamped: the share of a token budget.
func affine(base, slope, x Nano) Nano {
	return quantise(double(base) + float64(double(slope)*double(x)))
}

// ratio returns part/whole: the score of a memory. A whole of zero counts as
// one.
func ratio(part, whole int64) Nano {
	return quantise(float64(part) / float64(max(whole, 1)))
}
