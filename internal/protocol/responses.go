package protocol

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// OpenAI's responses, over HTTP and over a WebSocket, and its realtime API,
// which says the same of its answers.

func speaksResponses(v canon.Value) bool {
	typ := v.Get("type").Str()
	return v.Get("object").Str() == "response" || strings.HasPrefix(typ, "response.") || strings.HasPrefix(typ, "session.") && v.Has("session") || isItem(v)
}

// isItem reports whether v is an item of an output that stands alone, as the
// session files of Codex have it.
func isItem(v canon.Value) bool {
	switch v.Get("type").Str() {
	case "function_call", "custom_tool_call":
		return v.Has("call_id")
	case "message":
		return v.Get("content").At(0).Get("type").Str() == "output_text"
	default:
		return false
	}
}

func (r *Reader) responses(v canon.Value) {
	if v.Get("object").Str() == "response" {
		r.response(v)
		return
	}
	switch v.Get("type").Str() {
	case "response.output_text.delta", "response.text.delta",
		"response.output_audio_transcript.delta", "response.audio_transcript.delta":
		r.text.WriteString(v.Get("delta").Str())
	case "response.output_item.done":
		r.item(v.Get("item"), false)
	case "response.completed", "response.incomplete", "response.failed", "response.done":
		r.stop(v.Get("response").Get("status").Str())
		r.responsesUsage(v.Get("response").Get("usage"))
		r.responsesUsage(v.Get("usage")) // xAI has it beside
		r.finish()
	default:
		if isItem(v) {
			r.item(v, true)
		}
	}
}

// response takes a whole response.
func (r *Reader) response(v canon.Value) {
	for _, o := range v.Get("output").Elems() {
		r.item(o, true)
	}
	r.stop(v.Get("status").Str())
	r.responsesUsage(v.Get("usage"))
}

// item takes one item of an output. Its text has come already if it streams.
func (r *Reader) item(o canon.Value, text bool) {
	switch o.Get("type").Str() {
	case "message":
		if text {
			r.parts(o.Get("content"))
		}
	case "function_call":
		r.call("", o.Get("call_id").Str(), o.Get("name").Str(), o.Get("arguments").Str())
	case "custom_tool_call":
		r.call("", o.Get("call_id").Str(), o.Get("name").Str(), o.Get("input").Str())
	}
}

func (r *Reader) responsesUsage(u canon.Value) {
	if !u.Has("input_tokens") {
		return
	}
	in, out := u.Get("input_tokens_details"), u.Get("output_tokens_details")
	if in.IsZero() { // realtime says token
		in, out = u.Get("input_token_details"), u.Get("output_token_details")
	}
	r.usage = usage{
		seen: true, inclusive: true, thinking: true,
		input: count(u, "input_tokens"), output: count(u, "output_tokens"),
		read: count(in, "cached_tokens"), reasoning: count(out, "reasoning_tokens"),
	}
	r.modalities(in, out)
	r.state(u.Get("cost"))
}

func askResponses(q *Request, v canon.Value) {
	if r := v.Get("response"); r.Kind() == canon.KindObject { // over a socket
		v = r
	}
	if s := v.Get("instructions").Str(); s != "" {
		q.add(Message{Role: "system", Text: s})
	}
	q.inputItems(v.Get("input"))
	for _, t := range v.Get("tools").Elems() {
		name := t.Get("name").Str()
		if name == "" {
			name = t.Get("type").Str() // what the provider brings itself
		}
		q.offer(name)
	}
}

func (q *Request) inputItems(input canon.Value) {
	if s, ok := input.AsString(); ok {
		q.add(Message{Role: "user", Text: s})
		return
	}
	for _, m := range input.Elems() {
		switch m.Get("type").Str() {
		case "function_call":
			q.add(Message{Role: "assistant", Calls: []ToolCall{{ID: m.Get("call_id").Str(), Name: m.Get("name").Str(), Arguments: m.Get("arguments").Str()}}})
		case "custom_tool_call":
			q.add(Message{Role: "assistant", Calls: []ToolCall{{ID: m.Get("call_id").Str(), Name: m.Get("name").Str(), Arguments: m.Get("input").Str()}}})
		case "function_call_output", "custom_tool_call_output":
			q.add(Message{Role: "tool", Results: []ToolResult{{ID: m.Get("call_id").Str(), Text: textOf(m.Get("output"))}}})
		case "", "message":
			q.add(Message{Role: m.Get("role").Str(), Text: textOf(m.Get("content"))})
		}
	}
}
