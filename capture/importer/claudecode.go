package importer

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/budget"
)

// Claude Code keeps a session as one JSON object per line: {type, message,
// uuid, parentUuid, sessionId, timestamp, …}, where message is one of
// Anthropic's; its stream-json output and its SDK have the same without ids.
// A message of several blocks may stand on several lines that share its id and
// its usage; the tokens are counted with the first.

func isClaudeCode(s *source) bool {
	list := s.claudeCode()
	for _, v := range list[:min(len(list), 50)] {
		m := members(v)
		if t := m.str("type"); (t == "assistant" || t == "user") && m.obj("message") != nil &&
			(m.has("sessionId") || m.has("session_id") || m.has("parent_tool_use_id")) {
			return true
		}
	}
	return false
}

// claudeCode returns the lines, or what an object has as its messages.
func (s *source) claudeCode() []jsontext.Value {
	if s.top.has("messages") {
		return s.top.list("messages")
	}
	return s.list
}

func readClaudeCode(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	seen := map[string]bool{}
	for _, v := range s.claudeCode() {
		line := members(v)
		at, msg := line.str("timestamp"), line.obj("message")
		switch t := line.str("type"); {
		case t == "assistant" && msg != nil:
			a := k.answer("claude-code", at, line["message"])
			a.model = msg.str("model")
			if id := msg.str("id"); id == "" || !seen[id] {
				seen[id] = true
				a.usage = anthropicUsage(msg.obj("usage"))
			} else {
				a.again = true
			}
			for _, b := range msg.list("content") {
				block := members(b)
				if isToolUse(block.str("type")) {
					a.tools = append(a.tools, block.str("name"))
				}
			}
			for _, b := range msg.list("content") {
				if block := members(b); block.str("type") == "tool_use" {
					k.tool(block.str("id"), block.str("name"), at, b)
				}
			}
		case t == "user" && msg != nil:
			said := false
			for _, b := range msg.list("content") {
				if block := members(b); block.str("type") == "tool_result" {
					k.result(block.str("tool_use_id"), at, b)
				} else {
					said = true
				}
			}
			if said || msg["content"].Kind() != '[' {
				k.say("user", at, line["message"])
			}
		case t == "":
			k.say("line", at, v)
		default:
			k.say(t, at, v)
		}
	}
	return k.tape("claude-code")
}

func isToolUse(t string) bool {
	return t == "tool_use" || t == "server_tool_use" || t == "mcp_tool_use"
}

// anthropicUsage returns what a message says of its tokens; what was cached is
// not part of its input.
func anthropicUsage(u object) *budget.Usage {
	in, _ := u.num("input_tokens")
	out, ok := u.num("output_tokens")
	read, _ := u.num("cache_read_input_tokens")
	write, _ := u.num("cache_creation_input_tokens")
	if !ok {
		return nil
	}
	return usageOf(in+read, out, read, write, 0)
}
