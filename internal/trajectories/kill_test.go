package trajectories_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store"
)

const killTask = `
task: Append a line, once
model: {script: script.yaml}
writ: {ceiling: [read, write, external]}
tools:
  - builtin: [kv]
  - name: line
    effect: external
    args: {type: object, properties: {text: {type: string}}, required: [text]}
    exec: [%q]
    env: {TRAJ_TEST: ledgerline, FILE: %q, KEY: "{idempotency_key}", DEDUPE: %q}
    changes: [{op: create, kind: line, id: "{args.text}", value: "{output.done}"}]
`

const killScript = `
- calls: [{kv_set: {key: a, value: 1}}]
- calls: [{line: {text: one}}]
- text: Done.
`

// moment is when a process is killed: around its so-manieth append, or between
// the effect of its tool and the record of it. How many entries an append has
// depends on how fast the machine is.
type moment struct {
	at             int
	before, behind bool
}

// killed starts a run in a process that is killed, and returns a runner on what
// it left; ok is false if the process came to its end.
func killed(t *testing.T, when moment, dedupe string) (r *trajectories.Runner, file string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "lines")
	r, ok = killedIn(t, dir, when, fmt.Sprintf(killTask, os.Args[0], file, dedupe), killScript)
	return r, file, ok
}

func killedIn(t *testing.T, dir string, when moment, task, script string) (r *trajectories.Runner, ok bool) {
	t.Helper()
	for name, text := range map[string]string{"task.yaml": task, "script.yaml": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "TRAJ_TEST=run", "DIR="+dir, fmt.Sprint("AT=", when.at))
	if when.before {
		cmd.Env = append(cmd.Env, "BEFORE=1")
	}
	if when.behind {
		cmd.Env = append(cmd.Env, "BEHIND="+filepath.Join(dir, "lines"))
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, false
	case !errors.As(err, &exit) || !strings.Contains(err.Error(), "killed"):
		t.Fatalf("the runner ended with %v: %s", err, out)
	}
	// The lease of the dead has run out a minute later.
	later := func() time.Time { return time.Now().Add(time.Minute) }
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "r.db"), &store.Options{Now: later})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return runnerOn(s, dir, later, "heir"), true
}

// theRun returns the one run of a store; ok is false if its open was not
// durable when the process was killed.
func theRun(t *testing.T, r *trajectories.Runner) (run ledger.RunID, ok bool) {
	t.Helper()
	for info, err := range r.Config.Store.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return info.Run, true
	}
	return "", false
}

func lines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// A process that is killed at any append goes on later, and the tool that
// changes something outside has run at most once. Where nobody knows whether
// it did, a person is asked and nothing happens on its own.
func TestKilledAnywhereATrajectoryGoesOnAndItsToolRunsOnce(t *testing.T) {
	t.Parallel()
	const most = 40
	asked, direct := 0, 0
	goesOn := func(r *trajectories.Runner, file string, when moment) {
		run, ok := theRun(t, r)
		if !ok {
			return
		}
		was := lines(t, file)
		res, err := r.Resume(t.Context(), run)
		if errors.Is(err, drive.ErrSealed) {
			return // killed behind its end
		}
		if err != nil {
			t.Fatalf("killed at %+v: %v", when, err)
		}
		if len(res.Pending) == 1 && res.Pending[0].Channel == trajectory.ChannelUnknown {
			asked++
			if n := lines(t, file); n != was {
				t.Errorf("killed at %+v: the tool ran again without a word", when)
			}
			if res, err = r.Approve(t.Context(), run, "", was == 0, trajectories.Act{}); err != nil {
				t.Fatal(err)
			}
		} else {
			direct++
		}
		if n := lines(t, file); !res.Done || n != 1 {
			t.Errorf("killed at %+v: done %v, %d lines, want 1", when, res.Done, n)
		}
		same(t, r, run)
	}
	for _, before := range []bool{true, false} {
		for at := 1; ; at++ {
			when := moment{at: at, before: before}
			r, file, wasKilled := killed(t, when, "")
			if !wasKilled {
				break
			}
			if at > most {
				t.Fatal("the run makes more appends than this test thinks")
			}
			goesOn(r, file, when)
		}
	}
	when := moment{behind: true}
	r, file, wasKilled := killed(t, when, "")
	if !wasKilled || lines(t, file) != 1 {
		t.Fatalf("killed: %v, with %d lines; want a kill between the tool's effect and its record", wasKilled, lines(t, file))
	}
	goesOn(r, file, when)
	if asked == 0 || direct == 0 {
		t.Errorf("%d runs asked, %d went on by themselves; the test must see both", asked, direct)
	}
}

