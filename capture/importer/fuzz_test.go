package importer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// fuzzImport holds for any file: it is refused with a code of class invalid,
// or imported; the run then verifies, and the same file again gives entries
// with the same comparison form.
func fuzzImport(f *testing.F, ext string) {
	names, err := filepath.Glob(filepath.Join("testdata", "*"+ext))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d seeds, %v", len(names), err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t)
		o := importer.Options{MaxBytes: 1 << 20}
		res, err := importer.Import(t.Context(), r.cfg, bytes.NewReader(b), "fuzz", o)
		if err != nil {
			if fault.ClassOf(err) != fault.ClassInvalid {
				t.Fatalf("Import = %v, want a refusal of class invalid", err)
			}
			return
		}
		r.verify(t, res.Run)
		again, err := importer.Import(t.Context(), r.cfg, bytes.NewReader(b), "fuzz", o)
		if err != nil {
			t.Fatal(err)
		}
		if one, two := comparison(t, r, &res), comparison(t, r, &again); one != two {
			t.Errorf("two imports differ:\n%s\n%s", one, two)
		}
	})
}

func comparison(t testing.TB, r *rig, res *importer.Result) string {
	var out strings.Builder
	for _, x := range r.entries(t, res.Run) {
		out.WriteString(x.call.String() + string(x.request) + "\n" + x.outcome.Data.String() + string(x.outcome.Status) + string(x.response) + "\n")
	}
	return out.String()
}

func FuzzCassette(f *testing.F) { fuzzImport(f, ".yaml") }

func FuzzTrace(f *testing.F) { fuzzImport(f, ".httprr") }
