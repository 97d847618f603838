package capture_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addResult struct {
	Sum int `json:"sum"`
}

// toolServer is an MCP server over HTTP whose one tool counts how often it ran.
func toolServer(t *testing.T, ran *atomic.Int64, asJSON bool) *httptest.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "adder", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(ctx context.Context, r *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, addResult, error) {
		ran.Add(1)
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		return nil, addResult{Sum: in.A + in.B}, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: asJSON}))
	t.Cleanup(srv.Close)
	return srv
}

// callAdd connects as a real client does, lists the tools and calls one twice.
func callAdd(t *testing.T, url string) []string {
	t.Helper()
	ctx := t.Context()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		got = append(got, tool.Name)
	}
	for _, a := range []int{1, 20} {
		params := &mcp.CallToolParams{Name: "add", Arguments: map[string]any{"a": a, "b": 2}}
		params.SetProgressToken("p")
		r, err := s.CallTool(ctx, params)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := r.Content[0].(*mcp.TextContent)
		got = append(got, text.Text)
	}
	return got
}

// A real MCP client talks to a real server through the recorder, and again to
// the record alone.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		t.Run(map[bool]string{false: "events", true: "json"}[asJSON], func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int64
			up := toolServer(t, &ran, asJSON)
			rig := newRig(t)
			live := rig.record(up.URL)
			want := callAdd(t, live.url)
			if ran.Load() != 2 {
				t.Fatalf("the tool ran %d times, want 2", ran.Load())
			}
			run := live.end()
			up.Close()
			again := rig.replay(run)
			if got := callAdd(t, again.url); strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("replay = %v, want %v", got, want)
			}
			again.end()
			if ran.Load() != 2 {
				t.Errorf("the tool ran again")
			}
			report, err := again.p.ReplayReport(t.Context(), rig.store)
			if err != nil {
				t.Fatal(err)
			}
			if report.Total != 0 || report.Counts[4].N != 2 {
				t.Errorf("report = %s", report.Value())
			}
			calls := map[string]effect.Class{}
			events := 0
			for _, e := range rig.entries(run) {
				switch e.Kind {
				case ledger.KindCall:
					c, _, err := effect.ParseCall(e.Body)
					if err != nil {
						t.Fatal(err)
					}
					if c.Kind != capture.KindMCP {
						t.Errorf("%s is of kind %s", c.Name, c.Kind)
					}
					calls[c.Name] = c.Class
				case ledger.KindEvent:
					if e.Body.Get("name").Str() == capture.EventMessage && e.Body.Get("data").Get("method").Str() == "notifications/progress" {
						events++
					}
				default:
				}
			}
			if calls["tools/call add"] != effect.External || calls["tools/list"] != effect.Read || calls["initialize"] != effect.Read {
				t.Errorf("calls = %v", calls)
			}
			if !asJSON && events != 2 {
				t.Errorf("%d progress notifications are noted, want 2", events)
			}
		})
	}
}
