package govern_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

const integrityFailure fault.Integrity = "INTEGRITY_FAILURE"

func newHalts(clearing ...govern.Quorum) govern.Halts {
	h, err := govern.NewHalts(ledgerID, clearing...)
	if err != nil {
		panic(err)
	}
	return h
}

var oneOfCouncil = govern.Quorum{Need: 1, Roles: []govern.Role{govern.Council}}

func TestHaltStandsUntilTheCouncilClearsIt(t *testing.T) {
	t.Parallel()
	h, halt := newHalts(council).Trip("snapshot-1", integrityFailure, "bad signature")
	for n, step := range []struct {
		who  string
		verb govern.Verb
		want govern.State
	}{
		{"mia", govern.Clear, govern.Open},
		{"noa", govern.Abstain, govern.Open},
		{"ole", govern.Deny, govern.Open},
		{"noa", govern.Clear, govern.Granted},
	} {
		if err := h.Check("snapshot-0", "snapshot-1"); !errors.Is(err, govern.ErrHalted) || fault.ClassOf(err).ExitStatus() != fault.ExitDenied {
			t.Fatalf("Check before step %d = %v, want %v", n, err, govern.ErrHalted)
		}
		if err := h.Check("snapshot-0"); err != nil {
			t.Fatalf("Check of what nobody halted = %v", err)
		}
		var state govern.State
		var about govern.Halt
		var err error
		h, about, state, err = h.Clear(admit(act(n, step.who, govern.Council, step.verb, halt.Matter(ledgerID))))
		if err != nil || state != step.want || about != halt {
			t.Fatalf("step %d: Clear = %+v, %s, %v; want %s", n, about, state, err, step.want)
		}
	}
	if got, ok := h.Halted("snapshot-1"); ok {
		t.Errorf("Halted = %+v, want nothing", got)
	}
}

func TestHaltsKnowTheirCauses(t *testing.T) {
	t.Parallel()
	h := newHalts(oneOfCouncil)
	h, first := h.Trip("snapshot-1", integrityFailure, "bad signature")
	h, same := h.Trip("snapshot-1", integrityFailure, "again")
	if same != first || len(h.Standing()) != 1 {
		t.Errorf("a second halt for one cause = %+v, want the first: %+v", same, first)
	}
	stop := act(0, "pat", govern.Operator, govern.Stop, refund)
	stop.Matter.Subject, stop.Reason = "snapshot-1", "let me look"
	h, second, err := h.Stop(admit(stop))
	if err != nil || second.Actor != "pat" || second.Cause != govern.ErrHalted || second.Seq != 1 || second.Reason != "let me look" {
		t.Fatalf("Stop = %+v, %v", second, err)
	}
	if got := h.Standing(); len(got) != 2 || got[0] != first || got[1] != second {
		t.Errorf("Standing = %+v, want both, oldest first", got)
	}
	if err := h.Check("snapshot-1"); err == nil || !strings.Contains(err.Error(), "INTEGRITY_FAILURE, by a rule: bad signature") {
		t.Errorf("Check = %v, want the cause of the oldest halt", err)
	}
	h, _, _, err = h.Clear(admit(act(1, "mia", govern.Council, govern.Clear, first.Matter(ledgerID))))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check("snapshot-1"); err == nil || !strings.Contains(err.Error(), "by pat: let me look") {
		t.Errorf("Check = %v, want the halt that was not cleared", err)
	}
}

func TestWhatClearedOneHaltClearsNoOther(t *testing.T) {
	t.Parallel()
	h, first := newHalts(oneOfCouncil).Trip("snapshot-1", integrityFailure, "bad signature")
	clearing := admit(act(0, "mia", govern.Council, govern.Clear, first.Matter(ledgerID)))
	h, _, state, err := h.Clear(clearing)
	if err != nil || state != govern.Granted {
		t.Fatalf("Clear = %s, %v", state, err)
	}
	h, second := h.Trip("snapshot-1", integrityFailure, "bad signature")
	if second.Matter(ledgerID) == first.Matter(ledgerID) {
		t.Error("two halts are one matter")
	}
	h, _, _, err = h.Clear(clearing)
	wantCode(t, "Clear with the act of another halt", err, govern.ErrMatter)
	if h.Check("snapshot-1") == nil {
		t.Error("the second halt does not stand")
	}
}

