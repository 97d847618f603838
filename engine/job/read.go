package job

import (
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Limits on what comes from outside.
const (
	maxText  = 16 << 10 // bytes of a text: a reason, a summary
	maxQuery = 1 << 20  // bytes of what a job is asked
	maxList  = 4096     // elements of a list
	maxCount = 1 << 40  // a count: of tokens, ticks, attempts, …
)

// record is a strict reader of an object, with the types of this engine.
type record struct{ *canon.Record }

// newRecord begins to read v, which must have exactly the members named; one
// whose name ends in a question mark may be absent.
func newRecord(v canon.Value, code fault.Code, op, what string, names ...string) record {
	return record{canon.ReadRecord(v, code, op, what, names...)}
}

// sub begins to read the object that a member holds. Its error is to be taken.
func (r record) sub(name string, names ...string) record { return record{r.Sub(name, names...)} }

// nano reads a number of nine decimals.
func (r record) nano(name string) Nano {
	n, ok := ParseNano(r.Value.Get(name))
	if !ok {
		r.Fail("%s.%s is no number of nine decimals such as %s", r.What, name, One)
	}
	return n
}

// unit reads a number of nine decimals, of 0 to 1.
func (r record) unit(name string) Nano {
	n := r.nano(name)
	if !n.Unit() {
		r.Fail("%s.%s is %s, which is not of 0 to 1", r.What, name, n)
	}
	return n
}

// digest reads an id of 64 hexadecimal digits, as text.
func (r record) digest(name string) string {
	r.Digest(name)
	return r.Value.Get(name).Str()
}

// instant reads an instant in its one spelling.
func (r record) instant(name string) det.Instant {
	s, _ := r.Value.Get(name).AsString()
	at, err := det.ParseInstant(s)
	if err != nil || at.String() != s {
		r.Fail("%s.%s is no instant in UTC such as %s", r.What, name, det.Epoch)
	}
	return at
}

func (r record) list(name string) []canon.Value { return r.List(name, maxList) }

func (r record) names(name string) []string { return r.Names(name, maxList) }

// set reads a list of names that is sorted and names nothing twice.
func (r record) set(name string) []string {
	out := r.names(name)
	for i := 1; i < len(out); i++ {
		if out[i-1] >= out[i] {
			r.Fail("%s.%s is not sorted, or names %q twice", r.What, name, out[i])
			break
		}
	}
	return out
}
