package job

import (
	"maps"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// Codes of governed actions.
const (
	// ErrGovernance means that the content of a governance snapshot is not of
	// its form. Mend the snapshot.
	ErrGovernance fault.Invalid = "job.bad_governance"
	// ErrAction means that an action request is not of its form, or that its
	// acts do not lead to where it says it stands. Make the request anew; do
	// not act on this one.
	ErrAction fault.Invalid = "job.bad_action_request"
	// ErrNotApproved means that an action was to be done without the approval
	// that it needs, or before the time to object is over. Get it approved.
	ErrNotApproved fault.Denied = "job.not_approved"
)

// ActionClass says how much an action puts at risk, and so who must approve it.
type ActionClass string

// The classes.
const (
	LowRisk    ActionClass = "low"       // one admin
	MediumRisk ActionClass = "medium"    // one admin, and the council may object within a time
	HighRisk   ActionClass = "high"      // the council, by quorum
	Emergency  ActionClass = "emergency" // two admins, one of them a super admin; the council reviews
)

// Actions that this engine does itself.
const (
	ActionPromote = "memory_promote_request" // an episode becomes a fact
	ActionPut     = "sem_put"                // a fact is written
	ActionDelete  = "sem_delete"             // facts are deleted at the request of their subject
)

// Types of the events in the life of a request.
const (
	EventRequested = "ACTIONREQUEST_CREATED"
	EventExecuted  = "ACTIONREQUEST_EXECUTED"
	EventExpired   = "ACTIONREQUEST_TIMEOUT"
	EventOverride  = "EMERGENCY_OVERRIDE"
)

// maxReplayMS is the longest that a replay can be allowed to take: a year.
const maxReplayMS = 366 * 24 * 3600 * 1000

// Governance is the content of a governance snapshot. All times are seconds.
type Governance struct {
	Council     []string               // ids of the members, sorted
	SuperAdmins []string               // ids of admins who may start an emergency action, sorted
	Classes     map[string]ActionClass // of actions; any other is of high risk

	Quorum          int64 // COUNCIL_QUORUM: votes that are no abstention
	VoteWindow      int64 // VOTE_WINDOW
	RequestTimeout  int64 // ACTIONREQUEST_TIMEOUT
	ApprovalWait    int64 // GOV_APPROVAL_WAIT
	ReviewWindow    int64 // EMERGENCY_REVIEW_WINDOW
	RetentionDays   int64 // GOVERNANCE_RETENTION_DAYS
	AuditWindowDays int64 // AUDIT_WINDOW_DAYS

	// Limits on jobs and their replays (M-102). A limit of 0 lets nothing run.
	AgentTimeoutMS int64 // AGENT_TIMEOUT_MS
	MaxIterations  int64 // iteration_cap
	MaxReplayMS    int64 // max_replay_ms, at most a year

	// Requests are those that are open, with their acts, as
	// [ActionRequest.Value] writes them.
	Requests []canon.Value
}

// Value returns the content as the snapshot holds it.
func (g Governance) Value() canon.Value {
	classes := make([]canon.Member, 0, len(g.Classes))
	for _, name := range slices.Sorted(maps.Keys(g.Classes)) {
		classes = append(classes, canon.M(name, canon.String(string(g.Classes[name]))))
	}
	return canon.Object(
		canon.M("action_classes", canon.Object(classes...)),
		canon.M("action_requests", canon.Array(g.Requests...)),
		canon.M("actionrequest_timeout", canon.Int(g.RequestTimeout)),
		canon.M("agent_timeout_ms", canon.Int(g.AgentTimeoutMS)),
		canon.M("audit_window_days", canon.Int(g.AuditWindowDays)),
		canon.M("council", canon.Strings(g.Council)),
		canon.M("council_quorum", canon.Int(g.Quorum)),
		canon.M("emergency_review_window", canon.Int(g.ReviewWindow)),
		canon.M("gov_approval_wait", canon.Int(g.ApprovalWait)),
		canon.M("governance_retention_days", canon.Int(g.RetentionDays)),
		canon.M("iteration_cap", canon.Int(g.MaxIterations)),
		canon.M("max_replay_ms", canon.Int(g.MaxReplayMS)),
		canon.M("super_admins", canon.Strings(g.SuperAdmins)),
		canon.M("vote_window", canon.Int(g.VoteWindow)),
	)
}

// ParseGovernance reads what [Governance.Value] writes and nothing else. It
// refuses with [ErrGovernance], also a quorum that the council cannot reach.
func ParseGovernance(v canon.Value) (Governance, error) {
	const op = "job.ParseGovernance"
	r := newRecord(v, ErrGovernance, op, "governance", "action_classes", "action_requests", "actionrequest_timeout", "agent_timeout_ms", "audit_window_days",
		"council", "council_quorum", "emergency_review_window", "gov_approval_wait", "governance_retention_days", "iteration_cap", "max_replay_ms",
		"super_admins", "vote_window")
	g := Governance{
		Council: r.set("council"), SuperAdmins: r.set("super_admins"), Classes: map[string]ActionClass{},
		Quorum: r.Count("council_quorum", govern.MaxNeed), VoteWindow: r.Count("vote_window", maxCount),
		RequestTimeout: r.Count("actionrequest_timeout", maxCount), ApprovalWait: r.Count("gov_approval_wait", maxCount),
		ReviewWindow: r.Count("emergency_review_window", maxCount), RetentionDays: r.Count("governance_retention_days", maxCount),
		AuditWindowDays: r.Count("audit_window_days", maxCount), AgentTimeoutMS: r.Count("agent_timeout_ms", maxCount),
		MaxIterations: r.Count("iteration_cap", maxList), MaxReplayMS: r.Count("max_replay_ms", maxReplayMS), Requests: r.list("action_requests"),
	}
	classes := r.Value.Get("action_classes")
	if classes.Kind() != canon.KindObject || classes.Len() > maxList {
		r.Fail("governance.action_classes is no object of at most %d members", maxList)
	}
	for _, m := range classes.Members() {
		c := ActionClass(m.Value.Str())
		if c != LowRisk && c != MediumRisk && c != HighRisk && c != Emergency || len(m.Name) > canon.MaxName {
			r.Fail("governance.action_classes holds a name or a class that is none")
		}
		g.Classes[m.Name] = c
	}
	if g.Quorum < 1 || g.Quorum > int64(len(g.Council)) {
		r.Fail("a council of %d members cannot reach a quorum of %d", len(g.Council), g.Quorum)
	}
	if r.Err != nil {
		return Governance{}, r.Err
	}
	return g, nil
}

// Class returns the class of an action. What the snapshot does not list needs
// the council.
func (g Governance) Class(action string) ActionClass {
	if c, ok := g.Classes[action]; ok {
		return c
	}
	return HighRisk
}

// NewRequest is what somebody wants to be allowed.
type NewRequest struct {
	Ledger        string // the domain id of the ledger in which the acts count
	Origin        string // who asks: an agent, an actor, the brain state
	Action        string
	Payload       canon.Value // what exactly is to be done
	Justification string
	Evidence      []canon.Value // links into the reflective log
}

// ActionStatus says where a request stands.
type ActionStatus string

// The statuses.
const (
	ActionPending  ActionStatus = "pending"
	ActionApproved ActionStatus = "approved"
	ActionRejected ActionStatus = "rejected"
	ActionExpired  ActionStatus = "expired"
	ActionExecuted ActionStatus = "executed"
)

// ActionRequest is a wish to change something that lasts, and what has been said
// to it. It is a value: what changes it returns the changed one.
//
// Its time is counted in seconds since it was created, as the events of its
// ledger record them: its seeded instant tells nothing about when something
// else was. A time below an earlier one counts as that one.
type ActionRequest struct {
	NewRequest
	Seed    det.Seed
	Stamp   Stamp // of its creation; its id is request_id
	Class   ActionClass
	Elapsed int64 // seconds since the creation, as of the last act

	rules    Governance
	within   det.Seed // of the job that executes it, if that is another one than its own
	status   ActionStatus
	ballot   govern.Ballot
	notice   govern.Ballot // of a medium risk: whether the council objects
	acts     []castAct
	approved int64 // seconds
	executed Stamp // its id is empty as long as it is not
}

// castAct is an act, and when it came.
type castAct struct {
	act   govern.Admitted
	after int64
}

// Request returns a pending request. The stamp is that of its
// [EventRequested]. It refuses with [ErrAction] or [ErrStamp].
func (g Governance) Request(seed det.Seed, stamp Stamp, in NewRequest) (ActionRequest, error) {
	const op = "job.Governance.Request"
	if err := stamp.Check(seed, EventRequested); err != nil {
		return ActionRequest{}, err
	}
	payload, _, err := fixed(in.Payload)
	if err != nil {
		return ActionRequest{}, fault.Wrap(ErrAction, op, err, "the payload of %q", in.Action)
	}
	in.Payload = payload
	in.Evidence = slices.Clone(in.Evidence)
	for i, e := range in.Evidence {
		if in.Evidence[i], _, err = fixed(e); err != nil {
			return ActionRequest{}, fault.Wrap(ErrAction, op, err, "the evidence of %q", in.Action)
		}
	}
	r := ActionRequest{NewRequest: in, Seed: seed, Stamp: stamp, Class: g.Class(in.Action), rules: g, status: ActionPending}
	if err := r.open(); err != nil {
		return ActionRequest{}, fault.Wrap(ErrAction, op, err, "a request for %q", in.Action)
	}
	return r, nil
}

// open begins the ballots.
func (r *ActionRequest) open() error {
	if r.Origin == "" || r.Action == "" || len(r.Origin) > canon.MaxName || len(r.Action) > canon.MaxName || len(r.Justification) > maxText || len(r.Evidence) > maxList {
		return fault.New(ErrAction, "job.ActionRequest", "origin and action have 1 to %d bytes, a justification at most %d", canon.MaxName, maxText)
	}
	shown, err := canon.Encode(r.created(), canon.MACEFixed9)
	if err != nil {
		return err
	}
	if len(shown) > 2*maxText {
		return fault.New(ErrAction, "job.ActionRequest", "the request has more than %d bytes", 2*maxText)
	}
	matter := govern.Matter{Ledger: r.Ledger, Subject: r.Stamp.ID, Bound: canon.SHA256(shown)}
	council := govern.Quorum{Need: int(r.rules.Quorum), Roles: []govern.Role{govern.Council}, Rule: govern.Majority}
	quorum := council
	switch r.Class {
	case LowRisk, MediumRisk:
		quorum = govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin}, Rule: govern.Veto}
	case Emergency:
		quorum = govern.Quorum{Need: 2, Roles: []govern.Role{govern.Admin}, Rule: govern.Veto}
	default:
	}
	if r.ballot, err = govern.NewBallot(matter, quorum); err != nil {
		return err
	}
	if r.Class == MediumRisk {
		r.notice, err = govern.NewBallot(matter, council)
	}
	return err
}

