package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/kernel/fault"
)

const root = "../../.."

// TestCodesAreOnlyAdded holds the released codes: a line of the golden file
// that the source no longer holds, or a code that is not entered, fails.
func TestCodesAreOnlyAdded(t *testing.T) {
	t.Parallel()
	codes, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(root, goldenFile))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := grow(string(old), codes)
	if err != nil {
		t.Fatal(err)
	}
	if golden != string(old) {
		t.Errorf("%s lacks new codes; run go generate", goldenFile)
	}
	written, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page(codes) {
		t.Errorf("%s is not what the code says; run go generate", pageFile)
	}
}

func TestGrowRefusesALostCode(t *testing.T) {
	t.Parallel()
	codes := []code{{Text: "a.b", Class: fault.ClassInvalid}, {Text: "c.d", Class: fault.ClassDenied}}
	if got, err := grow("a.b invalid\n", codes); err != nil || got != "a.b invalid\nc.d denied\n" {
		t.Errorf("grow() = %q, %v, want the new code entered", got, err)
	}
	for _, old := range []string{"gone invalid\n", "a.b denied\n"} {
		if _, err := grow(old, codes); err == nil {
			t.Errorf("grow(%q) succeeded, want an error", old)
		}
	}
}

func TestCollectRefusesWhatCannotBeDocumented(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, src, want string }{
		{"no comment", "const ErrX fault.Invalid = \"p.x\"\n", "has no comment"},
		{"two constants", "const (\n\t// ErrX: x.\n\tErrX fault.Invalid = \"p.x\"\n\t// ErrY: y.\n\tErrY fault.Denied = \"p.x\"\n)\n", "a code has one home"},
		{"not one word", "// ErrX: x.\nconst ErrX fault.Invalid = \"p x\"\n", "a code is one word"},
		{"nothing", "const x fault.Class = 1\n", "no code was found"},
		{"a code", "// ErrX means that x | y.\nconst ErrX fault.NotFound = \"p.x\"\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{
				"go.mod":               "module " + strings.TrimSuffix(faultPath, "/kernel/fault") + "\n\ngo 1.26\n",
				"kernel/fault/code.go": "package fault\n\ntype (\n\tInvalid string\n\tNotFound string\n\tDenied string\n\tClass uint8\n)\n",
				"p/p.go":               "package p\n\nimport \"" + faultPath + "\"\n\n" + test.src,
			}
			for name, text := range files {
				name = filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			codes, err := collect(dir)
			if test.want == "" {
				if err != nil || len(codes) != 1 || codes[0].Class != fault.ClassNotFound || meaning(codes[0]) != `X \| y.` {
					t.Errorf("collect() = %+v, %v", codes, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("collect() = %v, want %q", err, test.want)
			}
		})
	}
}
