package trajectory_test

import (
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func wantWorld(t *testing.T, x *started, want ...string) {
	t.Helper()
	if got := x.world(); !slices.Equal(got, want) {
		t.Errorf("world = %v, want %v", got, want)
	}
}

// kinds returns "kind name" of every entry that is not part of a call.
func kinds(x *started) []string {
	var out []string
	for _, o := range x.entries() {
		if o.Kind != ledger.KindCall && o.Kind != ledger.KindOutcome {
			out = append(out, string(o.Kind)+" "+o.Body.Get("name").Str())
		}
	}
	return out
}

func TestAModelProposesAndACommitChangesTheWorld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{
		calls("kv_set", `{"key":"greeting","value":"hello"}`),
		calls("kv_get", `{"key":"greeting"}`, "kv_set", `{"key":"n","value":1.5}`),
		says("stored"),
	}
	x := r.start(r.charter(nil))
	x.seal()
	want := []string{
		"open ", "decision intent", "decision proposal", "commit kv_set",
		"decision intent", "decision proposal", "commit kv_get", "decision intent", "decision proposal", "commit kv_set",
		"result agent", "seal ",
	}
	if got := kinds(x); !slices.Equal(got, want) {
		t.Errorf("entries = %q\nwant      %q", got, want)
	}
	wantWorld(t, x, `kv/greeting="hello"`, `kv/n={"$number":"1.5"}`)
	if got := r.asked; len(got) != 3 || got[0] != "do it" || got[2] != `{"key":"n","value":1.5}` {
		t.Errorf("the model was told %q", got)
	}
	x.sound()
}

func TestARefusalIsAnEntryAndTheModelGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{
		calls("rm_rf", `{}`, "kv_set", `{"key":1}`, "kv_set", `not json`, "kv_set", `{"key":"secret","value":1}`, "kv_set", `{"key":"a","value":1}`),
		says("done"),
	}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		c.Policies = r.policy(`{"name":"no-secrets","when":{"field":"intent.args.key","op":"eq","value":"secret"},"decision":{"kind":"deny","reason":"not that"}}`)
	}))
	x.seal()
	var got []string
	for _, o := range x.all(ledger.KindRejection, "") {
		got = append(got, o.Data().Get("reason").Get("kind").Str())
	}
	want := []string{"unknown_tool", "type_mismatch", "type_mismatch", "policy_denied"}
	if !slices.Equal(got, want) {
		t.Errorf("rejections = %v, want %v", got, want)
	}
	trace, err := trajectory.ParseTrace(x.all(ledger.KindRejection, "")[3].Data().Get("policy_trace"))
	if rules := []string{trajectory.AuthorityRule, "ops@1", "ops@1/no-secrets"}; err != nil || !slices.Equal(trace.Rules, rules) || trace.Decision.Reason != "not that" {
		t.Errorf("the refusal's trace = %+v, %v; want %v", trace, err, rules)
	}
	wantWorld(t, x, "kv/a=1")
	x.sound()
}

// spec: T-28, T-30
func TestEveryCommitSaysItsProposalAndWhichRulesAllowedIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{calls("kv_set", `{"key":"a","value":1}`, "kv_set", `{"key":"b","value":2}`), says("done")}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		c.Policies = r.policy(`{"name":"let-a","when":{"field":"intent.args.key","op":"eq","value":"a"},"decision":{"kind":"permit"}}`)
	}))
	x.seal()
	staged := x.all(ledger.KindDecision, trajectory.NameProposal)
	for i, want := range [][]string{{trajectory.AuthorityRule, "ops@1", "ops@1/let-a"}, {trajectory.AuthorityRule, "ops@1"}} {
		c, _, err := trajectory.ParseCommit(x.all(ledger.KindCommit, "")[i].Body)
		if err != nil || !slices.Equal(c.Trace.Rules, want) || c.Trace.Decision.Kind != trajectory.Permit {
			t.Errorf("commit %d: trace %+v, %v; want %v", i, c.Trace, err, want)
		}
		p, err := trajectory.ParseProposalEntry(staged[i].Data())
		if id, _ := p.ID(); err != nil || id != c.Proposal {
			t.Errorf("commit %d is of proposal %s, and %s was staged, %v", i, c.Proposal, id, err)
		}
	}
	x.sound()
}

