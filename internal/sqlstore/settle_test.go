package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// The journal is settled several times while runs grow, are read and are
// erased from. Whoever reads finds every entry, and what is erased stays so.
func TestSettlingAsideLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	verify := func(run ledger.RunID, want int64) {
		t.Helper()
		res, err := ledger.Verify(t.Context(), ledger.Evidence{Run: run, Entries: s.Read(t.Context(), run, 0)})
		if err != nil || res.Failed() || res.At.Count < want {
			t.Errorf("Verify(%s) = %+v, %v, want %d entries", run, res, err, want)
		}
	}
	const entries = 400
	writers := make([]*ledgertest.Writer, 3)
	for i := range writers {
		writers[i] = ledgertest.NewWriter(t, s)
	}
	gone := blob.Scope{ID: "gone", Key: [32]byte{1}}
	kept := blob.Scope{ID: "kept", Key: [32]byte{2}}
	for _, sc := range []*blob.Scope{&gone, &kept} {
		if _, err := s.Scope(t.Context(), sc.ID, sc); err != nil {
			t.Fatal(err)
		}
	}
	chunk := func(sc blob.Scope, i int) blob.Chunk {
		b := []byte(noise(uint64(i), 5000))
		return blob.Chunk{Scope: sc.ID, ID: canon.SHA256(b), Bytes: b}
	}
	var all sync.WaitGroup
	for i, w := range writers {
		all.Go(func() {
			for n := range entries {
				w.Append(t, s, noise(uint64(i*entries+n), 10_000))
			}
		})
	}
	all.Go(func() {
		for i := range entries {
			if err := s.Put(t.Context(), []blob.Chunk{chunk(gone, i), chunk(kept, i)}); err != nil {
				t.Error(err)
			}
			if i%100 == 99 {
				verify(writers[0].Lease.Run, 0)
			}
		}
		if err := s.Erase(t.Context(), gone.ID); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	for range 2 {
		for _, w := range writers {
			verify(w.Lease.Run, entries)
		}
		for i := range entries {
			c := chunk(kept, i)
			if b, err := s.Get(t.Context(), kept.ID, c.ID); err != nil || string(b) != string(c.Bytes) {
				t.Fatalf("Get(chunk %d) = %d bytes, %v", i, len(b), err)
			}
			if b, err := s.Get(t.Context(), gone.ID, chunk(gone, i).ID); err == nil {
				t.Fatalf("Get(erased chunk %d) = %d bytes", i, len(b))
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path)
	}
}

// Small chunks are not looked for when they are put. Those that are settled
// already are not settled a second time, and go when their scope is erased.
func TestSmallChunksAreSettledOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	scopes := []blob.Scope{{ID: "a", Key: [32]byte{1}}, {ID: "b", Key: [32]byte{2}}}
	const chunks = 100
	put := func(s *sqlite.Store, n int) {
		t.Helper()
		for i := range n {
			var list []blob.Chunk
			for _, sc := range scopes {
				b := []byte(noise(uint64(i), 700))
				list = append(list, blob.Chunk{Scope: sc.ID, ID: canon.SHA256(b), Bytes: b})
			}
			if err := s.Put(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
	}
	packed := func() (n int) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM packs").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := open(t, path)
	for i := range scopes {
		if _, err := s.Scope(t.Context(), scopes[i].ID, &scopes[i]); err != nil {
			t.Fatal(err)
		}
	}
	put(s, chunks)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := packed()
	s = open(t, path)
	put(s, chunks)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := packed(); after != before {
		t.Errorf("%d packs after the chunks came again, want %d", after, before)
	}
	s = open(t, path)
	put(s, chunks+1)
	if err := s.Erase(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for scope, want := range map[string]int{"a": 0, "b": chunks + 1} {
		n := 0
		for _, err := range s.List(t.Context(), scope) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("List(%s) has %d chunks, want %d", scope, n, want)
		}
	}
}
