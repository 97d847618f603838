package server_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/client"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/store"
)

// office is a server on a real port over a store in a file, which runs
// trajectories.
type office struct {
	t    *testing.T
	c    *client.Client
	dir  string
	path string // of the store
	keys *keys.Keys
	stop func()
}

func newOffice(t *testing.T, change func(*server.Options)) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir()}
	o.path = filepath.Join(o.dir, "store.db")
	var err error
	o.keys, err = keys.Open(filepath.Join(o.dir, "keys"), rand.Reader)
	o.must(err)
	o.open(change)
	return o
}

func (o *office) must(err error) {
	if err != nil {
		o.t.Helper()
		o.t.Fatal(err)
	}
}

// open begins to serve; stop ends that.
func (o *office) open(change func(*server.Options)) {
	o.t.Helper()
	st, err := store.Open(context.Background(), "sqlite:"+o.path, &store.Options{})
	o.must(err)
	signer, err := o.keys.Signer()
	o.must(err)
	opts := &server.Options{
		Keys: func() (*keys.Keys, error) { return o.keys, nil }, Rand: rand.Reader, Temp: o.t.TempDir(), Poll: 5 * time.Millisecond, AllowRun: true,
		Trajectories: &trajectories.Runner{Keys: o.keys, Config: drive.Config{
			Store: st, Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: o.keys.Manifests(), Holder: "office",
		}},
	}
	if change != nil {
		change(opts)
	}
	s, err := server.New(st, opts)
	o.must(err)
	ln, err := server.Listen(context.Background(), "127.0.0.1:0", false)
	o.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			o.t.Error(err)
		}
	})
	o.t.Cleanup(o.stop)
	o.c, err = client.New("http://"+ln.Addr().String(), nil)
	o.must(err)
}

// task is a task in which alice and bob approve, and adam administers.
func (o *office) task(format string, args ...any) api.TrajectoryStart {
	key := func(name string) string { return hex.EncodeToString(trajectoriestest.Key(o.t, name).Public().Raw()) }
	return api.TrajectoryStart{Task: json.RawMessage(fmt.Sprintf(`{"task":"Pay \ud83d\ude00 what is due",
		"actors":[{"id":"alice","key":%q,"roles":["approver"]},{"id":"adam","key":%q,"roles":["admin","operator"]}],`, key("alice"), key("adam")) +
		"\t" + fmt.Sprintf(format, args...) + "}")}
}

// pay is a task whose one tool writes to a file, once somebody has agreed.
func (o *office) pay() api.TrajectoryStart {
	in := o.task(`"model":"outside","writ":{"ceiling":["read","write","external"]},"channels":[{"name":"money","need":1,"roles":["approver"]}],
		"tools":[{"builtin":["kv"]},{"name":"pay","effect":"external","args":{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"],"additionalProperties":false},
			"exec":["sh","-c","cat >> %s; echo >> %[1]s; echo '{\"ok\":true}'"]}],
		"policies":[{"name":"money","version":"1","rules":[{"name":"ask","when":{"field":"intent.target","op":"eq","value":"pay"},"decision":{"kind":"require_approval","channel":"money","reason":"it is money"}}]}]`,
		filepath.Join(o.dir, "paid"))
	in.Script = json.RawMessage(`[{"text":"I note it.","calls":[{"kv_set":{"key":"a","value":1.5}}]},{"text":"I pay.","calls":[{"pay":{"amount":7}}]},{"text":"Done."}]`)
	return in
}

func (o *office) paid() int {
	b, err := os.ReadFile(filepath.Join(o.dir, "paid"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		o.t.Fatal(err)
	}
	return strings.Count(string(b), `{"amount":7}`)
}

// rest waits until a trajectory has nothing to do, and returns where it stands.
func (o *office) rest(run string) api.Trajectory {
	o.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got, err := o.c.Trajectory(o.t.Context(), run)
		o.must(err)
		if got.State != "at_work" && (got.State != "done" || got.Sealed) {
			return got
		}
		if time.Now().After(end) {
			o.t.Fatalf("it is still at work: %+v", got)
		}
	}
}

// signed is an act of an actor, as their own machine makes it.
func (o *office) signed(actor string, role govern.Role, verb govern.Verb, m api.Matter) []byte {
	o.t.Helper()
	bound, err := canon.ParseDigest(m.Bound)
	o.must(err)
	a := govern.Act{Verb: verb, Actor: actor, Role: role, Matter: govern.Matter{Ledger: m.Ledger, Subject: m.Subject, Bound: bound}, Reason: "so be it", At: 1}
	_, err = rand.Read(a.Nonce[:])
	o.must(err)
	b, err := a.Sign(trajectoriestest.Key(o.t, actor))
	o.must(err)
	return b
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if c := fault.CodeOf(err); err == nil || c.Error() != code {
		t.Errorf("the error is %v, want %s", err, code)
	}
}

