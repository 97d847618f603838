package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.CodeOf(err).Error()
}

// A bundle brings the governance ledger that the job stands on; what it brings
// is enough for a production replay in a store that had nothing.
func TestReplayAfterImportIsTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	here, err := r.replay(on(res.Run, production))
	if err != nil {
		t.Fatal(err)
	}
	to := r.moved(res.Run)
	there, err := to.replay(on(res.Run, production))
	if err != nil || !there.Authoritative() {
		t.Fatalf("Replay after import = %+v, %v; want it to be authoritative", there.Result, err)
	}
	if len(here.Steps) != len(there.Steps) {
		t.Fatalf("%d steps here, %d there", len(here.Steps), len(there.Steps))
	}
	for i := range here.Steps {
		if !here.Steps[i].Value().Equal(there.Steps[i].Value()) {
			t.Errorf("step %d is %s here and %s there", i, here.Steps[i].Value(), there.Steps[i].Value())
		}
	}
	if got, want := to.governance().Run(), r.governance().Run(); got != want {
		t.Errorf("the governance is %s, want %s, which came with the bundle", got, want)
	}
	// A bundle of the audit brings the job that it is about.
	whole := r.moved(here.Audit)
	if again, err := whole.replay(on(res.Run, production)); err != nil || !again.Authoritative() {
		t.Errorf("Replay after import of the audit = %v", err)
	}
	whole.sound(here.Audit)
}

// A halt travels with the governance ledger.
func TestImportedHaltStands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	if err := r.governance().Incident(context.Background(), []string{string(res.Run)}, jobs.Act{}); err != nil {
		t.Fatal(err)
	}
	_, err := r.moved(res.Run).replay(on(res.Run, production))
	wantCode(t, err, govern.ErrHalted)
}

// spec: M-80, M-81, M-82
func TestWhoMayReplay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.enrol("ada", govern.Admin)
	r.enrol("oscar", govern.Operator)
	r.enrol("olga", govern.Auditor)
	r.enrol("both", govern.Auditor, govern.Admin)
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("operator", govern.Operator, govern.Admin)
	if _, err := r.keys.Named("actors", "mallory"); err != nil {
		t.Fatal(err)
	}
	res := r.done(birds)
	for _, tt := range []struct {
		as   string
		mode job.Mode
		want fault.Code
	}{
		{"oscar", job.Audit, nil},
		{"ada", job.Reexecute, nil},
		{"olga", job.Audit, nil},
		{"both", job.Production, nil},
		{"oscar", job.Production, jobs.ErrMode},
		{"ada", job.Production, jobs.ErrMode},
		{"cat", job.Audit, jobs.ErrMode},
		{"mallory", job.Audit, govern.ErrUnknownActor},
	} {
		_, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: tt.mode, By: jobs.Act{As: tt.as}})
		if got := fault.CodeOf(err); got != tt.want {
			t.Errorf("%s replay as %s: %v, want %v", tt.mode, tt.as, err, tt.want)
		}
		if q := r.governance().Requests(); q[len(q)-1].Actor != tt.as || !q[len(q)-1].Done {
			t.Errorf("the attempt of %s is not recorded", tt.as)
		}
	}
	// An auditor beside the admin, or two of the council, let it pass.
	for _, by := range [][]string{{"olga"}, {"cat", "cleo"}} {
		out, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: "ada"}})
		wantCode(t, err, jobs.ErrMode)
		for _, as := range by {
			if _, err := r.governance().Approve(ctx, out.Request, govern.Approve, jobs.Act{As: as}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: "ada"}, Approval: out.Request}); err != nil {
			t.Errorf("Replay after the approval of %v = %v", by, err)
		}
		_, err = r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: "ada"}, Approval: out.Request})
		wantCode(t, err, jobs.ErrMode) // an approval is good for one replay
	}
	r.sound(r.governance().Run())
}

// An absent server key is an integrity failure that names it, and halts
// nothing.
//
// spec: M-32
func TestAbsentServerKeyHaltsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	if err := os.Remove(filepath.Join(r.keys.Dir(), "server", "current.pem")); err != nil {
		t.Fatal(err)
	}
	out, err := r.replay(on(res.Run, production))
	wantCode(t, err, job.ErrIntegrity)
	if len(out.Result.Missing) != 1 || !strings.Contains(out.Result.Missing[0], res.Log.KeyID) || len(r.governance().Standing()) != 0 {
		t.Errorf("missing %v, halts %v; want the key and none", out.Result.Missing, r.governance().Standing())
	}
}

// spec: M-102, M-103
func TestLimitsAreLowered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.replay(jobs.ReplayRequest{Run: res.Run, MaxIterations: 1})
	wantCode(t, err, job.ErrReplayTimeout)
	if !slices.Contains(r.audit(out.Audit), jobs.EventTimeout) {
		t.Errorf("the audit has no %s", jobs.EventTimeout)
	}
	_, err = r.replay(jobs.ReplayRequest{Run: res.Run, MaxTime: time.Nanosecond})
	wantCode(t, err, job.ErrReplayTimeout)
	if _, err = r.replay(jobs.ReplayRequest{Run: res.Run, MaxIterations: 1000}); err != nil {
		t.Errorf("Replay = %v; a limit that is higher than the snapshot's changes nothing", err)
	}
}

const private = `
seed: s1
input: {query: "write to ada@example.org", user: uma, consents: [{types: [email], text: "you may", scope: job}]}
persist: always
agents:
  - node: agent:alpha_v1
    script: [{text: "I wrote to bob@example.org", confidence: 0.9}]
snapshots:
  privacy:
    categories: [{pii_type: email, sensitivity: low, pattern: '[a-z]+@[a-z.]+'}]
`

