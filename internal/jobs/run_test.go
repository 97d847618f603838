package jobs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// A model that fails is routed around; the answers of the other one are in the
// journal, from which a replay takes them when the model is gone.
//
// spec: M-19, M-21
func TestModelsAnswerFromTheJournal(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(r.URL.Path, "down") || !strings.Contains(string(b), "what is a kestrel?") {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"a small falcon"}}],"usage":{"total_tokens":12}}`)
	}))
	r := newRig(t)
	text := strings.Replace(birds, "script: [{fail: the index is locked}]", "model: "+up.URL+"/down\n    confidence: 0.9", 1)
	text = strings.Replace(text, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", "model: "+up.URL+"/v1\n    confidence: 0.9", 1)
	res := r.done(text)
	if res.Log.Final != "a small falcon" || len(res.Log.Iterations) != 2 {
		t.Fatalf("final answer %q after %d iterations", res.Log.Final, len(res.Log.Iterations))
	}
	up.Close()
	before := asked.Load()
	for _, q := range []jobs.ReplayRequest{{}, {Mode: job.Production}, {Mode: job.Reexecute, Rerun: []string{jobs.RerunAll}}} {
		out, err := r.replay(on(res.Run, q))
		if err != nil || out.Result.Final != "a small falcon" || out.Authoritative() != (q.Mode != job.Reexecute) {
			t.Errorf("%s: Replay = %+v, %v", q.Mode, out.Result, err)
		}
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the replays asked the model %d times", n)
	}
}

// A process that is killed while an agent works has lost nothing: the job goes
// on where it was, and nobody can tell from its log.
func TestResumeGoesOnWhereAJobWas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", "go: falcon", 1)
	calls := 0
	ctx, kill := context.WithCancel(context.Background())
	r.Functions = map[string]jobs.Function{"falcon": func(context.Context, []byte, drive.Boundary) ([]byte, error) {
		if calls++; calls == 1 {
			kill()
			return nil, context.Canceled
		}
		return []byte(`{"text":"a small falcon","confidence":0.9}`), nil
	}}
	res, err := r.Start(ctx, r.read(text))
	if err == nil || res.Done {
		t.Fatalf("Start = %+v, %v; want it to be killed", res, err)
	}
	res, err = r.Resume(context.Background(), res.Run)
	if err != nil || !res.Done || res.Log.Final != "a small falcon" {
		t.Fatalf("Resume = %+v, %v; want it to be done", res, err)
	}
	if _, err := r.replay(on(res.Run, production)); err != nil {
		t.Errorf("Replay = %v", err)
	}
}

// What the replay of the engine proves from materials, the replay of the kernel
// proves from inputs: the machine comes to the same decisions.
func TestTheMachineComesToTheSameDecisions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res := r.done(birds)
	report, err := drive.Replay(context.Background(), r.store, res.Run, job.NewMachine(), "verify")
	if err != nil || report.Verdict != replay.Same {
		t.Errorf("drive.Replay = %+v, %v; want the same", report, err)
	}
}

// An agent that takes too long has timed out, by the limit of the snapshot.
func TestSlowAgentTimesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := strings.Replace(birds, "script: [{fail: the index is locked}]", "go: slow", 1) + "  governance: {agent_timeout_ms: 20}\n"
	r.Functions = map[string]jobs.Function{"slow": func(ctx context.Context, _ []byte, _ drive.Boundary) ([]byte, error) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		return nil, ctx.Err()
	}}
	res := r.done(text)
	found := false
	for o, err := range drive.NewReader(r.store, res.Run).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		found = found || o.Body.Get("name").Str() == job.AgentTimeout
	}
	if !found {
		t.Errorf("the run holds no %s", job.AgentTimeout)
	}
}

// A file that says what no job file says is refused with its line.
func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"unknown name", "seed: s\nsnapshot: {}\n", `job.yaml:2: "snapshot" is not known here`},
		{"no seed", "input: {query: x}\n", "the member seed is missing"},
		{"no query", "seed: s\ninput: {user: u}\n", "the query is missing"},
		{"two ways", "seed: s\ninput: {query: x}\nagents: [{node: \"agent:a_v1\", exec: [a], go: b}]\n", "called in 2 ways"},
		{"bad constant", "seed: s\ninput: {query: x}\nagents: [{node: \"agent:a_v1\", go: b}]\nsnapshots: {router: {min_scoer: 0.5}}\n", `"min_scoer" is not known here`},
		{"bad script", "seed: s\ninput: {query: x}\nagents: [{node: \"agent:a_v1\", script: [{fail: x, text: y}]}]\n", "a line that fails says nothing else"},
		{"bad persist", "seed: s\npersist: sometimes\ninput: {query: x}\n", "there are always, never and default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := readFile(t, tt.text)
			if err == nil || codeOf(err) != jobs.ErrFile.Error() || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v, want %s with %q", err, jobs.ErrFile, tt.want)
			}
		})
	}
}
