package job_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// spec: M-18
func TestReexecuteRunsAgentsAgain(t *testing.T) {
	t.Parallel()
	x := answered(t)
	kept := x.archive().Outputs[job.OutputID("s0", 0)]
	again := 0
	run := func(b []byte) func(job.Rerun) (*job.Ran, error) {
		return func(q job.Rerun) (*job.Ran, error) { again++; return &job.Ran{Output: b}, nil }
	}
	got, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Reexecute, Again: run(kept)}, nil)
	if err != nil || got.Authoritative || again != 1 {
		t.Errorf("Replay = %+v, %v after %d runs; want the same, without authority", got, err, again)
	}
	_, err = job.Replay(x.archive(), job.ReplayOptions{Mode: job.Reexecute, Again: run(bytes.Replace(kept, []byte("falcon"), []byte("hawk"), 1))}, nil)
	wantLiteral(t, err, job.ErrDivergence, "REPLAY_DIVERGENCE")
	_, err = job.Replay(x.archive(), job.ReplayOptions{Mode: job.Audit, Again: run(kept)}, nil)
	wantLiteral(t, err, job.ErrReplayMode, "job.bad_replay_mode")
}

// The engine makes the call of an agent anew, out of the state that the replay
// has come to, and it is the one that was made then: whichever attempt it was,
// and whatever was redacted or voted on in between.
//
// spec: M-18
func TestRerunMakesTheCallsOfThen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrModelDown)
	r.says(beta, `{"text":"write to uma@example.org","confidence":0.1}`, text("a small falcon"))
	x := r.start(r.plan(nil))
	var then []canon.Digest
	for _, c := range r.asked {
		then = append(then, c.Match)
	}
	var now []canon.Digest
	_, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Reexecute, Again: func(q job.Rerun) (*job.Ran, error) {
		i := slices.IndexFunc(x.plan.spec.Agents, func(a job.Agent) bool { return a.Node == q.Node })
		c, err := q.Call(x.plan.spec.Agents[i])
		if err == nil {
			err = c.Fill()
		}
		now = append(now, c.Match)
		if _, err := q.Call(job.Agent{Node: "agent:nobody_v1"}); err == nil {
			t.Error("Call of another agent gives no error")
		}
		return nil, err
	}}, nil)
	if err != nil || len(then) < 3 || !slices.Equal(now, then) {
		t.Errorf("Replay = %v; made %v, want %v", err, now, then)
	}
}

// Whatever an agent that runs again does otherwise is the first difference, and
// the replay stops there: what it asks, that it fails, that it does not fail.
//
// spec: M-63, M-70
func TestRerunStopsAtTheFirstDifference(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrModelDown)
	r.says(beta, text("a small falcon"))
	x := r.start(r.plan(nil))
	kept := x.archive().Outputs[job.OutputID(x.log().Seed, 1)]
	asked := job.Asked{What: "model chat", Diff: job.Diff(canon.String("then"), canon.String("now"))}
	for _, tt := range []struct {
		name        string
		alpha, beta job.Ran
		want        string // of the differences; empty: none
	}{
		{"the same", job.Ran{Failed: job.ErrModelDown}, job.Ran{Output: kept}, ""},
		{"another request", job.Ran{Failed: job.ErrModelDown}, job.Ran{Output: kept, Asked: []job.Asked{asked}}, `[{"pointer":"","recorded":"then","replayed":"now"}]`},
		{"a request and what follows", job.Ran{Failed: job.ErrModelDown}, job.Ran{Failed: job.ErrAgentException, Asked: []job.Asked{asked}}, `[{"pointer":"","recorded":"then","replayed":"now"}]`},
		{"another failure", job.Ran{Failed: job.ErrAgentException}, job.Ran{Output: kept}, `[{"pointer":"/error_code","recorded":"LLM_SERVICE_DOWN","replayed":"AGENT_EXCEPTION"}]`},
		{"no output", job.Ran{Failed: job.ErrModelDown}, job.Ran{Output: []byte("no JSON")}, `{"pointer":"/error_code","replayed":"job.bad_agent_output"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Reexecute, Again: func(q job.Rerun) (*job.Ran, error) {
				if q.Node == alpha {
					return &tt.alpha, nil
				}
				return &tt.beta, nil
			}}, nil)
			if tt.want == "" {
				if err != nil || len(got.Divergences) != 0 || got.Authoritative {
					t.Errorf("Replay = %+v, %v; want the same, without authority", got, err)
				}
				return
			}
			wantLiteral(t, err, job.ErrDivergence, "REPLAY_DIVERGENCE")
			if len(got.Divergences) != 1 || !strings.Contains(got.Divergences[0].Diff.Get("differences").String(), tt.want) {
				t.Errorf("divergences = %+v, want %s alone", got.Divergences, tt.want)
			}
		})
	}
}
