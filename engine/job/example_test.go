package job_test

import (
	"fmt"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/det"
)

// The router decides from states and constants only, and says why.
func ExampleDecide() {
	writer := job.Node{
		ID: "agent:writer_v1", Type: "agent", Status: job.Healthy, APT: job.One / 10 * 9, Events: 2,
		RegisteredBy: "admin", RegisteredAt: det.Epoch, Updated: det.Epoch,
	}
	newcomer := writer
	newcomer.ID, newcomer.APT, newcomer.Events = "agent:newcomer_v1", job.One, 0
	self, err := job.NewSelfRep(job.StandardTrust(), []job.Node{writer, newcomer}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	config := job.StandardRouter()
	mind := job.Mind{AttentionGain: job.One / 2, ExploreBias: job.One / 5, TokenBudget: 1000, MaxDepth: 4}
	out, err := job.Decide(job.RouteInput{Config: &config, SelfRep: &self, Mind: &mind, Request: job.RouteRequest{Query: "Write a summary."}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range out.Candidates {
		fmt.Println(c.Node, c.Availability, c.Score, c.Reason)
	}
	fmt.Println("depth", out.Depth, "tokens", out.Tokens)
	// Output:
	// agent:writer_v1 0.900000000 0.632000000 selected
	// agent:newcomer_v1 0.600000000 0.428000000 selectable
	// depth 2 tokens 750
}
