package openthymos_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// list returns the entries of the vectors as a file of their own, and where
// each begins and ends in it.
func list(t testing.TB) (file []byte, from, to []int) {
	t.Helper()
	file = append(file, "[\n"...)
	for i, e := range valid(t).Entries {
		if i > 0 {
			file = append(file, ",\n "...)
		}
		from = append(from, len(file))
		file = append(file, e.JSON...)
		to = append(to, len(file))
	}
	return append(file, "\n]\n"...), from, to
}

// flipped reports an error if one flipped bit is not found where it is.
func flipped(t rapid.TB, file []byte, from, to []int, at, bit int, opts *openthymos.Options) {
	t.Helper()
	file[at] ^= 1 << bit
	defer func() { file[at] ^= 1 << bit }()
	read, err := openthymos.Read(file)
	if err != nil {
		if fault.ClassOf(err) != fault.ClassInvalid || at > 0 {
			t.Errorf("byte %d, bit %d: Read: %v", at, bit, err)
		}
		return
	}
	r, err := openthymos.Verify(read.All(), opts)
	if err != nil {
		t.Errorf("byte %d, bit %d: %v", at, bit, err)
		return
	}
	found := ""
	for _, f := range r.Strict.Findings {
		// A flip between two entries is found at the second.
		i := int(f.N)
		if i >= 0 && i < len(from) && at < to[i] && (i == 0 || at >= to[i-1]) || i == len(from) && at >= to[i-1] {
			return
		}
		found += f.Code.Error() + " "
	}
	t.Errorf("byte %d, bit %d: not found at its entry; findings: %s", at, bit, found)
}

// Any flipped bit of a ledger that strict accepts is found at its entry, also
// without a key: what is not hashed is said twice.
func TestEveryFlippedBitIsFoundAtItsEntry(t *testing.T) {
	t.Parallel()
	file, from, to := list(t)
	opts := &openthymos.Options{Head: &openthymos.Head{ID: id(t, lastID)}}
	if r := verify(t, ledgerOf(t, file).All(), opts); !r.Strict.Accepted {
		t.Fatalf("the ledger itself: %+v", r.Strict.Findings)
	}
	for at := range file {
		flipped(t, file, from, to, at, at%8, opts)
	}
	rapid.Check(t, func(t *rapid.T) {
		at, bit := rapid.IntRange(0, len(file)-1).Draw(t, "byte"), rapid.IntRange(0, 7).Draw(t, "bit")
		flipped(t, bytes.Clone(file), from, to, at, bit, opts)
	})
}

// What is cut off, exchanged, repeated or left out is found under an anchor.
func TestEntriesAreFixedByAnAnchor(t *testing.T) {
	t.Parallel()
	whole := valid(t).Entries
	ids := make([]canon.Digest, 8)
	for i, e := range whole {
		v, err := canon.Parse(e.JSON)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id(t, v.Get("id").Str())
	}
	anchor := openthymos.NewAnchor(id(t, traj), ids)
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.SliceOfN(rapid.IntRange(0, 7), 0, 9).Draw(t, "places")
		var entries []openthymos.Entry
		same := len(places) == 8
		for i, p := range places {
			entries = append(entries, whole[p])
			same = same && i == p
		}
		r, err := openthymos.Verify(slice(entries), &openthymos.Options{Anchor: &anchor})
		if err != nil {
			t.Fatal(err)
		}
		if r.Strict.Accepted != same {
			t.Errorf("entries %v: accepted %v", places, r.Strict.Accepted)
		}
	})
}

func FuzzVerify(f *testing.F) {
	file, _, _ := list(f)
	f.Add(file)
	for _, name := range []string{"ledger_valid.json", "ledger_branch.json"} {
		f.Add(readFile(f, name))
	}
	f.Add([]byte(`{"id":"","payload":{"type":"root","type":"root"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		read, err := openthymos.Read(b)
		if err != nil {
			if c := fault.CodeOf(err); !errors.Is(err, openthymos.ErrNotLedger) && !errors.Is(err, openthymos.ErrTooLarge) {
				t.Fatalf("Read = %v, a code that it does not document", c)
			}
			return
		}
		r, err := openthymos.Verify(read.All(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// Strict believes nothing that OpenThymos refuses, but for what a
		// change of its format or its limit of depth made unreadable to it.
		if r.Strict.Accepted && !r.Compat.Accepted && !errors.Is(r.Compat.Findings[0].Code, openthymos.ErrHashMismatch) &&
			!strings.HasSuffix(r.Compat.Text, "recursion limit exceeded") {
			t.Errorf("strict accepts what OpenThymos refuses: %s", r.Compat.Text)
		}
		_ = r.Value().String()
		_ = r.Replay().Value()
	})
}
