package trajectory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// shelf is a world of things by kind and id.
type shelf map[[2]string]canon.Value

func (s shelf) Find(kind, id string) (int64, canon.Value, bool) {
	v, ok := s[[2]string{kind, id}]
	return 1, v, ok
}

const compileTools = `[
	{"name":"refund","version":"1","effect":"external","risk":"medium",
	 "args":{"type":"object","properties":{"order":{"type":"string"},"amount":{"type":"number","maximum":99.5}},"required":["order"],"additionalProperties":false},
	 "estimate":{"tokens":10,"tool_calls":1,"wall_clock_ms":5,"usd_millicents":2},
	 "when":[{"text":"the order is open","condition":{"field":"world.order.{intent.args.order}","op":"eq","value":"open"}}],
	 "transport":{}},
	{"name":"wipe","version":"1","effect":"irreversible","risk":"critical","args":{},"estimate":{"tokens":0,"tool_calls":0,"wall_clock_ms":0,"usd_millicents":0},"transport":{}},
	{"name":"wire","version":"1","effect":"irreversible","risk":"low","args":{},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},
	 "undo":{"tool":"refund","args":{"order":"{args.order}"}},"transport":{}},
	{"name":"look","version":"1","effect":"read","args":{},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"transport":{}},
	{"name":"memory_store","version":"1","effect":"write","args":{},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"transport":{}},
	{"name":"delegate","version":"1","effect":"write","args":{},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"transport":{}}
]`

func registry(t testing.TB, text string) *trajectory.Registry {
	t.Helper()
	r, err := trajectory.ParseRegistry(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func policies(t testing.TB, texts ...string) trajectory.PolicySet {
	t.Helper()
	var bundles []trajectory.Bundle
	for _, text := range texts {
		p, err := trajectory.ParsePolicy(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		bundles = append(bundles, trajectory.Bundle{Policy: p})
	}
	s, err := trajectory.NewPolicySet(bundles...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	denyRefunds = `{"name":"shop","rules":[{"name":"no-refunds","when":{"field":"intent.target","op":"eq","value":"refund"},` +
		`"decision":{"kind":"deny","reason":"refunds are closed"}}]}`
	askForRefunds = `{"name":"shop","version":"2","rules":[{"name":"ask","when":{"field":"intent.target","op":"in","value":["refund","wipe"]},` +
		`"decision":{"kind":"require_approval","channel":"ops","reason":"money leaves"}}]}`
)

// refundCase is an intent that passes every gate of refundCompiler.
func refundCase(t testing.TB) *trajectory.Case {
	t.Helper()
	return &trajectory.Case{
		Intent: &trajectory.Intent{Author: "agent", Kind: trajectory.IntentAct, Target: "refund", Args: parse(t, `{"order":"o1","amount":{"$number":"12.50"}}`)},
		Writ:   issue(t, rootBody(t), signer(t, "A")),
		Now:    150,
		World:  shelf{{"order", "o1"}: canon.String("open")},
	}
}

func refundCompiler(t testing.TB) *trajectory.Compiler {
	t.Helper()
	return &trajectory.Compiler{Registry: registry(t, compileTools)}
}

func TestCleanIntentIsStaged(t *testing.T) {
	t.Parallel()
	k, c := refundCase(t), refundCompiler(t)
	p, r := c.Compile(k)
	if r != nil {
		t.Fatal(r)
	}
	if p.Status.Kind != trajectory.Staged || p.Tool != "refund" || p.WritID != k.Writ.ID || p.IntentID != intentID(t, *k.Intent) ||
		p.Trace.Decision.Kind != trajectory.Permit || !slices.Equal(p.Trace.Rules, []string{trajectory.AuthorityRule}) {
		t.Errorf("Compile = %+v", p)
	}
	if back, err := trajectory.ParseProposal(p.Value()); err != nil || proposalID(t, back) != proposalID(t, *p) {
		t.Errorf("ParseProposal(%s) = %+v, %v", p.Value(), back, err)
	}
	again, _ := c.Compile(k)
	if proposalID(t, *again) != proposalID(t, *p) {
		t.Error("compiling again gives another proposal")
	}
	k.Intent.Routing = parse(t, routing)
	routed, _ := c.Compile(k)
	if proposalID(t, *routed) != proposalID(t, *p) || !routed.Routing.Equal(k.Intent.Routing) {
		t.Errorf("with routing evidence: %+v, want the same id and the evidence beside it", routed)
	}
}

// breaks lists, in the order of the gates, a change that each gate refuses.
var breaks = []struct {
	gate   trajectory.Gate
	kind   trajectory.RejectionKind
	says   string
	change func(testing.TB, *trajectory.Compiler, *trajectory.Case)
}{
	{trajectory.GateKind, trajectory.TypeMismatch, "plan", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Intent.Kind = trajectory.IntentPlan
	}},
	{trajectory.GateSignature, trajectory.AuthorityVoid, "signature", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Writ.Signature[0] ^= 1
	}},
	{trajectory.GateRevocation, trajectory.AuthorityVoid, "revoked", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Revoked = func(canon.Digest) bool { return true }
	}},
	{trajectory.GateWindow, trajectory.AuthorityVoid, "expired", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Now = 201
	}},
	{trajectory.GateScope, trajectory.AuthorityVoid, "skill reader does not cover", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Skill = &trajectory.Skill{Name: "reader", Tools: []string{"look"}, Ceiling: k.Writ.Body.Ceiling}
	}},
	{trajectory.GateTool, trajectory.UnknownTool, "refund", func(t testing.TB, c *trajectory.Compiler, _ *trajectory.Case) {
		c.Registry = registry(t, `[]`)
	}},
	{trajectory.GateCeiling, trajectory.AuthorityVoid, "effect external", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		if k.Skill == nil {
			k.Skill = &trajectory.Skill{Name: "reader", Ceiling: k.Writ.Body.Ceiling}
		}
		k.Skill.Ceiling.External = false
	}},
	{trajectory.GateBudget, trajectory.BudgetExhausted, `"tokens":991`, func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Spent = trajectory.Budget{Tokens: 991}
	}},
	{trajectory.GateArguments, trajectory.TypeMismatch, "/amount", func(t testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.Intent.Args = parse(t, `{"order":"o1","amount":{"$number":"99.51"}}`)
	}},
	{trajectory.GatePrecondition, trajectory.PreconditionFailed, "the order is open", func(_ testing.TB, _ *trajectory.Compiler, k *trajectory.Case) {
		k.World = shelf{}
	}},
	{trajectory.GatePolicy, trajectory.PolicyDenied, "refunds are closed", func(t testing.TB, c *trajectory.Compiler, _ *trajectory.Case) {
		c.Policies = policies(t, denyRefunds)
	}},
}

