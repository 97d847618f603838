package match_test

import (
	"testing"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// The optional rules make requests equal that may mean different things, so
// they do so only where they are asked for.
func TestOptionalNormalisers(t *testing.T) {
	t.Parallel()
	const u1, u2 = "6f1d2b6e-5b1c-4c56-9d3e-0a8b1e2f3a4b", "0190a1b2-0000-7000-8000-000000000001"
	for _, tt := range []struct {
		name, rule, a, b string
		same             bool
	}{
		{"order inside a string", "json-strings", `{"m":"{\"a\":1,\"b\":2}"}`, `{"m":"{ \"b\": 2, \"a\": 1 }"}`, true},
		{"a value inside a string", "json-strings", `{"m":"{\"a\":1}"}`, `{"m":"{\"a\":2}"}`, false},
		{"an array inside a string", "json-strings", `{"m":["[1, 2]"]}`, `{"m":["[1,2]"]}`, true},
		{"text that is no JSON", "json-strings", `{"m":"{a  b}"}`, `{"m":"{a b}"}`, false},
		{"a string with more behind it", "json-strings", `{"m":"{\"a\": 1} x"}`, `{"m":"{\"a\":1} x"}`, false},
		{"another id", "uuids", `{"m":"ticket ` + u1 + `"}`, `{"m":"ticket ` + u2 + `"}`, true},
		{"one id twice, two ids once", "uuids", `{"m":"` + u1 + ` ` + u1 + `"}`, `{"m":"` + u1 + ` ` + u2 + `"}`, false},
		{"what is nearly an id", "uuids", `{"m":"` + u1[1:] + `"}`, `{"m":"` + u2[1:] + `"}`, false},
		{"another time", "times", `{"m":"at 2026-11-21T09:01:05Z"}`, `{"m":"at 2026-11-22T10:11:12.5Z"}`, true},
		{"another day", "times", `{"m":"on 2026-11-21"}`, `{"m":"on 2026-11-22"}`, false},
		{"one time twice, two times once", "times", `{"m":"2026-11-21T09:01:05Z 2026-11-21T09:01:05Z"}`, `{"m":"2026-11-21T09:01:05Z 2026-11-21T09:01:06Z"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if off := form(t, nil, tt.a) == form(t, nil, tt.b); off {
				t.Error("the requests are equal although nobody asked for the rule")
			}
			if on := form(t, []string{tt.rule}, tt.a) == form(t, []string{tt.rule}, tt.b); on != tt.same {
				t.Errorf("with %s equal = %v, want %v", tt.rule, on, tt.same)
			}
		})
	}
}

func form(t *testing.T, optional []string, body string) string {
	t.Helper()
	list, err := match.Select(optional)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := match.NewRules(list, match.Setting{})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := rules.Form(match.KindModel, []byte(body))
	return string(out)
}

// A record that lists no rules was made before records did, with those that
// were built in then. Who adds a rule must not add it there.
func TestRulesOfARecord(t *testing.T) {
	t.Parallel()
	list := func(ids ...string) canon.Value {
		var vs []canon.Value
		for _, id := range ids {
			vs = append(vs, canon.String(id))
		}
		return canon.Object(canon.M(match.RulesMember, canon.Array(vs...)))
	}
	for _, tt := range []struct {
		name   string
		opened canon.Value
		want   string
		ok     bool
	}{
		{"none listed", canon.Object(), `["volatile-ids@1","realtime-ids@1","mcp-meta@1","date-cwd@1","multipart-boundary@1"]`, true},
		{"an empty list", list(), `[]`, true},
		{"an optional one", list("mcp-meta@1", "uuids@1"), `["mcp-meta@1","uuids@1"]`, true},
		{"one of a later version", list("uuids@2"), "", false},
		{"a name without a version", list("uuids"), "", false},
		{"an unknown one", list("guess@1"), "", false},
	} {
		got, err := match.RulesOf(tt.opened)
		if (err == nil) != tt.ok || tt.ok && match.RuleIDs(got).String() != tt.want {
			t.Errorf("%s: RulesOf = %s, %v, want %s", tt.name, match.RuleIDs(got), err, tt.want)
		}
	}
	if _, err := match.Select([]string{"guess"}); err == nil {
		t.Error("Select(guess) = nil, want an error")
	}
}
