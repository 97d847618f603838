package jobs

import (
	"slices"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrGovernance means that an entry of a governance ledger is not what it may
// hold there: somebody wrote it who is not this program, or it was changed.
// Trust the ledger no longer from it on.
const ErrGovernance fault.Integrity = "jobs.bad_governance_entry"

// Names of the events of a governance ledger. Those in capitals are the
// document's.
const (
	EventRoster    = "govern.roster"     // data {act, roster}
	EventRequest   = "REPLAY_REQUEST"    // data {act, request}
	EventResult    = "REPLAY_RESULT"     // data {request_id, …}
	EventIntegrity = "INTEGRITY_FAILURE" // data {job_id, snapshot_id, …}
	EventIncident  = "SECURITY_INCIDENT" // data {act, snapshot_id}
	EventHalt      = "FORCE_HALT_REPLAY" // data {halt}
	EventClear     = "FORCE_HALT_CLEAR"  // data {halt}
	EventAccess    = job.EventAccess     // data: who saw what, and why
)

// Verbs of acts that only governance ledgers take.
const (
	verbEnrol   govern.Verb = "enrol"   // puts a roster in force
	verbReplay  govern.Verb = "replay"  // asks for a replay
	verbPropose govern.Verb = "propose" // a configuration to the council
)

// clearing are the roles in which somebody has a say in whether what is halted
// goes on: who has both speaks as one of the council unless they say otherwise.
var clearing = []govern.Role{govern.Council, govern.Admin}

const (
	aboutHalt       = "halt"
	aboutRequest    = "request"
	aboutDivergence = "divergence"
)

var allRoles = []govern.Role{govern.Operator, govern.Admin, govern.Auditor, govern.Council, govern.Approver}

// Request is a replay that was asked for, and what came of it.
type Request struct {
	ID      string // digest of the signed act
	Actor   string
	Roles   []govern.Role
	Refused fault.Code // why it was not admitted, or nil
	Value   canon.Value

	Votes      []govern.Admitted // on the request
	Forced     []govern.Admitted // on going on behind its divergence
	Done       bool
	Code       string        // of its result; empty: it went well
	Audit      ledger.RunID  // empty: it did not begin
	Divergence govern.Matter // zero: it has found none
}

// Mode returns the mode that was asked for.
func (q *Request) Mode() job.Mode { return job.Mode(q.Value.Get("mode").Str()) }

// Matter is what votes on the request are about.
func (q *Request) Matter(ledgerID string) govern.Matter {
	return govern.Matter{Ledger: ledgerID, Subject: q.ID, Bound: requestDigest(q.Value)}
}

func requestDigest(v canon.Value) canon.Digest {
	b, err := canon.Encode(v, canon.Foreign)
	if err != nil {
		return canon.Digest{} // nothing admits an act about it
	}
	return canon.SHA256(b)
}

// standing is where a governance ledger stands: a fold of its entries.
type standing struct {
	id, tenant string
	roster     govern.Roster
	halts      govern.Halts
	seen       govern.Seen
	requests   []*Request
	proposals  []*Proposal
	inForce    []*Proposal  // in the order in which they were adopted
	lastVote   govern.State // of the ballot that the last vote was on
}

func bad(format string, args ...any) error {
	return fault.New(ErrGovernance, "jobs.standing", format, args...)
}

// apply folds the next entry.
func (s *standing) apply(o *ledger.Opened) error {
	switch {
	case o.Kind == ledger.KindOpen && o.N == 0:
		d := o.Data()
		s.id, s.tenant = d.Get("ledger_id").Str(), d.Get("tenant").Str()
		var err error
		if s.roster, err = govern.ParseRoster(d.Get("roster")); err != nil {
			return err
		}
		s.halts, err = s.noHalts()
		return err
	case o.Kind == ledger.KindEvent && s.id != "":
		return s.event(o.Body.Get("name").Str(), o.Body.Get("from").Str(), o.Data())
	default:
		return bad("entry %d is a %s", o.N, o.Kind)
	}
}

// noHalts is where nothing stands still. What is halted goes on when an admin or
// the council has decided so, in the ledger.
func (s *standing) noHalts() (govern.Halts, error) {
	halts, err := govern.NewHalts(s.id, s.quorum())
	if err != nil {
		return halts, err
	}
	return halts.Or(govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin}})
}

// quorum is how the council decides: with more than half of it.
func (s *standing) quorum() govern.Quorum {
	n := len(s.roster.Holders(s.tenant, govern.Council))
	return govern.Quorum{Need: n/2 + 1, Roles: []govern.Role{govern.Council}, Rule: govern.Majority}
}

