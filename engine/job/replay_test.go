package job_test

import (
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
)

// spec: M-90
func TestREPLAY01_FullReplayEqualsTheRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, text("a small falcon"))
	x := r.start(r.plan(nil))
	if l := x.log(); l.Final != "a small falcon" || !l.Replayable {
		t.Fatalf("final answer %q, replayable %v %v", l.Final, l.Replayable, l.Missing)
	}
	x.sound()
	got, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Production}, nil)
	if err != nil || got.Final != "a small falcon" || len(got.Divergences) != 0 || !got.Authoritative {
		t.Errorf("Replay = %+v, %v; want the same answer, with authority", got, err)
	}
}
