package drive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// trajectory is a sketch of an engine whose proposals wait for a person. A
// revocation from outside ends it at any time.
type trajectory struct {
	proposed, approved, revoked, committed bool
}

func (m *trajectory) Clone() effect.Machine { c := *m; return &c }

func (m *trajectory) Next() effect.Step {
	switch {
	case m.revoked || m.committed:
		return effect.Step{Done: true}
	case !m.proposed:
		return effect.Step{Calls: []effect.Call{modelCall("what shall we do?")}}
	case !m.approved:
		return effect.Step{Wait: "an approval of refund"}
	default:
		return effect.Step{Calls: []effect.Call{{Kind: "tool", Name: "refund", Class: effect.External, Data: canon.Object(canon.M("amount", canon.String("12.50")))}}}
	}
}

func (m *trajectory) Apply(in effect.Input) ([]ledger.Decision, error) {
	named := func(kind ledger.Kind, name string) []ledger.Decision {
		return []ledger.Decision{{Kind: kind, Body: canon.Object(canon.M("name", canon.String(name)))}}
	}
	switch {
	case in.Kind == ledger.KindOutcome && in.Call.Kind == "model":
		m.proposed = true
		return named(ledger.KindPendingApproval, "refund"), nil
	case in.Kind == ledger.KindApproval:
		if m.revoked {
			return nil, errors.New("an approval of what was revoked")
		}
		m.approved = true
		return named(ledger.KindDecision, "approved by "+in.From), nil
	case in.Kind == ledger.KindEvent && in.Name == "revocation":
		m.revoked = true
		return named(ledger.KindRejection, "revoked by "+in.From), nil
	case in.Kind == ledger.KindOutcome && in.Call.Kind == "tool":
		m.committed = true
		return []ledger.Decision{{Kind: ledger.KindCommit, Body: canon.Object(
			canon.M("delta", canon.Array(ledger.Change{Op: ledger.OpCreate, Kind: "refund", ID: "1", Value: canon.String(text(in.Outcome))}.Encode())),
		)}}, nil
	}
	return nil, nil
}

func tools(_ context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
	return answer("done: " + c.Name), nil
}

// send is another process: it takes the run over, appends one entry from
// outside and lets go.
func send(t *testing.T, store drive.Store, run ledger.RunID, kind ledger.Kind, name, from string) {
	t.Helper()
	ctx := context.Background()
	s, err := drive.Resume(ctx, config(t, store, "the process of "+from), run, drive.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Receive(ctx, kind, name, from, canon.Value{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func waiting(t *testing.T, store drive.Store) ledger.RunID {
	t.Helper()
	ctx := context.Background()
	s, err := drive.Open(ctx, config(t, store, "agent"), drive.Opening{Engine: "trajectory", Mode: "run", Title: "sketch"})
	if err != nil {
		t.Fatal(err)
	}
	st, err := drive.Run(ctx, s, &trajectory{}, tools)
	if err != nil || st.Done || st.Waiting != "an approval of refund" {
		t.Fatalf("Run = %+v, %v; want it to wait for an approval", st, err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return s.Run()
}

func goOn(t *testing.T, store drive.Store, run ledger.RunID) {
	t.Helper()
	ctx := context.Background()
	s, err := drive.Resume(ctx, config(t, store, "agent, later"), run, drive.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := drive.Run(ctx, s, &trajectory{}, tools)
	if err != nil {
		t.Fatal(err)
	}
	seal(t, s, st)
	verify(t, store, run)
	report, err := drive.Replay(ctx, store, run, &trajectory{}, "verify")
	if err != nil || report.Verdict != replay.Same {
		t.Errorf("Replay = %+v, %v; want same", report, err)
	}
}

func TestApprovalArrivesFromAnotherProcess(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := waiting(t, store)
	send(t, store, run, ledger.KindApproval, "refund", "ann")
	goOn(t, store, run)
	want := []string{
		"open", "call chat", "outcome", "pending_approval refund", "approval refund",
		"decision approved by ann", "call refund", "outcome", "commit", "seal",
	}
	got := bodies(t, store, run)
	if len(got) != len(want) {
		t.Fatalf("entries = %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d = %s, want %s", i, got[i], want[i])
		}
	}
}

func TestRevocationEndsTheRunBeforeItsEffect(t *testing.T) {
	t.Parallel()
	store := newMemory(t)
	run := waiting(t, store)
	send(t, store, run, ledger.KindEvent, "revocation", "bob")
	goOn(t, store, run)
	got := bodies(t, store, run)
	if got[len(got)-2] != "rejection revoked by bob" {
		t.Errorf("entries = %v, want no tool call and the rejection last", got)
	}
}

func TestRunIsWrittenByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newMemory(t)
	s, err := drive.Open(ctx, config(t, store, "agent"), drive.Opening{Engine: "trajectory"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drive.Resume(ctx, config(t, store, "another"), s.Run(), drive.Opening{}); !errors.Is(err, ledger.ErrLeased) {
		t.Errorf("Resume by another process = %v, want %v", err, ledger.ErrLeased)
	}
	if err := s.Seal(ctx, "done", canon.Value{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Errorf("Close after Seal = %v, want nothing to do", err)
	}
	if _, err := drive.Resume(ctx, config(t, store, "another"), s.Run(), drive.Opening{}); !errors.Is(err, drive.ErrSealed) {
		t.Errorf("Resume of a sealed run = %v, want %v", err, drive.ErrSealed)
	}
}
