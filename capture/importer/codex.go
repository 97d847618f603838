package importer

import "github.com/go-json-experiment/json/jsontext"

// Codex keeps a session ("rollout") as one JSON object per line:
// {timestamp, type, payload}, where the payload of a response_item is an item
// of OpenAI's Responses API. Older versions wrote a line of their own and then
// the items bare.

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
	model := ""
	for i, v := range s.list {
		line := members(v)
		at, item := line.str("timestamp"), v
		switch line.str("type") {
		case "response_item":
			item = line["payload"]
		case "turn_context":
			if m := line.obj("payload").str("model"); m != "" {
				model = m
			}
			k.say("turn_context", at, item)
			continue
		case "event_msg":
			// Most repeat what the items say; what tokens were used, only these.
			k.codexEvent(line.obj("payload"), at, v)
			continue
		case "session_meta", "compacted":
			k.say(line.str("type"), at, v)
			continue
		}
		if i == 0 && line.str("type") == "" || line.has("record_type") {
			k.say("session_meta", at, v)
			continue
		}
		k.item(item, at, model)
	}
	return k.tape("codex")
}

// codexEvent gives the answer before it the tokens that it took.
func (k *talk) codexEvent(p object, at string, line jsontext.Value) {
	if u := p.obj("info").obj("last_token_usage"); p.str("type") == "token_count" && u != nil {
		for i := len(k.turns) - 1; i >= 0; i-- {
			t := &k.turns[i]
			if t.kind != "model" {
				continue
			}
			if t.usage == nil {
				in, _ := u.num("input_tokens")
				out, _ := u.num("output_tokens")
				read, _ := u.num("cached_input_tokens")
				think, _ := u.num("reasoning_output_tokens")
				t.usage = usageOf(in, out, read, 0, think)
			}
			break
		}
	}
	k.say("event_msg", at, line)
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
