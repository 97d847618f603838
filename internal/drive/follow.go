package drive

import (
	"context"

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
