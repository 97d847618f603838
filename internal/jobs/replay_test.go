package jobs_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// misroutedDiff is the canonical diff of [rig.misrouted].
const misroutedDiff = `{"differences":[{"pointer":"/selected_agent","recorded":"agent:nobody_v1","replayed":"agent:alpha_v1"}],"profile":"mace-fixed9"}`

// spec: M-90, M-58
func TestREPLAY01_ProductionReplayOfAKeptJobEquals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.replay(on(res.Run, production))
	if err != nil || !out.Authoritative() || out.Result.Final != "a small falcon" || len(out.Result.Divergences) != 0 {
		t.Fatalf("Replay = %+v, %v; want the same answer, with authority", out.Result, err)
	}
	if got := r.audit(out.Audit); slices.Contains(got, jobs.EventDivergence) {
		t.Errorf("the audit is %v, want no %s", got, jobs.EventDivergence)
	}
	for _, run := range []ledger.RunID{res.Run, out.Audit, r.governance().Run()} {
		r.sound(run)
	}
}

// Each step of the replay is an entry of an audit run that is sealed, and the
// request and its result are signed or recorded in the governance ledger.
//
// spec: M-22, M-59, M-82, M-106
func TestReplayIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.replay(on(res.Run, production))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.events(jobs.EventRequest), []string{jobs.EventRequest, jobs.EventResult}; !slices.Equal(got, want) {
		t.Errorf("the governance ledger holds %v, want %v", got, want)
	}
	names := r.audit(out.Audit)
	if int64(len(names)-3) != out.Result.Steps+2 { // its open, result and seal; two ledgers were verified before
		t.Errorf("the audit holds %d entries for %d steps", len(names), out.Result.Steps)
	}
	q := r.governance().Requests()
	if len(q) != 1 || q[0].Mode() != job.Production || q[0].Actor != "operator" || !q[0].Done || q[0].Code != "" || q[0].Audit != out.Audit {
		t.Errorf("Requests = %+v, want the one that was answered", q)
	}
}

// spec: M-91, M-49, M-66
func TestREPLAY02_MissingSnapshotFails(t *testing.T) {
	t.Parallel()
	for _, kind := range job.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			res := r.done(birds)
			out, err := r.over(r.without(0, "snapshot."+string(kind))).Replay(context.Background(), on(res.Run, production))
			wantCode(t, err, job.ErrMissingSnapshot)
			if job.ErrMissingSnapshot.Error() != "MISSING_SNAPSHOT" || !slices.Contains(out.Result.Missing, kind.Field()) {
				t.Errorf("missing = %v, want %s", out.Result.Missing, kind.Field())
			}
			if got := r.governance().Standing(); len(got) != 0 {
				t.Errorf("Standing = %v, want none: nothing was changed", got)
			}
		})
	}
}

// spec: M-92, M-83
func TestREPLAY03_ChangedSnapshotFailsAndHalts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.over(r.changed(0, "snapshot.router")).Replay(context.Background(), on(res.Run, production))
	wantCode(t, err, job.ErrIntegrity)
	if job.ErrIntegrity.Error() != "INTEGRITY_FAILURE" || len(out.Result.Affected) == 0 {
		t.Errorf("affected = %v, want the snapshots", out.Result.Affected)
	}
	if got := r.events(jobs.EventRequest); !slices.Contains(got, jobs.EventIntegrity) || !slices.Contains(got, jobs.EventHalt) || got[len(got)-1] != jobs.EventResult {
		t.Errorf("the governance ledger holds %v, want the failure, the halt and the result", got)
	}
	// It stands still for everybody, though the store is as it was again.
	_, err = r.replay(on(res.Run, jobs.ReplayRequest{}))
	wantCode(t, err, govern.ErrHalted)
	r.sound(r.governance().Run())
}

