//go:build unix

package reprise_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The README is a test. Every fenced block of it that is marked
//
//   - console runs: its lines that begin with "$ " (and "> " for the lines that
//     continue one) are one bash -e script. All blocks of the page share one
//     empty folder, which is HOME too, so that a later block goes on where an
//     earlier one ended. The reprise on PATH is built from this tree; "go run
//     ./cmd/reprise" means it too. The examples of this tree are there.
//   - console output runs, and its other lines must be what the commands print;
//     "…" stands for anything within a line, and a line of "…" for any lines.
//   - go is either a whole file, which must compile, or exactly the body of an
//     Example function of this package.
//
// Blocks with another mark, or none, are not looked at.
func TestREADME(t *testing.T) {
	t.Parallel()
	testPage(t, "README.md")
}

// spec: T-44, T-45, T-54
func TestTrajectoryWalkthrough(t *testing.T) {
	t.Parallel()
	testPage(t, "docs/trajectory.md")
}

func TestJobWalkthrough(t *testing.T) {
	t.Parallel()
	testPage(t, "docs/job.md")
}

func TestRecordPage(t *testing.T) {
	t.Parallel()
	testPage(t, "docs/record.md")
}

func TestREADMEHarnessPassesAGoodPage(t *testing.T) {
	t.Parallel()
	testPage(t, "testdata/readme/good.md")
}

func TestREADMEHarnessFindsEachFault(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, page, want string }{
		{"no block", "# Title\n", "holds no console block"},
		{"a command fails", "```console\n$ false\n```\n", "README:1: exit status 1"},
		{"a command in the middle fails", "```console\n$ false\n$ true\n```\n", "exit status 1"},
		{"a command that does not exist", "```console\n$ no-such-command-here\n```\n", "exit status 127"},
		{"another output", "```console output\n$ echo one\ntwo\n```\n", "README:1: the output is"},
		{"a block that does nothing", "```console\nreprise runs\n```\n", "has no command"},
		{"a block that does not end", "```console\n$ true\n", "does not end"},
		{"a file that does not compile", "```console\n$ true\n```\n```go\npackage main\n\nfunc main() { undefined() }\n```\n", "README:4: does not compile"},
		{"a body that is no example", "```console\n$ true\n```\n```go\nfmt.Println(42)\n```\n", "README:4: is not the body of an Example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := runPage(t.Context(), page{"README", test.page}, t.TempDir(), os.Getenv("PATH"), map[string]string{"ExampleX": "x()"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("runPage() = %v, want %q", err, test.want)
			}
		})
	}
}

func testPage(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := exampleBodies(".")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if _, err := os.Stat("cmd/reprise"); err == nil {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/reprise")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build ./cmd/reprise: %v\n%s", err, out)
		}
	}
	path := bin + string(filepath.ListSeparator) + os.Getenv("PATH")
	sandbox := t.TempDir()
	if err := os.CopyFS(filepath.Join(sandbox, "examples"), os.DirFS("examples")); err != nil {
		t.Fatal(err)
	}
	if err := runPage(t.Context(), page{name, string(text)}, sandbox, path, examples); err != nil {
		t.Error(err)
	}
}

// page is a Markdown file.
type page struct{ name, text string }

// block is one fenced block.
type block struct {
	mark  string // what stands after the backquotes
	line  int    // of its first fence
	lines []string
}

func (p page) blocks() ([]block, error) {
	var blocks []block
	var open *block
	for i, line := range strings.Split(p.text, "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case open == nil && fence:
			open = &block{mark: strings.TrimSpace(strings.TrimLeft(line, "`")), line: i + 1}
		case open != nil && strings.TrimRight(line, " ") == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block does not end", p.name, open.line)
	}
	return blocks, nil
}

// runPage holds every block of a page and returns the first fault.
func runPage(ctx context.Context, p page, sandbox, path string, examples map[string]string) error {
	blocks, err := p.blocks()
	if err != nil {
		return err
	}
	ran := 0
	for _, b := range blocks {
		err := error(nil)
		switch b.mark {
		case "console", "console output":
			ran++
			err = b.console(ctx, sandbox, path)
		case "go":
			err = b.goCode(ctx, examples)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.name, b.line, err)
		}
	}
	if ran == 0 {
		return fmt.Errorf("%s holds no console block: nothing was tried", p.name)
	}
	return nil
}

