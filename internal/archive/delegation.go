package archive

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// ErrDelegation means that a run and the run that it delegated to do not name
// each other, or that the child does not hold what its parent took from it.
// One of the two was exchanged or changed: trust neither.
const ErrDelegation fault.Integrity = "archive.broken_delegation"

const (
	maxDelegated = 10_000 // children that a run may have, and that one verification follows
	maxTree      = 64     // how deep delegation may go
)

// delegation is what a run says of a child: a call, and an outcome that names
// the last entry of the run that answered it (T-41).
type delegation struct {
	call    ledger.Ref // zero id: its entry is withheld
	outcome int64
	child   ledger.Ref
}

// watch sees the entries of a run in the pass of its verification. It notes
// what was delegated and hands them on to the engine's check.
type watch struct {
	run       ledger.RunID
	check     ledger.Check // may be nil
	calls     map[int64]canon.Digest
	delegated []delegation
}

// Entry implements [ledger.Check].
func (w *watch) Entry(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	switch h.Kind {
	case ledger.KindCall:
		w.calls[h.N] = e.ID
	case ledger.KindOutcome:
		if err := w.outcome(e, h, f); err != nil {
			return err
		}
	default:
	}
	if w.check == nil {
		return nil
	}
	return w.check.Entry(e, h, f)
}

// End implements [ledger.Check].
func (w *watch) End(f *ledger.Findings) {
	if w.check != nil {
		w.check.End(f)
	}
}

func (w *watch) outcome(e *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	n := callOf(e.Body)
	id := w.calls[n]
	delete(w.calls, n)
	if !bytes.Contains(e.Body, []byte(`"child":`)) {
		return nil
	}
	o, err := ledger.Parse(e)
	if err != nil {
		return nil //nolint:nilerr // verification says what is wrong with it
	}
	refs := o.Body.Get("refs")
	call, ok := refs.Get("call").AsInt()
	if !ok || !refs.Has("child") {
		return nil
	}
	if call != n {
		id = canon.Digest{}
	}
	f.Checked(ledger.PhasePins, 1)
	ref, err := ledger.ParseRef(refs.Get("child"))
	switch {
	case err != nil:
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrDelegation, N: h.N, Where: "refs/child", Msg: fault.Text(err)})
	case len(w.delegated) < maxDelegated:
		w.delegated = append(w.delegated, delegation{call: ledger.Ref{Run: w.run, N: call, ID: id}, outcome: h.N, child: ref})
	default:
		f.Fail(ledger.PhasePins, ledger.Finding{Code: ErrDelegation, N: h.N, Where: "refs/child", Msg: fmt.Sprintf("the run delegated more than %d times", maxDelegated)})
	}
	return nil
}

