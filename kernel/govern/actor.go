package govern

import (
	"cmp"
	"encoding/base64"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrRoster means that a list of actors cannot be used: a name, key, role or
// tenant is not of its form, an actor or a key is there twice, or the list is
// not in its order. Mend the list.
const ErrRoster fault.Invalid = "govern.bad_roster"

// MaxActors is how many actors a roster may list.
const MaxActors = 10_000

// Role is what an actor may act as. The set is closed.
//
// Operator, Admin, Auditor and Council are the roles of the MACE document
// (M-64, M-80, M-81, M-85), which spells them as names in prose and fixes no
// wire form; here they are lower case like every closed word. Approver is
// ours: who answers what waits for a person, say for a payment, need not be
// allowed to run or replay anything.
type Role string

// The roles.
const (
	Operator Role = "operator" // runs, stops and replays
	Admin    Role = "admin"    // enrols, revokes, and sees what is redacted
	Auditor  Role = "auditor"  // reads and replays, changes nothing
	Council  Role = "council"  // decides in number, and lifts halts
	Approver Role = "approver" // answers what waits for approval
)

func (r Role) known() bool {
	switch r {
	case Operator, Admin, Auditor, Council, Approver:
		return true
	default:
		return false
	}
}

// Actor is somebody who may sign acts.
type Actor struct {
	ID     string // a name; stands in bodies only
	Key    sign.PublicKey
	Roles  []Role // at least one
	Tenant string // empty: of no tenant, which is a tenant of its own
}

// Has reports whether the actor holds one of the roles.
func (a Actor) Has(roles ...Role) bool {
	return slices.ContainsFunc(a.Roles, func(r Role) bool { return slices.Contains(roles, r) })
}

func (a Actor) value() canon.Value {
	return canon.Object(
		canon.M("id", canon.String(a.ID)),
		canon.M("key", canon.String(base64.StdEncoding.EncodeToString(a.Key.SPKI()))),
		canon.M("roles", canon.Strings(a.Roles)),
		canon.M("tenant", canon.String(a.Tenant)),
	)
}

// Roster is a list of actors. Whoever is not on it does not count. A ledger
// names its roster by [Roster.Digest], and an act is judged by the roster that
// was in force when it came.
type Roster struct {
	actors []Actor // ascending by id, each with its roles ascending
	byKey  map[canon.Digest]int
}

// NewRoster returns the roster of these actors, in any order. It refuses with
// [ErrRoster].
func NewRoster(actors ...Actor) (Roster, error) {
	const op = "govern.NewRoster"
	if len(actors) > MaxActors {
		return Roster{}, fault.New(ErrRoster, op, "%d actors are over the limit of %d", len(actors), MaxActors)
	}
	r := Roster{actors: slices.Clone(actors), byKey: make(map[canon.Digest]int, len(actors))}
	slices.SortStableFunc(r.actors, func(a, b Actor) int { return cmp.Compare(a.ID, b.ID) })
	for i := range r.actors {
		a := &r.actors[i]
		a.Roles = slices.Sorted(slices.Values(a.Roles))
		switch other, twice := r.byKey[a.Key.ID()]; {
		case !isName(a.ID):
			return Roster{}, fault.New(ErrRoster, op, "%q cannot name an actor", a.ID)
		case a.Tenant != "" && !isName(a.Tenant):
			return Roster{}, fault.New(ErrRoster, op, "%q cannot be the tenant of %q", a.Tenant, a.ID)
		case a.Key.IsZero():
			return Roster{}, fault.New(ErrRoster, op, "%q has no key", a.ID)
		case i > 0 && r.actors[i-1].ID == a.ID:
			return Roster{}, fault.New(ErrRoster, op, "%q is listed twice", a.ID)
		case twice:
			return Roster{}, fault.New(ErrRoster, op, "%q and %q have one key: their acts could not be told apart", r.actors[other].ID, a.ID)
		}
		if err := checkRoles(a.Roles); err != nil {
			return Roster{}, fault.Wrap(ErrRoster, op, err, "%q", a.ID)
		}
		r.byKey[a.Key.ID()] = i
	}
	return r, nil
}

// checkRoles refuses what is no set of roles.
func checkRoles(roles []Role) error {
	if len(roles) == 0 {
		return fault.New(ErrRoster, "govern.checkRoles", "there is no role")
	}
	for i, r := range roles {
		if !r.known() {
			return fault.New(ErrRoster, "govern.checkRoles", "unknown role %q", r)
		}
		if slices.Contains(roles[:i], r) {
			return fault.New(ErrRoster, "govern.checkRoles", "the role %q is there twice", r)
		}
	}
	return nil
}

// ParseRoster reads what [Roster.Value] writes and nothing else: actors by id,
// roles by name. It refuses with [ErrRoster].
func ParseRoster(v canon.Value) (Roster, error) {
	const op = "govern.ParseRoster"
	list := v.Get("actors")
	if list.Len() > MaxActors {
		return Roster{}, fault.New(ErrRoster, op, "%d actors are over the limit of %d", list.Len(), MaxActors)
	}
	actors := make([]Actor, list.Len())
	for i, e := range list.Elems() {
		der, err := base64.StdEncoding.Strict().DecodeString(e.Get("key").Str())
		if err != nil {
			return Roster{}, fault.Wrap(ErrRoster, op, err, "the key of actor %d", i)
		}
		a := Actor{ID: e.Get("id").Str(), Tenant: e.Get("tenant").Str()}
		if a.Key, err = sign.ParseSPKI(der); err != nil {
			return Roster{}, fault.Wrap(ErrRoster, op, err, "the key of actor %d", i)
		}
		for _, r := range e.Get("roles").Elems() {
			a.Roles = append(a.Roles, Role(r.Str()))
		}
		actors[i] = a
	}
	r, err := NewRoster(actors...)
	if err != nil {
		return Roster{}, err
	}
	if !r.Value().Equal(v) {
		return Roster{}, fault.New(ErrRoster, op, "not {actors: [{id, key, roles, tenant}], v: 1} in order and without other members")
	}
	return r, nil
}

// Value returns the roster as bodies and files hold it.
func (r Roster) Value() canon.Value {
	actors := make([]canon.Value, len(r.actors))
	for i, a := range r.actors {
		actors[i] = a.value()
	}
	return canon.Object(canon.M("actors", canon.Array(actors...)), canon.M("v", canon.Int(1)))
}

// Digest names the roster by its content.
func (r Roster) Digest() canon.Digest { return digest("reprise/roster/v1\n", r.Value()) }

// Find returns the actor of that id.
func (r Roster) Find(id string) (Actor, bool) {
	i, ok := slices.BinarySearchFunc(r.actors, id, func(a Actor, id string) int { return cmp.Compare(a.ID, id) })
	if !ok {
		return Actor{}, false
	}
	return r.actor(i), true
}

// FindKey returns the actor whose key has that id.
func (r Roster) FindKey(id canon.Digest) (Actor, bool) {
	i, ok := r.byKey[id]
	if !ok {
		return Actor{}, false
	}
	return r.actor(i), true
}

// Holders returns the actors of a tenant who hold one of the roles, by id. A
// quorum of more than that can never be reached.
func (r Roster) Holders(tenant string, roles ...Role) []Actor {
	var out []Actor
	for i, a := range r.actors {
		if a.Tenant == tenant && a.Has(roles...) {
			out = append(out, r.actor(i))
		}
	}
	return out
}

// actor returns a copy that shares nothing with the roster.
func (r Roster) actor(i int) Actor {
	a := r.actors[i]
	a.Roles = slices.Clone(a.Roles)
	return a
}
