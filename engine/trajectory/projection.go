package trajectory

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrChange means that what a tool was asked or answered cannot become the
// change of the world that its declaration promises. Mend the declaration, or
// the tool; the world stays as it is.
const ErrChange fault.Invalid = "trajectory.bad_change"

// MaxChanges is how many changes of the world one call may make.
const MaxChanges = 1000

// WorldView is a world to read. Find returns what is alive under a kind and an
// id; retracted things are not.
type WorldView interface {
	Find(kind, id string) (version int64, value canon.Value, ok bool)
}

// Operations of a projection beyond those of the ledger.
const (
	OpPut   = "put"   // create, or replace in the version found
	OpMerge = "merge" // replace some members of an object that is there
)

// Projection says how one change of the world follows from the arguments and
// the output of a call, so that a delta is computed by pure code and by it
// alone:
//
//	{"op":"put", "kind":"reservation", "id":"{args.id}", "value":{"status":"{output.status}"}}
//
// op is create, replace, put, merge or retract, which has no value. id is a
// text with placeholders; value is any JSON in whose texts placeholders may
// stand, and a text that is one placeholder becomes what it names. each, a path
// to a list, makes a change for every element, which is then {item}.
type Projection struct {
	op    string
	kind  string
	id    template
	value *shape
	each  path
}

// Value returns the wire form of p.
func (p *Projection) Value() canon.Value {
	v := canon.Object(
		canon.M("op", canon.String(p.op)),
		canon.M("kind", canon.String(p.kind)),
		canon.M("id", canon.String(p.id.String())))
	if p.value != nil {
		v = v.With("value", p.value.source)
	}
	if p.each != nil {
		v = v.With("each", canon.String(p.each.String()))
	}
	return v
}

func (p *parser) projection(at string, v canon.Value) (Projection, error) {
	err := p.members(at, v, "op", "kind", "id", "value?", "each?")
	if err != nil {
		return Projection{}, err
	}
	out := Projection{op: v.Get("op").Str()}
	if !slices.Contains([]string{ledger.OpCreate, ledger.OpReplace, ledger.OpRetract, OpPut, OpMerge}, out.op) {
		return Projection{}, p.fail(at+"/op", "%q is no operation; there are create, replace, put, merge and retract", clip(out.op))
	}
	if v.Has("value") == (out.op == ledger.OpRetract) {
		return Projection{}, p.fail(at, "every operation but retract has a value")
	}
	if out.kind, err = p.name(at+"/kind", v.Get("kind"), "."); err != nil {
		return Projection{}, err
	}
	allowed := []string{"args", "output"}
	if v.Has("each") {
		if out.each, err = parsePath(v.Get("each").Str(), allowed); err != nil {
			return Projection{}, p.fail(at+"/each", "%v", err)
		}
		allowed = append(allowed, "item")
	}
	id, err := p.name(at+"/id", v.Get("id"), "")
	if err != nil {
		return Projection{}, err
	}
	if out.id, err = parseTemplate(id, allowed...); err != nil {
		return Projection{}, p.fail(at+"/id", "%v", err)
	}
	if v.Has("value") {
		s, err := parseShape(v.Get("value"), allowed...)
		if err != nil {
			return Projection{}, p.fail(at+"/value", "%v", err)
		}
		out.value = &s
	}
	return out, nil
}

// Delta returns what a call changes in the world, from its arguments and its
// output, both lifted. The world is as it is before the commit; changes see
// those before them. What a placeholder names and is not there is refused with
// [ErrTemplate], and a change that does not fit the world with [ErrChange].
func (t *Tool) Delta(args, output canon.Value, w WorldView) ([]ledger.Change, error) {
	d := delta{world: overlay{base: w}}
	in := roots{{"args", args}, {"output", output}}
	if t.OwnDelta {
		err := d.own(output.Get("delta"))
		return d.changes, err
	}
	for i := range t.Changes {
		p := &t.Changes[i]
		items := []canon.Value{{}}
		if p.each != nil {
			list, err := p.each.find(in)
			if err != nil {
				return nil, err
			}
			if list.Kind() != canon.KindArray {
				return nil, fault.New(ErrChange, "trajectory.Tool.Delta", "%s is %s, want a list", p.each, list.Kind())
			}
			items = list.Elems()
		}
		for _, item := range items {
			if err := d.project(p, append(slices.Clip(in), root{"item", item})); err != nil {
				return nil, err
			}
		}
	}
	return d.changes, nil
}

