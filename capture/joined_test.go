package capture_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// spelled is a secret that models spell in streams.
const spelled = `hunter2/"key"-of+many letters`

// dialect is how one provider streams.
type dialect struct {
	name, typ   string
	says, index string // pointers
	open        string
	event       func(i int, text string) string // i: of which field
	end         string
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func dialects() []dialect {
	return []dialect{
		{"chat completions", "text/event-stream; charset=utf-8", "/choices/0/delta/content", "/choices/0/index", "", func(i int, s string) string {
			return fmt.Sprintf("data: {\"id\":\"x\",\"choices\":[{\"index\":%d,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", i, quoted(s))
		}, "data: [DONE]\n\n"},
		{"tool calls", "text/event-stream", "/choices/0/delta/tool_calls/0/function/arguments", "/choices/0/delta/tool_calls/0/index", "", func(i int, s string) string {
			return fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":%s},\"index\":%d}]},\"index\":0}]}\n\n", quoted(s), i)
		}, "data: [DONE]\n\n"},
		{"messages", "text/event-stream", "/delta/partial_json", "/index", "event: ping\ndata: {\"type\": \"ping\"}\n\n", func(i int, s string) string {
			return fmt.Sprintf("event: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%s}}\r\n\r\n", i, quoted(s))
		}, ""},
		{"responses", "text/event-stream", "/delta", "/output_index", "", func(i int, s string) string {
			return fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_%d\",\"output_index\":%d,\"delta\":%s}\n\n", len(s), i, i, quoted(s))
		}, ""},
		{"an array of Gemini", "application/json", "/candidates/0/content/parts/0/text", "/candidates/0/index", "[", func(i int, s string) string {
			return fmt.Sprintf("{\n  \"candidates\": [ {\"content\": {\"parts\": [ {\"text\": %s} ] }, \"index\": %d} ]\n}\n,\r\n", quoted(s), i)
		}, "{}]"},
		{"lines of Ollama", "application/x-ndjson", "/message/content", "/index", "", func(i int, s string) string {
			return fmt.Sprintf("{\"message\":{\"content\":%s},\"index\":%d,\"done\":false}\n", quoted(s), i)
		}, "{\"done\":true}\n"},
		{"converse", protocol.EventStreamType, "/delta/text", "/contentBlockIndex", "", func(i int, s string) string {
			return eventFrame(fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"text":%s},"p":"abc"}`, i, quoted(s)))
		}, ""},
		{"invoke", protocol.EventStreamType, "/delta/text", "/index", "", func(i int, s string) string {
			return invoked(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"text":%s}}`, i, quoted(s)))
		}, ""},
	}
}

// stored is what becomes of a stream that comes in these parts.
func stored(r *capture.Redactor, d dialect, parts ...string) string {
	write := capture.Cleaner(r, http.Header{"Content-Type": {d.typ}})
	var out []byte
	for _, p := range parts {
		out = write(out, []byte(p), false)
	}
	return string(write(out, nil, true))
}

// fieldsOf returns what the two fields of a stream say, one behind the other.
func fieldsOf(d dialect, stream string) string {
	var messages [][]byte
	switch {
	case d.typ == protocol.EventStreamType:
		for e := range protocol.EventStream([]byte(stream)) {
			v, _ := canon.Parse(e.Payload)
			if inner, err := base64.StdEncoding.DecodeString(v.Get("bytes").Str()); err == nil && len(inner) > 0 {
				e.Payload = inner
			}
			messages = append(messages, e.Payload)
		}
	case strings.HasPrefix(d.typ, "text/event-stream"):
		for e := range protocol.Events([]byte(stream)) {
			messages = append(messages, e)
		}
	case d.open == "[":
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
		i, _ := v.Pointer(d.index)
		says, _ := v.Pointer(d.says)
		if n, ok := i.AsInt(); ok {
			fields[n] += says.Str()
		}
	}
	return fields[0] + "\n--\n" + fields[1]
}

// A secret that is spelled over many messages of a stream is in none of them,
// in whatever parts they come; other messages keep every byte.
func TestSecretsThatAreSpelledAreFound(t *testing.T) {
	t.Parallel()
	r := redactor(capture.Secret{Name: "ENV", Value: spelled}, capture.Secret{Name: "OTHER", Value: "hunter2/nothing-else"})
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				// Two fields, each with its own text, one behind the other or mixed.
				var left [2]string
				for i := range left {
					left[i] = strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"some words ", "hunter2", spelled, " sk-ant-" + strings.Repeat("a1B2", 8), "ü\n\t"}), 0, 4).Draw(t, "text"), "")
				}
				all := left
				stream := d.open
				step := rapid.IntRange(1, 12).Draw(t, "letters")
				mixed := rapid.Bool().Draw(t, "mixed")
				for k := 0; left[0]+left[1] != ""; k++ {
					i := 0
					if left[0] == "" || mixed && k%2 == 1 && left[1] != "" {
						i = 1
					}
					n := min(len(left[i]), step)
					for n < len(left[i]) && left[i][n]&0xc0 == 0x80 {
						n++
					}
					stream += d.event(i, left[i][:n])
					left[i] = left[i][n:]
				}
				stream += d.end
				clean := true
				for _, s := range all {
					_, names := r.Bytes([]byte(s))
					clean = clean && names == nil
				}
				cuts := rapid.SliceOfN(rapid.IntRange(0, len(stream)), 0, 9).Draw(t, "cuts")
				slices.Sort(cuts)
				var parts []string
				at := 0
				for _, c := range append(cuts, len(stream)) {
					parts = append(parts, stream[at:c])
					at = c
				}
				got := stored(r, d, parts...)
				if clean && got != stream {
					t.Fatalf("a stream without secrets is stored as %q, want %q", got, stream)
				}
				if whole := stored(r, d, stream); whole != got {
					t.Fatalf("in one part %q is stored, in many %q", whole, got)
				}
				if says := fieldsOf(d, got); strings.Contains(says, spelled) || strings.Contains(says, " sk-ant-a1") {
					t.Fatalf("what is stored says %q", says)
				}
				for _, s := range all {
					want, _ := r.Bytes([]byte(s))
					if !strings.Contains(fieldsOf(d, got), string(want)) {
						t.Fatalf("what is stored says %q, want %q in it", fieldsOf(d, got), want)
					}
				}
			})
		})
	}
}
