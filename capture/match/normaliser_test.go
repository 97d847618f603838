package match_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/match"
)

// formOf returns what the match key of a body is taken of under the built-in
// normalisers.
func formOf(kind, body string) (string, []string, error) {
	r, err := match.NewRules(match.Normalisers(), match.Setting{})
	if err != nil {
		return "", nil, err
	}
	form, changed := r.Form(kind, []byte(body))
	return string(form), changed, nil
}

// A client draws another boundary for every upload; what stands between them
// is the request.
func TestBoundaryOfAFormIsLeftOut(t *testing.T) {
	t.Parallel()
	form := func(b, text string) string {
		return "--" + b + "\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" + text + "\r\n--" + b + "\r\n\r\nx\r\n--" + b + "--\r\n"
	}
	for _, c := range []struct {
		name, body, want string
		changed          bool
	}{
		{"a form", form("------------------------d74496d66958873e", "a--b"), form("{boundary}", "a--b"), true},
		{"without a last line break", strings.TrimSuffix(form("x1", "a"), "\r\n"), strings.TrimSuffix(form("{boundary}", "a"), "\r\n"), true},
		{"a form that does not end", strings.TrimSuffix(form("x1", "a"), "--\r\n"), strings.TrimSuffix(form("x1", "a"), "--\r\n"), false},
		{"a boundary that is too long", form(strings.Repeat("x", 71), "a"), form(strings.Repeat("x", 71), "a"), false},
		{"the longest boundary", form(strings.Repeat("x", 70), "a"), form("{boundary}", "a"), true},
		{"no form", "--\r\nx\r\n----", "--\r\nx\r\n----", false},
		{"empty", "", "", false},
	} {
		got, changed, err := formOf(match.KindModel, c.body)
		if err != nil || got != c.want || slices.Contains(changed, match.MultipartBoundary) != c.changed {
			t.Errorf("%s: Form() = %q %v, %v, want %q", c.name, got, changed, err, c.want)
		}
	}
}

