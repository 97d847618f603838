package job_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Seeds by what they say about the one retry: the second asks a failed agent
// once more.
const (
	noRetry = "s0"
	retries = "s2"
)

// A seed decides whether a failed agent is asked once more, at once.
func TestSeedsOfTheRig(t *testing.T) {
	t.Parallel()
	for seed, want := range map[string]bool{noRetry: false, retries: true} {
		x := newRig(t)
		x.fails(alpha, job.ErrAgentTimeout)
		x.says(alpha, text("here"))
		x.says(beta, text("there"))
		s := x.start(x.plan(func(p *plan) { p.spec.Seed = det.Seed(seed) }))
		if got := s.log().Final == "here"; got != want {
			t.Errorf("seed %s: asked once more = %v, want %v", seed, got, want)
		}
		s.sound()
	}
}

// spec: M-03
// spec: M-06
// spec: M-24
// spec: M-25
// spec: M-26
// spec: M-27
// spec: M-28
// spec: M-29
// spec: M-74
// spec: M-75
// spec: M-110
func TestFailingAgentIsDroppedAndTheRouterDecidesAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fails(alpha, job.ErrAgentTimeout)
	r.says(beta, text("from beta"))
	x := r.start(r.plan(nil))
	l := x.log()
	want := []string{"BRAINSTATE_TICK", "ROUTER_DECISION", "AGENT_TIMEOUT", "BRAINSTATE_TICK", "ROUTER_DECISION", "AGENT_OUTPUT", "BRAINSTATE_TICK"}
	if got := x.events(); !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
	if l.Final != "from beta" || len(l.Iterations) != 2 || l.Seed != noRetry {
		t.Fatalf("final %q after %d iterations of seed %s", l.Final, len(l.Iterations), l.Seed)
	}
	first, second := l.Iterations[0], l.Iterations[1]
	if first.OutputID != "" || !slices.Equal(first.Failures, []string{l.Events[2].ID}) || first.Router.Get("selected_agent").Str() != alpha {
		t.Errorf("first iteration = %s", first.Value())
	}
	if second.Input.Get("dropped").String() != `["`+alpha+`"]` || second.Input.Get("attempts_left").String() != "2" || second.Router.Get("selected_agent").Str() != beta {
		t.Errorf("second iteration = %s", second.Value())
	}
	for i, ref := range l.Events {
		if ref.Index != int64(i) || ref.ID != job.EventID(noRetry, int64(i), ref.Type) {
			t.Errorf("event %d = %+v", i, ref)
		}
	}
	for i, id := range l.Snapshots {
		s, _ := x.set.Of(job.Kinds()[i])
		if id != s.ID {
			t.Errorf("the log names the %s snapshot %s, want %s", s.Kind, id, s.ID)
		}
		field := []string{"selfrep_snapshot_id", "brainstate_snapshot_id", "router_snapshot_id", "privacy_snapshot_id", "governance_snapshot_id"}[i]
		if !bytes.Contains(x.logBytes(), []byte(`"`+field+`":"`+s.ID+`"`)) || x.plan.spec.Summary(x.set).Get(field).Str() != s.ID {
			t.Errorf("the log or the open lacks %s", field)
		}
	}
	x.sound()
}

func TestJobIsGivenUpWhenAllAgentsFail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code fault.Code
		want string
	}{
		{job.ErrAgentTimeout, job.SayAgentTimeout},
		{job.ErrModelDown, job.SayModelDown},
		{effect.ErrRefused, job.SayModelDown},
	} {
		r := newRig(t)
		for _, n := range []string{alpha, beta, generic} {
			r.fails(n, tt.code)
		}
		x := r.start(r.plan(nil))
		if l := x.log(); l.Final != tt.want || len(l.Iterations) != 3 || l.Error == "" || !l.Replayable {
			t.Errorf("%v: final %q, error %s after %d iterations; want %q after three", tt.code, l.Final, l.Error, len(l.Iterations), tt.want)
		}
		x.sound()
	}
}

