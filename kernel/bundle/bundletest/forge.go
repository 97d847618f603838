package bundletest

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// What follows forges: it does to a ledger what somebody can do who holds the
// store, and with a key what its holder can do.

// Clone returns a copy that can be forged.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.Entries = make([]ledger.Entry, len(l.Entries))
	for i, e := range l.Entries {
		e.Header, e.Body = bytes.Clone(e.Header), bytes.Clone(e.Body)
		e.Parts = slices.Clone(e.Parts)
		for k := range e.Parts {
			e.Parts[k].Recipe = bytes.Clone(e.Parts[k].Recipe)
		}
		c.Entries[i] = e
	}
	c.Heads = make([]ledger.Statement, len(l.Heads))
	for i, h := range l.Heads {
		h.Envelope = bytes.Clone(h.Envelope)
		c.Heads[i] = h
	}
	c.chunks = maps.Clone(l.chunks)
	return &c
}

// Take makes the chunks of m known to l.
func (l *Ledger) Take(m *Ledger) {
	maps.Copy(l.chunks, m.chunks)
}

// Header changes the header of entry n, and not its id.
func (l *Ledger) Header(n int, f func(*ledger.Header)) {
	h, err := ledger.ParseHeader(l.Entries[n].Header)
	must(err)
	f(&h)
	l.Entries[n].Header = h.Append(nil)
}

// Body gives entry n another body and makes its header fit, but not its id.
func (l *Ledger) Body(n int, body []byte) {
	e := &l.Entries[n]
	e.Body = body
	l.Header(n, func(h *ledger.Header) { h.Size, h.Bind = int64(len(body)), canon.Bind(&e.Salt, body) })
}

// Edit changes the body of entry n as [Ledger.Body] does.
func (l *Ledger) Edit(n int, f func(canon.Value) canon.Value) {
	v, err := canon.Parse(l.Entries[n].Body)
	must(err)
	b, err := canon.Encode(f(v), canon.Native)
	must(err)
	l.Body(n, b)
}

// Reid makes the id of entry n fit its header.
func (l *Ledger) Reid(n int) { l.Entries[n].ID = ledger.ID(l.Entries[n].Header) }

// Rechain makes numbers, parents and ids of all entries fit.
func (l *Ledger) Rechain() {
	l.At, l.Tree = ledger.Position{}, ledger.Tree{}
	for i := range l.Entries {
		l.Header(i, func(h *ledger.Header) { h.Run, h.N, h.Prev = l.Run, l.At.Count, l.At.Last })
		l.Reid(i)
		l.At = ledger.Position{Count: l.At.Count + 1, Last: l.Entries[i].ID}
		l.Tree.Append(l.At.Last)
	}
}

// Resign signs heads anew where there were some and the entries still reach.
func (l *Ledger) Resign(s sign.Signer) {
	old := l.Heads
	l.Heads = nil
	entries := l.Entries
	l.At, l.Tree = ledger.Position{}, ledger.Tree{}
	for i, e := range entries {
		l.At = ledger.Position{Count: int64(i + 1), Last: ledger.ID(e.Header)}
		l.Tree.Append(l.At.Last)
		for _, h := range old {
			if h.Count == l.At.Count {
				l.Head(s)
			}
		}
	}
}

// Cut drops all entries from n on, and the heads that reach further.
func (l *Ledger) Cut(n int) {
	l.Entries = l.Entries[:n]
	l.Heads = slices.DeleteFunc(l.Heads, func(h ledger.Statement) bool { return h.Count > int64(n) })
}

// Record is one record of a bundle.
type Record struct {
	Type  byte
	Bytes []byte
}

// magic and frame are those of bundles, written down a second time.
const (
	magic = "reprise bundle\r\n"
	frame = 9
)

// Records takes a bundle apart, but for its end.
func Records(raw []byte) []Record {
	var out []Record
	for at := len(magic); at < len(raw)-frame-32; {
		size := int(binary.BigEndian.Uint64(raw[at+1:]))
		out = append(out, Record{raw[at], bytes.Clone(raw[at+frame:][:size])})
		at += frame + size
	}
	return out
}

// Join puts a bundle together, with an end that fits.
func Join(list []Record) []byte {
	raw := []byte(magic)
	for _, r := range list {
		raw = append(binary.BigEndian.AppendUint64(append(raw, r.Type), uint64(len(r.Bytes))), r.Bytes...)
	}
	sum := canon.SHA256(raw)
	raw = binary.BigEndian.AppendUint64(append(raw, 11), 32)
	return append(raw, sum[:]...)
}
