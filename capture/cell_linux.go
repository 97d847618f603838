package capture

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// cellStart bounds what it takes to open a cell.
const cellStart = 10 * time.Second

// maxCellListeners is how many listeners one message may carry.
const maxCellListeners = 200

// newCell starts cmd, which must call [EnterCell], in a network of its own in
// which n listeners are open.
func newCell(cmd *exec.Cmd, n int) (*cell, error) {
	const op = "capture.cell"
	if n > maxCellListeners {
		return nil, fault.New(ErrCell, op, "%d listeners; at most %d can be handed out", n, maxCellListeners)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fault.Wrap(ErrCell, op, err, "a pair of sockets")
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "cell"), os.NewFile(uintptr(pair[1]), "cell")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, fault.Wrap(ErrCell, op, err, "a pair of sockets")
	}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append(cmd.Env, CellVar+"="+strconv.Itoa(n))
	if cmd.SysProcAttr, err = ownNetwork(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = conn.Close()
		return nil, fault.Wrap(ErrCell, op, err, "the system gives no network of its own to a child")
	}
	_ = theirs.Close() // or the end of the child would not be seen
	c := &cell{cmd: cmd, conn: conn, f: &framed{r: bufio.NewReader(conn), w: conn}}
	if err := c.receive(n); err != nil {
		c.discard()
		return nil, err
	}
	return c, nil
}

// ownNetwork returns what starts a process in a network of its own, as the
// user that it would be without.
func ownNetwork() (*syscall.SysProcAttr, error) {
	uid, gid := os.Geteuid(), os.Getegid()
	attr := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		// To set the loopback up; gone when the child begins.
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	}
	if uid != 0 {
		return attr, nil
	}
	// Root keeps all users that there are, or it could not be root.
	var err error
	attr.AmbientCaps, attr.GidMappingsEnableSetgroups = nil, true
	if attr.UidMappings, err = sameIDs("/proc/self/uid_map"); err != nil {
		return nil, err
	}
	attr.GidMappings, err = sameIDs("/proc/self/gid_map")
	return attr, err
}

// sameIDs maps every id that there is to itself.
func sameIDs(path string) ([]syscall.SysProcIDMap, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(b)) {
		var first, outside, size int
		if _, err := fmt.Sscan(line, &first, &outside, &size); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return out, nil
}

// receive takes the listeners that the program in the cell has opened.
func (c *cell) receive(n int) error {
	const op = "capture.cell"
	conn, ok := c.conn.(*net.UnixConn)
	if !ok {
		return fault.New(ErrCell, op, "the connection to the cell carries no listeners")
	}
	_ = conn.SetReadDeadline(time.Now().Add(cellStart))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	text, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4*n))
	got, size, _, _, err := conn.ReadMsgUnix(text, rights)
	if err != nil {
		return fault.Wrap(ErrCell, op, err, "the program in the cell")
	}
	fds, err := rightsOf(rights[:size])
	if err != nil || len(fds) != n {
		closeAll(fds)
		return fault.New(ErrCell, op, "no listeners in a network of its own: %s", text[:got])
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "listener")
		ln, err := net.FileListener(f)
		_ = f.Close()
		if err != nil {
			closeAll(fds[i+1:])
			return fault.Wrap(ErrCell, op, err, "a listener of the cell")
		}
		c.listeners = append(c.listeners, ln)
	}
	return nil
}

func rightsOf(b []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(b)
	if err != nil || len(messages) == 0 {
		return nil, errors.Join(err, unix.EBADMSG)
	}
	return unix.ParseUnixRights(&messages[0])
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// cellSocket is where the program in a cell finds its replayer.
const cellSocket = 3

// EnterCell makes this process, which a replay has started in a network of its
// own, the child of that replay. It returns only if it cannot.
func EnterCell() error {
	n, err := strconv.Atoi(os.Getenv(CellVar))
	if err != nil || n < 0 || n > maxCellListeners {
		return fault.New(ErrCell, "capture.EnterCell", "this is not for people: a hermetic replay starts it")
	}
	unix.CloseOnExec(cellSocket)
	f := os.NewFile(cellSocket, "cell")
	conn, err := net.FileConn(f)
	_ = f.Close()
	if err != nil {
		return fault.Wrap(ErrCell, "capture.EnterCell", err, "there is no replayer")
	}
	defer conn.Close()
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return fault.New(ErrCell, "capture.EnterCell", "there is no replayer")
	}
	fds, err := openListeners(n)
	if err != nil {
		_, _ = u.Write([]byte(err.Error()))
		return err
	}
	_, _, err = u.WriteMsgUnix([]byte("ready"), unix.UnixRights(fds...), nil)
	closeAll(fds)
	if err != nil {
		return fault.Wrap(ErrCell, "capture.EnterCell", err, "the replayer is gone")
	}
	frames := &framed{r: bufio.NewReader(u), w: u}
	typ, b, err := frames.read()
	var o order
	if err == nil && typ == frameOrder {
		err = json.Unmarshal(b, &o)
	}
	if err != nil || o.Path == "" {
		return fault.New(ErrCell, "capture.EnterCell", "the replayer is gone")
	}
	err = become(o)
	_ = frames.write(frameFailed, []byte(err.Error()))
	return fault.Wrap(ErrNotStarted, "capture.EnterCell", err, "%s", o.Path)
}

// become runs the child in place of this program, without what was needed to
// open the cell.
func become(o order) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	return unix.Exec(o.Path, o.Argv, o.Env)
}

// openListeners sets the loopback up and listens on it, n times.
func openListeners(n int) (fds []int, err error) {
	defer func() {
		if err != nil {
			closeAll(fds)
			fds = nil
		}
	}()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return nil, fmt.Errorf("the loopback cannot be set up: %w", err)
	}
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return fds, err
		}
		if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
			return fds, err
		}
	}
	return fds, nil
}