func TestUnusableOutputIsAFailure(t *testing.T) {
	t.Parallel()
	for _, out := range []string{"", "no JSON", `{"confidence":1}`, `{"text":"x","confidence":2}`, `{"text":"x","more":1}`, `{"text":"x","wm_inserts":[{"type":"song","value":1}]}`} {
		r := newRig(t)
		r.says(alpha, out)
		r.says(beta, text("from beta"))
		x := r.start(r.plan(nil))
		if x.log().Final != "from beta" || !slices.Contains(x.events(), "AGENT_EXCEPTION") {
			t.Errorf("output %q: final %q by %v", out, x.log().Final, x.events())
		}
		x.sound()
	}
}

func TestUnsureAgentIsAskedAgainUntilTheCap(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, `{"text":"perhaps","confidence":0.4}`, `{"text":"surely","confidence":0.7}`)
	x := r.start(r.plan(nil))
	if l := x.log(); l.Final != "surely" || len(l.Iterations) != 2 {
		t.Errorf("final %q after %d iterations", l.Final, len(l.Iterations))
	}
	x.sound()

	r = newRig(t)
	r.says(alpha, `{"text":"perhaps","confidence":0.4}`)
	x = r.start(r.plan(func(p *plan) { p.rules.MaxIterations = 2 }))
	if l := x.log(); l.Final != "perhaps" || len(l.Iterations) != 2 {
		t.Errorf("with a cap: final %q after %d iterations", l.Final, len(l.Iterations))
	}
	x.sound()
}

func TestNobodyToServeIsToldToTheUser(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*plan)
		code string
		want string
	}{
		{"no candidate", func(p *plan) {
			p.selfrep = func(_ *job.Trust, nodes map[string]*job.Node) {
				for _, n := range nodes {
					n.Status = job.Offline
				}
			}
		}, "ROUTER_NO_MATCH", job.SayModelDown},
		{"private", func(p *plan) { p.router.Private = []string{"answer"} }, "PRIVACY_BLOCKED", job.SayPrivacyBlocked},
		{"role", func(p *plan) { p.router.Access = []job.Access{{Action: "answer", Roles: []string{"boss"}}} }, "PERMISSION_DENIED", job.SaySafetyBlock},
	} {
		r := newRig(t)
		x := r.start(r.plan(tt.edit))
		if l := x.log(); l.Final != tt.want || l.Error != tt.code || len(l.Iterations) != 1 || len(r.asked) != 0 {
			t.Errorf("%s: final %q, error %s after %d iterations and %d calls", tt.name, l.Final, l.Error, len(l.Iterations), len(r.asked))
		}
		x.sound()
	}
}

// email is a category of personal data.
var email = job.Category{Type: "email", Sensitivity: job.MediumSensitivity, Pattern: `[a-z]+@[a-z]+\.example`}

func TestPersonalDataInTheQueryBlockTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.start(r.plan(func(p *plan) { p.pii, p.spec.Query = []job.Category{email}, "write to uma@mail.example" }))
	l := x.log()
	hash := job.PIIHash(opsKey.Secret, "uma@mail.example", noRetry)
	if l.Final != job.SayPrivacyBlocked || l.Error != "PRIVACY_BLOCKED" || l.Query != "write to [redacted:email:"+hash+"]" || x.events()[0] != "PII_FLAGGED" {
		t.Errorf("final %q, error %s, query %q, events %v", l.Final, l.Error, l.Query, x.events())
	}
	x.sound()
}

func TestConsentLetsPersonalDataThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, text("written"))
	x := r.start(r.plan(func(p *plan) {
		p.pii, p.spec.Query = []job.Category{email}, "write to uma@mail.example"
		p.spec.Consents = []job.Consent{{User: "uma", Seed: noRetry, Text: "yes", Scope: job.ForJob, Types: []string{"email"}}}
	}))
	if l := x.log(); l.Final != "written" || l.Query != "write to uma@mail.example" || x.events()[0] != "PII_CONSENT" || r.macs != 1 {
		t.Errorf("final %q, query %q, events %v, %d tags", l.Final, l.Query, x.events(), r.macs)
	}
	x.sound()
}