// What agents say of a command beside its output is left out; the output, and
// which of several processes is meant, is not.
func TestWordsOfAgentsAroundAnOutput(t *testing.T) {
	t.Parallel()
	gemini := func(outputs ...string) string {
		var parts []string
		for _, o := range outputs {
			parts = append(parts, `{"functionResponse":{"name":"run_shell_command","response":{"output":`+strconv.Quote(o)+`}}}`)
		}
		return `{"contents":[{"role":"user","parts":[` + strings.Join(parts, ",") + `]}]}`
	}
	codex := func(output string) string {
		return `{"input":[{"type":"function_call_output","call_id":"c","output":` + strconv.Quote(output) + `}]}`
	}
	script := func(head, output string) string {
		return `{"input":[{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":` + strconv.Quote(head) + `},{"type":"input_text","text":` + strconv.Quote(output) + `}]}]}`
	}
	claude := func(report, agent, took string) string {
		text := "The report follows:\n  " + report + "\nagentId: " + agent + " (use SendMessage with to: '" + agent + "', to continue this agent)\n<usage>subagent_tokens: 78\ntool_uses: 0\nduration_ms: " + took + "</usage>"
		return `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":` + strconv.Quote(text) + `}]}]}]}`
	}
	const day = "<turn-context>\n<current-time>2026-11-21 "
	goose := func(said, minute, folder string) string {
		turn := strconv.Quote(day + minute + ":00 +00:00</current-time>\n<working-directory>" + folder + "</working-directory>\n</turn-context>")
		return `{"input":[{"role":"user","content":[{"type":"input_text","text":` + strconv.Quote(said) + `},{"type":"input_text","text":` + turn + `}]}],` +
			`"messages":[{"role":"user","content":` + strconv.Quote(said + "\n")[:len(strconv.Quote(said+"\n"))-1] + turn[1:] + `},{"role":"user","content":[{"type":"text","text":` + turn + `}]}],` +
			`"contents":[{"role":"user","parts":[{"text":` + turn + `}]}]}`
	}
	opencode := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, strconv.Quote("<task id=\"ses_"+id+"\" state=\"completed\">\n<task_result>\n42\n</task_result>\n</task>"))
		}
		return `{"input":[{"type":"function_call_output","output":` + strings.Join(list, `},{"type":"function_call_output","output":`) + `}],` +
			`"messages":[{"role":"tool","content":` + list[0] + `},{"role":"user","content":[{"type":"tool_result","content":` + list[0] + `},{"type":"tool_result","content":[{"type":"text","text":` + list[0] + `}]}]}],` +
			`"contents":[{"parts":[{"functionResponse":{"name":"task","response":{"name":"task","content":` + list[0] + `}}}]}]}`
	}
	for _, c := range []struct {
		name, a, b string
		rule       string // empty: they stay two requests
	}{
		{"another minute", goose("hi", "18:11", "/w"), goose("hi", "09:59", "/w"), match.GooseTurns},
		{"another minute and folder", goose("hi", "18:11", "/w"), goose("hi", "18:12", "/x"), ""},
		{"another minute and prompt", goose("hi", "18:11", "/w"), goose("ho", "18:12", "/w"), ""},
		{"a minute of which a person speaks", `{"messages":[{"role":"user","content":"` + strings.ReplaceAll(day, "\n", `\n`) + `18:11</current-time> is what it says"}]}`, `{"messages":[{"role":"user","content":"` + strings.ReplaceAll(day, "\n", `\n`) + `18:12</current-time> is what it says"}]}`, ""},
		{"another agent of goose", goose("Subagent ID: 20261121_16\n\nhi", "18:11", "/w"), goose("Subagent ID: 20261122_3\n\nhi", "18:11", "/w"), match.GooseTurns},
		{"an agent of goose with another task", goose("Subagent ID: 20261121_16\n\nhi", "18:11", "/w"), goose("Subagent ID: 20261121_16\n\nho", "18:11", "/w"), ""},
		{"other agents of opencode", opencode("e00aFe0", "e00bG"), opencode("f1", "f2"), match.OpencodeTasks},
		{"one agent of opencode twice, two agents", opencode("a", "a"), opencode("a", "b"), ""},
		{"another process", gemini("Output: 42\nProcess Group PGID: 17"), gemini("Output: 42\nProcess Group PGID: 4711"), match.GeminiProcesses},
		{"in the frame for what is not trusted", gemini("<untrusted_context>\nOutput: 42\nProcess Group PGID: 17\n</untrusted_context>"), gemini("<untrusted_context>\nOutput: 42\nProcess Group PGID: 4711\n</untrusted_context>"), match.GeminiProcesses},
		{"with processes behind it", gemini("Output: (empty)\nBackground PIDs: 18, 19\nProcess Group PGID: 17"), gemini("Output: (empty)\nBackground PIDs: 7, 8\nProcess Group PGID: 6"), match.GeminiProcesses},
		{"fewer processes behind it", gemini("Output: (empty)\nBackground PIDs: 18, 19\nProcess Group PGID: 17"), gemini("Output: (empty)\nBackground PIDs: 7\nProcess Group PGID: 6"), ""},
		{"in the background", gemini("Command moved to background (PID: 17). Output hidden."), gemini("Command moved to background (PID: 18). Output hidden."), match.GeminiProcesses},
		{"in the background with a beginning", gemini("Command is running in background. PID: 17. Initial output:\nup"), gemini("Command is running in background. PID: 18. Initial output:\nup"), match.GeminiProcesses},
		{"one process twice, two processes", gemini("Output: a\nProcess Group PGID: 17", "Output: b\nProcess Group PGID: 17"), gemini("Output: a\nProcess Group PGID: 17", "Output: b\nProcess Group PGID: 18"), ""},
		{"another output", gemini("Output: 42\nProcess Group PGID: 17"), gemini("Output: 43\nProcess Group PGID: 17"), ""},
		{"an output that speaks so", gemini("Output: \nProcess Group PGID: 17\nso it says\nProcess Group PGID: 1"), gemini("Output: \nProcess Group PGID: 18\nso it says\nProcess Group PGID: 1"), ""},
		{"the same words elsewhere", `{"contents":[{"parts":[{"text":"x\nProcess Group PGID: 17"}]}]}`, `{"contents":[{"parts":[{"text":"x\nProcess Group PGID: 18"}]}]}`, ""},
		{"a script that took longer", script("Script completed\nWall time 0.4 seconds\nOutput:\n", "42\n"), script("Script completed\nWall time 12.3 seconds\nOutput:\n", "42\n"), match.CodexTimes},
		{"a script that failed", script("Script completed\nWall time 0.4 seconds\nOutput:\n", "42\n"), script("Script failed\nWall time 0.4 seconds\nOutput:\n", "42\n"), ""},
		{"a script with another output", script("Script completed\nWall time 0.4 seconds\nOutput:\n", "42\n"), script("Script completed\nWall time 0.4 seconds\nOutput:\n", "43\n"), ""},
		{"a command that took longer", codex("Chunk ID: 0a1b2c\nWall time: 0.0521 seconds\nProcess exited with code 0\nOutput:\n42\n"), codex("Chunk ID: ffffff\nWall time: 1.5 seconds\nProcess exited with code 0\nOutput:\n42\n"), match.CodexTimes},
		{"a command with its status first", codex("Exit code: 1\nWall time: 2 seconds\nOutput:\n"), codex("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n"), match.CodexTimes},
		{"a command with another status", codex("Exit code: 1\nWall time: 2 seconds\nOutput:\n"), codex("Exit code: 0\nWall time: 2 seconds\nOutput:\n"), ""},
		{"another agent with the same report", claude("42", "a02815fc", "17"), claude("42", "ae34bd74", "1922"), match.ClaudeAgents},
		{"an agent with another report", claude("42", "a02815fc", "17"), claude("43", "a02815fc", "17"), ""},
		{"a time in an output", codex("Exit code: 0\nWall time: 2 seconds\nOutput:\nWall time: 3 seconds\n"), codex("Exit code: 0\nWall time: 2 seconds\nOutput:\nWall time: 4 seconds\n"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, changed, err := formOf(match.KindModel, c.a)
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := formOf(match.KindModel, c.b)
			if err != nil {
				t.Fatal(err)
			}
			if same := a == b; same != (c.rule != "") {
				t.Errorf("equal = %v, want %v:\n%s\n%s", same, !same, a, b)
			}
			if c.rule != "" && !slices.Equal(changed, []string{c.rule}) {
				t.Errorf("changed by %q, want %q", changed, c.rule)
			}
		})
	}
}
