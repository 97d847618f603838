package job_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// answered is a job of one iteration that is over: alpha says "a small falcon".
func answered(t *testing.T) *started {
	t.Helper()
	r := newRig(t)
	r.says(alpha, text("a small falcon"))
	return r.start(r.plan(nil))
}

// reseal changes the reflective log of an archive and signs it again with the
// valid key, as somebody inside could.
func reseal(t *testing.T, a *job.Archive, edit func(*job.Log)) {
	t.Helper()
	l, err := job.ParseLog(a.ReflectiveLog)
	if err != nil {
		t.Fatal(err)
	}
	edit(l)
	if err := l.Seal(opsKey); err != nil {
		t.Fatal(err)
	}
	if a.ReflectiveLog, err = l.Bytes(); err != nil {
		t.Fatal(err)
	}
}

// misroute changes the score of the first candidate in the recorded output of
// the router.
func misroute(l *job.Log) {
	out := l.Iterations[0].Router
	list := slices.Clone(out.Get("ordered_candidates").Elems())
	list[0] = list[0].With("final_score", job.Nano(1).Value())
	l.Iterations[0].Router = out.With("ordered_candidates", canon.Array(list...))
}

// misrouted is the canonical diff of that change.
const misrouted = `{"differences":[{"pointer":"/ordered_candidates/0/final_score","recorded":0.000000001,"replayed":0.833440000}],"profile":"mace-fixed9"}`

// spec: M-01
// spec: M-20
// spec: M-58
// spec: M-90
func TestREPLAY01_FullReplayEqualsTheRun(t *testing.T) {
	t.Parallel()
	x := answered(t)
	if l := x.log(); l.Final != "a small falcon" || !l.Replayable || len(l.Missing) != 0 {
		t.Fatalf("final answer %q, replayable %v %v", l.Final, l.Replayable, l.Missing)
	}
	x.sound()
	got, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Production}, func(s job.Step) error {
		if !s.OK() || strings.Contains(s.Value().String(), "REPLAY_DIVERGENCE") {
			t.Errorf("step %s: %s", s.Name, s.Value())
		}
		return nil
	})
	if err != nil || got.Final != "a small falcon" || len(got.Divergences) != 0 || !got.Authoritative || got.Iterations != 1 {
		t.Errorf("Replay = %+v, %v; want the same answer of one iteration, with authority", got, err)
	}
}

// spec: M-34
// spec: M-49
// spec: M-66
// spec: M-91
func TestREPLAY02_MissingSnapshotFails(t *testing.T) {
	t.Parallel()
	x := answered(t)
	for _, k := range job.Kinds() {
		a := x.archive()
		s, _ := x.set.Of(k)
		delete(a.Snapshots, s.ID)
		got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
		wantLiteral(t, err, job.ErrMissingSnapshot, "MISSING_SNAPSHOT")
		if !slices.Equal(got.Missing, []string{k.Field()}) {
			t.Errorf("missing = %v, want %s", got.Missing, k.Field())
		}
	}
	a := x.archive()
	clear(a.Snapshots)
	if got, _ := job.Replay(a, job.ReplayOptions{}, nil); len(got.Missing) != 5 {
		t.Errorf("missing = %v, want all five", got.Missing)
	}
	a = x.archive()
	reseal(t, a, func(l *job.Log) { l.Snapshots[2] = "" })
	got, err := job.Replay(a, job.ReplayOptions{}, nil)
	wantLiteral(t, err, job.ErrMissingSnapshot, "MISSING_SNAPSHOT")
	if !slices.Equal(got.Missing, []string{"router_snapshot_id"}) {
		t.Errorf("missing = %v, want the id that the log does not name", got.Missing)
	}
}

// spec: M-09
// spec: M-50
// spec: M-67
// spec: M-92
func TestREPLAY03_FlippedByteOfASnapshotIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	x := answered(t)
	for _, k := range job.Kinds() {
		s, _ := x.set.Of(k)
		a := x.archive()
		whole := a.Snapshots[s.ID]
		for i := 0; i < len(whole); i += 1 + len(whole)/97 {
			b := bytes.Clone(whole)
			b[i] ^= 1
			a.Snapshots[s.ID] = b
			var last job.Step
			got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, func(s job.Step) error { last = s; return nil })
			if fault.CodeOf(err) != job.ErrIntegrity || job.ErrIntegrity.Error() != "INTEGRITY_FAILURE" {
				t.Fatalf("%s snapshot, byte %d: %v, want INTEGRITY_FAILURE", k, i, err)
			}
			// An id of a key that nobody has is an absent key, which halts nothing.
			if got.Halt == errors.Is(err, job.ErrServerKey) || got.Halt && !slices.Equal(got.Affected, []string{s.ID}) {
				t.Errorf("%s snapshot, byte %d: affected = %v, want %s", k, i, got.Affected, s.ID)
			}
			if last.Name != "verify_snapshot" || last.Subject != s.ID || last.Code != job.ErrIntegrity {
				t.Errorf("%s snapshot, byte %d: last step = %s, want the check of the snapshot", k, i, last.Value())
			}
		}
	}
}

