package job_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const generic = "agent:generic_agent_v1"

// scene is what a routing decision is made from, as tests change it.
type scene struct {
	config job.RouterConfig
	mind   job.Mind
	nodes  []job.Node
	edges  []job.Edge
	ask    job.RouteRequest
}

// newScene has one goal, to answer, and these agents.
func newScene(t testing.TB, nodes ...job.Node) scene {
	t.Helper()
	return scene{
		config: job.StandardRouter(),
		mind: job.Mind{
			Goals:         []job.OpenGoal{{Type: "answer", Priority: nano(t, "0.8")}},
			AttentionGain: nano(t, "0.5"), ExploreBias: nano(t, "0.2"), TokenBudget: 1000, MaxDepth: 4,
		},
		nodes: nodes,
		ask: job.RouteRequest{
			JobID: "job-1", JobSeed: "seed-0001", Query: "what is it?", Attempts: 3, TraceID: "trace-1",
			SelfRepID: strings.Repeat("1", 64), BrainID: strings.Repeat("2", 64), RouterID: strings.Repeat("3", 64),
		},
	}
}

func (s scene) input(t testing.TB) job.RouteInput {
	t.Helper()
	self := selfRep(t, job.StandardTrust(), s.nodes, s.edges...)
	return job.RouteInput{Config: &s.config, SelfRep: &self, Mind: &s.mind, Request: s.ask}
}

func (s scene) decide(t testing.TB) (job.RouteOutput, error) {
	t.Helper()
	return job.Decide(s.input(t))
}

// steps writes the trace as "step node reason".
func steps(o job.RouteOutput) []string {
	var out []string
	for _, s := range o.Trace {
		out = append(out, strings.Join(strings.Fields(s.Step+" "+s.Node+" "+s.Reason), " "))
	}
	return out
}

// R-T1, R-T4.
func TestScoresDepthAndTokensAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Scores []struct {
			Candidate struct {
				NodeID string `json:"node_id"`
				APT    json.Number
				Status job.Status
			}
			Goal       json.Number `json:"goal_priority"`
			Gain       json.Number `json:"attention_gain"`
			Explore    json.Number `json:"explore_bias"`
			Dependency bool        `json:"required_dependency_healthy"`
			Base       int64       `json:"base_depth"`
			Budget     int64       `json:"token_budget_in"`
			Available  string      `json:"availability"`
			Score      string      `json:"final_score"`
			Eligible   bool
			Depth      int64
			Tokens     int64 `json:"token_budget"`
		}
	}
	vectors(t, "router_vectors.json", &file)
	if len(file.Scores) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range file.Scores {
		n := agent(t, c.Candidate.NodeID, c.Candidate.APT.String())
		n.Status = c.Candidate.Status
		tool := agent(t, "zz", "0.1")
		if !c.Dependency {
			tool.Status = job.Degraded
		}
		s := newScene(t, n, tool)
		s.edges = []job.Edge{{From: n.ID, To: tool.ID, Required: true}}
		s.mind = job.Mind{
			Goals:         []job.OpenGoal{{Type: "answer", Priority: nano(t, c.Goal.String())}},
			AttentionGain: nano(t, c.Gain.String()), ExploreBias: nano(t, c.Explore.String()), TokenBudget: c.Budget, MaxDepth: c.Base,
		}
		s.ask.Candidates = []string{n.ID}
		out, err := s.decide(t)
		if len(out.Candidates) != 1 {
			t.Fatalf("%s: Decide() = %s, %v, want one candidate", n.ID, out.Value(), err)
		}
		got := out.Candidates[0]
		if got.Availability != nano(t, c.Available) || got.Score != nano(t, c.Score) {
			t.Errorf("%s: availability %s and score %s, want %s and %s", n.ID, got.Availability, got.Score, c.Available, c.Score)
		}
		if eligible := out.Selected == n.ID; eligible != c.Eligible {
			t.Errorf("%s: selected %t (%s), want %t", n.ID, eligible, got.Reason, c.Eligible)
		}
		if depth, tokens := s.config.Depth(&s.mind), s.config.Tokens(&s.mind); depth != c.Depth || tokens != c.Tokens {
			t.Errorf("%s: depth %d and %d tokens, want %d and %d", n.ID, depth, tokens, c.Depth, c.Tokens)
		}
		if c.Eligible && (out.Depth != c.Depth || out.Tokens != c.Tokens) {
			t.Errorf("%s: Decide() = depth %d and %d tokens, want %d and %d", n.ID, out.Depth, out.Tokens, c.Depth, c.Tokens)
		}
	}
}

