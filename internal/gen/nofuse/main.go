// Nofuse compiles the pure rings for arm64 and fails when the machine code
// holds a fused multiply-add. A fused product is rounded once instead of
// twice, so the same score would differ between platforms.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run("kernel", "engine"); err != nil {
		fmt.Fprintln(os.Stderr, "nofuse:", err)
		os.Exit(1)
	}
}

func run(rings ...string) error {
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Module.Path}}", "./...")
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var pkgs []string
	for line := range strings.Lines(string(text)) {
		pkg, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		ring, _, _ := strings.Cut(strings.TrimPrefix(pkg, module+"/"), "/")
		if slices.Contains(rings, ring) {
			pkgs = append(pkgs, pkg)
		}
	}
	if len(pkgs) == 0 {
		return fmt.Errorf("no package stands in %s", strings.Join(rings, " or "))
	}
	build := exec.Command("go", append([]string{"build", "-gcflags=-S"}, pkgs...)...)
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput() // the assembly goes to the standard error
	if err != nil {
		return fmt.Errorf("go build for arm64: %w\n%s", err, tail(out))
	}
	if found := fused(out); len(found) > 0 {
		return fmt.Errorf("fused products; write float64(a*b):\n  %s", strings.Join(found, "\n  "))
	}
	if !bytes.Contains(out, []byte("TEXT")) {
		return fmt.Errorf("the compiler printed no machine code: nothing is known")
	}
	fmt.Printf("%d packages hold no fused product on arm64\n", len(pkgs))
	return nil
}

var fusedOp = regexp.MustCompile(`\((\S+\.go:\d+)\)\s+(FN?M(?:ADD|SUB)[SD])\b`)

// fused returns the place and the name of every fused instruction.
func fused(assembly []byte) []string {
	var found []string
	lines := bufio.NewScanner(bytes.NewReader(assembly))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := fusedOp.FindStringSubmatch(lines.Text()); m != nil {
			found = append(found, m[1]+" "+m[2])
		}
	}
	return found
}

func tail(out []byte) []byte { return out[max(0, len(out)-4096):] }
