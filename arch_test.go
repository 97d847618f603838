package reprise_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// This file and arch_purity_test.go state the architecture: which ring may
// import which, and what the pure rings must not do. Every rule has a planted
// violation under testdata/arch, one folder for each rule; a line of a plant
// that must be found ends in a comment: want "regular expression".
//
// Decided here, beyond the picture of the rings:
//
//   - The root package sees all engines. So may internal/cli and
//     internal/server, because each engine's commands and routes register
//     there. Every other package outside engine/ sees at most one engine.
//   - A suite (kernel/ledger/ledgertest) may use clocks, goroutines and
//     testing, but stands in its ring all the same; only tests import it.
//   - Tests are free: only what ships is checked.
//
// What cannot be seen: a clock that is passed in as a function, the order of a
// map inside a dependency, an address printed by %v. Replay properties find
// those at run time.

const module = "github.com/reprise-dev/reprise"

// pureImports is what kernel/ and engine/ may import from outside.
var pureImports = strings.Fields(`
	bytes cmp context
	crypto crypto/ed25519 crypto/hmac crypto/sha256 crypto/sha512 crypto/subtle
	encoding encoding/base32 encoding/base64 encoding/binary encoding/hex encoding/json
	errors fmt hash io iter maps math math/big math/bits path regexp regexp/syntax
	slices sort strconv strings time unicode unicode/utf16 unicode/utf8
	filippo.io/edwards25519
	github.com/go-json-experiment/json/jsontext
	github.com/zeebo/blake3
	golang.org/x/mod/sumdb/note golang.org/x/mod/sumdb/tlog`)

// hashImports may stand in kernel/canon and kernel/sign only: one place hashes.
var hashImports = strings.Fields(`
	crypto crypto/ed25519 crypto/hmac crypto/sha256 crypto/sha512 hash
	filippo.io/edwards25519 github.com/zeebo/blake3`)

// outerRing is where code that acts may stand. A new folder is entered here on
// purpose or not at all.
var outerRing = strings.Fields(`api capture client cmd examples internal reprisetest spec store`)

// awsHomes are where the SDK of AWS may be imported: behind one seam.
var awsHomes = []string{"store/s3blob", "store/s3blob/s3blobtest"}

const awsPrefix = "github.com/aws/"

// violation is one breach of a rule.
type violation struct {
	File string // relative to the root of the tree; slashes
	Line int
	Text string
}

func (v violation) String() string { return fmt.Sprintf("%s:%d: %s", v.File, v.Line, v.Text) }

// tree is a loaded set of packages whose import paths begin with prefix.
type tree struct {
	prefix string
	dir    string
	pkgs   []*packages.Package
}

func TestArchitecture(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range check(tree{module, root, pkgs}) {
		t.Error(v)
	}
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		if rel, named := namedIn(page, p.PkgPath); !named {
			t.Errorf("docs/architecture.md does not name %s", rel)
		}
	}
}

// namedIn reports whether the page about the architecture names a package. The
// tables of the pure rings leave out the ring; suites, generators and the root
// need no line.
func namedIn(page []byte, pkg string) (rel string, named bool) {
	rel = strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	if rel == "" || suite(rel) || strings.HasPrefix(rel, "internal/gen/") {
		return rel, true
	}
	shown := rel
	if inPureRing(rel) {
		_, shown, _ = strings.Cut(rel, "/")
	}
	return rel, bytes.Contains(page, []byte("`"+shown+"`"))
}

func TestArchitectureFindsEveryPlantedViolation(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("testdata/arch")
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if !rule.IsDir() || rule.Name() == "outside" {
			continue
		}
		t.Run(rule.Name(), func(t *testing.T) {
			t.Parallel()
			plant := tree{"plant.example/" + rule.Name(), filepath.Join(dir, rule.Name()), nil}
			for _, p := range pkgs {
				if p.PkgPath == plant.prefix || strings.HasPrefix(p.PkgPath, plant.prefix+"/") {
					plant.pkgs = append(plant.pkgs, p)
				}
			}
			compare(t, plant.dir, check(plant))
		})
	}
}

