package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories/trajectoriestest"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const payTool = `{"name":"pay","version":"1","effect":"external","estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"args":{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"],"additionalProperties":false},"transport":{"kind":"test"}}`

const askForPay = `{"name":"money","version":"1","rules":[{"name":"ask","when":{"field":"intent.target","op":"eq","value":"pay"},"decision":{"kind":"require_approval","channel":"money","reason":"somebody has to look"}}]}`

// governed is a rig with a trajectory that waits for an approval.
func governed(t *testing.T) (*rig, *trajectoriestest.Rig, ledger.RunID) {
	t.Helper()
	r := newRig(t, nil)
	g := trajectoriestest.New(t, trajectoriestest.Tool{Declaration: payTool})
	g.Store = r.store
	g.Policy(askForPay)
	g.Propose("worker", "kv_set", `{"key":"a","value":"1"}`)
	g.Propose("worker", "pay", `{"amount":7}`)
	run, st := g.Run()
	if st.Done {
		t.Fatal("the trajectory does not wait")
	}
	return r, g, run
}

func TestATrajectoryIsReadAsItStands(t *testing.T) {
	t.Parallel()
	r, g, run := governed(t)
	got := get[api.Trajectory](r, "/v1/trajectories/"+string(run))
	if got.State != "waiting" || got.Pending != 1 || got.Commits != 1 || got.Sealed || got.HeadCommit == "" || !strings.Contains(got.WaitingFor, "money") {
		t.Errorf("while it waits it is %+v", got)
	}
	if len(got.Agents) != 1 || got.Agents[0].Name != "worker" || got.Agents[0].Spent.ToolCalls != 1 {
		t.Errorf("its agents are %+v", got.Agents)
	}
	list := get[api.PendingList](r, "/v1/trajectories/"+string(run)+"/pending")
	if len(list.Pending) != 1 {
		t.Fatalf("pending = %+v", list)
	}
	p, m := list.Pending[0], g.Pending(run)
	if p.Tool != "pay" || string(p.Args) != `{"amount":7}` || p.Channel != "money" || p.Matter != (api.Matter{Ledger: m.Ledger, Subject: m.Subject, Bound: m.Bound.String()}) || len(p.Proposal) == 0 || p.Quorums[0].Need != 1 {
		t.Errorf("pending = %+v", p)
	}
	if st := g.Answer(run, "ann", govern.Approve, "fine"); !st.Done {
		t.Fatal("the trajectory does not end")
	}
	got = get[api.Trajectory](r, "/v1/trajectories/"+string(run))
	if got.State != "done" || !got.Sealed || got.Status != "done" || got.Commits != 2 || got.Pending != 0 {
		t.Errorf("at the end it is %+v", got)
	}
}

func TestARunOfAnotherEngineIsNoTrajectory(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, path := range []string{"", "/pending", "/delegations"} {
		resp, b := r.ask(http.MethodGet, "/v1/trajectories/last"+path, nil, nil)
		r.wantProblem(resp, b, http.StatusNotFound, "server.not_a_trajectory")
		resp, b = r.ask(http.MethodGet, "/v1/trajectories/ffff"+path, nil, nil)
		r.wantProblem(resp, b, http.StatusNotFound, "insight.no_such_run")
	}
}

func TestDelegationsNameTheirChildren(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	g := trajectoriestest.New(t)
	g.Store = r.store
	g.Propose("worker", trajectory.ToolDelegate, `{"task":"count the beans"}`)
	run, st := g.Run()
	if !st.Done {
		t.Fatal("it waits")
	}
	got := get[api.DelegationList](r, "/v1/trajectories/"+string(run)+"/delegations")
	if len(got.Delegations) != 1 {
		t.Fatalf("delegations = %+v", got)
	}
	d := got.Delegations[0]
	child := get[api.Trajectory](r, "/v1/trajectories/"+d.Child.Run)
	if d.Task != "count the beans" || d.Status != "done" || child.TrajectoryID != d.TrajectoryID || child.Agents[0].Writ != d.Writ || child.Entries != d.Child.N+1 {
		t.Errorf("delegation = %+v, child = %+v", d, child)
	}
}
