package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Model is an HTTP handler that plays a model with the OpenAI chat API. What
// it says depends on the conversation alone; it streams as real ones do.
type Model struct {
	// Pause is how long it waits between two parts of an answer.
	Pause time.Duration
}

// modelName is what the sample asks for: a name with a public price.
const modelName = "gpt-4o-mini"

type chatRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
	Tools    []chatTool    `json:"tools,omitempty"`

	StreamOptions *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// maxRequest bounds what the model reads.
const maxRequest = 1 << 20

// ServeHTTP implements [http.Handler].
func (m Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, maxRequest)).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"not a chat request","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Request-Id", fmt.Sprintf("req_demo_%d", len(req.Messages)))
	s := sse{w: w, id: fmt.Sprintf("chatcmpl-demo-%d", len(req.Messages)), pause: m.Pause}
	last := req.Messages[len(req.Messages)-1]
	if last.Role == "tool" {
		s.say("Done. I wrote to Ada: her refund of 12.50 EUR is on its way.")
	} else {
		s.call("send_mail", `{"to":"ada@example.org","subject":"Your refund of 12.50 EUR"}`)
	}
	in := 0
	for _, msg := range req.Messages {
		in += 4 + len(msg.Content)/4
	}
	s.end(in)
}

// sse writes an answer as the chunks of a chat completion.
type sse struct {
	w      http.ResponseWriter
	id     string
	pause  time.Duration
	out    int
	reason string
}

func (s *sse) event(delta any, reason any) {
	b, err := json.Marshal(map[string]any{
		"id": s.id, "object": "chat.completion.chunk", "created": 1700000000, "model": modelName,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}},
	})
	if err != nil {
		return
	}
	s.write("data: " + string(b) + "\n\n")
}

func (s *sse) write(text string) {
	_, _ = io.WriteString(s.w, text)
	_ = http.NewResponseController(s.w).Flush()
	time.Sleep(s.pause)
}

func (s *sse) say(text string) {
	s.reason = "stop"
	s.event(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, word := range strings.SplitAfter(text, " ") {
		s.out++
		s.event(map[string]any{"content": word}, nil)
	}
}

func (s *sse) call(name, arguments string) {
	s.reason = "tool_calls"
	first := toolCall{ID: "call_demo_1", Type: "function"}
	first.Function.Name = name
	s.event(map[string]any{"role": "assistant", "tool_calls": []toolCall{first}}, nil)
	for _, part := range strings.SplitAfter(arguments, ",") {
		s.out += len(part) / 4
		var more toolCall
		more.Function.Arguments = part
		s.event(map[string]any{"tool_calls": []toolCall{more}}, nil)
	}
}

func (s *sse) end(in int) {
	s.event(map[string]any{}, s.reason)
	s.write(fmt.Sprintf(`data: {"id":%q,"object":"chat.completion.chunk","created":1700000000,"model":%q,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", s.id, modelName, in, s.out, in+s.out))
	s.write("data: [DONE]\n\n")
}