// ID returns request_id.
func (r ActionRequest) ID() string { return r.Stamp.ID }

// Status returns where the request stands.
func (r ActionRequest) Status() ActionStatus {
	if r.status == "" {
		return ActionRejected // the zero request asks for nothing and gets it from nobody
	}
	return r.status
}

// Matter returns what an act on the request must be about.
func (r ActionRequest) Matter() govern.Matter { return r.ballot.Matter() }

// Requirement returns what an act must meet to be admitted for the request.
func (r ActionRequest) Requirement(tenant string) govern.Requirement {
	return govern.Requirement{
		Verbs: []govern.Verb{govern.Approve, govern.Deny, govern.Abstain}, Roles: slices.Concat(r.ballot.Roles(), r.notice.Roles()),
		Tenant: tenant, Ledger: r.Ledger,
	}
}

// Vote counts an act that came so many seconds after the creation. Council
// members decide by majority of those who do not abstain, once COUNCIL_QUORUM
// of them have voted; a tie rejects. It refuses who is not on the council of
// the snapshot (govern.ErrRole), an act on a request that is decided
// (govern.ErrDecided), and what a ballot refuses.
func (r ActionRequest) Vote(a govern.Admitted, after int64) (ActionRequest, error) {
	const op = "job.ActionRequest.Vote"
	r = r.Elapse(after)
	act := a.Act()
	objection := r.Class == MediumRisk && act.Role == govern.Council
	switch {
	case r.Status() != ActionPending && (!objection || r.Status() != ActionApproved):
		return r, fault.New(govern.ErrDecided, op, "request %s is %s", r.ID(), r.Status())
	case act.Role == govern.Council && !slices.Contains(r.rules.Council, act.Actor):
		return r, fault.New(govern.ErrRole, op, "%q is not on the council of the snapshot", act.Actor)
	case r.Class == Emergency && act.Verb == govern.Approve && !r.superApproves(act.Actor):
		return r, fault.New(govern.ErrRole, op, "the second approval of an emergency action must be that of a super admin")
	}
	ballot := &r.ballot
	if objection {
		ballot = &r.notice
	}
	next, err := ballot.Cast(a)
	if err != nil {
		return r, err
	}
	*ballot = next
	r.acts = append(slices.Clone(r.acts), castAct{a, r.Elapsed})
	switch {
	case next.State() == govern.Denied:
		r.status = ActionRejected
	case next.State() == govern.Granted && !objection:
		r.status, r.approved = ActionApproved, r.Elapsed
	}
	return r, nil
}

