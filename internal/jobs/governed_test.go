package jobs_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// same fails unless a job replays in production mode as it ran, here and in a
// store that had nothing, and its machine comes to the same decisions.
func (r *rig) same(res *jobs.Result) {
	r.t.Helper()
	ctx := context.Background()
	for _, to := range []*rig{r, r.moved(res.Run)} {
		out, err := to.replay(on(res.Run, production))
		if err != nil {
			r.t.Fatalf("Replay = %v", err)
		}
		if !out.Authoritative() || out.Result.Final != res.Log.Final || len(out.Result.Divergences) != 0 {
			r.t.Errorf("Replay = %+v; want %q, with authority", out.Result, res.Log.Final)
		}
	}
	report, err := drive.Replay(ctx, r.store, res.Run, job.NewMachine(), "verify")
	if err != nil || report.Verdict != replay.Same {
		r.t.Errorf("drive.Replay = %+v, %v; want the same", report, err)
	}
	r.sound(res.Run)
}

// types returns the types of the events of a job.
func types(l *job.Log) []string {
	var out []string
	for _, e := range l.Events {
		out = append(out, e.Type)
	}
	return out
}

// parliament enrols an admin and three of the council. The operator may replay,
// and votes on nothing.
func (r *rig) parliament() {
	r.t.Helper()
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("ada", govern.Admin)
	r.enrol("oscar", govern.Operator)
	r.enrol("operator", govern.Operator, govern.Admin, govern.Auditor)
}

// askingFor is birds with an answer that wants a fact written, so that it waits.
func askingFor(key string) string {
	return strings.Replace(birds, "tokens_used: 10}", "requests: [{action: sem_put, key: "+key+", value: falcon, justification: asked}]}", 1)
}

func (r *rig) voted(res *jobs.Result, people ...string) *jobs.Result {
	r.t.Helper()
	for _, as := range people {
		var err error
		if res, err = r.Vote(context.Background(), res.Run, govern.Approve, jobs.Act{As: as}); err != nil {
			r.t.Fatal(err)
		}
	}
	return res
}

// APT-05: from the file to the replay in another store.
func TestManualOverrideOfARunIsSignedAndReplays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.parliament()
	res := r.start(askingFor("birds/kestrel"))
	o := job.Override{APT: job.One / 4, Reason: "it guesses"}
	if _, err := r.Override(ctx, res.Run, "agent:beta_v1", o, jobs.Act{As: "oscar"}); fault.ClassOf(err) != fault.ClassDenied {
		t.Fatalf("Override by an operator = %v, want it to be denied", err)
	}
	if _, err := r.Override(ctx, res.Run, "agent:beta_v1", job.Override{Status: job.Quarantined, Reason: "it leaks"}, jobs.Act{As: "ada"}); codeOf(err) != jobs.ErrNotTaken.Error() {
		t.Fatalf("an admin who quarantines = %v, want %v", err, jobs.ErrNotTaken)
	}
	res, err := r.Override(ctx, res.Run, "agent:beta_v1", o, jobs.Act{As: "ada"})
	if err != nil || res.Done {
		t.Fatalf("Override = %+v, %v; want the job to wait on", res, err)
	}
	res = r.voted(res, "cat", "cleo")
	at := slices.Index(types(res.Log), job.EventOverrideAct)
	if at < 0 || types(res.Log)[at+1] != job.ManualOverride {
		t.Errorf("events = %v, want the act and the override", types(res.Log))
	}
	r.same(res)
}

// E2E-02, BS-07, M-T5: what one job has asked for and the council had not decided
// stands in the snapshot of the next; there it is approved, and read.
func TestOpenRequestOfOneJobIsDecidedInTheNext(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.parliament()
	first := r.voted(r.start(askingFor("birds/kestrel")), "cat")
	if first.Done {
		t.Fatal("one vote of three was enough")
	}
	open, err := canon.Encode(first.Pending.Value(), canon.Foreign)
	if err != nil {
		t.Fatal(err)
	}
	second := r.start(strings.Replace(askingFor("birds/hobby"), "seed: s1", "seed: seed-200", 1) + "  governance: {action_requests: [" + string(open) + "]}\n")
	if second.Done {
		t.Fatalf("the job is done: %+v", second)
	}
	second, err = r.VoteOn(ctx, second.Run, first.Pending.ID()[:12], govern.Approve, jobs.Act{As: "cleo"})
	if err != nil || second.Done {
		t.Fatalf("VoteOn = %+v, %v; want the job to wait on for its own request", second, err)
	}
	second = r.voted(second, "cat", "cyd")
	var wrote []string
	for _, w := range second.Log.Writes {
		wrote = append(wrote, w.ID)
	}
	if !slices.Equal(wrote, []string{"birds/kestrel", "birds/hobby"}) {
		t.Errorf("writes = %v, events %v", wrote, types(second.Log))
	}
	r.same(second)

	// In few words, as a person writes it down.
	third := r.done(strings.Replace(birds, "seed: s1", "seed: seed-100", 1) +
		"  governance: {action_requests: [{action: sem_put, origin: ada, justification: so, payload: {key: a/b, value: 1.5}}]}\n")
	if len(third.Log.Writes) != 0 {
		t.Errorf("writes = %v; nobody has voted", third.Log.Writes)
	}
	r.same(third)
}

