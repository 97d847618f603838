package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"slices"
	"sync"

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
	dst = appendText(dst, r.info.Opened)
	dst = appendText(dst, r.info.Ended)
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
type tail struct {
	mu       sync.Mutex
	from, to int64 // numbers of the first and the last row
	bytes    int   // of the rows
	runs     map[int64][]record
	chunks   map[chunkName][]byte
	order    []chunkName // as they came
}

func (t *tail) reset() {
	t.from, t.to, t.bytes = 0, 0, 0
	t.runs, t.chunks, t.order = map[int64][]record{}, map[chunkName][]byte{}, nil
}

const selectJournalEnds = "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM journal"

// refresh reads the rows that t does not know.
func (t *tail) refresh(ctx context.Context, q querier) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var from, to int64
	if err := q.QueryRowContext(ctx, selectJournalEnds).Scan(&from, &to); err != nil {
		return err
	}
	if from != t.from || t.runs == nil {
		t.reset()
	}
	if to == t.to {
		return nil
	}
	rows, err := q.QueryContext(ctx, "SELECT seq, data FROM journal WHERE seq > ? ORDER BY seq", t.to)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var data []byte
		if err := rows.Scan(&seq, &data); err != nil {
			return err
		}
		if err := t.add(data); err != nil {
			t.reset()
			return fault.Wrap(ErrRow, "sqlstore.journal", err, "row %d of the journal", seq)
		}
		if t.from == 0 {
			t.from = seq
		}
		t.to = seq
		t.bytes += len(data)
	}
	return rows.Err()
}

func (t *tail) add(data []byte) error {
	d := decoder{rest: data}
	for len(d.rest) > 0 && !d.failed {
		switch d.take(1)[0] {
		case recordEntries:
			var r record
			key := int64(d.number(1 << 31))
			r.first = int64(d.number(ledger.MaxCount))
			r.info.At.Count = r.first + int64(d.number(ledger.MaxCount))
			r.info.At.Last = d.digest()
			r.info.Sealed = d.number(1) == 1
			r.info.Opened, r.info.Ended = d.text(), d.text()
			r.data = d.take(int(d.number(1 << 31)))
			t.runs[key] = append(t.runs[key], r)
		case recordChunk:
			name := chunkName{scope: int64(d.number(1<<63 - 1)), id: d.digest()}
			data := d.take(int(d.number(blob.MaxChunk)))
			if _, ok := t.chunks[name]; !ok {
				t.order = append(t.order, name)
				t.chunks[name] = data
			}
		default:
			d.failed = true
		}
	}
	if d.failed {
		return fault.New(ErrRow, "sqlstore.journal", "a record cannot be read, %d bytes before the end", len(d.rest))
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

// overlay makes what a row says of a run what the journal says, if that is
// more.
func (t *tail) overlay(key int64, i *ledger.RunInfo) {
	if j := t.info(key); j.At.Count > i.At.Count {
		j.Run = i.Run
		*i = j
	}
}
