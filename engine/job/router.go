package job

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	// ErrNoSnapshot means that the router was asked without one of the snapshots
	// that it decides from. Give it all three.
	ErrNoSnapshot fault.NotFound = "ROUTER_NO_SNAPSHOT"
	// ErrNoMatch means that no candidate may and can serve the query, the
	// fallback neither. Register an agent that can, or bring one back.
	ErrNoMatch fault.NotFound = "ROUTER_NO_MATCH"
	// ErrPrivacy means that a query, or something that is to be kept, touches
	// what the privacy policy keeps closed. Leave the personal data out, or ask
	// for consent.
	ErrPrivacy fault.Denied = "PRIVACY_BLOCKED"
	// ErrPermission means that none of the roles of who asks may have this done.
	// Ask somebody who has one.
	ErrPermission fault.Denied = "PERMISSION_DENIED"
	// ErrRepairLimit means that so many agents have failed at the job that it is
	// given up. Look at the failures before it is started again.
	ErrRepairLimit fault.Unavailable = "REPAIR_LIMIT_EXCEEDED"
	// ErrRequest means that a value is no request to the router. Mend who asks.
	ErrRequest fault.Invalid = "job.bad_route_request"
)

// Reasons that a routing decision gives for a candidate.
const (
	ReasonSelected     = "selected"
	ReasonSelectable   = "selectable"
	ReasonUnknown      = "unknown_node"
	ReasonDropped      = "dropped"             // it has failed in this job
	ReasonForbidden    = "forbidden_action"    // its policy forbids the action, or does not list it
	ReasonPrefilter    = "prefilter"           // too many candidates: those trusted least are cut
	ReasonStatus       = "status"              // offline or quarantined
	ReasonAvailability = "low_availability"    // below the least
	ReasonScore        = "low_score"           // below the least
	ReasonFallback     = "fallback_generic"    // nobody was selectable
	ReasonPrivate      = "private_intent"      // the query is of a private kind
	ReasonPII          = "pii_detected"        // the query holds personal data
	ReasonRole         = "role_denied"         // nobody of that role may have it done
	ReasonNoFallback   = "fallback_not_usable" // it may not or cannot serve either
)

// Mind is what the router reads of the brain state.
type Mind struct {
	Goals         []OpenGoal // the active ones
	AttentionGain Nano
	ExploreBias   Nano
	TokenBudget   int64
	MaxDepth      int64 // max_depth_allowed
}

// OpenGoal is an active goal.
type OpenGoal struct {
	Type     string // an action that serves it: answer, clarify, save, verify, plan
	Priority Nano
}

// RouteRequest is what the router is asked: the router_input_snapshot of an
// iteration.
type RouteRequest struct {
	JobID      string
	JobSeed    det.Seed
	Iteration  int64
	Query      string
	Roles      []string // of who asks, sorted
	PII        bool     // the detector found personal data that nobody consented to
	Candidates []string // sorted; none: the agents that may serve the query
	Dropped    []string // sorted: who has failed in this job
	Attempts   int64    // that are left, this one included
	SelfRepID  string   // snapshot ids
	BrainID    string
	RouterID   string
	TraceID    string
}

// Drop returns the request that follows the failure of an agent: without it,
// and with an attempt less. It refuses with [ErrRepairLimit] when none is left.
func (q RouteRequest) Drop(node string) (RouteRequest, error) {
	const op = "job.RouteRequest.Drop"
	if q.Attempts <= 1 {
		return q, fault.New(ErrRepairLimit, op, "%s has failed, and no attempt is left", node)
	}
	i, found := slices.BinarySearch(q.Dropped, node)
	if found || node == "" {
		return q, fault.New(ErrRequest, op, "%q has failed before, or is no node", node)
	}
	q.Dropped = slices.Insert(slices.Clone(q.Dropped), i, node)
	q.Attempts--
	q.Iteration++
	return q, nil
}