// callOf returns the number of the call that an outcome names, or -1. A
// canonical outcome has nothing but its status behind refs, and call first in
// them, so that the body of every outcome need not be parsed.
func callOf(body []byte) int64 {
	const call = `"refs":{"call":`
	i := bytes.LastIndex(body, []byte(call))
	if i < 0 {
		return -1
	}
	digits := body[i+len(call):]
	end := bytes.IndexAny(digits, ",}")
	n, err := strconv.ParseInt(string(digits[:max(end, 0)]), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// child is a delegation that was followed.
type child struct {
	delegation
	s      *standing       // nil if it is absent or was not followed
	broken *ledger.Finding // of the parent: that the two do not name each other
	absent bool
	open   bool // it was not sealed, and neither was its parent: both may go on
	failed bool // it, what it stands on, or the binding
}

// follow verifies the children of s and of what it stands on, and theirs:
// every one under its own manifests (T-43). A child comes after its parent.
func (x *verifier) follow(ctx context.Context, s *standing, depth int) error {
	x.above[s.run] = true
	defer delete(x.above, s.run)
	for _, run := range s.lineage() {
		for _, d := range run.delegated {
			if err := x.child(ctx, d, s.v.Sealed, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *verifier) child(ctx context.Context, d delegation, ended bool, depth int) error {
	known := x.trees[d.child.Run]
	if known != nil && known.delegation == d {
		return nil // a branch and its source have it in common
	}
	c := &child{delegation: d}
	x.lines = append(x.lines, c)
	fail := func(format string, args ...any) {
		c.failed, c.broken = true, &ledger.Finding{Code: ErrDelegation, N: d.outcome, Where: "refs/child", Expected: named(d.child), Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case depth >= maxTree || len(x.lines) > maxDelegated:
		fail("more than %d delegations, or more than %d deep", maxDelegated, maxTree)
		return nil
	case x.above[d.child.Run]:
		fail("the delegations go in a circle")
		return nil
	case known != nil:
		fail("entry %d of run %s names the same child", known.outcome, known.call.Run)
		return nil
	}
	x.trees[d.child.Run] = c
	there, err := x.from.has(ctx, d.child.Run)
	if err != nil {
		return err
	}
	if !there {
		if c.absent = true; !x.from.lenient() {
			fail("the child is not in the store")
		}
		return nil
	}
	if c.s, err = x.stand(ctx, part{run: d.child.Run, expect: upTo(d.child).expect}); err != nil {
		return err
	}
	c.s.v.World = ledger.World{} // nobody folds on it
	x.bound(c, ended, fail)
	c.failed = c.failed || len(c.s.failed()) > 0
	return x.follow(ctx, c.s, depth+1)
}

// bound checks that the child names the call that it answers, and that it
// ended if its parent did. While the parent goes on, its child may wait.
func (x *verifier) bound(c *child, ended bool, fail func(string, ...any)) {
	if c.s.open == nil {
		return // withheld, or its verification failed
	}
	parent, err := ledger.ParseRef(c.s.open.Body.Get("refs").Get("parent"))
	call := c.call
	if call.ID == (canon.Digest{}) && x.absent[call.Run] > 0 {
		call.ID = parent.ID // the call may be withheld; then the verdict is partial
	}
	switch {
	case err != nil:
		fail("the child names no parent")
	case parent != call:
		fail("the child names another parent")
		c.broken.Expected, c.broken.Found = named(call), named(parent)
	case !c.s.v.Sealed && !ended:
		c.open = true
	case !c.s.v.Sealed && len(c.s.failed()) == 0:
		fail("the child was not sealed: its end was cut off, or it never ended")
	}
}

// delegations puts what became of the children into the verification of s,
// and returns their lines.
func (x *verifier) delegations(s *standing) canon.Value {
	list := []canon.Value{}
	for _, c := range x.lines {
		asked := x.opts.asked()
		switch {
		case c.absent && !c.failed:
			s.v.Withheld++
			remark(s.v, "partial: entry %d of run %s delegated to run %s, which is not here", c.call.N, c.call.Run, c.child.Run)
		case c.open && !c.failed:
			s.v.Withheld++
			remark(s.v, "partial: entry %d of run %s delegated to run %s, which is not done yet", c.call.N, c.call.Run, c.child.Run)
		case !c.failed:
			remark(s.v, "entry %d of run %s delegated to run %s, which holds: level %s, %d entries", c.call.N, c.call.Run, c.child.Run, c.s.v.Level, c.s.v.At.Count)
		default:
		}
		if c.broken != nil {
			s.v.Fail(ledger.PhasePins, elsewhere(s.run, c.call.Run, *c.broken))
		}
		if c.s != nil {
			for _, run := range c.s.failed() {
				blame(s.v, run)
			}
			if c.s.v.Level < s.v.Level && !s.v.Failed() {
				remark(s.v, "level %s: run %s, to which was delegated, gives no more", c.s.v.Level, c.child.Run)
				s.v.Level = c.s.v.Level
			}
		}
		list = append(list, c.value(asked))
	}
	return canon.Array(list...)
}

// value returns the line of a child in the report.
func (c *child) value(asked ledger.Level) canon.Value {
	v := c.delegation.value()
	switch {
	case c.failed:
		v = v.With("verdict", canon.String(string(replay.Failed)))
	case c.absent:
		return v.With("verdict", canon.String("absent"))
	default:
		v = v.With("verdict", canon.String(string(replay.OfVerification(c.s.v, asked).Verdict)))
	}
	if c.s == nil {
		return v
	}
	v = v.With("level", canon.Int(int64(c.s.v.Level))).
		With("entries", canon.Int(c.s.v.At.Count)).
		With("sealed", canon.Bool(c.s.v.Sealed))
	if d := c.s.detail(); !d.IsZero() {
		v = v.With("detail", d)
	}
	return v
}

// value identifies a child (T-42).
func (d delegation) value() canon.Value {
	return canon.Object(
		canon.M("run", canon.String(string(d.child.Run))),
		canon.M("last", d.child.Value()),
		canon.M("parent", d.call.Value()),
	)
}

// identify says which runs s delegated to without looking at them (T-42).
func (s *standing) identify() canon.Value {
	list := []canon.Value{}
	for _, run := range s.lineage() {
		for _, d := range run.delegated {
			remark(s.v, "entry %d of run %s delegated to run %s, which was not followed", d.call.N, d.call.Run, d.child.Run)
			list = append(list, d.value())
		}
	}
	return canon.Array(list...)
}

// detail returns what the engine's check says beside findings, if it says so.
func (s *standing) detail() canon.Value {
	if d, ok := s.check.(Detailer); ok {
		return d.Detail()
	}
	return canon.Value{}
}
