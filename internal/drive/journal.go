package drive

import (
	"context"

	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ReadJournal reads the calls and outcomes of a recorded run, up to and with
// entry last; a negative last means all.
func ReadJournal(ctx context.Context, store Store, run ledger.RunID, last int64) (*effect.Journal, error) {
	j := effect.NewJournal()
	for e, err := range store.Read(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return nil, err
		}
		if last >= 0 && o.N > last {
			break
		}
		if err := j.Add(&o); err != nil {
			return nil, err
		}
	}
	return j, nil
}
