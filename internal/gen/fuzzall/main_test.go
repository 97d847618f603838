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
