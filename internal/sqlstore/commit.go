package sqlstore

import (
	"context"
	"sync"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Limits of a group, which is what one transaction commits.
const (
	maxGroupJobs  = 512
	maxGroupBytes = 8 << 20
)

// job is one thing to write. It is prepared by who wants it, so that the
// committer only decides and inserts.
type job struct {
	bytes int
	alone bool // in its transaction
	scrub bool // the database once it is committed
	// apply writes within the transaction of g. A refusal leaves the
	// transaction as it was and concerns this job only; an error spoils the
	// group.
	apply func(g *group) (refusal, err error)
	done  chan error
}

// queue is where jobs wait for the committer, and says whose turn it is to
// write.
type queue struct {
	mu     sync.Mutex
	more   sync.Cond
	jobs   []*job
	busy   bool // somebody writes
	closed bool
}

func (q *queue) init() { q.more.L = &q.mu }

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Signal()
}

func (q *queue) push(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.jobs = append(q.jobs, j)
	if !q.busy {
		q.more.Signal()
	}
	return true
}

// claim makes the caller the one who writes, if nobody does and nobody waits
// for it. It must [queue.yield].
func (q *queue) claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy || q.closed || len(q.jobs) > 0 {
		return false
	}
	q.busy = true
	return true
}

// yield ends what claim or next began.
func (q *queue) yield() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if len(q.jobs) > 0 || q.closed {
		q.more.Signal()
	}
}

// withdraw takes j out again; false says that the committer has it.
func (q *queue) withdraw(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, o := range q.jobs {
		if o == j {
			q.jobs = append(q.jobs[:i], q.jobs[i+1:]...)
			return true
		}
	}
	return false
}

// next waits for jobs and for the turn to write, and moves those of one group
// to dst; the caller must [queue.yield]. It returns none when the queue is
// closed and empty.
func (q *queue) next(dst []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.busy || len(q.jobs) == 0 && !q.closed {
		q.more.Wait()
	}
	q.busy = len(q.jobs) > 0
	bytes, n := 0, 0
	for n < len(q.jobs) && n < maxGroupJobs {
		j := q.jobs[n]
		if n > 0 && (j.alone || bytes+j.bytes > maxGroupBytes) {
			break
		}
		bytes += j.bytes
		if n++; j.alone {
			break
		}
	}
	dst = append(dst, q.jobs[:n]...)
	rest := copy(q.jobs, q.jobs[n:])
	clear(q.jobs[rest:])
	q.jobs = q.jobs[:rest]
	return dst
}

// do gives a job to the committer and waits until it is durable or refused.
// If ctx ends first, a job that the committer already has may still be done.
//
// A caller who cannot give up, and finds nobody at work, commits by itself:
// to wake the committer and to be woken by it takes longer than the commit
// takes a processor.
func (s *Store) do(ctx context.Context, op string, j *job) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(ledger.ErrStore, op, err, "given up before it began")
	}
	if ctx.Done() == nil && s.queue.claim() {
		defer s.queue.yield()
		jobs, refusals := [1]*job{j}, [1]error{}
		if err := s.commitGroup(jobs[:], refusals[:]); err != nil {
			return err
		}
		return refusals[0]
	}
	j.done = make(chan error, 1)
	if !s.queue.push(j) {
		return fault.New(ledger.ErrStore, op, "the store is closed")
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	}
	if s.queue.withdraw(j) {
		return fault.Wrap(ledger.ErrStore, op, ctx.Err(), "given up while waiting; nothing was stored")
	}
	return fault.Wrap(ledger.ErrStore, op, ctx.Err(), "given up while it was stored; read the position")
}

// commitLoop writes what is queued. What is queued while a transaction commits
// is the next transaction, so that the cost of making it durable is shared by
// all that wait.
func (s *Store) commitLoop() {
	defer close(s.ended)
	var jobs []*job
	for {
		jobs = s.queue.next(jobs[:0])
		if len(jobs) == 0 {
			return
		}
		refusals := make([]error, len(jobs))
		err := s.commitGroup(jobs, refusals)
		s.queue.yield()
		for i, j := range jobs {
			switch {
			case refusals[i] != nil:
				j.done <- refusals[i]
			default:
				j.done <- err
			}
		}
		clear(jobs)
	}
}

// commitGroup commits jobs whose turn it is.
func (s *Store) commitGroup(jobs []*job, refusals []error) error {
	err := s.commit(jobs, refusals)
	if err == nil && jobs[0].scrub {
		err = s.scrub()
	}
	return err
}

// scrub removes what was erased from the disk.
func (s *Store) scrub() error {
	for _, q := range s.dialect.Scrub {
		if _, err := s.writer.conn.ExecContext(context.Background(), q); err != nil {
			return storeErr("sqlstore.Erase", err, "erased, but the bytes may still be on the disk; erase again")
		}
	}
	return nil
}

func (s *Store) commit(jobs []*job, refusals []error) error {
	const op = "sqlstore.commit"
	ctx := context.Background()
	g, err := s.writer.begin(ctx, s)
	if err != nil {
		return storeErr(op, err, "beginning a transaction")
	}
	for i, j := range jobs {
		if refusals[i], err = j.apply(g); err != nil {
			break
		}
	}
	if err == nil {
		err = g.flush()
	}
	if err == nil && s.dialect.Ahead != nil {
		s.dialect.Ahead(g.size())
	}
	if err == nil {
		_, err = s.writer.commit.ExecContext(ctx)
	}
	if err != nil {
		clear(refusals)
		s.writer.rollback(ctx)
		return storeErr(op, err, "nothing of the transaction is known to be stored")
	}
	s.tail.committed(g.rows)
	return nil
}
