package spec_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/spec"
)

var update = flag.Bool("update", false, "remove the clauses that tests name by now from open.txt")

// named maps a clause to the places of the tests that name it.
type named map[string][]string

// openClause is one line of open.txt.
type openClause struct{ id, owner string }

func TestEveryClauseIsNamedByATestOrListedAsOpen(t *testing.T) {
	t.Parallel()
	clauses, err := spec.Clauses()
	if err != nil {
		t.Fatal(err)
	}
	places, faults := scan(os.DirFS(".."))
	text, err := os.ReadFile("open.txt")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		text = closed(text, places)
		if err := os.WriteFile("open.txt", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open, err := parseOpen(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range append(faults, parity(clauses, places, open)...) {
		t.Error(fault)
	}
	t.Logf("%d of %d clauses are named by a test, %d are open", len(clauses)-len(open), len(clauses), len(open))
}

// TestParityFindsEachFault holds the check itself: it must find what it is for.
func TestParityFindsEachFault(t *testing.T) {
	t.Parallel()
	clauses := []spec.Clause{{ID: "T-01"}, {ID: "T-02"}}
	one := named{"T-01": {"a_test.go:1"}}
	for _, test := range []struct {
		name   string
		places named
		open   []openClause
		want   string
	}{
		{"all is well", one, []openClause{{"T-02", "engine/trajectory"}}, ""},
		{"a clause is forgotten", one, nil, "T-02 is named by no test and is not listed in open.txt"},
		{"a closed clause is still listed", one, []openClause{{"T-01", "x"}, {"T-02", "x"}}, "T-01 is listed in open.txt, but a_test.go:1 names it"},
		{"a test names no clause", named{"T-01": {"a"}, "T-02": {"a"}, "T-99": {"b_test.go:7"}}, nil, "b_test.go:7 names T-99, which is no clause"},
		{"the list names no clause", one, []openClause{{"T-02", "x"}, {"T-77", "x"}}, "open.txt lists T-77, which is no clause"},
	} {
		if got := strings.Join(parity(clauses, test.places, test.open), "\n"); got != test.want {
			t.Errorf("%s: parity() = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestOpenListIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"T-02\n", "T-02 engine/trajectory extra\n", "T-02 x\nT-01 x\n", "T-01 x\nT-01 x\n"} {
		if got, err := parseOpen([]byte(text)); err == nil {
			t.Errorf("parseOpen(%q) = %v, want an error", text, got)
		}
	}
}

// parity compares the clauses with what tests name and what is listed as open.
func parity(clauses []spec.Clause, places named, open []openClause) []string {
	var faults []string
	exists := map[string]bool{}
	for _, c := range clauses {
		exists[c.ID] = true
	}
	listed := map[string]bool{}
	for _, o := range open {
		listed[o.id] = true
		if !exists[o.id] {
			faults = append(faults, fmt.Sprintf("open.txt lists %s, which is no clause", o.id))
		}
	}
	for _, c := range clauses {
		switch at := places[c.ID]; {
		case len(at) == 0 && !listed[c.ID]:
			faults = append(faults, c.ID+" is named by no test and is not listed in open.txt")
		case len(at) > 0 && listed[c.ID]:
			faults = append(faults, fmt.Sprintf("%s is listed in open.txt, but %s names it", c.ID, at[0]))
		}
	}
	var unknown []string
	for id, at := range places {
		if !exists[id] {
			unknown = append(unknown, fmt.Sprintf("%s names %s, which is no clause", at[0], id))
		}
	}
	slices.Sort(unknown)
	return append(faults, unknown...)
}

// scan reads the "spec:" comments of every test file below root, those of
// nested modules included. Only a file that declares a test counts.
func scan(root fs.FS) (named, []string) {
	places, faults := named{}, []string(nil)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.ToSlash(path), src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range file.Comments {
			for _, c := range group.List {
				at := fset.Position(c.Pos())
				ids, err := spec.References(c.Text)
				if err != nil {
					faults = append(faults, fmt.Sprintf("%s:%d: %v", at.Filename, at.Line, err))
				}
				if len(ids) > 0 && !declaresTest(file) {
					faults = append(faults, fmt.Sprintf("%s:%d: the file declares no test that could hold a clause", at.Filename, at.Line))
					continue
				}
				for _, id := range ids {
					places[id] = append(places[id], fmt.Sprintf("%s:%d", at.Filename, at.Line))
				}
			}
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	return places, faults
}

func declaresTest(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			return false
		}
		return strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz") || strings.HasPrefix(f.Name.Name, "Example")
	})
}

// parseOpen reads lines "id owner", sorted by document and number, without
// repeats; a line that begins with # is a comment.
func parseOpen(text []byte) ([]openClause, error) {
	var open []openClause
	last := -1
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return nil, fmt.Errorf("open.txt:%d: want a clause id and who closes it", i+1)
		}
		o := openClause{fields[0], fields[1]}
		rank := order(o.id)
		if rank <= last {
			return nil, fmt.Errorf("open.txt:%d: %s is out of order or repeated", i+1, o.id)
		}
		last = rank
		open = append(open, o)
	}
	return open, nil
}

// order ranks an id by its document and its number.
func order(id string) int {
	letter, number, _ := strings.Cut(id, "-")
	n := 0
	_, _ = fmt.Sscanf(number, "%d", &n) // an id without a number is no clause; parity says so
	rank := slices.IndexFunc(spec.Documents(), func(d spec.Document) bool { return d.Letter == letter })
	return rank*1000 + n
}

// closed removes the lines of clauses that tests name. It never adds one: who
// opens a clause again does it by hand, where a reviewer sees it.
func closed(text []byte, places named) []byte {
	var kept []string
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		if id, _, _ := strings.Cut(line, " "); len(places[id]) == 0 {
			kept = append(kept, line)
		}
	}
	return []byte(strings.Join(kept, ""))
}
