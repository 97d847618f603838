package ledgertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// childEnv tells a child process what to do: place, run, holder and number of
// appends, or 0 for as many as it can before it is killed.
const childEnv = "REPRISE_LEDGERTEST_CHILD"

// OpenAt opens the store at a place, which another process may have open too.
// The function it returns closes the store.
type OpenAt func(t *testing.T, place string) (s ledger.Store, closeStore func() error)

// Child is the test that plays the other process. A backend calls it from a
// test named TestChild, which does nothing when it is run by itself.
func Child(t *testing.T, open OpenAt) {
	order := strings.Split(os.Getenv(childEnv), "\n")
	if len(order) != 4 {
		return
	}
	n, err := strconv.Atoi(order[3])
	if err != nil {
		t.Fatal(err)
	}
	s, closeStore := open(t, order[0])
	defer func() {
		if err := closeStore(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}()
	run := ledger.RunID(order[1])
	lease, err := s.Acquire(t.Context(), run, order[2], ttl)
	if err != nil {
		fmt.Println("refused", fault.CodeOf(err))
		return
	}
	w := &Writer{Lease: lease}
	if w.At, err = s.At(t.Context(), run); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		t.Fatal(err)
	}
	for i := 0; n == 0 || i < n; i++ {
		w.Append(t, s, fmt.Sprint("append ", i), strings.Repeat("x", i*37%3000))
		fmt.Println("stored", w.At.Count)
	}
}

// child is another process.
type child struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func startChild(t *testing.T, place string, run ledger.RunID, holder string, n int) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{place, string(run), holder, strconv.Itoa(n)}, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{cmd: cmd, out: bufio.NewScanner(out)}
}

// wait reads what the child says until it ends. It returns the last number it
// said was stored, and the code with which it was refused.
func (c *child) wait(t *testing.T) (stored int64, refused string, err error) {
	t.Helper()
	for c.out.Scan() {
		if rest, ok := strings.CutPrefix(c.out.Text(), "stored "); ok {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				continue // cut off in the middle
			}
			stored = n
		}
		if rest, ok := strings.CutPrefix(c.out.Text(), "refused "); ok {
			refused = rest
		}
	}
	if err := c.out.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return stored, refused, err
	}
	return stored, refused, c.cmd.Wait()
}

// RunProcesses tests that two processes can use one store.
func RunProcesses(t *testing.T, open OpenAt) {
	place := t.TempDir()
	s, closeStore := open(t, place)
	defer func() {
		if err := closeStore(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}()
	w := NewWriter(t, s)
	w.Append(t, s, "open")

	if _, refused, err := startChild(t, place, w.Lease.Run, "another", 1).wait(t); err != nil || refused != ledger.ErrLeased.Error() {
		t.Errorf("another process that wants the run is refused with %q, %v; want %v", refused, err, ledger.ErrLeased)
	}

	const appends = 150
	other := NewRun(t)
	c := startChild(t, place, other, "another", appends)
	var want []ledger.Entry
	for i := range appends {
		want = append(want, w.Append(t, s, fmt.Sprint(i), "while another process writes").Entries...)
		if _, err := s.At(t.Context(), other); err != nil && !errors.Is(err, ledger.ErrNotFound) {
			t.Fatalf("At of the other's run = %v", err)
		}
	}
	stored, refused, err := c.wait(t)
	if err != nil || refused != "" || stored != 2*appends {
		t.Fatalf("the other process stored %d entries, was refused with %q and ended with %v; want %d", stored, refused, err, 2*appends)
	}
	sameEntries(t, "the own run", collect(t, "Read", s.Read(t.Context(), w.Lease.Run, 1)), want)
	whole(t, s, other, stored)
	if n := len(collect(t, "Runs", s.Runs(t.Context()))); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}

	// The run goes over to the other process, and the old writer is fenced.
	acquire(t, s, w.Lease.Run, Holder, moment)
	time.Sleep(2 * time.Millisecond)
	if stored, refused, err := startChild(t, place, w.Lease.Run, "another", 3).wait(t); err != nil || refused != "" || stored != w.At.Count+6 {
		t.Fatalf("the other process took the run over and stored %d entries, was refused with %q and ended with %v; want %d", stored, refused, err, w.At.Count+6)
	}
	if err := s.Append(t.Context(), w.Batch(t, "late")); !errors.Is(err, ledger.ErrFenced) {
		t.Errorf("Append after another process took the run over = %v, want %v", err, ledger.ErrFenced)
	}
	whole(t, s, w.Lease.Run, w.At.Count+6)
}

// whole checks that a run is a ledger of exactly n entries that verifies.
func whole(t *testing.T, s ledger.Store, run ledger.RunID, n int64) {
	t.Helper()
	res, err := ledger.Verify(t.Context(), ledger.Evidence{Run: run, Entries: s.Read(t.Context(), run, 0)})
	if err != nil || res.Failed() {
		t.Fatalf("Verify of %s = %+v, %v", run, res, err)
	}
	if at, err := s.At(t.Context(), run); err != nil || at != res.At || at.Count != n {
		t.Errorf("run %s: At = %v, %v; read are %d entries, want %d", run, at, err, res.At.Count, n)
	}
}

// RunKill kills a process that appends, again and again, and tests that all
// that was acknowledged is there and that the ledger is whole.
func RunKill(t *testing.T, open OpenAt) {
	place := t.TempDir()
	run := NewRun(t)
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	var last int64
	for round := range 6 {
		c := startChild(t, place, run, Holder, 0)
		for c.out.Scan() && !strings.HasPrefix(c.out.Text(), "stored ") {
		}
		pause := time.Duration(rng.Int64N(int64(60 * time.Millisecond)))
		time.AfterFunc(pause, func() { _ = c.cmd.Process.Kill() })
		stored, refused, err := c.wait(t)
		if refused != "" || err == nil {
			t.Fatalf("round %d: the child was refused with %q or ended by itself", round, refused)
		}
		s, closeStore := open(t, place)
		at, err := s.At(t.Context(), run)
		if err != nil {
			t.Fatalf("round %d: At = %v", round, err)
		}
		// One append may have been stored without the child saying so.
		if at.Count < max(stored, last) || stored > 0 && at.Count > stored+2 || at.Count%2 != 0 {
			t.Errorf("round %d: %d entries are there, %d were acknowledged after %d; killed after %s", round, at.Count, stored, last, pause)
		}
		whole(t, s, run, at.Count)
		last = at.Count
		if err := closeStore(); err != nil {
			t.Errorf("round %d: Close = %v", round, err)
		}
	}
}
