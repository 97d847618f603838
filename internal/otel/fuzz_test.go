package otel

import (
	"encoding/json"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Whatever a request holds, its messages are written as JSON whose elements
// have a role and parts.
func FuzzInput(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"1","content":[]}]}`,
		`{"contents":[{"parts":[{"functionCall":{"name":"a","args":{}}},{"inlineData":{}}]}]}`,
		`{"input":["a",{"type":"function_call","call_id":"1","name":"x"},{"type":"function_call_output","output":1}]}`,
		`{"prompt":"a","system":[{"text":"b"}]}`, `{"systemInstruction":{"parts":[{"text":"b"}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		var out []struct {
			Role  *string
			Parts *[]json.RawMessage
		}
		s := input(v).String()
		if err := json.Unmarshal([]byte(s), &out); err != nil {
			t.Fatalf("input(%s) = %s: %v", b, s, err)
		}
		for i, m := range out {
			if m.Role == nil || m.Parts == nil {
				t.Errorf("input(%s)[%d] has no role or no parts: %s", b, i, s)
			}
		}
		ending(string(b))
	})
}
