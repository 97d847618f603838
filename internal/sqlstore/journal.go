package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/internal/entrycode"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A row of the journal is a list of records:
//
//	entries  0x01, run key, number of the first, of entries, id of the last,
//	         1 if sealed else 0, time of entry 0 and of the last, length, entries as in a segment
//	chunk    0x02, scope key, id, length, bytes
//
// with numbers and texts as in a segment.
const (
	recordEntries = 1
	recordChunk   = 2
)

// record is consecutive entries of one run.
type record struct {
	first int64
	info  ledger.RunInfo // of the run behind them; Run is not set
	data  []byte
}

func appendRecord(dst []byte, run int64, r *record) []byte {
	dst = append(dst, recordEntries)
	dst = binary.AppendUvarint(dst, uint64(run))
	dst = binary.AppendUvarint(dst, uint64(r.first))
	dst = binary.AppendUvarint(dst, uint64(r.info.At.Count-r.first))
	dst = append(dst, r.info.At.Last[:]...)
	if r.info.Sealed {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = entrycode.AppendText(dst, r.info.Opened)
	dst = entrycode.AppendText(dst, r.info.Ended)
	dst = binary.AppendUvarint(dst, uint64(len(r.data)))
	return append(dst, r.data...)
}

func appendChunk(dst []byte, scope int64, id canon.Digest, data []byte) []byte {
	dst = append(dst, recordChunk)
	dst = binary.AppendUvarint(dst, uint64(scope))
	dst = append(dst, id[:]...)
	dst = binary.AppendUvarint(dst, uint64(len(data)))
	return append(dst, data...)
}

// querier is a connection or a pool of them.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// chunkName names a chunk in the database.
type chunkName struct {
	scope int64
	id    canon.Digest
}

// tail is the journal, read. It knows at least the rows that were there when
// it was last refreshed. It may also know rows that were settled since, so
// who reads both asks the tail first and the settled rows afterwards, and
// lets those win: then nothing is missed, whatever is settled in between.
//
// What this process has committed it has at hand, so that only what others
// wrote is read from the database.
type tail struct {
	mu     sync.Mutex
	rows   []row // consecutive
	bytes  int   // of the rows
	drops  int   // how often rows were dropped because they were settled
	runs   map[int64][]record
	chunks map[chunkName][]byte
	order  []chunkName // as they came

	freshMu sync.Mutex // so that no commit waits for who reads
	fresh   []row      // committed here, behind rows
}

// row is a row of the journal.
type row struct {
	seq  int64
	data []byte
}

func (t *tail) reset() {
	t.bytes = 0
	t.runs, t.chunks, t.order = map[int64][]record{}, map[chunkName][]byte{}, nil
}

// last returns the number of the last row.
func (t *tail) last() int64 {
	if len(t.rows) == 0 {
		return 0
	}
	return t.rows[len(t.rows)-1].seq
}

// committed takes rows that this process has committed.
func (t *tail) committed(rows []row) {
	t.freshMu.Lock()
	defer t.freshMu.Unlock()
	for _, r := range rows {
		t.fresh = append(t.fresh, row{r.seq, bytes.Clone(r.data)})
	}
}

// takeFresh returns the rows that were committed here since it was last asked,
// as far as they follow the last row without a gap.
func (t *tail) takeFresh() []row {
	t.freshMu.Lock()
	fresh := t.fresh
	t.fresh = nil
	t.freshMu.Unlock()
	fresh = slices.DeleteFunc(fresh, func(r row) bool { return r.seq <= t.last() })
	for i := range fresh {
		if fresh[i].seq != t.last()+int64(i)+1 {
			return fresh[:i]
		}
	}
	return fresh
}

const selectJournalEnds = "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM journal"

// refresh reads the rows that t does not know, and drops those that were
// settled.
func (t *tail) refresh(ctx context.Context, q querier) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var from, to int64
	if err := q.QueryRowContext(ctx, selectJournalEnds).Scan(&from, &to); err != nil {
		return err
	}
	var fresh []row
	if t.runs == nil || len(t.rows) > 0 && t.rows[0].seq != from {
		fresh = slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool { return r.seq < from || from == 0 })
		t.rows = nil
		t.drops++
		t.reset()
	}
	if err := t.add(fresh); err != nil {
		return err
	}
	if err := t.add(t.takeFresh()); err != nil || t.last() >= to {
		return err
	}
	fresh, err := t.fetch(ctx, q)
	if err != nil {
		return err
	}
	return t.add(fresh)
}