func (s *standing) rosterMatter(r govern.Roster) govern.Matter {
	return govern.Matter{Ledger: s.id, Subject: "roster", Bound: r.Digest()}
}

// admit checks an act of the ledger.
func (s *standing) admit(data canon.Value, from, ledgerID string, verbs []govern.Verb, roles ...govern.Role) (govern.Admitted, error) {
	a, err := s.roster.Readmit(data.Get("act"), govern.Requirement{Verbs: verbs, Roles: roles, Tenant: s.tenant, Ledger: ledgerID})
	if err != nil {
		return a, err
	}
	if a.Act().Actor != from {
		return a, bad("an act of %q stands under the name of %q", a.Act().Actor, from)
	}
	next, err := s.seen.Add(a)
	if err == nil {
		s.seen = next
	}
	return a, err
}

// event folds an event.
func (s *standing) event(name, from string, data canon.Value) error {
	switch name {
	case EventRoster:
		return s.enrol(from, data)
	case EventRequest:
		return s.asked(from, data)
	case EventResult:
		return s.answered(data)
	case EventIntegrity:
		code, err := fault.Recorded(data.Get("cause").Get("class").Str(), data.Get("cause").Get("code").Str())
		if err != nil {
			return err
		}
		s.halts, _ = s.halts.Trip(data.Get("snapshot_id").Str(), code, data.Get("reason").Str())
		return nil
	case EventIncident:
		a, err := s.admit(data, from, s.id, []govern.Verb{govern.Stop}, govern.Admin, govern.Operator, govern.Council)
		if err == nil && a.Act().Matter.Subject != data.Get("snapshot_id").Str() {
			err = bad("the incident is not about what was signed")
		}
		if err == nil {
			s.halts, _, err = s.halts.Stop(a)
		}
		return err
	case EventHalt:
		h, err := govern.ParseHalt(data.Get("halt"))
		if err == nil && s.halts.Check(h.Subject) == nil {
			err = bad("%s of something that does not stand still", name)
		}
		return err
	case EventClear:
		h, err := govern.ParseHalt(data.Get("halt"))
		if err == nil && slices.ContainsFunc(s.halts.Standing(), func(x govern.Halt) bool { return x.Seq == h.Seq }) {
			err = bad("%s of something that stands still", name)
		}
		return err
	case govern.EventVote:
		return s.vote(from, data)
	case EventProposed:
		return s.proposed(from, data)
	case EventAdopted:
		return s.adoptedIs(data)
	case EventAccess, job.EventDSR:
		return nil
	default:
		return bad("there is no event %q", name)
	}
}

// enrolled returns the roster on which an actor has these roles, or is not any
// more if there are none. Who is on it already keeps their key unless another one
// is given.
func (s *standing) enrolled(a Actor) (govern.Roster, error) {
	var list []govern.Actor
	for _, x := range s.roster.Holders(s.tenant, allRoles...) {
		if x.ID == a.ID && a.Key.IsZero() {
			a.Key = x.Key
		}
		if x.ID != a.ID {
			list = append(list, x)
		}
	}
	if len(a.Roles) > 0 {
		list = append(list, govern.Actor{ID: a.ID, Key: a.Key, Roles: a.Roles, Tenant: s.tenant})
	}
	return govern.NewRoster(list...)
}

// enrol puts another roster in force. What stands still does so under the new
// council; the votes until now do not count there.
func (s *standing) enrol(from string, data canon.Value) error {
	a, err := s.admit(data, from, s.id, []govern.Verb{verbEnrol}, govern.Admin)
	if err != nil {
		return err
	}
	roster, err := govern.ParseRoster(data.Get("roster"))
	if err != nil {
		return err
	}
	if a.Act().Matter != s.rosterMatter(roster) {
		return bad("the roster is not the one that was signed")
	}
	if len(roster.Holders(s.tenant, govern.Admin)) == 0 {
		return fault.New(govern.ErrRoster, "jobs.Enrol", "nobody would be admin, and nobody could ever be enrolled")
	}
	next := *s
	next.roster = roster
	halts, err := next.noHalts()
	if err != nil {
		return err
	}
	for _, h := range s.halts.Standing() {
		halts, _ = halts.Trip(h.Subject, h.Cause, h.Reason)
	}
	next.halts = halts
	if err := next.anew(); err != nil {
		return err
	}
	*s = next
	return nil
}

