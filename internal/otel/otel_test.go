package otel_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/otel"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// step is one call of a test's run.
type step struct {
	kind, name, url, upstream string
	request, response, typ    string
	status                    effect.Status
	http                      int64
	under                     []step
}

func record(t *testing.T, steps ...step) (drive.Config, ledger.RunID) {
	t.Helper()
	cfg := drive.Config{Store: memory.New(nil), Now: time.Now, Rand: rand.Reader, Holder: "test"}
	s, err := drive.Open(t.Context(), cfg, drive.Opening{
		Engine: "capture", Mode: "record", Title: "planner",
		Data: canon.Object(canon.M("upstreams", canon.Array(canon.Object(
			canon.M("name", canon.String("anthropic")), canon.M("url", canon.String("http://127.0.0.1:8080")),
		)))),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		play(t, s.Boundary, &steps[i])
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	return cfg, s.Run()
}

func play(t *testing.T, b drive.Boundary, x *step) {
	t.Helper()
	data := canon.Object()
	if x.url != "" {
		data = canon.Object(canon.M("method", canon.String("POST")), canon.M("url", canon.String(x.url)), canon.M("upstream", canon.String(x.upstream)))
	}
	e, err := b.Begin(t.Context(), effect.Call{
		Kind: x.kind, Name: x.name, Class: effect.Read, Data: data,
		Contents: []ledger.Content{{Name: "request", Type: "application/json", Bytes: []byte(x.request)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.under {
		play(t, e.Under(), &x.under[i])
	}
	o := effect.Outcome{Status: x.status, Data: canon.Object()}
	if x.http > 0 {
		o.Data = o.Data.With("status", canon.Int(x.http))
	}
	if x.status == effect.Error {
		o.Code = importer.ErrRead
	}
	if x.response != "" {
		o.Contents = []ledger.Content{{Name: "response", Type: x.typ, Bytes: []byte(x.response)}}
	}
	if err := e.End(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func steps() []step {
	return []step{
		{
			kind: "model", name: "POST /v1/messages", url: "/v1/messages", upstream: "anthropic", status: effect.OK, http: 200, typ: "text/event-stream",
			request: `{"model":"claude-x","max_tokens":64,"temperature":0.5,"system":"be brief","messages":[{"role":"user","content":"hello"},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{"at":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"seen"}]}]}`,
			response: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"model\":\"claude-x-1\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\n" +
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n",
		},
		{kind: "mcp", name: "tools/call look", url: "/mcp", upstream: "files", status: effect.OK, http: 200, request: `{"jsonrpc":"2.0"}`, response: `{"ok":1}`, typ: "application/json"},
		{kind: "agent", name: "helper", status: effect.OK, under: []step{
			{kind: "model", name: "POST", url: "/v1beta/models/gemini-x:generateContent?alt=sse", upstream: "gemini", status: effect.OK, http: 429, request: `{"contents":[]}`},
			{kind: "tool", name: "run", status: effect.Error, request: `{}`},
		}},
	}
}

// spans are what an export holds, by name.
type spans map[string]struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Status                              struct {
		Code    int
		Message string
	}
	Attributes []struct {
		Key   string
		Value map[string]any
	}
}

func export(t *testing.T, cfg drive.Config, run ledger.RunID, o *otel.Options) (spans, []byte) {
	t.Helper()
	var b bytes.Buffer
	n, err := otel.Export(t.Context(), cfg.Store, run, &b, o)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []json.RawMessage }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	out := spans{}
	for _, raw := range f.ResourceSpans[0].ScopeSpans[0].Spans {
		s := out[""]
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		out[s.Name] = s
	}
	if n != len(out) || bytes.Count(b.Bytes(), []byte("\n")) != 1 {
		t.Errorf("Export = %d, with %d spans on %d lines", n, len(out), bytes.Count(b.Bytes(), []byte("\n")))
	}
	return out, b.Bytes()
}

// attributes returns what a span says, but for what is of Reprise.
func (s spans) attributes(name string) string {
	var out []string
	for _, a := range s[name].Attributes {
		for _, v := range a.Value {
			if !strings.HasPrefix(a.Key, "reprise.") {
				out = append(out, fmt.Sprintf("%s=%v", strings.TrimPrefix(a.Key, "gen_ai."), v))
			}
		}
	}
	return strings.Join(out, " ")
}

// Calls become spans with the names, parents and attributes of the semantic
// conventions for generative AI.
func TestCallsBecomeSpans(t *testing.T) {
	t.Parallel()
	cfg, run := record(t, steps()...)
	got, raw := export(t, cfg, run, nil)
	for _, tt := range []struct {
		name, parent string
		kind, status int
		attributes   string
	}{
		{"invoke_agent planner", "", 1, 0, "operation.name=invoke_agent agent.name=planner conversation.id=" + string(run)},
		{
			"chat claude-x", "invoke_agent planner", 3, 0,
			"http.request.method=POST url.path=/v1/messages http.response.status_code=200 operation.name=chat provider.name=anthropic " +
				"request.model=claude-x response.model=claude-x-1 server.address=127.0.0.1 server.port=8080 request.temperature=0.5 request.max_tokens=64 " +
				"response.id=msg_1 response.finish_reasons=map[values:[map[stringValue:end_turn]]] usage.input_tokens=7 usage.output_tokens=3 usage.cache_read.input_tokens=2",
		},
		{
			"execute_tool look", "invoke_agent planner", 3, 0,
			"http.request.method=POST url.path=/mcp http.response.status_code=200 mcp.method.name=tools/call operation.name=execute_tool tool.name=look",
		},
		{"invoke_agent helper", "invoke_agent planner", 1, 0, "operation.name=invoke_agent"},
		{
			"generate_content gemini-x", "invoke_agent helper", 3, 2,
			"http.request.method=POST url.path=/v1beta/models/gemini-x:generateContent http.response.status_code=429 operation.name=generate_content " +
				"provider.name=gcp.gemini request.model=gemini-x error.type=429",
		},
		{"execute_tool run", "invoke_agent helper", 1, 2, "operation.name=execute_tool tool.name=run error.type=importer.read_failed"},
	} {
		s, ok := got[tt.name]
		if !ok || s.Kind != tt.kind || s.Status.Code != tt.status || s.ParentSpanID != got[tt.parent].SpanID {
			t.Errorf("%s: there %v, kind %d, status %d, parent %s, want kind %d, status %d, under %q", tt.name, ok, s.Kind, s.Status.Code, s.ParentSpanID, tt.kind, tt.status, tt.parent)
		}
		if a := got.attributes(tt.name); a != tt.attributes {
			t.Errorf("%s says %s\nwant %s", tt.name, a, tt.attributes)
		}
		if s.TraceID != strings.ReplaceAll(string(run), "-", "") || len(s.SpanID) != 16 || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("%s: trace %s, span %s, from %s to %s", tt.name, s.TraceID, s.SpanID, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d spans, want 6", len(got))
	}
	for _, private := range []string{"hello", "be brief", "seen"} {
		if bytes.Contains(raw, []byte(private)) {
			t.Errorf("the spans hold %q, which nobody asked for", private)
		}
	}
}

// Messages are written where asked for, in the form of the conventions.
func TestContentIsOptional(t *testing.T) {
	t.Parallel()
	cfg, run := record(t, steps()...)
	got, _ := export(t, cfg, run, &otel.Options{Content: true})
	said := got.attributes("chat claude-x")
	for _, want := range []string{
		`input.messages=[{"role":"system","parts":[{"type":"text","content":"be brief"}]},{"role":"user","parts":[{"type":"text","content":"hello"}]},` +
			`{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"look","arguments":{"at":1}}]},{"role":"user","parts":[{"type":"tool_call_response","id":"t1","response":"seen"}]}]`,
		`output.messages=[{"role":"assistant","parts":[{"type":"text","content":"hi"}],"finish_reason":"end_turn"}]`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the span says %s\nwant %s", said, want)
		}
	}
}

// What is exported can be imported: the calls come back with their kinds,
// names, models and tokens, as evidence.
func TestSpansComeBack(t *testing.T) {
	t.Parallel()
	cfg, run := record(t, steps()...)
	_, raw := export(t, cfg, run, &otel.Options{Content: true})
	res, err := importer.Import(t.Context(), cfg, bytes.NewReader(raw), "spans.json", importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Format != "otlp" || res.Exchanges != 6 || res.Replayable != 0 {
		t.Errorf("Import = %s, %d exchanges, %d replayable, want otlp, 6, 0", res.Format, res.Exchanges, res.Replayable)
	}
	prices, err := insight.Prices(nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for c, err := range insight.Calls(t.Context(), cfg.Store, res.Run, prices) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprint(c.Depth, " ", c.Kind, " ", c.Model)
		if c.Usage != nil {
			line += fmt.Sprint(" ", c.Usage.Input, " ", c.Usage.CacheRead, " ", c.Usage.Output)
		}
		lines = append(lines, line)
	}
	want := "0 agent |1 model claude-x-1 5 2 3|1 tool |1 agent |2 model gemini-x|2 tool "
	if got := strings.Join(lines, "|"); got != want {
		t.Errorf("calls = %s, want %s", got, want)
	}
}
