package insight_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/store/memory"
)

// recorder records a run into memory, with a clock that goes on by a
// millisecond whenever it is read.
type recorder struct {
	t     *testing.T
	store drive.Store
	*drive.Session
}

func record(t *testing.T, store drive.Store) *recorder {
	t.Helper()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	tick := make(chan time.Time)
	stop := make(chan struct{})
	go func() {
		for {
			now = now.Add(time.Millisecond)
			select {
			case tick <- now:
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop) })
	cfg := drive.Config{Store: store, Now: func() time.Time { return <-tick }, Rand: rand.Reader, Holder: t.Name()}
	s, err := drive.Open(t.Context(), cfg, drive.Opening{Engine: "capture", Mode: "record", Title: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return &recorder{t, store, s}
}

func (r *recorder) begin(b drive.Boundary, name, body string) *drive.Exchange {
	r.t.Helper()
	x, err := b.Begin(r.t.Context(), effect.Call{
		Kind: "model", Name: name, Class: effect.Read, Data: canon.Object(canon.M("method", canon.String("POST"))),
		Contents: []ledger.Content{{Name: "request", Type: "application/json", Bytes: []byte(body)}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

func (r *recorder) end(x *drive.Exchange, o effect.Outcome) {
	r.t.Helper()
	if err := x.End(r.t.Context(), o); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorder) seal() ledger.RunID {
	r.t.Helper()
	if err := r.Seal(r.t.Context(), "ok", canon.Object(canon.M("exit", canon.Int(0))), nil); err != nil {
		r.t.Fatal(err)
	}
	return r.Run()
}

// answer is an answer of a model with that status.
func answer(status int64, body string) effect.Outcome {
	return effect.Outcome{
		Status: effect.OK, Data: canon.Object(canon.M("status", canon.Int(status))),
		Contents: []ledger.Content{{Name: "response", Type: "application/json", Bytes: []byte(body)}},
	}
}

const said = `{"object":"chat.completion","model":"gpt-4o-mini","choices":[{"message":{"content":"Hi","tool_calls":[{"function":{"name":"f"}}]}}],"usage":{"prompt_tokens":1000,"completion_tokens":100}}`

func calls(t *testing.T, store drive.Store, run ledger.RunID) ([]insight.Call, insight.Totals) {
	t.Helper()
	prices, err := insight.Prices(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []insight.Call
	var sums insight.Totals
	for c, err := range insight.Calls(t.Context(), store, run, prices) {
		if err == nil {
			err = sums.Add(&c)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out, sums
}

func TestCallsComeInTheOrderInWhichTheyWereMade(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	first := r.begin(r.Boundary, "first", "1")
	inner := r.begin(first.Under(), "inner", "2")
	r.end(inner, answer(200, said))
	r.end(first, answer(500, `{"error":"no"}`))
	left := r.begin(r.Boundary, "left", "3")
	r.end(left, effect.Outcome{Status: effect.Interrupted, Data: canon.Object(canon.M("status", canon.Int(200)), canon.M("broke", canon.String("client")))})
	failed := r.begin(r.Boundary, "failed", "4")
	r.end(failed, effect.Outcome{Status: effect.Error, Code: ledger.ErrStore})
	r.begin(r.Boundary, "open", "5")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	list, sums := calls(t, store, r.Run())
	want := []struct {
		name   string
		depth  int
		failed bool
		open   bool
	}{{"first", 0, true, false}, {"inner", 1, false, false}, {"left", 0, false, false}, {"failed", 0, true, false}, {"open", 0, false, true}}
	if len(list) != len(want) {
		t.Fatalf("%d calls, want %d", len(list), len(want))
	}
	for i, w := range want {
		c := list[i]
		if c.Name != w.name || c.Depth != w.depth || c.Failed() != w.failed || (c.Outcome < 0) != w.open || c.Step != int64(i)+1 {
			t.Errorf("call %d is %q in depth %d, failed %v, outcome %d; want %+v", i, c.Name, c.Depth, c.Failed(), c.Outcome, w)
		}
	}
	if c := list[1]; c.Cost == nil || c.Cost.String() != "0.00021" || c.Took <= 0 {
		t.Errorf("the inner call cost %v and took %v, want 0.00021 and some time", c.Cost, c.Took)
	}
	if list[0].Usage != nil || list[0].Cost != nil {
		t.Error("what is not known must not be a number")
	}
	if sums.Calls != 5 || sums.Failed != 2 || sums.Open != 1 || sums.Counted != 1 || sums.Priced != 1 || sums.Tools != 1 {
		t.Errorf("totals are %+v", sums)
	}
	if v := sums.Value(); v.Get("cost_usd").Str() != "0.00021" {
		t.Errorf("totals as JSON are %s", v)
	}
}

// What calls used is said of so many of so many; the results of a batch are
// fetched by a call that asks no model, and count on both sides.
func TestACallThatSaysItsUsageIsOneOfTheModelCalls(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	r.end(r.begin(r.Boundary, "POST /v1/chat/completions", "1"), answer(200, `{}`))
	x, err := r.Begin(t.Context(), effect.Call{
		Kind: "http", Name: "GET /v1/messages/batches/b/results", Class: effect.Read,
		Data: canon.Object(canon.M("method", canon.String("GET"))),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.end(x, answer(200, said))
	_, sums := calls(t, store, r.seal())
	if sums.Counted != 1 || sums.Models != 2 {
		t.Errorf("usage of %d of %d calls, want 1 of 2", sums.Counted, sums.Models)
	}
}

func TestATotalOfNothingKnownIsAbsent(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	r.end(r.begin(r.Boundary, "x", "1"), answer(200, `{}`))
	_, sums := calls(t, store, r.seal())
	if v := sums.Value(); v.Has("usage") || v.Has("cost_usd") {
		t.Errorf("totals are %s, want neither usage nor cost", v)
	}
}

func TestDiffFindsWhereTwoRunsPart(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	run := func(requests ...string) ledger.RunID {
		r := record(t, store)
		for _, q := range requests {
			r.end(r.begin(r.Boundary, "ask", q), answer(200, said))
		}
		return r.seal()
	}
	a := run(`{"q":["a"]}`, `{"q":["a","b"]}`, `{"q":["a","b","c"]}`)
	b := run(`{"q":["a"]}`, `{"q":["a","x"]}`, `{"q":["a","x","c"]}`)
	r, err := insight.Diff(t.Context(), store, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != replay.Diverged || r.Total != 2 {
		t.Fatalf("%s, %d divergences; want diverged, 2", r.Verdict, r.Total)
	}
	if d := r.Divergences[0]; d.Step != 2 || d.What != "call" || len(d.Where) != 1 || d.Where[0].Pointer != "/contents/0/q/1" || d.Follows {
		t.Errorf("the first divergence is %+v", d)
	}
	if !r.Divergences[1].Follows {
		t.Error("the second divergence follows from the first")
	}
	if r, err = insight.Diff(t.Context(), store, a, run(`{"q":["a"]}`, `{"q":["a","b"]}`, `{"q":["a","b","c"]}`)); err != nil || r.Verdict != replay.Same {
		t.Errorf("two equal runs: %v, %v", r, err)
	}
	if _, err := insight.Diff(t.Context(), store, a, "01a1fcce-5314-7d99-9dbc-ba53afdc6681"); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}

func TestWorldAtAnEntry(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	r := record(t, store)
	commit := func(changes ...ledger.Change) {
		list := make([]canon.Value, len(changes))
		for i, c := range changes {
			list[i] = c.Encode()
		}
		if err := r.Decide(t.Context(), ledger.Decision{Kind: ledger.KindCommit, Body: canon.Object(canon.M("delta", canon.Array(list...)))}); err != nil {
			t.Fatal(err)
		}
	}
	commit(ledger.Change{Op: ledger.OpCreate, Kind: "note", ID: "a", Value: canon.String("one")})
	commit(ledger.Change{Op: ledger.OpReplace, Kind: "note", ID: "a", Version: 1, Value: canon.String("two")}, ledger.Change{Op: ledger.OpCreate, Kind: "note", ID: "b", Value: canon.Int(1)})
	run := r.seal()
	for _, test := range []struct {
		n       int64
		commits int64
		want    string
	}{{0, 0, ""}, {1, 1, `a="one" `}, {2, 2, `a="two" b=1 `}, {3, 2, `a="two" b=1 `}} {
		w, n, err := insight.WorldAt(t.Context(), store, run, test.n)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, it := range w.Items() {
			got += it.ID + "=" + string(it.Value) + " "
		}
		if got != test.want || n != test.commits {
			t.Errorf("world behind entry %d is %q of %d commits, want %q of %d", test.n, got, n, test.want, test.commits)
		}
	}
}
