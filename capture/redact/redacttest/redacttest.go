// Package redacttest has streams and messages as providers write them, in which
// a text is spelled a few letters at a time: for tests that look for secrets.
package redacttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Spelled is a secret that models spell in streams.
const Spelled = `hunter2/"key"-of+many letters`

// Dialect is how one provider streams.
type Dialect struct {
	Name, Type  string
	Says, Index string // pointers
	Open        string
	Event       func(i int, text string) string // i: of which field
	End         string
}

// Quoted returns a text as JSON.
func Quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Dialects returns them.
func Dialects() []Dialect {
	return []Dialect{
		{"chat completions", "text/event-stream; charset=utf-8", "/choices/0/delta/content", "/choices/0/index", "", func(i int, s string) string {
			return fmt.Sprintf("data: {\"id\":\"x\",\"choices\":[{\"index\":%d,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", i, Quoted(s))
		}, "data: [DONE]\n\n"},
		{"tool calls", "text/event-stream", "/choices/0/delta/tool_calls/0/function/arguments", "/choices/0/delta/tool_calls/0/index", "", func(i int, s string) string {
			return fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":%s},\"index\":%d}]},\"index\":0}]}\n\n", Quoted(s), i)
		}, "data: [DONE]\n\n"},
		{"messages", "text/event-stream", "/delta/partial_json", "/index", "event: ping\ndata: {\"type\": \"ping\"}\n\n", func(i int, s string) string {
			return fmt.Sprintf("event: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%s}}\r\n\r\n", i, Quoted(s))
		}, ""},
		{"responses", "text/event-stream", "/delta", "/output_index", "", func(i int, s string) string {
			return fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_%d\",\"output_index\":%d,\"delta\":%s}\n\n", len(s), i, i, Quoted(s))
		}, ""},
		{"an array of Gemini", "application/json", "/candidates/0/content/parts/0/text", "/candidates/0/index", "[", func(i int, s string) string {
			return fmt.Sprintf("{\n  \"candidates\": [ {\"content\": {\"parts\": [ {\"text\": %s} ] }, \"index\": %d} ]\n}\n,\r\n", Quoted(s), i)
		}, "{}]"},
		{"lines of Ollama", "application/x-ndjson", "/message/content", "/index", "", func(i int, s string) string {
			return fmt.Sprintf("{\"message\":{\"content\":%s},\"index\":%d,\"done\":false}\n", Quoted(s), i)
		}, "{\"done\":true}\n"},
		{"converse", protocol.EventStreamType, "/delta/text", "/contentBlockIndex", "", func(i int, s string) string {
			return EventFrame(fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"text":%s},"p":"abc"}`, i, Quoted(s)))
		}, ""},
		{"invoke", protocol.EventStreamType, "/delta/text", "/index", "", func(i int, s string) string {
			return Invoked(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"text":%s}}`, i, Quoted(s)))
		}, ""},
	}
}

// Fields returns what the two fields of a stream say, one behind the other.
func (d *Dialect) Fields(stream string) string {
	var messages [][]byte
	switch {
	case d.Type == protocol.EventStreamType:
		for e := range protocol.EventStream([]byte(stream)) {
			v, _ := canon.Parse(e.Payload)
			if inner, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str()); err == nil && len(inner) > 0 {
				e.Payload = inner
			}
			messages = append(messages, e.Payload)
		}
	case strings.HasPrefix(d.Type, "text/event-stream"):
		for e := range protocol.Events([]byte(stream)) {
			messages = append(messages, e)
		}
	case d.Open == "[":
		v, _ := canon.Parse([]byte(stream))
		for _, e := range v.Elems() {
			messages = append(messages, []byte(e.String()))
		}
	default:
		for l := range strings.Lines(stream) {
			messages = append(messages, []byte(l))
		}
	}
	var fields [2]string
	for _, m := range messages {
		v, err := canon.Parse(m)
		if err != nil {
			continue
		}
		i, _ := v.Pointer(d.Index)
		says, _ := v.Pointer(d.Says)
		if n, ok := i.AsInt(); ok {
			fields[n] += says.Str()
		}
	}
	return fields[0] + "\n--\n" + fields[1]
}

// EventFrame returns a frame of a binary event stream.
func EventFrame(payload string) string {
	e := protocol.Event{Headers: []byte("\x0b:event-type\x07\x00\x05chunk"), Payload: []byte(payload)}
	return string(e.Append(nil))
}

// Invoked returns a frame that holds a message of an invoked model.
func Invoked(message string) string {
	return EventFrame(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(message)) + `"}`)
}

// Spelling is how one kind of message carries a few letters of a text.
type Spelling struct {
	Name    string
	Says    string // pointer
	Message func(i int, letters string) string
	Between string // what comes behind each; empty: nothing
}

// Spellings returns them.
func Spellings() []Spelling {
	return []Spelling{
		{"an output text", "/delta", func(i int, s string) string {
			return fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":%s}`, i, Quoted(s))
		}, ""},
		{"the arguments of a function", "/delta", func(i int, s string) string {
			return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","event_id":"event_%d","response_id":"r","item_id":"fc_1","output_index":%d,"call_id":"c","delta":%s}`, i, 1, Quoted(s))
		}, `{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":2,"call_id":"d","delta":"{}"}`},
		{"the transcript of audio, between its sound", "/delta", func(i int, s string) string {
			return fmt.Sprintf(`{"type":"response.output_audio_transcript.delta","event_id":"e%d","item_id":"item_1","output_index":0,"content_index":0,"delta":%s}`, i, Quoted(s))
		}, `{"type":"response.output_audio.delta","item_id":"item_1","output_index":0,"content_index":0,"delta":"UklGRg=="}`},
		{"the transcript of what was said to it", "/delta", func(i int, s string) string {
			return fmt.Sprintf(`{"delta":%s,"type":"conversation.item.input_audio_transcription.delta","event_id":"e%d","item_id":"item_9","content_index":0}`, Quoted(s), i)
		}, `{"type":"response.output_text.done","item_id":"item_1","output_index":0,"content_index":0,"text":"all of it"}`},
		{"items of a conversation", "/item/content/0/text", func(i int, s string) string {
			return fmt.Sprintf(`{"type":"conversation.item.create","event_id":"e%d","item":{"id":"i%d","type":"message","role":"user","content":[{"type":"input_text","text":%s}]}}`, i, i, Quoted(s))
		}, ""},
		{"turns of Gemini", "/serverContent/modelTurn/parts/0/text", func(_ int, s string) string {
			return fmt.Sprintf(`{"serverContent":{"modelTurn":{"parts":[{"text":%s}]}}}`, Quoted(s))
		}, `{"usageMetadata":{"totalTokenCount":7}}`},
	}
}

// Spell returns the messages that spell a text, a few letters in each.
func (s *Spelling) Spell(text string, step int) []string {
	var out []string
	for i := 0; text != ""; i++ {
		n := min(step, len(text))
		out = append(out, s.Message(i, text[:n]))
		text = text[n:]
		if s.Between != "" {
			out = append(out, s.Between)
		}
	}
	return out
}
