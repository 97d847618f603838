package capture

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// A cell is a network of its own for one child: it has a loopback, and on that
// the listeners of the replayer, and nothing else. No privilege is needed,
// where the system lets users have namespaces of their own.
//
// A program is started in the cell ahead of the child, because only within it
// can the listeners be opened. It hands them out, waits to be told what to
// run, and becomes that.

// ErrCell means that the system gives no network of its own to a child. Replay
// without requiring it; the report then says what is not blocked.
const ErrCell fault.Unavailable = "capture.no_isolation"

// CellVar is set for the program that a cell is entered with; see [EnterCell].
const CellVar = "REPRISE_CELL"

// Isolation says whether a child gets a cell.
type Isolation string

// The ways in which a child is kept from the network.
const (
	IsolateNot     Isolation = ""        // it is not
	IsolateAuto    Isolation = "auto"    // where the system allows it
	IsolateRequire Isolation = "require" // or the replay does not begin
)

// ParseIsolation reads auto, require or off.
func ParseIsolation(s string) (Isolation, error) {
	switch i := Isolation(s); i {
	case IsolateNot, IsolateAuto, IsolateRequire:
		return i, nil
	case "off":
		return IsolateNot, nil
	default:
		return "", fault.New(ErrIsolation, "capture.ParseIsolation", "--hermetic is auto, require or off, not %q", s)
	}
}

// ErrIsolation means that a word does not say whether a child is kept from the
// network. It is auto, require or off.
const ErrIsolation fault.Invalid = "capture.bad_isolation"

// order tells the program in the cell what to become.
type order struct {
	Path string
	Argv []string
	Env  []string
}

// The frames between a cell and its replayer.
const (
	frameOrder  = 'o' // to the cell: an order as JSON
	frameFailed = 'f' // from the cell: why it cannot go on
)

// cell is a network with a program in it that has not begun yet.
type cell struct {
	cmd       *exec.Cmd
	listeners []net.Listener
	conn      net.Conn
	f         *framed
}

// listener gives out the next of the cell's listeners.
func (c *cell) listener(context.Context) (net.Listener, error) {
	if len(c.listeners) == 0 {
		return nil, fault.New(ErrListen, "capture.cell", "the cell has no more listeners")
	}
	ln := c.listeners[0]
	c.listeners = c.listeners[1:]
	return ln, nil
}

// run makes the program in the cell become the child.
func (c *cell) run(o order) error {
	b, err := json.Marshal(o)
	if err == nil {
		err = c.f.write(frameOrder, b)
	}
	if err != nil {
		return fault.Wrap(ErrCell, "capture.cell", err, "the program in the cell")
	}
	// The cell's end of the connection goes when the child takes its place.
	if typ, why, err := c.f.read(); err == nil && typ == frameFailed {
		_ = c.cmd.Wait()
		return fault.New(ErrNotStarted, "capture.Run", "%s cannot be started: %s", o.Path, why)
	}
	return c.conn.Close()
}

// TryCell reports whether a child can have a cell here: nil, or why not.
// Command calls [EnterCell].
func TryCell(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return fault.New(ErrNoCommand, "capture.TryCell", "there is no program to enter a cell with")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // this program itself
	cmd.Env = os.Environ()
	c, err := newCell(cmd, 1)
	if err != nil {
		return err
	}
	c.discard()
	return nil
}

// discard ends a cell that is not used.
func (c *cell) discard() {
	for _, ln := range c.listeners {
		_ = ln.Close()
	}
	_ = c.conn.Close() // the program in it ends when it is told nothing
	_ = c.cmd.Wait()
}
