package trajectory_test

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// TestEveryKindAndDecisionHasALabel gives entries that say nothing but what
// they are: a trail must name them all, and must not fall over what is missing.
func TestEveryKindAndDecisionHasALabel(t *testing.T) {
	t.Parallel()
	none := func(string) ([]byte, error) { return nil, errors.New("there is none") }
	for _, tt := range []struct {
		kind      ledger.Kind
		name      string
		want      trajectory.Label
		technical bool
	}{
		{ledger.KindOpen, "", trajectory.LabelRoot, false},
		{ledger.KindCall, "book", trajectory.LabelCall, true},
		{ledger.KindOutcome, "", trajectory.LabelOutcome, true},
		{ledger.KindCommit, "book", trajectory.LabelCommit, false},
		{ledger.KindRejection, "agent", trajectory.LabelRejected, false},
		{ledger.KindPendingApproval, "agent", trajectory.LabelSuspended, false},
		{ledger.KindApproval, "act", trajectory.LabelVote, false},
		{ledger.KindDelegation, "agent/1", trajectory.LabelDelegation, false},
		{ledger.KindBranch, "branch", trajectory.LabelBranch, false},
		{ledger.KindSkillBound, "agent", trajectory.LabelSkill, false},
		{ledger.KindSnapshot, "", trajectory.LabelSnapshot, false},
		{ledger.KindResult, "agent", trajectory.LabelResult, false},
		{ledger.KindErasure, "", trajectory.LabelErasure, false},
		{ledger.KindSeal, "", trajectory.LabelSeal, false},
		{ledger.KindEvent, trajectory.EventIntent, trajectory.LabelIntent, true},
		{ledger.KindEvent, trajectory.EventFinish, trajectory.LabelEvent, false},
		{ledger.KindEvent, trajectory.EventRevoked, trajectory.LabelRevoked, false},
		{ledger.KindEvent, trajectory.EventRestored, trajectory.LabelRestored, false},
		{ledger.KindEvent, trajectory.EventCompensate, trajectory.LabelUndo, false},
		{ledger.KindEvent, trajectory.EventDelegate, trajectory.LabelDelegated, false},
		{ledger.KindEvent, govern.EventHalted, trajectory.LabelHalted, false},
		{ledger.KindEvent, govern.EventCleared, trajectory.LabelCleared, false},
		{ledger.KindEvent, "a message", trajectory.LabelEvent, true},
		{ledger.KindDecision, trajectory.NameIntent, trajectory.LabelIntent, true},
		{ledger.KindDecision, trajectory.NameProposal, trajectory.LabelProposal, true},
		{ledger.KindDecision, trajectory.NameToolFailed, trajectory.LabelToolFailed, false},
		{ledger.KindDecision, trajectory.NameRepeated, trajectory.LabelRepeated, false},
		{ledger.KindDecision, trajectory.NameRefused, trajectory.LabelIgnored, false},
		{ledger.KindDecision, trajectory.NameDelegated, trajectory.LabelDelegated, false},
		{ledger.KindDecision, trajectory.NameUndone, trajectory.LabelUndone, false},
		{ledger.KindDecision, trajectory.NameUndoHalt, trajectory.LabelUndoHalted, false},
		{ledger.KindDecision, govern.EventDecided, trajectory.LabelDecided, true},
		{ledger.KindDecision, govern.EventHalted, trajectory.LabelHalted, true},
		{ledger.KindDecision, govern.EventCleared, trajectory.LabelCleared, true},
	} {
		body := canon.Object(canon.M("name", canon.String(tt.name)), canon.M("data", canon.Object()))
		o := ledger.Opened{Header: ledger.Header{Kind: tt.kind, N: 3}, Body: body}
		l := trajectory.NewTrail().Line(&o, none)
		if l.Label != tt.want || l.Technical != tt.technical || l.N != 3 {
			t.Errorf("Line(%s %q) = %s, technical %v; want %s, %v", tt.kind, tt.name, l.Label, l.Technical, tt.want, tt.technical)
		}
		if l.Signed == trajectory.Verified {
			t.Errorf("Line(%s %q): nothing was checked, and it says verified", tt.kind, tt.name)
		}
		if v := l.Value(); v.Get("label").Str() != string(tt.want) {
			t.Errorf("Value() of %s %q = %s", tt.kind, tt.name, v)
		}
		o.Body = canon.Value{}
		if l := trajectory.NewTrail().Line(&o, none); !l.Withheld || l.Label == trajectory.LabelUnknown {
			t.Errorf("Line(%s) without its body = %s, withheld %v", tt.kind, l.Label, l.Withheld)
		}
	}
}