// Value returns q as the iteration trace holds it.
func (q RouteRequest) Value() canon.Value {
	return canon.Object(
		canon.M("attempts_left", canon.Int(q.Attempts)),
		canon.M("brainstate_snapshot_id", canon.String(q.BrainID)),
		canon.M("candidate_list", canon.Strings(q.Candidates)),
		canon.M("dropped", canon.Strings(q.Dropped)),
		canon.M("iteration", canon.Int(q.Iteration)),
		canon.M("job_id", canon.String(q.JobID)),
		canon.M("job_seed", canon.String(string(q.JobSeed))),
		canon.M("pii", canon.Bool(q.PII)),
		canon.M("query_text", canon.String(q.Query)),
		canon.M("roles", canon.Strings(q.Roles)),
		canon.M("router_snapshot_id", canon.String(q.RouterID)),
		canon.M("selfrep_snapshot_id", canon.String(q.SelfRepID)),
		canon.M("trace_id", canon.String(q.TraceID)))
}

// ParseRouteRequest reads what [RouteRequest.Value] writes and nothing else. It
// refuses with [ErrRequest].
func ParseRouteRequest(v canon.Value) (RouteRequest, error) {
	r := newRecord(v, ErrRequest, "job.ParseRouteRequest", "the request", strings.Fields(`attempts_left brainstate_snapshot_id
		candidate_list dropped iteration job_id job_seed pii query_text roles router_snapshot_id selfrep_snapshot_id trace_id`)...)
	q := RouteRequest{
		JobID: r.Name("job_id"), JobSeed: det.Seed(r.Name("job_seed")), Iteration: r.Count("iteration", maxCount),
		Query: r.Text("query_text", maxQuery), Roles: r.set("roles"), PII: r.Bool("pii"),
		Candidates: r.set("candidate_list"), Dropped: r.set("dropped"), Attempts: r.Count("attempts_left", maxCount),
		SelfRepID: r.digest("selfrep_snapshot_id"), BrainID: r.digest("brainstate_snapshot_id"), RouterID: r.digest("router_snapshot_id"),
		TraceID: r.Name("trace_id"),
	}
	if q.Attempts == 0 {
		r.Fail("no attempt is left")
	}
	if r.Err != nil {
		return RouteRequest{}, r.Err
	}
	return q, nil
}

// RouteInput is all that a routing decision follows from.
type RouteInput struct {
	Config  *RouterConfig // nil: there is no such snapshot
	SelfRep *SelfRep
	Mind    *Mind
	Request RouteRequest
}

// Candidate is a candidate with its scores.
type Candidate struct {
	Node         string
	Availability Nano
	Score        Nano
	Reason       string

	apt Nano
}

// RouteStep is a line of the route trace: what became of a node, or of the
// query if no node is named.
type RouteStep struct {
	Step   string // veto, prefilter, score, fallback, reject
	Node   string
	Reason string
}

// RouteOutput is a routing decision.
type RouteOutput struct {
	Action     string      // what the query asks for
	Candidates []Candidate // that were scored, the best first
	Selected   string      // empty: nobody
	ReasonTag  string      // fallback_generic, or empty
	Depth      int64
	Tokens     int64
	Approval   bool // requires_action_request: the action is of high risk
	Trace      []RouteStep
	RouterID   string
	TraceID    string
	Error      string // the code of a refusal, or empty
}

// Decide is the router: a pure function of the states, the configuration and
// the request. The order of its steps is that of the document: vetoes, the
// prefilter, scores, the thresholds, the order, depth and tokens, the fallback.
//
// A refusal (PRIVACY_BLOCKED, PERMISSION_DENIED, ROUTER_NO_MATCH) is a decision
// too: the output is whole, holds the code, and is recorded and compared like
// any other. Only ROUTER_NO_SNAPSHOT leaves nothing to record.
func Decide(in RouteInput) (RouteOutput, error) {
	const op = "job.Decide"
	if in.Config == nil || in.SelfRep == nil || in.Mind == nil {
		e := fault.New(ErrNoSnapshot, op, "a snapshot is missing")
		for _, part := range []struct {
			kind    Kind
			missing bool
		}{{KindSelfRep, in.SelfRep == nil}, {KindBrainState, in.Mind == nil}, {KindRouter, in.Config == nil}} {
			if part.missing {
				e = e.With(part.kind.Field())
			}
		}
		return RouteOutput{}, e
	}
	d := decision{RouteInput: in}
	d.out = RouteOutput{
		Action: in.Config.Action(in.Request.Query), RouterID: in.Request.RouterID, TraceID: in.Request.TraceID,
	}
	d.out.Approval = slices.Contains(in.Config.HighRisk, d.out.Action)
	if code, reason := d.refused(); code != nil {
		d.trace("reject", "", reason)
		return d.refuse(code, "the action %s: %s", d.out.Action, reason)
	}
	nodes := d.prefilter(d.admitted())
	d.score(nodes)
	d.out.Tokens = in.Config.tokens(in.Mind)
	if i := slices.IndexFunc(d.out.Candidates, func(c Candidate) bool { return c.Reason == ReasonSelectable }); i >= 0 {
		d.out.Candidates[i].Reason = ReasonSelected
		d.out.Selected = d.out.Candidates[i].Node
		d.out.Depth = in.Config.depth(in.Mind)
		return d.out, nil
	}
	if reason := d.fallback(); reason != ReasonFallback {
		d.trace("fallback", in.Config.Fallback, reason)
		d.out.Tokens = 0
		return d.refuse(ErrNoMatch, "nobody is selectable for the action %s, and the fallback %q neither: %s", d.out.Action, in.Config.Fallback, reason)
	}
	d.trace("fallback", in.Config.Fallback, ReasonFallback)
	d.out.Selected, d.out.ReasonTag = in.Config.Fallback, ReasonFallback
	return d.out, nil
}

