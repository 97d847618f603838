package trajectory

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Trail turns the entries of one history into lines, one after another, the
// source's entries before those of a branch. It folds no world and decides
// nothing; its memory grows with what waits for an approval.
type Trail struct {
	charter *Charter
	id      canon.Digest
	votes   []ballotOf
	intents []wish
	waits   []Line   // that are suspended
	acts    []Voice  // answers whose signatures hold, to what is not decided yet
	of      []string // the proposal that each of them is about
}

// ballotOf is who decided about a proposal that is not done with yet.
type ballotOf struct {
	proposal string
	voices   []Voice
}

// wish is what an intent asks for.
type wish struct {
	intent canon.Digest
	tool   string
}

// maxIntents is how many intents are kept in mind: a refusal stands close
// behind what it refuses, or behind its suspension.
const maxIntents = 2 * MaxAgents * maxTurn

// NewTrail returns a trail before its first entry.
func NewTrail() *Trail { return &Trail{} }

// Charter returns the charter that the open holds, or nil.
func (t *Trail) Charter() *Charter { return t.charter }

// Line returns the line of the next entry. Content reads an attachment of it
// by name; it is asked for the charter only.
func (t *Trail) Line(o *ledger.Opened, content func(name string) ([]byte, error)) Line {
	l := Line{Run: o.Run, N: o.N, T: o.T, Label: labelOf(o.Kind), Withheld: o.Body.IsZero()}
	l.Technical = o.Kind == ledger.KindCall || o.Kind == ledger.KindOutcome || o.Kind == ledger.KindDecision
	if l.Withheld {
		return l
	}
	name, data := o.Body.Get("name").Str(), o.Data()
	switch o.Kind {
	case ledger.KindOpen:
		t.open(&l, content)
	case ledger.KindBranch:
		t.branch(&l, data)
	case ledger.KindSkillBound:
		l.Agent, l.Tool, l.Reason = name, data.Get("skill").Get("name").Str(), PrefixSkill+data.Get("skill_id").Str()
	case ledger.KindCommit:
		t.commit(&l, o)
	case ledger.KindRejection:
		t.rejection(&l, name, data)
	case ledger.KindPendingApproval:
		l.Agent, l.Channel, l.Reason, l.Whole = name, data.Get("channel").Str(), data.Get("reason").Str(), data.Get("proposal")
		l.proposal(data.Get("proposal"))
		t.waits = append(t.waits, l)
	case ledger.KindApproval:
		if t.voice(&l, data, govern.Approve, govern.Deny, govern.Abstain); l.Signed == Verified {
			t.acts, t.of = append(t.acts, l.Voices...), append(t.of, l.Proposal.String())
		}
	case ledger.KindEvent:
		t.event(&l, name, data)
	case ledger.KindDelegation:
		l.Agent, l.Reason = name, data.Get("task").Str()
		l.Child, l.Proposal = digestOf(data.Get("child_trajectory_id")), digestOf(data.Get("proposal_id"))
		l.Writ = digestOf(data.Get("writ").Get("id"))
	case ledger.KindDecision:
		t.decision(&l, name, data)
	case ledger.KindResult:
		l.Agent, l.Reason = name, data.Get("status").Str()
		if s := data.Get("answer").Str(); s != "" {
			l.Reason += ": " + s
		}
	case ledger.KindSeal:
		l.Reason = o.Body.Get("status").Str()
	case ledger.KindCall:
		l.Tool, l.Reason = name, o.Body.Get("kind").Str()
		l.Agent = data.Get("agent").Str()
	case ledger.KindOutcome:
		l.Reason = o.Body.Get("status").Str()
		if c := o.Body.Get("code").Get("code").Str(); c != "" {
			l.Reason += " " + c
		}
	default:
		l.Agent = name
	}
	return l
}

