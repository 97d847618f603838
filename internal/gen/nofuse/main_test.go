package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFusedFindsWhatTheCompilerFuses compiles both forms of a product: the
// bare one is fused on arm64, the converted one is not.
func TestFusedFindsWhatTheCompilerFuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const src = `package score

func Bare(a, b, c float64) float64 { return a*b + c }

func Converted(a, b, c float64) float64 { return float64(a*b) + c }
`
	for name, text := range map[string]string{"go.mod": "module score.example\n\ngo 1.26\n", "score.go": src} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-S", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	found := fused(out)
	if len(found) != 1 || !strings.Contains(found[0], "score.go:3") {
		t.Errorf("fused() = %q, want the product of line 3 only", found)
	}
}
