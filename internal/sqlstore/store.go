package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrRow means that a row of the store cannot be read: the file was damaged,
// changed by hand or written by a newer version. Restore the store from a
// copy; what other rows hold can still be read.
const ErrRow fault.Integrity = "store.bad_row"

//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations of a database, to put into its [Dialect].
func Migrations(name string) (fs.FS, error) { return fs.Sub(migrations, "migrations/"+name) }

// Config is what a front gives to [Open].
type Config struct {
	Dialect Dialect
	// Write is a pool of one connection, Read one of several. Open owns both.
	Write, Read *sql.DB
	// Now is the clock that leases run by.
	Now func() time.Time
}

// Store is a [ledger.Store] and a [blob.Store].
type Store struct {
	dialect Dialect
	now     func() time.Time
	pack    *packed.Packer
	read    *sql.DB
	write   *sql.DB
	writer  *writer
	reader  *reader
	tail    tail
	packs   packCache
	queue   queue
	ended   chan struct{} // closed when the committer has returned

	settling atomic.Bool // aside; see [Store.settleAside]
	aside    sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

// Open brings the tables up to date and starts the committer.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{
		dialect: cfg.Dialect, now: cfg.Now,
		read: cfg.Read, write: cfg.Write,
		ended: make(chan struct{}),
	}
	s.queue.init()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.read.Close(), s.write.Close())
	}
	go s.commitLoop()
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	const op = "sqlstore.Open"
	if err := s.dialect.migrate(ctx, s.write); err != nil {
		return storeErr(op, err, "bringing the tables up to date")
	}
	var err error
	if s.pack, err = packed.New(); err != nil {
		return storeErr(op, err, "the compressor")
	}
	if s.writer, err = newWriter(ctx, s.write, &s.dialect); err != nil {
		return storeErr(op, err, "preparing statements")
	}
	if s.reader, err = newReader(ctx, s.read); err != nil {
		return storeErr(op, err, "preparing statements")
	}
	return storeErr(op, s.learnEngines(ctx), "learning the engines of runs")
}

// learnEngines writes down which engines the runs name that an older version has
// stored. It is called before anything else is written.
func (s *Store) learnEngines(ctx context.Context) error {
	type unknown struct {
		key int64
		run ledger.RunID
	}
	for last := int64(0); ; {
		rows, err := s.read.QueryContext(ctx, "SELECT key, run FROM runs WHERE engine IS NULL AND key > ? ORDER BY key LIMIT ?", last, listPage)
		page, err := collect(rows, err, func(u *unknown) error { return rows.Scan(&u.key, &u.run) })
		if err != nil || len(page) == 0 {
			return err
		}
		if err := s.tail.refresh(ctx, s.read); err != nil {
			return err
		}
		engines := map[int64]string{}
		for _, u := range page {
			open, err := s.page(ctx, s.read, u.run, u.key, 0)
			if err != nil && fault.ClassOf(err) != fault.ClassIntegrity {
				return err // of a row that cannot be read, who reads the run is told
			}
			if len(open) > 0 {
				engines[u.key] = ledger.EngineOf(&open[0])
			}
			last = u.key
		}
		if len(engines) == 0 {
			continue
		}
		learn := &job{apply: func(g *group) (refusal, err error) {
			for _, key := range slices.Sorted(maps.Keys(engines)) {
				if _, err := g.w.updateEngine.ExecContext(g.ctx(), engines[key], key); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}}
		if err := s.commit([]*job{learn}, make([]error, 1)); err != nil {
			return err
		}
	}
}

// Close waits for the appends under way and closes the store. To repeat it is
// no error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.queue.close()
		<-s.ended
		s.aside.Wait()
		s.closeErr = storeErr("sqlstore.Close", errors.Join(s.finish(), s.write.Close()), "closing the store")
		s.pack.Close()
	})
	return s.closeErr
}

// finish leaves a small and settled database. It closes the readers before
// the writer, because only the last connection of all can put the log of
// changes back into the database.
func (s *Store) finish() error {
	ctx := context.Background()
	err := s.commit([]*job{{apply: func(g *group) (refusal, err error) {
		if g.w.journal == 0 {
			return nil, nil
		}
		return nil, g.settle([]byte{})
	}}}, make([]error, 1))
	err = errors.Join(err, s.read.Close())
	s.compact(ctx)
	for _, q := range s.dialect.Closing {
		_, e := s.writer.conn.ExecContext(ctx, q)
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.writer.close())
}

// compact gives back the room that the journal has left. It is no failure if
// it cannot, because another process is at work: the room is used again.
func (s *Store) compact(ctx context.Context) {
	var sparse bool
	if err := s.writer.conn.QueryRowContext(ctx, s.dialect.Sparse).Scan(&sparse); err == nil && sparse {
		_, _ = s.writer.conn.ExecContext(ctx, s.dialect.Compact)
	}
}

// storeErr gives a cause of the database the code of a store that fails,
// unless it has a code already.
func storeErr(op string, err error, what string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.Wrap(ledger.ErrStore, op, err, "%s", what)
}