func (b block) console(ctx context.Context, sandbox, path string) error {
	var script, want []string
	for _, line := range b.lines {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			script = append(script, command)
		} else if more, ok := strings.CutPrefix(line, "> "); ok && len(script) > 0 {
			script = append(script, more)
		} else {
			want = append(want, line)
		}
	}
	if len(script) == 0 {
		return fmt.Errorf("the block has no command: write it after %q", "$ ")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	text := strings.ReplaceAll(strings.Join(script, "\n"), "go run ./cmd/reprise", "reprise")
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", text)
	cmd.Dir = sandbox
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+sandbox, "XDG_CONFIG_HOME="+filepath.Join(sandbox, ".config"), "NO_COLOR=1", "REPRISE_STORE=")
	// What a block leaves running ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	// A file, not a pipe: a pipe would wait for what runs on in the background.
	outFile, err := os.CreateTemp(sandbox, ".output-*")
	if err != nil {
		return err
	}
	defer outFile.Close()
	defer os.Remove(outFile.Name())
	cmd.Stdout, cmd.Stderr = outFile, outFile
	if err := cmd.Start(); err != nil {
		return err
	}
	waitErr := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nothing is left
	out, err := os.ReadFile(outFile.Name())
	if err != nil {
		return err
	}
	if waitErr != nil {
		return fmt.Errorf("%w\n%s\n%s", waitErr, text, out)
	}
	if b.mark == "console output" && !outputPattern(want).MatchString(strings.TrimRight(string(out), "\n")+"\n") {
		return fmt.Errorf("the output is\n%swant\n%s", out, strings.Join(want, "\n"))
	}
	return nil
}

// outputPattern makes the regular expression of an expected output.
func outputPattern(lines []string) *regexp.Regexp {
	var parts []string
	for _, line := range lines {
		if strings.TrimSpace(line) == "…" {
			parts = append(parts, `(?:.*\n)*?`)
			continue
		}
		var quoted []string
		for part := range strings.SplitSeq(line, "…") {
			quoted = append(quoted, regexp.QuoteMeta(part))
		}
		parts = append(parts, strings.Join(quoted, ".*")+`\n`)
	}
	return regexp.MustCompile("^" + strings.TrimRight(strings.Join(parts, ""), "\n") + "$")
}

func (b block) goCode(ctx context.Context, examples map[string]string) error {
	code := strings.Join(b.lines, "\n") + "\n"
	if regexp.MustCompile(`(?m)^package \w+$`).MatchString(code) {
		return compile(ctx, code)
	}
	body, err := normal(code)
	if err != nil {
		return fmt.Errorf("does not parse: %w", err)
	}
	for _, example := range examples {
		if example == body {
			return nil
		}
	}
	return fmt.Errorf("is not the body of an Example of this package:\n%s", code)
}

// compile builds code as a package of this module, without writing to it.
func compile(ctx context.Context, code string) error {
	dir, err := os.MkdirTemp("", "readme")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "examples", "readme", "main.go"): file},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", os.DevNull, "./examples/readme")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	return nil
}

// exampleBodies returns the bodies of the Example functions of the test files
// in dir, by name, without their expected output.
func exampleBodies(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	bodies := map[string]string{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
				continue
			}
			body := src[fset.Position(f.Body.Lbrace).Offset+1 : fset.Position(f.Body.Rbrace).Offset]
			body, _, _ = bytes.Cut(body, []byte("// Output:"))
			if bodies[f.Name.Name], err = normal(string(body)); err != nil {
				return nil, err
			}
		}
	}
	return bodies, nil
}

// normal formats statements, so that only their text is compared.
func normal(code string) (string, error) {
	text, err := format.Source([]byte("package p\n\nfunc _() {\n" + code + "\n}\n"))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(text), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), nil
}
