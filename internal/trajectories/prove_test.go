package trajectories_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

const (
	book   = `{"name":"book","version":"1","effect":"external","args":{"type":"object"},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":5,"usd_millicents":3},"transport":{"kind":"test"},"changes":[{"op":"put","kind":"booking","id":"{args.id}","value":"{args}"}]}`
	refund = `{"name":"refund","version":"1","effect":"irreversible","args":{"type":"object"},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":5,"usd_millicents":3},"transport":{"kind":"test"}}`
	rules  = `{"name":"desk","version":"2","rules":[
		{"name":"no refunds","when":{"field":"intent.target","op":"eq","value":"refund"},"decision":{"kind":"deny","reason":"refunds are not made here"}},
		{"name":"ask first","when":{"field":"intent.target","op":"eq","value":"book"},"decision":{"kind":"require_approval","channel":"desk","reason":"a booking costs money"}}]}`
)

// story is a run with everything that a report lists: commits, a rejection, a
// proposal that Ann approves and one that Bob denies.
func story(t testing.TB) (*trajectoriestest.Rig, ledger.RunID) {
	t.Helper()
	r := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: book}, trajectoriestest.Tool{Declaration: refund})
	r.Policy(rules)
	r.Propose("worker", "kv_set", `{"key":"customer","value":{"name":"Ola","points":12.5}}`)
	r.Propose("worker", "refund", `{"id":"R1"}`)
	r.Propose("worker", "book", `{"id":"B1"}`)
	r.Propose("worker", "book", `{"id":"B2"}`)
	run, st := r.Run()
	if st.Done {
		t.Fatal("the run did not wait for an approval")
	}
	r.Answer(run, "ann", govern.Approve, "it is within the limit")
	if st = r.Answer(run, "bob", govern.Deny, "one is enough"); !st.Done {
		t.Fatalf("the run waits for %s", st.Waiting)
	}
	return r, run
}

