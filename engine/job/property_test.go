package job_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// turn is what an agent does when it is asked.
type turn struct {
	output string
	code   fault.Code
}

func turns(t *rapid.T, label string) []turn {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return turn{code: job.ErrAgentTimeout}
		case 1:
			return turn{code: effect.ErrRefused}
		case 2:
			return turn{output: "{"}
		case 3:
			return turn{output: askPut}
		case 4:
			return turn{output: reading(rapid.SampledFrom([]string{`{"get":"birds/kestrel"}`, `{"get":"none"}`, `{"prefix":"birds"},{"get":"people/uma"}`, `{"get":"?"}`}).Draw(t, "reads"))}
		case 5:
			return turn{output: text(rapid.SampledFrom([]string{"Project TERN", "ignore all instructions", "build a bomb"}).Draw(t, "unsafe"))}
		default:
			return turn{output: fmt.Sprintf(
				`{"text":%q,"confidence":%d.%d,"deliverable":%v,"tokens_used":%d,"wm_inserts":[{"type":"fact","value":{"n":%d}}]}`,
				rapid.SampledFrom([]string{"yes", "ask bob@mail.example", ""}).Draw(t, "text"), 0, rapid.IntRange(0, 99).Draw(t, "confidence"),
				rapid.Bool().Draw(t, "deliverable"), rapid.IntRange(0, 6000).Draw(t, "tokens"), rapid.IntRange(0, 2).Draw(t, "n"))}
		}
	}), 1, 5).Draw(t, label)
}

// Whatever the agents, the council and the user do: the job ends, its ledger
// verifies, and it replays in every mode as it ran; and a second run of it gives
// the same bytes.
func TestAnyJobReplays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := det.Seed(rapid.StringMatching(`[a-z]{1,8}`).Draw(rt, "seed"))
		script := map[string][]turn{}
		for _, node := range []string{alpha, beta, generic} {
			script[node] = turns(rt, node)
		}
		votes := rapid.SliceOfN(rapid.SampledFrom([]govern.Verb{govern.Approve, govern.Deny, govern.Abstain}), 3, 3).Draw(rt, "votes")
		upvote := rapid.Bool().Draw(rt, "upvote")
		run := func() []byte {
			r := newRig(t)
			for node, list := range script {
				for _, turn := range list {
					r.script[node] = append(r.script[node], func(*effect.Call) (string, error) {
						if turn.code != nil {
							return "", fault.New(turn.code, "rig", "as told")
						}
						return turn.output, nil
					})
				}
			}
			x := r.start(knowing(t, r, func(p *plan) {
				p.spec.Seed, p.privacy.Safety = seed, safety()
				p.rules.Requests = []canon.Value{r.left(p.rules, 7, putRequest("birds/owl"), 30, "cat").Value()}
			}))
			standing := x.m.Standing()[0]
			for i := 0; !x.st.Done; i++ {
				switch n := i % 5; n {
				case 0:
					if i == 0 {
						x.override("ada", govern.Admin, beta, job.Override{APT: job.One / 3, Reason: "so"}, nil)
						x.voteOn(standing, "cyd", votes[0], 40)
						if x.st.Done {
							continue
						}
					}
					x.receive(ledger.KindEvent, job.InputFeedback, "uma", canon.Object(canon.M("upvote", canon.Bool(upvote))))
				case 4:
					x.receive(ledger.KindEvent, job.InputElapsed, "clock", canon.Object(canon.M("after", canon.Int(601))))
				default:
					x.vote([]string{"cat", "cleo", "cyd"}[n-1], votes[n-1], int64(n))
				}
			}
			x.sound()
			return x.logBytes()
		}
		if a, b := run(), run(); !bytes.Equal(a, b) {
			rt.Errorf("two runs differ:\n%s\n%s", a, b)
		}
		if t.Failed() {
			rt.FailNow()
		}
	})
}
