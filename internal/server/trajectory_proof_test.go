package server_test

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store"
)

// proven is a rig on SQLite with a trajectory that a person let end.
func proven(t *testing.T) (r *rig, g *trajectoriestest.Rig, run ledger.RunID, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	r = newRig(t, func(r *rig) {
		s, err := store.Open(context.Background(), "sqlite:"+path, &store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		r.store = s
	})
	g = trajectoriestest.New(t, trajectoriestest.Tool{Declaration: payTool})
	g.Store = r.store
	g.Policy(askForPay)
	g.Propose("worker", "kv_set", `{"key":"a","value":"1"}`)
	g.Propose("worker", "no_such_tool", `{}`)
	g.Propose("worker", "pay", `{"amount":7}`)
	run, _ = g.Run()
	if st := g.Answer(run, "ann", govern.Approve, "fine"); !st.Done {
		t.Fatal("the trajectory does not end")
	}
	return r, g, run, path
}

// reopen closes the store and serves it anew.
func (r *rig) reopen(path string) {
	r.t.Helper()
	err := r.store.Close()
	if err == nil {
		r.store, err = store.Open(context.Background(), "sqlite:"+path, &store.Options{})
	}
	if err == nil {
		r.s, err = server.New(r.store, &r.opts)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.http.Config.Handler = r.s
	s := r.store
	r.t.Cleanup(func() { _ = s.Close() })
}

func first(t *testing.T, r api.Report) api.Finding {
	t.Helper()
	for _, p := range r.Phases {
		if p.First != nil {
			return *p.First
		}
	}
	t.Fatalf("no phase failed: %+v", r)
	return api.Finding{}
}

func TestReplayGivesAVerdictAndNeverAFault(t *testing.T) {
	t.Parallel()
	r, g, run, _ := proven(t)
	path := "/v1/trajectories/" + string(run) + "/replay"
	touched := g.Touched["model"]
	got := get[api.Report](r, path+"?fold_world=true")
	if got.Verdict != "verified" && got.Verdict != "below" || got.Verb != "verify" {
		t.Fatalf("replay = %+v", got)
	}
	var detail struct {
		Commits     []json.RawMessage `json:"commits"`
		Rejections  []json.RawMessage `json:"rejections"`
		Suspensions []json.RawMessage `json:"suspensions"`
		ToolCalls   []json.RawMessage `json:"tool_calls"`
		World       []api.Resource    `json:"world"`
		Hash        string            `json:"final_world_hash"`
	}
	if err := json.Unmarshal(got.Detail, &detail); err != nil || len(detail.Commits) != 2 || len(detail.Rejections) != 1 || len(detail.Suspensions) != 1 || len(detail.ToolCalls) != 2 || len(detail.World) != 1 {
		t.Errorf("%v: the detail is %s", err, got.Detail)
	}
	if g.Touched["model"] != touched {
		t.Error("a replay asked a model")
	}
	_, one := r.ask(http.MethodGet, path, nil, nil)
	if _, two := r.ask(http.MethodGet, path, nil, nil); string(one) != string(two) {
		t.Error("two replays give other bytes")
	}

	state := get[api.Trajectory](r, "/v1/trajectories/"+string(run))
	signer := hex.EncodeToString(g.Charter.Signer.Raw())
	right := "?level=0&compiler=" + trajectory.CompilerVersion + "&signer=" + signer + "&policy_set=" + state.PolicySetHash +
		"&expect_head=" + state.Head + "&world=" + detail.Hash + "&root=" + hex.EncodeToString(trajectoriestest.Key(t, "root").Public().Raw())
	if got := get[api.Report](r, path+right); got.Verdict != "verified" {
		t.Errorf("with the right pins: %+v", got)
	}
	other, zero := hex.EncodeToString(trajectoriestest.Key(t, "other").Public().Raw()), strings.Repeat("0", 64)
	for query, code := range map[string]string{
		"compiler=other":               "trajectory.compiler_drift",
		"signer=" + other:              "trajectory.signer_drift",
		"policy_set=" + zero:           "trajectory.policy_drift",
		"root=" + other:                "trajectory.root_drift",
		"expect_head=" + zero:          "ledger.expected_head",
		"expect_head=2:" + zero:        "ledger.expected_head",
		"world=" + zero:                "ledger.world_mismatch",
		"verify=false&signer=" + other: "trajectory.signer_drift",
	} {
		got := get[api.Report](r, path+"?"+query)
		if f := first(t, got); got.Verdict != "failed" || got.ExitStatus != 3 || f.Code != code {
			t.Errorf("%s = %s %+v, want %s", query, got.Verdict, f, code)
		}
	}
	for query, code := range map[string]string{
		"signer=xy": "server.bad_request", "policy_set=xy": "server.bad_request", "expect_head=xy": "server.bad_request", "world=xy": "server.bad_request",
		"at=4000": "archive.bad_end",
	} {
		resp, b := r.ask(http.MethodGet, path+"?"+query, nil, nil)
		r.wantProblem(resp, b, http.StatusBadRequest, code)
	}
	resp, b := r.ask(http.MethodGet, "/v1/trajectories/0190aaaa-0000-7000-8000-000000000000/replay", nil, nil)
	r.wantProblem(resp, b, http.StatusNotFound, "insight.no_such_run")
}

func TestAForgedTrajectoryFailsAtItsEntry(t *testing.T) {
	t.Parallel()
	r, g, run, _ := proven(t)
	var at int64
	forged := g.Forge(run, func(n int64, d *ledger.Draft, _ map[string][]byte) bool {
		if d.Kind == ledger.KindRejection {
			at = n
			return false // nobody is to know of it
		}
		return true
	})
	got := get[api.Report](r, "/v1/trajectories/"+string(forged)+"/replay?level=0")
	if f := first(t, got); got.Verdict != "failed" || f.Code != "trajectory.not_derived" || f.N == nil || *f.N < at-1 {
		t.Errorf("a trajectory without its rejection = %s %+v", got.Verdict, f)
	}
	if got := get[api.Trail](r, "/v1/trajectories/"+string(forged)+"/audit"); got.Verification == nil || got.Verification.Verdict != "failed" || len(got.Entries) == 0 {
		t.Errorf("its trail says %+v", got.Verification)
	}
	resp, b := r.ask(http.MethodGet, "/v1/trajectories/"+string(forged), nil, nil)
	r.wantProblem(resp, b, http.StatusInternalServerError, "trajectory.not_derived")
}

func TestAStoreThatWasChangedFailsTheVerdict(t *testing.T) {
	t.Parallel()
	r, _, run, path := proven(t)
	r.reopen(path) // entries settle when a store is closed
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var keys []int64
	rows, err := db.QueryContext(t.Context(), "SELECT place FROM segments WHERE place / 2147483648 = (SELECT key FROM runs WHERE run = ?)", string(run))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || rows.Err() != nil {
		t.Fatalf("there are no rows to change: %v", rows.Err())
	}
	for _, key := range keys {
		var whole []byte
		if err := db.QueryRowContext(t.Context(), "SELECT data FROM segments WHERE place = ?", key).Scan(&whole); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
			changed := append([]byte(nil), whole...)
			changed[i] ^= 0x10
			if _, err := db.ExecContext(t.Context(), "UPDATE segments SET data = ? WHERE place = ?", changed, key); err != nil {
				t.Fatal(err)
			}
			got := get[api.Report](r, "/v1/trajectories/"+string(run)+"/replay?level=0")
			if f := first(t, got); got.Verdict != "failed" || f.N == nil {
				t.Errorf("byte %d of row %d: %s %+v", i, key, got.Verdict, f)
			}
			if got := get[api.Trail](r, "/v1/trajectories/"+string(run)+"/audit"); got.Verification.Verdict != "failed" {
				t.Errorf("byte %d of row %d: the trail says %s", i, key, got.Verification.Verdict)
			}
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE segments SET data = ? WHERE place = ?", whole, key); err != nil {
			t.Fatal(err)
		}
	}
	if got := get[api.Report](r, "/v1/trajectories/"+string(run)+"/replay?level=0"); got.Verdict != "verified" {
		t.Errorf("with its own bytes again: %+v", got)
	}
}

func TestATrailHoldsItsChain(t *testing.T) {
	t.Parallel()
	r, _, run, _ := proven(t)
	path := "/v1/trajectories/" + string(run) + "/audit"
	all := get[api.Trail](r, path)
	state := get[api.Trajectory](r, "/v1/trajectories/"+string(run))
	if all.Verification == nil || all.Count != state.Entries || all.Next != nil {
		t.Fatalf("the trail has %d of %d entries", all.Count, state.Entries)
	}
	labels := map[string]int{}
	for i, e := range all.Entries {
		want := ""
		if i > 0 {
			want = all.Entries[i-1].ID
		}
		if e.Parent != want || e.Seq != int64(i) || e.TrajectoryID != state.TrajectoryID {
			t.Errorf("entry %d is %+v", i, e)
		}
		labels[e.Label]++
	}
	if labels["COMMIT"] != 2 || labels["REJECTED"] != 1 || labels["SUSPENDED"] != 1 || labels["APPROVED"] != 1 {
		t.Errorf("labels = %v", labels)
	}
	var some []api.TrailEntry
	for from := int64(0); ; {
		page := get[api.Trail](r, path+"?verify=false&limit=7&from="+strconv.FormatInt(from, 10))
		some = append(some, page.Entries...)
		if page.Verification != nil || page.Count > 7 {
			t.Fatalf("a page is %+v", page)
		}
		if page.Next == nil {
			break
		}
		from = *page.Next
	}
	if len(some) != len(all.Entries) {
		t.Errorf("pages have %d entries, want %d", len(some), len(all.Entries))
	}
	if got := get[api.Trail](r, path+"?kind=commit&verify=false"); got.Count != 2 {
		t.Errorf("%d commits", got.Count)
	}
	resp, b := r.ask(http.MethodGet, path+".csv", nil, nil)
	table, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil || len(table) != len(all.Entries)+1 || resp.Header.Get("Content-Type") != "text/csv" {
		t.Fatalf("the CSV has %d lines: %v", len(table), err)
	}
	if got := strings.Join(table[0], ","); got != "id,trajectory_id,seq,kind,parent,created_at,label,payload" {
		t.Errorf("its columns are %s", got)
	}
	for i, row := range table[1:] {
		if e := all.Entries[i]; row[0] != e.ID || row[4] != e.Parent || row[3] != e.Kind || !json.Valid([]byte(row[7])) {
			t.Errorf("line %d is %v", i, row)
		}
	}
}

func TestTheWorldIsThatBehindAnEntry(t *testing.T) {
	t.Parallel()
	r, g, run, _ := proven(t)
	path := "/v1/trajectories/" + string(run) + "/world"
	got := get[api.World](r, path)
	if got.Commits != 2 || len(got.Resources) != 1 || got.Hash == "" || string(got.Resources[0].Value) != `"1"` && !strings.Contains(string(got.Resources[0].Value), "1") {
		t.Errorf("the world is %+v", got)
	}
	if early := get[api.World](r, path+"?at=1"); early.Commits != 0 || len(early.Resources) != 0 || early.At != 1 || early.Hash == got.Hash {
		t.Errorf("the world at its beginning is %+v", early)
	}
	resp, b := r.ask(http.MethodGet, path+"?at=4000", nil, nil)
	r.wantProblem(resp, b, http.StatusNotFound, "ledger.run_not_found")
	branch, _ := g.Branch(run, got.At-1, "another way")
	if got := get[api.World](r, "/v1/trajectories/"+string(branch)+"/world"); len(got.Resources) != 1 {
		t.Errorf("the world of a branch is %+v", got)
	}
	trail := get[api.Trail](r, "/v1/trajectories/"+string(branch)+"/audit")
	source := get[api.Trajectory](r, "/v1/trajectories/"+string(run))
	state := get[api.Trajectory](r, "/v1/trajectories/"+string(branch))
	if len(trail.Entries) < 2 || trail.Entries[1].TrajectoryID != state.TrajectoryID || state.TrajectoryID == source.TrajectoryID || trail.Entries[0].Seq != 0 {
		t.Errorf("the trail of a branch begins with %+v", trail.Entries[:2])
	}
}
