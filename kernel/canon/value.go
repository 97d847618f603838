package canon

import (
	"slices"
	"strconv"
)

// Kind is what a [Value] is.
type Kind uint8

// The kinds. Absent is the kind of the zero Value; no JSON text denotes it.
const (
	Absent Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Absent:
		return "absent"
	case KindNull:
		return "null"
	case KindBool:
		return "boolean"
	case KindNumber:
		return "number"
	case KindString:
		return "string"
	case KindArray:
		return "array"
	case KindObject:
		return "object"
	default:
		return "invalid"
	}
}

// Value is an immutable JSON value. The zero Value is absent. Values are not
// comparable with ==; use [Value.Equal].
type Value struct {
	_    [0]func()
	kind Kind
	yes  bool
	text string // of a string; the token of a number
	node *node  // of an array or object; nil if empty
}

// node holds the children of an array or an object. It is shared between
// values and never changed.
type node struct {
	elems   []Value
	members []Member
	sorted  bool // names strictly ascend in UTF-16 order, so none is double
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value Value
}

// M returns the member name: v.
func M(name string, v Value) Member { return Member{Name: name, Value: v} }

// Null returns null.
func Null() Value { return Value{kind: KindNull} }

// Bool returns true or false.
func Bool(b bool) Value { return Value{kind: KindBool, yes: b} }

// Int returns an integer. [Native] can write those of at most 2^53-1.
func Int(n int64) Value { return Value{kind: KindNumber, text: strconv.FormatInt(n, 10)} }

// String returns a string. Invalid UTF-8 is refused when it is encoded.
func String(s string) Value { return Value{kind: KindString, text: s} }

// Text returns a string, or an absent value for the empty one, so that a member
// that says nothing is left out.
func Text(s string) Value {
	if s == "" {
		return Value{}
	}
	return String(s)
}

// Number returns a number whose token is kept as it is given. It refuses what
// is no JSON number with [ErrSyntax], and what overflows a double with
// [ErrNumber].
func Number(token string) (Value, error) {
	if err := checkToken("canon.Number", token); err != nil {
		return Value{}, err
	}
	return Value{kind: KindNumber, text: token}, nil
}

// Array returns an array. An absent element becomes null, since leaving it
// out would move the others. The caller must not change elems afterwards.
func Array(elems ...Value) Value {
	if len(elems) == 0 {
		return Value{kind: KindArray}
	}
	if slices.ContainsFunc(elems, Value.IsZero) {
		elems = slices.Clone(elems)
		for i := range elems {
			if elems[i].IsZero() {
				elems[i] = Null()
			}
		}
	}
	return Value{kind: KindArray, node: &node{elems: elems}}
}

// ArrayOf returns an array of what value makes of each element of list, in
// their order.
func ArrayOf[T any](list []T, value func(T) Value) Value {
	elems := make([]Value, len(list))
	for i, e := range list {
		elems[i] = value(e)
	}
	return Array(elems...)
}

// Strings returns an array of strings, in the order of list.
func Strings[S ~string](list []S) Value {
	return ArrayOf(list, func(s S) Value { return String(string(s)) })
}

// Object returns an object with its members in the order given, without those
// whose value is absent. A name that stands twice is refused when the object
// is encoded. The caller must not change members afterwards.
func Object(members ...Member) Value {
	if slices.ContainsFunc(members, isAbsent) {
		members = slices.DeleteFunc(slices.Clone(members), isAbsent)
	}
	if len(members) == 0 {
		return Value{kind: KindObject}
	}
	return Value{kind: KindObject, node: &node{members: members, sorted: ascending(members)}}
}

func isAbsent(m Member) bool { return m.Value.IsZero() }