// R-T2.
//
// spec: M-37
func TestTiesAreBrokenAfterRounding(t *testing.T) {
	t.Parallel()
	var file struct {
		Ties []struct {
			Candidates [][3]any
			Winner     string
			Why        string
		}
	}
	vectors(t, "router_vectors.json", &file)
	if len(file.Ties) == 0 {
		t.Fatal("no vectors")
	}
	config := job.StandardRouter()
	for _, c := range file.Ties {
		var list []job.Candidate
		for _, row := range c.Candidates {
			number := func(i int) job.Nano {
				b, err := json.Marshal(row[i])
				if err != nil {
					t.Fatal(err)
				}
				return nano(t, string(b))
			}
			list = append(list, job.Candidate{Node: row[0].(string), Score: number(2)}.WithTrust(number(1)))
		}
		want := c.Winner
		if want == "undefined" {
			want = "c" // what the document leaves open: 0.700000002 after rounding
		}
		for range list { // in whatever order they come
			list = append(list[1:], list[0])
			if got := slices.SortedFunc(slices.Values(list), config.Order)[0].Node; got != want {
				t.Errorf("%s: %s wins, want %s", c.Why, got, want)
			}
		}
	}
}

func TestOrderIsTotalAndTransitive(t *testing.T) {
	t.Parallel()
	config := job.StandardRouter()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(id string) job.Candidate {
			return job.Candidate{Node: id, Score: job.Nano(rapid.Int64Range(0, 3).Draw(rt, "score"))}.WithTrust(job.Nano(rapid.Int64Range(0, 2).Draw(rt, "apt")))
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if config.Order(a, b) == 0 || config.Order(a, b) != -config.Order(b, a) {
			rt.Fatalf("Order(%v, %v) = %d, want an order", a, b, config.Order(a, b))
		}
		if config.Order(a, b) < 0 && config.Order(b, c) < 0 && config.Order(a, c) > 0 {
			rt.Fatalf("%v before %v before %v before the first", a, b, c)
		}
	})
}