// superApproves reports whether a super admin would be among two who approve,
// if the actor did too.
func (r ActionRequest) superApproves(actor string) bool {
	approvers := []string{actor}
	for _, v := range r.ballot.Votes() {
		if v.Verb == govern.Approve && v.Actor != actor {
			approvers = append(approvers, v.Actor)
		}
	}
	return len(approvers) < 2 || slices.ContainsFunc(approvers, func(id string) bool { return slices.Contains(r.rules.SuperAdmins, id) })
}

// Elapse lets time pass. A request that waits for longer than the timeout is
// expired; one on which the council has not reached its quorum when the vote is
// over is rejected. What was decided stands.
func (r ActionRequest) Elapse(after int64) ActionRequest {
	if r.Status() == ActionPending || r.Status() == ActionApproved {
		r.Elapsed = max(r.Elapsed, min(after, maxCount))
	}
	if r.Status() != ActionPending {
		return r
	}
	voted := r.Class == HighRisk && r.Elapsed > r.rules.VoteWindow
	timeout := r.Elapsed > r.rules.RequestTimeout
	switch {
	case voted && (!timeout || r.rules.VoteWindow < r.rules.RequestTimeout):
		r.status = ActionRejected
	case timeout:
		r.status = ActionExpired
	}
	return r
}

