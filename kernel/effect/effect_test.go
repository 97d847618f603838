package effect_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const run ledger.RunID = "01928c5e-7a10-7cc3-9a53-0123456789ab"

func call(name string, cred canon.Value) effect.Call {
	c := effect.Call{Kind: "model", Name: name, Class: effect.Read, Cred: cred}
	if err := c.Fill(); err != nil {
		panic(err)
	}
	return c
}

// recorded returns a journal of these calls, each answered, at entries 1, 3, …
func recorded(t *testing.T, calls ...effect.Call) *effect.Journal {
	t.Helper()
	j := effect.NewJournal()
	seen := map[canon.Digest]int64{}
	for i, c := range calls {
		n := int64(2*i + 1)
		k := effect.Key{Match: c.Match, Occurrence: seen[c.Match]}
		seen[c.Match]++
		o := effect.Outcome{Status: effect.OK}
		for _, e := range []ledger.Opened{
			{Header: ledger.Header{Run: run, N: n, Kind: ledger.KindCall}, Body: c.Body(k)},
			{Header: ledger.Header{Run: run, N: n + 1, Kind: ledger.KindOutcome}, Body: o.Body().With("refs", canon.Object(canon.M("call", canon.Int(n))))},
		} {
			if err := j.Add(&e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return j
}

func ExampleJournal() {
	c := effect.Call{Kind: "clock", Name: "now", Class: effect.Read}
	_ = c.Fill()
	key := effect.Key{Match: c.Match}
	j := effect.NewJournal()
	_ = j.Add(&ledger.Opened{Header: ledger.Header{Run: run, N: 1, Kind: ledger.KindCall}, Body: c.Body(key)})
	o := effect.Outcome{Status: effect.OK, Data: canon.String("2026-11-21T10:00:00Z")}
	_ = j.Add(&ledger.Opened{Header: ledger.Header{Run: run, N: 2, Kind: ledger.KindOutcome}, Body: o.Body().With("refs", canon.Object(canon.M("call", canon.Int(1))))})

	a, _ := j.Answer(key, &c)
	fmt.Println("answered by entry", a.Recorded.Outcome.N)
	key.Occurrence++
	_, err := j.Answer(key, &c)
	fmt.Println(fault.CodeOf(err))
	// Output:
	// answered by entry 2
	// effect.not_recorded
}

func TestEachRecordAnswersOnceInItsOrder(t *testing.T) {
	t.Parallel()
	c := call("chat", canon.Value{})
	j := recorded(t, c, c)
	for occurrence, want := range []int64{2, 4} {
		a, err := j.Answer(effect.Key{Match: c.Match, Occurrence: int64(occurrence)}, &c)
		if err != nil || a.Mode != effect.Recorded || a.Recorded.Outcome.N != want {
			t.Errorf("occurrence %d answered by %+v, %v; want entry %d", occurrence, a.Recorded, err, want)
		}
	}
	if _, err := j.Answer(effect.Key{Match: c.Match}, &c); !errors.Is(err, effect.ErrMissing) {
		t.Errorf("a used record answers again: %v", err)
	}
	if _, err := j.Answer(effect.Key{Match: c.Match, Path: "elsewhere.0"}, &c); !errors.Is(err, effect.ErrMissing) {
		t.Errorf("a call under another path is answered: %v", err)
	}
}

func TestCallWithoutOutcomeIsAnErrorNotAMiss(t *testing.T) {
	t.Parallel()
	c := call("chat", canon.Value{})
	j := effect.NewJournal()
	if err := j.Add(&ledger.Opened{Header: ledger.Header{Run: run, N: 1, Kind: ledger.KindCall}, Body: c.Body(effect.Key{Match: c.Match})}); err != nil {
		t.Fatal(err)
	}
	_, err := j.Answer(effect.Key{Match: c.Match}, &c)
	if !errors.Is(err, effect.ErrNoOutcome) || fault.ClassOf(err) != fault.ClassIntegrity {
		t.Errorf("Answer = %v, want %v", err, effect.ErrNoOutcome)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	cred := func(store, fp string) canon.Value {
		return canon.Object(canon.M("key", canon.String(store)), canon.M("fp", canon.String(fp)))
	}
	for _, tt := range []struct {
		name          string
		recorded, now canon.Value
		any           bool
		match         bool
		remarks       int
	}{
		{"equal", cred("s1", "a"), cred("s1", "a"), false, true, 0},
		{"none on both sides", canon.Value{}, canon.Value{}, false, true, 0},
		{"of another store", cred("s1", "a"), cred("s2", "b"), false, true, 1},
		{"none now", cred("s1", "a"), canon.Value{}, false, true, 1},
		{"unequal in the same store", cred("s1", "a"), cred("s1", "b"), false, false, 0},
		{"unequal, but any will do", cred("s1", "a"), cred("s1", "b"), true, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := recorded(t, call("chat", tt.recorded))
			j.AnyCredential = tt.any
			c := call("chat", tt.now)
			_, err := j.Answer(effect.Key{Match: c.Match}, &c)
			if (err == nil) != tt.match || err != nil && !errors.Is(err, effect.ErrMissing) {
				t.Errorf("Answer = %v, want match = %v", err, tt.match)
			}
			if len(j.Remarks) != tt.remarks {
				t.Errorf("remarks = %v, want %d", j.Remarks, tt.remarks)
			}
		})
	}
}

func TestSourcesThatMakeNoCall(t *testing.T) {
	t.Parallel()
	c := call("chat", canon.Value{})
	k := effect.Key{Match: c.Match}
	known := func(*effect.Call) (budget.Pico, bool) { return 25, true }
	unknown := func(*effect.Call) (budget.Pico, bool) { return 0, false }
	mock := func(effect.Key, *effect.Call) (*effect.Outcome, bool) {
		return &effect.Outcome{Status: effect.OK, Data: canon.String("mocked")}, true
	}
	none := func(effect.Key, *effect.Call) (*effect.Outcome, bool) { return nil, false }
	for _, tt := range []struct {
		name   string
		source effect.Source
		want   error
	}{
		{"priced", effect.PriceOnly{Price: known}, nil},
		{"a price that is not known is not zero", effect.PriceOnly{Price: unknown}, effect.ErrRefused},
		{"mocked", effect.Sandbox{Mock: mock}, nil},
		{"no mock", effect.Sandbox{Mock: none}, effect.ErrRefused},
		{"refused", effect.Refuse{}, effect.ErrRefused},
		{"refused with the document's code", effect.Refuse{Code: fault.Integrity("MISSING_PERSISTED_AGENT_OUTPUT")}, fault.Integrity("MISSING_PERSISTED_AGENT_OUTPUT")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := tt.source.Answer(k, &c)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Answer = %v, want %v", err, tt.want)
			}
			if err == nil && a.Mode != effect.Given {
				t.Errorf("mode = %v, want an answer that makes no call", a.Mode)
			}
		})
	}
	if a, err := (effect.Live{}).Answer(k, &c); err != nil || a.Mode != effect.MakeIt {
		t.Errorf("live = %+v, %v", a, err)
	}
}

func TestCauseKeepsItsCodeOverTheRecord(t *testing.T) {
	t.Parallel()
	o := effect.Outcome{Status: effect.Error, Code: effect.ErrRefused, Redacted: []string{"OPENAI_API_KEY"}}
	got, err := effect.ParseOutcome(o.Body())
	if err != nil || !errors.Is(got.Code, effect.ErrRefused) || got.Redacted[0] != "OPENAI_API_KEY" {
		t.Errorf("ParseOutcome = %+v, %v", got, err)
	}
	bad := canon.Object(canon.M("status", canon.String("fine")))
	if _, err := effect.ParseOutcome(bad); !errors.Is(err, effect.ErrCall) {
		t.Errorf("an unknown status = %v, want %v", err, effect.ErrCall)
	}
}

func TestCallSurvivesItsBody(t *testing.T) {
	t.Parallel()
	c := effect.Call{Kind: "mcp", Name: "tools/call order", Class: effect.External, Norms: []string{"mcp-meta@1"}, Data: canon.Object(canon.M("a", canon.Int(1)))}
	if err := c.Fill(); err != nil {
		t.Fatal(err)
	}
	outer := effect.Key{Match: canon.SHA256([]byte("outer")), Occurrence: 3}
	k := effect.Key{Path: outer.Under(), Match: c.Match, Occurrence: 2}
	got, gotKey, err := effect.ParseCall(c.Body(k))
	if err != nil || gotKey != k || got.Norms[0] != "mcp-meta@1" || got.Class != effect.External || !got.Data.Equal(c.Data) {
		t.Errorf("ParseCall = %+v %+v, %v; want the call again", got, gotKey, err)
	}
	if k.Depth() != 1 || outer.Depth() != 0 {
		t.Errorf("depths = %d %d, want 1 0", k.Depth(), outer.Depth())
	}
	below := effect.Key{Path: k.Under()}
	other := effect.Key{Match: outer.Match, Occurrence: 31} // whose path begins with that of outer
	if !k.Beneath(outer.Under()) || !below.Beneath(outer.Under()) || outer.Beneath(outer.Under()) || (effect.Key{Path: other.Under()}).Beneath(outer.Under()) {
		t.Error("Beneath does not tell what stands under a call")
	}
	if _, _, err := effect.ParseCall(canon.Object()); !errors.Is(err, effect.ErrCall) {
		t.Errorf("an empty call = %v", err)
	}
}

func TestMatchKeyKeepsItsPartsApart(t *testing.T) {
	t.Parallel()
	if effect.MatchKey([]byte("ab"), []byte("c")) == effect.MatchKey([]byte("a"), []byte("bc")) {
		t.Error("two ways to cut the same bytes give one key")
	}
}

func TestRegistryFindsNoNearestVersion(t *testing.T) {
	t.Parallel()
	r, err := effect.NewRegistry(effect.Callable{Name: "fetch", Version: "1.0", Kind: "http", Class: effect.Read})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find("fetch", "1.1"); !errors.Is(err, effect.ErrUnknownCallable) {
		t.Errorf("Find of another version = %v", err)
	}
	if c, err := r.Find("fetch", "1.0"); err != nil || c.Kind != "http" {
		t.Errorf("Find = %+v, %v", c, err)
	}
	if _, err := effect.NewRegistry(r.All()[0], r.All()[0]); !errors.Is(err, effect.ErrDuplicateCallable) {
		t.Errorf("a callable registered twice = %v", err)
	}
}
