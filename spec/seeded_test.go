package spec_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Seeds that the tests of jobs use: those of the documents' convention, s1 of
// REPLAY-01, its neighbours that say otherwise about the one retry, and those
// that a test makes on purpose of something else.
var seeds = []string{
	"seed-0001", "seed-0100", "seed-100", "seed-200",
	"s", "s0", "s1", "s2", "s3", "s9", "t", "yesterday", "ISTANBUL-ıİ", "tape-%d",
}

var seedInYAML = regexp.MustCompile(`(?m)^seed: (\S+)`)

// TestReplayTestsAreSeeded holds the tests that replay jobs to seeded data and
// to the canonical serializer: none of them asks the clock, draws numbers that
// no seed gives or compares what another encoder has written, and each job in
// them has one of the named seeds. What a rig draws (keys, run ids, the time of
// entries) names places and is compared nowhere.
//
// spec: M-89
func TestReplayTestsAreSeeded(t *testing.T) {
	t.Parallel()
	replays, named := 0, map[string]bool{}
	for _, folder := range []string{"../engine/job", "../internal/jobs"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range seedInYAML.FindAllStringSubmatch(string(src), -1) {
				if named[m[1]] = true; !slices.Contains(seeds, m[1]) {
					t.Errorf("%s: the seed %s is not a named one", path, m[1])
				}
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !replaysJobs(f) {
					continue
				}
				replays++
				for _, fault := range unseeded(f) {
					t.Errorf("%s: %s %s", fset.Position(f.Pos()), f.Name.Name, fault)
				}
			}
		}
	}
	if replays < 40 || !named["seed-0001"] || !named["s1"] {
		t.Errorf("%d tests replay jobs, of the seeds %v", replays, named)
	}
	t.Logf("%d functions of tests replay jobs", replays)
}

// replaysJobs reports whether a function of a test replays a job, itself or by
// what the rigs have for it.
func replaysJobs(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, name := called(call)
			found = found || slices.Contains([]string{"Replay", "replay", "replayed", "sound", "same", "halts"}, name)
		}
		return true
	})
	return found
}

// unseeded returns what a function does that no seed determines.
func unseeded(f *ast.FuncDecl) []string {
	var faults []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch of, name := called(call); {
		case of == "time" && name == "Now" && !turned(f):
			faults = append(faults, "asks the clock")
		case of == "rand" && name != "New" && name != "NewPCG":
			faults = append(faults, "draws by rand."+name+", which no seed gives")
		case of == "json" && strings.HasPrefix(name, "Marshal") && !asks(f):
			faults = append(faults, "writes by json."+name+", which is not the canonical serializer")
		}
		return true
	})
	return faults
}

// turned reports whether a test asks the clock in order to turn the one of a rig.
func turned(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, x := range a.Lhs {
				if s, ok := x.(*ast.SelectorExpr); ok && (s.Sel.Name == "Now" || s.Sel.Name == "now") {
					found = true
				}
			}
		}
		return true
	})
	return found
}

// asks reports whether a test makes the file of a job, in which a text must be
// quoted.
func asks(f *ast.FuncDecl) bool { return strings.HasSuffix(f.Name.Name, "Job") }

// called returns the package or value, and the name, of what is called.
func called(call *ast.CallExpr) (of, name string) {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			of = x.Name
		}
		return of, f.Sel.Name
	case *ast.Ident:
		return "", f.Name
	default:
		return "", ""
	}
}

// The codes of a replay, to the letter of the document.
var replayCodes = []string{
	"MISSING_SNAPSHOT", "INTEGRITY_FAILURE", "MISSING_PERSISTED_AGENT_OUTPUT", "RESULT_MISMATCH", "REPLAY_DIVERGENCE", "FORCE_CONTINUE_REQUIRED",
}

// TestReplayTestsSayTheCodesToTheLetter holds the tests REPLAY-01 to REPLAY-07 to
// what they must say: each is there by its name, for the engine and for the
// service; each that expects a code has it as a text of its own, so that renaming
// a constant does not rename what is tested; and each that expects a divergence
// has the canonical diff. CI runs them with all others.
//
// spec: M-72, M-97, M-108
func TestReplayTestsSayTheCodesToTheLetter(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"TestREPLAY02": "MISSING_SNAPSHOT", "TestREPLAY03": "INTEGRITY_FAILURE", "TestREPLAY04": "MISSING_PERSISTED_AGENT_OUTPUT",
		"TestREPLAY05": "REPLAY_DIVERGENCE", "TestREPLAY06": "FORCE_CONTINUE_REQUIRED",
	}
	diffs := []string{"TestREPLAY05", "TestREPLAY06"}
	said := map[string]bool{}
	for _, path := range []string{"../engine/job/replay_test.go", "../internal/jobs/replay_test.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			texts, canonical := literals(f)
			for _, s := range texts {
				said[s] = true
			}
			id, _, _ := strings.Cut(f.Name.Name, "_")
			if found[id] = true; wants[id] != "" && !slices.Contains(texts, wants[id]) {
				t.Errorf("%s: %s does not say %q", path, f.Name.Name, wants[id])
			}
			if slices.Contains(diffs, id) && !canonical {
				t.Errorf("%s: %s compares no canonical diff", path, f.Name.Name)
			}
		}
		for n := range 7 {
			if id := fmt.Sprintf("TestREPLAY%02d", n+1); !found[id] {
				t.Errorf("%s has no %s", path, id)
			}
		}
	}
	for _, code := range replayCodes {
		if !said[code] {
			t.Errorf("no test of replays says %q", code)
		}
	}
	ci, err := os.ReadFile("../.ci/run")
	if err != nil || !strings.Contains(string(ci), "\nmake test\n") {
		t.Errorf("CI does not run the tests: %v", err)
	}
}

// literals returns the texts that stand in a function, and whether it encodes a
// diff in the profile of the document.
func literals(f *ast.FuncDecl) (texts []string, canonical bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.BasicLit:
			texts = append(texts, strings.Trim(x.Value, "\"`"))
		case *ast.CallExpr:
			if of, name := called(x); of == "canon" && name == "Encode" && len(x.Args) == 2 {
				diff, ok := x.Args[0].(*ast.SelectorExpr)
				profile, named := x.Args[1].(*ast.SelectorExpr)
				canonical = canonical || ok && named && diff.Sel.Name == "Diff" && profile.Sel.Name == "MACEFixed9"
			}
		}
		return true
	})
	return texts, canonical
}

// TestSeedCheckFindsEachFault holds the check itself: it must find what it is
// for.
func TestSeedCheckFindsEachFault(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`job.Replay(a)`:                                    "",
		`job.Replay(a); time.Now()`:                        "asks the clock",
		`r.now = func() { return time.Now() }; x.sound()`:  "",
		`r.replay(q); rand.IntN(3)`:                        "draws by rand.IntN, which no seed gives",
		`r.replay(q); rand.New(rand.NewPCG(1, 2)).IntN(3)`: "",
		`r.Replay(q); json.Marshal(v)`:                     "writes by json.Marshal, which is not the canonical serializer",
		`json.Marshal(v)`:                                  "no replay",
		`go func() { x.sound(); rand.Perm(3) }()`:          "draws by rand.Perm, which no seed gives",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc TestX() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		f := file.Decls[0].(*ast.FuncDecl)
		got := strings.Join(unseeded(f), "; ")
		if !replaysJobs(f) {
			got = "no replay"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
