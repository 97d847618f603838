package job_test

import (
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
)

// What the readers of brain states, memories, governance and privacy accept is
// written again byte for byte.
func FuzzParseMemories(f *testing.F) {
	b, report := step(f, brain(), job.TickInput{
		Goals:  []job.NewGoal{{ID: "g", Type: job.GoalAnswer, Origin: job.FromUser}},
		Insert: []job.NewMemory{fact("x", 0), fact("x", 0), fact("y", 0)},
	})
	in := job.TickInput{
		At: det.Epoch, Goals: []job.NewGoal{{ID: "h", Type: job.GoalSave, Origin: job.FromAgent}}, Insert: []job.NewMemory{fact("z", 1)},
		Reference: report.Promoted, Failures: []job.Failure{{Node: "agent:a_v1", At: det.Epoch, Reason: "timeout"}},
		Council: job.Yes, Attempts: []job.Attempt{{Goal: "g"}}, TokensUsed: 3,
	}
	governance := rules()
	req := approved(f, request(f, "quarantine", canon.Null()))
	m := remember(f, job.Episodes{}, episode(det.Epoch, "x", canon.Null()))
	e, _ := m.Find(job.EpisodicID(seed, 0))
	for _, v := range []canon.Value{
		b.Value(), in.Value(), governance.Value(), req.Value(), privacy(f).Value(), consent("email").Value(), e.Value(),
		put(f, job.Semantic{}, "a/b", "c").Value(),
	} {
		f.Add([]byte(encode(f, v)))
	}
	people := roster(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := canon.Parse(text)
		if err != nil {
			return
		}
		var written []canon.Value
		if x, err := job.ParseBrain(v); err == nil && len(x.Warnings) == 0 {
			written = append(written, x.Value())
		}
		if x, err := job.ParseTickInput(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseGovernance(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseActionRequest(v, governance, people, ""); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParsePrivacy(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseConsent(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseEpisode(v); err == nil {
			written = append(written, x.Value())
		}
		if x, err := job.ParseSemantic(v); err == nil {
			written = append(written, x.Value())
		}
		for _, w := range written {
			if got, want := encode(t, w), encode(t, v); got != want {
				t.Errorf("read from %s, it is written as %s", want, got)
			}
		}
	})
}