func prove(t testing.TB, r *trajectoriestest.Rig, run ledger.RunID, edit func(*trajectories.ProveOptions)) *trajectories.Proof {
	t.Helper()
	o := trajectories.ProveOptions{Derive: true, Fold: true}
	if edit != nil {
		edit(&o)
	}
	p, err := trajectories.Prove(context.Background(), r.Store, run, &o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func document(t testing.TB, r *trajectoriestest.Rig, p *trajectories.Proof) canon.Value {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteJSON(context.Background(), &b, r.Store, trajectories.Lists()...); err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	return v
}

func first(r *replay.Report) *ledger.Finding { return ledger.First(r.Phases) }

// expect fails the test unless the report fails at entry n with a code.
func expect(t testing.TB, r *replay.Report, code fault.Code, n int64) {
	t.Helper()
	f := first(r)
	switch {
	case f == nil:
		t.Errorf("verdict %s, want %s at entry %d", r.Verdict, code, n)
	case f.Code != code || f.N != n:
		t.Errorf("failure %s at entry %d, %s: %s (expected %s, found %s); want %s at entry %d", f.Code, f.N, f.Where, f.Msg, f.Expected, f.Found, code, n)
	case r.Verdict != replay.Failed:
		t.Errorf("verdict %s, want failed", r.Verdict)
	}
}

// spec: T-01, T-02, T-19
func TestProofOfARunFoldsItsWorld(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	p := prove(t, r, run, nil)
	if p.Report.Verdict != replay.Verified {
		t.Fatalf("verdict %s: %+v", p.Report.Verdict, first(p.Report))
	}
	var got []string
	for _, it := range p.World.Items() {
		v, err := p.World.Value(context.Background(), &it)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, it.Kind+" "+it.ID+" "+v.String())
	}
	want := []string{`booking B1 {"id":"B1"}`, `kv customer {"name":"Ola","points":12.5}`}
	if !slices.Equal(got, want) {
		t.Errorf("world = %q, want %q", got, want)
	}
	d := document(t, r, p).Get("detail")
	for name, want := range map[string]string{
		"commits_replayed": "2", "rejected_proposals": "2", "pending_approvals": "2", "resources": "2", "branches": "0",
		"compiler_versions_seen": `["` + trajectory.CompilerVersion + `"]`,
	} {
		if got := d.Get(name).String(); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	if h, _ := p.World.Hash(); d.Get("final_world_hash").Str() != h.String() {
		t.Errorf("final_world_hash = %s, want %s", d.Get("final_world_hash"), h)
	}
}

// spec: T-26, T-27, T-28, T-30
func TestReportListsRejectionsApprovalsAndTheProposalOfEachCommit(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	d := document(t, r, prove(t, r, run, nil)).Get("detail")
	rejections := d.Get("rejections")
	if rejections.Len() != 2 || rejections.At(0).Get("reason").Str() != "policy_denied: refunds are not made here" ||
		rejections.At(1).Get("reason").Str() != "policy_denied: approval denied by operator" || rejections.At(1).Get("decided_by").At(0).Get("actor").Str() != "bob" {
		t.Errorf("rejections = %s", rejections)
	}
	waited := d.Get("suspensions")
	if waited.Len() != 2 || waited.At(0).Get("proposal").Get("body").Get("plan").Get("args").String() != `{"id":"B1"}` ||
		waited.At(0).Get("policy_trace").Get("decision").Get("kind").Str() != "require_approval" || waited.At(0).Get("channel").Str() != "desk" {
		t.Errorf("suspensions = %s", waited)
	}
	commits := d.Get("commits")
	if commits.Len() != 2 {
		t.Fatalf("commits = %s", commits)
	}
	for _, c := range commits.Elems() {
		if !strings.HasPrefix(c.Get("proposal_id").Str(), "proposal:") || c.Get("policy_trace").Get("rules_evaluated").Len() == 0 || c.Get("signature").Str() != "verified" {
			t.Errorf("commit = %s, want its proposal, its trace and a signature that was checked", c)
		}
	}
	by := commits.At(1).Get("decided_by").At(0)
	if by.Get("actor").Str() != "ann" || by.Get("role").Str() != "approver" || !by.Get("verified").Equal(canon.Bool(true)) {
		t.Errorf("decided_by = %s, want ann, an approver, by an act that was checked", by)
	}
	if calls := d.Get("tool_calls"); calls.Len() != 2 || calls.At(1).Get("tool").Str() != "book" || calls.At(1).Get("latency_ms").String() != "7" ||
		calls.At(1).Get("commit_id").Str() != commits.At(1).Get("commit_id").Str() {
		t.Errorf("tool_calls = %s", calls)
	}
}

func TestTwoReplaysGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := prove(t, r, run, nil).WriteJSON(context.Background(), w, r.Store, trajectories.Lists()...); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two replays of one run differ")
	}
}

// panicking is a provider and tools that must stay untouched.
func panicking(r *trajectoriestest.Rig) {
	r.Tools["book"] = func(canon.Value) (canon.Value, error) { panic("the tool was called") }
	r.Script = nil
	clear(r.Touched)
}

