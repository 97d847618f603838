package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
)

// The log's file is longer than the log, so that a commit need not wait for
// the file system to note that it has grown; and what stands behind the log
// is not taken for a part of it by who finds both after a crash.
func TestLogHasRoomBeforeItIsNeeded(t *testing.T) {
	t.Parallel()
	dir, crashed := t.TempDir(), t.TempDir()
	s := open(t, dir)
	w := ledgertest.NewWriter(t, s)
	const entries = 300
	for i := range entries {
		w.Append(t, s, fmt.Sprint(i))
	}
	st, err := os.Stat(filepath.Join(dir, "store.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store.db", "store.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(crashed, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const header, frame = 32, 24 + 4096
	if used := header + logFrames(t, dir)*frame; st.Size() <= used {
		t.Errorf("the log has %d bytes and its file %d, want more", used, st.Size())
	}
	found := open(t, crashed)
	if at, err := found.At(t.Context(), w.Lease.Run); err != nil || at != w.At || at.Count != entries {
		t.Errorf("At after the crash = %+v, %v, want %+v", at, err, w.At)
	}
	var last ledger.Entry
	for e, err := range found.Read(t.Context(), w.Lease.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = *e
	}
	if last.ID != w.At.Last {
		t.Errorf("the last entry after the crash is %s, want %s", last.ID, w.At.Last)
	}
}

// logFrames returns how many frames the log of a store has.
func logFrames(t *testing.T, dir string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var busy, frames, done int64
	if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &done); err != nil {
		t.Fatal(err)
	}
	return frames
}
