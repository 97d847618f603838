package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// Cassettes of calls over gRPC: interactions of {request_sample,
// response_sample} or with names that begin so, each {json, raw}, as
// pydantic-ai records one provider. They have no path and no header, so they
// are kept as what was said.

func isGRPC(s *source) bool {
	return slices.ContainsFunc(s.top.list("interactions"), func(v jsontext.Value) bool {
		m := members(v)
		return !m.has("request") && m.part("request_") != nil
	})
}

func readGRPC(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	for _, v := range s.top.list("interactions") {
		m := members(v)
		i := k.add(turn{kind: capture.KindModel, name: "grpc", class: effect.Read, ask: m.part("request_"), reply: m.part("response_")})
		if k.err != nil {
			break
		}
		answer := members(k.turns[i].reply)
		k.turns[i].model = answer.str("model")
		u := answer.obj("usage")
		in, _ := u.num("prompt_tokens")
		out, _ := u.num("completion_tokens")
		think, _ := u.num("reasoning_tokens")
		read, _ := u.num("cached_prompt_text_tokens")
		k.turns[i].usage = usageOf(in, out+think, min(read, in), 0, think)
	}
	return k.tape("grpc")
}

// part returns what the first member whose name begins with prefix holds as
// JSON.
func (o object) part(prefix string) []byte {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if m := members(o[name]); m.has("json") {
			return plain(m["json"])
		}
		return plain(o[name])
	}
	return nil
}
