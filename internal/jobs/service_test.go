package jobs_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
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

// Who may run which mode, with nobody's approval. Roles add up, and each attempt
// is recorded.
//
// spec: M-80, M-81, M-82
func TestWhoMayRunWhichMode(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	r := newRig(t)
	res := r.done(birds)
	for i, tt := range []struct {
		roles                             []govern.Role // none: a stranger
		audit, reexecute, production, dsr bool
	}{
		{[]govern.Role{govern.Operator}, yes, yes, no, no},
		{[]govern.Role{govern.Admin}, yes, yes, no, yes},
		{[]govern.Role{govern.Auditor}, yes, yes, no, no},
		{[]govern.Role{govern.Council}, no, no, no, no},
		{[]govern.Role{govern.Approver}, no, no, no, no},
		{[]govern.Role{govern.Council, govern.Approver}, no, no, no, no},
		{[]govern.Role{govern.Operator, govern.Admin}, yes, yes, no, yes},
		{[]govern.Role{govern.Operator, govern.Auditor}, yes, yes, no, no},
		{[]govern.Role{govern.Operator, govern.Council}, yes, yes, no, no},
		{[]govern.Role{govern.Admin, govern.Council}, yes, yes, no, yes},
		{[]govern.Role{govern.Auditor, govern.Council}, yes, yes, no, no},
		{[]govern.Role{govern.Admin, govern.Auditor}, yes, yes, yes, yes},
		{nil, no, no, no, no},
	} {
		who := fmt.Sprint("somebody-", i)
		refusal := fault.Code(jobs.ErrMode)
		if tt.roles == nil {
			if _, err := r.keys.Named(keys.Actors, who); err != nil {
				t.Fatal(err)
			}
			refusal = govern.ErrUnknownActor
		} else {
			r.enrol(who, tt.roles...)
		}
		for _, q := range []struct {
			name    string
			ask     jobs.ReplayRequest
			allowed bool
		}{
			{"no mode, which is audit", jobs.ReplayRequest{}, tt.audit},
			{"audit", jobs.ReplayRequest{Mode: job.Audit}, tt.audit},
			{"reexecute", jobs.ReplayRequest{Mode: job.Reexecute}, tt.reexecute},
			{"production", jobs.ReplayRequest{Mode: job.Production}, tt.production},
			{"for a data subject", jobs.ReplayRequest{DSR: true}, tt.dsr},
		} {
			ask := q.ask
			ask.Run, ask.By.As = res.Run, who
			out, err := r.replay(ask)
			want := refusal
			switch {
			case q.allowed:
				want = nil
			case ask.DSR && tt.audit:
				want = job.ErrAccess
			}
			if got := fault.CodeOf(err); got != want {
				t.Errorf("%s by %v: %v, want %v", q.name, tt.roles, err, want)
			}
			if !q.allowed && (out.Result != nil || out.Audit != "" || len(out.Shown) != 0) {
				t.Errorf("%s by %v was refused and took place: %+v", q.name, tt.roles, out)
			}
			all := r.governance().Requests()
			if last := all[len(all)-1]; last.Actor != who || !last.Done || last.ID != out.Request || cmp.Or(ask.Mode, job.Audit) != last.Mode() {
				t.Errorf("%s by %v is recorded as %+v", q.name, tt.roles, last)
			}
		}
	}
	r.sound(r.governance().Run())
}

// A production replay is allowed by what its actor lacks of Admin and Auditor, or
// by the council; an approval is good for one replay, of one job, by whom it was
// asked for, by whatever part of its id it is named.
//
// spec: M-81
func TestApprovedProductionReplay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	for id, role := range map[string]govern.Role{"ada": govern.Admin, "bea": govern.Admin, "olga": govern.Auditor, "oscar": govern.Operator, "cat": govern.Council, "cleo": govern.Council, "cyd": govern.Council} {
		r.enrol(id, role)
	}
	r.enrol("operator", govern.Operator, govern.Admin)
	res := r.done(birds)
	other := r.done(strings.Replace(birds, "seed: s1", "seed: s2", 1))
	for _, tt := range []struct {
		who   string
		by    []string // -NAME votes no
		allow bool
	}{
		{"ada", nil, false},
		{"ada", []string{"bea"}, false},
		{"ada", []string{"olga"}, true},
		{"olga", []string{"ada"}, true},
		{"oscar", []string{"ada"}, false},
		{"oscar", []string{"ada", "olga"}, true},
		{"oscar", []string{"cat"}, false},
		{"oscar", []string{"cat", "-cleo", "-cyd"}, false},
		{"oscar", []string{"cat", "cleo"}, true},
		{"ada", []string{"cat", "cyd"}, true},
		{"ada", []string{"-olga"}, false},
	} {
		what := fmt.Sprint(tt.who, " with ", tt.by)
		out, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: tt.who}})
		wantCode(t, err, jobs.ErrMode)
		for _, as := range tt.by {
			name, no := strings.CutPrefix(as, "-")
			verb := govern.Approve
			if no {
				verb = govern.Deny
			}
			if _, err := r.governance().Approve(ctx, out.Request, verb, jobs.Act{As: name}); err != nil {
				t.Fatal(err)
			}
		}
		ask := jobs.ReplayRequest{Run: res.Run, Mode: job.Production, By: jobs.Act{As: tt.who}, Approval: out.Request[:20]}
		if !tt.allow {
			_, err = r.replay(ask)
			wantCode(t, err, jobs.ErrMode)
			continue
		}
		wrong := ask
		wrong.Run = other.Run
		_, err = r.replay(wrong)
		wantCode(t, err, jobs.ErrMode)
		wrong = ask
		wrong.By.As = "operator"
		_, err = r.replay(wrong)
		wantCode(t, err, jobs.ErrMode)
		if got, err := r.replay(ask); err != nil || !got.Authoritative() {
			t.Errorf("%s: Replay = %v, want it to be allowed", what, err)
		}
		for _, name := range []string{ask.Approval, out.Request, out.Request[:30]} {
			ask.Approval = name
			_, err = r.replay(ask)
			wantCode(t, err, jobs.ErrMode)
		}
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

// What was not persisted is missing for a data subject too, by the code that it
// has for everybody.
func TestDataSubjectReplayOfWhatWasNotPersisted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.enrol("ada", govern.Admin)
	res := r.start(strings.Replace(private, "persist: always", "persist: never", 1))
	q := jobs.ReplayRequest{Run: res.Run, DSR: true, Mode: job.Audit}
	q.By.As = "ada"
	out, err := r.replay(q)
	wantCode(t, err, job.ErrMissingOutput)
	if out != nil && len(out.Shown) > 0 {
		t.Errorf("shown is %+v", out.Shown)
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
