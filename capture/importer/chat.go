package importer

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Trajectories that are lists of messages in the form of OpenAI's chat:
// tau-bench's {task_id, reward, info, traj}, alone or in an array, its
// few-shot lines {messages_display}, and {messages}.

func isChat(s *source) bool {
	if isChatObject(s.top) {
		return true
	}
	if len(s.list) == 0 {
		return false
	}
	first := s.first
	return isChatObject(first) || first.has("messages_display")
}

// isChatObject reports whether o holds a list of messages that have roles.
func isChatObject(o object) bool {
	for _, name := range []string{"traj", "messages"} {
		if l := o.list(name); len(l) > 0 && members(l[0]).has("role", "content") {
			// A request of a model has messages, too, and names the model.
			return !o.has("modelPreferences") && !o.has("maxTokens") && !o.has("resultType")
		}
	}
	return false
}

func readChat(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	format := "chat"
	for i, v := range s.list {
		m := members(v)
		list := m.list("messages")
		switch {
		case m.has("traj"):
			format, list = "tau-bench", m.list("traj")
		case m.has("messages_display"):
			format = "tau-bench/few-shot"
			k.say("messages_display", "", plain(m["messages_display"]))
			continue
		case list == nil:
			return tape{}, fault.New(ErrMalformed, "importer.readChat", "element %d has no messages", i)
		}
		for _, c := range list {
			k.chat(c)
		}
		if m.has("reward") {
			k.say("reward", "", m["reward"])
		}
		if m.has("info") {
			k.say("info", "", m["info"])
		}
	}
	return k.tape(format)
}

// chat adds one message.
func (k *talk) chat(v jsontext.Value) {
	m := members(v)
	switch m.str("role") {
	case "assistant":
		a := k.answer("chat", m.str("timestamp"), v)
		a.model = m.str("model")
		calls := m.list("tool_calls")
		if f := m.obj("function_call"); f != nil && len(calls) == 0 {
			a.tools = append(a.tools, f.str("name"))
			k.tool(f.str("name"), f.str("name"), "", m["function_call"])
			return
		}
		for _, c := range calls {
			a.tools = append(a.tools, members(c).obj("function").str("name"))
		}
		for _, c := range calls {
			call := members(c)
			k.tool(call.str("id"), call.obj("function").str("name"), "", c)
		}
	case "tool", "function":
		id := m.first("tool_call_id", "name")
		if ids := m.list("tool_call_ids"); id == "" && len(ids) > 0 {
			id, _ = unquoted(ids[0])
		}
		k.result(id, "", plain(m["content"]))
	default:
		k.say(roleOf(m), m.str("timestamp"), v)
	}
}
