package govern_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

var (
	twoApprovers = govern.Quorum{Need: 2, Roles: []govern.Role{govern.Approver}}
	oneAdmin     = govern.Quorum{Need: 1, Roles: []govern.Role{govern.Admin}}
	oneAuditor   = govern.Quorum{Need: 1, Roles: []govern.Role{govern.Auditor}}
	council      = govern.Quorum{Need: 3, Roles: []govern.Role{govern.Council}, Rule: govern.Majority}
	councilOf4   = govern.Quorum{Need: 4, Roles: []govern.Role{govern.Council}, Rule: govern.Majority}
)

func newBallot(quorums ...govern.Quorum) govern.Ballot {
	b, err := govern.NewBallot(refund, quorums...)
	if err != nil {
		panic(err)
	}
	return b
}

// short reads "ann approver approve".
func short(n int, text string) govern.Admitted {
	f := strings.Fields(text)
	return admit(act(n, f[0], govern.Role(f[1]), govern.Verb(f[2]), refund))
}

func TestBallots(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		quorums []govern.Quorum
		votes   []string
		want    govern.State
	}{
		{"nobody has voted", []govern.Quorum{twoApprovers}, nil, govern.Open},
		{"one of two", []govern.Quorum{twoApprovers}, []string{"ann approver approve"}, govern.Open},
		{"two of two", []govern.Quorum{twoApprovers}, []string{"ann approver approve", "bob approver approve"}, govern.Granted},
		{"one person twice is one", []govern.Quorum{twoApprovers}, []string{"ann approver approve", "ann approver approve"}, govern.Open},
		{"one denial vetoes", []govern.Quorum{twoApprovers}, []string{"ann approver approve", "bob approver deny"}, govern.Denied},
		{"a denial vetoes at once", []govern.Quorum{twoApprovers}, []string{"ann approver deny"}, govern.Denied},
		{"who approved may still deny", []govern.Quorum{twoApprovers}, []string{"ann approver approve", "ann approver deny"}, govern.Denied},
		{"an approval taken back does not count", []govern.Quorum{twoApprovers}, []string{
			"ann approver approve", "ann approver abstain", "bob approver approve",
		}, govern.Open},
		{"an approval given again does", []govern.Quorum{twoApprovers}, []string{
			"ann approver approve", "ann approver abstain", "bob approver approve", "ann approver approve",
		}, govern.Granted},
		{"a council below its quorum", []govern.Quorum{council}, []string{"mia council approve", "noa council approve"}, govern.Open},
		{"a council by majority", []govern.Quorum{council}, []string{"mia council approve", "noa council deny", "ole council approve"}, govern.Granted},
		{"a council against", []govern.Quorum{council}, []string{"mia council deny", "noa council deny", "ole council approve"}, govern.Denied},
		{"an abstention does not count towards the quorum", []govern.Quorum{council}, []string{
			"mia council approve", "noa council approve", "ole council abstain",
		}, govern.Open},
		{"a tie denies", []govern.Quorum{councilOf4}, []string{
			"mia council approve", "noa council deny", "ole council approve", "dora council deny",
		}, govern.Denied},
		{"a council member may be convinced", []govern.Quorum{council}, []string{
			"mia council deny", "noa council deny", "mia council approve", "ole council approve",
		}, govern.Granted},
		{"admin and council, the admin alone", []govern.Quorum{oneAdmin, council}, []string{"dora admin approve"}, govern.Open},
		{"admin and council, the council alone", []govern.Quorum{oneAdmin, council}, []string{
			"mia council approve", "noa council approve", "ole council approve",
		}, govern.Open},
		{"admin and council, both", []govern.Quorum{oneAdmin, council}, []string{
			"mia council approve", "noa council approve", "dora admin approve", "ole council approve",
		}, govern.Granted},
		{"admin and council, nobody is both", []govern.Quorum{oneAdmin, council}, []string{
			"mia council approve", "noa council approve", "dora admin approve", "dora council approve",
		}, govern.Open},
		{"admin and council, either denies", []govern.Quorum{oneAdmin, council}, []string{"mia council approve", "dora admin deny"}, govern.Denied},
		{"a minority in the council is no veto", []govern.Quorum{oneAdmin, council}, []string{"mia council deny", "dora admin approve"}, govern.Open},
		{"admin and auditor", []govern.Quorum{oneAdmin, oneAuditor}, []string{"pat auditor approve", "dora admin approve"}, govern.Granted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBallot(tt.quorums...)
			for n, vote := range tt.votes {
				var err error
				if b, err = b.Cast(short(n, vote)); err != nil {
					t.Fatalf("Cast(%s) = %v", vote, err)
				}
			}
			if b.State() != tt.want {
				t.Errorf("after %q the ballot is %s, want %s", tt.votes, b.State(), tt.want)
			}
		})
	}
}

