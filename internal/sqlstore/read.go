package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/reprise-dev/reprise/internal/entrycode"
	"github.com/reprise-dev/reprise/internal/packed"
	"github.com/reprise-dev/reprise/kernel/canon"
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

// reader holds the statements that readers use often.
type reader struct {
	find, chunk, scopeKey, pack, hasChunks *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB) (*reader, error) {
	r := &reader{}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&r.find, "SELECT key, count, last FROM runs WHERE run = ?"},
		{&r.chunk, "SELECT pack, start, size FROM chunks WHERE scope = (SELECT key FROM scopes WHERE scope = ?) AND id = ?"},
		{&r.scopeKey, "SELECT key FROM scopes WHERE scope = ?"},
		{&r.pack, "SELECT data FROM packs WHERE key = ?"},
		{&r.hasChunks, selectHasChunks()},
	} {
		var err error
		//nolint:sqlclosecheck // the pool closes its statements
		if *p.stmt, err = db.PrepareContext(ctx, p.text); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// page reads entries of a run, from n on: of segments, or else of the
// journal. It returns none if there is none.
func (s *Store) page(ctx context.Context, q querier, run ledger.RunID, key, n int64) ([]ledger.Entry, error) {
	rows, err := q.QueryContext(ctx, selectSegments, segmentRange(key, n)...)
	if err != nil {
		return nil, err
	}
	page, err := s.segmentPage(rows, run, key, n)
	if err != nil || len(page) > 0 {
		return page, err
	}
	return decodeRecords(run, s.tail.after(key, n), n)
}

// segmentPage reads the entries from n on out of rows, a page of them.
func (s *Store) segmentPage(rows *sql.Rows, run ledger.RunID, key, n int64) ([]ledger.Entry, error) {
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
		if page, err = decodeEntries(page, run, at-place(key, 0), raw, n); err != nil {
			return nil, err
		}
	}
	return page, rows.Err()
}

// decodeRecords returns the entries from n on. If the first record is behind
// n, those before it were settled, and none are returned.
func decodeRecords(run ledger.RunID, records []record, n int64) (page []ledger.Entry, err error) {
	if len(records) > 0 && records[0].first > n {
		return nil, nil
	}
	for i := range records {
		if page, err = decodeEntries(page, run, records[i].first, records[i].data, n); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// place names an entry among all runs of a store. A segment stands at that of
// its first entry, and holds consecutive ones of one run, one behind the other.
func place(run int64, n int64) int64 { return run*ledger.MaxCount + n }

// decodeEntries appends the entries of raw, the first of which has number
// first, to a page that begins at n. It leaves out those that the page has.
func decodeEntries(page []ledger.Entry, run ledger.RunID, first int64, raw []byte, n int64) ([]ledger.Entry, error) {
	if want := n + int64(len(page)); first > want {
		return nil, fault.New(ErrRow, "sqlstore.Read", "run %s: entries %d to %d are not there", run, want, first-1)
	}
	d := entrycode.Decoder{Run: run, N: first, Rest: raw}
	for len(d.Rest) > 0 {
		var e ledger.Entry
		from := len(d.Rest)
		if !d.Entry(&e) {
			return nil, fault.New(ErrRow, "sqlstore.Read", "run %s: entry %d cannot be read from the %d bytes of its row", run, d.N-1, from)
		}
		if d.N > n+int64(len(page)) {
			page = append(page, e)
		}
	}
	return page, nil
}

// find returns the key of a run and where it stands.
func (s *Store) find(ctx context.Context, op string, id ledger.RunID) (key int64, at ledger.Position, err error) {
	if err := s.tail.refresh(ctx, s.read); err != nil {
		return 0, at, storeErr(op, err, "reading the journal")
	}
	info := ledger.RunInfo{Run: id}
	err = s.tail.steadily(func() error {
		var last []byte
		err := s.reader.find.QueryRowContext(ctx, string(id)).Scan(&key, &info.At.Count, &last)
		if err == nil {
			info.At.Last, err = digest(last)
			s.tail.overlay(key, &info)
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) || err == nil && info.At.Count == 0 {
		return 0, at, fault.New(ledger.ErrNotFound, op, "there is no run %s", id)
	}
	return key, info.At, storeErr(op, err, "reading the run")
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
			page, err := s.page(ctx, s.read, id, key, n)
			if err == nil && len(page) == 0 {
				page, err = s.settledMeanwhile(ctx, id, key, n)
			}
			if err != nil {
				yield(nil, storeErr(op, err, "reading entries"))
				return
			}
			for i := range page[:min(int64(len(page)), at.Count-n)] {
				if !yield(&page[i], nil) {
					return
				}
			}
			n += int64(len(page))
		}
	}
}

// settledMeanwhile looks again for entries that were found neither in a
// segment nor in the journal, because they went from there to here while the
// reader was between the two.
func (s *Store) settledMeanwhile(ctx context.Context, id ledger.RunID, key, n int64) ([]ledger.Entry, error) {
	page, err := s.page(ctx, s.read, id, key, n)
	if err == nil && len(page) == 0 {
		err = fault.New(ErrRow, "sqlstore.Read", "run %s: entry %d is not there", id, n)
	}
	return page, err
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
	return s.runs(ctx, "sqlstore.Runs", "?1 = '' OR run < ?1")
}

// RunsOf implements [ledger.Store].
func (s *Store) RunsOf(ctx context.Context, engine string) iter.Seq2[ledger.RunInfo, error] {
	return s.runs(ctx, "sqlstore.RunsOf", "engine = ?3 AND run < coalesce(nullif(?1, ''), char(127))", engine)
}

// runs yields the runs for which a condition holds; ?1 in it is the last run of
// the page before.
func (s *Store) runs(ctx context.Context, op, where string, more ...any) iter.Seq2[ledger.RunInfo, error] {
	page := func(last ledger.RunInfo) ([]ledger.RunInfo, error) {
		rows, err := s.read.QueryContext(ctx, "SELECT key, run, count, last, sealed, opened, ended FROM runs WHERE "+where+" ORDER BY run DESC LIMIT ?2", append([]any{string(last.Run), listPage}, more...)...)
		// The journal is looked at when the connection is given back: who
		// refreshes it holds its lock and waits for a connection.
		var keys []int64
		out, err := collect(rows, err, func(r *ledger.RunInfo) error {
			var key int64
			var id []byte
			err := rows.Scan(&key, &r.Run, &r.At.Count, &id, &r.Sealed, &r.Opened, &r.Ended)
			if err == nil {
				r.At.Last, err = digest(id)
			}
			keys = append(keys, key)
			return err
		})
		for i := range out {
			s.tail.overlay(keys[i], &out[i])
		}
		return out, err
	}
	list := pages(op, func(last ledger.RunInfo) (out []ledger.RunInfo, err error) {
		if err := s.tail.refresh(ctx, s.read); err != nil {
			return nil, err
		}
		err = s.tail.steadily(func() (err error) {
			out, err = page(last)
			return err
		})
		return out, err
	})
	return func(yield func(ledger.RunInfo, error) bool) {
		for r, err := range list {
			// A run that was leased and has no entry yet is none.
			if (err != nil || r.At.Count > 0) && !yield(r, err) {
				return
			}
		}
	}
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

func digest(b []byte) (d canon.Digest, err error) {
	if len(b) != len(d) {
		return d, fault.New(ErrRow, "sqlstore.digest", "a digest of %d bytes in a row", len(b))
	}
	copy(d[:], b)
	return d, nil
}
