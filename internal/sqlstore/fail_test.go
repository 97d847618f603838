package sqlstore_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// noise returns text that does not compress.
func noise(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", rng.Uint64())
	}
	return b.String()[:n]
}

func TestAFullDiskIsReportedAndNothingIsHalfStored(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "store.db"))
	w := ledgertest.NewWriter(t, s)
	w.Append(t, s, "open")
	if err := s.Exec(t.Context(), "PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	var failed *ledger.Batch
	for i := range 200 {
		b := w.Batch(t, noise(uint64(i), 3000))
		if err := s.Append(t.Context(), b); err != nil {
			if !errors.Is(err, ledger.ErrStore) {
				t.Fatalf("Append on a full disk = %v, want %v", err, ledger.ErrStore)
			}
			failed = b
			break
		}
		w.Done(b)
	}
	if failed == nil {
		t.Fatal("the disk was never full")
	}
	if at, err := s.At(t.Context(), w.Lease.Run); err != nil || at != w.At {
		t.Errorf("At = %v, %v, want %v: nothing of the failed append", at, err, w.At)
	}
	if err := s.Exec(t.Context(), "PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), failed); err != nil {
		t.Fatalf("Append with room again = %v", err)
	}
	w.Done(failed)
	for i := range 300 {
		w.Append(t, s, noise(uint64(1000+i), 3000))
	}
	res, err := ledger.Verify(t.Context(), ledger.Evidence{Run: w.Lease.Run, Entries: s.Read(t.Context(), w.Lease.Run, 0)})
	if err != nil || res.Failed() || res.At != w.At {
		t.Errorf("Verify = %+v, %v, want the %d entries", res, err, w.At.Count)
	}
}

func TestErasedBytesAreGoneFromTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store.db"))
	secret := noise(1, 4000)
	for _, id := range []string{"erased", "kept"} {
		sc := blob.Scope{ID: id, Key: canon.SHA256([]byte(id))}
		if _, err := s.Scope(t.Context(), id, &sc); err != nil {
			t.Fatal(err)
		}
		c := blob.Chunk{Scope: id, ID: canon.SHA256([]byte(id)), Bytes: []byte(id + secret)}
		if err := s.Put(t.Context(), []blob.Chunk{c}); err != nil {
			t.Fatal(err)
		}
	}
	if onDisk(t, dir, "erased"+secret[:100]) == 0 {
		t.Fatal("the chunk cannot be found on the disk, so this test proves nothing")
	}
	if err := s.Erase(t.Context(), "erased"); err != nil {
		t.Fatal(err)
	}
	if n := onDisk(t, dir, "erased"+secret[:100]) + onDisk(t, dir, string(firstKey("erased"))); n != 0 {
		t.Errorf("the erased chunk or its key stands on the disk %d times", n)
	}
	if b, err := s.Get(t.Context(), "kept", canon.SHA256([]byte("kept"))); err != nil || string(b) != "kept"+secret {
		t.Errorf("Get of a chunk of another scope = %d bytes, %v", len(b), err)
	}
}

func firstKey(id string) []byte {
	d := canon.SHA256([]byte(id))
	return d[:]
}

// onDisk counts how often bytes stand in the files of a folder.
func onDisk(t *testing.T, dir, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(b, []byte(text))
	}
	return n
}

// TestChangedRowsAreFound changes every row of the tables that hold entries,
// one bit at a time, and expects that reading or verifying finds it.
func TestChangedRowsAreFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	w := ledgertest.NewWriter(t, s)
	w.Append(t, s, "open", noise(1, 50), "a", "b")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var whole []byte
	if err := db.QueryRowContext(t.Context(), "SELECT data FROM segments").Scan(&whole); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	// Every byte is changed, in two or three of its bits.
	for bit := 0; bit < 8*len(whole); bit += 3 {
		changed := bytes.Clone(whole)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := db.ExecContext(t.Context(), "UPDATE segments SET data = ?", changed); err != nil {
			t.Fatal(err)
		}
		res, err := ledger.Verify(t.Context(), ledger.Evidence{Run: w.Lease.Run, Entries: s.Read(t.Context(), w.Lease.Run, 0)})
		if err == nil && !res.Failed() && res.At == w.At && !same(t, s, w) {
			t.Fatalf("a change of bit %d is not found", bit)
		}
		if err != nil && fault.ClassOf(err) != fault.ClassIntegrity {
			t.Fatalf("a change of bit %d gives %v, want an error of class integrity", bit, err)
		}
	}
}

// same reports whether what is read is what was written: a bit of a
// compressed row may have no meaning.
func same(t *testing.T, s *sqlite.Store, w *ledgertest.Writer) bool {
	t.Helper()
	want := (&ledgertest.Writer{Lease: w.Lease}).Entries(t, "open", noise(1, 50), "a", "b")
	i := 0
	for e, err := range s.Read(t.Context(), w.Lease.Run, 0) {
		if err != nil || i >= len(want) || e.ID != want[i].ID || !bytes.Equal(e.Header, want[i].Header) || !bytes.Equal(e.Body, want[i].Body) || e.Salt != want[i].Salt || e.Scope != want[i].Scope {
			return false
		}
		i++
	}
	return i == len(want)
}
