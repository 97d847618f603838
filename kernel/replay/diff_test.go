package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// steps reads a run from a line: each word is "name:request>answer". The
// request is what matches, with its occurrence; a word without an answer has
// none.
func steps(line string) []replay.Step {
	var out []replay.Step
	seen := map[string]int{}
	for i, word := range strings.Fields(line) {
		name, rest, _ := strings.Cut(word, ":")
		request, answer, _ := strings.Cut(rest, ">")
		s := replay.Step{What: "call", Name: name, Entry: int64(2*i + 1), Answer: int64(2*i + 2)}
		s.Match = fmt.Sprintf("%s:%s#%d", name, request, seen[name+request])
		seen[name+request]++
		s.Form = canon.SHA256([]byte(name + request))
		s.AnswerForm = canon.SHA256([]byte(answer))
		out = append(out, s)
	}
	return out
}

// pairs spells an alignment: "=" same, "~" different, "-" missing, "+" extra,
// each with its places.
func pairs(al replay.Aligned) string {
	var out []string
	for _, p := range al.Pairs {
		switch p.Kind {
		case replay.Missing:
			out = append(out, fmt.Sprintf("-%d", p.A))
		case replay.Extra:
			out = append(out, fmt.Sprintf("+%d", p.B))
		case replay.Different:
			out = append(out, fmt.Sprintf("%d~%d", p.A, p.B))
		default:
			out = append(out, fmt.Sprintf("%d=%d", p.A, p.B))
		}
	}
	return strings.Join(out, " ")
}

func TestAlign(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, a, b, want string }{
		{"nothing", "", "", ""},
		{"the same", "m:1>x m:2>y", "m:1>x m:2>y", "0=0 1=1"},
		{"another answer", "m:1>x m:2>y", "m:1>z m:2>y", "0~0 1=1"},
		{"another request", "m:1>x m:2>y m:3>z", "m:1>x m:9>y m:3>z", "0=0 1~1 2=2"},
		{"all that follows differs", "m:1>x m:2>y m:3>z", "m:1>x m:8>y m:9>z", "0=0 1~1 2~2"},
		{"one is missing", "m:1>x t:1>y m:2>z", "m:1>x m:2>z", "0=0 -1 2=1"},
		{"one is extra", "m:1>x m:2>z", "m:1>x t:1>y m:2>z", "0=0 +1 1=2"},
		{"the end is missing", "m:1>x m:2>y m:3>z", "m:1>x", "0=0 -1 -2"},
		{"repeated calls pair by occurrence", "m:1>x m:1>y", "m:1>x m:1>y m:1>y", "0=0 1=1 +2"},
		{"parallel calls may change places", "a:1>x b:1>y c:1>z", "b:1>y a:1>x c:1>z", "0=1 1=0 2=2"},
		{"a changed step pairs by name around an extra one", "m:1>x m:2>y m:3>z", "m:1>x t:1>q m:9>y m:3>z", "0=0 +1 1~2 2=3"},
		{"other names do not pair", "a:1>x", "b:1>x", "-0 +0"},
		{"nothing in common", "a:1>x b:1>x", "", "-0 -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := pairs(replay.Align(steps(test.a), steps(test.b))); got != test.want {
				t.Errorf("Align(%q, %q) = %q, want %q", test.a, test.b, got, test.want)
			}
		})
	}
}

// TestAlignUsesEveryStepOnce: whatever the runs are, each step stands in
// exactly one pair, those of a in their order, and a run against itself is the
// same.
func TestAlignUsesEveryStepOnce(t *testing.T) {
	t.Parallel()
	word := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%c:%d>%d", rapid.RuneFrom([]rune("abc")).Draw(t, "name"), rapid.IntRange(0, 3).Draw(t, "request"), rapid.IntRange(0, 1).Draw(t, "answer"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a := steps(strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "a"), " "))
		b := steps(strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "b"), " "))
		al := replay.Align(a, b)
		var x, y []int
		for _, p := range al.Pairs {
			if p.A >= 0 {
				x = append(x, p.A)
			}
			if p.B >= 0 {
				y = append(y, p.B)
			}
		}
		slices.Sort(y)
		if !slices.IsSorted(x) || len(slices.Compact(x)) != len(a) || len(slices.Compact(y)) != len(b) {
			t.Fatalf("the pairs %s do not hold each of %d and %d steps once", pairs(al), len(a), len(b))
		}
		for _, p := range replay.Align(a, a).Pairs {
			if p.Kind != "" || p.A != p.B {
				t.Fatalf("a run against itself: %s", pairs(replay.Align(a, a)))
			}
		}
	})
}

func TestDiffReport(t *testing.T) {
	t.Parallel()
	open := func(side replay.Side, _ ledger.RunID, entry int64) (ledger.Decision, error) {
		return ledger.Decision{Kind: ledger.KindCall, Body: canon.Object(canon.M("n", canon.Int(entry)), canon.M("b", canon.Bool(bool(side))))}, nil
	}
	al := replay.Align(steps("m:1>x m:2>y t:1>q m:3>z"), steps("m:1>x m:9>y m:3>w"))
	r, err := al.Report("run-a", "run-b", open)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != replay.Diverged || r.Total != 3 || r.Counts[0].N != 1 {
		t.Errorf("verdict %s, %d divergences, %+v", r.Verdict, r.Total, r.Counts)
	}
	want := []struct {
		kind    replay.Kind
		what    string
		step    int64
		follows bool
	}{
		{replay.Different, "call", 2, false},
		{replay.Missing, "call", 3, true},
		{replay.Different, "outcome", 4, true},
	}
	for i, w := range want {
		d := r.Divergences[i]
		if d.Kind != w.kind || d.What != w.what || d.Step != w.step || d.Follows != w.follows {
			t.Errorf("divergence %d is %s %s at step %d, follows %v; want %+v", i, d.What, d.Kind, d.Step, d.Follows, w)
		}
	}
	if len(r.Divergences[0].Where) == 0 || len(r.Divergences[1].Where) != 0 {
		t.Error("a different step says where, a missing one cannot")
	}
}

func TestFormIsThatOfTheComparison(t *testing.T) {
	t.Parallel()
	base := ledger.Decision{Kind: ledger.KindOutcome, Body: canon.Object(canon.M("status", canon.String("ok"))), Contents: []ledger.Content{{Name: "body", Type: "text/plain", Bytes: []byte("x")}}}
	timed := base
	timed.Contents = append(slices.Clone(base.Contents), ledger.Content{Name: "timing", Type: ledger.TimingType, Bytes: []byte{1}})
	placed := base
	placed.Body = base.Body.With("refs", canon.Int(1))
	other := base
	other.Contents = []ledger.Content{{Name: "body", Type: "text/plain", Bytes: []byte("y")}}
	form := func(d ledger.Decision) canon.Digest {
		f, err := replay.Form(d)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, test := range []struct {
		name string
		d    ledger.Decision
		same bool
	}{{"itself", base, true}, {"with timing", timed, true}, {"with a place", placed, true}, {"another answer", other, false}} {
		if got := form(test.d) == form(base); got != test.same || ledger.Same(base, test.d) != test.same {
			t.Errorf("%s: forms equal %v, want %v", test.name, got, test.same)
		}
	}
}
