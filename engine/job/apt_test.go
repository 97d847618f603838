package job_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// T-APT-01, T-APT-02 and T-APT-04: the worked values, and the ends of the range.
// The vectors carry doubles from step to step, we carry nine decimals; each of
// their steps comes out the same.
func TestTrustMovesAsTheVectorsSay(t *testing.T) {
	t.Parallel()
	var file struct {
		Sequences []struct {
			Start json.Number
			Steps []struct {
				Event  string
				Before string
				After  string `json:"after_9dp"`
			}
		}
	}
	vectors(t, "apt_vectors.json", &file)
	if len(file.Sequences) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range file.Sequences {
		stamp := stamps("seed-0001")
		s := selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", c.Start.String())})
		for i, step := range c.Steps {
			e := job.APTEvent{Stamp: stamp(step.Event), Seed: "seed-0001", Node: "agent:a_v1", Type: step.Event, Payload: job.Payload{Good: true}}
			next, row, err := s.Apply(e)
			want := job.Row{EventID: e.Stamp.ID, Before: nano(t, step.Before), After: nano(t, step.After)}
			if err != nil || row != want {
				t.Errorf("from %s, step %d: Apply(%s) = %+v, %v, want %+v", c.Start, i, step.Event, row, err, want)
			}
			s = next
		}
	}
}

