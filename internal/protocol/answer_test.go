package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/budget"
)

// calls are the tools of an answer whose arguments do not matter.
func calls(names ...string) (out []protocol.ToolCall) {
	for _, n := range names {
		out = append(out, protocol.ToolCall{Name: n})
	}
	return out
}

// events makes an event stream of messages.
func events(messages ...string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString("data: " + m + "\n\n")
	}
	return b.String()
}

func TestReadTakesWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typ, body string
		want            protocol.Answer
		usage           *budget.Usage
	}{
		{
			"chat completion", "application/json",
			`{"object":"chat.completion","model":"gpt-4o","choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"a"}},{"function":{"name":"b"}}]}}],
			"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":30}}}`,
			protocol.Answer{Model: "gpt-4o", Calls: calls("a", "b")},
			&budget.Usage{Input: 36, Output: 20, CacheRead: 64, Reasoning: 30},
		},
		{
			"streamed chat completion", "text/event-stream; charset=utf-8",
			events(`{"model":"gpt-4o","choices":[{"delta":{"content":"He"}}]}`, `{"model":"gpt-4o","choices":[{"delta":{"content":"llo","tool_calls":[{"index":0,"function":{"name":"a","arguments":""}}]}}]}`,
				`{"model":"gpt-4o","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}`, `{"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, `[DONE]`),
			protocol.Answer{Model: "gpt-4o", Calls: calls("a"), Text: "Hello"},
			&budget.Usage{Input: 3, Output: 2},
		},
		{
			"a stream without usage has none", "text/event-stream",
			events(`{"model":"gpt-4o","choices":[{"delta":{"content":"Hi"}}]}`, `[DONE]`),
			protocol.Answer{Model: "gpt-4o", Text: "Hi"},
			nil,
		},
		{
			"embeddings", "application/json",
			`{"object":"list","data":[],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`,
			protocol.Answer{Model: "text-embedding-3-small"},
			&budget.Usage{Input: 8},
		},
		{
			"response", "application/json",
			`{"object":"response","model":"gpt-5","service_tier":"flex","output":[{"type":"reasoning"},{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"function_call","name":"f"}],
			"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":5}}}`,
			protocol.Answer{Model: "gpt-5", Text: "Hi", Calls: calls("f"), Unpriced: "service tier flex"},
			&budget.Usage{Input: 6, Output: 4, CacheRead: 4, Reasoning: 5},
		},
		{
			"streamed response", "text/event-stream",
			"event: response.created\n" + events(`{"type":"response.created","response":{"object":"response","model":"gpt-5","service_tier":"default"}}`, `{"type":"response.output_text.delta","delta":"Hi"}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","name":"f"}}`, `{"type":"response.completed","response":{"model":"gpt-5","usage":{"input_tokens":10,"output_tokens":9}}}`),
			protocol.Answer{Model: "gpt-5", Text: "Hi", Calls: calls("f")},
			&budget.Usage{Input: 10, Output: 9},
		},
		{
			"items of a response that stand alone", "application/x-ndjson",
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}` + "\n" + `{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}` + "\n",
			protocol.Answer{Text: "Hi", Calls: []protocol.ToolCall{{ID: "c1", Name: "f", Arguments: "{}"}}},
			nil,
		},
		{
			"message", "application/json",
			`{"type":"message","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Hi"},{"type":"tool_use","name":"bash","input":{}}],
			"usage":{"input_tokens":7,"cache_creation_input_tokens":11,"cache_read_input_tokens":13,"output_tokens":5,"service_tier":"standard"}}`,
			protocol.Answer{Model: "claude-sonnet-4-5", Text: "Hi", Calls: calls("bash")},
			&budget.Usage{Input: 7, Output: 5, CacheRead: 13, CacheWrite: 11},
		},
		{
			"streamed message: counts are cumulative", "text/event-stream",
			events(`{"type":"message_start","message":{"type":"message","model":"claude-sonnet-4-5","usage":{"input_tokens":7,"output_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2},"cache_creation_input_tokens":2}}}`,
				`{"type":"content_block_start","content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}`,
				`{"type":"content_block_start","content_block":{"type":"tool_use","name":"bash"}}`, `{"type":"message_delta","usage":{"output_tokens":25}}`, `{"type":"message_stop"}`),
			protocol.Answer{Model: "claude-sonnet-4-5", Text: "Hi", Calls: calls("bash"), Unpriced: "tokens were cached for longer than the listed price covers"},
			&budget.Usage{Input: 7, Output: 25, CacheWrite: 2},
		},
		{
			"generated content", "application/json",
			`{"candidates":[{"content":{"parts":[{"text":"thinking","thought":true},{"text":"Hi"},{"functionCall":{"name":"f","args":{}}}]}}],"modelVersion":"gemini-2.5-flash",
			"usageMetadata":{"promptTokenCount":20,"candidatesTokenCount":3,"thoughtsTokenCount":9,"cachedContentTokenCount":5,"toolUsePromptTokenCount":2}}`,
			protocol.Answer{Model: "gemini-2.5-flash", Text: "Hi", Calls: calls("f")},
			&budget.Usage{Input: 17, Output: 3, CacheRead: 5, Reasoning: 9},
		},
		{
			"generated content as an array", "application/json",
			`[{"candidates":[{"content":{"parts":[{"text":"H"}]}}],"modelVersion":"g","usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":1}},{"candidates":[{"content":{"parts":[{"text":"i"}]}}],"modelVersion":"g","usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":2}}]`,
			protocol.Answer{Model: "g", Text: "Hi"},
			&budget.Usage{Input: 2, Output: 2},
		},
		{"an error", "application/json", `{"error":{"message":"no"}}`, protocol.Answer{}, nil},
		{"counts that contradict themselves", "application/json", `{"choices":[],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}}`, protocol.Answer{}, nil},
		{"no JSON", "text/html", `<html>`, protocol.Answer{}, nil},
		{"nothing", "", ``, protocol.Answer{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := protocol.Read(protocol.Origin{Type: test.typ}, []byte(test.body))
			if got.Model != test.want.Model || got.Text != test.want.Text || got.Unpriced != test.want.Unpriced || !slices.Equal(got.Tools(), test.want.Tools()) {
				t.Errorf("Read = %+v, want %+v", got, test.want)
			}
			switch {
			case (got.Usage == nil) != (test.usage == nil):
				t.Errorf("usage is %v, want %v", got.Usage, test.usage)
			case got.Usage != nil && *got.Usage != *test.usage:
				t.Errorf("usage is %+v, want %+v", *got.Usage, *test.usage)
			}
		})
	}
}

