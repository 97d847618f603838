package trajectory_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
)

func triage(t testing.TB) trajectory.Skill {
	t.Helper()
	v, _ := vectorCase(t, "skill_read_only_triage")
	s, err := trajectory.ParseSkill(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A.5 core/skill: id deterministic.
func TestSkillIDIsDeterministic(t *testing.T) {
	t.Parallel()
	v, want := vectorCase(t, "skill_read_only_triage")
	s := triage(t)
	if id, err := s.ID(); err != nil || id != want || !s.Value().Equal(v) {
		t.Errorf("ID = %s, %v of %s, want %s of %s", id, err, s.Value(), want, v)
	}
	s.Ceiling.Write = true
	_, tampered := vectorCase(t, "skill_read_only_triage_tampered")
	if id, err := s.ID(); err != nil || id != tampered {
		t.Errorf("ID of the tampered skill = %s, %v, want %s", id, err, tampered)
	}
}

// subset lists the names whose bit is set.
func subset(names []string, bits int) []string {
	var out []string
	for i, n := range names {
		if bits>>i&1 == 1 {
			out = append(out, n)
		}
	}
	return out
}

// A.5 core/skill: allow-list only narrows (exhaustive 4096-case subset check):
// every subset of six tools in the writ under every subset in the skill.
func TestSkillAllowListOnlyNarrows(t *testing.T) {
	t.Parallel()
	tools := []string{"kv_get", "kv_set", "mail", "pay", "read", "write"}
	cases := 0
	for w := range 64 {
		for s := range 64 {
			cases++
			skill := trajectory.Skill{Tools: subset(tools, s)}
			got := skill.Narrow(trajectory.Grant{Scopes: subset(tools, w)})
			want := w & s
			if s == 0 { // no list, no further restriction
				want = w
			}
			for i, tool := range tools {
				if allowed := want>>i&1 == 1; got.Allows(tool) != allowed {
					t.Fatalf("writ %q, skill %q: Allows(%s) = %t, want %t", subset(tools, w), subset(tools, s), tool, !allowed, allowed)
				}
			}
		}
	}
	if cases != 4096 {
		t.Errorf("%d cases, want 4096", cases)
	}
}

// Patterns meet exactly: what both allow, and nothing else.
func TestSkillNarrowsPatterns(t *testing.T) {
	t.Parallel()
	atoms := []string{"*", "a", "b", "a*", "aa*", "ab"}
	tools := []string{"", "a", "b", "aa", "ab", "aab", "abb", "c"}
	for w := range 64 {
		for s := 1; s < 64; s++ {
			grant := trajectory.Grant{Scopes: subset(atoms, w)}
			skill := trajectory.Skill{Tools: subset(atoms, s)}
			got, only := skill.Narrow(grant), trajectory.Grant{Scopes: skill.Tools}
			for _, tool := range tools {
				if want := grant.Allows(tool) && only.Allows(tool); got.Allows(tool) != want {
					t.Fatalf("writ %q, skill %q: scopes %q, Allows(%q) = %t, want %t", grant.Scopes, skill.Tools, got.Scopes, tool, !want, want)
				}
			}
		}
	}
}

// A.5 core/skill: ceiling only narrows: every ceiling of a writ under every
// ceiling of a skill, for every set of effects.
func TestSkillCeilingOnlyNarrows(t *testing.T) {
	t.Parallel()
	ceiling := func(n int) trajectory.Ceiling {
		return trajectory.Ceiling{Read: n&1 != 0, Write: n&2 != 0, External: n&4 != 0, Irreversible: n&8 != 0}
	}
	for w := range 16 {
		for s := range 16 {
			skill := trajectory.Skill{Ceiling: ceiling(s)}
			got := skill.Narrow(trajectory.Grant{Ceiling: ceiling(w)}).Ceiling
			for e := range 16 {
				want := e&^w == 0 && e&^s == 0
				if ceiling(e).Within(got) != want {
					t.Fatalf("writ %04b, skill %04b: effects %04b within %+v = %t, want %t", w, s, e, got, !want, want)
				}
			}
		}
	}
}

// A.5 core/skill: budget only narrows.
func TestSkillBudgetOnlyNarrows(t *testing.T) {
	t.Parallel()
	budget := func(n int) trajectory.Budget {
		return trajectory.Budget{Tokens: uint64(n & 3), ToolCalls: uint64(n >> 2 & 1), WallClockMS: uint64(n >> 3 & 1), USDMillicents: uint64(n >> 4 & 3)}
	}
	for w := range 64 {
		for s := range 64 {
			limit := budget(s)
			skill := trajectory.Skill{Cap: &limit}
			got := skill.Narrow(trajectory.Grant{Budget: budget(w)}).Budget
			if !got.Within(budget(w)) || !got.Within(limit) || got != budget(w).Min(limit) {
				t.Fatalf("writ %+v, skill %+v: %+v", budget(w), limit, got)
			}
		}
		if got := (&trajectory.Skill{}).Narrow(trajectory.Grant{Budget: budget(w)}).Budget; got != budget(w) {
			t.Fatalf("writ %+v, skill without a cap: %+v", budget(w), got)
		}
	}
}

// A.5 core/skill: params.
func TestSkillParamsTakeTheOverrideElseTheDefault(t *testing.T) {
	t.Parallel()
	s := trajectory.Skill{
		Name:         "report",
		Instructions: "Write {len} on {topic}. {unknown} {len}{} {",
		Params: []trajectory.Param{
			{Key: "topic", Default: "sales"},
			{Key: "len", Default: "short", Values: []string{"short", "long"}},
		},
	}
	for _, c := range []struct {
		given []trajectory.Binding
		want  string
	}{
		{nil, "Write short on sales. {unknown} short{} {"},
		{[]trajectory.Binding{{Key: "len", Value: "long"}}, "Write long on sales. {unknown} long{} {"},
		{[]trajectory.Binding{{Key: "topic", Value: "{len}"}}, "Write short on {len}. {unknown} short{} {"},
		{[]trajectory.Binding{{Key: "topic", Value: ""}}, "Write short on . {unknown} short{} {"},
	} {
		if got, err := s.Bind(c.given); err != nil || got != c.want {
			t.Errorf("Bind(%v) = %q, %v, want %q", c.given, got, err, c.want)
		}
	}
	for _, given := range [][]trajectory.Binding{
		{{Key: "size", Value: "long"}},
		{{Key: "len", Value: "medium"}},
		{{Key: "topic", Value: "a"}, {Key: "topic", Value: "b"}},
	} {
		if got, err := s.Bind(given); !errors.Is(err, trajectory.ErrParam) {
			t.Errorf("Bind(%v) = %q, %v, want %v", given, got, err, trajectory.ErrParam)
		}
	}
	back, err := trajectory.ParseSkill(s.Value())
	if err != nil || !slices.EqualFunc(back.Params, s.Params, func(a, b trajectory.Param) bool { return a.Key == b.Key && slices.Equal(a.Values, b.Values) }) {
		t.Errorf("ParseSkill(%s) = %+v, %v", s.Value(), back, err)
	}
}

func TestParseSkillIsStrict(t *testing.T) {
	t.Parallel()
	v, _ := vectorCase(t, "skill_read_only_triage")
	param := `{"key":"k","description":"","default":"","values":[]}`
	for name, bad := range map[string]canon.Value{
		"no object":         canon.Null(),
		"member too many":   v.With("x", canon.Null()),
		"no title":          v.Without("title"),
		"no name":           v.With("name", canon.String("")),
		"version negative":  v.With("version", canon.Int(-1)),
		"version too large": v.With("version", canon.Int(1<<32)),
		"tools as text":     v.With("tools", parse(t, `["kv_get"]`)),
		"ceiling lacks":     v.With("ceiling", parse(t, `{"read":true}`)),
		"cap lacks":         v.With("budget_cap", parse(t, `{"tokens":1}`)),
		"cap left out":      v.Without("budget_cap"),
		"hint empty":        v.With("model_hint", parse(t, `{"model":"","provider":null}`)),
		"param lacks":       v.With("params", parse(t, `[{"key":"k"}]`)),
		"param twice":       v.With("params", parse(t, "["+param+","+param+"]")),
		"param with brace":  v.With("params", parse(t, "["+strings.Replace(param, `"k"`, `"a}"`, 1)+"]")),
		"instructions long": v.With("instructions", canon.String(strings.Repeat("x", 33<<10))),
	} {
		if s, err := trajectory.ParseSkill(bad); !errors.Is(err, trajectory.ErrSkill) {
			t.Errorf("%s: ParseSkill = %+v, %v, want %v", name, s, err, trajectory.ErrSkill)
		}
	}
}
