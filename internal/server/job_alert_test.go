package server_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// spec: M-73
func TestShippedAlertRulesCarryTheCodesVerbatim(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../deploy/prometheus/reprise-replay.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("the rules: %v", err)
	}
	r := newRig(t, nil)
	_, metrics := r.ask(http.MethodGet, "/metrics", nil, nil)
	var codes []string
	for _, rule := range file.Groups[0].Rules {
		code := rule.Labels["code"]
		codes = append(codes, code)
		series := `reprise_replay_results_total{code="` + code + `"`
		if !strings.Contains(rule.Expr, series+"}") || !strings.Contains(rule.Annotations["summary"], code) {
			t.Errorf("the rule %s of %s is about %s: %s", rule.Alert, code, rule.Annotations["summary"], rule.Expr)
		}
		// The first failure must be an increase, so that the series is there before.
		for _, mode := range []string{"audit", "reexecute", "production"} {
			if line := series + `,mode="` + mode + `"} 0`; !strings.Contains(string(metrics), line) {
				t.Errorf("a server that has replayed nothing lacks %s", line)
			}
		}
	}
	for i, want := range []struct {
		code fault.Code
		text string
	}{
		{job.ErrMissingSnapshot, "MISSING_SNAPSHOT"},
		{job.ErrIntegrity, "INTEGRITY_FAILURE"},
		{job.ErrMissingOutput, "MISSING_PERSISTED_AGENT_OUTPUT"},
		{job.ErrResult, "RESULT_MISMATCH"},
		{job.ErrDivergence, "REPLAY_DIVERGENCE"},
		{job.ErrForce, "FORCE_CONTINUE_REQUIRED"},
	} {
		if want.code.Error() != want.text || !slices.Contains(codes, want.text) {
			t.Errorf("code %d is %s, and the rules are of %q; want %s", i, want.code, codes, want.text)
		}
	}
}
