package trajectory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const routing = `{"alternatives":["small"],"confidence_bps":9000,"cost_estimate_millicents":12,"decision_hash":"d1",` +
	`"latency_estimate_ms":40,"reason_codes":["cheap"],"selected":"large"}`

func greeting(t testing.TB) trajectory.Intent {
	t.Helper()
	v, _ := vectorCase(t, "intent_body")
	i, err := trajectory.ParseIntent(v)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func intentID(t testing.TB, i trajectory.Intent) canon.Digest {
	t.Helper()
	id, err := i.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A.5 core/ids: intent ids are deterministic and sensitive to one changed field.
func TestIntentIDIsDeterministicAndSensitive(t *testing.T) {
	t.Parallel()
	v, want := vectorCase(t, "intent_body")
	i := greeting(t)
	if got := intentID(t, i); got != want || !i.Value().Equal(v) {
		t.Errorf("ID = %s of %s, want %s of %s", got, i.Value(), want, v)
	}
	seen := map[canon.Digest]string{want: "the vector"}
	for name, change := range map[string]func(*trajectory.Intent){
		"parent":    func(i *trajectory.Intent) { i.Parent = &want },
		"author":    func(i *trajectory.Intent) { i.Author = "another" },
		"kind":      func(i *trajectory.Intent) { i.Kind = trajectory.IntentPlan },
		"target":    func(i *trajectory.Intent) { i.Target = "kv_get" },
		"args":      func(i *trajectory.Intent) { i.Args = parse(t, `{"key":"hello","value":"World"}`) },
		"rationale": func(i *trajectory.Intent) { i.Rationale = "" },
		"nonce":     func(i *trajectory.Intent) { i.Nonce[15]++ },
	} {
		c := greeting(t)
		change(&c)
		id := intentID(t, c)
		if other, twice := seen[id]; twice {
			t.Errorf("another %s has the id of %s", name, other)
		}
		seen[id] = name
	}
}

// A.5 core/ids: nonce makes twins distinct.
func TestNonceMakesTwinsDistinct(t *testing.T) {
	t.Parallel()
	a, b := greeting(t), greeting(t)
	if intentID(t, a) != intentID(t, b) {
		t.Error("two equal intents have two ids")
	}
	b.Nonce = [16]byte{2}
	if intentID(t, a) == intentID(t, b) {
		t.Error("two intents that differ in their nonce have one id")
	}
}

func TestRoutingEvidenceDoesNotChangeTheIntentID(t *testing.T) {
	t.Parallel()
	i := greeting(t)
	id := intentID(t, i)
	i.Routing = parse(t, routing)
	if got := intentID(t, i); got != id {
		t.Errorf("ID with routing evidence = %s, want %s", got, id)
	}
	entry, err := i.Entry()
	if err != nil {
		t.Fatal(err)
	}
	back, err := trajectory.ParseIntentEntry(entry)
	if err != nil || !back.Routing.Equal(i.Routing) || intentID(t, back) != id {
		t.Errorf("ParseIntentEntry(%s) = %+v, %v", entry, back, err)
	}
	for name, v := range map[string]canon.Value{
		"another id":      entry.With("id", canon.String(strings.Repeat("0", 64))),
		"another body":    entry.With("body", entry.Get("body").With("author", canon.String("x"))),
		"a member more":   entry.With("x", canon.Null()),
		"routing is null": entry.With("routing_evidence", canon.Null()),
		"bad routing":     entry.With("routing_evidence", parse(t, routing).With("confidence_bps", canon.Int(10_001))),
	} {
		if _, err := trajectory.ParseIntentEntry(v); !errors.Is(err, trajectory.ErrIntent) {
			t.Errorf("%s: ParseIntentEntry = %v, want %v", name, err, trajectory.ErrIntent)
		}
	}
}

func TestParseIntentIsStrict(t *testing.T) {
	t.Parallel()
	v, _ := vectorCase(t, "intent_body")
	for name, bad := range map[string]canon.Value{
		"no object":         canon.String("act"),
		"member too many":   v.With("routing_evidence", parse(t, routing)),
		"no rationale":      v.Without("rationale"),
		"no args":           v.Without("args"),
		"unknown kind":      v.With("kind", canon.String("ACT")),
		"no author":         v.With("author", canon.String("")),
		"long target":       v.With("target", canon.String(strings.Repeat("x", 257))),
		"long rationale":    v.With("rationale", canon.String(strings.Repeat("x", 9000))),
		"nonce as text":     v.With("nonce", canon.String("00")),
		"parent as text":    v.With("parent_commit", canon.String("none")),
		"args not lifted":   v.With("args", parse(t, `{"price":9.5}`)),
		"args badly lifted": v.With("args", parse(t, `{"price":{"$number":"9"}}`)),
		"args too long":     v.With("args", canon.String(strings.Repeat("x", 41<<10))),
	} {
		if i, err := trajectory.ParseIntent(bad); !errors.Is(err, trajectory.ErrIntent) || fault.ClassOf(err) != fault.ClassInvalid {
			t.Errorf("%s: ParseIntent = %+v, %v, want %v", name, i, err, trajectory.ErrIntent)
		}
	}
	lifted := v.With("args", parse(t, `{"price":{"$number":"9.5"}}`))
	if i, err := trajectory.ParseIntent(lifted); err != nil || !i.Value().Equal(lifted) {
		t.Errorf("ParseIntent(%s) = %s, %v", lifted, i.Value(), err)
	}
}

func TestRoutingEvidenceIsStrict(t *testing.T) {
	t.Parallel()
	ok := parse(t, routing)
	hint := parse(t, `{"provider":"p","reason":"slow"}`)
	for _, v := range []canon.Value{
		ok, ok.With("fallback_hint", hint), ok.With("fallback_hint", hint.With("model", canon.String("m"))),
		ok.With("confidence_bps", canon.Int(0)), ok.With("confidence_bps", canon.Int(10_000)),
	} {
		if err := trajectory.CheckRouting(v); err != nil {
			t.Errorf("CheckRouting(%s) = %v", v, err)
		}
	}
	for _, v := range []canon.Value{
		{},
		canon.Null(), ok.Without("selected"), ok.With("x", canon.Null()), ok.With("confidence_bps", canon.Int(-1)),
		ok.With("confidence_bps", canon.Int(10_001)), ok.With("alternatives", canon.String("a")), ok.With("reason_codes", parse(t, `[1]`)),
		ok.With("fallback_hint", canon.Null()), ok.With("fallback_hint", hint.Without("reason")), ok.With("fallback_hint", hint.With("model", canon.Null())),
	} {
		if err := trajectory.CheckRouting(v); !errors.Is(err, trajectory.ErrRouting) {
			t.Errorf("CheckRouting(%s) = %v, want %v", v, err, trajectory.ErrRouting)
		}
	}
}
