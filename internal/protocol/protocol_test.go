package protocol_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/budget"
)

// frame makes a frame of a binary event stream.
func frame(event, payload string) string {
	var headers []byte
	for _, h := range [][2]string{{":event-type", event}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, 7, byte(len(h[1])>>8), byte(len(h[1])))
		headers = append(headers, h[1]...)
	}
	e := protocol.Event{Headers: headers, Payload: []byte(payload)}
	return string(e.Append(nil))
}

// chunk makes a frame that carries a message of a model.
func chunk(message string) string {
	return frame("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(message))+`","p":"abc"}`)
}

func TestEachProtocolIsRead(t *testing.T) {
	t.Parallel()
	ndjson := func(lines ...string) string { return strings.Join(lines, "\n") + "\n" }
	for _, test := range []struct {
		name, url, typ, body string
		want                 protocol.Answer
		usage                budget.Usage
	}{
		{
			"arguments of streamed tool calls", "/v1/chat/completions", "text/event-stream",
			events(`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"b","arguments":""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`,
				`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`),
			protocol.Answer{Protocol: "openai", Model: "m", Stop: "tool_calls", Calls: []protocol.ToolCall{{ID: "c1", Name: "a", Arguments: `{"x":1}`}, {ID: "c2", Name: "b"}}},
			budget.Usage{Input: 3, Output: 4},
		},
		{
			"reasoning beside the completion", "/v1/chat/completions", "application/json",
			`{"model":"grok","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100}}}`,
			protocol.Answer{Protocol: "openai", Model: "grok"},
			budget.Usage{Input: 10, Output: 5, Reasoning: 100},
		},
		{
			"a total that is more than its parts", "/v1beta/openai/chat/completions", "application/json",
			`{"model":"gemini-2.5-flash","choices":[],"usage":{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}}`,
			protocol.Answer{Protocol: "openai", Model: "gemini-2.5-flash", Unpriced: "the tokens do not add up to the total that is stated"},
			budget.Usage{Input: 35, Output: 12},
		},
		{
			"usage of a Groq stream", "/openai/v1/chat/completions", "text/event-stream",
			events(`{"model":"llama","choices":[{"index":0,"delta":{"content":"Hi"}}]}`, `{"choices":[],"x_groq":{"usage":{"prompt_tokens":2,"completion_tokens":1}}}`),
			protocol.Answer{Protocol: "openai", Model: "llama", Text: "Hi"},
			budget.Usage{Input: 2, Output: 1},
		},
		{
			"Mistral's parts", "/v1/chat/completions", "application/json",
			`{"object":"chat.completion","model":"magistral","choices":[{"message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Hi"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			protocol.Answer{Protocol: "openai", Model: "magistral", Text: "Hi", Stop: "stop"},
			budget.Usage{Input: 1, Output: 2},
		},
		{
			"audio has other prices", "/v1/chat/completions", "application/json",
			`{"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"audio_tokens":4}}}`,
			protocol.Answer{Protocol: "openai", Model: "m", Unpriced: "tokens of audio have prices of their own"},
			budget.Usage{Input: 9, Output: 1},
		},
		{
			"a reranking", "/v1/rerank", "application/json", `{"object":"list","data":[],"model":"rerank-2","usage":{"total_tokens":43}}`,
			protocol.Answer{Protocol: "openai", Model: "rerank-2"},
			budget.Usage{Input: 43},
		},
		{
			"converse", "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse", "application/json",
			`{"output":{"message":{"role":"assistant","content":[{"text":"Hi"},{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":8,"outputTokens":10,"totalTokens":30,"cacheReadInputTokens":12}}`,
			protocol.Answer{Protocol: "bedrock", Model: "anthropic.claude-3-haiku-20240307-v1:0", Text: "Hi", Stop: "tool_use", Calls: []protocol.ToolCall{{ID: "t1", Name: "f", Arguments: `{"a":1}`}}},
			budget.Usage{Input: 8, Output: 10, CacheRead: 12},
		},
		{
			"converse-stream", "/model/amazon.nova-pro-v1:0/converse-stream", protocol.EventStreamType,
			frame("messageStart", `{"role":"assistant"}`) + frame("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"Hi"}}`) +
				frame("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}`) +
				frame("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"a\""}}}`) + frame("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":":2}"}}}`) +
				frame("messageStop", `{"stopReason":"tool_use"}`) + frame("metadata", `{"metrics":{"latencyMs":1},"usage":{"inputTokens":5,"outputTokens":6,"totalTokens":11}}`),
			protocol.Answer{Protocol: "bedrock", Model: "amazon.nova-pro-v1:0", Text: "Hi", Stop: "tool_use", Calls: []protocol.ToolCall{{ID: "t", Name: "f", Arguments: `{"a":2}`}}},
			budget.Usage{Input: 5, Output: 6},
		},
		{
			"invoke-with-response-stream of Claude", "/model/anthropic.claude-v2/invoke-with-response-stream", protocol.EventStreamType,
			chunk(`{"type":"message_start","message":{"model":"claude-2.0","usage":{"input_tokens":14,"output_tokens":1}}}`) + chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`) +
				chunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":10}}`) + chunk(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":14,"outputTokenCount":10}}`),
			protocol.Answer{Protocol: "anthropic", Model: "claude-2.0", Text: "Hi", Stop: "end_turn"},
			budget.Usage{Input: 14, Output: 10},
		},
		{
			"invoke of Titan", "/model/amazon.titan-text-lite-v1/invoke", "application/json", `{"inputTextTokenCount":5,"results":[{"tokenCount":7,"outputText":"Hi","completionReason":"FINISH"}]}`,
			protocol.Answer{Protocol: "bedrock", Model: "amazon.titan-text-lite-v1", Text: "Hi", Stop: "FINISH"},
			budget.Usage{Input: 5, Output: 7},
		},
		{
			"invoke of Llama", "/model/meta.llama3/invoke", "application/json", `{"generation":"Hi","prompt_token_count":5,"generation_token_count":2,"stop_reason":"stop"}`,
			protocol.Answer{Protocol: "bedrock", Model: "meta.llama3", Text: "Hi", Stop: "stop"},
			budget.Usage{Input: 5, Output: 2},
		},
		{
			"invoke stream of Nova", "/model/amazon.nova-micro-v1:0/invoke-with-response-stream", protocol.EventStreamType,
			chunk(`{"contentBlockDelta":{"delta":{"text":"Hi"},"contentBlockIndex":0}}`) + chunk(`{"messageStop":{"stopReason":"end_turn"}}`) + chunk(`{"metadata":{"usage":{"inputTokens":5,"outputTokens":2}}}`),
			protocol.Answer{Protocol: "bedrock", Model: "amazon.nova-micro-v1:0", Text: "Hi", Stop: "end_turn"},
			budget.Usage{Input: 5, Output: 2},
		},
		{
			"Cohere 1", "/v1/chat", "application/json", `{"text":"Hi","generation_id":"g","finish_reason":"COMPLETE","tool_calls":[{"name":"f","parameters":{"a":1}}],"meta":{"billed_units":{"input_tokens":5.0,"output_tokens":2}}}`,
			protocol.Answer{Protocol: "cohere", Text: "Hi", Stop: "COMPLETE", Calls: []protocol.ToolCall{{Name: "f", Arguments: `{"a":1}`}}},
			budget.Usage{Input: 5, Output: 2},
		},
		{
			"Cohere 1 as lines", "/v1/chat", "application/stream+json",
			ndjson(`{"is_finished":false,"event_type":"stream-start","generation_id":"g"}`, `{"event_type":"text-generation","text":"Hi"}`, `{"is_finished":true,"event_type":"stream-end","finish_reason":"COMPLETE","response":{"text":"Hi","meta":{"billed_units":{"input_tokens":5,"output_tokens":2}}}}`),
			protocol.Answer{Protocol: "cohere", Text: "Hi", Stop: "COMPLETE"},
			budget.Usage{Input: 5, Output: 2},
		},
		{
			"Cohere 2 as events", "/v2/chat", "text/event-stream",
			events(`{"type":"message-start","delta":{"message":{"role":"assistant"}}}`, `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`,
				`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"t","function":{"name":"f","arguments":""}}}}}`, `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{}"}}}}}`,
				`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":5,"output_tokens":2},"tokens":{"input_tokens":71,"output_tokens":2}}}}`),
			protocol.Answer{Protocol: "cohere", Text: "Hi", Stop: "TOOL_CALL", Calls: []protocol.ToolCall{{ID: "t", Name: "f", Arguments: "{}"}}},
			budget.Usage{Input: 5, Output: 2},
		},
		{
			"Ollama as lines", "/api/chat", "application/x-ndjson",
			ndjson(`{"model":"llama3","created_at":"x","message":{"role":"assistant","content":"H"},"done":false}`, `{"model":"llama3","created_at":"x","message":{"content":"i","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}`,
				`{"model":"llama3","created_at":"x","message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":17,"eval_count":3}`),
			protocol.Answer{Protocol: "ollama", Model: "llama3", Text: "Hi", Stop: "stop", Calls: []protocol.ToolCall{{Name: "f", Arguments: `{"a":1}`}}},
			budget.Usage{Input: 17, Output: 3},
		},
		{
			"Ollama's generate", "/api/generate", "application/json", `{"model":"llama3","created_at":"x","response":"Hi","done":true,"prompt_eval_count":4,"eval_count":2}`,
			protocol.Answer{Protocol: "ollama", Model: "llama3", Text: "Hi"},
			budget.Usage{Input: 4, Output: 2},
		},
		{
			"results of a batch of Anthropic", "/v1/messages/batches/b/results", "application/x-jsonl",
			ndjson(`{"custom_id":"1","result":{"type":"succeeded","message":{"type":"message","model":"claude-sonnet-4-5","content":[{"type":"text","text":"A"}],"usage":{"input_tokens":1,"output_tokens":2}}}}`,
				`{"custom_id":"2","result":{"type":"errored","error":{}}}`,
				`{"custom_id":"3","result":{"type":"succeeded","message":{"type":"message","model":"claude-sonnet-4-5","content":[{"type":"text","text":"B"}],"usage":{"input_tokens":10,"output_tokens":20}}}}`),
			protocol.Answer{Protocol: "anthropic", Model: "claude-sonnet-4-5", Text: "AB", Unpriced: "answers of a batch have prices of their own"},
			budget.Usage{Input: 11, Output: 22},
		},
		{
			"results of a batch of OpenAI", "/v1/files/f/content", "application/octet-stream",
			ndjson(`{"custom_id":"1","response":{"status_code":200,"body":{"object":"chat.completion","model":"gpt-4o","choices":[{"message":{"content":"A"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}}}`),
			protocol.Answer{Protocol: "openai", Model: "gpt-4o", Text: "A", Unpriced: "answers of a batch have prices of their own"},
			budget.Usage{Input: 1, Output: 2},
		},
		{
			"counts of a Gemini stream grow", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "text/event-stream",
			events(`{"candidates":[{"content":{"parts":[{"text":"H"}]}}],"usageMetadata":{"promptTokenCount":9,"thoughtsTokenCount":4}}`,
				`{"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":2,"thoughtsTokenCount":5}}`),
			protocol.Answer{Protocol: "gemini", Model: "gemini-2.5-flash", Text: "Hi", Stop: "STOP"},
			budget.Usage{Input: 9, Output: 2, Reasoning: 5},
		},
		{
			"a stream without headers", "/v1/messages", "application/octet-stream",
			"event: message_start\n" + events(`{"type":"message_start","message":{"model":"claude","usage":{"input_tokens":3,"output_tokens":1}}}`),
			protocol.Answer{Protocol: "anthropic", Model: "claude"},
			budget.Usage{Input: 3, Output: 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := protocol.Read(protocol.Origin{URL: test.url, Type: test.typ}, []byte(test.body))
			if got.Protocol != test.want.Protocol || got.Model != test.want.Model || got.Text != test.want.Text || got.Unpriced != test.want.Unpriced || got.Stop != test.want.Stop || !slices.Equal(got.Calls, test.want.Calls) {
				t.Errorf("Read = %+v, want %+v", got, test.want)
			}
			if got.Usage == nil || *got.Usage != test.usage {
				t.Errorf("usage = %+v, want %+v", got.Usage, test.usage)
			}
		})
	}
}

