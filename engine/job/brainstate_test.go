package job_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const seed = det.Seed("seed-0001")

// brain is the one that most tests begin with.
func brain() job.Brain {
	return job.Brain{
		Constants: job.StandardBrainConstants(),
		State: job.NewBrainState(seed, det.Epoch,
			job.Attention{Gain: n9("0.5"), Explore: n9("0.2")}, job.Budget{Tokens: 2048, MaxDepth: 5}),
	}
}

// n9 returns the Nano that is written so.
func n9(s string) job.Nano {
	v, err := canon.Number(s)
	if err != nil {
		panic(err)
	}
	n, err := job.Quantise(v)
	if err != nil {
		panic(err)
	}
	return n
}

// step ticks once, which must succeed.
func step(t testing.TB, b job.Brain, in job.TickInput) (job.Brain, job.TickReport) {
	t.Helper()
	in.At = job.NewStamp(seed, b.State.Tick, job.EventTick).At
	next, report, err := b.Tick(in)
	if err != nil {
		t.Fatalf("Tick(%s) = %v", in.Value(), err)
	}
	return next, report
}

func fact(value string, ttl int64) job.NewMemory {
	return job.NewMemory{Type: job.MemoryFact, Value: canon.String(value), TTL: ttl}
}

func wantCode(t testing.TB, what string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

func word(n *int) job.Word {
	switch {
	case n == nil:
		return job.Silent
	case *n == 1:
		return job.Yes
	default:
		return job.No
	}
}

// T-BS-03, and the hints of T-BS-05, over the vectors of the written rule.
func TestBrainStateVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Spec []struct {
			Gain      float64 `json:"attention_gain"`
			Explore   float64 `json:"explore_bias"`
			Council   *int    `json:"council"`
			User      *int    `json:"user_upvote"`
			Reward    string  `json:"reward"`
			GainNext  string  `json:"attention_gain_next"`
			BiasNext  string  `json:"explore_bias_next"`
			Depth     int64   `json:"max_depth_hint_of_5"`
			PreferAPT bool    `json:"prefer_high_apt"`
			Explores  bool    `json:"allow_explore"`
		}
	}
	vectors(t, "brainstate_vectors.json", &file)
	if len(file.Spec) != 6 {
		t.Fatalf("%d vectors, want 6", len(file.Spec))
	}
	for i, v := range file.Spec {
		b := brain()
		b.State.Attend = job.Attention{
			Gain: n9(strconv.FormatFloat(v.Gain, 'f', -1, 64)), Explore: n9(strconv.FormatFloat(v.Explore, 'f', -1, 64)),
		}
		b, _ = step(t, b, job.TickInput{Council: word(v.Council), User: word(v.User)})
		want := job.Attention{Gain: n9(v.GainNext), Explore: n9(v.BiasNext), Reward: n9(v.Reward)}
		if got := b.State.Attend; got != want {
			t.Errorf("vector %d: attention = %v, want %v", i, got, want)
		}
		wantHints := job.Hints{MaxDepth: v.Depth, PreferHighTrust: v.PreferAPT, AllowExplore: v.Explores}
		if got := b.Hints(); got != wantHints {
			t.Errorf("vector %d: Hints() = %+v, want %+v", i, got, wantHints)
		}
	}
}

func TestCouncilOverridesTheUserWhereTheSnapshotSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		overrides     bool
		council, user job.Word
		want          string
	}{
		{false, job.No, job.Yes, "0.2"},
		{true, job.No, job.Yes, "0"},
		{true, job.Yes, job.No, "0.8"},
		{true, job.Yes, job.Yes, "1"},
		{true, job.Yes, job.Silent, "0.8"},
		{false, job.Silent, job.Yes, "0"},
	} {
		b := brain()
		b.Constants.CouncilOverrides = c.overrides
		b, _ = step(t, b, job.TickInput{Council: c.council, User: c.user})
		if got := b.State.Attend.Reward; got != n9(c.want) {
			t.Errorf("reward of council %d, user %d, overrides %t = %s, want %s", c.council, c.user, c.overrides, got, n9(c.want))
		}
	}
}

