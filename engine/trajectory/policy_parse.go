package trajectory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrPolicy means that a policy, or a condition of a tool, is not in its
// language: an unknown operator or field, a member too many, a rule that could
// never hold. Mend it; a policy that is half understood is not used.
const ErrPolicy fault.Invalid = "trajectory.bad_policy"

// Limits of a policy.
const (
	MaxRules          = 4096
	MaxConditions     = 1 << 16 // in one policy, parts counted
	MaxConditionDepth = 64
)

// defaultVersion is the version of a policy that names none, as upstream has it.
const defaultVersion = "1"

// ParsePolicy reads the wire form of a policy:
//
//	{"name":…, "version":…, "rules":[{"name":…, "when":{…}, "decision":{…}}]}
//
// version is "1" where it is left out. It is stricter than upstream: a member
// that is not known, a field that cannot exist, a value that an operator can
// never be true of and two rules of one name are refused with [ErrPolicy],
// since each is a rule that silently does not do what it says.
func ParsePolicy(v canon.Value) (Policy, error) {
	p := parser{code: ErrPolicy, op: "trajectory.ParsePolicy"}
	return p.policy(v)
}

// parser reads the declarations of this package; at is a JSON pointer to the
// place that is read.
type parser struct {
	code       fault.Code
	op         string
	conditions int
}

func (p *parser) fail(at, format string, args ...any) error {
	if at == "" {
		at = "/"
	}
	return fault.New(p.code, p.op, "%s: "+format, append([]any{at}, args...)...)
}

// members refuses a value that is no object, a member beyond those named, and
// one that is missing. Names that end in ? may be missing.
func (p *parser) members(at string, v canon.Value, names ...string) error {
	if v.Kind() != canon.KindObject {
		return p.fail(at, "it is %s, want an object", v.Kind())
	}
	for _, m := range v.Members() {
		if !slices.Contains(names, m.Name) && !slices.Contains(names, m.Name+"?") {
			return p.fail(at, "member %q is not known here; known are %s", clip(m.Name), strings.ReplaceAll(strings.Join(names, ", "), "?", ""))
		}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "?") && !v.Has(name) {
			return p.fail(at, "member %s is missing", name)
		}
	}
	return nil
}

// name reads a name that stands in traces and fingerprints, where @ and / part
// a name from what follows it.
func (p *parser) name(at string, v canon.Value, forbidden string) (string, error) {
	s, err := p.text(at, v)
	switch {
	case err != nil:
		return "", err
	case s == "" || len(s) > canon.MaxName:
		return "", p.fail(at, "the name has %d bytes, want 1 to %d", len(s), canon.MaxName)
	case strings.ContainsAny(s, forbidden):
		return "", p.fail(at, "%q must not contain any of %q", s, forbidden)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", p.fail(at, "%q has characters that cannot be printed", s)
	}
	return s, nil
}

func (p *parser) text(at string, v canon.Value) (string, error) {
	s, ok := v.AsString()
	if !ok {
		return "", p.fail(at, "it is %s, want a string", v.Kind())
	}
	if !utf8.ValidString(s) {
		return "", p.fail(at, "the text is not UTF-8")
	}
	return s, nil
}

func (p *parser) policy(v canon.Value) (Policy, error) {
	var out Policy
	err := p.members("", v, "name", "version?", "rules")
	if err != nil {
		return Policy{}, err
	}
	if out.Name, err = p.name("/name", v.Get("name"), "@/"); err != nil {
		return Policy{}, err
	}
	out.Version = defaultVersion
	if v.Has("version") {
		if out.Version, err = p.name("/version", v.Get("version"), "@/"); err != nil {
			return Policy{}, err
		}
	}
	list := v.Get("rules")
	if list.Kind() != canon.KindArray {
		return Policy{}, p.fail("/rules", "it is %s, want a list", list.Kind())
	}
	if list.Len() > MaxRules {
		return Policy{}, p.fail("/rules", "%d rules, at most %d are allowed", list.Len(), MaxRules)
	}
	seen := map[string]bool{}
	for i, e := range list.Elems() {
		at := place("/rules", i)
		r, err := p.rule(at, e)
		if err != nil {
			return Policy{}, err
		}
		if seen[r.Name] {
			return Policy{}, p.fail(at, "a second rule has the name %q: a trace could not say which decided", r.Name)
		}
		seen[r.Name] = true
		out.Rules = append(out.Rules, r)
	}
	if _, err := canon.Encode(out.Value(), canon.Thymos); err != nil {
		return Policy{}, fault.Wrap(p.code, p.op, err, "the policy has no canonical form; write a fraction as {%q:\"0.5\"}", numberName)
	}
	return out, nil
}

func (p *parser) rule(at string, v canon.Value) (Rule, error) {
	err := p.members(at, v, "name", "when", "decision")
	if err != nil {
		return Rule{}, err
	}
	var r Rule
	if r.Name, err = p.name(at+"/name", v.Get("name"), ""); err != nil {
		return Rule{}, err
	}
	if r.When, err = p.condition(at+"/when", v.Get("when"), 1); err != nil {
		return Rule{}, err
	}
	r.Ruling, err = p.ruling(at+"/decision", v.Get("decision"))
	return r, err
}