func TestBallotRefusesAnAct(t *testing.T) {
	t.Parallel()
	otherLedger := refund
	otherLedger.Ledger = "trajectory-8"
	first := short(0, "ann approver approve")
	for _, tt := range []struct {
		name string
		a    govern.Admitted
		want fault.Code
	}{
		{"that was not admitted", govern.Admitted{}, govern.ErrAct},
		{"about other arguments", admit(act(1, "bob", govern.Approver, govern.Approve, matter("proposal-1", `{"amount":"9912.00"}`))), govern.ErrMatter},
		{"about another subject", admit(act(1, "bob", govern.Approver, govern.Approve, matter("proposal-2", `{"amount":"12.00","to":"order 9"}`))), govern.ErrMatter},
		{"about another ledger", admit(act(1, "bob", govern.Approver, govern.Approve, otherLedger)), govern.ErrMatter},
		{"that is no vote", short(1, "bob approver revoke"), govern.ErrVerb},
		{"that would clear a halt", short(1, "bob approver clear"), govern.ErrVerb},
		{"in a role that has no say", short(1, "mia council approve"), govern.ErrRole},
		{"that was cast already", first, govern.ErrRepeated},
	} {
		b, err := newBallot(twoApprovers).Cast(first)
		if err != nil {
			t.Fatal(err)
		}
		after, err := b.Cast(tt.a)
		wantCode(t, "Cast of an act "+tt.name, err, tt.want)
		if encode(after.Value()) != encode(b.Value()) {
			t.Errorf("Cast of an act %s refuses, but changes the ballot", tt.name)
		}
	}
	_, err := (govern.Ballot{}).Cast(first)
	wantCode(t, "Cast on the zero ballot", err, govern.ErrMatter)
	if got := (govern.Ballot{}).State(); got != govern.Open {
		t.Errorf("the zero ballot is %s, want open", got)
	}
}

func TestAnActTakenBackCannotBeUsedByOthers(t *testing.T) {
	t.Parallel()
	b, old := newBallot(twoApprovers), short(0, "ann approver approve")
	for _, a := range []govern.Admitted{old, short(1, "ann approver abstain"), short(2, "bob approver approve")} {
		var err error
		if b, err = b.Cast(a); err != nil {
			t.Fatal(err)
		}
	}
	b, err := b.Cast(old)
	wantCode(t, "Cast of an approval that was taken back", err, govern.ErrRepeated)
	if b.State() != govern.Open {
		t.Errorf("the ballot is %s, want open", b.State())
	}
}

func TestWhatIsDecidedStaysDecided(t *testing.T) {
	t.Parallel()
	open := newBallot(twoApprovers)
	denied, err := open.Cast(short(0, "ann approver deny"))
	if err != nil {
		t.Fatal(err)
	}
	expired, err := open.Expire()
	if err != nil || expired.State() != govern.Expired {
		t.Fatalf("Expire = %s, %v", expired.State(), err)
	}
	for _, b := range []govern.Ballot{denied, expired} {
		after, err := b.Cast(short(1, "ann approver approve"))
		wantCode(t, fmt.Sprintf("Cast on a ballot that is %s", b.State()), err, govern.ErrDecided)
		again, err := b.Expire()
		wantCode(t, fmt.Sprintf("Expire of a ballot that is %s", b.State()), err, govern.ErrDecided)
		if after.State() != b.State() || again.State() != b.State() {
			t.Errorf("a ballot that was %s is %s or %s", b.State(), after.State(), again.State())
		}
	}
}

func TestBallotsThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	roles := []govern.Role{govern.Approver}
	for _, tt := range []struct {
		name    string
		m       govern.Matter
		quorums []govern.Quorum
	}{
		{"no quorum", refund, nil},
		{"a quorum of nobody", refund, []govern.Quorum{{Roles: roles}}},
		{"a quorum below nobody", refund, []govern.Quorum{{Need: -1, Roles: roles}}},
		{"a quorum beyond the limit", refund, []govern.Quorum{{Need: govern.MaxNeed + 1, Roles: roles}}},
		{"a quorum of no role", refund, []govern.Quorum{{Need: 1}}},
		{"an unknown role", refund, []govern.Quorum{{Need: 1, Roles: []govern.Role{"root"}}}},
		{"an unknown rule", refund, []govern.Quorum{{Need: 1, Roles: roles, Rule: 2}}},
		{"a role in two quorums", refund, []govern.Quorum{oneAdmin, {Need: 1, Roles: []govern.Role{govern.Council, govern.Admin}}}},
		{"no matter", govern.Matter{}, []govern.Quorum{oneAdmin}},
		{"a matter bound to nothing", govern.Matter{Ledger: ledgerID, Subject: "s"}, []govern.Quorum{oneAdmin}},
	} {
		_, err := govern.NewBallot(tt.m, tt.quorums...)
		wantCode(t, "NewBallot with "+tt.name, err, govern.ErrQuorum)
	}
}

func TestBallotHoldsAFlood(t *testing.T) {
	t.Parallel()
	b := newBallot(twoApprovers)
	var err error
	for n := range govern.MaxActs {
		if b, err = b.Cast(short(n, "ann approver approve")); err != nil {
			t.Fatalf("act %d: %v", n, err)
		}
	}
	_, err = b.Cast(short(govern.MaxActs, "ann approver approve"))
	wantCode(t, "Cast of one act too many", err, govern.ErrTooMany)
	if got := len(b.Votes()); got != 1 {
		t.Errorf("ann has %d votes, want 1", got)
	}
}

