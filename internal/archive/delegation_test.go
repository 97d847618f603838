package archive_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store/memory"
)

// begin opens a run; a parent is the call that it answers.
func begin(name string, parent *ledger.Ref) *bundletest.Ledger {
	l := bundletest.New(name)
	refs := canon.Object()
	if parent != nil {
		refs = refs.With("parent", parent.Value())
	}
	l.Append(ledger.KindOpen, bundletest.Object(`{"data":{"trajectory":"%s"},"engine":"test","mode":"run"}`, name), refs)
	l.Head(bundletest.Key("head"))
	return l
}

func ask(l *bundletest.Ledger) ledger.Ref {
	return l.Append(ledger.KindCall, bundletest.Object(`{"class":"external","kind":"delegation","match":"m%d","name":"child","occurrence":0}`, l.At.Count), canon.Value{}, bundletest.Text("task", "count"))
}

func answer(l *bundletest.Ledger, call, child ledger.Ref) {
	l.Append(ledger.KindOutcome, bundletest.Object(`{"status":"ok"}`), canon.Object(canon.M("call", canon.Int(call.N)), canon.M("child", child.Value())))
}

func seal(l *bundletest.Ledger) ledger.Ref {
	ref := l.Append(ledger.KindSeal, bundletest.Object(`{"status":"done"}`), canon.Value{})
	l.Head(bundletest.Key("head"))
	return ref
}

// tree returns a run, two runs that it delegated to, and one that the first of
// them delegated to. The parents name the last entry but for the second child,
// which went on.
func tree() (root, left, right, leaf *bundletest.Ledger) {
	root = begin("root", nil)
	l, r := ask(root), ask(root)
	left = begin("left", &l)
	c := ask(left)
	leaf = begin("leaf", &c)
	put(leaf, 0, "hello")
	answer(left, c, seal(leaf))
	answer(root, l, seal(left))
	right = begin("right", &r)
	put(right, 0, "hello")
	answer(root, r, at(right, 1))
	put(right, 1, "hi")
	seal(right)
	seal(root)
	return root, left, right, leaf
}

func deep() *archive.VerifyOptions {
	return &archive.VerifyOptions{Roots: roots, Delegations: true}
}

func children(r *replay.Report) []canon.Value {
	return r.Detail.Get("delegations").Elems()
}

// spec: T-41, T-43
func TestTheTreeOfDelegationsIsFollowed(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	r := looks(t, deep(), root, left, right, leaf)
	wantVerdict(t, r, nil, replay.Verified, ledger.LevelSigned)
	var got []string
	for _, c := range children(r) {
		n, _ := c.Get("entries").AsInt()
		level, _ := c.Get("level").AsInt()
		got = append(got, fmt.Sprintf("%s under %s: %s, level %d, %d entries", c.Get("run").Str(), c.Get("parent").Get("run").Str(), c.Get("verdict").Str(), level, n))
	}
	want := []string{
		fmt.Sprintf("%s under %s: verified, level 1, 4 entries", left.Run, root.Run),
		fmt.Sprintf("%s under %s: verified, level 1, 3 entries", leaf.Run, left.Run),
		fmt.Sprintf("%s under %s: verified, level 1, 4 entries", right.Run, root.Run),
	}
	if !slices.Equal(got, want) {
		t.Errorf("children = %q, want %q", got, want)
	}
	for _, l := range []*bundletest.Ledger{left, right, leaf} {
		if !remarked(r, fmt.Sprintf("delegated to run %s, which holds", l.Run)) {
			t.Errorf("remarks %q do not name %s", r.Remarks, l.Run)
		}
	}
}

