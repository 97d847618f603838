package importer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Spans of traces that speak of models and tools: OpenTelemetry's gen_ai
// conventions (and their older forms), OpenInference, OpenLLMetry and the AI
// SDK. What a span says of messages is evidence: nobody sent it so. Spans
// without such words are kept where they stand in the tree.

// span is one span, whatever wrote it.
type span struct {
	id, parent string
	name       string
	start, end time.Time
	attrs      object
	kind       string // as the file names it; empty: the attributes say it
	ask, reply jsontext.Value
	model      string
	raw        jsontext.Value
}

// isSpan reports whether o is a span as the SDKs print it, or the attributes
// of one.
func isSpan(o object) bool {
	if o.has("attributes") && (o.has("spanContext") || o.has("context") || o.has("spanId") || o.has("span_id")) {
		return true
	}
	return isAttributes(o)
}

func isAttributes(o object) bool {
	for name := range o {
		if strings.HasPrefix(name, "gen_ai.") || strings.HasPrefix(name, "openinference.") || name == "ai.operationId" || name == "llm.model_name" {
			return true
		}
	}
	return false
}

func isSpans(s *source) bool {
	if len(s.top) > 0 && !isSpan(s.top) {
		for _, v := range s.top { // spans grouped by name
			if l, err := elements(v, 1<<20); err != nil || len(l) == 0 || !isSpan(members(l[0])) {
				return false
			}
		}
		return true
	}
	return len(s.list) > 0 && isSpan(s.first)
}

func readSpans(s *source, o *Options) (tape, error) {
	list := s.list
	if s.top != nil && !isSpan(s.top) {
		list = nil
		for _, name := range inOrder(s.list[0]) {
			list = append(list, s.top.list(name)...)
		}
	}
	spans := make([]span, 0, len(list))
	for _, v := range list {
		m := members(v)
		x := span{raw: v, name: m.str("name"), attrs: m.obj("attributes")}
		if isAttributes(m) {
			x.attrs = m
		}
		ctx := m
		for _, n := range []string{"spanContext", "context"} {
			if c := m.obj(n); c != nil {
				ctx = c
			}
		}
		x.id = ctx.first("spanId", "span_id")
		x.parent = m.first("parentSpanId", "parent_id", "parent_span_id")
		if p := m.obj("parentSpanContext"); p != nil {
			x.parent = p.str("spanId")
		}
		x.start, x.end = m.instant("startTime", "start_time", "startTimeUnixNano"), m.instant("endTime", "end_time", "endTimeUnixNano")
		spans = append(spans, x)
	}
	return spanTree(spans, "spans", o)
}

// instant reads a time in any of the ways in which it is written: RFC 3339,
// nanoseconds, or [seconds, nanoseconds].
func (o object) instant(names ...string) time.Time {
	for _, n := range names {
		v := o[n]
		switch v.Kind() {
		case '"':
			if t, err := time.Parse(time.RFC3339Nano, o.str(n)); err == nil {
				return t.UTC()
			}
			if ns, ok := o.num(n); ok && ns > 0 {
				return time.Unix(0, ns).UTC()
			}
		case '0':
			if ns, ok := o.num(n); ok && ns > 1e15 {
				return time.Unix(0, ns).UTC()
			}
		case '[':
			if l := o.list(n); len(l) == 2 {
				sec, err := strconv.ParseInt(string(l[0]), 10, 64)
				nsec, err2 := strconv.ParseInt(string(l[1]), 10, 64)
				if err == nil && err2 == nil && sec > 0 && sec < 1<<33 {
					return time.Unix(sec, nsec).UTC()
				}
			}
		default:
		}
	}
	return time.Time{}
}

// spanTree puts spans under their parents, in the order in which they began.
func spanTree(spans []span, format string, o *Options) (tape, error) {
	if len(spans) > o.MaxExchanges {
		return tape{}, fault.New(ErrTooLarge, "importer.spanTree", "%d spans are over the limit of %d", len(spans), o.MaxExchanges)
	}
	k := newTalk(o)
	at := map[string]int{}
	for i := range spans {
		if id := spans[i].id; id != "" {
			at[id] = i
		}
	}
	under := map[int][]int{}
	var roots []int
	for i := range spans {
		if p, ok := at[spans[i].parent]; ok && p != i && spans[i].parent != "" {
			under[p] = append(under[p], i)
		} else {
			roots = append(roots, i)
		}
	}
	byStart := func(a, b int) int {
		return cmp.Or(spans[a].start.Compare(spans[b].start), cmp.Compare(a, b))
	}
	done := make([]bool, len(spans))
	var walk func(i, depth int) turn
	walk = func(i, depth int) turn {
		done[i] = true
		t := spans[i].turn()
		slices.SortStableFunc(under[i], byStart)
		for _, c := range under[i] {
			if !done[c] && depth < maxNesting {
				t.under = append(t.under, walk(c, depth+1))
			}
		}
		return t
	}
	slices.SortStableFunc(roots, byStart)
	for _, i := range roots {
		k.add(walk(i, 0))
	}
	for i := range spans { // those in a circle, or too deep
		if !done[i] {
			k.add(walk(i, 0))
		}
	}
	return k.tape(format)
}

