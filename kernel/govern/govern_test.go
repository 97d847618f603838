package govern_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	ledgerID = "trajectory-7"
	tenant   = "acme"
)

func key(name string) *sign.PrivateKey {
	seed := sha256.Sum256([]byte("govern_test " + name))
	k, err := sign.NewPrivateKey(seed[:])
	if err != nil {
		panic(err)
	}
	return k
}

func actor(id string, roles ...govern.Role) govern.Actor {
	return govern.Actor{ID: id, Key: key(id).Public(), Roles: roles, Tenant: tenant}
}

// people is the roster of the tests.
var people = sync.OnceValue(func() govern.Roster {
	foreign := actor("eve", govern.Admin)
	foreign.Tenant = "other"
	r, err := govern.NewRoster(
		actor("ann", govern.Approver), actor("bob", govern.Approver), actor("cid", govern.Approver),
		actor("dora", govern.Admin, govern.Council), foreign,
		actor("mia", govern.Council), actor("noa", govern.Council), actor("ole", govern.Council),
		actor("pat", govern.Auditor, govern.Operator),
	)
	if err != nil {
		panic(err)
	}
	return r
})

// refund is the matter of most tests: a proposal with its exact arguments.
var refund = matter("proposal-1", `{"amount":"12.00","to":"order 9"}`)

func matter(subject, arguments string) govern.Matter {
	return govern.Matter{Ledger: ledgerID, Subject: subject, Bound: canon.SHA256([]byte(arguments))}
}

// act returns what an actor would sign. The number makes it a new act.
func act(n int, who string, role govern.Role, verb govern.Verb, m govern.Matter) govern.Act {
	a := govern.Act{Verb: verb, Actor: who, Role: role, Matter: m, At: 1_790_000_000_000_000_000}
	binary.BigEndian.PutUint64(a.Nonce[:], uint64(n)+1)
	return a
}

func signed(a govern.Act) []byte {
	b, err := a.Sign(key(a.Actor))
	if err != nil {
		panic(err)
	}
	return b
}

// anything is the requirement that every act of acme in this ledger meets.
var anything = govern.Requirement{
	Verbs: []govern.Verb{
		govern.Approve, govern.Deny, govern.Abstain, govern.Revoke, govern.Restore, govern.Stop, govern.Clear,
		govern.Compensate, govern.Cancel, "REPLAY_REQUEST",
	},
	Roles:  []govern.Role{govern.Operator, govern.Admin, govern.Auditor, govern.Council, govern.Approver},
	Tenant: tenant, Ledger: ledgerID,
}

func admit(a govern.Act) govern.Admitted {
	need := anything
	need.Ledger = a.Matter.Ledger
	got, err := people().Admit(signed(a), need)
	if err != nil {
		panic(err)
	}
	return got
}