// spec: T-42
func TestAParentSaysThatItDelegatedAndToWhom(t *testing.T) {
	t.Parallel()
	root, _, _, _ := tree()
	r := looks(t, &archive.VerifyOptions{Roots: roots}, root) // the children are not even there
	wantVerdict(t, r, nil, replay.Verified, ledger.LevelSigned)
	var got []string
	for _, c := range children(r) {
		got = append(got, c.Get("run").Str())
		if c.Has("verdict") || !remarked(r, fmt.Sprintf("delegated to run %s, which was not followed", c.Get("run").Str())) {
			t.Errorf("the child is %v, the remarks %q", c, r.Remarks)
		}
	}
	if want := []string{string(bundletest.RunID("left")), string(bundletest.RunID("right"))}; !slices.Equal(got, want) {
		t.Errorf("children = %q, want %q", got, want)
	}
}

func TestAChildThatIsNotThere(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	for _, c := range []struct {
		name  string
		list  []*bundletest.Ledger
		place string
		gone  *bundletest.Ledger
	}{
		{"a child", []*bundletest.Ledger{root, left, leaf}, "entry 4, refs/child", right},
		{"a child's child", []*bundletest.Ledger{root, left, right}, fmt.Sprintf("run %s, entry 2, refs/child", left.Run), leaf},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := archive.VerifyRun(t.Context(), holding(c.list...), root.Run, deep())
			if err != nil {
				t.Fatal(err)
			}
			wantFinding(t, r, ledger.PhasePins, archive.ErrDelegation, c.place)
			raw := bundletest.Bundle(bundle.Options{}, c.list...)
			b, err := bundle.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			r, err = archive.VerifyBundle(t.Context(), b, deep())
			wantVerdict(t, r, err, replay.Partial, ledger.LevelSigned)
			absent := slices.IndexFunc(children(r), func(v canon.Value) bool { return v.Get("verdict").Str() == "absent" })
			if absent < 0 || children(r)[absent].Get("run").Str() != string(c.gone.Run) {
				t.Errorf("children = %v", children(r))
			}
			o := options()
			o.Verify = deep()
			if _, err := doImport(t, memory.New(nil), raw, o); !errors.Is(err, archive.ErrPartial) {
				t.Errorf("Import = %v, want %v", err, archive.ErrPartial)
			}
		})
	}
}

// Whatever is flipped in a child is a failure of its parent, in the run and
// entry where it is.
func TestEveryFlipInAChildIsFoundFromItsParent(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	for i, victim := range []*bundletest.Ledger{left, right, leaf} {
		for n := range victim.Entries {
			e := &victim.Entries[n]
			for at := 0; at < len(e.Header)+len(e.Body)+64; at += stride() {
				l := victim.Clone()
				x := &l.Entries[n]
				switch h, b := len(e.Header), len(e.Body); {
				case at < h:
					x.Header[at] ^= 1
				case at < h+b:
					x.Body[at-h] ^= 1
				case at < h+b+32:
					x.ID[at-h-b] ^= 1
				default:
					x.Salt[at-h-b-32] ^= 1
				}
				list := []*bundletest.Ledger{root, left, right, leaf}
				list[i+1] = l
				r, err := archive.VerifyRun(t.Context(), holding(list...), root.Run, deep())
				if err != nil {
					t.Fatalf("byte %d of entry %d of child %d: %v", at, n, i, err)
				}
				// A broken binding may be found besides, in the parent's entry.
				place := fmt.Sprintf("run %s, entry %d, ", l.Run, n)
				if !slices.ContainsFunc(r.Phases, func(p ledger.Phase) bool {
					return p.First != nil && p.First.N == -1 && len(p.First.Where) > len(place) && p.First.Where[:len(place)] == place
				}) || r.Verdict != replay.Failed || r.Level != ledger.LevelChain {
					t.Fatalf("byte %d of entry %d of child %d: %s, %+v", at, n, i, r.Head(), ledger.First(r.Phases))
				}
			}
		}
	}
}

// remake changes a ledger as the holder of its key can.
func remake(l *bundletest.Ledger, f func(l *bundletest.Ledger)) *bundletest.Ledger {
	c := l.Clone()
	f(c)
	c.Rechain()
	c.Resign(bundletest.Key("head"))
	return c
}

