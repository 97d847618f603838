package protocol

import "github.com/reprise-dev/reprise/kernel/canon"

// Ollama's own API: lines of JSON, the last of which says the usage.

func speaksOllama(v canon.Value) bool {
	return v.Has("prompt_eval_count") || v.Has("eval_count") || v.Has("done") && v.Has("created_at")
}

func (r *Reader) ollama(v canon.Value) {
	m := v.Get("message")
	r.text.WriteString(m.Get("content").Str())
	r.text.WriteString(v.Get("response").Str())
	for _, t := range m.Get("tool_calls").Elems() {
		f := t.Get("function")
		r.call("", t.Get("id").Str(), f.Get("name").Str(), asText(f.Get("arguments")))
	}
	r.stop(v.Get("done_reason").Str())
	in, ok := number(v, "prompt_eval_count")
	out, ok2 := number(v, "eval_count")
	if ok || ok2 {
		r.usage = usage{seen: true, input: in, output: out}
	}
}

func askOllama(q *Request, v canon.Value) {
	if s := v.Get("system").Str(); s != "" {
		q.add(Message{Role: "system", Text: s})
	}
	if !v.Has("stream") {
		q.Stream = true // unless it is told not to
	}
	askOpenAI(q, v)
}
