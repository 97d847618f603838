package trajectories_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// spec: T-36, T-37
func TestToolsAreCalledAgainAsADiagnosis(t *testing.T) {
	t.Parallel()
	r, run := story(t)
	before, err := r.Store.At(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	now := canon.Object(canon.M("ok", canon.Bool(false)), canon.M("api_key", canon.String("sk-1")))
	r.Tools["book"] = func(canon.Value) (canon.Value, error) { return now, nil }
	var asked []string
	rerun := func(agree bool) []trajectories.Rerun {
		clear(r.Touched)
		asked = nil
		var out []trajectories.Rerun
		for x, err := range trajectories.RerunTools(context.Background(), r.Store, run, &trajectories.RerunOptions{
			Call: r.Call,
			Consent: func(_ context.Context, _ *effect.Call, tool *trajectory.Tool) (bool, error) {
				asked = append(asked, tool.Name)
				return agree, nil
			},
		}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, x)
		}
		return out
	}
	if got := rerun(false); len(got) != 1 || got[0].Made || got[0].Why == "" || r.Touched["book"] != 0 || !slices.Equal(asked, []string{"book"}) {
		t.Errorf("without consent: %+v, touched %v, asked %v; want no call", got, r.Touched, asked)
	}
	got := rerun(true)
	if len(got) != 1 || !got[0].Made || got[0].Same() || r.Touched["book"] != 1 || r.Touched["model"] != 0 {
		t.Fatalf("with consent: %+v, touched %v; want one call of the tool, which differs", got, r.Touched)
	}
	if s := got[0].Now.Get("api_key").Str(); s != "***REDACTED***" {
		t.Errorf("a secret of the answer is shown: %q", s)
	}
	now = canon.Object(canon.M("ok", canon.Bool(true)))
	if got := rerun(true); !got[0].Same() {
		t.Errorf("the same answer: %+v, want no difference", got[0])
	}
	r.Tools["book"] = func(canon.Value) (canon.Value, error) { return now, errors.New("it is closed") }
	if got := rerun(true); got[0].Same() || got[0].NowError == "" {
		t.Errorf("a tool that fails now: %+v, want that said", got[0])
	}
	if after, err := r.Store.At(context.Background(), run); err != nil || after != before {
		t.Errorf("the run stands at %+v, %v; want nothing written to it", after, err)
	}
	var b bytes.Buffer
	counts, err := trajectories.WriteRerunJSON(&b, run, trajectories.RerunTools(context.Background(), r.Store, run, &trajectories.RerunOptions{Call: r.Call}))
	if err != nil || counts != (trajectories.RerunCounts{Calls: 1, NotMade: 1}) {
		t.Errorf("counts = %+v, %v", counts, err)
	}
	if v, err := canon.Parse(b.Bytes()); err != nil || !v.Get("authoritative").Equal(canon.Bool(false)) || v.Has("verdict") {
		t.Errorf("the document = %s, %v; want it non-authoritative and without a verdict", b.Bytes(), err)
	}
}
