package insight

import (
	"bytes"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Answer is what an answer of a model says of itself.
type Answer struct {
	Model string
	// Usage is absent if the answer does not say it.
	Usage *budget.Usage
	// Unpriced says why the listed prices do not hold for this answer, such as
	// a service tier; empty: they do.
	Unpriced string
	// Tools are the names of the tools that the answer asks for, in order.
	Tools []string
	// Text is what the answer says, put together from its parts.
	Text string
}

// Read reads the answer of a model: JSON, or server-sent events of JSON. What
// it does not recognise it leaves out.
func Read(contentType string, body []byte) Answer {
	r := reader{}
	if isEvents(contentType, body) {
		for data := range Events(body) {
			if v, err := canon.Parse(data); err == nil {
				r.message(v)
			}
		}
	} else if v, err := canon.Parse(body); err == nil {
		if v.Kind() == canon.KindArray { // Gemini streams a JSON array where it is not asked for events
			for _, e := range v.Elems() {
				r.message(e)
			}
		} else {
			r.message(v)
		}
	}
	return r.answer()
}

func isEvents(contentType string, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(contentType), "text/event-stream") {
		return true
	}
	// Recorders that keep no headers leave only the body to tell.
	return (contentType == "" || contentType == "application/octet-stream") && (bytes.HasPrefix(body, []byte("data:")) || bytes.HasPrefix(body, []byte("event:")))
}

// reader collects what one answer says, message by message.
type reader struct {
	Answer
	text  strings.Builder
	usage usage
}

// usage is as providers nest it; it is taken apart at the end, because
// Anthropic sends the input with the first message and the output with the
// last.
type usage struct {
	seen, inclusive                            bool // inclusive: input holds the cached tokens, output the reasoning
	input, output, read, write, reasoning, hot int64
}

func (r *reader) answer() Answer {
	a := r.Answer
	a.Text = r.text.String()
	if u := r.usage; u.seen {
		out := budget.Usage{Input: u.input, Output: u.output, CacheRead: u.read, CacheWrite: u.write, Reasoning: u.reasoning}
		if u.inclusive {
			out.Input -= u.read
			out.Output -= u.reasoning
		}
		if out.Input >= 0 && out.Output >= 0 {
			a.Usage = &out
		}
		if u.hot > 0 {
			a.Unpriced = "tokens were cached for longer than the listed price covers"
		}
	}
	return a
}

// message takes one JSON message in any of the known forms.
func (r *reader) message(v canon.Value) {
	r.model(v)
	r.tier(v)
	switch {
	case v.Has("usageMetadata") || v.Has("candidates"):
		r.gemini(v)
	case v.Get("object").Str() == "response":
		r.response(v)
	case strings.HasPrefix(v.Get("type").Str(), "response."):
		r.responseEvent(v)
	case v.Has("choices") || strings.HasPrefix(v.Get("object").Str(), "chat.completion"), v.Get("object").Str() == "list":
		r.chat(v)
	default:
		r.anthropic(v)
	}
}

func (r *reader) model(v canon.Value) {
	for _, at := range []canon.Value{v, v.Get("response"), v.Get("message")} {
		for _, name := range []string{"model", "modelVersion"} {
			if m := at.Get(name).Str(); m != "" {
				r.Model = m
			}
		}
	}
}

func (r *reader) tier(v canon.Value) {
	for _, at := range []canon.Value{v, v.Get("response"), v.Get("message").Get("usage"), v.Get("usage")} {
		switch t := at.Get("service_tier").Str(); t {
		case "", "auto", "default", "standard":
		default:
			r.Unpriced = "service tier " + t
		}
	}
}

func (r *reader) tool(name string) {
	if name != "" {
		r.Tools = append(r.Tools, name)
	}
}

func count(v canon.Value, names ...string) int64 {
	for _, n := range names[:len(names)-1] {
		v = v.Get(n)
	}
	n, _ := v.Get(names[len(names)-1]).AsInt()
	return n
}