const payTool = `,"changes":[{"op":"create","kind":"payment","id":"{args.id}","value":{"amount":"{args.amount}"}}]`

const askAbove1000 = `{"name":"big","when":{"field":"intent.args.amount","op":"gt","value":1000},"decision":{"kind":"require_approval","channel":"finance","reason":"over 1000"}}`

// paying returns a rig whose agent pays 5000, which finance must approve.
func paying(t *testing.T, need int) (*rig, *trajectory.Charter) {
	r := newRig(t)
	r.script["agent"] = []string{calls("pay", `{"id":"p1","amount":5000}`), says("paid")}
	r.tools["pay"] = func(canon.Value, *effect.Call) (effect.Outcome, error) { return output(`{"ok":true}`) }
	return r, r.charter(func(c *trajectory.Charter) {
		c.Registry = r.registry(declare("pay", "irreversible", payTool))
		c.Policies = r.policy(askAbove1000)
		c.Channels = []trajectory.Channel{{Name: "finance", Quorums: []govern.Quorum{{Need: need, Roles: []govern.Role{govern.Approver}}}}}
	})
}

// spec: T-29
func TestAProposalWaitsForAPerson(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	x := r.start(c)
	if x.st.Done || r.called != 0 {
		t.Fatalf("done %v, %d tools called; want it to wait", x.st.Done, r.called)
	}
	pending := x.all(ledger.KindPendingApproval, "")[0].Data()
	p, err := trajectory.ParseProposalEntry(pending.Get("proposal"))
	if err != nil || p.Tool != "pay" || len(p.Trace.Rules) == 0 || p.Trace.Decision.Kind != trajectory.RequireApproval {
		t.Errorf("the entry holds %+v, %v; want the proposal with its trace", p, err)
	}
	x.approve("bob", govern.Approve)
	x.seal()
	if r.called != 1 {
		t.Errorf("the tool was called %d times, want once", r.called)
	}
	commit := x.all(ledger.KindCommit, "pay")[0]
	body, _, err := trajectory.ParseCommit(commit.Body)
	if id, _ := p.ID(); err != nil || body.Proposal != id || body.Trace.Decision.Kind != trajectory.RequireApproval {
		t.Errorf("commit = %+v, %v; want the proposal that was approved", body, err)
	}
	wantWorld(t, x, `payment/p1={"amount":5000}`)
	x.sound()
}

// A.5 quorum: n distinct approvers, one denial vetoes
func TestAQuorumNeedsDistinctApprovers(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 2)
	x := r.start(c)
	x.approve("bob", govern.Approve)
	x.approve("bob", govern.Approve)
	if x.st.Done || r.called != 0 {
		t.Fatal("one approver counted twice")
	}
	x.approve("eve", govern.Approve)
	x.seal()
	if r.called != 1 {
		t.Errorf("the tool was called %d times, want once", r.called)
	}
	x.sound()

	r, c = paying(t, 2)
	x = r.start(c)
	x.approve("bob", govern.Approve)
	x.approve("eve", govern.Deny)
	x.seal()
	rej := x.all(ledger.KindRejection, "")
	if r.called != 0 || len(rej) != 1 || rej[0].Data().Get("reason").Get("detail").Str() != "approval denied by operator" {
		t.Errorf("called %d, rejections %d; want a veto", r.called, len(rej))
	}
	x.sound()
}

