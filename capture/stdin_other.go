//go:build !unix

package capture

import "os"

// fileID returns nothing: shims of commands are for Unix.
func fileID(*os.File) string { return "" }
