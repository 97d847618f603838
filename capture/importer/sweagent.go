package importer

import "github.com/reprise-dev/reprise/kernel/effect"

// SWE-agent's .traj is {environment, trajectory: [{action, observation,
// response, thought, state}], history, info}; a demonstration has the history
// alone. Each step is an answer of the model and the command that it led to.

func isSWEAgent(s *source) bool {
	if steps := s.top.list("trajectory"); s.top.has("trajectory") {
		return len(steps) == 0 && s.top.has("history") || len(steps) > 0 && members(steps[0]).has("action", "observation")
	}
	h := s.top.list("history")
	return len(h) > 0 && members(h[0]).has("role", "content")
}

func readSWEAgent(s *source, o *Options) (tape, error) {
	k := newTalk(o)
	steps := s.top.list("trajectory")
	for _, v := range s.top.list("history") {
		// The steps hold what the agent said and saw with more beside.
		if r := members(v).str("role"); len(steps) == 0 {
			k.chat(v)
		} else if r == "system" || members(v).str("message_type") == "demonstration" || members(v).has("is_demo") {
			k.say(roleOf(members(v)), "", v)
		}
	}
	for _, v := range steps {
		step := members(v)
		a := k.answer("swe-agent", "", plain(step["response"]))
		a.tools = []string{"shell"}
		if q := step["query"]; len(q) > 0 {
			a.ask = q
		}
		i := k.add(turn{kind: kindTool, name: "shell", class: effect.External, ask: plain(step["action"]), reply: plain(step["observation"])})
		if k.err == nil && step.has("execution_time") {
			k.turns[i].took = string(step["execution_time"]) + " s"
		}
		for _, name := range []string{"thought", "state"} {
			if step.has(name) {
				k.say(name, "", plain(step[name]))
			}
		}
	}
	if s.top.has("info") {
		k.say("info", "", s.top["info"])
	}
	return k.tape("swe-agent")
}