func (r *reader) chat(v canon.Value) {
	for _, c := range v.Get("choices").Elems() {
		for _, m := range []canon.Value{c.Get("message"), c.Get("delta")} {
			r.text.WriteString(m.Get("content").Str())
			for _, t := range m.Get("tool_calls").Elems() {
				r.tool(t.Get("function").Get("name").Str())
			}
			r.tool(m.Get("function_call").Get("name").Str())
		}
		r.text.WriteString(c.Get("text").Str())
	}
	u := v.Get("usage")
	if !u.Has("prompt_tokens") {
		return
	}
	r.usage = usage{
		seen: true, inclusive: true,
		input: count(u, "prompt_tokens"), output: count(u, "completion_tokens"),
		read: count(u, "prompt_tokens_details", "cached_tokens"), reasoning: count(u, "completion_tokens_details", "reasoning_tokens"),
	}
}

func (r *reader) response(v canon.Value) {
	for _, o := range v.Get("output").Elems() {
		switch o.Get("type").Str() {
		case "message":
			for _, c := range o.Get("content").Elems() {
				r.text.WriteString(c.Get("text").Str())
			}
		case "function_call", "custom_tool_call":
			r.tool(o.Get("name").Str())
		}
	}
	r.responseUsage(v.Get("usage"))
}

func (r *reader) responseUsage(u canon.Value) {
	if !u.Has("input_tokens") {
		return
	}
	r.usage = usage{
		seen: true, inclusive: true,
		input: count(u, "input_tokens"), output: count(u, "output_tokens"),
		read: count(u, "input_tokens_details", "cached_tokens"), reasoning: count(u, "output_tokens_details", "reasoning_tokens"),
	}
}

func (r *reader) responseEvent(v canon.Value) {
	switch v.Get("type").Str() {
	case "response.output_text.delta":
		r.text.WriteString(v.Get("delta").Str())
	case "response.output_item.done":
		if t := v.Get("item").Get("type").Str(); t == "function_call" || t == "custom_tool_call" {
			r.tool(v.Get("item").Get("name").Str())
		}
	case "response.completed", "response.incomplete", "response.failed":
		r.responseUsage(v.Get("response").Get("usage"))
	}
}

func (r *reader) anthropic(v canon.Value) {
	switch v.Get("type").Str() {
	case "message":
		for _, c := range v.Get("content").Elems() {
			r.text.WriteString(c.Get("text").Str())
			if slices.Contains([]string{"tool_use", "server_tool_use", "mcp_tool_use"}, c.Get("type").Str()) {
				r.tool(c.Get("name").Str())
			}
		}
		r.anthropicUsage(v.Get("usage"))
	case "message_start":
		r.anthropicUsage(v.Get("message").Get("usage"))
	case "message_delta":
		r.anthropicUsage(v.Get("usage"))
	case "content_block_start":
		r.text.WriteString(v.Get("content_block").Get("text").Str())
		r.tool(v.Get("content_block").Get("name").Str())
	case "content_block_delta":
		r.text.WriteString(v.Get("delta").Get("text").Str())
	}
}

// anthropicUsage takes counts that are cumulative: a later one replaces the
// one before.
func (r *reader) anthropicUsage(u canon.Value) {
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

func (r *reader) gemini(v canon.Value) {
	for _, c := range v.Get("candidates").Elems() {
		for _, p := range c.Get("content").Get("parts").Elems() {
			if thought, _ := p.Get("thought").AsBool(); !thought {
				r.text.WriteString(p.Get("text").Str())
			}
			r.tool(p.Get("functionCall").Get("name").Str())
		}
	}
	u := v.Get("usageMetadata")
	if !u.Has("promptTokenCount") {
		return
	}
	read := count(u, "cachedContentTokenCount")
	r.usage = usage{
		seen: true, input: count(u, "promptTokenCount") + count(u, "toolUsePromptTokenCount") - read,
		output: count(u, "candidatesTokenCount"), read: read, reasoning: count(u, "thoughtsTokenCount"),
	}
}
