package drive

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/reprise-dev/reprise/internal/entrycode"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
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
	torn    bool // it cannot be read
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
// not in the ledger. If some of them cannot be used it appends those before
// them, sets the staged files aside, and gives [ErrDamaged].
func reclaim(ctx context.Context, cfg Config, lease ledger.Lease) error {
	at, err := cfg.Store.At(ctx, lease.Run)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	list, damage, err := readPending(cfg.Spool, lease.Run, at.Count)
	if err != nil {
		return err
	}
	b := ledger.Batch{Lease: lease, At: at}
	whole, err := join(ctx, cfg.Store, &b, list)
	if err != nil {
		return err
	}
	if len(b.Entries) > 0 {
		if err := cfg.Store.Append(ctx, &b); err != nil {
			return err
		}
	}
	if !whole {
		damage = fault.New(ErrDamaged, "drive.Resume", "the staged entries of run %s from %d on cannot be read", lease.Run, at.Count+int64(len(b.Entries)))
	}
	if damage == nil {
		return nil
	}
	return aside(cfg.Spool, lease.Run, damage)
}

// join adds to a batch the staged entries that follow its place, and reports
// whether those are all that were staged. What stands behind an entry that
// cannot be read does not follow.
func join(ctx context.Context, store Store, b *ledger.Batch, list []pending) (whole bool, err error) {
	at := b.At
	lost := int64(-1)
	c := checker{store: store, keys: map[string][32]byte{}, chunks: map[canon.Digest][]byte{}}
	for _, p := range list {
		if p.torn {
			lost = max(lost, p.first)
			continue
		}
		chunks, err := c.take(ctx, p.chunks)
		if err != nil {
			return false, err
		}
		b.Chunks = append(b.Chunks, chunks...)
		for i := range p.entries {
			e := &p.entries[i]
			if p.first+int64(i) < at.Count {
				continue // it is there
			}
			ok, err := c.follows(ctx, at, e)
			if err != nil {
				return false, err
			}
			if !ok {
				lost = max(lost, p.first+int64(i))
				continue
			}
			b.Entries = append(b.Entries, *e)
			at = ledger.Position{Count: at.Count + 1, Last: e.ID}
		}
	}
	return lost < at.Count, nil
}

// aside sets the staged files of a run aside and adds to the error where.
func aside(root string, run ledger.RunID, damage error) error {
	dir, err := setAside(root, run)
	if err != nil {
		return fault.Wrap(ErrSpool, "drive.Resume", err, "%s, and the staged files cannot be set aside", fault.Text(damage))
	}
	return fault.New(ErrDamaged, "drive.Resume", "%s; the staged files were set aside in %s, the ledger has what could be read, and when it is tried again the run goes on without the rest", fault.Text(damage), dir)
}