// decision is a routing decision in the making.
type decision struct {
	RouteInput
	out RouteOutput
}

func (d *decision) trace(step, node, reason string) {
	d.out.Trace = append(d.out.Trace, RouteStep{step, node, reason})
}

func (d *decision) refuse(code fault.Code, format string, args ...any) (RouteOutput, error) {
	d.out.Error = code.Error()
	return d.out, fault.New(code, "job.Decide", format, args...)
}

// refused looks at what no candidate can mend. Privacy comes first: who may not
// ask need not learn that they would have been refused for another reason.
func (d *decision) refused() (fault.Code, string) {
	switch {
	case d.Request.PII:
		return ErrPrivacy, ReasonPII
	case slices.Contains(d.Config.Private, d.out.Action):
		return ErrPrivacy, ReasonPrivate
	case !d.Config.grants(d.out.Action, d.Request.Roles):
		return ErrPermission, ReasonRole
	default:
		return nil, ""
	}
}

// admitted returns the candidates that no veto hits, by trust and id. Without a
// list they are the agents whose policy lists what the query asks for; the
// fallback is none of them, since it serves when nobody else does.
func (d *decision) admitted() []Node {
	var nodes []Node
	if len(d.Request.Candidates) == 0 {
		nodes = slices.DeleteFunc(d.SelfRep.Nodes(), func(n Node) bool {
			listed := len(n.Policy.Allowed) == 0 || slices.Contains(n.Policy.Allowed, d.out.Action)
			return n.Type != agentType || n.ID == d.Config.Fallback || !listed
		})
	} else {
		for _, id := range d.Request.Candidates {
			if n, ok := d.SelfRep.Node(id); ok {
				nodes = append(nodes, n)
			} else {
				d.trace("veto", id, ReasonUnknown)
			}
		}
		slices.SortFunc(nodes, byTrust)
		nodes = slices.CompactFunc(nodes, func(a, b Node) bool { return a.ID == b.ID })
	}
	return slices.DeleteFunc(nodes, func(n Node) bool {
		reason := d.veto(n)
		if reason != "" {
			d.trace("veto", n.ID, reason)
		}
		return reason != ""
	})
}

func (d *decision) veto(n Node) string {
	switch {
	case slices.Contains(d.Request.Dropped, n.ID):
		return ReasonDropped
	case !n.Policy.Allows(d.out.Action):
		return ReasonForbidden
	default:
		return ""
	}
}

// prefilter keeps the first so many of nodes that are sorted by trust and id.
func (d *decision) prefilter(nodes []Node) []Node {
	n := min(int64(len(nodes)), d.Config.TopN)
	for _, cut := range nodes[n:] {
		d.trace("prefilter", cut.ID, ReasonPrefilter)
	}
	return nodes[:n]
}

