package importer

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/budget"
)

// gemini-cli writes four things: what --record-responses keeps, a line
// {method, response} for each answer; the chats of its sessions, {sessionId,
// messages: [{type, content, toolCalls, tokens, model, timestamp}]}, and in
// later versions the same as lines: a head, then messages, of which one with a
// known id is a fuller form of it, {"$set": {messages}} and {"$rewindTo": id};
// and what /chat save keeps, an array of {role, parts}. None of them has a
// request. Seen: answers of many versions, a session of 0.61.0 as lines, and
// the others in files made by hand.

func isGeminiResponses(s *source) bool {
	if !s.lines || len(s.list) == 0 {
		return false
	}
	m := s.first
	return m.has("method", "response") && isGeminiMethod(m.str("method"))
}

func isGeminiMethod(m string) bool {
	return strings.HasPrefix(m, "generate") || m == "countTokens" || m == "embedContent"
}

func readGeminiResponses(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	for _, v := range s.list {
		m := members(v)
		if !m.has("method", "response") {
			k.say("line", "", v)
			continue
		}
		a := k.answer(m.str("method"), "", m["response"])
		a.why = []Reason{ResponseParsed}
		if m["response"].Kind() == '[' {
			for _, c := range m.list("response") {
				a.gemini(members(c))
			}
		} else {
			a.gemini(m.obj("response"))
		}
	}
	return k.tape("gemini-cli/responses")
}

// gemini takes what an answer, or a part of one, says beside its text.
func (t *turn) gemini(o object) {
	if m := o.str("modelVersion"); m != "" {
		t.model = m
	}
	if u := o.obj("usageMetadata"); u != nil {
		if n := geminiUsage(u); n != nil {
			t.usage = n
		}
	}
	for _, c := range o.list("candidates") {
		for _, p := range members(c).obj("content").list("parts") {
			if f := members(p).obj("functionCall"); f != nil {
				t.tools = append(t.tools, f.str("name"))
			}
		}
	}
}

func geminiUsage(u object) *budget.Usage {
	in, _ := u.num("promptTokenCount")
	tool, _ := u.num("toolUsePromptTokenCount")
	out, _ := u.num("candidatesTokenCount")
	read, _ := u.num("cachedContentTokenCount")
	think, _ := u.num("thoughtsTokenCount")
	return usageOf(in+tool, out+think, read, 0, think)
}

func isGeminiChat(s *source) bool {
	return isGeminiLines(s) || s.top.has("sessionId", "messages") && (s.top.has("projectHash") || s.top.has("startTime")) || isContents(s)
}

// isGeminiLines reports whether the file is a session as lines.
func isGeminiLines(s *source) bool {
	return s.lines && s.first.has("sessionId", "projectHash") && !s.first.has("messages")
}

// isContents reports whether the file is an array of Gemini's contents.
func isContents(s *source) bool {
	return !s.lines && s.first.has("role", "parts")
}

func readGeminiChat(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	if isContents(s) {
		for _, v := range s.list {
			k.content(v, "")
		}
		return k.tape("gemini/contents")
	}
	list, format := s.top.list("messages"), "gemini-cli/session"
	if isGeminiLines(s) {
		list, format = geminiLines(s.list), "gemini-cli/lines"
	}
	for _, v := range list {
		k.geminiMessage(v)
	}
	return k.tape(format)
}

// geminiLines returns the messages of a session's lines in the order in which
// they were first written, each in its fullest form. What was taken back later
// was said all the same. Other lines stay where they are, but for those that
// only say when the file was written.
func geminiLines(lines []jsontext.Value) (out []jsontext.Value) {
	known := map[string]int{}
	add := func(v jsontext.Value, replace bool) {
		id := members(v).str("id")
		i, ok := known[id]
		switch {
		case id == "" || !ok:
			known[id] = len(out)
			out = append(out, v)
		case replace:
			out[i] = v
		}
	}
	for i, v := range lines {
		m := members(v)
		switch set := m.obj("$set"); {
		case i == 0 || set.has("lastUpdated") && len(set) == 1:
		case set.has("messages"):
			for _, w := range set.list("messages") {
				add(w, false)
			}
		default:
			add(v, true)
		}
	}
	return out
}

// geminiMessage adds a message of a session, and the tools that it asks for.
func (k *talk) geminiMessage(v jsontext.Value) {
	m := members(v)
	at := m.str("timestamp")
	if t := m.str("type"); t != "gemini" && t != "assistant" {
		k.say(roleOf(m), at, v)
		return
	}
	a := k.answer("gemini-cli", at, v)
	a.model = m.str("model")
	u := m.obj("tokens")
	in, _ := u.num("input")
	out, _ := u.num("output")
	read, _ := u.num("cached")
	think, _ := u.num("thoughts")
	tool, _ := u.num("tool")
	a.usage = usageOf(in+tool, out+think, read, 0, think)
	calls := m.list("toolCalls")
	for _, c := range calls {
		a.tools = append(a.tools, members(c).str("name"))
	}
	for _, c := range calls {
		call := members(c)
		k.tool(call.str("id"), call.str("name"), call.str("timestamp"), call["args"])
		if r := call["result"]; len(r) > 0 && call.str("id") != "" {
			k.result(call.str("id"), "", plain(r))
		}
	}
}

// content adds a {role, parts} of Gemini's.
func (k *talk) content(v jsontext.Value, at string) {
	m := members(v)
	parts := m.list("parts")
	if m.str("role") == "model" {
		a := k.answer("generateContent", at, v)
		for _, p := range parts {
			if f := function(members(p), "functionCall", "function_call"); f != nil {
				a.tools = append(a.tools, f.str("name"))
			}
		}
		for _, p := range parts {
			if f := function(members(p), "functionCall", "function_call"); f != nil {
				k.tool(functionID(f), f.str("name"), at, p)
			}
		}
		return
	}
	said := false
	for _, p := range parts {
		if f := function(members(p), "functionResponse", "function_response"); f != nil {
			k.result(functionID(f), at, p)
		} else {
			said = true
		}
	}
	if said || len(parts) == 0 {
		k.say(roleOf(m), at, v)
	}
}

func function(p object, names ...string) object {
	for _, n := range names {
		if f := p.obj(n); f != nil {
			return f
		}
	}
	return nil
}

// functionID returns what ties a function's response to its call: the id, or
// where Gemini gives none the name, of which the last call counts.
func functionID(f object) string { return f.first("id", "name") }
