package job_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// spec: M-02
// spec: M-11
// spec: M-12
func TestTwoJobsOfOneSeedGiveTheSameLog(t *testing.T) {
	t.Parallel()
	logs := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range logs {
		wg.Go(func() {
			r := newRig(t)
			x := r.start(busy(t, r))
			x.finish()
			x.sound()
			logs[i] = x.logBytes()
		})
	}
	wg.Wait()
	for i := range logs {
		if !bytes.Equal(logs[i], logs[0]) {
			t.Errorf("log %d differs:\n%s\n%s", i, logs[0], logs[i])
		}
	}
	l, err := job.ParseLog(logs[0])
	if err != nil || len(l.Draws) != len(l.Iterations) || l.Draws[0] != l.Seed.Draw("agent", 0) {
		t.Errorf("draws = %v, %v; want one for each agent that was asked", l.Draws, err)
	}
	if again, _ := l.Bytes(); !bytes.Equal(again, logs[0]) {
		t.Error("a log that was read is written differently")
	}
}

func TestResumeAfterAKillAtEveryEntryGivesTheSameLog(t *testing.T) {
	t.Parallel()
	whole := newRig(t)
	y := whole.start(busy(t, whole))
	y.finish()
	want := y.logBytes()
	entries := int(y.s.At().Count)
	for kill := 1; kill < entries; kill++ {
		t.Run(fmt.Sprint(kill), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := newRig(t)
			lost := &dying{Store: memory.New(nil), after: int64(kill)}
			r.store = lost
			// A killed process may have asked an agent and lost its answer: what
			// an agent says must depend on what it is asked, not on how often.
			p := busy(t, r)
			turns := r.script
			r.script = map[string][]func(*effect.Call) (string, error){}
			for _, node := range []string{alpha, beta} {
				told := turns[node]
				first := int64(0)
				if node == beta {
					first = 1
				}
				r.script[node] = append(r.script[node], func(c *effect.Call) (string, error) {
					n, _ := c.Data.Get("iteration").AsInt()
					return told[min(int(n-first), len(told)-1)](c)
				})
			}
			cfg := r.config()
			set := r.set(p)
			s, err := drive.Open(ctx, cfg, r.opening(p, set))
			if err != nil {
				t.Fatal(err)
			}
			x := &started{rig: r, run: s.Run(), s: s, plan: p, set: set}
			for resumed := false; ; resumed = true {
				err := x.try()
				if err == nil {
					break
				}
				if resumed {
					t.Fatal(err)
				}
				_ = x.s.Close(ctx)
				lost.alive.Store(true)
				if x.s, err = drive.Resume(ctx, cfg, x.run, drive.Opening{}); err != nil {
					t.Fatal(err)
				}
			}
			if got := x.logBytes(); !bytes.Equal(got, want) {
				t.Errorf("the log differs from that of a run without a kill:\n%s\n%s", got, want)
			}
			x.sound()
		})
	}
}

// try runs a job to its end like [started.finish], and gives an error back.
func (x *started) try() error {
	ctx := context.Background()
	for {
		x.m = job.NewMachine()
		st, err := drive.Run(ctx, x.s, x.m, x.call)
		if err != nil {
			return err
		}
		x.st = st
		q, waits := x.m.Pending()
		if !waits {
			return nil
		}
		person := "cat"
		if len(q.Value().Get("votes").Elems()) == 1 {
			person = "cyd"
		}
		v := value(x.t, string(act(x.t, person, govern.Council, govern.Approve, q.Matter())))
		if err := x.s.Receive(ctx, ledger.KindApproval, job.InputVote, person, canon.Object(canon.M("act", v), canon.M("after", canon.Int(10)))); err != nil {
			return err
		}
	}
}

// forbidden are the names of what the document forbids to decide: metrics of the
// machine, latencies, the clock; and what else tells one run from another.
var forbidden = []string{
	"cpu", "cpu_percent", "load_average", "ram", "memory_bytes", "disk_free", "network_bytes", "queue_length", "goroutines", "temperature",
	"latency_ms", "duration_ms", "backoff_ms", "time_to_first_token_ms", "timestamp", "at", "deadline", "zone", "hostname", "pid", "trace_id", "message", "attempt_id",
}

