//go:build clients

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// The agents that people run are large and some are not free software, so they
// are no dependencies: this job takes those that are found in PATH.

// agentUnderTest is one of them. Flags are of record; in its arguments PROMPT
// stands for what it is asked.
type agentUnderTest struct {
	row   Row
	name  string
	args  string
	flags []string
	env   []string
	known map[string]string // trials that are not run, by what is in the way of their being exact

	// beside names the normaliser for what it tells its model of a command
	// beside the output; empty: it tells nothing that is drawn anew.
	beside string

	// races are, by trial, the normalisers for what is another each time because
	// the agent does several things at once. They are named whether they were at
	// work this time or not, so that the page is the same.
	races map[string][]string

	// later is put before its command in the replay, so that it is another time
	// for it; for one that names the minute, which else would sometimes be that
	// of the recording.
	later []string

	// sessions is where it keeps its sessions, below its home; empty: not as a
	// file that is imported.
	sessions string
}

// opencodeEnds is what makes a trial of opencode fail now and then.
const opencodeEnds = "beside the answer it asks for a title, and ends without waiting until it has asked: on a busy machine a recording can lack that call"

func agentsUnderTest(url string) []agentUnderTest {
	return []agentUnderTest{
		{
			row: Row{Client: "Claude Code", Speaks: "messages"}, name: "claude", args: "-p PROMPT --allowedTools Bash(echo:*)",
			env:      []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + apiKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			races:    map[string][]string{"concurrent": {"result-order@1"}},
			sessions: ".claude/projects/*/*.jsonl",
		},
		{
			row: Row{Client: "Codex", Speaks: "responses"}, name: "codex", args: "exec --skip-git-repo-check PROMPT",
			flags: []string{"--upstream", "codex=" + url + "/v1"}, env: []string{"CODEX_API_KEY=" + apiKey},
			beside:   "codex-times@1",
			sessions: ".codex/sessions/*/*/*/*.jsonl",
		},
		{
			row: Row{Client: "Gemini CLI", Speaks: "generateContent"}, name: "gemini", args: "-p PROMPT --skip-trust --approval-mode=yolo -m gemini-2.5-flash",
			env:      []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=" + apiKey},
			beside:   "gemini-processes@1",
			races:    map[string][]string{"stream": {"gemini-skills@1"}, "tools": {"gemini-skills@1"}, "4xx": {"gemini-skills@1"}, "retries": {"gemini-skills@1"}, "concurrent": {"gemini-skills@1"}},
			sessions: ".gemini/tmp/*/chats/*.jsonl",
		},
		{
			row:  Row{Client: "goose", Speaks: "responses", With: "it names the minute; in the replay it is an hour later for it, by faketime"},
			name: "goose", args: "run -q -t PROMPT",
			env:   []string{"OPENAI_HOST=" + url, "GOOSE_PROVIDER=openai", "GOOSE_MODEL=gpt-5", "GOOSE_DISABLE_KEYRING=1"},
			later: []string{"faketime", "-f", "+1h"},
		},
		{
			row: Row{Client: "opencode", Speaks: "responses", With: opencodeEnds}, name: "opencode", args: "run PROMPT -m openai/gpt-5",
			env: []string{"OPENAI_BASE_URL=" + url + "/v1"},
		},
		{
			row: Row{Client: "opencode, provider without a variable", Speaks: "generateContent", With: opencodeEnds}, name: "opencode", args: "run PROMPT -m google/gemini-2.5-flash",
			flags: []string{"--upstream", "opencode-google=" + url + "/v1beta"}, env: []string{"GOOGLE_GENERATIVE_AI_API_KEY=" + apiKey},
		},
	}
}

// agentPrompts are what agents are asked in each trial.
var agentPrompts = map[string]string{"stream": "plain", "tools": "shell", "4xx": "bad", "retries": "busy", "concurrent": "team"}

