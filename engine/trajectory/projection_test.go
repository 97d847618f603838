package trajectory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// encode returns changes as a commit holds them.
func encode(changes []ledger.Change) string {
	out := make([]canon.Value, len(changes))
	for i, c := range changes {
		out[i] = c.Encode()
	}
	return canon.Array(out...).String()
}

var there = world{
	{"booking", "7"}: {3, canon.Object(canon.M("status", canon.String("open")), canon.M("seat", canon.String("2A")))},
	{"note", "n"}:    {1, canon.String("text")},
}

func TestDeltaFollowsFromArgumentsAndOutput(t *testing.T) {
	t.Parallel()
	const args = `{"id":"7","n":5,"fee":{"$number":"2.50"},"list":["a","b"]}`
	const output = `{"status":"done","items":[{"id":1,"price":{"$number":"9.99"}},{"id":2,"price":7}],"delta":[]}`
	for _, tt := range []struct{ name, changes, want string }{
		{"put of what is not there", `[{"op":"put","kind":"k","id":"{args.id}","value":"{output.status}"}]`, `[{"id":"7","kind":"k","op":"create","value":"done"}]`},
		{"put of what is there", `[{"op":"put","kind":"booking","id":"{args.id}","value":{"s":"{output.status}","n":["{args.n}"]}}]`, `[{"id":"7","kind":"booking","op":"replace","value":{"s":"done","n":[5]},"version":3}]`},
		{"merge", `[{"op":"merge","kind":"booking","id":"7","value":{"status":"cancelled","fee":"{args.fee}"}}]`, `[{"id":"7","kind":"booking","op":"replace","value":{"status":"cancelled","seat":"2A","fee":{"$number":"2.50"}},"version":3}]`},
		{"retract", `[{"op":"retract","kind":"booking","id":"7"}]`, `[{"id":"7","kind":"booking","op":"retract","version":3}]`},
		{"whole output", `[{"op":"create","kind":"k","id":"x","value":"{output.items.1}"}]`, `[{"id":"x","kind":"k","op":"create","value":{"id":2,"price":7}}]`},
		{"text around", `[{"op":"create","kind":"k","id":"a-{args.id}-{args.n}{{x}}","value":"{args.list.0}:{args.list.1}"}]`, `[{"id":"a-7-5{x}","kind":"k","op":"create","value":"a:b"}]`},
		{"each", `[{"op":"put","kind":"item","id":"{item.id}","each":"output.items","value":"{item.price}"}]`, `[{"id":"1","kind":"item","op":"create","value":{"$number":"9.99"}},{"id":"2","kind":"item","op":"create","value":7}]`},
		{"changes see those before", `[{"op":"create","kind":"k","id":"x","value":{}},{"op":"merge","kind":"k","id":"x","value":{"a":1}},{"op":"put","kind":"k","id":"x","value":null},{"op":"retract","kind":"k","id":"x"},{"op":"put","kind":"k","id":"x","value":false}]`, `[{"id":"x","kind":"k","op":"create","value":{}},{"id":"x","kind":"k","op":"replace","value":{"a":1},"version":1},{"id":"x","kind":"k","op":"replace","value":null,"version":2},{"id":"x","kind":"k","op":"retract","version":3},{"id":"x","kind":"k","op":"create","value":false}]`},
		{"own and empty", `"output.delta"`, `[]`},
	} {
		one := changing(t, tt.changes)
		got, err := one.Delta(parse(t, args), parse(t, output), there)
		if err != nil || encode(got) != tt.want {
			t.Errorf("%s: Delta = %s, %v, want %s", tt.name, encode(got), err, tt.want)
			continue
		}
		w := ledgerWorld(t, there)
		for _, c := range got {
			if err := w.Apply(c, nil); err != nil {
				t.Errorf("%s: the world does not take %v: %v", tt.name, c, err)
			}
		}
	}
}

// ledgerWorld returns a world of the ledger that holds the same.
func ledgerWorld(t testing.TB, w world) *ledger.World {
	t.Helper()
	var out ledger.World
	for k, it := range w {
		apply := func(c ledger.Change) {
			if err := out.Apply(c, nil); err != nil {
				t.Fatal(err)
			}
		}
		apply(ledger.Change{Op: ledger.OpCreate, Kind: k[0], ID: k[1], Value: it.value})
		for v := int64(1); v < it.version; v++ {
			apply(ledger.Change{Op: ledger.OpReplace, Kind: k[0], ID: k[1], Version: v, Value: it.value})
		}
	}
	return &out
}

func TestDeltaRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		changes, output string
		code            fault.Code
		says            string
	}{
		{`[{"op":"put","kind":"k","id":"i","value":"{output.gone}"}]`, `{}`, trajectory.ErrTemplate, "there is no output.gone"},
		{`[{"op":"put","kind":"k","id":"i","value":{"a":["{output.a.b.c}"]}}]`, `{"a":{"b":1}}`, trajectory.ErrTemplate, "there is no output.a.b.c"},
		{`[{"op":"put","kind":"k","id":"i","value":"{output.01}"}]`, `[1,2]`, trajectory.ErrTemplate, "there is no output.01"},
		{`[{"op":"put","kind":"k","id":"i","value":"{output.2}"}]`, `[1,2]`, trajectory.ErrTemplate, "there is no output.2"},
		{`[{"op":"put","kind":"k","id":"{output}","value":1}]`, `null`, trajectory.ErrTemplate, "output is null, want a string or an integer"},
		{`[{"op":"put","kind":"k","id":"{output}","value":1}]`, `{"$number":"0.5"}`, trajectory.ErrTemplate, "want a string or an integer"},
		{`[{"op":"put","kind":"k","id":"{output}","value":1}]`, `""`, trajectory.ErrChange, "the id has 0 bytes"},
		{`[{"op":"put","kind":"k","id":"i","value":1,"each":"output"}]`, `{}`, trajectory.ErrChange, "output is object, want a list"},
		{`[{"op":"create","kind":"k","id":"{item}","value":1,"each":"output"}]`, "[" + strings.Repeat("1,", 1) + "1]", trajectory.ErrChange, "create k 1: it is there, in version 1"},
		{`[{"op":"put","kind":"k","id":"i","value":1,"each":"output"}]`, "[" + strings.Repeat("1,", 1000) + "1]", trajectory.ErrChange, "more than 1000 changes"},
		{`[{"op":"create","kind":"booking","id":"7","value":1}]`, `null`, trajectory.ErrChange, "it is there, in version 3"},
		{`[{"op":"replace","kind":"booking","id":"8","value":1}]`, `null`, trajectory.ErrChange, "it is not there"},
		{`[{"op":"merge","kind":"booking","id":"8","value":{}}]`, `null`, trajectory.ErrChange, "it is not there"},
		{`[{"op":"merge","kind":"note","id":"n","value":{}}]`, `null`, trajectory.ErrChange, "must be objects"},
		{`[{"op":"retract","kind":"booking","id":"8"}]`, `null`, trajectory.ErrChange, "it is not there"},
		{`[{"op":"put","kind":"k","id":"i","value":"{output}"}]`, `0.5`, trajectory.ErrChange, "cannot stand in a ledger"},
		{`"output.delta"`, `{}`, trajectory.ErrChange, "/delta: it is absent"},
		{`"output.delta"`, `{"delta":[{"op":"replace","kind":"booking","id":"7","value":1}]}`, trajectory.ErrChange, "member expected_version is missing"},
		{`"output.delta"`, `{"delta":[{"op":"replace","kind":"booking","id":"7","value":1,"expected_version":2}]}`, trajectory.ErrChange, "expects version 2, found 3"},
		{`"output.delta"`, `{"delta":[{"op":"replace","kind":"booking","id":"7","value":1,"expected_version":"3"}]}`, trajectory.ErrChange, "it is no integer"},
		{`"output.delta"`, `{"delta":[{"op":"create","kind":"k","id":"7","value":1,"secret":1}]}`, trajectory.ErrChange, `member "secret" is not known`},
		{`"output.delta"`, `{"delta":[{"op":"destroy"}]}`, trajectory.ErrChange, "/delta/0/op"},
		{`"output.delta"`, `{"delta":[{"op":"create","kind":"","id":"7","value":1}]}`, trajectory.ErrChange, "/delta/0/kind"},
	} {
		one := changing(t, tt.changes)
		got, err := one.Delta(canon.Object(), parse(t, tt.output), there)
		if !errors.Is(err, tt.code) || !strings.Contains(fmt.Sprint(err), tt.says) {
			t.Errorf("Delta(%s, %.60s) = %s, %v, want %v that says %q", tt.changes, tt.output, encode(got), err, tt.code, tt.says)
		}
	}
}

func TestToolSaysItsOwnDelta(t *testing.T) {
	t.Parallel()
	one := changing(t, `"output.delta"`)
	got, err := one.Delta(canon.Object(), parse(t, `{"delta":[
		{"op":"replace","kind":"booking","id":"7","expected_version":3,"value":1},
		{"op":"retract","kind":"booking","id":"7","expected_version":4,"reason":"gone"},
		{"op":"put","kind":"k","id":"x","value":1}]}`), there)
	const want = `[{"id":"7","kind":"booking","op":"replace","value":1,"version":3},{"id":"7","kind":"booking","op":"retract","version":4},{"id":"x","kind":"k","op":"create","value":1}]`
	if err != nil || encode(got) != want {
		t.Errorf("Delta = %s, %v, want %s", encode(got), err, want)
	}
}

