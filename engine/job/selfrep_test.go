package job_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// agent returns an agent that enough events have tried.
func agent(t testing.TB, name, apt string) job.Node {
	t.Helper()
	return job.Node{
		ID: "agent:" + name + "_v1", Type: "agent", DisplayName: name, Version: "1.0.0", Status: job.Healthy,
		APT: nano(t, apt), Events: 2, RegisteredBy: "admin", RegisteredAt: det.Epoch, Updated: det.Epoch,
	}
}

func selfRep(t testing.TB, trust job.Trust, nodes []job.Node, edges ...job.Edge) job.SelfRep {
	t.Helper()
	s, err := job.NewSelfRep(trust, nodes, edges)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func node(t testing.TB, s job.SelfRep, id string) job.Node {
	t.Helper()
	n, ok := s.Node(id)
	if !ok {
		t.Fatalf("Node(%s) is not there", id)
	}
	return n
}

// script applies events of these types in turn to the node agent:a_v1; a minus
// before a type makes it a bad vote or label.
func script(t testing.TB, s job.SelfRep, types ...string) job.SelfRep {
	t.Helper()
	stamp := stamps("seed-0001")
	for _, typ := range types {
		typ, bad := strings.CutPrefix(typ, "-")
		e := job.APTEvent{Seed: "seed-0001", Node: "agent:a_v1", Type: typ, Payload: job.Payload{Good: !bad}}
		e.Stamp = stamp(typ)
		next, _, err := s.Apply(e)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

// T-SR-01 to T-SR-03: which events lead to which status, by either document.
func TestStatusFollowsTrustAndFailures(t *testing.T) {
	t.Parallel()
	const ok, timeout, exception, label, note = job.CouncilApproval, job.AgentTimeout, job.AgentException, job.GroundTruthLabel, job.OperationalNote
	all := job.StandardTrust()
	all.DegradeRule = job.RuleAll
	block := job.StandardTrust()
	block.OfflineRule = job.RuleAny
	for _, c := range []struct {
		name   string
		trust  job.Trust
		apt    string
		events []string
		want   job.Status
		reason string
	}{
		{"a good vote", job.StandardTrust(), "0.9", []string{ok}, job.Healthy, ""},
		{"a failure degrades", job.StandardTrust(), "0.95", []string{timeout}, job.Degraded, "consecutive_failures"},
		{"little trust degrades", job.StandardTrust(), "0.6", []string{"-" + ok}, job.Degraded, "apt"},
		{"trust at the threshold does not", job.StandardTrust(), "0.5005005005", []string{ok}, job.Healthy, ""},
		{"by both only: a failure with much trust", all, "0.95", []string{timeout}, job.Healthy, ""},
		{"by both only: little trust without a failure", all, "0.6", []string{"-" + ok}, job.Healthy, ""},
		{"by both", all, "0.8", []string{timeout}, job.Degraded, "consecutive_failures"},
		{"a success and trust heal", job.StandardTrust(), "0.8", []string{timeout, ok}, job.Healthy, ""},
		{"a success without trust does not", job.StandardTrust(), "0.7", []string{timeout, ok}, job.Degraded, "consecutive_failures"},
		{"a bad vote ends no failures", job.StandardTrust(), "1", []string{timeout, "-" + ok}, job.Degraded, "consecutive_failures"},
		{"a label ends them too", job.StandardTrust(), "0.8", []string{timeout, label}, job.Healthy, ""},
		{"three failures in a row", job.StandardTrust(), "1", []string{timeout, exception, timeout}, job.Offline, "consecutive_failures"},
		{"three failures not in a row", job.StandardTrust(), "1", []string{timeout, timeout, ok, exception}, job.Degraded, "consecutive_failures"},
		{"by trust: below the block", block, "0.5", []string{timeout}, job.Offline, "apt"},
		{"by failures: below the block", job.StandardTrust(), "0.5", []string{timeout}, job.Degraded, "consecutive_failures"},
		{"offline stays offline", job.StandardTrust(), "1", []string{timeout, timeout, timeout, ok, ok, ok, ok, ok, ok, ok}, job.Offline, "consecutive_failures"},
		{"a note changes nothing", job.StandardTrust(), "0.1", []string{note, job.UserFeedback}, job.Healthy, ""},
	} {
		got := node(t, script(t, selfRep(t, c.trust, []job.Node{agent(t, "a", c.apt)}), c.events...), "agent:a_v1")
		if got.Status != c.want || got.StatusReason != c.reason {
			t.Errorf("%s: status %s (%s) with apt %s, want %s (%s)", c.name, got.Status, got.StatusReason, got.APT, c.want, c.reason)
		}
	}
}

// T-SR-04 and T-SR-05.
func TestAvailabilityIsTrustByStatusAndDependencies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		status     job.Status
		events     int64
		dependency job.Status // empty: there is none
		required   bool
		want       string
	}{
		{"healthy", job.Healthy, 2, "", false, "0.900000000"},
		{"degraded", job.Degraded, 2, "", false, "0.540000000"},
		{"offline", job.Offline, 2, "", false, "0.000000000"},
		{"quarantined", job.Quarantined, 2, "", false, "0.000000000"},
		{"new", job.Healthy, 1, "", false, "0.540000000"},
		{"new and offline", job.Offline, 0, "", false, "0.000000000"},
		{"requires what is healthy", job.Healthy, 2, job.Healthy, true, "0.900000000"},
		{"requires what is degraded", job.Healthy, 2, job.Degraded, true, "0.450000000"},
		{"requires what is offline", job.Degraded, 2, job.Offline, true, "0.270000000"},
		{"would like what is offline", job.Healthy, 2, job.Offline, false, "0.900000000"},
	} {
		a, b := agent(t, "a", "0.9"), agent(t, "b", "0.1")
		a.Status, a.Events = c.status, c.events
		var edges []job.Edge
		if c.dependency != "" {
			b.Status = c.dependency
			edges = []job.Edge{{From: a.ID, To: b.ID, Required: c.required}}
		}
		s := selfRep(t, job.StandardTrust(), []job.Node{a, b}, edges...)
		if got := s.Availability(a); got.String() != c.want {
			t.Errorf("%s: Availability() = %s, want %s", c.name, got, c.want)
		}
	}
}

// RL-03, GOV-T2.
func TestWhatNeverChangesOfANodeIsRefused(t *testing.T) {
	t.Parallel()
	a := agent(t, "a", "0.9")
	a.Policy = job.Policy{Allowed: []string{"answer"}, Immutable: []string{"answer"}}
	s := selfRep(t, job.StandardTrust(), []job.Node{a})
	for name, change := range map[string]func(*job.Node){
		"its type":               func(n *job.Node) { n.Type = "tool" },
		"who registered it":      func(n *job.Node) { n.RegisteredBy = "mallory" },
		"when it was registered": func(n *job.Node) { n.RegisteredAt++ },
		"its immutable actions":  func(n *job.Node) { n.Policy.Immutable = nil },
		"whether one is allowed": func(n *job.Node) { n.Policy.Forbidden = []string{"answer"} },
	} {
		n := a
		change(&n)
		got, err := s.Amend(n)
		if fault.CodeOf(err) != job.ErrImmutable || !strings.HasPrefix(err.Error(), "ImmutableFieldError: ") {
			t.Errorf("%s: Amend() = %v, want %v", name, err, job.ErrImmutable)
		}
		if !got.Value().Equal(s.Value()) {
			t.Errorf("%s: a refused change changed something", name)
		}
	}
	n := a
	n.Version, n.APT, n.Status, n.Failures = "2.0.0", 0, job.Quarantined, 7
	n.Policy.Allowed = []string{"answer", "plan"}
	got, err := s.Amend(n)
	want := a
	want.Version, want.Policy.Allowed = n.Version, n.Policy.Allowed
	if err != nil || !got.Value().Equal(selfRep(t, job.StandardTrust(), []job.Node{want}).Value()) {
		t.Errorf("Amend() = %s, %v, want another version and policy, and the same trust and status", got.Value(), err)
	}
	n.ID = "agent:b_v1"
	if _, err := s.Amend(n); !errors.Is(err, job.ErrNode) {
		t.Errorf("Amend(%s) = %v, want %v", n.ID, err, job.ErrNode)
	}
}

func TestANewNodeStartsWithTheTrustOfANewOne(t *testing.T) {
	t.Parallel()
	s := selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", "0.9")})
	b := agent(t, "b", "1")
	b.Failures, b.Status = 3, job.Quarantined
	got, err := s.Register(b, job.Edge{From: b.ID, To: "agent:a_v1", Required: true})
	if err != nil {
		t.Fatal(err)
	}
	n := node(t, got, b.ID)
	if n.APT.String() != "0.500000000" || n.Events != 0 || n.Failures != 0 || got.Effective(n) != job.Degraded {
		t.Errorf("Register() = %+v, counted as %s, want the trust of a new node, counted as degraded", n, got.Effective(n))
	}
	if _, err := got.Register(b); !errors.Is(err, job.ErrSelfRep) {
		t.Errorf("Register() again = %v, want %v", err, job.ErrSelfRep)
	}
	if _, err := s.Register(b, job.Edge{From: b.ID, To: "agent:nobody_v1"}); !errors.Is(err, job.ErrSelfRep) {
		t.Errorf("Register() with an edge to nowhere = %v, want %v", err, job.ErrSelfRep)
	}
}

// DR-02: the order in which a snapshot is written does not depend on how it was
// made.
//
// spec: M-38
func TestASelfRepresentationIsWrittenInTheOrderOfTrust(t *testing.T) {
	t.Parallel()
	z, a, m, k := agent(t, "z", "0.7"), agent(t, "a", "0.7"), agent(t, "m", "0.9"), agent(t, "k", "0.2")
	edges := []job.Edge{{From: z.ID, To: a.ID, Required: true}, {From: m.ID, To: k.ID}, {From: z.ID, To: k.ID}}
	s := selfRep(t, job.StandardTrust(), []job.Node{z, a, m, k}, edges...)
	var order []string
	for _, n := range s.Value().Get("nodes").Elems() {
		order = append(order, n.Get("node_id").Str())
	}
	if want := []string{m.ID, a.ID, z.ID, k.ID}; !slices.Equal(order, want) {
		t.Errorf("nodes are written in the order %q, want %q", order, want)
	}
	slices.Reverse(edges)
	text := encode(t, s.Value())
	if got := encode(t, selfRep(t, job.StandardTrust(), []job.Node{k, m, a, z}, edges...).Value()); got != text {
		t.Errorf("in another order of arguments it is written\n%s, want\n%s", got, text)
	}
	back, err := job.ParseSelfRep(parse(t, text))
	if err != nil || encode(t, back.Value()) != text {
		t.Errorf("ParseSelfRep(%s) = %v, want it back", text, err)
	}
	for _, part := range []string{`"apt":0.900000000`, `"dependencies":["agent:a_v1","agent:k_v1"]`, `"edge_id":"agent:m_v1->agent:k_v1"`, `"decay":0.001000000`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
}

func TestASelfRepresentationIsReadStrictly(t *testing.T) {
	t.Parallel()
	a, b := agent(t, "a", "0.7"), agent(t, "b", "0.7")
	text := encode(t, selfRep(t, job.StandardTrust(), []job.Node{a, b}, job.Edge{From: a.ID, To: b.ID, Required: true}).Value())
	for _, c := range []struct{ name, old, new string }{
		{"a number of another spelling", `"apt":0.700000000`, `"apt":0.7`},
		{"a trust above 1", `"apt":0.700000000`, `"apt":1.000000001`},
		{"live telemetry", `"total_calls":0`, `"total_calls":0,"latency_ms":3`},
		{"an unknown status", `"status":"healthy"`, `"status":"fine"`},
		{"no status reason", `,"status_reason":null`, ``},
		{"an empty status reason", `"status_reason":null`, `"status_reason":""`},
		{"a node twice", `"node_id":"agent:b_v1"`, `"node_id":"agent:a_v1"`},
		{"an id of another type", `"node_id":"agent:b_v1"`, `"node_id":"tool:b_v1"`},
		{"an id without a version", `agent:b_v1`, `agent:b`},
		{"an edge that is not its ends", `"edge_id":"agent:a_v1->agent:b_v1"`, `"edge_id":"agent:b_v1->agent:a_v1"`},
		{"an edge to nowhere", `agent:a_v1->agent:b_v1","from":"agent:a_v1","required":true,"to":"agent:b_v1"`, `agent:a_v1->agent:c_v1","from":"agent:a_v1","required":true,"to":"agent:c_v1"`},
		{"dependencies without an edge", `"dependencies":[]`, `"dependencies":["agent:a_v1"]`},
		{"another order", `"apt":0.700000000,"dependencies":[]`, `"apt":0.700000001,"dependencies":[]`},
		{"a negative count", `"apt_events":2`, `"apt_events":-2`},
		{"an instant in another zone", `2025-01-01T00:00:00Z`, `2025-01-01T01:00:00+01:00`},
		{"a rule that is none", `"degrade_rule":"any"`, `"degrade_rule":"some"`},
		{"a constant that is missing", `"gamma":0.250000000,`, ``},
		{"no failure needed to be offline", `"fails_offline":3`, `"fails_offline":0`},
		{"a weight above 1", `"healthy":1.000000000`, `"healthy":1.500000000`},
		{"a list that is not sorted", `"allowed_actions":[]`, `"allowed_actions":["b","a"]`},
	} {
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: %s does not stand in %s", c.name, c.old, text)
		}
		v := parse(t, strings.Replace(text, c.old, c.new, 1))
		if c.name == "an id without a version" {
			v = parse(t, strings.ReplaceAll(text, c.old, c.new))
		}
		if _, err := job.ParseSelfRep(v); !errors.Is(err, job.ErrSelfRep) {
			t.Errorf("%s: ParseSelfRep() = %v, want %v", c.name, err, job.ErrSelfRep)
		}
	}
	for _, v := range []canon.Value{{}, canon.Null(), canon.Object(), canon.Array()} {
		if _, err := job.ParseSelfRep(v); !errors.Is(err, job.ErrSelfRep) {
			t.Errorf("ParseSelfRep(%s) = %v, want %v", v, err, job.ErrSelfRep)
		}
	}
}
