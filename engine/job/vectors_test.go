package job_test

import (
	"embed"
	"encoding/json"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// vectors reads one of the files of vectors that were computed from the
// written formulas.
func vectors(t testing.TB, name string, into any) {
	t.Helper()
	b, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}
