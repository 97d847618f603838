package openthymos

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// MaxFindings is how many findings a verdict lists; it counts them all.
const MaxFindings = 100

// Finding is one failure of a check. N is the place of the entry in the
// export, from 0, or -1 for the ledger as a whole.
type Finding struct {
	ledger.Finding
	Phase string
	Seq   uint64 // as the entry says
	Entry string // its id, as it says; empty if the entry could not be read
}

// ToolCall is one observation of a commit.
type ToolCall struct {
	Seq       uint64
	CommitID  string
	Tool      string
	LatencyMS uint64
}

// Commit is a commit with what allowed it.
type Commit struct {
	Seq                              uint64
	ID, ProposalID, IntentID, WritID string
	Trace                            canon.Value
	Compensates                      string // empty: nothing
}

// Rejection is a refused intent.
type Rejection struct {
	Seq            uint64
	IntentID, Kind string
	Detail         canon.Value
}

// Approval is a proposal that waited for a person.
type Approval struct {
	Seq                         uint64
	ProposalID, Channel, Reason string
	Plan, Trace                 canon.Value
}

// Child is a delegated trajectory.
type Child struct {
	Seq                uint64
	TrajectoryID, Task string
}

// Summary is what a replay reports: the report of OpenThymos's library, of its
// HTTP answer, and beyond them the lists that their counts stand for. Ids
// have their prefixes.
type Summary struct {
	TrajectoryID         string
	EntriesSeen          int64
	CommitsReplayed      int64
	HeadCommit           string // empty: none
	HeadSeq              uint64
	CompilerVersionsSeen []string
	FinalWorldHash       string // empty: none
	Resources            int    // what was retracted included
	RejectedProposals    int
	PendingApprovals     int
	Delegations          int
	Branches             int
	ToolCalls            []ToolCall

	Commits    []Commit
	Rejections []Rejection
	Approvals  []Approval
	Children   []Child
}

// tally fills a summary.
type tally struct{ Summary }

// add takes note of an entry that has its form.
func (t *tally) add(l *line) {
	if t.TrajectoryID == "" {
		t.TrajectoryID = "traj:" + l.trajectory
	}
	t.EntriesSeen++
	t.HeadSeq = l.seq
	p := l.payload
	switch l.typ() {
	case kindCommit:
		t.commit(l.seq, p)
	case kindRejection:
		t.RejectedProposals++
		reason := p.Get("reason")
		t.Rejections = append(t.Rejections, Rejection{
			Seq: l.seq, IntentID: "intent:" + p.Get("intent_id").Str(), Kind: reason.Get("kind").Str(), Detail: reason.Get("detail"),
		})
	case kindPending:
		t.PendingApprovals++
		body := p.Get("proposal").Get("body")
		t.Approvals = append(t.Approvals, Approval{
			Seq: l.seq, ProposalID: "proposal:" + p.Get("proposal").Get("id").Str(), Channel: p.Get("channel").Str(), Reason: p.Get("reason").Str(),
			Plan: body.Get("plan"), Trace: body.Get("policy_trace"),
		})
	case kindDelegation:
		t.Delegations++
		t.Children = append(t.Children, Child{l.seq, "traj:" + p.Get("child_trajectory_id").Str(), p.Get("task").Str()})
	case kindBranch:
		t.Branches++
	}
}

func (t *tally) commit(seq uint64, p canon.Value) {
	body := p.Get("body")
	t.CommitsReplayed++
	t.HeadCommit = "commit:" + p.Get("id").Str()
	if v := body.Get("compiler_version").Str(); !slices.Contains(t.CompilerVersionsSeen, v) {
		t.CompilerVersionsSeen = append(t.CompilerVersionsSeen, v)
	}
	for _, o := range body.Get("observations").Elems() {
		latency, _ := count(o.Get("latency_ms"))
		t.ToolCalls = append(t.ToolCalls, ToolCall{seq, t.HeadCommit, o.Get("tool").Str(), latency})
	}
	c := Commit{
		Seq: seq, ID: t.HeadCommit, ProposalID: "proposal:" + body.Get("proposal_id").Str(), IntentID: "intent:" + body.Get("intent_id").Str(),
		WritID: "writ:" + body.Get("writ_id").Str(), Trace: body.Get("policy_trace"),
	}
	if s := body.Get("compensates").Str(); s != "" {
		c.Compensates = "commit:" + s
	}
	t.Commits = append(t.Commits, c)
}

