//go:build linux

package drive

import (
	"errors"
	"os"
	"os/exec"
	ossignal "os/signal"
	"syscall"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A disk that is full in the middle of a frame costs the answer that it belongs
// to, and none of those that are written behind it. What a process may write is
// limited for all of it, so the test runs in one of its own.
func TestHalfAFrameHidesNothingBehindIt(t *testing.T) {
	t.Parallel()
	const child = "REPRISE_TEST_FULL_DISK"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this test
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const run = ledger.RunID("01936c4e-7a00-7000-8000-000000000001")
	dir := t.TempDir()
	s, err := openSpool(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(n int64) *staged {
		t.Helper()
		st, err := s.begin(n, "response", "text/plain", "", canon.Object())
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	one, two := begin(1), begin(2)
	ossignal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	full := limit
	full.Cur = uint64(one.file.size) + 50 //nolint:gosec // not negative
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	if err := one.write(1, make([]byte, 500)); !errors.Is(err, ErrSpool) {
		t.Errorf("write on a full disk = %v, want %v", err, ErrSpool)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := two.write(1, []byte("behind it")); err != nil {
		t.Fatal(err)
	}
	got, err := readPartials(dir, run, map[int64]effect.Key{1: {}, 2: {}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got[1].parts) != 0 || len(got[2].parts) != 1 || string(got[2].parts[0].bytes) != "behind it" {
		t.Errorf("the spool has %d parts of the first answer and %d of the second, want 0 and 1", len(got[1].parts), len(got[2].parts))
	}
}
