package capture

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// drain waits until the other side has taken what was written.
func drain(c *net.TCPConn, most time.Duration) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	const step = time.Millisecond
	for range most / step {
		left := 0
		err := raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }) //nolint:gosec // a descriptor
		if err != nil || left == 0 {
			return
		}
		time.Sleep(step)
	}
}
