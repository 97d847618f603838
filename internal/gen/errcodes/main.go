// Errcodes collects every error code of the module and writes docs/errors.md
// and kernel/fault/testdata/codes.golden. Run it from the root of the module;
// "go generate" does.
//
// The golden file only grows: a code that was released keeps its spelling and
// its class, because records, programs and people refer to it. Errcodes fails
// when a code of that file is gone from the source, when one has changed its
// class, when two constants share one code, and when a code has no comment.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "errcodes:", err)
		os.Exit(1)
	}
}

const (
	pageFile   = "docs/errors.md"
	goldenFile = "kernel/fault/testdata/codes.golden"
)

func run(root string) error {
	codes, err := collect(root)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(filepath.Join(root, goldenFile))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	golden, err := grow(string(old), codes)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{goldenFile: golden, pageFile: page(codes)} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
