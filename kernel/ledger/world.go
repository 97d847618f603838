package ledger

import (
	"maps"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrDelta means that a committed delta does not fit the world it is applied
// to: it creates what is there, or replaces or retracts what is not there in
// the version it expects (T-25).
const ErrDelta fault.Integrity = "ledger.bad_delta"

// The operations of a delta.
const (
	OpCreate  = "create"
	OpReplace = "replace"
	OpRetract = "retract"
)

// worldTag separates world hashes from every other use of SHA-256.
const worldTag = "reprise/world/v1\n"

// NewWorldValue returns the digest that stands for the bytes of an attachment
// in a world: HMAC-SHA256 under a fixed key, so that equal worlds have equal
// hashes whatever the salts of their ledgers.
func NewWorldValue() *canon.Binder {
	key := canon.Salt(canon.Hash(worldTag, []byte("attachment")))
	return canon.NewBinder(&key)
}

// Change is one operation of a commit's delta. Versions count from 1; a
// replace or retract names the version it expects.
type Change struct {
	Op      string
	Kind    string
	ID      string
	Version int64       // expected by replace and retract
	Value   canon.Value // of create and replace, unless Att names an attachment
	Att     string
}

// Encode returns c as a delta holds it.
func (c Change) Encode() canon.Value {
	v := canon.Object(
		canon.M("id", canon.String(c.ID)),
		canon.M("kind", canon.String(c.Kind)),
		canon.M("op", canon.String(c.Op)),
		canon.M("value", c.Value),
	)
	if c.Att != "" {
		v = v.With("att", canon.String(c.Att))
	}
	if c.Version > 0 {
		v = v.With("version", canon.Int(c.Version))
	}
	return v
}

// ParseDelta reads the member delta of a commit.
func ParseDelta(v canon.Value) ([]Change, error) {
	const op = "ledger.ParseDelta"
	if v.Kind() != canon.KindArray {
		return nil, fault.New(ErrBody, op, "delta is not a list of changes")
	}
	out := make([]Change, v.Len())
	for i, e := range v.Elems() {
		c := Change{Op: e.Get("op").Str(), Kind: e.Get("kind").Str(), ID: e.Get("id").Str(), Value: e.Get("value"), Att: e.Get("att").Str()}
		c.Version, _ = e.Get("version").AsInt()
		hasValue := !c.Value.IsZero() || c.Att != ""
		members := 3
		for _, has := range []bool{!c.Value.IsZero(), c.Att != "", c.Version > 0} {
			if has {
				members++
			}
		}
		switch {
		case e.Len() != members:
			return nil, fault.New(ErrBody, op, "delta/%d has members that a change does not have, or an empty one", i)
		case c.Kind == "" || c.ID == "":
			return nil, fault.New(ErrBody, op, "delta/%d names no kind or no id", i)
		case c.Op == OpCreate && hasValue && c.Version == 0:
		case c.Op == OpReplace && hasValue && c.Version > 0:
		case c.Op == OpRetract && !hasValue && c.Version > 0:
		default:
			return nil, fault.New(ErrBody, op, "delta/%d is not a create with a value, a replace with a value and a version, or a retract with a version", i)
		}
		if !c.Value.IsZero() && c.Att != "" {
			return nil, fault.New(ErrBody, op, "delta/%d has two values", i)
		}
		out[i] = c
	}
	return out, nil
}

// World is the projection of committed deltas: what exists, by kind and id
// (T-02). The zero World is empty. It grows with what is alive, not with the
// ledger.
type World struct {
	items   map[worldKey]item
	unknown int64 // values that were erased or withheld
}

type worldKey struct{ kind, id string }

type item struct {
	version int64
	value   []byte // canonical; for an attachment the digest of its bytes
	absent  bool
}

// Item is one thing that is alive.
type Item struct {
	Kind, ID string
	Version  int64
	Value    []byte // canonical JSON, or nil if absent
}

// Apply applies one change. The digest of an attachment's bytes stands for
// its value; a nil one says that the bytes are absent.
func (w *World) Apply(c Change, attached *canon.Digest) error {
	const op = "ledger.World.Apply"
	key := worldKey{c.Kind, c.ID}
	old, alive := w.items[key]
	switch {
	case c.Op == OpCreate && alive:
		return fault.New(ErrDelta, op, "create %s %s: it is there, in version %d", c.Kind, c.ID, old.version)
	case c.Op != OpCreate && !alive:
		return fault.New(ErrDelta, op, "%s %s %s: it is not there", c.Op, c.Kind, c.ID)
	case c.Op != OpCreate && old.version != c.Version:
		return fault.New(ErrDelta, op, "%s %s %s: expects version %d, found %d", c.Op, c.Kind, c.ID, c.Version, old.version)
	}
	if old.absent {
		w.unknown--
	}
	if c.Op == OpRetract {
		delete(w.items, key)
		return nil
	}
	next := item{version: old.version + 1}
	switch {
	case c.Att != "" && attached == nil:
		next.absent = true
		w.unknown++
	case c.Att != "":
		next.value = canon.AppendString(nil, attached.String())
	default:
		b, err := canon.Encode(c.Value, canon.Native)
		if err != nil {
			return fault.Wrap(ErrDelta, op, err, "the value of %s %s", c.Kind, c.ID)
		}
		next.value = b
	}
	if w.items == nil {
		w.items = map[worldKey]item{}
	}
	w.items[key] = next
	return nil
}

// Clone returns a copy that changes on its own.
func (w *World) Clone() World { return World{items: maps.Clone(w.items), unknown: w.unknown} }

// Find returns what is alive under that kind and id.
func (w *World) Find(kind, id string) (Item, bool) {
	it, ok := w.items[worldKey{kind, id}]
	return Item{Kind: kind, ID: id, Version: it.version, Value: it.value}, ok
}

// Len returns how many things are alive, and of how many of them the value is
// absent.
func (w *World) Len() (alive, absent int64) { return int64(len(w.items)), w.unknown }

// Items returns what is alive, sorted by kind and id.
func (w *World) Items() []Item {
	keys := slices.SortedFunc(maps.Keys(w.items), func(a, b worldKey) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	out := make([]Item, len(keys))
	for i, k := range keys {
		it := w.items[k]
		out[i] = Item{Kind: k.kind, ID: k.id, Version: it.version, Value: it.value}
	}
	return out
}

// Hash returns the digest of the world: over one canonical line
// [kind, id, version, value] for each item, in order. ok is false if a value
// is absent; then there is no hash.
func (w *World) Hash() (d canon.Digest, ok bool) {
	if w.unknown > 0 {
		return d, false
	}
	var lines []byte
	for _, it := range w.Items() {
		lines = append(lines, '[')
		lines = canon.AppendString(lines, it.Kind)
		lines = append(lines, ',')
		lines = canon.AppendString(lines, it.ID)
		lines = append(lines, ',')
		lines = appendInt(lines, it.Version)
		lines = append(lines, ',')
		lines = append(lines, it.Value...)
		lines = append(lines, ']', '\n')
	}
	return canon.Hash(worldTag, lines), true
}
