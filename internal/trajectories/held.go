package trajectories

import (
	"context"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Paused is what a trajectory waits for whose work was interrupted between two
// steps, so that an input from outside can be taken.
const Paused = "an input from outside"

// Held is a trajectory that this process alone writes to. It takes inputs that
// others made, such as acts that they signed. It belongs to one goroutine, and
// ends with GoOn or Close.
type Held struct {
	r *Runner
	t *Run
}

// Begin begins a trajectory and makes no step of it.
func (r *Runner) Begin(ctx context.Context, t *Task) (*Held, error) {
	_, s, err := r.open(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := s.Close(ctx); err != nil {
		return nil, err
	}
	return r.Hold(ctx, s.Run())
}

// Hold takes over a trajectory that is not sealed. One that is held already,
// be it by this process, gives [ledger.ErrLeased].
func (r *Runner) Hold(ctx context.Context, run ledger.RunID) (*Held, error) {
	own := *r
	own.Config.Holder += ", for " + string(run) // its delegates are held by it too
	t, err := own.take(ctx, run)
	if err != nil {
		return nil, err
	}
	return &Held{&own, t}, nil
}

// HoldBranch begins a branch of a trajectory behind entry n, and makes no step
// of it. From is who wants it.
func (r *Runner) HoldBranch(ctx context.Context, run ledger.RunID, n int64, note, from string) (*Held, error) {
	t, err := r.branchOff(ctx, run, n, note, nil, from)
	if err != nil {
		return nil, err
	}
	if err := t.session.Close(ctx); err != nil {
		return nil, err
	}
	return r.Hold(ctx, t.id)
}

// Run returns the run that is held.
func (h *Held) Run() ledger.RunID { return h.t.id }

// Machine returns the engine as the record leaves it. It must not be changed.
func (h *Held) Machine() *trajectory.Machine { return h.t.watch.m }

// Last returns the last entry.
func (h *Held) Last() ledger.Ref { return h.t.last() }

// Give records an input, durably. One that would not count is refused with
// the reason why, and is not recorded.
func (h *Held) Give(ctx context.Context, in effect.Input) error {
	if err := h.t.watch.m.Consult(in); err != nil {
		return err
	}
	if err := h.t.session.Receive(ctx, in.Kind, in.Name, in.From, in.Data); err != nil {
		return err
	}
	_, err := h.t.watch.m.Apply(in) // what follows is recorded when the trajectory goes on
	return err
}

// GoOn goes on until the trajectory is done, waits, or is paused, and lets go
// of it. Pause is asked between two steps; nil never pauses.
func (h *Held) GoOn(ctx context.Context, pause func() bool) (*Result, error) {
	h.t.watch.pause = pause
	return h.r.goOn(ctx, h.t)
}

// Close lets go of the trajectory.
func (h *Held) Close(ctx context.Context) error { return h.t.session.Close(ctx) }

// Given is an act that somebody signed elsewhere.
func Given(kind ledger.Kind, name string, act canon.Value) (effect.Input, error) {
	const op = "trajectories.Given"
	b, err := canon.Encode(act, canon.Native)
	if err != nil {
		return effect.Input{}, fault.Wrap(govern.ErrAct, op, err, "not a signed statement")
	}
	if len(b) > govern.MaxAct {
		return effect.Input{}, fault.New(govern.ErrAct, op, "an act has at most %d bytes", govern.MaxAct)
	}
	e, err := sign.ParseEnvelope(b)
	if err != nil {
		return effect.Input{}, fault.Wrap(govern.ErrAct, op, err, "not a signed statement")
	}
	v, err := canon.Parse(e.Payload)
	if err != nil {
		return effect.Input{}, fault.Wrap(govern.ErrAct, op, err, "the payload")
	}
	// Whether it is really that actor is for the engine to say, which has the
	// roster.
	actor := v.Get("actor").Str()
	if actor == "" {
		return effect.Input{}, fault.New(govern.ErrAct, op, "the act names no actor")
	}
	return effect.Input{Kind: kind, Name: name, From: actor, Data: canon.Object(canon.M("act", act))}, nil
}

// Proposed is an intent that an agent outside has.
type Proposed struct {
	Agent     string // may be empty where there is one
	Kind      trajectory.IntentKind
	Tool      string
	Args      canon.Value
	Rationale string
	Routing   canon.Value   // the word of an adviser, or absent
	Parent    *canon.Digest // the commit that it was thought up on; nil: the last one
	// Nonce tells twins apart: with the same nonce and parent it is the same
	// intent, and is done once. Nil: one is drawn.
	Nonce *[16]byte
}

// Intent makes an input of an intent from outside.
func (h *Held) Intent(p *Proposed) (effect.Input, error) {
	in, err := h.r.intent(h.t.watch.m, p.Agent, p.Tool, p.Args, p.Rationale)
	if err != nil {
		return in, err
	}
	v := in.Data.Get("intent")
	if p.Kind != "" {
		v = v.With("kind", canon.String(string(p.Kind)))
	}
	if p.Nonce != nil {
		nonce := make([]canon.Value, len(p.Nonce))
		for i, b := range p.Nonce {
			nonce[i] = canon.Int(int64(b))
		}
		v = v.With("nonce", canon.Array(nonce...))
	}
	if p.Parent != nil {
		v = v.With("parent_commit", canon.String(p.Parent.String()))
	}
	in.Data = in.Data.With("intent", v)
	if !p.Routing.IsZero() {
		in.Data = in.Data.With("routing_evidence", p.Routing)
	}
	return in, nil
}

// Said makes an input of a message to a conversational agent.
func (h *Held) Said(agent, from, text string) (effect.Input, error) {
	return spoken(h.t.watch.m, agent, from, text)
}

// Finished makes an input of the word of an agent outside that it is done.
func (h *Held) Finished(agent string, answer canon.Value) (effect.Input, error) {
	name, err := idler(h.t.watch.m, agent)
	if err != nil {
		return effect.Input{}, err
	}
	lifted, err := trajectory.Lift(answer)
	if err != nil {
		return effect.Input{}, err
	}
	return effect.Input{Kind: ledger.KindEvent, Name: trajectory.EventFinish, From: name, Data: canon.Object(
		canon.M("agent", canon.String(name)), canon.M("answer", lifted),
	)}, nil
}

// Sources are the parts of a task that came another way than as files. Paths
// in them are relative to Dir.
type Sources struct {
	Dir    string
	Task   []byte // a task, in JSON or YAML
	Tools  []byte // further tools, or nil
	Script []byte // answers instead of a model, or nil
	Model  string // address of a model, or ""
	KeyEnv string // with it: the variable of the environment that holds its key
}

// Read reads the task.
func (s *Sources) Read() (*Task, error) {
	n, err := yamlfile.Parse("task", s.Task, ErrTask)
	if err != nil {
		return nil, err
	}
	t, err := taskOf(n, s.Dir)
	if err != nil {
		return nil, err
	}
	if s.Tools != nil {
		n, err := yamlfile.Parse("tools", s.Tools, ErrTask)
		if err != nil {
			return nil, err
		}
		if err := t.addTools(n, s.Dir); err != nil {
			return nil, err
		}
	}
	switch {
	case s.Script != nil && s.Model != "":
		return nil, fault.New(ErrTask, "trajectories.Read", "a script and a model both answer; give one")
	case s.Script != nil:
		n, err := yamlfile.Parse("script", s.Script, ErrTask)
		if err != nil {
			return nil, err
		}
		script, err := parseScript(n)
		if err != nil {
			return nil, err
		}
		t.SetModel(ScriptModel(), script)
	case s.Model != "":
		m, err := ModelAt(s.Model, s.KeyEnv)
		if err != nil {
			return nil, err
		}
		t.SetModel(m, nil)
	}
	return t, nil
}