// TestArchitectureLoadsTheWholeTree holds the guard against an empty check.
func TestArchitectureLoadsTheWholeTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module plant.example\n\ngo 1.26\n")
	if _, err := load(dir); err == nil {
		t.Error("load of an empty module succeeded, want an error")
	}
	write("kernel/a/a.go", "package a\n")
	if _, err := load(dir); err != nil {
		t.Errorf("load of one package: %v", err)
	}
	write("kernel/b/b.go", "//go:build never\n\npackage b\n")
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), "kernel/b") {
		t.Errorf("load with a package that no build includes: %v, want an error that names kernel/b", err)
	}
	write("kernel/b/b.go", "package b\n\nvar x int = true\n")
	if _, err := load(dir); err == nil {
		t.Error("load of a package that does not type-check succeeded, want an error")
	}
}

// compare holds found against the want comments below dir, both ways.
func compare(t *testing.T, dir string, found []violation) {
	t.Helper()
	want := regexp.MustCompile(`// want (".*")$`)
	wants := 0
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || (!strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".s")) {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			m := want.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			pattern, err := strconv.Unquote(m[1])
			if err != nil {
				return err
			}
			wants++
			at := slices.IndexFunc(found, func(v violation) bool {
				return v.File == filepath.ToSlash(rel) && v.Line == i+1 && regexp.MustCompile(pattern).MatchString(v.Text)
			})
			if at < 0 {
				t.Errorf("%s:%d: not found: %s", rel, i+1, pattern)
				continue
			}
			found = slices.Delete(found, at, at+1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Errorf("false alarm: %s", v)
	}
	if wants == 0 && filepath.Base(dir) != "clean" {
		t.Errorf("%s holds no planted violation", dir)
	}
}

// load type-checks every package of the module at dir. It fails when one does
// not type-check or when a folder with Go code was not loaded: a check that
// sees too little must not pass.
func load(dir string) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesInfo,
	}, "./...")
	if err != nil {
		return nil, err
	}
	loaded := map[string]bool{}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			return nil, e
		}
		for _, name := range p.GoFiles {
			loaded[filepath.Dir(name)] = true
		}
	}
	folders := 0
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipFolder(dir, name, d.Name())
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		case !loaded[filepath.Dir(name)]:
			rel, _ := filepath.Rel(dir, name) // name is below dir
			return fmt.Errorf("%s was not loaded: nothing is known about it", filepath.ToSlash(rel))
		}
		folders++
		return nil
	})
	if err != nil {
		return nil, err
	}
	if folders == 0 {
		return nil, fmt.Errorf("no package was loaded from %s", dir)
	}
	return pkgs, nil
}

// skipFolder leaves out what the go command leaves out of "./...".
func skipFolder(root, name, base string) error {
	if name == root {
		return nil
	}
	if base == "testdata" || base == "vendor" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir // a module of its own
	}
	return nil
}

// check returns every violation in the tree, in a fixed order.
func check(tr tree) []violation {
	var found []violation
	for _, p := range tr.pkgs {
		c := &checker{tree: tr, pkg: p, rel: strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, tr.prefix), "/")}
		c.imports()
		if c.pure() {
			c.wholeFiles()
			c.purity()
		}
		found = append(found, c.found...)
	}
	slices.SortFunc(found, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return found
}

// checker checks one package.
type checker struct {
	tree
	pkg   *packages.Package
	rel   string // the import path below the root; "" is the root package
	found []violation
}

func (c *checker) report(n ast.Node, format string, args ...any) {
	at := c.pkg.Fset.Position(n.Pos())
	c.found = append(c.found, violation{c.file(at.Filename), at.Line, fmt.Sprintf(format, args...)})
}

