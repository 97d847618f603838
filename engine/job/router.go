package job

// RouteWeights are the weights of a final score.
type RouteWeights struct {
	Availability, Goal, Explore Nano
}