// labelOf is the label of a kind. Some entries get a closer one.
func labelOf(k ledger.Kind) Label {
	switch k {
	case ledger.KindOpen:
		return LabelRoot
	case ledger.KindCall:
		return LabelCall
	case ledger.KindOutcome:
		return LabelOutcome
	case ledger.KindDecision:
		return LabelDecision
	case ledger.KindCommit:
		return LabelCommit
	case ledger.KindEvent:
		return LabelEvent
	case ledger.KindRejection:
		return LabelRejected
	case ledger.KindPendingApproval:
		return LabelSuspended
	case ledger.KindApproval:
		return LabelVote
	case ledger.KindDelegation:
		return LabelDelegation
	case ledger.KindBranch:
		return LabelBranch
	case ledger.KindSkillBound:
		return LabelSkill
	case ledger.KindSnapshot:
		return LabelSnapshot
	case ledger.KindResult:
		return LabelResult
	case ledger.KindErasure:
		return LabelErasure
	case ledger.KindSeal:
		return LabelSeal
	default:
		return LabelUnknown
	}
}

func (t *Trail) open(l *Line, content func(string) ([]byte, error)) {
	if t.charter != nil {
		l.Label, l.Technical = LabelOpen, true // the branch entry behind it says where it left
		return
	}
	b, err := content(CharterName)
	if err == nil {
		var v canon.Value
		if v, err = canon.Parse(b); err == nil {
			t.charter, err = ParseCharter(v)
		}
	}
	if err == nil {
		t.id, err = t.charter.Trajectory()
	}
	if err != nil {
		t.charter, l.Wrong = nil, fault.CodeOf(err)
		return
	}
	l.Reason, l.Writ = t.charter.Task, t.charter.Agents[0].Writ
	// The chain of writs was checked up to the roots when the charter was read.
	l.Signed = Verified
}

func (t *Trail) branch(l *Line, data canon.Value) {
	l.Source, l.Commit, l.Reason = digestOf(data.Get("source_trajectory_id")), digestOf(data.Get("source_commit_id")), data.Get("note").Str()
	t.id = BranchTrajectory(l.Source, l.Commit)
	t.votes, t.acts, t.of, t.waits = nil, nil, nil, nil // what was approved in the source is asked about anew
}

func (t *Trail) commit(l *Line, o *ledger.Opened) {
	c, id, err := ParseCommit(o.Body)
	if l.Commit = id; err != nil {
		l.Wrong = fault.CodeOf(err)
	}
	l.Tool, l.Seq, l.Writ, l.Intent, l.Proposal, l.Undoes = o.Body.Get("name").Str(), c.Seq, c.Writ, c.Intent, c.Proposal, c.Compensates
	l.Trace, l.Route = &c.Trace, c.Routing.Get("selected").Str()
	for _, x := range c.Observations.Elems() {
		ms, _ := x.Get("latency_ms").AsInt()
		l.Observations = append(l.Observations, Observed{Tool: x.Get("tool").Str(), LatencyMS: ms})
	}
	if c.Compensates.IsZero() {
		l.Voices = t.take(c.Proposal.String())
	}
	l.Agent = t.subject(c.Writ)
	switch {
	case c.Signature == nil:
		l.Signed = Unsigned
	case err != nil || t.charter == nil || c.CheckSignature(t.charter.Signer) != nil:
		l.Signed = Forged
	default:
		l.Signed = Verified
	}
}

// subject is the agent that has a writ.
func (t *Trail) subject(writ canon.Digest) string {
	if t.charter != nil {
		for _, a := range t.charter.Agents {
			if a.Writ == writ {
				return a.Name
			}
		}
	}
	return ""
}

func (t *Trail) rejection(l *Line, agent string, data canon.Value) {
	l.Agent, l.Intent, l.Proposal = agent, digestOf(data.Get("intent_id")), digestOf(data.Get("proposal_id"))
	r, err := ParseRejection(data.Get("reason"))
	if err != nil {
		l.Wrong = fault.CodeOf(err)
		return
	}
	l.Tool, l.Gate, l.Reason = r.Tool, data.Get("gate").Str(), string(r.Kind)+": "+r.Detail
	if trace, err := ParseTrace(data.Get("policy_trace")); err == nil {
		l.Trace = &trace
	}
	for _, w := range t.intents {
		if w.intent == l.Intent && l.Tool == "" {
			l.Tool = w.tool
		}
	}
	for _, w := range t.waits {
		if w.Proposal == l.Proposal {
			l.Tool, l.Trace, l.Channel, l.Writ, l.Route = w.Tool, w.Trace, w.Channel, w.Writ, w.Route
		}
	}
	if !l.Proposal.IsZero() {
		l.Voices = t.take(l.Proposal.String())
	}
}