func TestBallotSaysWhoDecidedWhat(t *testing.T) {
	t.Parallel()
	ann, bob := short(0, "ann approver approve"), short(1, "bob approver approve")
	b := newBallot(twoApprovers)
	b, _ = b.Cast(ann)
	b, _ = b.Cast(bob)
	want := `{"matter":{"bound":"` + refund.Bound.String() + `","ledger":"trajectory-7","subject":"proposal-1"},` +
		`"quorums":[{"need":2,"roles":["approver"],"rule":"veto"}],"state":"granted",` +
		`"votes":[{"act":"` + ann.Digest().String() + `","actor":"ann","role":"approver","vote":"approve"},` +
		`{"act":"` + bob.Digest().String() + `","actor":"bob","role":"approver","vote":"approve"}]}`
	if got := encode(b.Value()); got != want {
		t.Errorf("Value = %s, want %s", got, want)
	}
	if b.Matter() != refund {
		t.Errorf("Matter = %+v, want %+v", b.Matter(), refund)
	}
	if got := encode(newBallot(council).Value()); !strings.Contains(got, `"rule":"majority"`) {
		t.Errorf("Value = %s, want the rule by its name", got)
	}
}

// voters and what they may say, for random ballots.
var electorate = []string{
	"ann approver", "bob approver", "cid approver", "dora admin", "dora council", "mia council", "noa council", "ole council", "pat auditor",
}

// TestBallotAgreesWithCountingByHand compares with a count that is written
// differently: it looks at the whole sequence anew after each act.
func TestBallotAgreesWithCountingByHand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"veto", "majority", "both"}).Draw(t, "kind")
		need := rapid.IntRange(1, 4).Draw(t, "need")
		veto := govern.Quorum{Need: need, Roles: []govern.Role{govern.Admin, govern.Approver}}
		majority := govern.Quorum{Need: need, Roles: []govern.Role{govern.Council}, Rule: govern.Majority}
		quorums := map[string][]govern.Quorum{"veto": {veto}, "majority": {majority}, "both": {majority, veto}}[kind]
		start := newBallot(quorums...)
		b := start
		var cast []govern.Act
		var taken []govern.Admitted
		for n := range rapid.IntRange(0, 14).Draw(t, "acts") {
			a := short(n, rapid.SampledFrom(electorate).Draw(t, "who")+" "+rapid.SampledFrom([]string{"approve", "approve", "deny", "abstain"}).Draw(t, "says"))
			before, stood := encode(b.Value()), b
			next, err := b.Cast(a)
			if encode(stood.Value()) != before {
				t.Fatal("Cast changed the ballot that it was called on")
			}
			switch {
			case !slices.Contains(start.Roles(), a.Act().Role):
				if !errors.Is(err, govern.ErrRole) {
					t.Fatalf("Cast by %s = %v, want %v", a.Act().Role, err, govern.ErrRole)
				}
			case b.State() != govern.Open:
				if !errors.Is(err, govern.ErrDecided) {
					t.Fatalf("Cast after %s = %v, want %v", b.State(), err, govern.ErrDecided)
				}
			case err != nil:
				t.Fatal(err)
			default:
				cast, taken = append(cast, a.Act()), append(taken, a)
			}
			b = next
			if got, want := b.State(), byHand(kind, need, cast); got != want {
				t.Fatalf("%s of %d after %+v: %s, want %s", kind, need, cast, got, want)
			}
		}
		again := start
		for _, a := range taken {
			again, _ = again.Cast(a)
		}
		if encode(again.Value()) != encode(b.Value()) {
			t.Fatalf("the same acts give %s and %s", b.Value(), again.Value())
		}
	})
}

func byHand(kind string, need int, cast []govern.Act) govern.State {
	last := map[string]govern.Act{}
	for _, a := range cast {
		last[a.Actor] = a
	}
	count := map[string]int{}
	for _, a := range last {
		body := "veto"
		if a.Role == govern.Council {
			body = "majority"
		}
		count[body+" "+string(a.Verb)]++
	}
	states := map[string]govern.State{"veto": govern.Open, "majority": govern.Open}
	if count["veto approve"] >= need {
		states["veto"] = govern.Granted
	}
	if count["veto deny"] > 0 {
		states["veto"] = govern.Denied
	}
	if yes, no := count["majority approve"], count["majority deny"]; yes+no >= need {
		states["majority"] = govern.Denied
		if yes > no {
			states["majority"] = govern.Granted
		}
	}
	switch {
	case kind != "both":
		return states[kind]
	case states["veto"] == govern.Denied || states["majority"] == govern.Denied:
		return govern.Denied
	case states["veto"] == govern.Granted && states["majority"] == govern.Granted:
		return govern.Granted
	default:
		return govern.Open
	}
}