func TestDenialLeavesTheHaltAndOpensANewRound(t *testing.T) {
	t.Parallel()
	veto := govern.Quorum{Need: 2, Roles: []govern.Role{govern.Council}}
	h, halt := newHalts(veto).Trip("snapshot-1", integrityFailure, "bad signature")
	yes := admit(act(0, "mia", govern.Council, govern.Clear, halt.Matter(ledgerID)))
	no := admit(act(1, "noa", govern.Council, govern.Deny, halt.Matter(ledgerID)))
	h, _, _, err := h.Clear(yes)
	if err != nil {
		t.Fatal(err)
	}
	h, _, state, err := h.Clear(no)
	if err != nil || state != govern.Denied {
		t.Fatalf("Clear = %s, %v; want denied", state, err)
	}
	again, ok := h.Halted("snapshot-1")
	if !ok || again.Round != 1 || again.Seq != halt.Seq {
		t.Fatalf("Halted = %+v, %t; want the halt in round 1", again, ok)
	}
	_, _, _, err = h.Clear(yes)
	wantCode(t, "Clear with an act of the round before", err, govern.ErrMatter)
	for n, who := range []string{"mia", "noa"} {
		if h, _, state, err = h.Clear(admit(act(2+n, who, govern.Council, govern.Clear, again.Matter(ledgerID)))); err != nil {
			t.Fatal(err)
		}
	}
	if state != govern.Granted || len(h.Standing()) != 0 {
		t.Errorf("the second round is %s with %d halts, want it granted", state, len(h.Standing()))
	}
}

func TestExpiredBallotOnAHaltStartsAgain(t *testing.T) {
	t.Parallel()
	h, halt := newHalts(council).Trip("snapshot-1", integrityFailure, "bad signature")
	old := admit(act(0, "mia", govern.Council, govern.Clear, halt.Matter(ledgerID)))
	kept, _, _, err := h.Clear(old)
	if err != nil {
		t.Fatal(err)
	}
	h, err = kept.Expire(halt.Seq)
	if err != nil || h.Standing()[0].Round != 1 || kept.Standing()[0].Round != 0 {
		t.Fatalf("Expire = %+v, %v; want round 1", h.Standing(), err)
	}
	_, _, _, err = h.Clear(old)
	wantCode(t, "Clear with an act of before", err, govern.ErrMatter)
	_, err = h.Expire(7)
	wantCode(t, "Expire of no halt", err, govern.ErrMatter)
}

func TestClonesOfHaltsGoTheirOwnWays(t *testing.T) {
	t.Parallel()
	trunk := newHalts(oneOfCouncil)
	for _, subject := range []string{"a", "b", "c"} { // so that a slice has room for one more
		trunk, _ = trunk.Trip(subject, integrityFailure, "")
	}
	left, _ := trunk.Trip("left", integrityFailure, "")
	right, _ := trunk.Trip("right", integrityFailure, "")
	if left.Check("left") == nil || left.Check("right") != nil || right.Check("right") == nil || trunk.Check("left", "right") != nil {
		t.Errorf("left has %+v, right has %+v, the trunk has %+v", left.Standing(), right.Standing(), trunk.Standing())
	}
}

func TestHaltsRefuse(t *testing.T) {
	t.Parallel()
	stop := admit(act(0, "pat", govern.Operator, govern.Stop, refund))
	h, halt, err := newHalts(oneOfCouncil).Stop(stop)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := refund
	elsewhere.Ledger = "trajectory-8"
	for _, tt := range []struct {
		name string
		a    govern.Admitted
		want fault.Code
	}{
		{"that has halted before", stop, govern.ErrRepeated},
		{"that was not admitted", govern.Admitted{}, govern.ErrAct},
		{"that does not halt", admit(act(1, "pat", govern.Operator, govern.Cancel, refund)), govern.ErrVerb},
		{"of another ledger", admit(act(1, "pat", govern.Operator, govern.Stop, elsewhere)), govern.ErrMatter},
	} {
		after, _, err := h.Stop(tt.a)
		wantCode(t, "Stop by an act "+tt.name, err, tt.want)
		if len(after.Standing()) != 1 {
			t.Errorf("Stop by an act %s refuses, but changes what stands", tt.name)
		}
	}
	m := halt.Matter(ledgerID)
	for _, tt := range []struct {
		name string
		a    govern.Admitted
		want fault.Code
	}{
		{"about nothing that stands", admit(act(1, "mia", govern.Council, govern.Clear, refund)), govern.ErrMatter},
		{"that was not admitted", govern.Admitted{}, govern.ErrMatter},
		{"that approves of what it does not say", admit(act(1, "mia", govern.Council, govern.Approve, m)), govern.ErrVerb},
		{"that is no vote", admit(act(1, "mia", govern.Council, govern.Cancel, m)), govern.ErrVerb},
		{"of who stopped it but has no say", admit(act(1, "pat", govern.Operator, govern.Clear, m)), govern.ErrRole},
		{"of an admin", admit(act(1, "dora", govern.Admin, govern.Clear, m)), govern.ErrRole},
	} {
		after, _, state, err := h.Clear(tt.a)
		wantCode(t, "Clear by an act "+tt.name, err, tt.want)
		if state != govern.Open || len(after.Standing()) != 1 {
			t.Errorf("Clear by an act %s refuses, but changes what stands", tt.name)
		}
	}
	_, err = govern.NewHalts("", oneOfCouncil)
	wantCode(t, "NewHalts of no ledger", err, govern.ErrQuorum)
	_, err = govern.NewHalts(ledgerID)
	wantCode(t, "NewHalts that nobody can clear", err, govern.ErrQuorum)
}

