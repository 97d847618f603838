// Package entrycode is the binary form in which stores and spools keep
// entries.
//
// An entry is
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
// of native bodies. The short form of the header leaves out its run and its
// number, which whoever keeps the entry knows; it is used only if it gives the
// very bytes back, so that a header comes out as it went in whatever it is.
package entrycode

import (
	"bytes"
	"encoding/binary"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	headerWhole = 0
	headerShort = 1
)

// Append appends the encoding of an entry, whose header is h.
func Append(dst []byte, h *ledger.Header, e *ledger.Entry) []byte {
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
	dst = AppendText(dst, string(h.Kind))
	if h.Type == ledger.BodyType {
		dst = AppendText(dst, "")
	} else {
		dst = AppendText(dst, h.Type)
	}
	dst = binary.AppendUvarint(dst, uint64(h.Size))
	return AppendText(dst, h.T)
}

func appendScope(dst []byte, run ledger.RunID, scope string) []byte {
	switch scope {
	case string(run):
		return AppendText(dst, "")
	case "":
		return AppendText(dst, noScope)
	}
	return AppendText(dst, scope)
}

// noScope stands for the empty scope, which no store keeps chunks in.
const noScope = "\x00"

// AppendText appends a text.
func AppendText(dst []byte, s string) []byte {
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

// Decoder reads what the functions above write; after a failure it reads
// nothing. The bytes it gives are parts of those it reads.
type Decoder struct {
	Run    ledger.RunID // of the entries
	N      int64        // of the next one
	Rest   []byte
	Failed bool
}

// Entry reads the next entry. It reports false, and has failed, if there is
// none that can be read.
func (d *Decoder) Entry(e *ledger.Entry) bool {
	copy(e.ID[:], d.Take(32))
	e.Header = d.header()
	e.Scope = d.scope()
	copy(e.Salt[:], d.Take(32))
	e.Body = d.optional(ledger.MaxBody)
	parts := d.Number(ledger.MaxAttachments)
	e.Parts = nil
	if parts > 0 && !d.Failed {
		e.Parts = make([]blob.Part, parts)
	}
	for i := range e.Parts {
		p := &e.Parts[i]
		p.Scope = d.scope()
		copy(p.Salt[:], d.Take(32))
		p.Size = int64(d.Number(1<<63 - 1))
		p.Recipe = d.optional(ledger.MaxRecipe)
	}
	d.N++
	return !d.Failed
}

func (d *Decoder) header() []byte {
	form := d.Take(1)
	if d.Failed {
		return nil
	}
	if form[0] == headerWhole {
		return d.Take(int(d.Number(ledger.MaxHeader)))
	}
	if form[0] != headerShort {
		d.Failed = true
		return nil
	}
	h := ledger.Header{Run: d.Run, N: d.N}
	copy(h.Bind[:], d.Take(32))
	if d.N > 0 {
		copy(h.Prev[:], d.Take(32))
	}
	h.Kind = ledger.Kind(d.Text())
	h.Type = d.Text()
	if h.Type == "" {
		h.Type = ledger.BodyType
	}
	h.Size = int64(d.Number(1<<53 - 1))
	h.T = d.Text()
	if d.Failed {
		return nil
	}
	return h.Append(make([]byte, 0, 384))
}

func (d *Decoder) scope() string {
	switch s := d.Take(int(d.Number(blob.MaxScope))); string(s) {
	case "":
		return string(d.Run)
	case noScope:
		return ""
	default:
		return string(s)
	}
}

// Text reads a text.
func (d *Decoder) Text() string { return string(d.Take(int(d.Number(ledger.MaxHeader)))) }

func (d *Decoder) optional(limit uint64) []byte {
	n := d.Number(limit + 1)
	if n == 0 || d.Failed {
		return nil
	}
	return d.Take(int(n - 1))
}

// Number reads a number that is at most limit.
func (d *Decoder) Number(limit uint64) uint64 {
	n, size := binary.Uvarint(d.Rest)
	if d.Failed || size <= 0 || n > limit || size > 1 && d.Rest[size-1] == 0 {
		d.Failed = true
		return 0
	}
	d.Rest = d.Rest[size:]
	return n
}

// Take reads so many bytes.
func (d *Decoder) Take(n int) []byte {
	if d.Failed || n > len(d.Rest) {
		d.Failed = true
		return nil
	}
	b := d.Rest[:n:n]
	d.Rest = d.Rest[n:]
	return b
}

// Digest reads a digest.
func (d *Decoder) Digest() (out canon.Digest) {
	copy(out[:], d.Take(len(out)))
	return out
}