// A snapshot whose ledger is whole and whose own signature does not fit halts
// alone, and with it every job that stands on it; others go on. The event says
// in which job it was found.
//
// spec: M-50, M-84
func TestHaltBindsToTheAffectedSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	other := r.done(strings.Replace(birds, "seed: s1", "seed: seed-0001", 1))
	forged := r.forge(res, nil, func(c *ledger.Content) {
		if c.Name == "snapshot.router" {
			at := bytes.Index(c.Bytes, []byte(`"mac":"`)) + len(`"mac":"`)
			c.Bytes = slices.Clone(c.Bytes)
			c.Bytes[at] = "10"[(c.Bytes[at]-'0')%2] // another hexadecimal digit
		}
	})
	id := res.Log.Snapshots[2]
	out, err := r.replay(on(forged, production))
	wantCode(t, err, job.ErrIntegrity)
	if !slices.Equal(out.Result.Affected, []string{id}) {
		t.Errorf("affected = %v, want the router snapshot %s", out.Result.Affected, id)
	}
	var subjects []string
	for _, h := range r.governance().Standing() {
		subjects = append(subjects, h.Subject)
	}
	if !slices.Equal(subjects, []string{id}) {
		t.Errorf("the halts are about %v, want %s", subjects, id)
	}
	found := 0
	for o, err := range r.governance().Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Body.Get("name").Str() == "INTEGRITY_FAILURE" {
			if found++; o.Data().Get("job_id").Str() != res.JobID || o.Data().Get("snapshot_id").Str() != id {
				t.Errorf("the event says %s, want the job %s and the snapshot %s", o.Data(), res.JobID, id)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d events INTEGRITY_FAILURE, want one", found)
	}
	_, err = r.replay(on(res.Run, production))
	wantCode(t, err, govern.ErrHalted) // it stands on the same snapshot
	if _, err := r.replay(on(other.Run, production)); err != nil {
		t.Errorf("Replay of a job with other snapshots = %v", err)
	}
}

// What a replay has recorded stays as it is: its audit takes nothing more, and
// whatever is changed in it is found.
//
// spec: M-111
func TestAuditOfAReplayIsImmutable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.replay(on(res.Run, production))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drive.Resume(ctx, r.Config, out.Audit, drive.Opening{}); codeOf(err) != drive.ErrSealed.Error() {
		t.Errorf("Resume of the audit = %v, want %v", err, drive.ErrSealed)
	}
	kept := r.kept(out.Audit)
	before := len(kept.entries)
	if _, err := r.replay(on(res.Run, production)); err != nil || len(r.kept(out.Audit).entries) != before {
		t.Errorf("a second replay wrote into the audit of the first: %v", err)
	}
	for k, o := range kept.objects() {
		if !strings.Contains(o.name, "entry") {
			continue
		}
		for at := k % max(1, min(97, o.size)); at < o.size; at += 97 {
			v, err := archive.VerifyRun(ctx, apart{Store: r.store, job: o.with(at), run: out.Audit}, out.Audit, &archive.VerifyOptions{Roots: r.keys.Roots()})
			if err == nil && v.Verdict == replay.Verified {
				t.Errorf("byte %d of the %s was changed, and the audit verifies", at, o.name)
			}
		}
	}
}

