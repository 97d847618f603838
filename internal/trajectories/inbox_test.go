package trajectories_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// What people say reaches a run that another process is writing: that process
// takes it between two steps, and refuses what would not count.
func TestAnActReachesTheProcessThatRuns(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	g.r.Config.Spool = filepath.Join(g.dir, "spool")
	open := filepath.Join(g.dir, "open")
	task := g.task(fmt.Sprintf(`
task: One waits for a person, the other for a gate
agents: [{name: asks}, {name: works}]
model: {script: script.yaml}
tools:
  - builtin: [kv]
  - {name: gate, effect: read, exec: [/bin/sh, -c, %q], env_from: [PATH]}
policies:
  - name: p
    rules: [{name: ask, when: {field: intent.target, op: eq, value: kv_set}, decision: {kind: require_approval, channel: desk, reason: look}}]
actors: [{id: operator, roles: [approver]}, {id: carol, roles: [auditor]}]
`, "until [ -e "+open+" ]; do sleep 0.05; done; echo {}"), `
asks:
  - calls: [{kv_set: {key: a, value: 1}}]
  - text: asked
works:
  - calls: [{gate: {}}]
  - text: worked
`)
	type ended struct {
		res *trajectories.Result
		err error
	}
	over := make(chan ended, 1)
	go func() {
		res, err := g.r.Start(t.Context(), task)
		over <- ended{res, err}
	}()
	other := *g.r
	other.Config.Holder = "another process"
	run := waitPending(t, &other)
	refused, taken := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := other.Approve(t.Context(), run, "", true, trajectories.Act{As: "carol"})
		refused <- err
	}()
	go func() {
		_, err := other.Approve(t.Context(), run, "", true, trajectories.Act{})
		taken <- err
	}()
	time.Sleep(300 * time.Millisecond) // both are in the inbox before anything can take them
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-taken; err != nil {
		t.Error(err)
	}
	// Whichever came first: Carol has no say, or nothing waits any more.
	if err := <-refused; fault.ClassOf(err) != fault.ClassDenied && !errors.Is(err, govern.ErrMatter) && !errors.Is(err, trajectories.ErrNothingPending) {
		t.Errorf("an act that does not count = %v", err)
	}
	e := <-over
	if e.err != nil || !e.res.Done || e.res.Commits != 2 {
		t.Fatalf("the run = %+v, %v", e.res, e.err)
	}
	if n := len(g.entries(run, ledger.KindApproval)); n != 1 {
		t.Errorf("%d approvals are recorded, want the one that counts", n)
	}
	same(t, g.r, run)
}

func waitPending(t *testing.T, r *trajectories.Runner) ledger.RunID {
	t.Helper()
	for range 200 {
		for info, err := range r.Config.Store.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if res, err := r.State(t.Context(), info.Run); err == nil && len(res.Pending) == 1 {
				return info.Run
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("nothing waits for an approval")
	return ""
}
