package trajectory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func vectorProposal(t testing.TB, name string) (trajectory.Proposal, canon.Value, canon.Digest) {
	t.Helper()
	v, id := vectorCase(t, name)
	p, err := trajectory.ParseProposal(v)
	if err != nil {
		t.Fatal(err)
	}
	return p, v, id
}

func proposalID(t testing.TB, p trajectory.Proposal) canon.Digest {
	t.Helper()
	id, err := p.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A.5 core/ids: proposal ids are deterministic and sensitive to one changed field.
// A.5 core/proposal: content addressed.
func TestProposalIsContentAddressed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"proposal_body_staged", "proposal_body_suspended"} {
		p, v, want := vectorProposal(t, name)
		if got := proposalID(t, p); got != want || !p.Value().Equal(v) {
			t.Errorf("%s: ID = %s of %s, want %s of %s", name, got, p.Value(), want, v)
		}
	}
	_, _, id := vectorProposal(t, "proposal_body_staged")
	for name, change := range map[string]func(*trajectory.Proposal){
		"intent":   func(p *trajectory.Proposal) { p.IntentID[0]++ },
		"writ":     func(p *trajectory.Proposal) { p.WritID[0]++ },
		"args":     func(p *trajectory.Proposal) { p.Args = canon.Object() },
		"rules":    func(p *trajectory.Proposal) { p.Trace.Rules = nil },
		"decision": func(p *trajectory.Proposal) { p.Trace.Decision = trajectory.Ruling{Kind: trajectory.Deny} },
		"status":   func(p *trajectory.Proposal) { p.Status = trajectory.Status{Kind: trajectory.Suspended} },
	} {
		p, _, _ := vectorProposal(t, "proposal_body_staged")
		change(&p)
		if proposalID(t, p) == id {
			t.Errorf("another %s does not change the id", name)
		}
	}
}

// A.5 core/proposal: tool changes id.
func TestToolChangesProposalID(t *testing.T) {
	t.Parallel()
	p, _, id := vectorProposal(t, "proposal_body_staged")
	p.Tool = "kv_get"
	if proposalID(t, p) == id {
		t.Error("another tool does not change the id")
	}
}

// A.5 core/proposal: routing evidence does not change id.
func TestRoutingEvidenceDoesNotChangeTheProposalID(t *testing.T) {
	t.Parallel()
	p, _, id := vectorProposal(t, "proposal_body_staged")
	p.Routing = parse(t, routing)
	if got := proposalID(t, p); got != id {
		t.Errorf("ID with routing evidence = %s, want %s", got, id)
	}
}

// A.5 core/proposal: three status shapes.
func TestStatusHasThreeShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status trajectory.Status
		want   string
	}{
		{trajectory.Status{Kind: trajectory.Staged}, `{"kind":"staged"}`},
		{
			trajectory.Status{Kind: trajectory.Suspended, Channel: "ops", Reason: "high cost"},
			`{"channel":"ops","kind":"suspended","reason":"high cost"}`,
		},
		{
			trajectory.Status{Kind: trajectory.Rejected, Rejection: &trajectory.Rejection{Kind: trajectory.PolicyDenied, Detail: "no"}},
			`{"kind":"rejected","reason":{"detail":"no","kind":"policy_denied"}}`,
		},
	} {
		got := c.status.Value()
		if !got.Equal(parse(t, c.want)) {
			t.Errorf("Value = %s, want %s", got, c.want)
		}
		if back, err := trajectory.ParseStatus(got); err != nil || !back.Value().Equal(got) {
			t.Errorf("ParseStatus(%s) = %+v, %v", got, back, err)
		}
	}
}

// A.5 ledger/lib: pre_rfc_pending_approval_fails_to_deserialize_cleanly.
func TestOlderPlainStringStatusFailsToParse(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`"staged"`, `"suspended"`, `null`, `{}`, `{"kind":"Staged"}`, `{"kind":"staged","reason":"x"}`,
		`{"kind":"suspended","channel":"ops"}`, `{"kind":"suspended","channel":"","reason":"x"}`, `{"kind":"rejected"}`,
		`{"kind":"rejected","reason":"no"}`,
	} {
		if s, err := trajectory.ParseStatus(parse(t, in)); !errors.Is(err, trajectory.ErrProposal) {
			t.Errorf("ParseStatus(%s) = %+v, %v, want %v", in, s, err, trajectory.ErrProposal)
		}
	}
	_, v, _ := vectorProposal(t, "proposal_body_staged")
	if _, err := trajectory.ParseProposal(v.With("status", canon.String("staged"))); !errors.Is(err, trajectory.ErrProposal) {
		t.Errorf("ParseProposal with a plain status = %v, want %v", err, trajectory.ErrProposal)
	}
}

