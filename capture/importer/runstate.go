package importer

import "github.com/reprise-dev/reprise/kernel/fault"

// OpenAI's Agents SDK saves a run as one object with $schemaVersion, the
// original input, the items that were generated and the answers of the model.

func isRunState(s *source) bool { return s.top.has("$schemaVersion", "current_agent") }

func readRunState(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	if s.top.obj("current_agent") == nil {
		return tape{}, fault.New(ErrMalformed, "importer.readRunState", "a run state whose agent is no mapping")
	}
	switch in := s.top["original_input"]; in.Kind() {
	case '[':
		for _, v := range s.top.list("original_input") {
			k.say(roleOf(members(v)), "", v)
		}
	case 'n', 0:
	default:
		k.say("user", "", plain(in))
	}
	for _, v := range s.top.list("model_responses") {
		r := members(v)
		a := k.answer("responses", "", v)
		u := r.obj("usage")
		in, _ := u.num("input_tokens")
		out, _ := u.num("output_tokens")
		a.usage = usageOf(in, out, 0, 0, 0)
	}
	answered := len(s.top.list("model_responses")) > 0
	for _, v := range s.top.list("generated_items") {
		item := members(v)
		raw, ok := item["raw_item"]
		switch t := item.str("type"); {
		case !ok || t == "":
			k.say("item", "", v)
		case t == "message_output_item" && answered || t == "tool_approval_item":
			k.say(t, "", v)
		default:
			k.item(raw, "", "")
		}
	}
	if len(k.turns) == 0 { // nothing was said yet: the state itself is all there is
		k.say("state", "", s.b)
	}
	return k.tape(versioned("openai-agents", s.top.str("$schemaVersion")))
}
