package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// serves is an MCP server on its standard input and output with one tool. How
// it answers is in MCP_HOW; each time that it is started it adds a line to
// MCP_LOG. It says what its key is, so that the key is in its answer.
func serves() error {
	f, err := os.OpenFile(os.Getenv("MCP_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if os.Getenv("MCP_HOW") == "babbles" {
		return babbles()
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "birds", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "describe"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
		switch os.Getenv("MCP_HOW") {
		case "hangs":
			select {}
		case "is killed":
			return nil, nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "fails":
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("the index is locked")}}, nil, nil
		case "says nothing":
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil, nil
		case "says two things":
			return &mcp.CallToolResult{Content: []mcp.Content{text("a small falcon"), text("a hawk")}}, nil, nil
		case "shows a picture":
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}}}, nil, nil
		case "gives an output":
			return &mcp.CallToolResult{Content: []mcp.Content{text(`{"text":"a small falcon","confidence":0.7,"tokens_used":3}`)}}, nil, nil
		case "gives a bad output":
			return &mcp.CallToolResult{Content: []mcp.Content{text(`{"text":"a small falcon","confidence":17}`)}}, nil, nil
		default:
			return &mcp.CallToolResult{Content: []mcp.Content{text("a small falcon, by " + os.Getenv("BIRD_KEY"))}}, nil, nil
		}
	})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// babbles answers the call of its tool with a line that is no message.
func babbles() error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(in.Bytes(), &q); err != nil || q.ID == nil {
			continue
		}
		answer := `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`
		switch q.Method {
		case "initialize":
			answer = `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"birds","version":"1"}}}`
		case "tools/call":
			answer = `{"jsonrpc":"2.0","id":%s,"result":{"content":"a small`
		}
		fmt.Printf(answer+"\n", q.ID)
	}
	return in.Err()
}

// aviary is the birds job one of whose agents is an MCP server that is started
// for the call.
type aviary struct {
	*rig
	text    string // of the job file
	program string // of the server
	log     string // a line for each time that it was started
}

// newAviary puts the server in the place of a script.
func newAviary(t *testing.T, how, script string) *aviary {
	t.Helper()
	dir := t.TempDir()
	a := &aviary{rig: newRig(t), program: filepath.Join(dir, "server"), log: filepath.Join(dir, "log")}
	a.environ(map[string]string{"BIRD_KEY": agentKey})
	if err := os.Symlink(os.Args[0], a.program); err != nil {
		t.Fatal(err)
	}
	a.text = strings.Replace(birds, script, fmt.Sprintf(`confidence: 0.9
    mcp:
      argv: [%q]
      env: {JOBS_TEST_AGENT: serves, MCP_HOW: %s, MCP_LOG: %q}
      env_from: [BIRD_KEY]
      tool: describe`, a.program, how, a.log), 1)
	return a
}

// started returns the processes that the server had, and fails if one of them
// is still there.
func (a *aviary) started() []string {
	a.t.Helper()
	b, err := os.ReadFile(a.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.t.Fatal(err)
	}
	pids := strings.Fields(string(b))
	for _, pid := range pids {
		if exe, err := os.Readlink("/proc/" + pid + "/exe"); err == nil && exe == os.Args[0] {
			a.t.Errorf("the server is still there, as process %s", pid)
		}
	}
	return pids
}

// failure returns the code of the first outcome that is a failure of an agent.
func (r *rig) failure(run ledger.RunID) string {
	r.t.Helper()
	for o, err := range drive.NewReader(r.store, run).All(context.Background()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if o.Kind == ledger.KindOutcome && o.Body.Get("status").Str() == string(effect.Error) {
			return o.Body.Get("code").Get("code").Str()
		}
	}
	return ""
}

const (
	answers = "script: [{text: a small falcon, confidence: 0.9, tokens_used: 10}]"
	locked  = "script: [{fail: the index is locked}]"
)

