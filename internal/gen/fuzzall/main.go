// Fuzzall runs every fuzz target of the module for a short time each:
//
//	go run ./internal/gen/fuzzall -each 5s -total 5m
//
// With many targets each gets less, so that the whole stays within the total.
// The first target that fails ends it with status 1; the input that did it is
// then in the package's testdata, to be committed with the fix.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("each", 5*time.Second, "time for each target")
	total := flag.Duration("total", 5*time.Minute, "time for all targets together, compiling apart")
	flag.Parse()
	if err := run(*each, *total); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzall:", err)
		os.Exit(1)
	}
}

// target is one fuzz function of one package.
type target struct{ pkg, name string }

func run(each, total time.Duration) error {
	list := exec.Command("go", "test", "-list", "^Fuzz", "./...")
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the targets: %w\n%s", err, text)
	}
	targets := parse(text)
	if len(targets) == 0 {
		return fmt.Errorf("the module has no fuzz target")
	}
	each = max(min(each, total/time.Duration(len(targets))), time.Second)
	for _, t := range targets {
		fmt.Printf("fuzz %s %s for %v\n", t.pkg, t.name, each)
		fuzz := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
			"-fuzzminimizetime", "10x", t.pkg) // the default minimises one input for a minute, and runs nothing meanwhile
		if out, err := fuzz.CombinedOutput(); err != nil && !late(out) {
			return fmt.Errorf("%s %s: %w\n%s", t.pkg, t.name, err, out)
		}
	}
	fmt.Printf("%d fuzz targets held for %v each\n", len(targets), each)
	return nil
}

// late reports whether all that happened is that the fuzzer of Go was busy when
// its time was over, and took that for a failure. A failure of a target comes
// with the input that did it.
func late(out []byte) bool {
	return bytes.Contains(out, []byte("\n    context deadline exceeded\n")) && !bytes.Contains(out, []byte("Failing input written to"))
}

// parse reads the output of "go test -list": names, then the package's line.
func parse(text []byte) []target {
	var targets []target
	var names []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "Fuzz"):
			names = append(names, fields[0])
		case len(fields) >= 2 && fields[0] == "ok":
			for _, name := range names {
				targets = append(targets, target{fields[1], name})
			}
			names = nil
		}
	}
	return targets
}
