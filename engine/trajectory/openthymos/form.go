package openthymos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrForm means that an entry is not one of the format: a member is missing,
// or has another type. Trust the entry no longer.
const ErrForm fault.Integrity = "openthymos.bad_form"

// form is the shape of a part of an entry, as the types of OpenThymos give it.
// Reading a value by its form and writing it again is what OpenThymos does
// before it hashes: members that it does not know vanish, and those that it
// knows appear with their default.
type form struct {
	kind     formKind
	elem     *form     // of a list or an option
	members  []member  // of a record
	tag      string    // of a union: the member that names the variant
	variants []variant // of a union
}

type formKind uint8

const (
	anyForm formKind = iota
	textForm
	countForm // an integer of 64 bits without sign
	boolForm
	idForm // 64 hexadecimal digits
	optionForm
	listForm
	pairForm // a list of two texts
	recordForm
	unionForm
	laterForm // read on its own
)

type member struct {
	name string
	form *form
	// def stands for a member that is missing; absent means that the member
	// is needed, unless it is an option, which is null then.
	def canon.Value
	// omit leaves an option out that is null.
	omit bool
}

type variant struct {
	name    string
	members []member
}

// reading is one pass of a value through its form.
type reading struct {
	// lenient accepts what OpenThymos accepts: capitals in ids, any spelling
	// of a double and, in free JSON, several members of one name, of which
	// the last counts. Doubled says that there may be such.
	lenient bool
	doubled bool
	unknown []string // names of members that the form does not have
	changed bool     // what was read is not what would be written
}

// value reads v and returns what OpenThymos would write.
func (r *reading) value(f *form, v canon.Value) (canon.Value, error) {
	switch f.kind {
	case textForm:
		return v, expect(v, canon.KindString, "a text")
	case boolForm:
		return v, expect(v, canon.KindBool, "a boolean")
	case countForm:
		if _, ok := count(v); !ok {
			return v, misfit("", "not an integer of 64 bits without sign")
		}
		return v, nil
	case idForm:
		return r.id(v)
	case optionForm:
		if v.IsNull() {
			return v, nil
		}
		return r.value(f.elem, v)
	case pairForm:
		if v.Kind() != canon.KindArray || v.Len() != 2 {
			return v, misfit("", "not a pair of texts")
		}
		return r.list(&form{kind: textForm}, v)
	case listForm:
		return r.list(f.elem, v)
	case recordForm:
		return r.record(f.members, "", v)
	case unionForm:
		return r.union(f, v)
	case laterForm:
		return v, nil
	default:
		return r.free(v)
	}
}

func (r *reading) id(v canon.Value) (canon.Value, error) {
	s, ok := v.AsString()
	if ok && r.lenient {
		if low := strings.ToLower(s); low != s {
			s, v, r.changed = low, canon.String(low), true
		}
	}
	if !ok || !isID(s) {
		return v, misfit("", "not an id of 64 hexadecimal digits")
	}
	return v, nil
}

