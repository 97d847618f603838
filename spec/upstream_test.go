package spec_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestUpstreamTestsHaveOurs reads the list of what the upstream system of the
// Thymos document tests: each line names tests of ours that exist, or says why
// there is none.
func TestUpstreamTestsHaveOurs(t *testing.T) {
	t.Parallel()
	haveOurs(t, "thymos_tests.txt")
}

// families are the tests that the MACE documents name: how an id is written,
// and the last number.
var families = []struct {
	form string
	last int
}{
	{"REPLAY-%02d", 7},
	{"DR-%02d", 2},
	{"SEM-%02d", 5},
	{"SR-%02d", 7},
	{"T-SR-%02d", 7},
	{"APT-%02d", 6},
	{"T-APT-%02d", 6},
	{"BS-%02d", 8},
	{"T-BS-%02d", 7},
	{"RT-%02d", 9},
	{"R-T%d", 8},
	{"MACE-M-%02d", 7},
	{"M-T%d", 8},
	{"RL-%02d", 3},
	{"GOV-%02d", 4},
	{"GOV-T%d", 6},
	{"PS-%02d", 3},
	{"F-%02d", 4},
	{"F-PRIV-%02d", 2},
	{"F-FAIL-%02d", 2},
	{"F-SEC-%02d", 2},
	{"F-DSR-%02d", 1},
	{"MACE-S-%02d", 6},
	{"E2E-%02d", 3},
}

// TestNamedTestsOfMACEHaveOurs reads the list of the tests that the MACE
// documents name: each id is there once, with tests of ours that exist, or with
// the reason why there is none.
func TestNamedTestsOfMACEHaveOurs(t *testing.T) {
	t.Parallel()
	var want []string
	for _, f := range families {
		for n := range f.last {
			want = append(want, fmt.Sprintf(f.form, n+1))
		}
	}
	got := haveOurs(t, "mace_tests.txt")
	for _, id := range want {
		if n := len(got) - len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s == id })); n != 1 {
			t.Errorf("%s is listed %d times", id, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d ids are listed, want %d", len(got), len(want))
	}
}

// haveOurs checks a list, and returns what stands before the colons.
func haveOurs(t *testing.T, list string) (ids []string) {
	t.Helper()
	f, err := os.Open(list)
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
		id, _, _ := strings.Cut(line, ":")
		ids = append(ids, id)
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
	return ids
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