// delta collects changes and the world as they leave it.
type delta struct {
	world   overlay
	changes []ledger.Change
}

func (d *delta) project(p *Projection, in roots) error {
	id, err := p.id.text(in)
	if err != nil {
		return err
	}
	var value canon.Value
	if p.value != nil {
		if value, err = p.value.fill(in); err != nil {
			return err
		}
	}
	return d.add(change{op: p.op, kind: p.kind, id: id, value: value})
}

// change is a wish: an operation that may leave its version to what is found.
type change struct {
	op, kind, id string
	value        canon.Value
	expected     *int64
}

// add turns a wish into a change that the world takes.
func (d *delta) add(c change) error {
	const op = "trajectory.Tool.Delta"
	if c.id == "" || len(c.id) > canon.MaxName {
		return fault.New(ErrChange, op, "%s %s: the id has %d bytes, want 1 to %d", c.op, c.kind, len(c.id), canon.MaxName)
	}
	if len(d.changes) == MaxChanges {
		return fault.New(ErrChange, op, "more than %d changes", MaxChanges)
	}
	version, old, alive := d.world.Find(c.kind, c.id)
	switch {
	case c.op == OpPut && alive:
		c.op = ledger.OpReplace
	case c.op == OpPut:
		c.op = ledger.OpCreate
	case c.op == OpMerge && alive:
		c.op = ledger.OpReplace
		_, isNumber := decimalOf(old)
		if old.Kind() != canon.KindObject || c.value.Kind() != canon.KindObject || isNumber {
			return fault.New(ErrChange, op, "merge %s %s: both the value that is there and the new one must be objects", c.kind, c.id)
		}
		c.value = merge(old, c.value)
	}
	switch {
	case c.op == ledger.OpCreate && alive:
		return fault.New(ErrChange, op, "create %s %s: it is there, in version %d", c.kind, c.id, version)
	case c.op != ledger.OpCreate && !alive:
		return fault.New(ErrChange, op, "%s %s %s: it is not there", c.op, c.kind, c.id)
	case c.expected != nil && *c.expected != version:
		return fault.New(ErrChange, op, "%s %s %s: expects version %d, found %d", c.op, c.kind, c.id, *c.expected, version)
	}
	if !c.value.IsZero() {
		if _, err := canon.Encode(c.value, canon.Native); err != nil {
			return fault.Wrap(ErrChange, op, err, "%s %s %s: the value cannot stand in a ledger", c.op, c.kind, c.id)
		}
	}
	out := ledger.Change{Op: c.op, Kind: c.kind, ID: c.id, Version: version, Value: c.value}
	d.world.apply(out)
	d.changes = append(d.changes, out)
	return nil
}

// merge returns old with the members of v.
func merge(old, v canon.Value) canon.Value {
	for _, m := range v.Members() {
		old = old.With(m.Name, m.Value)
	}
	return old
}

