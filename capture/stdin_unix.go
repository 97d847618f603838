//go:build unix

package capture

import (
	"os"
	"strconv"
	"syscall"
)

// fileID returns what tells a file from all others, or nothing.
func fileID(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(uint64(st.Dev), 16) + ":" + strconv.FormatUint(uint64(st.Ino), 16) //nolint:gosec,unconvert // the types differ between systems
}