func isID(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

func (r *reading) list(elem *form, v canon.Value) (canon.Value, error) {
	if err := expect(v, canon.KindArray, "a list"); err != nil {
		return v, err
	}
	before := r.changed
	r.changed = false
	out := make([]canon.Value, v.Len())
	for i, e := range v.Elems() {
		w, err := r.value(elem, e)
		if err != nil {
			return v, under(strconv.Itoa(i), err)
		}
		out[i] = w
	}
	if r.changed {
		v = canon.Array(out...)
	}
	r.changed = r.changed || before
	return v, nil
}

func (r *reading) union(f *form, v canon.Value) (canon.Value, error) {
	if err := expect(v, canon.KindObject, "an object"); err != nil {
		return v, err
	}
	tag, ok := v.Get(f.tag).AsString()
	if !ok {
		return v, misfit("", "missing field `"+f.tag+"`")
	}
	for i := range f.variants {
		if f.variants[i].name == tag {
			return r.record(f.variants[i].members, f.tag, v)
		}
	}
	return v, misfit(f.tag, "unknown variant `"+tag+"`")
}

// record reads the members of an object. The tag of a union stands before
// them and was read already.
func (r *reading) record(members []member, tag string, v canon.Value) (canon.Value, error) {
	if err := expect(v, canon.KindObject, "an object"); err != nil {
		return v, err
	}
	before := r.changed
	r.changed = false
	known := 0
	out := make([]canon.Member, 0, len(members)+1)
	if tag != "" {
		if err := once(v, tag); err != nil {
			return v, err
		}
		out = append(out, canon.M(tag, v.Get(tag)))
		known++
	}
	for i := range members {
		m := &members[i]
		if err := once(v, m.name); err != nil {
			return v, err
		}
		got := v.Get(m.name)
		if got.IsZero() {
			switch {
			case m.omit:
				continue
			case m.form.kind == optionForm:
				got = canon.Null()
			case !m.def.IsZero():
				got = m.def
			default:
				return v, misfit("", "missing field `"+m.name+"`")
			}
			r.changed = true
		} else {
			known++
		}
		if m.omit && got.IsNull() {
			r.changed = true
			continue
		}
		w, err := r.value(m.form, got)
		if err != nil {
			return v, under(m.name, err)
		}
		out = append(out, canon.M(m.name, w))
	}
	if known < v.Len() {
		r.changed = true
		for _, m := range v.Members() {
			if m.Name != tag && !slices.ContainsFunc(members, func(k member) bool { return k.name == m.Name }) {
				r.unknown = append(r.unknown, m.Name)
			}
		}
	}
	if r.changed {
		v = canon.Object(out...)
	}
	r.changed = r.changed || before
	return v, nil
}

// once refuses a member that stands twice, which OpenThymos does for those
// that it knows.
func once(v canon.Value, name string) error {
	seen := false
	for _, m := range v.Members() {
		if m.Name != name {
			continue
		}
		if seen {
			return misfit("", "duplicate field `"+name+"`")
		}
		seen = true
	}
	return nil
}

// free reads a value without a form. A double has many spellings and one
// hash, so that strict takes only the one that OpenThymos writes.
func (r *reading) free(v canon.Value) (canon.Value, error) {
	switch {
	case r.doubled:
		r.changed = true
		return lastNames(v), nil
	case r.lenient:
		return v, nil
	default:
		return v, checkNumbers(v)
	}
}

func checkNumbers(v canon.Value) error {
	switch v.Kind() {
	case canon.KindNumber:
		token, _ := v.Token()
		if b, err := canon.Encode(v, canon.ThymosSerde); err != nil || string(b) != token {
			return misfit("", token+" is not how OpenThymos writes the number")
		}
	case canon.KindArray:
		for i, e := range v.Elems() {
			if err := checkNumbers(e); err != nil {
				return under(strconv.Itoa(i), err)
			}
		}
	case canon.KindObject:
		for _, m := range v.Members() {
			if err := checkNumbers(m.Value); err != nil {
				return under(m.Name, err)
			}
		}
	default:
	}
	return nil
}

// lastNames keeps the last of the members of one name.
func lastNames(v canon.Value) canon.Value {
	switch v.Kind() {
	case canon.KindArray:
		out := make([]canon.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = lastNames(e)
		}
		return canon.Array(out...)
	case canon.KindObject:
		out := make([]canon.Member, 0, v.Len())
		at := make(map[string]int, v.Len())
		for _, m := range v.Members() {
			m.Value = lastNames(m.Value)
			if i, twice := at[m.Name]; twice {
				out[i] = m
				continue
			}
			at[m.Name] = len(out)
			out = append(out, m)
		}
		return canon.Object(out...)
	default:
		return v
	}
}

// count reads an integer of 64 bits without sign.
func count(v canon.Value) (uint64, bool) {
	token, ok := v.Token()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(token, 10, 64)
	return n, err == nil
}

func expect(v canon.Value, k canon.Kind, what string) error {
	if v.Kind() != k {
		return misfit("", fmt.Sprintf("%s is not %s", v.Kind(), what))
	}
	return nil
}

// misfitError says where a value does not have its form. It is turned into a
// finding or a text before it leaves the package.
type misfitError struct {
	path []string // innermost first
	msg  string
}

func misfit(at, msg string) error {
	e := &misfitError{msg: msg}
	if at != "" {
		e.path = []string{at}
	}
	return e
}

func under(name string, err error) error {
	if e, ok := err.(*misfitError); ok { //nolint:errorlint // only misfit makes these, and nothing wraps them
		e.path = append(e.path, name)
	}
	return err
}

// Error returns what is wrong and where.
func (e *misfitError) Error() string {
	if len(e.path) == 0 {
		return e.msg
	}
	path := slices.Clone(e.path)
	slices.Reverse(path)
	return strings.Join(path, "/") + ": " + e.msg
}
