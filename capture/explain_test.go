package capture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A record is replayed under the rules that it was made with, whatever the
// defaults are, and what only they made equal is said in the report.
func TestReplayUsesTheRulesOfItsRecord(t *testing.T) {
	t.Parallel()
	const u1, u2 = "6f1d2b6e-5b1c-4c56-9d3e-0a8b1e2f3a4b", "0190a1b2-0000-7000-8000-000000000001"
	body := func(id string) string { return `{"model":"m","messages":[{"role":"user","content":"` + id + `"}]}` }
	for _, tt := range []struct {
		name  string
		rules []string
		hit   bool
	}{{"asked for", []string{"uuids"}, true}, {"not asked for", nil, false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			list, err := match.Select(tt.rules)
			if err != nil {
				t.Fatal(err)
			}
			r.opts.Normalisers = list
			live := r.start(echoing(t).URL, drive.Opening{
				Engine: capture.Engine, Mode: "record", Data: canon.Object(canon.M(match.RulesMember, match.RuleIDs(list))),
			}, nil)
			send(t, "POST", live.url+"/v1/chat/completions", body(u1))
			run := live.seal()
			r.opts.Normalisers = nil
			again := r.replay(run)
			got := send(t, "POST", again.url+"/v1/chat/completions", body(u2))
			if hit := got.status == 200; hit != tt.hit {
				t.Errorf("status %d, want a hit: %v", got.status, tt.hit)
			}
			report := again.report(t)
			said := slices.ContainsFunc(report.Remarks, func(s string) bool { return strings.Contains(s, "by uuids@1") })
			if said != tt.hit {
				t.Errorf("remarks = %q, want the rule named: %v", report.Remarks, tt.hit)
			}
		})
	}
}

// explain explains a request against a run, as if it came now.
func (r *rig) explain(t *testing.T, run ledger.RunID, body string) *capture.Explanation {
	t.Helper()
	j, err := capture.ReadJournal(t.Context(), r.store, run, 0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := capture.NewRequest("model", "POST", "/v1/chat/completions", []byte(body), redact.New([32]byte{}, nil), match.Setting{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := capture.Explain(t.Context(), &capture.Recorded{Reader: drive.NewReader(r.store, run), Journal: j}, q)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of a thousand recorded prompts the explanation names the one that differs
// in a character, and where; a request that only the rules change matches.
func TestExplainFindsTheNearestOfMany(t *testing.T) {
	t.Parallel()
	prompts := make([]string, 300)
	for i := range prompts {
		prompts[i] = prompt(i)
	}
	r := newRig(t)
	run := r.recordAll(t, prompts)
	e := r.explain(t, run, strings.Replace(prompts[217], "parcel", "parcal", 1))
	if len(e.Same) != 0 || e.Nearest == nil || len(e.Nearest.Where) != 1 || e.Nearest.Where[0].Pointer != "/messages/1/content" {
		t.Fatalf("nearest = %+v, want one that differs at /messages/1/content", e.Nearest)
	}
	if was := e.Nearest.Where[0].A.Str(); !strings.Contains(was, "00217") {
		t.Errorf("nearest is %q, want ticket 00217", was)
	}
	e = r.explain(t, run, strings.Replace(prompts[5], `"model"`, `"prompt_cache_key":"drawn anew","model"`, 1))
	if len(e.Same) != 1 || e.Nearest != nil {
		t.Fatalf("same = %v, want one call", e.Same)
	}
	i := slices.IndexFunc(e.Rules, func(a capture.Applied) bool { return a.ID() == "volatile-ids@1" })
	if i < 0 || !e.Rules[i].Changed || e.Rules[i].Where[0].Pointer != "/prompt_cache_key" {
		t.Errorf("rules = %+v, want volatile-ids@1 to have taken out /prompt_cache_key", e.Rules)
	}
	for _, a := range e.Rules {
		if a.ID() != "volatile-ids@1" && a.Changed {
			t.Errorf("%s changed the request, want no", a.ID())
		}
	}
}

// What the rules make of a request one by one is what they make of it
// together: the explanation is of the key, not beside it.
func TestExplainStepsLeadToTheForm(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{"b":1, "a":2}`, "2026-11-21T09:01:05Z", "6f1d2b6e-5b1c-4c56-9d3e-0a8b1e2f3a4b", "/home/ada/shop", "November 21, 2026", "plain",
	}
	all := []string{"json-strings", "uuids", "times"}
	setting := match.Setting{Dates: []string{"2026-11-21"}, Cwd: "/home/ada/shop"}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(texts)
		body := fmt.Sprintf(`{"model":"m","prompt_cache_key":%q,"messages":[{"role":"user","content":%q},{"role":"tool","content":%q}]}`,
			word.Draw(t, "key"), word.Draw(t, "user")+" "+word.Draw(t, "user"), word.Draw(t, "tool"))
		list, err := match.Select(rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID[string]).Draw(t, "rules"))
		if err != nil {
			t.Fatal(err)
		}
		stepwise, whole, err := capture.StepAndForm(list, setting, capture.KindModel, body)
		if err != nil {
			t.Fatal(err)
		}
		if stepwise != whole {
			t.Fatalf("step by step %s\ntogether     %s", stepwise, whole)
		}
	})
}
