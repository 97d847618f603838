package capture

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/kernel/effect"
)

// turns is whose turn it is to end in a replay.
//
// An agent that runs others at the same time goes on by which of them ended
// first. When it was recorded its provider decided that; in a replay every
// answer is there at once, so that another one may be first. So an answer of a
// model is not ended before those have ended that ended before it then.
//
// That cannot wait for ever: a call that was recorded need not come again. In
// the record all calls that ended before another one had begun before it ended,
// so a client that does the same makes them while that one waits. One that does
// not is left alone from then on, because what it does next is compared with
// the record anyway: the order decides what a client asks, never what it is
// answered.
type turns struct {
	patience time.Duration // without a call that begins or ends

	mu      sync.Mutex
	place   map[*effect.Record]int // among the calls, by their ends
	ended   []bool
	next    int // the first that has not ended
	most    int // calls that were under way at a time
	waiting int
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

// newTurns returns the order in which calls of models ended, or nil if there
// is none to keep.
func newTurns(records []*effect.Record) *turns {
	var list []*effect.Record
	for _, r := range records {
		if r.Kind == KindModel && r.Outcome.N >= 0 && r.Status == effect.OK {
			list = append(list, r)
		}
	}
	ts := &turns{patience: turnPatience, place: make(map[*effect.Record]int, len(list)), ended: make([]bool, len(list)), most: atOnce(list), changed: make(chan struct{})}
	if ts.most < 2 || ts.most > maxOrdered {
		return nil
	}
	slices.SortFunc(list, func(a, b *effect.Record) int { return cmp.Compare(a.Outcome.N, b.Outcome.N) })
	for i, r := range list {
		ts.place[r] = i
	}
	return ts
}

// atOnce returns how many calls were under way at a time.
func atOnce(list []*effect.Record) (most int) {
	type edge struct {
		n  int64
		by int
	}
	edges := make([]edge, 0, 2*len(list))
	for _, r := range list {
		edges = append(edges, edge{r.Call.N, 1}, edge{r.Outcome.N, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.n, b.n) })
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
	at, ok := ts.place[r]
	if !ok {
		return func() {}
	}
	ts.moved()
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

// await returns when all calls have ended that ended before this one did, or
// when the client is left alone.
func (ts *turns) await(ctx context.Context, r *effect.Record) {
	if ts == nil || r == nil {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	at, ok := ts.place[r]
	if !ok || ts.next >= at {
		return
	}
	ts.waiting++
	defer func() { ts.waiting-- }()
	for ts.next < at && !ts.left && ctx.Err() == nil {
		if ts.waiting >= ts.most {
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

// kept reports whether calls ended in the recorded order, as far as the client
// asked what it had asked.
func (ts *turns) kept() bool {
	if ts == nil {
		return true
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return !ts.gaveUp
}
