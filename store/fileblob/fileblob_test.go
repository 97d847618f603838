package fileblob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/blob/blobtest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/store/fileblob"
)

func open(t *testing.T, dir string) *fileblob.Store {
	t.Helper()
	s, err := fileblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, t.TempDir()) })
}

func TestBlobsRestart(t *testing.T) {
	t.Parallel()
	blobtest.RunRestart(t,
		func(t *testing.T, place string) blob.Store { return open(t, place) },
		func(s blob.Store) error { return s.(*fileblob.Store).Close() })
}

func TestFilesAreTheirOwnersOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	s := open(t, dir)
	sc := blob.Scope{ID: "s", Key: [32]byte{1}}
	if _, err := s.Scope(t.Context(), "s", &sc); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), []blob.Chunk{{Scope: "s", ID: canon.Digest{1}, Bytes: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files++
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, want nothing for others", path, info.Mode())
		}
		if strings.HasPrefix(d.Name(), ".new-") {
			t.Errorf("%s was left behind", path)
		}
		return nil
	})
	if err != nil || files != 2 {
		t.Errorf("%d files, %v, want the key and the chunk", files, err)
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	sc := blob.Scope{ID: "s", Key: [32]byte{1}}
	if _, err := s.Scope(t.Context(), "s", &sc); err != nil {
		t.Fatal(err)
	}
	c := blob.Chunk{Scope: "s", ID: canon.Digest{1}, Bytes: []byte(strings.Repeat("text ", 100))}
	if err := s.Put(t.Context(), []blob.Chunk{c}); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "??", "*"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, {}, {9}, whole[:len(whole)-1], {1, 2, 3}} {
		if err := os.WriteFile(paths[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Get(t.Context(), "s", c.ID); fault.ClassOf(err) != fault.ClassIntegrity {
			t.Errorf("Get of a file with %d bytes = %d bytes, %v, want an error of class integrity", len(damaged), len(b), err)
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(paths[0])), "key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Scope(t.Context(), "s", nil); fault.ClassOf(err) != fault.ClassIntegrity {
		t.Errorf("Scope with a damaged key = %v, want an error of class integrity", err)
	}
}
