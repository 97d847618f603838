package capture_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// The test binary plays the agent, the shim and the server as well.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "cell":
		fmt.Fprintln(os.Stderr, capture.EnterCell())
		os.Exit(126)
	case len(os.Args) > 3 && os.Args[1] == "exec-shim":
		os.Exit(execShimMain())
	}
	switch os.Getenv("CAPTURE_TEST_ROLE") {
	case "proxied":
		os.Exit(proxiedMain())
	case "agent":
		os.Exit(agentMain())
	case "litellm":
		os.Exit(litellmMain())
	case "shim":
		os.Exit(shimMain())
	case "server":
		os.Exit(serverMain())
	default:
		os.Exit(m.Run())
	}
}

func shimMain() int {
	status, err := capture.Shim(context.Background(), capture.ShimOptions{
		Recorder: os.Getenv(capture.RecorderVar), Command: os.Args[1:],
		Env:   append(os.Environ(), "CAPTURE_TEST_ROLE=server"),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return status
}

// serverMain is an MCP server whose one tool has a visible effect. While it
// works it asks the agent something and says how far it is.
func serverMain() int {
	in := bufio.NewReader(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		v, err := canon.Parse([]byte(line))
		if err != nil {
			continue // what cannot be read is passed over, as servers do
		}
		id := v.Get("id")
		switch v.Get("method").Str() {
		case "initialize":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, id)
		case "notifications/initialized":
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"ready"}}`)
		case "tools/call":
			f, _ := os.OpenFile(os.Getenv("EFFECT_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			_, _ = io.WriteString(f, "done\n")
			_ = f.Close()
			say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)
			say(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"q":"how?"}}`)
			answer, _ := in.ReadString('\n')
			a, _ := canon.Parse([]byte(answer))
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done, you said %s"}]}}`, id, a.Get("result").Get("say").Str())
		}
	}
}

// agentMain asks a model, calls a tool over MCP, and asks the model again.
func agentMain() int {
	ask := func(body string) string {
		resp, err := http.Post(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(b))
	}
	self, _ := os.Executable()
	cwd, _ := os.Getwd()
	fmt.Println(ask(`{"model":"m","messages":[{"role":"user","content":"` + os.Getenv("PROMPT") + ` in ` + cwd + ` on ` + os.Getenv("TODAY") + `"}]}`))
	shim := exec.Command(self, "demo-server", "--verbose")
	shim.Env = append(os.Environ(), "CAPTURE_TEST_ROLE=shim")
	shim.Args[1] = self
	shim.Stderr = os.Stderr
	in, _ := shim.StdinPipe()
	out, _ := shim.StdoutPipe()
	if err := shim.Start(); err != nil {
		return 9
	}
	lines := bufio.NewReader(out)
	hear := func(until string) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				fmt.Println("the server is gone")
				return
			}
			fmt.Print(line)
			if strings.Contains(line, `"sampling/createMessage"`) {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"s1","result":{"say":"%s"}}`+"\n", os.Getenv("SAY"))
			}
			if strings.Contains(line, until) {
				return
			}
		}
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	hear(`"id":1`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	hear(`"ready"`)
	fmt.Fprintln(in, `this is no JSON`)
	id := os.Getenv("CALL_ID")
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"write","arguments":{"a":1},"_meta":{"progressToken":"`+id+`"}}}`)
	hear(`"id":` + id)
	_ = in.Close()
	_ = shim.Wait()
	fmt.Println(ask(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"mcp__demo__write"}},{"id":"c2","function":{"name":"shell"}}]},{"role":"tool","tool_call_id":"c1","content":"done"},{"role":"tool","tool_call_id":"c2","content":"ok"}]}`))
	if os.Getenv("FAIL") != "" {
		return 3
	}
	return 0
}

// agent runs the test agent, recording or replaying.
type agent struct {
	*rig
	upstream string
	env      []string
	dates    []string
	dir      string
}

func (a *agent) options(out *bytes.Buffer) capture.RunOptions {
	self, err := os.Executable()
	if err != nil {
		a.t.Fatal(err)
	}
	if a.dir == "" {
		a.dir = a.t.TempDir()
	}
	return capture.RunOptions{
		Command: []string{self}, Env: append([]string{"CAPTURE_TEST_ROLE=agent", "PROMPT=hello", "SAY=yes", "CALL_ID=7", "PATH=" + os.Getenv("PATH"), "OPENAI_BASE_URL=" + a.upstream + "/v1"}, a.env...),
		Dir: a.dir, Stdout: out, Stderr: os.Stderr, Config: a.config(), Setting: match.Setting{Dates: a.dates, Cwd: a.dir},
	}
}

func (a *agent) record() (*capture.Result, string) {
	a.t.Helper()
	var out bytes.Buffer
	r, err := capture.Record(a.t.Context(), a.options(&out))
	if err != nil {
		a.t.Fatal(err)
	}
	a.verify(r.Run)
	return r, out.String()
}

func (a *agent) replayOf(run ledger.RunID) (*capture.Result, string) {
	a.t.Helper()
	var out bytes.Buffer
	r, err := capture.Replay(a.t.Context(), a.options(&out), capture.ReplayOptions{Run: run})
	if err != nil {
		a.t.Fatal(err)
	}
	a.verify(r.Run)
	return r, out.String()
}

func newAgent(t *testing.T) (*agent, string) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"path":%q,"id":"chatcmpl-1"}`, r.URL.Path)
	})
	effects := filepath.Join(t.TempDir(), "effects")
	return &agent{rig: newRig(t), upstream: up.URL, env: []string{"EFFECT_FILE=" + effects, "TODAY=2026-11-21"}, dates: []string{"2026-11-21"}}, effects
}