func TestPersonalDataInAnOutputAreRedactedEverywhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, `{"text":"ask bob@mail.example","confidence":0.9,"wm_inserts":[{"type":"fact","value":{"who":"bob@mail.example"}}]}`)
	x := r.start(r.plan(func(p *plan) { p.pii = []job.Category{email} }))
	hash := job.PIIHash(opsKey.Secret, "bob@mail.example", noRetry)
	if l := x.log(); l.Final != "ask [redacted:email:"+hash+"]" {
		t.Errorf("final %q", l.Final)
	}
	a := x.archive()
	for name, b := range map[string][]byte{"log": a.ReflectiveLog, "output": a.Outputs[job.OutputID(noRetry, 0)]} {
		if bytes.Contains(b, []byte("bob@")) || !bytes.Contains(b, []byte(hash)) {
			t.Errorf("the %s holds the address, or not its hash: %s", name, b)
		}
	}
	x.sound()
}

// askPut is an output that asks for a fact to be written.
const askPut = `{"text":"noted","confidence":0.9,"requests":[{"action":"sem_put","key":"user/bird","value":"kestrel","justification":"the user said so"}]}`

// spec: M-77
// spec: M-101
func TestCouncilDecidesWhatIsRememberedForGood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		votes []govern.Verb
		wrote int
		want  []string
	}{
		{"granted", []govern.Verb{govern.Approve, govern.Approve}, 1, []string{"COUNCIL_VOTE", "COUNCIL_VOTE", "ACTIONREQUEST_EXECUTED", "SEM_WRITE", "COUNCIL_APPROVAL"}},
		{"tie", []govern.Verb{govern.Approve, govern.Deny}, 0, []string{"COUNCIL_VOTE", "COUNCIL_VOTE", "ACTIONREQUEST_REFUSED", "COUNCIL_APPROVAL"}},
	} {
		r := newRig(t)
		r.says(alpha, askPut)
		x := r.start(r.plan(func(p *plan) { p.spec.Persist = job.PersistDefault }))
		if !strings.HasPrefix(x.st.Waiting, "approval of request ") {
			t.Fatalf("it waits for %q", x.st.Waiting)
		}
		for i, v := range tt.votes {
			x.vote([]string{"cat", "cleo", "cyd"}[i], v, 10)
		}
		l := x.log()
		events := x.events()
		from := slices.Index(events, "ACTIONREQUEST_CREATED") + 1
		if got := events[from : len(events)-1]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: events = %v, want %v", tt.name, got, tt.want)
		}
		if len(l.Writes) != tt.wrote || !l.Replayable || l.Final != "noted" {
			t.Errorf("%s: writes %v, replayable %v (a job that changes governance keeps its outputs), final %q", tt.name, l.Writes, l.Replayable, l.Final)
		}
		x.sound()
	}
}

func TestRequestThatNobodyVotesOnIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, askPut)
	x := r.start(r.plan(nil))
	elapsed := func(n int64) {
		x.receive(ledger.KindEvent, job.InputElapsed, "clock", canon.Object(canon.M("after", canon.Int(n))))
	}
	elapsed(600)
	if x.st.Done {
		t.Fatal("the vote is over before its time")
	}
	elapsed(601)
	if l := x.log(); len(l.Writes) != 0 || !slices.Contains(x.events(), "ACTIONREQUEST_REFUSED") {
		t.Errorf("writes %v, events %v", l.Writes, x.events())
	}
	x.sound()
}

func TestActionOfHighRiskWaitsForTheCouncil(t *testing.T) {
	t.Parallel()
	for _, verb := range []govern.Verb{govern.Approve, govern.Deny} {
		r := newRig(t)
		r.says(alpha, text("saved"))
		x := r.start(r.plan(func(p *plan) { p.spec.Query, p.router.HighRisk = "remember this", []string{"save"} }))
		if len(r.asked) != 0 {
			t.Fatal("the agent was asked before the council")
		}
		x.vote("cat", verb, 1)
		x.vote("cyd", verb, 2)
		want, calls := "saved", 1
		if verb == govern.Deny {
			want, calls = job.SaySafetyBlock, 0
		}
		if l := x.log(); l.Final != want || len(r.asked) != calls {
			t.Errorf("%s: final %q after %d calls", verb, l.Final, len(r.asked))
		}
		x.sound()
	}
}

func TestWhatDoesNotCountIsRejectedAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, askPut)
	x := r.start(r.plan(nil))
	q, _ := x.m.Pending()
	other := q.Matter()
	other.Bound = canon.SHA256(nil)
	for _, in := range []struct {
		kind ledger.Kind
		name string
		data canon.Value
	}{
		{ledger.KindEvent, "hello", canon.Object()},
		{ledger.KindApproval, job.InputVote, canon.Object()},
		{ledger.KindApproval, job.InputVote, canon.Object(canon.M("act", value(t, string(act(t, "cat", govern.Council, govern.Approve, other)))), canon.M("after", canon.Int(1)))},
		{ledger.KindApproval, job.InputVote, canon.Object(canon.M("act", value(t, string(act(t, "oscar", govern.Council, govern.Approve, q.Matter())))), canon.M("after", canon.Int(1)))},
		{ledger.KindEvent, job.InputElapsed, canon.Object(canon.M("after", canon.Int(-1)))},
		{ledger.KindEvent, job.InputRetry, canon.Object()},
	} {
		x.receive(in.kind, in.name, "somebody", in.data)
	}
	x.vote("cat", govern.Approve, 10)
	x.vote("cat", govern.Approve, 10) // the same act again
	x.vote("cyd", govern.Approve, 10)
	if l := x.log(); len(l.Writes) != 1 {
		t.Errorf("writes = %v", l.Writes)
	}
	x.sound()
}

// spec: M-78
// spec: M-79
// spec: M-100
func TestOutputsThatAreNotKeptMakeAJobNotReplayable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*plan)
		want bool
	}{
		{"never", func(p *plan) { p.spec.Persist = job.PersistNever }, false},
		{"default", func(p *plan) { p.spec.Persist = job.PersistDefault }, false},
		{"strict", func(p *plan) { p.spec.Persist, p.spec.Strict = job.PersistDefault, true }, true},
		{"by the privacy snapshot", func(p *plan) { p.spec.Persist, p.privacy.PersistOutputs = job.PersistDefault, true }, true},
		{"always", func(p *plan) { p.spec.Persist = job.PersistAlways }, true},
	} {
		r := newRig(t)
		r.says(alpha, text("a small falcon"))
		x := r.start(r.plan(tt.edit))
		l := x.log()
		if l.Replayable != tt.want || l.Replayable != (len(l.Missing) == 0) {
			t.Errorf("%s: replayable %v, missing %v", tt.name, l.Replayable, l.Missing)
		}
		if !tt.want && !slices.Equal(l.Missing, []string{"agent_output " + job.IterationID(noRetry, 0)}) {
			t.Errorf("%s: missing %v", tt.name, l.Missing)
		}
		x.sound()
	}
}

func TestErasedOutputsAreGoneAndTheRestStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, text("a small falcon"))
	x := r.start(r.plan(func(p *plan) { p.spec.Persist = job.PersistNever }))
	ctx := context.Background()
	if err := r.store.Erase(ctx, drive.ScopeID(string(x.run), job.OutputScope)); err != nil {
		t.Fatal(err)
	}
	read := drive.NewReader(x.store, x.run)
	a, gone := job.NewArchive(opsKey), 0
	for o, err := range read.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		var contents []ledger.Content
		for i, att := range o.Att {
			b, err := read.Bytes(ctx, o, i)
			if err != nil {
				gone++
				continue
			}
			contents = append(contents, ledger.Content{Name: att.Name, Type: att.Type, Bytes: b})
		}
		a.Add(o.Kind, o.Body.Get("name").Str(), contents)
	}
	if gone != 2 || len(a.Outputs) != 0 {
		t.Errorf("%d contents are gone, outputs %v; want what the agent said and what was kept of it", gone, a.Outputs)
	}
	_, err := job.Replay(a, job.ReplayOptions{Mode: job.Production}, nil)
	wantLiteral(t, err, job.ErrMissingOutput, "MISSING_PERSISTED_AGENT_OUTPUT")
}

// busy is a job in which much happens: a failure, personal data, a vote.
func busy(t *testing.T, r *rig) *plan {
	t.Helper()
	r.fails(alpha, job.ErrAgentTimeout)
	r.says(beta, `{"text":"ask bob@mail.example","confidence":0.5,"wm_inserts":[{"type":"fact","value":"a"}]}`,
		`{"text":"noted","confidence":0.9,"wm_inserts":[{"type":"fact","value":"a"}],"requests":[{"action":"sem_put","key":"user/bird","value":0.1,"justification":"so"}]}`)
	return r.plan(func(p *plan) { p.pii = []job.Category{email} })
}