// own reads the delta that a tool says itself, in the operations of the source
// (A replace and a retract name the version they expect), and put and merge.
func (d *delta) own(list canon.Value) error {
	p := parser{code: ErrChange, op: "trajectory.Tool.Delta"}
	if list.Kind() != canon.KindArray {
		return p.fail("/delta", "it is %s, want a list of changes", list.Kind())
	}
	if list.Len() > MaxChanges {
		return p.fail("/delta", "%d changes, at most %d are allowed", list.Len(), MaxChanges)
	}
	for i, e := range list.Elems() {
		at := place("/delta", i)
		c := change{op: e.Get("op").Str()}
		var err error
		switch c.op {
		case ledger.OpCreate, OpPut, OpMerge:
			err = p.members(at, e, "op", "kind", "id", "value")
		case ledger.OpReplace:
			err = p.members(at, e, "op", "kind", "id", "expected_version", "value")
		case ledger.OpRetract:
			err = p.members(at, e, "op", "kind", "id", "expected_version", "reason?")
		default:
			err = p.fail(at+"/op", "%q is no operation; there are create, replace, put, merge and retract", clip(c.op))
		}
		if err != nil {
			return err
		}
		if e.Has("expected_version") {
			n, ok := e.Get("expected_version").AsInt()
			if !ok {
				return p.fail(at+"/expected_version", "it is no integer")
			}
			c.expected = &n
		}
		if c.kind, err = p.name(at+"/kind", e.Get("kind"), "."); err != nil {
			return err
		}
		if c.id, err = p.text(at+"/id", e.Get("id")); err != nil {
			return err
		}
		c.value = e.Get("value")
		if err := d.add(c); err != nil {
			return err
		}
	}
	return nil
}

// overlay is a world with changes on top. Its base does not change.
type overlay struct {
	base  WorldView
	ahead map[thing]state
	order []thing // as they were first touched
}

type thing struct{ kind, id string }

// state is what is there under a kind and an id; version 0 is nothing.
type state struct {
	version int64
	value   canon.Value
}

func look(w WorldView, k thing) state {
	if w == nil {
		return state{}
	}
	version, value, ok := w.Find(k.kind, k.id)
	if !ok {
		return state{}
	}
	return state{version, value}
}

// Find implements [WorldView].
func (o *overlay) Find(kind, id string) (int64, canon.Value, bool) {
	k := thing{kind, id}
	s, ok := o.ahead[k]
	if !ok {
		s = look(o.base, k)
	}
	return s.version, s.value, s.version > 0
}

// apply takes a change that fits.
func (o *overlay) apply(c ledger.Change) {
	if o.ahead == nil {
		o.ahead = map[thing]state{}
	}
	k := thing{c.Kind, c.ID}
	if _, ok := o.ahead[k]; !ok {
		o.order = append(o.order, k)
	}
	next := state{c.Version + 1, c.Value}
	if c.Op == ledger.OpRetract {
		next = state{}
	}
	o.ahead[k] = next
}

// Inverse returns the changes that take back a committed delta: before is the
// world that the delta was applied to, now is the world at present. A thing
// that was changed since, and has not come back to what the delta left, is
// refused with [ErrChange]: taking back would undo the work of others. Values
// that stand in attachments are refused as well, for they are not at hand.
func Inverse(changes []ledger.Change, before, now WorldView) ([]ledger.Change, error) {
	const op = "trajectory.Inverse"
	after := overlay{base: before}
	for _, c := range changes {
		if c.Att != "" {
			return nil, fault.New(ErrChange, op, "the value of %s %s is an attachment", c.Kind, c.ID)
		}
		after.apply(c)
	}
	var out []ledger.Change
	for _, k := range slices.Backward(after.order) {
		was, left, is := look(before, k), after.ahead[k], look(now, k)
		if (left.version > 0) != (is.version > 0) || !sameState(left.value, is.value) {
			return nil, fault.New(ErrChange, op, "%s %s was changed since", k.kind, k.id)
		}
		switch {
		case was.version == 0 && is.version > 0:
			out = append(out, ledger.Change{Op: ledger.OpRetract, Kind: k.kind, ID: k.id, Version: is.version})
		case was.version > 0 && is.version == 0:
			out = append(out, ledger.Change{Op: ledger.OpCreate, Kind: k.kind, ID: k.id, Value: was.value})
		case was.version > 0 && !sameState(was.value, is.value):
			out = append(out, ledger.Change{Op: ledger.OpReplace, Kind: k.kind, ID: k.id, Version: is.version, Value: was.value})
		}
	}
	return out, nil
}

// sameState compares values as a ledger holds them; nothing equals nothing.
func sameState(a, b canon.Value) bool {
	return a.IsZero() && b.IsZero() || a.Equal(b)
}
