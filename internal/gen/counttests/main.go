// Counttests reads the output of "go test -json" on its standard input and
// prints what a person wants to see: the packages, the failures with their
// output, the reasons of skips, and a last line that counts the tests:
//
//	812 passed, 0 failed, 3 skipped
//
// It ends with status 1 when a test or a package failed, when the stream holds
// no test or is cut short, and when a test was skipped although REPRISE_DATA
// names a folder that exists: with the real recordings at hand nothing may be
// left out.
package main

import (
	"fmt"
	"os"
)

func main() {
	strict := false
	if dir := os.Getenv("REPRISE_DATA"); dir != "" {
		info, err := os.Stat(dir)
		strict = err == nil && info.IsDir()
	}
	ok, err := count(os.Stdin, os.Stdout, strict)
	if err != nil {
		fmt.Fprintln(os.Stderr, "counttests:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}