// drive runs a job to its end: whenever it waits, the council approves.
func (x *started) finish() {
	x.t.Helper()
	for !x.st.Done {
		q, ok := x.m.Pending()
		if !ok {
			x.t.Fatalf("it waits for %q", x.st.Waiting)
		}
		person := "cat"
		if len(q.Value().Get("votes").Elems()) == 1 {
			person = "cyd"
		}
		x.vote(person, govern.Approve, 10)
	}
}

// logBytes returns the reflective log of a job that is over.
func (x *started) logBytes() []byte {
	x.t.Helper()
	b, err := x.log().Bytes()
	if err != nil {
		x.t.Fatal(err)
	}
	return b
}

func TestClonedMachineGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, askPut)
	x := r.start(r.plan(nil))
	q, _ := x.m.Pending()
	clone := x.m.Clone()
	vote := func(m effect.Machine, person string) {
		v := value(t, string(act(t, person, govern.Council, govern.Approve, q.Matter())))
		if _, err := m.Apply(effect.Input{
			Kind: ledger.KindApproval, Name: job.InputVote, From: person,
			Data: canon.Object(canon.M("act", v), canon.M("after", canon.Int(1))),
		}); err != nil {
			t.Fatal(err)
		}
	}
	vote(clone, "cat")
	vote(clone, "cyd")
	if got, _ := x.m.Pending(); got.Status() != job.ActionPending || len(got.Value().Get("votes").Elems()) != 0 {
		t.Errorf("votes on the clone reached the machine: %s", got.Value())
	}
	if len(clone.Next().Calls) != 1 {
		t.Error("the clone has not gone on")
	}
}

func TestWordOfTheUserMovesAttention(t *testing.T) {
	t.Parallel()
	ticks := map[bool]canon.Value{}
	for _, good := range []bool{false, true} {
		r := newRig(t)
		r.says(alpha, askPut)
		x := r.start(r.plan(nil))
		x.receive(ledger.KindEvent, job.InputFeedback, "uma", canon.Object(canon.M("upvote", canon.Bool(good))))
		x.finish()
		if !slices.Contains(x.events(), "USER_FEEDBACK") {
			t.Errorf("events = %v", x.events())
		}
		ticks[good] = x.log().Iterations[0].Tick
		x.sound()
	}
	if ticks[true].Get("state_digest").Str() == ticks[false].Get("state_digest").Str() {
		t.Error("yes and no lead to one state")
	}
}

func TestAgentWithoutATransportHasFailed(t *testing.T) {
	t.Parallel()
	for _, seed := range []det.Seed{noRetry, retries} {
		r := newRig(t)
		r.says(beta, text("from beta"))
		x := r.start(r.plan(func(p *plan) { p.spec.Seed, p.spec.Agents = seed, p.spec.Agents[1:] }))
		if x.log().Final != "from beta" {
			t.Errorf("seed %s: final %q", seed, x.log().Final)
		}
		x.sound()
	}
}

func TestCapOfZeroLetsNothingRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.start(r.plan(func(p *plan) { p.rules.MaxIterations = 0 }))
	if l := x.log(); len(r.asked) != 0 || l.Error != "REPAIR_LIMIT_EXCEEDED" || len(l.Iterations) != 0 {
		t.Errorf("%d calls, error %q, %d iterations", len(r.asked), l.Error, len(l.Iterations))
	}
	x.sound()
}

func TestJobWaitsForTheServerKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, text("a small falcon"))
	r.locked = true
	x := r.start(r.plan(nil))
	if x.st.Done || x.st.Waiting != "the server key ops-2026" {
		t.Fatalf("done %v, waiting for %q", x.st.Done, x.st.Waiting)
	}
	r.locked = false
	x.receive(ledger.KindEvent, job.InputRetry, "ops", canon.Object())
	if x.log().Final != "a small falcon" || len(r.asked) != 1 {
		t.Errorf("final %q after %d calls", x.log().Final, len(r.asked))
	}
	x.sound()
}

func TestOpenWithoutItsPiecesIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.plan(nil)
	o := r.opening(p, r.set(p))
	for i, c := range o.Contents {
		m := job.NewMachine()
		_, err := m.Apply(effect.Input{Kind: ledger.KindOpen, Contents: slices.Delete(slices.Clone(o.Contents), i, i+1)})
		want := fault.Code(job.ErrMissingSnapshot)
		if c.Name == "job" {
			want = job.ErrSpec
		}
		if fault.CodeOf(err) != want {
			t.Errorf("without %s: %v, want %v", c.Name, err, want)
		}
	}
	if _, err := job.NewMachine().Apply(effect.Input{Kind: ledger.KindOutcome, Call: &effect.Call{}, Outcome: &effect.Outcome{}}); fault.CodeOf(err) != job.ErrInput {
		t.Errorf("an outcome before the open: %v", err)
	}
}

func TestMemoryThatCannotBeWrittenIsToldToTheUser(t *testing.T) {
	t.Parallel()
	nowhere := job.EpisodicID(noRetry, 7)
	for _, tt := range []struct {
		name, request string
		edit          func(*plan)
		asks          bool // the council is asked first
	}{
		{"no key", `{"action":"sem_put","key":"User Bird","value":1,"justification":""}`, nil, false},
		{"no episode", `{"action":"memory_promote_request","key":"user/bird","episodic_id":"` + nowhere + `","justification":""}`, nil, false},
		{"facts are for the council", `{"action":"sem_put","key":"user/bird","value":1,"justification":""}`, func(p *plan) {
			p.rules.Classes = map[string]job.ActionClass{job.ActionPut: job.LowRisk}
		}, true},
	} {
		r := newRig(t)
		r.says(alpha, `{"text":"noted","confidence":0.9,"requests":[`+tt.request+`]}`)
		x := r.start(r.plan(tt.edit))
		if tt.asks {
			x.vote("ada", govern.Approve, 1)
		}
		if l := x.log(); l.Final != job.SayMemoryWriteFail || l.Error != "MEMORY_WRITE_FAIL" || len(l.Writes) != 0 {
			t.Errorf("%s: final %q, error %q, writes %v", tt.name, l.Final, l.Error, l.Writes)
		}
		x.sound()
	}
}

func TestEpisodeBecomesAFact(t *testing.T) {
	t.Parallel()
	var before job.Episodes
	privacy, err := job.NewPrivacy(job.PrivacyRules{})
	if err != nil {
		t.Fatal(err)
	}
	before, row, _, err := before.Write("yesterday", job.NewEpisode{
		At: det.Epoch, Source: job.ByAgent, Summary: "uma likes the kestrel", Payload: canon.String("kestrel"), Trace: "t", Log: "l",
	}, job.Guard{Rules: privacy, Purpose: job.Purpose{Key: opsKey.Secret}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.says(alpha, `{"text":"noted","confidence":0.9,"requests":[{"action":"memory_promote_request","key":"uma/bird","episodic_id":"`+row.ID+`","justification":"she said so"}]}`)
	x := r.start(r.plan(func(p *plan) { p.spec.Episodes = before }))
	given := string(r.asked[0].Contents[0].Bytes)
	if !strings.Contains(given, row.ID) {
		t.Errorf("the agent was not given the episode that the query is about: %s", given)
	}
	x.finish()
	if l := x.log(); len(l.Writes) != 1 || l.Writes[0].ID != "uma/bird" {
		t.Errorf("writes = %v", l.Writes)
	}
	x.sound()
}

func TestWhatIsUsedOftenIsLeftBehindAsAnEpisode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := job.WorkingMemoryID(noRetry, 0)
	gone := job.WorkingMemoryID(noRetry, 99)
	r.says(alpha,
		`{"text":"hm","confidence":0.1,"wm_inserts":[{"type":"fact","value":"a kestrel hovers"}]}`,
		`{"text":"it hovers","confidence":0.9,"references":["`+id+`","`+gone+`"]}`)
	x := r.start(r.plan(nil))
	l := x.log()
	if len(l.Writes) != 1 || l.Writes[0].Type != job.EventEpisode || l.Writes[0].ID != job.EpisodicID(noRetry, 0) || l.Final != "it hovers" {
		t.Errorf("writes = %v, final %q", l.Writes, l.Final)
	}
	x.sound()
}
