// Gendiff runs "go generate ./..." and fails when that changed a file: what is
// committed must be what the generators make. Changes that were there before
// do not count, so it can be run in the middle of work.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gendiff:", err)
		os.Exit(1)
	}
}

func run() error {
	before, err := snapshot(".")
	if err != nil {
		return err
	}
	generate := exec.Command("go", "generate", "./...")
	generate.Stdout, generate.Stderr = os.Stdout, os.Stderr
	if err := generate.Run(); err != nil {
		return fmt.Errorf("go generate: %w", err)
	}
	after, err := snapshot(".")
	if err != nil {
		return err
	}
	if changed := compare(before, after); len(changed) > 0 {
		return fmt.Errorf("generated files were not up to date; commit what changed:\n  %s", strings.Join(changed, "\n  "))
	}
	fmt.Printf("%d files are as the generators make them\n", len(after))
	return nil
}

// snapshot returns the digest of every file that git tracks or would track.
func snapshot(dir string) (map[string][sha256.Size]byte, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir, list.Stderr = dir, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	files := map[string][sha256.Size]byte{}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		text, err := os.ReadFile(filepath.Join(dir, string(name)))
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			return nil, err
		}
		files[string(name)] = sha256.Sum256(text)
	}
	return files, nil
}

// compare returns the names that differ, sorted.
func compare(before, after map[string][sha256.Size]byte) []string {
	changed := map[string]bool{}
	for name, sum := range after {
		if old, ok := before[name]; !ok || old != sum {
			changed[name] = true
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			changed[name] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}
