package protocol

import "github.com/reprise-dev/reprise/kernel/canon"

// Gemini's generateContent: whole, as events, or as an array; interactions;
// embeddings; and Gemini Live over a WebSocket.

func speaksGemini(v canon.Value) bool {
	return v.Has("usageMetadata") || v.Has("candidates") || v.Has("serverContent") || v.Has("promptFeedback") ||
		v.Get("toolCall").Has("functionCalls") || v.Get("usage").Has("total_input_tokens") || v.Get("interaction").Get("usage").Has("total_input_tokens")
}

func (r *Reader) gemini(v canon.Value) {
	for _, c := range v.Get("candidates").Elems() {
		r.geminiParts(c.Get("content"))
		r.stop(c.Get("finishReason").Str())
	}
	for _, o := range v.Get("outputs").Elems() {
		r.text.WriteString(o.Get("text").Str())
	}
	r.geminiUsage(v.Get("usageMetadata"))
	r.interactionUsage(v.Get("usage"))
	r.interactionUsage(v.Get("interaction").Get("usage"))
	r.live(v)
}

func (r *Reader) geminiParts(content canon.Value) {
	for _, p := range content.Get("parts").Elems() {
		if thought, _ := p.Get("thought").AsBool(); !thought {
			r.text.WriteString(p.Get("text").Str())
		}
		r.functionCall(p.Get("functionCall"))
	}
}

func (r *Reader) functionCall(f canon.Value) {
	r.call("", f.Get("id").Str(), f.Get("name").Str(), asText(f.Get("args")))
}

// geminiUsage takes counts that grow: those of the last message hold, and one
// that it leaves out stays.
func (r *Reader) geminiUsage(u canon.Value) {
	u2 := &r.usage
	for _, f := range []struct {
		name string
		to   *int64
	}{
		{"promptTokenCount", &u2.input},
		{"candidatesTokenCount", &u2.output},
		{"responseTokenCount", &u2.output}, // Live
		{"cachedContentTokenCount", &u2.read},
		{"thoughtsTokenCount", &u2.reasoning},
	} {
		if n, ok := number(u, f.name); ok {
			*f.to, u2.seen, u2.inclusive = n, true, true
		}
	}
	// What the model's own tools put into the prompt is counted beside it.
	if n, ok := number(u, "toolUsePromptTokenCount"); ok {
		u2.input = count(u, "promptTokenCount") + n
	}
	for _, list := range []string{"promptTokensDetails", "candidatesTokensDetails", "responseTokensDetails"} {
		for _, d := range u.Get(list).Elems() {
			if m := d.Get("modality").Str(); m == "AUDIO" && count(d, "tokenCount") > 0 {
				r.answer.Unpriced = "tokens of audio have prices of their own"
			}
		}
	}
}

func (r *Reader) interactionUsage(u canon.Value) {
	if !u.Has("total_input_tokens") {
		return
	}
	r.usage = usage{
		seen: true, inclusive: true, input: count(u, "total_input_tokens") + count(u, "total_tool_use_tokens"),
		output: count(u, "total_output_tokens"), read: count(u, "total_cached_tokens"), reasoning: count(u, "total_thought_tokens"),
	}
}

// live takes a message of Gemini Live. Each turn says its own usage.
func (r *Reader) live(v canon.Value) {
	c := v.Get("serverContent")
	r.geminiParts(c.Get("modelTurn"))
	r.text.WriteString(c.Get("outputTranscription").Get("text").Str())
	for _, f := range v.Get("toolCall").Get("functionCalls").Elems() {
		r.functionCall(f)
	}
	if v.Get("usageMetadata").Has("responseTokenCount") {
		r.finish()
	}
}

func askGemini(q *Request, v canon.Value) {
	if setup := v.Get("setup"); setup.Kind() == canon.KindObject { // over a socket
		if q.Model == "" {
			q.Model = setup.Get("model").Str()
		}
		v = setup
	}
	for _, name := range []string{"systemInstruction", "system_instruction"} {
		if s := partsText(v.Get(name)); s != "" {
			q.add(Message{Role: "system", Text: s})
		}
	}
	contents := v.Get("contents").Elems()
	if len(contents) == 0 && v.Has("content") {
		contents = []canon.Value{v.Get("content")} // an embedding
	}
	for _, c := range contents {
		out := Message{Role: c.Get("role").Str(), Text: partsText(c)}
		if out.Role == "" {
			out.Role = "user"
		}
		for _, p := range c.Get("parts").Elems() {
			if f := p.Get("functionCall"); !f.IsZero() {
				out.Calls = append(out.Calls, ToolCall{ID: f.Get("id").Str(), Name: f.Get("name").Str(), Arguments: asText(f.Get("args"))})
			}
			if f := p.Get("functionResponse"); !f.IsZero() {
				out.Results = append(out.Results, ToolResult{ID: f.Get("id").Str(), Name: f.Get("name").Str(), Text: asText(f.Get("response"))})
			}
		}
		q.add(out)
	}
	if q.inputs(v.Get("input")); v.Has("requests") {
		for _, one := range v.Get("requests").Elems() {
			askGemini(q, one)
		}
	}
	for _, t := range v.Get("tools").Elems() {
		for _, name := range []string{"functionDeclarations", "function_declarations"} {
			for _, f := range t.Get(name).Elems() {
				q.offer(f.Get("name").Str())
			}
		}
	}
}

// partsText returns the text of a content of Gemini's form.
func partsText(content canon.Value) string {
	return textOf(content.Get("parts"))
}
