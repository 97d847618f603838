//go:build !linux

package capture

import (
	"net"
	"time"
)

// drain gives the other side a moment to take what was written.
func drain(_ *net.TCPConn, most time.Duration) { time.Sleep(most / 10) }
