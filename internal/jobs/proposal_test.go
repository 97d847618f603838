package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// config reads a file of a configuration.
func config(t *testing.T, kind job.Kind, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := jobs.ReadConfig(kind, path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const bold = "weights: {availability: 0.5, goal: 0.3, explore: 0.2}\n"

// GOV-T6: nobody changes the weights of the router but the council: what it
// adopts makes another snapshot, of the jobs that begin from then on.
func TestRouterWeightsChangeByAProposalThatTheCouncilApproves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.parliament()
	before := r.done(birds)
	want := config(t, job.KindRouter, bold)
	g := r.governance()
	p, err := g.Propose(ctx, job.KindRouter, want, jobs.Act{As: "oscar", Reason: "look around more"})
	if err != nil || p.State != govern.Open || p.Actor != "oscar" {
		t.Fatalf("Propose = %+v, %v", p, err)
	}
	if _, err := g.Decide(ctx, p.ID, govern.Approve, jobs.Act{As: "ada"}); codeOf(err) != govern.ErrRole.Error() {
		t.Errorf("the vote of an admin = %v, want %v", err, govern.ErrRole)
	}
	if p, err = g.Decide(ctx, p.ID[:8], govern.Approve, jobs.Act{As: "cat"}); err != nil || p.State != govern.Open {
		t.Fatalf("the first vote of three = %+v, %v", p, err)
	}
	open := r.done(strings.Replace(birds, "seed: s1", "seed: s2", 1))
	if p, err = g.Decide(ctx, p.ID, govern.Approve, jobs.Act{As: "cleo"}); err != nil || p.State != govern.Granted {
		t.Fatalf("the second vote of three = %+v, %v", p, err)
	}
	if got := r.events(jobs.EventProposed); strings.Join(got, " ") != jobs.EventProposed+" govern.vote govern.vote "+jobs.EventAdopted {
		t.Errorf("behind the proposal stand %v", got)
	}
	after := r.done(strings.Replace(birds, "seed: s1", "seed: s3", 1))
	if content := r.snapshot(after, job.KindRouter); content != want {
		t.Errorf("the router of the next job = %s, want %s", content, want)
	}
	if was := r.snapshot(before, job.KindRouter); was == want || was != r.snapshot(open, job.KindRouter) {
		t.Errorf("a job before the council decided had %s", was)
	}
	for _, res := range []*jobs.Result{before, open, after} {
		r.same(res)
	}
	forged := r.forge(after, nil, nil) // under no governance
	if _, err := r.replay(on(forged, production)); codeOf(err) != job.ErrIntegrity.Error() {
		t.Errorf("the replay of a job whose council has adopted nothing = %v, want %v", err, job.ErrIntegrity)
	}
}

// snapshot returns the content that a job had.
func (r *rig) snapshot(res *jobs.Result, kind job.Kind) string {
	r.t.Helper()
	for s, err := range jobs.Snapshots(context.Background(), r.store, res.Run, "") {
		if err != nil {
			r.t.Fatal(err)
		}
		if s.Kind != kind {
			continue
		}
		b, err := s.Bytes()
		if err != nil {
			r.t.Fatal(err)
		}
		x, err := job.ParseSnapshot(b)
		if err != nil {
			r.t.Fatal(err)
		}
		content, err := canon.Encode(x.Content, canon.MACEFixed9)
		if err != nil {
			r.t.Fatal(err)
		}
		return string(content)
	}
	r.t.Fatalf("the job has no %s snapshot", kind)
	return ""
}

func TestJobFileCannotDecideWhatTheCouncilHasDecided(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.parliament()
	g := r.governance()
	p, err := g.Propose(ctx, job.KindRouter, config(t, job.KindRouter, bold), jobs.Act{As: "cat"})
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []string{"cat", "cyd"} {
		if p, err = g.Decide(ctx, p.ID, govern.Approve, jobs.Act{As: as}); err != nil {
			t.Fatal(err)
		}
	}
	other := r.read(birds + "  router: {weights: {availability: 0.9, goal: 0.1, explore: 0}}\n")
	if _, err := r.Start(ctx, other); codeOf(err) != jobs.ErrNotInForce.Error() {
		t.Errorf("a job with weights of its own = %v, want %v", err, jobs.ErrNotInForce)
	}
	r.done(birds + "  router: {" + strings.TrimSpace(bold) + "}\n")
}

func TestProposalIsDecidedOnceByTheCouncilOfItsDay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	r.parliament()
	g := r.governance()
	first, err := g.Propose(ctx, job.KindRouter, config(t, job.KindRouter, bold), jobs.Act{As: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Decide(ctx, first.ID, govern.Approve, jobs.Act{As: "cat"}); err != nil {
		t.Fatal(err)
	}
	r.enrol("carl", govern.Council)
	g = r.governance()
	if first, err = g.Decide(ctx, first.ID, govern.Approve, jobs.Act{As: "cleo"}); err != nil || first.State != govern.Open {
		t.Errorf("one vote of the council as it is now = %+v, %v; want those of the one before not to count", first, err)
	}
	for _, as := range []string{"cyd", "carl"} {
		if first, err = g.Decide(ctx, first.ID, govern.Deny, jobs.Act{As: as}); err != nil {
			t.Fatal(err)
		}
	}
	if first.State != govern.Denied {
		t.Errorf("one for and two against of four = %v", first.State)
	}
	if _, err := g.Decide(ctx, first.ID, govern.Approve, jobs.Act{As: "cat"}); codeOf(err) != govern.ErrDecided.Error() {
		t.Errorf("a vote on what is decided = %v, want %v", err, govern.ErrDecided)
	}
	if _, ok := r.governance().InForce(job.KindRouter); ok {
		t.Error("what was denied is in force")
	}
}

func TestProposalsThatAreNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t)
	g := r.governance()
	good := config(t, job.KindRouter, bold)
	for what, c := range map[string]struct {
		kind   job.Kind
		config string
	}{
		"a kind that no council adopts": {job.KindBrainState, good},
		"another form of JSON":          {job.KindRouter, " " + good},
		"a content of another kind":     {job.KindPrivacy, good},
		"no JSON":                       {job.KindRouter, "weights"},
		"too much":                      {job.KindRouter, `{"x":"` + strings.Repeat("x", 64<<10) + `"}`},
	} {
		if _, err := g.Propose(ctx, c.kind, c.config, jobs.Act{}); codeOf(err) != jobs.ErrProposal.Error() {
			t.Errorf("%s = %v, want %v", what, err, jobs.ErrProposal)
		}
	}
	if _, err := g.Decide(ctx, "12", govern.Approve, jobs.Act{}); codeOf(err) != jobs.ErrNoRequest.Error() {
		t.Errorf("a vote on nothing = %v, want %v", err, jobs.ErrNoRequest)
	}
	if len(r.governance().Proposals()) != 0 {
		t.Error("a proposal that is none was recorded")
	}
}

// A person writes 1 for 1.0.
func TestWholeNumbersStandForThoseOfNineDecimals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	j := r.read(strings.Replace(birds, "apt: 0.9", "apt: 1", 1) + "  router: {weights: {availability: 1, goal: 0, explore: 0}, min_score: 0}\n")
	v := j.Contents[job.KindRouter]
	if got, _ := v.Get("weights").Get("availability").Token(); got != "1.000000000" {
		t.Errorf("availability: 1 is %s", got)
	}
}
