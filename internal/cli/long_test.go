package cli

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
)

// What an answer says may be as long as memory: neither the lines of a run nor
// its page hold on to all of it.
func TestLongAnswersAreNotHeld(t *testing.T) {
	t.Parallel()
	c := insight.Call{Step: 3, Answer: protocol.Answer{
		Model: "m", Text: strings.Repeat("é", maxPart),
		Calls: []protocol.ToolCall{{ID: "call_1", Name: "write_file", Arguments: strings.Repeat(" ", maxPart)}},
	}}
	if got := brief(&c); got.Step != 3 || got.Model != "m" || got.Text != "" || got.Calls[0] != (protocol.ToolCall{Name: "write_file"}) {
		t.Errorf("brief = %+v, want the call without what it says at length", got)
	}
	if c.Text == "" || c.Calls[0].ID == "" {
		t.Error("brief changed the call itself")
	}
	got := said(c.Text)
	if len(got) > maxPart+100 || !strings.HasPrefix(got, "éé") || !strings.HasSuffix(got, "show --at has all of it") {
		t.Errorf("said = %d bytes, ending in %q, want the first %d and a note", len(got), got[len(got)-40:], maxPart)
	}
	if short := "all of it"; said(short) != short {
		t.Errorf("said(%q) = %q", short, said(short))
	}
}
