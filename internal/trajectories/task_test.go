package trajectories_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// What a task file says wrong is refused with the line and in words.
func TestATaskFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, task, want string }{
		{"an unknown name", "task: x\nmodel: outside\nmodell: y\n", `:3: "modell" is not known here`},
		{"a name twice", "task: x\ntask: y\n", `"task" stands twice`},
		{"no task", "model: outside\n", "the member task is missing"},
		{"an unknown name deep down", "task: x\nmodel: outside\nwrit:\n  budget: {token: 3}\n", `:4: "token" is not known here`},
		{"a list for a text", "task: [x]\n", ":1: a list where a text should stand"},
		{"a negative count", "task: x\nmodel: outside\nwrit: {budget: {tokens: -1}}\n", "tokens is not a whole number from 0"},
		{"money with too many digits", "task: x\nmodel: outside\nwrit: {budget: {usd: 0.1234567}}\n", "is no amount of dollars"},
		{"an effect that is none", "task: x\nmodel: outside\nwrit: {ceiling: [everything]}\n", `"everything" is no effect`},
		{"a window that is none", "task: x\nmodel: outside\nwrit: {window: tomorrow}\n", `"tomorrow" is no duration`},
		{"a tool without a transport", "task: x\nmodel: outside\ntools:\n  - {name: a, effect: read}\n", ":4: a tool has either exec"},
		{"a tool without an effect", "task: x\nmodel: outside\ntools:\n  - {name: a, exec: [cat]}\n", ":4: /: member effect is missing"},
		{"a keyword of a schema that is not held", "task: x\nmodel: outside\ntools:\n  - {name: a, effect: read, exec: [cat], args: {type: object, dependentRequired: {}}}\n", "dependentRequired"},
		{"a built-in tool that is none", "task: x\nmodel: outside\ntools: [{builtin: [sql]}]\n", `no built-in tool or group "sql"`},
		{"a policy that is none", "task: x\nmodel: outside\npolicies:\n  - {name: p, rules: [{name: r, when: {}, decision: {kind: maybe}}]}\n", ":4: /rules/0"},
		{"a risk that is none", "task: x\nmodel: outside\ngates: {risk_at: huge}\n", `there is no risk "huge"`},
		{"an actor without roles", "task: x\nmodel: outside\nactors: [{id: a}]\n", `actor "a" has no roles`},
		{"an alias", "task: &t x\nmodel: outside\nactors: [{id: *t, roles: [approver]}]\n", "an alias where a text should stand"},
		{"parameters that would replace the conversation", "task: x\nmodel: {url: 'http://127.0.0.1:1/v1', parameters: {messages: []}}\n", "beside messages, tools and stream"},
		{"an address that is none", "task: x\nmodel: gpt\n", `"gpt" is not the address of a model`},
		{"two documents", "task: x\n---\ntask: y\n", "more than one document"},
		{"no YAML", "task: [", "did not find"},
		{"nothing", "", "EOF"},
		{"an issuer that is no key", "task: x\nmodel: outside\nissuers: [nobody.pub]\n", "neither a public key of 64 hexadecimal digits nor a file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, nil)
			_, err := trajectories.ReadTask(g.file("task.yaml", test.task))
			if err == nil || fault.ClassOf(err) != fault.ClassInvalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ReadTask = %v, want an invalid one that says %q", err, test.want)
			}
		})
	}
}

