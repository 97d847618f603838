package jobs

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrSandbox means that an agent cannot be run again: it would reach the
// network or write outside of a temporary folder, and nothing here can keep it
// from that. Leave it out of --rerun.
const ErrSandbox fault.Denied = "jobs.no_sandbox"

// Names of agents that run again.
const (
	RerunAll  = "all"
	RerunNone = "none"
)

// rerun runs agents of a job again. Their models and tools answer from the
// journal; they reach no network, and write into a temporary folder only.
type rerun struct {
	ctx    context.Context //nolint:containedctx // of the one replay that it lives for
	p      *replaying
	calls  *calls
	places map[string]place // by iteration
}

// place is a recorded call of an agent.
type place struct {
	call   effect.Call
	key    effect.Key
	before int // calls of that agent before it
}

func (p *replaying) rerun(ctx context.Context) (*rerun, error) {
	read := drive.NewReader(p.r.Config.Store, p.job.Run)
	a := &rerun{ctx: ctx, p: p, places: map[string]place{}}
	before := map[string]int{}
	var agents []job.Agent
	var script Script
	for o, err := range read.All(ctx) {
		if err != nil {
			return nil, err
		}
		switch o.Kind {
		case ledger.KindOpen:
			contents, err := read.Contents(ctx, o)
			if err != nil {
				return nil, err
			}
			if script, err = scriptOf(contents); err != nil {
				return nil, err
			}
			v, err := canon.Parse(contentOf(contents, "job"))
			if err != nil {
				return nil, err
			}
			spec, err := job.ParseSpec(v)
			if err != nil {
				return nil, err
			}
			agents = spec.Agents
		case ledger.KindCall:
			call, key, err := effect.ParseCall(o.Body)
			if err != nil {
				return nil, err
			}
			if key.Depth() > 0 || call.Kind == job.KindMAC {
				continue
			}
			if call.Contents, err = read.Contents(ctx, o); err != nil {
				return nil, err
			}
			a.places[call.Data.Get("iteration_id").Str()] = place{call, key, before[call.Name]}
			before[call.Name]++
		default:
		}
	}
	a.calls = p.r.calls(agents, &player{script: script, asked: map[string]int{}}, func(*effect.Call) {})
	a.calls.live = nobody
	return a, nil
}

// named reports whether an agent is to run again.
func (a *rerun) named(it job.Rerun) bool {
	return slices.Contains(a.p.q.Rerun, RerunAll) || slices.Contains(a.p.q.Rerun, it.Node) || slices.Contains(a.p.q.Rerun, it.Iteration)
}

// run runs the agent of an iteration again.
func (a *rerun) run(it job.Rerun) (b []byte, ok bool, err error) {
	if !a.named(it) {
		return nil, false, nil
	}
	at, ok := a.places[it.Iteration]
	if !ok {
		return nil, false, fault.New(ErrSandbox, "jobs.rerun", "the call of iteration %s is not recorded", it.Iteration)
	}
	o, err := a.again(at)
	if err != nil {
		return nil, false, err
	}
	return contentOf(o.Contents, job.OutputContent), true, nil
}

// again makes the call of an agent once more, within the audit of the replay.
func (a *rerun) again(at place) (effect.Outcome, error) {
	x, err := a.p.audit.Begin(a.ctx, at.call)
	if err != nil {
		return effect.Outcome{}, err
	}
	a.calls.player.asked[at.call.Name] = at.before
	o, err := a.ask(&at.call, x.Under())
	if err != nil {
		o = effect.Outcome{Status: effect.Error, Code: fault.CodeOf(err), Data: canon.Object(canon.M("message", canon.String(fault.Text(err))))}
	}
	return o, errors.Join(err, x.End(context.WithoutCancel(a.ctx), o))
}

// ask runs an agent. A program does so in a sandbox; what is reached over the
// network is not.
func (a *rerun) ask(c *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	t, err := canon.Parse(contentOf(c.Contents, job.TransportContent))
	if err != nil {
		return effect.Outcome{}, err
	}
	switch c.Kind {
	case kindScript, kindGo, kindModel:
		return a.calls.agent(a.ctx, c, under)
	case "exec":
		dir, err := os.MkdirTemp("", "reprise-rerun-*")
		if err != nil {
			return effect.Outcome{}, fault.Wrap(ErrSandbox, "jobs.rerun", err, "no temporary folder")
		}
		defer os.RemoveAll(dir)
		if t, err = sandboxed(a.ctx, t, dir); err != nil {
			return effect.Outcome{}, err
		}
		b, err := canon.Encode(t, canon.MACEFixed9)
		if err != nil {
			return effect.Outcome{}, err
		}
		boxed := *c
		boxed.Contents = []ledger.Content{
			{Name: job.InputContent, Bytes: contentOf(c.Contents, job.InputContent)}, {Name: job.TransportContent, Bytes: b},
		}
		free := *a.calls
		free.live = a.p.r.calls(nil, a.calls.player, a.calls.tell).live
		return free.agent(a.ctx, &boxed, under)
	default:
		return effect.Outcome{}, fault.New(ErrSandbox, "jobs.rerun", "%s is reached over the network", c.Name)
	}
}

// nobody makes no call: what the journal does not hold has no answer.
func nobody(_ context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
	return effect.Outcome{}, fault.New(effect.ErrRefused, "jobs.rerun", "a %s call is not made in a replay", c.Kind)
}
