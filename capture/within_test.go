package capture_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// within runs the test agent under a call of a run, with what it is asked, and
// returns what it prints.
func (a *agent) within(s *drive.Session, rec *capture.Recorded, prompt string) (string, *capture.Inside) {
	a.t.Helper()
	ctx := a.t.Context()
	x, err := s.Begin(ctx, effect.Call{Kind: "exec", Name: "agent", Class: effect.External, Data: canon.Object(canon.M("prompt", canon.String(prompt)))})
	if err != nil {
		a.t.Fatal(err)
	}
	var out bytes.Buffer
	o := a.options(&out)
	o.Env = slices.DeleteFunc(o.Env, func(kv string) bool { return strings.HasPrefix(kv, "PROMPT=") })
	o.Env = append(o.Env, "PROMPT="+prompt)
	if rec != nil {
		o.CellCommand = []string{o.Command[0], "cell"}
	}
	res, err := capture.RunWithin(ctx, o, capture.Within{Under: x.Under().In("outputs"), Record: rec, Hermetic: capture.IsolateAuto})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := x.End(ctx, effect.Outcome{Status: effect.OK}); err != nil {
		a.t.Fatal(err)
	}
	return out.String(), res
}

// Programs within one run are told apart by the calls that they are: each is
// answered what it was told then, also by servers that it starts itself, and
// what one of them does otherwise is no difference of the other.
func TestProgramsWithinARun(t *testing.T) {
	t.Parallel()
	a, effects := newAgent(t)
	ctx := t.Context()
	rec, err := drive.Open(ctx, a.config(), drive.Opening{
		Engine: "test", Mode: "run", Data: canon.Object(canon.M(match.RulesMember, match.RuleIDs(match.Normalisers()))),
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, prompt := range []string{"one", "two"} {
		out, res := a.within(rec, nil, prompt)
		if res.Status != 0 || !strings.Contains(out, "done, you said yes") || len(res.Blocked)+len(res.Open)+len(res.Misses) != 0 {
			t.Fatalf("%s: %+v, %s", prompt, res, out)
		}
		said = append(said, out)
	}
	if err := rec.Seal(ctx, "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	a.verify(rec.Run())
	nested, apart := 0, true
	for _, o := range a.entries(rec.Run()) {
		if o.Kind == ledger.KindCall && !o.Body.Get("refs").Get("under").IsZero() {
			nested++
		}
		for i := range o.Parts {
			apart = apart && strings.HasSuffix(o.Parts[i].Scope, "/outputs")
		}
	}
	if nested != 10 || !apart {
		t.Errorf("%d calls stand under the agents, want 10; all contents in their scope: %t", nested, apart)
	}
	before, _ := os.ReadFile(effects)

	a.upstream = "http://127.0.0.1:1"
	j, err := capture.ReadJournal(ctx, a.store, rec.Run(), 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := drive.Open(ctx, a.config(), drive.Opening{Engine: "test", Mode: "replay", From: rec.Run(), Sources: func(depth int, _ string) effect.Source {
		if depth == 0 {
			return effect.Live{}
		}
		return j
	}})
	if err != nil {
		t.Fatal(err)
	}
	from := &capture.Recorded{Reader: drive.NewReader(a.store, rec.Run()), Journal: j}
	if out, res := a.within(again, from, "two"); out != said[1] || len(res.Misses) != 0 || len(res.Blocked) == 0 || len(res.Open) == 0 {
		t.Errorf("the second program says %s, want %s; %+v", out, said[1], res)
	}
	a.env = []string{a.env[0], "TODAY=tomorrow"}
	out, res := a.within(again, from, "one")
	if out == said[0] || len(res.Misses) != 1 || res.Misses[0].Nearest == nil {
		t.Fatalf("the first program says %s; %+v", out, res)
	}
	if at := res.Misses[0].Nearest.Where; len(at) != 1 || at[0].Pointer != "/messages/0/content" || !strings.Contains(at[0].A.Str(), "one in") {
		t.Errorf("it differs at %+v, want its own first message", at)
	}
	if after, _ := os.ReadFile(effects); !slices.Equal(after, before) {
		t.Errorf("the effect happened again: %q", after)
	}
	if err := again.Seal(ctx, "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	a.verify(again.Run())
}