// same replays a run: nothing may come out differently.
func same(t *testing.T, r *trajectories.Runner, run ledger.RunID) {
	t.Helper()
	rep, err := drive.Replay(t.Context(), r.Config.Store, run, trajectory.NewMachine(), "verify")
	if err != nil {
		t.Fatal(err)
	}
	if rep.Verdict != replay.Same {
		t.Errorf("replay = %s: %+v", rep.Verdict, rep.Divergences)
	}
}

// A tool that keeps what it did by the key that comes with its call does it
// once, even where a person lets it be called again.
func TestAToolThatKnowsItsKeyRunsOnceThoughItIsCalledAgain(t *testing.T) {
	t.Parallel()
	r, file, wasKilled := killed(t, moment{behind: true}, "yes")
	if !wasKilled || lines(t, file) != 1 {
		t.Fatalf("killed: %v, with %d lines; want a kill between the tool's effect and its record", wasKilled, lines(t, file))
	}
	run, ok := theRun(t, r)
	if !ok {
		t.Fatal("there is no run")
	}
	res, err := r.Resume(t.Context(), run)
	if err != nil || len(res.Pending) != 1 {
		t.Fatalf("Resume = %+v, %v; want one question", res, err)
	}
	if res, err = r.Approve(t.Context(), run, "", true, trajectories.Act{}); err != nil {
		t.Fatal(err)
	}
	if n := lines(t, file); !res.Done || n != 1 || res.Commits != 2 {
		t.Errorf("done %v, %d lines, %d commits; want one line and two commits", res.Done, n, res.Commits)
	}
}

// A process that is killed while a delegate works goes on with that delegate,
// and opens no second one.
func TestKilledWhileADelegateWorksThereIsOneDelegate(t *testing.T) {
	t.Parallel()
	const task = `
task: Count the fruit
agents: [{name: lead, model: {script: script.yaml}, writ: {delegation: {depth: 1}}}]
tools: [{builtin: [kv, delegate]}]
`
	const script = `
lead:
  - calls: [{delegate: {task: Count the apples}}]
  - text: Seven.
lead/1:
  - calls: [{kv_set: {key: apples, value: 7}}]
  - text: There are seven.
`
	for at := 1; ; at++ {
		r, wasKilled := killedIn(t, t.TempDir(), moment{at: at}, task, script)
		if !wasKilled {
			return
		}
		var parent ledger.RunID
		for info, err := range r.Config.Store.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			parent = info.Run // the oldest is the last
		}
		if parent == "" {
			continue
		}
		res, err := r.Resume(t.Context(), parent)
		if errors.Is(err, drive.ErrSealed) {
			continue
		}
		if err != nil {
			t.Fatalf("killed behind append %d: %v", at, err)
		}
		runs := 0
		for info, err := range r.Config.Store.Runs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if runs++; !info.Sealed {
				t.Errorf("killed behind append %d: run %s is not sealed", at, info.Run)
			}
			same(t, r, info.Run)
		}
		if !res.Done || res.Status != trajectories.StatusDone || runs != 2 {
			t.Errorf("killed behind append %d: %s with %d runs, want done with 2: %+v", at, res.Status, runs, res.Agents)
		}
	}
}
