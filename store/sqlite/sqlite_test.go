package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
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

// Runs that a version before the index has stored are found by their engine as
// soon as the store is opened.
func TestRunsOfAnOlderStoreAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	var want []ledger.RunID
	for i := range 600 {
		w := ledgertest.NewWriter(t, s)
		if i%2 == 0 { // a run that was leased and never begun is none
			w.Append(t, s, "open")
			want = append(want, w.Lease.Run)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "UPDATE runs SET engine = NULL")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for info, err := range open(t, dir).RunsOf(t.Context(), "") { // the suite's runs name no engine
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(want, info.Run) {
			t.Errorf("RunsOf yields %s", info.Run)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("RunsOf yields %d runs, want %d", n, len(want))
	}
}
