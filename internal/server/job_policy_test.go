package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// GOV-T6: over HTTP.
func TestCouncilAdoptsAConfigurationOverHTTP(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := newJobRig(t)
	r.start(keptJob)
	wish := api.PolicyWish{Kind: "router", Config: json.RawMessage(`{"weights":{"availability":0.5,"goal":0.3,"explore":0.2}}`)}
	m, err := r.client.PolicyMatter(ctx, wish)
	if err != nil || m.Verb != "propose" || !strings.Contains(string(m.Config), `"availability":0.500000000`) {
		t.Fatalf("PolicyMatter = %+v, %v", m, err)
	}
	other := wish
	other.Config = json.RawMessage(`{"top_n":3}`)
	_, err = r.client.ProposePolicy(ctx, other, r.sign("operator", govern.Admin, "propose", m.Matter))
	r.wantCode("a proposal of something else than what was signed", err, govern.ErrMatter.Error())
	_, err = r.client.ProposePolicy(ctx, wish, r.sign("mallory", govern.Admin, "propose", m.Matter))
	r.wantCode("the proposal of a stranger", err, govern.ErrUnknownActor.Error())
	for what, bad := range map[string]string{"an unknown member": `{"hopes":{}}`, "no object": `3`, "a weight above 1": `{"weights":{"availability":7}}`} {
		_, err = r.client.PolicyMatter(ctx, api.PolicyWish{Kind: "router", Config: json.RawMessage(bad)})
		if err == nil || strings.Contains(err.Error(), "internal") {
			t.Errorf("%s = %v", what, err)
		}
	}
	p, err := r.client.ProposePolicy(ctx, wish, r.sign("operator", govern.Operator, "propose", m.Matter))
	if err != nil || p.State != "open" || p.InForce {
		t.Fatalf("ProposePolicy = %+v, %v", p, err)
	}
	_, err = r.client.VoteOnPolicy(ctx, "", p.ID, r.sign("operator", govern.Council, govern.Approve, m.Matter))
	r.wantCode("a vote on something else", err, govern.ErrMatter.Error())
	if p, err = r.client.VoteOnPolicy(ctx, "", p.ID[:12], r.sign("operator", govern.Council, govern.Approve, p.Matter)); err != nil || !p.InForce || len(p.Votes) != 1 {
		t.Fatalf("VoteOnPolicy = %+v, %v", p, err)
	}
	g, err := r.client.Governance(ctx, "")
	if err != nil || len(g.Proposals) != 1 || !g.Proposals[0].InForce || g.Proposals[0].ID != p.ID {
		t.Errorf("the governance = %+v, %v", g.Proposals, err)
	}
	next := r.start(strings.Replace(keptJob, "kestrel-http", "kestrel-next", 1))
	if j, err := r.client.Job(ctx, string(next.Run)); err != nil || !j.Done {
		t.Errorf("the next job = %+v, %v", j, err)
	}
}
