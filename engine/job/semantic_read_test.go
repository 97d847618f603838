package job_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// knowing is a job whose semantic memory holds facts: three birds, and an address.
func knowing(t *testing.T, r *rig, edit func(*plan)) *plan {
	t.Helper()
	fact := func(key, v string) canon.Value {
		return value(t, `{"key":"`+key+`","request_id":"`+job.EventID("seed-100", 1, "ACTIONREQUEST_CREATED")+`","source":"agent:alpha_v1","timestamp_seeded":"2025-01-01T00:00:00Z","value":`+v+`}`)
	}
	facts := canon.Array(fact("birds/hobby", `"summer"`), fact("birds/kestrel", `{"hovers":true}`), fact("birds/merlin", `0.5`), fact("people/uma", `"uma@mail.example"`))
	empty, err := job.ParseSemantic(job.Semantic{}.Value())
	if err != nil {
		t.Fatal(err)
	}
	v := empty.Value().With("facts", facts)
	// The hash is that of the facts; the refusal names it.
	_, err = job.ParseSemantic(v)
	hash := err.Error()[len(err.Error())-64:]
	memory, err := job.ParseSemantic(v.With("sem_snapshot_hash", canon.String(hash)))
	if err != nil {
		t.Fatal(err)
	}
	return r.plan(func(p *plan) {
		p.spec.Seed, p.spec.Semantic, p.pii = "seed-100", memory, []job.Category{email}
		if edit != nil {
			edit(p)
		}
	})
}

// reading is an output that is not final and asks for something.
func reading(reads string) string {
	return `{"text":"let me see","deliverable":false,"reads":[` + reads + `]}`
}

// E2E-01, SEM-01: an agent asks for a fact by its key, or for those below a
// prefix; the read is an event, and the agent that is asked next has the answer.
func TestAgentsReadSemanticMemoryByKeyAndPrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, read, code string
		facts            string
		hidden           string
	}{
		{"exact", `{"get":"birds/kestrel"}`, "null", `[{"key":"birds/kestrel","source":"agent:alpha_v1","value":{"hovers":true}}]`, "0"},
		{"a part of a key is none", `{"get":"birds/kes"}`, `"SEM_NOT_FOUND"`, `[]`, "0"},
		{
			"prefix", `{"prefix":"birds/"}`, "null",
			`[{"key":"birds/hobby","source":"agent:alpha_v1","value":"summer"},{"key":"birds/kestrel","source":"agent:alpha_v1","value":{"hovers":true}},` +
				`{"key":"birds/merlin","source":"agent:alpha_v1","value":0.500000000}]`, "0",
		},
		{"nothing below it", `{"prefix":"fish/"}`, "null", `[]`, "0"},
		{"no key", `{"get":"Birds/Kestrel"}`, `"job.bad_memory"`, `[]`, "0"},
		{"personal data that nobody consented to", `{"get":"people/uma"}`, `"PRIVACY_BLOCKED"`, `[]`, "1"},
		{"personal data below a prefix", `{"prefix":"people/"}`, "null", `[]`, "1"},
	} {
		r := newRig(t)
		r.says(alpha, reading(tt.read), text("it hovers"))
		x := r.start(knowing(t, r, nil))
		at := slices.Index(x.events(), job.EventRead)
		if at < 0 || x.events()[at-1] != job.EventOutput || x.log().Final != "it hovers" {
			t.Fatalf("%s: events %v, final %q; want a read behind the output", tt.name, x.events(), x.log().Final)
		}
		p := value(t, string(x.archive().Events[x.log().Events[at].ID])).Get("payload")
		if p.Get("code").String() != tt.code || p.Get("facts").String() != tt.facts || p.Get("hidden").String() != tt.hidden || p.Get("read").String() != tt.read {
			t.Errorf("%s: the read is %s, want code %s, facts %s", tt.name, p, tt.code, tt.facts)
		}
		first, second := value(t, string(r.given(0))), value(t, string(r.given(1)))
		if first.Has("semantic") || !second.Get("semantic").At(0).Get("facts").Equal(p.Get("facts")) {
			t.Errorf("%s: the agent was given %s, and then %s", tt.name, first, second.Get("semantic"))
		}
		x.sound()
	}
}