// T-BS-01, M-T1.
func TestMemoryIsDroppedWhenItsTicksAreOver(t *testing.T) {
	t.Parallel()
	b, first := step(t, brain(), job.TickInput{Insert: []job.NewMemory{fact("x", 2)}})
	if len(b.State.Working) != 1 || b.State.Working[0].TTL != 1 {
		t.Fatalf("after one tick working memory = %+v, want x with one tick left", b.State.Working)
	}
	b, report := step(t, b, job.TickInput{})
	if len(b.State.Working) != 0 || !slices.Equal(report.Dropped, first.Inserted) {
		t.Errorf("after two ticks working memory = %+v, dropped %v; want none, %v", b.State.Working, report.Dropped, first.Inserted)
	}
	if want := job.WorkingMemoryID(seed, 0); first.Inserted[0] != want {
		t.Errorf("wm_id = %s, want %s", first.Inserted[0], want)
	}
}

// T-BS-02: the same item inserted twice is one item referenced twice.
func TestMemoryInsertedTwiceIsPromoted(t *testing.T) {
	t.Parallel()
	b, _ := step(t, brain(), job.TickInput{Insert: []job.NewMemory{fact("x", 0)}})
	if len(b.State.Context.Items) != 0 {
		t.Fatalf("after one tick the context holds %v", b.State.Context.Items)
	}
	b, report := step(t, b, job.TickInput{Insert: []job.NewMemory{fact("x", 0)}})
	items := b.State.Context.Items
	if len(b.State.Working) != 0 || len(items) != 1 || items[0].ID != report.Promoted[0] || items[0].TTL != 10 || items[0].References != 2 {
		t.Errorf("after two ticks working memory = %v, context = %+v; want the item in the context", b.State.Working, items)
	}
	// The text is inserted once more: it is a new item with an id of its own.
	b, report = step(t, b, job.TickInput{Insert: []job.NewMemory{fact("x", 0)}})
	if len(b.State.Context.Items) != 1 || report.Inserted[0] == items[0].ID {
		t.Errorf("context = %+v, inserted %v; want one item and a new id", b.State.Context.Items, report.Inserted)
	}
}

// M-T2, and that references outside of the window do not count.
func TestMemoryIsPromotedByReferencesWithinTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticksBetween int
		want         bool
	}{{1, true}, {3, true}, {4, false}, {7, false}} {
		b, report := step(t, brain(), job.TickInput{Insert: []job.NewMemory{fact("x", 20)}})
		id := report.Inserted[0]
		for range c.ticksBetween - 1 {
			b, _ = step(t, b, job.TickInput{})
		}
		b, report = step(t, b, job.TickInput{Reference: []string{id}})
		if got := slices.Contains(report.Promoted, id); got != c.want {
			t.Errorf("referenced %d ticks after the insertion: promoted = %t, want %t (context %v)", c.ticksBetween, got, c.want, b.State.Context.Items)
		}
	}
}

func TestContextHoldsWhatIsUsedMostWithinItsShareOfTheBudget(t *testing.T) {
	t.Parallel()
	b := brain()
	b.State.Budget.Tokens = 40                  // the context gets 10
	long, short := strings.Repeat("l", 26), "s" // 28 bytes with quotes are 7 tokens, 3 are 1
	b, report := step(t, b, job.TickInput{Insert: []job.NewMemory{fact(long, 9), fact(long, 9)}})
	if b.State.Context.Tokens != 7 || len(report.Promoted) != 1 {
		t.Fatalf("context = %+v, want the long text, 7 tokens", b.State.Context)
	}
	b, _ = step(t, b, job.TickInput{Insert: []job.NewMemory{
		fact(long+"2", 9), fact(long+"2", 9), fact(long+"2", 9), fact(short, 9), fact(short, 9),
	}})
	var got []string
	for _, item := range b.State.Context.Items {
		got = append(got, item.Value.Str())
	}
	if want := []string{long + "2", short}; !slices.Equal(got, want) || b.State.Context.Tokens != 9 {
		t.Errorf("context = %q of %d tokens, want %q of 9", got, b.State.Context.Tokens, want)
	}
}

func TestContextForgetsWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	b, report := step(t, brain(), job.TickInput{Insert: []job.NewMemory{fact("x", 0), fact("x", 0)}})
	id := report.Promoted[0]
	for range 5 {
		b, _ = step(t, b, job.TickInput{Reference: []string{id}})
	}
	if ttl := b.State.Context.Items[0].TTL; ttl != 10 {
		t.Errorf("ttl of an item in use = %d, want 10", ttl)
	}
	for range 10 {
		b, report = step(t, b, job.TickInput{})
	}
	if len(b.State.Context.Items) != 0 || b.State.Context.Tokens != 0 || !slices.Equal(report.Dropped, []string{id}) {
		t.Errorf("after 10 ticks the context = %+v, dropped %v; want nothing, %s", b.State.Context, report.Dropped, id)
	}
}

// T-BS-04.
func TestGoalsEndByTheRules(t *testing.T) {
	t.Parallel()
	goal := func(id, priority string) job.NewGoal {
		return job.NewGoal{ID: id, Type: job.GoalAnswer, Origin: job.FromUser, User: n9(priority), Heuristic: n9(priority)}
	}
	try := func(deliverable bool, confidence string, exhausted bool) []job.TickInput {
		return []job.TickInput{{Attempts: []job.Attempt{{Goal: "g", Deliverable: deliverable, Confidence: n9(confidence), Exhausted: exhausted}}}}
	}
	for _, c := range []struct {
		name  string
		ticks []job.TickInput
		want  job.GoalStatus
	}{
		{"created", nil, job.GoalActive},
		{"delivered with confidence", try(true, "0.7", false), job.GoalSucceeded},
		{"delivered without", try(true, "0.699999999", false), job.GoalActive},
		{"confident without a deliverable", try(false, "1", false), job.GoalActive},
		{"two attempts", slices.Repeat(try(false, "0", false), 2), job.GoalActive},
		{"three attempts", slices.Repeat(try(false, "0", false), 3), job.GoalFailed},
		{"repairs exhausted", try(false, "0", true), job.GoalFailed},
		{"a goal that failed stays so", append(try(false, "0", true), try(true, "1", false)...), job.GoalFailed},
		{"budget exhausted", []job.TickInput{{TokensUsed: 2048}}, job.GoalPaused},
		{"budget not quite exhausted", []job.TickInput{{TokensUsed: 2047}}, job.GoalActive},
		{"preempted", []job.TickInput{{Goals: []job.NewGoal{goal("h", "0.700000001")}}}, job.GoalPaused},
		{"not preempted at the margin", []job.TickInput{{Goals: []job.NewGoal{goal("h", "0.7")}}}, job.GoalActive},
	} {
		b, _ := step(t, brain(), job.TickInput{Goals: []job.NewGoal{goal("g", "0.5")}})
		for _, in := range c.ticks {
			b, _ = step(t, b, in)
		}
		if g, _ := b.State.Goal("g"); g.Status != c.want {
			t.Errorf("%s: status = %s, want %s", c.name, g.Status, c.want)
		}
	}
	b, _ := step(t, brain(), job.TickInput{Goals: []job.NewGoal{{
		ID: "g", Type: job.GoalPlan, Origin: job.FromAgent, User: job.One, Heuristic: n9("0.5"),
		Metadata: canon.Object(canon.M("topic", canon.String("ohm"))),
	}}})
	g, _ := b.State.Goal("g")
	if g.Priority != n9("0.9") || b.State.Context.Topic != "ohm" {
		t.Errorf("priority = %s, topic = %q; want 0.8·1 + 0.2·0.5 and ohm", g.Priority, b.State.Context.Topic)
	}
	if mind := b.Mind(); len(mind.Goals) != 1 || mind.Goals[0] != (job.OpenGoal{Type: "plan", Priority: n9("0.9")}) {
		t.Errorf("Mind() = %+v, want the active goal", mind)
	}
}

// T-BS-05.
func TestHintsFloorTheDepth(t *testing.T) {
	t.Parallel()
	b := brain()
	b.State.Budget.MaxDepth, b.State.Attend.Gain = 3, n9("0.4")
	if got := b.Hints().MaxDepth; got != 1 {
		t.Errorf("max_depth_allowed = %d, want floor(0.4·3) = 1", got)
	}
	if got, want := encode(t, b.Hints().Value()), `{"allow_explore":true,"max_depth_allowed":1,"prefer_high_APT":false}`; got != want {
		t.Errorf("hints = %s, want %s", got, want)
	}
}

