package trajectory

import (
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Limits on what comes from outside.
const (
	maxName = 256      // bytes of a name: of an issuer, a tool, a channel, …
	maxText = 8 << 10  // bytes of a reason or rationale
	maxList = 1024     // elements of a list
	maxArgs = 40 << 10 // bytes of the arguments of an intent, so that its entry fits a body
)

// record reads an object of known members, strictly: a member that is missing
// or unknown, or of another type, is an error. The first error stands; what is
// read after it counts for nothing.
type record struct {
	v    canon.Value
	code fault.Code
	op   string
	what string // what is read, for messages
	err  error
}

// newRecord begins to read v, which must have exactly the members named; one
// whose name ends in a question mark may be left out.
func newRecord(v canon.Value, code fault.Code, op, what string, names ...string) *record {
	r := &record{v: v, code: code, op: op, what: what}
	if v.Kind() != canon.KindObject {
		r.fail("%s is not an object", what)
		return r
	}
	known := 0
	for _, n := range names {
		optional := n[len(n)-1] == '?'
		if optional {
			n = n[:len(n)-1]
		}
		if v.Has(n) {
			known++
		} else if !optional {
			r.fail("%s lacks the member %s", what, n)
		}
	}
	if known != v.Len() {
		r.fail("%s has a member that is unknown or stands twice", what)
	}
	return r
}

func (r *record) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(r.code, r.op, format, args...)
	}
}

// wrap takes the error of a part that has a reader of its own.
func (r *record) wrap(name string, err error) {
	if r.err == nil && err != nil {
		r.err = fault.Wrap(r.code, r.op, err, "the member %s of %s", name, r.what)
	}
}

// sub begins to read the object that a member holds.
func (r *record) sub(name string, names ...string) *record {
	return newRecord(r.v.Get(name), r.code, r.op, r.what+"."+name, names...)
}

func (r *record) text(name string, limit int) string {
	s, ok := r.v.Get(name).AsString()
	if !ok || len(s) > limit {
		r.fail("the member %s of %s is not a string of at most %d bytes", name, r.what, limit)
	}
	return s
}

// name reads a text that must say something.
func (r *record) name(name string) string {
	s := r.text(name, maxName)
	if s == "" {
		r.fail("the member %s of %s is empty", name, r.what)
	}
	return s
}

// nameOrNull reads a name that may be null, which is "".
func (r *record) nameOrNull(name string) string {
	if r.v.Get(name).IsNull() {
		return ""
	}
	return r.name(name)
}

func (r *record) bool(name string) bool {
	b, ok := r.v.Get(name).AsBool()
	if !ok {
		r.fail("the member %s of %s is neither true nor false", name, r.what)
	}
	return b
}

func (r *record) uint(name string, bits int) uint64 {
	token, _ := r.v.Get(name).Token()
	n, err := strconv.ParseUint(token, 10, bits)
	if err != nil {
		r.fail("the member %s of %s is not a count of %d bits", name, r.what, bits)
	}
	return n
}

func (r *record) digest(name string) canon.Digest {
	d, err := canon.ParseDigest(r.v.Get(name).Str())
	if err != nil {
		r.fail("the member %s of %s is not an id of 64 hexadecimal digits", name, r.what)
	}
	return d
}

// digestOrNull reads an id that may be null, which is the zero digest. The
// zero digest itself is refused: what is hashed would have two spellings.
func (r *record) digestOrNull(name string) canon.Digest {
	if r.v.Get(name).IsNull() {
		return canon.Digest{}
	}
	d := r.digest(name)
	if d.IsZero() {
		r.fail("the member %s of %s is all zero; none is null", name, r.what)
	}
	return d
}

func (r *record) hex(name string, size int) []byte {
	s := r.v.Get(name).Str()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != size || hex.EncodeToString(b) != s {
		r.fail("the member %s of %s is not %d bytes in lower-case hexadecimal", name, r.what, size)
	}
	return b
}

func (r *record) nonce(name string) (nonce [16]byte) {
	list := r.list(name, len(nonce))
	if len(list) != len(nonce) {
		r.fail("the member %s of %s is not a list of %d bytes", name, r.what, len(nonce))
		return nonce
	}
	for i, e := range list {
		n, ok := e.AsInt()
		if token, _ := e.Token(); !ok || n < 0 || n > 255 || token == "-0" {
			r.fail("the member %s of %s holds %s, which is no byte", name, r.what, e)
		}
		nonce[i] = byte(n)
	}
	return nonce
}

func (r *record) list(name string, limit int) []canon.Value {
	v := r.v.Get(name)
	if v.Kind() != canon.KindArray || v.Len() > limit {
		r.fail("the member %s of %s is not a list of at most %d elements", name, r.what, limit)
		return nil
	}
	return v.Elems()
}

// names reads a list of names.
func (r *record) names(name string, limit int) []string {
	var out []string
	for _, e := range r.list(name, limit) {
		s, ok := e.AsString()
		if !ok || s == "" || len(s) > maxName {
			r.fail("the member %s of %s holds something else than names of at most %d bytes", name, r.what, maxName)
		}
		out = append(out, s)
	}
	return out
}

// scopes reads a list of {tool} objects.
func (r *record) scopes(name string) []string {
	var out []string
	for _, e := range r.list(name, maxList) {
		t := newRecord(e, r.code, r.op, r.what+"."+name, "tool")
		s := t.name("tool")
		r.wrap(name, t.err)
		if !isScope(s) {
			r.fail("the scope %q of %s has an asterisk elsewhere than at its end", s, r.what)
		}
		out = append(out, s)
	}
	return out
}

func uintValue(n uint64) canon.Value {
	v, err := canon.Number(strconv.FormatUint(n, 10))
	if err != nil {
		panic("trajectory: " + err.Error()) // digits are a number
	}
	return v
}

func nonceValue(nonce [16]byte) canon.Value {
	elems := make([]canon.Value, len(nonce))
	for i, b := range nonce {
		elems[i] = canon.Int(int64(b))
	}
	return canon.Array(elems...)
}

func namesValue(names []string) canon.Value {
	elems := make([]canon.Value, len(names))
	for i, n := range names {
		elems[i] = canon.String(n)
	}
	return canon.Array(elems...)
}

func scopesValue(scopes []string) canon.Value {
	elems := make([]canon.Value, len(scopes))
	for i, s := range scopes {
		elems[i] = canon.Object(canon.M("tool", canon.String(s)))
	}
	return canon.Array(elems...)
}

// dedupe returns names without those that stood before, in their order.
func dedupe(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