// agentLab is a lab whose home is not among what everybody may write: agents
// refuse configuration from there.
func agentLab(t *testing.T, env []string) (l *lab, home string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	home, err = os.MkdirTemp(cache, "reprise-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	l = newLab(t)
	l.env = append(append(l.env, "HOME="+home, "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "TERM=dumb", "NO_COLOR=1"), env...)
	return l, home
}

var recordedRun = regexp.MustCompile(`recorded run ([0-9a-f-]+)`)

func (a *agentUnderTest) measure(t *testing.T, trial string) Cell {
	t.Helper()
	cell := Cell{Trial: trial, Exact: true}
	if why := a.known[trial]; why != "" {
		return Cell{Trial: trial, Why: why}
	}
	fails := func(format string, args ...any) {
		cell.Exact = false
		t.Errorf(trial+": "+format, args...)
	}
	up := upstream.Start(t, upstream.Patient(upstream.Talk))
	made := agentsUnderTest(up.URL())
	for i := range made {
		if made[i].row.Client == a.row.Client {
			a.env, a.flags = made[i].env, made[i].flags
		}
	}
	argv := strings.Fields(a.name + " " + strings.Replace(a.args, "PROMPT", agentPrompts[trial], 1))
	l, home := agentLab(t, a.env)
	recorded := l.reprise(append(append(append([]string{"record"}, a.flags...), "--"), argv...)...)
	up.Stop()
	if strings.Contains(recorded.stderr, "capture.empty") || !recordedRun.MatchString(recorded.stderr) {
		fails("nothing was recorded: %d\n%s", recorded.status, clip(recorded.stderr))
		return cell
	}
	run := recordedRun.FindStringSubmatch(recorded.stderr)[1]
	if a.sessions != "" && trial != "concurrent" { // its agents have sessions of their own; before the replay, which leaves one more and may clean up
		sessions, err := filepath.Glob(filepath.Join(home, a.sessions))
		if err != nil || len(sessions) != 1 {
			t.Fatalf("%s: the agent left %d sessions at %s, want one", trial, len(sessions), a.sessions)
		}
		l.sameAsSession(run, sessions[0], trial)
	}
	replayed := l.reprise(slices.Concat([]string{"replay", run, "--"}, a.later, argv)...)
	if replayed.status != 0 {
		fails("the replay ended with %d\n%s", replayed.status, clip(replayed.stderr))
	}
	if replayed.stdout != recorded.stdout {
		fails("the replay differs: %s", firstDifference(recorded.stdout, replayed.stdout))
	}
	m := counted.FindStringSubmatch(replayed.stderr)
	if m == nil {
		fails("the replay does not say what it answered:\n%s", clip(replayed.stderr))
		return cell
	}
	cell.Calls, cell.Normalised, cell.By = number(m[1]), number(m[5]), rulesIn(replayed.stderr)
	cell.By = append(cell.By, a.races[trial]...)
	slices.Sort(cell.By)
	cell.By = slices.Compact(cell.By)
	if m[1] != m[2] || m[3] != "0" || m[4] != "0" {
		fails("%s", m[0])
	}
	t.Logf("%s: exit %d, %s\n%s", trial, recorded.status, m[0], clip(recorded.stdout))
	if trial == "tools" && a.beside != "" {
		l.explained(a.beside)
	}
	return cell
}

// explained checks that the last call of the replay was matched with the help
// of a normaliser, and that the explanation says so.
func (l *lab) explained(rule string) {
	l.t.Helper()
	calls := l.calls("last")
	at := strconv.Itoa(calls[len(calls)-1].Entry)
	if r := l.reprise("match", "explain", "last", at); !strings.Contains(r.stdout, "✓ "+rule) {
		l.t.Errorf("match explain last %s = %d, want that it names %s:\n%s", at, r.status, rule, clip(r.stdout))
	}
}

// told is what a model said, as the recorder saw it and as the agent itself
// keeps it.
type told struct {
	Kind, Model string
	Usage       struct{ Input, Output int }
	Tools       []string `json:"tool_calls"`
	Failed      bool
	HTTP        int `json:"http_status"`
}

// sameAsSession imports the session that an agent wrote of a recorded run: the
// import verifies, and has the same answers of models as the recording, which
// saw them come. An agent keeps no answer that was an error.
func (l *lab) sameAsSession(run, file, trial string) {
	l.t.Helper()
	said := func(run string) (out []string) {
		var doc struct{ Calls []told }
		decode(l.t, l.must(0, "show", run, "--json").stdout, &doc)
		for _, a := range doc.Calls {
			if a.Kind == "model" && a.HTTP < 400 {
				out = append(out, fmt.Sprintf("%s %d+%d %s", a.Model, a.Usage.Input, a.Usage.Output, strings.Join(a.Tools, ",")))
			}
		}
		return out
	}
	want := said(run)
	l.must(0, "import", file)
	l.must(0, "verify", "last")
	if got := said("last"); !slices.Equal(got, want) {
		l.t.Errorf("%s: the session %s has the answers\n%s\nwant those that were recorded:\n%s", trial, filepath.Base(file), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAgentFidelity puts the agents that are installed through the trials.
func TestAgentFidelity(t *testing.T) {
	list := agentsUnderTest("http://127.0.0.1:9")
	for i := range list {
		lacks := map[string]string{"whole": "it asks for streams only"}
		maps.Copy(lacks, list[i].row.Lacks)
		list[i].row.Lacks = lacks
	}
	var rows []Row
	found := map[string]bool{}
	for i := range list {
		a := &list[i]
		t.Run(a.row.Client, func(t *testing.T) {
			if _, err := exec.LookPath(a.name); err != nil {
				t.Skipf("%s is not installed", a.name)
			}
			l, _ := agentLab(t, nil)
			out := l.run("", a.name, "--version")
			a.row.Kind, a.row.Version = "agent", regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(out.stdout)
			for _, trial := range Trials() {
				if agentPrompts[trial] != "" && a.row.Lacks[trial] == "" {
					a.row.Cells = append(a.row.Cells, a.measure(t, trial))
				}
			}
			rows, found[a.row.Client] = append(rows, a.row), true
		})
	}
	if len(rows) > 0 {
		keepRows(t, rows, func(r Row) bool { return !found[r.Client] })
	}
}

// TestDoctorTriesEveryAgentThatIsInstalled asks doctor the same.
func TestDoctorTriesEveryAgentThatIsInstalled(t *testing.T) {
	l, _ := agentLab(t, nil)
	var doc struct {
		Checks []struct {
			Name, Result, Says string
			Agent              struct {
				Name    string
				Arrived bool
			}
		}
	}
	r := l.reprise("doctor", "--try", "--json")
	decode(t, r.stdout, &doc)
	for _, c := range doc.Checks {
		if c.Agent.Name != "" {
			t.Logf("%s %s", filepath.Base(c.Name), c.Says)
			if !c.Agent.Arrived {
				t.Errorf("%s: %s", c.Name, c.Says)
			}
		}
	}
}