func TestZeroHaltsHaltAndCannotBeCleared(t *testing.T) {
	t.Parallel()
	h, halt := (govern.Halts{}).Trip("snapshot-1", nil, "")
	if err := h.Check("snapshot-1"); !errors.Is(err, govern.ErrHalted) || halt.Cause != govern.ErrHalted {
		t.Errorf("Check = %v, want %v", err, govern.ErrHalted)
	}
	_, _, _, err := h.Clear(admit(act(0, "mia", govern.Council, govern.Clear, halt.Matter(ledgerID))))
	wantCode(t, "Clear", err, govern.ErrMatter)
}

func TestTripHaltsWhateverItIsGiven(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 400)
	for _, subject := range []string{"", "a\xffb", "a\nb", "a\x1b[2Kb", long} {
		h, halt := newHalts(oneOfCouncil).Trip(subject, integrityFailure, strings.Repeat("ü", govern.MaxReason)+"\xff")
		if err := h.Check(subject); !errors.Is(err, govern.ErrHalted) {
			t.Errorf("Check(%q) = %v, want %v", subject, err, govern.ErrHalted)
		}
		if b := encode(halt.Value()); len(b) > 8<<10 {
			t.Errorf("a halt has %d bytes", len(b))
		}
	}
}

func TestHaltSurvivesItsBody(t *testing.T) {
	t.Parallel()
	h, byRule := newHalts(oneOfCouncil).Trip("snapshot-1", integrityFailure, "bad signature")
	_, byPerson, err := h.Stop(admit(act(0, "pat", govern.Operator, govern.Stop, refund)))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"cause":{"class":"integrity","code":"INTEGRITY_FAILURE"},"reason":"bad signature","round":0,"seq":0,"subject":"snapshot-1"}`
	if got := encode(byRule.Value()); got != want {
		t.Errorf("Value = %s, want %s", got, want)
	}
	for _, halt := range []govern.Halt{byRule, byPerson} {
		got, err := govern.ParseHalt(halt.Value())
		if err != nil || got != halt {
			t.Errorf("ParseHalt(Value()) = %+v, %v; want %+v", got, err, halt)
		}
	}
	for name, v := range map[string]canon.Value{
		"nothing":            {},
		"an unknown class":   byRule.Value().With("cause", canon.Object(canon.M("class", canon.String("bad")), canon.M("code", canon.String("X")))),
		"a member more":      byRule.Value().With("urgent", canon.Bool(true)),
		"a negative number":  byRule.Value().With("seq", canon.Int(-1)),
		"a person, no act":   byRule.Value().With("actor", canon.String("pat")),
		"an act, no person":  byPerson.Value().Without("actor"),
		"a round that is no": byRule.Value().With("round", canon.String("0")),
	} {
		_, err := govern.ParseHalt(v)
		wantCode(t, "ParseHalt of "+name, err, govern.ErrHalt)
	}
}

// TestNothingGoesOnByItself walks at random and holds that a subject stands
// still from a halt until an act about this very halt, and no longer.
func TestNothingGoesOnByItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHalts(oneOfCouncil)
		subjects := []string{"a", "b", "c"}
		stands := map[string]map[govern.Halt]bool{"a": {}, "b": {}, "c": {}}
		var used []govern.Admitted
		for n := range rapid.IntRange(1, 20).Draw(t, "steps") {
			subject := rapid.SampledFrom(subjects).Draw(t, "subject")
			before, kept := len(h.Standing()), h
			switch rapid.SampledFrom([]string{"trip", "stop", "clear", "again"}).Draw(t, "step") {
			case "trip":
				var halt govern.Halt
				h, halt = h.Trip(subject, integrityFailure, "found")
				stands[subject][halt] = true
			case "stop":
				var halt govern.Halt
				m := refund
				m.Subject = subject
				h, halt, _ = h.Stop(admit(act(n, "pat", govern.Operator, govern.Stop, m)))
				stands[subject][halt] = true
			case "clear":
				halt, ok := h.Halted(subject)
				if !ok {
					continue
				}
				a := admit(act(n, "mia", govern.Council, govern.Clear, halt.Matter(ledgerID)))
				var err error
				if h, _, _, err = h.Clear(a); err != nil {
					t.Fatal(err)
				}
				used = append(used, a)
				delete(stands[subject], halt)
			case "again":
				for _, a := range used {
					if _, _, _, err := h.Clear(a); !errors.Is(err, govern.ErrMatter) {
						t.Fatalf("Clear by an act that was used = %v, want %v", err, govern.ErrMatter)
					}
				}
			}
			if len(kept.Standing()) != before {
				t.Fatal("a step changed the halts that it was called on")
			}
			for _, s := range subjects {
				if got, want := h.Check(s) != nil, len(stands[s]) > 0; got != want {
					t.Fatalf("%s stands still: %t, want %t", s, got, want)
				}
			}
		}
	})
}

// Either way is enough, what one way denies is voted on anew in all, and a role
// that has no say in any is refused.
func TestHaltIsClearedInOneOfTwoWays(t *testing.T) {
	t.Parallel()
	two := func() (govern.Halts, govern.Halt) {
		h, err := newHalts(council).Or(govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin}})
		if err != nil {
			t.Fatal(err)
		}
		return h.Trip("snapshot-1", integrityFailure, "bad signature")
	}
	type word struct {
		who  string
		role govern.Role
		verb govern.Verb
		want govern.State
	}
	for _, tt := range []struct {
		name  string
		words []word
	}{
		{"an admin", []word{{"dora", govern.Admin, govern.Clear, govern.Granted}}},
		{"the council", []word{{"mia", govern.Council, govern.Clear, govern.Open}, {"noa", govern.Council, govern.Clear, govern.Open}, {"ole", govern.Council, govern.Clear, govern.Granted}}},
		{"an admin beside the council", []word{{"mia", govern.Council, govern.Clear, govern.Open}, {"dora", govern.Admin, govern.Clear, govern.Granted}}},
		{"an admin says no, then the council yes", []word{
			{"mia", govern.Council, govern.Clear, govern.Open},
			{"dora", govern.Admin, govern.Deny, govern.Denied},
			{"mia", govern.Council, govern.Clear, govern.Open},
			{"noa", govern.Council, govern.Clear, govern.Open},
			{"ole", govern.Council, govern.Clear, govern.Granted},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := two()
			for n, w := range tt.words {
				before, halt := h, h.Standing()[0]
				var state govern.State
				var err error
				if h, _, state, err = h.Clear(admit(act(n, w.who, w.role, w.verb, halt.Matter(ledgerID)))); err != nil || state != w.want {
					t.Fatalf("word %d: Clear = %s, %v; want %s", n, state, err, w.want)
				}
				if _, halted := h.Halted("snapshot-1"); halted == (w.want == govern.Granted) {
					t.Errorf("word %d: halted = %v after %s", n, halted, state)
				}
				if got := before.Standing(); len(got) != 1 || got[0] != halt {
					t.Errorf("word %d has changed the halts that it was said about", n)
				}
			}
		})
	}
	h, halt := two()
	_, _, _, err := h.Clear(admit(act(0, "ann", govern.Approver, govern.Clear, halt.Matter(ledgerID))))
	wantCode(t, "Clear in a role without a say", err, govern.ErrRole)
	_, err = h.Or(oneOfCouncil)
	wantCode(t, "Or where a halt stands", err, govern.ErrQuorum)
	_, err = newHalts(council).Or()
	wantCode(t, "Or without a quorum", err, govern.ErrQuorum)
	_, err = govern.Halts{}.Or(oneOfCouncil)
	wantCode(t, "Or of the zero Halts", err, govern.ErrQuorum)
}
