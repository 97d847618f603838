package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// pageBytes is how many bytes of rows a reader takes at once. Between pages
// it holds no transaction, so that a slow reader keeps nobody waiting.
const pageBytes = 1 << 20

// maxSegment limits the entries of one row, in bytes. A batch may be larger
// than that only if it is one batch: then its row is too.
const maxSegment = packed.MaxUnpacked

const selectSegments = `SELECT place, data FROM segments
WHERE place >= coalesce((SELECT max(place) FROM segments WHERE place BETWEEN ?1 AND ?2), ?2) AND place <= ?3
ORDER BY place LIMIT 256`

// segmentRange returns the arguments of selectSegments for the rows from the
// one that holds entry n on.
func segmentRange(key, n int64) []any {
	return []any{place(key, 0), place(key, n), place(key+1, 0) - 1}
}

// segmentPage reads the entries from n on out of rows, a page of them.
func (s *Store) segmentPage(rows *sql.Rows, run ledger.RunID, key, n int64) ([]ledger.Entry, error) {
	const op = "sqlstore.Read"
	defer rows.Close()
	var page []ledger.Entry
	size := 0
	for size < pageBytes && rows.Next() {
		var at int64
		var data []byte
		if err := rows.Scan(&at, &data); err != nil {
			return nil, err
		}
		raw, err := s.pack.Unpack(data, maxSegment)
		if err != nil {
			return nil, err
		}
		size += len(raw)
		d := decoder{run: run, n: at - place(key, 0), rest: raw}
		if want := n + int64(len(page)); d.n > want {
			return nil, fault.New(ErrRow, op, "run %s: entries %d to %d are not there", run, want, d.n-1)
		}
		for len(d.rest) > 0 {
			var e ledger.Entry
			if err := d.entry(&e); err != nil {
				return nil, err
			}
			if d.n > n+int64(len(page)) {
				page = append(page, e)
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(page) == 0 {
		return nil, fault.New(ErrRow, op, "run %s: entry %d is not there", run, n)
	}
	return page, nil
}

// find returns the key of a run and where it stands.
func (s *Store) find(ctx context.Context, op string, id ledger.RunID) (key int64, at ledger.Position, err error) {
	var last []byte
	err = s.read.QueryRowContext(ctx, "SELECT key, count, last FROM runs WHERE run = ? AND count > 0", string(id)).Scan(&key, &at.Count, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, at, fault.New(ledger.ErrNotFound, op, "there is no run %s", id)
	}
	if err == nil {
		at.Last, err = digest(last)
	}
	return key, at, storeErr(op, err, "reading the run")
}

// At implements [ledger.Store].
func (s *Store) At(ctx context.Context, id ledger.RunID) (ledger.Position, error) {
	_, at, err := s.find(ctx, "sqlstore.At", id)
	return at, err
}

// Read implements [ledger.Store].
func (s *Store) Read(ctx context.Context, id ledger.RunID, from int64) iter.Seq2[*ledger.Entry, error] {
	const op = "sqlstore.Read"
	return func(yield func(*ledger.Entry, error) bool) {
		key, at, err := s.find(ctx, op, id)
		if err != nil {
			yield(nil, err)
			return
		}
		for n := max(from, 0); n < at.Count; {
			page, err := s.page(ctx, id, key, n)
			if err != nil {
				yield(nil, storeErr(op, err, "reading entries"))
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
			n += int64(len(page))
		}
	}
}

func (s *Store) page(ctx context.Context, id ledger.RunID, key, n int64) ([]ledger.Entry, error) {
	rows, err := s.read.QueryContext(ctx, selectSegments, segmentRange(key, n)...)
	if err != nil {
		return nil, err
	}
	return s.segmentPage(rows, id, key, n)
}

// listPage is how many lines of a list a reader takes at once.
const listPage = 512

// pages yields the lines of a list, page by page. After returns the lines
// that follow last, which is the zero line at first.
func pages[T any](op string, after func(last T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last T
		for {
			page, err := after(last)
			if err != nil {
				var none T
				yield(none, storeErr(op, err, "reading a list"))
				return
			}
			for _, line := range page {
				if !yield(line, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			last = page[len(page)-1]
		}
	}
}

// collect reads all rows of a page.
func collect[T any](rows *sql.Rows, err error, scan func(*T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var line T
		if err := scan(&line); err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, rows.Err()
}

// Runs implements [ledger.Store].
func (s *Store) Runs(ctx context.Context) iter.Seq2[ledger.RunInfo, error] {
	return pages("sqlstore.Runs", func(last ledger.RunInfo) ([]ledger.RunInfo, error) {
		rows, err := s.read.QueryContext(ctx, "SELECT run, count, last, sealed, opened, ended FROM runs WHERE count > 0 AND (?1 = '' OR run < ?1) ORDER BY run DESC LIMIT ?2", string(last.Run), listPage)
		return collect(rows, err, func(r *ledger.RunInfo) error {
			var id []byte
			err := rows.Scan(&r.Run, &r.At.Count, &id, &r.Sealed, &r.Opened, &r.Ended)
			if err == nil {
				r.At.Last, err = digest(id)
			}
			return err
		})
	})
}

// Statements implements [ledger.Store].
func (s *Store) Statements(ctx context.Context, id ledger.RunID, typ string) iter.Seq2[ledger.Statement, error] {
	type line struct {
		key int64
		st  ledger.Statement
	}
	list := pages("sqlstore.Statements", func(last line) ([]line, error) {
		rows, err := s.read.QueryContext(ctx, "SELECT key, count, envelope FROM statements WHERE run = ?1 AND type = ?2 AND (?3 = 0 OR (count, key) > (?4, ?3)) ORDER BY count, key LIMIT ?5", string(id), typ, last.key, last.st.Count, listPage)
		return collect(rows, err, func(l *line) error {
			l.st.Run, l.st.Type = id, typ
			return rows.Scan(&l.key, &l.st.Count, &l.st.Envelope)
		})
	})
	return func(yield func(ledger.Statement, error) bool) {
		for l, err := range list {
			if !yield(l.st, err) {
				return
			}
		}
	}
}
