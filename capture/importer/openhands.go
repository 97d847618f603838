package importer

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// OpenHands keeps a session as events {id, timestamp, source, message, action
// | observation, args | content, cause, llm_metrics | tool_call_metadata}: an
// array, one per line, or under history in the output of its evaluation. An
// observation names the action that it answers as its cause.

func isOpenHands(s *source) bool {
	if len(s.list) == 0 {
		return false
	}
	for _, v := range s.openHands() {
		if m := members(v); m.has("source") && (m.has("action") || m.has("observation")) {
			return true
		}
	}
	return false
}

// openHands returns the events of the file, those under history included.
func (s *source) openHands() (out []jsontext.Value) {
	for _, v := range s.list {
		if h := members(v).list("history"); len(h) > 0 {
			out = append(out, h...)
		} else {
			out = append(out, v)
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