// Verdict is what one of the two ways to look says.
type Verdict struct {
	Accepted bool
	Text     string // of compat: the error of OpenThymos, word for word; empty if there is none
	Phases   []ledger.Phase
	Findings []Finding // at most [MaxFindings]; compat ends at the first
	Total    int64     // findings, those not listed included
	Summary  Summary   // of compat: only if it accepts
	World    []Resource
	// UnsignedTail is how many entries follow the last commit that the pinned
	// key signed, and Uncovered how many entries neither a signature nor an
	// anchor nor the expected head covers. Of strict only.
	UnsignedTail, Uncovered int64
	Remarks                 []string
}

// Report is what [Verify] gives.
type Report struct{ Compat, Strict Verdict }

// Replay returns the strict verdict as the one report of all verifications.
// The level is 0: what commits sign is no evidence for the whole ledger.
func (r *Report) Replay() *replay.Report {
	s := &r.Strict
	var alive, retracted int64
	for i := range s.World {
		if s.World[i].Retracted {
			retracted++
		} else {
			alive++
		}
	}
	out := &replay.Report{
		Verb: replay.Verify, Verdict: replay.Verified, Authoritative: true, Run: ledger.RunID(s.Summary.TrajectoryID), Phases: s.Phases,
		Counts: []replay.Count{
			{Name: "entries", N: s.Summary.EntriesSeen},
			{Name: "commits", N: s.Summary.CommitsReplayed},
			{Name: "rejected", N: int64(s.Summary.RejectedProposals)},
			{Name: "pending", N: int64(s.Summary.PendingApprovals)},
			{Name: "resources", N: alive},
			{Name: "retracted", N: retracted},
			{Name: "unsigned_tail", N: s.UnsignedTail},
			{Name: "uncovered", N: s.Uncovered},
		},
	}
	if !s.Accepted {
		out.Verdict = replay.Failed
	}
	said := "accepted"
	if !r.Compat.Accepted {
		said = "refused: " + r.Compat.Text
	}
	out.Remarks = append(out.Remarks, "this verdict is the strict one; compat, what OpenThymos itself says: "+said)
	out.Remarks = append(out.Remarks, r.Compat.Remarks...)
	out.Remarks = append(out.Remarks, s.Remarks...)
	return out
}

// Value returns the report as JSON: compat and strict, each with its verdict,
// phases, findings, summary and world.
func (r *Report) Value() canon.Value {
	return canon.Object(canon.M("compat", r.Compat.value(false)), canon.M("strict", r.Strict.value(true)))
}

func (v *Verdict) value(strict bool) canon.Value {
	out := canon.Object(
		canon.M("accepted", canon.Bool(v.Accepted)),
		canon.M("error", canon.Text(v.Text)),
		canon.M("phases", canon.ArrayOf(v.Phases, func(p ledger.Phase) canon.Value {
			return canon.Object(canon.M("name", canon.String(p.Name)), canon.M("checked", canon.Int(p.Checked)), canon.M("failed", canon.Int(p.Failed)))
		})),
		canon.M("findings", canon.ArrayOf(v.Findings, finding)),
		canon.M("findings_total", canon.Int(v.Total)),
		canon.M("remarks", canon.Strings(v.Remarks)),
	)
	if strict {
		out = out.With("unsigned_tail", canon.Int(v.UnsignedTail)).With("uncovered", canon.Int(v.Uncovered))
	}
	if strict || v.Accepted {
		out = out.With("report", v.Summary.value()).
			With("world", canon.ArrayOf(v.World, func(r Resource) canon.Value { return r.value() }))
	}
	return out
}

