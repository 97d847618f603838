//go:build clients

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	known map[string]string // what is in the way of a trial's being exact
}

func agentsUnderTest(url string) []agentUnderTest {
	return []agentUnderTest{
		{
			row: Row{Client: "Claude Code", Speaks: "messages"}, name: "claude", args: "-p PROMPT --allowedTools Bash(echo:*)",
			env: []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + apiKey, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		},
		{
			row: Row{Client: "Codex", Speaks: "responses"}, name: "codex", args: "exec --skip-git-repo-check PROMPT",
			flags: []string{"--upstream", "codex=" + url + "/v1"}, env: []string{"CODEX_API_KEY=" + apiKey},
		},
		{
			row: Row{Client: "Gemini CLI", Speaks: "generateContent"}, name: "gemini", args: "-p PROMPT --skip-trust --approval-mode=yolo -m gemini-2.5-flash",
			env:   []string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=" + apiKey},
			known: map[string]string{"tools": "what it tells the model of a command holds the number of the process, so that the second request is another one"},
		},
		{
			row: Row{Client: "opencode", Speaks: "responses"}, name: "opencode", args: "run PROMPT -m openai/gpt-5",
			env: []string{"OPENAI_BASE_URL=" + url + "/v1"},
		},
		{
			row: Row{Client: "opencode, provider without a variable", Speaks: "generateContent"}, name: "opencode", args: "run PROMPT -m google/gemini-2.5-flash",
			flags: []string{"--upstream", "opencode-google=" + url + "/v1beta"}, env: []string{"GOOGLE_GENERATIVE_AI_API_KEY=" + apiKey},
		},
	}
}

// agentPrompts are what agents are asked in each trial.
var agentPrompts = map[string]string{"stream": "plain", "tools": "shell", "4xx": "bad", "retries": "busy"}

// agentLab is a lab whose home is not among what everybody may write: agents
// refuse configuration from there.
func agentLab(t *testing.T, env []string) *lab {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp(cache, "reprise-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	l := newLab(t)
	l.env = append(append(l.env, "HOME="+home, "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1", "TERM=dumb", "NO_COLOR=1"), env...)
	return l
}

func (a *agentUnderTest) measure(t *testing.T, trial string) Cell {
	t.Helper()
	cell := Cell{Trial: trial, Exact: true}
	fails := func(format string, args ...any) {
		cell.Exact = false
		if cell.Why = a.known[trial]; cell.Why == "" {
			t.Errorf(trial+": "+format, args...)
		}
	}
	up := upstream.Start(t, upstream.Patient(upstream.Talk))
	made := agentsUnderTest(up.URL())
	for i := range made {
		if made[i].row.Client == a.row.Client {
			a.env, a.flags = made[i].env, made[i].flags
		}
	}
	argv := strings.Fields(a.name + " " + strings.Replace(a.args, "PROMPT", agentPrompts[trial], 1))
	l := agentLab(t, a.env)
	recorded := l.reprise(append(append(append([]string{"record"}, a.flags...), "--"), argv...)...)
	up.Stop()
	if strings.Contains(recorded.stderr, "capture.empty") || !strings.Contains(recorded.stderr, "recorded run") {
		fails("nothing was recorded: %d\n%s", recorded.status, clip(recorded.stderr))
		return cell
	}
	replayed := l.reprise(append([]string{"replay", "last", "--"}, argv...)...)
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
	cell.Calls, cell.Normalised = number(m[1]), number(m[5])
	if m[1] != m[2] || m[3] != "0" || m[4] != "0" {
		fails("%s", m[0])
	}
	t.Logf("%s: exit %d, %s\n%s", trial, recorded.status, m[0], clip(recorded.stdout))
	return cell
}

// TestAgentFidelity puts the agents that are installed through the trials.
func TestAgentFidelity(t *testing.T) {
	list := agentsUnderTest("http://127.0.0.1:9")
	var rows []Row
	found := map[string]bool{}
	for i := range list {
		a := &list[i]
		t.Run(a.row.Client, func(t *testing.T) {
			if _, err := exec.LookPath(a.name); err != nil {
				t.Skipf("%s is not installed", a.name)
			}
			out := agentLab(t, nil).run("", a.name, "--version")
			a.row.Kind, a.row.Version = "agent", regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(out.stdout)
			for _, trial := range Trials() {
				if a.name == "codex" && trial == "tools" {
					continue // it takes scripts in a dialect of its own, which the upstream does not speak
				}
				if agentPrompts[trial] != "" {
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
	l := agentLab(t, nil)
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
