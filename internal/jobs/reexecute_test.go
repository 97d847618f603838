package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

const agentKey = "sk-proj-0123456789abcdefghijklmnop"

// world is the models and services of a test, and who has asked them.
type world struct {
	*httptest.Server
	asked atomic.Int64
	key   atomic.Value // the last Authorization
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/chat/completions", func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.key.Store(r.Header.Get("Authorization"))
		if !bytes.Contains(b, []byte("kestrel")) {
			http.Error(rw, "what is this?", http.StatusTeapot)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"choices":[{"message":{"role":"assistant","content":"a small falcon"}}],"usage":{"total_tokens":12}}`)
	})
	m.HandleFunc("GET /sightings", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, `{"where":"grassland"}`) })
	m.HandleFunc("POST /agent", func(rw http.ResponseWriter, r *http.Request) {
		w.key.Store(r.Header.Get("Authorization"))
		fmt.Fprint(rw, `{"text":"a small falcon","confidence":0.9}`)
	})
	server := mcp.NewServer(&mcp.Implementation{Name: "birds", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "describe"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a small falcon"}}}, nil, nil
	})
	m.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		m.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.Close)
	return w
}

// gone stops the world, and returns how often it was asked.
func (w *world) gone() int64 {
	w.CloseClientConnections()
	w.Close()
	return w.asked.Load()
}

func (r *rig) environ(vars map[string]string) {
	r.World = live.World{Environ: func(name string) string { return vars[name] }}
}

// asking is the birds job whose second agent is the program asks, in a folder
// of its own.
func asking(t *testing.T, w *world) (text, dir string) {
	t.Helper()
	dir = t.TempDir()
	return strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", fmt.Sprintf(`exec: [%q]
    dir: %q
    env: {JOBS_TEST_AGENT: asks}
    env_from: [OPENAI_API_KEY]
    upstreams: {openai: "%s/v1", field: "%[3]s"}`, os.Args[0], dir, w.URL), 1), dir
}

var all = jobs.ReplayRequest{Mode: job.Reexecute, Rerun: []string{jobs.RerunAll}}

// again replays with all agents running again, or skips where no sandbox can be
// had.
func (r *rig) again(run ledger.RunID) (*jobs.Replayed, error) {
	r.t.Helper()
	out, err := r.replay(on(run, all))
	if fault.CodeOf(err) == fault.Code(jobs.ErrSandbox) {
		r.t.Skip("no sandbox can be made here: " + err.Error())
	}
	return out, err
}

// nested returns the calls of a run that stand under the call of an agent.
func (r *rig) nested(run ledger.RunID) []string {
	r.t.Helper()
	var out []string
	for o, err := range drive.NewReader(r.store, run).All(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if o.Kind != ledger.KindCall {
			continue
		}
		c, key, err := effect.ParseCall(o.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		if key.Depth() > 0 {
			out = append(out, c.Kind+" "+c.Name)
		}
	}
	return out
}

// differences returns the first difference that a replay has found.
func differences(t *testing.T, out *jobs.Replayed) string {
	t.Helper()
	if out == nil || out.Result == nil || len(out.Result.Divergences) != 1 {
		t.Fatalf("the replay is %+v, want one divergence", out)
	}
	b, err := canon.Encode(out.Result.Divergences[0].Diff.Get("differences"), canon.MACEFixed9)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An agent that is a program is recorded at the same boundary as any: what it
// asks stands under its call, in the ledger of the job, without its key. When
// its models are gone it runs again, on another store too, and answers the same.
//
// spec: M-18, M-19
func TestProgramsRunAgainOverTheRecord(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRig(t)
	r.environ(map[string]string{"OPENAI_API_KEY": agentKey})
	text, dir := asking(t, w)
	res := r.done(text)
	if res.Log.Final != "a small falcon over grassland" || w.key.Load() != "Bearer "+agentKey {
		t.Fatalf("final answer %q, asked with %q", res.Log.Final, w.key.Load())
	}
	if got, want := r.nested(res.Run), []string{"model POST /v1/chat/completions", "http GET /sightings"}; !slices.Equal(got, want) {
		t.Errorf("under the agent stand %q, want %q", got, want)
	}
	r.lacks(res.Run, agentKey)
	r.sound(res.Run)
	asked := w.gone()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("of today"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []*rig{r, r.moved(res.Run)} {
		out, err := at.again(res.Run)
		if err != nil || out.Authoritative() || out.Result.Final != res.Log.Final {
			t.Fatalf("Replay = %+v, %v; want the same, without authority", out.Result, err)
		}
		if len(out.Sandbox.Blocked) == 0 || !slices.ContainsFunc(out.Steps, func(s job.Step) bool { return s.Name == "rerun_agent" && strings.Contains(s.Note, "blocked: ") }) {
			t.Errorf("sandbox = %+v, want it to be said, in the audit too", out.Sandbox)
		}
		at.sound(out.Audit)
	}
	if w.asked.Load() != asked {
		t.Error("the replay asked the models")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(b) != "of today" {
		t.Errorf("notes.txt holds %q, %v; want it as it was", b, err)
	}
	// A production replay needs none of it.
	if out, err := r.replay(on(res.Run, production)); err != nil || !out.Authoritative() {
		t.Errorf("Replay = %+v, %v", out.Result, err)
	}
}

// An agent that asks its model something else, or makes something else of the
// answer, is a divergence that says where, and nobody is asked.
//
// spec: M-19, M-63, M-97
func TestChangedProgramsDiverge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, text, want string }{
		{"prompt.txt", " Be brief.", `"recorded":"what is a kestrel?","replayed":"what is a kestrel? Be brief."`},
		{"answer.txt", "!", `[{"pointer":"/text","recorded":"a small falcon over grassland","replayed":"a small falcon over grassland!"}]`},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			w, r := newWorld(t), newRig(t)
			text, dir := asking(t, w)
			res := r.done(text)
			asked := w.asked.Load()
			if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := r.again(res.Run)
			wantCode(t, err, job.ErrDivergence)
			if got := differences(t, out); !strings.Contains(got, tt.want) {
				t.Errorf("the diff is %s, want %s", got, tt.want)
			}
			if w.asked.Load() != asked {
				t.Error("the replay asked the model, which is there")
			}
			if !slices.Contains(r.audit(out.Audit), jobs.EventDivergence) {
				t.Errorf("the audit has no %s", jobs.EventDivergence)
			}
		})
	}
}

// Programs that run again reach neither the network nor the files of this
// machine.
//
// spec: M-18
func TestProgramsThatRunAgainAreEnclosed(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRig(t)
	text, outside := escaping(t, w)
	res := r.done(text)
	before := w.asked.Load()
	if b, err := os.ReadFile(outside); err != nil || len(b) == 0 || before == 0 {
		t.Fatalf("the agent has written %q, %v, and asked %d times; want that it can", b, err, before)
	}
	written, _ := os.ReadFile(outside)
	out, err := r.again(res.Run)
	if err != nil || out.Authoritative() {
		t.Fatalf("Replay = %+v, %v", out.Result, err)
	}
	if after, err := os.ReadFile(outside); err != nil || !bytes.Equal(after, written) || w.asked.Load() != before {
		t.Errorf("the agent has written %q, %v, and asked %d times more", after, err, w.asked.Load()-before)
	}
	if !slices.Contains(out.Sandbox.Blocked, "writing to files outside of a temporary folder") {
		t.Errorf("blocked = %q, want files to be named", out.Sandbox.Blocked)
	}
}

// Where no network can be taken from a program it runs only if that is wished,
// and then the result says what it was not kept from; never, if what it does is
// for good.
//
// spec: M-18
func TestWhatIsNotBlockedIsSaid(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRig(t)
	text, _ := escaping(t, w)
	res := r.done(text)
	r.CellCommand = nil
	_, err := r.replay(on(res.Run, all))
	wantCode(t, err, jobs.ErrSandbox)
	loose := all
	loose.Sandbox = capture.IsolateAuto
	out, err := r.replay(on(res.Run, loose))
	if err != nil || out.Authoritative() {
		t.Fatalf("Replay = %+v, %v", out.Result, err)
	}
	if !slices.ContainsFunc(out.Sandbox.Open, func(s string) bool { return strings.HasPrefix(s, "the network") }) {
		t.Errorf("not blocked = %q, want the network to be named", out.Sandbox.Open)
	}
	if i := slices.IndexFunc(out.Steps, func(s job.Step) bool {
		return s.Name == "rerun_agent" && strings.Contains(s.Note, "not blocked: the network")
	}); i < 0 {
		t.Error("the audit does not say that the network was not blocked")
	}
	forGood := r.done(strings.Replace(text, "exec: [", "class: irreversible\n    exec: [", 1))
	_, err = r.replay(on(forGood.Run, loose))
	wantCode(t, err, jobs.ErrSandbox)
}

// escaping is the birds job whose second agent is the program escapes.
func escaping(t *testing.T, w *world) (text, outside string) {
	t.Helper()
	outside = filepath.Join(t.TempDir(), "written")
	return strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", fmt.Sprintf(`exec: [%q]
    env:
      JOBS_TEST_AGENT: escapes
      ESCAPE_TO: %q
      ESCAPE_FILE: %q`, os.Args[0], strings.TrimPrefix(w.URL, "http://"), outside), 1), outside
}

// Whatever way an agent is called, when it runs again the engine makes its call
// anew and the record answers: nobody is asked.
//
// spec: M-18, M-19
func TestEveryKindOfAgentRunsAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"go", "exec", "http", "mcp", "model"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w, r := newWorld(t), newRig(t)
			r.environ(map[string]string{"BIRD_KEY": agentKey})
			ran := atomic.Int64{}
			r.Functions = map[string]jobs.Function{"falcon": func(ctx context.Context, _ []byte, under drive.Boundary) ([]byte, error) {
				ran.Add(1)
				b, err := throughBoundary(ctx, under, "read the sky")
				return fmt.Appendf(nil, `{"text":%q,"confidence":0.9}`, b), err
			}}
			text, _ := asking(t, w)
			if way := map[string]string{
				"go":    "go: falcon",
				"http":  "http: {url: \"" + w.URL + "/agent\", key_env: BIRD_KEY}",
				"mcp":   "confidence: 0.9\n    mcp: {url: \"" + w.URL + "/mcp\", tool: describe}",
				"model": "confidence: 0.9\n    model: {url: \"" + w.URL + "/v1\", key_env: BIRD_KEY}",
			}[kind]; way != "" {
				text = strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", way, 1)
			}
			res := r.done(text)
			if !strings.HasPrefix(res.Log.Final, "a small falcon") || len(r.nested(res.Run)) == 0 {
				t.Fatalf("final answer %q over %q", res.Log.Final, r.nested(res.Run))
			}
			r.lacks(res.Run, agentKey)
			asked := w.gone()
			r.environ(nil)
			out, err := r.again(res.Run)
			if err != nil || out.Authoritative() || out.Result.Final != res.Log.Final || w.asked.Load() != asked {
				t.Errorf("Replay = %+v, %v; want the same, without authority and without asking", out.Result, err)
			}
			if kind == "go" && ran.Load() != 2 {
				t.Errorf("the function ran %d times, want 2", ran.Load())
			}
			if !slices.ContainsFunc(out.Result.Why, func(s string) bool { return s == "agents ran again" }) {
				t.Errorf("why = %q", out.Result.Why)
			}
			r.sound(out.Audit)
		})
	}
}

// throughBoundary is a tool that a Go function calls.
func throughBoundary(ctx context.Context, under drive.Boundary, what string) ([]byte, error) {
	x, err := under.Begin(ctx, effect.Call{Kind: "tool", Name: "look", Class: effect.Read, Data: canon.Object(canon.M("at", canon.String(what)))})
	if err != nil {
		return nil, err
	}
	if !x.Live() {
		b, err := x.Content(ctx, "seen")
		return b, errors.Join(err, x.End(ctx, effect.Outcome{}))
	}
	b := []byte("a small falcon")
	return b, x.End(ctx, effect.Outcome{Status: effect.OK, Data: canon.Object(), Contents: []ledger.Content{{Name: "seen", Type: "text/plain", Bytes: b}}})
}

// A Go function that asks something else is a divergence of its request.
//
// spec: M-63
func TestChangedFunctionDiverges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	what := "the sky"
	r.Functions = map[string]jobs.Function{"falcon": func(ctx context.Context, _ []byte, under drive.Boundary) ([]byte, error) {
		_, err := throughBoundary(ctx, under, what)
		return []byte(`{"text":"a small falcon","confidence":0.9}`), err
	}}
	res := r.done(strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", "go: falcon", 1))
	what = "the ground"
	out, err := r.again(res.Run)
	wantCode(t, err, job.ErrDivergence)
	if got, want := differences(t, out), `[{"pointer":"/at","recorded":"the sky","replayed":"the ground"}]`; got != want {
		t.Errorf("the diff is %s, want %s", got, want)
	}
	// One that asks nothing any more has left out what it asked.
	r.Functions["falcon"] = func(context.Context, []byte, drive.Boundary) ([]byte, error) {
		return []byte(`{"text":"a small falcon","confidence":0.9}`), nil
	}
	out, err = r.again(res.Run)
	wantCode(t, err, job.ErrDivergence)
	if got := differences(t, out); !strings.Contains(got, `"pointer":"/request","recorded":{`) {
		t.Errorf("the diff is %s, want the request that is missing", got)
	}
	// One that fails now has answered then.
	r.Functions["falcon"] = func(ctx context.Context, _ []byte, under drive.Boundary) ([]byte, error) {
		_, err := throughBoundary(ctx, under, "the sky")
		return nil, errors.Join(err, fault.New(jobs.ErrAnswer, "test", "no idea"))
	}
	out, err = r.again(res.Run)
	wantCode(t, err, job.ErrDivergence)
	if got := differences(t, out); !strings.Contains(got, `{"pointer":"/error_code","replayed":"jobs.bad_answer"}`) {
		t.Errorf("the diff is %s, want the failure", got)
	}
}

// An agent that failed then runs again too: that it answers now is a difference.
func TestAgentsThatFailedRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var mended atomic.Bool
	r.Functions = map[string]jobs.Function{"locked": func(context.Context, []byte, drive.Boundary) ([]byte, error) {
		if mended.Load() {
			return []byte(`{"text":"a hawk"}`), nil
		}
		return nil, fault.New(jobs.ErrAnswer, "test", "the index is locked")
	}}
	res := r.done(strings.Replace(birds, "script: [{fail: the index is locked}]", "go: locked", 1))
	if out, err := r.again(res.Run); err != nil || out.Result.Final != "a small falcon" {
		t.Fatalf("Replay = %+v, %v; want the same failure and the same answer", out.Result, err)
	}
	mended.Store(true)
	out, err := r.again(res.Run)
	wantCode(t, err, job.ErrDivergence)
	if got := differences(t, out); !strings.Contains(got, `{"pointer":"/error_code","recorded":"jobs.bad_answer"}`) {
		t.Errorf("the diff is %s, want the failure of then", got)
	}
	// Only the agents that are named run.
	q := all
	q.Rerun = []string{"agent:beta_v1"}
	if _, err := r.replay(on(res.Run, q)); err != nil {
		t.Errorf("Replay of the other agent = %v", err)
	}
	q.Rerun = []string{jobs.RerunNone}
	if out, err := r.replay(on(res.Run, q)); err != nil || slices.Contains(out.Result.Why, "agents ran again") {
		t.Errorf("Replay of none = %+v, %v", out, err)
	}
	q.Rerun = []string{"agent:nobody_v1"}
	_, err = r.replay(on(res.Run, q))
	wantCode(t, err, jobs.ErrRerun)
}

// What a job does not keep is gone with what its agents were told: neither can
// they run again, nor can anybody read it. Mocks stand in, for both.
//
// spec: M-19
func TestWhatWasNotKeptTakesMocks(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newRig(t)
	text, _ := asking(t, w)
	res := r.done(strings.Replace(text, "persist: always", "persist: never", 1))
	if res.Log.Replayable {
		t.Fatal("the job is replayable, want it not to be")
	}
	r.lacks(res.Run, "total_tokens")
	_, err := r.again(res.Run)
	wantCode(t, err, job.ErrMissingOutput)
	if v, err := archive.VerifyRun(context.Background(), r.store, res.Run, &archive.VerifyOptions{Roots: r.keys.Roots(), Check: jobs.Check}); err != nil || v.Verdict != replay.Partial {
		t.Errorf("VerifyRun = %+v, %v; want partial: what is gone is named", v, err)
	}
	q := all
	q.Mocks = map[string][]byte{"agent:beta_v1": []byte(`{"text":"a small falcon over grassland","confidence":0.9}`)}
	_, err = r.replay(on(res.Run, q))
	wantCode(t, err, job.ErrMissingOutput)
	q.Mocks["model:POST /v1/chat/completions"] = []byte(`{"choices":[{"message":{"content":"a small falcon"}}]}`)
	q.Mocks["http:GET /sightings"] = []byte(`{"where":"grassland"}`)
	out, err := r.replay(on(res.Run, q))
	if err != nil || out.Authoritative() || !slices.Contains(out.Result.Why, "mocks stood in for models and tools") {
		t.Fatalf("Replay = %+v, %v; want the same, and the mocks to be named", out.Result, err)
	}
	r.lacks(out.Audit, "choices")
	q.Mocks["http:GET /sightings"] = []byte(`{"where":"woods"}`)
	_, err = r.replay(on(res.Run, q))
	wantCode(t, err, job.ErrDivergence)
}

// lacks fails if a text stands anywhere in what is stored of a run.
func (r *rig) lacks(run ledger.RunID, text string) {
	r.t.Helper()
	read := drive.NewReader(r.store, run)
	for o, err := range read.All(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.Contains(o.Body.String(), text) {
			r.t.Errorf("the body of entry %d (%s) holds %q", o.N, o.Kind, text)
		}
		for i := range o.Att {
			b, err := read.Bytes(context.Background(), o, i)
			if err != nil && !errors.Is(err, ledger.ErrAbsent) && !errors.Is(err, blob.ErrNotFound) && !errors.Is(err, blob.ErrScopeNotFound) {
				r.t.Fatal(err)
			}
			if bytes.Contains(b, []byte(text)) && o.Kind != ledger.KindResult {
				r.t.Errorf("content %q of entry %d (%s) holds %q", o.Att[i].Name, o.N, o.Kind, text)
			}
		}
	}
}

// An agent that broke off, because its process was killed, and was asked again
// has its calls in another place than the first time; there they are found.
func TestAgentsThatBrokeOffRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	calls := 0
	ctx, kill := context.WithCancel(context.Background())
	r.Functions = map[string]jobs.Function{"falcon": func(ctx context.Context, _ []byte, under drive.Boundary) ([]byte, error) {
		b, err := throughBoundary(ctx, under, "the sky")
		if calls++; calls == 1 {
			kill()
			return nil, context.Canceled
		}
		return fmt.Appendf(nil, `{"text":%q,"confidence":0.9}`, b), err
	}}
	res, err := r.Start(ctx, r.read(strings.Replace(birds, "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]", "go: falcon", 1)))
	if err == nil {
		t.Fatalf("Start = %+v; want it to be killed", res)
	}
	if res, err = r.Resume(context.Background(), res.Run); err != nil || !res.Done {
		t.Fatalf("Resume = %+v, %v", res, err)
	}
	if got := r.nested(res.Run); len(got) != 2 {
		t.Fatalf("under the agents stand %q, want two calls", got)
	}
	out, err := r.again(res.Run)
	if err != nil || out.Result.Final != "a small falcon" || calls != 3 {
		t.Errorf("Replay = %+v, %v after %d runs; want the same after the third", out.Result, err, calls)
	}
	r.sound(out.Audit)
}

// Whatever way an agent failed, it fails so again over the record, though what
// it lacked then is there now.
func TestFailuresComeAgainFromTheRecord(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no-such-program")
	for _, tt := range []struct{ name, way string }{
		{"a server that is not there", `http: {url: "http://127.0.0.1:1/agent"}`},
		{"a server that says no", `http: {url: "%s/nothing"}`},
		{"a tool that is not there", `mcp: {url: "%s/mcp", tool: sing}`},
		{"a model that says no", `model: "%s/nothing"`},
		{"a program that is not there", "exec: [" + missing + "]"},
		{"a program that fails", `exec: ["/bin/sh", "-c", "exit 3"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, r := newWorld(t), newRig(t)
			way := strings.ReplaceAll(tt.way, "%s", w.URL)
			res := r.done(strings.Replace(birds, "script: [{fail: the index is locked}]", way, 1))
			if len(res.Log.Iterations) != 2 || len(res.Log.Iterations[0].Failures) == 0 {
				t.Fatalf("iterations = %+v, want a failure first", res.Log.Iterations)
			}
			w.gone()
			out, err := r.again(res.Run)
			if err != nil || out.Result.Final != "a small falcon" {
				t.Errorf("Replay = %+v, %v; want the same", out.Result, err)
			}
		})
	}
}
