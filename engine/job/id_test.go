package job_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/det"
)

// Each id of the written formulas, from the parts of its pre-image.
//
// spec: M-41
// spec: M-42
// spec: M-43
// spec: M-44
func TestIDsAreTheWrittenFormulas(t *testing.T) {
	t.Parallel()
	var file struct {
		Spec []struct{ Kind, Input, Hex string } `json:"spec_ids"`
	}
	vectors(t, "id_vectors.json", &file)
	want := func(kind string) (input, hex string) {
		for _, c := range file.Spec {
			if c.Kind == kind || strings.HasPrefix(c.Kind, kind+" (same") {
				return c.Input, c.Hex
			}
		}
		t.Fatalf("no vector for %s", kind)
		return "", ""
	}
	const seed det.Seed = "seed-0001"
	const config = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	for _, c := range []struct{ kind, got string }{
		{"event_id", job.EventID(seed, 0, "ROUTER_DECISION")},
		{"snapshot_id", job.SnapshotID(config, "1.0", "seed-0001")},
		{"wm_id", job.WorkingMemoryID(seed, 1)},
		{"episodic_id", job.EpisodicID(seed, 1)},
		{"advice_id", job.AdviceID(seed, 1)},
		{"divergence event_id", job.DivergenceID(seed, 0)},
	} {
		if input, hex := want(c.kind); c.got != hex {
			t.Errorf("%s over %s = %s, want %s", c.kind, input, c.got, hex)
		}
	}
}

// stamps returns what stamps one event after another, as a job does.
func stamps(seed det.Seed) func(eventType string) job.Stamp {
	var next int64
	return func(eventType string) job.Stamp {
		next++
		return job.NewStamp(seed, next-1, eventType)
	}
}

// spec: M-39
func TestEventsAreNumberedDenselyWhateverTheirType(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrAgentTimeout)
	r.says(beta, text("from beta"))
	l := r.start(r.plan(nil)).log()
	types := map[string]bool{}
	for i, e := range l.Events {
		types[e.Type] = true
		if want := job.NewStamp(l.Seed, int64(i), e.Type); e.Index != want.Index || e.ID != want.ID {
			t.Errorf("event %d, of type %s, has the index %d and the id %s, want %s", i, e.Type, e.Index, e.ID, want.ID)
		}
	}
	if len(types) < 4 {
		t.Errorf("the job has events of the types %v, want more of them", types)
	}
}

func TestAStampOfAnotherJobPlaceOrTypeIsRefused(t *testing.T) {
	t.Parallel()
	good := job.NewStamp("seed-0001", 3, "X")
	change := func(f func(*job.Stamp)) job.Stamp { s := good; f(&s); return s }
	for _, c := range []struct {
		name  string
		stamp job.Stamp
		seed  det.Seed
		typ   string
	}{
		{"another seed", good, "seed-0002", "X"},
		{"another type", good, "seed-0001", "Y"},
		{"another index", change(func(s *job.Stamp) { s.Index = 4 }), "seed-0001", "X"},
		{"a negative index", change(func(s *job.Stamp) { s.Index = -3 }), "seed-0001", "X"},
		{"another instant", change(func(s *job.Stamp) { s.At++ }), "seed-0001", "X"},
		{"no id", change(func(s *job.Stamp) { s.ID = "" }), "seed-0001", "X"},
	} {
		if err := c.stamp.Check(c.seed, c.typ); !errors.Is(err, job.ErrStamp) {
			t.Errorf("%s: Check() = %v, want %v", c.name, err, job.ErrStamp)
		}
	}
	if err := good.Check("seed-0001", "X"); err != nil {
		t.Errorf("Check(%+v) = %v, want nil", good, err)
	}
}