// An agent may be an MCP server on standard input and output, started for the
// call. What it was asked and said is in the ledger of the job, without its
// keys; when the server is gone every kind of replay gives the same.
//
// spec: M-18, M-19
func TestMCPServersThatAreProgramsReplayFromTheRecord(t *testing.T) {
	t.Parallel()
	for how, final := range map[string]string{
		"answers":         "a small falcon, by ",
		"gives an output": "a small falcon",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a := newAviary(t, how, answers)
			res := a.done(a.text)
			if !strings.HasPrefix(res.Log.Final, final) || strings.Contains(res.Log.Final, agentKey) {
				t.Fatalf("final answer %q, want %q and no key", res.Log.Final, final)
			}
			if got := a.nested(res.Run); !slices.Equal(got, []string{"mcp agent:beta_v1"}) {
				t.Errorf("under the agent stand %q", got)
			}
			a.lacks(res.Run, agentKey)
			a.sound(res.Run)
			if err := os.Remove(a.program); err != nil {
				t.Fatal(err)
			}
			a.environ(nil)
			for _, at := range []*rig{a.rig, a.moved(res.Run)} {
				for _, q := range []jobs.ReplayRequest{{}, all, production} {
					out, err := at.replay(on(res.Run, q))
					if err != nil || out.Result.Final != res.Log.Final || out.Authoritative() != (len(q.Rerun) == 0) {
						t.Errorf("Replay in mode %q = %+v, %v; want the same", q.Mode, out, err)
					}
					if out != nil && out.Audit != "" {
						at.sound(out.Audit)
					}
				}
			}
			if n := len(a.started()); n != 1 {
				t.Errorf("the server was started %d times, want once", n)
			}
		})
	}
}

// A server that is killed in the middle of the call, that answers nothing which
// is a message, or says that it failed, and one whose answer is no output, has
// failed: the job asks the next agent. So it is in every replay, although the
// server would answer by now.
//
// spec: M-19
func TestMCPServersThatFailFailAgainFromTheRecord(t *testing.T) {
	t.Parallel()
	for how, code := range map[string]string{
		"is killed":          live.ErrUnreachable.Error(),
		"babbles":            live.ErrUnreachable.Error(),
		"fails":              jobs.ErrAnswer.Error(),
		"says nothing":       jobs.ErrAnswer.Error(),
		"says two things":    jobs.ErrAnswer.Error(),
		"shows a picture":    jobs.ErrAnswer.Error(),
		"gives a bad output": "", // it has answered; the engine does not take it
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			a := newAviary(t, how, locked)
			res := a.done(a.text)
			if len(res.Log.Iterations) != 2 || len(res.Log.Iterations[0].Failures) == 0 || res.Log.Final != "a small falcon" {
				t.Fatalf("final answer %q of %+v, want a failure first", res.Log.Final, res.Log.Iterations)
			}
			failed := types(res.Log)
			if !slices.Contains(failed, job.AgentException) {
				t.Errorf("events = %v, want an exception of the agent", failed)
			}
			if got := a.failure(res.Run); got != code {
				t.Errorf("the agent has failed with %q, want %q", got, code)
			}
			a.sound(res.Run)
			n := len(a.started())
			for _, q := range []jobs.ReplayRequest{{}, all, production} {
				out, err := a.replay(on(res.Run, q))
				if err != nil || out.Result.Final != res.Log.Final {
					t.Errorf("Replay in mode %q = %+v, %v; want the same", q.Mode, out, err)
				}
			}
			if again := len(a.started()); again != n {
				t.Errorf("the server was started %d times more", again-n)
			}
		})
	}
}

// A server that gives no answer in time is ended, and the job goes on.
func TestMCPServersThatHangAreEnded(t *testing.T) {
	t.Parallel()
	a := newAviary(t, "hangs", locked)
	res := a.done(a.text + "  governance: {agent_timeout_ms: 1500}\n")
	if res.Log.Final != "a small falcon" || !slices.Contains(types(res.Log), job.AgentTimeout) {
		t.Fatalf("final answer %q, events %v; want a timeout first", res.Log.Final, types(res.Log))
	}
	a.started()
	if out, err := a.replay(on(res.Run, production)); err != nil || !out.Authoritative() {
		t.Errorf("Replay = %+v, %v", out, err)
	}
}
