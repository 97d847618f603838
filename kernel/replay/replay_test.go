package replay_test

import (
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

func ExampleBytes() {
	was := []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	now := []byte(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`)
	for _, d := range replay.Bytes(was, now) {
		fmt.Println(d.Pointer, d.A.Str(), "→", d.B.Str())
	}
	// Output:
	// /messages/0/content hi → hello
}

func TestReportNamesVerbModeAndAuthorityFirst(t *testing.T) {
	t.Parallel()
	r := replay.Report{Verb: replay.Replayed, Mode: "mock_replay", Verdict: replay.Same, Authoritative: true, Run: "r"}
	if got, want := r.Head(), "replay r, mode mock_replay: same · authoritative"; got != want {
		t.Errorf("Head = %q, want %q", got, want)
	}
	r.Authoritative = false
	if got, want := r.Head(), "replay r, mode mock_replay: same · non-authoritative"; got != want {
		t.Errorf("Head = %q, want %q", got, want)
	}
	v := replay.OfVerification(&ledger.Verification{Run: "r", Phases: []ledger.Phase{}}, ledger.LevelSigned)
	if got, want := v.Head(), "verify r: below · level 0 chain (asked for 1 signed) · authoritative"; got != want {
		t.Errorf("Head = %q, want %q", got, want)
	}
}

func TestVerdictsAndTheirExitStatus(t *testing.T) {
	t.Parallel()
	broken := ledger.Phase{First: &ledger.Finding{Code: ledger.ErrIDMismatch}}
	for _, tt := range []struct {
		name  string
		v     ledger.Verification
		asked ledger.Level
		want  replay.Verdict
		exit  int
	}{
		{"all holds", ledger.Verification{Level: ledger.LevelSigned}, ledger.LevelSigned, replay.Verified, 0},
		{"below the level", ledger.Verification{}, ledger.LevelSigned, replay.Below, 1},
		{"something withheld", ledger.Verification{Withheld: 1}, ledger.LevelChain, replay.Partial, 1},
		{"a broken check wins over all", ledger.Verification{Withheld: 1, Phases: []ledger.Phase{broken}}, ledger.LevelSigned, replay.Failed, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := replay.OfVerification(&tt.v, tt.asked)
			if r.Verdict != tt.want || r.Verdict.ExitStatus() != tt.exit {
				t.Errorf("verdict = %s, exit %d; want %s, %d", r.Verdict, r.Verdict.ExitStatus(), tt.want, tt.exit)
			}
		})
	}
}

func TestLaterDivergencesFollowAndAreCounted(t *testing.T) {
	t.Parallel()
	var r replay.Report
	for range replay.MaxDivergences + 5 {
		r.Diverge(replay.Divergence{Kind: replay.Extra})
	}
	if r.Divergences[0].Follows || !r.Divergences[1].Follows {
		t.Error("only the first divergence stands for itself")
	}
	if len(r.Divergences) != replay.MaxDivergences || r.Total != replay.MaxDivergences+5 {
		t.Errorf("listed %d of %d", len(r.Divergences), r.Total)
	}
}

func TestDecisionsCompareByTheirComparisonForm(t *testing.T) {
	t.Parallel()
	body := func(x string, place int64) canon.Value {
		return canon.Object(canon.M("data", canon.String(x)), canon.M("refs", canon.Object(canon.M("call", canon.Int(place)))))
	}
	content := func(s, timing string) []ledger.Content {
		return []ledger.Content{{Name: "c", Type: "text/plain", Bytes: []byte(s)}, {Name: "timing", Type: ledger.TimingType, Bytes: []byte(timing)}}
	}
	a := ledger.Decision{Kind: ledger.KindDecision, Body: body("x", 1), Contents: content("same", "1")}
	b := ledger.Decision{Kind: ledger.KindDecision, Body: body("x", 2), Contents: content("same", "2")}
	if d := replay.Decisions(a, b); d != nil {
		t.Errorf("place ids and timing differ = %v, want nothing", d)
	}
	b.Contents[0].Bytes = []byte("sane")
	if d := replay.Decisions(a, b); len(d) != 1 || d[0].Pointer != "/contents/0@2" {
		t.Errorf("another byte = %v, want /contents/0@2", d)
	}
	b = ledger.Decision{Kind: ledger.KindCommit, Body: body("y", 1), Contents: a.Contents}
	if d := replay.Decisions(a, b); len(d) != 2 || d[0].Pointer != "/kind" || d[1].Pointer != "/data" {
		t.Errorf("another kind and body = %v", d)
	}
}

func TestReportAsJSONHasNoEmptyMembers(t *testing.T) {
	t.Parallel()
	r := replay.Report{Verb: replay.Diff, Verdict: replay.Diverged, Run: "a", Other: "b"}
	r.Diverge(replay.Divergence{Kind: replay.Different, What: "call", Recorded: 1, Now: -1, Nearest: -1, Where: []canon.Difference{{Pointer: "/x", A: canon.Int(1)}}})
	b, err := canon.Encode(r.Value(), canon.Native)
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	d := v.Get("divergences").At(0)
	if d.Has("now") || d.Has("nearest") || d.Get("differences").At(0).Has("now") || v.Has("level") {
		t.Errorf("report = %s, want members without a value left out", b)
	}
	if n, _ := v.Get("exit_status").AsInt(); n != 1 {
		t.Errorf("exit_status = %d, want 1", n)
	}
}