// spec: M-21
// spec: M-31
// spec: M-53
// spec: M-56
// spec: M-60
// spec: M-68
// spec: M-93
func TestREPLAY04_MissingOutputHaltsProduction(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	delete(a.Outputs, job.OutputID("s0", 0))
	iteration := job.IterationID("s0", 0)
	got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
	wantLiteral(t, err, job.ErrMissingOutput, "MISSING_PERSISTED_AGENT_OUTPUT")
	if !slices.Equal(details(err), []string{"iteration_id: " + iteration}) || !slices.Equal(got.Missing, []string{"agent_output " + iteration}) {
		t.Errorf("details %v, missing %v; want the iteration %s", details(err), got.Missing, iteration)
	}
	// No other mode guesses either.
	_, err = job.Replay(a, job.ReplayOptions{Mode: job.Audit}, nil)
	wantLiteral(t, err, job.ErrMissingOutput, "MISSING_PERSISTED_AGENT_OUTPUT")
	// And production takes no mock.
	_, err = job.Replay(a, job.ReplayOptions{Mode: job.Production, Mock: func(job.Rerun) ([]byte, bool) { return nil, true }}, nil)
	wantLiteral(t, err, job.ErrReplayMode, "job.bad_replay_mode")
}

// spec: M-08
// spec: M-55
// spec: M-63
// spec: M-70
// spec: M-94
func TestREPLAY05_ChangedRouterOutputIsADivergence(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	reseal(t, a, misroute)
	var last job.Step
	got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, func(s job.Step) error { last = s; return nil })
	wantLiteral(t, err, job.ErrDivergence, "REPLAY_DIVERGENCE")
	if len(got.Divergences) != 1 || got.Divergences[0].ID != job.DivergenceID("s0", 0) || got.Divergences[0].What != "router_output" {
		t.Fatalf("divergences = %+v, want that of the router in iteration 0", got.Divergences)
	}
	diff, err := canon.Encode(got.Divergences[0].Diff, canon.MACEFixed9)
	if err != nil || string(diff) != misrouted {
		t.Errorf("diff = %s, %v; want %s", diff, err, misrouted)
	}
	if last.Name != "router_output" || last.Code != job.ErrDivergence || last.Subject != job.IterationID("s0", 0) {
		t.Errorf("last step = %s, want the comparison; the replay must stop there", last.Value())
	}

	// The same change without a new signature is found before anything else.
	a = x.archive()
	reseal(t, a, func(l *job.Log) { misroute(l) })
	was, _ := job.ParseLog(x.archive().ReflectiveLog)
	now, _ := job.ParseLog(a.ReflectiveLog)
	now.MAC = was.MAC
	if a.ReflectiveLog, err = now.Bytes(); err != nil {
		t.Fatal(err)
	}
	got, err = job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
	wantLiteral(t, err, job.ErrIntegrity, "INTEGRITY_FAILURE")
	if len(got.Affected) != 5 {
		t.Errorf("affected = %v, want the five snapshots that the log names", got.Affected)
	}
}

