package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// writer is the one connection that writes, with its statements and what it
// remembers from one transaction to the next. It belongs to the committer.
type writer struct {
	conn *sql.Conn

	begins, commit, undo, changed    *sql.Stmt
	run, insertRun, updateLease      *sql.Stmt
	updatePosition, updateEngine     *sql.Stmt
	insertJournal, deleteJournal     *sql.Stmt
	journalSize, journalEnds, pages  *sql.Stmt
	insertSegment                    *sql.Stmt
	segments                         *sql.Stmt
	insertStatement                  *sql.Stmt
	scope, insertScope, deleteScope  *sql.Stmt
	insertPack, deletePacks          *sql.Stmt
	insertChunk, hasChunk, hasChunks *sql.Stmt
	deleteChunks                     *sql.Stmt

	// What follows holds as long as nobody else commits to the database.
	version int64 // what Changed said; 0 if nothing is known
	runs    map[ledger.RunID]*runState
	journal int    // bytes that are not settled
	seq     int64  // of the last row of the journal
	limit   int    // the size of the journal at which it is settled
	epoch   int64  // how often it was settled, as far as this writer knows
	busy    int    // runs that have entries in it
	row     []byte // of the journal, as this transaction fills it
}

func newWriter(ctx context.Context, db *sql.DB, d *Dialect) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.begins, d.Begin},
		{&w.commit, "COMMIT"},
		{&w.undo, "ROLLBACK"},
		{&w.changed, d.Changed},
		{&w.pages, d.Size},
		{&w.run, "SELECT key, count, last, sealed, opened, ended, token, holder, until FROM runs WHERE run = ?"},
		{&w.insertRun, "INSERT INTO runs (run, count, last, sealed, opened, ended, token, holder, until) VALUES (?, 0, ?, 0, '', '', 0, '', 0) RETURNING key"},
		{&w.updateLease, "UPDATE runs SET token = ?, holder = ?, until = ? WHERE key = ?"},
		{&w.updatePosition, "UPDATE runs SET count = ?, last = ?, sealed = ?, opened = ?, ended = ? WHERE key = ?"},
		{&w.updateEngine, "UPDATE runs SET engine = ? WHERE key = ?"},
		{&w.insertJournal, "INSERT INTO journal (seq, data) VALUES (?, ?)"},
		{&w.deleteJournal, "DELETE FROM journal WHERE seq <= ?"},
		{&w.journalSize, "SELECT coalesce(sum(length(data)), 0), coalesce(max(seq), 0) FROM journal"},
		{&w.journalEnds, selectJournalEnds},
		{&w.insertSegment, "INSERT INTO segments (place, data) VALUES (?, ?) ON CONFLICT (place) DO UPDATE SET data = excluded.data"},
		{&w.segments, selectSegments},
		{&w.insertStatement, "INSERT INTO statements (run, type, count, envelope) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM statements WHERE run = ?1 AND type = ?2 AND count = ?3 AND envelope = ?4)"},
		{&w.scope, "SELECT key FROM scopes WHERE scope = ?"},
		{&w.insertScope, "INSERT INTO scopes (scope, secret) VALUES (?, ?)"},
		{&w.deleteScope, "DELETE FROM scopes WHERE key = ?"},
		{&w.insertPack, "INSERT INTO packs (scope, data) VALUES (?, ?) RETURNING key"},
		{&w.deletePacks, "DELETE FROM packs WHERE scope = ?"},
		{&w.insertChunk, "INSERT INTO chunks (scope, id, pack, start, size) VALUES (?, ?, ?, ?, ?)"},
		{&w.hasChunk, selectHasChunk},
		{&w.hasChunks, selectHasChunks()},
		{&w.deleteChunks, "DELETE FROM chunks WHERE scope = ?"},
	} {
		//nolint:sqlclosecheck // the connection closes its statements
		if *p.stmt, err = conn.PrepareContext(ctx, p.text); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return w, nil
}

func (w *writer) close() error { return w.conn.Close() }

// rollback ends a transaction that failed, and forgets what was thought to be
// known. Where the failure has ended the transaction there is nothing to end.
func (w *writer) rollback(ctx context.Context) {
	w.version = 0
	_, _ = w.undo.ExecContext(ctx)
}

// begin starts a transaction. If somebody else has committed since the last
// one, what the writer remembers may be stale and is dropped.
func (w *writer) begin(ctx context.Context, s *Store) (*group, error) {
	if _, err := w.begins.ExecContext(ctx); err != nil {
		return nil, err
	}
	g := &group{s: s, w: w, scopes: map[string]int64{}}
	w.row = w.row[:0]
	if err := g.recall(); err != nil {
		w.rollback(ctx)
		return nil, err
	}
	return g, nil
}

// group is one transaction. What it knows was read inside the transaction or
// is known to be unchanged, so that nothing that another process did can be
// missed.
type group struct {
	s      *Store
	w      *writer
	scopes map[string]int64 // keys; 0 if there is no such scope
	rows   []row            // of the journal, that this transaction adds
}

// size returns how many bytes the transaction adds to the journal.
func (g *group) size() (n int) {
	for _, r := range g.rows {
		n += len(r.data)
	}
	return n
}

