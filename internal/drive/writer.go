package drive

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Store is what a session writes to: entries and chunks, durable together.
type Store interface {
	ledger.Store
	blob.Store
}

// Config is what a session needs from the world. Every field is required but
// Signer and Spool.
type Config struct {
	Store  Store
	Now    func() time.Time
	Rand   io.Reader   // a cryptographic source
	Signer sign.Signer // signs heads; nil: the run reaches no level above 0
	// Manifests is the chain of key manifests that lists the signer's key,
	// oldest first. It is kept beside each new run.
	Manifests [][]byte
	Spool     string // folder for bytes that are still coming; empty: they are not staged
	Holder    string // names this process among the writers of the store
}

const (
	leaseTTL   = 10 * time.Second
	headEvery  = time.Second
	soonFlush  = 5 * time.Millisecond  // an entry that nobody waits for is stored after one to two of these
	lazyFlush  = 50 * time.Millisecond // the same in a replay
	queueBytes = 8 << 20               // a writer waits when more than this is not durable yet
	retries    = 5
)

// writer puts the entries of one run in order and makes them durable in
// groups: what is appended while one group is being stored is the next group.
// A group is stored at once if somebody waits for it, else a little later: so
// the call and the outcome of a fast answer are one group.
//
// Who waits for a group, and finds that none is being stored, stores it
// itself; a goroutine of the writer stores the others. A connection that is
// alone is then not held up by goroutines that wake one another.
type writer struct {
	cfg   Config
	run   ledger.RunID
	lease ledger.Lease
	delay time.Duration // of a group that nobody waits for

	mu      sync.Mutex
	at      ledger.Position
	tree    ledger.Tree
	next    *group
	storing *group // nil: none is being stored
	last    *group // the group of the last entry
	err     error  // sticky: after it nothing is stored any more
	room    *sync.Cond
	queued  int  // bytes that are not durable
	turn    bool // somebody stores a group
	wanted  bool // the next one is to be stored when that is done
	armed   bool // the loop looks for a group that nobody waits for
	ended   bool // the last group was taken
	crowd   bool // several have waited for the last group

	begun   chan struct{} // a group has its first entry
	closed  atomic.Bool
	wake    chan struct{} // somebody waits for it, or it is large
	stop    chan struct{}
	stopped chan struct{}

	headCount int64 // of the last signed head
	headTime  time.Time
}

// group is what one append stores.
type group struct {
	w              *writer
	batch          ledger.Batch
	staged, chunks int // of its entries and chunks so many are staged
	size           int
	taken          atomic.Bool  // it is being stored
	crowd          atomic.Int64 // how many wait for it
	done           chan struct{}
	err            error
}

func (w *writer) newGroup() *group {
	return &group{w: w, batch: ledger.Batch{At: w.at}, done: make(chan struct{})}
}

// hurry says that somebody waits for the group.
func (g *group) hurry() {
	if !g.taken.Load() {
		signal(g.w.wake)
	}
}

// wait returns when the group is durable, or the reason why it never will be.
// A caller who cannot give up stores it, if nobody else is at it.
func (g *group) wait(ctx context.Context) error {
	g.crowd.Add(1)
	if ctx.Done() != nil {
		g.hurry()
	} else {
		g.w.proceed(g, false)
	}
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return fault.Wrap(ledger.ErrStore, "drive.wait", context.Cause(ctx), "gave up before the entry was durable")
	}
}