func (d *decision) score(nodes []Node) {
	for _, n := range nodes {
		c := Candidate{Node: n.ID, Availability: d.SelfRep.Availability(n), apt: n.APT}
		c.Score = route(d.Config.Weights, c.Availability, d.goal(n), d.Mind.ExploreBias)
		c.Reason = d.threshold(n, c)
		d.out.Candidates = append(d.out.Candidates, c)
	}
	slices.SortFunc(d.out.Candidates, d.Config.order)
	for _, c := range d.out.Candidates {
		d.trace("score", c.Node, c.Reason)
	}
}

// goal returns the highest priority of the active goals that a node can serve.
func (d *decision) goal(n Node) Nano {
	highest := Nano(0)
	for _, g := range d.Mind.Goals {
		if n.Policy.Allows(g.Type) {
			highest = max(highest, g.Priority)
		}
	}
	return highest
}

func (d *decision) threshold(n Node, c Candidate) string {
	switch status := d.SelfRep.Effective(n); {
	case status != Healthy && status != Degraded:
		return ReasonStatus
	case c.Availability < d.Config.MinAvailability:
		return ReasonAvailability
	case c.Score < d.Config.MinScore:
		return ReasonScore
	default:
		return ReasonSelectable
	}
}

// fallback says whether the generic agent may and can serve the query. Its
// score does not matter: it is there for when nobody's does.
func (d *decision) fallback() string {
	n, ok := d.SelfRep.Node(d.Config.Fallback)
	if !ok {
		return ReasonNoFallback
	}
	if reason := d.veto(n); reason != "" {
		return reason
	}
	switch reason := d.threshold(n, Candidate{Availability: d.SelfRep.Availability(n), Score: One}); reason {
	case ReasonSelectable:
		return ReasonFallback
	default:
		return reason
	}
}

// order is the order of candidates: the best score, then what the
// configuration says breaks a tie. The id comes last and is unique. Scores are
// compared as the integers that they are, so that to be equal is transitive.
func (c *RouterConfig) order(a, b Candidate) int {
	if by := cmp.Compare(b.Score, a.Score); by != 0 {
		return by
	}
	for _, key := range c.TieBreak {
		by := strings.Compare(a.Node, b.Node)
		if key == TieByTrust {
			by = cmp.Compare(b.apt, a.apt)
		}
		if by != 0 {
			return by
		}
	}
	return 0
}

// depth returns min(base, max(0, floor(gain·base))), or 0 with little attention.
func (c *RouterConfig) depth(m *Mind) int64 {
	if m.AttentionGain < c.MinDepthGain {
		return 0
	}
	return min(m.MaxDepth, max(0, m.AttentionGain.Of(m.MaxDepth)))
}

// tokens returns floor(budget·(base+gain·attention)), but never less than the
// floor, even where the whole budget is.
func (c *RouterConfig) tokens(m *Mind) int64 {
	return max(c.TokenFloor, affine(c.TokenBase, c.TokenGain, m.AttentionGain).Of(m.TokenBudget))
}

// Value returns o as the iteration trace holds it (M-75).
func (o RouteOutput) Value() canon.Value {
	candidates := make([]canon.Value, len(o.Candidates))
	for i, c := range o.Candidates {
		candidates[i] = canon.Object(
			canon.M("availability_score", c.Availability.Value()),
			canon.M("final_score", c.Score.Value()),
			canon.M("node_id", canon.String(c.Node)),
			canon.M("reason", canon.String(c.Reason)))
	}
	steps := make([]canon.Value, len(o.Trace))
	for i, s := range o.Trace {
		steps[i] = canon.Object(
			canon.M("node_id", canon.Text(s.Node).OrNull()),
			canon.M("reason", canon.String(s.Reason)),
			canon.M("step", canon.String(s.Step)))
	}
	return canon.Object(
		canon.M("action", canon.String(o.Action)),
		canon.M("depth", canon.Int(o.Depth)),
		canon.M("error", canon.Text(o.Error).OrNull()),
		canon.M("ordered_candidates", canon.Array(candidates...)),
		canon.M("reason_tag", canon.Text(o.ReasonTag).OrNull()),
		canon.M("requires_action_request", canon.Bool(o.Approval)),
		canon.M("route_trace", canon.Array(steps...)),
		canon.M("router_snapshot_id", canon.String(o.RouterID)),
		canon.M("selected_agent", canon.Text(o.Selected).OrNull()),
		canon.M("token_budget", canon.Int(o.Tokens)),
		canon.M("trace_id", canon.String(o.TraceID)))
}