// spec: M-64
// spec: M-65
// spec: M-71
// spec: M-95
func TestREPLAY06_ForceContinueNeedsAdminAndCouncil(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	reseal(t, a, misroute)
	first, _ := job.Replay(a, job.ReplayOptions{}, nil)
	admitted := func(m govern.Matter, people ...string) []govern.Admitted { return approvals(t, x.rig, m, people...) }
	other := first.Matter
	other.Bound = canon.SHA256([]byte("another difference"))
	for _, tt := range []struct {
		name string
		acts []govern.Admitted
	}{
		{"nobody", nil},
		{"admin alone", admitted(first.Matter, "ada")},
		{"council alone", admitted(first.Matter, "cat", "cyd")},
		{"no quorum", admitted(first.Matter, "ada", "cat")},
		{"about another difference", admitted(other, "ada", "cat", "cyd")},
	} {
		got, err := job.Replay(a, job.ReplayOptions{Force: true, Approvals: tt.acts}, nil)
		wantLiteral(t, err, job.ErrForce, "FORCE_CONTINUE_REQUIRED")
		if got.Authoritative {
			t.Errorf("%s: the result claims authority", tt.name)
		}
	}
	got, err := job.Replay(a, job.ReplayOptions{Force: true, Approvals: admitted(first.Matter, "ada", "cat", "cyd")}, nil)
	if err != nil || got.Authoritative || got.Final != "a small falcon" {
		t.Errorf("approved: %+v, %v; want the end of the job, without authority", got, err)
	}
	if len(got.Divergences) != 1 || got.Divergences[0].What != "router_output" {
		t.Fatalf("divergences = %+v, want the one that was approved", got.Divergences)
	}
	if diff, err := canon.Encode(got.Divergences[0].Diff, canon.MACEFixed9); err != nil || string(diff) != misrouted {
		t.Errorf("diff = %s, %v; want %s", diff, err, misrouted)
	}
}

func TestForceContinueListsAllDivergences(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	reseal(t, a, func(l *job.Log) {
		misroute(l)
		l.Iterations[0].Tick = l.Iterations[0].Tick.With("state_digest", canon.String("?"))
		l.Final = "a large falcon"
	})
	first, _ := job.Replay(a, job.ReplayOptions{}, nil)
	if len(first.Divergences) != 1 {
		t.Fatalf("%d divergences without force, want to stop at the first", len(first.Divergences))
	}
	got, err := job.Replay(a, job.ReplayOptions{Force: true, Approvals: approvals(t, x.rig, first.Matter, "ada", "cat", "cyd")}, nil)
	var what []string
	for _, d := range got.Divergences {
		what = append(what, d.What)
	}
	if err != nil || !slices.Equal(what, []string{"router_output", "tick_state", "final_answer"}) || got.Authoritative {
		t.Errorf("divergences = %v, %v; want all three, without authority", what, err)
	}
}

// approvals are the admitted acts of people who want to go on.
func approvals(t *testing.T, r *rig, m govern.Matter, people ...string) []govern.Admitted {
	t.Helper()
	var out []govern.Admitted
	for _, p := range people {
		role := govern.Council
		if p == "ada" {
			role = govern.Admin
		}
		ok, err := r.roster().Admit(act(t, p, role, govern.Approve, m), govern.Requirement{
			Verbs: []govern.Verb{govern.Approve}, Roles: []govern.Role{govern.Admin, govern.Council}, Tenant: "acme", Ledger: m.Ledger,
		})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ok)
	}
	return out
}

// An insider who holds the key can change events too: what they say must still
// follow from what happened.
func TestResealedChangeOfAnEventIsFound(t *testing.T) {
	t.Parallel()
	x := answered(t)
	for _, tt := range []struct {
		eventType, from, to string
		want                fault.Code
	}{
		{job.EventTick, `"tokens_used":10`, `"tokens_used":11`, job.ErrDivergence},
		{job.EventRouter, `"depth":1`, `"depth":2`, job.ErrDivergence},
		{job.EventOutput, `"node_id":"agent:alpha_v1"`, `"node_id":"agent:beta_v1"`, job.ErrIntegrity},
		{job.EventOutput, `"iteration_id":"`, `"iteration_id":"0`, job.ErrIntegrity},
	} {
		a := x.archive()
		changed := false
		reseal(t, a, func(l *job.Log) {
			for i, ref := range l.Events {
				b := bytes.Replace(a.Events[ref.ID], []byte(tt.from), []byte(tt.to), 1)
				if ref.Type == tt.eventType && !bytes.Equal(b, a.Events[ref.ID]) {
					a.Events[ref.ID], l.Events[i].Digest, changed = b, canon.SHA256(b), true
				}
			}
		})
		if _, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil); !changed || fault.CodeOf(err) != tt.want {
			t.Errorf("%s %s: Replay = %v (changed: %v), want %v", tt.eventType, tt.to, err, changed, tt.want)
		}
	}
}

