//go:build !linux

package capture

import (
	"os/exec"
	"runtime"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// newCell fails: only Linux has namespaces.
func newCell(*exec.Cmd, int) (*cell, error) {
	return nil, fault.New(ErrCell, "capture.cell", "%s gives no network of its own to a process", runtime.GOOS)
}

// EnterCell fails: only Linux has namespaces.
func EnterCell() error {
	return fault.New(ErrCell, "capture.EnterCell", "%s gives no network of its own to a process", runtime.GOOS)
}
