package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestSnapshotSeesEveryChangeOfATree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	write(".gitignore", "ignored\n")
	write("same", "1")
	write("changed", "1")
	write("gone", "1")
	before, err := snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	write("changed", "2")
	write("new", "1")
	write("ignored", "1")
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	after, err := snapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := compare(before, after), []string{"changed", "gone", "new"}; !slices.Equal(got, want) {
		t.Errorf("compare() = %q, want %q", got, want)
	}
}
