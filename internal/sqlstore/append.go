package sqlstore

import (
	"bytes"
	"context"

	"github.com/reprise-dev/reprise/internal/entrycode"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// appending is an append, encoded.
type appending struct {
	lease      ledger.Lease
	at         ledger.Position
	entries    []idHeader
	engine     string // that entry 0 names, if it is among the entries
	records    []record
	chunks     []blob.Chunk
	statements []ledger.Statement
}

// idHeader is what of an entry must be equal for the entry to be there.
type idHeader struct {
	id     canon.Digest
	header []byte
}

// Append implements [ledger.Store].
func (s *Store) Append(ctx context.Context, b *ledger.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	a, size, err := encode(b)
	if err != nil {
		return err
	}
	return s.do(ctx, "sqlstore.Append", &job{bytes: size, apply: func(g *group) (refusal, err error) { return g.append(a) }})
}

// encode makes all that needs no transaction. The append keeps nothing of b,
// because who gave it may go on while the committer still works.
func encode(b *ledger.Batch) (a *appending, size int, err error) {
	a = &appending{lease: b.Lease, at: b.At}
	a.chunks, size = cloneChunks(b.Chunks)
	headers, bodies := 0, 0
	for i := range b.Entries {
		e := &b.Entries[i]
		headers += len(e.Header)
		bodies += len(e.Body) + 256 + 512*len(e.Parts)
	}
	a.entries = make([]idHeader, len(b.Entries))
	kept := make([]byte, 0, headers)
	raw := make([]byte, 0, bodies)
	r := record{first: b.At.Count, info: ledger.RunInfo{At: b.At}}
	for i := range b.Entries {
		e := &b.Entries[i]
		if len(raw) > segmentBytes {
			size += len(raw)
			r.data = raw
			a.records = append(a.records, r)
			r.first, raw = r.info.At.Count, nil
		}
		h, err := ledger.ParseHeader(e.Header)
		if err != nil {
			return nil, 0, err
		}
		if h.N == 0 {
			r.info.Opened = h.T
			a.engine = ledger.EngineOf(e)
		}
		r.info.Ended, r.info.Sealed = h.T, h.Kind == ledger.KindSeal
		r.info.At = ledger.Position{Count: h.N + 1, Last: e.ID}
		raw = entrycode.Append(raw, &h, e)
		from := len(kept)
		kept = append(kept, e.Header...)
		a.entries[i] = idHeader{id: e.ID, header: kept[from:]}
	}
	if len(raw) > 0 {
		size += len(raw)
		r.data = raw
		a.records = append(a.records, r)
	}
	for _, st := range b.Statements {
		st.Envelope = bytes.Clone(st.Envelope)
		size += len(st.Envelope)
		a.statements = append(a.statements, st)
	}
	return a, size, nil
}

// append checks everything before it writes anything, so that a refused
// append leaves no trace in the transaction.
func (g *group) append(a *appending) (refusal, err error) {
	const op = "sqlstore.Append"
	if a.lease.Run == "" {
		return nil, g.insertStatements(a.statements)
	}
	r, err := g.run(a.lease.Run)
	if err != nil {
		return nil, err
	}
	if r == nil || r.holder == "" || r.token != a.lease.Token {
		return fault.New(ledger.ErrFenced, op, "the lease %d of run %s is not the present one", a.lease.Token, a.lease.Run), nil
	}
	there := len(a.entries) == 0
	if r.info.At != a.at {
		if there, err = g.contains(r, a); err != nil {
			return nil, err
		}
		if !there {
			return fault.New(ledger.ErrConflict, op, "run %s stands at %d (%s), not at %d (%s)", a.lease.Run, r.info.At.Count, r.info.At.Last, a.at.Count, a.at.Last), nil
		}
	}
	if refusal, err = g.appendChunks(a.chunks); refusal != nil || err != nil {
		return refusal, err
	}
	if err = g.insertStatements(a.statements); err != nil || there {
		return nil, err
	}
	if a.at.Count == 0 {
		if _, err = g.w.updateEngine.ExecContext(g.ctx(), a.engine, r.key); err != nil {
			return nil, err
		}
	}
	if r.epoch != g.w.epoch {
		r.epoch = g.w.epoch
		g.w.busy++
	}
	for i := range a.records {
		rec := &a.records[i]
		if a.at.Count > 0 {
			rec.info.Opened = r.info.Opened
		}
		g.w.row = appendRecord(g.w.row, r.key, rec)
		run := r.info.Run
		r.info = rec.info
		r.info.Run = run
	}
	return nil, nil
}

func (g *group) insertStatements(list []ledger.Statement) error {
	for _, st := range list {
		if _, err := g.w.insertStatement.ExecContext(g.ctx(), string(st.Run), st.Type, st.Count, st.Envelope); err != nil {
			return err
		}
	}
	return nil
}

// contains reports whether the ledger has passed a's position and holds its
// entries. Those of this very transaction it finds in the row of the journal
// that is being filled.
func (g *group) contains(r *runState, a *appending) (bool, error) {
	end := a.at.Count + int64(len(a.entries))
	if end > r.info.At.Count {
		return false, nil
	}
	var pending tail
	pending.reset()
	if err := pending.look(g.w.row); err != nil {
		return false, err
	}
	if err := g.s.tail.refresh(g.ctx(), g.w.conn); err != nil {
		return false, err
	}
	for n := max(a.at.Count-1, 0); n < end; {
		page, err := g.s.page(g.ctx(), g.w.conn, r.info.Run, r.key, n)
		if err == nil && len(page) == 0 {
			page, err = decodeRecords(r.info.Run, pending.after(r.key, n), n)
		}
		if err == nil && len(page) == 0 {
			err = fault.New(ErrRow, "sqlstore.Append", "run %s: entry %d is not there", r.info.Run, n)
		}
		if err != nil {
			return false, err
		}
		for i := range page {
			if n < end && !a.matches(n, &page[i]) {
				return false, nil
			}
			n++
		}
	}
	return true, nil
}

// matches reports whether e, which is entry n of the ledger, is what a says
// of entry n.
func (a *appending) matches(n int64, e *ledger.Entry) bool {
	i := n - a.at.Count
	if i < 0 {
		return e.ID == a.at.Last
	}
	return e.ID == a.entries[i].id && bytes.Equal(e.Header, a.entries[i].header)
}
