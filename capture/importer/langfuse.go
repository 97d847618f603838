package importer

// Langfuse exports a trace as {trace, observations: [{id,
// parentObservationId, type, name, startTime, endTime, input, output, model,
// usageDetails}]}.

func isLangfuse(s *source) bool { return s.top.has("trace", "observations") }

func readLangfuse(s *source, o *Options) (tape, error) {
	list := s.top.list("observations")
	spans := make([]span, 0, len(list))
	for _, v := range list {
		m := members(v)
		x := span{
			id: m.str("id"), parent: m.str("parentObservationId"), name: m.str("name"), raw: v,
			start: m.instant("startTime"), end: m.instant("endTime"),
			ask: m["input"], reply: m["output"], model: m.str("model"), attrs: m.obj("metadata").obj("attributes"),
		}
		switch m.str("type") {
		case "GENERATION", "EMBEDDING":
			x.kind = "model"
		case "TOOL":
			x.kind = "tool"
		case "AGENT":
			x.kind = "agent"
		}
		if u := m.obj("usageDetails"); u != nil {
			x.attrs = object{"gen_ai.usage.input_tokens": u["input"], "gen_ai.usage.output_tokens": u["output"]}
		}
		spans = append(spans, x)
	}
	return spanTree(spans, "langfuse", o)
}