func tickInput(t *rapid.T, ids []string) job.TickInput {
	digit := rapid.IntRange(0, 4)
	in := job.TickInput{
		At:      det.Epoch + det.Instant(digit.Draw(t, "at")),
		Council: job.Word(rapid.IntRange(0, 2).Draw(t, "council")), User: job.Word(rapid.IntRange(0, 2).Draw(t, "user")),
		TokensUsed: int64(rapid.IntRange(0, 300).Draw(t, "tokens")),
	}
	for range digit.Draw(t, "inserts") {
		value := canon.String(strings.Repeat("v", 1+digit.Draw(t, "value")))
		if digit.Draw(t, "number") == 0 {
			value, _ = canon.Number("0.12345678949")
		}
		in.Insert = append(in.Insert, job.NewMemory{Type: job.MemoryHint, Value: value, TTL: int64(digit.Draw(t, "ttl"))})
	}
	if len(ids) > 0 {
		for range digit.Draw(t, "references") {
			in.Reference = append(in.Reference, rapid.SampledFrom(ids).Draw(t, "id"))
		}
	}
	return in
}

// T-BS-06, M-T7: the trace comes out the same bit for bit from the start, and
// from any state in between as it was recorded.
func TestTicksReplayBitForBit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := brain()
		b.State.Budget.Tokens = 100
		var inputs []canon.Value
		var states []string
		for i := range rapid.IntRange(1, 12).Draw(t, "ticks") {
			var ids []string
			for _, m := range b.State.Working {
				ids = append(ids, m.ID)
			}
			for _, c := range b.State.Context.Items {
				ids = append(ids, c.ID)
			}
			in := tickInput(t, ids)
			if i%4 == 0 {
				id := "g" + strconv.Itoa(i)
				in.Goals = []job.NewGoal{{ID: id, Type: job.GoalSave, Origin: job.FromUser, User: n9("0.3"), Heuristic: n9("0.1")}}
				in.Attempts = []job.Attempt{{Goal: id, Confidence: n9("0.7"), Deliverable: i%8 == 0}}
			}
			next, _, err := b.Tick(in)
			if err != nil {
				t.Fatal(err)
			}
			b = next
			bytes, err := canon.Encode(b.Value(), canon.MACEFixed9)
			if err != nil {
				t.Fatal(err)
			}
			text, err := canon.Encode(in.Value(), canon.MACEFixed9)
			if err != nil {
				t.Fatal(err)
			}
			payload, err := canon.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			inputs, states = append(inputs, payload), append(states, string(bytes))
			if n := b.State.Context.Tokens; n > b.State.Budget.Tokens/4 {
				t.Fatalf("the context uses %d tokens, more than its share", n)
			}
		}
		from := rapid.IntRange(0, len(inputs)).Draw(t, "from")
		again := brain()
		again.State.Budget.Tokens = 100
		if from > 0 {
			v, err := canon.Parse([]byte(states[from-1]))
			if err != nil {
				t.Fatal(err)
			}
			if again, err = job.ParseBrain(v); err != nil {
				t.Fatal(err)
			}
		}
		at := from
		_, err := again.Replay(inputs[from:], func(b job.Brain, _ job.TickReport) {
			got, err := canon.Encode(b.Value(), canon.MACEFixed9)
			if err != nil || string(got) != states[at] {
				t.Fatalf("state after tick %d = %s, %v; want %s", at, got, err, states[at])
			}
			at++
		})
		if err != nil || at != len(inputs) {
			t.Fatalf("Replay() = %v after %d of %d ticks", err, at, len(inputs))
		}
	})
}

func TestBrainSnapshotNamesTheConstantsItLacks(t *testing.T) {
	t.Parallel()
	v := brain().Value()
	whole, err := job.ParseBrain(v)
	if err != nil || len(whole.Warnings) != 0 || !whole.Value().Equal(v) {
		t.Fatalf("ParseBrain(Value()) = %s, %v, %v; want the same and no warning", whole.Value(), whole.Warnings, err)
	}
	state := v.Get("state")
	state = state.With("attention", state.Get("attention").Without("attention_gain"))
	lacking := v.With("constants", v.Get("constants").Without("a_decay", "promotion_window")).With("state", state)
	got, err := job.ParseBrain(lacking)
	if want := []string{"a_decay", "attention_gain", "promotion_window"}; err != nil || !slices.Equal(got.Warnings, want) {
		t.Errorf("ParseBrain() warns of %v, %v; want %v", got.Warnings, err, want)
	}
	if !got.Value().Equal(v) {
		t.Errorf("defaults give %s, want %s", got.Value(), v)
	}
}

