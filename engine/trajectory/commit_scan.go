package trajectory

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// commitReader reads commits from the canonical bytes of their entries, one
// after another, as a verification does. What is hashed and signed is cut from
// these bytes, so that no tree is built and encoded again for it. It takes the
// plain form of a commit; one with attachments, evidence or a compensated
// commit, and one that is not as it should be, is read by [ParseCommit], whose
// word is the last.
type commitReader struct {
	trace    []byte // of the last commit, known to be one: those of a run are few
	compiler []byte // as it stands there, quotation marks included
	whole    []byte // what the id is of
	msg      []byte // what the signature is over
}

// read returns the commit, its id and what its signature is over, which stands
// until the next read. Of a plain commit, c has no delta, observations, trace
// or cost. The body must be canonical; its delta is the fold's to check.
func (r *commitReader) read(b []byte) (c Commit, id canon.Digest, msg []byte, err error) {
	if c, id, ok := r.scan(b); ok {
		return c, id, r.msg, nil
	}
	body, err := canon.Parse(b)
	if err != nil {
		return c, id, nil, err
	}
	if c, id, err = ParseCommit(body); err != nil {
		return c, id, nil, err
	}
	msg, err = c.Message()
	return c, id, msg, err
}

// scan reads a plain commit. It reports false for everything else.
func (r *commitReader) scan(b []byte) (c Commit, id canon.Digest, ok bool) {
	if !basicPlane(b) {
		return c, id, false // the order of names differs from that of the ledger
	}
	s := scanner{b: b, ok: true}
	s.skip(`{"data":{"body":`)
	begin := s.at
	s.skip(`{"budget_cost":`)
	s.budget()
	s.skip(`,"compiler_version":`)
	c.Compiler = r.compilerAt(&s)
	split := s.at // where the delta belongs
	c.Intent = s.digestOf(`,"intent_id":`)
	s.skip(`,"observations":`)
	s.value()
	s.skip(`,"parent":[`)
	if s.peek() == '"' {
		c.Parent = s.digest()
	}
	s.skip(`]`)
	c.PolicySet = s.digestOf(`,"policy_set_hash":`)
	s.skip(`,"policy_trace":`)
	r.traceAt(&s)
	c.Proposal = s.digestOf(`,"proposal_id":`)
	s.skip(`,"seq":`)
	c.Seq = int64(s.count())
	s.skip(`,"signature":`)
	unsigned := s.at
	c.Signature = s.signature()
	signed := s.at
	c.Trajectory = s.digestOf(`,"trajectory_id":`)
	c.Writ = s.digestOf(`,"writ_id":`)
	s.skip(`}`)
	end := s.at
	claimed := s.digestOf(`,"id":`)
	s.skip(`},"delta":`)
	delta := s.value()
	if s.skip(`,"name":`); !s.ok {
		return c, id, false
	}
	r.whole = join(r.whole, b[begin:split], []byte(`,"delta":`), delta, b[split:end])
	r.msg = join(r.msg, b[begin:split], []byte(`,"delta":`), delta, b[split:unsigned], []byte("null"), b[signed:end])
	id = canon.BLAKE3(r.whole)
	return c, id, id == claimed
}

func join(dst []byte, parts ...[]byte) []byte {
	dst = dst[:0]
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// basicPlane reports whether b holds no character beyond U+FFFF. Without one,
// the canonical bytes of the ledger are those of the source document too: the
// two differ in nothing but the order of such names.
func basicPlane(b []byte) bool {
	const high = 0x8080_8080_8080_8080
	for ; len(b) >= 8; b = b[8:] { // eight at a time: four ones lead the first byte of such a character
		if x := binary.LittleEndian.Uint64(b); x&(x<<1)&(x<<2)&(x<<3)&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= 0xf0 {
			return false
		}
	}
	return true
}

// compilerAt reads a name, which is mostly that of the commit before.
func (r *commitReader) compilerAt(s *scanner) string {
	raw := s.value()
	if !s.ok || !bytes.Equal(raw, r.compiler) {
		if len(raw) < 3 || len(raw)-2 > canon.MaxName || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 {
			s.ok = false
			return ""
		}
		r.compiler = append(r.compiler[:0], raw...)
	}
	return string(raw[1 : len(raw)-1])
}

// traceAt reads a policy trace, which is mostly that of the commit before.
func (r *commitReader) traceAt(s *scanner) {
	raw := s.value()
	if !s.ok || bytes.Equal(raw, r.trace) {
		return
	}
	v, err := canon.Parse(raw)
	if err == nil {
		_, err = ParseTrace(v)
	}
	if s.ok = err == nil; s.ok {
		r.trace = append(r.trace[:0], raw...)
	}
}

// scanner walks over canonical bytes. What is not as expected makes ok false,
// and from then on it gives nothing.
type scanner struct {
	b  []byte
	at int
	ok bool
}

func (s *scanner) skip(text string) {
	if !s.ok || len(s.b)-s.at < len(text) || string(s.b[s.at:s.at+len(text)]) != text {
		s.ok = false
		return
	}
	s.at += len(text)
}

func (s *scanner) peek() byte {
	if !s.ok || s.at >= len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// take returns the next n bytes.
func (s *scanner) take(n int) []byte {
	if !s.ok || len(s.b)-s.at < n {
		s.ok = false
		return nil
	}
	s.at += n
	return s.b[s.at-n : s.at]
}

func (s *scanner) digestOf(name string) canon.Digest {
	s.skip(name)
	return s.digest()
}

func (s *scanner) digest() (d canon.Digest) {
	s.hex(d[:])
	return d
}

// hex reads as many bytes as dst has, in lower-case hexadecimal.
func (s *scanner) hex(dst []byte) {
	s.skip(`"`)
	text := s.take(2 * len(dst))
	s.skip(`"`)
	if !s.ok {
		return
	}
	for _, c := range text {
		if 'A' <= c && c <= 'F' {
			s.ok = false
			return
		}
	}
	if _, err := hex.Decode(dst, text); err != nil {
		s.ok = false
	}
}

func (s *scanner) signature() []byte {
	if s.peek() == 'n' {
		s.skip("null")
		return nil
	}
	sig := make([]byte, 64)
	s.hex(sig)
	return sig
}

// count reads an integer from 0 to 2^53-1.
func (s *scanner) count() (n uint64) {
	begin := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		if n = n*10 + uint64(c-'0'); n >= 1<<53 {
			s.ok = false
			return 0
		}
		s.at++
	}
	if s.at == begin {
		s.ok = false
	}
	return n
}

// budget reads four counters, each small enough to stand as a number.
func (s *scanner) budget() {
	s.skip(`{"tokens":`)
	s.count()
	s.skip(`,"tool_calls":`)
	s.count()
	s.skip(`,"usd_millicents":`)
	s.count()
	s.skip(`,"wall_clock_ms":`)
	s.count()
	s.skip(`}`)
}

// value returns the bytes of the next value: a text, a list or an object.
func (s *scanner) value() []byte {
	begin, depth := s.at, 0
	for first := true; s.ok && s.at < len(s.b) && (first || depth > 0); first = false {
		switch s.b[s.at] {
		case '"':
			s.text()
		case '[', '{':
			depth++
			s.at++
		case ']', '}':
			depth--
			s.at++
		default:
			if depth == 0 {
				s.ok = false // a number or a word
			}
			s.at++
		}
	}
	if depth != 0 || s.at == begin {
		s.ok = false
	}
	if !s.ok {
		return nil
	}
	return s.b[begin:s.at]
}

// text goes behind a string.
func (s *scanner) text() {
	for i := s.at + 1; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return
		}
	}
	s.ok = false
}
