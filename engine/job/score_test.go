package job_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
)

func TestEveryScoreOfUnitsIsAUnit(t *testing.T) {
	t.Parallel()
	unit := rapid.Int64Range(0, int64(job.One))
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) job.Nano { return job.Nano(unit.Draw(t, name)) }
		a, b, c, d := draw("a"), draw("b"), draw("c"), draw("d")
		w := job.RouteWeights{Availability: a, Goal: b, Explore: c}
		for name, got := range map[string]job.Nano{
			"drift": job.Drift(a, b, c, d), "drift down": job.Drift(a, b, job.One, -d),
			"blend": job.Blend(a, b, c, d), "scale": job.Scale(a, b, c), "route": job.Route(w, b, c, d),
		} {
			if !got.Unit() {
				t.Fatalf("%s of %s, %s, %s, %s = %s, want 0 to 1", name, a, b, c, d, got)
			}
		}
	})
}

func TestAScoreIsRoundedOnceAtItsEnd(t *testing.T) {
	t.Parallel()
	third := job.Ratio(1, 3)
	for _, c := range []struct {
		name string
		got  job.Nano
		want string
	}{
		{"a third", third, "0.333333333"},
		{"of nothing", job.Ratio(0, 0), "0.000000000"},
		{"two thirds, rounded up", job.Ratio(2, 3), "0.666666667"},
		// Rounded after each product it would be 0.000000001.
		{"small factors", job.Scale(nano(t, "0.00001"), nano(t, "0.00005"), nano(t, "0.9")), "0.000000000"},
		{"a share, of which the double is above the half", job.Affine(nano(t, "0.5"), nano(t, "0.5"), third), "0.666666667"},
		{"beyond every number", job.Affine(0, job.MaxNano, job.MaxNano), job.MaxNano.String()},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s = %s, want %s", c.name, c.got, c.want)
		}
	}
}