func TestATrajectoryRunsWaitsAndIsProvenOverHTTP(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	begun, err := o.c.Start(ctx, o.pay())
	o.must(err)
	got := o.rest(begun.Run)
	if got.State != "waiting" || got.Pending != 1 || got.Commits != 1 || o.paid() != 0 || !strings.Contains(got.Task, "😀") {
		t.Fatalf("it is %+v", got)
	}
	list, err := o.c.Pending(ctx, begun.Run)
	o.must(err)
	matter := list.Pending[0].Matter

	// What does not count is refused, and leaves no trace.
	other := matter
	other.Bound = strings.Repeat("1", 64)
	forged, err := (&govern.Act{
		Verb: govern.Approve, Actor: "alice", Role: govern.Approver, At: 1, Nonce: [16]byte{1},
		Matter: govern.Matter{Ledger: matter.Ledger, Subject: matter.Subject, Bound: canon.BLAKE3(nil)},
	}).Sign(trajectoriestest.Key(t, "mallory"))
	o.must(err)
	for name, x := range map[string]struct {
		act  []byte
		code string
	}{
		"somebody unknown": {o.signed("mallory", govern.Approver, govern.Approve, matter), "govern.unknown_actor"},
		"a foreign key":    {forged, "govern.bad_signature"},
		"another role":     {o.signed("adam", govern.Admin, govern.Approve, matter), "govern.role_denied"},
		"another matter":   {o.signed("alice", govern.Approver, govern.Approve, other), "govern.other_matter"},
		"another verb":     {o.signed("alice", govern.Approver, govern.Revoke, matter), "govern.unknown_act"},
		"no act":           {[]byte(`{"payload":"x"}`), "govern.bad_act"},
		"no object":        {[]byte(`7`), "govern.bad_act"},
		"twice a name":     {[]byte(`{"a":1,"a":2}`), "server.bad_request"},
		"too long":         {[]byte(`"` + strings.Repeat("x", 17<<10) + `"`), "govern.bad_act"},
	} {
		_, err := o.c.Act(ctx, begun.Run, client.Answer, x.act)
		t.Run(name, func(t *testing.T) { wantCode(t, err, x.code) })
	}
	if again := o.rest(begun.Run); again.Head != got.Head {
		t.Error("an act that does not count was recorded")
	}

	yes := o.signed("alice", govern.Approver, govern.Approve, matter)
	_, err = o.c.Act(ctx, begun.Run, client.Halt, yes)
	wantCode(t, err, "govern.unknown_act") // a yes is no halt
	taken, err := o.c.Act(ctx, begun.Run, client.Answer, yes)
	if err != nil || !taken.Working {
		t.Fatalf("the answer: %+v, %v", taken, err)
	}
	if got = o.rest(begun.Run); got.State != "done" || got.Commits != 2 || o.paid() != 1 {
		t.Fatalf("it is %+v, and was paid %d times", got, o.paid())
	}
	_, err = o.c.Act(ctx, begun.Run, client.Answer, yes)
	wantCode(t, err, "drive.run_sealed")

	world, err := o.c.World(ctx, begun.Run, -1)
	o.must(err)
	level := int64(1)
	right := client.ProofOptions{Expected: client.Expected{
		Compiler: trajectory.CompilerVersion, Signer: got.Signer, PolicySet: got.PolicySetHash, ExpectHead: got.Head, World: world.Hash, Level: &level,
	}, FoldWorld: true}
	if r, err := o.c.Prove(ctx, begun.Run, &right); err != nil || r.Verdict != "verified" {
		t.Errorf("with the right pins: %+v, %v", r, err)
	}
	wrong := right
	wrong.Signer = hex.EncodeToString(trajectoriestest.Key(t, "mallory").Public().Raw())
	if r, err := o.c.Prove(ctx, begun.Run, &wrong); err != nil || r.Verdict != "failed" || first(t, r).Code != "trajectory.signer_drift" {
		t.Errorf("with another signer: %+v, %v", r, err)
	}
	n := 0
	for e, err := range o.c.Trail(ctx, begun.Run, 0) {
		o.must(err)
		if e.Label == "APPROVED" && !strings.Contains(string(e.Line), `"verified":true`) {
			t.Errorf("the approval is %s", e.Line)
		}
		n++
	}
	if int64(n) != got.Entries {
		t.Errorf("the trail has %d entries, want %d", n, got.Entries)
	}
	var events int
	for _, err := range o.c.Watch(ctx, begun.Run, 0) {
		o.must(err)
		events++
	}
	if int64(events) != got.Entries {
		t.Errorf("%d events came", events)
	}
	o.stop()
}

