package insight

import (
	"context"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Run is one line of a list of runs.
type Run struct {
	ledger.RunInfo
	Engine string
	Mode   string
	Title  string
	Calls  int64
	Status string // of the seal; empty: not sealed
	// Exit is the agent's exit status, where an agent ran and ended.
	Exit   *int64
	Source *ledger.Ref // what a branch or a replay stands on
	Open   canon.Value // what the open says beside
	End    canon.Value // what the seal says beside
}

// Summarise reads the bodies of a run, and no contents.
func Summarise(ctx context.Context, store ledger.Store, info ledger.RunInfo) (Run, error) {
	r := Run{RunInfo: info}
	for e, err := range store.Read(ctx, info.Run, 0) {
		if err != nil {
			return r, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return r, err
		}
		switch o.Kind {
		case ledger.KindOpen:
			r.Engine, r.Mode, r.Title, r.Open = o.Body.Get("engine").Str(), o.Body.Get("mode").Str(), o.Body.Get("title").Str(), o.Data()
			if ref := o.Body.Get("refs").Get("source"); !ref.IsZero() {
				source, err := ledger.ParseRef(ref)
				if err != nil {
					return r, err
				}
				r.Source = &source
			}
		case ledger.KindCall:
			r.Calls++
		case ledger.KindSeal:
			r.Status, r.End = o.Body.Get("status").Str(), o.Data()
			if n, ok := r.End.Get("exit").AsInt(); ok {
				r.Exit = &n
			}
		default:
		}
	}
	return r, nil
}

// Took returns the time between the first and the last entry.
func (r *Run) Took() (time.Duration, bool) {
	from, to := When(r.Opened), When(r.Ended)
	if from.IsZero() || to.IsZero() {
		return 0, false
	}
	return max(0, to.Sub(from)), true
}

// Value returns the run as JSON.
func (r *Run) Value() canon.Value {
	v := canon.Object(
		canon.M("run", canon.String(string(r.Run))),
		canon.M("engine", canon.Text(r.Engine)),
		canon.M("mode", canon.Text(r.Mode)),
		canon.M("title", canon.Text(r.Title)),
		canon.M("opened", canon.Text(r.Opened)),
		canon.M("ended", canon.Text(r.Ended)),
		canon.M("entries", canon.Int(r.At.Count)),
		canon.M("head", canon.String(r.At.Last.String())),
		canon.M("calls", canon.Int(r.Calls)),
		canon.M("sealed", canon.Bool(r.Sealed)),
		canon.M("status", canon.Text(r.Status)),
	)
	if r.Exit != nil {
		v = v.With("agent_exit", canon.Int(*r.Exit))
	}
	if d, ok := r.Took(); ok {
		v = v.With("duration_ms", canon.Int(d.Milliseconds()))
	}
	if r.Source != nil {
		v = v.With("source", r.Source.Value())
	}
	return v
}