func TestACharterSaysWhatTheTaskSays(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	task := g.task(`
task: x
tenant: acme
max_steps: 7
gates: {irreversible: true, risk_at: high}
writ: {budget: {tokens: 10, tool_calls: 3, wall_clock: 90s, usd: "1.5"}, window: {not_before: 2026-01-01T00:00:00Z, expires_at: 2099-01-01T00:00:00Z}}
agents:
  - {name: a, model: {script: script.yaml}, prompt: Be brief., writ: {scopes: ["kv_*"], ceiling: [read], delegation: {depth: 2}}}
  - {name: b, model: outside, params: {tone: dry}, skill: {name: s, instructions: "Be {tone}.", params: [{key: tone, description: d, default: kind, values: [kind, dry]}]}}
tools: [{builtin: [kv]}]
channels: [{name: c, quorums: [{need: 1, roles: [operator]}]}]
`, "- text: x\n")
	c, err := g.r.Charter(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Writ(c.Agents[0].Writ), c.Writ(c.Agents[1].Writ)
	if want := (trajectory.Budget{Tokens: 10, ToolCalls: 3, WallClockMS: 90_000, USDMillicents: 150_000}); a.Body.Budget != want || b.Body.Budget != want {
		t.Errorf("budgets = %+v and %+v, want %+v", a.Body.Budget, b.Body.Budget, want)
	}
	if want := (trajectory.Ceiling{Read: true}); a.Body.Ceiling != want {
		t.Errorf("ceiling = %+v, want %+v", a.Body.Ceiling, want)
	}
	if !b.Body.Allows("kv_set") || b.Body.Allows("other") || a.Body.Tenant != "acme" || a.Body.Delegation.MaxDepth != 2 || a.Body.Window.NotBefore != 1767225600 {
		t.Errorf("writs = %+v and %+v", a.Body, b.Body)
	}
	if c.MaxSteps != 7 || !c.GateIrreversible || c.RiskAt != trajectory.RiskHigh || len(c.Channels) != 1 || !c.Agents[1].Model.IsZero() || c.Agents[1].Skill == nil {
		t.Errorf("charter = %+v", c)
	}
	if a.Body.SubjectKey == b.Body.SubjectKey || a.Body.IssuerKey != c.Roots[0] {
		t.Error("every agent has a key of its own, and the trusted root issues its writ")
	}
}

// A policy may have to be signed by somebody who is named.
func TestPoliciesOfAnIssuer(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	var seed [32]byte
	if _, err := rand.Read(seed[:]); err != nil {
		t.Fatal(err)
	}
	key, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse([]byte(`{"name":"p","version":"1","rules":[{"name":"r","when":{"field":"intent.target","op":"eq","value":"kv_set"},"decision":{"kind":"deny","reason":"no"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := trajectory.ParsePolicy(v)
	if err != nil {
		t.Fatal(err)
	}
	b, err := trajectory.Seal(p, key)
	if err != nil {
		t.Fatal(err)
	}
	g.file("bundle.json", b.Value().String())
	task := "task: x\nmodel: {script: script.yaml}\ntools: [{builtin: [kv]}]\npolicies: [bundle.json]\nissuers: [" + hex.EncodeToString(key.Public().Raw()) + "]\n"
	script := "- calls: [{kv_set: {key: a, value: 1}}]\n- text: ok\n"
	if res := g.start(task, script); res.Commits != 0 || len(g.entries(res.Run, ledger.KindRejection)) != 1 {
		t.Errorf("%d commits, want the policy to refuse the one", res.Commits)
	}
	unsigned, err := json.Marshal(map[string]any{"name": "p", "rules": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	g.file("bundle.json", string(unsigned))
	if _, err := g.r.Start(t.Context(), g.task(task, script)); !errors.Is(err, trajectory.ErrCharter) {
		t.Errorf("Start with an unsigned policy = %v, want %v", err, trajectory.ErrCharter)
	}
}

// Agents work at the same time on one world; their commits follow one another.
func TestAgentsWorkAtTheSameTime(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	res := g.start(`
task: Count
model: {script: script.yaml}
agents: [{name: a}, {name: b}, {name: c}]
tools: [{builtin: [kv]}, {name: say, effect: read, exec: [/bin/cat]}]
`, `
- calls: [{say: {}}, {kv_set: {key: x, value: 1}}]
- calls: [{say: {}}, {kv_set: {key: x, value: 2}}, {kv_get: {key: x}}]
- text: ok
`)
	if !res.Done || res.Status != trajectories.StatusDone || res.Commits != 15 {
		t.Fatalf("status %s with %d commits, want 15", res.Status, res.Commits)
	}
	same(t, g.r, res.Run)
	if res.World == nil {
		t.Error("the seal has no world")
	}
	last := g.entries(res.Run, ledger.KindSeal)[0]
	if last.Get("world").Str() != res.World.String() {
		t.Errorf("the seal says the world %s, the result %s", last.Get("world").Str(), res.World)
	}
}