func outsideTask(o *office) api.TrajectoryStart {
	return o.task(`"agents":[{"name":"ann","model":"outside"},{"name":"ben","model":"outside"}],"tools":[{"builtin":["kv"]}]`)
}

func TestTwoAgentsProposeAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	begun, err := o.c.Start(ctx, outsideTask(o))
	o.must(err)
	const each = 8
	var wg sync.WaitGroup
	for _, agent := range []string{"ann", "ben"} {
		for i := range each {
			wg.Go(func() {
				_, err := o.c.Propose(ctx, begun.Run, api.IntentRequest{
					Agent: agent, Tool: "kv_set", Args: json.RawMessage(fmt.Sprintf(`{"key":"%s/%d","value":%d}`, agent, i, i)), Rationale: "at once",
				})
				if err != nil {
					t.Errorf("%s %d: %v", agent, i, err)
				}
			})
		}
	}
	wg.Wait()
	got := o.rest(begun.Run)
	if got.Commits != 2*each || got.State != "waiting" {
		t.Fatalf("it is %+v", got)
	}
	world, err := o.c.World(ctx, begun.Run, -1)
	if err != nil || len(world.Resources) != 2*each {
		t.Errorf("the world has %d resources, %v", len(world.Resources), err)
	}
	for _, agent := range []string{"ann", "ben"} {
		_, err := o.c.Finish(ctx, begun.Run, api.FinishRequest{Agent: agent, Answer: json.RawMessage(`{"n":0.5}`)})
		o.must(err)
	}
	if got := o.rest(begun.Run); got.State != "done" {
		t.Errorf("it is %+v", got)
	}
	if r, err := o.c.Prove(ctx, begun.Run, nil); err != nil || r.Verdict != "verified" {
		t.Errorf("the proof is %+v, %v", r, err)
	}
	_, err = o.c.Propose(ctx, begun.Run, api.IntentRequest{Agent: "ann", Tool: "kv_set"})
	wantCode(t, err, "drive.run_sealed")
}

func TestAnIntentWithItsNonceIsDoneOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	begun, err := o.c.Start(ctx, o.task(`"model":"outside","tools":[{"builtin":["kv"]}]`))
	o.must(err)
	propose := func(key, nonce, parent string) error {
		_, err := o.c.Propose(ctx, begun.Run, api.IntentRequest{Tool: "kv_set", Args: json.RawMessage(`{"key":"` + key + `","value":1}`), Nonce: nonce, ParentCommit: parent})
		o.rest(begun.Run)
		return err
	}
	o.must(propose("a", "", ""))
	head := o.rest(begun.Run).HeadCommit
	nonce := strings.Repeat("0a", 16)
	for range 3 {
		o.must(propose("b", nonce, head))
	}
	if got := o.rest(begun.Run); got.Commits != 2 {
		t.Errorf("%d commits, want 2", got.Commits)
	}
	for name, x := range map[string]api.IntentRequest{
		"a bad nonce": {Tool: "kv_set", Nonce: "xy"}, "a bad parent": {Tool: "kv_set", ParentCommit: "xy"},
		"no tool": {}, "another kind": {Tool: "kv_set", Kind: "wish"}, "bad arguments": {Tool: "kv_set", Args: json.RawMessage(`{"a":1,"a":2}`)},
	} {
		_, err := o.c.Propose(ctx, begun.Run, x)
		t.Run(name, func(t *testing.T) { wantCode(t, err, "server.bad_request") })
	}
	_, err = o.c.Propose(ctx, begun.Run, api.IntentRequest{Tool: "kv_set", RoutingEvidence: json.RawMessage(`{"selected":"x"}`)})
	wantCode(t, err, "trajectory.bad_routing")
	_, err = o.c.Propose(ctx, begun.Run, api.IntentRequest{Agent: "nobody", Tool: "kv_set"})
	wantCode(t, err, "trajectories.ambiguous")
}

