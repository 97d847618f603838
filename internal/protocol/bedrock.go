package protocol

import (
	"encoding/base64"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Bedrock's converse, whole and as a binary event stream; and invoke, whose
// bodies are those of the model: Nova and Titan, Llama; Claude's are read as
// Anthropic's.

func speaksBedrock(v canon.Value) bool {
	return v.Get("usage").Has("inputTokens") || v.Get("output").Has("message") || v.Has("contentBlockIndex") || v.Has("stopReason") ||
		v.Has("inputTextTokenCount") || v.Has("generation_token_count") || v.Has("totalOutputTextTokenCount") || v.Has(invocationMetrics) && !speaksAnthropic(v) ||
		v.Has("contentBlockDelta") || v.Has("contentBlockStart") || v.Get("metadata").Get("usage").Has("inputTokens") || v.Has("messageStop")
}

const invocationMetrics = "amazon-bedrock-invocationMetrics"

// event takes a frame of a binary stream. A chunk of invoke carries a message
// of the model, in base64.
func (r *Reader) event(e *Event) {
	v, err := canon.Parse(e.Payload)
	if err != nil {
		return
	}
	if b, ok := v.Get("bytes").AsString(); ok {
		if inner, err := base64.StdEncoding.DecodeString(b); err == nil {
			r.Message(inner)
		}
		return
	}
	r.message(v)
}

func (r *Reader) bedrock(v canon.Value) {
	for _, name := range []string{"contentBlockStart", "contentBlockDelta", "messageStop", "metadata"} {
		if inner := v.Get(name); inner.Kind() == canon.KindObject { // Nova names its events in the message
			r.bedrock(inner)
		}
	}
	for _, c := range v.Get("output").Get("message").Get("content").Elems() {
		r.text.WriteString(c.Get("text").Str())
		t := c.Get("toolUse")
		r.call("", t.Get("toolUseId").Str(), t.Get("name").Str(), asText(t.Get("input")))
	}
	key := v.Get("contentBlockIndex").String() + "#"
	if t := v.Get("start").Get("toolUse"); !t.IsZero() {
		delete(r.open, key)
		r.call(key, t.Get("toolUseId").Str(), t.Get("name").Str(), "")
	}
	d := v.Get("delta")
	r.text.WriteString(d.Get("text").Str())
	r.call(key, "", "", asText(d.Get("toolUse").Get("input")))
	r.text.WriteString(v.Get("generation").Str())
	r.text.WriteString(v.Get("outputText").Str())
	for _, t := range v.Get("results").Elems() {
		r.text.WriteString(t.Get("outputText").Str())
		r.stop(t.Get("completionReason").Str())
	}
	for _, name := range []string{"stopReason", "stop_reason", "completionReason"} {
		r.stop(v.Get(name).Str())
	}
	r.bedrockUsage(v)
	r.metrics(v)
}

func (r *Reader) bedrockUsage(v canon.Value) {
	u := v.Get("usage")
	switch {
	case u.Has("inputTokens"):
		r.usage = usage{
			seen: true, input: count(u, "inputTokens"), output: count(u, "outputTokens"),
			read:  max(count(u, "cacheReadInputTokens"), count(u, "cacheReadInputTokenCount")),
			write: max(count(u, "cacheWriteInputTokens"), count(u, "cacheWriteInputTokenCount")),
		}
		for _, d := range u.Get("cacheDetails").Elems() {
			if d.Get("ttl").Str() == "1h" {
				r.usage.hot = max(r.usage.hot, count(d, "inputTokens"))
			}
		}
	case v.Has("generation_token_count"): // Llama; in a stream the first says the prompt, each the sum so far
		if n, ok := number(v, "prompt_token_count"); ok {
			r.usage.input = n
		}
		r.usage.seen, r.usage.output = true, count(v, "generation_token_count")
	case v.Has("inputTextTokenCount"): // Titan
		r.usage = usage{seen: true, input: count(v, "inputTextTokenCount"), output: count(v, "totalOutputTextTokenCount")}
		for _, t := range v.Get("results").Elems() {
			r.usage.output += count(t, "tokenCount")
		}
	}
}

// metrics takes what Bedrock itself counted, if the model has not said it.
func (r *Reader) metrics(v canon.Value) {
	m := v.Get(invocationMetrics)
	if in, ok := number(m, "inputTokenCount"); ok && !r.usage.seen && len(r.before) == 0 {
		r.usage = usage{
			seen: true, input: in, output: count(m, "outputTokenCount"),
			read: count(m, "cacheReadInputTokenCount"), write: count(m, "cacheWriteInputTokenCount"),
		}
	}
}

// headers takes what the headers of an answer of Bedrock state, where its body
// states nothing.
func (r *Reader) headers(header func(string) string) {
	in, err := strconv.ParseInt(header("x-amzn-bedrock-input-token-count"), 10, 64)
	if err != nil || in < 0 || r.usage.seen || len(r.before) > 0 {
		return
	}
	// An embedding has no output.
	out, err := strconv.ParseInt(header("x-amzn-bedrock-output-token-count"), 10, 64)
	if err != nil || out < 0 {
		out = 0
	}
	if r.answer.Protocol == "" {
		r.answer.Protocol = Bedrock
	}
	r.usage = usage{
		seen: true, input: in, output: out,
		read:  atLeastZero(header("x-amzn-bedrock-cache-read-input-token-count")),
		write: atLeastZero(header("x-amzn-bedrock-cache-write-input-token-count")),
	}
}

func atLeastZero(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

func askBedrock(q *Request, v canon.Value) {
	if v.Has("anthropic_version") {
		q.Protocol = Anthropic
		askAnthropic(q, v)
		return
	}
	for _, s := range v.Get("system").Elems() {
		q.add(Message{Role: "system", Text: s.Get("text").Str()})
	}
	for _, m := range v.Get("messages").Elems() {
		out := Message{Role: m.Get("role").Str(), Text: textOf(m.Get("content"))}
		for _, b := range m.Get("content").Elems() {
			if t := b.Get("toolUse"); !t.IsZero() {
				out.Calls = append(out.Calls, ToolCall{ID: t.Get("toolUseId").Str(), Name: t.Get("name").Str(), Arguments: asText(t.Get("input"))})
			}
			if t := b.Get("toolResult"); !t.IsZero() {
				out.Results = append(out.Results, ToolResult{ID: t.Get("toolUseId").Str(), Text: textOf(t.Get("content")), Failed: t.Get("status").Str() == "error"})
			}
		}
		q.add(out)
	}
	for _, name := range []string{"inputText", "prompt", "message"} {
		q.inputs(v.Get(name))
	}
	q.inputs(v.Get("texts"))
	for _, t := range v.Get("toolConfig").Get("tools").Elems() {
		q.offer(t.Get("toolSpec").Get("name").Str())
	}
}
