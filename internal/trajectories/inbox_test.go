package trajectories_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
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
	open, reached := filepath.Join(g.dir, "open"), filepath.Join(g.dir, "reached")
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
`, ": >"+reached+"; until [ -e "+open+" ]; do sleep 0.05; done; echo {}"), `
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
	waitFor(t, "anybody at the gate", func() bool {
		_, err := os.Stat(reached)
		return err == nil
	})
	refused, taken := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := other.Approve(t.Context(), run, "", true, trajectories.Act{As: "carol"})
		refused <- err
	}()
	go func() {
		_, err := other.Approve(t.Context(), run, "", true, trajectories.Act{})
		taken <- err
	}()
	// As long as the gate is closed nothing takes them.
	waitFor(t, "both acts in the inbox", func() bool {
		acts, err := filepath.Glob(filepath.Join(g.r.Config.Spool+".inbox", string(run), "*.in"))
		return err == nil && len(acts) == 2
	})
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

// A process that was killed when it had taken an act and had said nothing yet
// leaves nobody waiting: the act is done by who said it, or has been recorded.
func TestAnActThatWasTakenByAKilledProcessIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{false, true} {
		t.Run(fmt.Sprint(recorded), func(t *testing.T) {
			t.Parallel()
			g := newRig(t, nil)
			g.r.Config.Spool = filepath.Join(g.dir, "spool")
			res := g.start(`
task: One that waits for a person
agents: [{name: asks}]
model: {script: script.yaml}
tools: [{builtin: [kv]}]
policies:
  - name: p
    rules: [{name: ask, when: {field: intent.target, op: eq, value: kv_set}, decision: {kind: require_approval, channel: desk, reason: look}}]
actors: [{id: operator, roles: [approver]}]
`, `
asks:
  - calls: [{kv_set: {key: a, value: 1}}]
  - text: asked
`)
			store, run := g.r.Config.Store, res.Run
			if _, err := store.Acquire(t.Context(), run, "killed", time.Hour); err != nil {
				t.Fatal(err)
			}
			said := make(chan error, 1)
			go func() {
				_, err := g.r.Approve(t.Context(), run, "", true, trajectories.Act{})
				said <- err
			}()
			dir := filepath.Join(g.r.Config.Spool+".inbox", string(run))
			var act string
			waitFor(t, "the act in the inbox", func() bool {
				acts, err := filepath.Glob(filepath.Join(dir, "*.in"))
				if err == nil && len(acts) == 1 {
					act = acts[0]
				}
				return act != ""
			})
			taken := strings.TrimSuffix(act, ".in") + ".taken"
			if err := os.Rename(act, taken); err != nil {
				t.Fatal(err)
			}
			if recorded {
				g.record(run, "killed", taken)
			}
			if _, err := store.Acquire(t.Context(), run, "killed", 0); err != nil { // its lease runs out
				t.Fatal(err)
			}
			if err := <-said; err != nil {
				t.Error(err)
			}
			if n := len(g.entries(run, ledger.KindApproval)); n != 1 {
				t.Errorf("%d approvals are recorded, want 1", n)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 0 {
				t.Errorf("in the inbox is left %q, %v", left, err)
			}
			same(t, g.r, run)
		})
	}
}

// record appends the act that lies in a file, as the process that took it does.
func (g *rig) record(run ledger.RunID, holder, file string) {
	g.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		g.t.Fatal(err)
	}
	v, err := canon.Parse(b)
	if err != nil {
		g.t.Fatal(err)
	}
	cfg := g.r.Config
	cfg.Holder = holder
	s, err := drive.Resume(g.t.Context(), cfg, run, drive.Opening{})
	if err != nil {
		g.t.Fatal(err)
	}
	if err := s.Receive(g.t.Context(), ledger.Kind(v.Get("kind").Str()), v.Get("name").Str(), v.Get("from").Str(), v.Get("data")); err != nil {
		g.t.Fatal(err)
	}
	if err := s.Close(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
}

func waitPending(t *testing.T, r *trajectories.Runner) (run ledger.RunID) {
	t.Helper()
	waitFor(t, "a run that waits for an approval", func() bool {
		for info, err := range r.Config.Store.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if res, err := r.State(t.Context(), info.Run); err == nil && len(res.Pending) == 1 {
				run = info.Run
				return true
			}
		}
		return false
	})
	return run
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing came of waiting for %s", what)
		}
	}
}
