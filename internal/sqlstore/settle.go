package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of what is settled, in bytes before compression. A larger row
// compresses better; a smaller one is faster to read a little of.
const (
	segmentBytes = 64 << 10
	packBytes    = 256 << 10
	// A last segment whose row is smaller than this is written again together
	// with what follows it, so that a run that grows slowly has no crumbs.
	crumbBytes = 2 << 10
)

// The journal is settled when it is larger than a quarter of the database and
// than so much for each run in it, within these bounds. The larger it is, the
// more entries of a run come together, and the longer a process takes that
// reads it for the first time. It is settled aside, while others append; when
// that is too slow for them, and the journal overdue times as large, whoever
// finds it so waits and does it.
const (
	runJournal  = 16 << 10
	minJournal  = 4 << 20
	maxJournal  = 16 << 20
	journalPart = 4
	overdue     = 2
)

// settlement is what rows of the journal become, made ready. It holds for a
// journal that still begins with its first row: whoever settles removes that.
type settlement struct {
	from, to  int64 // the first and the last row
	bytes     int   // of the journal
	segments  []segment
	positions []position
	packs     []*openPack
}

type segment struct {
	place int64
	data  []byte
}

// position is where a run stands behind the rows.
type position struct {
	key int64
	record
}

// openPack is a pack that is being filled, and then compressed.
type openPack struct {
	scope int64
	text  bool
	names []chunkName
	sizes []int
	data  []byte
}

// prepare makes ready what the journal becomes: the entries of a run together,
// and the chunks of a scope together, each compressed. It writes nothing, so
// that it may be done beside the transactions of others.
func (s *Store) prepare(ctx context.Context, q querier, hasChunks *sql.Stmt) (*settlement, error) {
	t := &s.tail
	if err := t.refresh(ctx, q); err != nil {
		return nil, err
	}
	t.mu.Lock()
	st := &settlement{bytes: t.bytes}
	if len(t.rows) > 0 {
		st.from, st.to = t.rows[0].seq, t.last()
	}
	runs, chunks, order := maps.Clone(t.runs), maps.Clone(t.chunks), slices.Clip(t.order)
	t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(runs)) {
		if err := st.run(ctx, s, q, key, runs[key]); err != nil {
			return nil, err
		}
	}
	settled, err := findSettled(ctx, hasChunks, order)
	if err != nil {
		return nil, err
	}
	for _, name := range order {
		if !settled[name] {
			st.chunk(name, chunks[name])
		}
	}
	for _, p := range st.packs {
		p.data = s.pack.Pack(p.data)
	}
	return st, nil
}

const selectLastSegment = "SELECT place, CASE WHEN length(data) < ? THEN data END FROM segments WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1"