// What counts tokens, or is about to be done, has used none.
func TestWhatIsNoUsage(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"count_tokens of Anthropic": `{"input_tokens":14}`,
		"countTokens of Gemini":     `{"totalTokens":31,"promptTokensDetails":[]}`,
		"count-tokens of Bedrock":   `{"inputTokens":14}`,
		"a batch that begins":       `{"id":"msgbatch_1","type":"message_batch","processing_status":"in_progress","request_counts":{"processing":2}}`,
		"a guardrail":               `{"usage":{"contentPolicyUnits":1,"topicPolicyUnits":1},"action":"NONE"}`,
		"a queued response":         `{"object":"response","status":"queued","usage":null,"tool_usage":{"image_gen":{"input_tokens":0}}}`,
		"a file":                    `{"object":"file","id":"file-1","bytes":120}`,
	} {
		if got := protocol.Read(protocol.Origin{Type: "application/json"}, []byte(body)); got.Usage != nil {
			t.Errorf("%s has usage %+v", name, *got.Usage)
		}
	}
}

func TestWhatAnAnswerStatesBesides(t *testing.T) {
	t.Parallel()
	header := func(name string) string {
		return map[string]string{"x-amzn-bedrock-input-token-count": "7", "x-amzn-bedrock-output-token-count": "2"}[name]
	}
	got := protocol.Read(protocol.Origin{URL: "/model/mistral.mixtral/invoke", Type: "application/json", Header: header}, []byte(`{"outputs":[{"text":"Hi"}]}`))
	if got.Usage == nil || *got.Usage != (budget.Usage{Input: 7, Output: 2}) || got.Model != "mistral.mixtral" {
		t.Errorf("tokens in the headers of Bedrock = %+v", got)
	}
	for cost, want := range map[string]string{"0.00014": "0.00014", "1.4e-05": "0.000014", "0": "0", "-1": "", `"x"`: "", "1e400": ""} {
		got := protocol.Read(protocol.Origin{Type: "application/json"}, []byte(`{"model":"openai/gpt-4o","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":`+cost+`}}`))
		var s string
		if got.Stated != nil {
			s = got.Stated.String()
		}
		if s != want {
			t.Errorf("cost %s = %q, want %q", cost, s, want)
		}
	}
}

