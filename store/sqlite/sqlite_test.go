package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/blob/blobtest"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "store.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) ledger.Store { return open(t, t.TempDir()) })
}

func TestRestart(t *testing.T) {
	t.Parallel()
	ledgertest.RunRestart(t,
		func(t *testing.T, place string) ledger.Store { return open(t, place) },
		func(s ledger.Store) error { return s.(*sqlite.Store).Close() })
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, t.TempDir()) })
}

func TestBlobsRestart(t *testing.T) {
	t.Parallel()
	blobtest.RunRestart(t,
		func(t *testing.T, place string) blob.Store { return open(t, place) },
		func(s blob.Store) error { return s.(*sqlite.Store).Close() })
}

func openAt(t *testing.T, place string) (ledger.Store, func() error) {
	s := open(t, place)
	return s, s.Close
}

func TestChild(t *testing.T) { ledgertest.Child(t, openAt) }

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	ledgertest.RunProcesses(t, openAt)
}

func TestKilled(t *testing.T) {
	t.Parallel()
	ledgertest.RunKill(t, openAt)
}