func ref(name string, r ledger.Ref) func(canon.Value) canon.Value {
	return func(v canon.Value) canon.Value { return v.With("refs", v.Get("refs").With(name, r.Value())) }
}

// The holder of the signing key can rebuild any one run. That is found because
// parent and child name each other.
func TestABindingThatWasChangedOnOneSideIsFound(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	other := begin("other", nil)
	seal(other)
	for _, c := range []struct {
		name  string
		list  []*bundletest.Ledger
		code  fault.Code
		place string
	}{
		{
			"the parent names another run",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) { l.Edit(4, ref("child", at(other, 1))) }), left, leaf, other},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the parent names one child twice",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) { l.Edit(4, ref("child", at(left, 3))) }), left, leaf},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the parent names a grandchild",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) { l.Edit(4, ref("child", at(leaf, 2))) }), left, leaf},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the parent names itself",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) { l.Edit(4, ref("child", at(root, 5))) }), left, leaf},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the parent names an entry that its child does not have",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) {
				l.Edit(4, ref("child", ledger.Ref{Run: right.Run, N: 1, ID: right.Entries[2].ID}))
			}), left, leaf, right},
			ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 1, ", right.Run),
		},
		{
			"the parent names no reference",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) {
				l.Edit(4, func(v canon.Value) canon.Value { return v.With("refs", v.Get("refs").With("child", canon.Int(7))) })
			}), left, leaf},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"another call of the parent",
			[]*bundletest.Ledger{remake(root, func(l *bundletest.Ledger) {
				l.Edit(3, ref("child", at(right, 1)))
				l.Edit(4, ref("child", at(left, 3)))
			}), left, leaf, right},
			archive.ErrDelegation, "entry 3, refs/child",
		},
		{
			"the child names another parent",
			[]*bundletest.Ledger{root, left, leaf, remake(right, func(l *bundletest.Ledger) { l.Edit(0, ref("parent", at(left, 1))) })},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the child names no parent",
			[]*bundletest.Ledger{root, left, leaf, remake(right, func(l *bundletest.Ledger) {
				l.Edit(0, func(v canon.Value) canon.Value { return v.Without("refs") })
			})},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the child cut before the place that its parent names",
			[]*bundletest.Ledger{root, left, leaf, remake(right, func(l *bundletest.Ledger) { l.Cut(1) })},
			ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 1, ", right.Run),
		},
		{
			"the child cut behind the place that its parent names",
			[]*bundletest.Ledger{root, left, leaf, remake(right, func(l *bundletest.Ledger) { l.Cut(3) })},
			archive.ErrDelegation, "entry 4, refs/child",
		},
		{
			"the grandchild rebuilt",
			[]*bundletest.Ledger{root, left, right, remake(leaf, func(l *bundletest.Ledger) { l.Edit(1, with("name", `"x"`)) })},
			ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 2, ", leaf.Run),
		},
		{
			"the grandchild cut",
			[]*bundletest.Ledger{root, left, right, remake(leaf, func(l *bundletest.Ledger) { l.Cut(2) })},
			ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 2, ", leaf.Run),
		},
		{
			"the child names another child",
			[]*bundletest.Ledger{root, remake(left, func(l *bundletest.Ledger) { l.Edit(2, ref("child", at(right, 3))) }), right, leaf},
			ledger.ErrExpectedHead, fmt.Sprintf("run %s, entry 3, ", left.Run),
		},
		{
			"the grandchild names another parent",
			[]*bundletest.Ledger{root, left, right, remake(leaf, func(l *bundletest.Ledger) { l.Edit(0, ref("parent", at(root, 1))) })},
			archive.ErrDelegation, fmt.Sprintf("run %s, entry 2, refs/child", left.Run),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := looks(t, deep(), c.list...)
			if r.Verdict != replay.Failed || r.Level != ledger.LevelChain {
				t.Fatalf("%s", r.Head())
			}
			for _, p := range r.Phases {
				f := p.First
				if f == nil || f.Code != c.code {
					continue
				}
				got := f.Where
				if f.N >= 0 {
					got = fmt.Sprintf("entry %d, %s", f.N, f.Where)
				}
				if len(got) >= len(c.place) && got[:len(c.place)] == c.place {
					return
				}
			}
			t.Errorf("first failure %+v; want %v in %q", ledger.First(r.Phases), c.code, c.place)
		})
	}
}

