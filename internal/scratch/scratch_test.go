package scratch_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/scratch"
)

// What is written comes back, from every offset, and in whatever pieces.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		f, err := scratch.Create(dir, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var want []byte
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			p := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "bytes")
			p = bytes.Repeat(p, rapid.SampledFrom([]int{1, 1, 2000}).Draw(t, "times"))
			if n, err := f.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write(%d bytes) = %d, %v", len(p), n, err)
			}
			want = append(want, p...)
		}
		f.Flushed()
		if f.Size() != int64(len(want)) {
			t.Fatalf("Size() = %d, want %d", f.Size(), len(want))
		}
		off := rapid.IntRange(0, len(want)).Draw(t, "offset")
		n := rapid.IntRange(0, len(want)-off).Draw(t, "length")
		got, err := io.ReadAll(iotest.HalfReader(f.Reader(int64(off), int64(n))))
		if err != nil || !bytes.Equal(got, want[off:off+n]) {
			t.Fatalf("Reader(%d, %d) = %d bytes, %v; want those that were written", off, n, len(got), err)
		}
	})
}

// Nothing of it can be read from the folder, while it is open and afterwards.
func TestNobodyElseReadsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := scratch.Create(dir, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Repeat([]byte("hunter2-"), 10_000)); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && len(list) > 0 {
		t.Errorf("the folder lists %v, want nothing", list)
	}
	for _, e := range list {
		if b, _ := os.ReadFile(filepath.Join(dir, e.Name())); bytes.Contains(b, []byte("hunter2")) {
			t.Error("the file holds the text in clear")
		}
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("the folder lists %v after Close, want nothing", list)
	}
}

func TestFailuresHaveTheirCode(t *testing.T) {
	t.Parallel()
	if _, err := scratch.Create(filepath.Join(t.TempDir(), "missing"), rand.Reader); !errors.Is(err, scratch.ErrScratch) {
		t.Errorf("Create(no such folder) = %v, want %v", err, scratch.ErrScratch)
	}
	if _, err := scratch.Create(t.TempDir(), iotest.ErrReader(io.ErrNoProgress)); !errors.Is(err, scratch.ErrScratch) {
		t.Errorf("Create(no randomness) = %v, want %v", err, scratch.ErrScratch)
	}
	f, err := scratch.Create(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := f.Write([]byte("x")); !errors.Is(err, scratch.ErrScratch) {
		t.Errorf("Write() after Close = %v, want %v", err, scratch.ErrScratch)
	}
}