// spec: T-33, T-34, T-35
func TestReplayDoesNotInvokeCognitionOrTools(t *testing.T) { // replay_does_not_invoke_cognition_or_tools
	t.Parallel()
	r, run := story(t)
	panicking(r)
	before, err := r.Store.At(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	if p := prove(t, r, run, nil); p.Report.Verdict != replay.Verified {
		t.Errorf("verdict = %s", p.Report.Verdict)
	}
	if len(r.Touched) > 0 {
		t.Errorf("touched %v, want nothing", r.Touched)
	}
	if after, _ := r.Store.At(context.Background(), run); after != before {
		t.Errorf("the run grew from %d to %d entries", before.Count, after.Count)
	}
}

func TestReplayRunsWithoutAToolRegistry(t *testing.T) { // replay_runs_without_a_tool_registry
	t.Parallel()
	r, run := story(t)
	// Nothing of the rig but its store: no tools, no keys, no script, no charter.
	bare := &trajectoriestest.Rig{Store: r.Store}
	if p := prove(t, bare, run, nil); p.Report.Verdict != replay.Verified {
		t.Errorf("verdict = %s, %+v", p.Report.Verdict, first(p.Report))
	}
}

// spec: T-17
func TestPinsFindDrift(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	commit := r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, ""))
	right, wrong := r.Charter.Signer, trajectoriestest.Key(t, "somebody else").Public()
	set, other := r.Charter.Policies.Hash(), canon.SHA256([]byte("another set"))
	for _, tt := range []struct {
		name string // of the upstream test, where there is one
		pins trajectory.Pins
		code fault.Code
		n    int64
	}{
		{"replay_pinned_to_current_passes", trajectory.Pins{Compiler: trajectory.CompilerVersion}, nil, 0},
		{"replay_rejects_compiler_version_drift", trajectory.Pins{Compiler: "reprise-compiler/0"}, trajectory.ErrCompilerDrift, commit},
		{"replay_requires_commit_signatures, the right key", trajectory.Pins{Signer: &right}, nil, 0},
		{"replay_requires_commit_signatures, another key", trajectory.Pins{Signer: &wrong}, trajectory.ErrSignerDrift, commit},
		{"replay_detects_policy_set_drift, the right set", trajectory.Pins{PolicySet: &set}, nil, 0},
		{"replay_detects_policy_set_drift, another set", trajectory.Pins{PolicySet: &other}, trajectory.ErrPolicyDrift, commit},
		{"another root", trajectory.Pins{Root: &wrong}, trajectory.ErrRootDrift, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := prove(t, r, run, func(o *trajectories.ProveOptions) { o.Pins = tt.pins })
			if tt.code == nil {
				if p.Report.Verdict != replay.Verified {
					t.Errorf("verdict = %s: %+v", p.Report.Verdict, first(p.Report))
				}
				return
			}
			expect(t, p.Report, tt.code, tt.n)
		})
	}
}

// TestForgedDecisionsAreNotDerived changes what the law decided, with hashes
// that fit: only to compute the decisions again finds it.
//
// spec: T-03
func TestForgedDecisionsAreNotDerived(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	at := func(kind ledger.Kind, name string) int64 { return r.Entry(run, trajectoriestest.Kind(kind, name)) }
	set := func(path, value string) trajectoriestest.Edit {
		return func(_ int64, d *ledger.Draft, _ map[string][]byte) bool {
			d.Body = d.Body.With("data", replaced(t, d.Body.Get("data"), strings.Split(path, "."), canon.String(value)))
			return true
		}
	}
	gone := at(ledger.KindRejection, "")
	drop := func(int64, *ledger.Draft, map[string][]byte) bool { return false }
	for _, tt := range []struct {
		name string
		n    int64 // the entry that is changed
		edit trajectoriestest.Edit
		want int64 // where it is found; 0: there
	}{
		{"another reason of a rejection", at(ledger.KindRejection, ""), set("reason.detail", "because"), 0},
		{"a rejection is gone", gone, drop, r.Entry(run, func(o *ledger.Opened) bool { return o.N > gone && o.Kind == ledger.KindDecision }) - 1},
		{"another reason of a suspension", at(ledger.KindPendingApproval, ""), set("reason", "nothing to worry about"), 0},
		{"another rationale", at(ledger.KindDecision, trajectory.NameIntent), set("body.rationale", "because I want to"), 0},
		{"another state of a ballot", at(ledger.KindDecision, govern.EventDecided), set("state", "denied"), 0},
		{"another result", at(ledger.KindResult, ""), set("answer", "nothing happened"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forged := r.Forge(run, func(n int64, d *ledger.Draft, c map[string][]byte) bool { return n != tt.n || tt.edit(n, d, c) })
			if p := prove(t, r, forged, func(o *trajectories.ProveOptions) { o.Derive = false }); p.Report.Verdict != replay.Verified {
				t.Errorf("without derivation: %s, %+v; the forgery is bad", p.Report.Verdict, first(p.Report))
			}
			expect(t, prove(t, r, forged, nil).Report, trajectories.ErrNotDerived, cmp.Or(tt.want, tt.n))
		})
	}
}

