package trajectory

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrIntent means that an intent cannot be read. It comes from a model: tell
// it what is wrong and let it try again.
const ErrIntent fault.Invalid = "trajectory.bad_intent"

// IntentKind says what an intent is for.
type IntentKind string

// The kinds. Act, memory_promote and delegate compile; the others are thought
// aloud and lead to nothing.
const (
	IntentPlan          IntentKind = "plan"
	IntentAct           IntentKind = "act"
	IntentQuery         IntentKind = "query"
	IntentDelegate      IntentKind = "delegate"
	IntentMemoryPromote IntentKind = "memory_promote"
	IntentReconcile     IntentKind = "reconcile"
)

func (k IntentKind) known() bool {
	switch k {
	case IntentPlan, IntentAct, IntentQuery, IntentDelegate, IntentMemoryPromote, IntentReconcile:
		return true
	}
	return false
}

// Intent is what a model asks for: all that it can do.
type Intent struct {
	Parent    *canon.Digest // the commit that it was thought up on; nil before the first
	Author    string
	Kind      IntentKind
	Target    string      // of act: the tool
	Args      canon.Value // lifted
	Rationale string
	Nonce     [16]byte // tells twins apart

	// Routing is the word of an adviser, or absent. It is no part of the id:
	// who was asked does not change what was asked for.
	Routing canon.Value
}

// Value returns the body of i, which its id is of.
func (i *Intent) Value() canon.Value {
	parent := canon.Null()
	if i.Parent != nil {
		parent = canon.String(i.Parent.String())
	}
	return canon.Object(
		canon.M("args", i.Args.OrNull()),
		canon.M("author", canon.String(i.Author)),
		canon.M("kind", canon.String(string(i.Kind))),
		canon.M("nonce", nonceValue(i.Nonce)),
		canon.M("parent_commit", parent),
		canon.M("rationale", canon.String(i.Rationale)),
		canon.M("target", canon.String(i.Target)),
	)
}

// ID returns the id of i.
func (i *Intent) ID() (canon.Digest, error) {
	id, err := ContentID(i.Value())
	return id, fault.Wrap(ErrIntent, "trajectory.Intent.ID", err, "the intent")
}

// Entry returns the form in which an entry holds i: its body, its id, and the
// routing evidence if there is some.
func (i *Intent) Entry() (canon.Value, error) {
	id, err := i.ID()
	if err != nil {
		return canon.Value{}, err
	}
	return named(id, i.Value(), i.Routing), nil
}

// ParseIntent reads what [Intent.Value] writes, with no member more or less.
// The arguments must be lifted.
func ParseIntent(v canon.Value) (Intent, error) {
	r := newRecord(v, ErrIntent, "trajectory.ParseIntent", "an intent",
		"args", "author", "kind", "nonce", "parent_commit", "rationale", "target")
	i := Intent{
		Author:    r.Name("author"),
		Kind:      IntentKind(r.Name("kind")),
		Target:    r.Text("target", canon.MaxName),
		Args:      r.args("args"),
		Rationale: r.Text("rationale", maxText),
		Nonce:     r.nonce("nonce"),
	}
	if !v.Get("parent_commit").IsNull() {
		parent := r.Digest("parent_commit")
		i.Parent = &parent
	}
	if !i.Kind.known() {
		r.Fail("%q is no kind of intent", i.Kind)
	}
	if r.Err != nil {
		return Intent{}, r.Err
	}
	return i, nil
}

// ParseIntentEntry reads what [Intent.Entry] writes and refuses an id that is
// not that of the body.
func ParseIntentEntry(v canon.Value) (Intent, error) {
	r := newNamed(v, ErrIntent, "trajectory.ParseIntentEntry", "an intent")
	if r.Err != nil {
		return Intent{}, r.Err
	}
	i, err := ParseIntent(v.Get("body"))
	if err != nil {
		return Intent{}, err
	}
	i.Routing = r.routing()
	id, err := i.ID()
	r.Take("body", err)
	r.same(id)
	if r.Err != nil {
		return Intent{}, r.Err
	}
	return i, nil
}

// args reads lifted arguments.
func (r record) args(name string) canon.Value {
	v := r.Value.Get(name)
	if _, err := Lower(v); err != nil {
		r.Take(name, err)
		return v
	}
	b, err := canon.Encode(v, canon.Native)
	r.Take(name, err)
	if len(b) > maxArgs {
		r.Fail("the arguments are %d bytes long; at most %d are allowed", len(b), maxArgs)
	}
	return v
}

// named is something with its id beside it.
func named(id canon.Digest, body, routing canon.Value) canon.Value {
	return canon.Object(
		canon.M("body", body),
		canon.M("id", canon.String(id.String())),
		canon.M("routing_evidence", routing),
	)
}

func newNamed(v canon.Value, code fault.Code, op, what string) record {
	return newRecord(v, code, op, what, "body", "id", "routing_evidence?")
}

// routing reads the routing evidence that stands beside a body.
func (r record) routing() canon.Value {
	v := r.Value.Get("routing_evidence")
	if !v.IsZero() {
		r.Take("routing_evidence", CheckRouting(v))
	}
	return v
}

// same refuses a record whose id is not the one computed.
func (r record) same(id canon.Digest) {
	if claimed := r.Digest("id"); claimed != id {
		r.Fail("%s claims the id %s and is %s", r.What, claimed, id)
	}
}
