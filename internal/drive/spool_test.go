package drive_test

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/store/memory"
)

// An agent may work in the folder that the spool is below, and tell its model
// what there is: answers that come must not change that.
func TestSpoolHasTheSameFilesFromTheOpenToTheSeal(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	cfg := config(t, store, "recorder")
	names := func() (out []string) {
		t.Helper()
		err := filepath.WalkDir(cfg.Spool, func(path string, _ fs.DirEntry, err error) error {
			if path != cfg.Spool {
				out = append(out, strings.TrimPrefix(path, cfg.Spool))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	s, err := drive.Open(t.Context(), cfg, drive.Opening{Engine: "capture", Mode: "record"})
	if err != nil {
		t.Fatal(err)
	}
	want := names()
	if len(want) != 2 {
		t.Fatalf("the spool holds %q, want the folder of the run with a file", want)
	}
	part := bytes.Repeat([]byte("x"), 1<<20)
	for range 3 { // each larger than a file of the spool may grow
		x, err := s.Begin(t.Context(), modelCall("a stream"))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := x.Stream("response", "text/event-stream", canon.Object())
		if err != nil {
			t.Fatal(err)
		}
		for range 18 {
			if _, err := stream.Write(part); err != nil {
				t.Fatal(err)
			}
			if got := names(); !slices.Equal(got, want) {
				t.Fatalf("while an answer comes the spool holds %q, want %q", got, want)
			}
		}
		if err := x.End(t.Context(), effect.Outcome{Status: effect.OK}); err != nil {
			t.Fatal(err)
		}
		if got := names(); !slices.Equal(got, want) {
			t.Fatalf("after an answer the spool holds %q, want %q", got, want)
		}
	}
	if err := s.Seal(t.Context(), "ok", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != nil {
		t.Errorf("after the seal the spool holds %q, want nothing", got)
	}
	verify(t, store, s.Run())
}