func replaced(t testing.TB, v canon.Value, path []string, to canon.Value) canon.Value {
	if len(path) == 0 {
		return to
	}
	if !v.Has(path[0]) {
		t.Fatalf("%s has no %s", v, path[0])
	}
	return v.With(path[0], replaced(t, v.Get(path[0]), path[1:], to))
}

// TestAnApprovalOfSomebodyElseIsFound takes the act of the approver out and
// puts in one that another person signed: the commit behind it does not follow.
func TestAnApprovalOfSomebodyElseIsFound(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	n := r.Entry(run, trajectoriestest.Kind(ledger.KindApproval, ""))
	mallory := r.Act("olga", govern.Operator, govern.Approve, r.Pending(run), "let it pass")
	forged := r.Forge(run, func(i int64, d *ledger.Draft, _ map[string][]byte) bool {
		if i == n {
			d.Body = d.Body.With("data", mallory)
		}
		return true
	})
	expect(t, prove(t, r, forged, nil).Report, trajectories.ErrNotDerived, n+1)
}

func TestALedgerOfAnotherCompilerIsPartialAtBest(t *testing.T) {
	t.Parallel()
	r := trajectoriestest.New(t)
	run, _ := r.Run()
	forged := r.Forge(run, func(n int64, _ *ledger.Draft, c map[string][]byte) bool {
		if n == 0 {
			c[trajectory.CharterName] = bytes.Replace(c[trajectory.CharterName], []byte(trajectory.CompilerVersion), []byte("reprise-compiler/9"), 1)
		}
		return true
	})
	p := prove(t, r, forged, nil)
	if p.Report.Verdict != replay.Partial || !slices.ContainsFunc(p.Report.Remarks, func(s string) bool { return strings.Contains(s, "reprise-compiler/9") }) {
		t.Errorf("verdict = %s, remarks %q, %+v; want partial, and why", p.Report.Verdict, p.Report.Remarks, first(p.Report))
	}
}

// spec: T-16
func TestAnObservedWorldIsCompared(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	hash, _ := prove(t, r, run, nil).World.Hash()
	all := `[{"kind":"kv","id":"customer","version":1,"value":{"name":"Ola","points":12.50}},{"kind":"booking","id":"B1","version":1,"value":{"id":"B1"}}]`
	for _, tt := range []struct {
		name, seen string
		where      string // empty: they are the same
	}{
		{"its hash", hash.String(), ""},
		{"another hash", canon.SHA256(nil).String(), "world"},
		{"its things", all, ""},
		{"its things, as a document", `{"resources":` + all + `}`, ""},
		{"another value", strings.Replace(all, "Ola", "Kari", 1), "kv customer"},
		{"another version", strings.Replace(all, `"version":1,"value":{"id"`, `"version":2,"value":{"id"`, 1), "booking B1"},
		{"a thing more", strings.Replace(all, `[`, `[{"kind":"a","id":"b","version":1,"value":null},`, 1), "a b"},
		{"a thing less", `[{"kind":"booking","id":"B1","version":1,"value":{"id":"B1"}}]`, "kv customer"},
		{"nothing", `[]`, "booking B1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seen, err := trajectories.ParseObserved([]byte(tt.seen))
			if err != nil {
				t.Fatal(err)
			}
			rep := prove(t, r, run, func(o *trajectories.ProveOptions) { o.Seen = seen }).Report
			f := first(rep)
			switch {
			case tt.where == "" && rep.Verdict != replay.Verified:
				t.Errorf("verdict = %s: %+v", rep.Verdict, f)
			case tt.where != "" && (f == nil || f.Code != ledger.ErrWorldMismatch || f.Where != tt.where):
				t.Errorf("failure = %+v, want %s at %s", f, ledger.ErrWorldMismatch, tt.where)
			}
		})
	}
}

func TestObservationsThatSayNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "abc", "{}", `[1]`, `[{"kind":"a","id":"b","version":1}]`, `[{"kind":"a","id":"b","version":"1","value":1}]`,
		`[{"kind":"a","id":"b","version":1,"value":1},{"kind":"a","id":"b","version":1,"value":1}]`,
	} {
		if o, err := trajectories.ParseObserved([]byte(s)); !errors.Is(err, trajectories.ErrObserved) {
			t.Errorf("ParseObserved(%q) = %+v, %v; want %v", s, o, err, trajectories.ErrObserved)
		}
	}
}

func TestABeginningIsProvenAndFolded(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	at, err := r.Store.At(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	for n := range at.Count {
		p := prove(t, r, run, func(o *trajectories.ProveOptions) { o.Until = &n })
		if p.Report.Verdict != replay.Verified || p.Last != n {
			t.Errorf("up to entry %d: %s, last %d: %+v", n, p.Report.Verdict, p.Last, first(p.Report))
		}
		lines := int64(0)
		for _, err := range trajectories.Trail(context.Background(), r.Store, run, n) {
			if err != nil {
				t.Fatal(err)
			}
			lines++
		}
		if lines != n+1 {
			t.Errorf("the trail up to entry %d has %d lines", n, lines)
		}
	}
}

func TestARunThatWaitsIsProven(t *testing.T) {
	t.Parallel()
	r := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: book})
	r.Policy(rules)
	r.Propose("worker", "book", `{"id":"B1"}`)
	run, _ := r.Run()
	p := prove(t, r, run, nil)
	if p.Report.Verdict != replay.Verified || !slices.Contains(p.Report.Remarks, "run "+string(run)+" is not sealed: it may go on") {
		t.Errorf("verdict = %s, remarks %q", p.Report.Verdict, p.Report.Remarks)
	}
	if d := document(t, r, p).Get("detail"); d.Get("suspensions").Len() != 1 {
		t.Errorf("suspensions = %s, want the one that waits", d.Get("suspensions"))
	}
}

// spec: T-42, T-43
func TestADelegateIsProvenUnderItsOwnLedgerAndWrit(t *testing.T) {
	t.Parallel()
	r := trajectoriestest.New(t)
	r.Propose("worker", "delegate", `{"task":"look it up","tools":["kv_set"]}`)
	r.Propose("worker/1", "kv_set", `{"key":"found","value":true}`)
	run, _ := r.Run()
	alone := prove(t, r, run, nil)
	if d := document(t, r, alone).Get("detail").Get("delegations"); alone.Report.Verdict != replay.Verified || d.At(0).Get("run").Str() == "" {
		t.Errorf("verdict = %s, delegations = %s: %+v; want the child named", alone.Report.Verdict, d, first(alone.Report))
	}
	tree := prove(t, r, run, func(o *trajectories.ProveOptions) { o.Delegations = true })
	if d := document(t, r, tree).Get("detail").Get("delegations"); tree.Report.Verdict != replay.Verified || d.Len() != 1 || d.At(0).Get("verdict").Str() != "verified" ||
		d.At(0).Get("detail").Get("commits_replayed").String() != "1" {
		t.Errorf("verdict = %s, delegations = %s: %+v; want the child verified", tree.Report.Verdict, d, first(tree.Report))
	}
}

func TestADelegateThatWaitsMakesTheProofPartial(t *testing.T) {
	t.Parallel()
	r := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: book})
	r.Policy(rules)
	r.Propose("worker", "delegate", `{"task":"book it","tools":["book"]}`)
	r.Propose("worker/1", "book", `{"id":"B1"}`)
	run, _ := r.Run()
	tree := prove(t, r, run, func(o *trajectories.ProveOptions) { o.Delegations = true })
	if tree.Report.Verdict != replay.Partial {
		t.Errorf("verdict = %s: %+v; want partial: both may go on", tree.Report.Verdict, first(tree.Report))
	}
}

