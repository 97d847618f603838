package protocol

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// OpenAI's chat completions, completions and embeddings, as they themselves,
// Azure, Mistral, Groq, xAI, DeepSeek, OpenRouter, vLLM, LiteLLM and many more
// speak them.

func speaksOpenAI(v canon.Value) bool {
	object := v.Get("object").Str()
	u := v.Get("usage")
	return v.Has("choices") || object == "list" || strings.HasPrefix(object, "chat.completion") || object == "conversation.response" ||
		u.Has("prompt_tokens") || u.Has("total_tokens") || u.Has("input_tokens")
}

func (r *Reader) openai(v canon.Value) {
	for i, c := range v.Get("choices").Elems() {
		choice := c.Get("index")
		if choice.IsZero() {
			choice = canon.Int(int64(i))
		}
		r.chatMessage(c.Get("message"), "")
		r.chatMessage(c.Get("delta"), choice.String()+"/")
		r.text.WriteString(c.Get("text").Str())
		r.stop(c.Get("finish_reason").Str())
	}
	u := v.Get("usage")
	if u.Kind() != canon.KindObject {
		u = v.Get("x_groq").Get("usage")
	}
	r.openaiUsage(u)
}

// chatMessage takes a message, or with a key the part of one.
func (r *Reader) chatMessage(m canon.Value, key string) {
	r.parts(m.Get("content"))
	for i, t := range m.Get("tool_calls").Elems() {
		k := ""
		if key != "" {
			at := t.Get("index")
			if at.IsZero() {
				at = canon.Int(int64(i))
			}
			k = key + at.String()
			if id := t.Get("id").Str(); id != "" && r.open[k] < len(r.answer.Calls) && len(r.answer.Calls) > 0 && r.answer.Calls[r.open[k]].ID != id {
				delete(r.open, k) // some servers number every call 0
			}
		}
		f := t.Get("function")
		r.call(k, t.Get("id").Str(), f.Get("name").Str(), asText(f.Get("arguments")))
	}
	if f := m.Get("function_call"); !f.IsZero() {
		k := ""
		if key != "" {
			k = key + "function"
		}
		r.call(k, "", f.Get("name").Str(), asText(f.Get("arguments")))
	}
}

// parts takes the text of a content: a text, or parts of which some are texts.
func (r *Reader) parts(content canon.Value) {
	r.text.WriteString(content.Str())
	for _, p := range content.Elems() {
		r.text.WriteString(p.Get("text").Str())
	}
}

func (r *Reader) openaiUsage(u canon.Value) {
	input, ok := number(u, "prompt_tokens")
	output := count(u, "completion_tokens")
	if !ok {
		if u.Has("input_tokens") { // transcriptions and images
			r.responsesUsage(u)
			return
		}
		// Embeddings and rerankings of some providers know a total only.
		if input, ok = number(u, "total_tokens"); !ok {
			return
		}
	}
	r.usage = usage{
		seen: true, inclusive: true, thinking: !u.Has("reasoning_tokens"), input: input, output: output,
		// DeepSeek, and xAI over gRPC, have names of their own.
		read:      max(count(u, "prompt_tokens_details", "cached_tokens"), count(u, "prompt_cache_hit_tokens"), count(u, "cached_prompt_text_tokens")),
		write:     count(u, "prompt_tokens_details", "cache_write_tokens"),
		reasoning: max(count(u, "completion_tokens_details", "reasoning_tokens"), count(u, "reasoning_tokens")),
	}
	// xAI and others count the reasoning beside the completion: then only the
	// three together are the total.
	if total, ok := number(u, "total_tokens"); ok {
		switch reasoning := r.usage.reasoning; {
		case total == input+output:
		case reasoning > 0 && total == input+output+reasoning:
			r.usage.thinking = false
		default:
			r.answer.Unpriced = "the tokens do not add up to the total that is stated"
		}
	}
	r.modalities(u.Get("prompt_tokens_details"), u.Get("completion_tokens_details"))
	r.state(u.Get("cost"))
}

// modalities notes tokens whose price is not that of text.
func (r *Reader) modalities(details ...canon.Value) {
	for _, d := range details {
		for _, kind := range []string{"audio", "image", "video"} {
			if count(d, kind+"_tokens") > 0 {
				r.answer.Unpriced = "tokens of " + kind + " have prices of their own"
			}
		}
	}
}

func askOpenAI(q *Request, v canon.Value) {
	for _, m := range v.Get("messages").Elems() {
		q.chat(m)
	}
	for _, name := range []string{"prompt", "input"} {
		q.inputs(v.Get(name))
	}
	for _, t := range v.Get("tools").Elems() {
		q.offer(t.Get("function").Get("name").Str())
	}
	for _, f := range v.Get("functions").Elems() {
		q.offer(f.Get("name").Str())
	}
}

// chat takes one message in the form of chat completions.
func (q *Request) chat(m canon.Value) {
	out := Message{Role: m.Get("role").Str(), Text: textOf(m.Get("content"))}
	for _, t := range m.Get("tool_calls").Elems() {
		f := t.Get("function")
		out.Calls = append(out.Calls, ToolCall{ID: t.Get("id").Str(), Name: f.Get("name").Str(), Arguments: asText(f.Get("arguments"))})
	}
	switch out.Role {
	case "tool", "function":
		name := m.Get("name").Str()
		if name == "" {
			name = m.Get("tool_name").Str() // Ollama
		}
		out.Results = []ToolResult{{ID: m.Get("tool_call_id").Str(), Name: name, Text: out.Text}}
		out.Text = ""
	}
	q.add(out)
}