func TestEventsFollowTheStandard(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"one", "data: a\n\n", []string{"a"}},
		{"only one space goes", "data:  a\n\n", []string{" a"}},
		{"lines of one event are joined", "data: a\ndata: b\n\n", []string{"a\nb"}},
		{"CR LF and CR", "data: a\r\n\r\ndata: b\r\r", []string{"a", "b"}},
		{"comments and other fields", ": hi\nevent: x\nid: 1\ndata: a\n\n", []string{"a"}},
		{"an event without data", "event: x\n\ndata\n\n", []string{""}},
		{"broken off", "data: a\n\ndata: b", []string{"a", "b"}},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for e := range protocol.Events([]byte(test.in)) {
				got = append(got, string(e))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("Events(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// TestReadTakesAnything: whatever an upstream sends, reading it does not fail.
func TestReadTakesAnything(t *testing.T) { rapid.Check(t, readTakesAnything) }

func FuzzReadTakesAnything(f *testing.F) { f.Fuzz(rapid.MakeFuzz(readTakesAnything)) }

func readTakesAnything(t *rapid.T) {
	body := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte("data: " + s + "\n\n") })).Draw(t, "body")
	typ := rapid.SampledFrom([]string{"application/json", "text/event-stream", protocol.EventStreamType, ""}).Draw(t, "type")
	protocol.Read(protocol.Origin{Type: typ}, body)
	protocol.ReadRequest("/v1/chat/completions", body)
}

// An answer may begin well and say later that it failed; that is told by one
// word of the provider's.
func TestErrorsInAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ contentType, body, want string }{
		{"text/event-stream", events(`{"type":"message_start","message":{"type":"message","model":"claude-sonnet-4-5"}}`, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "overloaded_error"},
		{"text/event-stream", events(`{"object":"chat.completion.chunk","choices":[{"delta":{"content":"Hi"}}]}`, `{"error":{"message":"no","type":"server_error","code":null}}`), "server_error"},
		{"text/event-stream", events(`{"type":"response.failed","response":{"object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"no"}}}`), "rate_limit_exceeded"},
		{"text/event-stream", events(`{"type":"response.completed","response":{"object":"response","status":"completed","error":null}}`), ""},
		{"application/json", `[{"candidates":[]},{"error":{"code":503,"message":"no","status":"UNAVAILABLE"}}]`, "UNAVAILABLE"},
		{"application/json", `{"error":{"code":503,"message":"no"}}`, "503"},
		{"application/x-ndjson", `{"model":"m","message":{"content":"Hi"},"done":false}` + "\n" + `{"error":"an error was encountered while running the model"}` + "\n", "error"},
		{"application/json", `{"object":"chat.completion","choices":[{"message":{"content":"an {\"error\":{}} in a text"}}]}`, ""},
	} {
		if got := protocol.Read(protocol.Origin{Type: test.contentType}, []byte(test.body)).Error; got != test.want {
			t.Errorf("Read(%s).Error = %q, want %q", test.body, got, test.want)
		}
	}
}
