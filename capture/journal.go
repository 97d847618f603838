package capture

import (
	"context"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Journal is the journal of a recorded run, safe for concurrent use. It is a
// source of a session, and knows which recorded call comes nearest to one
// that is not recorded.
type Journal struct {
	mu   sync.Mutex
	j    *effect.Journal
	open canon.Value // data of the open entry
	last ledger.Ref  // the last entry that was read
	seal canon.Value // body of the seal, if it was read

	changed chan struct{} // closed when a record is used

	leave string // the kind of calls that are not missed if they do not come again
}

// ReadJournal reads the first count entries of a run, or all if count is not
// positive; of a branch also the history that it stands on.
func ReadJournal(ctx context.Context, store ledger.Store, run ledger.RunID, count int64) (*Journal, error) {
	j := &Journal{j: effect.NewJournal(), last: ledger.Ref{N: -1}, changed: make(chan struct{})}
	for o, err := range drive.Lineage(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		if count > 0 && o.Run == run && o.N >= count {
			break
		}
		switch {
		case o.Kind == ledger.KindOpen && o.Run == run:
			j.open = o.Body.Get("data")
		case o.Kind == ledger.KindSeal && o.Run == run:
			j.seal = o.Body
		default:
			if err := j.j.Add(o); err != nil {
				return nil, err
			}
		}
		j.last = ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}
	}
	if j.last.N < 0 {
		return nil, fault.New(ledger.ErrNotFound, "capture.ReadJournal", "there is no run %s", run)
	}
	return j, nil
}

// Opened returns the data of the open entry.
func (j *Journal) Opened() canon.Value { return j.open }

// Sealed returns the body of the seal; it is absent if the run was not sealed.
func (j *Journal) Sealed() canon.Value { return j.seal }

// Last returns the last entry that was read.
func (j *Journal) Last() ledger.Ref { return j.last }

// Name implements [effect.Source].
func (*Journal) Name() string { return "journal" }

// Answer implements [effect.Source].
func (j *Journal) Answer(k effect.Key, c *effect.Call) (effect.Answer, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, err := j.j.Answer(k, c)
	if err == nil {
		close(j.changed)
		j.changed = make(chan struct{})
	}
	return a, err
}

// await returns when every call that was recorded under a path before entry n
// has come, or ctx is done.
func (j *Journal) await(ctx context.Context, path string, n int64) {
	for {
		j.mu.Lock()
		left, changed := under(j.left(), path), j.changed
		j.mu.Unlock()
		if len(left) == 0 || left[0].Call.N > n {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// AnyCredential makes calls match whatever credential they were made with.
func (j *Journal) AnyCredential() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.j.AnyCredential = true
}

// Len returns the number of recorded calls.
func (j *Journal) Len() int { return j.j.Len() }

// Within returns the records of the calls that stand under a path, in ledger
// order: those of an agent, and those of what it calls.
func (j *Journal) Within(path string) []*effect.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return under(j.j.Records(), path)
}

// LeftWithin is [Journal.Within] of those that answered nothing and on which
// something depends.
func (j *Journal) LeftWithin(path string) []*effect.Record {
	return slices.DeleteFunc(under(j.Left(), path), func(r *effect.Record) bool { return isProbeName(r.Name) })
}

func under(list []*effect.Record, path string) []*effect.Record {
	if path == "" {
		return list
	}
	var out []*effect.Record
	for _, r := range list {
		if r.Key.Beneath(path) {
			out = append(out, r)
		}
	}
	return out
}

// Left returns the records that answered nothing, in ledger order.
func (j *Journal) Left() []*effect.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.left()
}

func (j *Journal) left() []*effect.Record {
	list := j.j.Left()
	if j.leave == "" {
		return list
	}
	return slices.DeleteFunc(list, func(r *effect.Record) bool { return r.Kind == j.leave })
}

// forget makes the calls of a kind none that must come again.
func (j *Journal) forget(kind string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leave = kind
}

// forgotten returns how many calls need not come again.
func (j *Journal) forgotten() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.j.Left()) - len(j.left())
}

// step returns which of the recorded calls each one is, from 1.
func (j *Journal) step() map[*effect.Record]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make(map[*effect.Record]int64, j.j.Len())
	for i, r := range j.j.Records() {
		out[r] = int64(i) + 1
	}
	return out
}

// Remarks returns what matches left open.
func (j *Journal) Remarks() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.j.Remarks...)
}

func (j *Journal) nearest(k effect.Key, c *effect.Call, most int) []*effect.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.j.Nearest(k, c, most)
}

// under returns the recorded calls of a key, in ledger order.
func (j *Journal) under(match canon.Digest, path string) []*effect.Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.j.Under(match, path)
}

// at returns the recorded call of a key, or nil.
func (j *Journal) at(k effect.Key) *effect.Record {
	if list := j.under(k.Match, k.Path); k.Occurrence < int64(len(list)) {
		return list[k.Occurrence]
	}
	return nil
}

// Nearest is a recorded call that comes near to one that is not recorded.
type Nearest struct {
	Record *effect.Record
	Where  []canon.Difference // in the form that keys are taken of
}

// maxNear is how many recorded calls are compared with one that is missing.
const maxNear = 8

// near returns the recorded call that comes nearest to c, or nil. It answers
// nothing: it is for people.
func (r *Recorded) near(ctx context.Context, rules *match.Rules, path string, c *effect.Call, now formed) (*Nearest, error) {
	var best *Nearest
	for _, rec := range r.Journal.nearest(effect.Key{Path: path, Match: c.Match}, c, maxNear) {
		n, err := r.compare(ctx, rules, c, rec, now)
		if err != nil {
			return nil, err
		}
		if best == nil || n.closer(best) {
			best = n
		}
	}
	return best, nil
}

// compare says where a recorded call differs from c, whose form is now.
func (r *Recorded) compare(ctx context.Context, rules *match.Rules, c *effect.Call, rec *effect.Record, now formed) (*Nearest, error) {
	o, err := r.Reader.Ref(ctx, rec.Call)
	if err != nil {
		return nil, err
	}
	then, err := formAt(ctx, r.Reader, o, r.rules(rules), c.Kind)
	if err != nil {
		return nil, err
	}
	a, b, err := then.beside(now)
	if err != nil {
		return nil, err
	}
	return &Nearest{Record: rec, Where: differences(o.Body, c, a, b)}, nil
}

// behind returns what a recorded request holds behind its content coding.
func behind(data canon.Value, b []byte) []byte {
	if coding := data.Get("coding").Str(); coding != "" {
		if p, err := codings.Decode(coding, b, DefaultMaxWhole); err == nil {
			return p
		}
	}
	return b
}

// rules returns the rules with the setting of the record, so that its dates,
// its folder and its id are normalised as they were then.
func (r *Recorded) rules(now *match.Rules) *match.Rules {
	s := match.ParseSetting(r.Journal.Opened().Get("setting"))
	s.Run = string(r.Reader.Run())
	return now.At(s)
}

var _ effect.Source = (*Journal)(nil)
