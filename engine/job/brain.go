package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// BrainConstants are the constants of the brain state. They stand in the
// snapshot; the values in the comments are those that the document names, and
// what a constant is that a snapshot lacks ([Brain.Warnings]).
type BrainConstants struct {
	WorkingTTL          int64 // default_wm_ttl: 3 ticks
	ContextTTL          int64 // cwm_ttl: 10 ticks
	PromotionReferences int64 // 2
	PromotionWindow     int64 // 4 ticks
	ContextShare        int64 // cwm_token_divisor: 4, the context gets floor(token_budget/4)
	MaxAttempts         int64 // 3
	BytesPerToken       int64 // 4; the document counts tokens and does not say how

	AttentionDecay      Nano // a_decay: 0.05
	AttentionGain       Nano // a_gain: 0.25
	ExploreDecay        Nano // e_decay: 0.03
	ExploreGain         Nano // e_gain: 0.15
	RewardCouncil       Nano // 0.8
	RewardUser          Nano // 0.2
	PriorityUser        Nano // user_priority_weight: 0.8
	PrioritySystem      Nano // system_priority_weight: 0.2
	ConfidenceThreshold Nano // 0.7
	PreemptMargin       Nano // 0.2
	PreferTrust         Nano // prefer_high_apt_gain: 0.6
	AllowExplore        Nano // allow_explore_bias: 0.2
	InitialGain         Nano // default_attention_gain: 0.5, of a state that lacks it

	// CouncilOverrides drops the word of a user who contradicts the council.
	// The document says that the council overrides, and gives a formula that
	// adds the two; the formula has the vectors, so that false is the default.
	CouncilOverrides bool // council_overrides_user
}

// StandardBrainConstants returns the values that the document names.
func StandardBrainConstants() BrainConstants {
	return BrainConstants{
		WorkingTTL: 3, ContextTTL: 10, PromotionReferences: 2, PromotionWindow: 4, ContextShare: 4, MaxAttempts: 3, BytesPerToken: 4,
		AttentionDecay: 50_000_000, AttentionGain: 250_000_000, ExploreDecay: 30_000_000, ExploreGain: 150_000_000,
		RewardCouncil: 800_000_000, RewardUser: 200_000_000, PriorityUser: 800_000_000, PrioritySystem: 200_000_000,
		ConfidenceThreshold: 700_000_000, PreemptMargin: 200_000_000, PreferTrust: 600_000_000, AllowExplore: 200_000_000,
		InitialGain: 500_000_000,
	}
}

// brainConstant is one constant: a count, of at least 1, or a number of 0 to 1.
type brainConstant struct {
	name  string
	count *int64
	unit  *Nano
}

// table lists the constants by name, in order.
func (c *BrainConstants) table() []brainConstant {
	return []brainConstant{
		{"a_decay", nil, &c.AttentionDecay},
		{"a_gain", nil, &c.AttentionGain},
		{"allow_explore_bias", nil, &c.AllowExplore},
		{"bytes_per_token", &c.BytesPerToken, nil},
		{"confidence_threshold", nil, &c.ConfidenceThreshold},
		{"cwm_token_divisor", &c.ContextShare, nil},
		{"cwm_ttl", &c.ContextTTL, nil},
		{"default_attention_gain", nil, &c.InitialGain},
		{"default_wm_ttl", &c.WorkingTTL, nil},
		{"e_decay", nil, &c.ExploreDecay},
		{"e_gain", nil, &c.ExploreGain},
		{"max_attempts", &c.MaxAttempts, nil},
		{"preempt_margin", nil, &c.PreemptMargin},
		{"prefer_high_apt_gain", nil, &c.PreferTrust},
		{"promotion_references", &c.PromotionReferences, nil},
		{"promotion_window", &c.PromotionWindow, nil},
		{"reward_council_weight", nil, &c.RewardCouncil},
		{"reward_user_weight", nil, &c.RewardUser},
		{"system_priority_weight", nil, &c.PrioritySystem},
		{"user_priority_weight", nil, &c.PriorityUser},
	}
}

