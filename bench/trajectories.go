package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// What Thymos publishes of itself: on macOS and arm64, 1 root and 1,000
// commits, whose signatures are not checked.
const (
	thymosVerify = 12_400  // entries a second
	thymosFold   = 656_000 // commits a second
)

// trajectories measures the verification of the workloads on one core.
func (b *bench) trajectories() error {
	return oneCore(func() error {
		for _, w := range workloads() {
			if b.quick && w.entries > 10_000 {
				continue
			}
			if err := b.workload(w); err != nil {
				return fmt.Errorf("ledger-%s: %w", w.name, err)
			}
		}
		return nil
	})
}

// made is a workload on disk.
type made struct {
	workload
	trunk, rest string
	calls       []int64 // by which the delegates were handed their charters
}

// pass is what verification looks at beside the kernel's own checks.
type pass int

const (
	passKernel   pass = iota // hashes, chain, tree and fold
	passUnsigned             // and the audit, but for signatures
	passAudit                // and signatures
)

func (b *bench) workload(w workload) error {
	m := &made{workload: w, trunk: filepath.Join(b.dir, w.name+".trunk"), rest: filepath.Join(b.dir, w.name+".rest")}
	began := time.Now()
	var err error
	if m.calls, err = w.make(m.trunk, m.rest); err != nil {
		return err
	}
	fmt.Printf("-  ledger-%s: %d entries written in %s\n", w.name, w.entries, time.Since(began).Round(time.Millisecond))
	times, rounds := max(1, 10_000/w.entries), b.rounds // a small ledger is verified often, so that a clock can see it
	if w.entries > 10_000 {
		rounds = 1
	}
	heap := make([]uint64, 3)
	verify := func(p pass) func() (float64, error) {
		return rate(times*w.entries, func() error {
			for range times {
				high, err := b.verifyMade(m, p)
				if err != nil {
					return err
				}
				heap[p] = max(heap[p], high)
			}
			return nil
		})
	}
	got, err := interleave(rounds,
		rate(times*w.entries, func() error {
			for range times {
				if err := m.hash(); err != nil {
					return err
				}
			}
			return nil
		}),
		verify(passKernel), verify(passUnsigned), verify(passAudit),
		func() (float64, error) { return m.fold() },
	)
	if err != nil {
		return err
	}
	hash, name := median(got[0]), "ledger-"+w.name+", "
	beside := func(v float64) string {
		return fmt.Sprintf("%.2f of SHA-256 of the same bytes (%s), %.1f times Thymos's published 12.4k/s", v/hash, amount(hash, "/s"), v/thymosVerify)
	}
	kernel, unsigned, audit := median(got[1]), median(got[2]), median(got[3])
	commits := float64(w.commits) / float64(w.entries)
	b.add(row{name: name + "verify and fold", got: kernel, unit: "/s", beside: beside(kernel)})
	b.add(row{name: name + "and audit but for signatures", got: unsigned, unit: "/s", beside: beside(unsigned)})
	b.add(row{name: name + "the same, commits", got: commits * unsigned, unit: "/s", bar: atLeast(60e3), beside: fmt.Sprintf("of %d entries %d are commits", w.entries, w.commits)})
	b.add(row{name: name + "and audit, all signatures", got: audit, unit: "/s", bar: atLeast(thymosVerify), beside: beside(audit)})
	fold := median(got[4])
	b.add(row{name: name + "fold of commits alone", got: fold, unit: "/s", bar: atLeast(thymosFold), beside: fmt.Sprintf("%.1f times Thymos's published 656k/s", fold/thymosFold)})
	b.add(row{name: name + "heap in use at its highest", got: float64(heap[passAudit]) / 1e6, unit: "MB", beside: fmt.Sprintf("without the audit %.2f MB", float64(heap[passKernel])/1e6)})
	return nil
}

func (m *made) hash() error {
	for _, path := range []string{m.trunk, m.rest} {
		f, err := openFile(path)
		if err != nil {
			return err
		}
		defer f.close()
		if err := f.hashAll(); err != nil {
			return err
		}
	}
	return nil
}