func (s *standing) asked(from string, data canon.Value) error {
	q := &Request{Actor: from, Value: data.Get("request")}
	b, err := canon.Encode(data.Get("act"), canon.Foreign)
	if err != nil {
		return err
	}
	q.ID = canon.SHA256(b).String()
	a, err := s.admit(data, from, s.id, []govern.Verb{verbReplay}, allRoles...)
	switch fault.ClassOf(err) {
	case fault.ClassNone:
		if a.Act().Matter != (govern.Matter{Ledger: s.id, Subject: q.Value.Get("job_id").Str(), Bound: requestDigest(q.Value)}) {
			return bad("the request is not the one that was signed")
		}
		who, _ := s.roster.Find(from)
		q.Roles = who.Roles
	case fault.ClassDenied:
		q.Refused = fault.CodeOf(err) // that somebody tried is recorded too
	default:
		return err
	}
	s.requests = append(slices.Clip(s.requests), q)
	return nil
}

// amend replaces a request by a changed copy, so that a copy of s keeps its
// own.
func (s *standing) amend(id string, change func(*Request)) error {
	i := slices.IndexFunc(s.requests, func(q *Request) bool { return q.ID == id })
	if i < 0 {
		return bad("there is no request %.80q", id)
	}
	q := *s.requests[i]
	change(&q)
	s.requests = slices.Clone(s.requests)
	s.requests[i] = &q
	return nil
}

func (s *standing) answered(data canon.Value) error {
	m := data.Get("divergence")
	matter := govern.Matter{}
	if !m.IsNull() && !m.IsZero() {
		bound, err := canon.ParseDigest(m.Get("bound").Str())
		if err != nil {
			return err
		}
		matter = govern.Matter{Ledger: m.Get("ledger").Str(), Subject: m.Get("subject").Str(), Bound: bound}
	}
	return s.amend(data.Get("request_id").Str(), func(q *Request) {
		q.Done, q.Code, q.Audit, q.Divergence = true, data.Get("code").Str(), ledger.RunID(data.Get("audit_run").Str()), matter
	})
}

func (s *standing) vote(from string, data canon.Value) error {
	verbs := []govern.Verb{govern.Approve, govern.Deny, govern.Abstain}
	switch about := data.Get("about").Str(); about {
	case aboutHalt:
		a, err := s.admit(data, from, s.id, []govern.Verb{govern.Clear, govern.Deny, govern.Abstain}, clearing...)
		if err == nil {
			s.halts, _, s.lastVote, err = s.halts.Clear(a)
		}
		return err
	case aboutProposal:
		return s.voteOnProposal(from, data)
	case aboutRequest, aboutDivergence:
		q, err := s.request(data.Get("request_id").Str())
		if err != nil {
			return err
		}
		matter := q.Matter(s.id)
		if about == aboutDivergence {
			matter = q.Divergence
		}
		a, err := s.admit(data, from, matter.Ledger, verbs, govern.Admin, govern.Auditor, govern.Council)
		if err != nil {
			return err
		}
		if a.Act().Matter != matter {
			return fault.New(govern.ErrMatter, "jobs.vote", "the vote is about something else")
		}
		return s.amend(q.ID, func(q *Request) {
			if about == aboutRequest {
				q.Votes = append(slices.Clip(q.Votes), a)
			} else {
				q.Forced = append(slices.Clip(q.Forced), a)
			}
		})
	default:
		return bad("a vote about %q", about)
	}
}

// request finds a request by the beginning of its id.
func (s *standing) request(id string) (*Request, error) {
	return prefixed(s.requests, func(q *Request) string { return q.ID }, id, "request")
}

func (s *standing) halted(subject string) (govern.Halt, error) {
	return prefixed(s.halts.Standing(), func(h govern.Halt) string { return h.Subject }, subject, "halt")
}

// granted reports whether a production replay was allowed: by an admin and an
// auditor, who may be one person if the roster says so and of whom whoever
// asks is one, or by the council (M-81).
func (s *standing) granted(q *Request, by []govern.Admitted) bool {
	var missing []govern.Quorum
	for _, role := range []govern.Role{govern.Admin, govern.Auditor} {
		if !slices.Contains(q.Roles, role) {
			missing = append(missing, govern.Quorum{Need: 1, Roles: []govern.Role{role}})
		}
	}
	if len(missing) == 0 {
		return true
	}
	return carried(by, missing...) || carried(by, s.quorum())
}

// carried reports whether votes, all about one matter, meet the quorums.
func carried(votes []govern.Admitted, quorums ...govern.Quorum) bool {
	if len(votes) == 0 {
		return false
	}
	b, err := govern.NewBallot(votes[0].Act().Matter, quorums...)
	if err != nil {
		return false
	}
	for _, v := range votes {
		if next, err := b.Cast(v); err == nil { // else it has no say in these quorums
			b = next
		}
	}
	return b.State() == govern.Granted
}

func causeValue(c fault.Code) canon.Value {
	return canon.Object(canon.M("class", canon.String(c.Class().String())), canon.M("code", canon.String(c.Error())))
}
