package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/client"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
)

// keptJob is a job whose first agent fails, and whose outputs are kept.
const keptJob = `
seed: kestrel-http
title: a <kestrel>
persist: always
input:
  query: What is a kestrel?
  user: uma
  roles: [user]
agents:
  - {node: "agent:encyclopedia_v1", script: [{fail: the index is locked}]}
  - {node: "agent:naturalist_v1", script: [{text: A kestrel is a small falcon., confidence: 0.9, tokens_used: 120}]}
  - {node: "agent:generic_agent_v1", script: [{text: I do not know., confidence: 0.2}]}
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:encyclopedia_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:naturalist_v1", apt: 0.8, metrics: {apt_events: 5}}
  privacy:
    categories:
      - {pii_type: email, sensitivity: medium, pattern: '[a-z0-9.]+@[a-z0-9.]+\.[a-z]+'}
`

// asking is a job that waits for the council.
var asking = strings.NewReplacer("kestrel-http", "kestrel-asks", "confidence: 0.9, tokens_used: 120",
	"confidence: 0.9, tokens_used: 120, requests: [{action: sem_put, key: birds/kestrel/kind, value: falcon, justification: it is asked for often}]").Replace(keptJob)

// jobRig is a server on SQLite that replays jobs.
type jobRig struct {
	*rig
	runner *jobs.Runner
	client *client.Client
	log    *bytes.Buffer
}