// proposal takes what the entry of a proposal says.
func (l *Line) proposal(entry canon.Value) {
	l.Proposal = digestOf(entry.Get("id"))
	p, err := ParseProposalEntry(entry)
	if err != nil {
		l.Wrong = fault.CodeOf(err)
		return
	}
	l.Tool, l.Writ, l.Intent, l.Trace, l.Route = p.Tool, p.WritID, p.IntentID, &p.Trace, p.Routing.Get("selected").Str()
}

// voice takes a signed act.
func (t *Trail) voice(l *Line, data canon.Value, verbs ...govern.Verb) {
	if t.charter == nil {
		l.Signed = Forged
		return
	}
	a, err := t.charter.Roster.Readmit(data.Get("act"), govern.Requirement{
		Verbs: verbs, Tenant: t.charter.tenant(), Ledger: t.id.String(),
		Roles: []govern.Role{govern.Operator, govern.Admin, govern.Auditor, govern.Council, govern.Approver},
	})
	if err != nil {
		l.Signed, l.Wrong = Forged, fault.CodeOf(err)
		return
	}
	act := a.Act()
	l.Signed, l.Reason = Verified, act.Reason
	l.Voices = []Voice{{Actor: act.Actor, Role: string(act.Role), Verb: string(act.Verb), Act: a.Digest(), Verified: true}}
	switch act.Verb {
	case govern.Approve:
		l.Label = LabelApproved
	case govern.Deny:
		l.Label = LabelDenied
	case govern.Abstain:
		l.Label = LabelAbstained
	default:
	}
	switch id := digestOf(canon.String(act.Matter.Subject)); act.Verb {
	case govern.Revoke, govern.Restore:
		l.Writ = id
	case govern.Compensate:
		l.Commit = id
	default:
		l.Proposal = id
	}
}

func (t *Trail) event(l *Line, name string, data canon.Value) {
	switch name {
	case EventIntent:
		l.Label, l.Technical = LabelIntent, true // the decision behind it says the same
		l.Agent, l.Tool = data.Get("intent").Get("author").Str(), data.Get("intent").Get("target").Str()
	case EventFinish:
		l.Agent, l.Reason = data.Get("agent").Str(), "is done"
	case EventRevoked:
		t.voice(l, data, govern.Revoke)
		l.Label = LabelRevoked
	case EventRestored:
		t.voice(l, data, govern.Restore)
		l.Label = LabelRestored
	case govern.EventHalted:
		t.voice(l, data, govern.Stop)
		l.Label = LabelHalted
	case govern.EventCleared:
		t.voice(l, data, govern.Clear)
		l.Label = LabelCleared
	case EventCompensate:
		t.voice(l, data, govern.Compensate)
		l.Label = LabelUndo
	case EventDelegate:
		l.Label, l.Child, l.Reason = LabelDelegated, digestOf(data.Get("child_trajectory_id")), data.Get("status").Str()
	default:
		l.Technical, l.Tool = true, name
	}
}

