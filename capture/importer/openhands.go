package importer

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// OpenHands keeps a session as events {id, timestamp, source, message, action
// | observation, args | content, cause, llm_metrics | tool_call_metadata}: an
// array, one per line, or under history in the output of its evaluation. An
// observation names the action that it answers as its cause. The events of its
// SDK have a kind, and tools by the id of their call.

func isOpenHands(s *source) bool {
	if len(s.list) == 0 {
		return false
	}
	for _, v := range s.openHands() {
		if m := members(v); m.has("source") && (m.has("action") || m.has("observation") || m.has("llm_message")) {
			return true
		}
	}
	return false
}

// openHands returns the events of the file, those under history included.
func (s *source) openHands() (out []jsontext.Value) {
	for _, v := range s.list {
		h := members(v).list("history")
		if len(h) == 0 {
			out = append(out, v)
		}
		for _, e := range h { // older versions: pairs of action and observation
			if pair, err := elements(e, maxElements); err == nil && len(pair) > 0 {
				out = append(out, pair...)
			} else {
				out = append(out, e)
			}
		}
	}
	return out
}

func readOpenHands(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	for _, v := range s.openHands() {
		m := members(v)
		at := m.str("timestamp")
		id := ""
		if n, ok := m.num("id"); ok {
			id = strconv.FormatInt(n, 10)
		}
		switch action, seen := m.str("action"), m.str("observation"); {
		case m.str("kind") == "ActionEvent":
			k.answer("openhands", at, v).tools = []string{m.str("tool_name")}
			k.tool(m.str("tool_call_id"), m.str("tool_name"), at, m["action"])
		case m.str("kind") == "ObservationEvent":
			k.result(m.str("tool_call_id"), at, v)
		case action != "" && m.str("source") == "agent" && action != "message" && action != "finish" && action != "think":
			a := k.answer("openhands", at, v)
			a.openHands(m)
			a.tools = []string{action}
			k.tool(id, action, at, m["args"])
		case action != "" && m.str("source") == "agent":
			k.answer("openhands", at, v).openHands(m)
		case seen != "" && m.has("cause"):
			cause, _ := m.num("cause")
			k.result(strconv.FormatInt(cause, 10), at, v)
		default:
			k.say(roleOf(m), at, v)
		}
	}
	return k.tape("openhands")
}

// openHands takes what the answer behind an action says of itself.
func (t *turn) openHands(m object) {
	r := m.obj("tool_call_metadata").obj("model_response")
	t.model = r.str("model")
	u := r.obj("usage")
	in, _ := u.num("prompt_tokens")
	out, _ := u.num("completion_tokens")
	t.usage = usageOf(in, out, 0, 0, 0)
}
