package cli

import "testing"

func TestCommandsThatArePrintedCanBeTyped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, arg, want string }{
		{"from the path", "reprise", "reprise"},
		{"with a folder", "./bin/reprise", "./bin/reprise"},
		{"with a space", "/my tools/reprise", "'/my tools/reprise'"},
		{"go run, built", "/tmp/go-build261538951/b001/exe/reprise", "go run ./cmd/reprise"},
		{"go run, from the cache", "/home/u/.cache/go-build/32/325c-d/reprise", "go run ./cmd/reprise"},
		{"unknown", "", "reprise"},
	} {
		if got := selfOf([]string{tt.arg}); got != tt.want {
			t.Errorf("%s: selfOf(%q) = %q, want %q", tt.name, tt.arg, got, tt.want)
		}
	}
}
