package job_test

import (
	"encoding/binary"
	"testing"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const governLedger = "governance-1"

func actorKey(name string) *sign.PrivateKey {
	s := canon.SHA256([]byte("job_test " + name))
	k, err := sign.NewPrivateKey(s[:])
	if err != nil {
		panic(err)
	}
	return k
}

// roster lists a council of c1 to c5, two admins and a guest who holds the role
// but is not on the council of the snapshot.
func roster(t testing.TB) govern.Roster {
	t.Helper()
	var actors []govern.Actor
	for name, role := range map[string]govern.Role{
		"c1": govern.Council, "c2": govern.Council, "c3": govern.Council, "c4": govern.Council, "c5": govern.Council,
		"guest": govern.Council, "admin": govern.Admin, "root": govern.Admin, "other": govern.Admin, "aud": govern.Auditor,
	} {
		actors = append(actors, govern.Actor{ID: name, Key: actorKey(name).Public(), Roles: []govern.Role{role}})
	}
	r, err := govern.NewRoster(actors...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rules() job.Governance {
	return job.Governance{
		Council: []string{"c1", "c2", "c3", "c4", "c5"}, SuperAdmins: []string{"root"},
		Classes: map[string]job.ActionClass{"module_register": job.LowRisk, "raise_budget": job.MediumRisk, "halt_replays": job.Emergency},
		Quorum:  3, VoteWindow: 100, RequestTimeout: 1000, ApprovalWait: 50, ReviewWindow: 500, RetentionDays: 365, AuditWindowDays: 90,
	}
}

func request(t testing.TB, action string, payload canon.Value) job.ActionRequest {
	t.Helper()
	r, err := rules().Request(seed, job.NewStamp(seed, 7, job.EventRequested), job.NewRequest{
		Ledger: governLedger, Origin: "brainstate", Action: action, Payload: payload, Justification: "because",
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// vote is what somebody says to a request, so many seconds after its creation.
type vote struct {
	who   string
	verb  govern.Verb
	after int64
}

// cast lets them vote in turn, and returns the last error.
func cast(t testing.TB, r job.ActionRequest, votes ...vote) (job.ActionRequest, error) {
	t.Helper()
	people := roster(t)
	var last error
	for i, v := range votes {
		actor, ok := people.Find(v.who)
		if !ok {
			t.Fatalf("nobody is called %q", v.who)
		}
		a := govern.Act{Verb: v.verb, Actor: v.who, Role: actor.Roles[0], Matter: r.Matter(), At: 1}
		binary.BigEndian.PutUint64(a.Nonce[:], uint64(i)+1)
		envelope, err := a.Sign(actorKey(v.who))
		if err != nil {
			t.Fatal(err)
		}
		need := r.Requirement("")
		need.Roles = []govern.Role{govern.Council, govern.Admin, govern.Auditor}
		admitted, err := people.Admit(envelope, need)
		if err != nil {
			t.Fatal(err)
		}
		r, last = r.Vote(admitted, v.after)
	}
	return r, last
}

// approved returns the request as the council approves it.
func approved(t testing.TB, r job.ActionRequest) job.ActionRequest {
	t.Helper()
	r, err := cast(t, r, vote{"c1", govern.Approve, 1}, vote{"c2", govern.Approve, 2}, vote{"c3", govern.Approve, 3})
	if err != nil || r.Status() != job.ActionApproved {
		t.Fatalf("status = %s, %v; want approved", r.Status(), err)
	}
	return r
}

// GOV-T1, GOV-T5: who must agree to what.
func TestRequestsAreDecidedByThoseOfTheirClass(t *testing.T) {
	t.Parallel()
	yes, no, none := govern.Approve, govern.Deny, govern.Abstain
	for _, c := range []struct {
		name   string
		action string
		votes  []vote
		want   job.ActionStatus
	}{
		{"low: one admin", "module_register", []vote{{"admin", yes, 1}}, job.ActionApproved},
		{"low: an admin denies", "module_register", []vote{{"admin", no, 1}}, job.ActionRejected},
		{"low: the timeout", "module_register", []vote{{"admin", yes, 1001}}, job.ActionExpired},
		{"high: nobody yet", "quarantine", nil, job.ActionPending},
		{"high: two of three", "quarantine", []vote{{"c1", yes, 1}, {"c2", yes, 2}}, job.ActionPending},
		{"high: quorum", "quarantine", []vote{{"c1", yes, 1}, {"c2", yes, 2}, {"c3", yes, 3}}, job.ActionApproved},
		{"high: majority", "quarantine", []vote{{"c1", yes, 1}, {"c2", no, 2}, {"c3", yes, 3}}, job.ActionApproved},
		{"high: minority", "quarantine", []vote{{"c1", no, 1}, {"c2", no, 2}, {"c3", yes, 3}}, job.ActionRejected},
		{"high: one member thrice", "quarantine", []vote{{"c1", yes, 1}, {"c1", yes, 2}, {"c1", yes, 3}}, job.ActionPending},
		{"high: an abstention does not count", "quarantine", []vote{{"c1", yes, 1}, {"c2", yes, 2}, {"c3", none, 3}}, job.ActionPending},
		{"high: at the end of the window", "quarantine", []vote{{"c1", yes, 1}, {"c2", yes, 2}, {"c3", yes, 100}}, job.ActionApproved},
		{"high: after the window", "quarantine", []vote{{"c1", yes, 1}, {"c2", yes, 2}, {"c3", yes, 101}}, job.ActionRejected},
		{"medium: one admin", "raise_budget", []vote{{"admin", yes, 1}}, job.ActionApproved},
		{"medium: the council objects", "raise_budget", []vote{{"admin", yes, 1}, {"c1", no, 2}, {"c2", no, 3}, {"c3", yes, 4}}, job.ActionRejected},
		{"medium: the council agrees", "raise_budget", []vote{{"c1", yes, 2}, {"c2", yes, 3}, {"c3", yes, 4}}, job.ActionPending},
		{"emergency: a super admin and an admin", "halt_replays", []vote{{"root", yes, 1}, {"admin", yes, 2}}, job.ActionApproved},
		{"emergency: a super admin alone", "halt_replays", []vote{{"root", yes, 1}}, job.ActionPending},
		{"emergency: two admins", "halt_replays", []vote{{"admin", yes, 1}, {"other", yes, 2}}, job.ActionPending},
	} {
		r, _ := cast(t, request(t, c.action, canon.Null()), c.votes...)
		if got := r.Status(); got != c.want {
			t.Errorf("%s: status = %s, want %s", c.name, got, c.want)
		}
		again, err := job.ParseActionRequest(parse(t, encode(t, r.Value())), rules(), roster(t), "")
		if err != nil || again.Status() != c.want {
			t.Errorf("%s: ParseActionRequest(Value()) = %s, %v; want %s", c.name, again.Status(), err, c.want)
		}
	}
}

// A tie rejects: with a quorum of two, one yes and one no.
func TestTieRejects(t *testing.T) {
	t.Parallel()
	g := rules()
	g.Quorum = 2
	r, err := g.Request(seed, job.NewStamp(seed, 0, job.EventRequested), job.NewRequest{Ledger: governLedger, Origin: "x", Action: "quarantine", Payload: canon.Null()})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = cast(t, r, vote{"c1", govern.Approve, 1}, vote{"c2", govern.Deny, 2}); err != nil || r.Status() != job.ActionRejected {
		t.Errorf("status = %s, %v; want rejected", r.Status(), err)
	}
}

// GOV-T4: nothing unsigned is counted, since only an admitted act is a vote.
func TestVotesThatDoNotCount(t *testing.T) {
	t.Parallel()
	r := request(t, "quarantine", canon.Null())
	_, err := cast(t, r, vote{"guest", govern.Approve, 1})
	wantCode(t, "vote of who is not on the council", err, govern.ErrRole)
	_, err = cast(t, r, vote{"admin", govern.Approve, 1})
	wantCode(t, "vote of an admin on a matter of the council", err, govern.ErrRole)
	_, err = cast(t, r, vote{"aud", govern.Approve, 1})
	wantCode(t, "vote of an auditor", err, govern.ErrRole)
	_, err = cast(t, approved(t, r), vote{"c4", govern.Deny, 9})
	wantCode(t, "vote after the decision", err, govern.ErrDecided)
	_, err = r.Vote(govern.Admitted{}, 1)
	wantCode(t, "an act that nobody signed", err, govern.ErrAct)
	_, err = cast(t, request(t, "halt_replays", canon.Null()), vote{"admin", govern.Approve, 1}, vote{"other", govern.Approve, 2})
	wantCode(t, "two admins in an emergency", err, govern.ErrRole)
}

// T-BS-07, MACE-S-03: nothing is done before it is approved, nor twice.
func TestRequestIsExecutedOnceAndOnlyWhenApproved(t *testing.T) {
	t.Parallel()
	stamp := job.NewStamp(seed, 8, job.EventExecuted)
	r := request(t, "quarantine", canon.Null())
	_, err := r.Execute(stamp, 5)
	wantCode(t, "Execute(pending)", err, job.ErrNotApproved)
	_, err = (job.ActionRequest{}).Execute(job.NewStamp("", 8, job.EventExecuted), 5)
	wantCode(t, "Execute(zero)", err, job.ErrNotApproved)
	r = approved(t, r)
	_, err = r.Execute(job.NewStamp(seed, 8, job.EventRequested), 5)
	wantCode(t, "Execute by another event", err, job.ErrStamp)
	r, err = r.Execute(stamp, 5)
	if err != nil || r.Status() != job.ActionExecuted {
		t.Fatalf("Execute(approved) = %s, %v", r.Status(), err)
	}
	again, err := job.ParseActionRequest(parse(t, encode(t, r.Value())), rules(), roster(t), "")
	if err != nil || again.Status() != job.ActionExecuted {
		t.Errorf("ParseActionRequest(executed) = %s, %v", again.Status(), err)
	}
	_, err = r.Execute(stamp, 6)
	wantCode(t, "Execute(executed)", err, govern.ErrDecided)
}

func TestCouncilMayObjectToAMediumRiskForAWhile(t *testing.T) {
	t.Parallel()
	r, err := cast(t, request(t, "raise_budget", canon.Null()), vote{"admin", govern.Approve, 10})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "Ready(59)", r.Ready(59), job.ErrNotApproved)
	if err := r.Ready(60); err != nil {
		t.Errorf("Ready(60) = %v, want nil", err)
	}
}

// GOV-T3, MACE-S-04.
func TestEmergencyIsReviewed(t *testing.T) {
	t.Parallel()
	r := request(t, "halt_replays", canon.Null())
	if _, due := r.ReviewDue(); due {
		t.Error("a review is due of what nobody approved")
	}
	r, _ = cast(t, r, vote{"root", govern.Approve, 10}, vote{"admin", govern.Approve, 20})
	if at, due := r.ReviewDue(); !due || at != 520 {
		t.Errorf("ReviewDue() = %d, %t; want 520", at, due)
	}
}

func TestRequestWhoseWordsChangedIsRefused(t *testing.T) {
	t.Parallel()
	v := approved(t, request(t, "quarantine", canon.Object(canon.M("node", canon.String("agent:a_v1"))))).Value()
	for name, bad := range map[string]canon.Value{
		"payload":   v.With("payload", canon.Object(canon.M("node", canon.String("agent:b_v1")))),
		"status":    v.With("status", canon.String("executed")),
		"class":     v.With("class", canon.String("low")),
		"id":        v.With("request_id", canon.String(canon.SHA256(nil).String())),
		"a vote":    v.With("votes", canon.Array(v.Get("votes").Elems()[1:]...)),
		"a word":    v.With("votes", canon.Array(v.Get("votes").At(0).With("vote", canon.String("reject")), v.Get("votes").At(1), v.Get("votes").At(2))),
		"executed":  v.With("executed_event", canon.String("yes")),
		"no object": canon.Null(),
	} {
		if _, err := job.ParseActionRequest(bad, rules(), roster(t), ""); err == nil {
			t.Errorf("ParseActionRequest with another %s succeeded", name)
		}
	}
}

func TestGovernanceSnapshotIsReadStrictly(t *testing.T) {
	t.Parallel()
	g := rules()
	g.Requests = []canon.Value{approved(t, request(t, "quarantine", canon.Null())).Value()}
	v := g.Value()
	got, err := job.ParseGovernance(parse(t, encode(t, v)))
	if err != nil || !got.Value().Equal(v) {
		t.Fatalf("ParseGovernance(Value()) = %s, %v; want %s", got.Value(), err, v)
	}
	if got.Class("anything else") != job.HighRisk {
		t.Errorf("Class(unlisted) = %s, want high", got.Class("anything else"))
	}
	for name, bad := range map[string]canon.Value{
		"quorum beyond the council": v.With("council_quorum", canon.Int(6)),
		"no quorum":                 v.With("council_quorum", canon.Int(0)),
		"no window":                 v.Without("vote_window"),
		"member twice":              v.With("council", canon.Array(canon.String("c1"), canon.String("c1"))),
		"unknown class":             v.With("action_classes", canon.Object(canon.M("x", canon.String("none")))),
	} {
		_, err := job.ParseGovernance(bad)
		wantCode(t, "ParseGovernance("+name+")", err, job.ErrGovernance)
	}
}
