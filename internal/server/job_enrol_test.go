package server_test

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// person is somebody with the key of that name.
func (r *jobRig) person(id string, roles ...string) api.Person {
	r.t.Helper()
	key, err := r.keys.Named(keys.Actors, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return api.Person{ID: id, Key: hex.EncodeToString(key.Public().Raw()), Roles: roles}
}

// enrols enrols somebody over HTTP, in the word of as.
func (r *jobRig) enrols(as string, role govern.Role, who api.Person) (api.Enrolled, error) {
	r.t.Helper()
	m, err := r.client.EnrolMatter(r.t.Context(), "", who)
	if err != nil {
		return api.Enrolled{}, err
	}
	return r.client.Enrol(r.t.Context(), "", who, r.sign(as, role, govern.Verb(m.Verb), m.Matter))
}

// roles returns who is on a roster, and as what.
func (r *jobRig) roles(roster []byte) string {
	r.t.Helper()
	v, err := canon.Parse(roster)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, a := range v.Get("actors").Elems() {
		s := a.Get("id").Str()
		for _, role := range a.Get("roles").Elems() {
			s += " " + role.Str()
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

const founder = "operator admin auditor council operator"

// An admin enrols people over HTTP, who then act; changes what they are, and
// takes them off again. The ledger holds who did it.
//
// spec: M-80
func TestAdminEnrolsPeopleOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	wish := api.ReplayWish{Job: string(r.start(keptJob).Run)}
	from := r.governed().Head.N + 1
	for _, tt := range []struct {
		by   string
		who  api.Person
		want string
	}{
		{"operator", r.person("alice", "admin"), "alice admin, " + founder},
		{"alice", r.person("oscar", "operator", "council"), "alice admin, " + founder + ", oscar council operator"},
		{"alice", api.Person{ID: "oscar", Roles: []string{"operator"}}, "alice admin, " + founder + ", oscar operator"},
	} {
		got, err := r.enrols(tt.by, govern.Admin, tt.who)
		if err != nil || r.roles(got.Roster) != tt.want {
			t.Fatalf("Enrol(%+v) by %s = %s, %v; want %s", tt.who, tt.by, got.Roster, err, tt.want)
		}
		if g := r.governed(); g.Head != got.Head || string(g.Roster) != string(got.Roster) {
			t.Errorf("the governance is %+v, want head and roster of the answer", g)
		}
	}
	r.asked("a replay by who was enrolled", "oscar", govern.Operator, wish, http.StatusOK, "")
	if got, err := r.enrols("alice", govern.Admin, api.Person{ID: "oscar", Roles: []string{}}); err != nil || r.roles(got.Roster) != "alice admin, "+founder {
		t.Fatalf("taking oscar off = %s, %v", got.Roster, err)
	}
	if _, err := r.replay("oscar", govern.Operator, wish); fault.ClassOf(err) != fault.ClassDenied {
		t.Errorf("a replay by who was taken off = %v, want it to be denied", err)
	}
	if names := r.names(from); len(names) < 3 || strings.Join(names[:3], " ") != "govern.roster govern.roster govern.roster" {
		t.Errorf("the ledger holds %v", names)
	}
}

// What is not the word of an admin about just this roster enrols nobody, and
// nothing of it is recorded.
//
// spec: M-80
func TestNobodyElseEnrolsPeopleOverHTTP(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	r.start(keptJob)
	r.enrol("oscar", govern.Operator, govern.Auditor, govern.Council)
	before := r.governed()
	mallory := r.person("mallory", "admin")
	m, err := r.client.EnrolMatter(t.Context(), "", mallory)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := m.Matter
	elsewhere.Ledger = "another"
	other := r.person("mallory", "admin", "council")
	for _, tt := range []struct {
		what string
		who  api.Person
		act  []byte
		code string
	}{
		{"unsigned", mallory, []byte(`{}`), govern.ErrAct.Error()},
		{"signed by nobody on the roster", mallory, r.sign("mallory", govern.Admin, "enrol", m.Matter), govern.ErrUnknownActor.Error()},
		{"signed in a role that the signer has not", mallory, r.sign("oscar", govern.Admin, "enrol", m.Matter), govern.ErrRole.Error()},
		{"signed in a role that does not count", mallory, r.sign("oscar", govern.Council, "enrol", m.Matter), govern.ErrRole.Error()},
		{"with another verb", mallory, r.sign("operator", govern.Admin, "approve", m.Matter), govern.ErrVerb.Error()},
		{"in another ledger", mallory, r.sign("operator", govern.Admin, "enrol", elsewhere), govern.ErrMatter.Error()},
		{"with more roles than were signed", other, r.sign("operator", govern.Admin, "enrol", m.Matter), govern.ErrMatter.Error()},
	} {
		_, err := r.client.Enrol(t.Context(), "", tt.who, tt.act)
		r.wantCode(tt.what, err, tt.code)
	}
	for _, tt := range []struct {
		what string
		who  api.Person
		code string
	}{
		{"the key of somebody else", api.Person{ID: "mallory", Key: r.person("oscar").Key, Roles: []string{"admin"}}, govern.ErrRoster.Error()},
		{"no key", api.Person{ID: "mallory", Roles: []string{"admin"}}, govern.ErrRoster.Error()},
		{"a key that is none", api.Person{ID: "mallory", Key: strings.Repeat("z", 64), Roles: []string{"admin"}}, govern.ErrRoster.Error()},
		{"a weak key", api.Person{ID: "mallory", Key: "01" + strings.Repeat("0", 62), Roles: []string{"admin"}}, govern.ErrRoster.Error()},
		{"one role twice", api.Person{ID: "mallory", Key: mallory.Key, Roles: []string{"admin", "admin"}}, govern.ErrRoster.Error()},
		{"just the roles that they have", api.Person{ID: "oscar", Roles: []string{"council", "auditor", "operator"}}, jobs.ErrSameRoster.Error()},
		{"nobody, taken off", api.Person{ID: "mallory", Roles: []string{}}, jobs.ErrSameRoster.Error()},
	} {
		_, err := r.client.EnrolMatter(t.Context(), "", tt.who)
		r.wantCode(tt.what, err, tt.code)
	}
	_, err = r.enrols("operator", govern.Admin, api.Person{ID: "operator", Roles: []string{"auditor"}})
	r.wantCode("the last admin", err, govern.ErrRoster.Error())
	if after := r.governed(); after.Head != before.Head {
		t.Errorf("the ledger has grown to entry %d", after.Head.N)
	}
}

// An act counts once, and only for the roster that it was signed for.
func TestEnrolmentsUndoNothing(t *testing.T) {
	t.Parallel()
	r := newJobRig(t)
	r.start(keptJob)
	alice, bert := r.person("alice", "auditor"), r.person("bert", "auditor")
	signed := func(who api.Person) []byte {
		t.Helper()
		m, err := r.client.EnrolMatter(t.Context(), "", who)
		if err != nil {
			t.Fatal(err)
		}
		return r.sign("operator", govern.Admin, govern.Verb(m.Verb), m.Matter)
	}
	first, second := signed(alice), signed(bert)
	if _, err := r.client.Enrol(t.Context(), "", alice, first); err != nil {
		t.Fatal(err)
	}
	_, err := r.client.Enrol(t.Context(), "", alice, first)
	r.wantCode("the same act again", err, govern.ErrRepeated.Error())
	_, err = r.client.Enrol(t.Context(), "", bert, second)
	r.wantCode("an act about a roster without alice", err, govern.ErrMatter.Error())
	if _, err := r.client.Enrol(t.Context(), "", bert, signed(bert)); err != nil {
		t.Fatal(err)
	}
	if got, want := r.roles(r.governed().Roster), "alice auditor, bert auditor, "+founder; got != want {
		t.Errorf("the roster is %s, want %s", got, want)
	}
	// A tenant without a ledger has no admin whose word could count.
	_, err = r.client.EnrolMatter(t.Context(), "nobody", alice)
	r.wantCode("a tenant without governance", err, jobs.ErrNoGovernance.Error())
	_, err = r.client.Enrol(t.Context(), "nobody", alice, first)
	r.wantCode("a tenant without governance", err, jobs.ErrNoGovernance.Error())
}
