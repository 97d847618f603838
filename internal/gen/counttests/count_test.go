package main

import (
	"strings"
	"testing"
)

func TestCount(t *testing.T) {
	t.Parallel()
	const (
		start   = `{"Action":"start","Package":"p"}` + "\n"
		pass    = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n"
		skip    = `{"Action":"output","Package":"p","Test":"TestS","Output":"    s_test.go:1: no data\n"}` + "\n" + `{"Action":"skip","Package":"p","Test":"TestS"}` + "\n"
		fail    = `{"Action":"output","Package":"p","Test":"TestF","Output":"    f_test.go:1: got 1, want 2\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestF"}` + "\n"
		end     = `{"Action":"pass","Package":"p","Elapsed":0.5}` + "\n"
		endFail = `{"Action":"fail","Package":"p","Elapsed":0.5}` + "\n"
		table   = `{"Action":"run","Package":"p","Test":"TestT"}` + "\n" + `{"Action":"run","Package":"p","Test":"TestT/a"}` + "\n" +
			`{"Action":"run","Package":"p","Test":"TestT/b"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestT/a"}` + "\n" +
			`{"Action":"pass","Package":"p","Test":"TestT/b"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestT"}` + "\n"
		noBuild = `{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}` + "\n" + `{"ImportPath":"q","Action":"build-fail"}` + "\n" +
			`{"Action":"start","Package":"q"}` + "\n" + `{"Action":"fail","Package":"q","FailedBuild":"q"}` + "\n"
	)
	for _, test := range []struct {
		name   string
		in     string
		strict bool
		ok     bool
		holds  string // stands somewhere in the output
		last   string
	}{
		{"all pass", start + pass + end, true, true, "ok   p 0.5s", "1 passed, 0 failed, 0 skipped"},
		{"rows are counted, not the table", start + table + end, false, true, "", "2 passed, 0 failed, 0 skipped"},
		{"a failure shows its output", start + pass + fail + endFail, false, false, "got 1, want 2", "1 passed, 1 failed, 0 skipped"},
		{"a skip is counted with its reason", start + pass + skip + end, false, true, "SKIP p TestS: s_test.go:1: no data", "1 passed, 0 failed, 1 skipped"},
		{"a skip fails where the data is", start + pass + skip + end, true, false, "a skipped test is a failure", "1 passed, 0 failed, 1 skipped"},
		{"a package that does not build", start + pass + end + noBuild, false, false, "undefined: x", "1 passed, 0 failed, 0 skipped"},
		{"a test that never ends", start + `{"Action":"output","Package":"p","Test":"TestP","Output":"panic: x\n"}` + "\n" + endFail, false, false, "TestP: did not end", "0 passed, 1 failed, 0 skipped"},
		{"a stream that is cut", start + pass, false, false, "CUT SHORT p", "1 passed, 0 failed, 0 skipped"},
		{"nothing at all", "", false, false, "no test was run", "0 passed, 0 failed, 0 skipped"},
		{"words of the go command", "go: no such package\n" + start + pass + end, false, true, "go: no such package", "1 passed, 0 failed, 0 skipped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			ok, err := count(strings.NewReader(test.in), &out, test.strict)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if err != nil || ok != test.ok || lines[len(lines)-1] != test.last || !strings.Contains(out.String(), test.holds) {
				t.Errorf("count() = %v, %v and\n%swant %v, a line with %q and last %q", ok, err, out.String(), test.ok, test.holds, test.last)
			}
		})
	}
}
