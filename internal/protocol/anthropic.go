package protocol

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Anthropic's messages: their own, and on Vertex and Bedrock.

func speaksAnthropic(v canon.Value) bool {
	switch v.Get("type").Str() {
	case "message", "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta", "content_block_stop", "completion":
		return true
	default:
		return v.Has("completion") && v.Has("stop_reason") // before messages
	}
}

func (r *Reader) anthropic(v canon.Value) {
	key := v.Get("index").String() + "#"
	switch v.Get("type").Str() {
	case "message":
		for _, c := range v.Get("content").Elems() {
			r.text.WriteString(c.Get("text").Str())
			if isToolUse(c) {
				r.call("", c.Get("id").Str(), c.Get("name").Str(), asText(c.Get("input")))
			}
		}
		r.stop(v.Get("stop_reason").Str())
		r.anthropicUsage(v.Get("usage"))
	case "message_start":
		r.anthropicUsage(v.Get("message").Get("usage"))
	case "message_delta":
		r.stop(v.Get("delta").Get("stop_reason").Str())
		r.anthropicUsage(v.Get("usage"))
	case "content_block_start":
		c := v.Get("content_block")
		r.text.WriteString(c.Get("text").Str())
		if isToolUse(c) {
			delete(r.open, key)
			r.call(key, c.Get("id").Str(), c.Get("name").Str(), "")
		}
	case "content_block_delta":
		d := v.Get("delta")
		r.text.WriteString(d.Get("text").Str())
		if d.Get("type").Str() == "input_json_delta" {
			r.call(key, "", "", d.Get("partial_json").Str())
		}
	case "message_stop":
		r.close()
		r.metrics(v)
	default:
		r.text.WriteString(v.Get("completion").Str())
		r.stop(v.Get("stop_reason").Str())
		r.metrics(v)
	}
}

func isToolUse(block canon.Value) bool {
	switch block.Get("type").Str() {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return true
	default:
		return false
	}
}

// anthropicUsage takes counts that are cumulative: a later one replaces the
// one before.
func (r *Reader) anthropicUsage(u canon.Value) {
	if !u.Has("output_tokens") && !u.Has("input_tokens") {
		return
	}
	r.usage.seen = true
	for _, f := range []struct {
		name string
		to   *int64
	}{
		{"input_tokens", &r.usage.input},
		{"output_tokens", &r.usage.output},
		{"cache_read_input_tokens", &r.usage.read},
		{"cache_creation_input_tokens", &r.usage.write},
	} {
		if n, ok := u.Get(f.name).AsInt(); ok {
			*f.to = n
		}
	}
	r.usage.hot = max(r.usage.hot, count(u, "cache_creation", "ephemeral_1h_input_tokens"))
}

func askAnthropic(q *Request, v canon.Value) {
	if s := textOf(v.Get("system")); s != "" {
		q.add(Message{Role: "system", Text: s})
	}
	for _, m := range v.Get("messages").Elems() {
		q.blocks(m)
	}
	if s := v.Get("prompt").Str(); s != "" {
		q.add(Message{Role: "user", Text: s})
	}
	for _, t := range v.Get("tools").Elems() {
		q.offer(t.Get("name").Str())
	}
	for _, one := range v.Get("requests").Elems() { // a batch
		if q.Model == "" {
			q.Model = one.Get("params").Get("model").Str()
		}
		askAnthropic(q, one.Get("params"))
	}
}

// blocks takes a message whose content is text or blocks.
func (q *Request) blocks(m canon.Value) {
	out := Message{Role: m.Get("role").Str(), Text: textOf(m.Get("content"))}
	for _, b := range m.Get("content").Elems() {
		typ := b.Get("type").Str()
		switch {
		case isToolUse(b):
			out.Calls = append(out.Calls, ToolCall{ID: b.Get("id").Str(), Name: b.Get("name").Str(), Arguments: asText(b.Get("input"))})
		case strings.HasSuffix(typ, "tool_result"):
			failed, _ := b.Get("is_error").AsBool()
			out.Results = append(out.Results, ToolResult{ID: b.Get("tool_use_id").Str(), Text: textOf(b.Get("content")), Failed: failed})
		}
	}
	q.add(out)
}
