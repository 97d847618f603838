package drive

import (
	"context"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Followed is what a history held that was given to a machine.
type Followed struct {
	Inputs int64 // that the machine took
	Due    int   // decisions that the machine concludes and the history does not hold yet
	Open   int   // calls without an outcome
	Sealed bool
}

// Follow gives a machine the history of a run up to and with entry to.N; all
// of it if that is negative. It makes no call and writes nothing. A machine
// that does not conclude what is recorded gives [ErrRunDiverged].
func Follow(ctx context.Context, store Store, to ledger.Ref, m effect.Machine) (Followed, error) {
	report := &replay.Report{Verb: replay.Replayed, Mode: "follow", Run: to.Run}
	f := newFold(m, NewReader(store, to.Run), report)
	err := f.run(ctx, func(yield func(*ledger.Opened, error) bool) { lineage(ctx, store, to, 0, yield) })
	if err != nil {
		return Followed{}, err
	}
	if f.inputs == 0 {
		return Followed{}, fault.New(ledger.ErrNotFound, "drive.Follow", "there is no run %s", to.Run)
	}
	if report.Total > 0 {
		d := report.Divergences[0]
		return Followed{}, fault.New(ErrRunDiverged, "drive.Follow", "%s %s at entry %d is %s", d.What, d.Name, d.Recorded, d.Kind)
	}
	return Followed{Inputs: f.inputs, Due: len(f.due), Open: len(f.open), Sealed: f.sealed}, nil
}

// Arrival is an input from outside that came while a run is driven.
type Arrival struct {
	Kind ledger.Kind
	Name string
	From string
	Data canon.Value
}

// Listen makes [Run] ask for inputs from outside between two steps, when
// nothing is under way. What listen returns is recorded and given to the
// machine; whether it is really from whom it says is for listen to have
// checked. It is called by one goroutine at a time.
func (s *Session) Listen(listen func(context.Context) ([]Arrival, error)) { s.listen = listen }

// arrivals takes what came in from outside, and reports whether something did.
func (l *loop) arrivals(ctx context.Context) (bool, error) {
	if l.s.listen == nil {
		return false, nil
	}
	list, err := l.s.listen(ctx)
	if err != nil {
		return false, err
	}
	for _, a := range list {
		body := canon.Object(canon.M("name", canon.String(a.Name)), canon.M("from", canon.String(a.From)), canon.M("data", a.Data))
		ref, g, err := l.s.append(a.Kind, body, canon.Value{}, nil)
		if err == nil {
			err = g.wait(ctx)
		}
		if err != nil {
			return true, err
		}
		ds, err := l.f.m.Apply(effect.Input{Kind: a.Kind, N: ref.N, Name: a.Name, From: a.From, Data: a.Data})
		if err != nil {
			return true, fault.Wrap(ErrMachine, "drive.Run", err, "the engine cannot take entry %d", ref.N)
		}
		l.f.due = append(l.f.due, ds...)
		if err := l.decide(ctx); err != nil {
			return true, err
		}
	}
	return len(list) > 0, nil
}
