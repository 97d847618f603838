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
	size        int64   // of headers, bodies and attachments
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
	var figures [passAudit + 1][]verified // by pass, of each round
	verify := func(p pass) func() (float64, error) {
		return func() (float64, error) {
			var sum verified
			for range times {
				v, err := b.verifyMade(m, p)
				if err != nil {
					return 0, err
				}
				sum.all, sum.trunk, sum.heap = sum.all+v.all, sum.trunk+v.trunk, max(sum.heap, v.heap)
			}
			figures[p] = append(figures[p], sum)
			return float64(times*w.entries) / sum.all.Seconds(), nil
		}
	}
	got, err := interleave(rounds, func() (float64, error) {
		began := cpuTime()
		for range times {
			if err := m.hash(); err != nil {
				return 0, err
			}
		}
		return float64(times*w.entries) / (cpuTime() - began).Seconds(), nil
	}, verify(passKernel), verify(passUnsigned), verify(passAudit), m.fold)
	if err != nil {
		return err
	}
	b.trajectoryRows(m, got, times, figures)
	return nil
}

func (b *bench) trajectoryRows(m *made, got [][]float64, times int, figures [passAudit + 1][]verified) {
	hash, name := median(got[0]), "ledger-"+m.name+", "
	for p, what := range []string{"verify and fold", "and audit, but for signatures", "and audit, with all signatures"} {
		v := median(got[p+1])
		r := row{name: name + what, got: v, unit: "/s", beside: fmt.Sprintf(
			"%.2f of SHA-256 of the same bytes (%s), %.1f times the 12.4k/s that Thymos publishes", v/hash, amount(hash, "/s"), v/thymosVerify)}
		if pass(p) == passAudit {
			r.bar = atLeast(thymosVerify)
		}
		b.add(r)
	}
	for p, what := range []string{"", "signatures aside", "signatures too"} {
		if pass(p) == passKernel {
			continue
		}
		var rates []float64
		for _, v := range figures[p] {
			rates = append(rates, float64(times*m.trunkCommits())/v.trunk.Seconds())
		}
		r := row{name: name + "commits of the long run, " + what, got: median(rates), unit: "/s", beside: "whatever stands between them included"}
		if pass(p) == passUnsigned && m.entries >= 10_000 { // of a small one the charter is the most
			r.bar = atLeast(60e3)
		}
		b.add(r)
	}
	fold := median(got[4])
	b.add(row{
		name: name + "fold of commits alone", got: fold, unit: "/s", bar: atLeast(thymosFold),
		beside: fmt.Sprintf("%.1f times the 656k/s that Thymos publishes", fold/thymosFold),
	})
	high := func(p pass) (mb float64) {
		for _, v := range figures[p] {
			mb = max(mb, float64(v.heap)/1e6)
		}
		return mb
	}
	b.add(row{
		name: name + "highest heap in use", got: high(passAudit), unit: "MB",
		beside: fmt.Sprintf("of %.1f MB that are verified; without the audit %.1f MB", float64(m.size)/1e6, high(passKernel)),
	})
}

func (m *made) hash() error {
	size := int64(0)
	for _, path := range []string{m.trunk, m.rest} {
		f, err := openFile(path)
		if err != nil {
			return err
		}
		defer f.close()
		if err := f.hashAll(); err != nil {
			return err
		}
		size += f.size
	}
	m.size = size
	return nil
}

// verified says what a verification took, in time of the processor: the machine
// may be busy, and one core is measured.
type verified struct {
	all, trunk time.Duration
	heap       uint64 // high-water mark
}

// verifyMade verifies all runs of a workload: the long one, its delegates each
// under the charter that it was handed, and its branches each on the world
// that it left.
func (b *bench) verifyMade(m *made, p pass) (out verified, err error) {
	if m.entries >= 10_000 {
		runtime.GC() // what was there before is not of this pass
	}
	began := cpuTime()
	trunk, err := openFile(m.trunk)
	if err != nil {
		return out, err
	}
	defer trunk.close()
	source, v, err := b.verifyRun(trunk, p, nil, nil)
	if err != nil {
		return out, err
	}
	out.trunk = cpuTime() - began
	rest, err := openFile(m.rest)
	if err != nil {
		return out, err
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
				return out, fmt.Errorf("delegate %d was handed no charter", i)
			}
			law = &d
		}
		a, _, err := b.verifyRun(rest, p, law, base)
		if err != nil {
			return out, fmt.Errorf("run %d: %w", i, err)
		}
		s := a.Summary()
		sum.Entries, sum.Commits, sum.Branches = sum.Entries+s.Entries, sum.Commits+s.Commits, sum.Branches+s.Branches
	}
	if _, err := rest.r.ReadByte(); !errors.Is(err, io.EOF) {
		return out, fmt.Errorf("there are more runs than were made: %w", err)
	}
	seen := workload{
		m.name, int(sum.Entries), int(sum.Commits), int(sum.Pending), int(sum.Rejections), int(sum.Branches), int(sum.Delegations), m.workload.rest,
	}
	if p != passKernel && seen != m.workload {
		return out, fmt.Errorf("verified %+v, made %+v", seen, m.workload)
	}
	out.all, out.heap = cpuTime()-began, max(trunk.heap, rest.heap)
	return out, nil
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
	began := cpuTime()
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
	return float64(times*len(deltas)) / (cpuTime() - began).Seconds(), nil
}
