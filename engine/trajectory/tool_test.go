package trajectory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const booking = `{
	"name": "booking.cancel", "version": "1", "description": "cancels a booking",
	"effect": "external", "risk": "medium",
	"args": {"type": "object", "properties": {"id": {"type": "string"}, "fee": {"type": "number", "minimum": 0.5}}, "required": ["id"], "additionalProperties": false},
	"estimate": {"tokens": 0, "tool_calls": 1, "wall_clock_ms": 1000, "usd_millicents": 0},
	"when": [{"text": "the booking must be there", "condition": {"field": "world.booking.{intent.args.id}.version", "op": "gte", "value": 1}}],
	"changes": [{"op": "merge", "kind": "booking", "id": "{args.id}", "value": {"status": "cancelled"}}],
	"undo": {"tool": "booking.restore", "args": {"id": "{args.id}"}},
	"transport": {"kind": "exec", "argv": ["cancel"], "timeout": 1.5}
}`

func tool(t testing.TB, s string) trajectory.Tool {
	t.Helper()
	out, err := trajectory.ParseTool(parse(t, s))
	if err != nil {
		t.Fatalf("ParseTool(%s): %v", s, err)
	}
	return out
}

// changing returns a tool that writes, with these changes.
func changing(t testing.TB, changes string) trajectory.Tool {
	t.Helper()
	return tool(t, fmt.Sprintf(`{"name":"w","version":"1","effect":"write","args":{},"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"changes":%s,"transport":{}}`, changes))
}

func TestToolKeepsItsDeclaration(t *testing.T) {
	t.Parallel()
	one := tool(t, booking)
	v, err := one.Value()
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("transport").Get("timeout").String(); got != `{"$number":"1.5"}` {
		t.Errorf("Value().transport.timeout = %s, want it lifted", got)
	}
	again, err := trajectory.ParseTool(v)
	if err != nil {
		t.Fatalf("ParseTool(%s): %v", v, err)
	}
	id, err := one.ID()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.ID(); err != nil || got != id {
		t.Errorf("ID() after a round trip = %s, %v, want %s", got, err, id)
	}
	in := parse(t, booking)
	for name, value := range map[string]canon.Value{
		"name":        canon.String("x"),
		"version":     canon.String("2"),
		"description": canon.String("x"),
		"effect":      canon.String("irreversible"),
		"risk":        canon.String("high"),
		"args":        canon.Object(),
		"estimate":    in.Get("estimate").With("tokens", canon.Int(1)),
		"when":        {},
		"changes":     canon.String("output.delta"),
		"undo":        {},
		"transport":   canon.Object(),
	} {
		other, err := trajectory.ParseTool(in.With(name, value))
		if err != nil {
			t.Errorf("ParseTool with another %s: %v", name, err)
			continue
		}
		if got, err := other.ID(); err != nil || got == id {
			t.Errorf("ID() is blind to %s: %s, %v", name, got, err)
		}
	}
}

func TestToolThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	in := parse(t, booking)
	for _, tt := range []struct {
		name, value string
		code        fault.Code
		says        string
	}{
		{"name", `"a*"`, trajectory.ErrTool, "must not contain"},
		{"name", `"a@1"`, trajectory.ErrTool, "must not contain"},
		{"version", `""`, trajectory.ErrTool, "/version: the name has 0 bytes"},
		{"effect", `"pure"`, trajectory.ErrTool, `"pure" is no effect`},
		{"effect", `"read"`, trajectory.ErrTool, "a tool with effect read changes nothing"},
		{"risk", `""`, trajectory.ErrTool, "is no risk"},
		{"risk", `"extreme"`, trajectory.ErrTool, "is no risk"},
		{"args", `{"$ref":"#"}`, trajectory.ErrSchema, "/$ref"},
		{"estimate", `{}`, trajectory.ErrTool, "/estimate"},
		{"transport", `"exec"`, trajectory.ErrTool, "/transport: it is string"},
		{"transport", `{"$number":"x"}`, trajectory.ErrTool, "no canonical form"},
		{"when", `{}`, trajectory.ErrTool, "/when"},
		{"when", `[{"text":"x"}]`, trajectory.ErrTool, "member condition is missing"},
		{"when", `[{"text":"x","condition":{"field":"x","op":"eq","value":1}}]`, trajectory.ErrTool, "/when/0/condition/field: there is no field"},
		{"changes", `"output"`, trajectory.ErrTool, `want "output.delta"`},
		{"changes", `[{"op":"upsert","kind":"k","id":"i","value":1}]`, trajectory.ErrTool, `"upsert" is no operation`},
		{"changes", `[{"op":"put","kind":"k","id":"i"}]`, trajectory.ErrTool, "every operation but retract has a value"},
		{"changes", `[{"op":"retract","kind":"k","id":"i","value":1}]`, trajectory.ErrTool, "every operation but retract has a value"},
		{"changes", `[{"op":"put","kind":"a.b","id":"i","value":1}]`, trajectory.ErrTool, "/changes/0/kind"},
		{"changes", `[{"op":"put","kind":"k","id":"","value":1}]`, trajectory.ErrTool, "/changes/0/id"},
		{"changes", `[{"op":"put","kind":"k","id":"{args.}","value":1}]`, trajectory.ErrTool, "names nothing"},
		{"changes", `[{"op":"put","kind":"k","id":"{item.a}","value":1}]`, trajectory.ErrTool, "names nothing"},
		{"changes", `[{"op":"put","kind":"k","id":"i}","value":1}]`, trajectory.ErrTool, "closing brace"},
		{"changes", `[{"op":"put","kind":"k","id":"i","value":["output.a"]}]`, trajectory.ErrTool, `write "{output.a}"`},
		{"changes", `[{"op":"put","kind":"k","id":"i","value":1,"each":"world"}]`, trajectory.ErrTool, "/changes/0/each"},
		{"undo", `"inverse"`, trajectory.ErrTool, "the inverse takes back what a write did"},
		{"undo", `{"tool":"x"}`, trajectory.ErrTool, "member args is missing"},
		{"undo", `{"tool":"x","args":"args"}`, trajectory.ErrTool, `write "{args}"`},
		{"cost", `1`, trajectory.ErrTool, `member "cost" is not known`},
	} {
		if _, err := trajectory.ParseTool(in.With(tt.name, parse(t, tt.value))); !errors.Is(err, tt.code) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("ParseTool with %s %s = %v, want %v that says %q", tt.name, tt.value, err, tt.code, tt.says)
		}
	}
}