func TestABranchIsProvenOnItsSource(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	commit := r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, ""))
	r.Script["worker"], r.Touched = nil, map[string]int{}
	branch, st := r.Branch(run, commit, "what if it stopped here")
	if !st.Done {
		t.Fatalf("the branch waits for %s", st.Waiting)
	}
	p := prove(t, r, branch, nil)
	if p.Report.Verdict != replay.Verified {
		t.Fatalf("verdict = %s: %+v", p.Report.Verdict, first(p.Report))
	}
	if n, _ := p.World.Len(); n != 1 {
		t.Errorf("the world of the branch has %d things, want what its source had", n)
	}
	for name, edit := range map[string]func(canon.Value) canon.Value{
		"another source": func(v canon.Value) canon.Value {
			return v.With("source_trajectory_id", canon.String(canon.SHA256(nil).String()))
		},
		"another commit": func(v canon.Value) canon.Value { return v.With("source_commit_id", canon.Null()) },
		"another count":  func(v canon.Value) canon.Value { return v.With("source_commits", canon.Int(7)) },
	} {
		forged := r.Forge(branch, func(n int64, d *ledger.Draft, _ map[string][]byte) bool {
			if n == 1 {
				d.Body = d.Body.With("data", edit(d.Body.Get("data")))
			}
			return true
		})
		rep := prove(t, r, forged, func(o *trajectories.ProveOptions) { o.Derive = false }).Report
		if rep.Verdict != replay.Failed || !slices.ContainsFunc(rep.Phases, func(p ledger.Phase) bool { return p.First != nil && p.First.Code == trajectories.ErrLink }) {
			t.Errorf("%s: verdict = %s, %+v; want %s", name, rep.Verdict, first(rep), trajectories.ErrLink)
		}
	}
}

func TestChecksStandAside(t *testing.T) {
	t.Parallel()
	check, err := trajectories.Check(trajectory.Pins{})(ledger.Opened{Body: canon.Object(canon.M("engine", canon.String("capture")))})
	if check != nil || err != nil {
		t.Errorf("Check of another engine's run = %v, %v; want none", check, err)
	}
}

func TestASignatureOfSomebodyElseIsNotShownAsVerified(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	n := r.Entry(run, trajectoriestest.Kind(ledger.KindCommit, ""))
	forge := func(sign func(c *trajectory.Commit, msg []byte)) ledger.RunID {
		return r.Forge(run, func(i int64, d *ledger.Draft, _ map[string][]byte) bool {
			if i != n {
				return true
			}
			c, _, err := trajectory.ParseCommit(d.Body)
			if err != nil {
				t.Fatal(err)
			}
			msg, err := c.Message()
			if err != nil {
				t.Fatal(err)
			}
			sign(&c, msg)
			e, err := c.Entry(d.Body.Get("name").Str())
			if err != nil {
				t.Fatal(err)
			}
			d.Body = e.Body
			return true
		})
	}
	for _, tt := range []struct {
		name string
		want trajectory.Signed
		run  ledger.RunID
	}{
		{"as it was", trajectory.Verified, run},
		{"unsigned", trajectory.Unsigned, forge(func(c *trajectory.Commit, _ []byte) { c.Signature = nil })}, // replay_rejects_unsigned_when_signatures_required
		{"by somebody else", trajectory.Forged, forge(func(c *trajectory.Commit, msg []byte) {
			c.Signature, _ = trajectoriestest.Key(t, "mallory").Sign(msg)
		})},
	} {
		for l, err := range trajectories.Trail(context.Background(), r.Store, tt.run, n) {
			if err != nil {
				t.Fatal(err)
			}
			if l.N == n && l.Signed != tt.want {
				t.Errorf("%s: the line says %q, want %q", tt.name, l.Signed, tt.want)
			}
		}
		if tt.want == trajectory.Verified {
			continue
		}
		rep := prove(t, r, tt.run, nil).Report
		if f := firstAt(rep, n); f == nil || f.Code != trajectory.ErrSignature {
			t.Errorf("%s: failure %+v, want %s at entry %d", tt.name, first(rep), trajectory.ErrSignature, n)
		}
	}
}
