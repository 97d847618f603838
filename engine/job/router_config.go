package job

import (
	"slices"
	"strings"
	"unicode"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrRouterConfig means that a value is no router configuration: a constant is
// missing or not of its form. Mend the snapshot.
const ErrRouterConfig fault.Invalid = "job.bad_router_config"

// What may break a tie of scores. The id is unique and always the last.
const (
	TieByTrust = "apt_desc"
	TieByID    = "node_id_asc"
)

// RouteWeights are the weights of a final score.
type RouteWeights struct {
	Availability, Goal, Explore Nano
}

// Intent says which words in a query ask for an action.
type Intent struct {
	Action string
	Terms  []string // lower case, sorted
}

// Access says who may have an action done.
type Access struct {
	Action string
	Roles  []string // one of them is enough; sorted
}

// RouterConfig is the content of the router snapshot: every constant of a
// routing decision.
type RouterConfig struct {
	Weights         RouteWeights
	MinAvailability Nano
	MinScore        Nano
	MinDepthGain    Nano // attention below which the depth is 0
	TopN            int64
	TieBreak        []string
	TokenBase       Nano // the share of the token budget without attention
	TokenGain       Nano // what attention adds to it
	TokenFloor      int64
	Fallback        string   // the node that serves when nobody is selectable
	Intents         []Intent // in the order in which they are tried
	DefaultAction   string   // of a query that no intent fits
	Private         []string // actions that the privacy policy keeps closed; sorted
	HighRisk        []string // actions that need an ActionRequest; sorted
	Access          []Access // who may do what; an action that is not here, anybody; by action
}

// StandardRouter returns the constants of the document, for who makes a
// snapshot. Nothing here falls back on them.
func StandardRouter() RouterConfig {
	return RouterConfig{
		Weights:         RouteWeights{Availability: One / 10 * 7, Goal: One / 10 * 2, Explore: One / 10},
		MinAvailability: One / 100 * 15, MinScore: One / 10 * 2, MinDepthGain: One / 10 * 2,
		TopN: 10, TieBreak: []string{TieByTrust, TieByID},
		TokenBase: One / 2, TokenGain: One / 2, TokenFloor: 128,
		Fallback: "agent:generic_agent_v1", DefaultAction: "answer",
	}
}

// Action returns the action that a query asks for: that of the first intent of
// which the query holds a term as a word.
func (c *RouterConfig) Action(query string) string {
	said := queryWords(query)
	for _, in := range c.Intents {
		if slices.ContainsFunc(said, func(w string) bool { _, ok := slices.BinarySearch(in.Terms, w); return ok }) {
			return in.Action
		}
	}
	return c.DefaultAction
}

// queryWords returns the words of a text in lower case: its runs of letters and
// digits.
func queryWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// grants reports whether one of the roles may have an action done.
func (c *RouterConfig) grants(action string, roles []string) bool {
	i := slices.IndexFunc(c.Access, func(a Access) bool { return a.Action == action })
	return i < 0 || slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(c.Access[i].Roles, r) })
}

// Value returns c as a snapshot holds it.
func (c *RouterConfig) Value() canon.Value {
	intents := make([]canon.Value, len(c.Intents))
	for i, in := range c.Intents {
		intents[i] = canon.Object(canon.M("action", canon.String(in.Action)), canon.M("terms", canon.Strings(in.Terms)))
	}
	access := make([]canon.Value, len(c.Access))
	for i, a := range c.Access {
		access[i] = canon.Object(canon.M("action", canon.String(a.Action)), canon.M("roles", canon.Strings(a.Roles)))
	}
	return canon.Object(
		canon.M("access", canon.Array(access...)),
		canon.M("default_action", canon.String(c.DefaultAction)),
		canon.M("fallback_agent", canon.Text(c.Fallback).OrNull()),
		canon.M("high_risk_actions", canon.Strings(c.HighRisk)),
		canon.M("intents", canon.Array(intents...)),
		canon.M("min_availability", c.MinAvailability.Value()),
		canon.M("min_depth_gain", c.MinDepthGain.Value()),
		canon.M("min_score", c.MinScore.Value()),
		canon.M("min_token_floor", canon.Int(c.TokenFloor)),
		canon.M("private_actions", canon.Strings(c.Private)),
		canon.M("tie_break", canon.Strings(c.TieBreak)),
		canon.M("token_share_base", c.TokenBase.Value()),
		canon.M("token_share_gain", c.TokenGain.Value()),
		canon.M("top_n", canon.Int(c.TopN)),
		canon.M("weights", canon.Object(
			canon.M("availability", c.Weights.Availability.Value()),
			canon.M("explore", c.Weights.Explore.Value()),
			canon.M("goal", c.Weights.Goal.Value()))))
}

// ParseRouterConfig reads what [RouterConfig.Value] writes and nothing else. It
// refuses with [ErrRouterConfig].
func ParseRouterConfig(v canon.Value) (RouterConfig, error) {
	const op = "job.ParseRouterConfig"
	r := newRecord(v, ErrRouterConfig, op, "the router configuration", strings.Fields(`access default_action fallback_agent
		high_risk_actions intents min_availability min_depth_gain min_score min_token_floor private_actions tie_break
		token_share_base token_share_gain top_n weights`)...)
	w := r.sub("weights", "availability", "explore", "goal")
	c := RouterConfig{
		Weights:         RouteWeights{Availability: w.unit("availability"), Goal: w.unit("goal"), Explore: w.unit("explore")},
		MinAvailability: r.unit("min_availability"), MinScore: r.unit("min_score"), MinDepthGain: r.unit("min_depth_gain"),
		TopN: r.Count("top_n", maxList), TieBreak: r.names("tie_break"),
		TokenBase: r.unit("token_share_base"), TokenGain: r.unit("token_share_gain"), TokenFloor: r.Count("min_token_floor", maxCount),
		Fallback: r.TextOrNull("fallback_agent", canon.MaxName), DefaultAction: r.Name("default_action"),
		Private: r.set("private_actions"), HighRisk: r.set("high_risk_actions"),
	}
	r.Take("weights", w.Err)
	if c.TopN == 0 {
		r.Fail("top_n is 0: nobody would ever be chosen")
	}
	if !slices.Equal(c.TieBreak, []string{TieByID}) && !slices.Equal(c.TieBreak, []string{TieByTrust, TieByID}) {
		r.Fail("tie_break is neither [%s, %s] nor [%s]", TieByTrust, TieByID, TieByID)
	}
	for _, e := range r.list("intents") {
		f := newRecord(e, ErrRouterConfig, op, "an intent", "action", "terms")
		in := Intent{Action: f.Name("action"), Terms: f.set("terms")}
		for _, term := range in.Terms {
			if !slices.Equal(queryWords(term), []string{term}) {
				f.Fail("the term %q is no single word in lower case, and would never be found", term)
			}
		}
		r.Take("intents", f.Err)
		c.Intents = append(c.Intents, in)
	}
	for _, e := range r.list("access") {
		f := newRecord(e, ErrRouterConfig, op, "an access rule", "action", "roles")
		a := Access{Action: f.Name("action"), Roles: f.set("roles")}
		r.Take("access", f.Err)
		if n := len(c.Access); n > 0 && c.Access[n-1].Action >= a.Action {
			r.Fail("the access rules are not sorted, or %q is there twice", a.Action)
		}
		c.Access = append(c.Access, a)
	}
	if r.Err != nil {
		return RouterConfig{}, r.Err
	}
	return c, nil
}
