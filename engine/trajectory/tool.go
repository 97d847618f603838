package trajectory

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrTool means that the declaration of a tool, or a list of them, is not in
// its form or contradicts itself. Mend it; the tool is not offered.
const ErrTool fault.Invalid = "trajectory.bad_tool"

// Limits of a registry.
const (
	MaxTools         = 10_000
	maxPreconditions = 256
	maxProjections   = 256
)

// Effect is what a tool may do, in the words of a writ's ceiling.
type Effect string

// The effects, from harmless to final.
const (
	EffectRead         Effect = "read"
	EffectWrite        Effect = "write"
	EffectExternal     Effect = "external"
	EffectIrreversible Effect = "irreversible"
)

// Class returns the class of the calls that a tool of this effect becomes. A
// write counts as external: its call must be durable before it leaves.
func (e Effect) Class() effect.Class {
	switch e {
	case EffectRead:
		return effect.Read
	case EffectWrite, EffectExternal:
		return effect.External
	default:
		return effect.Irreversible
	}
}

// Risk is how much a tool can hurt, as its owner sees it; "" says nothing.
type Risk string

// The risks.
const (
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

// rank orders risks; what is not a risk ranks below all.
func (r Risk) rank() int {
	return slices.Index([]Risk{"", RiskLow, RiskMedium, RiskHigh, RiskCritical}, r)
}

// Valid reports whether r is one of the risks or "".
func (r Risk) Valid() bool { return r.rank() >= 0 }

// AtLeast reports whether r reaches a threshold. Without a threshold nothing
// does, and a risk of "" reaches none.
func (r Risk) AtLeast(threshold Risk) bool {
	return threshold.rank() > 0 && r.rank() >= threshold.rank()
}

// Tool declares what an intent can ask for and what becomes of it. Nothing in
// it runs: Transport tells the shell how to call.
type Tool struct {
	Name        string
	Version     string
	Description string
	Effect      Effect
	Risk        Risk
	Args        Schema
	Estimate    Budget
	When        []Precondition
	Changes     []Projection
	OwnDelta    bool // the member delta of the output says what changes
	Undo        *Undo
	Transport   canon.Value // opaque here
}

// Precondition is a condition that must hold before a tool is called, and the
// sentence that is said where it does not.
type Precondition struct {
	Text string
	When Condition
}

// Undo says how a call is taken back: by the inverse of its changes
// ([Inverse]), or by another tool.
type Undo struct {
	Inverse bool
	Tool    string // where it is not the inverse
	args    shape
}

// Args returns the arguments of the tool that takes a call back.
func (u *Undo) Args(args, output canon.Value) (canon.Value, error) {
	return u.args.fill(roots{{"args", args}, {"output", output}})
}

// ownDelta is what the member changes says when the tool says the rest.
const ownDelta = "output.delta"

// undoInverse is what the member undo says for [Undo.Inverse].
const undoInverse = "inverse"

// ParseTool reads the declaration of a tool:
//
//	{"name", "version", "description"?, "effect", "risk"?, "args": schema, "estimate": budget,
//	 "when"?: [{"text", "condition"}], "changes"?: [projection] | "output.delta",
//	 "undo"?: "inverse" | {"tool", "args"}, "transport"}
//
// It refuses with [ErrTool] what contradicts itself: a tool that only reads
// and yet changes the world, and one that acts elsewhere and would take that
// back in the world alone. Errors of its schema have [ErrSchema].
func ParseTool(v canon.Value) (Tool, error) {
	p := parser{code: ErrTool, op: "trajectory.ParseTool"}
	return p.tool(v)
}

func (p *parser) tool(v canon.Value) (Tool, error) {
	err := p.members("", v, "name", "version", "description?", "effect", "risk?", "args", "estimate", "when?", "changes?", "undo?", "transport")
	if err != nil {
		return Tool{}, err
	}
	t := Tool{
		Effect:    Effect(v.Get("effect").Str()),
		Risk:      Risk(v.Get("risk").Str()),
		Transport: v.Get("transport"),
	}
	if t.Name, err = p.name("/name", v.Get("name"), "*@"); err != nil {
		return Tool{}, err
	}
	if t.Version, err = p.name("/version", v.Get("version"), "@"); err != nil {
		return Tool{}, err
	}
	if v.Has("description") {
		if t.Description, err = p.text("/description", v.Get("description")); err != nil {
			return Tool{}, err
		}
	}
	if !slices.Contains([]Effect{EffectRead, EffectWrite, EffectExternal, EffectIrreversible}, t.Effect) {
		return Tool{}, p.fail("/effect", "%q is no effect; there are read, write, external and irreversible", clip(string(t.Effect)))
	}
	if v.Has("risk") && t.Risk.rank() <= 0 {
		return Tool{}, p.fail("/risk", "%q is no risk; there are low, medium, high and critical", clip(string(t.Risk)))
	}
	if t.Transport.Kind() != canon.KindObject {
		return Tool{}, p.fail("/transport", "it is %s, want an object", t.Transport.Kind())
	}
	if t.Args, err = ParseSchema(v.Get("args")); err != nil {
		return Tool{}, fault.Wrap(ErrSchema, p.op, err, "the arguments of %s", t.Name)
	}
	if t.Estimate, err = ParseBudget(v.Get("estimate")); err != nil {
		return Tool{}, fault.Wrap(ErrTool, p.op, err, "/estimate")
	}
	if err := p.preconditions(&t, v.Get("when")); err != nil {
		return Tool{}, err
	}
	if err := p.changes(&t, v.Get("changes")); err != nil {
		return Tool{}, err
	}
	if err := p.undo(&t, v.Get("undo")); err != nil {
		return Tool{}, err
	}
	if _, err := t.ID(); err != nil {
		return Tool{}, fault.Wrap(ErrTool, p.op, err, "%s has no canonical form", t.Name)
	}
	return t, nil
}

func (p *parser) preconditions(t *Tool, v canon.Value) error {
	if v.IsZero() {
		return nil
	}
	if v.Kind() != canon.KindArray || v.Len() > maxPreconditions {
		return p.fail("/when", "want a list of at most %d preconditions", maxPreconditions)
	}
	for i, e := range v.Elems() {
		at := place("/when", i)
		err := p.members(at, e, "text", "condition")
		if err != nil {
			return err
		}
		var c Precondition
		if c.Text, err = p.text(at+"/text", e.Get("text")); err != nil {
			return err
		}
		if c.When, err = p.condition(at+"/condition", e.Get("condition"), 1); err != nil {
			return err
		}
		t.When = append(t.When, c)
	}
	return nil
}

func (p *parser) changes(t *Tool, v canon.Value) error {
	switch {
	case v.IsZero():
		return nil
	case t.Effect == EffectRead:
		return p.fail("/changes", "a tool with effect read changes nothing; its effect is write at least")
	case v.Str() == ownDelta:
		t.OwnDelta = true
		return nil
	case v.Kind() != canon.KindArray || v.Len() > maxProjections:
		return p.fail("/changes", "want %q or a list of at most %d projections", ownDelta, maxProjections)
	}
	for i, e := range v.Elems() {
		c, err := p.projection(place("/changes", i), e)
		if err != nil {
			return err
		}
		t.Changes = append(t.Changes, c)
	}
	return nil
}

func (p *parser) undo(t *Tool, v canon.Value) error {
	switch {
	case v.IsZero():
		return nil
	case v.Str() == undoInverse && t.Effect != EffectWrite:
		return p.fail("/undo", "the inverse takes back what a write did to the world; what was done elsewhere needs a tool")
	case v.Str() == undoInverse:
		t.Undo = &Undo{Inverse: true}
		return nil
	}
	err := p.members("/undo", v, "tool", "args")
	if err != nil {
		return err
	}
	u := Undo{}
	if u.Tool, err = p.name("/undo/tool", v.Get("tool"), "*@"); err != nil {
		return err
	}
	if u.args, err = parseShape(v.Get("args"), "args", "output"); err != nil {
		return p.fail("/undo/args", "%v", err)
	}
	t.Undo = &u
	return nil
}

// Value returns the wire form of t. What its schema and transport hold of
// fractions is lifted.
func (t *Tool) Value() (canon.Value, error) {
	text := func(s string) canon.Value {
		if s == "" {
			return canon.Value{}
		}
		return canon.String(s)
	}
	var when, changes, undo canon.Value
	if len(t.When) > 0 {
		list := make([]canon.Value, len(t.When))
		for i := range t.When {
			list[i] = canon.Object(canon.M("text", canon.String(t.When[i].Text)), canon.M("condition", t.When[i].When.Value()))
		}
		when = canon.Array(list...)
	}
	if t.OwnDelta {
		changes = canon.String(ownDelta)
	} else if len(t.Changes) > 0 {
		list := make([]canon.Value, len(t.Changes))
		for i := range t.Changes {
			list[i] = t.Changes[i].Value()
		}
		changes = canon.Array(list...)
	}
	if t.Undo != nil && t.Undo.Inverse {
		undo = canon.String(undoInverse)
	} else if t.Undo != nil {
		undo = canon.Object(canon.M("tool", canon.String(t.Undo.Tool)), canon.M("args", t.Undo.args.source))
	}
	return lifted(canon.Object(
		canon.M("name", canon.String(t.Name)),
		canon.M("version", canon.String(t.Version)),
		canon.M("description", text(t.Description)),
		canon.M("effect", canon.String(string(t.Effect))),
		canon.M("risk", text(string(t.Risk))),
		canon.M("args", t.Args.Value()),
		canon.M("estimate", t.Estimate.Value()),
		canon.M("when", when),
		canon.M("changes", changes),
		canon.M("undo", undo),
		canon.M("transport", t.Transport)))
}

// ID names the tool by all that its declaration says.
func (t *Tool) ID() (canon.Digest, error) {
	v, err := t.Value()
	if err != nil {
		return canon.Digest{}, err
	}
	b, err := canon.Encode(v, canon.Thymos)
	return canon.BLAKE3(b), err
}

// Compensable reports whether a call can be taken back.
func (t *Tool) Compensable() bool { return t.Undo != nil }

// Ready refuses with [ErrPrecondition] where a precondition does not hold, in
// the words of the first one.
func (t *Tool) Ready(f Fields) error {
	for i := range t.When {
		if !t.When[i].When.Holds(f) {
			return fault.New(ErrPrecondition, "trajectory.Tool.Ready", "%s: %s", t.Name, t.When[i].Text)
		}
	}
	return nil
}

// Registry is the tools of a run, sorted by name. It does not change.
type Registry struct {
	tools []Tool
	id    canon.Digest
}

// NewRegistry returns a registry of these tools. An intent names a tool without
// a version, so two of one name are refused with [ErrTool]; so is one that
// another tool would take back, where that is not there.
func NewRegistry(tools ...Tool) (*Registry, error) {
	const op = "trajectory.NewRegistry"
	if len(tools) > MaxTools {
		return nil, fault.New(ErrTool, op, "%d tools, at most %d are allowed", len(tools), MaxTools)
	}
	r := &Registry{tools: slices.Clone(tools)}
	slices.SortStableFunc(r.tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	for i := range r.tools {
		t := &r.tools[i]
		if i > 0 && r.tools[i-1].Name == t.Name {
			return nil, fault.New(ErrTool, op, "two tools have the name %s", t.Name)
		}
		if t.Undo == nil || t.Undo.Inverse {
			continue
		}
		if _, ok := r.Find(t.Undo.Tool); !ok {
			return nil, fault.New(ErrTool, op, "%s is taken back by %s, which is no tool here", t.Name, t.Undo.Tool)
		}
	}
	v, err := r.Value()
	if err != nil {
		return nil, err
	}
	b, err := canon.Encode(v, canon.Thymos)
	if err != nil {
		return nil, fault.Wrap(ErrTool, op, err, "the tools have no canonical form")
	}
	r.id = canon.BLAKE3(b)
	return r, nil
}

// ParseRegistry reads a list of tools.
func ParseRegistry(v canon.Value) (*Registry, error) {
	const op = "trajectory.ParseRegistry"
	if v.Kind() != canon.KindArray || v.Len() > MaxTools {
		return nil, fault.New(ErrTool, op, "it is %s of %d, want a list of at most %d tools", v.Kind(), v.Len(), MaxTools)
	}
	tools := make([]Tool, v.Len())
	for i, e := range v.Elems() {
		t, err := ParseTool(e)
		if err != nil {
			return nil, fault.Wrap(fault.CodeOf(err), op, err, "tool %d", i)
		}
		tools[i] = t
	}
	return NewRegistry(tools...)
}

// Find returns the tool of that name.
func (r *Registry) Find(name string) (*Tool, bool) {
	i, ok := slices.BinarySearchFunc(r.tools, name, func(t Tool, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil, false
	}
	return &r.tools[i], true
}

// All returns the tools in the order of their names. They must not be changed.
func (r *Registry) All() []Tool { return r.tools }

// Value returns what [ParseRegistry] reads.
func (r *Registry) Value() (canon.Value, error) {
	list := make([]canon.Value, len(r.tools))
	for i := range r.tools {
		var err error
		if list[i], err = r.tools[i].Value(); err != nil {
			return canon.Value{}, err
		}
	}
	return canon.Array(list...), nil
}

// ID names the registry by all that its tools declare.
func (r *Registry) ID() canon.Digest { return r.id }
