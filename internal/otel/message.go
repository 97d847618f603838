package otel

import (
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// input returns the messages of a request in the form of the conventions:
// [{role, parts: [{type, …}]}]. A part whose kind the conventions do not have
// keeps its own form.
func input(request canon.Value) canon.Value {
	var out []canon.Value
	for _, name := range []string{"system", "systemInstruction", "system_instruction", "instructions"} {
		if v := request.Get(name); !v.IsZero() && !v.IsNull() {
			out = append(out, message("system", v))
			break
		}
	}
	for _, name := range []string{"messages", "contents", "input"} {
		switch v := request.Get(name); v.Kind() {
		case canon.KindArray:
			for _, m := range v.Elems() {
				out = append(out, oneMessage(m))
			}
		case canon.KindString:
			out = append(out, message("user", v))
		default:
		}
	}
	if p := request.Get("prompt").Str(); p != "" && len(out) == 0 {
		out = append(out, message("user", canon.String(p)))
	}
	return canon.Array(out...)
}

// oneMessage reads a message of OpenAI, Anthropic or Gemini, or an item of the
// Responses API.
func oneMessage(m canon.Value) canon.Value {
	role := m.Get("role").Str()
	switch t := m.Get("type").Str(); {
	case t == "function_call":
		return withParts("assistant", toolCall(m.Get("call_id"), m.Get("name"), m.Get("arguments")))
	case t == "function_call_output":
		return withParts("tool", toolResult(m.Get("call_id"), m.Get("output")))
	case m.Kind() == canon.KindString:
		return message("user", m)
	case role == "model":
		role = "assistant"
	case role == "":
		role = "user"
	}
	if role == "tool" && m.Has("tool_call_id") {
		return withParts(role, toolResult(m.Get("tool_call_id"), m.Get("content")))
	}
	content := m.Get("content")
	if content.IsZero() {
		content = m.Get("parts")
	}
	parts := partsOf(content)
	for _, c := range m.Get("tool_calls").Elems() {
		f := c.Get("function")
		parts = append(parts, toolCall(c.Get("id"), f.Get("name"), f.Get("arguments")))
	}
	return withParts(role, parts...)
}

func message(role string, content canon.Value) canon.Value {
	if content.Has("parts") {
		content = content.Get("parts")
	}
	return withParts(role, partsOf(content)...)
}

func withParts(role string, parts ...canon.Value) canon.Value {
	return canon.Object(canon.M("role", canon.String(role)), canon.M("parts", canon.Array(parts...)))
}

func partsOf(content canon.Value) []canon.Value {
	if s, ok := content.AsString(); ok {
		return []canon.Value{textPart(s)}
	}
	var out []canon.Value
	for _, p := range content.Elems() {
		switch {
		case p.Get("type").Str() == "tool_use":
			out = append(out, toolCall(p.Get("id"), p.Get("name"), p.Get("input")))
		case p.Get("type").Str() == "tool_result":
			out = append(out, toolResult(p.Get("tool_use_id"), p.Get("content")))
		case p.Has("functionCall"):
			f := p.Get("functionCall")
			out = append(out, toolCall(f.Get("id"), f.Get("name"), f.Get("args")))
		case p.Has("functionResponse"):
			f := p.Get("functionResponse")
			out = append(out, toolResult(f.Get("id"), f.Get("response")))
		case p.Has("text"):
			out = append(out, textPart(p.Get("text").Str()))
		case p.Has("type"):
			out = append(out, p)
		default:
			out = append(out, canon.Object(canon.M("type", canon.String("other")), canon.M("content", p)))
		}
	}
	return out
}

func textPart(s string) canon.Value {
	return canon.Object(canon.M("type", canon.String("text")), canon.M("content", canon.String(s)))
}

func toolCall(id, name, arguments canon.Value) canon.Value {
	return part("tool_call", id).With("name", canon.String(name.Str())).With("arguments", arguments.OrNull())
}

func toolResult(id, result canon.Value) canon.Value {
	return part("tool_call_response", id).With("response", result.OrNull())
}

func part(kind string, id canon.Value) canon.Value {
	v := canon.Object(canon.M("type", canon.String(kind)))
	if s := id.Str(); s != "" {
		v = v.With("id", canon.String(s))
	}
	return v
}

// output returns what was answered, put together where it was streamed.
func output(c *insight.Call, reasons []string) canon.Value {
	var parts []canon.Value
	if c.Text != "" {
		parts = append(parts, textPart(c.Text))
	}
	for _, name := range c.Tools() {
		parts = append(parts, toolCall(canon.Value{}, canon.String(name), canon.Value{}))
	}
	if len(parts) == 0 {
		return canon.Array()
	}
	m := withParts("assistant", parts...)
	if len(reasons) > 0 {
		m = m.With("finish_reason", canon.String(reasons[0]))
	}
	return canon.Array(m)
}
