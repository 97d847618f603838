package protocol

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Cohere's chat in both versions, embeddings and rerankings.

var cohereEvents = []string{
	"message-start", "content-start", "content-delta", "content-end", "message-end",
	"tool-plan-delta", "tool-call-start", "tool-call-delta", "tool-call-end", "citation-start", "citation-end",
}

func speaksCohere(v canon.Value) bool {
	return v.Has("event_type") || v.Has("generation_id") || v.Get("meta").Has("billed_units") || v.Get("usage").Has("billed_units") ||
		v.Get("response").Get("meta").Has("billed_units") || slices.Contains(cohereEvents, v.Get("type").Str()) || v.Has("relevance_score")
}

func (r *Reader) cohere(v canon.Value) {
	switch v.Get("event_type").Str() {
	case "":
	case "stream-end": // says everything again
		r.stop(v.Get("finish_reason").Str())
		r.cohereUsage(v.Get("response").Get("meta"))
		for _, t := range v.Get("response").Get("tool_calls").Elems() {
			r.call("", "", t.Get("name").Str(), asText(t.Get("parameters")))
		}
		return
	default:
		r.text.WriteString(v.Get("text").Str())
		return
	}
	d := v.Get("delta")
	key := v.Get("index").String() + "#"
	switch v.Get("type").Str() {
	case "content-delta":
		r.text.WriteString(d.Get("message").Get("content").Get("text").Str())
	case "tool-call-start":
		t := d.Get("message").Get("tool_calls")
		r.call(key, t.Get("id").Str(), t.Get("function").Get("name").Str(), t.Get("function").Get("arguments").Str())
	case "tool-call-delta":
		r.call(key, "", "", d.Get("message").Get("tool_calls").Get("function").Get("arguments").Str())
	case "message-end":
		r.stop(d.Get("finish_reason").Str())
		r.cohereUsage(d.Get("usage"))
	default:
		r.text.WriteString(v.Get("text").Str())
		r.parts(v.Get("message").Get("content"))
		for _, t := range v.Get("message").Get("tool_calls").Elems() {
			r.call("", t.Get("id").Str(), t.Get("function").Get("name").Str(), t.Get("function").Get("arguments").Str())
		}
		for _, t := range v.Get("tool_calls").Elems() {
			r.call("", "", t.Get("name").Str(), asText(t.Get("parameters")))
		}
		for _, g := range v.Get("generations").Elems() {
			r.text.WriteString(g.Get("text").Str())
		}
		r.stop(v.Get("finish_reason").Str())
		r.cohereUsage(v.Get("meta"))
		r.cohereUsage(v.Get("usage"))
	}
}

// cohereUsage takes what is billed. Search units and images are no tokens.
func (r *Reader) cohereUsage(u canon.Value) {
	for _, name := range []string{"billed_units", "tokens"} {
		b := u.Get(name)
		in, ok := number(b, "input_tokens")
		out, ok2 := number(b, "output_tokens")
		if ok || ok2 {
			r.usage = usage{seen: true, input: in, output: out}
			return
		}
	}
}

func askCohere(q *Request, v canon.Value) {
	if s := v.Get("preamble").Str(); s != "" {
		q.add(Message{Role: "system", Text: s})
	}
	for _, m := range v.Get("chat_history").Elems() {
		q.add(Message{Role: m.Get("role").Str(), Text: m.Get("message").Str()})
	}
	for _, m := range v.Get("messages").Elems() {
		q.chat(m)
	}
	for _, name := range []string{"message", "prompt", "query"} {
		q.inputs(v.Get(name))
	}
	q.inputs(v.Get("texts"))
	for _, t := range v.Get("tool_results").Elems() {
		q.add(Message{Role: "tool", Results: []ToolResult{{Name: t.Get("call").Get("name").Str(), Text: asText(t.Get("outputs"))}}})
	}
	for _, t := range v.Get("tools").Elems() {
		name := t.Get("function").Get("name").Str()
		if name == "" {
			name = t.Get("name").Str()
		}
		q.offer(name)
	}
}