func TestAnApprovalCountsForExactlyWhatWasShown(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	x := r.start(c)
	m := x.matter()
	for _, c := range []struct {
		name  string
		actor string
		role  govern.Role
		edit  func(*govern.Matter)
		code  string
	}{
		{"another proposal", "bob", govern.Approver, func(m *govern.Matter) { m.Subject = m.Ledger }, "govern.other_matter"},
		{"other arguments", "bob", govern.Approver, func(m *govern.Matter) { m.Bound[0] ^= 1 }, "govern.other_matter"},
		{"another trajectory", "bob", govern.Approver, func(m *govern.Matter) { m.Ledger = "elsewhere" }, "govern.other_matter"},
		{"a role that has no say", "ada", govern.Operator, func(*govern.Matter) {}, "govern.role_denied"},
	} {
		other := m
		c.edit(&other)
		x.act(ledger.KindApproval, trajectory.EventApproval, c.actor, c.role, govern.Approve, other)
		refused := x.all(ledger.KindDecision, trajectory.NameRefused)
		if last := refused[len(refused)-1].Data(); last.Get("code").Str() != c.code || r.called != 0 {
			t.Errorf("%s: %s, %d tools called; want %s", c.name, last, r.called, c.code)
		}
	}
	x.sound()
}

// A.6.11: an approval does not stand for what no longer holds
func TestAnApprovalDoesNotReviveAWrit(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	x := r.start(c)
	r.clock = r.clock.AddDate(10, 0, 0)
	x.approve("bob", govern.Approve)
	x.seal()
	rej := x.all(ledger.KindRejection, "")
	if r.called != 0 || len(rej) != 1 || rej[0].Data().Get("reason").Get("kind").Str() != "authority_void" {
		t.Errorf("called %d, rejections %v; want authority_void", r.called, rej)
	}
	x.sound()
}

// A.5 revocation: self, parent, restore
func TestARevokedWritAllowsNothingUntilItIsRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.charter(func(c *trajectory.Charter) { c.Agents[0].Model = canon.Value{} })
	x := r.start(c)
	propose := func(nonce int) {
		x.receive(ledger.KindEvent, trajectory.EventIntent, "agent", canon.Object(canon.M("intent", r.value(
			`{"args":{"key":"k%d","value":1},"author":"agent","kind":"act","nonce":[%d,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"parent_commit":null,"rationale":"","target":"kv_set"}`, nonce, nonce))))
	}
	matter := govern.Matter{Ledger: x.m.Trajectory().String(), Subject: c.Writs[0].ID.String(), Bound: c.Writs[0].ID}
	propose(1)
	x.act(ledger.KindEvent, trajectory.EventRevoked, "ada", govern.Admin, govern.Revoke, matter)
	propose(2)
	x.act(ledger.KindEvent, trajectory.EventRestored, "ada", govern.Admin, govern.Restore, matter)
	propose(3)
	wantWorld(t, x, "kv/k1=1", "kv/k3=1")
	if rej := x.all(ledger.KindRejection, ""); len(rej) != 1 || rej[0].Data().Get("gate").Str() != "revocation" {
		t.Errorf("rejections = %v, want one at the gate of revocation", rej)
	}
	x.receive(ledger.KindEvent, trajectory.EventFinish, "agent", canon.Object(canon.M("agent", canon.String("agent"))))
	x.seal()
	x.sound()
}

// A.5 idempotency: irreversible at most once per proposal
func TestAnIntentIsDoneOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.tools["pay"] = func(canon.Value, *effect.Call) (effect.Outcome, error) { return output(`{"ok":true}`) }
	x := r.start(r.charter(func(c *trajectory.Charter) {
		c.Agents[0].Model = canon.Value{}
		c.Registry = r.registry(declare("pay", "irreversible", payTool))
	}))
	for range 2 {
		x.receive(ledger.KindEvent, trajectory.EventIntent, "agent", canon.Object(canon.M("intent", r.value(
			`{"args":{"id":"p1","amount":5},"author":"agent","kind":"act","nonce":[7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"parent_commit":null,"rationale":"","target":"pay"}`))))
	}
	if r.called != 1 {
		t.Errorf("the tool was called %d times, want once", r.called)
	}
	if rep := x.all(ledger.KindDecision, trajectory.NameRepeated); len(rep) != 1 {
		t.Errorf("%d entries say that it was done before, want one", len(rep))
	}
	x.sound()
}

