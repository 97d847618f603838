package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// kills is how often the recorder is killed.
const kills = 32

// lease is how long a recorder that was killed still counts as alive.
const lease = 10 * time.Second

// TestKilledRecorderLosesNothingThatItAcknowledged kills the recorder at
// random moments while clients stream. What a client had whole is in the
// ledger byte for byte; what it had in part is there as far as it had it, and
// marked as interrupted; the run verifies and says that it was not sealed.
func TestKilledRecorderLosesNothingThatItAcknowledged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Trickle)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))

	var runs []killed
	for i := range kills {
		log := filepath.Join(l.dir, fmt.Sprintf("kill-%02d.log", i))
		l.kill(log, rng)
		runs = append(runs, killed{answers: readLog(t, log)})
	}
	up.Stop()
	time.Sleep(lease + time.Second)

	whole, part := 0, 0
	list := l.runs()
	if len(list) != kills {
		t.Fatalf("the store has %d runs, want %d", len(list), kills)
	}
	slices.Reverse(list) // the oldest first, as they were killed
	for i := range runs {
		runs[i].id = list[i].Run
		if list[i].State != "unsealed" {
			t.Errorf("kill %d: run %s is %q, want unsealed", i, list[i].Run, list[i].State)
		}
		w, p := runs[i].check(t, l, i)
		whole, part = whole+w, part+p
	}
	t.Logf("%d kills: %d answers were whole, %d were interrupted", kills, whole, part)
	if whole < kills || part < kills {
		t.Errorf("%d whole and %d interrupted answers in %d kills: the kills came at the wrong moments", whole, part, kills)
	}
}

// kill records the streamer and kills the recorder at a random moment, which is
// counted in what the clients have got: on a slow machine it comes later.
func (l *lab) kill(log string, rng *rand.Rand) {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), programs.reprise, "record", "--", programs.streamer, "-log", log, "-clients", "6")
	cmd.Dir, cmd.Env = l.dir, l.env
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// The agent outlives its recorder; it keeps its own end of this pipe.
	alive, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	pieces := 1 + rng.IntN(600)
	for started := time.Now(); ; time.Sleep(time.Millisecond) {
		if b, err := os.ReadFile(log); err == nil && bytes.Count(b, []byte("\n")) >= pieces {
			break
		}
		if time.Since(started) > limit {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			l.t.Fatalf("the clients got less than %d pieces within %s: %s", pieces, limit, stderr.String())
		}
	}
	time.Sleep(time.Duration(rng.Int64N(int64(5 * time.Millisecond)))) // anywhere between two pieces
	if err := cmd.Process.Kill(); err != nil {
		l.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, alive) // until its next request fails
	_ = cmd.Wait()                    // killed
}

// answer is what a client got.
type answer struct {
	id   string
	data []byte
	end  string // "whole", what went wrong, or "" if nothing more was logged
}

// killed is a run whose recorder was killed.
type killed struct {
	id      string
	answers []answer
}

