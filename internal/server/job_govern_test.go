package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/jobs/jobstest"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// enrol gives somebody a key and roles.
func (r *jobRig) enrol(id string, roles ...govern.Role) {
	r.t.Helper()
	g, err := jobs.OpenGovernance(r.t.Context(), r.runner.Config, r.keys, "")
	if err == nil {
		err = g.Enrol(r.t.Context(), id, jobs.Actor{ID: id, Roles: roles}, jobs.Act{Role: govern.Admin})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// request sends a wish to POST /replay/request, with the act that somebody has
// signed about another wish, and returns the status and the code.
func (r *jobRig) request(as string, role govern.Role, signed, sent api.ReplayWish) (status int, code string) {
	r.t.Helper()
	m, err := r.client.ReplayMatter(r.t.Context(), signed)
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := json.Marshal(api.ReplayRequest{ReplayWish: sent, Act: r.sign(as, role, govern.Verb(m.Verb), m.Matter)})
	if err != nil {
		r.t.Fatal(err)
	}
	resp, b := r.ask(http.MethodPost, "/replay/request", bytes.NewReader(body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
	var p api.Problem
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(b, &p); err != nil {
			r.t.Fatalf("%s %s", resp.Status, b)
		}
	}
	return resp.StatusCode, p.Code
}

// asked fails unless a request is answered so.
func (r *jobRig) asked(what, as string, role govern.Role, w api.ReplayWish, status int, code string) {
	r.t.Helper()
	if got, is := r.request(as, role, w, w); got != status || is != code {
		r.t.Errorf("%s = %d %s, want %d %s", what, got, is, status, code)
	}
}

// governed returns where the governance stands.
func (r *jobRig) governed() api.Governance {
	r.t.Helper()
	g, err := r.client.Governance(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// names returns the names of the entries of the governance ledger from one on.
func (r *jobRig) names(from int64) []string {
	r.t.Helper()
	var out []string
	for e, err := range r.client.Entries(r.t.Context(), r.governed().Run, from) {
		if err != nil {
			r.t.Fatal(err)
		}
		var body struct{ Name string }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, body.Name)
	}
	return out
}

// spec: M-64, M-65, M-71, M-95
func TestREPLAY06_OverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("ada", govern.Admin)
	r.enrol("operator", govern.Operator, govern.Admin)
	res := r.start(keptJob) // its governance snapshot says who the council is
	forged, err := jobstest.Forge(t.Context(), r.runner, res.Run, jobstest.Misroute, nil)
	if err != nil {
		t.Fatal(err)
	}
	wish := api.ReplayWish{Job: string(forged)}
	r.asked("a forged job", "operator", govern.Operator, wish, http.StatusUnprocessableEntity, "REPLAY_DIVERGENCE")
	wish.ForceContinue = true
	r.asked("to go on without governance", "operator", govern.Operator, wish, http.StatusForbidden, "FORCE_CONTINUE_REQUIRED")
	q := r.governed().Requests[0]
	if q.Code != "FORCE_CONTINUE_REQUIRED" || !q.Done {
		t.Fatalf("the request = %+v", q)
	}
	_, err = r.client.VoteOnReplay(t.Context(), "", q.ID, r.sign("operator", govern.Operator, govern.Approve, q.Matter))
	r.wantCode("the vote of an operator", err, govern.ErrRole.Error())
	wish.Approval = q.ID[:12]
	for _, step := range []struct {
		as   string
		role govern.Role
	}{{"cat", govern.Council}, {"cleo", govern.Council}, {"ada", govern.Admin}} {
		r.asked("to go on before "+step.as+" has voted", "operator", govern.Operator, wish, http.StatusForbidden, "FORCE_CONTINUE_REQUIRED")
		if _, err := r.client.VoteOnReplay(t.Context(), "", q.ID, r.sign(step.as, step.role, govern.Approve, q.Matter)); err != nil {
			t.Fatal(err)
		}
	}
	report, err := r.replay("operator", govern.Operator, wish)
	if err != nil || report.Authoritative || len(report.Because) == 0 || report.Code != "" {
		t.Fatalf("the forced replay = %+v, %v; want it to end, without authority", report, err)
	}
	var result struct {
		Divergences []struct{ Diff json.RawMessage }
	}
	if err := json.Unmarshal(report.Result, &result); err != nil || len(result.Divergences) == 0 {
		t.Fatalf("the result = %s, %v; want all divergences", report.Result, err)
	}
	const diff = `{"differences":[{"pointer":"/selected_agent","recorded":"agent:nobody_v1","replayed":"agent:encyclopedia_v1"}],"profile":"mace-fixed9"}`
	if got := string(result.Divergences[0].Diff); got != diff {
		t.Errorf("the first diff is %s, want %s", got, diff)
	}
}

// Whoever signs a request signs all of it: sent with anything else it is refused,
// and is no request.
//
// spec: M-82
func TestSignedRequestBindsWhatIsAsked(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	other := string(r.start(strings.Replace(keptJob, "kestrel-http", "kestrel-other", 1)).Run)
	mock := map[string]json.RawMessage{"agent:naturalist_v1": json.RawMessage(`{"text":"a falcon","confidence":0.9}`)}
	signed := api.ReplayWish{Job: run, Mocks: mock, MaxIterations: 5, MaxTimeMS: 5000}
	before := len(r.governed().Requests)
	for what, change := range map[string]func(w *api.ReplayWish){
		"another job":         func(w *api.ReplayWish) { w.Job = other },
		"another mode":        func(w *api.ReplayWish) { w.Mode = "reexecute" },
		"force-continue":      func(w *api.ReplayWish) { w.ForceContinue = true },
		"an approval":         func(w *api.ReplayWish) { w.Approval = strings.Repeat("1", 64) },
		"a higher time limit": func(w *api.ReplayWish) { w.MaxTimeMS++ },
		"no time limit":       func(w *api.ReplayWish) { w.MaxTimeMS = 0 },
		"no iteration limit":  func(w *api.ReplayWish) { w.MaxIterations = 0 },
		"for a data subject":  func(w *api.ReplayWish) { w.DSR = true },
		"no mock":             func(w *api.ReplayWish) { w.Mocks = nil },
		"a mock for another": func(w *api.ReplayWish) {
			w.Mocks = map[string]json.RawMessage{"agent:encyclopedia_v1": mock["agent:naturalist_v1"]}
		},
		"other bytes of a mock": func(w *api.ReplayWish) {
			w.Mocks = map[string]json.RawMessage{"agent:naturalist_v1": json.RawMessage(`{"text":"a hawk","confidence":0.9}`)}
		},
	} {
		sent := signed
		change(&sent)
		if status, code := r.request("operator", govern.Operator, signed, sent); status != http.StatusConflict || code != govern.ErrMatter.Error() {
			t.Errorf("signed, and then sent with %s = %d %s, want 409 %s", what, status, code, govern.ErrMatter)
		}
	}
	if got := len(r.governed().Requests); got != before {
		t.Errorf("%d requests were recorded, want none", got-before)
	}
	m, err := r.client.ReplayMatter(t.Context(), signed)
	if err != nil || !strings.Contains(string(m.Request), `"mocks":[{"for":"agent:naturalist_v1","sha256":"`) {
		t.Errorf("what is signed = %s, %v; want the digest of the mock", m.Request, err)
	}
	r.asked("signed, and sent as it was", "operator", govern.Operator, signed, http.StatusOK, "")
}

// spec: M-61, M-62, M-96
func TestREPLAY07_OverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	lost := string(r.start(strings.Replace(keptJob, "persist: always", "persist: never", 1)).Run)
	wish := api.ReplayWish{Job: lost, Mocks: map[string]json.RawMessage{
		"agent:naturalist_v1": json.RawMessage(`{"text":"A kestrel is a small falcon.","confidence":0.9,"tokens_used":120}`),
	}}
	report, err := r.replay("operator", govern.Operator, wish)
	if err != nil || report.Authoritative || len(report.Because) == 0 || report.FinalAnswer != "A kestrel is a small falcon." {
		t.Errorf("an audit with a mock = %+v, %v; want the answer, without authority", report, err)
	}
	wish.Mode = "production"
	r.asked("a mock in production", "operator", govern.Operator, wish, http.StatusBadRequest, job.ErrReplayMode.Error())
	wish.Mocks = nil
	r.asked("production without the output", "operator", govern.Operator, wish, http.StatusNotFound, "MISSING_PERSISTED_AGENT_OUTPUT")
	wish.Mode, wish.Rerun = "reexecute", []string{"all"}
	_, err = r.client.ReplayMatter(t.Context(), wish)
	r.wantCode("agents that run again where nothing runs", err, "server.runs_nothing")
	wish.Rerun = []string{"none"}
	r.asked("reexecute in which nobody runs", "operator", govern.Operator, wish, http.StatusNotFound, "MISSING_PERSISTED_AGENT_OUTPUT")
}

// spec: M-102, M-103
func TestLimitsOverHTTPOnlyLower(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	r.asked("one iteration of two", "operator", govern.Operator, api.ReplayWish{Job: run, MaxIterations: 1}, http.StatusLocked, "REPLAY_TIMEOUT")
	r.asked("limits above those of the snapshot", "operator", govern.Operator, api.ReplayWish{Job: run, MaxIterations: 1_000_000, MaxTimeMS: 86_400_000}, http.StatusOK, "")
	capped := string(r.start(strings.NewReplacer("kestrel-http", "kestrel-capped", "snapshots:\n", "snapshots:\n  governance: {max_replay_ms: 50}\n").Replace(keptJob)).Run)
	var mu sync.Mutex
	clock := time.Now()
	r.runner.Config.Now = func() time.Time { // ten milliseconds at each look
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(10 * time.Millisecond)
		return clock
	}
	r.asked("above the limit of the snapshot", "operator", govern.Operator, api.ReplayWish{Job: capped, MaxTimeMS: 86_400_000}, http.StatusLocked, "REPLAY_TIMEOUT")
	r.asked("below the limit of the snapshot", "operator", govern.Operator, api.ReplayWish{Job: run, MaxTimeMS: 50}, http.StatusLocked, "REPLAY_TIMEOUT")
	for _, body := range []string{`{"job":"last","max_iterations":-1}`, `{"job":"last","max_time_ms":-1}`, `{"job":"last","max_time_ms":86400001}`, `{"job":"last","mode":"guess"}`} {
		resp, b := r.ask(http.MethodPost, "/replay/matter", strings.NewReader(body), func(q *http.Request) { q.Header.Set("Content-Type", "application/json") })
		r.wantProblem(resp, b, http.StatusBadRequest, "server.bad_request")
	}
}

const privateJob = `
seed: private-http
input: {query: "write to ada@example.org", user: uma}
persist: always
agents:
  - {node: "agent:alpha_v1", script: [{text: "I wrote to bob@example.org", confidence: 0.9}]}
snapshots:
  privacy:
    categories: [{pii_type: email, sensitivity: low, pattern: '[a-z]+@[a-z.]+'}]
`

// spec: M-86, M-87, M-88
func TestDataSubjectReplayOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(privateJob).Run)
	r.enrol("olga", govern.Auditor)
	r.enrol("oscar", govern.Operator)
	r.enrol("ada", govern.Admin)
	wish := api.ReplayWish{Job: run, DSR: true}
	r.asked("by an auditor", "olga", govern.Auditor, wish, http.StatusForbidden, job.ErrAccess.Error())
	r.asked("by an operator", "oscar", govern.Operator, wish, http.StatusForbidden, job.ErrAccess.Error())
	for _, mode := range []string{"production", "reexecute"} {
		w := wish
		w.Mode = mode
		r.asked("in "+mode, "ada", govern.Admin, w, http.StatusForbidden, jobs.ErrMode.Error())
	}
	from := r.governed().Head.N + 1
	report, err := r.replay("ada", govern.Admin, wish)
	if err != nil || report.Mode != "audit" || len(report.Shown) < 2 {
		t.Fatalf("by an admin = %+v, %v; want what is redacted", report, err)
	}
	shown := ""
	for _, x := range report.Shown {
		shown += string(x.Value)
	}
	if !strings.Contains(shown, "ada@example.org") || !strings.Contains(shown, "bob@example.org") {
		t.Errorf("shown is %s", shown)
	}
	want := []string{"REPLAY_REQUEST"}
	for range report.Shown {
		want = append(want, jobs.EventAccess)
	}
	if got := r.names(from); !slices.Equal(got, append(want, "REPLAY_RESULT")) {
		t.Errorf("the ledger holds %q, want each access before the result: %q", got, want)
	}
	report, err = r.replay("ada", govern.Admin, api.ReplayWish{Job: run})
	if err != nil || len(report.Shown) != 0 {
		t.Errorf("an audit that is for no data subject shows %+v, %v", report.Shown, err)
	}
	if b := string(report.Result); strings.Contains(b, "bob@example.org") || strings.Contains(report.FinalAnswer, "bob@example.org") {
		t.Errorf("an audit that is for no data subject tells %s %s", report.FinalAnswer, b)
	}
}

