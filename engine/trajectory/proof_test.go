package trajectory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// writing returns a finished trajectory that wrote three values.
func writing(t *testing.T) *started {
	r := newRig(t)
	r.script["agent"] = []string{
		calls("kv_set", `{"key":"a","value":1}`), calls("kv_set", `{"key":"b","value":2}`, "kv_set", `{"key":"a","value":3}`), says("done"),
	}
	x := r.start(r.charter(nil))
	x.seal()
	return x
}

func wantPinFailure(t *testing.T, v *ledger.Verification, code fault.Code, n int64) {
	t.Helper()
	f := v.First()
	if f == nil || f.Code != code || f.N != n {
		t.Errorf("first failure = %+v, want %v at entry %d", f, code, n)
	}
}

// A.5 ledger/replay: replay_rejects_compiler_version_drift,
// replay_pinned_to_current_passes, replay_requires_commit_signatures,
// replay_detects_policy_set_drift
//
// spec: T-13, T-14, T-15, T-17, T-24
func TestPinsDetectDriftLongAfterARun(t *testing.T) {
	t.Parallel()
	x := writing(t)
	first := x.all(ledger.KindCommit, "")[0].N
	signer, other := x.key("signer").Public(), x.key("somebody").Public()
	root := x.key("root").Public()
	policies := x.m.Charter().Policies.Hash()
	wrong := canon.BLAKE3([]byte("other rules"))
	before := [3]int{x.models, x.called, x.signed}
	for _, c := range []struct {
		name string
		pins trajectory.Pins
		code fault.Code // nil: it holds
		n    int64
	}{
		{"nothing pinned", trajectory.Pins{}, nil, 0},
		{"the compiler", trajectory.Pins{Compiler: trajectory.CompilerVersion}, nil, 0},
		{"another compiler", trajectory.Pins{Compiler: "reprise-compiler/9"}, trajectory.ErrCompilerDrift, first},
		{"the signer", trajectory.Pins{Signer: &signer}, nil, 0},
		{"another signer", trajectory.Pins{Signer: &other}, trajectory.ErrSignerDrift, first},
		{"another signer, signatures left aside", trajectory.Pins{Signer: &other, SkipSignatures: true}, nil, 0},
		{"the policies", trajectory.Pins{PolicySet: &policies}, nil, 0},
		{"other policies", trajectory.Pins{PolicySet: &wrong}, trajectory.ErrPolicyDrift, first},
		{"the root of the writs", trajectory.Pins{Root: &root}, nil, 0},
		{"another root", trajectory.Pins{Root: &other}, trajectory.ErrRootDrift, 0},
	} {
		v, _ := x.verify(c.pins)
		if said := slices.Contains(v.Remarks, "the signatures of commits were not checked"); said != c.pins.SkipSignatures {
			t.Errorf("%s: the remarks are %q", c.name, v.Remarks)
		}
		if c.code == nil {
			if f := v.First(); f != nil {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		wantPinFailure(t, v, c.code, c.n)
	}
	if after := [3]int{x.models, x.called, x.signed}; after != before {
		t.Errorf("a verification called something: %v, then %v", before, after)
	}
}

// A.5 ledger/replay: replay_rebuilds_world
//
// spec: T-02, T-11, T-12, T-19
func TestTheReportSaysHeadsAndVersions(t *testing.T) {
	t.Parallel()
	x := writing(t)
	v, a := x.verify(trajectory.Pins{})
	s := a.Summary()
	entries, commits := x.entries(), x.all(ledger.KindCommit, "")
	last := commits[len(commits)-1].Data().Get("id").Str()
	if s.Entries != int64(len(entries)) || s.Commits != 3 || s.Head.String() != last || s.HeadSeq != int64(len(entries)-1) {
		t.Errorf("summary = %+v; want %d entries, 3 commits, head %s", s, len(entries), last)
	}
	if !slices.Equal(s.Compilers, []string{trajectory.CompilerVersion}) {
		t.Errorf("compilers = %v", s.Compilers)
	}
	if it, ok := v.World.Find("kv", "a"); !ok || string(it.Value) != "3" || it.Version != 2 {
		t.Errorf("a = %+v, want 3 in version 2", it)
	}
	text := s.Value().String()
	for _, want := range []string{`"trajectory_id":"traj:`, `"head_commit":"commit:` + last, `"compiler_versions_seen":["` + trajectory.CompilerVersion} {
		if !strings.Contains(text, want) {
			t.Errorf("the report %s lacks %s", text, want)
		}
	}
}

// forged is a run whose stored entries were changed by who can also rebuild
// the whole chain: all hashes fit again.
func (x *started) forged(n int64, edit func(body canon.Value) canon.Value) *ledger.Verification {
	x.t.Helper()
	ctx := context.Background()
	var list []*ledger.Entry
	at := ledger.Position{}
	for e, err := range x.store.Read(ctx, x.run, 0) {
		if err != nil {
			x.t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			x.t.Fatal(err)
		}
		body := o.Body
		if o.N == n {
			body = edit(body)
		}
		p, err := ledger.Prepare(ledger.Draft{
			Run: x.run, Kind: o.Kind, Body: body.Without("att", "refs"), Refs: body.Get("refs"), Att: o.Att, Parts: e.Parts, Salt: e.Salt, T: o.T,
		})
		if err != nil {
			x.t.Fatal(err)
		}
		var f ledger.Entry
		f, at = at.Next(x.run, p)
		list = append(list, &f)
	}
	v, err := ledger.Verify(ctx, ledger.Evidence{
		Run: x.run, Check: trajectory.NewAudit(trajectory.Pins{}), Attachment: drive.NewReader(x.store, x.run).Attachment(ctx),
		Entries: func(yield func(*ledger.Entry, error) bool) {
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		},
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return v
}

// A.6: commit body equals its entry, every commit is signed
func TestAForgedCommitIsFoundThoughAllHashesFit(t *testing.T) {
	t.Parallel()
	x := writing(t)
	n := x.all(ledger.KindCommit, "")[1].N
	if f := x.forged(-1, nil).First(); f != nil {
		t.Fatalf("a ledger that is rebuilt unchanged fails: %+v", f)
	}
	body := func(path string, v canon.Value) func(canon.Value) canon.Value {
		return func(b canon.Value) canon.Value {
			d := b.Get("data")
			return b.With("data", d.With("body", d.Get("body").With(path, v)))
		}
	}
	delta := canon.Array(ledger.Change{Op: ledger.OpCreate, Kind: "kv", ID: "b", Value: canon.Int(200)}.Encode())
	for _, c := range []struct {
		name string
		edit func(canon.Value) canon.Value
	}{
		{"delta", func(b canon.Value) canon.Value { return b.With("delta", delta) }},
		{"id", func(b canon.Value) canon.Value {
			return b.With("data", b.Get("data").With("id", canon.String(canon.BLAKE3(nil).String())))
		}},
		{"seq", body("seq", canon.Int(7))},
		{"parent", body("parent", canon.Array())},
		{"writ_id", body("writ_id", canon.String(canon.BLAKE3(nil).String()))},
		{"unsigned", body("signature", canon.Null())},
		{"observations", body("observations", canon.Array())},
		{"a member more", body("extra", canon.Int(1))},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantPinFailure(t, x.forged(n, c.edit), x.forged(n, c.edit).First().Code, n)
			if code := x.forged(n, c.edit).First().Code; code != fault.Code(trajectory.ErrCommit) && code != fault.Code(trajectory.ErrSignature) {
				t.Errorf("code = %v", code)
			}
		})
	}
}

// branchOff makes a branch of the run at entry n with another script.
func (x *started) branchOff(n int64, script ...string) *started {
	x.t.Helper()
	ctx := context.Background()
	x.script["agent"] = script
	at := x.entries()[n]
	c, err := x.m.Charter().Content()
	if err != nil {
		x.t.Fatal(err)
	}
	s, err := drive.Open(ctx, x.config(), drive.Opening{
		Engine: trajectory.Engine, Mode: drive.ModeBranch, Source: &ledger.Ref{Run: x.run, N: n, ID: at.ID}, Contents: []ledger.Content{c},
	})
	if err != nil {
		x.t.Fatal(err)
	}
	b := &started{rig: x.rig, run: s.Run(), s: s}
	m := trajectory.NewMachine()
	for _, o := range x.entries()[:n+1] {
		feed(x.t, x, m, o)
	}
	b.receive(ledger.KindBranch, "branch", "test", m.BranchData("what if"))
	return b
}

// feed gives an input of a recorded run to a machine.
func feed(t *testing.T, x *started, m *trajectory.Machine, o *ledger.Opened) {
	t.Helper()
	ctx := context.Background()
	r := drive.NewReader(x.store, x.run)
	contents, err := r.Contents(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	in := effect.Input{Kind: o.Kind, N: o.N, Name: o.Body.Get("name").Str(), From: o.Body.Get("from").Str(), Data: o.Data(), Contents: contents}
	switch {
	case o.Kind == ledger.KindOutcome:
		n, _ := o.Body.Get("refs").Get("call").AsInt()
		call, err := r.Open(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		c, k, err := effect.ParseCall(call.Body)
		if err != nil {
			t.Fatal(err)
		}
		out, err := effect.ParseOutcome(o.Body)
		if err != nil {
			t.Fatal(err)
		}
		out.Contents = contents
		in.Call, in.Key, in.Outcome = &c, k, &out
	case o.Kind != ledger.KindOpen && in.From == "":
		return
	}
	if _, err := m.Apply(in); err != nil {
		t.Fatal(err)
	}
}

// spec: T-38, T-39, T-40
func TestABranchNeverSeesItsSiblings(t *testing.T) {
	t.Parallel()
	x := writing(t)
	first := x.all(ledger.KindCommit, "")[0].N
	sourceWorld := x.world()
	one := x.branchOff(first, calls("kv_set", `{"key":"a","value":"one"}`), says("done"))
	two := x.branchOff(first, calls("kv_set", `{"key":"c","value":"two"}`), says("done"))
	wantWorld(t, one, `kv/a="one"`)
	wantWorld(t, two, "kv/a=1", `kv/c="two"`)
	again := x.branchOff(first, says("nothing"))
	wantWorld(t, again, "kv/a=1")
	for _, b := range []*started{one, two, again} {
		b.seal()
		r, err := drive.Replay(context.Background(), b.store, b.run, trajectory.NewMachine(), "verify")
		if err != nil || r.Verdict != replay.Same {
			t.Errorf("replay of a branch: %v, %+v", err, r)
		}
		branch := b.all(ledger.KindBranch, "")[0].Data()
		if branch.Get("source_trajectory_id").Str() != x.m.Trajectory().String() || branch.Get("source_commit_id").Str() != x.all(ledger.KindCommit, "")[0].Data().Get("id").Str() {
			t.Errorf("the branch says it left %s", branch)
		}
		if b.m.Trajectory() == x.m.Trajectory() {
			t.Error("a branch has the id of its source")
		}
	}
	if now := x.world(); !slices.Equal(now, sourceWorld) || len(x.all(ledger.KindSeal, "")) != 1 {
		t.Errorf("the source became %v, was %v", now, sourceWorld)
	}
	x.sound()
}

func TestAnApprovalInTheSourceIsNoneInABranch(t *testing.T) {
	t.Parallel()
	r, c := paying(t, 1)
	x := r.start(c)
	pending := x.all(ledger.KindPendingApproval, "")[0].N
	old := x.matter()
	x.approve("bob", govern.Approve)
	b := x.branchOff(pending, says("paid"))
	if b.st.Done || r.called != 1 {
		t.Fatalf("a branch took the approval of its source: done %v, called %d", b.st.Done, r.called)
	}
	b.act(ledger.KindApproval, trajectory.EventApproval, "bob", govern.Approver, govern.Approve, old)
	if r.called != 1 {
		t.Error("an approval that was signed for the source counted in the branch")
	}
	b.approve("bob", govern.Approve)
	if r.called != 2 || !b.st.Done {
		t.Errorf("called %d, done %v; want its own approval to count", r.called, b.st.Done)
	}
}

// mortal is a store that a process loses after so many entries.
type mortal struct {
	drive.Store
	after int64
	alive bool
}

func (m *mortal) Append(ctx context.Context, b *ledger.Batch) error {
	if !m.alive && b.At.Count+int64(len(b.Entries)) > m.after {
		return fault.New(ledger.ErrFenced, "mortal", "the process was killed")
	}
	return m.Store.Append(ctx, b)
}

func TestAKillAtAnyEntryLosesNothingAndRepeatsNoEffectUnasked(t *testing.T) {
	t.Parallel()
	length := int64(0)
	for kill := int64(1); kill == 1 || kill < length; kill++ {
		r, c := paying(t, 1)
		c.Policies = trajectory.PolicySet{}
		r.script["agent"] = []string{calls("kv_set", `{"key":"a","value":1}`, "pay", `{"id":"p1","amount":5}`), says("paid")}
		if kill == 1 {
			x := r.start(c)
			length = int64(len(x.entries()))
			kill++
			r, c = paying(t, 1)
			c.Policies = trajectory.PolicySet{}
			r.script["agent"] = []string{calls("kv_set", `{"key":"a","value":1}`, "pay", `{"id":"p1","amount":5}`), says("paid")}
		}
		x := &started{rig: r}
		store := &mortal{Store: r.store, after: kill}
		cfg := r.config()
		cfg.Store = store
		content, err := c.Content()
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		s, err := drive.Open(ctx, cfg, drive.Opening{Engine: trajectory.Engine, Mode: "run", Contents: []ledger.Content{content}})
		if err != nil {
			t.Fatal(err)
		}
		script := slices.Clone(r.script["agent"])
		if _, err := drive.Run(ctx, s, trajectory.NewMachine(), x.call); err == nil {
			t.Fatalf("killed at %d: the run did not notice", kill)
		}
		_ = s.Close(ctx)
		store.alive = true
		// A model that is asked again says the same.
		r.script["agent"] = script[answeredSoFar(t, r, s.Run()):]
		x.run = s.Run()
		if x.s, err = drive.Resume(ctx, cfg, x.run, drive.Opening{}); err != nil {
			t.Fatal(err)
		}
		x.goOn()
		if !x.st.Done {
			if ch := x.all(ledger.KindPendingApproval, "")[0].Data().Get("channel").Str(); ch != trajectory.ChannelUnknown {
				t.Errorf("killed at %d: it waits on %q", kill, ch)
			}
			if r.called > 1 {
				t.Errorf("killed at %d: paid %d times unasked", kill, r.called)
			}
			continue
		}
		if r.called != 1 {
			t.Errorf("killed at %d: paid %d times, want once", kill, r.called)
		}
		x.seal()
		wantWorld(t, x, "kv/a=1", `payment/p1={"amount":5}`)
		x.sound()
	}
}

// answeredSoFar returns how many answers of the model are in the ledger.
func answeredSoFar(t *testing.T, r *rig, run ledger.RunID) int {
	t.Helper()
	x := &started{rig: r, run: run}
	asked, n := map[int64]bool{}, 0
	for _, o := range x.entries() {
		switch o.Kind {
		case ledger.KindCall:
			asked[o.N] = o.Body.Get("kind").Str() == "script"
		case ledger.KindOutcome:
			if c, _ := o.Body.Get("refs").Get("call").AsInt(); asked[c] {
				n++
			}
		default:
		}
	}
	return n
}

// A world is the same whether a ledger is folded at once or in two parts.
func TestAFoldCanBeCutAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "changes")
		var changes []ledger.Change
		var whole ledger.World
		for i := range n {
			id := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "id"))
			it, alive := whole.Find("kv", id)
			c := ledger.Change{Op: ledger.OpCreate, Kind: "kv", ID: id, Value: canon.Int(int64(i))}
			switch {
			case alive && rapid.Bool().Draw(t, "retract"):
				c = ledger.Change{Op: ledger.OpRetract, Kind: "kv", ID: id, Version: it.Version}
			case alive:
				c.Op, c.Version = ledger.OpReplace, it.Version
			}
			if err := whole.Apply(c, nil); err != nil {
				t.Fatal(err)
			}
			changes = append(changes, c)
		}
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		var a ledger.World
		for _, c := range changes[:cut] {
			if err := a.Apply(c, nil); err != nil {
				t.Fatal(err)
			}
		}
		b := a.Clone()
		for _, c := range changes[cut:] {
			if err := b.Apply(c, nil); err != nil {
				t.Fatal(err)
			}
		}
		h1, _ := whole.Hash()
		h2, _ := b.Hash()
		if h1 != h2 {
			t.Fatalf("fold(a ++ b) = %s, fold(fold(a), b) = %s", h1, h2)
		}
	})
}