// fetch reads the rows behind the last one. Lock held.
func (t *tail) fetch(ctx context.Context, q querier) (list []row, err error) {
	rows, err := q.QueryContext(ctx, "SELECT seq, data FROM journal WHERE seq > ? ORDER BY seq", t.last())
	return collect(rows, err, func(r *row) error { return rows.Scan(&r.seq, &r.data) })
}

// add takes rows that follow the last one. Lock held.
func (t *tail) add(list []row) error {
	for _, r := range list {
		if err := t.look(r.data); err != nil {
			t.rows = nil
			t.drops++
			t.reset()
			return fault.Wrap(ErrRow, "sqlstore.journal", err, "row %d of the journal", r.seq)
		}
		t.rows = append(t.rows, r)
		t.bytes += len(r.data)
	}
	return nil
}

// look reads the records of a row.
func (t *tail) look(data []byte) error {
	d := entrycode.Decoder{Rest: data}
	for len(d.Rest) > 0 && !d.Failed {
		switch d.Take(1)[0] {
		case recordEntries:
			var r record
			key := int64(d.Number(1 << 31))
			r.first = int64(d.Number(ledger.MaxCount))
			r.info.At.Count = r.first + int64(d.Number(ledger.MaxCount))
			r.info.At.Last = d.Digest()
			r.info.Sealed = d.Number(1) == 1
			r.info.Opened, r.info.Ended = d.Text(), d.Text()
			r.data = d.Take(int(d.Number(1 << 31)))
			t.runs[key] = append(t.runs[key], r)
		case recordChunk:
			name := chunkName{scope: int64(d.Number(1<<63 - 1)), id: d.Digest()}
			data := d.Take(int(d.Number(blob.MaxChunk)))
			if _, ok := t.chunks[name]; !ok {
				t.order = append(t.order, name)
				t.chunks[name] = data
			}
		default:
			d.Failed = true
		}
	}
	if d.Failed {
		return fault.New(ErrRow, "sqlstore.journal", "a record cannot be read, %d bytes before the end", len(d.Rest))
	}
	return nil
}

// info returns what the journal says of a run; Count is 0 if that is nothing.
func (t *tail) info(key int64) (i ledger.RunInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if list := t.runs[key]; len(list) > 0 {
		i = list[len(list)-1].info
	}
	return i
}

// after returns the records of a run that hold entry n and those behind it.
func (t *tail) after(key, n int64) []record {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.runs[key]
	i, _ := slices.BinarySearchFunc(list, n, func(r record, n int64) int { return cmp.Compare(r.info.At.Count, n+1) })
	return list[i:len(list):len(list)]
}

func (t *tail) chunk(name chunkName) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, ok := t.chunks[name]
	return b, ok
}

// chunkIDs returns the ids of a scope's chunks in the journal.
func (t *tail) chunkIDs(scope int64) []canon.Digest {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []canon.Digest
	for _, name := range t.order {
		if name.scope == scope {
			out = append(out, name.id)
		}
	}
	return out
}

// steadily calls f until the tail drops no rows meanwhile: f reads settled rows
// and looks at the tail afterwards, for what is newer.
func (t *tail) steadily(f func() error) error {
	for {
		before := t.dropped()
		if err := f(); err != nil || before == t.dropped() {
			return err
		}
	}
}

func (t *tail) dropped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.drops
}

// overlay makes what a row says of a run what the journal says, if that is
// more.
func (t *tail) overlay(key int64, i *ledger.RunInfo) {
	if j := t.info(key); j.At.Count > i.At.Count {
		j.Run = i.Run
		*i = j
	}
}
