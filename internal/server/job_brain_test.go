package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// The router over HTTP decides as the job did that recorded the same question.
func TestRouterDecidesOverHTTPAsInTheJob(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	j := r.kept()
	l, _, err := jobs.ReadLog(t.Context(), r.store, j.Run)
	if err != nil {
		t.Fatal(err)
	}
	// What the job did to its brain state before it asked the router is done to
	// it here.
	brain, err := r.client.BrainSnapshot(t.Context(), j.Snapshots[job.KindBrainState])
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range ticksBefore(t, r, j.Run, l, l.Iterations[0].Event) {
		next, err := r.client.Tick(t.Context(), api.TickRequest{BrainStateID: brain.ID, Tick: json.RawMessage(payload.String())})
		if err != nil {
			t.Fatal(err)
		}
		if brain, err = r.client.FreezeBrain(t.Context(), api.BrainSnapshotRequest{JobSeed: j.Seed, Content: next.Content}); err != nil {
			t.Fatal(err)
		}
	}
	in := l.Iterations[0].Input
	ask := api.RouteRequest{
		JobID: j.JobID, JobSeed: j.Seed, QueryText: in.Get("query_text").Str(), SelfRepID: j.Snapshots[job.KindSelfRep], BrainStateID: brain.ID,
		TraceID: in.Get("trace_id").Str(), Roles: []string{"user"},
	}
	ask.AttemptsLeft, _ = in.Get("attempts_left").AsInt()
	for _, c := range in.Get("candidate_list").Elems() {
		ask.CandidateList = append(ask.CandidateList, c.Str())
	}
	got, err := r.client.Route(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	want, err := canon.Encode(l.Iterations[0].Router, canon.MACEFixed9)
	if err != nil || string(got.Output) != string(want) || got.Profile != "mace-fixed9" {
		t.Errorf("the router over HTTP = %s\nin the job %s, %v", got.Output, want, err)
	}
	again, err := r.client.Route(t.Context(), ask)
	if err != nil || string(again.Output) != string(got.Output) || string(again.Input) != string(got.Input) {
		t.Errorf("asked again = %s, %v; want %s", again.Output, err, got.Output)
	}
	ask = api.RouteRequest{JobID: "j", JobSeed: "s", TraceID: "t", QueryText: "mail a.b@example.org", Roles: []string{"user"}, SelfRepID: j.Snapshots[job.KindSelfRep], BrainStateID: j.Snapshots[job.KindBrainState]}
	got, err = r.client.Route(t.Context(), ask)
	if err != nil || !strings.Contains(string(got.Output), `"error":"PRIVACY_BLOCKED"`) || strings.Contains(string(got.Input), "example.org") {
		t.Errorf("a query with personal data = %s %s, %v", got.Input, got.Output, err)
	}
	ask.SelfRepID = strings.Repeat("0", 64)
	_, err = r.client.Route(t.Context(), ask)
	r.wantCode("without a snapshot", err, "ROUTER_NO_SNAPSHOT")
}

// ticksBefore returns the payloads of the ticks before an event.
func ticksBefore(t *testing.T, r *jobRig, run ledger.RunID, l *job.Log, event string) (payloads []canon.Value) {
	t.Helper()
	m, err := jobs.ReadMaterials(t.Context(), r.store, run, r.keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range l.Events {
		if ref.ID == event {
			break
		}
		if ref.Type != job.EventTick {
			continue
		}
		b, err := m.Event(ref)
		if err != nil {
			t.Fatal(err)
		}
		e, err := job.ParseEvent(b, l.Seed)
		if err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, e.Payload)
	}
	return payloads
}

func TestBrainStateIsFrozenTickedAndAskedOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	j := r.kept()
	begun, err := r.client.BrainSnapshot(t.Context(), j.Snapshots[job.KindBrainState])
	if err != nil || begun.Run != string(j.Run) {
		t.Fatalf("the snapshot of a job = %+v, %v", begun, err)
	}
	tick := json.RawMessage(`{"attempts":[],"council_approval":true,"failures":[],"goals":[],"references":[],"timestamp_seeded":"2025-01-01T00:00:00Z","tokens_used":1,"user_upvote":null,
		"wm_inserts":[{"ttl_ticks":3,"type":"fact","value":"a falcon"}]}`)
	next, err := r.client.Tick(t.Context(), api.TickRequest{BrainStateID: begun.ID, Tick: tick})
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.client.Tick(t.Context(), api.TickRequest{BrainStateID: begun.ID, Tick: tick})
	if err != nil || string(again.Content) != string(next.Content) {
		t.Errorf("the same tick = %s, %v; want %s", again.Content, err, next.Content)
	}
	frozen, err := r.client.FreezeBrain(t.Context(), api.BrainSnapshotRequest{JobSeed: "another", Content: next.Content})
	if err != nil || len(frozen.Warnings) != 0 {
		t.Fatalf("create_snapshot = %+v, %v", frozen, err)
	}
	same, err := r.client.FreezeBrain(t.Context(), api.BrainSnapshotRequest{JobSeed: "another", Content: next.Content})
	if err != nil || same.ID != frozen.ID || same.Run != frozen.Run || string(same.Snapshot) != string(frozen.Snapshot) {
		t.Errorf("the same content = %+v, %v; want %+v", same, err, frozen)
	}
	if got, err := r.client.BrainSnapshot(t.Context(), frozen.ID); err != nil || string(got.Snapshot) != string(frozen.Snapshot) {
		t.Errorf("GET = %+v, %v; want %+v", got, err, frozen)
	}
	one, err := r.client.QueryBrain(t.Context(), api.BrainQuery{BrainStateID: frozen.ID})
	if err != nil {
		t.Fatal(err)
	}
	if two, err := r.client.QueryBrain(t.Context(), api.BrainQuery{Content: next.Content}); err != nil || two != one || one.MaxDepthAllowed == 0 {
		t.Errorf("the hints of a snapshot = %+v, of its content %+v, %v", one, two, err)
	}
	for body, code := range map[string]string{
		`{}`: "server.bad_request",
		`{"brainstate_snapshot_id":"` + strings.Repeat("0", 64) + `"}`: "MISSING_SNAPSHOT",
		`{"content":{"constants":{}}}`:                                 "job.bad_brainstate",
	} {
		status := http.StatusBadRequest
		if code == "MISSING_SNAPSHOT" {
			status = http.StatusNotFound
		}
		resp, b := r.ask(http.MethodPost, "/brainstate/query", strings.NewReader(body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
		r.wantProblem(resp, b, status, code)
	}
}
