package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// verbPropose is the verb of an act that proposes a configuration.
const verbPropose = "propose"

func (s *Server) policyRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "policyMatter", Method: http.MethodPost, Path: "/governance/policy/matter", Tags: []string{tagJobs},
		Summary: "Get what a proposal of a configuration must sign", DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound),
	}, func(ctx context.Context, in *struct{ Body api.PolicyWish }) (*answer[api.PolicyMatter], error) {
		return of(s.policyMatter(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "proposePolicy", Method: http.MethodPost, Path: "/governance/policy/propose", Tags: []string{tagJobs},
		Summary:       "Propose a router configuration or a privacy policy to the council",
		Description:   signedOnly + "The verb is propose, the role Operator, Admin or Council. What more than half of the council approves is in force for the jobs of the tenant that begin from then on.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct{ Body api.PolicyRequest }) (*answer[api.Proposal], error) {
		return of(s.proposePolicy(ctx, &in.Body))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "voteOnPolicy", Method: http.MethodPost, Path: "/governance/policy/{id}/vote", Tags: []string{tagJobs},
		Summary:       "Vote on a proposal",
		Description:   signedOnly + "The verb is approve, deny or abstain, the role Council, and the matter that of the proposal. The vote that carries it appends govern.adopted.",
		DefaultStatus: http.StatusOK, Errors: failures(http.StatusNotFound, http.StatusConflict),
	}, func(ctx context.Context, in *struct {
		ID     string `path:"id" minLength:"1" maxLength:"64" doc:"The proposal, or the beginning of its id"`
		Tenant string `query:"tenant" maxLength:"256"`
		Body   api.SignedAct
	},
	) (*answer[api.Proposal], error) {
		return of(actOn(ctx, s, in.Tenant, in.Body.Act, func(ctx context.Context, g *jobs.Governance, act canon.Value) (api.Proposal, error) {
			p, err := g.DecideSigned(ctx, in.ID, act)
			if err != nil {
				return api.Proposal{}, err
			}
			return proposalOf(g, p), nil
		}))
	})
}

func (s *Server) policyMatter(ctx context.Context, in *api.PolicyWish) (out api.PolicyMatter, err error) {
	kind := job.Kind(in.Kind)
	config, err := jobs.ParseConfig(kind, "config", in.Config)
	if err != nil {
		return out, err
	}
	err = s.governing(ctx, func(r *jobs.Runner) error {
		g, err := r.ReadGovernance(ctx, in.Tenant)
		if err == nil {
			out = api.PolicyMatter{Config: json.RawMessage(config), Verb: verbPropose, Matter: matterOf(g.ProposalMatter(kind, config))}
		}
		return err
	})
	return out, err
}

func (s *Server) proposePolicy(ctx context.Context, in *api.PolicyRequest) (api.Proposal, error) {
	kind := job.Kind(in.Kind)
	config, err := jobs.ParseConfig(kind, "config", in.Config)
	if err != nil {
		return api.Proposal{}, err
	}
	return actOn(ctx, s, in.Tenant, in.Act, func(ctx context.Context, g *jobs.Governance, act canon.Value) (api.Proposal, error) {
		p, err := g.ProposeSigned(ctx, kind, config, act)
		if err != nil {
			return api.Proposal{}, err
		}
		return proposalOf(g, p), nil
	})
}

func proposalOf(g *jobs.Governance, p *jobs.Proposal) api.Proposal {
	now, ok := g.InForce(p.Kind)
	out := api.Proposal{
		ID: p.ID, Actor: p.Actor, Reason: p.Reason, Kind: string(p.Kind), Config: json.RawMessage(p.Config), ConfigHash: p.ConfigHash().String(),
		State: string(p.State), InForce: ok && now.ID == p.ID, Matter: matterOf(p.Matter(g.LedgerID())), Votes: []api.Vote{},
	}
	for _, v := range p.Votes() {
		out.Votes = append(out.Votes, api.Vote{Actor: v.Actor, Role: string(v.Role), Verb: string(v.Verb), Act: v.Act.String()})
	}
	return out
}
