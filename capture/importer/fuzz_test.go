package importer

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// fuzzRead holds for any file: it is refused with a code of class invalid, or
// read, and then every exchange is one that a proxy could have seen and every
// turn one that a session takes; to read it again gives the same.
func fuzzRead(f *testing.F, seeds ...string) {
	n := 0
	for _, pattern := range seeds {
		names, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			n++
		}
	}
	if n < len(seeds) {
		f.Fatalf("%d seeds for %v", n, seeds)
	}
	o := Options{MaxBytes: 1 << 20, Beside: os.DirFS(filepath.Join("testdata", "no-folder"))}.withDefaults()
	f.Fuzz(func(t *testing.T, b []byte) {
		one, plan, err := readAndPlan(b, &o)
		if err != nil {
			if fault.ClassOf(err) != fault.ClassInvalid {
				t.Fatalf("read = %v, want a refusal of class invalid", err)
			}
			return
		}
		for i, p := range plan {
			if p.URL.Host == "" || !isToken(p.Method) || p.Status < 200 || p.Status > 599 || p.upstream == "" || (p.Evidence != nil) != (p.Why != "") {
				t.Errorf("exchange %d = %s %s %d", i, p.Method, p.URL, p.Status)
			}
		}
		if one.Replayable > len(plan) {
			t.Errorf("%d replayable of %d exchanges over HTTP", one.Replayable, len(plan))
		}
		tp, err := read(b, &o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tp.turns {
			checkTurn(t, &tp.turns[i], 0)
		}
		two, again, err := readAndPlan(b, &o)
		if err != nil || !reflect.DeepEqual(plan, again) || !reflect.DeepEqual(one, two) {
			t.Errorf("read once = %+v, twice = %+v, %v", one, two, err)
		}
	})
}

func checkTurn(t *testing.T, x *turn, depth int) {
	t.Helper()
	if depth > maxNesting || x.kind != "" && x.class == "" {
		t.Errorf("turn %s %s of class %q at depth %d", x.kind, x.name, x.class, depth)
	}
	if u := x.usage; u != nil && min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
		t.Errorf("turn %s uses %+v", x.name, *u)
	}
	for i := range x.under {
		checkTurn(t, &x.under[i], depth+1)
	}
}

func readAndPlan(b []byte, o *Options) (Result, []planned, error) {
	var res Result
	t, err := read(b, o)
	if err != nil {
		return res, nil, err
	}
	plan, err := res.plan(&t, o)
	return res, plan, err
}

func FuzzCassette(f *testing.F) { fuzzRead(f, "*.yaml") }

func FuzzTrace(f *testing.F) { fuzzRead(f, "*.httprr") }

func FuzzHAR(f *testing.F) { fuzzRead(f, "*.har") }

func FuzzNock(f *testing.F) { fuzzRead(f, "nock.json") }

func FuzzSpans(f *testing.F) { fuzzRead(f, "otlp.json", "spans.json", "langfuse.json") }

func FuzzClaudeCode(f *testing.F) { fuzzRead(f, "claude-code.jsonl") }

func FuzzCodex(f *testing.F) { fuzzRead(f, "codex*.jsonl") }

func FuzzGemini(f *testing.F) { fuzzRead(f, "gemini-cli*", "contents.json", "adk*") }

func FuzzTrajectory(f *testing.F) {
	fuzzRead(f, "tau-bench.json", "swe-agent*", "run-state.json", "openhands*")
}

func FuzzOrca(f *testing.F) { fuzzRead(f, "orca/events.jsonl") }

func FuzzMCP(f *testing.F) { fuzzRead(f, "mcp*") }

func FuzzAnswer(f *testing.F) { fuzzRead(f, "answer*") }
