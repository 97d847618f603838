package effect

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Record is one recorded call, as the journal keeps it: its places in the
// ledger, not its contents.
type Record struct {
	Key     Key
	Kind    string
	Name    string
	Call    ledger.Ref
	Outcome ledger.Ref // N is -1 if there is none
	Status  Status
	Cred    canon.Value
	used    bool
}

// Journal answers calls from a recorded ledger. Its memory grows with the
// number of calls, not with their contents. It is not safe for concurrent
// use.
type Journal struct {
	records []*Record
	byKey   map[Key]*Record
	open    map[place]*Record

	// AnyCredential makes a call match although it was made with another
	// credential of the same store.
	AnyCredential bool
	// Remarks collects what a match leaves open, such as a credential that
	// cannot be compared.
	Remarks []string
}

// place is where a call stands: a branch's journal begins in another run.
type place struct {
	run ledger.RunID
	n   int64
}

// NewJournal returns an empty journal.
func NewJournal() *Journal {
	return &Journal{byKey: map[Key]*Record{}, open: map[place]*Record{}}
}

// Add takes the next entry of the recorded ledger. Entries other than calls
// and outcomes are passed over.
func (j *Journal) Add(o *ledger.Opened) error {
	switch o.Kind {
	case ledger.KindCall:
		if o.Body.IsZero() {
			return fault.New(ledger.ErrAbsent, "effect.Journal.Add", "the call at entry %d is absent", o.N)
		}
		c, k, err := ParseCall(o.Body)
		if err != nil {
			return err
		}
		// A call that was open where a branch left its source was made anew
		// by the branch.
		if old := j.byKey[k]; old != nil && old.Outcome.N < 0 && old.Call.Run != o.Run {
			j.records = slices.DeleteFunc(j.records, func(r *Record) bool { return r == old })
		} else if old != nil {
			return fault.New(ErrCall, "effect.Journal.Add", "entry %d repeats a call under the same key and occurrence", o.N)
		}
		r := &Record{Key: k, Kind: c.Kind, Name: c.Name, Cred: c.Cred, Call: ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, Outcome: ledger.Ref{N: -1}}
		j.byKey[k], j.open[place{o.Run, o.N}] = r, r
		j.records = append(j.records, r)
	case ledger.KindOutcome:
		n, ok := o.Body.Get("refs").Get("call").AsInt()
		r := j.open[place{o.Run, n}]
		if !ok || r == nil {
			return fault.New(ErrCall, "effect.Journal.Add", "the outcome at entry %d names no open call", o.N)
		}
		out, err := ParseOutcome(o.Body)
		if err != nil {
			return err
		}
		delete(j.open, place{o.Run, n})
		r.Outcome, r.Status = ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, out.Status
	default:
	}
	return nil
}

// Len returns the number of recorded calls.
func (j *Journal) Len() int { return len(j.records) }

// Name implements [Source].
func (*Journal) Name() string { return "journal" }

// Answer implements [Source]. Each record answers once.
func (j *Journal) Answer(k Key, c *Call) (Answer, error) {
	const op = "effect.Journal"
	r := j.byKey[k]
	if r == nil || r.used {
		return Answer{}, fault.New(ErrMissing, op, "%s %s (occurrence %d) is not in the record", c.Kind, c.Name, k.Occurrence)
	}
	if err := j.credential(r, c); err != nil {
		return Answer{}, err
	}
	r.used = true
	if r.Outcome.N < 0 {
		return Answer{}, fault.New(ErrNoOutcome, op, "the record ends before the outcome of %s %s at entry %d", r.Kind, r.Name, r.Call.N)
	}
	return Answer{Mode: Recorded, Recorded: r}, nil
}

// credential compares fingerprints: an equal one matches, one of another
// store cannot be compared and is remarked, an unequal one of the same store
// is a miss.
func (j *Journal) credential(r *Record, c *Call) error {
	if r.Cred.IsZero() && c.Cred.IsZero() || r.Cred.Equal(c.Cred) {
		return nil
	}
	if r.Cred.Get("key").Str() != c.Cred.Get("key").Str() || r.Cred.IsZero() || c.Cred.IsZero() {
		j.remark("credentials were not compared: the record was made in another store, or one side has none")
		return nil
	}
	if j.AnyCredential {
		j.remark("calls were answered that were recorded with another credential, as was asked for")
		return nil
	}
	return fault.New(ErrMissing, "effect.Journal", "%s %s was recorded with another credential (entry %d); to match it all the same ask for any credential", c.Kind, c.Name, r.Call.N)
}

// remark keeps a remark, once.
func (j *Journal) remark(text string) {
	if !slices.Contains(j.Remarks, text) {
		j.Remarks = append(j.Remarks, text)
	}
}

// Records returns all records in ledger order. They are not to be changed.
func (j *Journal) Records() []*Record { return j.records }

// Left returns the records that answered nothing, in ledger order.
func (j *Journal) Left() []*Record {
	var out []*Record
	for _, r := range j.records {
		if !r.used {
			out = append(out, r)
		}
	}
	return out
}

// Under returns the records of a match key under a path of enclosing calls, in
// ledger order, whether they have answered or not.
func (j *Journal) Under(match canon.Digest, path string) []*Record {
	var out []*Record
	for n := int64(0); ; n++ {
		r := j.byKey[Key{Path: path, Match: match, Occurrence: n}]
		if r == nil {
			return out
		}
		out = append(out, r)
	}
}

// Nearest returns records that a call which is not recorded most likely
// stands for: unused ones of the same kind, name and path first, then of the
// same kind; at most max, in ledger order. They answer nothing: they are for
// the report.
func (j *Journal) Nearest(k Key, c *Call, max int) []*Record {
	for _, near := range []func(*Record) bool{
		func(r *Record) bool { return !r.used && r.Kind == c.Kind && r.Name == c.Name && r.Key.Path == k.Path },
		func(r *Record) bool { return r.Kind == c.Kind && r.Name == c.Name },
		func(r *Record) bool { return !r.used && r.Kind == c.Kind },
	} {
		var out []*Record
		for _, r := range j.records {
			if near(r) && len(out) < max {
				out = append(out, r)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