// spec: M-19
// spec: M-61
// spec: M-62
// spec: M-96
func TestREPLAY07_SandboxWithMocksIsNotAuthoritative(t *testing.T) {
	t.Parallel()
	x := answered(t)
	whole := x.archive()
	a := x.archive()
	a.Forget()
	same := func(q job.Rerun) ([]byte, bool) {
		if q.Node != alpha || q.Iteration != job.IterationID("s0", 0) {
			t.Errorf("mock asked for %+v", q)
		}
		return whole.Outputs[job.OutputID("s0", 0)], true
	}
	for _, mode := range []job.Mode{job.Audit, job.Reexecute} {
		got, err := job.Replay(a, job.ReplayOptions{Mode: mode, Mock: same}, nil)
		if err != nil || got.Authoritative || !slices.Contains(got.Why, "mocks stood in for outputs that were not kept") || got.Final != "a small falcon" {
			t.Errorf("%s with mocks = %+v, %v; want the answer, and the badge", mode, got, err)
		}
		if v, _ := got.Value().Get("authoritative").AsBool(); v {
			t.Errorf("%s: the report claims authority", mode)
		}
	}
	got, err := job.Replay(whole, job.ReplayOptions{Live: func() bool { return true }}, nil)
	if err != nil || got.Authoritative {
		t.Errorf("with live calls: %+v, %v; want no authority", got, err)
	}
	// A mock that says something else is a difference like any other.
	other := strings.Replace(string(whole.Outputs[job.OutputID("s0", 0)]), "falcon", "hawk", 1)
	got, err = job.Replay(a, job.ReplayOptions{Mock: func(job.Rerun) ([]byte, bool) { return []byte(other), true }}, nil)
	wantLiteral(t, err, job.ErrDivergence, "REPLAY_DIVERGENCE")
	const want = `{"differences":[{"pointer":"/text","recorded":"a small falcon","replayed":"a small hawk"}],"profile":"mace-fixed9"}`
	if diff, err := canon.Encode(got.Divergences[0].Diff, canon.MACEFixed9); err != nil || string(diff) != want {
		t.Errorf("diff = %s, %v; want %s", diff, err, want)
	}
}

// spec: M-57
// spec: M-69
func TestChangedFinalAnswerIsAResultMismatch(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	reseal(t, a, func(l *job.Log) { l.Final = "a large falcon" })
	got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
	wantLiteral(t, err, job.ErrResult, "RESULT_MISMATCH")
	want := `{"differences":[{"pointer":"","recorded":"a large falcon","replayed":"a small falcon"}],"profile":"mace-fixed9"}`
	if diff, _ := canon.Encode(got.Divergences[0].Diff, canon.MACEFixed9); string(diff) != want {
		t.Errorf("diff = %s, want %s", diff, want)
	}
}

// spec: M-51
// spec: M-52
// spec: M-54
// spec: M-56
// spec: M-63
func TestEveryResealedChangeOfTheLogIsFound(t *testing.T) {
	t.Parallel()
	x := answered(t)
	for _, tt := range []struct {
		name string
		edit func(*job.Log)
		want fault.Code
	}{
		{"router input", func(l *job.Log) { l.Iterations[0].Input = l.Iterations[0].Input.With("query_text", canon.String("?")) }, job.ErrDivergence},
		{"agent output", func(l *job.Log) { l.Iterations[0].Output = l.Iterations[0].Output.With("text", canon.String("?")) }, job.ErrDivergence},
		{"tick", func(l *job.Log) { l.Iterations[0].Tick = l.Iterations[0].Tick.With("state_digest", canon.String("?")) }, job.ErrDivergence},
		{"failures", func(l *job.Log) { l.Iterations[0].Failures = []string{"?"} }, job.ErrDivergence},
		{"end state", func(l *job.Log) { l.Ends.Brain = l.Ends.SelfRep }, job.ErrDivergence},
		{"draw", func(l *job.Log) { l.Draws[0].Value++ }, job.ErrDivergence},
		{"no draw", func(l *job.Log) { l.Draws = nil }, job.ErrDivergence},
		{"writes", func(l *job.Log) {
			l.Writes = append(l.Writes, job.Write{Event: l.Events[0].ID, Type: "SEM_WRITE", ID: "a"})
		}, job.ErrDivergence},
		{"an event less", func(l *job.Log) { l.Events = l.Events[:len(l.Events)-1] }, job.ErrDivergence},
		{"events out of order", func(l *job.Log) { l.Events[0], l.Events[1] = l.Events[1], l.Events[0] }, job.ErrIntegrity},
		{"an event twice", func(l *job.Log) { l.Events[1] = l.Events[0] }, job.ErrIntegrity},
		{"an iteration less", func(l *job.Log) { l.Iterations = nil }, job.ErrIntegrity},
		{"another query", func(l *job.Log) { l.Query = "?" }, job.ErrDivergence},
		{"another seed", func(l *job.Log) { l.Seed = "s3" }, job.ErrIntegrity},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := x.archive()
			reseal(t, a, tt.edit)
			if _, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil); fault.CodeOf(err) != tt.want {
				t.Errorf("Replay = %v, want %v", err, tt.want)
			}
		})
	}
}

