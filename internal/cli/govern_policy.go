package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

func (a *app) governPropose() *cobra.Command {
	f := governFlags{founds: true} // a configuration is adopted before the first job
	return f.register(&cobra.Command{
		Use: "propose router|privacy FILE", Short: "Ask the council to adopt a router configuration or a privacy policy",
		Long: `Ask the council to adopt a router configuration or a privacy policy. The file has
what the section of that name has in a job file; what it leaves out is as there.

The council votes with govern approve. What more than half of it has approved is
in force: jobs of the tenant that begin from then on take it into their snapshots,
and a job file that says something else is refused.`,
		Example: example("reprise govern propose router weights.yaml --reason 'look around more'", "reprise govern approve 3f9a --as alice"),
		Args:    exactly(2, "router or privacy, and a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := job.Kind(args[0])
			config, err := jobs.ReadConfig(kind, args[1])
			if err != nil {
				return err
			}
			return a.governing(cmd.Context(), &f, func(_ *opened, g *jobs.Governance) error {
				p, err := g.Propose(cmd.Context(), kind, config, f.act)
				if err != nil {
					return err
				}
				a.proposals(g, p)
				if !a.json {
					a.next(a.stdout, a.out, "govern approve "+p.ID[:12]+a.flag())
				}
				return nil
			})
		},
	}, false)
}

func (a *app) governPolicy() *cobra.Command {
	var f governFlags
	cmd := &cobra.Command{
		Use: "policy [PROPOSAL]", Short: "List what was proposed and what is in force, or print one content",
		Example: example("reprise govern policy", "reprise govern policy 3f9a"),
		Args:    between(0, 1, "the beginning of a proposal's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.governing(cmd.Context(), &f, func(_ *opened, g *jobs.Governance) error {
				if len(args) == 0 {
					a.proposals(g, g.Proposals()...)
					return nil
				}
				p, err := g.Proposal(args[0])
				if err != nil {
					return err
				}
				a.printed = true
				a.printf("%s\n", p.Config)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "whose governance; empty: that of jobs without a tenant")
	return cmd
}

// proposals prints proposals.
func (a *app) proposals(g *jobs.Governance, list ...*jobs.Proposal) {
	out := make([]canon.Value, len(list))
	for i, p := range list {
		state := string(p.State)
		if now, ok := g.InForce(p.Kind); ok && now.ID == p.ID {
			state = "in force"
		}
		out[i] = proposalValue(p).With("in_force", canon.Bool(state == "in force"))
		if a.json {
			continue
		}
		a.printf("%s %s by %s: %s%s\n", a.out.name(p.ID[:12]), p.Kind, clean(p.Actor), state, reasoned(p.Reason))
		for _, v := range p.Votes() {
			a.printf("  %s %s as %s\n", clean(v.Actor), v.Verb, v.Role)
		}
	}
	switch {
	case a.json:
		a.print(canon.Object(canon.M("proposals", canon.Array(out...))))
	case len(list) == 0:
		a.printf("nothing was proposed\n")
	}
}

func reasoned(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + clean(reason)
}

func proposalValue(p *jobs.Proposal) canon.Value {
	votes := make([]canon.Value, 0, len(p.Votes()))
	for _, v := range p.Votes() {
		votes = append(votes, canon.Object(canon.M("actor", canon.String(v.Actor)), canon.M("role", canon.String(string(v.Role))), canon.M("vote", canon.String(string(v.Verb)))))
	}
	return canon.Object(
		canon.M("actor", canon.String(p.Actor)), canon.M("config", canon.String(p.Config)), canon.M("config_hash", canon.String(p.ConfigHash().String())),
		canon.M("kind", canon.String(string(p.Kind))), canon.M("proposal_id", canon.String(p.ID)), canon.M("reason", canon.String(p.Reason)),
		canon.M("state", canon.String(string(p.State))), canon.M("votes", canon.Array(votes...)))
}

// approve votes on the replay or the proposal whose id begins so.
func (a *app) approve(ctx context.Context, g *jobs.Governance, id string, verb govern.Verb, act jobs.Act) error {
	q, err := g.Request(id)
	p, other := g.Proposal(id)
	switch {
	case err == nil && other == nil, fault.CodeOf(err) == fault.Code(jobs.ErrWhich), fault.CodeOf(other) == fault.Code(jobs.ErrWhich):
		return fault.New(jobs.ErrWhich, "cli.govern", "a replay and a proposal, or more than one of them, begin with %q; name more of the id", id)
	case other == nil:
		if p, err = g.Decide(ctx, p.ID, verb, act); err != nil {
			return err
		}
		a.proposals(g, p)
		return nil
	case err != nil:
		return fault.New(jobs.ErrNoRequest, "cli.govern", "there is no replay and no proposal %q", id)
	}
	if q, err = g.Approve(ctx, q.ID, verb, act); err != nil {
		return err
	}
	if a.json {
		a.print(requestValue(q))
		return nil
	}
	a.request(q)
	return nil
}