// Ready refuses with [ErrNotApproved] a request that may not be executed so
// many seconds after its creation.
func (r ActionRequest) Ready(after int64) error {
	const op = "job.ActionRequest.Ready"
	switch {
	case r.Status() == ActionExecuted:
		return fault.New(govern.ErrDecided, op, "request %s is executed already", r.ID())
	case r.Status() != ActionApproved:
		return fault.New(ErrNotApproved, op, "request %s for %q is %s", r.ID(), r.Action, r.Status())
	case r.Class == MediumRisk && max(after, r.Elapsed)-r.approved < r.rules.ApprovalWait:
		return fault.New(ErrNotApproved, op, "the council may object to request %s for %d seconds after its approval", r.ID(), r.rules.ApprovalWait)
	}
	return nil
}

// Execute marks the request as executed by the event of that stamp, which is an
// [EventExecuted]. It refuses what [ActionRequest.Ready] refuses.
func (r ActionRequest) Execute(stamp Stamp, after int64) (ActionRequest, error) {
	seed := r.Seed
	if r.within != "" {
		seed = r.within
	}
	if err := stamp.Check(seed, EventExecuted); err != nil {
		return r, err
	}
	if err := r.Ready(after); err != nil {
		return r, err
	}
	r.Elapsed = max(r.Elapsed, min(after, maxCount))
	r.status, r.executed = ActionExecuted, stamp
	return r, nil
}

// ReviewDue returns when the council must have reviewed an emergency action, in
// seconds since the creation.
func (r ActionRequest) ReviewDue() (int64, bool) {
	if r.Class != Emergency || r.Status() != ActionApproved && r.Status() != ActionExecuted {
		return 0, false
	}
	return r.approved + r.rules.ReviewWindow, true
}

// approval returns required_approval_type.
func (r ActionRequest) approval() string {
	switch r.Class {
	case LowRisk, MediumRisk:
		return "admin_single"
	case Emergency:
		return "dual_signature"
	default:
		return "council_quorum"
	}
}

// created returns what was asked for, which is what everybody who acts on it was
// shown.
func (r ActionRequest) created() canon.Value {
	return canon.Object(
		canon.M("action", canon.String(r.Action)),
		canon.M("class", canon.String(string(r.Class))),
		canon.M("event_sequence_index", canon.Int(r.Stamp.Index)),
		canon.M("evidence", canon.Array(r.Evidence...)),
		canon.M("job_seed", canon.String(string(r.Seed))),
		canon.M("justification", canon.String(r.Justification)),
		canon.M("ledger", canon.String(r.Ledger)),
		canon.M("origin", canon.String(r.Origin)),
		canon.M("payload", r.Payload),
		canon.M("request_id", canon.String(r.ID())),
		canon.M("required_approval_type", canon.String(r.approval())),
		canon.M("timestamp_seeded", canon.String(r.Stamp.At.String())),
	)
}

