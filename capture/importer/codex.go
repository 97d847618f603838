package importer

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture"
)

// Codex keeps a session ("rollout") as one JSON object per line:
// {timestamp, type, payload}, where the payload of a response_item is an item
// of OpenAI's Responses API. Older versions wrote a line of their own and then
// the items bare. Items that follow one another are one answer, until its
// tokens are told, a tool gives something, or somebody says something. Seen:
// what 0.169.0 wrote, and those formats of before in files made by hand.

func isCodex(s *source) bool {
	if !s.lines || len(s.list) == 0 {
		return false
	}
	for _, v := range s.list[:min(len(s.list), 20)] {
		switch m := members(v); m.str("type") {
		case "session_meta", "response_item", "turn_context", "event_msg":
			return m.has("payload")
		}
	}
	first := s.first
	return len(s.list) > 1 && first.has("id", "timestamp") && !first.has("type") && (first.has("instructions") || first.has("git"))
}

func readCodex(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	c := codexReader{talk: k, open: -1}
	for i, v := range s.list {
		c.line(i, v)
	}
	return k.tape("codex")
}

type codexReader struct {
	*talk
	model string
	open  int // the turn of the answer that more items may belong to; -1: none
}

func (c *codexReader) line(i int, v jsontext.Value) {
	line := members(v)
	at, item := line.str("timestamp"), v
	switch t := line.str("type"); t {
	case "response_item":
		item = line["payload"]
	case "turn_context":
		if m := line.obj("payload").str("model"); m != "" {
			c.model = m
		}
		c.say(t, at, item)
		return
	case "event_msg":
		// Most repeat what the items say; older versions told only here what
		// tokens were used.
		if p := line.obj("payload"); p.str("type") == "token_count" {
			c.tokens(p.obj("info").obj("last_token_usage"))
		}
		c.say(t, at, v)
		return
	case "token_usage_record":
		c.tokens(line.obj("payload").obj("usage"))
		c.say(t, at, v)
		return
	case "session_meta", "compacted", "world_state":
		c.say(t, at, v)
		return
	}
	if i == 0 && line.str("type") == "" || line.has("record_type") {
		c.say("session_meta", at, v)
		return
	}
	c.put(item, at)
}

// put adds an item to the answer that it belongs to, or by itself.
func (c *codexReader) put(item jsontext.Value, at string) {
	m := members(item)
	switch t := m.str("type"); {
	case isCodexAnswer(m):
		if c.open < 0 {
			c.open = len(c.turns)
			c.answer("responses", at, item).model = c.model
		} else {
			c.extend(c.open, item)
		}
		if c.err == nil && t != "message" && t != "reasoning" {
			name := m.first("name", "type")
			c.turns[c.open].tools = append(c.turns[c.open].tools, name)
			c.item(item, at, c.model)
		}
	default:
		c.open = -1
		c.item(item, at, c.model)
	}
}

// isCodexAnswer reports whether a model made the item.
func isCodexAnswer(m object) bool {
	switch m.str("type") {
	case "message":
		return m.str("role") == "assistant"
	case "reasoning", "function_call", "custom_tool_call", "local_shell_call", "shell_call", "web_search_call", "image_generation_call", "tool_search_call", "mcp_call", "computer_call":
		return true
	default:
		return false
	}
}

// tokens gives the answer before it the tokens that it took, and ends it.
func (c *codexReader) tokens(u object) {
	if u == nil {
		return
	}
	c.open = -1
	for i := len(c.turns) - 1; i >= 0; i-- {
		t := &c.turns[i]
		if t.kind != capture.KindModel {
			continue
		}
		if t.usage == nil {
			in, _ := u.num("input_tokens")
			out, _ := u.num("output_tokens")
			read, _ := u.num("cached_input_tokens")
			think, _ := u.num("reasoning_output_tokens")
			t.usage = usageOf(in, out, read, 0, think)
		}
		return
	}
}

// item adds an item of the Responses API.
func (k *talk) item(v jsontext.Value, at, model string) {
	m := members(v)
	id := m.first("call_id", "id")
	switch t := m.str("type"); t {
	case "message":
		if m.str("role") != "assistant" {
			k.say(roleOf(m), at, v)
			return
		}
		k.answer("responses", at, v).model = model
	case "function_call", "custom_tool_call", "local_shell_call", "mcp_call", "tool_search_call", "shell_call", "computer_call":
		name := m.str("name")
		if name == "" {
			name = t
		}
		k.tool(id, name, at, v)
		if k.err == nil && (m.has("output") && m["output"].Kind() != 'n') {
			k.result(id, at, plain(m["output"]))
		}
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "shell_call_output", "computer_call_output":
		if m.has("output") {
			k.result(id, at, plain(m["output"]))
		} else {
			k.result(id, at, v)
		}
	default:
		if t == "" {
			t = roleOf(m)
		}
		k.say(t, at, v)
	}
}