func newJobRig(t *testing.T) *jobRig {
	t.Helper()
	j := &jobRig{log: &bytes.Buffer{}}
	j.rig = newRig(t, func(r *rig) {
		s, err := store.Open(context.Background(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"), &store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		r.store = s
		signer, err := r.keys.Signer()
		if err != nil {
			t.Fatal(err)
		}
		j.runner = &jobs.Runner{
			Config: drive.Config{Store: s, Now: time.Now, Rand: rand.Reader, Signer: signer, Manifests: r.keys.Manifests(), Holder: "server"},
			Keys:   r.keys,
		}
		r.opts.Jobs = j.runner
		r.opts.Log = slog.New(slog.NewTextHandler(j.log, nil))
	})
	var err error
	if j.client, err = client.New(j.http.URL, nil); err != nil {
		t.Fatal(err)
	}
	return j
}

// start runs a job until it is done or waits.
func (r *jobRig) start(text string) *jobs.Result {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "job.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	j, err := jobs.Read(path)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := r.runner.Start(context.Background(), j)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

// kept runs a job whose outputs are kept, and reads it from the store.
func (r *jobRig) kept() *jobs.Stored {
	r.t.Helper()
	j, err := jobs.Find(r.t.Context(), r.store, r.start(keptJob).Run)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// sign signs an act as somebody whose key is on this machine, which the server
// does not need.
func (r *jobRig) sign(as string, role govern.Role, verb govern.Verb, m api.Matter) []byte {
	r.t.Helper()
	key, err := r.keys.Named(keys.Actors, as)
	if err != nil {
		r.t.Fatal(err)
	}
	bound, err := canon.ParseDigest(m.Bound)
	if err != nil {
		r.t.Fatal(err)
	}
	a := govern.Act{Verb: verb, Actor: as, Role: role, Matter: govern.Matter{Ledger: m.Ledger, Subject: m.Subject, Bound: bound}, At: det.Instant(time.Now().UnixNano())}
	_, _ = rand.Read(a.Nonce[:])
	b, err := a.Sign(key)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// replay asks for a replay as somebody.
func (r *jobRig) replay(as string, role govern.Role, w api.ReplayWish) (api.ReplayReport, error) {
	r.t.Helper()
	m, err := r.client.ReplayMatter(r.t.Context(), w)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.client.Replay(r.t.Context(), w, r.sign(as, role, govern.Verb(m.Verb), m.Matter))
}

// wantCode holds an error of the client to be a problem of that code, and
// returns its further facts.
func (r *jobRig) wantCode(what string, err error, code string) []string {
	r.t.Helper()
	if fault.CodeOf(err).Error() != code {
		r.t.Fatalf("%s = %v, want %s", what, err, code)
	}
	e, _ := errors.AsType[*fault.Error](err)
	return e.Detail
}

// spec: M-47, M-82, M-104, M-105, M-106
func TestReplayOverHTTPIsSignedRecordedAndEqual(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	report, err := r.replay("operator", govern.Operator, api.ReplayWish{Job: run})
	if err != nil {
		t.Fatal(err)
	}
	if report.Mode != "audit" || !report.Authoritative || report.Code != "" || report.FinalAnswer != "A kestrel is a small falcon." || report.Iterations != 2 || report.Audit == "" {
		t.Errorf("the replay without a mode = %+v", report)
	}
	if report, err = r.replay("operator", govern.Admin, api.ReplayWish{Job: run, Mode: "production"}); err != nil || report.Mode != "production" || !report.Authoritative {
		t.Errorf("in production = %+v, %v", report, err)
	}
	g, err := r.client.Governance(t.Context(), "")
	if err != nil || len(g.Requests) != 2 || g.Requests[0].ID != report.RequestID || !g.Requests[0].Done || g.Requests[0].Audit != report.Audit {
		t.Fatalf("the governance = %+v, %v", g, err)
	}
	var names []string
	for e, err := range r.client.Entries(t.Context(), g.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Name string }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatal(err)
		}
		names = append(names, body.Name)
	}
	if want := []string{"", "REPLAY_REQUEST", "REPLAY_RESULT", "REPLAY_REQUEST", "REPLAY_RESULT"}; !slices.Equal(names, want) {
		t.Errorf("the governance ledger holds %q, want %q", names, want)
	}
}

// spec: M-82
func TestReplayOverHTTPIsRefusedWithoutTheRightAct(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	wish := api.ReplayWish{Job: run}
	m, err := r.client.ReplayMatter(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	right := r.sign("operator", govern.Operator, "replay", m.Matter)
	_, err = r.client.Replay(t.Context(), api.ReplayWish{Job: run, Mode: "production"}, right)
	r.wantCode("an act for another mode", err, govern.ErrMatter.Error())
	_, err = r.client.Replay(t.Context(), wish, []byte(`{"no":"act"}`))
	r.wantCode("no act", err, govern.ErrAct.Error())
	if g, err := r.client.Governance(t.Context(), ""); err != nil || len(g.Requests) != 0 {
		t.Errorf("what was about something else was recorded: %+v, %v", g.Requests, err)
	}
	_, err = r.client.Replay(t.Context(), wish, r.sign("mallory", govern.Admin, "replay", m.Matter))
	r.wantCode("a stranger", err, govern.ErrUnknownActor.Error())
	if g, err := r.client.Governance(t.Context(), ""); err != nil || len(g.Requests) != 1 || g.Requests[0].Actor != "mallory" || g.Requests[0].Refused != govern.ErrUnknownActor.Error() {
		t.Errorf("the attempt of a stranger = %+v, %v", g.Requests, err)
	}
	if _, err = r.client.Replay(t.Context(), wish, right); err != nil {
		t.Errorf("the right act = %v", err)
	}
	if _, err = r.client.Replay(t.Context(), wish, right); err == nil {
		t.Error("one act asked for two replays")
	}
}

// spec: M-68, M-72, M-73
func TestReplayCodesStandVerbatimInProblemsLogsAndMetrics(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	lost := r.start(strings.NewReplacer("persist: always", "persist: never", "kestrel-http", "kestrel-lost").Replace(keptJob))
	if _, err := r.replay("operator", govern.Operator, api.ReplayWish{Job: run}); err != nil {
		t.Fatal(err)
	}
	_, err := r.replay("operator", govern.Admin, api.ReplayWish{Job: string(lost.Run), Mode: "production"})
	facts := r.wantCode("without its outputs", err, "MISSING_PERSISTED_AGENT_OUTPUT")
	if !slices.ContainsFunc(facts, func(d string) bool { return strings.HasPrefix(d, "audit_run: ") }) {
		t.Errorf("the problem does not name the audit: %q", facts)
	}
	_, metrics := r.ask(http.MethodGet, "/metrics", nil, nil)
	for _, line := range []string{
		`reprise_replay_results_total{code="ok",mode="audit"} 1`,
		`reprise_replay_results_total{code="MISSING_PERSISTED_AGENT_OUTPUT",mode="production"} 1`,
	} {
		if !strings.Contains(string(metrics), line+"\n") {
			t.Errorf("the metrics lack %s:\n%s", line, metrics)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "msg=REPLAY_RESULT code=MISSING_PERSISTED_AGENT_OUTPUT mode=production") {
		t.Errorf("the log says %s", log)
	}
}

// spec: M-78, M-109
func TestOperationsSeeWhichArtifactsAreMissing(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	kept := r.start(keptJob)
	lost := r.start(strings.NewReplacer("persist: always", "persist: never", "kestrel-http", "kestrel-lost").Replace(keptJob))
	no := false
	var listed []api.Job
	for j, err := range r.client.Jobs(t.Context(), &no) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, j)
	}
	if len(listed) != 1 || listed[0].Run != string(lost.Run) || len(listed[0].Missing) == 0 || listed[0].Replayable == nil || *listed[0].Replayable {
		t.Fatalf("the jobs that cannot be replayed = %+v", listed)
	}
	resp, page := r.ask(http.MethodGet, "/jobs/missing", nil, nil)
	text := string(page)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("the page = %s %s", resp.Status, page)
	}
	for _, want := range append(listed[0].Missing, string(lost.Run), "a &lt;kestrel&gt;", "2 jobs: 1 can be replayed in production, 1 cannot") {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, string(kept.Run)) || strings.Contains(text, "<script") || strings.Contains(text, "//") && strings.Contains(text, "src=") {
		t.Errorf("the page shows too much:\n%s", text)
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("its policy is %q", csp)
	}
	got, err := r.client.JobLog(t.Context(), "last")
	if err != nil || got.Run != string(lost.Run) {
		t.Fatalf("the log of the last job = %+v, %v", got, err)
	}
	_, want, err := jobs.ReadLog(t.Context(), r.store, lost.Run)
	if err != nil || !bytes.Equal(got.Log, want) {
		t.Errorf("the log is\n%s\nwant\n%s", got.Log, want)
	}
}

func TestCouncilVotesOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	waits := r.start(asking)
	if waits.Done {
		t.Fatalf("the job waits for nobody: %+v", waits)
	}
	d, err := r.client.Job(t.Context(), string(waits.Run))
	if err != nil || d.Pending == nil {
		t.Fatalf("the job = %+v, %v", d, err)
	}
	wrong := d.Pending.Matter
	wrong.Bound = strings.Repeat("1", 64)
	_, err = r.client.VoteOnAction(t.Context(), "", d.Pending.RequestID, r.sign("operator", govern.Council, govern.Approve, wrong))
	r.wantCode("a vote on something else", err, govern.ErrMatter.Error())
	_, err = r.client.VoteOnAction(t.Context(), "", d.Pending.RequestID, r.sign("mallory", govern.Council, govern.Approve, d.Pending.Matter))
	r.wantCode("the vote of a stranger", err, govern.ErrUnknownActor.Error())
	_, err = r.client.VoteOnAction(t.Context(), "", "other", r.sign("operator", govern.Council, govern.Approve, d.Pending.Matter))
	r.wantCode("a vote on another action", err, jobs.ErrNobodyAsked.Error())
	act := r.sign("operator", govern.Council, govern.Approve, d.Pending.Matter)
	got, err := r.client.VoteOnAction(t.Context(), "", d.Pending.RequestID, act)
	if err != nil || got.Done {
		t.Fatalf("the vote = %+v, %v; a server that runs nothing records it only", got, err)
	}
	res, err := r.runner.Resume(t.Context(), waits.Run)
	if err != nil || !res.Done || res.Err() != nil {
		t.Fatalf("Resume = %+v, %v", res, err)
	}
	if _, err := r.replay("operator", govern.Admin, api.ReplayWish{Job: string(waits.Run), Mode: "production"}); err != nil {
		t.Errorf("its replay = %v", err)
	}
}

func TestServerWithoutJobsWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for path, body := range map[string]string{
		"/brainstate/create_snapshot": `{"job_seed":"s","content":{}}`,
	} {
		resp, b := r.ask(http.MethodPost, path, strings.NewReader(body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
		r.wantProblem(resp, b, http.StatusForbidden, "server.read_only")
	}
	if page := get[api.JobPage](r, "/v1/jobs"); len(page.Jobs) != 0 {
		t.Errorf("jobs of a store without any: %+v", page)
	}
}

// spec: M-81
func TestProductionReplayIsAllowedOverHTTPByAVote(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	wish := api.ReplayWish{Job: string(r.start(keptJob).Run), Mode: "production"}
	gov, err := jobs.OpenGovernance(t.Context(), r.runner.Config, r.keys, "")
	if err == nil {
		err = gov.Enrol(t.Context(), "olga", jobs.Actor{ID: "olga", Roles: []govern.Role{govern.Operator}}, jobs.Act{})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.replay("olga", govern.Operator, wish)
	r.wantCode("an operator alone", err, jobs.ErrMode.Error())
	g, err := r.client.Governance(t.Context(), "")
	if err != nil || len(g.Requests) != 1 || g.Requests[0].Actor != "olga" || g.Requests[0].Code != jobs.ErrMode.Error() {
		t.Fatalf("the request = %+v, %v", g.Requests, err)
	}
	q := g.Requests[0]
	_, err = r.client.VoteOnReplay(t.Context(), "", q.ID, r.sign("olga", govern.Operator, govern.Approve, q.Matter))
	r.wantCode("her own vote", err, govern.ErrRole.Error())
	wrong := q.Matter
	wrong.Subject = strings.Repeat("1", 64)
	_, err = r.client.VoteOnReplay(t.Context(), "", q.ID, r.sign("operator", govern.Council, govern.Approve, wrong))
	r.wantCode("a vote on something else", err, govern.ErrMatter.Error())
	voted, err := r.client.VoteOnReplay(t.Context(), "", q.ID, r.sign("operator", govern.Council, govern.Approve, q.Matter))
	if err != nil || voted.Votes != 1 {
		t.Fatalf("the vote of the council = %+v, %v", voted, err)
	}
	wish.Approval = q.ID
	if report, err := r.replay("olga", govern.Operator, wish); err != nil || !report.Authoritative {
		t.Errorf("with the vote = %+v, %v", report, err)
	}
	for _, name := range []string{q.ID, q.ID[:10], q.ID[:20]} {
		wish.Approval = name
		_, err = r.replay("olga", govern.Operator, wish)
		r.wantCode("with a vote that was used", err, jobs.ErrMode.Error())
	}
}

// What is changed in the store is found by a replay over HTTP, which halts the
// snapshots of the job; the same request is refused then.
//
// spec: M-67, M-83, M-84
func TestChangedJobIsAnIntegrityFailureOverHTTPAndHalts(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	j := r.kept()
	r.runner.Config.Store = changed{r.runner.Config.Store, j.Run}
	_, err := r.replay("operator", govern.Operator, api.ReplayWish{Job: string(j.Run)})
	r.wantCode("a changed job", err, "INTEGRITY_FAILURE")
	g, err := r.client.Governance(t.Context(), "")
	if err != nil || len(g.Halts) == 0 {
		t.Fatalf("what stands still = %+v, %v", g.Halts, err)
	}
	for _, k := range job.Kinds() {
		if !slices.ContainsFunc(g.Halts, func(h api.Halt) bool { return h.Subject == j.Snapshots[k] && h.Cause == "INTEGRITY_FAILURE" }) {
			t.Errorf("the %s snapshot does not stand still: %+v", k, g.Halts)
		}
	}
	_, metrics := r.ask(http.MethodGet, "/metrics", nil, nil)
	if line := `reprise_replay_results_total{code="INTEGRITY_FAILURE",mode="audit"} 1`; !strings.Contains(string(metrics), line) {
		t.Errorf("the metrics lack %s", line)
	}
	r.runner.Config.Store = r.store
	if _, err = r.replay("operator", govern.Operator, api.ReplayWish{Job: string(j.Run)}); fault.ClassOf(err) != fault.ClassHalted {
		t.Errorf("a replay of what stands still = %v, want it to be halted", err)
	}
}

// changed is a store that has turned a bit in the body of the last entry but one
// of a run.
type changed struct {
	drive.Store
	run ledger.RunID
}

func (c changed) Read(ctx context.Context, run ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		at, err := c.At(ctx, run)
		if err != nil {
			yield(nil, err)
			return
		}
		n := from
		for e, err := range c.Store.Read(ctx, run, from) {
			if err == nil && run == c.run && n == at.Count-2 {
				x := *e
				x.Body = bytes.Clone(e.Body)
				x.Body[len(x.Body)/2] ^= 1
				e = &x
			}
			n++
			if !yield(e, err) {
				return
			}
		}
	}
}
