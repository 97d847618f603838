package ledger_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/bundle/bundletest"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

var none canon.Value

func wantFailure(t testing.TB, v *ledger.Verification, code fault.Code, n int64) {
	t.Helper()
	f := v.First()
	if f == nil || f.Code != code || f.N != n {
		t.Errorf("the first failure is %+v, want %v at entry %d", f, code, n)
	}
	if v.Level != ledger.LevelChain {
		t.Errorf("what failed has level %s", v.Level)
	}
}

// spec: T-11, T-47..53
func TestAVerificationReportsItsPhasesAndTheHead(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	v := verify(t, l.Evidence())
	names := []string{
		"load ledger entries", "verify content hashes", "verify parent chain", "verify sequence continuity",
		"verify signatures and heads", "verify log inclusion", "fold committed deltas", "check pins",
		"compare projected world", "emit replay report",
	}
	if !slices.Equal(ledger.Phases(), names) {
		t.Errorf("Phases() = %q", ledger.Phases())
	}
	parts := int64(0)
	for _, e := range l.Entries {
		parts += int64(len(e.Parts))
	}
	checked := []int64{20, 20 + parts, 20, 20, 3, 0, 2, 0, 1, 1}
	for i, p := range v.Phases {
		if p.Name != names[i] || p.Failed != 0 || p.First != nil || p.Checked != checked[i] {
			t.Errorf("phase %d is %+v, want %q with %d checks", i, p, names[i], checked[i])
		}
	}
	if v.At != l.At || v.At.Count != 20 || v.At.Last != l.Entries[19].ID {
		t.Errorf("the head is %+v, want %+v", v.At, l.At)
	}
	if v.Level != ledger.LevelSigned || !v.Sealed || v.Heads != 3 || v.HeadN != 20 || v.Unsigned != 0 || v.HeadKey != bundletest.Key("head").Public().ID() {
		t.Errorf("level %s, sealed %v, %d heads, the last of %d, %d unsigned", v.Level, v.Sealed, v.Heads, v.HeadN, v.Unsigned)
	}
}

// spec: T-05, T-06, T-10
func TestOnlyCommitsChangeTheWorld(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	for n := range l.Entries {
		prefix := l.Clone()
		prefix.Cut(n + 1)
		before := l.Clone()
		before.Cut(n)
		a, b := verify(t, before.Evidence()), verify(t, prefix.Evidence())
		was, _ := a.World.Hash()
		is, _ := b.World.Hash()
		h, err := ledger.ParseHeader(l.Entries[n].Header)
		if err != nil {
			t.Fatal(err)
		}
		if changed := was != is; changed != (h.Kind == ledger.KindCommit) {
			t.Errorf("entry %d, a %s: the world changed: %v", n, h.Kind, changed)
		}
		if b.At.Count != int64(n+1) {
			t.Errorf("entry %d is no part of the history", n)
		}
	}
	items := verify(t, l.Evidence()).World.Items()
	if len(items) != 1 || items[0].Kind != "note" || items[0].ID != "a" || items[0].Version != 2 || string(items[0].Value) != `{"x":2}` {
		t.Errorf("the world is %+v", items)
	}
}

// spec: T-16, T-52
func TestAnObservedWorldIsCompared(t *testing.T) {
	t.Parallel()
	l := bundletest.Sample("a")
	v := verify(t, l.Evidence())
	right, _ := v.World.Hash()
	ev := l.Evidence()
	ev.World = &right
	if f := verify(t, ev).First(); f != nil {
		t.Errorf("the right world: %+v", f)
	}
	wrong := canon.SHA256([]byte("another"))
	ev.World = &wrong
	v = verify(t, ev)
	wantFailure(t, v, ledger.ErrWorldMismatch, 19)
	if f := v.First(); f.Expected != wrong.String() || f.Found != right.String() {
		t.Errorf("expected %s, found %s", f.Expected, f.Found)
	}
}