func TestToolIsReadyWhenItsPreconditionsHold(t *testing.T) {
	t.Parallel()
	one := tool(t, booking)
	w := world{{"booking", "7"}: {1, canon.Object()}}
	if err := one.Ready(fields(t, "booking.cancel", `{"id":"7"}`, w)); err != nil {
		t.Errorf("Ready = %v, want nil", err)
	}
	err := one.Ready(fields(t, "booking.cancel", `{"id":"8"}`, w))
	if !errors.Is(err, trajectory.ErrPrecondition) || !strings.Contains(fmt.Sprint(err), "the booking must be there") {
		t.Errorf("Ready = %v, want %v with its sentence", err, trajectory.ErrPrecondition)
	}
}

func TestEffectAndRisk(t *testing.T) {
	t.Parallel()
	for e, want := range map[trajectory.Effect]effect.Class{
		trajectory.EffectRead:         effect.Read,
		trajectory.EffectWrite:        effect.External,
		trajectory.EffectExternal:     effect.External,
		trajectory.EffectIrreversible: effect.Irreversible,
		"":                            effect.Irreversible,
	} {
		if got := e.Class(); got != want {
			t.Errorf("Class(%q) = %s, want %s", e, got, want)
		}
	}
	risks := []trajectory.Risk{"", trajectory.RiskLow, trajectory.RiskMedium, trajectory.RiskHigh, trajectory.RiskCritical}
	for i, r := range risks {
		for j, at := range risks {
			if got, want := r.AtLeast(at), j > 0 && i >= j; got != want {
				t.Errorf("%q.AtLeast(%q) = %v, want %v", r, at, got, want)
			}
		}
	}
	if trajectory.Risk("extreme").Valid() || !trajectory.RiskLow.Valid() {
		t.Error("Valid does not tell risks from other words")
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	restore := parse(t, booking).With("name", canon.String("booking.restore")).Without("undo")
	r, err := trajectory.ParseRegistry(canon.Array(restore, parse(t, booking)))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.All(); len(got) != 2 || got[0].Name != "booking.cancel" {
		t.Errorf("All() = %v, want two tools by name", got)
	}
	if got, ok := r.Find("booking.restore"); !ok || got.Name != "booking.restore" {
		t.Errorf("Find(booking.restore) = %v, %v", got, ok)
	}
	if _, ok := r.Find("booking"); ok {
		t.Error("Find(booking) found a tool")
	}
	v, err := r.Value()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := trajectory.ParseRegistry(v); err != nil || again.ID() != r.ID() {
		t.Errorf("ParseRegistry(Value()) = %v, want a registry with id %s", err, r.ID())
	}
	for says, in := range map[string]canon.Value{
		"two tools have the name":       canon.Array(restore, restore.With("version", canon.String("2"))),
		"taken back by booking.restore": canon.Array(parse(t, booking)),
		"want a list":                   canon.Object(),
		"tool 1: /name:":                canon.Array(restore, restore.With("name", canon.Int(1))),
	} {
		if _, err := trajectory.ParseRegistry(in); !errors.Is(err, trajectory.ErrTool) || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("ParseRegistry = %v, want %v that says %q", err, trajectory.ErrTool, says)
		}
	}
}

func FuzzParseTool(f *testing.F) {
	f.Add([]byte(booking))
	f.Add([]byte(`{"name":"w","version":"1","effect":"write","args":true,"estimate":{"tokens":0,"tool_calls":1,"wall_clock_ms":0,"usd_millicents":0},"changes":[{"op":"put","kind":"k","id":"{{{item.a}}}","each":"output.l","value":["{item}",{"$number":"0.5"}]}],"undo":"inverse","transport":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		one, err := trajectory.ParseTool(v)
		if err != nil {
			return
		}
		out, err := one.Value()
		if err != nil {
			t.Fatal(err)
		}
		again, err := trajectory.ParseTool(out)
		if err != nil {
			t.Fatalf("ParseTool(%s): %v", out, err)
		}
		x, _ := one.ID()
		if y, err := again.ID(); err != nil || x != y {
			t.Fatalf("ID() = %s and %s, %v, want one", x, y, err)
		}
	})
}
