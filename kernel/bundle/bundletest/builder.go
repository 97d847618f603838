// Package bundletest makes ledgers and bundles for tests: small, whole, signed
// and the same every time.
package bundletest

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/bundle"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Key returns the private key of a name. It is no secret.
func Key(name string) *sign.PrivateKey {
	seed := canon.SHA256([]byte("bundletest key " + name))
	k, err := sign.NewPrivateKey(seed[:])
	must(err)
	return k
}

// RunID returns the run id of a name.
func RunID(name string) ledger.RunID {
	d := canon.SHA256([]byte("bundletest run " + name))
	d[6], d[8] = d[6]&0x0f|0x70, d[8]&0x3f|0x80
	h := d.String()
	return ledger.RunID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32])
}

// Manifest returns the envelope of a manifest by root, which follows prev.
func Manifest(root *sign.PrivateKey, prev []byte, keys ...sign.Listed) []byte {
	m := sign.Manifest{Root: root.Public(), Keys: keys}
	if prev != nil {
		e, err := sign.ParseEnvelope(prev)
		must(err)
		before, err := sign.ParseManifest(e.Payload)
		must(err)
		m.Seq, m.Prev = before.Seq+1, sign.Digest(prev)
	}
	payload, err := m.Payload()
	must(err)
	e, err := sign.Seal(root, sign.ManifestType, payload)
	must(err)
	return e.Encode()
}

// Manifests returns the chain that every ledger of this package has: root
// "root" lists head key "head".
func Manifests() [][]byte { return slices.Clone(manifests()) }

// Keyring returns what a reader knows who trusts root "root".
func Keyring() *sign.Keyring { return keyring() }

