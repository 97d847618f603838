package job

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	// ErrSelfRep means that a value is no self representation: a part is missing
	// or not of its form, a node is there twice, or an edge leads nowhere. Mend
	// the snapshot.
	ErrSelfRep fault.Invalid = "job.bad_selfrep"
	// ErrNode means that the self representation has no node of that id. Register
	// the module, or mend the name.
	ErrNode fault.NotFound = "job.unknown_node"
	// ErrImmutable means that somebody tried to change what never changes of a
	// node: its id and type, who registered it and when, its immutable actions.
	// Register a new module instead.
	ErrImmutable fault.Denied = "ImmutableFieldError"
)

// Status is the health of a node.
type Status string

// The statuses. Only people quarantine.
const (
	Healthy     Status = "healthy"
	Degraded    Status = "degraded"
	Offline     Status = "offline"
	Quarantined Status = "quarantined"
)

// Rules by which several conditions lead to a status.
const (
	RuleAny = "any" // one of them is enough
	RuleAll = "all" // all of them are needed
)

// agentType is the type of the nodes that answer queries.
const agentType = "agent"

// statuses and nodeTypes are closed sets.
var (
	statuses  = [...]string{string(Healthy), string(Degraded), string(Offline), string(Quarantined)}
	nodeTypes = [...]string{agentType, "tool", "service", "router", "adapter", "memory"}
)

// Reasons for a status, as status_reason holds them.
const (
	reasonTrust    = "apt"
	reasonFailures = "consecutive_failures"
)

var nodeID = regexp.MustCompile(`^([a-z]+):[a-z0-9_]+_v[0-9]+$`)

// Trust is the constants of trust (APT) and of status, from the snapshot.
type Trust struct {
	Decay, Beta, Gamma Nano // per event, for an approval, for a failure
	Init               Nano // of a new node
	MinEvents          int64
	Degraded, Block    Nano // below which trust degrades, or blocks
	FailsOffline       int64
	// DegradeRule says whether little trust or a failure degrades (any, as the
	// document on self representation has it), or only both (all, as the one on
	// APT has it).
	DegradeRule string
	// OfflineRule says whether only failures take a node offline (as the document
	// on self representation has it), or trust below Block too (any, as the one
	// on APT has it).
	OfflineRule string
	// The factors of availability.
	WeightHealthy, WeightDegraded, WeightOffline, WeightQuarantined Nano
	DependencyFactor                                                Nano // if one that is required is not healthy
}

// OfflineByFailures is the rule by which only failures take a node offline.
const OfflineByFailures = "failures"

// StandardTrust returns the constants of the document, for who makes a
// snapshot. Nothing here falls back on them.
func StandardTrust() Trust {
	return Trust{
		Decay: One / 1000, Beta: One / 10, Gamma: One / 4, Init: One / 2, MinEvents: 2,
		Degraded: One / 10 * 6, Block: One / 4, FailsOffline: 3,
		DegradeRule: RuleAny, OfflineRule: OfflineByFailures,
		WeightHealthy: One, WeightDegraded: One / 10 * 6, DependencyFactor: One / 2,
	}
}

func parseTrust(r record) Trust {
	w := r.sub("availability", "healthy", "degraded", "offline", "quarantined", "dependency_unhealthy")
	t := Trust{
		Decay: r.unit("decay"), Beta: r.unit("beta"), Gamma: r.unit("gamma"), Init: r.unit("apt_init"),
		MinEvents: r.Count("min_events_for_trust", maxCount),
		Degraded:  r.unit("apt_degraded"), Block: r.unit("apt_block"),
		FailsOffline:  r.Count("fails_offline", maxCount),
		DegradeRule:   r.Word("degrade_rule", RuleAny, RuleAll),
		OfflineRule:   r.Word("offline_rule", OfflineByFailures, RuleAny),
		WeightHealthy: w.unit("healthy"), WeightDegraded: w.unit("degraded"),
		WeightOffline: w.unit("offline"), WeightQuarantined: w.unit("quarantined"),
		DependencyFactor: w.unit("dependency_unhealthy"),
	}
	if t.FailsOffline == 0 {
		r.Fail("%s.fails_offline is 0: every node would be offline", r.What)
	}
	r.Take("availability", w.Err)
	return t
}

