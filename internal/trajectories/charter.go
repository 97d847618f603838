package trajectories

import (
	"context"
	"io"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// committer is the name of the key that signs commits.
const committer = "default"

// Charter makes of a task what the engine decides by. The operator's key
// issues the writs and is the root that they are trusted by; each agent gets a
// key and a writ of its own. MCP servers are asked for their tools.
func (r *Runner) Charter(ctx context.Context, t *Task) (*trajectory.Charter, error) {
	operator, err := r.Keys.Named(keys.Actors, keys.Operator)
	if err != nil {
		return nil, err
	}
	signer, err := r.Keys.Named(keys.Committers, committer)
	if err != nil {
		return nil, err
	}
	tools, err := t.resolve(ctx, &r.World)
	if err != nil {
		return nil, err
	}
	c := &trajectory.Charter{
		Task: t.Task, Compiler: trajectory.CompilerVersion, Signer: signer.Public(), Roots: []sign.PublicKey{operator.Public()},
		Issuers: t.Issuers, Channels: t.Channels, GateIrreversible: t.Gates.Irreversible, RiskAt: t.Gates.RiskAt, MaxSteps: t.MaxSteps,
	}
	if c.Registry, err = trajectory.NewRegistry(tools...); err != nil {
		return nil, err
	}
	if c.Policies, err = trajectory.NewPolicySet(t.Policies...); err != nil {
		return nil, err
	}
	if c.Roster, err = r.roster(t, operator); err != nil {
		return nil, err
	}
	for i := range t.Agents {
		if err := r.agent(c, t, &t.Agents[i], operator, tools); err != nil {
			return nil, err
		}
	}
	return c, c.Check()
}

// agent issues the writ of an agent and lists both.
func (r *Runner) agent(c *trajectory.Charter, t *Task, a *AgentTask, operator *sign.PrivateKey, tools []trajectory.Tool) error {
	if !a.asked {
		return fault.New(ErrTask, "trajectories.Charter", "agent %q has no model: give one, or say model: outside if its intents come from outside", a.Name)
	}
	key, err := r.Keys.NewAgent()
	if err != nil {
		return err
	}
	b := trajectory.WritBody{
		Issuer: keys.Operator, IssuerKey: operator.Public(), Subject: a.Name, SubjectKey: key.Public(), Tenant: t.Tenant,
		Scopes: a.Writ.Scopes, Budget: a.Writ.Budget, Ceiling: a.Writ.Ceiling, Window: a.Writ.window(r.Config.Now()), Delegation: a.Writ.Delegation,
	}
	if len(b.Scopes) == 0 {
		for i := range tools {
			b.Scopes = append(b.Scopes, tools[i].Name)
		}
	}
	if _, err := io.ReadFull(r.Config.Rand, b.Nonce[:]); err != nil {
		return fault.Wrap(ErrRandom, "trajectories.Charter", err, "no randomness")
	}
	w, err := trajectory.IssueWrit(b, operator)
	if err != nil {
		return err
	}
	c.Writs = append(c.Writs, &w)
	c.Agents = append(c.Agents, trajectory.Agent{
		Name: a.Name, Writ: w.ID, Prompt: a.Prompt, Model: a.Model, Skill: a.Skill, Params: a.Params,
		Conversational: a.Conversational,
	})
	return nil
}

// ErrRandom means that the system gives no randomness. Nothing is signed
// without it.
const ErrRandom fault.Unavailable = "trajectories.no_randomness"

func (l *Limits) window(now time.Time) trajectory.Window {
	from, to := l.NotBefore, l.ExpiresAt
	if from.IsZero() {
		from = now
	}
	if to.IsZero() {
		to = now.Add(l.Lasts)
	}
	return trajectory.Window{NotBefore: uint64(max(0, from.Unix())), ExpiresAt: uint64(max(0, to.Unix()))}
}

// roster lists who may sign acts. Without actors in the task it is the
// operator alone.
func (r *Runner) roster(t *Task, operator *sign.PrivateKey) (govern.Roster, error) {
	var list []govern.Actor
	for _, a := range t.Actors {
		key := a.key
		if key.IsZero() {
			own, err := r.Keys.Named(keys.Actors, a.id)
			if err != nil {
				return govern.Roster{}, err
			}
			key = own.Public()
		}
		list = append(list, govern.Actor{ID: a.id, Key: key, Roles: a.roles, Tenant: t.Tenant})
	}
	if len(list) == 0 {
		list = append(list, govern.Actor{
			ID: keys.Operator, Key: operator.Public(), Tenant: t.Tenant, Roles: []govern.Role{govern.Operator, govern.Admin, govern.Approver},
		})
	}
	return govern.NewRoster(list...)
}