// decision takes what the machine concluded. Only some of it is the trail's:
// the rest says in other words what the lines around it say.
func (t *Trail) decision(l *Line, name string, data canon.Value) {
	l.Tool = name
	switch name {
	case NameIntent:
		l.Label, l.Intent = LabelIntent, digestOf(data.Get("id"))
		body := data.Get("body")
		l.Agent, l.Tool, l.Reason = body.Get("author").Str(), body.Get("target").Str(), body.Get("rationale").Str()
		if t.intents = append(t.intents, wish{l.Intent, l.Tool}); len(t.intents) > maxIntents {
			t.intents = slices.Delete(t.intents, 0, maxIntents/2)
		}
	case NameProposal:
		l.Label = LabelProposal
		l.proposal(data)
	case NameToolFailed:
		l.Label, l.Technical = LabelToolFailed, false
		l.Tool, l.Proposal, l.Reason = data.Get("tool").Str(), digestOf(data.Get("proposal_id")), data.Get("code").Str()+": "+data.Get("message").Str()
	case NameRepeated:
		l.Label, l.Technical, l.Tool = LabelRepeated, false, ""
		l.Commit, l.Intent, l.Proposal = digestOf(data.Get("commit_id")), digestOf(data.Get("intent_id")), digestOf(data.Get("proposal_id"))
	case NameRefused:
		l.Label, l.Technical, l.Tool = LabelIgnored, false, data.Get("input").Str()
		l.Reason = data.Get("code").Str() + ": " + data.Get("message").Str()
	case NameDelegated:
		l.Label, l.Technical, l.Tool = LabelDelegated, false, ""
		l.Child, l.Proposal, l.Reason = digestOf(data.Get("child_trajectory_id")), digestOf(data.Get("proposal_id")), data.Get("status").Str()
	case NameUndone:
		l.Label, l.Technical, l.Tool, l.Commit = LabelUndone, false, "", digestOf(data.Get("head"))
	case NameUndoHalt:
		l.Label, l.Technical, l.Tool = LabelUndoHalted, false, ""
		l.Commit, l.Reason = digestOf(data.Get("commit_id")), data.Get("reason").Str()
	case govern.EventDecided:
		l.Label, l.Tool = LabelDecided, ""
		l.Reason, l.Proposal = data.Get("state").Str(), digestOf(data.Get("matter").Get("subject"))
		l.Voices = t.voices(data.Get("votes"))
		t.votes = append(t.votes, ballotOf{l.Proposal.String(), l.Voices})
	case govern.EventHalted:
		l.Label, l.Tool, l.Reason = LabelHalted, "", data.Get("reason").Str()
	case govern.EventCleared:
		l.Label, l.Tool, l.Reason = LabelCleared, "", data.Get("reason").Str()
	default:
	}
}

// voices reads who voted, and says whose act was seen and holds.
func (t *Trail) voices(list canon.Value) []Voice {
	var out []Voice
	for _, v := range list.Elems() {
		x := Voice{Actor: v.Get("actor").Str(), Role: v.Get("role").Str(), Verb: v.Get("vote").Str(), Act: digestOf(v.Get("act")), Verified: true}
		x.Verified = slices.Contains(t.acts, x)
		out = append(out, x)
	}
	return out
}

// take returns who decided about a proposal, and forgets it: it is done with.
func (t *Trail) take(proposal string) []Voice {
	var out []Voice
	for _, b := range t.votes {
		if b.proposal == proposal {
			out = append(out, b.voices...)
		}
	}
	t.waits = slices.DeleteFunc(t.waits, func(l Line) bool { return l.Proposal.String() == proposal })
	t.votes = slices.DeleteFunc(t.votes, func(b ballotOf) bool { return b.proposal == proposal })
	for i, of := range slices.Backward(t.of) {
		if of == proposal {
			t.acts, t.of = slices.Delete(t.acts, i, i+1), slices.Delete(t.of, i, i+1)
		}
	}
	return out
}

// digestOf returns the id that v holds, or the zero digest.
func digestOf(v canon.Value) canon.Digest {
	d, err := canon.ParseDigest(v.Str())
	if err != nil {
		return canon.Digest{}
	}
	return d
}

// Answered returns what a tool answered, as a commit observes it: lifted, and
// without its secrets. Failed says why the answer is an error.
func Answered(o *effect.Outcome) (output canon.Value, failed string) {
	v, failed := readOutput(o)
	if failed != "" {
		return v, failed
	}
	lifted, err := Lift(v)
	if err != nil {
		return canon.Value{}, fault.Text(err)
	}
	clean, _ := Redact(lifted)
	return clean, ""
}
