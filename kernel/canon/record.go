package canon

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// MaxName is how many bytes a name may have that [Record.Name] reads.
const MaxName = 256

// Record reads an object of known members, strictly: a member that is missing
// or unknown, or of another type, is an error. The first error stands, and what
// is read after it counts for nothing, so that a reader reads all it needs and
// asks for [Record.Err] at its end. Engines embed it and add the types of their
// own. A Record belongs to one goroutine.
type Record struct {
	Value Value
	Err   error      // the first error
	Op    string     // of the errors
	What  string     // what is read, as errors name it
	Code  fault.Code // of the errors
}

// ReadRecord begins to read v, which must have exactly the members named; one
// whose name ends in a question mark may be absent.
func ReadRecord(v Value, code fault.Code, op, what string, names ...string) *Record {
	r := &Record{Value: v, Code: code, Op: op, What: what}
	if v.Kind() != KindObject {
		r.Fail("%s is no object", what)
		return r
	}
	known := 0
	for _, name := range names {
		optional := name[len(name)-1] == '?'
		if optional {
			name = name[:len(name)-1]
		}
		switch {
		case v.Has(name):
			known++
		case !optional:
			r.Fail("%s lacks the member %s", what, name)
		}
	}
	if known != v.Len() {
		r.Fail("%s has a member that is not known here, or one twice", what)
	}
	return r
}

// Fail keeps an error, if it is the first.
func (r *Record) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fault.New(r.Code, r.Op, format, args...)
	}
}

// Take keeps the error of a member that has a reader of its own, if it is the
// first.
func (r *Record) Take(name string, err error) {
	if r.Err == nil && err != nil {
		r.Err = fault.Wrap(r.Code, r.Op, err, "%s.%s", r.What, name)
	}
}

// Sub begins to read the object that a member holds. Its error is to be taken.
func (r *Record) Sub(name string, names ...string) *Record {
	return ReadRecord(r.Value.Get(name), r.Code, r.Op, r.What+"."+name, names...)
}

// Text reads a text of at most limit bytes.
func (r *Record) Text(name string, limit int) string {
	s, ok := r.Value.Get(name).AsString()
	if !ok || len(s) > limit {
		r.Fail("%s.%s is no text of at most %d bytes", r.What, name, limit)
	}
	return s
}

// TextOrNull reads a text that may be null, which is "". An empty text is
// refused: what is hashed would have two spellings.
func (r *Record) TextOrNull(name string, limit int) string {
	if r.Value.Get(name).IsNull() {
		return ""
	}
	s := r.Text(name, limit)
	if s == "" {
		r.Fail("%s.%s is empty; none is null", r.What, name)
	}
	return s
}

// Name reads a text that must say something.
func (r *Record) Name(name string) string {
	s := r.Text(name, MaxName)
	if s == "" {
		r.Fail("%s.%s is empty", r.What, name)
	}
	return s
}

// Word reads one of a closed set of words.
func (r *Record) Word(name string, words ...string) string {
	s := r.Text(name, MaxName)
	if !slices.Contains(words, s) {
		r.Fail("%s.%s is %q, which is none of %q", r.What, name, s, words)
	}
	return s
}

// Bool reads true or false.
func (r *Record) Bool(name string) bool {
	b, ok := r.Value.Get(name).AsBool()
	if !ok {
		r.Fail("%s.%s is neither true nor false", r.What, name)
	}
	return b
}

// Count reads an integer of 0 to limit.
func (r *Record) Count(name string, limit int64) int64 {
	n, ok := r.Value.Get(name).AsInt()
	if token, _ := r.Value.Get(name).Token(); !ok || n < 0 || n > limit || token == "-0" {
		r.Fail("%s.%s is no count of at most %d", r.What, name, limit)
	}
	return n
}

// Digest reads an id of 64 hexadecimal digits.
func (r *Record) Digest(name string) Digest {
	d, err := ParseDigest(r.Value.Get(name).Str())
	if err != nil {
		r.Fail("%s.%s is no id of 64 hexadecimal digits", r.What, name)
	}
	return d
}

// List reads a list of at most limit elements.
func (r *Record) List(name string, limit int) []Value {
	v := r.Value.Get(name)
	if v.Kind() != KindArray || v.Len() > limit {
		r.Fail("%s.%s is no list of at most %d elements", r.What, name, limit)
		return nil
	}
	return v.Elems()
}

// Names reads a list of at most limit names, in the order in which they stand.
func (r *Record) Names(name string, limit int) []string {
	var out []string
	for _, e := range r.List(name, limit) {
		s, ok := e.AsString()
		if !ok || s == "" || len(s) > MaxName {
			r.Fail("%s.%s holds something else than names of at most %d bytes", r.What, name, MaxName)
		}
		out = append(out, s)
	}
	return out
}
