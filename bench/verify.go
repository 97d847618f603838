package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// verify measures verification on one core.
func (b *bench) verify() error { return oneCore(b.verifyRows) }

func (b *bench) verifyRows() error {
	n := 20000
	if b.quick {
		n = 10000
	}
	json, err := newSample(shape{entries: n, body: 1 << 10})
	if err != nil {
		return err
	}
	opaque, err := newSample(shape{entries: n, body: 200, attachment: 824})
	if err != nil {
		return err
	}
	store, err := sqlite.Open(b.ctx, filepath.Join(b.dir, "verify.db"), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := json.storeIn(b.ctx, store); err != nil {
		return err
	}
	got, err := interleave(
		b.rounds,
		rate(n, func() error { return b.check(json.evidence()) }),
		rate(n, func() error { return b.check(opaque.evidence()) }),
		rate(n, func() error { return b.check(json.stored(b.ctx, store)) }),
		rate(n, json.hash),
		rate(n, opaque.hash),
	)
	if err != nil {
		return err
	}
	limit := func(i int) string {
		return "SHA-256 of the same bytes: " + amount(median(got[i]), "/s")
	}
	b.add(row{name: "verify, memory, JSON body of 1 KB", got: median(got[0]), unit: "/s", bar: atLeast(150e3), beside: limit(3)})
	b.add(row{name: "verify, memory, 200-byte body and an attachment", got: median(got[1]), unit: "/s", bar: atLeast(250e3), beside: limit(4)})
	b.add(row{name: "verify, SQLite, JSON body of 1 KB", got: median(got[2]), unit: "/s", bar: atLeast(100e3), beside: limit(3)})
	return b.verifyShares(n / 5)
}

// verifyShares compares verification with hashing alone.
func (b *bench) verifyShares(n int) error {
	for _, c := range []struct {
		name  string
		shape shape
		bar   float64
	}{
		{"verify as a share of SHA-256, JSON body of 10 KB", shape{entries: n, body: 10 << 10}, 0.2},
		{"verify as a share of SHA-256, attachment of 10 KB", shape{entries: n, body: 200, attachment: 10<<10 - 200}, 0.6},
	} {
		s, err := newSample(c.shape)
		if err != nil {
			return err
		}
		got, err := interleave(
			b.rounds,
			rate(n, func() error { return b.check(s.evidence()) }),
			rate(n, s.hash),
		)
		if err != nil {
			return err
		}
		b.add(row{
			name: c.name, got: ratio(got[0], got[1]), bar: atLeast(c.bar),
			beside: fmt.Sprintf("%.0f MB/s of %.0f MB/s", s.megabytes()/float64(n)*median(got[0]), s.megabytes()/float64(n)*median(got[1])),
		})
	}
	return nil
}

func (b *bench) check(ev ledger.Evidence) error {
	v, err := ledger.Verify(b.ctx, ev)
	if err != nil {
		return err
	}
	if f := v.First(); f != nil {
		return fmt.Errorf("entry %d: %s: %s", f.N, f.Code, f.Msg)
	}
	return nil
}

// hash is what no verification can be faster than.
func (s *sample) hash() error {
	var x byte
	for _, b := range s.bytes {
		sum := sha256.Sum256(b)
		x |= sum[0]
	}
	if x == 0 {
		return fmt.Errorf("%d digests begin with a zero byte", len(s.bytes))
	}
	return nil
}

func (s *sample) megabytes() float64 {
	n := 0
	for _, b := range s.bytes {
		n += len(b)
	}
	return float64(n) / 1e6
}
