package drive

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/reprise-dev/reprise/internal/entrycode"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// What a stream gives away is to outlive this process, and with it the call
// that it belongs to. To commit the call for that would make each stream wait
// for the disk twice. So entries that are not durable yet are staged beside
// the parts of the answer, and who resumes the run appends them first.

// maxPending bounds what is staged of entries; beyond it they are committed.
const maxPending = 512 << 10

// outlive stages all entries that are not durable, so that they are found if
// this process is killed. It reports false if they must be committed for that.
func (w *writer) outlive(st *staged) (bool, error) {
	if st == nil {
		return false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return false, w.err
	}
	if w.queued > maxPending {
		return false, nil
	}
	for _, g := range []*group{w.storing, w.next} {
		if g == nil || len(g.batch.Entries) == g.staged {
			continue
		}
		text, err := appendPending(nil, &g.batch, g.staged, g.chunks)
		if err != nil {
			return false, err
		}
		if err := st.entries(g.batch.At.Count+int64(g.staged), text); err != nil {
			return false, err
		}
		g.staged, g.chunks = len(g.batch.Entries), len(g.batch.Chunks)
	}
	return true, nil
}

// appendPending appends entries and chunks of a batch, without the first so
// many: their number, each as [entrycode] has it, and the number of chunks, of
// each its scope, id, length and bytes.
func appendPending(dst []byte, b *ledger.Batch, entries, chunks int) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(len(b.Entries)-entries)) //nolint:gosec // not negative
	for i := entries; i < len(b.Entries); i++ {
		h, err := ledger.ParseHeader(b.Entries[i].Header)
		if err != nil {
			return nil, err
		}
		dst = entrycode.Append(dst, &h, &b.Entries[i])
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.Chunks)-chunks)) //nolint:gosec // as above
	for _, c := range b.Chunks[chunks:] {
		dst = entrycode.AppendText(dst, c.Scope)
		dst = append(dst, c.ID[:]...)
		dst = binary.AppendUvarint(dst, uint64(len(c.Bytes)))
		dst = append(dst, c.Bytes...)
	}
	return dst, nil
}

// pending is what one frame has of entries.
type pending struct {
	first   int64
	entries []ledger.Entry
	chunks  []blob.Chunk
}

func parsePending(run ledger.RunID, first int64, text []byte) (p pending, ok bool) {
	d := entrycode.Decoder{Run: run, N: first, Rest: text}
	p.first = first
	for range d.Number(uint64(len(text))) {
		var e ledger.Entry
		if !d.Entry(&e) {
			return p, false
		}
		p.entries = append(p.entries, e)
	}
	for range d.Number(uint64(len(text))) {
		c := blob.Chunk{Scope: d.Text(), ID: d.Digest()}
		c.Bytes = d.Take(int(d.Number(blob.MaxChunk)))
		if d.Failed {
			return p, false
		}
		p.chunks = append(p.chunks, c)
	}
	return p, !d.Failed && len(d.Rest) == 0
}

// reclaim appends the entries that a killed process had staged and that are
// not in the ledger.
func reclaim(ctx context.Context, cfg Config, lease ledger.Lease) error {
	at, err := cfg.Store.At(ctx, lease.Run)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := readPending(cfg.Spool, lease.Run, at.Count)
	if err != nil {
		return err
	}
	b := ledger.Batch{Lease: lease, At: at}
	for _, p := range list {
		for i := range p.entries {
			e := &p.entries[i]
			h, err := ledger.ParseHeader(e.Header)
			if p.first+int64(i) != at.Count || err != nil || h.N != at.Count || h.Prev != at.Last || ledger.ID(e.Header) != e.ID {
				continue // it is there, or what it stands behind is lost
			}
			b.Entries = append(b.Entries, *e)
			at = ledger.Position{Count: at.Count + 1, Last: e.ID}
		}
		b.Chunks = append(b.Chunks, p.chunks...)
	}
	if len(b.Entries) == 0 {
		return nil
	}
	return cfg.Store.Append(ctx, &b)
}