// spec: M-13
// spec: M-23
// spec: M-32
// spec: M-33
// spec: M-48
func TestMissingPiecesAreNamed(t *testing.T) {
	t.Parallel()
	x := answered(t)
	for _, tt := range []struct {
		name    string
		edit    func(*job.Archive)
		missing string
	}{
		{"log", func(a *job.Archive) { a.ReflectiveLog = nil }, "reflective_log"},
		{"event", func(a *job.Archive) { delete(a.Events, x.log().Events[1].ID) }, "event " + x.log().Events[1].ID},
		{"key", func(a *job.Archive) { a.Keys = nil }, "server_key ops-2026"},
		{"seed", func(a *job.Archive) {
			a.ReflectiveLog = bytes.Replace(a.ReflectiveLog, []byte(`"job_seed":"s0","key_id"`), []byte(`"job_seed":"","key_id"`), 1)
		}, "job_seed"},
		{"job id", func(a *job.Archive) {
			a.ReflectiveLog = bytes.Replace(a.ReflectiveLog, []byte(`"job_id":"`+x.log().JobID+`","job_seed":"s0","key_id"`), []byte(`"job_id":"","job_seed":"s0","key_id"`), 1)
		}, "job_id"},
		{"profile", func(a *job.Archive) {
			a.ReflectiveLog = bytes.Replace(a.ReflectiveLog, []byte(`"profile":"mace-fixed9","replayable"`), []byte(`"profile":"rfc8785","replayable"`), 1)
		}, "serializer_profile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := x.archive()
			tt.edit(a)
			got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
			wantLiteral(t, err, job.ErrIntegrity, "INTEGRITY_FAILURE")
			if !slices.Equal(got.Missing, []string{tt.missing}) || got.Halt != (tt.name != "key") {
				t.Errorf("missing %v, halt %v; want %s, and a halt unless it is the key", got.Missing, got.Halt, tt.missing)
			}
		})
	}
}

// Every event that a job has led to is stored, whatever it is about, and a replay
// needs each of them.
//
// spec: M-05
// spec: M-30
// spec: M-76
func TestEachReferencedEventIsNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrAgentTimeout)
	id := job.WorkingMemoryID("s0", 0)
	r.says(beta, `{"text":"hm","confidence":0.1,"wm_inserts":[{"type":"fact","value":"a kestrel hovers"}]}`,
		`{"text":"noted","confidence":0.9,"references":["`+id+`"],"requests":[{"action":"sem_put","key":"user/bird","value":1,"justification":"so"}]}`)
	x := r.start(r.plan(nil))
	x.override("ada", govern.Admin, alpha, job.Override{APT: job.One / 2, Reason: "it was the network"}, nil)
	x.finish()
	x.sound()
	for _, want := range []string{
		job.AgentTimeout, job.ManualOverride, job.CouncilApproval, // APT events
		job.EventRequested, job.EventExecuted, // ActionRequests
		job.EventVote, job.EventEpisode, job.EventFact, // votes, and what was written
	} {
		if !slices.Contains(x.events(), want) {
			t.Errorf("events = %v, want a %s", x.events(), want)
		}
	}
	for _, ref := range x.log().Events {
		a := x.archive()
		if canon.SHA256(a.Events[ref.ID]) != ref.Digest {
			t.Errorf("the stored %s is not the one that the log names", ref.Type)
		}
		delete(a.Events, ref.ID)
		got, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
		wantLiteral(t, err, job.ErrIntegrity, "INTEGRITY_FAILURE")
		if !slices.Equal(got.Missing, []string{"event " + ref.ID}) {
			t.Errorf("without the %s: missing = %v", ref.Type, got.Missing)
		}
	}
}

