package trajectoriestest

import (
	"bytes"
	"context"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Edit changes an entry of a forgery. Contents are the bytes of its
// attachments; it returns false to leave the entry out.
type Edit func(n int64, d *ledger.Draft, contents map[string][]byte) bool

// Forge returns a copy of a run that edit has changed, with hashes, links and
// numbers that fit: what somebody can make who may write to the store and has
// no key. It carries no signed head.
func (r *Rig) Forge(run ledger.RunID, edit Edit) ledger.RunID {
	r.t.Helper()
	ctx := context.Background()
	cfg := r.Config("forger")
	cfg.Signer = nil
	read := drive.NewReader(r.Store, run)
	id, err := drive.NewRun(&cfg)
	r.must(err)
	lease, err := r.Store.Acquire(ctx, id, "forger", time.Minute)
	r.must(err)
	var at ledger.Position
	batch := ledger.Batch{Lease: lease}
	moved := map[int64]int64{} // entries have other numbers where one is left out
	for e, err := range r.Store.Read(ctx, run, 0) {
		r.must(err)
		o, err := ledger.Parse(e)
		r.must(err)
		contents := map[string][]byte{}
		for i, a := range o.Att {
			b, err := read.Bytes(ctx, &o, i)
			r.must(err)
			contents[a.Name] = bytes.Clone(b)
		}
		refs := o.Body.Get("refs")
		if call, ok := refs.Get("call").AsInt(); ok {
			refs = refs.With("call", canon.Int(moved[call]))
		}
		d := ledger.Draft{
			Run: id, Kind: o.Kind, Body: o.Body.Without("att", "refs", "scope"), Refs: refs,
			Scope: e.Scope, Salt: e.Salt, T: o.T,
		}
		if !edit(o.N, &d, contents) {
			continue
		}
		for i, a := range o.Att {
			part := e.Parts[i]
			if b := contents[a.Name]; int64(len(b)) != a.Size || !same(ctx, read, &o, i, b) {
				part, a.Bind = r.put(ctx, part, b)
				a.Size = int64(len(b))
			}
			d.Att, d.Parts = append(d.Att, a), append(d.Parts, part)
		}
		p, err := ledger.Prepare(d)
		r.must(err)
		var forged ledger.Entry
		moved[o.N] = at.Count
		forged, at = at.Next(id, p)
		batch.Entries = append(batch.Entries, forged)
	}
	r.must(r.Store.Append(ctx, &batch))
	_, err = r.Store.Acquire(ctx, id, "forger", 0)
	r.must(err)
	return id
}

// put stores other bytes for a part.
func (r *Rig) put(ctx context.Context, was blob.Part, b []byte) (blob.Part, canon.Digest) {
	scope, err := r.Store.Scope(ctx, was.Scope, nil)
	r.must(err)
	var chunks []blob.Chunk
	w := blob.NewWriter(scope, was.Salt, false, func(c blob.Chunk) error {
		c.Bytes = bytes.Clone(c.Bytes)
		chunks = append(chunks, c)
		return nil
	})
	_, err = w.Write(b)
	r.must(err)
	part, bind, err := w.Close()
	r.must(err)
	r.must(r.Store.Put(ctx, chunks))
	return part, bind
}

func same(ctx context.Context, read *drive.Reader, o *ledger.Opened, i int, b []byte) bool {
	was, err := read.Bytes(ctx, o, i)
	return err == nil && bytes.Equal(was, b)
}

// Entry returns the number of the first entry of a run for which is is true.
func (r *Rig) Entry(run ledger.RunID, is func(o *ledger.Opened) bool) int64 {
	r.t.Helper()
	for o, err := range drive.Lineage(context.Background(), r.Store, run) {
		r.must(err)
		if is(o) {
			return o.N
		}
	}
	r.t.Fatal("no such entry")
	return -1
}

// Kind is an entry of a kind, and of a name if that is not empty.
func Kind(kind ledger.Kind, name string) func(o *ledger.Opened) bool {
	return func(o *ledger.Opened) bool {
		return o.Kind == kind && (name == "" || o.Body.Get("name").Str() == name)
	}
}

