package jobs_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/keys"
)

const (
	envKeys  = "REPRISE_TEST_JOB_KEYS"
	envOut   = "REPRISE_TEST_JOB_OUT"
	envClock = "REPRISE_TEST_JOB_CLOCK"
)

// worlds are jobs whose words and numbers a locale, a zone or a map could touch.
const worlds = `
seed: ISTANBUL-ıİ
persist: always
input:
  query: Which TITLE has the İstanbul entry of 1.5 and 1,5 on 29.02.?
  user: uma
  roles: [user, editor, admin]
agents:
  - {node: "agent:alpha_v1", script: [{fail: the index is locked}]}
  - {node: "agent:beta_v1", script: [{fail: it is locked too}]}
  - {node: "agent:gamma_v1", script: [{text: "write to a.b@example.org, TITLE ıIiİ ß", confidence: 0.333333333, tokens_used: 7}, {text: the second, confidence: 0.95}]}
  - {node: "agent:delta_v1", script: [{text: I, confidence: 0.1}, {text: II, confidence: 0.2}, {text: III, confidence: 0.95}]}
snapshots:
  selfrep:
    nodes:
      - {node_id: "agent:alpha_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:beta_v1", apt: 0.9, metrics: {apt_events: 5}}
      - {node_id: "agent:gamma_v1", apt: 0.7, metrics: {apt_events: 5}}
      - {node_id: "agent:delta_v1", apt: 0.6, metrics: {apt_events: 5}}
  privacy:
    categories:
      - {pii_type: email, sensitivity: medium, pattern: '[a-z0-9.]+@[a-z0-9.]+\.[a-z]+'}
`

// TestJobsOfThisProcess is what the next test runs in processes of their own: it
// writes down everything that must not depend on the process.
func TestJobsOfThisProcess(t *testing.T) {
	t.Parallel()
	out := os.Getenv(envOut)
	if out == "" {
		out = filepath.Join(t.TempDir(), "out")
	}
	folder := os.Getenv(envKeys)
	if folder == "" {
		folder = filepath.Join(t.TempDir(), "keys")
	}
	k, err := keys.Open(folder, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := rigAt(t, "sqlite:"+filepath.Join(t.TempDir(), "reprise.db"), k)
	// A Go program asks the system for the time in a way that no library
	// underneath it can turn: the clock of the shell is turned instead.
	if begin, err := time.Parse(time.RFC3339, os.Getenv(envClock)); err == nil {
		started := time.Now()
		r.Config.Now = func() time.Time { return begin.Add(37 * time.Since(started)).In(time.Local) }
	}
	var b bytes.Buffer
	for _, text := range []string{birds, worlds} {
		res := r.done(text)
		log, err := res.Log.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", res.JobID, log)
		for _, e := range res.Log.Events {
			fmt.Fprintf(&b, "%d %s %s %s\n", e.Index, e.ID, e.Type, e.Digest)
		}
		replayed, err := r.replay(on(res.Run, production))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range replayed.Steps {
			if s.Name != "verify_ledger" && s.Name != "verify_governance" { // they are over place ids, which differ
				fmt.Fprintln(&b, s.Value())
			}
		}
	}
	if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Neither the number of processors, the zone, the language, the clock nor the
// order of maps changes a byte of what a job decides.
func TestTheSurroundingsOfAProcessChangeNothing(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "keys")
	if _, err := keys.Open(folder, rand.Reader); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, env ...string) []byte {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, exe, "-test.run=^TestJobsOfThisProcess$", "-test.count=1")
		c.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
			return strings.HasPrefix(e, "TZ=") || strings.HasPrefix(e, "LANG=") || strings.HasPrefix(e, "LC_") || strings.HasPrefix(e, "GO")
		}), append(env, envKeys+"="+folder, envOut+"="+out)...)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, said)
		}
		b, err := os.ReadFile(out)
		if err != nil || len(b) == 0 {
			t.Fatalf("%s wrote %d bytes, %v", name, len(b), err)
		}
		return b
	}
	want := run("first", "GOMAXPROCS=1")
	for name, env := range map[string][]string{
		"again":                {"GOMAXPROCS=1"},
		"two processors":       {"GOMAXPROCS=2"},
		"many processors":      {"GOMAXPROCS=16", "GOGC=5"},
		"no collection":        {"GOMAXPROCS=2", "GOGC=off"},
		"another zone":         {"TZ=Pacific/Chatham", "LANG=C"},
		"a zone with summer":   {"TZ=America/St_Johns", "LC_ALL=C.UTF-8"},
		"Turkish":              {"LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8"},
		"a comma for a point":  {"LANG=de_DE.UTF-8", "LC_NUMERIC=de_DE.UTF-8"},
		"an earlier clock":     {envClock + "=1999-12-31T23:59:59Z", "TZ=Asia/Kathmandu"},
		"a later clock":        {envClock + "=2038-01-19T03:14:07Z", "GOMAXPROCS=2"},
		"the day that is left": {envClock + "=2024-02-29T23:59:59Z", "TZ=Pacific/Kiritimati"},
	} {
		if got := run(name, env...); !bytes.Equal(got, want) {
			t.Errorf("%s (%q) changes what is decided:\n%s\nwant\n%s", name, env, got, want)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if _, err := exec.LookPath("faketime"); err != nil {
		return // the clock of the shell was turned
	}
	out := filepath.Join(t.TempDir(), "out")
	c := exec.CommandContext(t.Context(), "faketime", "2001-02-03 04:05:06", exe, "-test.run=^TestJobsOfThisProcess$", "-test.count=1")
	c.Env = append(os.Environ(), envKeys+"="+folder, envOut+"="+out)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("faketime: %v\n%s", err, said)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
		t.Errorf("under faketime (%v):\n%s\nwant\n%s", err, got, want)
	}
}