// T-APT-03.
func TestTheOrderOfEventsCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		events []string
		want   string
	}{
		{[]string{job.CouncilApproval, job.AgentTimeout}, "0.348900500"},
		{[]string{job.AgentTimeout, job.CouncilApproval}, "0.349250500"},
	} {
		got := node(t, script(t, selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", "0.5")}), c.events...), "agent:a_v1")
		if got.APT.String() != c.want {
			t.Errorf("after %q the trust is %s, want %s", c.events, got.APT, c.want)
		}
	}
	s := selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", "0.5")})
	event := func(index int64) job.APTEvent {
		return job.APTEvent{Stamp: job.NewStamp("s", index, job.AgentTimeout), Seed: "s", Node: "agent:a_v1", Type: job.AgentTimeout}
	}
	after, rows, err := s.Reduce([]job.APTEvent{event(2), event(7), event(7), event(8)})
	if !errors.Is(err, job.ErrEvent) || len(rows) != 2 || node(t, after, "agent:a_v1").Failures != 2 {
		t.Errorf("Reduce of an event twice = %d rows, %v, want %v after two", len(rows), err, job.ErrEvent)
	}
}

// T-APT-05.
func TestOnlyAnActOfAnAdminOrTheCouncilOverridesTrust(t *testing.T) {
	t.Parallel()
	act := strings.Repeat("ab", 32)
	start := agent(t, "a", "0.5")
	start.Status, start.Failures = job.Offline, 3
	s := selfRep(t, job.StandardTrust(), []job.Node{start})
	apply := func(o job.Override) (job.Node, error) {
		e := job.APTEvent{Stamp: job.NewStamp("s", 0, job.ManualOverride), Seed: "s", Node: start.ID, Type: job.ManualOverride, Payload: job.Payload{Override: o}}
		next, _, err := s.Apply(e)
		return node(t, next, start.ID), err
	}
	for _, none := range []string{"", "yes", strings.Repeat("AB", 32)} {
		if n, err := apply(job.Override{APT: job.One, Act: none}); !errors.Is(err, job.ErrOverride) || n.APT != start.APT {
			t.Errorf("an override by the act %q = %s, %v, want %v", none, n.APT, err, job.ErrOverride)
		}
	}
	for _, c := range []struct {
		name   string
		o      job.Override
		apt    string
		status job.Status
	}{
		{"trust only", job.Override{APT: nano(t, "0.7"), Act: act}, "0.700000000", job.Offline},
		{"above 1", job.Override{APT: nano(t, "1.5"), Act: act}, "1.000000000", job.Offline},
		{"below 0", job.Override{APT: nano(t, "-2"), Act: act}, "0.000000000", job.Offline},
		{"back to healthy", job.Override{APT: nano(t, "0.7"), Status: job.Healthy, Reason: "mended", Act: act}, "0.700000000", job.Healthy},
		{"quarantined", job.Override{APT: 0, Status: job.Quarantined, Reason: "leaks", Act: act}, "0.000000000", job.Quarantined},
	} {
		n, err := apply(c.o)
		if err != nil || n.APT.String() != c.apt || n.Status != c.status {
			t.Errorf("%s: Apply() = %s, %s, %v, want %s, %s", c.name, n.APT, n.Status, err, c.apt, c.status)
		}
		if c.o.Status != "" && (n.StatusReason != c.o.Reason || n.Failures != 0) {
			t.Errorf("%s: Apply() = reason %q and %d failures, want %q and a new row", c.name, n.StatusReason, n.Failures, c.o.Reason)
		}
	}
	if _, err := apply(job.Override{Status: "fine", Act: act}); !errors.Is(err, job.ErrEvent) {
		t.Errorf("an override to an unknown status = %v, want %v", err, job.ErrEvent)
	}
}

// T-APT-06: the state at the end is that of folding the stored events again,
// wherever one begins.
func TestTrustIsAFoldOfTheStoredEvents(t *testing.T) {
	t.Parallel()
	types := []string{job.CouncilApproval, job.GroundTruthLabel, job.AgentTimeout, job.AgentException, job.OperationalNote, job.UserFeedback}
	rapid.Check(t, func(rt *rapid.T) {
		stamp := stamps("seed-0100")
		var events []job.APTEvent
		for range rapid.IntRange(1, 20).Draw(rt, "events") {
			e := job.APTEvent{
				Seed: "seed-0100", Node: rapid.SampledFrom([]string{"agent:a_v1", "agent:b_v1"}).Draw(rt, "node"),
				Type:    rapid.SampledFrom(types).Draw(rt, "type"),
				Payload: job.Payload{Good: rapid.Bool().Draw(rt, "good")},
			}
			e.Stamp = stamp(e.Type)
			if e.Type == job.AgentException {
				e.Payload.ErrorCode = "AGENT_ERROR"
			}
			events = append(events, e)
		}
		stored := make([]job.APTEvent, len(events))
		for i, e := range events {
			read, err := job.ParseAPTEvent(parse(t, encode(t, e.Value())))
			if err != nil {
				rt.Fatal(err)
			}
			stored[i] = read
		}
		start := selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", "0.8"), agent(t, "b", "0.3")})
		whole, rows, err := start.Reduce(events)
		if err != nil || len(rows) != len(events) {
			rt.Fatalf("Reduce() = %d rows, %v, want %d", len(rows), err, len(events))
		}
		cut := rapid.IntRange(0, len(events)).Draw(rt, "cut")
		middle, _, err := start.Reduce(stored[:cut])
		if err != nil {
			rt.Fatal(err)
		}
		// As a replay does it, from the state as it was written.
		middle, err = job.ParseSelfRep(parse(t, encode(t, middle.Value())))
		if err != nil {
			rt.Fatal(err)
		}
		end, _, err := middle.Reduce(stored[cut:])
		if err != nil || encode(t, end.Value()) != encode(t, whole.Value()) {
			rt.Fatalf("folded in two parts = %s, %v, want %s", end.Value(), err, whole.Value())
		}
	})
}

func TestAnEventOfAnotherSeedOrPlaceIsNotApplied(t *testing.T) {
	t.Parallel()
	s := selfRep(t, job.StandardTrust(), []job.Node{agent(t, "a", "0.5")})
	good := job.APTEvent{Stamp: job.NewStamp("s", 0, job.AgentTimeout), Seed: "s", Node: "agent:a_v1", Type: job.AgentTimeout}
	for _, c := range []struct {
		name   string
		change func(*job.APTEvent)
		want   error
	}{
		{"another seed", func(e *job.APTEvent) { e.Seed = "t" }, job.ErrStamp},
		{"another type", func(e *job.APTEvent) { e.Type = job.CouncilApproval }, job.ErrStamp},
		{"another place", func(e *job.APTEvent) { e.Stamp.Index = 1 }, job.ErrStamp},
		{"another node", func(e *job.APTEvent) { e.Node = "agent:b_v1" }, job.ErrNode},
		{"an unknown type", func(e *job.APTEvent) { e.Type, e.Stamp = "MOOD", job.NewStamp("s", 0, "MOOD") }, job.ErrEvent},
	} {
		e := good
		c.change(&e)
		if got, _, err := s.Apply(e); !errors.Is(err, c.want) || !got.Value().Equal(s.Value()) {
			t.Errorf("%s: Apply() = %v, want %v and nothing changed", c.name, err, c.want)
		}
	}
}

func TestAnEventIsReadStrictly(t *testing.T) {
	t.Parallel()
	payloads := map[string]string{
		job.CouncilApproval: `{"approve":true}`, job.GroundTruthLabel: `{"correct":true}`, job.UserFeedback: `{"upvote":true}`,
		job.AgentTimeout: `{"timeout_ms":30000}`, job.AgentException: `{"error_code":"AGENT_ERROR"}`, job.OperationalNote: `{"note":"n"}`,
		job.ManualOverride: `{"act":"` + strings.Repeat("0a", 32) + `","new_apt":0.500000000,"reason":"r","status":null}`,
	}
	for typ, payload := range payloads {
		stamp := job.NewStamp("s", 4, typ)
		text := `{"event_id":"` + stamp.ID + `","event_sequence_index":4,"event_type":"` + typ + `","job_seed":"s","node_id":"agent:a_v1",` +
			`"payload":` + payload + `,"timestamp_seeded":"` + stamp.At.String() + `","trace_id":null}`
		e, err := job.ParseAPTEvent(parse(t, text))
		if err != nil || encode(t, e.Value()) != text {
			t.Errorf("ParseAPTEvent(%s) = %s, %v, want it back", text, e.Value(), err)
		}
		for name, change := range map[string][2]string{
			"an unknown member": {`"payload":{`, `"payload":{"extra":1,`},
			"no payload":        {`"payload":` + payload, `"payload":{}`},
			"a null payload":    {`"payload":` + payload, `"payload":null`},
			"an unknown type":   {typ, "MOOD"},
			"an index of 4.0":   {`_index":4`, `_index":4.000000000`},
			"an empty trace":    {`"trace_id":null`, `"trace_id":""`},
			"no node":           {`"agent:a_v1"`, `""`},
		} {
			v := parse(t, strings.Replace(text, change[0], change[1], 1))
			if _, err := job.ParseAPTEvent(v); !errors.Is(err, job.ErrEvent) {
				t.Errorf("%s with %s: ParseAPTEvent() = %v, want %v", typ, name, err, job.ErrEvent)
			}
		}
		if _, err := job.ParseAPTEvent(parse(t, strings.Replace(text, `_index":4`, `_index":5`, 1))); !errors.Is(err, job.ErrStamp) {
			t.Errorf("%s at another index: ParseAPTEvent() = %v, want %v", typ, err, job.ErrStamp)
		}
	}
	if _, err := job.ParseAPTEvent(canon.Value{}); !errors.Is(err, job.ErrEvent) {
		t.Errorf("ParseAPTEvent of nothing = %v, want %v", err, job.ErrEvent)
	}
}

func TestAHistoryRowIsTheIDAndTheTrustBeforeAndAfter(t *testing.T) {
	t.Parallel()
	row := job.Row{EventID: "e", Before: nano(t, "0.5"), After: nano(t, "0.5995")}
	const want = `{"apt_after":0.599500000,"apt_before":0.500000000,"event_id":"e"}`
	if got := encode(t, row.Value()); got != want {
		t.Errorf("Row.Value() = %s, want %s", got, want)
	}
}
