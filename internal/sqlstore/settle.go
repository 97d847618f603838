package sqlstore

import (
	"database/sql"
	"errors"
	"maps"
	"slices"
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
// reads it for the first time.
const (
	runJournal  = 16 << 10
	minJournal  = 4 << 20
	maxJournal  = 16 << 20
	journalPart = 4
)

// settle moves everything from the journal to where it stays: the entries of
// a run together, and the chunks of a scope together. In their place it puts
// the row given: there always is a last row, so that row numbers never begin
// again.
func (g *group) settle(row []byte) error {
	t := &g.s.tail
	if err := t.refresh(g.ctx(), g.w.conn); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(t.runs)) {
		if err := g.settleRun(key, t.runs[key]); err != nil {
			return err
		}
	}
	if err := g.settleChunks(t); err != nil {
		return err
	}
	if _, err := g.w.insertJournal.ExecContext(g.ctx(), row); err != nil {
		return err
	}
	_, err := g.w.deleteJournal.ExecContext(g.ctx(), t.to)
	g.w.journal, g.w.busy = len(row), 0
	g.w.epoch++
	return err
}

func (g *group) settleRun(key int64, records []record) error {
	at, raw := records[0].first, []byte(nil)
	var start int64
	var data []byte
	err := g.w.lastSegment.QueryRowContext(g.ctx(), crumbBytes, place(key, 0), place(key, at)).Scan(&start, &data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if data != nil {
		old, err := g.s.pack.Unpack(data, maxSegment)
		if err != nil {
			return err
		}
		at, raw = start-place(key, 0), slices.Clone(old)
	}
	for i := range records {
		r := &records[i]
		if len(raw) > 0 && len(raw)+len(r.data) > segmentBytes {
			if err := g.insertSegment(key, at, raw); err != nil {
				return err
			}
			at, raw = r.first, raw[:0]
		}
		raw = append(raw, r.data...)
	}
	if err := g.insertSegment(key, at, raw); err != nil {
		return err
	}
	i := records[len(records)-1].info
	_, err = g.w.updatePosition.ExecContext(g.ctx(), i.At.Count, i.At.Last[:], i.Sealed, i.Opened, i.Ended, key)
	return err
}

func (g *group) insertSegment(key, at int64, raw []byte) error {
	_, err := g.w.insertSegment.ExecContext(g.ctx(), place(key, at), g.s.pack.Pack(raw))
	return err
}

// openPack is a pack that is being filled.
type openPack struct {
	scope int64
	names []chunkName
	sizes []int
	data  []byte
}

// settleChunks packs the chunks that are new. Text and other bytes go into
// different packs, because they compress badly together.
func (g *group) settleChunks(t *tail) error {
	type sort struct {
		scope int64
		text  bool
	}
	open := map[sort]*openPack{}
	var order []*openPack
	for _, name := range t.order {
		data := t.chunks[name]
		if there, err := g.hasChunk(name); err != nil || there {
			if err != nil {
				return err
			}
			continue
		}
		k := sort{name.scope, utf8.Valid(data)}
		p := open[k]
		if p == nil || len(p.data)+len(data) > packBytes {
			p = &openPack{scope: name.scope}
			open[k] = p
			order = append(order, p)
		}
		p.names, p.sizes, p.data = append(p.names, name), append(p.sizes, len(data)), append(p.data, data...)
	}
	for _, p := range order {
		if err := g.insertPack(p); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) hasChunk(name chunkName) (bool, error) {
	var n int
	err := g.w.hasChunk.QueryRowContext(g.ctx(), name.scope, name.id[:]).Scan(&n)
	return n > 0, err
}

func (g *group) insertPack(p *openPack) error {
	var key int64
	if err := g.w.insertPack.QueryRowContext(g.ctx(), p.scope, g.s.pack.Pack(p.data)).Scan(&key); err != nil {
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
