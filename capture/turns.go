package capture

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// turns is whose turn it is to end in a replay.
//
// An agent that runs others at the same time goes on by which of them ended
// first. When it was recorded its provider decided that; in a replay every
// answer is there at once, so that another one may be first. So an answer of a
// model is not ended before those have ended that ended before it then.
//
// Nor is it ended before those have begun that had begun by then: an agent may
// ask beside its main question, such as for a title, and go when that is
// answered, whether or not it has come to ask the other.
//
// That cannot wait for ever: a call that was recorded need not come again. In
// the record all calls that are waited for had begun before the one that waits
// ended, and hung on no end of it, so a client that does the same makes them
// while that one waits. One that does not is left alone from then on, because
// what it does next is compared with the record anyway: the order decides what a
// client asks, never what it is answered.
type turns struct {
	patience time.Duration // without a call that begins or ends

	mu      sync.Mutex
	place   map[*effect.Record]int // among the calls, by their ends
	ended   []bool
	next    int              // the first that has not ended
	begins  []*effect.Record // in the order in which they began
	begun   map[*effect.Record]bool
	first   int                  // the first of begins that has not begun
	runs    map[ledger.RunID]int // of a branch's history, in their order
	most    int                  // calls that were under way at a time
	waiting map[*effect.Record]bool
	changed chan struct{} // closed when a call begins or ends, or waiting is over
	left    bool          // the client is left alone
	gaveUp  bool          // because what was waited for did not come
}

const (
	// maxOrdered is how many calls of a record may be under way at a time for
	// their order to be kept: agents that start others have few. With more it
	// is a load whose order means nothing, and keeping it would let one call
	// after the other through.
	maxOrdered = 8

	// turnPatience is how long an answer waits while nothing moves. It is
	// waited at most once in a replay.
	turnPatience = 2 * time.Second

	// turnGap is between the end of an answer and that of one that waited for
	// it: what the client does then should have begun.
	turnGap = 20 * time.Millisecond
)

// newTurns returns the order in which calls of models began and ended, or nil
// if there is none to keep.
func newTurns(records []*effect.Record) *turns {
	ts := &turns{
		patience: turnPatience, place: map[*effect.Record]int{}, begun: map[*effect.Record]bool{}, waiting: map[*effect.Record]bool{},
		runs: map[ledger.RunID]int{}, changed: make(chan struct{}),
	}
	var ends []*effect.Record
	for _, r := range records {
		if _, known := ts.runs[r.Call.Run]; !known {
			ts.runs[r.Call.Run] = len(ts.runs)
		}
		if r.Kind != KindModel || r.Outcome.N < 0 {
			continue
		}
		ts.begins = append(ts.begins, r)
		if r.Status == effect.OK {
			ends = append(ends, r)
		}
	}
	if ts.most = ts.atOnce(); ts.most < 2 || ts.most > maxOrdered {
		return nil
	}
	slices.SortFunc(ends, func(a, b *effect.Record) int { return ts.compare(a.Outcome, b.Outcome) })
	ts.ended = make([]bool, len(ends))
	for i, r := range ends {
		ts.place[r] = i
	}
	return ts
}

// compare says which of two entries of a history stands first.
func (ts *turns) compare(a, b ledger.Ref) int {
	return cmp.Or(cmp.Compare(ts.runs[a.Run], ts.runs[b.Run]), cmp.Compare(a.N, b.N))
}

// atOnce returns how many calls were under way at a time.
func (ts *turns) atOnce() (most int) {
	type edge struct {
		at ledger.Ref
		by int
	}
	edges := make([]edge, 0, 2*len(ts.begins))
	for _, r := range ts.begins {
		edges = append(edges, edge{r.Call, 1}, edge{r.Outcome, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return ts.compare(a.at, b.at) })
	now := 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

// moved wakes those that wait. Lock held.
func (ts *turns) moved() {
	close(ts.changed)
	ts.changed = make(chan struct{})
}

// begin says that a call has come, and returns what says that it has ended.
func (ts *turns) begin(r *effect.Record) (end func()) {
	if ts == nil || r == nil {
		return func() {}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.begun[r] = true
	for ts.first < len(ts.begins) && ts.begun[ts.begins[ts.first]] {
		ts.first++
	}
	ts.moved()
	at, ok := ts.place[r]
	if !ok {
		return func() {}
	}
	return func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.ended[at] = true
		for ts.next < len(ts.ended) && ts.ended[ts.next] {
			ts.next++
		}
		ts.moved()
	}
}

// leave ends all waiting: the client does something else than it did.
func (ts *turns) leave() {
	if ts == nil {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.left = true
	ts.moved()
}

// is reports whether all calls have ended that ended before r did, and all have
// begun that began before. Lock held.
func (ts *turns) is(r *effect.Record) bool {
	return ts.next >= ts.place[r] && (ts.first == len(ts.begins) || ts.compare(ts.begins[ts.first].Call, r.Outcome) > 0)
}

// stuck returns how many wait whose turn it is not. Others are about to go on. Lock
// held.
func (ts *turns) stuck() (n int) {
	for r := range ts.waiting {
		if !ts.is(r) {
			n++
		}
	}
	return n
}

// await returns when it is the turn of this call to end, or when the client is
// left alone.
func (ts *turns) await(ctx context.Context, r *effect.Record) {
	if ts == nil || r == nil {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if _, ok := ts.place[r]; !ok || ts.is(r) {
		return
	}
	ts.waiting[r] = true
	defer delete(ts.waiting, r)
	for !ts.is(r) && !ts.left && ctx.Err() == nil {
		if ts.stuck() >= ts.most {
			// As many wait as ever were under way: no other one will come.
			ts.left, ts.gaveUp = true, true
			ts.moved()
			return
		}
		ts.wait(ctx)
	}
	if !ts.left {
		ts.mu.Unlock()
		sleep(ctx, turnGap)
		ts.mu.Lock()
	}
}

// wait returns when something has moved, or after too long a time in which
// nothing did. The lock is held when it is called and when it returns, and not
// in between.
func (ts *turns) wait(ctx context.Context) {
	changed := ts.changed
	ts.mu.Unlock()
	t := time.NewTimer(ts.patience)
	defer t.Stop()
	over := false
	select {
	case <-changed:
	case <-ctx.Done():
	case <-t.C:
		over = true
	}
	ts.mu.Lock()
	if over && changed == ts.changed {
		ts.left, ts.gaveUp = true, true
		ts.moved()
	}
}

// kept reports whether calls began and ended in the recorded order, as far as the
// client asked what it had asked.
func (ts *turns) kept() bool {
	if ts == nil {
		return true
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return !ts.gaveUp
}
