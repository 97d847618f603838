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
	maxText = 8 << 10  // bytes of a reason or rationale
	maxList = 1024     // elements of a list
	maxArgs = 40 << 10 // bytes of the arguments of an intent, so that its entry fits a body
)

// record is a strict reader of an object, with the types of this engine.
type record struct{ *canon.Record }

// newRecord begins to read v, which must have exactly the members named; one
// whose name ends in a question mark may be left out.
func newRecord(v canon.Value, code fault.Code, op, what string, names ...string) record {
	return record{canon.ReadRecord(v, code, op, what, names...)}
}

// sub begins to read the object that a member holds.
func (r record) sub(name string, names ...string) record { return record{r.Sub(name, names...)} }

// nameOrNull reads a name that may be null, which is "".
func (r record) nameOrNull(name string) string {
	if r.Value.Get(name).IsNull() {
		return ""
	}
	return r.Name(name)
}

func (r record) uint(name string, bits int) uint64 {
	token, _ := r.Value.Get(name).Token()
	n, err := strconv.ParseUint(token, 10, bits)
	if err != nil {
		r.Fail("%s.%s is no count of %d bits", r.What, name, bits)
	}
	return n
}

// digestOrNull reads an id that may be null, which is the zero digest. The
// zero digest itself is refused: what is hashed would have two spellings.
func (r record) digestOrNull(name string) canon.Digest {
	if r.Value.Get(name).IsNull() {
		return canon.Digest{}
	}
	d := r.Digest(name)
	if d.IsZero() {
		r.Fail("%s.%s is all zero; none is null", r.What, name)
	}
	return d
}

func (r record) hex(name string, size int) []byte {
	s := r.Value.Get(name).Str()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != size || hex.EncodeToString(b) != s {
		r.Fail("%s.%s is not %d bytes in lower-case hexadecimal", r.What, name, size)
	}
	return b
}

func (r record) nonce(name string) (nonce [16]byte) {
	list := r.List(name, len(nonce))
	if len(list) != len(nonce) {
		r.Fail("%s.%s is no list of %d bytes", r.What, name, len(nonce))
		return nonce
	}
	for i, e := range list {
		n, ok := e.AsInt()
		if token, _ := e.Token(); !ok || n < 0 || n > 255 || token == "-0" {
			r.Fail("%s.%s holds %s, which is no byte", r.What, name, e)
		}
		nonce[i] = byte(n)
	}
	return nonce
}

// scopes reads a list of {tool} objects.
func (r record) scopes(name string) []string {
	var out []string
	for _, e := range r.List(name, maxList) {
		t := newRecord(e, r.Code, r.Op, r.What+"."+name, "tool")
		s := t.Name("tool")
		r.Take(name, t.Err)
		if !isScope(s) {
			r.Fail("the scope %q of %s has an asterisk elsewhere than at its end", s, r.What)
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
