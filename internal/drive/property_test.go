package drive_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store/memory"
)

// plan is an engine whose steps are drawn at random: each step makes some
// calls, equal ones among them, and decides by their answers. It is the
// general case that the sketches are examples of.
type plan struct {
	steps [][]string // prompts of each step
	step  int
	got   []string
	tries int
}

func (p *plan) Clone() effect.Machine { c := *p; c.got = slices.Clone(p.got); return &c }

func (p *plan) Next() effect.Step {
	if p.step == len(p.steps) {
		return effect.Step{Done: true}
	}
	var calls []effect.Call
	for _, prompt := range p.steps[p.step][len(p.got):] {
		calls = append(calls, modelCall(prompt))
	}
	return effect.Step{Calls: calls}
}

func (p *plan) Apply(in effect.Input) ([]ledger.Decision, error) {
	if in.Kind != ledger.KindOutcome {
		return nil, nil
	}
	if in.Outcome.Status != effect.OK {
		p.tries++
	}
	p.got = append(p.got, text(in.Outcome))
	if len(p.got) < len(p.steps[p.step]) {
		return nil, nil
	}
	slices.Sort(p.got) // outcomes of one step come in any order
	d := ledger.Decision{Kind: ledger.KindDecision, Body: canon.Object(
		canon.M("name", canon.String(fmt.Sprintf("step %d", p.step))),
		canon.M("data", canon.String(fmt.Sprint(p.got, p.tries))),
	)}
	p.step, p.got = p.step+1, nil
	return []ledger.Decision{d}, nil
}

func drawPlan(t *rapid.T) [][]string {
	prompt := rapid.SampledFrom([]string{"a", "b", "c", "a long one " + string(make([]byte, 5000))})
	return rapid.SliceOfN(rapid.SliceOfN(prompt, 1, 4), 1, 6).Draw(t, "steps")
}

// flaky answers at random, fails at random, and takes its time.
func flaky(seed uint64) drive.Caller {
	return func(_ context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
		h := canon.Hash("flaky\n", []byte(fmt.Sprint(seed)), c.Contents[0].Bytes)
		time.Sleep(time.Duration(h[0]) * time.Microsecond)
		if h[1] < 40 {
			return effect.Outcome{}, fault.New(effect.ErrRefused, "flaky", "not today")
		}
		return answer(h.String()), nil
	}
}

func TestReplayOfARecordIsTheRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		steps := drawPlan(rt)
		n := 0
		every := rapid.IntRange(2, 9).Draw(rt, "conflict every")
		store := memory.New(&memory.Options{Conflict: func() bool { n++; return n%every == 0 }})
		s, err := drive.Open(ctx, config(t, store, "one"), drive.Opening{Engine: "plan"})
		if fault.ClassOf(err) == fault.ClassConflict {
			rt.Skip("the lease itself was refused")
		}
		if err != nil {
			rt.Fatal(err)
		}
		st, err := drive.Run(ctx, s, &plan{steps: steps}, flaky(rapid.Uint64().Draw(rt, "seed")))
		if err != nil || !st.Done {
			rt.Fatalf("Run = %+v, %v", st, err)
		}
		if err := s.Seal(ctx, "done", canon.Value{}, nil); err != nil && fault.ClassOf(err) != fault.ClassConflict {
			rt.Fatal(err)
		}
		report, err := drive.Replay(ctx, store, s.Run(), &plan{steps: steps}, "audit")
		if err != nil || report.Verdict != replay.Same {
			rt.Fatalf("Replay = %+v, %v; want same", report, err)
		}

		at := rapid.IntRange(0, len(steps)-1).Draw(rt, "changed step")
		changed := slices.Clone(steps)
		changed[at] = slices.Clone(changed[at])
		changed[at][0] = "something else"
		before := int64(0)
		for _, c := range steps[:at] {
			before += int64(len(c))
		}
		report, err = drive.Replay(ctx, store, s.Run(), &plan{steps: changed}, "audit")
		if err != nil {
			rt.Fatal(err)
		}
		first := report.Divergences[0]
		if first.What != "call" || first.Kind != replay.Different || first.Step <= before || first.Step > before+int64(len(steps[at])) {
			rt.Fatalf("first divergence = %+v, want a call of step %d", first, at)
		}

		report, err = drive.Replay(ctx, store, s.Run(), &plan{steps: append(slices.Clone(steps), []string{"more"})}, "audit")
		if err != nil || report.Total != 1 || report.Divergences[0].Kind != replay.Extra {
			rt.Fatalf("an engine that asks for more = %+v, %v; want one extra call", report, err)
		}
		if len(steps) > 1 {
			report, err = drive.Replay(ctx, store, s.Run(), &plan{steps: steps[:len(steps)-1]}, "audit")
			if err != nil || report.Verdict != replay.Diverged || report.Divergences[0].Kind != replay.Missing {
				rt.Fatalf("an engine that asks for less = %+v, %v; want what is left over", report, err)
			}
		}
	})
}