// R-T3.
func TestVetoesComeBeforeScores(t *testing.T) {
	t.Parallel()
	best, second := agent(t, "a", "1"), agent(t, "b", "0.7")
	for _, c := range []struct {
		name   string
		change func(*scene)
		want   fault.Code // nil: the second agent is chosen
		trace  string     // the first line
	}{
		{"the policy forbids it", func(s *scene) { s.nodes[0].Policy.Forbidden = []string{"answer"} }, nil, "veto agent:a_v1 forbidden_action"},
		{"the policy does not list it", func(s *scene) { s.nodes[0].Policy.Allowed = []string{"plan"} }, nil, "veto agent:a_v1 forbidden_action"},
		{"it has failed", func(s *scene) { s.ask.Dropped = []string{"agent:a_v1"} }, nil, "veto agent:a_v1 dropped"},
		{"nobody knows it", func(s *scene) { s.ask.Candidates[0] = "agent:0_v1" }, nil, "veto agent:0_v1 unknown_node"},
		{"personal data", func(s *scene) { s.ask.PII = true }, job.ErrPrivacy, "reject pii_detected"},
		{"a private intent", func(s *scene) { s.config.Private = []string{"answer"} }, job.ErrPrivacy, "reject private_intent"},
		{"nobody of that role", func(s *scene) {
			s.config.Access = []job.Access{{Action: "answer", Roles: []string{"admin"}}}
			s.ask.Roles = []string{"operator"}
		}, job.ErrPermission, "reject role_denied"},
	} {
		s := newScene(t, best, second)
		s.ask.Candidates = []string{best.ID, second.ID}
		c.change(&s)
		out, err := s.decide(t)
		if c.want == nil && (err != nil || out.Selected != second.ID) {
			t.Errorf("%s: Decide() = %q, %v, want %s", c.name, out.Selected, err, second.ID)
		}
		if c.want != nil && (fault.CodeOf(err) != c.want || out.Error != c.want.Error() || out.Selected != "" || len(out.Candidates) != 0 || out.Tokens != 0) {
			t.Errorf("%s: Decide() = %s, %v, want %v and nothing scored", c.name, out.Value(), err, c.want)
		}
		if got := steps(out); len(got) == 0 || got[0] != c.trace {
			t.Errorf("%s: the trace is %q, want %q first", c.name, got, c.trace)
		}
	}
	s := newScene(t, best)
	s.config.Access = []job.Access{{Action: "answer", Roles: []string{"admin"}}}
	s.ask.Roles = []string{"admin", "operator"}
	if out, err := s.decide(t); err != nil || out.Selected != best.ID {
		t.Errorf("with the role: Decide() = %q, %v, want %s", out.Selected, err, best.ID)
	}
}

func TestOnlyTheMostTrustedOfManyAreScored(t *testing.T) {
	t.Parallel()
	s := newScene(t, agent(t, "d", "0.5"), agent(t, "c", "0.5"), agent(t, "b", "0.9"), agent(t, "a", "0.4"))
	s.config.TopN = 2
	out, err := s.decide(t)
	want := []string{
		"prefilter agent:d_v1 prefilter", "prefilter agent:a_v1 prefilter",
		"score agent:b_v1 selectable", "score agent:c_v1 selectable",
	}
	if got := steps(out); err != nil || !slices.Equal(got, want) {
		t.Errorf("the trace is %q, %v, want %q", got, err, want)
	}
}

func TestWithoutAListTheAgentsThatListTheActionAreAsked(t *testing.T) {
	t.Parallel()
	saver, anything, forbidden, tool := agent(t, "saver", "0.3"), agent(t, "any", "0.2"), agent(t, "no", "1"), agent(t, "x", "1")
	saver.Policy.Allowed = []string{"save"}
	forbidden.Policy.Forbidden = []string{"save"}
	answerer := agent(t, "answerer", "1")
	answerer.Policy.Allowed = []string{"answer"}
	tool.ID, tool.Type = "tool:x_v1", "tool"
	g := agent(t, "generic_agent", "1")
	s := newScene(t, saver, anything, forbidden, tool, answerer, g)
	s.config.Intents = []job.Intent{{Action: "plan", Terms: []string{"plan"}}, {Action: "save", Terms: []string{"keep", "save"}}}
	s.config.HighRisk = []string{"save"}
	for _, c := range []struct{ query, action string }{
		{"Please SAVE this.", "save"}, {"save-it", "save"}, {"keep the plan", "plan"}, {"safe?", "answer"}, {"", "answer"}, {"unsaved", "answer"},
	} {
		if got := s.config.Action(c.query); got != c.action {
			t.Errorf("Action(%q) = %s, want %s", c.query, got, c.action)
		}
	}
	s.mind.Goals = nil
	s.ask.Query = "save this"
	out, err := s.decide(t)
	want := []string{"veto agent:no_v1 forbidden_action", "score agent:saver_v1 selectable", "score agent:any_v1 low_score"}
	if got := steps(out); err != nil || out.Selected != saver.ID || !slices.Equal(got, want) {
		t.Errorf("Decide() = %s, %v, with the trace %q, want %s and %q", out.Selected, err, got, saver.ID, want)
	}
	if !out.Approval || out.Action != "save" {
		t.Errorf("Decide() = action %s, approval %t, want save and an action request", out.Action, out.Approval)
	}
}