func (t Trust) value() canon.Value {
	return canon.Object(
		canon.M("apt_block", t.Block.Value()),
		canon.M("apt_degraded", t.Degraded.Value()),
		canon.M("apt_init", t.Init.Value()),
		canon.M("availability", canon.Object(
			canon.M("degraded", t.WeightDegraded.Value()),
			canon.M("dependency_unhealthy", t.DependencyFactor.Value()),
			canon.M("healthy", t.WeightHealthy.Value()),
			canon.M("offline", t.WeightOffline.Value()),
			canon.M("quarantined", t.WeightQuarantined.Value()))),
		canon.M("beta", t.Beta.Value()),
		canon.M("decay", t.Decay.Value()),
		canon.M("degrade_rule", canon.String(t.DegradeRule)),
		canon.M("fails_offline", canon.Int(t.FailsOffline)),
		canon.M("gamma", t.Gamma.Value()),
		canon.M("min_events_for_trust", canon.Int(t.MinEvents)),
		canon.M("offline_rule", canon.String(t.OfflineRule)))
}

// weight returns the factor of a status.
func (t Trust) weight(s Status) Nano {
	switch s {
	case Healthy:
		return t.WeightHealthy
	case Degraded:
		return t.WeightDegraded
	case Offline:
		return t.WeightOffline
	default:
		return t.WeightQuarantined
	}
}

// settle returns n with the status that its trust and failures lead to. One
// event may lead through degraded to offline. Out of offline and quarantined
// only people lead.
func (t Trust) settle(n Node) Node {
	if n.Status == Healthy {
		little, failed := n.APT < t.Degraded, n.Failures >= 1
		if little && failed || t.DegradeRule == RuleAny && (little || failed) {
			n.Status, n.StatusReason = Degraded, reasonTrust
			if failed {
				n.StatusReason = reasonFailures
			}
		}
	}
	if n.Status == Degraded {
		switch {
		case n.Failures >= t.FailsOffline:
			n.Status, n.StatusReason = Offline, reasonFailures
		case t.OfflineRule == RuleAny && n.APT < t.Block:
			n.Status, n.StatusReason = Offline, reasonTrust
		case n.Failures == 0 && n.APT >= t.Degraded:
			n.Status, n.StatusReason = Healthy, ""
		}
	}
	return n
}

// Policy is what a node may do. An empty list of allowed actions allows all
// that are not forbidden.
type Policy struct {
	Allowed, Forbidden, Immutable []string // sorted
}

// Allows reports whether the policy lets its node do something.
func (p Policy) Allows(action string) bool {
	return !slices.Contains(p.Forbidden, action) && (len(p.Allowed) == 0 || slices.Contains(p.Allowed, action))
}

// Node is a module of the system: what it is, how far it is trusted, and what it
// may do. No latency, load or memory is part of it: they decide nothing (M-10).
type Node struct {
	ID           string // type:name_vN
	Type         string
	DisplayName  string
	Version      string
	Status       Status
	StatusReason string
	APT          Nano
	Failures     int64 // consecutive: since the last success
	Calls        int64 // answers and failures
	Events       int64 // APT events, all of them
	Policy       Policy
	RegisteredBy string
	RegisteredAt det.Instant
	Updated      det.Instant // the instant of the last APT event
}

// Edge says that a node depends on another.
type Edge struct {
	From, To string
	Required bool
}

// ID returns edge_id.
func (e Edge) ID() string { return e.From + "->" + e.To }