// Both are made once: tests ask for them a hundred thousand times.
var (
	manifests = sync.OnceValue(func() [][]byte {
		return [][]byte{Manifest(Key("root"), nil, sign.Listed{Key: Key("head").Public(), Role: sign.RoleHead, State: sign.Active})}
	})
	keyring = sync.OnceValue(func() *sign.Keyring {
		k, err := sign.NewKeyring([]sign.PublicKey{Key("root").Public()}, manifests())
		must(err)
		return k
	})
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

type chunkKey struct {
	scope string
	id    canon.Digest
}

// Ledger is a ledger in memory.
type Ledger struct {
	Run     ledger.RunID
	At      ledger.Position
	Tree    ledger.Tree
	Entries []ledger.Entry
	Heads   []ledger.Statement
	World   ledger.World
	scope   blob.Scope
	chunks  map[chunkKey][]byte
	drawn   int
}

// New returns an empty ledger.
func New(name string) *Ledger {
	run := RunID(name)
	return &Ledger{
		Run: run, chunks: map[chunkKey][]byte{},
		scope: blob.Scope{ID: string(run), Key: canon.SHA256([]byte("bundletest scope " + name))},
	}
}

// Subject makes id the scope of what is stored and appended from here on.
func (l *Ledger) Subject(id string) {
	l.scope = blob.Scope{ID: id, Key: canon.SHA256([]byte("bundletest scope " + id))}
}

// Salt draws the next salt.
func (l *Ledger) Salt() canon.Salt {
	l.drawn++
	return canon.Salt(canon.SHA256(fmt.Appendf(nil, "bundletest salt %s %d", l.Run, l.drawn)))
}

// Store stores contents as attachments of a draft.
func (l *Ledger) Store(d *ledger.Draft, contents ...ledger.Content) {
	for _, c := range contents {
		w := blob.NewWriter(l.scope, l.Salt(), c.Type == ledger.BodyType, func(k blob.Chunk) error {
			l.chunks[chunkKey{k.Scope, k.ID}] = append([]byte(nil), k.Bytes...)
			return nil
		})
		_, err := w.Write(c.Bytes)
		must(err)
		part, bind, err := w.Close()
		must(err)
		d.Att = append(d.Att, ledger.Attachment{Name: c.Name, Type: c.Type, Size: part.Size, Bind: bind})
		d.Parts = append(d.Parts, part)
	}
}

// Append appends an entry with contents.
func (l *Ledger) Append(kind ledger.Kind, body, refs canon.Value, contents ...ledger.Content) ledger.Ref {
	d := ledger.Draft{Kind: kind, Body: body, Refs: refs}
	l.Store(&d, contents...)
	return l.AppendDraft(d)
}

// AppendDraft appends a draft, to which it adds salt, scope and time.
func (l *Ledger) AppendDraft(d ledger.Draft) ledger.Ref {
	d.Run, d.Scope, d.Salt = l.Run, l.scope.ID, l.Salt()
	d.T = fmt.Sprintf("2026-01-02T03:04:%02d.000000Z", l.At.Count%60)
	p, err := ledger.Prepare(d)
	must(err)
	e, at := l.At.Next(l.Run, p)
	l.Entries, l.At = append(l.Entries, e), at
	l.Tree.Append(e.ID)
	return ledger.Ref{Run: l.Run, N: at.Count - 1, ID: e.ID}
}

// Head appends a head over all entries, signed by s.
func (l *Ledger) Head(s sign.Signer) {
	h := ledger.Head{Run: l.Run, Count: l.At.Count, Last: l.At.Last, Root: l.Tree.Root(), T: fmt.Sprintf("2026-01-02T03:05:%02dZ", l.At.Count%60)}
	env, err := h.Sign(s)
	must(err)
	l.Heads = append(l.Heads, ledger.Statement{Run: l.Run, Type: ledger.HeadType, Count: l.At.Count, Envelope: env})
}

// Get returns a chunk.
func (l *Ledger) Get(scope string, id canon.Digest) ([]byte, error) {
	if b, ok := l.chunks[chunkKey{scope, id}]; ok {
		return b, nil
	}
	return nil, fault.New(blob.ErrNotFound, "bundletest.Get", "no chunk %s in scope %q", id, scope)
}

// Seq yields list.
func Seq[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// Read yields the entries.
func (l *Ledger) Read(yield func(*ledger.Entry, error) bool) {
	for i := range l.Entries {
		if !yield(&l.Entries[i], nil) {
			return
		}
	}
}

// Evidence returns the ledger for verification, as a store gives it.
func (l *Ledger) Evidence() ledger.Evidence {
	return ledger.Evidence{
		Run: l.Run, Entries: l.Read, Statements: Seq(l.Heads), Keys: Keyring(), Scopes: true,
		Attachment: func(e *ledger.Entry, i int, w io.Writer) error {
			p := e.Parts[i]
			return blob.Rebuild(p, func(id canon.Digest) ([]byte, error) { return l.Get(p.Scope, id) }, w)
		},
	}
}

// Source returns the ledger for a bundle.
func (l *Ledger) Source() bundle.Run {
	return bundle.Run{
		ID: l.Run, Manifests: Manifests(), Entries: l.Read, Heads: Seq(l.Heads), Get: l.Get,
		Pieces: func(e *ledger.Entry, i int) iter.Seq2[blob.Piece, error] {
			p := e.Parts[i]
			return blob.Pieces(p, func(id canon.Digest) ([]byte, error) { return l.Get(p.Scope, id) })
		},
	}
}

// ChunkIDs returns the ids of the chunks of attachment i of entry n, those of
// nested recipes included.
func (l *Ledger) ChunkIDs(n, i int) []canon.Digest {
	p := l.Entries[n].Parts[i]
	var out []canon.Digest
	for id, err := range blob.IDs(p, func(id canon.Digest) ([]byte, error) { return l.Get(p.Scope, id) }) {
		must(err)
		out = append(out, id)
	}
	return out
}

// Chunks returns all chunks, sorted by id. Their bytes are the ledger's own.
func (l *Ledger) Chunks() []blob.Chunk {
	var out []blob.Chunk
	for k, b := range l.chunks {
		out = append(out, blob.Chunk{Scope: k.scope, ID: k.id, Bytes: b})
	}
	slices.SortFunc(out, func(a, b blob.Chunk) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out
}
