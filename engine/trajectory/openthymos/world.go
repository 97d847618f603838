package openthymos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of the world.
const (
	// ErrDelta means that a committed delta does not fit the world it is
	// applied to: it creates what is or was there, or replaces or retracts
	// what is not there in the version it expects (T-25). Trust neither the
	// commit nor what follows.
	ErrDelta fault.Integrity = "openthymos.bad_delta"
	// ErrWorldMismatch means that the observed world is not the one that the
	// commits add up to. Trust the ledger or the observation, not both.
	ErrWorldMismatch fault.Integrity = "openthymos.world_mismatch"
	// ErrObserved means that an observed world cannot be read. Give the answer
	// of GET /world, or a world hash.
	ErrObserved fault.Invalid = "openthymos.bad_observation"
)

// Resource is one thing of a world. One that was retracted keeps its last
// value.
type Resource struct {
	Kind, ID   string
	Version    uint64
	Value      canon.Value
	Retracted  bool
	LastCommit canon.Digest // zero in an observation that does not say it
}

func (r *Resource) value() canon.Value {
	return canon.Object(
		canon.M("id", canon.String(r.ID)),
		canon.M("kind", canon.String(r.Kind)),
		canon.M("last_commit", canon.String(r.LastCommit.String())),
		canon.M("retracted", canon.Bool(r.Retracted)),
		canon.M("value", r.Value),
		canon.M("version", number(r.Version)),
	)
}

// WorldHash returns the hash of a world that is sorted by kind and id. Of the
// empty world it is the one that OpenThymos prints. Of any other OpenThymos
// has none (its serializer fails), so it is ours: BLAKE3 over the canonical
// form of {"resources":[…],"world":"reprise/openthymos-world/v1"}, with all
// members of every resource, retracted ones included.
func WorldHash(resources []Resource) (canon.Digest, error) {
	world := canon.Object(canon.M("resources", canon.Object()))
	if len(resources) > 0 {
		list := make([]canon.Value, len(resources))
		for i := range resources {
			list[i] = resources[i].value()
		}
		world = canon.Object(canon.M("resources", canon.Array(list...)), canon.M("world", canon.String("reprise/openthymos-world/v1")))
	}
	b, err := canon.Encode(world, canon.ThymosSerde)
	return canon.BLAKE3(b), err
}

// Observation is a world as somebody saw it: its hash, or else its resources.
type Observation struct {
	Hash      canon.Digest // zero: the resources count
	Resources []Resource
}

// ParseObservation reads a world: the text of a hash, a list of resources
// {kind, id, version, value, retracted?, last_commit?}, or an object that has
// one as its member resources, which is the answer of GET /world.
func ParseObservation(v canon.Value) (*Observation, error) {
	const op = "openthymos.ParseObservation"
	if s, ok := v.AsString(); ok {
		d, err := canon.ParseDigest(s)
		if err != nil {
			return nil, fault.Wrap(ErrObserved, op, err, "not a world hash")
		}
		return &Observation{Hash: d}, nil
	}
	if v.Kind() == canon.KindObject {
		v = v.Get("resources")
	}
	if v.Kind() == canon.KindObject && v.Len() == 0 {
		v = canon.Array() // the empty world as OpenThymos hashes it
	}
	if v.Kind() != canon.KindArray {
		return nil, fault.New(ErrObserved, op, "neither a world hash nor a list of resources")
	}
	f := record(
		has("kind", &form{kind: textForm}), has("id", &form{kind: textForm}), has("version", &form{kind: countForm}),
		has("value", &form{kind: anyForm}),
		may("retracted", &form{kind: boolForm}), may("last_commit", &form{kind: idForm}),
	)
	o := &Observation{Resources: make([]Resource, v.Len())}
	for i, e := range v.Elems() {
		if _, err := (&reading{}).value(f, e); err != nil {
			return nil, fault.New(ErrObserved, op, "resources/%d: %v", i, err)
		}
		r := &o.Resources[i]
		r.Kind, r.ID, r.Value = e.Get("kind").Str(), e.Get("id").Str(), e.Get("value")
		r.Version, _ = count(e.Get("version"))
		r.Retracted, _ = e.Get("retracted").AsBool()
		if s, ok := e.Get("last_commit").AsString(); ok {
			r.LastCommit = digest(s)
		}
	}
	slices.SortFunc(o.Resources, compareResources)
	for i := 1; i < len(o.Resources); i++ {
		if compareResources(o.Resources[i-1], o.Resources[i]) == 0 {
			return nil, fault.New(ErrObserved, op, "%s:%s stands twice", o.Resources[i].Kind, o.Resources[i].ID)
		}
	}
	return o, nil
}