// E2E-01, DR-01: an agent looks a fact up and answers with it.
func TestAgentReadsSemanticMemoryInARun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.parliament()
	wrote := r.voted(r.start(askingFor("birds/kestrel")), "cat", "cleo")
	semantic := r.remembered(wrote)
	res := r.done(strings.NewReplacer(
		"seed: s1", "seed: seed-100\nmemory: {semantic: "+semantic+"}",
		"{text: a small falcon, confidence: 0.9, tokens_used: 10}",
		"{text: let me see, deliverable: false, reads: [{get: birds/kestrel}, {prefix: birds/}, {get: birds/owl}]}, {text: it is a falcon, confidence: 0.9}",
	).Replace(birds))
	if got := types(res.Log); len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != job.EventRead })) != 3 || res.Log.Final != "it is a falcon" {
		t.Errorf("events = %v, final %q; want three reads", got, res.Log.Final)
	}
	r.same(res)
}

// remembered returns what a job has left in semantic memory, as a file takes it.
func (r *rig) remembered(res *jobs.Result) string {
	r.t.Helper()
	m, err := jobs.ReadMaterials(context.Background(), r.store, res.Run, r.keys)
	if err != nil {
		r.t.Fatal(err)
	}
	var s job.Semantic
	for _, ref := range res.Log.Events {
		if ref.Type != job.EventExecuted {
			continue
		}
		b, err := m.Event(ref)
		if err != nil {
			r.t.Fatal(err)
		}
		e, err := job.ParseEvent(b, res.Log.Seed)
		if err != nil {
			r.t.Fatal(err)
		}
		fact := canon.Object(
			canon.M("key", canon.String("birds/kestrel")), canon.M("request_id", e.Payload.Get("request_id")), canon.M("source", canon.String("agent:beta_v1")),
			canon.M("timestamp_seeded", canon.String(e.Stamp.At.String())), canon.M("value", canon.String("falcon")))
		v := s.Value().With("facts", canon.Array(fact))
		for _, w := range res.Log.Events {
			if w.Type != job.EventFact {
				continue
			}
			b, err := m.Event(w)
			if err != nil {
				r.t.Fatal(err)
			}
			e, err := job.ParseEvent(b, res.Log.Seed)
			if err != nil {
				r.t.Fatal(err)
			}
			return v.With("sem_snapshot_hash", e.Payload.Get("sem_snapshot_hash")).String()
		}
	}
	r.t.Fatal("the job has written nothing")
	return ""
}

// MACE-S-01, MACE-S-05: rules of the file decide what is said.
func TestSafetyRulesOfAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.parliament()
	const rules = "  privacy: {safety_rules: [{rule_id: size, verdict: REDACT, pattern: 'small', reason: so}, {rule_id: kind, verdict: %s, pattern: 'falcon', reason: so}]}\n"
	blocked := r.done(birds + strings.Replace(rules, "%s", "BLOCK", 1))
	if blocked.Log.Final != job.SaySafetyBlock || !slices.Contains(types(blocked.Log), job.EventSafetyBlock) {
		t.Errorf("final %q, events %v", blocked.Log.Final, types(blocked.Log))
	}
	r.same(blocked)
	flagged := r.voted(r.start(birds+strings.Replace(rules, "%s", "FLAG_FOR_REVIEW", 1)), "cat", "cleo")
	if want := "a [redacted] [redacted]\n" + job.SayRedaction; flagged.Log.Final != want || !slices.Contains(types(flagged.Log), job.EventRedaction) {
		t.Errorf("final %q, events %v; want %q", flagged.Log.Final, types(flagged.Log), want)
	}
	r.same(flagged)
}