// spec: M-80, M-81
func TestRolesAndModesOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	run := string(r.start(keptJob).Run)
	for _, tt := range []struct {
		roles                        []govern.Role
		audit, reexecute, production bool
	}{
		{[]govern.Role{govern.Operator}, true, true, false},
		{[]govern.Role{govern.Admin}, true, true, false},
		{[]govern.Role{govern.Auditor}, true, true, false},
		{[]govern.Role{govern.Council}, false, false, false},
		{[]govern.Role{govern.Admin, govern.Auditor}, true, true, true},
	} {
		who := "somebody"
		r.enrol(who, tt.roles...)
		for mode, allowed := range map[string]bool{"": tt.audit, "audit": tt.audit, "reexecute": tt.reexecute, "production": tt.production} {
			status, code := http.StatusOK, ""
			if !allowed {
				status, code = http.StatusForbidden, jobs.ErrMode.Error()
			}
			r.asked("mode "+mode+" as "+string(tt.roles[0]), who, tt.roles[0], api.ReplayWish{Job: run, Mode: mode}, status, code)
			if q := r.governed().Requests[0]; q.Actor != who || q.Code != code || !q.Done {
				t.Errorf("the attempt is recorded as %+v", q)
			}
		}
	}
}

// An incident halts over HTTP, for whom the roster lets; an admin or the council
// lets it go on, and both are entries.
//
// spec: M-83, M-84, M-85
func TestIncidentHaltsOverHTTPUntilItIsCleared(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	j := r.kept()
	for _, id := range []string{"cat", "cleo", "cyd"} {
		r.enrol(id, govern.Council)
	}
	r.enrol("olga", govern.Auditor)
	r.enrol("oscar", govern.Operator)
	r.enrol("both", govern.Admin, govern.Auditor)
	r.enrol("operator", govern.Operator, govern.Admin)
	wish := api.ReplayWish{Job: string(j.Run)}
	about := api.Matter{Ledger: r.governed().LedgerID, Subject: j.Snapshots[job.KindGovernance], Bound: strings.Repeat("1", 64)}
	_, err := r.client.HaltReplays(t.Context(), "", r.sign("olga", govern.Auditor, govern.Stop, about))
	r.wantCode("an incident by an auditor", err, govern.ErrRole.Error())
	_, err = r.client.HaltReplays(t.Context(), "", r.sign("oscar", govern.Operator, govern.Clear, about))
	r.wantCode("an incident with another verb", err, govern.ErrVerb.Error())
	elsewhere := about
	elsewhere.Ledger = "another"
	_, err = r.client.HaltReplays(t.Context(), "", r.sign("oscar", govern.Operator, govern.Stop, elsewhere))
	r.wantCode("an incident in another ledger", err, govern.ErrMatter.Error())
	for _, out := range []struct {
		by   []string
		role govern.Role
	}{{[]string{"operator"}, govern.Admin}, {[]string{"cat", "cleo"}, govern.Council}} {
		from := r.governed().Head.N + 1
		h, err := r.client.HaltReplays(t.Context(), "", r.sign("oscar", govern.Operator, govern.Stop, about))
		if err != nil || h.Subject != about.Subject || h.Actor != "oscar" {
			t.Fatalf("the halt = %+v, %v", h, err)
		}
		for _, mode := range []string{"audit", "reexecute", "production"} {
			w := wish
			w.Mode = mode
			r.asked(mode+" of what stands still", "both", govern.Auditor, w, http.StatusLocked, govern.ErrHalted.Error())
		}
		_, err = r.client.ClearHalt(t.Context(), "", r.sign("oscar", govern.Operator, govern.Clear, h.Matter))
		r.wantCode("cleared by an operator", err, govern.ErrRole.Error())
		for i, as := range out.by {
			want := govern.Open
			if i == len(out.by)-1 {
				want = govern.Granted
			}
			if got, err := r.client.ClearHalt(t.Context(), "", r.sign(as, out.role, govern.Clear, h.Matter)); err != nil || got.State != string(want) {
				t.Fatalf("the word of %s = %+v, %v; want %s", as, got, err, want)
			}
		}
		r.asked("behind the halt", "operator", govern.Operator, wish, http.StatusOK, "")
		names := strings.Join(r.names(from), " ")
		if !strings.HasPrefix(names, "SECURITY_INCIDENT FORCE_HALT_REPLAY ") || !strings.HasSuffix(names, "govern.vote FORCE_HALT_CLEAR REPLAY_REQUEST REPLAY_RESULT") {
			t.Errorf("the ledger holds %s", names)
		}
	}
}

