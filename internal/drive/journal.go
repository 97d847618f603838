package drive

import (
	"context"

	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ReadJournal reads the calls and outcomes of a run's history, up to and with
// entry last of the run itself; a negative last means all.
func ReadJournal(ctx context.Context, store Store, run ledger.RunID, last int64) (*effect.Journal, error) {
	j := effect.NewJournal()
	for o, err := range Lineage(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		if last >= 0 && o.Run == run && o.N > last {
			break
		}
		if err := j.Add(o); err != nil {
			return nil, err
		}
	}
	return j, nil
}
