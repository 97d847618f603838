package reprise_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

var update = flag.Bool("update", false, "move the lines of docs/dependencies.md as go.mod has it")

const (
	dependenciesFile = "docs/dependencies.md"
	waitingHeading   = "## Decided, waiting for their first use"
)

// TestDependenciesHaveAReason holds docs/dependencies.md against go.mod: the
// first table lists what is required directly, and nothing else.
func TestDependenciesHaveAReason(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(dependenciesFile)
	if err != nil {
		t.Fatal(err)
	}
	direct := directRequirements(t)
	text := string(page)
	if *update {
		text = moveRows(text, direct)
		if err := os.WriteFile(dependenciesFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	required, waiting, ok := strings.Cut(text, waitingHeading)
	if !ok {
		t.Fatalf("%s lacks the heading %q", dependenciesFile, waitingHeading)
	}
	listed := modules(required)
	for _, m := range direct {
		if !slices.Contains(listed, m) {
			t.Errorf("go.mod requires %s directly; %s gives no reason in its first table (go test . -run Dependencies -update moves a line that waits)", m, dependenciesFile)
		}
	}
	for _, m := range listed {
		if !slices.Contains(direct, m) {
			t.Errorf("%s gives a reason for %s, which go.mod does not require directly", dependenciesFile, m)
		}
	}
	if !slices.IsSorted(listed) || !slices.IsSorted(modules(waiting)) {
		t.Errorf("the tables of %s are not sorted", dependenciesFile)
	}
}

func TestMoveRowsFollowsGoMod(t *testing.T) {
	t.Parallel()
	const head = "|---|---|---|\n"
	before := head + "| a/a | L | why a |\n| c/c | L | why c |\n\n" + waitingHeading + "\n\n" + head + "| b/b | L | why b |\n| d/d | L | why d |\n"
	want := head + "| a/a | L | why a |\n| b/b | L | why b |\n\n" + waitingHeading + "\n\n" + head + "| c/c | L | why c |\n| d/d | L | why d |\n"
	if got := moveRows(before, []string{"a/a", "b/b"}); got != want {
		t.Errorf("moveRows() =\n%s\nwant\n%s", got, want)
	}
}

// TestSQLiteHasTheLibcItWasBuiltWith guards a trap: SQLite for Go is generated
// code that fits exactly one version of its C library, but any other module
// can raise that version without a word.
func TestSQLiteHasTheLibcItWasBuiltWith(t *testing.T) {
	t.Parallel()
	type found struct{ Path, Version, GoMod string }
	list := func(module string) found {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-json", module)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		var m found
		if err := json.Unmarshal(out, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	sqlite, libc := list("modernc.org/sqlite"), list("modernc.org/libc")
	text, err := os.ReadFile(sqlite.GoMod)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.ParseLax(sqlite.GoMod, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if r.Mod.Path == libc.Path {
			if r.Mod.Version != libc.Version {
				t.Errorf("modernc.org/libc is %s, but modernc.org/sqlite %s was built with %s", libc.Version, sqlite.Version, r.Mod.Version)
			}
			return
		}
	}
	t.Errorf("modernc.org/sqlite %s does not name its libc", sqlite.Version)
}

// directRequirements returns the modules that go.mod requires directly, sorted.
func directRequirements(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	slices.Sort(direct)
	return direct
}

// dependencyRow matches a line of one of the two tables.
var dependencyRow = regexp.MustCompile(`(?m)^\| ([a-z0-9.-]+/\S+) \| [^|]+ \| [^|]+ \|\n`)

func modules(text string) []string {
	var names []string
	for _, m := range dependencyRow.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// moveRows puts each row into the first table when go.mod requires its module
// directly, and into the second when it does not.
func moveRows(text string, direct []string) string {
	rows := dependencyRow.FindAllStringSubmatch(text, -1)
	slices.SortFunc(rows, func(a, b []string) int { return cmp.Compare(a[1], b[1]) })
	var tables [2]string
	for _, row := range rows {
		if slices.Contains(direct, row[1]) {
			tables[0] += row[0]
		} else {
			tables[1] += row[0]
		}
	}
	const head = "|---|---|---|\n"
	parts := strings.SplitN(dependencyRow.ReplaceAllString(text, ""), head, 3)
	if len(parts) != 3 {
		return text // not the form of the page; the test says what is wrong
	}
	return parts[0] + head + tables[0] + parts[1] + head + tables[1] + parts[2]
}