// A socket has many answers, and each has used tokens.
func TestAnswersOverASocketAddUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		says []string
		want protocol.Answer
		use  budget.Usage
	}{
		{
			"responses",
			[]string{
				`{"type":"response.created","response":{"model":"gpt-5"}}`, `{"type":"response.output_text.delta","delta":"A"}`, `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":10,"output_tokens":4}}}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`, `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":10},"output_tokens":1}}}`,
			},
			protocol.Answer{Protocol: "responses", Model: "gpt-5", Text: "A", Stop: "completed", Calls: []protocol.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}},
			budget.Usage{Input: 20, Output: 5, CacheRead: 10},
		},
		{
			"realtime",
			[]string{
				`{"type":"session.created","session":{"model":"gpt-realtime"}}`, `{"type":"response.output_audio_transcript.delta","delta":"A"}`,
				`{"type":"response.done","response":{"object":"realtime.response","status":"completed","usage":{"total_tokens":30,"input_tokens":20,"output_tokens":10,"input_token_details":{"text_tokens":20,"cached_tokens":5},"output_token_details":{"audio_tokens":8}}}}`,
			},
			protocol.Answer{Protocol: "responses", Model: "gpt-realtime", Text: "A", Stop: "completed", Unpriced: "tokens of audio have prices of their own"},
			budget.Usage{Input: 15, Output: 10, CacheRead: 5},
		},
		{
			"Gemini Live",
			[]string{
				`{"setupComplete":{}}`, `{"serverContent":{"modelTurn":{"parts":[{"text":"A"}]}}}`, `{"serverContent":{"turnComplete":true},"usageMetadata":{"promptTokenCount":5,"responseTokenCount":2}}`,
				`{"toolCall":{"functionCalls":[{"id":"1","name":"f","args":{}}]}}`, `{"usageMetadata":{"promptTokenCount":8,"responseTokenCount":1}}`,
			},
			protocol.Answer{Protocol: "gemini", Text: "A", Calls: []protocol.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}},
			budget.Usage{Input: 13, Output: 3},
		},
	} {
		r := protocol.Reader{}
		for _, m := range test.says {
			r.Message([]byte(m))
		}
		got := r.Answer()
		if got.Protocol != test.want.Protocol || got.Model != test.want.Model || got.Text != test.want.Text || got.Unpriced != test.want.Unpriced || got.Stop != test.want.Stop || !slices.Equal(got.Calls, test.want.Calls) {
			t.Errorf("%s = %+v, want %+v", test.name, got, test.want)
		}
		if got.Usage == nil || *got.Usage != test.use {
			t.Errorf("%s: usage = %+v, want %+v", test.name, got.Usage, test.use)
		}
	}
	q := protocol.ReadSocket("/v1/responses", []byte(`{"type":"response.create","model":"gpt-5","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`))
	if q.Model != "gpt-5" || len(q.Messages) != 1 || q.Messages[0].Text != "Hi" {
		t.Errorf("a message of a client = %+v", q)
	}
}