func TestBrainSnapshotIsReadStrictly(t *testing.T) {
	t.Parallel()
	b, _ := step(t, brain(), job.TickInput{
		Goals:    []job.NewGoal{{ID: "g", Type: job.GoalAnswer, Origin: job.FromUser, Deadline: "2025-06-01T00:00:00Z"}},
		Insert:   []job.NewMemory{fact("x", 0), fact("x", 0), fact("y", 0)},
		Failures: []job.Failure{{Node: "agent:math_v1", At: det.Epoch, Reason: "timeout"}},
	})
	v := b.Value()
	if got, err := job.ParseBrain(v); err != nil || !got.Value().Equal(v) {
		t.Fatalf("ParseBrain(Value()) = %s, %v; want %s", got.Value(), err, v)
	}
	state := v.Get("state")
	with := func(name string, x canon.Value) canon.Value { return v.With("state", state.With(name, x)) }
	half, _ := canon.Number("0.5")
	for name, bad := range map[string]canon.Value{
		"no object":        canon.Null(),
		"unknown member":   v.With("more", canon.Null()),
		"unknown constant": v.With("constants", v.Get("constants").With("more", canon.Int(1))),
		"constant of zero": v.With("constants", v.Get("constants").With("max_attempts", canon.Int(0))),
		"second spelling":  v.With("constants", v.Get("constants").With("a_gain", half)),
		"other id":         with("brainstate_id", canon.String("bs:other")),
		"twin memories":    with("WM", canon.Array(state.Get("WM").At(0), state.Get("WM").At(0))),
		"promoted twice":   with("WM", canon.Array(state.Get("WM").At(0).With("wm_id", state.Get("CWM").Get("items").At(0).Get("cwm_id_item")))),
		"twin goals":       with("goals", canon.Array(state.Get("goals").At(0), state.Get("goals").At(0))),
		"negative tick":    with("tick", canon.Int(-1)),
		"not promoted":     with("CWM", state.Get("CWM").With("items", canon.Array(state.Get("CWM").Get("items").At(0).With("promoted_from_wm", canon.Bool(false))))),
	} {
		_, err := job.ParseBrain(bad)
		wantCode(t, "ParseBrain("+name+")", err, job.ErrBrain)
	}
}

func TestTickRefusesWhatIsNotThereAndChangesNothing(t *testing.T) {
	t.Parallel()
	b, _ := step(t, brain(), job.TickInput{Goals: []job.NewGoal{{ID: "g", Type: job.GoalAnswer, Origin: job.FromUser}}})
	before := encode(t, b.Value())
	for name, in := range map[string]job.TickInput{
		"unknown memory":   {Insert: []job.NewMemory{fact("x", 0)}, Reference: []string{"?"}},
		"unknown goal":     {Attempts: []job.Attempt{{Goal: "h"}}},
		"twin goal":        {Goals: []job.NewGoal{{ID: "g", Type: job.GoalAnswer, Origin: job.FromUser}}},
		"goal of no type":  {Goals: []job.NewGoal{{ID: "h", Origin: job.FromUser}}},
		"priority above 1": {Goals: []job.NewGoal{{ID: "h", Type: job.GoalAnswer, Origin: job.FromUser, User: 2 * job.One}}},
		"bad deadline":     {Goals: []job.NewGoal{{ID: "h", Type: job.GoalAnswer, Origin: job.FromUser, Deadline: "tomorrow"}}},
		"confidence":       {Attempts: []job.Attempt{{Goal: "g", Confidence: -1}}},
		"negative tokens":  {TokensUsed: -1},
		"memory of none":   {Insert: []job.NewMemory{{Type: job.MemoryFact}}},
		"huge memory":      {Insert: []job.NewMemory{fact(strings.Repeat("x", 1<<15), 0)}},
		"nameless failure": {Failures: []job.Failure{{Reason: "timeout", At: det.Epoch}}},
	} {
		got, _, err := b.Tick(in)
		wantCode(t, "Tick("+name+")", err, job.ErrBrain)
		if after := encode(t, got.Value()); after != before {
			t.Errorf("Tick(%s) left %s, want %s", name, after, before)
		}
	}
}
