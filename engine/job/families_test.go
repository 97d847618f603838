package job_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// What the documents around the source ask for and no other test drives in a
// run. The list of all of it is in spec/mace_tests.txt.

// DR-02: a semantic memory that was written down out of order, with numbers in
// other spellings, has the hash that was computed beforehand.
func TestSemanticHashIsTheOneComputedBeforehand(t *testing.T) {
	t.Parallel()
	fact := func(key, v string) canon.Value {
		x := value(t, v)
		if token, ok := x.Token(); ok && strings.ContainsAny(token, ".eE") {
			n, err := job.Quantise(x)
			if err != nil {
				t.Fatal(err)
			}
			x = n.Value()
		}
		return canon.Object(
			canon.M("value", x), canon.M("timestamp_seeded", canon.String(det.Epoch.String())), canon.M("source", canon.String("ada")),
			canon.M("request_id", canon.String(job.EventID("seed-0001", 0, "X"))), canon.M("key", canon.String(key)))
	}
	const want = "5ad417ebe6c40421e9c37fb872e56b19efb73c3bcc758038f84806e9a8ef4bee"
	v := canon.Object(
		canon.M("sem_snapshot_hash", canon.String(want)),
		canon.M("promotions", canon.Array()),
		canon.M("facts", canon.Array(fact("birds/kestrel", `{"b":1.500000000,"a":[0.100000000,3,"é"]}`), fact("birds/merlin", `1e-10`))))
	s, err := job.ParseSemantic(v)
	if err != nil || s.Hash() != want {
		t.Errorf("ParseSemantic = %s, %v; want %s", s.Hash(), err, want)
	}
}

// SR-01, T-SR-01: a module that is registered stands in the snapshot as it was
// registered, the snapshot has one id, and a job over it replays.
func TestRegisteredModuleStandsInTheSnapshot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, text("x"))
	x := r.start(r.plan(nil))
	first, _ := x.set.Of(job.KindSelfRep)
	again, _ := r.set(x.plan).Of(job.KindSelfRep)
	if first.ID != again.ID || job.SnapshotID(digest(t, first.Content), first.SchemaVersion, noRetry+"/selfrep") != first.ID {
		t.Errorf("the snapshot is %s, and then %s", first.ID, again.ID)
	}
	for _, n := range first.Content.Get("nodes").Elems() {
		const want = `{"registered_at":"2025-01-01T00:00:00Z","registered_by":"ada"}`
		if got, err := canon.Encode(n.Get("registration"), canon.MACEFixed9); err != nil || string(got) != want {
			t.Errorf("%s is registered %s, %v; want %s", n.Get("node_id"), got, err, want)
		}
	}
	x.sound()
}

func digest(t *testing.T, v canon.Value) string {
	t.Helper()
	b, err := canon.Encode(v, canon.MACEFixed9)
	if err != nil {
		t.Fatal(err)
	}
	return canon.SHA256(b).String()
}

// APT-04, T-APT-04: until enough has happened a new module counts as degraded,
// so that one that is trusted less, but known, is asked first.
func TestColdModuleIsRoutedAsDegraded(t *testing.T) {
	t.Parallel()
	for events, want := range map[int64]string{0: "from beta", 1: "from beta", 2: "from alpha"} {
		r := newRig(t)
		r.says(alpha, text("from alpha"))
		r.says(beta, text("from beta"))
		x := r.start(r.plan(func(p *plan) {
			p.selfrep = func(_ *job.Trust, nodes map[string]*job.Node) { nodes[alpha].Events = events }
		}))
		if got := x.log().Final; got != want {
			t.Errorf("after %d events: final %q, want %q", events, got, want)
		}
		x.sound()
	}
}

// F-FAIL-01, F-01, E2E-03, RT-08: an agent that times out is dropped where the
// seed says no retry; both attempts stand in the trace, and the user has the
// answer of the other. Without another the words are those of the document.
func TestAgentTimeoutIsReroutedOnTheRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrAgentTimeout)
	r.says(beta, text("from beta"))
	x := r.start(r.plan(nil))
	var nodes []string
	for _, it := range x.log().Iterations {
		nodes = append(nodes, it.Router.Get("selected_agent").Str())
	}
	if !slices.Equal(nodes, []string{alpha, beta}) || x.log().Final != "from beta" || x.events()[2] != "AGENT_TIMEOUT" {
		t.Errorf("asked %v, events %v, final %q", nodes, x.events(), x.log().Final)
	}
	x.sound()
	r = newRig(t)
	r.fails(alpha, job.ErrAgentTimeout)
	x = r.start(r.plan(func(p *plan) { p.spec.Candidates, p.brain.Constants.MaxAttempts = []string{alpha}, 1 }))
	const want = "One of my internal modules timed out while trying to fetch the answer. I’ll try a fallback."
	if l := x.log(); l.Final != want || l.Error != "AGENT_TIMEOUT" {
		t.Errorf("final %q, error %q; want %q", l.Final, l.Error, want)
	}
	x.sound()
}

// RL-01, RL-02: the log names the two snapshots by the names of the document, and
// a row that somebody changed is found before anything is replayed.
func TestChangedRowOfTheLogIsFound(t *testing.T) {
	t.Parallel()
	x := answered(t)
	l := value(t, string(x.archive().ReflectiveLog))
	for _, k := range []job.Kind{job.KindSelfRep, job.KindBrainState} {
		s, _ := x.set.Of(k)
		if l.Get(k.Field()).Str() != s.ID {
			t.Errorf("%s is %s, want %s", k.Field(), l.Get(k.Field()), s.ID)
		}
	}
	a := x.archive()
	a.ReflectiveLog = []byte(strings.Replace(string(a.ReflectiveLog), "a small falcon", "a small folcan", 1))
	var steps []string
	got, err := job.Replay(a, job.ReplayOptions{}, func(s job.Step) error { steps = append(steps, s.Name); return nil })
	wantLiteral(t, err, job.ErrIntegrity, "INTEGRITY_FAILURE")
	if !got.Halt || !slices.Equal(steps, []string{"load_log", "verify_log"}) {
		t.Errorf("halt %v after %v; want the signature to be checked first, and the halt", got.Halt, steps)
	}
}

// BS-07, GOV-T1: nothing is written before the council has said so, in a run.
func TestFactIsNotWrittenBeforeTheCouncilAgrees(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, askPut)
	x := r.start(r.plan(nil))
	q, ok := x.m.Pending()
	if !ok || q.Action != job.ActionPut || q.Status() != job.ActionPending {
		t.Fatalf("Pending = %+v, %v", q, ok)
	}
	x.vote("cat", govern.Approve, 1)
	for o, err := range x.reader().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if name := o.Body.Get("name").Str(); name == job.EventFact || name == job.EventExecuted {
			t.Errorf("entry %d is %s after one vote of two", o.N, name)
		}
	}
	x.vote("cyd", govern.Approve, 2)
	at := slices.Index(x.events(), job.EventExecuted)
	if at < 0 || x.events()[at+1] != job.EventFact {
		t.Errorf("events = %v", x.events())
	}
	x.sound()
}