func TestPeopleStopATrajectoryThatIsAtWork(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	in := o.task(`"model":"outside","max_steps":1000,"tools":[{"builtin":["kv"]}]`)
	var script []string
	const steps = 60
	for i := range steps {
		script = append(script, fmt.Sprintf(`{"text":"on","calls":[{"kv_set":{"key":"k%d","value":1}}]}`, i))
	}
	script = append(script, `{"text":"Done."}`)
	in.Script = json.RawMessage("[" + strings.Join(script, ",") + "]")
	begun, err := o.c.Start(ctx, in)
	o.must(err)
	state, err := o.c.Trajectory(ctx, begun.Run)
	o.must(err)
	halt := o.signed("adam", govern.Admin, govern.Stop, api.Matter{Ledger: state.TrajectoryID, Subject: state.TrajectoryID, Bound: state.TrajectoryID})
	if _, err := o.c.Act(ctx, begun.Run, client.Halt, halt); err != nil {
		t.Fatal(err)
	}
	got := o.rest(begun.Run)
	if got.State != "halted" || len(got.Halts) != 1 || got.Halts[0].Actor != "adam" || got.Commits >= steps {
		t.Fatalf("it is %+v", got)
	}
	writ := got.Agents[0].Writ
	about := api.Matter{Ledger: state.TrajectoryID, Subject: writ, Bound: writ}
	_, err = o.c.Act(ctx, begun.Run, client.Revoke, o.signed("adam", govern.Admin, govern.Revoke, about))
	o.must(err)
	_, err = o.c.Act(ctx, begun.Run, client.Restore, o.signed("adam", govern.Admin, govern.Restore, about))
	o.must(err)
	_, err = o.c.Act(ctx, begun.Run, client.Compensate, o.signed("adam", govern.Admin, govern.Compensate, about))
	wantCode(t, err, "govern.other_matter")
	_, err = o.c.Act(ctx, begun.Run, client.Clear, o.signed("adam", govern.Admin, govern.Clear, got.Halts[0].Matter))
	o.must(err)
	if got := o.rest(begun.Run); got.State != "done" || got.Commits != steps {
		t.Fatalf("it is %+v", got)
	}
	if r, err := o.c.Prove(ctx, begun.Run, nil); err != nil || r.Verdict != "verified" {
		t.Errorf("the proof is %+v, %v", r, err)
	}
}

func TestAServerThatRunsNothingRecordsWhatPeopleSign(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	begun, err := o.c.Start(ctx, o.pay())
	o.must(err)
	o.rest(begun.Run)
	o.stop()
	o.open(func(s *server.Options) { s.AllowRun = false })
	for _, f := range []func() error{
		func() error { _, err := o.c.Start(ctx, o.pay()); return err },
		func() error { _, err := o.c.Resume(ctx, begun.Run); return err },
		func() error { _, err := o.c.Branch(ctx, begun.Run, api.BranchRequest{}); return err },
		func() error { _, err := o.c.Submit(ctx, api.RoutedSubmit{Tool: "pay"}); return err },
	} {
		wantCode(t, f(), "server.runs_nothing")
	}
	list, err := o.c.Pending(ctx, begun.Run)
	o.must(err)
	taken, err := o.c.Act(ctx, begun.Run, client.Answer, o.signed("alice", govern.Approver, govern.Approve, list.Pending[0].Matter))
	if err != nil || taken.Working {
		t.Fatalf("the answer: %+v, %v", taken, err)
	}
	if got, err := o.c.Trajectory(ctx, begun.Run); err != nil || got.State != "at_work" || o.paid() != 0 {
		t.Errorf("it is %+v, %v", got, err)
	}
	o.stop()
	o.open(func(s *server.Options) { s.Trajectories = nil })
	_, err = o.c.Act(ctx, begun.Run, client.Answer, []byte(`{}`))
	wantCode(t, err, "govern.bad_act")
	_, err = o.c.Finish(ctx, begun.Run, api.FinishRequest{})
	wantCode(t, err, "server.read_only")
	o.stop()
	o.open(nil)
	_, err = o.c.Resume(ctx, begun.Run)
	o.must(err)
	if got := o.rest(begun.Run); got.State != "done" || o.paid() != 1 {
		t.Errorf("it is %+v, and was paid %d times", got, o.paid())
	}
}

func TestABranchGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	begun, err := o.c.Start(ctx, o.pay())
	o.must(err)
	got := o.rest(begun.Run)
	made, err := o.c.Branch(ctx, begun.Run, api.BranchRequest{At: got.Entries - 1, Note: "without the money"})
	o.must(err)
	branch := o.rest(made.Run)
	if made.Run == begun.Run || branch.TrajectoryID == got.TrajectoryID || branch.State != "waiting" || branch.Commits != 1 {
		t.Errorf("the branch is %+v", branch)
	}
	list, err := o.c.Pending(ctx, made.Run)
	o.must(err)
	_, err = o.c.Act(ctx, made.Run, client.Answer, o.signed("alice", govern.Approver, govern.Deny, list.Pending[0].Matter))
	o.must(err)
	if branch := o.rest(made.Run); branch.State != "done" || branch.Commits != 1 || o.paid() != 0 {
		t.Errorf("the branch is %+v", branch)
	}
	if r, err := o.c.Prove(ctx, made.Run, nil); err != nil || r.Verdict != "verified" {
		t.Errorf("the proof is %+v, %v", r, err)
	}
	if again := o.rest(begun.Run); again.Head != got.Head {
		t.Error("the source was changed")
	}
	_, err = o.c.Branch(ctx, begun.Run, api.BranchRequest{At: 4000})
	wantCode(t, err, "server.bad_request")
}

func TestOneActionHasATrajectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(s *server.Options) {
		s.Template = func() (*trajectories.Task, error) {
			return (&trajectories.Sources{Task: []byte(`{"task":"One action","model":"outside","tools":[{"builtin":["kv"]}]}`)}).Read()
		}
	})
	ctx := t.Context()
	evidence := `{"alternatives":[],"confidence_bps":9000,"cost_estimate_millicents":1,"decision_hash":"d","latency_estimate_ms":2,"reason_codes":["cheap"],"selected":"kv_set"}`
	made, err := o.c.Submit(ctx, api.RoutedSubmit{Tool: "kv_set", Args: json.RawMessage(`{"key":"a","value":"b"}`), Rationale: "routed", RoutingEvidence: json.RawMessage(evidence)})
	o.must(err)
	got := o.rest(made.Run)
	if got.Commits != 1 || got.State != "waiting" {
		t.Errorf("it is %+v", got)
	}
	refused, err := o.c.Submit(ctx, api.RoutedSubmit{Tool: "no_such_tool"})
	o.must(err)
	if got := o.rest(refused.Run); got.Commits != 0 || refused.Run == made.Run {
		t.Errorf("an unknown tool gives %+v", got)
	}
	_, err = o.c.Submit(ctx, api.RoutedSubmit{Tool: "kv_set", RoutingEvidence: json.RawMessage(`{}`)})
	wantCode(t, err, "trajectory.bad_routing")
	_, err = newOffice(t, nil).c.Submit(ctx, api.RoutedSubmit{Tool: "kv_set"})
	wantCode(t, err, "server.no_template")
}

func TestATaskThatCannotBeRunIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	for name, x := range map[string]struct {
		in   api.TrajectoryStart
		code string
	}{
		"no task":          {api.TrajectoryStart{Task: json.RawMessage(`{}`)}, "trajectories.bad_task"},
		"no object":        {api.TrajectoryStart{Task: json.RawMessage(`[]`)}, "trajectories.bad_task"},
		"null":             {api.TrajectoryStart{Task: json.RawMessage(`null`)}, "trajectories.bad_task"},
		"unknown member":   {o.task(`"wizard":"outside"`), "trajectories.bad_task"},
		"too long":         {api.TrajectoryStart{Task: json.RawMessage(`{"task":"` + strings.Repeat("x", 10_001) + `","model":"outside"}`)}, "trajectory.bad_charter"},
		"too many steps":   {o.task(`"model":"outside","max_steps":10001`), "trajectory.bad_charter"},
		"script and model": {api.TrajectoryStart{Task: o.pay().Task, Script: json.RawMessage(`[]`), Model: "http://127.0.0.1:1"}, "trajectories.bad_task"},
		"bad model":        {api.TrajectoryStart{Task: o.pay().Task, Model: "ftp://x"}, "trajectories.bad_task"},
		"bad tools":        {api.TrajectoryStart{Task: o.pay().Task, Tools: json.RawMessage(`[{"nothing":1}]`)}, "trajectories.bad_task"},
		"twice a name":     {api.TrajectoryStart{Task: json.RawMessage(`{"task":"a","task":"b"}`)}, "server.bad_request"},
	} {
		_, err := o.c.Start(ctx, x.in)
		t.Run(name, func(t *testing.T) { wantCode(t, err, x.code) })
	}
	for r, err := range o.c.Runs(ctx) {
		t.Errorf("there is a run %+v, %v", r, err)
	}
}