// A.5 runtime: routing evidence recorded and replay-safe
func TestAnAdvisersWordIsRecordedAndDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.start(r.charter(func(c *trajectory.Charter) { c.Agents[0].Model = canon.Value{} }))
	word := r.value(`{"decision_hash":%q,"selected":"small","alternatives":["large"],"confidence_bps":9000,"reason_codes":["cheap"],"latency_estimate_ms":10,"cost_estimate_millicents":1}`, canon.BLAKE3(nil))
	x.receive(ledger.KindEvent, trajectory.EventIntent, "agent", canon.Object(canon.M("routing_evidence", word), canon.M("intent", r.value(
		`{"args":{"key":"k","value":1},"author":"agent","kind":"act","nonce":[7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"parent_commit":null,"rationale":"","target":"kv_set"}`))))
	commits := x.all(ledger.KindCommit, "")
	if len(commits) != 1 {
		t.Fatalf("%d commits: %v", len(commits), kinds(x))
	}
	c, _, err := trajectory.ParseCommit(commits[0].Body)
	if err != nil || !c.Routing.Equal(word) {
		t.Errorf("the commit holds %s, %v; want the adviser's word", c.Routing, err)
	}
	x.sound()
}

func TestAnEffectThatNobodyKnowsOfIsNotTriedAgainUnasked(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	c.Policies = trajectory.PolicySet{}
	lost := true
	r.tools["pay"] = func(canon.Value, *effect.Call) (effect.Outcome, error) {
		if lost {
			lost = false
			return effect.Outcome{Status: effect.Interrupted}, nil
		}
		return output(`{"ok":true}`)
	}
	x := r.start(c)
	if r.called != 1 || x.st.Done {
		t.Fatalf("called %d, done %v; want one call and a question", r.called, x.st.Done)
	}
	if ch := x.all(ledger.KindPendingApproval, "")[0].Data().Get("channel").Str(); ch != trajectory.ChannelUnknown {
		t.Errorf("channel %q, want %q", ch, trajectory.ChannelUnknown)
	}
	x.approve("bob", govern.Approve)
	x.seal()
	if r.called != 2 {
		t.Errorf("called %d times, want twice: a person said so", r.called)
	}
	x.sound()
}

func TestAFailedToolCommitsNothing(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	c.Policies = trajectory.PolicySet{}
	r.tools["pay"] = func(canon.Value, *effect.Call) (effect.Outcome, error) {
		return ok(canon.Object(canon.M("exit", canon.Int(3))), ledger.Content{Name: "stderr", Type: "text/plain", Bytes: []byte("no funds")})
	}
	x := r.start(c)
	x.seal()
	if f := x.all(ledger.KindDecision, trajectory.NameToolFailed); len(f) != 1 || f[0].Data().Get("message").Str() != "exit status 3: no funds" {
		t.Errorf("failures = %v", f)
	}
	if n := len(x.all(ledger.KindCommit, "")); n != 0 {
		t.Errorf("%d commits, want none", n)
	}
	x.sound()
}