// spec: M-86, M-87, M-88
func TestDataSubjectReplayShowsToAdminsOnRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.enrol("olga", govern.Auditor)
	r.enrol("ada", govern.Admin)
	res := r.start(private)
	if !res.Done {
		t.Fatalf("Start = %+v", res)
	}
	q := jobs.ReplayRequest{Run: res.Run, DSR: true}
	q.By.As = "olga"
	_, err := r.replay(q)
	wantCode(t, err, job.ErrAccess)
	q.By.As, q.Mode = "ada", job.Production
	_, err = r.replay(q)
	wantCode(t, err, jobs.ErrMode)
	q.Mode = job.Audit
	out, err := r.replay(q)
	if err != nil || len(out.Shown) == 0 {
		t.Fatalf("Replay = %+v, %v; want what is redacted", out, err)
	}
	accesses := 0
	for _, name := range r.events(jobs.EventRequest) {
		if name == jobs.EventAccess {
			accesses++
		}
	}
	if accesses != len(out.Shown) {
		t.Errorf("%d accesses are recorded for %d values", accesses, len(out.Shown))
	}
}

// Jobs of one seed at the same time, whatever their clocks and zones say, write
// the same log, byte for byte: every id in it is the same.
func TestOneSeedGivesOneLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.governance()
	const n = 4
	logs := make([][]byte, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			runner := r.over(r.store)
			runner.Config.Holder += string(rune('a' + i))
			runner.Config.Now = func() time.Time { return time.Now().AddDate(7*i, i, 0).In(time.FixedZone("there", 3600*i)) }
			res, err := runner.Start(context.Background(), r.read(birds))
			if err != nil {
				t.Error(err)
				return
			}
			if logs[i], err = res.Log.Bytes(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := 1; i < n; i++ {
		if string(logs[i]) != string(logs[0]) {
			t.Errorf("log %d differs:\n%s\n%s", i, logs[i], logs[0])
		}
	}
}

// A job that asks the council waits, in another process too, and goes on when
// enough have voted.
func TestJobWaitsForTheCouncil(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	res := r.start(strings.Replace(birds, "tokens_used: 10}", "requests: [{action: sem_put, key: birds/kestrel, value: falcon, justification: asked}]}", 1))
	if res.Done || res.Pending == nil || res.Pending.Action != job.ActionPut {
		t.Fatalf("Start = %+v, want a job that waits for %s", res, job.ActionPut)
	}
	_, err := r.replay(on(res.Run, production))
	wantCode(t, err, jobs.ErrUnfinished)
	res, err = r.Vote(ctx, res.Run, govern.Approve, jobs.Act{Reason: "it is true"})
	if err != nil || !res.Done || len(res.Log.Writes) == 0 {
		t.Fatalf("Vote = %+v, %v; want the fact to be written", res, err)
	}
	if _, err = r.replay(on(res.Run, production)); err != nil {
		t.Errorf("Replay = %v", err)
	}
	_, err = r.Vote(ctx, res.Run, govern.Approve, jobs.Act{})
	if err == nil {
		t.Error("a vote on a job that is over was taken")
	}
}

// Each thing that a replay needs has its code when it is not there.
//
// spec: M-34
func TestWhatIsRemovedIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	for _, tt := range []struct {
		name, content string
		n             int64
		want          fault.Code
	}{
		{"log", job.LogContent, r.entry(res.Run, job.LogResult), job.ErrIntegrity},
		{"event", "event", r.entry(res.Run, job.EventRouter), job.ErrIntegrity},
		{"output", job.OutputContent, r.entry(res.Run, job.EventOutput), job.ErrMissingOutput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			alone := r.apartFrom(res.Run, r.without(tt.n, tt.content))
			out, err := r.over(alone).Replay(context.Background(), on(res.Run, production))
			wantCode(t, err, tt.want)
			if len(out.Result.Missing) != 1 {
				t.Errorf("missing = %v, want it to be named", out.Result.Missing)
			}
		})
	}
}

// spec: M-18, M-19
func TestReexecuteRunsAgentsAgainInASandbox(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outside := filepath.Join(t.TempDir(), "written")
	agent := filepath.Join(t.TempDir(), "agent.sh")
	script := "#!/bin/sh\ncat >/dev/null\n(echo x >> " + outside + ") 2>/dev/null\necho '{\"text\":\"a small falcon\",\"confidence\":0.9}'\n"
	if err := os.WriteFile(agent, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	res := r.done(strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", "exec: ["+agent+"]", 1))
	before, err := os.ReadFile(outside)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Reexecute, Rerun: []string{jobs.RerunAll}})
	if fault.CodeOf(err) == fault.Code(jobs.ErrSandbox) {
		t.Skip("no sandbox can be made here: " + err.Error())
	}
	if err != nil || out.Authoritative() || out.Result.Final != "a small falcon" {
		t.Fatalf("Replay = %+v, %v; want the same, without authority", out.Result, err)
	}
	if after, err := os.ReadFile(outside); err != nil || string(after) != string(before) {
		t.Errorf("the agent wrote outside of its sandbox: %q, %v", after, err)
	}
	// An agent that now says something else is a divergence.
	if err := os.WriteFile(agent, []byte(strings.Replace(script, "small", "large", 1)), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Reexecute, Rerun: []string{jobs.RerunAll}})
	wantCode(t, err, job.ErrDivergence)
}