func finding(f Finding) canon.Value {
	place := canon.Value{}
	if f.N >= 0 {
		place = canon.Int(f.N)
	}
	out := canon.Object(
		canon.M("code", canon.String(f.Code.Error())),
		canon.M("phase", canon.String(f.Phase)),
		canon.M("n", place),
		canon.M("where", canon.Text(f.Where)),
		canon.M("expected", canon.Text(f.Expected)),
		canon.M("found", canon.Text(f.Found)),
		canon.M("message", canon.Text(f.Msg)),
	)
	if f.Entry != "" {
		out = out.With("seq", number(f.Seq)).With("entry", canon.String(f.Entry))
	}
	return out
}

func (s *Summary) value() canon.Value {
	null := func(s string) canon.Value {
		if s == "" {
			return canon.Null()
		}
		return canon.String(s)
	}
	return canon.Object(
		canon.M("trajectory_id", canon.String(s.TrajectoryID)),
		canon.M("entries_seen", canon.Int(s.EntriesSeen)),
		canon.M("commits_replayed", canon.Int(s.CommitsReplayed)),
		canon.M("head_commit", null(s.HeadCommit)),
		canon.M("head_seq", number(s.HeadSeq)),
		canon.M("compiler_versions_seen", canon.Strings(s.CompilerVersionsSeen)),
		canon.M("final_world_hash", null(s.FinalWorldHash)),
		canon.M("resources", canon.Int(int64(s.Resources))),
		canon.M("rejected_proposals", canon.Int(int64(s.RejectedProposals))),
		canon.M("pending_approvals", canon.Int(int64(s.PendingApprovals))),
		canon.M("delegations", canon.Int(int64(s.Delegations))),
		canon.M("branches", canon.Int(int64(s.Branches))),
		canon.M("tool_calls", canon.ArrayOf(s.ToolCalls, func(c ToolCall) canon.Value {
			return canon.Object(canon.M("seq", number(c.Seq)), canon.M("commit_id", canon.String(c.CommitID)), canon.M("tool", canon.String(c.Tool)), canon.M("latency_ms", number(c.LatencyMS)))
		})),
		canon.M("commits", canon.ArrayOf(s.Commits, func(c Commit) canon.Value {
			return canon.Object(
				canon.M("seq", number(c.Seq)), canon.M("commit_id", canon.String(c.ID)), canon.M("proposal_id", canon.String(c.ProposalID)),
				canon.M("intent_id", canon.String(c.IntentID)), canon.M("writ_id", canon.String(c.WritID)), canon.M("policy_trace", c.Trace), canon.M("compensates", canon.Text(c.Compensates)),
			)
		})),
		canon.M("rejections", canon.ArrayOf(s.Rejections, func(r Rejection) canon.Value {
			return canon.Object(canon.M("seq", number(r.Seq)), canon.M("intent_id", canon.String(r.IntentID)), canon.M("kind", canon.String(r.Kind)), canon.M("detail", r.Detail))
		})),
		canon.M("approvals", canon.ArrayOf(s.Approvals, func(a Approval) canon.Value {
			return canon.Object(
				canon.M("seq", number(a.Seq)), canon.M("proposal_id", canon.String(a.ProposalID)), canon.M("channel", canon.String(a.Channel)),
				canon.M("reason", canon.String(a.Reason)), canon.M("plan", a.Plan), canon.M("policy_trace", a.Trace),
			)
		})),
		canon.M("children", canon.ArrayOf(s.Children, func(c Child) canon.Value {
			return canon.Object(canon.M("seq", number(c.Seq)), canon.M("trajectory_id", canon.String(c.TrajectoryID)), canon.M("task", canon.String(c.Task)))
		})),
	)
}