// SelfRep is what the system knows of its parts: the nodes, what depends on
// what, and the constants of trust. It is a value: what changes it returns
// another.
type SelfRep struct {
	trust Trust
	nodes []Node // by id
	edges []Edge // by id
	last  int64  // the index of the last event applied; -1 before the first
}

// NewSelfRep returns the self representation of these nodes and edges, in any
// order. It refuses with [ErrSelfRep].
func NewSelfRep(trust Trust, nodes []Node, edges []Edge) (SelfRep, error) {
	s := SelfRep{trust: trust, nodes: slices.Clone(nodes), edges: slices.Clone(edges), last: -1}
	slices.SortFunc(s.nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(s.edges, func(a, b Edge) int { return strings.Compare(a.ID(), b.ID()) })
	// What is written is read with all checks, and there only.
	return ParseSelfRep(s.Value())
}

// find returns the place of a node.
func (s SelfRep) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.nodes, id, func(n Node, id string) int { return strings.Compare(n.ID, id) })
}

// Node returns the node of that id.
func (s SelfRep) Node(id string) (Node, bool) {
	i, ok := s.find(id)
	if !ok {
		return Node{}, false
	}
	return s.nodes[i], true
}

// Nodes returns all nodes in the order in which decisions look at them: by
// trust, the most first, then by id (M-38).
func (s SelfRep) Nodes() []Node {
	return slices.SortedFunc(slices.Values(s.nodes), byTrust)
}

func byTrust(a, b Node) int {
	return cmp.Or(cmp.Compare(b.APT, a.APT), strings.Compare(a.ID, b.ID))
}

// Trust returns the constants.
func (s SelfRep) Trust() Trust { return s.trust }

// Effective returns the status that counts: a node that few events have tried
// counts as degraded at best.
func (s SelfRep) Effective(n Node) Status {
	if n.Status == Healthy && n.Events < s.trust.MinEvents {
		return Degraded
	}
	return n.Status
}

// DependencyUnhealthy reports whether something that a node requires is not
// healthy. Only the next nodes count, not theirs.
func (s SelfRep) DependencyUnhealthy(id string) bool {
	return slices.ContainsFunc(s.from(id), func(e Edge) bool {
		n, ok := s.Node(e.To)
		return e.Required && (!ok || s.Effective(n) != Healthy)
	})
}

// from returns the edges from a node. Their ids have a beginning in common, so
// that they stand side by side.
func (s SelfRep) from(id string) []Edge {
	start, _ := slices.BinarySearchFunc(s.edges, id+"->", func(e Edge, prefix string) int { return strings.Compare(e.ID(), prefix) })
	end := start
	for end < len(s.edges) && s.edges[end].From == id {
		end++
	}
	return s.edges[start:end]
}

// Availability returns how far a node can be counted on: its trust, weighed by
// its status and that of what it requires.
func (s SelfRep) Availability(n Node) Nano {
	factor := One
	if s.DependencyUnhealthy(n.ID) {
		factor = s.trust.DependencyFactor
	}
	return scale(n.APT, s.trust.weight(s.Effective(n)), factor)
}

// Register returns s with a new node, which starts with the trust of a new one
// and without a history, and with what it depends on. It refuses with
// [ErrSelfRep] one that is there already.
func (s SelfRep) Register(n Node, edges ...Edge) (SelfRep, error) {
	if _, ok := s.find(n.ID); ok {
		return s, fault.New(ErrSelfRep, "job.SelfRep.Register", "the node %q is registered already", n.ID)
	}
	n.APT, n.Failures, n.Calls, n.Events = s.trust.Init, 0, 0, 0
	n.Status, n.StatusReason, n.Updated = Healthy, "", n.RegisteredAt
	next, err := NewSelfRep(s.trust, append(slices.Clone(s.nodes), n), append(slices.Clone(s.edges), edges...))
	if err != nil {
		return s, err
	}
	next.last = s.last
	return next, nil
}

