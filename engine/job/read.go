package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Limits on what comes from outside.
const (
	maxName  = 256      // bytes of a name: of a node, an actor, an action, …
	maxText  = 16 << 10 // bytes of a text: a reason, a summary
	maxQuery = 1 << 20  // bytes of what a job is asked
	maxList  = 4096     // elements of a list
	maxCount = 1 << 40  // a count: of tokens, ticks, attempts, …
)

// record reads an object of known members, strictly: a member that is missing
// or unknown, or of another type, is an error. The first error stands, and what
// is read after it counts for nothing.
type record struct {
	v    canon.Value
	code fault.Code
	op   string
	what string // what is read, for messages
	err  error
}

// newRecord begins to read v, which must have exactly the members named; one
// whose name ends in a question mark may be absent.
func newRecord(v canon.Value, code fault.Code, op, what string, names ...string) *record {
	r := &record{v: v, code: code, op: op, what: what}
	if v.Kind() != canon.KindObject {
		r.fail("%s is no object", what)
		return r
	}
	seen := 0
	for _, name := range names {
		optional := name[len(name)-1] == '?'
		if optional {
			name = name[:len(name)-1]
		}
		switch {
		case v.Has(name):
			seen++
		case !optional:
			r.fail("%s lacks the member %s", what, name)
		}
	}
	if seen != v.Len() {
		r.fail("%s has a member that is not known here, or one twice", what)
	}
	return r
}

func (r *record) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(r.code, r.op, format, args...)
	}
}

// take keeps the error of a part that has a reader of its own.
func (r *record) take(name string, err error) {
	if r.err == nil && err != nil {
		r.err = fault.Wrap(r.code, r.op, err, "%s.%s", r.what, name)
	}
}

// sub begins to read the object that a member holds. Its error is to be taken.
func (r *record) sub(name string, names ...string) *record {
	return newRecord(r.v.Get(name), r.code, r.op, r.what+"."+name, names...)
}

func (r *record) text(name string, limit int) string {
	s, ok := r.v.Get(name).AsString()
	if !ok || len(s) > limit {
		r.fail("%s.%s is no text of at most %d bytes", r.what, name, limit)
	}
	return s
}

// textOrNull reads a text that may be null, which is "". An empty text is
// refused: it would be a second spelling.
func (r *record) textOrNull(name string, limit int) string {
	if r.v.Get(name).IsNull() {
		return ""
	}
	s := r.text(name, limit)
	if s == "" {
		r.fail("%s.%s is empty; none is null", r.what, name)
	}
	return s
}

// name reads a text that must say something.
func (r *record) name(name string) string {
	s := r.text(name, maxName)
	if s == "" {
		r.fail("%s.%s is empty", r.what, name)
	}
	return s
}

// word reads one of a closed set of words.
func (r *record) word(name string, words ...string) string {
	s := r.text(name, maxName)
	if !slices.Contains(words, s) {
		r.fail("%s.%s is %q, which is none of %q", r.what, name, s, words)
	}
	return s
}

func (r *record) bool(name string) bool {
	b, ok := r.v.Get(name).AsBool()
	if !ok {
		r.fail("%s.%s is neither true nor false", r.what, name)
	}
	return b
}

// count reads an integer of 0 to limit.
func (r *record) count(name string, limit int64) int64 {
	n, ok := r.v.Get(name).AsInt()
	if token, _ := r.v.Get(name).Token(); !ok || n < 0 || n > limit || token == "-0" {
		r.fail("%s.%s is no count of at most %d", r.what, name, limit)
	}
	return n
}

// nano reads a number of nine decimals.
func (r *record) nano(name string) Nano {
	n, ok := ParseNano(r.v.Get(name))
	if !ok {
		r.fail("%s.%s is no number of nine decimals such as %s", r.what, name, One)
	}
	return n
}

// unit reads a number of nine decimals, of 0 to 1.
func (r *record) unit(name string) Nano {
	n := r.nano(name)
	if !n.Unit() {
		r.fail("%s.%s is %s, which is not of 0 to 1", r.what, name, n)
	}
	return n
}

// digest reads an id of 64 hexadecimal digits, as text.
func (r *record) digest(name string) string {
	s, _ := r.v.Get(name).AsString()
	if _, err := canon.ParseDigest(s); err != nil {
		r.fail("%s.%s is no id of 64 hexadecimal digits", r.what, name)
	}
	return s
}

// instant reads an instant in its one spelling.
func (r *record) instant(name string) det.Instant {
	s, _ := r.v.Get(name).AsString()
	at, err := det.ParseInstant(s)
	if err != nil || at.String() != s {
		r.fail("%s.%s is no instant in UTC such as %s", r.what, name, det.Epoch)
	}
	return at
}

func (r *record) list(name string) []canon.Value {
	v := r.v.Get(name)
	if v.Kind() != canon.KindArray || v.Len() > maxList {
		r.fail("%s.%s is no list of at most %d elements", r.what, name, maxList)
		return nil
	}
	return v.Elems()
}

// names reads a list of names in the order in which they stand.
func (r *record) names(name string) []string {
	var out []string
	for _, e := range r.list(name) {
		s, ok := e.AsString()
		if !ok || s == "" || len(s) > maxName {
			r.fail("%s.%s holds something else than names of at most %d bytes", r.what, name, maxName)
		}
		out = append(out, s)
	}
	return out
}

// set reads a list of names that is sorted and names nothing twice.
func (r *record) set(name string) []string {
	out := r.names(name)
	for i := 1; i < len(out); i++ {
		if out[i-1] >= out[i] {
			r.fail("%s.%s is not sorted, or names %q twice", r.what, name, out[i])
			break
		}
	}
	return out
}

func namesValue(names []string) canon.Value {
	elems := make([]canon.Value, len(names))
	for i, n := range names {
		elems[i] = canon.String(n)
	}
	return canon.Array(elems...)
}

// textValue returns a text, or null for none.
func textValue(s string) canon.Value {
	if s == "" {
		return canon.Null()
	}
	return canon.String(s)
}
