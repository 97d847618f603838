package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Jobs yields the jobs of the store, newest first, page by page. A replayable
// that is not nil keeps those that are over and can be replayed, or cannot.
func (c *Client) Jobs(ctx context.Context, replayable *bool) iter.Seq2[api.Job, error] {
	return func(yield func(api.Job, error) bool) {
		q := url.Values{}
		if replayable != nil {
			q.Set("replayable", strconv.FormatBool(*replayable))
		}
		for {
			page, err := get[api.JobPage](ctx, c, q, "v1", "jobs")
			if err != nil {
				yield(api.Job{}, err)
				return
			}
			for _, j := range page.Jobs {
				if !yield(j, nil) {
					return
				}
			}
			if page.Before == "" {
				return
			}
			q.Set("before", page.Before)
		}
	}
}

// Job returns where a job stands, and what it asks the council for.
func (c *Client) Job(ctx context.Context, job string) (api.JobDetail, error) {
	return get[api.JobDetail](ctx, c, nil, "v1", "jobs", job)
}

// JobLog returns the reflective log of a job. Nothing of it is checked.
func (c *Client) JobLog(ctx context.Context, job string) (api.JobLog, error) {
	return get[api.JobLog](ctx, c, nil, "v1", "jobs", job, "log")
}

// Governance returns where the governance of a tenant stands; empty: of none.
func (c *Client) Governance(ctx context.Context, tenant string) (api.Governance, error) {
	return get[api.Governance](ctx, c, ofTenant(tenant), "v1", "governance")
}

func ofTenant(tenant string) url.Values {
	q := url.Values{}
	set(q, "tenant", tenant)
	return q
}

// ReplayMatter returns what whoever asks for a replay has to sign.
func (c *Client) ReplayMatter(ctx context.Context, what api.ReplayWish) (api.ReplayMatter, error) {
	return post[api.ReplayMatter](ctx, c, what, "replay", "matter")
}

// Replay asks for the replay of a job. Act is the request as who asks has signed
// it. A replay that is not equal to the record is an error with the code of the
// document.
func (c *Client) Replay(ctx context.Context, what api.ReplayWish, act []byte) (api.ReplayReport, error) {
	if !json.Valid(act) {
		return api.ReplayReport{}, fault.New(ErrAct, "client.Replay", "an act is JSON")
	}
	return post[api.ReplayReport](ctx, c, api.ReplayRequest{ReplayWish: what, Act: act}, "replay", "request")
}

// VoteOnReplay gives a vote on a request for a replay that somebody signed.
func (c *Client) VoteOnReplay(ctx context.Context, tenant, request string, act []byte) (api.GovernedRequest, error) {
	return give[api.GovernedRequest](ctx, c, ofTenant(tenant), act, "replay", request, "vote")
}

// EnrolMatter returns what an admin has to sign who enrols somebody, or takes
// them off the roster.
func (c *Client) EnrolMatter(ctx context.Context, tenant string, who api.Person) (api.EnrolMatter, error) {
	return send[api.EnrolMatter](ctx, c, http.MethodPost, ofTenant(tenant), who, "v1", "governance", "enrol", "matter")
}

// Enrol puts the roster with somebody on it, or off it, in force. Act is what an
// admin has signed of it.
func (c *Client) Enrol(ctx context.Context, tenant string, who api.Person, act []byte) (api.Enrolled, error) {
	if !json.Valid(act) {
		return api.Enrolled{}, fault.New(ErrAct, "client.Enrol", "an act is JSON")
	}
	return send[api.Enrolled](ctx, c, http.MethodPost, ofTenant(tenant), api.EnrolRequest{Person: who, Act: act}, "v1", "governance", "enrol")
}

// HaltReplays halts all replays of what an act is about that somebody signed.
func (c *Client) HaltReplays(ctx context.Context, tenant string, act []byte) (api.Halt, error) {
	return give[api.Halt](ctx, c, ofTenant(tenant), act, "v1", "governance", "halt")
}

// ClearHalt gives a vote on a halt of replays that somebody signed.
func (c *Client) ClearHalt(ctx context.Context, tenant string, act []byte) (api.ClearResult, error) {
	return give[api.ClearResult](ctx, c, ofTenant(tenant), act, "v1", "governance", "clear")
}

// PolicyMatter returns what whoever proposes a configuration has to sign.
func (c *Client) PolicyMatter(ctx context.Context, what api.PolicyWish) (api.PolicyMatter, error) {
	return post[api.PolicyMatter](ctx, c, what, "governance", "policy", "matter")
}

// ProposePolicy proposes a configuration to the council. Act is the proposal as
// who proposes has signed it.
func (c *Client) ProposePolicy(ctx context.Context, what api.PolicyWish, act []byte) (api.Proposal, error) {
	if !json.Valid(act) {
		return api.Proposal{}, fault.New(ErrAct, "client.ProposePolicy", "an act is JSON")
	}
	return post[api.Proposal](ctx, c, api.PolicyRequest{PolicyWish: what, Act: act}, "governance", "policy", "propose")
}

// VoteOnPolicy gives a vote on a proposal that somebody signed.
func (c *Client) VoteOnPolicy(ctx context.Context, tenant, proposal string, act []byte) (api.Proposal, error) {
	return give[api.Proposal](ctx, c, ofTenant(tenant), act, "governance", "policy", proposal, "vote")
}

// VoteOnAction gives a vote on what a job asks the council for that somebody
// signed. Job is needed where two jobs of one seed ask for the same.
func (c *Client) VoteOnAction(ctx context.Context, job, request string, act []byte) (api.VoteResult, error) {
	q := url.Values{}
	set(q, "job", job)
	return give[api.VoteResult](ctx, c, q, act, "actionrequest", request, "vote")
}

// give sends a signed act.
func give[T any](ctx context.Context, c *Client, query url.Values, act []byte, path ...string) (T, error) {
	var none T
	if !json.Valid(act) {
		return none, fault.New(ErrAct, "client", "an act is JSON")
	}
	return send[T](ctx, c, http.MethodPost, query, api.SignedAct{Act: act}, path...)
}

// Route asks the router.
func (c *Client) Route(ctx context.Context, what api.RouteRequest) (api.RouteAnswer, error) {
	return post[api.RouteAnswer](ctx, c, what, "router", "decide")
}

// FreezeBrain makes a snapshot of a brain state.
func (c *Client) FreezeBrain(ctx context.Context, what api.BrainSnapshotRequest) (api.BrainSnapshot, error) {
	return post[api.BrainSnapshot](ctx, c, what, "brainstate", "create_snapshot")
}

// BrainSnapshot returns a brain state that was frozen.
func (c *Client) BrainSnapshot(ctx context.Context, id string) (api.BrainSnapshot, error) {
	return get[api.BrainSnapshot](ctx, c, nil, "brainstate", id)
}

// Tick computes one tick of a brain state.
func (c *Client) Tick(ctx context.Context, what api.TickRequest) (api.TickAnswer, error) {
	return post[api.TickAnswer](ctx, c, what, "brainstate", "tick")
}

// QueryBrain returns what a brain state tells the router.
func (c *Client) QueryBrain(ctx context.Context, what api.BrainQuery) (api.BrainHints, error) {
	return post[api.BrainHints](ctx, c, what, "brainstate", "query")
}
