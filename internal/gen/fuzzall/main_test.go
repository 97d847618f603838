package main

import (
	"slices"
	"testing"
)

func TestParseGivesEachTargetItsPackage(t *testing.T) {
	t.Parallel()
	const list = "FuzzA\nFuzzB\nok  \texample.com/x\t0.01s\n?   \texample.com/y\t[no test files]\nok  \texample.com/z\t0.01s\nFuzzC\nok  \texample.com/w\t(cached)\n"
	want := []target{{"example.com/x", "FuzzA"}, {"example.com/x", "FuzzB"}, {"example.com/w", "FuzzC"}}
	if got := parse([]byte(list)); !slices.Equal(got, want) {
		t.Errorf("parse() = %v, want %v", got, want)
	}
}

func TestOnlyAFailureWithItsInputCounts(t *testing.T) {
	t.Parallel()
	const busy = "fuzz: elapsed: 5s\n--- FAIL: FuzzA (5.10s)\n    context deadline exceeded\nFAIL\n"
	if !late([]byte(busy)) {
		t.Error("a fuzzer that was busy when its time was over counts as a failure")
	}
	if late([]byte(busy+"    Failing input written to testdata/fuzz/FuzzA/1\n")) || late([]byte("--- FAIL: FuzzA (0.10s)\n    a_test.go:3: wrong\n")) {
		t.Error("a failure with its input does not count")
	}
}