// A.5 redaction on
func TestSecretsInObservationsAreRedacted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{calls("login", `{}`), says("in")}
	r.tools["login"] = func(canon.Value, *effect.Call) (effect.Outcome, error) {
		return output(`{"user":"u","api_key":"sk-123","author":"me"}`)
	}
	x := r.start(r.charter(func(c *trajectory.Charter) { c.Registry = r.registry(declare("login", "external", "")) }))
	x.seal()
	c, _, err := trajectory.ParseCommit(x.all(ledger.KindCommit, "")[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	out := c.Observations.At(0).Get("output")
	if out.Get("api_key").Str() != trajectory.Redacted || out.Get("author").Str() != "me" {
		t.Errorf("observation = %s", out)
	}
	x.sound()
}

// A.5 cognition budget
func TestAModelIsNotAskedBeyondTheBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 10 {
		r.script["agent"] = append(r.script["agent"], calls("kv_set", `{"key":"a","value":1}`))
	}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		w := r.writ("agent", func(b *trajectory.WritBody) { b.Budget.Tokens = 30 })
		c.Writs, c.Agents[0].Writ = []*trajectory.Writ{w}, w.ID
	}))
	x.seal()
	if r.models != 3 {
		t.Errorf("the model was asked %d times, want 3 at 10 tokens each of 30", r.models)
	}
	if res := x.all(ledger.KindResult, "agent")[0].Data(); res.Get("status").Str() != "budget_exhausted" {
		t.Errorf("result = %s", res)
	}
	x.sound()
}

// A.5 agent loop: max steps
func TestAnAgentStopsAtItsSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 10 {
		r.script["agent"] = append(r.script["agent"], calls("kv_set", `{"key":"a","value":1}`))
	}
	x := r.start(r.charter(func(c *trajectory.Charter) { c.MaxSteps = 4 }))
	x.seal()
	if r.models != 4 || x.all(ledger.KindResult, "agent")[0].Data().Get("status").Str() != "max_steps" {
		t.Errorf("asked %d times, want 4 and max_steps", r.models)
	}
	x.sound()
}

func TestAModelThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t) // its script is over at once
	x := r.start(r.charter(nil))
	x.seal()
	if res := x.all(ledger.KindResult, "agent")[0].Data(); r.models != 5 || res.Get("status").Str() != "model_failed" {
		t.Errorf("asked %d times, result %s; want 5 and model_failed", r.models, res)
	}
	x.sound()
}

