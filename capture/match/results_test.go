package match_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/match"
)

// Which of the tools that ran at once ended first is not what a model is
// asked; what they gave, and for which call, is.
func TestResultsAreComparedInTheOrderOfTheirCalls(t *testing.T) {
	t.Parallel()
	messages := func(results ...string) string {
		return `{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"x","input":{}}]},{"role":"user","content":[` + strings.Join(results, ",") + `]}]}`
	}
	result := func(id, text string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":"` + text + `"}`
	}
	marked := func(id, text string) string {
		return strings.Replace(result(id, text), `{"type"`, `{"cache_control":{"type":"ephemeral"},"type"`, 1)
	}
	chat := func(results ...string) string {
		return `{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x"}},{"id":"b","type":"function","function":{"name":"x"}}]},` + strings.Join(results, ",") + `]}`
	}
	tool := func(id, text string) string {
		return `{"role":"tool","tool_call_id":"` + id + `","content":"` + text + `"}`
	}
	responses := func(results ...string) string {
		return `{"input":[{"type":"function_call","call_id":"a","name":"x"},{"type":"custom_tool_call","call_id":"b","name":"x"},` + strings.Join(results, ",") + `]}`
	}
	output := func(id, text string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":"` + text + `"}`
	}
	text := `{"type":"text","text":"and now?"}`
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"messages", messages(result("a", "1"), result("b", "2")), messages(result("b", "2"), result("a", "1")), true},
		{"with a text behind", messages(result("a", "1"), result("b", "2"), text), messages(result("b", "2"), result("a", "1"), text), true},
		{"a mark for the cache stays at its place", messages(result("a", "1"), marked("b", "2")), messages(result("b", "2"), marked("a", "1")), true},
		{"another mark for the cache", messages(result("a", "1"), marked("b", "2")), messages(result("b", "2"), result("a", "1")), false},
		{"results of each other's call", messages(result("a", "1"), result("b", "2")), messages(result("b", "1"), result("a", "2")), false},
		{"a text between", messages(result("a", "1"), text, result("b", "2")), messages(result("b", "2"), text, result("a", "1")), false},
		{"a call that nobody asked for", messages(result("a", "1"), result("c", "2")), messages(result("c", "2"), result("a", "1")), false},
		{"the same call twice", messages(result("a", "1"), result("a", "2")), messages(result("a", "2"), result("a", "1")), false},
		{"chat completions", chat(tool("a", "1"), tool("b", "2")), chat(tool("b", "2"), tool("a", "1")), true},
		{"chat completions with other results", chat(tool("a", "1"), tool("b", "2")), chat(tool("b", "1"), tool("a", "2")), false},
		{"responses", responses(output("a", "1"), output("b", "2")), responses(output("b", "2"), output("a", "1")), true},
		{"responses with other results", responses(output("a", "1"), output("b", "2")), responses(output("b", "1"), output("a", "2")), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sameForm(t, c.a, c.b, c.same, match.ResultOrder)
		})
	}
}

// sameForm fails unless two requests are the same, or not, in the form in which
// they are matched: of the second one that normaliser has changed what differs.
func sameForm(t *testing.T, a, b string, same bool, by string) {
	t.Helper()
	then, none, err := formOf(match.KindModel, a)
	if err != nil {
		t.Fatal(err)
	}
	now, changed, err := formOf(match.KindModel, b)
	if err != nil {
		t.Fatal(err)
	}
	if (then == now) != same {
		t.Errorf("equal = %v, want %v:\n%s\n%s", then == now, same, then, now)
	}
	if len(none) > 0 || same && !slices.Equal(changed, []string{by}) {
		t.Errorf("changed by %q and %q, want nothing and %q", none, changed, by)
	}
}

// The agents that Claude Code starts are numbered as they come: in the order of
// their calls, too.
func TestReportsOfAgentsInAnotherOrder(t *testing.T) {
	t.Parallel()
	report := func(call, said, agent string) string {
		return `{"type":"tool_result","tool_use_id":"` + call + `","content":[{"type":"text","text":"` + said + `\nagentId: ` + agent + ` (use SendMessage with to: '` + agent + `', to continue this agent)"}]}`
	}
	request := func(results ...string) string {
		return `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"},{"type":"tool_use","id":"b"}]},{"role":"user","content":[` + strings.Join(results, ",") + `]}]}`
	}
	a, _, err := formOf(match.KindModel, request(report("a", "one", "a1"), report("b", "two", "b2")))
	if err != nil {
		t.Fatal(err)
	}
	b, changed, err := formOf(match.KindModel, request(report("b", "two", "c3"), report("a", "one", "d4")))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{match.ResultOrder, match.ClaudeAgents}; a != b || !slices.Equal(changed, want) {
		t.Errorf("changed by %q, want %q:\n%s\n%s", changed, want, a, b)
	}
}