// Amend returns s with another description, version and policy of a node. Trust
// and status are moved by events only and stay. A change of what never changes
// is refused with [ErrImmutable].
func (s SelfRep) Amend(n Node) (SelfRep, error) {
	const op = "job.SelfRep.Amend"
	i, ok := s.find(n.ID)
	if !ok {
		return s, fault.New(ErrNode, op, "there is no node %q", n.ID)
	}
	old := s.nodes[i]
	for _, c := range []struct {
		field string
		same  bool
	}{
		{"type", n.Type == old.Type},
		{"registration.registered_by", n.RegisteredBy == old.RegisteredBy},
		{"registration.registered_at", n.RegisteredAt == old.RegisteredAt},
		{"policy.immutable_actions", slices.Equal(n.Policy.Immutable, old.Policy.Immutable)},
		// What may not change is whether such an action is allowed.
		{"policy.immutable_actions", !slices.ContainsFunc(old.Policy.Immutable, func(a string) bool { return n.Policy.Allows(a) != old.Policy.Allows(a) })},
	} {
		if !c.same {
			return s, fault.New(ErrImmutable, op, "%s of the node %s never changes", c.field, n.ID)
		}
	}
	old.DisplayName, old.Version, old.Policy = n.DisplayName, n.Version, n.Policy
	nodes := slices.Clone(s.nodes)
	nodes[i] = old
	next, err := NewSelfRep(s.trust, nodes, s.edges)
	if err != nil {
		return s, err
	}
	next.last = s.last
	return next, nil
}

// dependencies returns what a node depends on, as the node names it.
func (s SelfRep) dependencies(id string) canon.Value {
	var out []string
	for _, e := range s.from(id) {
		out = append(out, e.To)
	}
	return canon.Strings(out)
}

// Value returns s as a snapshot holds it. Arrays stand in the order in which
// decisions look at them.
func (s SelfRep) Value() canon.Value {
	var nodes, edges []canon.Value
	for _, n := range s.Nodes() {
		nodes = append(nodes, s.nodeValue(n))
	}
	for _, e := range s.edges {
		edges = append(edges, canon.Object(
			canon.M("edge_id", canon.String(e.ID())),
			canon.M("from", canon.String(e.From)),
			canon.M("required", canon.Bool(e.Required)),
			canon.M("to", canon.String(e.To))))
	}
	return canon.Object(
		canon.M("constants", s.trust.value()),
		canon.M("edges", canon.Array(edges...)),
		canon.M("nodes", canon.Array(nodes...)))
}

func (s SelfRep) nodeValue(n Node) canon.Value {
	return canon.Object(
		canon.M("apt", n.APT.Value()),
		canon.M("dependencies", s.dependencies(n.ID)),
		canon.M("display_name", canon.String(n.DisplayName)),
		canon.M("last_updated", canon.String(n.Updated.String())),
		canon.M("metrics", canon.Object(
			canon.M("apt_events", canon.Int(n.Events)),
			canon.M("consecutive_failures", canon.Int(n.Failures)),
			canon.M("total_calls", canon.Int(n.Calls)))),
		canon.M("node_id", canon.String(n.ID)),
		canon.M("policy", canon.Object(
			canon.M("allowed_actions", canon.Strings(n.Policy.Allowed)),
			canon.M("forbidden_actions", canon.Strings(n.Policy.Forbidden)),
			canon.M("immutable_actions", canon.Strings(n.Policy.Immutable)))),
		canon.M("registration", canon.Object(
			canon.M("registered_at", canon.String(n.RegisteredAt.String())),
			canon.M("registered_by", canon.String(n.RegisteredBy)))),
		canon.M("status", canon.String(string(n.Status))),
		canon.M("status_reason", canon.Text(n.StatusReason).OrNull()),
		canon.M("type", canon.String(n.Type)),
		canon.M("version", canon.String(n.Version)))
}

