package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// places is a job whose words and numbers a locale, a zone or a map could
// touch. Its second agent is a process, which says what it sees of its
// surroundings into a file and nothing of it in its answer.
const places = `
seed: seed-0001
persist: never
input:
  query: Which TITLE has the İstanbul entry of 1.5 and 1,5 on 29.02.?
  user: uma
  roles: [user, editor, admin]
agents:
  - {node: "agent:alpha_v1", script: [{fail: the index is locked}]}
  - {node: "agent:beta_v1", exec: [./agent.sh], env_from: [SEEN, LD_PRELOAD, FAKETIME, FAKETIME_SHARED]}
  - {node: "agent:gamma_v1", script: [{text: III, confidence: 0.95}]}
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:alpha_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:beta_v1", apt: 0.8, metrics: {apt_events: 5}}
      - {node_id: "agent:gamma_v1", apt: 0.7, metrics: {apt_events: 5}}
  privacy:
    categories:
      - {pii_type: email, sensitivity: medium, pattern: '[a-z0-9.]+@[a-z0-9.]+\.[a-z]+'}
`

const agentScript = `#!/bin/sh
cat >/dev/null
date +%Y-%m-%d >"$SEEN"
echo '{"text":"write to a.b@example.org, TITLE ıIiİ ß","confidence":0.85}'
`

// decided is everything of a job that must not depend on where it ran: the
// reflective log to the byte, with all ids in it, and the canonical diff of a
// replay in which a mock says something else.
type decided struct{ log, diff string }

// drawn are names that are drawn at random: those of runs, and that of the
// request for a replay, which is the digest of an act with a nonce.
var drawn = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|"request_id": "[0-9a-f]{64}"`)

// job runs the job once with these variables, under the command before, if
// there is one. The keys are those of the home.
func (l *lab) job(home string, before []string, env ...string) (decided, string) {
	l.t.Helper()
	x := newLab(l.t)
	seen := filepath.Join(x.dir, "seen")
	x.env = append(x.env, append([]string{"HOME=" + home, "SEEN=" + seen}, env...)...)
	for name, text := range map[string]string{
		"job.yaml": places, "agent.sh": agentScript,
		"mock.json": `{"text":"write to a.b@example.org, title","confidence":0.85}`,
	} {
		if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o700); err != nil {
			l.t.Fatal(err)
		}
	}
	must := func(status int, args ...string) string {
		l.t.Helper()
		r := x.run("", slices.Concat(before, []string{programs.reprise}, args)...)
		r.want(l.t, status, args)
		return r.stdout
	}
	must(0, "job", "run", "job.yaml")
	d := decided{log: must(0, "job", "log", "last")}
	var report struct {
		Steps []struct {
			Step string `json:"step"`
			Diff any    `json:"diff"`
		} `json:"steps"`
		Code string `json:"code"`
	}
	text := must(1, "job", "replay", "last", "--mock", "agent:beta_v1=mock.json", "--json")
	decode(l.t, text, &report)
	if report.Code != "REPLAY_DIVERGENCE" {
		l.t.Fatalf("the replay ends with %q: %s", report.Code, clip(text))
	}
	d.diff = drawn.ReplaceAllString(text, "PLACE")
	b, err := os.ReadFile(seen)
	if err != nil {
		l.t.Fatal(err)
	}
	return d, strings.TrimSpace(string(b))
}

// TestSurroundingsOfTheBinaryChangeNoByteOfAJob runs the built binary in other
// places, languages and numbers of processors. A Go program reads the time
// from a page that the kernel maps into it, which nothing that is loaded before
// it can turn: under faketime the agents that it starts live in another year,
// and the program does not. Its own clock is turned in internal/jobs and in
// internal/cli, where it is handed in.
func TestSurroundingsOfTheBinaryChangeNoByteOfAJob(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	home := filepath.Join(filepath.Dir(l.dir), "home")
	want, today := l.job(home, nil, "GOMAXPROCS=1", "LC_ALL=C", "TZ=UTC")
	if !strings.Contains(want.log, `"profile":"mace-fixed9"`) || !strings.Contains(want.diff, `"replayed": "`) {
		t.Fatalf("the log is %s, and the replay %s", clip(want.log), clip(want.diff))
	}
	around := map[string][]string{
		"two processors":      {"GOMAXPROCS=2", "LC_ALL=C", "TZ=UTC"},
		"another zone":        {"GOMAXPROCS=1", "LC_ALL=C.UTF-8", "TZ=Pacific/Chatham"},
		"Turkish":             {"GOMAXPROCS=2", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8", "TZ=Asia/Kathmandu"},
		"a comma for a point": {"GOMAXPROCS=16", "LC_ALL=de_DE.UTF-8", "LC_NUMERIC=de_DE.UTF-8", "TZ=America/St_Johns"},
	}
	same := func(name string, got decided) {
		t.Helper()
		if got.log != want.log {
			t.Errorf("%s: the log differs: %s", name, firstDifference(want.log, got.log))
		}
		if got.diff != want.diff {
			t.Errorf("%s: the diff differs: %s", name, firstDifference(want.diff, got.diff))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(around)) {
		got, _ := l.job(home, nil, around[name]...)
		same(name, got)
	}
	faketime, err := exec.LookPath("faketime")
	if err != nil {
		t.Log("there is no faketime: the agents were not put into another year")
		return
	}
	for processors, year := range map[string]string{"GOMAXPROCS=1": "2001-02-03 04:05:06", "GOMAXPROCS=2": "2038-01-20 00:00:00"} {
		got, day := l.job(home, []string{faketime, "-f", "@" + year}, processors, "LC_ALL=C", "TZ=UTC")
		same("faketime "+year, got)
		if day != year[:10] || day == today {
			t.Errorf("under faketime %s the agent saw %s", year, day)
		}
	}
}