// A.5 core/proposal: id stable over a serialisation round trip.
func TestProposalIDSurvivesARoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"proposal_body_staged", "proposal_body_suspended"} {
		p, _, id := vectorProposal(t, name)
		p.Routing = parse(t, routing)
		entry, err := p.Entry()
		if err != nil {
			t.Fatal(err)
		}
		b, err := canon.Encode(entry, canon.Native)
		if err != nil {
			t.Fatal(err)
		}
		back, err := trajectory.ParseProposalEntry(parse(t, string(b)))
		if err != nil || proposalID(t, back) != id || !back.Routing.Equal(p.Routing) {
			t.Errorf("%s: ParseProposalEntry = %+v, %v, want the id %s", name, back, err, id)
		}
		for what, v := range map[string]canon.Value{
			"another id":   entry.With("id", canon.String(strings.Repeat("1", 64))),
			"another body": entry.With("body", entry.Get("body").With("writ_id", canon.String(strings.Repeat("1", 64)))),
			"no id":        entry.Without("id"),
		} {
			if _, err := trajectory.ParseProposalEntry(v); !errors.Is(err, trajectory.ErrProposal) {
				t.Errorf("%s, %s: ParseProposalEntry = %v, want %v", name, what, err, trajectory.ErrProposal)
			}
		}
	}
}

func TestRejectionsAreErrorsWithTheirCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  trajectory.RejectionKind
		code  fault.Code
		class fault.Class
	}{
		{trajectory.AuthorityVoid, trajectory.ErrAuthorityVoid, fault.ClassDenied},
		{trajectory.PolicyDenied, trajectory.ErrPolicyDenied, fault.ClassDenied},
		{trajectory.BudgetExhausted, trajectory.ErrBudgetExhausted, fault.ClassDenied},
		{trajectory.TypeMismatch, trajectory.ErrTypeMismatch, fault.ClassInvalid},
		{trajectory.PreconditionFailed, trajectory.ErrPrecondition, fault.ClassConflict},
		{trajectory.UnknownTool, trajectory.ErrUnknownTool, fault.ClassNotFound},
	} {
		r := trajectory.Rejection{Kind: c.kind, Detail: "because"}
		want := `{"detail":"because","kind":"` + string(c.kind) + `"}`
		if c.kind == trajectory.TypeMismatch {
			r.Tool, want = "kv_set", `{"detail":{"detail":"because","tool":"kv_set"},"kind":"type_mismatch"}`
		}
		if !r.Value().Equal(parse(t, want)) {
			t.Errorf("Value = %s, want %s", r.Value(), want)
		}
		back, err := trajectory.ParseRejection(r.Value())
		if err != nil || back != r {
			t.Errorf("ParseRejection(%s) = %+v, %v, want %+v", r.Value(), back, err, r)
		}
		if got := fault.CodeOf(&r); got != c.code || got.Class() != c.class || !errors.Is(&r, c.code) {
			t.Errorf("CodeOf(%s) = %v, want %v of class %s", c.kind, got, c.code, c.class)
		}
		if !strings.HasPrefix(r.Error(), c.code.Error()+": ") || strings.Contains(r.String(), "trajectory.") || !strings.Contains(r.String(), "because") {
			t.Errorf("Error = %q, String = %q", r.Error(), r.String())
		}
	}
	for _, in := range []string{
		`null`, `{"kind":"policy_denied"}`, `{"kind":"other","detail":"x"}`, `{"kind":"policy_denied","detail":1}`,
		`{"kind":"type_mismatch","detail":"x"}`, `{"kind":"policy_denied","detail":{"tool":"a","detail":"b"}}`,
		`{"kind":"policy_denied","detail":"x","more":1}`,
	} {
		if r, err := trajectory.ParseRejection(parse(t, in)); !errors.Is(err, trajectory.ErrProposal) {
			t.Errorf("ParseRejection(%s) = %+v, %v, want %v", in, r, err, trajectory.ErrProposal)
		}
	}
}

func FuzzParseProposal(f *testing.F) {
	for _, name := range []string{"proposal_body_staged", "proposal_body_suspended"} {
		_, v, _ := vectorProposal(f, name)
		f.Add([]byte(v.String()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := canon.Parse(b)
		if err != nil {
			return
		}
		if p, err := trajectory.ParseProposal(v); err == nil && !p.Value().Equal(v) {
			t.Errorf("ParseProposal(%s).Value() = %s, want the same", v, p.Value())
		}
	})
}
