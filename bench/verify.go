package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/reprise-dev/reprise/kernel/bundle"
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
	jsonFile, err := json.bundle()
	if err != nil {
		return err
	}
	opaqueFile, err := opaque.bundle()
	if err != nil {
		return err
	}
	got, err := interleave(
		b.rounds,
		rate(n, json.hash),
		rate(n, opaque.hash),
		rate(n, func() error { return b.checkBundle(jsonFile, json) }),
		rate(n, func() error { return b.checkBundle(opaqueFile, opaque) }),
		rate(n, func() error { return b.check(json.evidence()) }),
		rate(n, func() error { return b.check(opaque.evidence()) }),
		rate(n, func() error { return b.check(json.stored(b.ctx, store)) }),
	)
	if err != nil {
		return err
	}
	for i, c := range []struct {
		name string
		bar  float64
		hash int
	}{
		{"verify a bundle, JSON body of 1 KB", 150e3, 0},
		{"verify a bundle, 200-byte body and an attachment", 250e3, 1},
		{"verify in memory, JSON body of 1 KB", 150e3, 0},
		{"verify in memory, 200-byte body and an attachment", 250e3, 1},
		{"verify from SQLite, JSON body of 1 KB", 100e3, 0},
	} {
		b.add(row{
			name: c.name, got: median(got[2+i]), unit: "/s", bar: atLeast(c.bar),
			beside: "SHA-256 of the same bytes: " + amount(median(got[c.hash]), "/s"),
		})
	}
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

// checkBundle opens a bundle that is in memory, which reads it once, and
// verifies it, which reads it again.
func (b *bench) checkBundle(file []byte, s *sample) error {
	f, err := bundle.Parse(file)
	if err != nil {
		return err
	}
	if d := f.Damage(); d != nil {
		return fmt.Errorf("the bundle is damaged: %s", d.Msg)
	}
	return b.check(f.Evidence(s.run))
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
