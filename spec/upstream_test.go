package spec_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUpstreamTestsHaveOurs reads the list of what the upstream system of the
// Thymos document tests: each line names tests of ours that exist, or says why
// there is none.
func TestUpstreamTestsHaveOurs(t *testing.T) {
	t.Parallel()
	f, err := os.Open("thymos_tests.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	named, without := 0, 0
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, why, ok := strings.Cut(line, " ~ "); ok {
			if without++; len(why) < 20 {
				t.Errorf("line %d: %q is no reason", n, why)
			}
			continue
		}
		_, ours, ok := strings.Cut(line, " = ")
		if !ok {
			t.Errorf("line %d names no test and no reason: %s", n, line)
			continue
		}
		for part := range strings.SplitSeq(ours, "; ") {
			words := strings.Fields(part)
			if len(words) < 2 {
				t.Errorf("line %d: %q is no folder with a test", n, part)
				continue
			}
			for _, name := range words[1:] {
				if named++; !hasTest(t, words[0], name) {
					t.Errorf("line %d: %s has no %s", n, words[0], name)
				}
			}
		}
	}
	if err := lines.Err(); err != nil || named == 0 {
		t.Fatalf("%d tests are named, %v", named, err)
	}
	t.Logf("%d tests are named; %d lines say why there is none", named, without)
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want.Match(b) {
			return true
		}
	}
	return false
}