// ctx returns the context of the transaction, which is nobody's: it is not
// given up because one of those who wait for it waits no longer.
func (*group) ctx() context.Context { return context.Background() }

// recall drops what the writer remembers if the database was changed.
func (g *group) recall() error {
	w := g.w
	var version int64
	if err := w.changed.QueryRowContext(g.ctx()).Scan(&version); err != nil {
		return err
	}
	if version == w.version && len(w.runs) < maxRemembered {
		return nil
	}
	w.runs = map[ledger.RunID]*runState{}
	if err := w.journalSize.QueryRowContext(g.ctx()).Scan(&w.journal, &w.seq); err != nil {
		return err
	}
	w.version, w.limit, w.busy = version, minJournal, 0
	w.epoch++
	return nil
}

// maxRemembered is how many runs a writer remembers.
const maxRemembered = 10_000

// runState is a run as the writer knows it: the row with what the journal
// adds to it.
type runState struct {
	key    int64
	info   ledger.RunInfo
	token  int64
	holder string // empty if nobody holds the lease
	until  int64  // milliseconds of Unix time
	epoch  int64  // of the journal that its last entries are in
}

// run returns the state of a run, or nil if the store has no such run.
func (g *group) run(id ledger.RunID) (*runState, error) {
	if r, ok := g.w.runs[id]; ok {
		return r, nil
	}
	r := &runState{info: ledger.RunInfo{Run: id}}
	var last []byte
	err := g.w.run.QueryRowContext(g.ctx(), string(id)).Scan(&r.key, &r.info.At.Count, &last, &r.info.Sealed, &r.info.Opened, &r.info.Ended, &r.token, &r.holder, &r.until)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		r.info.At.Last, err = digest(last)
	}
	if err == nil {
		err = g.s.tail.refresh(g.ctx(), g.w.conn)
	}
	if err != nil {
		return nil, err
	}
	g.s.tail.overlay(r.key, &r.info)
	g.w.runs[id] = r
	return r, nil
}

func (g *group) createRun(id ledger.RunID) (*runState, error) {
	r := &runState{info: ledger.RunInfo{Run: id}}
	if err := g.w.insertRun.QueryRowContext(g.ctx(), string(id), make([]byte, len(canon.Digest{}))).Scan(&r.key); err != nil {
		return nil, err
	}
	g.w.runs[id] = r
	return r, nil
}

// flush adds the row of this transaction to the journal. If that has grown too
// large, it is settled aside, or here if that takes too long.
func (g *group) flush() error {
	w := g.w
	if len(w.row) == 0 {
		return nil
	}
	if w.journal+len(w.row) > w.limit && !g.s.settling.Load() {
		var size int
		if err := w.pages.QueryRowContext(g.ctx()).Scan(&size); err != nil {
			return err
		}
		w.limit = min(max(size/journalPart, w.busy*runJournal, minJournal), maxJournal)
	}
	if w.journal > 0 && w.journal+len(w.row) > overdue*w.limit {
		return g.settle(w.row)
	}
	if w.journal > w.limit && g.s.settling.CompareAndSwap(false, true) {
		g.s.aside.Add(1)
		go g.s.settleAside()
	}
	w.journal += len(w.row)
	return g.insertJournal(w.row)
}

// insertJournal adds a row to the journal.
func (g *group) insertJournal(data []byte) error {
	g.w.seq++
	g.rows = append(g.rows, row{g.w.seq, data})
	_, err := g.w.insertJournal.ExecContext(g.ctx(), g.w.seq, data)
	return err
}

func (r *runState) heldBy(other string, now time.Time) bool {
	return r.holder != "" && r.holder != other && now.UnixMilli() < r.until
}

// Acquire implements [ledger.Store].
func (s *Store) Acquire(ctx context.Context, id ledger.RunID, holder string, ttl time.Duration) (ledger.Lease, error) {
	const op = "sqlstore.Acquire"
	if !id.Valid() || holder == "" || ttl < 0 {
		return ledger.Lease{}, fault.New(ledger.ErrBatch, op, "run %q, holder %q, ttl %s: a lease needs a run id, a holder and a time", id, holder, ttl)
	}
	var token int64
	err := s.do(ctx, op, &job{apply: func(g *group) (refusal, err error) {
		r, err := g.run(id)
		if err == nil && r == nil {
			r, err = g.createRun(id)
		}
		if err != nil {
			return nil, err
		}
		now := s.now()
		if r.heldBy(holder, now) {
			return fault.New(ledger.ErrLeased, op, "run %s is written by %s until %s", id, r.holder, time.UnixMilli(r.until).UTC().Format(time.RFC3339)), nil
		}
		switch {
		case ttl == 0 && r.holder == holder:
			r.holder = ""
		case ttl > 0:
			if r.holder != holder {
				r.token++
			}
			r.holder, r.until = holder, now.Add(ttl).UnixMilli()
		}
		token = r.token
		_, err = g.w.updateLease.ExecContext(g.ctx(), r.token, r.holder, r.until, r.key)
		return nil, err
	}})
	if err != nil {
		return ledger.Lease{}, err
	}
	return ledger.Lease{Run: id, Token: token}, nil
}
