package drive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// fold gives a recorded ledger to a machine, entry by entry, and compares
// what the machine concludes and asks for with what is recorded. It is the
// one way in which a run is resumed and replayed.
//
// Decisions of the machine are the concatenation of Apply over its inputs;
// other entries may stand between. Calls are those that Next asks for, in any
// order within a step.
type fold struct {
	m      effect.Machine
	read   *Reader
	report *replay.Report

	due     []ledger.Decision      // concluded, and not met in the ledger yet
	decided int64                  // decisions met
	wanted  []effect.Call          // asked for, and not met yet
	made    int64                  // calls met
	seen    map[canon.Digest]int64 // next occurrence of the machine's own calls
	open    map[place]madeCall
	inputs  int64
	sealed  bool
	stopped bool
	world   ledger.World
}

type madeCall struct {
	call effect.Call
	key  effect.Key
}

func newFold(m effect.Machine, read *Reader, report *replay.Report) *fold {
	return &fold{m: m, read: read, report: report, seen: map[canon.Digest]int64{}, open: map[place]madeCall{}}
}

// run takes a history.
func (f *fold) run(ctx context.Context, history iter.Seq2[*ledger.Opened, error]) error {
	for o, err := range history {
		if err != nil {
			return err
		}
		if o.Body.IsZero() {
			return fault.New(ledger.ErrAbsent, "drive.fold", "the body of entry %d is absent, so the run cannot be followed", o.N)
		}
		if err := f.read.resolve(ctx, o); err != nil {
			return err
		}
		switch err := f.entry(ctx, o); {
		case errors.Is(err, errStop):
			f.stopped = true
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (f *fold) entry(ctx context.Context, o *ledger.Opened) error {
	switch o.Kind {
	case ledger.KindOpen:
		if f.inputs > 0 {
			// A branch goes on with the input that its source was opened
			// with. Calls that were open where it left are made anew.
			f.sealed = false
			clear(f.open)
			return nil
		}
		contents, err := f.read.Contents(ctx, o)
		if err != nil {
			return err
		}
		return f.apply(o, effect.Input{Kind: o.Kind, N: o.N, Data: o.Data(), Contents: contents})
	case ledger.KindCall:
		return f.call(ctx, o)
	case ledger.KindOutcome:
		return f.outcome(ctx, o)
	case ledger.KindSeal:
		f.sealed = true
		return nil
	default:
		return f.other(ctx, o)
	}
}

// other takes an input from outside, or compares a decision. A note
// of the shell's, such as a message of a duplex exchange, is neither.
func (f *fold) other(ctx context.Context, o *ledger.Opened) error {
	if from, ok := o.Body.Get("from").AsString(); ok {
		contents, err := f.read.Contents(ctx, o)
		if err != nil {
			return err
		}
		return f.apply(o, effect.Input{Kind: o.Kind, N: o.N, Name: o.Body.Get("name").Str(), From: from, Data: o.Data(), Contents: contents})
	}
	if o.Kind == ledger.KindErasure {
		return nil // the shell's: nothing is decided by it
	}
	if o.Kind == ledger.KindEvent && o.Body.Get("refs").Has("note") {
		return nil
	}
	return f.decision(ctx, o)
}

func (f *fold) apply(o *ledger.Opened, in effect.Input) error {
	// All calls of a step stand before the first of its outcomes. What was
	// wanted and not met until now was cut off by a kill; Next asks again.
	f.wanted = nil
	f.inputs++
	ds, err := f.m.Apply(in)
	if err != nil && f.report.Total > 0 {
		f.report.Remarks = append(f.report.Remarks, fmt.Sprintf("stopped at entry %d: behind the first divergence the engine cannot take the recorded input: %v", o.N, err))
		return errStop
	}
	if err != nil {
		return fault.Wrap(ErrMachine, "drive.fold", err, "the engine cannot take entry %d", o.N)
	}
	f.due = append(f.due, ds...)
	return nil
}

// ErrMachine means that an engine cannot take an input. The cause says why;
// the run stops there.
const ErrMachine fault.Halted = "drive.input_refused"

// errStop ends a fold whose report says why.
const errStop fault.Internal = "drive.fold_stopped"

// decision compares a recorded decision with the next one that is due.
func (f *fold) decision(ctx context.Context, o *ledger.Opened) error {
	contents, err := f.read.Contents(ctx, o)
	if err != nil {
		return err
	}
	was := ledger.Decision{Kind: o.Kind, Body: o.Body, Contents: contents}
	f.decided++
	if o.Kind == ledger.KindCommit {
		if err := f.commit(was); err != nil {
			return err
		}
	}
	d := replay.Divergence{What: "decision", Name: o.Body.Get("name").Str(), Recorded: o.N, Run: f.elsewhere(o), Now: -1, Nearest: -1, Step: f.decided}
	if len(f.due) == 0 {
		d.Kind, d.Msg = replay.Missing, "the engine does not conclude this any more"
		f.report.Diverge(d)
		return nil
	}
	now := f.due[0]
	f.due = f.due[1:]
	if where := replay.Decisions(was, now); where != nil {
		d.Kind, d.Where = replay.Different, where
		f.report.Diverge(d)
	}
	return nil
}

// elsewhere returns the run of an entry that stands in a source.
func (f *fold) elsewhere(o *ledger.Opened) ledger.RunID {
	if o.Run == f.read.run {
		return ""
	}
	return o.Run
}

// commit follows the world, so that the seal of a run can say what it is.
func (f *fold) commit(d ledger.Decision) error {
	changes, err := ledger.ParseDelta(d.Body.Get("delta"))
	if err != nil {
		return err
	}
	for _, c := range changes {
		var value *canon.Digest
		if i := slices.IndexFunc(d.Contents, func(x ledger.Content) bool { return x.Name == c.Att }); c.Att != "" && i >= 0 {
			w := ledger.NewWorldValue()
			_, _ = w.Write(d.Contents[i].Bytes)
			sum := w.Sum()
			value = &sum
		}
		if err := f.world.Apply(c, value); err != nil {
			return err
		}
	}
	return nil
}

// call compares a recorded call with those that the machine wants.
func (f *fold) call(ctx context.Context, o *ledger.Opened) error {
	was, key, err := effect.ParseCall(o.Body)
	if err != nil {
		return err
	}
	if key.Path != "" {
		return nil // made under another call: the callee's, not the machine's
	}
	f.made++
	f.seen[key.Match] = key.Occurrence + 1
	if len(f.wanted) == 0 {
		if err := f.ask(); err != nil {
			return err
		}
	}
	d := replay.Divergence{What: "call", Name: was.Name, Recorded: o.N, Run: f.elsewhere(o), Now: -1, Nearest: -1, Step: f.made}
	i := slices.IndexFunc(f.wanted, func(c effect.Call) bool { return c.Match == was.Match })
	if i < 0 {
		i = slices.IndexFunc(f.wanted, func(c effect.Call) bool { return c.Kind == was.Kind && c.Name == was.Name })
	}
	if i < 0 && len(f.wanted) > 0 {
		i = 0
	}
	if i < 0 {
		d.Kind, d.Msg = replay.Missing, "the engine does not ask for this any more"
		f.report.Diverge(d)
		return nil
	}
	now := f.wanted[i]
	f.wanted = slices.Delete(f.wanted, i, i+1)
	f.open[place{o.Run, o.N}] = madeCall{now, key}
	contents, err := f.read.Contents(ctx, o)
	if err != nil {
		return err
	}
	where := replay.Decisions(
		ledger.Decision{Kind: o.Kind, Body: o.Body, Contents: contents},
		ledger.Decision{Kind: o.Kind, Body: now.Body(key), Contents: now.Contents},
	)
	if where != nil {
		d.Kind, d.Where = replay.Different, where
		f.report.Diverge(d)
	}
	return nil
}

// ask takes the machine's next step.
func (f *fold) ask() error {
	step := f.m.Next()
	for i := range step.Calls {
		if err := step.Calls[i].Fill(); err != nil {
			return err
		}
	}
	f.wanted = append(f.wanted, step.Calls...)
	return nil
}

func (f *fold) outcome(ctx context.Context, o *ledger.Opened) error {
	n, _ := o.Body.Get("refs").Get("call").AsInt()
	c, ok := f.open[place{o.Run, n}]
	if !ok {
		return nil
	}
	delete(f.open, place{o.Run, n})
	out, err := effect.ParseOutcome(o.Body)
	if err != nil {
		return err
	}
	if out.Contents, err = f.read.Contents(ctx, o); err != nil {
		return err
	}
	return f.apply(o, effect.Input{Kind: o.Kind, N: o.N, Call: &c.call, Key: c.key, Outcome: &out})
}

// rest reports what the machine still wants after the last entry: decisions
// that are due, and calls that the record does not hold.
func (f *fold) rest() error {
	if f.stopped {
		return nil
	}
	for i, d := range f.due {
		f.report.Diverge(replay.Divergence{
			Kind: replay.Extra, What: "decision", Name: d.Body.Get("name").Str(), Recorded: -1, Now: -1, Nearest: -1,
			Step: f.decided + int64(i) + 1, Msg: "the engine concludes this now; the record does not hold it",
		})
	}
	if len(f.wanted) == 0 && len(f.due) == 0 {
		if err := f.ask(); err != nil {
			return err
		}
	}
	for i, c := range f.wanted {
		f.report.Diverge(replay.Divergence{
			Kind: replay.Extra, What: "call", Name: c.Name, Recorded: -1, Now: -1, Nearest: -1,
			Step: f.made + int64(i) + 1, Msg: "the engine asks for this now; the record holds no outcome, and it is not called",
		})
	}
	return nil
}