func encode(v canon.Value) string {
	b, err := canon.Encode(v, canon.Native)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// wantCode fails the test unless err has that code, which may be nil.
func wantCode(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// A refund needs two approvers; one who says no is enough to stop it.
func Example() {
	roster := people()
	ballot, _ := govern.NewBallot(refund, govern.Quorum{Need: 2, Roles: []govern.Role{govern.Approver}})
	need := govern.Requirement{
		Verbs: []govern.Verb{govern.Approve, govern.Deny}, Roles: ballot.Roles(), Tenant: tenant, Ledger: ledgerID,
	}
	for n, vote := range []govern.Act{
		{Actor: "ann", Verb: govern.Approve},
		{Actor: "ann", Verb: govern.Approve}, // the same person twice is one person
		{Actor: "bob", Verb: govern.Deny},
		{Actor: "cid", Verb: govern.Approve},
	} {
		a := act(n, vote.Actor, govern.Approver, vote.Verb, refund)
		envelope, _ := a.Sign(key(a.Actor))
		admitted, err := roster.Admit(envelope, need)
		if err == nil {
			ballot, err = ballot.Cast(admitted)
		}
		fmt.Println(a.Actor, a.Verb, "→", ballot.State(), fault.CodeOf(err))
	}
	// Output:
	// ann approve → open <nil>
	// ann approve → open <nil>
	// bob deny → denied <nil>
	// cid approve → denied govern.already_decided
}

func TestRosterIsOneValueWhateverTheOrderOfItsMaking(t *testing.T) {
	t.Parallel()
	ann, dora := actor("ann", govern.Approver), actor("dora", govern.Council, govern.Admin)
	r1, err1 := govern.NewRoster(ann, dora)
	r2, err2 := govern.NewRoster(dora, ann)
	if err1 != nil || err2 != nil || r1.Digest() != r2.Digest() || !r1.Value().Equal(r2.Value()) {
		t.Errorf("rosters = %s, %v and %s, %v; want the same", r1.Value(), err1, r2.Value(), err2)
	}
	again, err := govern.ParseRoster(r1.Value())
	if err != nil || again.Digest() != r1.Digest() {
		t.Errorf("ParseRoster(Value()) = %s, %v; want %s", again.Value(), err, r1.Value())
	}
	if got := dora.Roles[0]; got != govern.Council {
		t.Errorf("NewRoster sorted the roles of its caller: %q stands first", got)
	}
	found, ok := again.Find("dora")
	if !ok || found.Key.ID() != dora.Key.ID() || found.Tenant != tenant || !found.Has(govern.Council) || found.Has(govern.Auditor) {
		t.Errorf(`Find("dora") = %+v, %t`, found, ok)
	}
	found.Roles[0] = govern.Auditor
	if same, _ := again.FindKey(dora.Key.ID()); same.ID != "dora" || same.Has(govern.Auditor) {
		t.Errorf("FindKey = %+v, want dora with the roles she was given", same)
	}
	if _, ok := again.Find("zoe"); ok {
		t.Error(`Find("zoe") found somebody`)
	}
	if _, ok := again.FindKey(key("zoe").Public().ID()); ok {
		t.Error("FindKey of zoe's key found somebody")
	}
	if got := people().Holders(tenant, govern.Admin, govern.Auditor); len(got) != 2 || got[0].ID != "dora" || got[1].ID != "pat" {
		t.Errorf("Holders = %+v, want dora and pat, and nobody of another tenant", got)
	}
}

func TestRosterRefuses(t *testing.T) {
	t.Parallel()
	ok := actor("ann", govern.Approver)
	with := func(change func(*govern.Actor)) []govern.Actor {
		a := ok
		change(&a)
		return []govern.Actor{a}
	}
	for _, tt := range []struct {
		name   string
		actors []govern.Actor
	}{
		{"no name", with(func(a *govern.Actor) { a.ID = "" })},
		{"a name with an invisible letter", with(func(a *govern.Actor) { a.ID = "an\u200bn" })},
		{"a name with a joiner of Hangul", with(func(a *govern.Actor) { a.ID = "ann\u115f" })},
		{"a name with a wide space", with(func(a *govern.Actor) { a.ID = "ann\u3000lee" })},
		{"a name with a tag", with(func(a *govern.Actor) { a.ID = "ann\U000e0041" })},
		{"a name that ends in a space", with(func(a *govern.Actor) { a.ID = "ann " })},
		{"a name with two spaces", with(func(a *govern.Actor) { a.ID = "ann  lee" })},
		{"a name that turns the text around", with(func(a *govern.Actor) { a.ID = "\u202enna" })},
		{"a name in another encoding", with(func(a *govern.Actor) { a.ID = "ann\xff" })},
		{"a name that is too long", with(func(a *govern.Actor) { a.ID = strings.Repeat("a", 257) })},
		{"a tenant with a line break", with(func(a *govern.Actor) { a.Tenant = "ac\nme" })},
		{"no key", with(func(a *govern.Actor) { a.Key = sign.PublicKey{} })},
		{"no role", with(func(a *govern.Actor) { a.Roles = nil })},
		{"an unknown role", with(func(a *govern.Actor) { a.Roles = []govern.Role{"superadmin"} })},
		{"a role in capitals", with(func(a *govern.Actor) { a.Roles = []govern.Role{"Admin"} })},
		{"a role twice", with(func(a *govern.Actor) { a.Roles = []govern.Role{govern.Admin, govern.Admin} })},
		{"one name for two", []govern.Actor{ok, {ID: "ann", Key: key("bob").Public(), Roles: ok.Roles}}},
		{"one key for two", append(with(func(a *govern.Actor) { a.ID = "bob" }), ok)},
		{"too many", make([]govern.Actor, govern.MaxActors+1)},
	} {
		_, err := govern.NewRoster(tt.actors...)
		wantCode(t, "NewRoster with "+tt.name, err, govern.ErrRoster)
	}
}

func TestRosterHasOneForm(t *testing.T) {
	t.Parallel()
	good := people().Value()
	list := good.Get("actors").Elems()
	swapped := append([]canon.Value{list[1], list[0]}, list[2:]...)
	first := func(a canon.Value) canon.Value {
		return good.With("actors", canon.Array(append([]canon.Value{a}, list[1:]...)...))
	}
	for _, tt := range []struct {
		name string
		v    canon.Value
	}{
		{"nothing", canon.Value{}},
		{"an empty object", canon.Object()},
		{"no list", good.With("actors", canon.String("ann"))},
		{"another version", good.With("v", canon.Int(2))},
		{"a member more", good.With("root", canon.Bool(true))},
		{"actors in another order", good.With("actors", canon.Array(swapped...))},
		{"too many actors", good.With("actors", canon.Array(make([]canon.Value, govern.MaxActors+1)...))},
		{"an actor with a member more", first(list[0].With("admin", canon.Bool(true)))},
		{"an actor without a tenant", first(list[0].Without("tenant"))},
		{"a key that is no base64", first(list[0].With("key", canon.String("*")))},
		{"a key that is no key", first(list[0].With("key", canon.String("AAAA")))},
		{"roles in another order", good.With("actors", canon.Array(append(list[:len(list)-1:len(list)-1],
			list[len(list)-1].With("roles", canon.Array(canon.String("operator"), canon.String("auditor"))))...))},
		{"a role that is a number", first(list[0].With("roles", canon.Array(canon.Int(1))))},
	} {
		_, err := govern.ParseRoster(tt.v)
		wantCode(t, "ParseRoster of "+tt.name, err, govern.ErrRoster)
	}
	if _, err := govern.ParseRoster((govern.Roster{}).Value()); err != nil {
		t.Errorf("ParseRoster of the empty roster = %v, want no error: nobody may decide", err)
	}
}
