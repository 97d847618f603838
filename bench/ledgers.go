package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// sample is a ledger in memory that is not signed.
type sample struct {
	run     ledger.RunID
	entries []ledger.Entry
	chunks  []blob.Chunk
	scope   blob.Scope
	bytes   [][]byte // of each entry, all that it covers
}

// shape is what the entries of a sample hold.
type shape struct {
	entries    int
	body       int // bytes
	attachment int // bytes; 0: none
}

func newSample(sh shape) (*sample, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	s := &sample{run: ledger.RunID(id.String())}
	s.scope = blob.Scope{ID: string(s.run)}
	if _, err := rand.Read(s.scope.Key[:]); err != nil {
		return nil, err
	}
	w := newWriter(1)
	at := ledger.Position{}
	for i := range sh.entries {
		d := ledger.Draft{Run: s.run, Kind: ledger.KindEvent, Scope: s.scope.ID, T: "2026-01-02T03:04:05.000006Z"}
		if i == 0 {
			d.Kind, d.Body = ledger.KindOpen, canon.Object(canon.M("engine", canon.String("bench")))
		} else if d.Body, err = w.eventBody(i, sh); err != nil {
			return nil, err
		}
		if _, err := rand.Read(d.Salt[:]); err != nil {
			return nil, err
		}
		var content []byte
		if i > 0 && sh.attachment > 0 {
			content = []byte(w.text(sh.attachment))
			if err := s.attach(&d, content); err != nil {
				return nil, err
			}
		}
		p, err := ledger.Prepare(d)
		if err != nil {
			return nil, err
		}
		var e ledger.Entry
		e, at = at.Next(s.run, p)
		s.entries = append(s.entries, e)
		s.bytes = append(s.bytes, bytes.Join([][]byte{e.Header, e.Body, content}, nil))
	}
	return s, nil
}

// eventBody returns a body whose entry has the size of the shape, the words
// of the attachment included.
func (w *writer) eventBody(i int, sh shape) (canon.Value, error) {
	if sh.attachment == 0 {
		return w.body(i, sh.body)
	}
	const attBytes = 155 // of the member att with one attachment
	return canon.Object(
		canon.M("data", canon.Object(canon.M("text", canon.String(w.text(sh.body-attBytes))))),
		canon.M("name", canon.String("x")),
	), nil
}

func (s *sample) attach(d *ledger.Draft, content []byte) error {
	var salt canon.Salt
	if _, err := rand.Read(salt[:]); err != nil {
		return err
	}
	w := blob.NewWriter(s.scope, salt, false, func(c blob.Chunk) error {
		c.Bytes = bytes.Clone(c.Bytes)
		s.chunks = append(s.chunks, c)
		return nil
	})
	if _, err := w.Write(content); err != nil {
		return err
	}
	part, bind, err := w.Close()
	if err != nil {
		return err
	}
	d.Att = []ledger.Attachment{{Name: "content", Type: "text/plain", Size: int64(len(content)), Bind: bind}}
	d.Parts = []blob.Part{part}
	return nil
}

func (s *sample) all() iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		for i := range s.entries {
			if !yield(&s.entries[i], nil) {
				return
			}
		}
	}
}

// evidence returns the sample in memory.
func (s *sample) evidence() ledger.Evidence {
	chunks := map[canon.Digest][]byte{}
	for i := range s.chunks {
		chunks[s.chunks[i].ID] = s.chunks[i].Bytes
	}
	get := func(id canon.Digest) ([]byte, error) { return chunks[id], nil }
	return ledger.Evidence{
		Run: s.run, Entries: s.all(),
		Attachment: func(e *ledger.Entry, i int, w io.Writer) error { return blob.Rebuild(e.Parts[i], get, w) },
	}
}

// bundle returns the sample as an exported file.
func (s *sample) bundle() ([]byte, error) {
	chunks := map[canon.Digest][]byte{}
	for i := range s.chunks {
		chunks[s.chunks[i].ID] = s.chunks[i].Bytes
	}
	get := func(id canon.Digest) ([]byte, error) { return chunks[id], nil }
	var out bytes.Buffer
	err := bundle.Write(&out, bundle.Source{Runs: []bundle.Run{{
		ID: s.run, Entries: s.all(),
		Pieces: func(e *ledger.Entry, i int) iter.Seq2[blob.Piece, error] { return blob.Pieces(e.Parts[i], get) },
		Get:    func(_ string, id canon.Digest) ([]byte, error) { return chunks[id], nil },
	}}}, bundle.Options{})
	return out.Bytes(), err
}

// segment is how many entries of a sample one append stores: what a group
// commit gathers while a disk syncs.
const segment = 64

// storeIn appends the sample to a store.
func (s *sample) storeIn(ctx context.Context, store drive.Store) error {
	if _, err := store.Scope(ctx, s.scope.ID, &s.scope); err != nil {
		return err
	}
	if len(s.chunks) > 0 {
		if err := store.Put(ctx, s.chunks); err != nil {
			return err
		}
	}
	lease, err := store.Acquire(ctx, s.run, "bench", time.Minute)
	if err != nil {
		return err
	}
	at := ledger.Position{}
	for from := 0; from < len(s.entries); from += segment {
		batch := s.entries[from:min(from+segment, len(s.entries))]
		if err := store.Append(ctx, &ledger.Batch{Lease: lease, At: at, Entries: batch}); err != nil {
			return err
		}
		at = ledger.Position{Count: at.Count + int64(len(batch)), Last: batch[len(batch)-1].ID}
	}
	return nil
}

// stored returns the sample as a store holds it.
func (s *sample) stored(ctx context.Context, store drive.Store) ledger.Evidence {
	r := drive.NewReader(store, s.run)
	return ledger.Evidence{Run: s.run, Entries: store.Read(ctx, s.run, 0), Attachment: r.Attachment(ctx)}
}
