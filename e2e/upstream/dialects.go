package upstream

import (
	"fmt"
	"net/http"
	"strings"
)

// pieces cuts a text into the words of a stream.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// cut cuts the arguments of a call where providers cut them: anywhere.
func cut(s string) []string {
	var out []string
	for len(s) > 7 {
		out = append(out, s[:7])
		s = s[7:]
	}
	return append(out, s)
}

// responses answers in the dialect of OpenAI's responses.
func (q *Question) responses(r Reply) Answer {
	a := Answer{Header: header("text/event-stream; charset=utf-8")}
	seq := 0
	event := func(kind, format string, args ...any) {
		rest := fmt.Sprintf(format, args...)
		a.Parts = append(a.Parts, fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, seq, rest))
		seq++
	}
	response := func(status, output, usage string) string {
		return fmt.Sprintf(`{"id":"resp_e2e","object":"response","created_at":1765813154,"status":%q,"background":false,"error":null,"incomplete_details":null,"instructions":null,`+
			`"max_output_tokens":null,"model":%s,"output":%s,"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":false,`+
			`"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":%s,"user":null,"metadata":{}}`,
			status, encode(q.Model), output, usage)
	}
	event("response.created", `"response":%s`, response("in_progress", "[]", "null"))
	event("response.in_progress", `"response":%s`, response("in_progress", "[]", "null"))
	var output []string
	if r.Text != "" {
		event("response.output_item.added", `"output_index":0,"item":{"id":"msg_e2e","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
		event("response.content_part.added", `"item_id":"msg_e2e","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
		for _, word := range pieces(r.Text) {
			event("response.output_text.delta", `"item_id":"msg_e2e","output_index":0,"content_index":0,"logprobs":[],"obfuscation":"aY3k","delta":%s`, encode(word))
		}
		part := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + encode(r.Text) + `}`
		item := `{"id":"msg_e2e","type":"message","status":"completed","content":[` + part + `],"role":"assistant"}`
		event("response.output_text.done", `"item_id":"msg_e2e","output_index":0,"content_index":0,"logprobs":[],"text":%s`, encode(r.Text))
		event("response.content_part.done", `"item_id":"msg_e2e","output_index":0,"content_index":0,"part":%s`, part)
		event("response.output_item.done", `"output_index":0,"item":%s`, item)
		output = append(output, item)
	}
	for i, c := range r.Calls {
		at := len(output)
		if c.Type == "custom" {
			item := func(status, input string) string {
				return fmt.Sprintf(`{"id":"ctc_e2e_%d","type":"custom_tool_call","status":%q,"call_id":%s,"input":%s,"name":%s,"namespace":"functions"}`, i, status, encode(c.ID), encode(input), encode(c.Function.Name))
			}
			event("response.output_item.added", `"output_index":%d,"item":%s`, at, item("in_progress", ""))
			for _, piece := range cut(c.Function.Arguments) {
				event("response.custom_tool_call_input.delta", `"item_id":"ctc_e2e_%d","output_index":%d,"delta":%s`, i, at, encode(piece))
			}
			event("response.custom_tool_call_input.done", `"item_id":"ctc_e2e_%d","output_index":%d,"input":%s`, i, at, encode(c.Function.Arguments))
			done := item("completed", c.Function.Arguments)
			event("response.output_item.done", `"output_index":%d,"item":%s`, at, done)
			output = append(output, done)
			continue
		}
		space := ""
		if c.Space != "" {
			space = `,"namespace":` + encode(c.Space)
		}
		item := func(status, arguments string) string {
			return fmt.Sprintf(`{"id":"fc_e2e_%d","type":"function_call","status":%q,"arguments":%s,"call_id":%s,"name":%s%s}`, i, status, encode(arguments), encode(c.ID), encode(c.Function.Name), space)
		}
		event("response.output_item.added", `"output_index":%d,"item":%s`, at, item("in_progress", ""))
		for _, piece := range cut(c.Function.Arguments) {
			event("response.function_call_arguments.delta", `"item_id":"fc_e2e_%d","output_index":%d,"delta":%s`, i, at, encode(piece))
		}
		event("response.function_call_arguments.done", `"item_id":"fc_e2e_%d","output_index":%d,"arguments":%s`, i, at, encode(c.Function.Arguments))
		done := item("completed", c.Function.Arguments)
		event("response.output_item.done", `"output_index":%d,"item":%s`, at, done)
		output = append(output, done)
	}
	const used = `{"input_tokens":41,"input_tokens_details":{"cached_tokens":0},"output_tokens":37,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":78}`
	whole := response("completed", "["+strings.Join(output, ",")+"]", used)
	if !q.Stream {
		return JSON(0, whole)
	}
	event("response.completed", `"response":%s`, whole)
	return a
}