// What is halted goes on after a decision of an admin or of the council, which is
// an entry; nobody else's word counts, and one of three is not the council.
//
// spec: M-85, M-14, M-83
func TestHaltIsClearedByAnAdminOrTheCouncil(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	res := r.done(birds)
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("ada", govern.Admin)
	r.enrol("olga", govern.Auditor)
	r.enrol("oscar", govern.Operator)
	r.enrol("operator", govern.Operator, govern.Admin, govern.Auditor)
	incident := func() error {
		return r.governance().Incident(ctx, []string{string(res.Run)}, jobs.Act{As: "oscar", Reason: "the key was copied"})
	}
	failure := func() error {
		out, err := r.over(r.changed(0, "snapshot.router")).Replay(ctx, on(res.Run, jobs.ReplayRequest{By: jobs.Act{As: "oscar"}}))
		wantCode(t, err, job.ErrIntegrity)
		if len(out.Result.Affected) == 0 {
			t.Error("nothing is affected")
		}
		return nil
	}
	type way struct {
		by     string
		states []govern.State
		who    []string
	}
	ways := []way{
		{"an admin", []govern.State{govern.Granted}, []string{"ada"}},
		{"the council", []govern.State{govern.Open, govern.Granted}, []string{"cat", "cleo"}},
		{"the council after a tie, which is a no", []govern.State{govern.Open, govern.Denied, govern.Open, govern.Granted}, []string{"cat", "-cleo", "cat", "cyd"}},
		{"the council in a second round", []govern.State{govern.Open, govern.Denied, govern.Open, govern.Granted}, []string{"-cat", "-cleo", "cleo", "cyd"}},
		{"an admin after the council has begun", []govern.State{govern.Open, govern.Granted}, []string{"cat", "ada"}},
	}
	for _, in := range []struct {
		name  string
		halt  func() error
		cause string // the entry before FORCE_HALT_REPLAY
		ways  []way
	}{{"SECURITY_INCIDENT", incident, jobs.EventIncident, ways}, {"INTEGRITY_FAILURE", failure, jobs.EventIntegrity, ways[:2]}} {
		for _, out := range in.ways {
			before := r.governance().Last().N
			if err := in.halt(); err != nil {
				t.Fatal(err)
			}
			if got := r.since(before); !strings.Contains(got, in.cause+" "+jobs.EventHalt) {
				t.Errorf("after %s the ledger holds %s", in.name, got)
			}
			for _, mode := range []job.Mode{job.Audit, job.Reexecute, job.Production} {
				_, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mode: mode})
				wantCode(t, err, govern.ErrHalted)
			}
			g := r.governance()
			before = g.Last().N
			for _, h := range g.Standing() {
				for _, as := range []string{"oscar", "olga"} {
					_, err := g.Clear(ctx, h.Subject, true, jobs.Act{As: as})
					wantCode(t, err, govern.ErrRole)
				}
				for i, as := range out.who {
					name, no := strings.CutPrefix(as, "-")
					if st, err := g.Clear(ctx, h.Subject, !no, jobs.Act{As: name}); st != out.states[i] || err != nil {
						t.Fatalf("%s, cleared by %s: the word of %s makes it %s, %v; want %s", in.name, out.by, as, st, err, out.states[i])
					}
				}
			}
			if got := r.since(before); !strings.HasSuffix(got, govern.EventVote+" "+jobs.EventClear) {
				t.Errorf("after it was cleared by %s the ledger holds %s", out.by, got)
			}
			if _, err := r.replay(on(res.Run, jobs.ReplayRequest{})); err != nil {
				t.Errorf("%s, cleared by %s: Replay = %v, want it to go on", in.name, out.by, err)
			}
		}
	}
	r.sound(r.governance().Run())
}

// spec: M-93, M-60, M-68
func TestREPLAY04_MissingOutputHaltsProduction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	n := r.entry(res.Run, job.EventOutput)
	out, err := r.over(r.without(n, job.OutputContent)).Replay(context.Background(), on(res.Run, production))
	wantCode(t, err, job.ErrMissingOutput)
	if job.ErrMissingOutput.Error() != "MISSING_PERSISTED_AGENT_OUTPUT" || !slices.Contains(out.Result.Missing, "agent_output "+res.Log.Iterations[1].ID) {
		t.Errorf("missing = %v, want the output of %s", out.Result.Missing, res.Log.Iterations[1].ID)
	}
}