// A.5 runtime: compiler_rejection: each gate refuses before execution, for its
// own reason.
func TestEachGateRefusesForItsReason(t *testing.T) {
	t.Parallel()
	for _, b := range breaks {
		k, c := refundCase(t), refundCompiler(t)
		b.change(t, c, k)
		p, r := c.Compile(k)
		if p != nil || r == nil {
			t.Errorf("%s broken: Compile = %+v, want a rejection", b.gate, p)
			continue
		}
		if r.Gate != b.gate || r.Kind != b.kind || !strings.Contains(r.Detail, b.says) {
			t.Errorf("%s broken: Compile = %s at gate %q, want %s that says %q", b.gate, r.Error(), r.Gate, b.kind, b.says)
		}
		if (r.Kind == trajectory.TypeMismatch) != (r.Tool == "refund") {
			t.Errorf("%s broken: the rejection names the tool %q", b.gate, r.Tool)
		}
		if _, err := trajectory.ParseRejection(r.Value()); err != nil {
			t.Errorf("%s broken: %v", b.gate, err)
		}
		if r.Kind == trajectory.PolicyDenied && (r.Trace == nil || r.Trace.Rules[len(r.Trace.Rules)-1] != "shop@1/no-refunds") {
			t.Errorf("the denial does not say which rule denied: %+v", r.Trace)
		}
	}
}