func TestAGoalCountsForThoseWhoCanServeIt(t *testing.T) {
	t.Parallel()
	a, b := agent(t, "a", "0.9"), agent(t, "b", "0.9")
	a.Policy.Allowed, b.Policy.Allowed = []string{"answer"}, []string{"answer", "verify"}
	s := newScene(t, a, b)
	s.mind.Goals = []job.OpenGoal{{Type: "verify", Priority: nano(t, "0.5")}, {Type: "verify", Priority: nano(t, "1")}, {Type: "plan", Priority: nano(t, "1")}}
	out, err := s.decide(t)
	if err != nil || out.Selected != b.ID || out.Candidates[0].Score.String() != "0.832000000" || out.Candidates[1].Score.String() != "0.632000000" {
		t.Errorf("Decide() = %s, %v, want %s ahead by its goal", out.Value(), err, b.ID)
	}
}

// R-T5 and R-T6.
func TestTheFallbackServesWhenNobodyIsSelectable(t *testing.T) {
	t.Parallel()
	weak, g := agent(t, "a", "0.1"), agent(t, "generic_agent", "0.2")
	for _, c := range []struct {
		name   string
		change func(*scene)
		want   string // the reason; empty: the fallback is chosen
	}{
		{"it may and can", func(*scene) {}, ""},
		{"there is none", func(s *scene) { s.nodes = s.nodes[:1] }, "fallback_not_usable"},
		{"none is configured", func(s *scene) { s.config.Fallback, s.ask.Candidates = "", []string{"agent:a_v1"} }, "fallback_not_usable"},
		{"it may not", func(s *scene) { s.nodes[1].Policy.Forbidden = []string{"answer"} }, "forbidden_action"},
		{"it has failed", func(s *scene) { s.ask.Dropped = []string{generic} }, "dropped"},
		{"it is quarantined", func(s *scene) { s.nodes[1].Status = job.Quarantined }, "status"},
		{"it is not available", func(s *scene) { s.nodes[1].APT = nano(t, "0.149999999") }, "low_availability"},
	} {
		s := newScene(t, weak, g)
		c.change(&s)
		out, err := s.decide(t)
		last := steps(out)[len(out.Trace)-1]
		if c.want == "" {
			if err != nil || out.Selected != generic || out.Depth != 0 || out.Tokens != 750 || out.ReasonTag != "fallback_generic" {
				t.Errorf("%s: Decide() = %s, %v, want %s with depth 0", c.name, out.Value(), err, generic)
			}
			continue
		}
		if fault.CodeOf(err) != job.ErrNoMatch || out.Error != "ROUTER_NO_MATCH" || out.Selected != "" || !strings.HasSuffix(last, c.want) {
			t.Errorf("%s: Decide() = %s, %v, want %v for %s", c.name, out.Value(), err, job.ErrNoMatch, c.want)
		}
	}
}

func TestWithoutASnapshotTheRouterDecidesNothing(t *testing.T) {
	t.Parallel()
	whole := newScene(t, agent(t, "a", "0.9")).input(t)
	for _, c := range []struct {
		drop func(*job.RouteInput)
		want []string
	}{
		{func(in *job.RouteInput) { in.Config = nil }, []string{"router_snapshot_id"}},
		{func(in *job.RouteInput) { in.SelfRep = nil }, []string{"selfrep_snapshot_id"}},
		{func(in *job.RouteInput) { in.Mind = nil }, []string{"brainstate_snapshot_id"}},
		{func(in *job.RouteInput) { *in = job.RouteInput{} }, []string{"selfrep_snapshot_id", "brainstate_snapshot_id", "router_snapshot_id"}},
	} {
		in := whole
		c.drop(&in)
		out, err := job.Decide(in)
		if fault.CodeOf(err) != job.ErrNoSnapshot || !slices.Equal(details(err), c.want) || len(out.Trace) != 0 {
			t.Errorf("Decide() = %v %q, want %v naming %q", err, details(err), job.ErrNoSnapshot, c.want)
		}
	}
}