// A job whose outputs are not kept says so, and its bytes are gone.
//
// spec: M-77, M-78
func TestUnkeptOutputsAreErased(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(strings.Replace(birds, "persist: always", "persist: never", 1))
	if res.Log.Replayable || len(res.Log.Missing) != 1 {
		t.Fatalf("replayable = %v %v, want one output to be missing", res.Log.Replayable, res.Log.Missing)
	}
	_, err := r.replay(on(res.Run, production))
	wantCode(t, err, job.ErrMissingOutput)
	found := 0
	for j, err := range jobs.List(context.Background(), r.store) {
		if err != nil || j.Replayable || len(j.Missing) != 1 {
			t.Errorf("List = %+v, %v; want one job that lacks one output", j, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("List yields %d jobs, want 1", found)
	}
}

// spec: M-96, M-61, M-62
func TestREPLAY07_MocksStandInAndTakeTheAuthority(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(strings.Replace(birds, "persist: always", "persist: never", 1))
	mocks := map[string][]byte{"agent:beta_v1": []byte(`{"text":"a small falcon","confidence":0.9,"tokens_used":10}`)}
	out, err := r.replay(jobs.ReplayRequest{Run: res.Run, Mocks: mocks})
	if err != nil || out.Authoritative() || len(out.Result.Why) == 0 || out.Result.Final != "a small falcon" {
		t.Errorf("Replay = %+v, %v; want the answer, without authority", out.Result, err)
	}
	_, err = r.replay(jobs.ReplayRequest{Run: res.Run, Mode: job.Production, Mocks: mocks})
	wantCode(t, err, job.ErrReplayMode)
}

// spec: M-94, M-63, M-70
func TestREPLAY05_ResealedLogWithAnotherRouterOutputDiverges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	out, err := r.replay(on(r.misrouted(res), jobs.ReplayRequest{}))
	wantCode(t, err, job.ErrDivergence)
	if job.ErrDivergence.Error() != "REPLAY_DIVERGENCE" || len(out.Result.Divergences) != 1 {
		t.Fatalf("divergences = %+v, want the first alone", out.Result.Divergences)
	}
	diff, encErr := canon.Encode(out.Result.Divergences[0].Diff, canon.MACEFixed9)
	if encErr != nil || string(diff) != misroutedDiff {
		t.Errorf("the diff is %s, %v; want %s", diff, encErr, misroutedDiff)
	}
	if !slices.Contains(r.audit(out.Audit), jobs.EventDivergence) {
		t.Errorf("the audit has no %s", jobs.EventDivergence)
	}
}

// spec: M-95, M-64, M-65, M-71
func TestREPLAY06_ForceContinueTakesAdminAndCouncil(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("ada", govern.Admin)
	r.enrol("operator", govern.Operator, govern.Admin)
	res := r.done(birds)
	q := jobs.ReplayRequest{Run: r.misrouted(res), Force: true}
	out, err := r.replay(q)
	wantCode(t, err, job.ErrForce)
	if job.ErrForce.Error() != "FORCE_CONTINUE_REQUIRED" {
		t.Errorf("the code is %q", job.ErrForce)
	}
	q.Approval = out.Request
	for _, step := range []struct {
		as   string
		code bool // whether it is still refused
	}{{"ada", true}, {"cat", true}, {"cleo", false}} {
		if _, err := r.governance().Approve(ctx, out.Request, govern.Approve, jobs.Act{As: step.as}); err != nil {
			t.Fatalf("Approve as %s = %v", step.as, err)
		}
		got, err := r.replay(q)
		if step.code {
			wantCode(t, err, job.ErrForce)
			continue
		}
		if err != nil || got.Authoritative() || len(got.Result.Divergences) == 0 {
			t.Fatalf("Replay = %+v, %v; want it to end, without authority", got.Result, err)
		}
		if diff, err := canon.Encode(got.Result.Divergences[0].Diff, canon.MACEFixed9); err != nil || string(diff) != misroutedDiff {
			t.Errorf("the diff is %s, %v; want %s", diff, err, misroutedDiff)
		}
	}
	r.sound(r.governance().Run())
}
