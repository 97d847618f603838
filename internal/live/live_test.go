package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// TestMain makes the test binary a program for exec and an MCP server.
func TestMain(m *testing.M) {
	switch os.Getenv("LIVE_TEST") {
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		_, _ = io.WriteString(os.Stderr, strings.Join(os.Environ(), " "))
		os.Exit(3)
	case "sleep":
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

func call(t *testing.T, w *live.World, kind, data string, contents ...ledger.Content) (effect.Outcome, error) {
	t.Helper()
	v, err := canon.Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return w.Caller()(t.Context(), &effect.Call{Kind: kind, Name: "test", Data: v, Contents: contents}, drive.Boundary{})
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func TestClockAndRandomAreWhatTheWorldGives(t *testing.T) {
	t.Parallel()
	w := &live.World{
		Now:  func() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC) },
		Rand: bytes.NewReader([]byte{1, 2, 3, 4}),
	}
	if o, err := call(t, w, "clock", `{}`); err != nil || o.Data.Str() != "2026-11-21T10:00:00.000000005Z" {
		t.Errorf("clock = %v, %v", o.Data, err)
	}
	if o, err := call(t, w, "random", `{"bytes":4}`); err != nil || o.Data.Str() != "01020304" {
		t.Errorf("random = %v, %v", o.Data, err)
	}
	for _, bad := range []string{`{}`, `{"bytes":0}`, `{"bytes":99999999}`} {
		if _, err := call(t, w, "random", bad); !errors.Is(err, live.ErrArguments) {
			t.Errorf("random %s = %v, want %v", bad, err, live.ErrArguments)
		}
	}
	if _, err := call(t, w, "teleport", `{}`); !errors.Is(err, live.ErrKind) {
		t.Errorf("an unknown kind = %v", err)
	}
}

func TestExecGivesStatusAndOutputAndNoOtherEnvironment(t *testing.T) {
	t.Parallel()
	o, err := call(t, &live.World{}, "exec", `{"argv":[`+quote(os.Args[0])+`],"env":{"LIVE_TEST":"cat"}}`, ledger.Content{Name: "stdin", Bytes: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	if exit, _ := o.Data.Get("exit").AsInt(); exit != 3 {
		t.Errorf("exit = %d, want 3", exit)
	}
	if out, errOut := string(o.Contents[0].Bytes), string(o.Contents[1].Bytes); out != "hello" || errOut != "LIVE_TEST=cat" {
		t.Errorf("stdout %q, stderr %q", out, errOut)
	}
	if _, err := call(t, &live.World{}, "exec", `{"argv":["/does/not/exist"]}`); !errors.Is(err, live.ErrNotSent) {
		t.Errorf("a program that is not there = %v", err)
	}
	if _, err := call(t, &live.World{Timeout: 50 * time.Millisecond}, "exec", `{"argv":[`+quote(os.Args[0])+`],"env":{"LIVE_TEST":"sleep"}}`); !errors.Is(err, live.ErrTimeout) {
		t.Errorf("a program that does not end = %v", err)
	}
	if _, err := call(t, &live.World{Most: 3}, "exec", `{"argv":[`+quote(os.Args[0])+`],"env":{"LIVE_TEST":"cat"}}`, ledger.Content{Name: "stdin", Bytes: []byte("hello")}); !errors.Is(err, live.ErrTooLarge) {
		t.Errorf("too much output = %v", err)
	}
}

func TestHTTPAndModel(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, "answer")
	}))
	defer srv.Close()
	w := &live.World{Environ: func(string) string { return "secret" }}
	o, err := call(t, w, "http", `{"method":"PUT","url":`+quote(srv.URL+"/x?y=1")+`,"headers":[["X-A","1"],["X-A","2"]]}`, ledger.Content{Name: "request", Bytes: []byte("ask")})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := o.Data.Get("status").AsInt(); status != http.StatusFound || string(o.Contents[0].Bytes) != "answer" {
		t.Errorf("http = %v %q; a redirect is an answer, not followed", o.Data, o.Contents[0].Bytes)
	}
	if got.Method != "PUT" || got.URL.RawQuery != "y=1" || len(got.Header["X-A"]) != 2 || string(body) != "ask" {
		t.Errorf("request = %v %q", got, body)
	}
	if _, err = call(t, w, "model", `{"url":`+quote(srv.URL)+`,"key_env":"KEY"}`, ledger.Content{Name: "request", Bytes: []byte(`{}`)}); err != nil || got.Header.Get("Authorization") != "Bearer secret" {
		t.Errorf("model = %v, authorization %q", err, got.Header.Get("Authorization"))
	}
	if _, err := call(t, w, "http", `{"method":"GET","url":"file:///etc/passwd"}`); !errors.Is(err, live.ErrArguments) {
		t.Errorf("a file address = %v", err)
	}
	if _, err := call(t, w, "http", `{"method":"GET","url":"http://127.0.0.1:1/"}`); !errors.Is(err, live.ErrNotSent) {
		t.Errorf("nobody listens = %v", err)
	}
}

func TestMCPCallsOneTool(t *testing.T) {
	t.Parallel()
	type in struct {
		Text string `json:"text"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer srv.Close()
	o, err := call(t, &live.World{}, "mcp", `{"url":`+quote(srv.URL)+`,"tool":"echo"}`, ledger.Content{Name: "arguments", Bytes: []byte(`{"text":"hi"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(o.Contents[0].Bytes, []byte(`"hi"`)) {
		t.Errorf("result = %s", o.Contents[0].Bytes)
	}
	if _, err := call(t, &live.World{}, "mcp", `{"tool":"echo"}`); !errors.Is(err, live.ErrArguments) {
		t.Errorf("neither url nor argv = %v", err)
	}
}