// ParseSelfRep reads what [SelfRep.Value] writes and nothing else. It refuses
// with [ErrSelfRep].
func ParseSelfRep(v canon.Value) (SelfRep, error) {
	const op, what = "job.ParseSelfRep", "the self representation"
	r := newRecord(v, ErrSelfRep, op, what, "constants", "edges", "nodes")
	c := r.sub("constants", strings.Fields(`apt_block apt_degraded apt_init availability beta decay degrade_rule fails_offline gamma
		min_events_for_trust offline_rule`)...)
	s := SelfRep{trust: parseTrust(c), last: -1}
	r.Take("constants", c.Err)
	for _, e := range r.list("nodes") {
		n, err := parseNode(e)
		r.Take("nodes", err)
		s.nodes = append(s.nodes, n)
	}
	if !slices.IsSortedFunc(s.nodes, byTrust) {
		r.Fail("the nodes are not in the order of trust and id")
	}
	slices.SortFunc(s.nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(s.nodes); i++ {
		if s.nodes[i-1].ID == s.nodes[i].ID {
			r.Fail("the node %q is there twice", s.nodes[i].ID)
		}
	}
	for _, e := range r.list("edges") {
		f := newRecord(e, ErrSelfRep, op, "an edge", "edge_id", "from", "required", "to")
		edge := Edge{From: f.Name("from"), To: f.Name("to"), Required: f.Bool("required")}
		if f.Text("edge_id", 2*canon.MaxName+2) != edge.ID() {
			f.Fail("edge_id is not %q", edge.ID())
		}
		for _, end := range []string{edge.From, edge.To} {
			if _, ok := s.find(end); !ok {
				f.Fail("there is no node %q", end)
			}
		}
		r.Take("edges", f.Err)
		if n := len(s.edges); n > 0 && s.edges[n-1].ID() >= edge.ID() {
			r.Fail("the edges are not sorted, or %q is there twice", edge.ID())
		}
		s.edges = append(s.edges, edge)
	}
	for _, e := range r.Value.Get("nodes").Elems() {
		if id := e.Get("node_id").Str(); r.Err == nil && !e.Get("dependencies").Equal(s.dependencies(id)) {
			r.Fail("the dependencies of %s are not its edges", id)
		}
	}
	if r.Err != nil {
		return SelfRep{}, r.Err
	}
	return s, nil
}

func parseNode(v canon.Value) (Node, error) {
	r := newRecord(v, ErrSelfRep, "job.ParseSelfRep", "a node", strings.Fields(`apt dependencies display_name last_updated metrics
		node_id policy registration status status_reason type version`)...)
	m := r.sub("metrics", "apt_events", "consecutive_failures", "total_calls")
	p := r.sub("policy", "allowed_actions", "forbidden_actions", "immutable_actions")
	g := r.sub("registration", "registered_at", "registered_by")
	n := Node{
		ID: r.Name("node_id"), Type: r.Word("type", nodeTypes[:]...),
		DisplayName: r.Text("display_name", canon.MaxName), Version: r.Text("version", canon.MaxName),
		Status: Status(r.Word("status", statuses[:]...)), StatusReason: r.TextOrNull("status_reason", maxText),
		APT:      r.unit("apt"),
		Failures: m.Count("consecutive_failures", maxCount), Calls: m.Count("total_calls", maxCount), Events: m.Count("apt_events", maxCount),
		Policy:       Policy{Allowed: p.set("allowed_actions"), Forbidden: p.set("forbidden_actions"), Immutable: p.set("immutable_actions")},
		RegisteredBy: g.Name("registered_by"), RegisteredAt: g.instant("registered_at"),
		Updated: r.instant("last_updated"),
	}
	if m := nodeID.FindStringSubmatch(n.ID); m == nil || m[1] != n.Type {
		r.Fail("the node id %q is not of the form %s:name_vN", n.ID, n.Type)
	}
	r.Take("metrics", m.Err)
	r.Take("policy", p.Err)
	r.Take("registration", g.Err)
	return n, r.Err
}
