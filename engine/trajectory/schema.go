package trajectory

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrSchema means that a schema has a keyword that is not held here, or one of
// the wrong shape. Leave the keyword out, or say it with those that are: a
// schema of which a part is ignored would let arguments through.
const ErrSchema fault.Invalid = "trajectory.bad_schema"

// ErrArguments means that a value does not fit its schema. Mend the value at
// the pointer that is named.
const ErrArguments fault.Invalid = "trajectory.bad_arguments"

// Limits of a schema.
const (
	MaxSchemaDepth = 64
	MaxSchemaNodes = 10_000
	MaxEnum        = 10_000
	maxPattern     = 4096
)

// Schema is the part of JSON Schema that can be checked without a model of the
// outside: type, enum, const, properties, required, additionalProperties,
// items, the bounds of numbers, texts and lists, uniqueItems, pattern, and
// allOf, anyOf and oneOf. Numbers are compared exactly, lifted ones included,
// and as in JSON Schema 1.0 is an integer. Lengths count code points. A pattern
// is a regular expression of Go (RE2) that matches anywhere unless it is
// anchored. format is an annotation, as drafts since 2019-09 have it.
//
// The zero Schema accepts nothing.
type Schema struct {
	source canon.Value
	root   *schemaNode
}

// schemaNode is one schema or subschema.
type schemaNode struct {
	never    bool // false
	types    []string
	enum     map[string]bool // by their exact text; nil without enum
	fixed    *string         // const, by its exact text
	members  []schemaMember  // properties, sorted
	required []string
	rest     *schemaNode // additionalProperties
	items    *schemaNode
	bounds   []bound
	text     lengths
	list     lengths
	unique   bool
	pattern  *regexp.Regexp
	all      []*schemaNode
	any      []*schemaNode
	one      []*schemaNode
}

type schemaMember struct {
	name string
	node *schemaNode
}

// bound is one of minimum, maximum and their exclusive forms.
type bound struct {
	keyword string
	limit   decimal
	token   string
}

// lengths are the bounds of a length; max is -1 without one.
type lengths struct{ min, max int64 }

// typeNames are the types of JSON Schema.
var typeNames = strings.Fields("null boolean object array number string integer")

// dialects are the drafts in which the keywords that are held mean one thing.
var dialects = strings.Fields(`
	http://json-schema.org/draft-06/schema
	http://json-schema.org/draft-07/schema
	https://json-schema.org/draft/2019-09/schema
	https://json-schema.org/draft/2020-12/schema`)

// ParseSchema reads a schema. It refuses with [ErrSchema], and a pointer, any
// keyword that is not held, whatever is malformed, and what exceeds the limits.
func ParseSchema(v canon.Value) (Schema, error) {
	p := schemaParser{parser: parser{code: ErrSchema, op: "trajectory.ParseSchema"}}
	root, err := p.node("", v, 1)
	if err != nil {
		return Schema{}, err
	}
	return Schema{source: v, root: root}, nil
}

// Value returns the schema as it was read.
func (s *Schema) Value() canon.Value { return s.source }

// Check refuses a value that does not fit with [ErrArguments]: where it does
// not, as a JSON pointer, and which keyword says so.
func (s *Schema) Check(v canon.Value) error {
	if s.root == nil {
		return fault.New(ErrArguments, "trajectory.Schema.Check", "there is no schema")
	}
	return s.root.check(nil, v)
}

type schemaParser struct {
	parser
	nodes int
}