// A program is recorded with its model and MCP traffic and runs again without
// either: the same output, and the effect happens no second time.
func TestRecordAndReplayAProgram(t *testing.T) {
	t.Parallel()
	a, effects := newAgent(t)
	recorded, said := a.record()
	if recorded.Status != 0 || !strings.Contains(said, "done, you said yes") || !strings.Contains(said, "chatcmpl-1") {
		t.Fatalf("record: status %d, output %s", recorded.Status, said)
	}
	if b, _ := os.ReadFile(effects); string(b) != "done\n" {
		t.Fatalf("effects = %q", b)
	}
	a.upstream = "http://127.0.0.1:1"
	replayed, again := a.replayOf(recorded.Run)
	if again != said {
		t.Errorf("replay says %s\nwant %s", again, said)
	}
	if b, _ := os.ReadFile(effects); string(b) != "done\n" {
		t.Errorf("the effect happened again: %q", b)
	}
	rep := replayed.Report
	if rep.Verdict != replay.Same || rep.Total != 0 {
		t.Errorf("report = %s", rep.Value())
	}
	want := map[string]int64{"calls": 5, "answered": 5, "live": 0, "missed": 0, "tools_answered": 1, "tools_ran_in_agent": 1, "normalised": 0}
	for _, c := range rep.Counts {
		if want[c.Name] != c.N {
			t.Errorf("%s = %d, want %d", c.Name, c.N, want[c.Name])
		}
	}
	if got := strings.Join(rep.Remarks, "\n"); got != "tools: 1 answered, 1 ran in the agent itself\nlevel: tools live\nnot blocked: the network, for requests that go past the recorder; files and processes of this machine; other commands that the agent runs itself" {
		t.Errorf("remarks = %q", got)
	}
}

// On another day, in another folder, with other JSON-RPC ids it is the same
// run, and the report says what made it so.
func TestReplayElsewhereIsNormalised(t *testing.T) {
	t.Parallel()
	a, _ := newAgent(t)
	recorded, _ := a.record()
	a.dir, a.dates = t.TempDir(), []string{"2027-01-05"}
	a.env = append(a.env, "TODAY=2027-01-05", "CALL_ID=99")
	replayed, said := a.replayOf(recorded.Run)
	if replayed.Report.Verdict != replay.Same {
		t.Errorf("report = %s", replayed.Report.Value())
	}
	if !strings.Contains(said, `"id":99`) {
		t.Errorf("the answer does not carry the id of the request: %s", said)
	}
	remarks := strings.Join(replayed.Report.Remarks, "\n")
	for _, want := range []string{"by date-cwd@1", "by mcp-meta@1"} {
		if !strings.Contains(remarks, want) {
			t.Errorf("remarks %q do not say %q", remarks, want)
		}
	}
}

// A changed agent is reported at the first step where it differs.
func TestReplayFindsTheFirstDivergence(t *testing.T) {
	t.Parallel()
	a, _ := newAgent(t)
	recorded, _ := a.record()
	a.env = append(a.env, "PROMPT=goodbye", "SAY=no", "FAIL=1")
	replayed, said := a.replayOf(recorded.Run)
	if !strings.HasPrefix(said, "400 ") {
		t.Errorf("the agent was given %s", said)
	}
	rep := replayed.Report
	if rep.Verdict != replay.Diverged || len(rep.Divergences) != 4 {
		t.Fatalf("report = %s", rep.Value())
	}
	first := rep.Divergences[0]
	if first.Kind != replay.Extra || first.Step != 1 || first.Nearest < 0 || len(first.Where) != 1 || first.Where[0].Pointer != "/messages/0/content" || first.Follows {
		t.Errorf("first = %+v", first)
	}
	var kinds []string
	for _, d := range rep.Divergences {
		kinds = append(kinds, string(d.Kind)+" "+d.What)
	}
	if got, want := strings.Join(kinds, ", "), "extra call, missing call, different answer, different exit status"; got != want {
		t.Errorf("divergences = %s, want %s", got, want)
	}
}