// A.5 runtime: compiler_rejection: the order of the gates. With a gate broken
// and all that come after it, that gate is the one that refuses.
func TestGatesRefuseInTheirOrder(t *testing.T) {
	t.Parallel()
	for i, b := range breaks {
		for j := i + 1; j < len(breaks); j++ {
			k, c := refundCase(t), refundCompiler(t)
			b.change(t, c, k)
			breaks[j].change(t, c, k)
			if _, r := c.Compile(k); r == nil || r.Gate != b.gate {
				t.Errorf("%s and %s broken: Compile = %v, want the gate %q to refuse", b.gate, breaks[j].gate, r, b.gate)
			}
		}
		k, c := refundCase(t), refundCompiler(t)
		for _, later := range breaks[i:] {
			later.change(t, c, k)
		}
		if _, r := c.Compile(k); r == nil || r.Gate != b.gate {
			t.Errorf("%s and everything after it broken: Compile = %v, want the gate %q to refuse", b.gate, r, b.gate)
		}
	}
}

func TestOnlyThreeKindsOfIntentLeadToACall(t *testing.T) {
	t.Parallel()
	for kind, tool := range map[trajectory.IntentKind]string{
		trajectory.IntentAct: "look", trajectory.IntentMemoryPromote: "memory_store", trajectory.IntentDelegate: "delegate",
		trajectory.IntentPlan: "", trajectory.IntentQuery: "", trajectory.IntentReconcile: "", "unknown": "",
	} {
		k := refundCase(t)
		k.Intent.Kind, k.Intent.Target = kind, "look"
		p, r := refundCompiler(t).Compile(k)
		if tool == "" && (r == nil || r.Gate != trajectory.GateKind) || tool != "" && (r != nil || p.Tool != tool) {
			t.Errorf("kind %s: Compile = %+v, %v, want the tool %q", kind, p, r, tool)
		}
	}
}

func TestWindowAndScopeOfTheWritAreHeld(t *testing.T) {
	t.Parallel()
	for now, want := range map[uint64]bool{99: false, 100: true, 200: true, 201: false} {
		k := refundCase(t)
		k.Now = now
		if _, r := refundCompiler(t).Compile(k); (r == nil) != want {
			t.Errorf("at %d: Compile = %v, want allowed %t", now, r, want)
		}
	}
	k := refundCase(t)
	b := rootBody(t)
	b.Scopes = []string{"refunds", "ref"}
	k.Writ = issue(t, b, signer(t, "A"))
	k.Skill = &trajectory.Skill{Name: "any", Ceiling: b.Ceiling}
	if _, r := refundCompiler(t).Compile(k); r == nil || r.Gate != trajectory.GateScope || !strings.HasPrefix(r.Detail, "the writ does not cover") {
		t.Errorf("Compile = %v, want that the writ does not cover the tool", r)
	}
}

// The budget is compared counter by counter, at its edge and where a sum would
// not fit. A call counts as one, whatever its tool declares.
func TestBudgetGateAtItsEdge(t *testing.T) {
	t.Parallel()
	unlimited := trajectory.Budget{Tokens: most, ToolCalls: most, WallClockMS: most, USDMillicents: most}
	for _, c := range []struct {
		name         string
		limit, spent trajectory.Budget
		skill        *trajectory.Budget
		tool         string
		ok           bool
	}{
		{"exactly enough", trajectory.Budget{Tokens: 10, ToolCalls: 1, WallClockMS: 5, USDMillicents: 2}, trajectory.Budget{}, nil, "refund", true},
		{"a token short", trajectory.Budget{Tokens: 9, ToolCalls: 1, WallClockMS: 5, USDMillicents: 2}, trajectory.Budget{}, nil, "refund", false},
		{"a call short", trajectory.Budget{Tokens: 10, WallClockMS: 5, USDMillicents: 2}, trajectory.Budget{}, nil, "refund", false},
		{"a millisecond short", trajectory.Budget{Tokens: 10, ToolCalls: 1, WallClockMS: 4, USDMillicents: 2}, trajectory.Budget{}, nil, "refund", false},
		{"money short", trajectory.Budget{Tokens: 10, ToolCalls: 1, WallClockMS: 5, USDMillicents: 1}, trajectory.Budget{}, nil, "refund", false},
		{"used up to the edge", trajectory.Budget{Tokens: 20, ToolCalls: 2, WallClockMS: 10, USDMillicents: 4}, trajectory.Budget{Tokens: 10, ToolCalls: 1, WallClockMS: 5, USDMillicents: 2}, nil, "refund", true},
		{"no sum wraps around", unlimited, unlimited, nil, "refund", false},
		{"overspent before", trajectory.Budget{Tokens: 5, ToolCalls: 9, WallClockMS: 9, USDMillicents: 9}, trajectory.Budget{Tokens: 6}, nil, "look", false},
		{"the skill caps", unlimited, trajectory.Budget{}, &trajectory.Budget{Tokens: 9, ToolCalls: 9, WallClockMS: 9, USDMillicents: 9}, "refund", false},
		{"declared as no call", trajectory.Budget{}, trajectory.Budget{}, nil, "wipe", false},
	} {
		k := refundCase(t)
		b := rootBody(t)
		b.Budget = c.limit
		k.Writ, k.Spent, k.Intent.Target = issue(t, b, signer(t, "A")), c.spent, c.tool
		if c.skill != nil {
			k.Skill = &trajectory.Skill{Name: "capped", Ceiling: b.Ceiling, Cap: c.skill}
		}
		_, r := refundCompiler(t).Compile(k)
		if (r == nil) != c.ok || r != nil && r.Gate != trajectory.GateBudget {
			t.Errorf("%s: Compile = %v, want allowed %t", c.name, r, c.ok)
		}
	}
}

func TestArgumentsThatAreNotLiftedAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"order":"o1","amount":12.5}`, `{"order":"o1","amount":{"$number":"12"}}`, `{"order":1}`, `{}`, `null`, `{"order":"o1","x":1}`} {
		k := refundCase(t)
		k.Intent.Args = parse(t, args)
		_, r := refundCompiler(t).Compile(k)
		if r == nil || r.Kind != trajectory.TypeMismatch {
			t.Errorf("arguments %s: Compile = %v, want %s", args, r, trajectory.TypeMismatch)
		}
	}
	k := refundCase(t)
	k.Intent.Args = canon.Value{}
	k.Intent.Target = strings.Repeat("x", 10_000)
	if _, r := refundCompiler(t).Compile(k); r == nil || r.Kind != trajectory.UnknownTool {
		t.Errorf("a name without end: Compile = %v", r)
	} else if _, err := trajectory.ParseRejection(r.Value()); err != nil {
		t.Errorf("a name without end makes a rejection that no entry holds: %v", err)
	}
}

// family is a root writ, a child and a grandchild.
func family(t testing.TB) []*trajectory.Writ {
	t.Helper()
	root := issue(t, rootBody(t), signer(t, "A"))
	child, err := delegate(t, root, func(*trajectory.WritBody) {})
	if err != nil {
		t.Fatal(err)
	}
	b := child.Body
	b.Subject, b.SubjectKey, b.Delegation.MaxDepth = "grandchild", signer(t, "B").Public(), 1
	grand, err := trajectory.Delegate(&child, b, signer(t, "A"))
	if err != nil {
		t.Fatal(err)
	}
	return []*trajectory.Writ{root, &child, &grand}
}

// A.5 runtime: revocation (self, parent, restore). A grandparent counts too.
func TestRevocationOfSelfParentAndRestore(t *testing.T) {
	t.Parallel()
	writs := family(t)
	k, c := refundCase(t), refundCompiler(t)
	k.Writ, k.Ancestors = writs[2], writs[:2]
	revoked := map[canon.Digest]bool{}
	k.Revoked = func(id canon.Digest) bool { return revoked[id] }
	for i, name := range []string{"grandparent", "parent", "self"} {
		if _, r := c.Compile(k); r != nil {
			t.Fatalf("before the %s is revoked: Compile = %v", name, r)
		}
		revoked[writs[i].ID] = true
		if _, r := c.Compile(k); r == nil || r.Gate != trajectory.GateRevocation || r.Kind != trajectory.AuthorityVoid || !strings.Contains(r.Detail, writs[i].ID.String()) {
			t.Errorf("%s revoked: Compile = %v, want %s that names it", name, r, trajectory.AuthorityVoid)
		}
		delete(revoked, writs[i].ID) // restored
	}
	revoked[digest(t, strings.Repeat("ab", 32))] = true
	if _, r := c.Compile(k); r != nil {
		t.Errorf("with another writ revoked: Compile = %v", r)
	}
}

func TestChildWritNeedsItsAncestors(t *testing.T) {
	t.Parallel()
	writs := family(t)
	for name, ancestors := range map[string][]*trajectory.Writ{
		"none":               nil,
		"the root only":      writs[:1],
		"the parent only":    writs[1:2],
		"in the wrong order": {writs[1], writs[0]},
		"too many":           slices.Repeat(writs[:1], trajectory.MaxChain),
	} {
		k := refundCase(t)
		k.Writ, k.Ancestors = writs[2], ancestors
		if _, r := refundCompiler(t).Compile(k); r == nil || r.Gate != trajectory.GateSignature {
			t.Errorf("ancestors %s: Compile = %v, want a rejection at %q", name, r, trajectory.GateSignature)
		}
	}
}

// A.5 runtime: risk gate (below, at, above, none).
func TestRiskGateBelowAtAboveNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool  string // refund is medium, wipe critical, wire low, look says nothing
		at    trajectory.Risk
		waits bool
	}{
		{"wire", trajectory.RiskMedium, false},
		{"refund", trajectory.RiskMedium, true},
		{"wipe", trajectory.RiskMedium, true},
		{"look", trajectory.RiskLow, false},
		{"wipe", "", false},
		{"wipe", trajectory.RiskCritical, true},
		{"refund", trajectory.RiskCritical, false},
		{"look", "hihg", true}, // what is misspelt asks for everything
	} {
		k, comp := refundCase(t), refundCompiler(t)
		k.Intent.Target, comp.RiskAt = c.tool, c.at
		p, r := comp.Compile(k)
		if r != nil {
			t.Errorf("%s at %q: %v", c.tool, c.at, r)
			continue
		}
		checkSuspended(t, fmt.Sprintf("%s at %q", c.tool, c.at), p, c.waits, trajectory.ChannelRisk, trajectory.RuleRisk)
	}
}

// A.5 runtime: compensation, gate on/off. Only what is irreversible and cannot
// be taken back waits, and only where the gate is on.
func TestIrreversibleGateOnAndOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool  string
		on    bool
		waits bool
	}{{"wipe", true, true}, {"wipe", false, false}, {"wire", true, false}, {"refund", true, false}, {"look", true, false}} {
		k, comp := refundCase(t), refundCompiler(t)
		k.Intent.Target, comp.GateIrreversible = c.tool, c.on
		p, r := comp.Compile(k)
		if r != nil {
			t.Errorf("%s: %v", c.tool, r)
			continue
		}
		checkSuspended(t, fmt.Sprintf("%s, gate %t", c.tool, c.on), p, c.waits, trajectory.ChannelIrreversible, trajectory.RuleIrreversible)
	}
}

// checkSuspended holds that a proposal waits on a channel, and that its trace
// says so.
func checkSuspended(t testing.TB, name string, p *trajectory.Proposal, waits bool, channel, rule string) {
	t.Helper()
	if !waits {
		if p.Status.Kind != trajectory.Staged || p.Trace.Decision.Kind != trajectory.Permit {
			t.Errorf("%s: %s, want staged", name, p.Value())
		}
		return
	}
	d := p.Trace.Decision
	if p.Status.Kind != trajectory.Suspended || p.Status.Channel != channel || p.Status.Reason == "" ||
		d.Kind != trajectory.RequireApproval || d.Channel != channel || d.Reason != p.Status.Reason || !slices.Contains(p.Trace.Rules, rule) {
		t.Errorf("%s: %s, want suspended on %s by %s", name, p.Value(), channel, rule)
	}
}

// Of several that would ask, the first is asked, and the trace names all.
func TestFirstWhoAsksIsAsked(t *testing.T) {
	t.Parallel()
	k, c := refundCase(t), refundCompiler(t)
	k.Intent.Target, c.GateIrreversible, c.RiskAt = "wipe", true, trajectory.RiskHigh
	p, r := c.Compile(k)
	if r != nil || p.Status.Channel != trajectory.ChannelIrreversible || !slices.Contains(p.Trace.Rules, trajectory.RuleRisk) {
		t.Errorf("Compile = %+v, %v, want it to wait on %s", p, r, trajectory.ChannelIrreversible)
	}
	c.Policies = policies(t, askForRefunds)
	p, r = c.Compile(k)
	want := []string{trajectory.AuthorityRule, "shop@2", "shop@2/ask", trajectory.RuleIrreversible, trajectory.RuleRisk}
	if r != nil || p.Status.Channel != "ops" || p.Status.Reason != "money leaves" || !slices.Equal(p.Trace.Rules, want) {
		t.Errorf("Compile = %+v, %v, want it to wait on ops after %v", p, r, want)
	}
}

// A.6.11: an approval re-checks the writ, and all else that may have changed
// while the proposal waited.
func TestRecheckHoldsWhatMayHaveChanged(t *testing.T) {
	t.Parallel()
	suspended := func() (*trajectory.Compiler, *trajectory.Case, *trajectory.Proposal) {
		k, c := refundCase(t), refundCompiler(t)
		c.Policies, c.RiskAt = policies(t, askForRefunds), trajectory.RiskLow
		p, r := c.Compile(k)
		if r != nil || p.Status.Kind != trajectory.Suspended {
			t.Fatalf("Compile = %+v, %v, want it suspended", p, r)
		}
		return c, k, p
	}
	c, k, p := suspended()
	if r := c.Recheck(k, p); r != nil {
		t.Errorf("Recheck with nothing changed = %v", r)
	}
	for _, b := range breaks {
		c, k, p := suspended()
		b.change(t, c, k)
		want := b.gate
		if want == trajectory.GateArguments { // another intent than the one approved
			want = trajectory.GateKind
		}
		if r := c.Recheck(k, p); r == nil || r.Gate != want {
			t.Errorf("%s broken while it waited: Recheck = %v, want the gate %q to refuse", b.gate, r, want)
		}
	}
	for name, change := range map[string]func(*trajectory.Proposal){
		"intent":    func(p *trajectory.Proposal) { p.IntentID[0]++ },
		"writ":      func(p *trajectory.Proposal) { p.WritID[0]++ },
		"tool":      func(p *trajectory.Proposal) { p.Tool = "look" },
		"arguments": func(p *trajectory.Proposal) { p.Args = parse(t, `{"order":"o1","amount":{"$number":"13.50"}}`) },
	} {
		c, k, p := suspended()
		change(p)
		if r := c.Recheck(k, p); r == nil || r.Kind != trajectory.AuthorityVoid {
			t.Errorf("approved for another %s: Recheck = %v, want %s", name, r, trajectory.AuthorityVoid)
		}
	}
}

func ExampleCompiler() {
	key, _ := sign.NewPrivateKey(make([]byte, 32))
	writ, _ := trajectory.IssueWrit(trajectory.WritBody{
		Issuer: "ops", IssuerKey: key.Public(), Subject: "agent", SubjectKey: key.Public(),
		Scopes: []string{"kv_*"}, Budget: trajectory.Budget{ToolCalls: 10},
		Ceiling: trajectory.Ceiling{Read: true}, Window: trajectory.Window{ExpiresAt: 2_000_000_000},
	}, key)
	tools, _ := canon.Parse([]byte(`[{"name":"kv_set","version":"1","effect":"write","args":{"type":"object"},
		"estimate":{"tokens":0,"tool_calls":1,"usd_millicents":0,"wall_clock_ms":0},"transport":{}}]`))
	list, _ := trajectory.ParseRegistry(tools)
	c := trajectory.Compiler{Registry: list}
	_, refused := c.Compile(&trajectory.Case{
		Intent: &trajectory.Intent{Author: "agent", Kind: trajectory.IntentAct, Target: "kv_set", Args: canon.Object()},
		Writ:   &writ, Now: 1_800_000_000,
	})
	fmt.Println(refused.Gate)
	fmt.Println(refused)
	// Output:
	// effect ceiling
	// trajectory.authority_void: the tool kv_set has the effect write, which is not allowed
}