// turn says what a span is about.
func (x *span) turn() turn {
	t := turn{kind: kindSpan, name: x.name, class: effect.Pure, model: x.model}
	switch x.about() {
	case "model":
		t.kind, t.class = capture.KindModel, effect.Read
	case "tool":
		t.kind, t.class = kindTool, effect.External
		if n := x.attrs.first("gen_ai.tool.name", "tool.name", "ai.toolCall.name"); n != "" {
			t.name = n
		}
	case "agent":
		t.kind = kindAgent
	}
	if t.name == "" {
		t.name = x.attrs.first("gen_ai.operation.name", "openinference.span.kind")
	}
	if t.name == "" {
		t.name = "span"
	}
	if !x.start.IsZero() {
		t.at = x.start.Format(time.RFC3339Nano)
		if x.end.After(x.start) {
			t.took = x.end.Sub(x.start).String()
		}
	}
	t.ask, t.reply = plain(x.ask), plain(x.reply)
	if t.ask == nil {
		t.ask = x.member(askNames, "gen_ai.prompt.", "llm.input_messages.", "llm.prompts.")
	}
	if t.reply == nil {
		t.reply = x.member(replyNames, "gen_ai.completion.", "llm.output_messages.")
	}
	if t.model == "" {
		t.model = x.attrs.first("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "embedding.model_name", "ai.response.model", "ai.model.id")
	}
	if t.kind == capture.KindModel {
		in := x.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.promptTokens", "ai.usage.inputTokens", "ai.usage.tokens")
		out := x.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.completionTokens", "ai.usage.outputTokens")
		read := x.count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens")
		t.usage = usageOf(in, out, min(read, in), 0, 0)
	}
	return t
}

// askNames and replyNames are the attributes that hold messages, newest
// convention first.
const (
	askNames   = "gen_ai.input.messages gen_ai.tool.call.arguments gen_ai.prompt input.value ai.prompt.messages ai.toolCall.args ai.prompt ai.values traceloop.entity.input input"
	replyNames = "gen_ai.output.messages gen_ai.tool.call.result gen_ai.completion output.value ai.response.text ai.response.object ai.toolCall.result ai.response.toolCalls ai.embeddings traceloop.entity.output output"
)

// member returns the first of these attributes that is there, or all that
// begin with one of the prefixes, as one object.
func (x *span) member(names string, prefixes ...string) []byte {
	for n := range strings.FieldsSeq(names) {
		if b := plain(x.attrs[n]); b != nil {
			return b
		}
	}
	for _, p := range prefixes {
		var list []string
		for n := range x.attrs {
			if strings.HasPrefix(n, p) {
				list = append(list, n)
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		out := []byte{'{'}
		for i, n := range list {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(quote(out, n), ':'), x.attrs[n]...)
		}
		return append(out, '}')
	}
	return nil
}

func (x *span) count(names ...string) int64 {
	for _, n := range names {
		if v, ok := x.attrs.num(n); ok {
			return v
		}
	}
	return 0
}

// about says whether a span is a model's, a tool's or an agent's.
func (x *span) about() string {
	if x.kind != "" {
		return x.kind
	}
	switch x.attrs.str("gen_ai.operation.name") {
	case "chat", "text_completion", "generate_content", "embeddings", "completion", "responses":
		return "model"
	case "execute_tool":
		return "tool"
	case "invoke_agent", "create_agent", "invoke_workflow":
		return "agent"
	}
	switch strings.ToUpper(x.attrs.first("openinference.span.kind", "traceloop.span.kind")) {
	case "LLM", "EMBEDDING":
		return "model"
	case "TOOL":
		return "tool"
	case "AGENT", "WORKFLOW":
		return "agent"
	}
	switch op := x.attrs.str("ai.operationId"); {
	case op == "ai.toolCall":
		return "tool"
	case strings.Contains(op, ".do"):
		return "model"
	case op != "":
		return "agent"
	}
	if x.attrs.has("llm.request.type") || x.attrs.has("gen_ai.request.model") && x.attrs.has("gen_ai.response.model") {
		return "model"
	}
	return ""
}
