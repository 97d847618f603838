package trajectory

import (
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Policy is an ordered list of rules over an intent, the writ it is made under
// and the world it would change. It is data: what it says is all it does, and
// two that say the same have the same bytes.
type Policy struct {
	Name    string
	Version string
	Rules   []Rule
}

// Rule is one rule of a policy: when its condition holds, its ruling decides.
// On the wire the ruling is {"kind":"deny","reason":…}, flat, while a trace
// nests it ([Ruling.Value]).
type Rule struct {
	Name   string
	When   Condition
	Ruling Ruling
}

// ID returns the name under which a policy stands in a trace and in
// fingerprints: name@version.
func (p *Policy) ID() string { return p.Name + "@" + p.Version }

// Evaluate returns the ruling of the first rule whose condition holds, and the
// name of that rule. Without one it permits and names no rule: a policy
// restricts what a writ allows, and a policy that should refuse by default
// ends in a rule that denies when {"all":[]}.
func (p *Policy) Evaluate(f Fields) (Ruling, string) {
	for i := range p.Rules {
		if r := &p.Rules[i]; r.When.Holds(f) {
			return r.Ruling, r.Name
		}
	}
	return Ruling{Kind: Permit}, ""
}

// Value returns p in its wire form, which is what a bundle signs.
func (p *Policy) Value() canon.Value {
	rules := make([]canon.Value, len(p.Rules))
	for i := range p.Rules {
		r := &p.Rules[i]
		rules[i] = canon.Object(
			canon.M("name", canon.String(r.Name)),
			canon.M("when", r.When.Value()),
			canon.M("decision", flatRuling(r.Ruling)))
	}
	return canon.Object(
		canon.M("name", canon.String(p.Name)),
		canon.M("version", canon.String(p.Version)),
		canon.M("rules", canon.Array(rules...)))
}

func flatRuling(r Ruling) canon.Value {
	members := []canon.Member{canon.M("kind", canon.String(string(r.Kind)))}
	if r.Kind == RequireApproval {
		members = append(members, canon.M("channel", canon.String(r.Channel)))
	}
	if r.Kind != Permit {
		members = append(members, canon.M("reason", canon.String(r.Reason)))
	}
	return canon.Object(members...)
}

// Fields is what a condition may ask about. Intent and Writ are the wire forms
// of their bodies; values in them and in the world may be lifted. A nil World
// is empty.
type Fields struct {
	Intent canon.Value
	Writ   canon.Value
	World  WorldView
}

// Operator compares a field with the value of a condition.
type Operator string

// The operators. The four that order compare two numbers, exactly, or two
// strings by their bytes, and hold for nothing else.
const (
	OpEq         Operator = "eq"
	OpNe         Operator = "ne"
	OpGt         Operator = "gt"
	OpLt         Operator = "lt"
	OpGte        Operator = "gte"
	OpLte        Operator = "lte"
	OpContains   Operator = "contains" // a text in a text, or an element of a list
	OpStartsWith Operator = "starts_with"
	OpIn         Operator = "in" // an element of the list that is the value
)

// Condition is a test over [Fields]. The zero Condition never holds. One is
// read by [ParsePolicy] or [ParseTool] and does not change.
//
//	{"all":[…]}  {"any":[…]}  {"not":…}  {"field":…, "op":…, "value":…}
//
// A field is intent.target, intent.author, intent.kind, intent.args.KEY,
// writ.tenant_id, writ.subject, writ.issuer, world.KIND.ID or
// world.KIND.ID.version, where ID is all that follows the kind. What cannot be
// resolved makes its test false, ne too, so that not over it is true.
//
// Beyond the source's language an ID may hold {intent.args.KEY} and the like,
// which name the thing that the intent is about, and a member pointer (RFC
// 6901) goes into the value of the field.
type Condition struct {
	form  conditionForm
	parts []Condition
	test  test
}

type conditionForm uint8

const (
	formNever conditionForm = iota
	formAll
	formAny
	formNot
	formTest
)

// test is a leaf of a condition.
type test struct {
	field   string // as it was written
	path    fieldPath
	pointer string
	op      Operator
	value   canon.Value
}

// fieldPath is a field, taken apart. A placeholder is filled in after that,
// so that no argument can turn a thing's value into its version.
type fieldPath struct {
	root    string // intent, writ or world
	name    string // member of the intent or writ; args for an argument
	key     string // of an argument
	kind    string // of a thing in the world
	id      template
	version bool
}

// Holds reports whether the condition is met.
func (c *Condition) Holds(f Fields) bool {
	switch c.form {
	case formAll:
		for i := range c.parts {
			if !c.parts[i].Holds(f) {
				return false
			}
		}
		return true
	case formAny:
		for i := range c.parts {
			if c.parts[i].Holds(f) {
				return true
			}
		}
		return false
	case formNot:
		return !c.parts[0].Holds(f)
	case formTest:
		return c.test.holds(f)
	default:
		return false
	}
}

// Value returns the wire form of c.
func (c *Condition) Value() canon.Value {
	parts := make([]canon.Value, len(c.parts))
	for i := range c.parts {
		parts[i] = c.parts[i].Value()
	}
	switch c.form {
	case formAll:
		return canon.Object(canon.M("all", canon.Array(parts...)))
	case formAny:
		return canon.Object(canon.M("any", canon.Array(parts...)))
	case formNot:
		return canon.Object(canon.M("not", parts[0]))
	case formTest:
		v := canon.Object(
			canon.M("field", canon.String(c.test.field)),
			canon.M("op", canon.String(string(c.test.op))),
			canon.M("value", c.test.value))
		if c.test.pointer != "" {
			v = v.With("pointer", canon.String(c.test.pointer))
		}
		return v
	default:
		return canon.Object(canon.M("any", canon.Array()))
	}
}

func (t *test) holds(f Fields) bool {
	v, ok := t.path.resolve(f)
	if ok && t.pointer != "" {
		v, ok = v.Pointer(t.pointer)
	}
	if !ok {
		return false
	}
	switch t.op {
	case OpEq:
		return same(v, t.value)
	case OpNe:
		return !same(v, t.value)
	case OpContains:
		if text, ok := v.AsString(); ok {
			part, ok := t.value.AsString()
			return ok && strings.Contains(text, part)
		}
		return contains(v, t.value)
	case OpStartsWith:
		text, ok := v.AsString()
		return ok && strings.HasPrefix(text, t.value.Str())
	case OpIn:
		return contains(t.value, v)
	default:
		return t.orders(v)
	}
}

func contains(list, v canon.Value) bool {
	for _, e := range list.Elems() {
		if same(e, v) {
			return true
		}
	}
	return false
}

func (t *test) orders(v canon.Value) bool {
	var c int
	a, isNumber := decimalOf(v)
	b, wantNumber := decimalOf(t.value)
	text, isText := v.AsString()
	other, wantText := t.value.AsString()
	switch {
	case isNumber && wantNumber:
		c = a.compare(b)
	case isText && wantText:
		c = strings.Compare(text, other)
	default:
		return false
	}
	switch t.op {
	case OpGt:
		return c > 0
	case OpLt:
		return c < 0
	case OpGte:
		return c >= 0
	case OpLte:
		return c <= 0
	default:
		return false
	}
}

func (p *fieldPath) resolve(f Fields) (canon.Value, bool) {
	var v canon.Value
	switch p.root {
	case "intent":
		if v = f.Intent.Get(p.name); p.name == "args" {
			v = v.Get(p.key)
		}
	case "writ":
		v = f.Writ.Get(p.name)
	case "world":
		id, err := p.id.text(f.roots())
		if err != nil || f.World == nil {
			return canon.Value{}, false
		}
		version, value, ok := f.World.Find(p.kind, id)
		if !ok {
			return canon.Value{}, false
		}
		if v = value; p.version {
			v = canon.Int(version)
		}
	}
	return v, !v.IsZero()
}

// roots names what the placeholders of a condition can reach.
func (f Fields) roots() roots {
	return roots{{"intent", f.Intent}, {"writ", f.Writ}}
}
