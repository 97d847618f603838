package importer_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/importer"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Whatever happens to a file, it is refused and leaves nothing, or its run
// verifies and a second import of it has the same comparison form.
func TestDamagedFilesAreRefusedOrRepeatable(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	names := []string{
		"go-vcr-1.yaml", "go-vcr-2.yaml", "vcrpy.yaml", "vcrpy-evidence.yaml", "vcr.yaml", "trace.httprr",
		"chrome.har", "nock.json", "otlp.json", "claude-code.jsonl", "tau-bench.json", "mcp.txtar", "openhands.json", "grpc.yaml",
	}
	for _, n := range names {
		files[n] = fixture(t, n)
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := bytes.Clone(files[rapid.SampledFrom(names).Draw(rt, "file")])
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			i := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
			switch rapid.SampledFrom([]string{"set", "cut", "insert"}).Draw(rt, "change") {
			case "set":
				b[i] = rapid.Byte().Draw(rt, "byte")
			case "cut":
				b = append(b[:i], b[min(len(b), i+rapid.IntRange(1, 9).Draw(rt, "bytes")):]...)
			case "insert":
				b = append(b[:i:i], append([]byte(rapid.SampledFrom([]string{"\n", "'", "- ", "{}", "0", "\xff"}).Draw(rt, "text")), b[i:]...)...)
			}
			if len(b) == 0 {
				break
			}
		}
		r := newRig(t)
		res, err := r.run(t, "damaged", b)
		if err != nil {
			if fault.ClassOf(err) != fault.ClassInvalid {
				rt.Fatalf("Import = %v, want a refusal of class invalid", err)
			}
			for info, err := range r.cfg.Store.Runs(t.Context()) {
				rt.Fatalf("a refused file left run %s, %v", info.Run, err)
			}
			return
		}
		r.verify(t, res.Run)
		again, err := r.run(t, "damaged", b)
		if err != nil {
			rt.Fatal(err)
		}
		if one, two := comparison(t, r, &res), comparison(t, r, &again); one != two {
			rt.Fatalf("two imports differ:\n%s\n%s", one, two)
		}
	})
}

func comparison(t testing.TB, r *rig, res *importer.Result) string {
	t.Helper()
	var out strings.Builder
	for _, x := range r.entries(t, res.Run) {
		out.WriteString(x.call.String() + string(x.request) + "\n" + x.outcome.Data.String() + string(x.outcome.Status) + string(x.response) + "\n")
	}
	return out.String()
}