// messages answers in the dialect of Anthropic's messages.
func (q *Question) messages(r Reply) Answer {
	reason := "end_turn"
	if r.Calls != nil {
		reason = "tool_use"
	}
	if !q.Stream {
		var content []string
		if r.Text != "" {
			content = append(content, `{"type":"text","text":`+encode(r.Text)+`}`)
		}
		for _, c := range r.Calls {
			content = append(content, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, encode("toolu_"+c.ID), encode(c.Function.Name), c.Function.Arguments))
		}
		return q.anthropic(JSON(0, fmt.Sprintf(`{"id":"msg_e2e_%d","type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%q,"stop_sequence":null,`+
			`"usage":{"input_tokens":41,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":37,"service_tier":"standard"}}`,
			q.Results, encode(q.Model), strings.Join(content, ","), reason)))
	}
	a := Answer{Header: header("text/event-stream; charset=utf-8")}
	event := func(kind, format string, args ...any) {
		if format != "" {
			format = "," + format
		}
		rest := fmt.Sprintf(format, args...)
		a.Parts = append(a.Parts, fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest))
	}
	event("message_start", `"message":{"id":"msg_e2e_%d","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":41,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}`, q.Results, encode(q.Model))
	n := 0
	if r.Text != "" {
		event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
		event("ping", "")
		for _, word := range pieces(r.Text) {
			event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":%s}`, encode(word))
		}
		event("content_block_stop", `"index":0`)
		n++
	}
	for _, c := range r.Calls {
		event("content_block_start", `"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, n, encode("toolu_"+c.ID), encode(c.Function.Name))
		for _, piece := range cut(c.Function.Arguments) {
			event("content_block_delta", `"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, n, encode(piece))
		}
		event("content_block_stop", `"index":%d`, n)
		n++
	}
	event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":37}`, reason)
	event("message_stop", "")
	return q.anthropic(a)
}

// anthropic puts on the headers by which clients of Anthropic know a request.
func (*Question) anthropic(a Answer) Answer {
	a.Header.Set("Request-Id", "req_011CSHoEeqs5C35K2UUqR7Fy")
	a.Header.Set("Anthropic-Ratelimit-Requests-Remaining", "3999")
	return a
}

// generateContent answers in the dialect of Gemini, a stream as events.
func (q *Question) generateContent(r Reply) Answer {
	chunk := func(parts, finish, used string) string {
		if finish != "" {
			finish = `,"finishReason":"` + finish + `"`
		}
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":[%s],"role":"model"}%s,"index":0}],"usageMetadata":%s,"modelVersion":%s,"responseId":"e2e"}`, parts, finish, used, encode(q.Model))
	}
	const so = `{"promptTokenCount":41,"totalTokenCount":41}`
	const all = `{"promptTokenCount":41,"candidatesTokenCount":37,"totalTokenCount":78,"promptTokensDetails":[{"modality":"TEXT","tokenCount":41}]}`
	text := func(s string) string { return `{"text":` + encode(s) + `}` }
	var calls []string
	for _, c := range r.Calls {
		calls = append(calls, fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s}}`, encode(c.Function.Name), c.Function.Arguments))
	}
	if !q.Stream {
		parts := calls
		if r.Text != "" {
			parts = append([]string{text(r.Text)}, calls...)
		}
		return JSON(0, chunk(strings.Join(parts, ","), "STOP", all))
	}
	a := Answer{Header: http.Header{"Content-Type": {"text/event-stream"}, "X-Gemini-Service-Tier": {"standard"}, "Server-Timing": {"gfet4t7; dur=376"}}}
	event := func(doc string) { a.Parts = append(a.Parts, []byte("data: "+doc+"\r\n\r\n")) }
	for _, word := range pieces(r.Text) {
		event(chunk(text(word), "", so))
	}
	if calls != nil {
		event(chunk(strings.Join(calls, ","), "", so))
	}
	event(chunk(text(""), "STOP", all))
	return a
}