// spec: T-25, T-51
func TestADeltaThatDoesNotFitIsAFailureAtItsCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, delta string }{
		{"create what is there", `[{"id":"a","kind":"note","op":"create","value":1}]`},
		{"replace what is not there", `[{"id":"z","kind":"note","op":"replace","value":1,"version":1}]`},
		{"replace another version", `[{"id":"a","kind":"note","op":"replace","value":1,"version":2}]`},
		{"retract what is not there", `[{"id":"z","kind":"note","op":"retract","version":1}]`},
		{"retract another version", `[{"id":"a","kind":"note","op":"retract","version":7}]`},
		{"retract twice", `[{"id":"a","kind":"note","op":"retract","version":1},{"id":"a","kind":"note","op":"retract","version":1}]`},
		{"no operation", `[{"id":"z","kind":"note","value":1}]`},
		{"an unknown operation", `[{"id":"z","kind":"note","op":"merge","value":1}]`},
		{"create with a version", `[{"id":"z","kind":"note","op":"create","value":1,"version":1}]`},
		{"create without a value", `[{"id":"z","kind":"note","op":"create"}]`},
		{"replace without a version", `[{"id":"a","kind":"note","op":"replace","value":1}]`},
		{"two values", `[{"att":"x","id":"z","kind":"note","op":"create","value":1}]`},
		{"an attachment that is not there", `[{"att":"x","id":"z","kind":"note","op":"create"}]`},
		{"no id", `[{"id":"","kind":"note","op":"create","value":1}]`},
		{"a foreign member", `[{"id":"z","kind":"note","op":"create","value":1,"why":1}]`},
		{"no change", `["a"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := bundletest.Sample("a")
			l.Body(15, []byte(`{"delta":`+c.delta+`,"name":"second"}`))
			l.Rechain()
			l.Resign(bundletest.Key("head"))
			v := verify(t, l.Evidence())
			wantFailure(t, v, ledger.ErrDelta, 15)
			if v.Phases[6].First == nil {
				t.Error("it is not the fold that failed")
			}
		})
	}
}

// spec: T-08, T-22
func TestAnotherParentIsNamed(t *testing.T) {
	t.Parallel()
	for n := 1; n < 20; n++ {
		l := bundletest.Sample("a")
		l.Header(n, func(h *ledger.Header) { h.Prev = l.Entries[0].ID; h.Prev[0] ^= 1 })
		l.Reid(n)
		v := verify(t, l.Evidence())
		wantFailure(t, v, ledger.ErrParentMismatch, int64(n))
		if f := v.First(); f.Expected != l.Entries[n-1].ID.String() {
			t.Errorf("entry %d: expected %s", n, f.Expected)
		}
	}
}

// spec: T-09, T-23
func TestAGapInTheNumbersIsNamed(t *testing.T) {
	t.Parallel()
	l := bundletest.New("a")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), none)
	for range 5 {
		l.Append(ledger.KindEvent, bundletest.Object(`{"name":"x"}`), none)
	}
	for n := 3; n < 6; n++ { // somebody who rebuilds the chain, but not the numbers
		l.Header(n, func(h *ledger.Header) { h.N++; h.Prev = l.Entries[n-1].ID })
		l.Reid(n)
	}
	v := verify(t, l.Evidence())
	wantFailure(t, v, ledger.ErrSequence, 3)
	if f := v.First(); f.Expected != "3" || f.Found != "4" {
		t.Errorf("expected %s, found %s", f.Expected, f.Found)
	}
}

// spec: T-33, T-35
func TestVerificationReadsTheRecordAndNothingElse(t *testing.T) {
	t.Parallel()
	// Evidence is all that Verify gets: entries, heads, bytes and keys. A call
	// without its outcome stays one; nothing is asked for the answer.
	l := bundletest.New("a")
	l.Append(ledger.KindOpen, bundletest.Object(`{}`), none)
	l.Append(ledger.KindCall, bundletest.Object(`{"class":"read","kind":"model","match":"m","name":"chat","occurrence":0}`), none, bundletest.Text("request", "hi"))
	v := verify(t, l.Evidence())
	if v.Failed() || v.Sealed || !slices.Contains(v.Remarks, "1 call is open") {
		t.Errorf("failed %v, remarks %q", v.First(), v.Remarks)
	}
}

func TestAnEmptyLedgerDoesNotVerify(t *testing.T) {
	t.Parallel()
	wantFailure(t, verify(t, bundletest.New("a").Evidence()), ledger.ErrEmpty, -1)
}

func TestVerificationStopsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ledger.Verify(ctx, bundletest.Sample("a").Evidence()); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify = %v", err)
	}
	ev := bundletest.Sample("a").Evidence()
	broken := errors.New("disk")
	ev.Entries = func(yield func(*ledger.Entry, error) bool) { yield(nil, broken) }
	if _, err := ledger.Verify(context.Background(), ev); !errors.Is(err, broken) {
		t.Errorf("Verify = %v", err)
	}
}

func TestALostContentIsAFailureAndAWithheldOneIsNot(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		l := bundletest.Sample("a")
		l.Entries[n].Body, l.Entries[n].Parts = nil, nil
		wantFailure(t, verify(t, l.Evidence()), ledger.ErrAbsent, int64(n))
		ev := l.Evidence()
		ev.Withheld = true
		if v := verify(t, ev); v.Failed() || v.Withheld == 0 || v.Level != ledger.LevelSigned {
			t.Errorf("entry %d withheld: %+v, %d withheld", n, v.First(), v.Withheld)
		}
	}
}

// drawDelta draws a delta that fits the world, and applies it.
func drawDelta(t *rapid.T, w *ledger.World) canon.Value {
	var list []canon.Value
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		id := rapid.SampledFrom([]string{"a", "b", "é", "\U0001f600"}).Draw(t, "id")
		c := ledger.Change{Op: ledger.OpCreate, Kind: "k", ID: id, Value: canon.Int(int64(rapid.IntRange(0, 9).Draw(t, "value")))}
		for _, it := range w.Items() {
			if it.ID == id {
				c.Op, c.Version = ledger.OpReplace, it.Version
				if rapid.Bool().Draw(t, "retract") {
					c.Op, c.Value = ledger.OpRetract, none
				}
			}
		}
		if err := w.Apply(c, nil); err != nil {
			t.Fatal(err)
		}
		list = append(list, c.Encode())
	}
	return canon.Array(list...)
}

func TestTheWorldOfTheWholeIsThatOfTheTailBehindTheHead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := bundletest.New("a")
		l.Append(ledger.KindOpen, bundletest.Object(`{}`), none)
		var model ledger.World
		var deltas []canon.Value
		cut := rapid.IntRange(0, 6).Draw(t, "cut")
		var atCut ledger.World
		for i := range 6 {
			if i == cut {
				for _, d := range deltas {
					applyAll(t, &atCut, d)
				}
			}
			d := drawDelta(t, &model)
			deltas = append(deltas, d)
			l.Append(ledger.KindCommit, canon.Object(canon.M("delta", d)), none)
			if rapid.Bool().Draw(t, "noise") {
				l.Append(ledger.KindEvent, bundletest.Object(`{"name":"noise"}`), none)
			}
		}
		for _, d := range deltas[min(cut, len(deltas)):] { // fold(fold(a), b)
			if cut < 6 {
				applyAll(t, &atCut, d)
			}
		}
		v, err := ledger.Verify(context.Background(), l.Evidence())
		if err != nil || v.Failed() {
			t.Fatal(err, v.First())
		}
		got, ok := v.World.Hash()
		want, _ := model.Hash()
		if !ok || got != want {
			t.Fatalf("the fold gives %v, want %v", v.World.Items(), model.Items())
		}
		if cut < 6 {
			if split, _ := atCut.Hash(); split != want {
				t.Fatalf("cut at %d it gives %v, want %v", cut, atCut.Items(), model.Items())
			}
		}
	})
}

func applyAll(t *rapid.T, w *ledger.World, delta canon.Value) {
	changes, err := ledger.ParseDelta(delta)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if err := w.Apply(c, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatPrepareTakesVerifies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    ledger.Draft
	}{
		{"a foreign member", ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{"other":1}`)}},
		{"no object", ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`[]`)}},
		{"a fraction", ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{"data":1.5}`)}},
		{"an unsafe integer", ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{"data":9007199254740992}`)}},
		{"an unknown kind", ledger.Draft{Kind: "thought", Body: bundletest.Object(`{}`)}},
		{"a delta that is no list", ledger.Draft{Kind: ledger.KindCommit, Body: bundletest.Object(`{"delta":{}}`)}},
		{"a world that is no digest", ledger.Draft{Kind: ledger.KindSeal, Body: bundletest.Object(`{"world":"x"}`)}},
		{"an attachment without its part", ledger.Draft{Kind: ledger.KindEvent, Body: bundletest.Object(`{}`), Att: make([]ledger.Attachment, 1)}},
	} {
		if _, err := ledger.Prepare(c.d); !errors.Is(err, ledger.ErrBody) {
			t.Errorf("%s: Prepare = %v, want %v", c.name, err, ledger.ErrBody)
		}
	}
}