// verifyMade verifies all runs of a workload: the long one, its delegates each
// under the charter that it was handed, and its branches each on the world
// that it left. It returns the high-water mark of the heap.
func (b *bench) verifyMade(m *made, p pass) (heap uint64, err error) {
	if m.entries > 10_000 {
		runtime.GC() // what was there before is not of this pass
	}
	trunk, err := openFile(m.trunk)
	if err != nil {
		return 0, err
	}
	defer trunk.close()
	source, v, err := b.verifyRun(trunk, p, nil, nil)
	if err != nil {
		return 0, err
	}
	rest, err := openFile(m.rest)
	if err != nil {
		return 0, err
	}
	defer rest.close()
	sum := source.Summary()
	for i := range m.branches + m.delegations {
		var law *canon.Digest
		var base *ledger.World
		if i >= m.delegations {
			base = &v.World
		} else if p != passKernel {
			d, ok := source.Handed(m.calls[i])
			if !ok {
				return 0, fmt.Errorf("delegate %d was handed no charter", i)
			}
			law = &d
		}
		a, _, err := b.verifyRun(rest, p, law, base)
		if err != nil {
			return 0, fmt.Errorf("run %d: %w", i, err)
		}
		s := a.Summary()
		sum.Entries, sum.Commits, sum.Branches = sum.Entries+s.Entries, sum.Commits+s.Commits, sum.Branches+s.Branches
	}
	if _, err := rest.r.ReadByte(); !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("there are more runs than were made: %w", err)
	}
	seen := workload{
		m.name, int(sum.Entries), int(sum.Commits), int(sum.Pending), int(sum.Rejections), int(sum.Branches), int(sum.Delegations), m.workload.rest,
	}
	if p != passKernel && seen != m.workload {
		return 0, fmt.Errorf("verified %+v, made %+v", seen, m.workload)
	}
	return max(trunk.heap, rest.heap), nil
}

func (b *bench) verifyRun(f *fileReader, p pass, law *canon.Digest, base *ledger.World) (*trajectory.Audit, *ledger.Verification, error) {
	audit := trajectory.NewAudit(trajectory.Pins{Compiler: trajectory.CompilerVersion, Law: law, SkipSignatures: p == passUnsigned})
	ev := ledger.Evidence{Entries: f.run(), Attachment: f.attachment, Base: base}
	if p != passKernel {
		ev.Check = audit
	}
	var err error
	if ev.Run, err = f.runID(); err != nil {
		return nil, nil, err
	}
	v, err := ledger.Verify(b.ctx, ev)
	if err != nil {
		return nil, nil, err
	}
	if x := v.First(); x != nil {
		return nil, nil, fmt.Errorf("entry %d, %s: %s: %s (expected %s, found %s)", x.N, x.Where, x.Code, x.Msg, x.Expected, x.Found)
	}
	if !v.Sealed {
		return nil, nil, errors.New("the run is not sealed")
	}
	return audit, v, nil
}

// foldMax is how many commits are folded at most: their deltas stand in memory.
const foldMax = 100_000

// fold applies deltas that are parsed already, as Thymos measures it, and
// returns how many commits a second.
func (m *made) fold() (float64, error) {
	f, err := openFile(m.trunk)
	if err != nil {
		return 0, err
	}
	defer f.close()
	if _, err := f.runID(); err != nil {
		return 0, err
	}
	var deltas [][]ledger.Change
	for e, err := range f.run() {
		if err != nil {
			return 0, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return 0, err
		}
		if o.Kind != ledger.KindCommit {
			continue
		}
		d, err := ledger.ParseDelta(o.Body.Get("delta"))
		if err != nil {
			return 0, err
		}
		if deltas = append(deltas, d); len(deltas) == foldMax {
			break
		}
	}
	times := max(1, 10_000/len(deltas))
	began := time.Now()
	for range times {
		var w ledger.World
		for _, d := range deltas {
			for _, c := range d {
				if err := w.Apply(c, nil); err != nil {
					return 0, err
				}
			}
		}
	}
	return float64(times*len(deltas)) / time.Since(began).Seconds(), nil
}