func TestFlippedByteOfAnyStoredObjectIsAnIntegrityFailure(t *testing.T) {
	t.Parallel()
	x := answered(t)
	check := func(t *testing.T, a *job.Archive, whole []byte, put func([]byte)) {
		t.Helper()
		for i := 0; i < len(whole); i += 1 + len(whole)/211 {
			b := bytes.Clone(whole)
			b[i] ^= 2
			put(b)
			if _, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil); fault.CodeOf(err) != job.ErrIntegrity {
				t.Fatalf("byte %d of %d: %v, want INTEGRITY_FAILURE", i, len(whole), err)
			}
		}
		put(whole)
	}
	a := x.archive()
	check(t, a, a.ReflectiveLog, func(b []byte) { a.ReflectiveLog = b })
	for _, of := range []map[string][]byte{a.Events, a.Outputs} {
		for id, whole := range of {
			check(t, a, whole, func(b []byte) { of[id] = b })
		}
	}
}

// spec: M-102
// spec: M-103
func TestReplayLimits(t *testing.T) {
	t.Parallel()
	x := answered(t)
	slow := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	for _, tt := range []struct {
		name string
		o    job.ReplayOptions
		want error
	}{
		{"within", job.ReplayOptions{Elapsed: slow(60 * time.Second)}, nil},
		{"the snapshot's time", job.ReplayOptions{Elapsed: slow(61 * time.Second)}, job.ErrReplayTimeout},
		{"a lower time", job.ReplayOptions{Elapsed: slow(2 * time.Second), MaxTime: time.Second}, job.ErrReplayTimeout},
		{"a higher time does not count", job.ReplayOptions{Elapsed: slow(61 * time.Second), MaxTime: time.Hour}, job.ErrReplayTimeout},
		{"a higher cap does not count", job.ReplayOptions{MaxIterations: 1000}, nil},
	} {
		_, err := job.Replay(x.archive(), tt.o, nil)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if job.ErrReplayTimeout.Error() != "REPLAY_TIMEOUT" {
		t.Error("the code is not that of the document")
	}
}

// spec: M-47
// spec: M-59
func TestReplayIsAnAuditThatRecordsEachStep(t *testing.T) {
	t.Parallel()
	x := answered(t)
	var names []string
	got, err := job.Replay(x.archive(), job.ReplayOptions{}, func(s job.Step) error {
		if len(names) == 0 || names[len(names)-1] != s.Name {
			names = append(names, s.Name)
		}
		return nil
	})
	want := []string{
		"load_log", "verify_log", "snapshot_ids", "load_snapshots", "verify_snapshot", "load_event", "rng_draw", "load_output", "materialise",
		"tick", "router_input", "router_output", "router_event", "agent_output", "tick", "tick_state", "trace", "rng_draws", "memory_writes", "error", "final_answer",
	}
	if err != nil || got.Mode != job.Audit || !slices.Equal(names, want) {
		t.Errorf("steps = %v of a replay in mode %s, %v;\nwant %v", names, got.Mode, err, want)
	}
	stop := errors.New("the audit cannot be written")
	if _, err := job.Replay(x.archive(), job.ReplayOptions{}, func(job.Step) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("Replay = %v; a replay that cannot be recorded must not go on", err)
	}
}

// witness notes what a replay asks for.
type witness struct {
	*job.Archive
	snapshots []string
}

func (w *witness) Snapshot(id string) ([]byte, error) {
	w.snapshots = append(w.snapshots, id)
	return w.Archive.Snapshot(id)
}

// spec: M-04
// spec: M-15
// spec: M-16
// spec: M-17
func TestAuditReadsExactlyWhatTheLogNames(t *testing.T) {
	t.Parallel()
	x := answered(t)
	a := x.archive()
	other := *x.plan
	other.spec.Seed = "s9"
	other.brain.State.Seed, other.brain.State.Context.ID = "s9", "cwm:s9"
	newer := x.rig.set(&other)
	for _, k := range job.Kinds() { // newer snapshots lie beside those of the job
		s, _ := newer.Of(k)
		b, err := s.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		a.Snapshots[s.ID] = b
	}
	w := &witness{Archive: a}
	got, err := job.Replay(w, job.ReplayOptions{Mode: job.Audit}, nil)
	l := x.log()
	if err != nil || got.Final != l.Final || !slices.Equal(w.snapshots, l.Snapshots[:]) {
		t.Errorf("Replay = %+v, %v, asked for %v; want %v", got, err, w.snapshots, l.Snapshots)
	}
	// What an audit finds it shows as a diff, and changes nothing.
	reseal(t, a, misroute)
	before := bytes.Clone(a.ReflectiveLog)
	if got, _ = job.Replay(a, job.ReplayOptions{Mode: job.Audit}, nil); got.Divergences[0].Diff.Get("differences").Len() != 1 || !bytes.Equal(before, a.ReflectiveLog) {
		t.Errorf("divergences = %+v", got.Divergences)
	}
}
