package trajectories

import (
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// watch is the engine with somebody who looks on: it keeps the answers of the
// agents, and tells of what is new.
type watch struct {
	m       *trajectory.Machine
	run     ledger.RunID
	tell    func(Event)
	skip    int64 // inputs that were told of, or were recorded before
	seen    int64 // inputs of this machine
	answers map[string]canon.Value
	pause   func() bool // something from outside wants to be heard; nil: nothing ever does
}

func (r *Runner) watch(run ledger.RunID, skip int64) *watch {
	tell := r.Progress
	if tell == nil {
		tell = func(Event) {}
	}
	return &watch{m: trajectory.NewMachine(), run: run, tell: tell, skip: skip, answers: map[string]canon.Value{}}
}

// silent is more inputs than a run can have.
const silent = 1 << 62

// begin looks on at a new machine, which takes the same inputs once more.
func (w *watch) begin(m *trajectory.Machine) {
	w.m = m
	w.skip = max(w.skip, w.seen)
	w.seen = 0
}

// Next implements [effect.Machine].
func (w *watch) Next() effect.Step {
	// Only behind all that is recorded: before, the fold compares what the
	// machine asks for.
	if w.pause != nil && w.seen >= w.skip && w.pause() {
		return effect.Step{Wait: Paused}
	}
	return w.m.Next()
}

// Clone implements [effect.Machine].
func (w *watch) Clone() effect.Machine { return w.m.Clone() }

// Apply implements [effect.Machine].
func (w *watch) Apply(in effect.Input) ([]ledger.Decision, error) {
	ds, err := w.m.Apply(in)
	w.seen++
	fresh := w.seen > w.skip
	if fresh && in.From != "" {
		w.tell(Event{Run: w.run, Kind: string(in.Kind), Name: in.Name, Agent: in.From, Data: in.Data})
	}
	for _, d := range ds {
		name, data := d.Body.Get("name").Str(), d.Body.Get("data")
		if d.Kind == ledger.KindResult {
			w.answers[name] = data.Get("answer")
		}
		if fresh {
			w.tell(Event{Run: w.run, Kind: string(d.Kind), Name: name, Data: d.Body})
		}
	}
	return ds, err
}

// calling tells of a call of a tool that is made now.
func (w *watch) calling(c *effect.Call) {
	w.tell(Event{Run: w.run, Kind: string(ledger.KindCall), Name: c.Name, Agent: c.Data.Get("agent").Str(), Call: c})
}