func TestUndoArguments(t *testing.T) {
	t.Parallel()
	one := tool(t, booking)
	got, err := one.Undo.Args(parse(t, `{"id":"7"}`), canon.Null())
	if err != nil || got.String() != `{"id":"7"}` || !one.Compensable() {
		t.Errorf("Args = %s, %v, want the id", got, err)
	}
	if _, err := one.Undo.Args(canon.Object(), canon.Null()); !errors.Is(err, trajectory.ErrTemplate) {
		t.Errorf("Args without an id = %v, want %v", err, trajectory.ErrTemplate)
	}
}

// view reads a world of the ledger.
type view struct{ w *ledger.World }

func (v view) Find(kind, id string) (int64, canon.Value, bool) {
	for _, it := range v.w.Items() {
		if it.Kind == kind && it.ID == id {
			value, err := canon.Parse(it.Value)
			return it.Version, value, err == nil
		}
	}
	return 0, canon.Value{}, false
}

// content is what a world holds, without versions.
func content(w *ledger.World) string {
	var b strings.Builder
	for _, it := range w.Items() {
		fmt.Fprintf(&b, "%s.%s=%s ", it.Kind, it.ID, it.Value)
	}
	return b.String()
}

// TestInverseTakesBackCommitsNewestFirst: after any commits, taking all of them
// back leaves what was there before.
func TestInverseTakesBackCommitsNewestFirst(t *testing.T) {
	t.Parallel()
	ops := []string{
		`{"op":"put","kind":"k","id":"%s","value":%d}`,
		`{"op":"retract","kind":"k","id":"%s"}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		now := ledgerWorld(t, world{{"k", "a"}: {2, canon.Int(0)}})
		start := content(now)
		type commit struct {
			delta  []ledger.Change
			before world
		}
		var commits []commit
		for range rapid.IntRange(0, 5).Draw(rt, "commits") {
			var list []string
			for range rapid.IntRange(1, 4).Draw(rt, "changes") {
				id := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "id")
				if op := rapid.IntRange(0, 1).Draw(rt, "op"); op == 0 {
					list = append(list, fmt.Sprintf(ops[0], id, rapid.IntRange(0, 2).Draw(rt, "value")))
				} else {
					list = append(list, fmt.Sprintf(ops[1], id))
				}
			}
			one := changing(t, "["+strings.Join(list, ",")+"]")
			delta, err := one.Delta(canon.Object(), canon.Null(), view{now})
			if err != nil {
				continue // a retract of what is not there
			}
			before := world{}
			for _, it := range now.Items() {
				before[[2]string{it.Kind, it.ID}] = thing{it.Version, parse(t, string(it.Value))}
			}
			for _, c := range delta {
				if err := now.Apply(c, nil); err != nil {
					rt.Fatalf("Apply(%v): %v", c, err)
				}
			}
			commits = append(commits, commit{delta, before})
		}
		for _, c := range slices.Backward(commits) {
			back, err := trajectory.Inverse(c.delta, c.before, view{now})
			if err != nil {
				rt.Fatalf("Inverse(%s) = %v", encode(c.delta), err)
			}
			for _, c := range back {
				if err := now.Apply(c, nil); err != nil {
					rt.Fatalf("Apply(%v): %v", c, err)
				}
			}
		}
		if got := content(now); got != start {
			rt.Fatalf("after taking back all, the world is %s, want %s", got, start)
		}
	})
}

func TestInverseSparesTheWorkOfOthers(t *testing.T) {
	t.Parallel()
	delta := []ledger.Change{{Op: ledger.OpReplace, Kind: "note", ID: "n", Version: 1, Value: canon.String("new")}}
	for _, now := range []world{
		{{"note", "n"}: {3, canon.String("newer")}},
		{},
	} {
		if got, err := trajectory.Inverse(delta, there, now); !errors.Is(err, trajectory.ErrChange) {
			t.Errorf("Inverse over %v = %s, %v, want %v", now, encode(got), err, trajectory.ErrChange)
		}
	}
	got, err := trajectory.Inverse(delta, there, world{{"note", "n"}: {5, canon.String("new")}})
	if want := `[{"id":"n","kind":"note","op":"replace","value":"text","version":5}]`; err != nil || encode(got) != want {
		t.Errorf("Inverse = %s, %v, want %s", encode(got), err, want)
	}
	if _, err := trajectory.Inverse([]ledger.Change{{Op: ledger.OpCreate, Kind: "k", ID: "x", Att: "v"}}, there, there); !errors.Is(err, trajectory.ErrChange) {
		t.Errorf("Inverse of an attachment = %v, want %v", err, trajectory.ErrChange)
	}
}
