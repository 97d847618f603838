package job_test

import (
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// left is a request that an earlier job has left open, with the acts of these
// people on it.
func (r *rig) left(rules job.Governance, index int64, in job.NewRequest, after int64, approve ...string) job.ActionRequest {
	r.t.Helper()
	in.Ledger, in.Origin, in.Justification = "yesterday", alpha, "so"
	q, err := rules.Request("seed-0001", job.NewStamp("seed-0001", index, job.EventRequested), in)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, person := range approve {
		role := govern.Council
		if person == "ada" {
			role = govern.Admin
		}
		a, err := r.roster().Admit(act(r.t, person, role, govern.Approve, q.Matter()), q.Requirement("acme"))
		if err == nil {
			q, err = q.Vote(a, after)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return q.Elapse(after)
}

func putRequest(key string) job.NewRequest {
	return job.NewRequest{Action: job.ActionPut, Payload: canon.Object(canon.M("key", canon.String(key)), canon.M("value", canon.String("falcon")))}
}

func overrideRequest(node string, o job.Override) job.NewRequest {
	return job.NewRequest{Action: job.ActionOverride, Payload: canon.Object(canon.M("node_id", canon.String(node)), canon.M("override", o.Value()))}
}

// voteOn sends an act on a request that stood before the job began.
func (x *started) voteOn(q job.ActionRequest, person string, verb govern.Verb, after int64) {
	x.t.Helper()
	x.receive(ledger.KindApproval, job.InputVote, person, canon.Object(
		canon.M("act", value(x.t, string(act(x.t, person, govern.Council, verb, q.Matter())))),
		canon.M("after", canon.Int(after)), canon.M("request_id", canon.String(q.ID()))))
}

// GOV-T1, GOV-03: what the council had approved is done before the job decides
// anything, and the job reads what came of it.
func TestApprovedRequestOfTheSnapshotIsDoneFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(alpha, `{"text":"hm","confidence":0.1,"reads":[{"get":"birds/kestrel"}]}`, text("a falcon, as I was told"))
	var q job.ActionRequest
	x := r.start(r.plan(func(p *plan) {
		q = r.left(p.rules, 7, putRequest("birds/kestrel"), 30, "cat", "cyd")
		p.rules.Requests = []canon.Value{q.Value()}
		p.spec.Persist = job.PersistDefault
	}))
	l := x.log()
	want := []string{"ACTIONREQUEST_EXECUTED", "SEM_WRITE", "BRAINSTATE_TICK", "ROUTER_DECISION", "AGENT_OUTPUT", "SEM_READ"}
	if got := x.events(); !slices.Equal(got[:len(want)], want) {
		t.Errorf("events = %v, want %v first", got, want)
	}
	if len(l.Writes) != 1 || l.Writes[0].ID != "birds/kestrel" || !l.Replayable || l.Final != "a falcon, as I was told" {
		t.Errorf("writes %v, replayable %v (a job that changes semantic memory keeps its outputs), final %q", l.Writes, l.Replayable, l.Final)
	}
	if got := x.m.Standing()[0].Value().Get("executed_event").Get("event_id").Str(); got != l.Events[0].ID {
		t.Errorf("the request names the event %s, want %s", got, l.Events[0].ID)
	}
	x.sound()
}

// GOV-02, GOV-T5, SR-05, T-SR-03: a node is quarantined by the council, on a
// request, and by nobody and nothing else.
func TestQuarantineTakesTheCouncil(t *testing.T) {
	t.Parallel()
	gone := job.Override{APT: 0, Status: job.Quarantined, Reason: "leaks"}
	for _, tt := range []struct {
		name    string
		approve []string
		classes map[string]job.ActionClass
		after   int64
		want    string // who answers
	}{
		{"approved", []string{"cat", "cyd"}, nil, 30, "from beta"},
		{"one vote", []string{"cat"}, nil, 30, "from alpha"},
		{"an admin alone, as of low risk", []string{"ada"}, map[string]job.ActionClass{job.ActionOverride: job.LowRisk}, 30, "from alpha"},
	} {
		r := newRig(t)
		r.says(alpha, text("from alpha"))
		r.says(beta, text("from beta"))
		x := r.start(r.plan(func(p *plan) {
			p.rules.Classes = tt.classes
			p.rules.Requests = []canon.Value{r.left(p.rules, 7, overrideRequest(alpha, gone), tt.after, tt.approve...).Value()}
		}))
		if l := x.log(); l.Final != tt.want || slices.Contains(x.events(), job.ManualOverride) != (tt.want == "from beta") {
			t.Errorf("%s: final %q, events %v; want %q", tt.name, l.Final, x.events(), tt.want)
		}
		x.sound()
	}
	// However often a node fails, it is offline and no more.
	r := newRig(t)
	for range 4 {
		r.fails(alpha, job.ErrAgentTimeout)
	}
	r.says(beta, text("from beta"))
	x := r.start(r.plan(nil))
	if slices.Contains(x.events(), job.ManualOverride) {
		t.Errorf("events = %v", x.events())
	}
	x.sound()
}

// GOV-T3, MACE-S-04: with two signatures, one of them that of a super admin, an
// emergency action is done at once; until when the council must have reviewed
// it is recorded.
func TestEmergencyActionIsDoneAndItsReviewIsDue(t *testing.T) {
	t.Parallel()
	gone := job.Override{APT: 0, Status: job.Quarantined, Reason: "leaks"}
	r := newRig(t)
	r.says(beta, text("from beta"))
	x := r.start(r.plan(func(p *plan) {
		roster, err := govern.NewRoster(
			govern.Actor{ID: "ada", Key: personKey(t, "ada").Public(), Roles: []govern.Role{govern.Admin}, Tenant: "acme"},
			govern.Actor{ID: "cat", Key: personKey(t, "cat").Public(), Roles: []govern.Role{govern.Council}, Tenant: "acme"},
			govern.Actor{ID: "root", Key: personKey(t, "root").Public(), Roles: []govern.Role{govern.Admin}, Tenant: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		p.spec.Roster = roster
		p.rules.Council, p.rules.Quorum, p.rules.SuperAdmins = []string{"cat"}, 1, []string{"root"}
		p.rules.Classes = map[string]job.ActionClass{job.ActionOverride: job.Emergency}
		in := overrideRequest(alpha, gone)
		in.Ledger, in.Origin, in.Justification = "yesterday", "root", "it leaks"
		q, err := p.rules.Request("seed-0001", job.NewStamp("seed-0001", 7, job.EventRequested), in)
		for i, person := range []string{"ada", "root"} {
			a, admitErr := roster.Admit(act(t, person, govern.Admin, govern.Approve, q.Matter()), q.Requirement("acme"))
			if err == nil {
				err = admitErr
			}
			if err == nil {
				q, err = q.Vote(a, int64(i))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		p.rules.Requests = []canon.Value{q.Value()}
	}))
	want := []string{"ACTIONREQUEST_EXECUTED", "EMERGENCY_OVERRIDE", "MANUAL_OVERRIDE", "BRAINSTATE_TICK"}
	if got := x.events(); !slices.Equal(got[:len(want)], want) || x.log().Final != "from beta" {
		t.Errorf("events = %v, final %q; want %v first", got, x.log().Final, want)
	}
	a := x.archive()
	if due := value(t, string(a.Events[x.log().Events[1].ID])).Get("payload").Get("review_due").String(); due != "61" {
		t.Errorf("review_due = %s, want 60 seconds after the second signature", due)
	}
	x.sound()
}

// What is still open takes votes for as long as the job works, and is done as
// soon as it may be.
func TestOpenRequestOfTheSnapshotIsVotedOnInTheJob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		votes []govern.Verb
		wrote int
		event string
	}{
		{"approved", []govern.Verb{govern.Approve, govern.Approve}, 1, "SEM_WRITE"},
		{"denied", []govern.Verb{govern.Deny, govern.Deny}, 0, "ACTIONREQUEST_REFUSED"},
	} {
		r := newRig(t)
		r.says(alpha, askPut)
		var q job.ActionRequest
		x := r.start(r.plan(func(p *plan) {
			q = r.left(p.rules, 7, putRequest("birds/kestrel"), 30)
			p.rules.Requests = []canon.Value{q.Value()}
		}))
		for i, verb := range tt.votes {
			x.voteOn(q, []string{"cat", "cleo"}[i], verb, 40)
		}
		x.voteOn(q, "cyd", govern.Approve, 50) // it is decided
		x.vote("cat", govern.Deny, 1)
		x.vote("cyd", govern.Deny, 1)
		if l := x.log(); len(l.Writes) != tt.wrote || !slices.Contains(x.events(), tt.event) {
			t.Errorf("%s: writes %v, events %v; want %s", tt.name, l.Writes, x.events(), tt.event)
		}
		if got := x.rejections(); !slices.Equal(got, []string{govern.ErrDecided.Error()}) {
			t.Errorf("%s: refused with %v, want the vote that came too late", tt.name, got)
		}
		x.sound()
	}
	r := newRig(t)
	r.says(alpha, askPut)
	var q job.ActionRequest
	x := r.start(r.plan(func(p *plan) {
		q = r.left(p.rules, 7, putRequest("birds/kestrel"), 30)
		p.rules.Requests = []canon.Value{q.Value()}
	}))
	for range 2 {
		x.receive(ledger.KindEvent, job.InputElapsed, "clock", canon.Object(canon.M("after", canon.Int(601)), canon.M("request_id", canon.String(q.ID()))))
	}
	x.finish()
	if got := x.rejections(); !slices.Contains(x.events(), "ACTIONREQUEST_REFUSED") || !slices.Equal(got, []string{govern.ErrDecided.Error()}) {
		t.Errorf("events %v, refused with %v; want the request to be over once", x.events(), got)
	}
	x.sound()
}

// A snapshot that holds as open what is not is no snapshot to begin with.
func TestRequestsThatAreNotOpenAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*rig, *plan) []canon.Value
	}{
		{"rejected", func(r *rig, p *plan) []canon.Value {
			return []canon.Value{r.left(p.rules, 7, putRequest("a"), 601).Value()}
		}},
		{"changed", func(r *rig, p *plan) []canon.Value {
			return []canon.Value{r.left(p.rules, 7, putRequest("a"), 1, "cat").Value().With("origin", canon.String("cat"))}
		}},
		{"twice", func(r *rig, p *plan) []canon.Value {
			q := r.left(p.rules, 7, putRequest("a"), 1).Value()
			return []canon.Value{q, q}
		}},
		{"of the job's own seed", func(r *rig, p *plan) []canon.Value {
			p.spec.Seed = "seed-0001"
			return []canon.Value{r.left(p.rules, 7, putRequest("a"), 1).Value()}
		}},
		{"voted on by nobody on the roster", func(r *rig, p *plan) []canon.Value {
			q := r.left(p.rules, 7, putRequest("a"), 1, "cat")
			p.spec.Roster = govern.Roster{}
			return []canon.Value{q.Value()}
		}},
	} {
		r := newRig(t)
		p := r.plan(func(p *plan) { p.rules.Requests = tt.edit(r, p) })
		set := r.set(p)
		m := job.NewMachine()
		contents, err := p.spec.Contents(set)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(opened(contents)); fault.CodeOf(err) != job.ErrSpec {
			t.Errorf("%s: the open is %v, want %v", tt.name, err, job.ErrSpec)
		}
	}
}