const overridesName = "council_overrides_user"

// Brain is what a brain state snapshot holds: the constants, and the state
// that a job begins with.
type Brain struct {
	Constants BrainConstants
	State     BrainState
	// Warnings names the constants that the snapshot lacked, in order. They
	// are for operations: the default was taken, which does not make the run
	// less determined, but a snapshot must contain its constants.
	Warnings []string
}

// Value returns the brain as its snapshot holds it, with every constant.
func (b Brain) Value() canon.Value {
	members := []canon.Member{canon.M(overridesName, canon.Bool(b.Constants.CouncilOverrides))}
	for _, c := range b.Constants.table() {
		if c.count != nil {
			members = append(members, canon.M(c.name, canon.Int(*c.count)))
		} else {
			members = append(members, canon.M(c.name, c.unit.Value()))
		}
	}
	return canon.Object(canon.M("constants", canon.Object(members...)), canon.M("state", b.State.Value()))
}

// ParseBrain reads what [Brain.Value] writes. A constant may be missing: then
// it is the default, and named in Warnings. It refuses everything else with
// [ErrBrain].
func ParseBrain(v canon.Value) (Brain, error) {
	const op = "job.ParseBrain"
	b := Brain{Constants: StandardBrainConstants()}
	table := b.Constants.table()
	names := []string{overridesName + "?"}
	for _, c := range table {
		names = append(names, c.name+"?")
	}
	r := newRecord(v, ErrBrain, op, "snapshot", "constants", "state")
	k := r.sub("constants", names...)
	for _, c := range table {
		switch {
		case !k.Value.Has(c.name):
			b.Warnings = append(b.Warnings, c.name)
		case c.count != nil:
			if *c.count = k.Count(c.name, maxTicks); *c.count < 1 {
				k.Fail("constants.%s is 0", c.name)
			}
		default:
			*c.unit = k.unit(c.name)
		}
	}
	if k.Value.Has(overridesName) {
		b.Constants.CouncilOverrides = k.Bool(overridesName)
	} else {
		b.Warnings = append(b.Warnings, overridesName)
	}
	r.Take("constants", k.Err)
	if r.Err != nil {
		return Brain{}, r.Err
	}
	state, lacksGain, err := parseBrainState(v.Get("state"), b.Constants.InitialGain)
	if err != nil {
		return Brain{}, err
	}
	if lacksGain {
		b.Warnings = append(b.Warnings, "attention_gain")
	}
	slices.Sort(b.Warnings)
	b.State = state
	return b, nil
}

// Hints is what the router asks the brain state for.
type Hints struct {
	MaxDepth        int64 // max_depth_allowed
	PreferHighTrust bool  // prefer_high_APT
	AllowExplore    bool  // allow_explore
}

// Hints answers the query of the router.
func (b Brain) Hints() Hints {
	s := b.State
	return Hints{
		MaxDepth:        min(s.Budget.MaxDepth, s.Attend.Gain.Of(s.Budget.MaxDepth)),
		PreferHighTrust: s.Attend.Gain >= b.Constants.PreferTrust,
		AllowExplore:    s.Attend.Explore >= b.Constants.AllowExplore,
	}
}

// Value returns the hints as answers and the log hold them.
func (h Hints) Value() canon.Value {
	return canon.Object(
		canon.M("allow_explore", canon.Bool(h.AllowExplore)),
		canon.M("max_depth_allowed", canon.Int(h.MaxDepth)),
		canon.M("prefer_high_APT", canon.Bool(h.PreferHighTrust)),
	)
}

// Mind returns what the router reads of the brain.
func (b Brain) Mind() Mind {
	s := b.State
	m := Mind{AttentionGain: s.Attend.Gain, ExploreBias: s.Attend.Explore, TokenBudget: s.Budget.Tokens, MaxDepth: s.Budget.MaxDepth}
	for _, g := range s.Goals {
		if g.Status == GoalActive {
			m.Goals = append(m.Goals, OpenGoal{Type: string(g.Type), Priority: g.Priority})
		}
	}
	return m
}