func TestAChildKeepsTheLevelOfTheTreeDown(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	leaf.Heads = nil
	r := looks(t, deep(), root, left, right, leaf)
	wantVerdict(t, r, nil, replay.Below, ledger.LevelChain)
	if !remarked(r, fmt.Sprintf("level 0 chain: run %s", leaf.Run)) {
		t.Errorf("remarks %q", r.Remarks)
	}
	wantVerdict(t, looks(t, &archive.VerifyOptions{Roots: roots}, root), nil, replay.Verified, ledger.LevelSigned)
}

func TestDelegationDeeperThanAllowedIsRefused(t *testing.T) {
	t.Parallel()
	build := func(depth int) []*bundletest.Ledger {
		list := []*bundletest.Ledger{begin("0", nil)}
		calls := []ledger.Ref{ask(list[0])}
		for i := range depth {
			list = append(list, begin(fmt.Sprint(i+1), &calls[i]))
			calls = append(calls, ask(list[i+1]))
		}
		for i := depth; i > 0; i-- {
			if i == depth { // nobody answers the last call
				list[i] = begin(fmt.Sprint(i), &calls[i-1])
			}
			answer(list[i-1], calls[i-1], seal(list[i]))
		}
		return list
	}
	if r := looks(t, deep(), build(64)...); r.Verdict == replay.Failed {
		t.Errorf("64 deep: %s, %+v", r.Head(), ledger.First(r.Phases))
	}
	r := looks(t, deep(), build(65)...)
	wantFinding(t, r, ledger.PhasePins, archive.ErrDelegation, fmt.Sprintf("run %s, entry 2, refs/child", bundletest.RunID("64")))
}

// A branch has what its source delegated before it left in common with it.
func TestABranchAnswersForWhatItsSourceDelegated(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	b := branchOf("b", at(root, 3)) // behind the answer of left, and before that of right
	c := ask(b)
	own := begin("own", &c)
	answer(b, c, seal(own))
	seal(b)
	r := looks(t, deep(), b, root, left, right, leaf, own)
	wantVerdict(t, r, nil, replay.Verified, ledger.LevelSigned)
	var got []ledger.RunID
	for _, c := range children(r) {
		got = append(got, ledger.RunID(c.Get("run").Str()))
	}
	if want := []ledger.RunID{left.Run, leaf.Run, own.Run}; !slices.Equal(got, want) {
		t.Errorf("children = %v, want %v", got, want)
	}
	leaf.Entries[1].Body[4] ^= 1
	r, err := archive.VerifyRun(t.Context(), holding(b, root, left, right, leaf, own), b.Run, deep())
	if err != nil {
		t.Fatal(err)
	}
	wantFinding(t, r, ledger.PhaseHashes, ledger.ErrBindMismatch, fmt.Sprintf("run %s, entry 1, ", leaf.Run))
}

func TestARunIsExportedWithItsChildrenAndNotWithItsParent(t *testing.T) {
	t.Parallel()
	root, left, right, leaf := tree()
	s := holding(root, left, right, leaf)
	for _, c := range []struct {
		of   *bundletest.Ledger
		want []ledger.RunID
	}{
		{root, []ledger.RunID{root.Run, left.Run, right.Run, leaf.Run}},
		{left, []ledger.RunID{left.Run, leaf.Run}},
		{leaf, []ledger.RunID{leaf.Run}},
	} {
		raw := export(t, s, c.of.Run, nil)
		b, err := bundle.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Runs(); !slices.Equal(got, c.want) {
			t.Errorf("the bundle of %s has runs %v, want %v", c.of.Run, got, c.want)
		}
		fresh := memory.New(nil)
		o := options()
		o.Verify = deep()
		if _, err := doImport(t, fresh, raw, o); err != nil {
			t.Fatal(err)
		}
		r, err := archive.VerifyRun(t.Context(), fresh, c.of.Run, deep())
		wantVerdict(t, r, err, replay.Verified, ledger.LevelSigned)
	}
}

