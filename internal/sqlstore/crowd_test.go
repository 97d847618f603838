package sqlstore_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
)

// TestReadersInACrowdDoNotWaitForOneAnother holds that whoever has one of the
// few connections never waits for somebody who waits for one.
func TestReadersInACrowdDoNotWaitForOneAnother(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 20 {
				for _, err := range s.Runs(t.Context()) {
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 100 {
		w := ledgertest.NewWriter(t, s)
		w.Append(t, s, "open")
	}
	wg.Wait()
}