func ascending(members []Member) bool {
	for i := 1; i < len(members); i++ {
		if compareNames(members[i-1].Name, members[i].Name) >= 0 {
			return false
		}
	}
	return true
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether v is absent. Null is not.
func (v Value) IsZero() bool { return v.kind == Absent }

// IsNull reports whether v is null. An absent value is not.
func (v Value) IsNull() bool { return v.kind == KindNull }

// OrNull returns v, or null for an absent value: a member that is always there.
func (v Value) OrNull() Value {
	if v.IsZero() {
		return Null()
	}
	return v
}

// Get returns the member of that name, or an absent Value. Of a name that
// stands twice it returns any.
func (v Value) Get(name string) Value {
	members := v.Members()
	if v.node != nil && v.node.sorted && len(members) > 8 {
		i, ok := slices.BinarySearchFunc(members, name, func(m Member, name string) int { return compareNames(m.Name, name) })
		if !ok {
			return Value{}
		}
		return members[i].Value
	}
	for i := range members {
		if members[i].Name == name {
			return members[i].Value
		}
	}
	return Value{}
}

// Has reports whether v is an object with a member of that name.
func (v Value) Has(name string) bool { return !v.Get(name).IsZero() }

// Str returns the text of a string, or "" of anything else.
func (v Value) Str() string {
	s, _ := v.AsString()
	return s
}

// AsString returns the text of a string.
func (v Value) AsString() (string, bool) {
	if v.kind != KindString {
		return "", false
	}
	return v.text, true
}

// AsInt returns the value of a number whose token is an integer without
// fraction and exponent, and fits 64 bits.
func (v Value) AsInt() (int64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	return n, err == nil
}

// AsBool returns the value of a boolean.
func (v Value) AsBool() (value, ok bool) { return v.yes, v.kind == KindBool }

// Token returns the token of a number as it was written.
func (v Value) Token() (string, bool) {
	if v.kind != KindNumber {
		return "", false
	}
	return v.text, true
}

// Len returns how many elements or members v has.
func (v Value) Len() int {
	if v.node == nil {
		return 0
	}
	return len(v.node.elems) + len(v.node.members)
}

// At returns the element at index i, or an absent Value if there is none.
func (v Value) At(i int) Value {
	if v.node == nil || i < 0 || i >= len(v.node.elems) {
		return Value{}
	}
	return v.node.elems[i]
}

// Elems returns the elements of an array. They must not be changed.
func (v Value) Elems() []Value {
	if v.node == nil {
		return nil
	}
	return v.node.elems
}

// Members returns the members of an object in their order. They must not be
// changed.
func (v Value) Members() []Member {
	if v.node == nil {
		return nil
	}
	return v.node.members
}

// With returns an object like v in which name has the value given: in its
// place if v has it, else at the end. An absent value removes the member.
// Of anything but an object it returns an object of that one member.
func (v Value) With(name string, value Value) Value {
	if value.IsZero() {
		return v.Without(name)
	}
	members := slices.Clone(v.Members())
	for i := range members {
		if members[i].Name == name {
			members[i].Value = value
			return Object(members...)
		}
	}
	return Object(append(members, M(name, value))...)
}

// Without returns an object like v that lacks the names given. Anything but
// an object is returned as it is.
func (v Value) Without(names ...string) Value {
	if v.kind != KindObject {
		return v
	}
	named := func(m Member) bool { return slices.Contains(names, m.Name) }
	if !slices.ContainsFunc(v.Members(), named) {
		return v
	}
	return Object(slices.DeleteFunc(slices.Clone(v.Members()), named)...)
}

// Equal reports whether v and w are the same value in the [Foreign] profile:
// the order of members and the spelling of numbers do not matter. Objects in
// which a name stands twice equal nothing.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindBool:
		return v.yes == w.yes
	case KindString:
		return v.text == w.text
	case KindNumber:
		return v.text == w.text || sameNumber(v.text, w.text)
	case KindArray:
		return slices.EqualFunc(v.Elems(), w.Elems(), Value.Equal)
	case KindObject:
		return equalMembers(v, w)
	default:
		return true
	}
}

func equalMembers(v, w Value) bool {
	a, okA := v.inOrder()
	b, okB := w.inOrder()
	return okA && okB && slices.EqualFunc(a, b, func(m, n Member) bool {
		return m.Name == n.Name && m.Value.Equal(n.Value)
	})
}

// inOrder returns the members in UTF-16 order of their names, and whether no
// name stands twice.
func (v Value) inOrder() (members []Member, unique bool) {
	if v.node == nil || v.node.sorted {
		return v.Members(), true
	}
	members = slices.Clone(v.node.members)
	slices.SortStableFunc(members, func(m, n Member) int { return compareNames(m.Name, n.Name) })
	for i := 1; i < len(members); i++ {
		if members[i-1].Name == members[i].Name {
			return members, false
		}
	}
	return members, true
}

// roughSize returns about how many bytes v takes: what it takes exactly if no
// text has anything to escape.
func (v Value) roughSize() int {
	switch v.kind {
	case KindString:
		return len(v.text) + len(`""`)
	case KindNumber:
		return len(v.text)
	case KindArray:
		n := len(`[]`)
		for _, e := range v.Elems() {
			n += e.roughSize() + len(`,`)
		}
		return n
	case KindObject:
		n := len(`{}`)
		for _, m := range v.Members() {
			n += len(m.Name) + m.Value.roughSize() + len(`"":,`)
		}
		return n
	default:
		return len(`false`)
	}
}

// String returns v as compact JSON with its members in the order of v, for
// people. What is hashed comes from [Encode].
func (v Value) String() string {
	return string(v.appendPlain(nil))
}

// MarshalJSON returns v as compact JSON with its members in the order of v.
// An absent value is null.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsZero() {
		return []byte("null"), nil
	}
	return v.appendPlain(nil), nil
}

func (v Value) appendPlain(dst []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.yes)
	case KindNumber:
		return append(dst, v.text...)
	case KindString:
		return AppendString(dst, v.text)
	case KindArray:
		dst = append(dst, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendPlain(dst)
		}
		return append(dst, ']')
	case KindObject:
		dst = append(dst, '{')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, m.Name), ':')
			dst = m.Value.appendPlain(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, "absent"...)
	}
}
