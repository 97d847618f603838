package sqlstore

import (
	"bytes"
	"encoding/binary"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A segment holds consecutive entries of one run, one behind the other. An
// entry is
//
//	id          32 bytes
//	header      0, length, bytes
//	         or 1, bind, prev unless n is 0, kind, type, size, time
//	scope       text
//	salt        32 bytes
//	body        0 if absent, else 1 + length, bytes
//	parts       number; for each: scope, salt, size, and the recipe like a body
//
// A number is an unsigned varint, a text its length and its bytes. Two texts
// are shortened to the empty one: a scope that is the run, and the media type
// of native bodies. The short form of the header leaves out what the place of
// the row says; it is used only if it gives the very bytes back, so that a
// header comes out as it went in whatever it is.
const (
	headerWhole = 0
	headerShort = 1
)

// place names an entry among all runs of a store.
func place(run int64, n int64) int64 { return run*ledger.MaxCount + n }

// appendEntry appends the encoding of an entry, whose header is h.
func appendEntry(dst []byte, h *ledger.Header, e *ledger.Entry) []byte {
	dst = append(dst, e.ID[:]...)
	dst = appendHeader(dst, h, e.Header)
	dst = appendScope(dst, h.Run, e.Scope)
	dst = append(dst, e.Salt[:]...)
	dst = appendOptional(dst, e.Body)
	dst = binary.AppendUvarint(dst, uint64(len(e.Parts)))
	for i := range e.Parts {
		p := &e.Parts[i]
		dst = appendScope(dst, h.Run, p.Scope)
		dst = append(dst, p.Salt[:]...)
		dst = binary.AppendUvarint(dst, uint64(p.Size))
		dst = appendOptional(dst, p.Recipe)
	}
	return dst
}

func appendHeader(dst []byte, h *ledger.Header, raw []byte) []byte {
	var again [ledger.MaxHeader + 256]byte
	if !bytes.Equal(h.Append(again[:0]), raw) {
		dst = append(dst, headerWhole)
		dst = binary.AppendUvarint(dst, uint64(len(raw)))
		return append(dst, raw...)
	}
	dst = append(dst, headerShort)
	dst = append(dst, h.Bind[:]...)
	if h.N > 0 {
		dst = append(dst, h.Prev[:]...)
	}
	dst = appendText(dst, string(h.Kind))
	if h.Type == ledger.BodyType {
		dst = appendText(dst, "")
	} else {
		dst = appendText(dst, h.Type)
	}
	dst = binary.AppendUvarint(dst, uint64(h.Size))
	return appendText(dst, h.T)
}

func appendScope(dst []byte, run ledger.RunID, scope string) []byte {
	switch scope {
	case string(run):
		return appendText(dst, "")
	case "":
		return appendText(dst, noScope)
	}
	return appendText(dst, scope)
}

// noScope stands for the empty scope, which no store keeps chunks in.
const noScope = "\x00"

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendOptional(dst, p []byte) []byte {
	if p == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(p))+1)
	return append(dst, p...)
}

// decoder reads what the functions above write; after a failure it reads
// nothing. The bytes it gives are parts of those it reads.
type decoder struct {
	run    ledger.RunID
	n      int64
	rest   []byte
	failed bool
}

// entry reads the next entry.
func (d *decoder) entry(e *ledger.Entry) error {
	from := len(d.rest)
	copy(e.ID[:], d.take(32))
	e.Header = d.header()
	e.Scope = d.scope()
	copy(e.Salt[:], d.take(32))
	e.Body = d.optional(ledger.MaxBody)
	parts := d.number(ledger.MaxAttachments)
	e.Parts = nil
	if parts > 0 && !d.failed {
		e.Parts = make([]blob.Part, parts)
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		p.Scope = d.scope()
		copy(p.Salt[:], d.take(32))
		p.Size = int64(d.number(1<<63 - 1))
		p.Recipe = d.optional(ledger.MaxRecipe)
	}
	if d.failed {
		return fault.New(ErrRow, "sqlstore.entry", "run %s: entry %d cannot be read from the %d bytes of its row", d.run, d.n, from)
	}
	d.n++
	return nil
}

func (d *decoder) header() []byte {
	form := d.take(1)
	if d.failed {
		return nil
	}
	if form[0] == headerWhole {
		return d.take(int(d.number(ledger.MaxHeader)))
	}
	if form[0] != headerShort {
		d.failed = true
		return nil
	}
	h := ledger.Header{Run: d.run, N: d.n}
	copy(h.Bind[:], d.take(32))
	if d.n > 0 {
		copy(h.Prev[:], d.take(32))
	}
	h.Kind = ledger.Kind(d.text())
	h.Type = d.text()
	if h.Type == "" {
		h.Type = ledger.BodyType
	}
	h.Size = int64(d.number(1<<53 - 1))
	h.T = d.text()
	if d.failed {
		return nil
	}
	return h.Append(make([]byte, 0, 384))
}

func (d *decoder) scope() string {
	switch s := d.take(int(d.number(blob.MaxScope))); string(s) {
	case "":
		return string(d.run)
	case noScope:
		return ""
	default:
		return string(s)
	}
}

func (d *decoder) text() string { return string(d.take(int(d.number(ledger.MaxHeader)))) }

func (d *decoder) optional(limit uint64) []byte {
	n := d.number(limit + 1)
	if n == 0 || d.failed {
		return nil
	}
	return d.take(int(n - 1))
}

func (d *decoder) number(limit uint64) uint64 {
	n, size := binary.Uvarint(d.rest)
	if d.failed || size <= 0 || n > limit || size > 1 && d.rest[size-1] == 0 {
		d.failed = true
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) take(n int) []byte {
	if d.failed || n > len(d.rest) {
		d.failed = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) digest() (out canon.Digest) {
	copy(out[:], d.take(len(out)))
	return out
}

func digest(b []byte) (d canon.Digest, err error) {
	if len(b) != len(d) {
		return d, fault.New(ErrRow, "sqlstore.digest", "a digest of %d bytes in a row", len(b))
	}
	copy(d[:], b)
	return d, nil
}