// R-T7.
func TestAFailedAgentIsDroppedAndTheNextOneChosen(t *testing.T) {
	t.Parallel()
	s := newScene(t, agent(t, "b", "0.9"), agent(t, "a", "0.8"), agent(t, "c", "0.7"))
	var chosen []string
	for {
		out, err := s.decide(t)
		if err != nil {
			t.Fatal(err)
		}
		chosen = append(chosen, out.Selected)
		next, err := s.ask.Drop(out.Selected)
		if err != nil {
			if !errors.Is(err, job.ErrRepairLimit) || len(chosen) != 3 {
				t.Errorf("Drop(%s) = %v after %d attempts, want %v after 3", out.Selected, err, len(chosen), job.ErrRepairLimit)
			}
			break
		}
		if next.Iteration != s.ask.Iteration+1 || next.Attempts != s.ask.Attempts-1 || !slices.IsSorted(next.Dropped) {
			t.Errorf("Drop(%s) = %+v, want the next iteration with an attempt less", out.Selected, next)
		}
		s.ask = next
	}
	if want := []string{"agent:b_v1", "agent:a_v1", "agent:c_v1"}; !slices.Equal(chosen, want) {
		t.Errorf("the agents chosen in turn are %q, want %q", chosen, want)
	}
	s.ask.Attempts = 3
	for _, twice := range []string{s.ask.Dropped[0], ""} {
		if _, err := s.ask.Drop(twice); !errors.Is(err, job.ErrRequest) {
			t.Errorf("Drop(%q) = %v, want %v", twice, err, job.ErrRequest)
		}
	}
}

