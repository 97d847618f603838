//go:build linux || darwin || freebsd

package cli

import "golang.org/x/sys/unix"

// freeBytes returns how much the user may still write to the disk of a folder.
func freeBytes(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // its type is another one elsewhere
}
