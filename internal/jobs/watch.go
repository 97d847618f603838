package jobs

import (
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// watch is the engine with somebody who looks on and tells of what is new.
type watch struct {
	m    *job.Machine
	run  ledger.RunID
	job  string
	tell func(Event)
	skip int64 // inputs that were told of, or were recorded before
	seen int64 // inputs of this machine
}

func (r *Runner) watch(run ledger.RunID, skip int64) *watch {
	tell := r.Progress
	if tell == nil {
		tell = func(Event) {}
	}
	return &watch{m: job.NewMachine(), run: run, tell: tell, skip: skip}
}

// silent is more inputs than a run can have.
const silent = 1 << 62

// begin looks on at a new machine, which takes the same inputs once more.
func (w *watch) begin(m *job.Machine) {
	w.m = m
	w.skip = max(w.skip, w.seen)
	if w.skip == silent {
		w.skip = w.seen
	}
	w.seen = 0
}

// Next implements [effect.Machine].
func (w *watch) Next() effect.Step { return w.m.Next() }

// Clone implements [effect.Machine].
func (w *watch) Clone() effect.Machine { return w.m.Clone() }

// Apply implements [effect.Machine].
func (w *watch) Apply(in effect.Input) ([]ledger.Decision, error) {
	ds, err := w.m.Apply(in)
	if in.Kind == ledger.KindOpen {
		if v, err := canon.Parse(contentOf(in.Contents, "job")); err == nil {
			w.job = v.Get("job_id").Str()
		}
	}
	w.seen++
	if w.seen <= w.skip {
		return ds, err
	}
	for _, d := range ds {
		data := d.Body.Get("data")
		if v, err := canon.Parse(contentOf(d.Contents, "event")); err == nil {
			data = v.Get("payload")
		}
		w.tell(Event{Run: w.run, Kind: d.Kind, Name: d.Body.Get("name").Str(), Data: data})
	}
	return ds, err
}

// calling tells of an agent that is asked now.
func (w *watch) calling(c *effect.Call) {
	w.tell(Event{Run: w.run, Kind: ledger.KindCall, Name: c.Name, Data: c.Data, Call: c})
}