func TestEachRequestIsRead(t *testing.T) {
	t.Parallel()
	const long = `"content":[{"type":"text","text":"Hi"}]`
	for _, test := range []struct {
		name, url, body string
		protocol, model string
		stream          bool
		roles, texts    string
		results         []protocol.ToolResult
		offered         string
	}{
		{
			"chat completion", "/v1/chat/completions",
			`{"model":"gpt-4o","stream":true,"messages":[{"role":"system","content":"S"},{"role":"user",` + long + `},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"R"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
			"openai", "gpt-4o", true, "system user assistant tool", "S Hi",
			[]protocol.ToolResult{{ID: "c", Name: "f", Text: "R"}},
			"f",
		},
		{"embeddings", "/v1/embeddings", `{"model":"e","input":["a","b"]}`, "openai", "e", false, "user user", "a b", nil, ""},
		{
			"a deployment of Azure is no model", "/openai/deployments/my-gpt/chat/completions?api-version=2024-02-01", `{"messages":[{"role":"user","content":"Hi"}]}`,
			"openai", "", false, "user", "Hi", nil, "",
		},
		{
			"responses", "/v1/responses",
			`{"model":"gpt-5","instructions":"S","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]},{"type":"reasoning"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"R"}],"tools":[{"type":"function","name":"f"},{"type":"web_search"}]}`,
			"responses", "gpt-5", false, "system user assistant tool", "S Hi",
			[]protocol.ToolResult{{ID: "c", Name: "f", Text: "R"}},
			"f web_search",
		},
		{
			"messages without /v1", "/messages",
			`{"model":"claude","system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"R"}]}]}],"tools":[{"name":"f"}]}`,
			"anthropic", "claude", false, "system user assistant user", "S Hi",
			[]protocol.ToolResult{{ID: "t", Name: "f", Text: "R", Failed: true}},
			"f",
		},
		{"count_tokens", "/v1/messages/count_tokens", `{"model":"claude","messages":[{"role":"user","content":"Hi"}]}`, "anthropic", "claude", false, "user", "Hi", nil, ""},
		{
			"a batch", "/v1/messages/batches", `{"requests":[{"custom_id":"1","params":{"model":"claude","messages":[{"role":"user","content":"A"}]}},{"custom_id":"2","params":{"model":"claude","messages":[{"role":"user","content":"B"}]}}]}`,
			"anthropic", "claude", false, "user user", "A B", nil, "",
		},
		{
			"generateContent", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
			`{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":1}}}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`,
			"gemini", "gemini-2.5-flash", true, "system user model user", "S Hi",
			[]protocol.ToolResult{{Name: "f", Text: `{"r":1}`}},
			"f",
		},
		{
			"converse", "/model/us.amazon.nova%3A0/converse-stream",
			`{"system":[{"text":"S"}],"messages":[{"role":"user","content":[{"text":"Hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"f","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t","status":"error","content":[{"text":"R"}]}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}}`,
			"bedrock", "us.amazon.nova:0", true, "system user assistant user", "S Hi",
			[]protocol.ToolResult{{ID: "t", Name: "f", Text: "R", Failed: true}},
			"f",
		},
		{"invoke of Claude", "/model/anthropic.claude-v2/invoke", `{"anthropic_version":"bedrock-2023-05-31","messages":[{"role":"user","content":"Hi"}]}`, "anthropic", "anthropic.claude-v2", false, "user", "Hi", nil, ""},
		{"Cohere", "/v1/chat", `{"model":"command","message":"Hi","chat_history":[{"role":"USER","message":"S"}],"tool_results":[{"call":{"name":"f"},"outputs":[{"r":1}]}]}`, "cohere", "command", false, "USER user tool", "S Hi", []protocol.ToolResult{{Name: "f", Text: `[{"r":1}]`}}, ""},
		{"Ollama streams unless told not to", "/api/chat", `{"model":"llama3","messages":[{"role":"user","content":"Hi"},{"role":"tool","tool_name":"f","content":"R"}]}`, "ollama", "llama3", true, "user tool", "Hi", []protocol.ToolResult{{Name: "f", Text: "R"}}, ""},
		{"a form", "/v1/audio/transcriptions", "--x\r\n", "openai", "", false, "", "", nil, ""},
	} {
		q := protocol.ReadRequest(test.url, []byte(test.body))
		var roles, texts []string
		var results []protocol.ToolResult
		for _, m := range q.Messages {
			roles = append(roles, m.Role)
			if m.Text != "" {
				texts = append(texts, m.Text)
			}
			results = append(results, m.Results...)
		}
		if q.Protocol != test.protocol || q.Model != test.model || q.Stream != test.stream {
			t.Errorf("%s = %s %s, stream %v; want %s %s, %v", test.name, q.Protocol, q.Model, q.Stream, test.protocol, test.model, test.stream)
		}
		got := strings.Join(texts, " ")
		if test.name == "messages without /v1" || test.name == "converse" {
			got = strings.TrimSuffix(got, " R") // the text of a result stands in its block
		}
		if strings.Join(roles, " ") != test.roles || got != test.texts || !slices.Equal(results, test.results) || strings.Join(q.Offered, " ") != test.offered {
			t.Errorf("%s = %q %q %+v %q, want %q %q %+v %q", test.name, roles, texts, results, q.Offered, test.roles, test.texts, test.results, test.offered)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path string
		protocol     string
		changes      bool
	}{
		{"POST", "/v1/chat/completions", "openai", false},
		{"POST", "/openai/deployments/d/chat/completions", "openai", false},
		{"POST", "/api/v1/chat/completions", "openai", false},
		{"GET", "/v1/chat/completions", "", false},
		{"POST", "/v1/responses", "responses", false},
		{"POST", "/messages", "anthropic", false},
		{"POST", "/v1/messages/count_tokens", "anthropic", false},
		{"POST", "/v1/messages/batches", "anthropic", true},
		{"POST", "/v1/files", "openai", true},
		{"POST", "/openai/files", "openai", true},
		{"POST", "/openai/batches", "openai", true},
		{"POST", "/v1/batches", "openai", true},
		{"POST", "/v1beta/models/m:generateContent", "gemini", false},
		{"POST", "/model/m/converse-stream", "bedrock", false},
		{"POST", "/api/chat", "ollama", false},
		{"POST", "/v2/chat", "cohere", false},
		{"POST", "/orders", "", false},
	} {
		r, ok := protocol.Find(test.method, test.path)
		if ok != (test.protocol != "") || r.Protocol != test.protocol || r.Changes != test.changes {
			t.Errorf("Find(%s %s) = %+v, %v; want %s, changes %v", test.method, test.path, r, ok, test.protocol, test.changes)
		}
	}
}

// A frame holds its checksums, and any flipped bit is found.
func TestEventStream(t *testing.T) {
	t.Parallel()
	b := []byte(frame("chunk", `{"a":1}`) + frame("end", `{}`))
	e, n, err := protocol.NextEvent(b)
	if err != nil || string(e.Payload) != `{"a":1}` || e.Header(":event-type") != "chunk" || e.Header(":message-type") != "event" || e.Header("x") != "" {
		t.Fatalf("NextEvent = %+v, %v", e, err)
	}
	if got := string(e.Append(nil)); got != string(b[:n]) {
		t.Errorf("Append = %q, want %q", got, b[:n])
	}
	for i := range n * 8 {
		flipped := slices.Clone(b[:n])
		flipped[i/8] ^= 1 << (i % 8)
		if _, n, err := protocol.NextEvent(flipped); err == nil && n > 0 {
			t.Errorf("bit %d flipped is not found", i)
		}
	}
	for i := range n {
		if _, got, err := protocol.NextEvent(b[:i]); got != 0 || err != nil {
			t.Errorf("the first %d bytes of a frame = %d, %v; want to wait for more", i, got, err)
		}
	}
	if got := protocol.CountEvents(protocol.EventStreamType, b); got != 2 {
		t.Errorf("CountEvents = %d, want 2", got)
	}
}

func TestReaderTakesAnyMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r protocol.Reader
		for _, m := range rapid.SliceOf(rapid.String()).Draw(t, "messages") {
			r.Message([]byte(m))
		}
		r.Answer()
	})
}

func FuzzNextEvent(f *testing.F) {
	f.Add([]byte(frame("chunk", `{"a":1}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, n, err := protocol.NextEvent(b)
		if err == nil && n > 0 && string(e.Append(nil)) != string(b[:n]) {
			t.Errorf("a frame that is read does not append to itself: %x", b[:n])
		}
		e.Header(":event-type")
	})
}