// spec: T-41
func TestADelegateHasATrajectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{calls("delegate", `{"task":"look it up","tools":["kv_get"]}`), says("thanks")}
	r.script["agent/1"] = []string{calls("kv_set", `{"key":"a","value":1}`), says("found")}
	x := r.start(r.charter(nil))
	x.seal()
	d := x.all(ledger.KindDelegation, "")
	if len(d) != 1 || d[0].Data().Get("task").Str() != "look it up" {
		t.Fatalf("delegations = %v; results %v", d, x.all(ledger.KindResult, ""))
	}
	lowered, err := trajectory.Lower(d[0].Data().Get("writ"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := trajectory.ParseWrit(lowered)
	if err != nil || trajectory.CheckChild(x.m.Charter().Writs[0], &w) != nil {
		t.Errorf("the delegate's writ is no child: %v, %v", err, trajectory.CheckChild(x.m.Charter().Writs[0], &w))
	}
	if w.Body.Budget.ToolCalls > 50 || !slices.Equal(w.Body.Scopes, []string{"kv_get"}) {
		t.Errorf("the delegate got %+v and %v", w.Body.Budget, w.Body.Scopes)
	}
	wantWorld(t, x) // state isolated
	back := x.all(ledger.KindDecision, trajectory.NameDelegated)
	if len(back) != 1 || back[0].Data().Get("final_answer").Str() != "child done" {
		t.Errorf("what the delegate gave = %v", back)
	}
	x.sound()
}

func TestADelegateNeverGetsWhatItsParentLacks(t *testing.T) {
	t.Parallel()
	for _, edit := range []func(*trajectory.WritBody){
		func(b *trajectory.WritBody) { b.Delegation.MaySubdivide = false },
		func(b *trajectory.WritBody) { b.Delegation.MaxDepth = 0 },
		func(b *trajectory.WritBody) { b.Scopes = []string{"delegate", "kv_*"} }, // and asks for more
	} {
		r := newRig(t)
		r.script["agent"] = []string{calls("delegate", `{"task":"t","tools":["memory_store"]}`), says("pity")}
		x := r.start(r.charter(func(c *trajectory.Charter) {
			w := r.writ("agent", edit)
			c.Writs, c.Agents[0].Writ = []*trajectory.Writ{w}, w.ID
		}))
		x.seal()
		rej := x.all(ledger.KindRejection, "")
		if len(rej) != 1 || rej[0].Data().Get("reason").Get("kind").Str() != "authority_void" {
			t.Errorf("rejections = %v, want authority_void", rej)
		}
		x.sound()
	}
}

// A.5 compensation: reverse order, idempotent, halts on non-compensable
func TestCommitsAreTakenBackNewestFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{
		calls("kv_set", `{"key":"a","value":1}`, "kv_set", `{"key":"a","value":2}`, "book", `{"id":"r1"}`, "kv_del", `{"key":"a"}`), says("done"),
	}
	var order []string
	for _, name := range []string{"book", "cancel"} {
		r.tools[name] = func(a canon.Value, _ *effect.Call) (effect.Outcome, error) {
			order = append(order, name+" "+a.Get("id").Str())
			return output(`{"ok":true}`)
		}
	}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		c.Registry = r.registry(
			declare("book", "external", `,"changes":[{"op":"create","kind":"booking","id":"{args.id}","value":true}],"undo":{"tool":"cancel","args":{"id":"{args.id}"}}`),
			declare("cancel", "external", ""))
	}))
	wantWorld(t, x, "booking/r1=true")
	first := x.all(ledger.KindCommit, "")[0].Data().Get("id").Str()
	head := x.all(ledger.KindCommit, "")[3].Data().Get("id").Str()
	bound, _ := canon.ParseDigest(head)
	m := govern.Matter{Ledger: x.m.Trajectory().String(), Subject: first, Bound: bound}
	x.act(ledger.KindEvent, trajectory.EventCompensate, "ada", govern.Admin, govern.Compensate, m)
	wantWorld(t, x)
	var undone []string
	for _, o := range x.all(ledger.KindCommit, "")[4:] {
		c, _, err := trajectory.ParseCommit(o.Body)
		if err != nil || !slices.Equal(c.Trace.Rules, []string{"compensation"}) || c.Cost != (trajectory.Budget{}) {
			t.Errorf("a compensation is %+v, %v", c, err)
		}
		undone = append(undone, o.Body.Get("name").Str())
	}
	if want := []string{"kv_del", "book", "kv_set", "kv_set"}; !slices.Equal(undone, want) {
		t.Errorf("taken back in the order %v, want %v", undone, want)
	}
	if !slices.Equal(order, []string{"book r1", "cancel r1"}) {
		t.Errorf("calls = %v", order)
	}
	head = x.all(ledger.KindCommit, "")[7].Data().Get("id").Str()
	m.Bound, _ = canon.ParseDigest(head)
	x.act(ledger.KindEvent, trajectory.EventCompensate, "ada", govern.Admin, govern.Compensate, m)
	if n := len(x.all(ledger.KindCommit, "")); n != 8 {
		t.Errorf("a second compensation made %d commits more", n-8)
	}
	x.seal()
	x.sound()
}

func TestACompensationHaltsAtWhatCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.script["agent"] = []string{calls("kv_set", `{"key":"a","value":1}`, "mail", `{}`, "kv_set", `{"key":"b","value":1}`), says("done")}
	r.tools["mail"] = func(canon.Value, *effect.Call) (effect.Outcome, error) { return output(`{"sent":true}`) }
	x := r.start(r.charter(func(c *trajectory.Charter) { c.Registry = r.registry(declare("mail", "irreversible", "")) }))
	ids := x.all(ledger.KindCommit, "")
	bound, _ := canon.ParseDigest(ids[2].Data().Get("id").Str())
	x.act(ledger.KindEvent, trajectory.EventCompensate, "ada", govern.Admin, govern.Compensate,
		govern.Matter{Ledger: x.m.Trajectory().String(), Subject: ids[0].Data().Get("id").Str(), Bound: bound})
	wantWorld(t, x, "kv/a=1") // b is taken back, a is behind the mail
	halted := x.all(ledger.KindDecision, trajectory.NameUndoHalt)
	if len(halted) != 1 || halted[0].Data().Get("commit_id").Str() != ids[1].Data().Get("id").Str() {
		t.Errorf("halted = %v, want it at the mail", halted)
	}
	x.seal()
	x.sound()
}

func TestAHaltStopsEverythingUntilItIsCleared(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	x := r.start(c)
	id := x.m.Trajectory().String()
	x.act(ledger.KindEvent, govern.EventHalted, "ada", govern.Operator, govern.Stop, govern.Matter{Ledger: id, Subject: id, Bound: x.m.Trajectory()})
	x.approve("bob", govern.Approve)
	if r.called != 0 || x.st.Done {
		t.Fatal("a halted trajectory went on")
	}
	h, err := govern.ParseHalt(x.all(ledger.KindDecision, govern.EventHalted)[0].Data())
	if err != nil {
		t.Fatal(err)
	}
	x.act(ledger.KindEvent, govern.EventCleared, "ada", govern.Admin, govern.Clear, h.Matter(id))
	x.seal()
	if r.called != 1 {
		t.Errorf("called %d times after the halt was cleared, want once", r.called)
	}
	x.sound()
}

func TestSeveralAgentsShareAWorld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"agent", "other"} {
		for i := range 5 {
			r.script[name] = append(r.script[name], calls("kv_set", `{"key":"shared","value":"`+name+`"}`, "kv_set", `{"key":"`+name+string(rune('0'+i))+`","value":1}`))
		}
		r.script[name] = append(r.script[name], says("done"))
	}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		w := r.writ("other", func(b *trajectory.WritBody) { b.Nonce[0] = 2 })
		c.Writs = append(c.Writs, w)
		c.Agents = append(c.Agents, trajectory.Agent{Name: "other", Writ: w.ID, Model: r.value(`{"kind":"script"}`)})
	}))
	x.seal()
	if n := len(x.all(ledger.KindCommit, "")); n != 20 {
		t.Errorf("%d commits, want 20", n)
	}
	x.sound()
}

func TestALargeAnswerStandsBesideItsCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	big := make([]byte, 200_000)
	for i := range big {
		big[i] = 'a' + byte(i%26)
	}
	r.script["agent"] = []string{calls("fetch", `{}`), calls("kv_get", `{"key":"x"}`), says("done")}
	r.tools["fetch"] = func(canon.Value, *effect.Call) (effect.Outcome, error) {
		return output(`{"page":"` + string(big) + `"}`)
	}
	x := r.start(r.charter(func(c *trajectory.Charter) {
		c.Registry = r.registry(declare("fetch", "external", `,"changes":[{"op":"put","kind":"kv","id":"x","value":"{output.page}"}]`))
	}))
	x.seal()
	if last := r.asked[len(r.asked)-1]; len(last) < 200_000 {
		t.Errorf("the model read %d bytes of the stored page", len(last))
	}
	x.sound()
}

func TestOtherCompilersAreNotImitated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.charter(func(c *trajectory.Charter) { c.Compiler = "thymos-compiler/0.0.1" })
	content, err := c.Content()
	if err != nil {
		t.Fatal(err)
	}
	_, err = trajectory.NewMachine().Apply(effect.Input{Kind: ledger.KindOpen, Contents: []ledger.Content{content}})
	if fault.CodeOf(err) != fault.Code(trajectory.ErrCompiler) {
		t.Errorf("open = %v, want %v", err, trajectory.ErrCompiler)
	}
}