func (st *settlement) run(ctx context.Context, s *Store, q querier, key int64, records []record) error {
	at, raw := records[0].first, []byte(nil)
	var start int64
	var data []byte
	err := q.QueryRowContext(ctx, selectLastSegment, crumbBytes, place(key, 0), place(key, at)).Scan(&start, &data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if data != nil {
		old, err := s.pack.Unpack(data, maxSegment)
		if err != nil {
			return err
		}
		at, raw = start-place(key, 0), slices.Clone(old)
	}
	for i := range records {
		r := &records[i]
		if len(raw) > 0 && len(raw)+len(r.data) > segmentBytes {
			st.segments = append(st.segments, segment{place(key, at), s.pack.Pack(raw)})
			at, raw = r.first, raw[:0]
		}
		raw = append(raw, r.data...)
	}
	st.segments = append(st.segments, segment{place(key, at), s.pack.Pack(raw)})
	st.positions = append(st.positions, position{key, records[len(records)-1]})
	return nil
}

// chunk puts a chunk into a pack of its scope. Text and other bytes go into
// different packs, because they compress badly together.
func (st *settlement) chunk(name chunkName, data []byte) {
	text := utf8.Valid(data)
	i := len(st.packs) - 1
	for i >= 0 && (st.packs[i].scope != name.scope || st.packs[i].text != text) {
		i--
	}
	if i < 0 || len(st.packs[i].data)+len(data) > packBytes {
		i = len(st.packs)
		st.packs = append(st.packs, &openPack{scope: name.scope, text: text})
	}
	p := st.packs[i]
	p.names, p.sizes, p.data = append(p.names, name), append(p.sizes, len(data)), append(p.data, data...)
}

// settle moves everything from the journal to where it stays. In its place it
// puts the row given: there always is a last row, so that row numbers never
// begin again.
func (g *group) settle(row []byte) error {
	st, err := g.s.prepare(g.ctx(), g.w.conn, g.w.hasChunks)
	if err != nil {
		return err
	}
	return g.move(st, row)
}

// move puts a settlement where its rows of the journal were, and a row behind
// those that are left.
func (g *group) move(st *settlement, row []byte) error {
	for _, e := range st.segments {
		if _, err := g.w.insertSegment.ExecContext(g.ctx(), e.place, e.data); err != nil {
			return err
		}
	}
	for i := range st.positions {
		p := &st.positions[i]
		if _, err := g.w.updatePosition.ExecContext(g.ctx(), p.info.At.Count, p.info.At.Last[:], p.info.Sealed, p.info.Opened, p.info.Ended, p.key); err != nil {
			return err
		}
	}
	for _, p := range st.packs {
		if err := g.insertPack(p); err != nil {
			return err
		}
	}
	if row != nil {
		if err := g.insertJournal(row); err != nil {
			return err
		}
	}
	_, err := g.w.deleteJournal.ExecContext(g.ctx(), st.to)
	g.w.journal = max(0, g.w.journal-st.bytes) + len(row)
	g.w.busy = 0
	g.w.epoch++
	return err
}

const selectHasChunk = "SELECT count(*) FROM chunks WHERE scope = ? AND id = ?"

func isSettled(ctx context.Context, hasChunk *sql.Stmt, name chunkName) (bool, error) {
	var n int
	err := hasChunk.QueryRowContext(ctx, name.scope, name.id[:]).Scan(&n)
	return n > 0, err
}

// manyChunks is how many chunks are looked for at once.
const manyChunks = 32

func selectHasChunks() string {
	return "SELECT id FROM chunks WHERE scope = ? AND id IN (?" + strings.Repeat(", ?", manyChunks-1) + ")"
}

// findSettled returns those of the chunks that are settled.
func findSettled(ctx context.Context, hasChunks *sql.Stmt, names []chunkName) (map[chunkName]bool, error) {
	out := map[chunkName]bool{}
	names = slices.SortedStableFunc(slices.Values(names), func(a, b chunkName) int { return cmp.Compare(a.scope, b.scope) })
	args := make([]any, 1+manyChunks)
	for len(names) > 0 {
		scope, n := names[0].scope, 0
		args[0] = scope
		for n < min(manyChunks, len(names)) && names[n].scope == scope {
			args[1+n] = names[n].id[:]
			n++
		}
		for i := n; i < manyChunks; i++ {
			args[1+i] = args[n]
		}
		rows, err := hasChunks.QueryContext(ctx, args...)
		found, err := collect(rows, err, func(name *chunkName) error {
			var id []byte
			err := rows.Scan(&id)
			if err == nil {
				name.scope = scope
				name.id, err = digest(id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			out[name] = true
		}
		names = names[n:]
	}
	return out, nil
}

func (g *group) insertPack(p *openPack) error {
	var key int64
	if err := g.w.insertPack.QueryRowContext(g.ctx(), p.scope, p.data).Scan(&key); err != nil {
		return err
	}
	start := 0
	for i, name := range p.names {
		if _, err := g.w.insertChunk.ExecContext(g.ctx(), name.scope, name.id[:], key, start, p.sizes[i]); err != nil {
			return err
		}
		start += p.sizes[i]
	}
	return nil
}

// settleAside prepares a settlement beside the committer and then gives it the
// transaction that puts it in place. If somebody else has settled meanwhile,
// nothing is done. A failure is left to who settles when the journal is
// overdue, and who waits for that.
func (s *Store) settleAside() {
	defer s.aside.Done()
	defer s.settling.Store(false)
	st, err := s.prepare(context.Background(), s.read, s.reader.hasChunks)
	if err != nil || st.to == 0 {
		return
	}
	err = s.do(context.Background(), "sqlstore.settle", &job{bytes: st.bytes, apply: func(g *group) (refusal, err error) {
		var from, to int64
		if err := g.w.journalEnds.QueryRowContext(g.ctx()).Scan(&from, &to); err != nil || from != st.from {
			return nil, err
		}
		var row []byte
		if to == st.to {
			row = []byte{} // it would be the last row
		}
		return nil, g.move(st, row)
	}})
	if err == nil {
		_ = s.tail.refresh(context.Background(), s.read) // lets go of what was settled
	}
}
