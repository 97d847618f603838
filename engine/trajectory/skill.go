package trajectory

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

const (
	// ErrSkill means that a skill cannot be read. Mend its definition.
	ErrSkill fault.Invalid = "trajectory.bad_skill"
	// ErrParam means that a skill has no such parameter, or that a parameter
	// has a value that it does not take. The message lists what it takes.
	ErrParam fault.Invalid = "trajectory.bad_parameter"
)

// Limits on skills.
const (
	maxInstructions = 32 << 10
	maxParams       = 64
)

// Skill is a way of working that an agent is bound to: instructions, and
// limits that can only narrow its writ.
type Skill struct {
	Name         string
	Version      uint32
	Title        string
	Instructions string
	Tools        []string // scopes; empty: no further restriction
	Ceiling      Ceiling
	Cap          *Budget // nil: no further restriction
	Params       []Param
	Model        ModelHint
}

// Param is a parameter of a skill.
type Param struct {
	Key         string
	Description string
	Default     string
	Values      []string // what it takes; empty: anything
}

// ModelHint says with which model a skill works best. Empty means any.
type ModelHint struct{ Provider, Model string }

// Binding gives a parameter a value.
type Binding struct{ Key, Value string }

// Value returns the definition of s, which its id is of.
func (s *Skill) Value() canon.Value {
	limit := canon.Null()
	if s.Cap != nil {
		limit = s.Cap.Value()
	}
	params := make([]canon.Value, len(s.Params))
	for i, p := range s.Params {
		params[i] = canon.Object(
			canon.M("default", canon.String(p.Default)),
			canon.M("description", canon.String(p.Description)),
			canon.M("key", canon.String(p.Key)),
			canon.M("values", canon.Strings(p.Values)),
		)
	}
	return canon.Object(
		canon.M("budget_cap", limit),
		canon.M("ceiling", s.Ceiling.Value()),
		canon.M("instructions", canon.String(s.Instructions)),
		canon.M("model_hint", canon.Object(
			canon.M("model", canon.Text(s.Model.Model).OrNull()),
			canon.M("provider", canon.Text(s.Model.Provider).OrNull()),
		)),
		canon.M("name", canon.String(s.Name)),
		canon.M("params", canon.Array(params...)),
		canon.M("title", canon.String(s.Title)),
		canon.M("tools", scopesValue(s.Tools)),
		canon.M("version", canon.Int(int64(s.Version))),
	)
}

// ID returns the id of s.
func (s *Skill) ID() (canon.Digest, error) {
	id, err := ContentID(s.Value())
	return id, fault.Wrap(ErrSkill, "trajectory.Skill.ID", err, "the skill")
}

// ParseSkill reads what [Skill.Value] writes, with no member more or less.
func ParseSkill(v canon.Value) (Skill, error) {
	r := newRecord(v, ErrSkill, "trajectory.ParseSkill", "a skill",
		"budget_cap", "ceiling", "instructions", "model_hint", "name", "params", "title", "tools", "version")
	hint := r.sub("model_hint", "model", "provider")
	s := Skill{
		Name:         r.Name("name"),
		Version:      uint32(r.uint("version", 32)),
		Title:        r.Text("title", canon.MaxName),
		Instructions: r.Text("instructions", maxInstructions),
		Tools:        r.scopes("tools"),
		Ceiling:      r.ceiling("ceiling"),
		Model:        ModelHint{Provider: hint.nameOrNull("provider"), Model: hint.nameOrNull("model")},
	}
	r.Take("model_hint", hint.Err)
	if limit := v.Get("budget_cap"); !limit.IsNull() {
		b, err := ParseBudget(limit)
		r.Take("budget_cap", err)
		s.Cap = &b
	}
	for _, e := range r.List("params", maxParams) {
		p := newRecord(e, ErrSkill, r.Op, "a parameter of a skill", "default", "description", "key", "values")
		s.Params = append(s.Params, Param{
			Key: p.Name("key"), Description: p.Text("description", maxText),
			Default: p.Text("default", maxText), Values: p.Names("values", maxList),
		})
		r.Take("params", p.Err)
	}
	for i, p := range s.Params {
		if strings.ContainsAny(p.Key, "{}") {
			r.Fail("the parameter %q has a brace in its name", p.Key)
		}
		if _, twice := s.param(p.Key, i); twice {
			r.Fail("the parameter %q is there twice", p.Key)
		}
	}
	if r.Err != nil {
		return Skill{}, r.Err
	}
	return s, nil
}

// param finds a parameter among the first n.
func (s *Skill) param(key string, n int) (Param, bool) {
	for _, p := range s.Params[:n] {
		if p.Key == key {
			return p, true
		}
	}
	return Param{}, false
}

// Bind returns the instructions with each {key} of a parameter replaced by the
// value it is given, else by its default. What a value holds is not replaced
// again, and braces around anything else stay. A parameter that the skill does
// not have, that is given twice, or that does not take the value is refused.
func (s *Skill) Bind(given []Binding) (string, error) {
	const op = "trajectory.Skill.Bind"
	for i, b := range given {
		if _, ok := s.param(b.Key, len(s.Params)); !ok {
			return "", fault.New(ErrParam, op, "skill %s has no parameter %q", s.Name, b.Key)
		}
		if slices.ContainsFunc(given[:i], func(x Binding) bool { return x.Key == b.Key }) {
			return "", fault.New(ErrParam, op, "the parameter %q is given twice", b.Key)
		}
	}
	var pairs []string
	for _, p := range s.Params {
		value := p.Default
		if i := slices.IndexFunc(given, func(b Binding) bool { return b.Key == p.Key }); i >= 0 {
			value = given[i].Value
		}
		if len(p.Values) > 0 && !slices.Contains(p.Values, value) {
			return "", fault.New(ErrParam, op, "the parameter %q of skill %s takes %s, not %q", p.Key, s.Name, strings.Join(p.Values, ", "), value)
		}
		pairs = append(pairs, "{"+p.Key+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(s.Instructions), nil
}

// Narrow returns what both g and s allow. The result is within g whatever the
// skill says.
func (s *Skill) Narrow(g Grant) Grant {
	out := Grant{Scopes: g.Scopes, Ceiling: g.Ceiling.And(s.Ceiling), Budget: g.Budget}
	if len(s.Tools) > 0 {
		out.Scopes = intersect(g.Scopes, s.Tools)
	}
	if s.Cap != nil {
		out.Budget = g.Budget.Min(*s.Cap)
	}
	return out
}

// intersect returns scopes that cover exactly the tools that both a and b
// cover. Of two scopes that have a tool in common one covers the other.
func intersect(a, b []string) []string {
	var out []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case covers(x, y):
				out = append(out, y)
			case covers(y, x):
				out = append(out, x)
			}
		}
	}
	return dedupe(out)
}
