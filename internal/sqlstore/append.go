package sqlstore

import (
	"bytes"
	"context"

	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// appending is an append, encoded.
type appending struct {
	lease      ledger.Lease
	at         ledger.Position
	end        ledger.RunInfo // of the run once it is done; Opened only if entry 0 is in it
	ids        []idHeader
	segment    []byte
	chunks     []packedChunk
	statements []ledger.Statement
}

type idHeader struct {
	id     [32]byte
	header []byte
}

// Append implements [ledger.Store].
func (s *Store) Append(ctx context.Context, b *ledger.Batch) error {
	if err := b.Check(); err != nil {
		return err
	}
	a, err := s.encode(b)
	if err != nil {
		return err
	}
	size := len(a.segment)
	for _, c := range a.chunks {
		size += len(c.data)
	}
	return s.do(ctx, "sqlstore.Append", size, func(g *group) (refusal, err error) { return g.append(a) })
}

// encode makes all that needs no transaction. The append keeps nothing of b,
// because who gave it may go on while the committer still works.
func (s *Store) encode(b *ledger.Batch) (*appending, error) {
	a := &appending{lease: b.Lease, at: b.At, chunks: s.packChunks(b.Chunks)}
	a.end = ledger.RunInfo{Run: b.Lease.Run, At: b.At}
	size := 0
	for i := range b.Entries {
		size += len(b.Entries[i].Body) + 256
	}
	raw := make([]byte, 0, size)
	for i := range b.Entries {
		e := &b.Entries[i]
		h, err := ledger.ParseHeader(e.Header)
		if err != nil {
			return nil, err
		}
		if h.N == 0 {
			a.end.Opened = h.T
		}
		a.end.Ended, a.end.Sealed = h.T, h.Kind == ledger.KindSeal
		a.end.At = ledger.Position{Count: h.N + 1, Last: e.ID}
		a.ids = append(a.ids, idHeader{id: e.ID, header: bytes.Clone(e.Header)})
		raw = appendEntry(raw, h.Run, h.N, e)
	}
	if len(raw) > 0 {
		a.segment = s.pack.Pack(raw)
	}
	for _, st := range b.Statements {
		st.Envelope = bytes.Clone(st.Envelope)
		a.statements = append(a.statements, st)
	}
	return a, nil
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
	there := len(a.ids) == 0
	if r.info.At != a.at {
		if there, err = g.contains(r, a); err != nil {
			return nil, err
		}
		if !there {
			return fault.New(ledger.ErrConflict, op, "run %s stands at %d (%s), not at %d (%s)", a.lease.Run, r.info.At.Count, r.info.At.Last, a.at.Count, a.at.Last), nil
		}
	}
	if refusal, err = g.insertChunks(a.chunks); refusal != nil || err != nil {
		return refusal, err
	}
	if err = g.insertStatements(a.statements); err != nil || there {
		return nil, err
	}
	if _, err = g.w.insertSegment.ExecContext(g.ctx, place(r.key, a.at.Count), a.segment); err != nil {
		return nil, err
	}
	if a.at.Count > 0 {
		a.end.Opened = r.info.Opened
	}
	r.info, r.dirty = a.end, true
	return nil, nil
}

func (g *group) insertStatements(list []ledger.Statement) error {
	for _, st := range list {
		if _, err := g.w.insertStatement.ExecContext(g.ctx, string(st.Run), st.Type, st.Count, st.Envelope); err != nil {
			return err
		}
	}
	return nil
}

// contains reports whether the ledger has passed a's position and holds its
// entries.
func (g *group) contains(r *runState, a *appending) (bool, error) {
	if a.at.Count+int64(len(a.ids)) > r.info.At.Count {
		return false, nil
	}
	end := a.at.Count + int64(len(a.ids))
	for n := max(a.at.Count-1, 0); n < end; {
		rows, err := g.w.segments.QueryContext(g.ctx, segmentRange(r.key, n)...)
		if err != nil {
			return false, err
		}
		page, err := g.s.segmentPage(rows, r.info.Run, r.key, n)
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
	return e.ID == a.ids[i].id && bytes.Equal(e.Header, a.ids[i].header)
}