// law is an engine's check: every commit says its name.
type law struct {
	run     ledger.RunID
	entries int64
	ended   bool
}

const errLaw fault.Integrity = "archive_test.no_name"

func (c *law) Entry(_ *ledger.Entry, h *ledger.Header, f *ledger.Findings) error {
	c.entries++
	if h.Kind == ledger.KindCommit {
		f.Checked(ledger.PhasePins, 1)
		if h.Run == bundletest.RunID("guilty") {
			f.Fail(ledger.PhasePins, ledger.Finding{Code: errLaw, N: h.N, Where: "data", Msg: "no name"})
		}
	}
	return nil
}

func (c *law) End(*ledger.Findings) { c.ended = true }

func (c *law) Detail() canon.Value {
	return canon.Object(canon.M("checked", canon.Int(c.entries)))
}

func TestTheEngineChecksSourcesAndChildrenToo(t *testing.T) {
	t.Parallel()
	base, mid, _ := branches()
	top := branchOf("top", at(mid, 1))
	call := ask(top)
	guilty := begin("guilty", &call)
	put(guilty, 0, "x")
	answer(top, call, seal(guilty))
	seal(top)
	var asked []*law
	o := deep()
	o.Check = func(open ledger.Opened) (ledger.Check, error) {
		if open.Body.Get("engine").Str() != "test" {
			return nil, nil
		}
		asked = append(asked, &law{run: open.Run})
		return asked[len(asked)-1], nil
	}
	r, err := archive.VerifyRun(t.Context(), holding(top, mid, base, guilty), top.Run, o)
	if err != nil {
		t.Fatal(err)
	}
	wantFinding(t, r, ledger.PhasePins, errLaw, fmt.Sprintf("run %s, entry 1, data", guilty.Run))
	var got []string
	for _, l := range asked {
		got = append(got, fmt.Sprintf("%s: %d, %v", l.run, l.entries, l.ended))
	}
	want := []string{
		fmt.Sprintf("%s: 3, true", base.Run), fmt.Sprintf("%s: 2, true", mid.Run),
		fmt.Sprintf("%s: 4, true", top.Run), fmt.Sprintf("%s: 3, true", guilty.Run),
	}
	if !slices.Equal(got, want) {
		t.Errorf("checks = %q, want %q: sources first, children last", got, want)
	}
	if n, _ := r.Detail.Get("checked").AsInt(); n != 4 {
		t.Errorf("detail = %v", r.Detail)
	}
	if n, _ := children(r)[0].Get("detail").Get("checked").AsInt(); n != 3 {
		t.Errorf("detail of the child = %v", children(r)[0])
	}
}

func TestAnEngineThatCannotTakeAnOpen(t *testing.T) {
	t.Parallel()
	base, mid, _ := branches()
	const errMalformed fault.Integrity = "archive_test.no_charter"
	const errOther fault.Unavailable = "archive_test.no_policies"
	o := &archive.VerifyOptions{Check: func(open ledger.Opened) (ledger.Check, error) {
		if open.Run == base.Run {
			return nil, fault.New(errMalformed, "test", "no charter")
		}
		return nil, nil
	}}
	wantFinding(t, looks(t, o, mid, base), ledger.PhasePins, errMalformed, fmt.Sprintf("run %s, entry 0, open", base.Run))
	o.Check = func(ledger.Opened) (ledger.Check, error) { return nil, fault.New(errOther, "test", "no policies") }
	if _, err := archive.VerifyRun(t.Context(), holding(base), base.Run, o); !errors.Is(err, errOther) {
		t.Errorf("VerifyRun = %v, want %v", err, errOther)
	}
}