// Any flipped bit of a stored entry is found, and where it is.
func TestAnyFlippedBitIsFoundAtItsIndex(t *testing.T) {
	t.Parallel()
	x := writing(t)
	ctx := context.Background()
	var list []*ledger.Entry
	for e, err := range x.store.Read(ctx, x.run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	check := func(at int) *ledger.Verification {
		v, err := ledger.Verify(ctx, ledger.Evidence{
			Run: x.run, Check: trajectory.NewAudit(trajectory.Pins{}), Attachment: drive.NewReader(x.store, x.run).Attachment(ctx),
			Entries: func(yield func(*ledger.Entry, error) bool) {
				for _, e := range list {
					if !yield(e, nil) {
						return
					}
				}
			},
		})
		if err != nil {
			t.Fatalf("entry %d: %v", at, err)
		}
		return v
	}
	for n, e := range list {
		honest := *e
		for _, part := range []struct {
			name string
			get  func(*ledger.Entry) *[]byte
		}{
			{"header", func(e *ledger.Entry) *[]byte { return &e.Header }},
			{"body", func(e *ledger.Entry) *[]byte { return &e.Body }},
		} {
			step := 1 + len(*part.get(&honest))/40
			for i := 0; i < len(*part.get(&honest)); i += step {
				forged := honest
				b := slices.Clone(*part.get(&honest))
				b[i] ^= 1 << (i % 8)
				*part.get(&forged) = b
				list[n] = &forged
				if f := check(n).First(); f == nil || f.N != int64(n) {
					t.Fatalf("entry %d, %s, byte %d: %+v", n, part.name, i, f)
				}
			}
		}
		list[n] = &honest
	}
}
