package importer

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/budget"
)

// Claude Code keeps a session as one JSON object per line: {type, message,
// uuid, parentUuid, sessionId, timestamp, …}, where message is one of
// Anthropic's; its stream-json output and its SDK have the same without ids.
// A message of several blocks may stand on several lines that share its id:
// they are one answer. What the program says in the place of an answer, such
// as that the model refused, it marks as a model's that is called <synthetic>.
// Seen: sessions that 2.0 and 2.1.329 wrote.

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
	answers := map[string]int{} // by the id of the message: its turn
	for _, v := range s.claudeCode() {
		line := members(v)
		at, msg := line.str("timestamp"), line.obj("message")
		switch t := line.str("type"); {
		case t == "assistant" && msg.str("model") == "<synthetic>":
			k.say("synthetic", at, line["message"])
		case t == "assistant" && msg != nil:
			k.claudeMessage(answers, at, line["message"], msg)
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

// claudeMessage adds an answer, or more of one.
func (k *talk) claudeMessage(answers map[string]int, at string, v jsontext.Value, msg object) {
	id := msg.str("id")
	i, more := answers[id]
	if !more {
		i = len(k.turns)
		k.answer("claude-code", at, v).model = msg.str("model")
	} else {
		k.extend(i, v)
	}
	if k.err != nil {
		return
	}
	if id != "" {
		answers[id] = i
	}
	a := &k.turns[i]
	if u := anthropicUsage(msg.obj("usage")); u != nil && (a.usage == nil || u.Output >= a.usage.Output) {
		a.usage = u // a line that was written while the answer came has fewer
	}
	blocks := msg.list("content")
	for _, b := range blocks {
		if block := members(b); isToolUse(block.str("type")) {
			a.tools = append(a.tools, block.str("name"))
		}
	}
	for _, b := range blocks {
		if block := members(b); block.str("type") == "tool_use" {
			k.tool(block.str("id"), block.str("name"), at, b)
		}
	}
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
