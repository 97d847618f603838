package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build event
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// testID names a test within its package; Name is "" for the package itself.
type testID struct{ pkg, name string }

// counter folds the events of one run.
type counter struct {
	out     io.Writer
	pending map[testID][]string // output of what has not ended yet
	builds  map[string][]string // output of compilers
	running map[string]bool     // packages that have started and not ended
	parents map[testID]bool     // tests that have subtests
	skips   []string

	passed, failed, skipped, packages int
}

// count prints the run and reports whether all is well. With strict a skipped
// test is a failure. The error is one of reading or writing.
func count(in io.Reader, out io.Writer, strict bool) (bool, error) {
	w := bufio.NewWriter(out)
	c := counter{
		out: w, pending: map[testID][]string{}, builds: map[string][]string{},
		running: map[string]bool{}, parents: map[testID]bool{},
	}
	ok := true
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 {
			var e event
			if json.Unmarshal(text, &e) != nil || e.Action == "" {
				fmt.Fprintf(w, "%s\n", text) // the go command's own words
			} else if !c.apply(e) {
				ok = false
			}
			if r.Buffered() == 0 { // nothing more at once: show what there is
				if err := w.Flush(); err != nil {
					return false, err
				}
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(c.running)) {
		fmt.Fprintf(w, "CUT SHORT %s: the stream ends before its result\n", pkg)
		ok = false
	}
	for _, line := range c.skips {
		fmt.Fprintln(w, line)
	}
	if strict && c.skipped > 0 {
		fmt.Fprintln(w, "REPRISE_DATA names a folder that exists: a skipped test is a failure")
		ok = false
	}
	if c.passed+c.failed+c.skipped == 0 {
		fmt.Fprintln(w, "no test was run: nothing is known")
		ok = false
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	return ok && c.failed == 0, w.Flush()
}

// apply folds one event and returns false when it is a failure. Only tests
// without subtests are counted, so that a table counts by its rows.
func (c *counter) apply(e event) bool {
	id := testID{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		c.builds[e.ImportPath] = append(c.builds[e.ImportPath], e.Output)
		return true
	case "start":
		c.running[e.Package] = true
	case "run":
		for parent := parentOf(e.Test); parent != ""; parent = parentOf(parent) {
			c.parents[testID{e.Package, parent}] = true
		}
	case "output":
		c.pending[id] = append(c.pending[id], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			return c.endPackage(e)
		}
		return c.endTest(id, e.Action)
	}
	return e.Action != "build-fail"
}

func (c *counter) endTest(id testID, action string) bool {
	output := c.pending[id]
	delete(c.pending, id)
	counts := 1
	if c.parents[id] {
		counts = 0
	}
	switch action {
	case "pass":
		c.passed += counts
	case "skip":
		c.skipped += counts
		if counts > 0 {
			c.skips = append(c.skips, fmt.Sprintf("SKIP %s %s: %s", id.pkg, id.name, reason(output)))
		}
	case "fail":
		c.failed += counts
		fmt.Fprintf(c.out, "FAIL %s %s\n", id.pkg, id.name)
		for _, line := range output {
			if !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(c.out, "    ", line)
			}
		}
		return false
	}
	return true
}

func (c *counter) endPackage(e event) bool {
	delete(c.running, e.Package)
	c.packages++
	if e.Action == "fail" {
		for _, line := range c.builds[e.FailedBuild] {
			fmt.Fprint(c.out, line)
		}
		// A test that has not ended took the package down with it.
		for _, id := range slices.SortedFunc(maps.Keys(c.pending), func(a, b testID) int { return strings.Compare(a.name, b.name) }) {
			if id.pkg != e.Package {
				continue
			}
			if id.name != "" {
				c.failed++
				fmt.Fprintf(c.out, "FAIL %s %s: did not end\n", id.pkg, id.name)
			}
			for _, line := range c.pending[id] {
				fmt.Fprint(c.out, "    ", line)
			}
			delete(c.pending, id)
		}
		fmt.Fprintf(c.out, "FAIL %s %.1fs\n", e.Package, e.Elapsed)
		return false
	}
	summary := reason(c.pending[testID{e.Package, ""}])
	if e.Action == "pass" && !strings.Contains(summary, "no tests to run") {
		cached := ""
		if strings.Contains(strings.Join(c.pending[testID{e.Package, ""}], ""), "(cached)") {
			cached = " (cached)"
		}
		fmt.Fprintf(c.out, "ok   %s %.1fs%s\n", e.Package, e.Elapsed, cached)
	}
	delete(c.pending, testID{e.Package, ""})
	return true
}

func parentOf(test string) string {
	at := strings.LastIndexByte(test, '/')
	if at < 0 {
		return ""
	}
	return test[:at]
}

// reason returns what a test said, on one line.
func reason(output []string) string {
	var said []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			said = append(said, line)
		}
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