func compareResources(a, b Resource) int {
	if c := strings.Compare(a.Kind, b.Kind); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// world is the projection of committed deltas.
type world struct{ items map[resourceKey]*Resource }

type resourceKey struct{ kind, id string }

func (w *world) list() []Resource {
	keys := slices.SortedFunc(maps.Keys(w.items), func(a, b resourceKey) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	out := make([]Resource, len(keys))
	for i, k := range keys {
		out[i] = *w.items[k]
	}
	return out
}

// misapplied says why a change does not fit: in the words of OpenThymos, and
// whether that is its conflict of versions.
type misapplied struct {
	text     string
	conflict bool
	expected string
	found    string
}

// apply applies one change of a delta, which has its form. What was retracted
// can be replaced and retracted again if lenient is set, as it can upstream.
func (w *world) apply(c canon.Value, commit canon.Digest, lenient bool) *misapplied {
	op, key := c.Get("op").Str(), resourceKey{c.Get("kind").Str(), c.Get("id").Str()}
	name := key.kind + ":" + key.id
	old := w.items[key]
	if op == "create" {
		if old != nil {
			return &misapplied{text: "create collided on existing resource " + name, expected: "nothing", found: old.state()}
		}
		if w.items == nil {
			w.items = map[resourceKey]*Resource{}
		}
		w.items[key] = &Resource{Kind: key.kind, ID: key.id, Version: 1, Value: c.Get("value"), LastCommit: commit}
		return nil
	}
	if old == nil {
		return &misapplied{text: op + " on missing " + name, expected: "a resource", found: "nothing"}
	}
	version, _ := count(c.Get("expected_version"))
	if old.Version != version {
		return &misapplied{
			text:     fmt.Sprintf("cas conflict on %s (expected v%d, found v%d)", name, version, old.Version),
			conflict: true, expected: fmt.Sprintf("version %d", version), found: old.state(),
		}
	}
	if old.Retracted && !lenient {
		return &misapplied{text: op + " on retracted " + name, expected: "a resource that is alive", found: old.state()}
	}
	next := *old
	next.Version++
	next.LastCommit = commit
	if op == "retract" {
		next.Retracted = true
	} else {
		next.Value = c.Get("value")
	}
	w.items[key] = &next
	return nil
}

func (r *Resource) state() string {
	if r.Retracted {
		return fmt.Sprintf("version %d, retracted", r.Version)
	}
	return fmt.Sprintf("version %d", r.Version)
}

// differ returns the first place where an observed world is not the one that
// was rebuilt; both are sorted. What was retracted must be absent or marked.
func differ(rebuilt, observed []Resource) (where, expected, found string, ok bool) {
	i, j := 0, 0
	for i < len(rebuilt) || j < len(observed) {
		var c int
		switch {
		case i == len(rebuilt):
			c = 1
		case j == len(observed):
			c = -1
		default:
			c = compareResources(rebuilt[i], observed[j])
		}
		if c > 0 {
			o := observed[j]
			return o.Kind + ":" + o.ID, "nothing", o.state(), true
		}
		r := rebuilt[i]
		i++
		if c < 0 {
			if !r.Retracted {
				return r.Kind + ":" + r.ID, r.state(), "nothing", true
			}
			continue
		}
		o := observed[j]
		j++
		switch {
		case r.Version != o.Version || r.Retracted != o.Retracted:
			return r.Kind + ":" + r.ID, r.state(), o.state(), true
		case !r.Value.Equal(o.Value):
			return r.Kind + ":" + r.ID, r.Value.String(), o.Value.String(), true
		case !o.LastCommit.IsZero() && o.LastCommit != r.LastCommit:
			return r.Kind + ":" + r.ID, "last commit " + r.LastCommit.String(), "last commit " + o.LastCommit.String(), true
		}
	}
	return "", "", "", false
}

// digest reads the text of an id that has its form.
func digest(s string) canon.Digest {
	d, _ := canon.ParseDigest(s)
	return d
}
