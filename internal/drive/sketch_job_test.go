package drive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// job is a sketch of an engine that routes rounds to nested agents: each
// round calls two agents at once, and the job decides by what they said. The
// agents' own model calls stand under theirs in the ledger.
type job struct {
	rounds  int
	round   int
	answers map[string]string
	rule    string // what a decision says; another rule is another engine
}

func (j *job) Clone() effect.Machine {
	c := *j
	c.answers = map[string]string{}
	for _, k := range []string{"a", "b"} {
		if v, ok := j.answers[k]; ok {
			c.answers[k] = v
		}
	}
	return &c
}

func (j *job) Next() effect.Step {
	if j.round >= j.rounds {
		return effect.Step{Done: true}
	}
	var calls []effect.Call
	for _, name := range []string{"a", "b"} {
		if _, ok := j.answers[name]; !ok {
			calls = append(calls, effect.Call{
				Kind: "agent", Name: name, Class: effect.Read,
				Data: canon.Object(canon.M("round", canon.Int(int64(j.round)))),
			})
		}
	}
	return effect.Step{Calls: calls}
}

func (j *job) Apply(in effect.Input) ([]ledger.Decision, error) {
	switch in.Kind {
	case ledger.KindOpen:
		j.answers = map[string]string{}
		return nil, nil
	case ledger.KindOutcome:
		if in.Outcome.Status != effect.OK {
			return nil, nil // asked again by Next
		}
		j.answers[in.Call.Name] = text(in.Outcome)
	default:
	}
	if len(j.answers) < 2 {
		return nil, nil
	}
	said := j.answers["a"] + "+" + j.answers["b"]
	d := ledger.Decision{Kind: ledger.KindDecision, Body: canon.Object(
		canon.M("name", canon.String("route")),
		canon.M("data", canon.Object(canon.M("said", canon.String(said)), canon.M("rule", canon.String(j.rule)))),
	)}
	w := ledger.Decision{Kind: ledger.KindCommit, Body: canon.Object(
		canon.M("delta", canon.Array(ledger.Change{Op: ledger.OpCreate, Kind: "round", ID: fmt.Sprint(j.round), Value: canon.String(said)}.Encode())),
	)}
	j.round++
	j.answers = map[string]string{}
	return []ledger.Decision{d, w}, nil
}

// agents answers the job's calls; each agent asks its model first, through
// the boundary under its own call.
func agents(ctx context.Context, c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	x, err := under.Begin(ctx, modelCall("you are "+c.Name))
	if err != nil {
		return effect.Outcome{}, err
	}
	reply := "hello from " + c.Name
	if err := x.End(ctx, answer(reply)); err != nil {
		return effect.Outcome{}, err
	}
	return answer(strings.ToUpper(reply)), nil
}

func runJob(t *testing.T, store drive.Store, rounds int) ledger.RunID {
	t.Helper()
	ctx := context.Background()
	s, err := drive.Open(ctx, config(t, store, "one"), drive.Opening{Engine: "job", Mode: "run", Title: "sketch"})
	if err != nil {
		t.Fatal(err)
	}
	st, err := drive.Run(ctx, s, &job{rounds: rounds, rule: "1"}, agents)
	if err != nil {
		t.Fatal(err)
	}
	seal(t, s, st)
	return s.Run()
}

func TestJobReplaysToTheSameDecisions(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := runJob(t, store, 3)
	verify(t, store, run)
	got := bodies(t, store, run)
	nested := 0
	for _, b := range got {
		if b == "call chat" {
			nested++
		}
	}
	if nested != 6 || got[len(got)-1] != "seal" {
		t.Errorf("entries = %v, want six nested model calls and a seal", got)
	}
	report, err := drive.Replay(context.Background(), store, run, &job{rounds: 3, rule: "1"}, "audit")
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != replay.Same {
		t.Errorf("verdict = %s, want same: %v", report.Verdict, report.Divergences)
	}
}

func TestChangedDecisionIsFoundAtItsIndex(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := runJob(t, store, 3)
	report, err := drive.Replay(context.Background(), store, run, &job{rounds: 3, rule: "2"}, "audit")
	if err != nil {
		t.Fatal(err)
	}
	first := report.Divergences[0]
	if first.Kind != replay.Different || first.What != "decision" || first.Step != 1 || first.Where[0].Pointer != "/data/rule" {
		t.Errorf("first divergence = %+v, want decision 1 different at /data/rule", first)
	}
	if report.Total != 3 || !report.Divergences[1].Follows {
		t.Errorf("total = %d, want 3, the later ones following", report.Total)
	}
}

func TestLongerEngineFailsClosedOnAShortRecord(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := runJob(t, store, 2)
	report, err := drive.Replay(context.Background(), store, run, &job{rounds: 3, rule: "1"}, "production")
	if err != nil {
		t.Fatal(err)
	}
	if report.Total != 2 || report.Divergences[0].Kind != replay.Extra || report.Divergences[0].Step != 5 {
		t.Errorf("divergences = %+v, want the two calls of round 3 as extra", report.Divergences)
	}
}

func TestShorterEngineLeavesEntriesOver(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := runJob(t, store, 3)
	report, err := drive.Replay(context.Background(), store, run, &job{rounds: 2, rule: "1"}, "audit")
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != replay.Diverged || report.Divergences[0].Kind != replay.Missing || report.Divergences[0].What != "call" {
		t.Errorf("first divergence = %+v, want a recorded call that is missing now", report.Divergences)
	}
}

// dying is a store that a process loses after so many entries, as by a kill:
// what was acknowledged stays, nothing more is taken.
type dying struct {
	drive.Store
	after int64
	alive atomic.Bool
}

func (d *dying) Append(ctx context.Context, b *ledger.Batch) error {
	if !d.alive.Load() && b.At.Count+int64(len(b.Entries)) > d.after {
		return fault.New(ledger.ErrFenced, "dying.Append", "the process was killed")
	}
	return d.Store.Append(ctx, b)
}

func TestJobResumesAfterAKillAtEveryEntry(t *testing.T) {
	t.Parallel()
	whole := newMemory(t)
	entries := len(bodies(t, whole, runJob(t, whole, 2)))
	for kill := 1; kill < entries-1; kill++ {
		t.Run(fmt.Sprint(kill), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			store := &dying{Store: newMemory(t), after: int64(kill)}
			cfg := config(t, store, "one")
			s, err := drive.Open(ctx, cfg, drive.Opening{Engine: "job", Mode: "run", Title: "sketch"})
			if err != nil {
				t.Fatal(err)
			}
			run := s.Run()
			if _, err := drive.Run(ctx, s, &job{rounds: 2, rule: "1"}, agents); err == nil {
				t.Fatal("the run did not notice the kill")
			}
			_ = s.Close(ctx)
			store.alive.Store(true)

			if s, err = drive.Resume(ctx, cfg, run, drive.Opening{}); err != nil {
				t.Fatal(err)
			}
			st, err := drive.Run(ctx, s, &job{rounds: 2, rule: "1"}, agents)
			if err != nil {
				t.Fatal(err)
			}
			seal(t, s, st)
			verify(t, store, run)
			report, err := drive.Replay(ctx, store, run, &job{rounds: 2, rule: "1"}, "audit")
			if err != nil {
				t.Fatal(err)
			}
			decisions := slices.DeleteFunc(bodies(t, store, run), func(s string) bool { return s != "decision route" })
			if len(decisions) != 2 || report.Verdict != replay.Same {
				t.Errorf("decisions = %v, verdict %s %+v; want two and same", decisions, report.Verdict, report.Divergences)
			}
		})
	}
}