// Value returns the request with its acts as snapshots and the log hold it.
func (r ActionRequest) Value() canon.Value {
	votes := make([]canon.Value, len(r.acts))
	for i, c := range r.acts {
		act := c.act.Act()
		votes[i] = canon.Object(
			canon.M("act", c.act.Value()),
			canon.M("after", canon.Int(c.after)),
			canon.M("member_id", canon.String(act.Actor)),
			canon.M("vote", canon.String(voteWord(act.Verb))),
			canon.M("vote_id", canon.String(c.act.Digest().String())),
		)
	}
	return r.created().
		With("elapsed", canon.Int(r.Elapsed)).
		With("executed_event", executedValue(r.executed)).
		With("status", canon.String(string(r.Status()))).
		With("votes", canon.Array(votes...))
}

func executedValue(s Stamp) canon.Value {
	if s.ID == "" {
		return canon.Null()
	}
	return canon.Object(
		canon.M("event_id", canon.String(s.ID)),
		canon.M("event_sequence_index", canon.Int(s.Index)),
		canon.M("timestamp_seeded", canon.String(s.At.String())),
	)
}

// voteWord returns the word of the document for a vote.
func voteWord(v govern.Verb) string {
	if v == govern.Deny {
		return "reject"
	}
	return string(v)
}

// ParseActionRequest reads what [ActionRequest.Value] writes, and decides the
// request again from its signed acts, which the roster must admit. It refuses
// with [ErrAction] a request that does not come out as it says.
func ParseActionRequest(v canon.Value, rules Governance, roster govern.Roster, tenant string) (ActionRequest, error) {
	const op = "job.ParseActionRequest"
	r := newRecord(v, ErrAction, op, "request", "action", "class", "elapsed", "event_sequence_index", "evidence", "executed_event", "job_seed",
		"justification", "ledger", "origin", "payload", "request_id", "required_approval_type", "status", "timestamp_seeded", "votes")
	seed := det.Seed(r.Name("job_seed"))
	stamp := Stamp{Index: r.Count("event_sequence_index", maxCount), ID: r.digest("request_id"), At: r.instant("timestamp_seeded")}
	in := NewRequest{
		Ledger: r.Name("ledger"), Origin: r.Name("origin"), Action: r.Name("action"), Payload: v.Get("payload"),
		Justification: r.Text("justification", maxText), Evidence: r.list("evidence"),
	}
	elapsed, executed := r.Count("elapsed", maxCount), Stamp{}
	if !v.Get("executed_event").IsNull() {
		e := r.sub("executed_event", "event_id", "event_sequence_index", "timestamp_seeded")
		executed = Stamp{Index: e.Count("event_sequence_index", maxCount), ID: e.digest("event_id"), At: e.instant("timestamp_seeded")}
		r.Take("executed_event", e.Err)
	}
	votes := r.list("votes")
	if r.Err != nil {
		return ActionRequest{}, r.Err
	}
	req, err := rules.Request(seed, stamp, in)
	if err != nil {
		return ActionRequest{}, err
	}
	for i, e := range votes {
		vote := newRecord(e, ErrAction, op, "vote", "act", "after", "member_id", "vote", "vote_id")
		after := vote.Count("after", maxCount)
		if vote.Err != nil {
			return ActionRequest{}, vote.Err
		}
		act, err := roster.Readmit(e.Get("act"), req.Requirement(tenant))
		if err == nil {
			req, err = req.Vote(act, after)
		}
		if err != nil {
			return ActionRequest{}, fault.Wrap(ErrAction, op, err, "vote %d", i)
		}
	}
	if executed.ID == "" {
		req = req.Elapse(elapsed)
	} else if req, err = req.Execute(executed, elapsed); err != nil {
		return ActionRequest{}, fault.Wrap(ErrAction, op, err, "the execution")
	}
	if !req.Value().Equal(v) {
		return ActionRequest{}, fault.New(ErrAction, op, "request %s is %s by its acts, and %s by its own word, or a part of it was changed", req.ID(), req.Status(), v.Get("status").Str())
	}
	return req, nil
}
