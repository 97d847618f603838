package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/blob/blobtest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/ledger/ledgertest"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/s3blob"
	"github.com/reprise-dev/reprise/store/s3blob/s3blobtest"
)

func open(t *testing.T, name string, opts *store.Options) store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), name, opts)
	if err != nil {
		t.Fatalf("Open(%q) = %v", name, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close of %q = %v", name, err)
		}
	})
	return s
}

// joined opens ledgers in a file and chunks beside it.
func joined(t *testing.T) store.Store {
	dir := t.TempDir()
	return open(t, "sqlite:"+filepath.Join(dir, "store.db"), &store.Options{Blobs: "file:" + filepath.Join(dir, "blobs")})
}

func TestEveryNameOpensAConformingStore(t *testing.T) {
	t.Parallel()
	for name, opener := range map[string]func(t *testing.T) store.Store{
		"memory":           func(t *testing.T) store.Store { return open(t, "memory:", nil) },
		"sqlite and files": joined,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledgertest.Run(t, func(t *testing.T) ledger.Store { return opener(t) })
			blobtest.Run(t, func(t *testing.T) blob.Store { return opener(t) })
		})
	}
}

func TestLedgersWithTheirChunksInABucketConform(t *testing.T) {
	t.Parallel()
	service := s3blobtest.Start(t)
	service.Bucket(t, "blobs", s3blobtest.Versioned)
	var places atomic.Int64
	ledgertest.Run(t, func(t *testing.T) ledger.Store {
		return open(t, "sqlite:"+filepath.Join(t.TempDir(), "store.db"), &store.Options{Blobs: service.Place(fmt.Sprintf("blobs/%d", places.Add(1)), ""), S3: service.Options()})
	})
}

func TestBadNamesSayWhatIsGood(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, blobs, want string }{
		{"", "", "sqlite:PATH"},
		{"store.db", "", "sqlite:PATH"},
		{"sqlite:", "", "sqlite:PATH"},
		{"sqlite:///tmp/x.db", "", "without //"},
		{"sqlite://x.db", "", "without //"},
		{"memory:x", "", "memory:"},
		{"memory", "", "memory:"},
		{"mysql:x", "", "sqlite:PATH"},
		{"file:x", "", "place of the blobs"},
		{"memory:", "x", "file:DIR"},
		{"memory:", "file:", "file:DIR"},
		{"memory:", "file://x", "file:DIR"},
		{"memory:", "sqlite:x", "file:DIR"},
		{"memory:", "s3:x", "s3://BUCKET"},
	} {
		s, err := store.Open(t.Context(), c.name, &store.Options{Blobs: c.blobs})
		if !errors.Is(err, store.ErrName) || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q, blobs %q) = %v, want %v that speaks of %q", c.name, c.blobs, err, store.ErrName, c.want)
		}
	}
}

func TestABadPlaceOfABucketOpensNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), "sqlite:"+path, &store.Options{Blobs: "s3://bucket?no-such-setting=1"})
	if !errors.Is(err, s3blob.ErrPlace) || s != nil {
		t.Errorf("Open = %v, %v, want %v", s, err, s3blob.ErrPlace)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("Open of a store whose chunks have no place made its ledgers")
	}
}

func TestAStoreThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, blobs string }{
		{"sqlite:" + dir, ""},
		{"sqlite:" + filepath.Join(dir, "none", "store.db"), ""},
		{"sqlite:" + text, ""},
		{"memory:", "file:" + text},
	} {
		if s, err := store.Open(t.Context(), c.name, &store.Options{Blobs: c.blobs}); err == nil || s != nil || !errors.Is(err, ledger.ErrStore) && !errors.Is(err, blob.ErrStore) {
			t.Errorf("Open(%q, blobs %q) = %v, want %v or %v", c.name, c.blobs, err, ledger.ErrStore, blob.ErrStore)
		}
	}
}

func TestAPathIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "per%20cent.db", "question?mode=ro.db", "hash#1.db", "semi;colon.db", "ü.db", "plain"} {
		path := filepath.Join(dir, name)
		open(t, "sqlite:"+path, nil)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("Open of %q makes another file: %v", name, err)
		}
	}
}

func TestJoinedChunksAreStoredBeforeTheirEntries(t *testing.T) {
	t.Parallel()
	blobs := open(t, "memory:", nil)
	ledgers := open(t, "memory:", nil)
	s := store.Join(ledgers, blobs)
	w := ledgertest.NewWriter(t, s)
	sc := blob.Scope{ID: "s", Key: [32]byte{1}}
	if _, err := s.Scope(t.Context(), "s", &sc); err != nil {
		t.Fatal(err)
	}
	b := w.Batch(t, "one")
	b.Lease.Token++
	b.Chunks = []blob.Chunk{{Scope: "s", ID: canon.Digest{1}, Bytes: []byte("x")}}
	if err := s.Append(t.Context(), b); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append = %v, want %v", err, ledger.ErrFenced)
	}
	if _, err := blobs.Get(t.Context(), "s", canon.Digest{1}); err != nil {
		t.Errorf("Get of the chunk of a refused append = %v; want it there, as the next attempt needs it", err)
	}
	b.Lease, b.Chunks[0].Scope = w.Lease, "no scope"
	if err := s.Append(t.Context(), b); !errors.Is(err, blob.ErrScopeNotFound) {
		t.Errorf("Append with a chunk that cannot be stored = %v, want %v", err, blob.ErrScopeNotFound)
	}
	if _, err := s.At(t.Context(), w.Lease.Run); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("At = %v, want %v: no entry without its chunks", err, ledger.ErrNotFound)
	}
}
