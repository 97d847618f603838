package importer

// Google's Agent Development Kit keeps sessions, {id, events: [{author,
// content, timestamp}]}, and evaluation sets, {eval_set_id, eval_cases:
// [{conversation: [{user_content, intermediate_data, final_response}]}]}, of
// which the oldest are arrays of {query, expected_tool_use, reference}.

func isADK(s *source) bool {
	if s.top.has("eval_cases") {
		return true
	}
	if e := s.top.list("events"); len(e) > 0 && members(e[0]).has("author") {
		return true
	}
	return !s.lines && s.first.has("query", "expected_tool_use")
}

func readADK(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	switch {
	case s.top.has("eval_cases"):
		for _, v := range s.top.list("eval_cases") {
			for _, c := range members(v).list("conversation") {
				k.adkTurn(members(c))
			}
		}
		return k.tape("adk/eval-set")
	case s.top.has("events"):
		for _, v := range s.top.list("events") {
			e := members(v)
			k.content(e["content"], string(plain(e["timestamp"])))
		}
		return k.tape("adk/session")
	default:
		for _, v := range s.list {
			m := members(v)
			k.say("user", "", plain(m["query"]))
			for _, u := range m.list("expected_tool_use") {
				use := members(u)
				k.tool("", use.str("tool_name"), "", u)
			}
			k.answer("expected", "", plain(m["reference"]))
		}
		return k.tape("adk/eval-list")
	}
}

func (k *talk) adkTurn(c object) {
	at := string(plain(c["creation_timestamp"]))
	k.content(c["user_content"], at)
	data := c.obj("intermediate_data")
	for _, u := range data.list("tool_uses") {
		f := members(u)
		k.tool(functionID(f), f.str("name"), at, u)
	}
	for _, r := range data.list("tool_responses") {
		k.result(functionID(members(r)), at, r)
	}
	for _, r := range data.list("intermediate_responses") {
		k.say("intermediate_response", at, r)
	}
	if f := c["final_response"]; f.Kind() == '{' {
		k.content(f, at)
	}
}
