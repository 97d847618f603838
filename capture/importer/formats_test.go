package importer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// calls writes the timeline of a run down, a line for each call: its depth,
// kind, name, model, tokens (with those of caches and of thoughts) and the
// tools that it asks for.
func calls(t *testing.T, r *rig, run ledger.RunID) string {
	t.Helper()
	prices, err := insight.Prices(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for c, err := range insight.Calls(t.Context(), r.cfg.Store, run, prices) {
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Repeat("  ", c.Depth) + c.Kind + " " + c.Name
		if c.Model != "" {
			line += " by " + c.Model
		}
		if u := c.Usage; u != nil {
			line += fmt.Sprintf(" %d+%d in %d+%d out", u.Input, u.CacheRead, u.Output, u.Reasoning)
		}
		if len(c.Calls) > 0 {
			line += " asks " + strings.Join(c.Tools(), ",")
		}
		if c.Status != effect.Error || c.Code != importer.ErrEvidenceOnly.Error() {
			t.Errorf("%s: status %s %s, want evidence only", line, c.Status, c.Code)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// Recordings of messages become evidence: calls that show model, tokens and
// tools, none of which is served, in a run that verifies and holds the file.
func TestMessagesBecomeEvidence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file, format string
		events       int
		calls        []string
	}{
		{"otlp.json", "otlp", 0, []string{
			"agent invoke_agent planner",
			`  model chat small by small-1 12+0 in 3+0 out`,
			"  tool look",
		}},
		{"spans.json", "spans", 0, []string{
			`model ChatModel by small-1 5+0 in 1+0 out`,
			"  tool look",
		}},
		{"langfuse.json", "langfuse", 0, []string{
			"span agent",
			`  model chat by small-1 7+0 in 2+0 out`,
		}},
		{"claude-code.jsonl", "claude-code", 2, []string{
			`model claude-code by claude-x 10+4 in 6+0 out asks Bash`,
			"tool Bash",
		}},
		{"codex.jsonl", "codex", 4, []string{
			`model responses by gpt-x 5+4 in 2+1 out asks shell`,
			"tool shell",
		}},
		{"codex-old.jsonl", "codex", 3, []string{"model responses asks local_shell_call", "tool local_shell_call"}},
		{"codex-0.169.jsonl", "codex", 9, []string{
			`model responses by gpt-x 41+0 in 37+0 out asks exec`,
			"tool exec",
			`model responses by gpt-x 40+3 in 30+9 out`,
		}},
		{"gemini-cli.responses.jsonl", "gemini-cli/responses", 0, []string{
			`model generateContentStream by gemini-x 8+0 in 2+1 out asks look`,
			`model generateContent 8+0 in 2+0 out`,
		}},
		{"gemini-cli.chat.json", "gemini-cli/session", 1, []string{
			`model gemini-cli by gemini-x 8+0 in 2+1 out asks look`,
			"tool look",
		}},
		{"gemini-cli.lines.jsonl", "gemini-cli/lines", 5, []string{
			`model gemini-cli by gemini-x 41+0 in 37+0 out asks run_shell_command`,
			"tool run_shell_command",
			`model gemini-cli by gemini-x 41+0 in 30+7 out`,
		}},
		{"contents.json", "gemini/contents", 1, []string{"model generateContent asks look", "tool look", "model generateContent"}},
		{"tau-bench.json", "tau-bench", 4, []string{"model chat asks cancel", "tool cancel", "model chat"}},
		{"swe-agent.traj", "swe-agent", 6, []string{"model swe-agent asks shell", "tool shell", "model swe-agent asks shell", "tool shell"}},
		{"swe-agent-demo.yaml", "swe-agent", 1, []string{"model chat asks bash", "tool bash"}},
		{"run-state.json", "openai-agents/1.9", 1, []string{
			`model responses 3+0 in 1+0 out`, "tool look",
		}},
		{"openhands.json", "openhands", 1, []string{
			`model openhands by small-1 7+0 in 2+0 out asks run`, "tool run", "model openhands",
		}},
		{"openhands-sdk.jsonl", "openhands", 1, []string{"model openhands asks bash", "tool bash"}},
		{"adk-set.json", "adk/eval-set", 1, []string{"tool roll_die", "model generateContent"}},
		{"adk-session.json", "adk/session", 1, []string{"model generateContent asks roll_die", "tool roll_die"}},
		{"orca/events.jsonl", "orca/0", 2, []string{
			`model model by small-1 6+0 in 2+0 out`, "exec ls",
		}},
		{"mcp.txtar", "mcp/transcript", 1, []string{"mcp tools/call look", "mcp roots/list"}},
		{"mcp.jsonl", "mcp/messages", 1, []string{"mcp initialize"}},
		{"socket.yaml", "websocket", 2, nil},
		{"grpc.yaml", "grpc", 0, []string{
			`model grpc by small-1 3+2 in 2+1 out`,
		}},
		{"answer.sse", "answer/events", 0, []string{`model answer by claude-x 3+0 in 1+0 out`}},
		{"answer-http.json", "answer/http", 0, []string{"model answer"}},
		{"answer.json", "answer/json", 0, []string{`model answer by small-1 3+0 in 1+0 out`}},
		{"answer-lines.txt", "answer/lines", 0, []string{"model answer"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			b := fixture(t, tt.file)
			r := newRig(t)
			res, err := importer.Import(t.Context(), r.cfg, bytes.NewReader(b), tt.file, importer.Options{Beside: os.DirFS(filepath.Dir(filepath.Join("testdata", tt.file)))})
			if err != nil {
				t.Fatal(err)
			}
			if res.Format != tt.format || res.Exchanges != len(tt.calls) || res.Events != tt.events || res.Replayable != 0 {
				t.Errorf("Import = %s, %d exchanges, %d events, %d replayable, want %s, %d, %d, 0", res.Format, res.Exchanges, res.Events, res.Replayable, tt.format, len(tt.calls), tt.events)
			}
			if got, want := calls(t, r, res.Run), strings.Join(tt.calls, "\n"); got != want {
				t.Errorf("calls =\n%s\nwant\n%s", got, want)
			}
			r.verify(t, res.Run)
			r.holdsFile(t, res.Run, b)
			r.refusesAll(t, res.Run)
		})
	}
}

// holdsFile checks that the run holds the imported file, byte for byte but for
// secrets.
func (r *rig) holdsFile(t *testing.T, run ledger.RunID, want []byte) {
	t.Helper()
	rd := drive.NewReader(r.cfg.Store, run)
	o, err := rd.Open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := rd.Bytes(t.Context(), o, 0)
	if err != nil {
		t.Fatal(err)
	}
	redacted := o.Body.Get("data").Get("redacted").Len() > 0
	if o.Body.Get("name").Str() != importer.EventFile || bytes.Equal(got, want) == redacted {
		t.Errorf("entry 1 = %s with %d bytes, want the file with %d", o.Body.Get("name").Str(), len(got), len(want))
	}
}

// refusesAll checks that a replay gets nothing that is evidence only.
func (r *rig) refusesAll(t *testing.T, run ledger.RunID) {
	t.Helper()
	j, err := drive.ReadJournal(t.Context(), r.cfg.Store, run, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range j.Left() {
		if rec.Status == effect.OK {
			t.Errorf("call %d has the status %s, want none that answers", rec.Call.N, rec.Status)
		}
	}
}

// A secret in a recording of messages is nowhere in the run.
func TestSecretsLeaveMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res, err := r.run(t, "claude-code.jsonl", fixture(t, "claude-code.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(r.dump(t, res.Run), []byte("AKIAIOSFODNN7EXAMPLE")) {
		t.Error("the run holds the secret")
	}
}

// What a file names as a secret is taken out wherever it stands, whatever it
// looks like; a placeholder is none.
func TestNamedSecretsLeaveMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file string }{
		{"a member", `{"$schemaVersion":"1.9","current_agent":{"name":"a"},"original_input":"look","s3":{"secret_access_key":"SENTINEL-one-42"},"more":"it is SENTINEL-one-42"}`},
		{"an attribute of OTLP", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"spanId":"1","name":"SENTINEL-one-42","attributes":[{"key":"http.request.header.authorization","value":{"arrayValue":{"values":[{"stringValue":"Bearer SENTINEL-one-42"}]}}}]}]}]}]}`},
		{"a member in a text", `{"sessionId":"s","type":"user","message":{"role":"user","content":"{\"password\":\"SENTINEL-one-42\"}"}}`},
		{"a map", `[{"name":"x","spanContext":{"spanId":"1"},"attributes":{"ai.request.headers.x-api-key":"SENTINEL-one-42","output.value":"SENTINEL-one-42"}}]`},
		{"YAML", "history:\n- role: user\n  content: SENTINEL-one-42\n  api_key: SENTINEL-one-42\n"},
	} {
		r := newRig(t)
		res, err := r.run(t, tt.name, []byte(tt.file))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if all := r.dump(t, res.Run); bytes.Contains(all, []byte("SENTINEL")) || !bytes.Contains(all, []byte("{redacted:")) {
			t.Errorf("%s: the run holds %s, want the secret redacted", tt.name, all)
		}
	}
	many := strings.Repeat(`{"method":"generateContent","response":{"api_key":"SENTINEL-%d"}}`+"\n", 501)
	args := make([]any, 501)
	for i := range args {
		args[i] = 10_000 + i
	}
	if _, err := newRig(t).run(t, "many", fmt.Appendf(nil, many, args...)); !errors.Is(err, importer.ErrTooLarge) {
		t.Errorf("Import of 501 secrets = %v, want %v", err, importer.ErrTooLarge)
	}
}

// dump returns all bodies and contents of a run.
func (r *rig) dump(t *testing.T, run ledger.RunID) []byte {
	t.Helper()
	var all []byte
	rd := drive.NewReader(r.cfg.Store, run)
	for o, err := range rd.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Body.String()...)
		for i := range o.Att {
			b, err := rd.Bytes(t.Context(), o, i)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
	}
	return all
}

// What Orca keeps in files beside the events is looked up under its digest,
// and events that their manifest does not vouch for are refused.
func TestOrcaChecksWhatLiesBeside(t *testing.T) {
	t.Parallel()
	events := fixture(t, "orca/events.jsonl")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/orca")); err != nil {
		t.Fatal(err)
	}
	run := func(b []byte) (importer.Result, *rig, error) {
		r := newRig(t)
		res, err := importer.Import(t.Context(), r.cfg, bytes.NewReader(b), "events.jsonl", importer.Options{Beside: os.DirFS(dir)})
		return res, r, err
	}
	res, r, err := run(events)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.entries(t, res.Run)[0].request), `{"name":"ok"}`; got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
	if _, _, err := run(append(slices.Clone(events), '\n')); !errors.Is(err, importer.ErrMalformed) {
		t.Errorf("Import of changed events = %v, want %v", err, importer.ErrMalformed)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	if err := os.WriteFile(blobs[0], []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(events); !errors.Is(err, importer.ErrMalformed) {
		t.Errorf("Import with a changed blob = %v, want %v", err, importer.ErrMalformed)
	}
}

// Limits hold for recordings of messages as for cassettes.
func TestLimitsOfMessages(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tau-bench.json", "otlp.json", "claude-code.jsonl", "langfuse.json", "mcp.txtar", "swe-agent.traj"} {
		r := newRig(t)
		_, err := importer.Import(t.Context(), r.cfg, bytes.NewReader(fixture(t, name)), name, importer.Options{MaxExchanges: 1})
		if !errors.Is(err, importer.ErrTooLarge) {
			t.Errorf("Import(%s) over the limit = %v, want %v", name, err, importer.ErrTooLarge)
		}
	}
	deep := []byte(strings.Repeat(`{"resourceSpans":[`, 20000))
	if _, err := newRig(t).run(t, "deep", deep); fault.ClassOf(err) != fault.ClassInvalid {
		t.Errorf("Import of a deep file = %v, want a refusal of class invalid", err)
	}
}
