package trajectories

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrDelegate means that a delegation is called from where nothing encloses
// it, or without a charter. Mend the engine.
const ErrDelegate fault.Internal = "trajectories.bad_delegation"

// delegate runs the trajectory of a delegate: a new one, or, where a process
// that was killed had begun it already, that one.
func (r *Runner) delegate(ctx context.Context, parent *Run, call *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	id := call.Data.Get("child_trajectory_id").Str()
	place, ok := under.Place()
	if !ok || len(call.Contents) != 1 {
		return effect.Outcome{}, fault.New(ErrDelegate, "trajectories.delegate", "the delegation %s", call.Name)
	}
	if attempt, _ := call.Data.Get("attempt").AsInt(); attempt > 0 {
		run, err := r.childOf(ctx, parent.id, id)
		if err != nil {
			return effect.Outcome{}, err
		}
		if run != "" {
			return r.delegateAgain(ctx, run, id)
		}
	}
	v, err := canon.Parse(call.Contents[0].Bytes)
	if err != nil {
		return effect.Outcome{}, err
	}
	c, err := trajectory.ParseCharter(v)
	if err != nil {
		return effect.Outcome{}, err
	}
	o, err := opening(c, parent.script, parent.redact)
	if err != nil {
		return effect.Outcome{}, err
	}
	o.Parent = &place
	s, err := drive.Open(ctx, r.Config, o)
	if err != nil {
		return effect.Outcome{}, err
	}
	t := &Run{id: s.Run(), session: s, charter: c, script: parent.script, redact: parent.redact, watch: r.watch(s.Run(), 0), parent: &place, delegate: true}
	res, err := r.goOn(ctx, t)
	return delegateOutcome(res, id), err
}

// delegateAgain goes on with the run of a delegate.
func (r *Runner) delegateAgain(ctx context.Context, run ledger.RunID, id string) (effect.Outcome, error) {
	t, err := r.take(ctx, run)
	if errors.Is(err, drive.ErrSealed) {
		res, err := r.ended(ctx, run)
		return delegateOutcome(res, id), err
	}
	if err != nil {
		return effect.Outcome{}, err
	}
	t.delegate = true
	res, err := r.goOn(ctx, t)
	return delegateOutcome(res, id), err
}

// ended returns where a sealed run stands.
func (r *Runner) ended(ctx context.Context, run ledger.RunID) (*Result, error) {
	res, err := r.State(ctx, run)
	if err != nil {
		return nil, err
	}
	at, err := r.Config.Store.At(ctx, run)
	res.Last = ledger.Ref{Run: run, N: at.Count - 1, ID: at.Last}
	return res, err
}

// delegateOutcome is what a parent is told of its delegate.
func delegateOutcome(res *Result, id string) effect.Outcome {
	if res == nil {
		return effect.Outcome{}
	}
	return effect.Outcome{Status: effect.OK, Data: reportOf(res, id), Refs: []effect.Place{{Name: "child", Ref: res.Last}}}
}

// reportOf is the report of a delegate. A trajectory that delegates has one
// agent.
func reportOf(res *Result, id string) canon.Value {
	state := trajectory.DelegateDone
	if !res.Done {
		state = trajectory.DelegateWaiting
	}
	v := canon.Object(canon.M("child_trajectory_id", canon.String(id)), canon.M("state", canon.String(state)))
	if len(res.Agents) == 0 {
		return v
	}
	a := res.Agents[0]
	answer := a.Answer
	if answer.IsZero() {
		answer = canon.Null()
	}
	v = v.With("status", canon.String(a.Status)).With("answer", answer)
	if spent, err := trajectory.Lift(a.Spent.Value()); err == nil {
		v = v.With("spent", spent)
	}
	return v
}

// childOf returns the run of a delegate, or "" if there is none.
func (r *Runner) childOf(ctx context.Context, parent ledger.RunID, id string) (ledger.RunID, error) {
	for info, err := range r.Config.Store.Runs(ctx) {
		if err != nil {
			return "", err
		}
		o, err := drive.NewReader(r.Config.Store, info.Run).Open(ctx, 0)
		if err != nil {
			if errors.Is(err, ledger.ErrAbsent) {
				continue // an erased run is nobody's delegate any more
			}
			return "", err
		}
		ref := o.Body.Get("refs").Get("parent")
		if o.Body.Get("engine").Str() == trajectory.Engine && o.Data().Get("trajectory_id").Str() == id && ref.Get("run").Str() == string(parent) {
			return info.Run, nil
		}
	}
	return "", nil
}

// collect takes the reports of delegates that have ended meanwhile to a run
// that waits for them. It says whether there were some.
func (r *Runner) collect(ctx context.Context, t *Run) (bool, error) {
	found := false
	for _, a := range t.watch.m.Agents() {
		if a.Awaits.IsZero() {
			continue
		}
		run, err := r.childOf(ctx, t.id, a.Awaits.String())
		if err != nil || run == "" {
			return found, err
		}
		res, err := r.State(ctx, run)
		if err != nil {
			return found, err
		}
		if !res.Done {
			continue
		}
		found = true
		if err := t.session.Receive(ctx, ledger.KindEvent, trajectory.EventDelegate, a.Name, reportOf(res, a.Awaits.String())); err != nil {
			return found, err
		}
	}
	return found, nil
}

// report lets the parent of a delegate that has ended go on. A parent that
// another process is writing collects the report by itself.
func (r *Runner) report(ctx context.Context, t *Run) (*Result, error) {
	p, err := r.take(ctx, t.parent.Run)
	if errors.Is(err, ledger.ErrLeased) || errors.Is(err, drive.ErrSealed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.goOn(ctx, p)
}