// R-T8, T-SR-06: what is recorded is all that a decision follows from, and every
// number in it comes out the same, bit for bit.
func TestADecisionIsTheSameFromWhatWasRecorded(t *testing.T) {
	t.Parallel()
	s := newScene(t, agent(t, "a", "0.9"), agent(t, "b", "0.1"))
	in := s.input(t)
	out, err := job.Decide(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"action":"answer","depth":2,"error":null,"ordered_candidates":[` +
		`{"availability_score":0.900000000,"final_score":0.792000000,"node_id":"agent:a_v1","reason":"selected"},` +
		`{"availability_score":0.100000000,"final_score":0.248000000,"node_id":"agent:b_v1","reason":"low_availability"}],` +
		`"reason_tag":null,"requires_action_request":false,` +
		`"route_trace":[{"node_id":"agent:a_v1","reason":"selectable","step":"score"},{"node_id":"agent:b_v1","reason":"low_availability","step":"score"}],` +
		`"router_snapshot_id":"3333333333333333333333333333333333333333333333333333333333333333",` +
		`"selected_agent":"agent:a_v1","token_budget":750,"trace_id":"trace-1"}`
	if got := encode(t, out.Value()); got != want {
		t.Errorf("RouteOutput.Value() =\n%s, want\n%s", got, want)
	}
	self, err := job.ParseSelfRep(parse(t, encode(t, in.SelfRep.Value())))
	if err != nil {
		t.Fatal(err)
	}
	config, err := job.ParseRouterConfig(parse(t, encode(t, in.Config.Value())))
	if err != nil {
		t.Fatal(err)
	}
	ask, err := job.ParseRouteRequest(parse(t, encode(t, in.Request.Value())))
	if err != nil {
		t.Fatal(err)
	}
	again, err := job.Decide(job.RouteInput{Config: &config, SelfRep: &self, Mind: in.Mind, Request: ask})
	if err != nil || encode(t, again.Value()) != want {
		t.Errorf("decided again from what was recorded = %s, %v, want %s", again.Value(), err, want)
	}
}

func TestARouterConfigurationIsReadStrictly(t *testing.T) {
	t.Parallel()
	c := job.StandardRouter()
	c.Intents = []job.Intent{{Action: "save", Terms: []string{"keep", "save"}}}
	c.Access = []job.Access{{Action: "plan", Roles: []string{"admin"}}, {Action: "save", Roles: []string{"admin", "operator"}}}
	text := encode(t, c.Value())
	back, err := job.ParseRouterConfig(parse(t, text))
	if err != nil || encode(t, back.Value()) != text {
		t.Fatalf("ParseRouterConfig(%s) = %s, %v, want it back", text, back.Value(), err)
	}
	for _, x := range []struct{ name, old, new string }{
		{"no weights", `"weights":{`, `"weight":{`},
		{"a weight as an integer", `"explore":0.100000000`, `"explore":0`},
		{"a weight above 1", `"explore":0.100000000`, `"explore":1.100000000`},
		{"a live metric", `"weights":{`, `"weights":{"latency":0.100000000,`},
		{"nobody scored", `"top_n":10`, `"top_n":0`},
		{"a tie that is not broken", `["apt_desc","node_id_asc"]`, `["apt_desc"]`},
		{"an unknown tie-break", `["apt_desc","node_id_asc"]`, `["random","node_id_asc"]`},
		{"a term in capitals", `["keep","save"]`, `["Keep","save"]`},
		{"a term of two words", `["keep","save"]`, `["keep it","save"]`},
		{"terms not sorted", `["keep","save"]`, `["save","keep"]`},
		{"a rule twice", `"action":"plan"`, `"action":"save"`},
		{"a negative floor", `"min_token_floor":128`, `"min_token_floor":-1`},
		{"no default action", `"default_action":"answer"`, `"default_action":""`},
	} {
		if !strings.Contains(text, x.old) {
			t.Fatalf("%s: %s does not stand in %s", x.name, x.old, text)
		}
		if _, err := job.ParseRouterConfig(parse(t, strings.Replace(text, x.old, x.new, 1))); !errors.Is(err, job.ErrRouterConfig) {
			t.Errorf("%s: ParseRouterConfig() = %v, want %v", x.name, err, job.ErrRouterConfig)
		}
	}
}

func TestARouteRequestIsReadStrictly(t *testing.T) {
	t.Parallel()
	ask := newScene(t).ask
	ask.Candidates, ask.Dropped, ask.Roles = []string{"agent:a_v1", "agent:b_v1"}, []string{"agent:c_v1"}, []string{"admin"}
	text := encode(t, ask.Value())
	back, err := job.ParseRouteRequest(parse(t, text))
	if err != nil || encode(t, back.Value()) != text {
		t.Fatalf("ParseRouteRequest(%s) = %s, %v, want it back", text, back.Value(), err)
	}
	for _, x := range []struct{ name, old, new string }{
		{"a live metric", `"pii":false`, `"cpu":0.5,"pii":false`},
		{"no attempt left", `"attempts_left":3`, `"attempts_left":0`},
		{"candidates not sorted", `["agent:a_v1","agent:b_v1"]`, `["agent:b_v1","agent:a_v1"]`},
		{"a candidate twice", `["agent:a_v1","agent:b_v1"]`, `["agent:a_v1","agent:a_v1"]`},
		{"no snapshot", `"` + strings.Repeat("3", 64) + `"`, `null`},
		{"no seed", `"job_seed":"seed-0001"`, `"job_seed":""`},
	} {
		if _, err := job.ParseRouteRequest(parse(t, strings.Replace(text, x.old, x.new, 1))); !errors.Is(err, job.ErrRequest) {
			t.Errorf("%s: ParseRouteRequest() = %v, want %v", x.name, err, job.ErrRequest)
		}
	}
	if _, err := job.ParseRouteRequest(canon.Value{}); !errors.Is(err, job.ErrRequest) {
		t.Errorf("ParseRouteRequest of nothing = %v, want %v", err, job.ErrRequest)
	}
}
