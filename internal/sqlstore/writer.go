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

// writer is the one connection that writes, with its statements. It belongs
// to the committer.
type writer struct {
	conn *sql.Conn

	begins, commit, undo            *sql.Stmt
	run, insertRun, updateRun       *sql.Stmt
	insertSegment, segments         *sql.Stmt
	insertStatement                 *sql.Stmt
	scope, insertScope, deleteScope *sql.Stmt
	insertChunk, deleteChunks       *sql.Stmt
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
		{&w.run, "SELECT key, count, last, sealed, opened, ended, token, holder, until FROM runs WHERE run = ?"},
		{&w.insertRun, "INSERT INTO runs (run, count, last, sealed, opened, ended, token, holder, until) VALUES (?, 0, ?, 0, '', '', 0, '', 0) RETURNING key"},
		{&w.updateRun, "UPDATE runs SET count = ?, last = ?, sealed = ?, opened = ?, ended = ?, token = ?, holder = ?, until = ? WHERE key = ?"},
		{&w.insertSegment, "INSERT INTO segments (place, data) VALUES (?, ?)"},
		{&w.segments, selectSegments},
		{&w.insertStatement, "INSERT INTO statements (run, type, count, envelope) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM statements WHERE run = ?1 AND type = ?2 AND count = ?3 AND envelope = ?4)"},
		{&w.scope, "SELECT key, secret FROM scopes WHERE scope = ?"},
		{&w.insertScope, "INSERT INTO scopes (scope, secret) VALUES (?, ?)"},
		{&w.deleteScope, "DELETE FROM scopes WHERE key = ?"},
		{&w.insertChunk, "INSERT INTO chunks (scope, id, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"},
		{&w.deleteChunks, "DELETE FROM chunks WHERE scope = ?"},
	} {
		if *p.stmt, err = conn.PrepareContext(ctx, p.text); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return w, nil
}

func (w *writer) close() error { return w.conn.Close() }

// rollback ends a transaction that failed. Where the failure has ended it
// already, there is nothing to end.
func (w *writer) rollback(ctx context.Context) { _, _ = w.undo.ExecContext(ctx) }

func (w *writer) begin(ctx context.Context, s *Store) (*group, error) {
	if _, err := w.begins.ExecContext(ctx); err != nil {
		return nil, err
	}
	return &group{ctx: ctx, s: s, w: w, runs: map[ledger.RunID]*runState{}, scopes: map[string]int64{}}, nil
}

// group is one transaction. What it knows was read inside the transaction,
// so that nothing that another process did can be missed.
type group struct {
	ctx    context.Context
	s      *Store
	w      *writer
	runs   map[ledger.RunID]*runState
	scopes map[string]int64 // keys; 0 if there is no such scope
}

// runState is the row of a run.
type runState struct {
	key    int64
	info   ledger.RunInfo
	token  int64
	holder string // empty if nobody holds the lease
	until  int64  // milliseconds of Unix time
	dirty  bool
}

// run returns the state of a run, or nil if the store has no such run.
func (g *group) run(id ledger.RunID) (*runState, error) {
	if r, ok := g.runs[id]; ok {
		return r, nil
	}
	r := &runState{info: ledger.RunInfo{Run: id}}
	var last []byte
	err := g.w.run.QueryRowContext(g.ctx, string(id)).Scan(&r.key, &r.info.At.Count, &last, &r.info.Sealed, &r.info.Opened, &r.info.Ended, &r.token, &r.holder, &r.until)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		r.info.At.Last, err = digest(last)
	}
	if err != nil {
		return nil, err
	}
	g.runs[id] = r
	return r, nil
}

func (g *group) createRun(id ledger.RunID) (*runState, error) {
	r := &runState{info: ledger.RunInfo{Run: id}}
	if err := g.w.insertRun.QueryRowContext(g.ctx, string(id), make([]byte, len(canon.Digest{}))).Scan(&r.key); err != nil {
		return nil, err
	}
	g.runs[id] = r
	return r, nil
}

// flush writes the rows of the runs that were changed.
func (g *group) flush() error {
	for _, r := range g.runs {
		if !r.dirty {
			continue
		}
		i := &r.info
		if _, err := g.w.updateRun.ExecContext(g.ctx, i.At.Count, i.At.Last[:], i.Sealed, i.Opened, i.Ended, r.token, r.holder, r.until, r.key); err != nil {
			return err
		}
	}
	return nil
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
	var lease ledger.Lease
	err := s.do(ctx, op, 0, func(g *group) (refusal, err error) {
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
			r.holder, r.dirty = "", true
		case ttl > 0:
			if r.holder != holder {
				r.token++
			}
			r.holder, r.until, r.dirty = holder, now.Add(ttl).UnixMilli(), true
		}
		lease = ledger.Lease{Run: id, Token: r.token}
		return nil, nil
	})
	if err != nil {
		return ledger.Lease{}, err
	}
	return lease, nil
}
