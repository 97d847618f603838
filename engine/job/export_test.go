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

// Order sorts candidates, given as they are with their trust, as the router does.
func (c *RouterConfig) Order(a, b Candidate) int { return c.order(a, b) }

// WithTrust returns c with the trust of its node.
func (c Candidate) WithTrust(apt Nano) Candidate { c.apt = apt; return c }

// Depth returns the depth of a decision.
func (c *RouterConfig) Depth(m *Mind) int64 { return c.depth(m) }

// Tokens returns the token budget of a decision.
func (c *RouterConfig) Tokens(m *Mind) int64 { return c.tokens(m) }

// FullEpisodes returns a store that has no room.
func FullEpisodes() Episodes { return Episodes{rows: make([]Episode, maxEpisodes)} }