func (c *checker) file(name string) string {
	rel, err := filepath.Rel(c.dir, name)
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// ring returns the first folder of a path below the root.
func ring(rel string) string {
	first, _, _ := strings.Cut(rel, "/")
	return first
}

func inPureRing(rel string) bool { return ring(rel) == "kernel" || ring(rel) == "engine" }

// engineOf returns the engine that a path belongs to, or "".
func engineOf(rel string) string {
	rest, ok := strings.CutPrefix(rel, "engine/")
	if !ok {
		return ""
	}
	return ring(rest)
}

// suite reports whether a package is the conformance suite of the one above
// it: kernel/ledger/ledgertest.
func suite(rel string) bool {
	return path.Base(rel) == path.Base(path.Dir(rel))+"test"
}

func (c *checker) pure() bool { return inPureRing(c.rel) && !suite(c.rel) }

// imports checks the arrows between the rings and the list of the pure ones.
func (c *checker) imports() {
	from := ring(c.rel)
	if c.rel != "" && !inPureRing(c.rel) && !slices.Contains(outerRing, from) {
		c.report(c.pkg.Syntax[0].Name, "%s stands in no ring: enter the folder in arch_test.go or move it", c.rel)
	}
	manyEngines := c.rel == "" || c.rel == "internal/cli" || c.rel == "internal/server" ||
		strings.HasPrefix(c.rel, "internal/cli/") || strings.HasPrefix(c.rel, "internal/server/")
	seen := engineOf(c.rel)
	for _, file := range c.pkg.Syntax {
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				c.report(spec, "import path %s", spec.Path.Value)
				continue
			}
			to, ours := "", imp == c.prefix
			if rest, ok := strings.CutPrefix(imp, c.prefix+"/"); ok {
				to, ours = rest, true
			}
			if !ours {
				if strings.HasPrefix(imp, awsPrefix) && !slices.Contains(awsHomes, c.rel) {
					c.report(spec, "import of %s: only store/s3blob speaks to S3", imp)
				}
				if c.pure() {
					c.outside(spec, imp)
				}
				continue
			}
			engine := engineOf(to)
			switch {
			case from == "kernel" && ring(to) != "kernel":
				c.report(spec, "kernel imports %s: the kernel imports only the kernel", name(to))
			case from == "engine" && engine != "" && engine != engineOf(c.rel):
				c.report(spec, "engine %s imports engine %s: engines never import each other", engineOf(c.rel), engine)
			case from == "engine" && ring(to) != "kernel" && engine == "":
				c.report(spec, "engine imports %s: an engine imports only the kernel", name(to))
			case (from == "store" || c.rel == "internal/sqlstore") && engine != "":
				c.report(spec, "store imports %s: a store knows no engine", to)
			case engine != "" && !manyEngines && seen != "" && seen != engine:
				c.report(spec, "%s imports engines %s and %s: only the façade sees more than one", c.rel, seen, engine)
			case suite(to) && inPureRing(to) && !suite(c.rel):
				c.report(spec, "%s imports the suite %s outside of a test", name(c.rel), to)
			}
			if seen == "" {
				seen = engine
			}
		}
	}
}

func (c *checker) outside(spec *ast.ImportSpec, imp string) {
	if !slices.Contains(pureImports, imp) {
		c.report(spec, "import of %s, which is not on the list of the pure rings", imp)
	}
	if slices.Contains(hashImports, imp) && !c.mayHash() {
		c.report(spec, "import of %s: only kernel/canon and kernel/sign hash", imp)
	}
}

func (c *checker) mayHash() bool {
	for _, home := range []string{"kernel/canon", "kernel/sign"} {
		if c.rel == home || strings.HasPrefix(c.rel, home+"/") {
			return true
		}
	}
	return false
}

// wholeFiles refuses files that only some builds include: they would escape
// the check, and pure code is the same on every platform.
func (c *checker) wholeFiles() {
	hidden := slices.Concat(c.pkg.IgnoredFiles, c.pkg.OtherFiles)
	constrained := map[string]bool{}
	for _, file := range c.pkg.Syntax {
		for _, group := range file.Comments {
			if group.Pos() < file.Package && slices.ContainsFunc(group.List, func(l *ast.Comment) bool { return strings.HasPrefix(l.Text, "//go:build") }) {
				c.report(file.Name, "build constraint in pure code")
				constrained[c.pkg.Fset.Position(file.Package).Filename] = true
			}
		}
	}
	for _, name := range hidden {
		if !strings.HasSuffix(name, "_test.go") {
			c.found = append(c.found, violation{c.file(name), 1, "this file is not in every build: pure code is the same on every platform"})
		}
	}
	for _, name := range c.pkg.GoFiles {
		ctx := build.Default
		ctx.GOOS, ctx.GOARCH = "plan9", "mips" // a platform that no file name of ours asks for
		if ok, err := ctx.MatchFile(filepath.Dir(name), filepath.Base(name)); !constrained[name] && (err != nil || !ok) {
			c.found = append(c.found, violation{c.file(name), 1, "the name of this file ties it to a platform: pure code is the same on every one"})
		}
	}
}

func name(rel string) string {
	if rel == "" {
		return "the root package"
	}
	return rel
}