func newWriter(cfg Config, lease ledger.Lease, at ledger.Position, tree ledger.Tree, lazy bool) *writer {
	w := &writer{
		cfg: cfg, run: lease.Run, lease: lease, delay: soonFlush, at: at, tree: tree,
		begun: make(chan struct{}, 1), wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if lazy {
		w.delay = lazyFlush
	}
	w.next = w.newGroup()
	w.room = sync.NewCond(&w.mu)
	go w.loop()
	return w
}

// append puts an entry behind the last one. The chunks must be its own: they
// are kept until they are stored.
func (w *writer) append(p ledger.Prepared, chunks []blob.Chunk) (ledger.Ref, *group, error) {
	size := p.Size()
	for i := range chunks {
		size += len(chunks[i].Bytes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !w.ended && w.queued > queueBytes {
		signal(w.wake)
		w.room.Wait()
	}
	if w.err == nil && w.ended {
		return ledger.Ref{}, nil, errClosed
	}
	if w.err != nil {
		return ledger.Ref{}, nil, w.err
	}
	e, at := w.at.Next(w.run, p)
	w.tree.Append(e.ID)
	w.at = at
	g := w.next
	w.last = g
	if !w.armed {
		w.armed = true
		signal(w.begun)
	}
	g.batch.Entries = append(g.batch.Entries, e)
	g.batch.Chunks = append(g.batch.Chunks, chunks...)
	g.size += size
	w.queued += size
	return ledger.Ref{Run: w.run, N: at.Count - 1, ID: e.ID}, g, nil
}

// declare puts key manifests into the first group, numbered from first on.
func (w *writer) declare(manifests [][]byte, first int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, m := range manifests {
		w.next.batch.Statements = append(w.next.batch.Statements, ledger.Statement{Run: w.run, Type: sign.ManifestType, Count: int64(first + i), Envelope: m})
	}
}

func (w *writer) loop() {
	defer close(w.stopped)
	renew := time.NewTicker(leaseTTL / 3)
	defer renew.Stop()
	head := time.NewTimer(headEvery)
	defer head.Stop()
	soon := time.NewTimer(w.delay)
	defer soon.Stop()
	var seen *group // when it was looked at last
	for {
		select {
		case <-w.begun:
			soon.Reset(w.delay)
		case <-w.wake:
			w.proceed(nil, false)
		case <-soon.C:
			if seen = w.look(seen); seen != nil {
				soon.Reset(w.delay)
			}
		case <-head.C:
			w.proceed(nil, false)
			head.Reset(headEvery)
		case <-renew.C:
			w.renew()
		case <-w.stop:
			w.proceed(nil, true)
			return
		}
	}
}

// look stores a group that was there when it was looked at last, and returns
// the one that is there now, or nil if there is none.
func (w *writer) look(seen *group) *group {
	w.mu.Lock()
	g := w.next
	w.armed = len(g.batch.Entries) > 0
	armed := w.armed
	w.mu.Unlock()
	if !armed {
		return nil
	}
	if g == seen {
		w.proceed(g, false)
	}
	return g
}

// proceed stores the next group: g, unless that is nil. If somebody is storing
// one, the next is stored behind it; who wants to store the last one waits.
func (w *writer) proceed(g *group, last bool) {
	w.mu.Lock()
	for last && w.turn {
		w.room.Wait()
	}
	if g != nil && g != w.next {
		w.mu.Unlock()
		return
	}
	if w.turn {
		w.wanted = true
		w.mu.Unlock()
		return
	}
	w.turn = true
	crowd := w.crowd
	w.mu.Unlock()
	if crowd && !last {
		w.gather()
	}
	w.flush(last)
}

// gather lets others run as long as that adds entries to the group: who was
// woken by the last group often has the next entry at hand.
func (w *writer) gather() {
	for before, now := -1, 0; now > before; {
		before = now
		runtime.Gosched()
		w.mu.Lock()
		now = len(w.next.batch.Entries)
		w.mu.Unlock()
	}
}

// flush stores what has gathered, with a head if one is due. It is called by
// whose turn it is, and ends the turn.
func (w *writer) flush(last bool) {
	w.mu.Lock()
	w.ended = w.ended || last
	g, err := w.next, w.err
	due := w.headDue(last)
	if err != nil || len(g.batch.Entries) == 0 && !due {
		if err != nil {
			g.fail(err)
		}
		w.yield()
		w.mu.Unlock()
		return
	}
	g.taken.Store(true)
	w.next, w.storing = w.newGroup(), g
	at, tree := w.at, w.tree.Clone()
	w.mu.Unlock()

	if due {
		var st ledger.Statement
		if st, err = w.sign(at, &tree); err == nil {
			g.batch.Statements = append(g.batch.Statements, st)
		}
	}
	if err == nil {
		g.batch.Lease = w.lease
		err = w.store(&g.batch, at)
	}

	w.mu.Lock()
	w.storing = nil
	w.queued -= g.size
	w.crowd = g.crowd.Load() > 1
	if err != nil {
		w.err = err
	} else if due {
		w.headCount, w.headTime = at.Count, w.cfg.Now()
	}
	if err != nil {
		w.next.fail(err)
	}
	w.yield()
	w.mu.Unlock()
	g.err = err
	close(g.done)
}

// yield ends a turn. Lock held.
func (w *writer) yield() {
	w.turn = false
	if w.wanted {
		w.wanted = false
		signal(w.wake)
	}
	w.room.Broadcast()
}

// fail ends a group that will not be stored any more. It is called under the
// lock of the writer.
func (g *group) fail(err error) {
	if !g.taken.Swap(true) {
		g.err = err
		close(g.done)
	}
}

// headDue reports whether the ledger has grown since its last head and that
// is a second ago, or the run ends, or it has just begun.
func (w *writer) headDue(last bool) bool {
	if w.cfg.Signer == nil || w.at.Count <= w.headCount {
		return false
	}
	return last || w.headCount == 0 || w.cfg.Now().Sub(w.headTime) >= headEvery
}

func (w *writer) sign(at ledger.Position, tree *ledger.Tree) (ledger.Statement, error) {
	h := ledger.Head{Run: w.run, Count: at.Count, Last: at.Last, Root: tree.Root(), T: stamp(w.cfg.Now())}
	envelope, err := h.Sign(w.cfg.Signer)
	return ledger.Statement{Run: w.run, Type: ledger.HeadType, Count: at.Count, Envelope: envelope}, err
}

// store appends one batch. An acknowledgement that was lost is found by
// reading where the ledger stands; a conflict that is none is tried again.
func (w *writer) store(b *ledger.Batch, end ledger.Position) error {
	ctx := context.Background() // what was begun is finished, whoever waits for it
	var err error
	for i := range retries {
		if err = w.cfg.Store.Append(ctx, b); err == nil {
			return nil
		}
		if c := fault.ClassOf(err); c != fault.ClassConflict && c != fault.ClassUnavailable {
			return err
		}
		at, atErr := w.cfg.Store.At(ctx, w.run)
		if errors.Is(atErr, ledger.ErrNotFound) {
			at, atErr = ledger.Position{}, nil
		}
		if atErr == nil && at != b.At && at != end {
			return fault.Wrap(ledger.ErrFenced, "drive.store", err, "another writer has appended to run %s", w.run)
		}
		time.Sleep(time.Duration(1<<i) * 5 * time.Millisecond)
	}
	return err
}

func (w *writer) renew() {
	if _, err := w.cfg.Store.Acquire(context.Background(), w.run, w.cfg.Holder, leaseTTL); err != nil && fault.ClassOf(err) != fault.ClassUnavailable {
		w.mu.Lock()
		w.err = fault.Wrap(ledger.ErrFenced, "drive.renew", err, "the lease of run %s is lost", w.run)
		w.room.Broadcast()
		w.mu.Unlock()
		signal(w.wake)
	}
}

// signal sends on a channel that holds one signal.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close stores the rest with a last head and gives the lease back. A second
// close changes nothing and is no error.
func (w *writer) close(ctx context.Context) error {
	if !w.closed.CompareAndSwap(false, true) {
		return nil
	}
	close(w.stop)
	<-w.stopped
	w.mu.Lock()
	err := w.err
	w.err = errClosed
	w.room.Broadcast()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = w.cfg.Store.Acquire(ctx, w.run, w.cfg.Holder, 0)
	return err
}

// errClosed answers an append to a session that has ended.
var errClosed = fault.New(ErrEnded, "drive.append", "the session has ended")

// stamp is how times stand in headers.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// salts draws salts in blocks, because one read of the system's source costs
// more than a hash.
type salts struct {
	mu   sync.Mutex
	from io.Reader
	buf  [64 * 32]byte
	left int
}

func (s *salts) next() (salt canon.Salt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		if _, err := io.ReadFull(s.from, s.buf[:]); err != nil {
			return salt, fault.Wrap(ErrRandom, "drive.salts", err, "no randomness")
		}
		s.left = len(s.buf)
	}
	b := s.buf[len(s.buf)-s.left:]
	copy(salt[:], b)
	clear(b[:len(salt)])
	s.left -= len(salt)
	return salt, nil
}

// Read gives other randomness of the same source.
func (s *salts) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Read(p)
}
