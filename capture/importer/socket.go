package importer

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Cassettes of WebSockets: interactions of {kind: message, direction, data},
// as pydantic-ai records realtime sessions. The frames were parsed, so they
// are kept as what was said.

func isSocket(s *source) bool {
	l := s.top.list("interactions")
	return len(l) > 0 && isFrame(members(l[0]))
}

func isFrame(m object) bool {
	return m.has("direction") && (m.has("data") || m.has("kind"))
}

func readSocket(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	for _, v := range s.top.list("interactions") {
		m := members(v)
		name := strings.TrimSpace(m.str("direction") + " " + m.obj("data").str("type"))
		if name == "" {
			name = roleOf(m)
		}
		k.say(name, "", frame(m, v))
	}
	return k.tape("websocket")
}

// frame returns what was sent, or the whole of what is no message.
func frame(m object, v jsontext.Value) []byte {
	if d := plain(m["data"]); d != nil {
		return d
	}
	return v
}
