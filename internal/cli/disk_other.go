//go:build !(linux || darwin || freebsd)

package cli

// freeBytes does not know.
func freeBytes(string) (int64, bool) { return 0, false }