// A server permits nothing on the word of a governance ledger that was changed,
// and operations are told.
func TestChangedGovernanceStopsTheServer(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	wish := api.ReplayWish{Job: string(r.start(keptJob).Run)}
	m, err := r.client.ReplayMatter(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	act := r.sign("operator", govern.Operator, govern.Verb(m.Verb), m.Matter)
	if _, err := r.replay("operator", govern.Operator, wish); err != nil {
		t.Fatal(err)
	}
	g := r.governed()
	r.runner.Config.Store = changed{r.runner.Config.Store, ledger.RunID(g.Run)}
	_, err = r.client.Replay(t.Context(), wish, act)
	r.wantCode("a replay", err, "INTEGRITY_FAILURE")
	if fault.ClassOf(err) != fault.ClassIntegrity {
		t.Errorf("its class is %s", fault.ClassOf(err))
	}
	_, err = r.client.VoteOnReplay(t.Context(), "", g.Requests[0].ID, r.sign("operator", govern.Council, govern.Approve, g.Requests[0].Matter))
	r.wantCode("a vote", err, jobs.ErrGovernance.Error())
	_, metrics := r.ask(http.MethodGet, "/metrics", nil, nil)
	if line := `reprise_replay_results_total{code="INTEGRITY_FAILURE",mode="audit"} 1`; !strings.Contains(string(metrics), line) {
		t.Errorf("the metrics lack %s", line)
	}
}