func (p *parser) ruling(at string, v canon.Value) (Ruling, error) {
	var err error
	r := Ruling{Kind: RulingKind(v.Get("kind").Str())}
	switch r.Kind {
	case Permit:
		err = p.members(at, v, "kind")
	case Deny:
		err = p.members(at, v, "kind", "reason")
	case RequireApproval:
		if err = p.members(at, v, "kind", "channel", "reason"); err == nil {
			r.Channel, err = p.name(at+"/channel", v.Get("channel"), "")
		}
	default:
		err = p.fail(at, "kind is %q, want permit, deny or require_approval", clip(string(r.Kind)))
	}
	if err == nil && r.Kind != Permit {
		r.Reason, err = p.text(at+"/reason", v.Get("reason"))
	}
	if err != nil {
		return Ruling{}, err
	}
	return r, nil
}

func (p *parser) condition(at string, v canon.Value, depth int) (Condition, error) {
	p.conditions++
	switch {
	case depth > MaxConditionDepth:
		return Condition{}, p.fail(at, "conditions nest deeper than %d", MaxConditionDepth)
	case p.conditions > MaxConditions:
		return Condition{}, p.fail(at, "more than %d conditions", MaxConditions)
	case v.Has("all"):
		return p.combined(at, v, "all", formAll, depth)
	case v.Has("any"):
		return p.combined(at, v, "any", formAny, depth)
	case v.Has("not"):
		if err := p.members(at, v, "not"); err != nil {
			return Condition{}, err
		}
		part, err := p.condition(at+"/not", v.Get("not"), depth+1)
		return Condition{form: formNot, parts: []Condition{part}}, err
	}
	t, err := p.test(at, v)
	return Condition{form: formTest, test: t}, err
}

func (p *parser) combined(at string, v canon.Value, name string, form conditionForm, depth int) (Condition, error) {
	if err := p.members(at, v, name); err != nil {
		return Condition{}, err
	}
	list := v.Get(name)
	at += "/" + name
	if list.Kind() != canon.KindArray {
		return Condition{}, p.fail(at, "it is %s, want a list of conditions", list.Kind())
	}
	c := Condition{form: form}
	for i, e := range list.Elems() {
		part, err := p.condition(place(at, i), e, depth+1)
		if err != nil {
			return Condition{}, err
		}
		c.parts = append(c.parts, part)
	}
	return c, nil
}

func (p *parser) test(at string, v canon.Value) (test, error) {
	err := p.members(at, v, "field", "op", "value", "pointer?")
	if err != nil {
		return test{}, err
	}
	t := test{op: Operator(v.Get("op").Str()), value: v.Get("value")}
	if t.field, err = p.text(at+"/field", v.Get("field")); err != nil {
		return test{}, err
	}
	if t.path, err = p.field(at+"/field", t.field); err != nil {
		return test{}, err
	}
	if v.Has("pointer") {
		if t.pointer, err = p.text(at+"/pointer", v.Get("pointer")); err != nil {
			return test{}, err
		}
		if t.pointer == "" || canon.CheckPointer(t.pointer) != nil {
			return test{}, p.fail(at+"/pointer", "%q is no JSON pointer that goes into a value", clip(t.pointer))
		}
	}
	return t, p.operand(at, &t)
}

// operand refuses what an operator could never be true of.
func (p *parser) operand(at string, t *test) error {
	kind := t.value.Kind()
	_, number := decimalOf(t.value)
	fits := true
	switch t.op {
	case OpEq, OpNe, OpContains:
	case OpGt, OpLt, OpGte, OpLte:
		fits = number || kind == canon.KindString
	case OpStartsWith:
		fits = kind == canon.KindString
	case OpIn:
		fits = kind == canon.KindArray
	default:
		return p.fail(at+"/op", "%q is no operator; there are eq, ne, gt, lt, gte, lte, contains, starts_with and in", clip(string(t.op)))
	}
	if !fits {
		return p.fail(at+"/value", "%s never holds for %s", t.op, kind)
	}
	return nil
}

func (p *parser) field(at, field string) (fieldPath, error) {
	root, rest, _ := strings.Cut(field, ".")
	path := fieldPath{root: root, name: rest}
	switch root {
	case "intent":
		if key, ok := strings.CutPrefix(rest, "args."); ok && key != "" {
			path.name, path.key = "args", key
			return path, nil
		}
		if slices.Contains([]string{"target", "author", "kind"}, rest) {
			return path, nil
		}
	case "writ":
		if slices.Contains([]string{"tenant_id", "subject", "issuer"}, rest) {
			return path, nil
		}
	case "world":
		kind, id, _ := strings.Cut(rest, ".")
		path.name, path.kind = "", kind
		id, path.version = strings.CutSuffix(id, ".version")
		if kind == "" || id == "" {
			break
		}
		var err error
		if path.id, err = parseTemplate(id, "intent", "writ"); err != nil {
			return fieldPath{}, p.fail(at, "%v", err)
		}
		return path, nil
	}
	return fieldPath{}, p.fail(at, "there is no field %q; there are intent.target, intent.author, intent.kind, intent.args.KEY, writ.tenant_id, writ.subject, writ.issuer, world.KIND.ID and world.KIND.ID.version", clip(field))
}

// place returns the pointer of an element.
func place(at string, i int) string { return string(appendIndex([]byte(at), i)) }

// clip shortens a text from outside for a message.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
