package ledger

import (
	"bytes"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrHeader means that the bytes of a header are not the canonical header of
// an entry. Trust the entry no longer.
const ErrHeader fault.Integrity = "ledger.bad_header"

// MaxHeader is the size limit of a header, in bytes.
const MaxHeader = 1 << 10

// BodyType is the media type of a body in the native form.
const BodyType = "application/json"

// entryTag separates entry ids from every other use of SHA-256.
const entryTag = "reprise/entry/v1\n"

// RunID names a ledger. It is a UUID of version 7 in lower case; names of
// people or subjects stand only in bodies.
type RunID string

// Valid reports whether r is a UUID of version 7 in its canonical spelling.
func (r RunID) Valid() bool {
	if len(r) != 36 {
		return false
	}
	for i := range len(r) {
		c := r[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		case 14:
			if c != '7' {
				return false
			}
		case 19:
			if c != '8' && c != '9' && c != 'a' && c != 'b' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// Header is the part of an entry that is hashed into the chain.
type Header struct {
	Run  RunID
	N    int64        // from 0
	Prev canon.Digest // id of entry N-1; zero for entry 0
	Kind Kind
	Type string       // media type of the body
	Size int64        // of the body, in bytes
	Bind canon.Digest // commitment to the body
	T    string       // RFC 3339 in UTC; informational, decides nothing
}

// Append appends the canonical bytes of h to dst.
func (h *Header) Append(dst []byte) []byte {
	dst = append(dst, `{"bind":"`...)
	dst = canon.AppendHex(dst, h.Bind)
	dst = append(dst, `","kind":"`...)
	dst = append(dst, h.Kind...)
	dst = append(dst, `","n":`...)
	dst = strconv.AppendInt(dst, h.N, 10)
	dst = append(dst, `,"prev":`...)
	if h.N == 0 {
		dst = append(dst, `null`...)
	} else {
		dst = append(dst, '"')
		dst = canon.AppendHex(dst, h.Prev)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"run":"`...)
	dst = append(dst, h.Run...)
	dst = append(dst, `","size":`...)
	dst = strconv.AppendInt(dst, h.Size, 10)
	dst = append(dst, `,"t":"`...)
	dst = append(dst, h.T...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, h.Type...)
	return append(dst, `","v":1}`...)
}

// ID returns the id of the entry whose header has these bytes.
func ID(header []byte) canon.Digest { return canon.Hash(entryTag, header) }

// ParseHeader reads a header. It accepts exactly what [Header.Append] writes:
// any other spelling, order, member or version is refused.
func ParseHeader(b []byte) (Header, error) { return parseHeader(b, "", true) }

// parseHeader is [ParseHeader] without copies of what the caller knows or
// does not want: a run that is the expected one, and the time.
func parseHeader(b []byte, expected RunID, wantTime bool) (Header, error) {
	var h Header
	if len(b) > MaxHeader {
		return h, fault.New(ErrHeader, "ledger.ParseHeader", "%d bytes are over the limit of %d", len(b), MaxHeader)
	}
	p := parser{rest: b}
	p.expect(`{"bind":"`)
	h.Bind = p.digest()
	p.expect(`","kind":"`)
	h.Kind = Kind(intern(p.raw()))
	p.expect(`","n":`)
	h.N = p.integer()
	p.expect(`,"prev":`)
	if h.N == 0 {
		p.expect(`null`)
	} else {
		p.expect(`"`)
		h.Prev = p.digest()
		p.expect(`"`)
	}
	p.expect(`,"run":"`)
	if run := p.raw(); string(run) == string(expected) {
		h.Run = expected
	} else {
		h.Run = RunID(run)
	}
	p.expect(`","size":`)
	h.Size = p.integer()
	p.expect(`,"t":"`)
	if t := p.raw(); wantTime {
		h.T = string(t)
	}
	p.expect(`","type":"`)
	h.Type = intern(p.raw())
	p.expect(`","v":1}`)
	if p.failed || len(p.rest) != 0 || !h.Run.Valid() {
		return Header{}, fault.New(ErrHeader, "ledger.ParseHeader", "not a canonical header of version 1, from byte %d", len(b)-len(p.rest))
	}
	return h, nil
}

// parser reads the fixed form of a header; after a failure it reads nothing.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) expect(s string) {
	if p.failed || len(p.rest) < len(s) || string(p.rest[:len(s)]) != s {
		p.failed = true
		return
	}
	p.rest = p.rest[len(s):]
}

func (p *parser) digest() (d canon.Digest) {
	const n = 2 * len(d)
	if p.failed || len(p.rest) < n {
		p.failed = true
		return d
	}
	hex := p.rest[:n]
	var bad byte
	for i := range d {
		high, low := nibbles[hex[2*i]], nibbles[hex[2*i+1]]
		bad |= high | low
		d[i] = high<<4 | low
	}
	p.failed = bad >= 16
	p.rest = p.rest[n:]
	return d
}

// nibbles is the value of each lower-case hexadecimal digit, and 16 for all
// else.
var nibbles = func() (t [256]byte) { //nolint:gochecknoglobals // a table that is never written
	for i := range t {
		t[i] = 16
	}
	for i := range byte(16) {
		t["0123456789abcdef"[i]] = i
	}
	return t
}()

// raw reads up to a quotation mark. Header strings are printable ASCII
// without escapes, so that their spelling is unique.
func (p *parser) raw() []byte {
	if p.failed {
		return nil
	}
	end := bytes.IndexByte(p.rest, '"')
	if end <= 0 {
		p.failed = true
		return nil
	}
	s := p.rest[:end]
	for _, c := range s {
		if !plain(c) {
			p.failed = true
			return nil
		}
	}
	p.rest = p.rest[end:]
	return s
}

// intern spares the copy of the strings that nearly every header has.
func intern(s []byte) string {
	switch string(s) {
	case BodyType:
		return BodyType
	case string(KindCall):
		return string(KindCall)
	case string(KindOutcome):
		return string(KindOutcome)
	case string(KindDecision):
		return string(KindDecision)
	case string(KindCommit):
		return string(KindCommit)
	case string(KindEvent):
		return string(KindEvent)
	}
	return string(s)
}

func plain(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }

func (p *parser) integer() int64 {
	if p.failed {
		return 0
	}
	i := 0
	for i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9' {
		i++
	}
	if i == 0 || i > 16 || i > 1 && p.rest[0] == '0' {
		p.failed = true
		return 0
	}
	var n int64
	for _, c := range p.rest[:i] {
		n = n*10 + int64(c-'0')
	}
	if n > maxSafe {
		p.failed = true
	}
	p.rest = p.rest[i:]
	return n
}

// maxSafe is the largest integer that every JSON reader keeps.
const maxSafe = 1<<53 - 1

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