// With consent the fact is shown.
func TestConsentShowsAFact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, reading(`{"get":"people/uma"}`), text("so"))
	x := r.start(knowing(t, r, func(p *plan) {
		p.spec.Consents = []job.Consent{{User: "uma", Seed: "seed-100", Text: "yes", Scope: job.ForJob, Types: []string{"email"}}}
	}))
	if given := string(r.given(1)); !strings.Contains(given, "uma@mail.example") {
		t.Errorf("the agent was given %s", given)
	}
	x.sound()
}

// SEM-02: what is not stored, the user is told in the words of the document.
func TestMissedFactIsToldToTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, reading(`{"get":"user/profile/uma/favorite_color"}`))
	x := r.start(knowing(t, r, func(p *plan) { p.rules.MaxIterations = 2 }))
	const want = "I don’t have that information stored yet. If you want, tell me and I’ll remember it."
	if l := x.log(); l.Final != want || l.Error != "SEM_NOT_FOUND" {
		t.Errorf("final %q, error %q; want %q and SEM_NOT_FOUND", l.Final, l.Error, want)
	}
	x.sound()
}

// PS-03, F-SEC-02, T-SR-07: what the policy of an agent forbids is not done; the
// attempt is recorded and costs the agent its trust, like a failure.
func TestForbiddenActionIsAPolicyViolation(t *testing.T) {
	t.Parallel()
	for action, out := range map[string]string{job.ActionGet: reading(`{"get":"birds/kestrel"}`), job.ActionPut: askPut} {
		r := newRig(t)
		r.says(alpha, out)
		r.says(beta, text("from beta"))
		forbid := func(action string) func(*plan) {
			return func(p *plan) {
				p.selfrep = func(_ *job.Trust, nodes map[string]*job.Node) { nodes[alpha].Policy.Forbidden = []string{action} }
			}
		}
		x := r.start(knowing(t, r, forbid(action)))
		want := []string{job.EventViolation, job.AgentException}
		at := slices.Index(x.events(), job.EventViolation)
		if at < 0 || !slices.Equal(x.events()[at:at+2], want) || x.log().Final != "from beta" || len(x.log().Writes) != 0 {
			t.Errorf("%s: events %v, final %q, writes %v; want %v", action, x.events(), x.log().Final, x.log().Writes, want)
		}
		if x.log().Iterations[0].OutputID != "" {
			t.Errorf("%s: the output was kept", action)
		}
		x.sound()
		// An agent that runs again and wants the same has failed the same.
		again := func(q job.Rerun) (*job.Ran, error) {
			if q.Node == alpha {
				return &job.Ran{Output: []byte(out)}, nil
			}
			return nil, nil
		}
		if _, err := job.Replay(x.archive(), job.ReplayOptions{Mode: job.Reexecute, Again: again}, nil); err != nil {
			t.Errorf("%s: Replay = %v", action, err)
		}
	}
}

// What is said of a read must be what semantic memory holds, and each read that
// was asked for must be there.
func TestResealedReadIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, reading(`{"get":"birds/kestrel"}`), text("it hovers"))
	x := r.start(knowing(t, r, nil))
	for _, tt := range []struct{ from, to string }{
		{`{"hovers":true}`, `{"hovers":false}`},
		{`{"get":"birds/kestrel"}`, `{"get":"birds/merlin"}`},
	} {
		a := x.archive()
		reseal(t, a, func(l *job.Log) { rewrite(t, a, l, job.EventRead, tt.from, tt.to) })
		_, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
		if fault.CodeOf(err) != job.ErrIntegrity {
			t.Errorf("%s: Replay = %v, want %v", tt.to, err, job.ErrIntegrity)
		}
	}
}

// Old outputs ask for nothing, and are written as they always were.
func TestOutputWithoutReadsHasNoSuchMember(t *testing.T) {
	t.Parallel()
	o, err := job.ParseAgentOutput([]byte(text("x")))
	if err != nil || bytes.Contains([]byte(o.Value().String()), []byte("reads")) {
		t.Errorf("Value = %s, %v", o.Value(), err)
	}
	for _, bad := range []string{`[]`, `[{}]`, `[{"get":""}]`, `[{"get":"a","prefix":"b"}]`, `[{"like":"a"}]`, `{}`} {
		if _, err := job.ParseAgentOutput([]byte(`{"text":"x","reads":` + bad + `}`)); fault.CodeOf(err) != job.ErrOutput {
			t.Errorf("reads %s: %v, want %v", bad, err, job.ErrOutput)
		}
	}
}