// readLog reads the streamer's log.
func readLog(t *testing.T, name string) []answer {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []answer
	at := map[string]int{}
	for line := range bytes.Lines(b) {
		var l struct {
			ID   string
			Data []byte
			End  string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		i, ok := at[l.ID]
		if !ok {
			i = len(list)
			at[l.ID] = i
			list = append(list, answer{id: l.ID})
		}
		list[i].data = append(list[i].data, l.Data...)
		list[i].end += l.End
	}
	return list
}

// check replays the run and holds what it gives against what the clients had.
func (k *killed) check(t *testing.T, l *lab, i int) (whole, part int) {
	t.Helper()
	var ids []string
	for _, a := range k.answers {
		if len(a.data) > 0 {
			ids = append(ids, a.id)
		}
	}
	list := filepath.Join(l.dir, fmt.Sprintf("again-%02d.txt", i))
	log := filepath.Join(l.dir, fmt.Sprintf("again-%02d.log", i))
	if err := os.WriteFile(list, []byte(strings.Join(ids, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := l.reprise("replay", k.id, "--", programs.streamer, "-log", log, "-again", list)
	if r.status > 1 { // calls of which no client saw a byte are not asked again
		t.Fatalf("replay of kill %d = %d\n%s", i, r.status, clip(r.stderr))
	}
	got := map[string]answer{}
	for _, a := range readLog(t, log) {
		got[a.id] = a
	}
	for _, a := range k.answers {
		g := got[a.id]
		switch {
		case len(a.data) == 0:
		case a.end == "whole":
			whole++
			if g.end != "whole" || !bytes.Equal(g.data, a.data) {
				t.Errorf("kill %d, %q: a client had %d bytes, all of it; the ledger has %d bytes, %q", i, a.id, len(a.data), len(g.data), g.end)
			}
		default:
			part++
			if !bytes.HasPrefix(g.data, a.data) {
				t.Errorf("kill %d, %q: a client saw %d bytes; the ledger has %d, %q", i, a.id, len(a.data), len(g.data), g.end)
			}
			if g.end == "" {
				t.Errorf("kill %d, %q: the replay did not end", i, a.id)
			}
		}
	}
	v := l.reprise("verify", k.id, "--level", "0")
	if v.status != 0 {
		t.Errorf("verify of kill %d = %d\n%s%s", i, v.status, clip(v.stdout), v.stderr)
	}
	if !strings.Contains(v.stdout, "not sealed") && !strings.Contains(v.stdout, "unsealed") {
		t.Errorf("verify of kill %d does not say that the run was not sealed:\n%s", i, clip(v.stdout))
	}
	return whole, part
}

// runInfo is a line of the list of runs.
type runInfo struct {
	Run   string
	State string
	Calls int
	Exit  *int
}

// runs lists the runs, the newest first.
func (l *lab) runs() []runInfo {
	l.t.Helper()
	r := l.must(0, "runs", "--json", "--limit", "0")
	var list struct{ Runs []runInfo }
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil {
		l.t.Fatalf("runs --json: %v\n%s", err, clip(r.stdout))
	}
	return list.Runs
}

// TestEffectThatHappenedIsInTheLedger kills the recorder while an agent
// changes the world. However it ends, the ledger holds a call for everything
// that happened: a call that may change something waits until it is durable.
func TestEffectThatHappenedIsInTheLedger(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *notebook{"over stdio": overStdio, "over HTTP": overHTTP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			up := upstream.Start(t, upstream.EndlessNotes)
			n.set("OPENAI_BASE_URL", up.URL()+"/v1")
			rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
			const kills = 8
			happened := 0
			var notes []int
			for range kills {
				n.interrupt(rng)
				all := len(lines(t, n.notes))
				notes = append(notes, all-happened)
				happened = all
			}
			time.Sleep(lease + time.Second)
			list := n.runs()
			slices.Reverse(list)
			if len(list) != kills {
				t.Fatalf("the store has %d runs, want %d", len(list), kills)
			}
			for i, r := range list {
				called := 0
				for _, c := range n.calls(r.Run) {
					if strings.HasPrefix(c.Name, "tools/call") {
						called++
					}
				}
				if called < notes[i] || called > notes[i]+1 {
					t.Errorf("kill %d: %d notes were taken and the ledger has %d calls, want as many or one more", i, notes[i], called)
				}
				n.must(0, "verify", r.Run, "--level", "0")
			}
			t.Logf("notes before each kill: %v", notes)
		})
	}
}

// interrupt records the agent and kills the recorder some time after it has
// taken its first note.
func (n *notebook) interrupt(rng *rand.Rand) {
	n.t.Helper()
	had := len(lines(n.t, n.notes))
	args := n.with([]string{"record"})
	cmd := exec.CommandContext(n.t.Context(), programs.reprise, args...)
	cmd.Dir, cmd.Env = n.dir, n.env
	// The agent outlives its recorder; it keeps its own end of this pipe.
	alive, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	for started := time.Now(); len(lines(n.t, n.notes)) == had; time.Sleep(time.Millisecond) {
		if time.Since(started) > limit {
			n.t.Errorf("no note within %s", limit)
			break
		}
	}
	time.Sleep(time.Duration(rng.Int64N(int64(60 * time.Millisecond))))
	if err := cmd.Process.Kill(); err != nil {
		n.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, alive) // until the agent has ended too
	_ = cmd.Wait()
}

// TestRecorderThatIsAskedToEndSealsTheRun passes a signal on to the agent.
func TestRecorderThatIsAskedToEndSealsTheRun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Trickle)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	log := filepath.Join(l.dir, "clients.log")
	cmd := exec.CommandContext(t.Context(), programs.reprise, "record", "--", programs.streamer, "-log", log)
	cmd.Dir, cmd.Env = l.dir, l.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for started := time.Now(); len(lines(t, log)) < 50 && time.Since(started) < limit; time.Sleep(time.Millisecond) {
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is looked at
	if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGTERM) {
		t.Errorf("the recorder ended with %d, want %d as the agent", got, 128+int(syscall.SIGTERM))
	}
	if list := l.runs(); len(list) != 1 || list[0].State != "sealed" {
		t.Errorf("the runs are %+v, want one that is sealed", list)
	}
	l.must(0, "verify", "last", "--level", "1")
}