// noise draws something else for each of them, and for each in the shape of a
// decision, in case somebody looks there: trust, scores, an answer.
func noise(rng *rand.Rand) canon.Value {
	one := func() canon.Value {
		switch rng.IntN(5) {
		case 0:
			return canon.Int(rng.Int64N(1 << 50))
		case 1:
			return canon.String(time.Unix(rng.Int64N(1<<32), rng.Int64N(1e9)).String())
		case 2:
			return canon.Bool(rng.IntN(2) == 0)
		case 3:
			return canon.Array(canon.Int(rng.Int64N(9)), canon.String(fmt.Sprint(rng.Uint64())))
		default:
			return canon.Object(canon.M("p99", canon.Int(rng.Int64N(1e9))))
		}
	}
	var members []canon.Member
	for _, name := range append(slices.Clone(forbidden), "apt", "final_score", "text", "confidence", "selected_agent", "depth", "token_budget", "status", "code") {
		members = append(members, canon.M(name, one()))
	}
	rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return canon.Object(members...)
}

// Whatever the clock, the metrics and the surroundings say, and wherever they
// are said (in what agents and their models answer beside the output, in the
// text of a failure, in how long anything takes), the log is the same, and so is
// every step of its replay.
//
// spec: M-10
func TestForbiddenInputsReachNoDecision(t *testing.T) {
	t.Parallel()
	var want, recorded, steps []byte
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := newRig(t)
		var mu sync.Mutex
		hand := rand.New(rand.NewPCG(seed, 2))
		clock := time.Unix(hand.Int64N(1<<32), 0)
		r.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			clock = clock.Add(time.Duration(hand.Int64N(int64(3 * time.Hour))))
			return clock.In(time.FixedZone("", hand.IntN(80_000)-40_000))
		}
		p := busy(t, r)
		for _, node := range []string{alpha, beta} {
			for i, turn := range r.script[node] {
				r.script[node][i] = func(c *effect.Call) (string, error) {
					time.Sleep(time.Duration(rng.IntN(300)) * time.Microsecond)
					out, err := turn(c)
					if err != nil {
						err = fault.Wrap(fault.CodeOf(err), "rig", err, "after %d ms at load %d: %s", rng.Int64N(1e6), rng.IntN(99), noise(rng))
					}
					return out, err
				}
			}
		}
		r.metrics = func() canon.Value { return noise(rng) }
		x := r.start(p)
		x.finish()
		seen := x.outcomes()
		if bytes.Equal(seen, recorded) || !bytes.Contains(seen, []byte("cpu_percent")) {
			t.Fatalf("the run has not recorded what was said of its surroundings: %s", seen)
		}
		recorded = seen
		var audit bytes.Buffer
		_, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Production, Elapsed: func() time.Duration { return time.Duration(rng.Int64N(int64(time.Minute))) }},
			func(s job.Step) error { fmt.Fprintln(&audit, s.Value()); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want, steps = x.logBytes(), audit.Bytes()
		}
		if got := x.logBytes(); !bytes.Equal(got, want) {
			t.Fatalf("with other clocks and metrics the log differs:\n%s\n%s", want, got)
		}
		if !bytes.Equal(audit.Bytes(), steps) {
			t.Fatalf("with other clocks and metrics the replay differs:\n%s\n%s", steps, audit.Bytes())
		}
		x.sound()
	}
}

// outcomes returns what the run says of how its calls ended.
func (x *started) outcomes() []byte {
	x.t.Helper()
	var out bytes.Buffer
	for o, err := range x.reader().All(x.t.Context()) {
		if err != nil {
			x.t.Fatal(err)
		}
		if o.Kind == ledger.KindOutcome {
			fmt.Fprintln(&out, o.Body.Get("data"))
		}
	}
	return out.Bytes()
}
