package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/cli"
)

// placed are names that are drawn or that hold an instant: runs, and requests,
// which are digests of signed acts.
var placed = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|"request_id": "[0-9a-f]{64}"`)

// Whatever the clock of the program says, and however fast it goes, a job comes
// out the same to the byte, and so does what its replay reports.
func TestClockOfTheProgramChangesNoByteOfAJob(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	// In it nobody votes: a vote is an act that says when it was signed.
	job := filepath.Join(home, "job.yaml")
	if err := os.WriteFile(job, []byte(`
seed: seed-0001
input: {query: "what is a kestrel on 29.02.?"}
persist: always
agents:
  - {node: "agent:alpha_v1", script: [{fail: the index is locked}]}
  - {node: "agent:beta_v1", script: [{text: a falcon, confidence: 0.333333333}, {text: a small falcon, confidence: 0.9}]}
snapshots: {selfrep: {nodes: [{node_id: "agent:alpha_v1", apt: 0.9, metrics: {apt_events: 5}}, {node_id: "agent:beta_v1", apt: 0.8, metrics: {apt_events: 5}}]}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, begin := range []time.Time{
		time.Now(),
		time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2024, 2, 29, 23, 59, 58, 0, time.FixedZone("there", 14*3600)),
		time.Date(2038, 1, 19, 3, 14, 7, 0, time.FixedZone("here", -5*3600-1800)),
	} {
		started := time.Now()
		now := func() time.Time { return begin.Add(time.Duration(1+7*i) * time.Since(started)) }
		store := "sqlite:" + filepath.Join(t.TempDir(), "r.db")
		say := func(args ...string) string {
			t.Helper()
			var out, err bytes.Buffer
			args = append([]string{"reprise"}, append(args, "--store", store)...)
			if status := cli.RunAt(t.Context(), now, args, strings.NewReader(""), &out, &err, []string{"HOME=" + home}); status != 0 {
				t.Fatalf("%q at %s = %d\n%s%s", args, begin, status, out.String(), err.String())
			}
			return out.String()
		}
		say("job", "run", job)
		got := []string{
			say("job", "log", "last"),
			placed.ReplaceAllString(say("job", "replay", "last", "--mode", "production", "--json"), "PLACE"),
		}
		if want == nil {
			want = got
		}
		for j, what := range []string{"log", "replay"} {
			if got[j] != want[j] {
				t.Errorf("at %s the %s differs:\n%s", begin, what, firstDifference(want[j], got[j]))
			}
		}
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("%s\nand\n%s", a[from:min(len(a), i+200)], b[from:min(len(b), i+200)])
}
