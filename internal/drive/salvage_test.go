package drive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// frames returns where each frame of a spool file begins, by its kind.
func frames(t *testing.T, b []byte) map[byte][]int {
	t.Helper()
	out := map[byte][]int{}
	for at := 0; at < len(b); {
		kind, begin := b[at], at
		at++
		number := func() int {
			n, size := binary.Uvarint(b[at:])
			if size <= 0 {
				t.Fatalf("no number at %d", at)
			}
			at += size
			return int(n) //nolint:gosec // of a small file
		}
		number()
		if kind == 1 {
			number()
		}
		at += number()
		out[kind] = append(out[kind], begin)
	}
	return out
}

// What the disk has damaged of what was staged is said once, with a code and
// with the place where it is kept. Everything else comes into the ledger, and
// the run can be used.
func TestDamagedSpoolIsSaidAndSetAside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		damage func(b []byte, at map[byte][]int)
		calls  int   // that are in the ledger
		whole  []int // those of them that have all of their answer
	}{
		{"the length of an entry", func(b []byte, at map[byte][]int) { clear(b[at[3][1]+8 : at[3][1]+512]) }, 1, []int{0}},
		{"a byte of an id", func(b []byte, at map[byte][]int) { b[at[3][1]+20] ^= 1 }, 1, []int{0}},
		{"a byte of the first request", func(b []byte, at map[byte][]int) { b[at[3][0]+150_000] ^= 1 }, 0, nil},
		{"how an answer begins", func(b []byte, at map[byte][]int) { b[at[0][0]+4] = 0 }, 2, []int{1}},
		{"the kind of a frame", func(b []byte, at map[byte][]int) { b[at[0][1]] = 9 }, 1, []int{0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := kill(t)
			b, err := os.ReadFile(k.spool())
			if err != nil {
				t.Fatal(err)
			}
			tt.damage(b, frames(t, b))
			if err := os.WriteFile(k.spool(), b, 0o600); err != nil {
				t.Fatal(err)
			}
			done, err := drive.Recover(t.Context(), k.cfg)
			if err != nil || len(done) != 1 || done[0].Run != k.run {
				t.Fatalf("Recover = %v, %v; want the run", done, err)
			}
			aside := filepath.Join(k.cfg.Spool, string(k.run)+".damaged-1")
			if lost := done[0].Lost; !errors.Is(lost, drive.ErrDamaged) || !strings.Contains(fault.Text(lost), aside) {
				t.Errorf("Lost = %v, want %v and %s", lost, drive.ErrDamaged, aside)
			}
			if kept, err := os.ReadFile(filepath.Join(aside, filepath.Base(k.spool()))); err != nil || !bytes.Equal(kept, b) {
				t.Errorf("%d of %d bytes were set aside, %v", len(kept), len(b), err)
			}
			verify(t, k.store, k.run)
			k.holds(t, tt.calls, tt.whole)
			if done, err := drive.Recover(t.Context(), k.cfg); err != nil || len(done) != 0 {
				t.Errorf("Recover again = %v, %v; want nothing to do", done, err)
			}
		})
	}
}

// holds checks how many calls are in the ledger, all of them closed, and which
// of them have the whole answer that came.
func (k *killed) holds(t *testing.T, calls int, whole []int) {
	t.Helper()
	r := drive.NewReader(k.store, k.run)
	left := journal(t, k.store, k.run).Left()
	if len(left) != calls {
		t.Fatalf("%d calls are in the ledger, want %d", len(left), calls)
	}
	var got []int
	for i, rec := range left {
		call, err := r.Open(t.Context(), rec.Call.N)
		if err != nil {
			t.Fatal(err)
		}
		if asked, err := r.Bytes(t.Context(), call, 0); err != nil || !bytes.Equal(asked, k.asked) {
			t.Errorf("the request at entry %d has %d bytes, %v", rec.Call.N, len(asked), err)
		}
		o, err := r.Open(t.Context(), rec.Outcome.N)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Att) == 0 {
			continue
		}
		if b, err := r.Bytes(t.Context(), o, 0); err == nil && strings.HasSuffix(string(b), "last. ") {
			got = append(got, i)
		}
	}
	if len(got) != len(whole) || len(got) > 0 && got[0] != whole[0] {
		t.Errorf("the calls %v have all of their answer, want %v", got, whole)
	}
}

// A run that is resumed on its own says it too, and once.
func TestResumeSaysTheDamageOnce(t *testing.T) {
	t.Parallel()
	k := kill(t)
	b, err := os.ReadFile(k.spool())
	if err != nil {
		t.Fatal(err)
	}
	b[frames(t, b)[3][0]+150_000] ^= 1
	if err := os.WriteFile(k.spool(), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := drive.Resume(t.Context(), k.cfg, k.run, drive.Opening{}); !errors.Is(err, drive.ErrDamaged) {
		t.Fatalf("Resume = %v, want %v", err, drive.ErrDamaged)
	}
	s, err := drive.Resume(t.Context(), k.cfg, k.run, drive.Opening{})
	if err != nil {
		t.Fatalf("Resume again = %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	verify(t, k.store, k.run)
}

// Whichever bit of what was staged is another one: the run can be recovered,
// and its ledger verifies.
func TestNoDamageStopsTheRecovery(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // places to damage
	for range 40 {
		k := kill(t)
		b, err := os.ReadFile(k.spool())
		if err != nil {
			t.Fatal(err)
		}
		at := frames(t, b)
		list := append(append([]int{}, at[0]...), append(at[1], at[3]...)...)
		where := min(list[rng.IntN(len(list))]+rng.IntN(600), len(b)-1) // where what is not the request stands
		b[where] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(k.spool(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := drive.Recover(context.Background(), k.cfg); err != nil {
			t.Fatalf("byte %d: Recover = %v", where, err)
		}
		verify(t, k.store, k.run)
		if at, err := k.store.At(t.Context(), k.run); err != nil || at == (ledger.Position{}) {
			t.Errorf("byte %d: the run stands at %v, %v", where, at, err)
		}
	}
}