// A branch answers from the record up to an entry and is live after it.
func TestBranch(t *testing.T) {
	t.Parallel()
	a, effects := newAgent(t)
	recorded, said := a.record()
	var until int64
	for _, e := range a.entries(recorded.Run) {
		if e.Kind == ledger.KindOutcome {
			until = e.N + 1 // the first outcome
			break
		}
	}
	var out bytes.Buffer
	r, err := capture.Replay(t.Context(), a.options(&out), capture.ReplayOptions{Run: recorded.Run, Until: until})
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != said || r.Counts.Recorded != 1 || r.Counts.Live != 4 {
		t.Errorf("branch: %+v, output %s", r.Counts, out.String())
	}
	if b, _ := os.ReadFile(effects); string(b) != "done\ndone\n" {
		t.Errorf("effects = %q, want two: the branch went on live", b)
	}
}

func TestRunStatuses(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	base := func(command ...string) capture.RunOptions {
		return capture.RunOptions{Command: command, Env: []string{"PATH=" + os.Getenv("PATH")}, Config: rig.config()}
	}
	r, err := capture.Record(t.Context(), base("sh", "-c", "exit 7"))
	if err != nil || r.Status != 7 {
		t.Errorf("exit 7 = %+v, %v", r, err)
	}
	last := rig.entries(r.Run)
	if seal := last[len(last)-1]; seal.Kind != ledger.KindSeal || seal.Body.Get("data").String() != `{"exit":7}` {
		t.Errorf("seal = %s", seal.Body)
	}
	if r, err = capture.Record(t.Context(), base("sh", "-c", "kill -TERM $$")); err != nil || r.Status != 128+15 {
		t.Errorf("a killed child = %+v, %v", r, err)
	}
	if _, err = capture.Record(t.Context(), base("no-such-program-anywhere")); fault.CodeOf(err) != capture.ErrNotFound {
		t.Errorf("a program that is not there = %v", err)
	}
	if _, err = capture.Record(t.Context(), base(t.TempDir())); fault.CodeOf(err) != capture.ErrNotStarted {
		t.Errorf("Record of a folder = %v, want %v", err, capture.ErrNotStarted)
	}
	if _, err = capture.Record(t.Context(), base("/dev/null")); fault.CodeOf(err) != capture.ErrNotStarted {
		t.Errorf("a program that cannot be run = %v", err)
	}
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGUSR1
	o := base("sh", "-c", "sleep 60 & trap 'kill $!; exit 5' USR1; echo ready; wait")
	ready := &notify{ch: make(chan struct{}, 1)}
	o.Stdout = ready
	later := make(chan os.Signal)
	o.Signals = later
	go func() { <-ready.ch; later <- <-signals }()
	if r, err = capture.Record(t.Context(), o); err != nil || r.Status != 5 {
		t.Errorf("a signal passed on = %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o = base("sh", "-c", "echo ready; exec sleep 600")
	ready = &notify{ch: make(chan struct{}, 1)}
	o.Stdout, o.Grace = ready, time.Hour // it is asked, and not killed
	go func() { <-ready.ch; cancel() }()
	if r, err = capture.Record(ctx, o); err != nil || r.Status != 128+15 {
		t.Errorf("a cancelled run = %+v, %v", r, err)
	}
}

type notify struct{ ch chan struct{} }

func (n *notify) Write(p []byte) (int, error) {
	select {
	case n.ch <- struct{}{}:
	default:
	}
	return len(p), nil
}

// Nobody else's process may write into a run.
func TestRecorderAsksForItsToken(t *testing.T) {
	t.Parallel()
	live := newRig(t).record("http://127.0.0.1:1")
	srv := upstream(t, live.p.Recorder("right").ServeHTTP)
	_, err := capture.Shim(t.Context(), capture.ShimOptions{Recorder: strings.TrimPrefix(srv.URL, "http://") + "/wrong", Command: []string{"cat"}, Stdin: strings.NewReader(""), Stdout: io.Discard})
	if fault.CodeOf(err) != capture.ErrShim {
		t.Errorf("with a wrong token: %v", err)
	}
}

// A run that is still being recorded can be replayed as far as it is there; the
// report says that more may have come.
func TestReplayOfAnOpenRecord(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") })
	rig := newRig(t)
	live := rig.record(up.URL)
	send(t, "POST", live.url+"/v1/responses", `{}`)
	again := rig.replay(live.s.Run())
	if g := send(t, "POST", again.url+"/v1/responses", `{}`); g.status != 200 {
		t.Errorf("an answer of an open record = %d %s", g.status, g.body)
	}
	r := again.report(t)
	if got := strings.Join(r.Remarks, "\n"); r.Verdict != replay.Same || !strings.Contains(got, "the record is not sealed") {
		t.Errorf("report = %s, %q", r.Verdict, got)
	}
	run := live.seal()
	sealed := rig.replay(run)
	send(t, "POST", sealed.url+"/v1/responses", `{}`)
	if got := strings.Join(sealed.report(t).Remarks, "\n"); strings.Contains(got, "not sealed") {
		t.Errorf("remarks of a sealed record = %q", got)
	}
}