func (p *schemaParser) node(at string, v canon.Value, depth int) (*schemaNode, error) {
	p.nodes++
	switch {
	case depth > MaxSchemaDepth:
		return nil, p.fail(at, "schemas nest deeper than %d", MaxSchemaDepth)
	case p.nodes > MaxSchemaNodes:
		return nil, p.fail(at, "more than %d subschemas", MaxSchemaNodes)
	}
	n := &schemaNode{text: lengths{max: -1}, list: lengths{max: -1}}
	if yes, ok := v.AsBool(); ok {
		n.never = !yes
		return n, nil
	}
	if v.Kind() != canon.KindObject {
		return nil, p.fail(at, "it is %s, want an object or a boolean", v.Kind())
	}
	for _, m := range v.Members() {
		here := string(canon.AppendPointer([]byte(at), m.Name))
		if err := p.keyword(n, here, m.Name, m.Value, depth); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (p *schemaParser) keyword(n *schemaNode, at, name string, v canon.Value, depth int) (err error) {
	switch name {
	case "title", "description", "format", "$comment":
		_, err = p.text(at, v)
	case "default", "examples", "deprecated", "readOnly", "writeOnly":
	case "$schema":
		if !slices.Contains(dialects, strings.TrimSuffix(v.Str(), "#")) {
			err = p.fail(at, "the draft %q is not known; known are 6, 7, 2019-09 and 2020-12", clip(v.Str()))
		}
	case "type":
		n.types, err = p.types(at, v)
	case "enum":
		n.enum, err = p.enum(at, v)
	case "const":
		text := string(appendExact(nil, v))
		n.fixed = &text
	case "properties":
		err = p.properties(n, at, v, depth)
	case "required":
		n.required, err = p.names(at, v)
	case "additionalProperties":
		n.rest, err = p.node(at, v, depth+1)
	case "items":
		if v.Kind() == canon.KindArray {
			return p.fail(at, "a list of schemas for a list is not held; use one schema for all elements")
		}
		n.items, err = p.node(at, v, depth+1)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		limit, ok := decimalOf(v)
		if !ok {
			return p.fail(at, "it is %s, want a number", v.Kind())
		}
		n.bounds = append(n.bounds, bound{keyword: name, limit: limit, token: v.String()})
	case "minLength":
		n.text.min, err = p.length(at, v)
	case "maxLength":
		n.text.max, err = p.length(at, v)
	case "minItems":
		n.list.min, err = p.length(at, v)
	case "maxItems":
		n.list.max, err = p.length(at, v)
	case "uniqueItems":
		unique, ok := v.AsBool()
		if n.unique = unique; !ok {
			err = p.fail(at, "it is %s, want a boolean", v.Kind())
		}
	case "pattern":
		n.pattern, err = p.pattern(at, v)
	case "allOf":
		n.all, err = p.nodesOf(at, v, depth)
	case "anyOf":
		n.any, err = p.nodesOf(at, v, depth)
	case "oneOf":
		n.one, err = p.nodesOf(at, v, depth)
	default:
		err = p.fail(at, "the keyword %q is not held here, and a schema of which a part is ignored would let arguments through", clip(name))
	}
	return err
}

func (p *schemaParser) types(at string, v canon.Value) ([]string, error) {
	if v.Kind() == canon.KindString {
		v = canon.Array(v)
	}
	list, err := p.names(at, v)
	if err == nil && len(list) == 0 {
		err = p.fail(at, "the list is empty")
	}
	for _, name := range list {
		if !slices.Contains(typeNames, name) {
			return nil, p.fail(at, "%q is no type; there are %s", clip(name), strings.Join(typeNames, ", "))
		}
	}
	return list, err
}

// names reads a list of different strings.
func (p *schemaParser) names(at string, v canon.Value) ([]string, error) {
	if v.Kind() != canon.KindArray {
		return nil, p.fail(at, "it is %s, want a list of strings", v.Kind())
	}
	out := make([]string, v.Len())
	seen := map[string]bool{}
	for i, e := range v.Elems() {
		s, err := p.text(place(at, i), e)
		if err != nil {
			return nil, err
		}
		if seen[s] {
			return nil, p.fail(place(at, i), "%q stands twice", clip(s))
		}
		out[i], seen[s] = s, true
	}
	return out, nil
}

func (p *schemaParser) enum(at string, v canon.Value) (map[string]bool, error) {
	if v.Kind() != canon.KindArray || v.Len() == 0 || v.Len() > MaxEnum {
		return nil, p.fail(at, "want a list of 1 to %d values", MaxEnum)
	}
	out := make(map[string]bool, v.Len())
	for _, e := range v.Elems() {
		out[string(appendExact(nil, e))] = true
	}
	return out, nil
}

func (p *schemaParser) properties(n *schemaNode, at string, v canon.Value, depth int) error {
	if v.Kind() != canon.KindObject {
		return p.fail(at, "it is %s, want an object", v.Kind())
	}
	for _, m := range v.Members() {
		node, err := p.node(string(canon.AppendPointer([]byte(at), m.Name)), m.Value, depth+1)
		if err != nil {
			return err
		}
		n.members = append(n.members, schemaMember{m.Name, node})
	}
	slices.SortFunc(n.members, func(a, b schemaMember) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (p *schemaParser) length(at string, v canon.Value) (int64, error) {
	d, ok := decimalOf(v)
	if !ok {
		return 0, p.fail(at, "it is %s, want a number", v.Kind())
	}
	n, ok := d.count()
	if !ok {
		return 0, p.fail(at, "%s is no integer from 0 to 10^18-1", clip(v.String()))
	}
	return n, nil
}

func (p *schemaParser) pattern(at string, v canon.Value) (*regexp.Regexp, error) {
	s, err := p.text(at, v)
	if err != nil {
		return nil, err
	}
	if len(s) > maxPattern {
		return nil, p.fail(at, "the pattern has %d bytes, at most %d are allowed", len(s), maxPattern)
	}
	re, err := regexp.Compile(s)
	return re, fault.Wrap(p.code, p.op, err, "%s", at)
}

func (p *schemaParser) nodesOf(at string, v canon.Value, depth int) ([]*schemaNode, error) {
	if v.Kind() != canon.KindArray || v.Len() == 0 {
		return nil, p.fail(at, "want a list of at least one schema")
	}
	out := make([]*schemaNode, v.Len())
	for i, e := range v.Elems() {
		var err error
		if out[i], err = p.node(place(at, i), e, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// misfit says where a value does not fit.
func misfit(at []byte, format string, args ...any) error {
	where := "the value"
	if len(at) > 0 {
		where = string(at)
	}
	return fault.New(ErrArguments, "trajectory.Schema.Check", "%s: "+format, append([]any{where}, args...)...)
}

// check holds one value. A schema is a tree without references, so no node
// meets the same value twice and the work is at most nodes times values.
func (n *schemaNode) check(at []byte, v canon.Value) error {
	if n.never {
		return misfit(at, "the schema allows nothing here")
	}
	number, isNumber := decimalOf(v)
	if len(n.types) > 0 && !slices.ContainsFunc(n.types, func(t string) bool { return hasType(v, t, number, isNumber) }) {
		return misfit(at, "it is %s, want %s", kindName(v, isNumber), strings.Join(n.types, " or "))
	}
	if n.enum != nil && !n.enum[string(appendExact(nil, v))] {
		return misfit(at, "%s is none of the values that enum lists", clip(v.String()))
	}
	if n.fixed != nil && *n.fixed != string(appendExact(nil, v)) {
		return misfit(at, "%s is not the value of const", clip(v.String()))
	}
	var err error
	switch {
	case isNumber:
		err = n.checkNumber(at, v, number)
	case v.Kind() == canon.KindString:
		err = n.checkText(at, v.Str())
	case v.Kind() == canon.KindArray:
		err = n.checkList(at, v)
	case v.Kind() == canon.KindObject:
		err = n.checkObject(at, v)
	}
	if err != nil {
		return err
	}
	return n.checkCombined(at, v)
}

func hasType(v canon.Value, name string, number decimal, isNumber bool) bool {
	switch name {
	case "number":
		return isNumber
	case "integer":
		return isNumber && number.isInteger()
	case "object":
		return v.Kind() == canon.KindObject && !isNumber
	case "null":
		return v.IsNull()
	case "boolean":
		return v.Kind() == canon.KindBool
	case "string":
		return v.Kind() == canon.KindString
	default:
		return v.Kind() == canon.KindArray
	}
}

func kindName(v canon.Value, isNumber bool) string {
	if isNumber {
		return canon.KindNumber.String()
	}
	return v.Kind().String()
}

func (n *schemaNode) checkNumber(at []byte, v canon.Value, d decimal) error {
	for _, b := range n.bounds {
		c := d.compare(b.limit)
		fits := true
		switch b.keyword {
		case "minimum":
			fits = c >= 0
		case "maximum":
			fits = c <= 0
		case "exclusiveMinimum":
			fits = c > 0
		case "exclusiveMaximum":
			fits = c < 0
		}
		if !fits {
			return misfit(at, "%s does not fit %s %s", clip(v.String()), b.keyword, clip(b.token))
		}
	}
	return nil
}

func (n *schemaNode) checkText(at []byte, s string) error {
	if n.text.min > 0 || n.text.max >= 0 {
		if err := n.text.check(at, "characters", int64(utf8.RuneCountInString(s))); err != nil {
			return err
		}
	}
	if n.pattern != nil && !n.pattern.MatchString(s) {
		return misfit(at, "%q does not match the pattern %s", clip(s), clip(n.pattern.String()))
	}
	return nil
}

func (l lengths) check(at []byte, what string, n int64) error {
	switch {
	case n < l.min:
		return misfit(at, "%d %s, want at least %d", n, what, l.min)
	case l.max >= 0 && n > l.max:
		return misfit(at, "%d %s, want at most %d", n, what, l.max)
	}
	return nil
}

func (n *schemaNode) checkList(at []byte, v canon.Value) error {
	if err := n.list.check(at, "elements", int64(v.Len())); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, e := range v.Elems() {
		if n.unique {
			text := string(appendExact(nil, e))
			if seen[text] {
				return misfit(appendIndex(at, i), "the element stands twice, and uniqueItems is asked for")
			}
			seen[text] = true
		}
		if n.items != nil {
			if err := n.items.check(appendIndex(at, i), e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *schemaNode) checkObject(at []byte, v canon.Value) error {
	for _, name := range n.required {
		if !v.Has(name) {
			return misfit(at, "member %q is missing", clip(name))
		}
	}
	for _, m := range v.Members() {
		node := n.rest
		if i, ok := slices.BinarySearchFunc(n.members, m.Name, func(m schemaMember, name string) int { return strings.Compare(m.name, name) }); ok {
			node = n.members[i].node
		} else if node != nil && node.never {
			return misfit(at, "member %q is not known", clip(m.Name))
		}
		if node == nil {
			continue
		}
		if err := node.check(canon.AppendPointer(slices.Clip(at), m.Name), m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (n *schemaNode) checkCombined(at []byte, v canon.Value) error {
	for _, part := range n.all {
		if err := part.check(at, v); err != nil {
			return err
		}
	}
	if n.any != nil {
		if k, err := fitting(n.any, at, v); k == 0 {
			return fault.Wrap(ErrArguments, "trajectory.Schema.Check", err, "none of the %d schemas of anyOf fits; of the last", len(n.any))
		}
	}
	if n.one != nil {
		switch k, err := fitting(n.one, at, v); {
		case k == 0:
			return fault.Wrap(ErrArguments, "trajectory.Schema.Check", err, "none of the %d schemas of oneOf fits; of the last", len(n.one))
		case k > 1:
			return misfit(at, "%d schemas of oneOf fit, want one", k)
		}
	}
	return nil
}

// fitting counts the schemas that v fits, and says why the last other one does
// not.
func fitting(nodes []*schemaNode, at []byte, v canon.Value) (fits int, misfit error) {
	for _, n := range nodes {
		if err := n.check(at, v); err != nil {
			misfit = err
			continue
		}
		fits++
	}
	return fits, misfit
}

// appendIndex appends the reference token of an element to a pointer.
func appendIndex(at []byte, i int) []byte {
	return strconv.AppendInt(append(slices.Clip(at), '/'), int64(i), 10)
}
