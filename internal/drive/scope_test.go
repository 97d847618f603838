package drive_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/memory"
)

// scopesOf returns the scopes of the contents of a run, as "kind name scope".
func scopesOf(t *testing.T, store drive.Store, run ledger.RunID) []string {
	t.Helper()
	var out []string
	for e, err := range store.Read(context.Background(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		o, err := ledger.Parse(e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range o.Att {
			scope := "apart"
			if e.Parts[i].Scope == string(run) {
				scope = "run"
			}
			out = append(out, string(o.Kind)+" "+o.Att[i].Name+" "+scope)
		}
	}
	return out
}

// What crosses a boundary in a scope is kept there, whichever way it comes, and
// so does what stands under it: all of it goes when the scope is erased, and the
// rest stays.
func TestWhatCrossesInAScopeIsErasedTogether(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	s, err := drive.Open(ctx, config(t, store, "recorder"), drive.Opening{Engine: "test", Mode: "run"})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := s.Begin(ctx, modelCall("the agent"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := outer.Under().In("outputs").Begin(ctx, modelCall("a secret question"))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := x.Under().Begin(ctx, modelCall("a question below it"))
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.End(ctx, answer("its answer")); err != nil {
		t.Fatal(err)
	}
	if err := x.Message("message", canon.Object(), ledger.Content{Name: "message", Type: "text/plain", Bytes: []byte("said")}); err != nil {
		t.Fatal(err)
	}
	stream(t, x, "a secret ", "answer")
	if err := x.End(ctx, effect.Outcome{Status: effect.OK}); err != nil {
		t.Fatal(err)
	}
	if err := outer.End(ctx, answer("the agent's answer")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"call request run", "call request apart", "call request apart", "outcome response apart", "event message apart",
		"outcome response apart", "outcome timing apart", "outcome response run",
	}
	if got := scopesOf(t, store, s.Run()); !slices.Equal(got, want) {
		t.Errorf("the contents are %q, want %q", got, want)
	}
	if err := s.Erase(ctx, "outputs"); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := store.Erase(ctx, drive.ScopeID(string(s.Run()), "outputs")); err != nil {
		t.Fatal(err)
	}
	r := drive.NewReader(store, s.Run())
	for o, err := range r.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range o.Att {
			_, err := r.Bytes(ctx, o, i)
			if kept := o.N == 1 || o.Kind == ledger.KindOutcome && o.Body.Get("refs").Get("call").String() == "1"; (err == nil) != kept {
				t.Errorf("%s of entry %d (%s): %v; kept is %t", o.Att[i].Name, o.N, o.Kind, err, kept)
			}
		}
	}
}

// The bytes that a killed recorder leaves behind are in the scope in which the
// answer would have been.
func TestKilledRecorderLeavesBytesInTheirScope(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := time.Now()
	store := memory.New(&memory.Options{Now: func() time.Time { return clock }})
	cfg := config(t, store, "recorder")
	s, err := drive.Open(ctx, cfg, drive.Opening{Engine: "test", Mode: "run"})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := s.Begin(ctx, modelCall("the agent"))
	if err != nil {
		t.Fatal(err)
	}
	x, err := outer.Under().In("outputs").Begin(ctx, modelCall("a question"))
	if err != nil {
		t.Fatal(err)
	}
	stream(t, x, "half an ")
	settle(t, store, s)
	clock = clock.Add(time.Minute)
	cfg.Holder = "another process"
	if done, err := drive.Recover(ctx, cfg); err != nil || len(done) != 1 {
		t.Fatalf("Recover = %v, %v; want the run", done, err)
	}
	want := []string{"call request run", "call request apart", "outcome response apart", "outcome timing apart"}
	if got := scopesOf(t, store, s.Run()); !slices.Equal(got, want) {
		t.Errorf("the contents are %q, want %q", got, want)
	}
}

// stream writes an answer in parts.
func stream(t *testing.T, x *drive.Exchange, parts ...string) {
	t.Helper()
	st, err := x.Stream("response", "text/plain", canon.Object())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if _, err := st.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
}
