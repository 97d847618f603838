package blob

import (
	"bytes"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Sizes of chunks, in bytes. A chunk is at most MaxChunk; the last chunk of
// an attachment may be smaller than minChunk.
const (
	MaxChunk  = 64 << 10
	minChunk  = 1 << 10
	meanBits  = 13 // content-defined chunks are 8 KiB in the mean
	maxNested = 4  // arrays this deep are cut between their members
	maxOuter  = 2  // arrays this deep are also cut at their two ends
)

// Scope is the unit of de-duplication and erasure. Key is drawn at random
// when the scope is first used and is never derived.
type Scope struct {
	ID  string
	Key [32]byte
}

// Chunk is a piece of an attachment or of a recipe.
type Chunk struct {
	Scope string
	ID    canon.Digest
	Bytes []byte
}

// gear holds one pseudo-random word for each byte value. It is part of the
// format: other words would cut elsewhere and share less, but never wrongly.
var gear = makeGear() //nolint:gochecknoglobals // a table that is never written

func makeGear() (g [256]uint64) {
	for i := range g {
		d := canon.Hash("reprise/gear/v1\n", []byte{byte(i)})
		for _, b := range d[:8] {
			g[i] = g[i]<<8 | uint64(b)
		}
	}
	return g
}

// splitter finds the boundaries of a stream, one window at a time.
type splitter struct {
	json bool
	scan scanner
	hash uint64
	cut  int // bytes since the last boundary
}

// boundary says what a byte means for the cut behind it.
type boundary uint8

const (
	inside boundary = iota
	member          // an array member ends: cut if the chunk is long enough
	edge            // an outer array begins or ends: cut, so that what stands in front of it cannot move the cuts behind
)

// next returns how many bytes of p complete a chunk; done is false if p ends
// before the chunk does.
func (s *splitter) next(p []byte) (n int, done bool) {
	if s.json {
		return s.nextJSON(p)
	}
	return s.nextContent(p)
}

func (s *splitter) nextContent(p []byte) (int, bool) {
	const mask = uint64(1)<<meanBits - 1
	h := s.hash
	for i, b := range p {
		h = h<<1 + gear[b]
		s.cut++
		if s.cut >= MaxChunk || s.cut >= minChunk && h>>(64-meanBits)&mask == 0 {
			s.hash, s.cut = 0, 0
			return i + 1, true
		}
	}
	s.hash = h
	return len(p), false
}

func (s *splitter) nextJSON(p []byte) (int, bool) {
	i := 0
	for i < len(p) {
		step, at := s.scan.advance(p[i:])
		if room := MaxChunk - s.cut; step >= room {
			// A member larger than a chunk: cut it at the limit and go on
			// inside it. The scanner has read further than the cut, so its
			// state stays right only if it re-reads; rewind it.
			s.scan.undo()
			s.scan.skip(p[i : i+room])
			s.cut = 0
			return i + room, true
		}
		i += step
		s.cut += step
		if at == edge || at == member && s.cut >= minChunk {
			s.cut = 0
			return i, true
		}
	}
	return len(p), false
}

// scanner follows JSON text far enough to know where array members end. It
// does not check the text: wrong JSON only gives other boundaries.
type scanner struct {
	state scanState
	saved scanState
}

type scanState struct {
	depth   int
	arrays  uint64 // bit d is set if the container at depth d is an array
	inText  bool
	escaped bool
}

func (s *scanner) undo() { s.state = s.saved }

// skip reads all of p, whatever it holds.
func (s *scanner) skip(p []byte) {
	for len(p) > 0 {
		n, _ := s.advance(p)
		p = p[n:]
	}
}

// advance reads up to the next structural byte and says what it means for a
// cut. It always reads at least one byte.
func (s *scanner) advance(p []byte) (n int, at boundary) {
	s.saved = s.state
	st := &s.state
	if st.inText {
		return s.text(p), inside
	}
	for i, b := range p {
		switch b {
		case '"':
			st.inText = true
			return i + 1, inside
		case '{', '[':
			st.depth++
			if bit := uint64(1) << (st.depth & 63); b == '[' {
				st.arrays |= bit
			} else {
				st.arrays &^= bit
			}
			if b == '[' && st.depth <= maxOuter {
				return i + 1, edge
			}
		case '}', ']':
			if st.depth > 0 {
				st.depth--
			}
			if b == ']' && st.depth < maxOuter {
				return i + 1, edge
			}
		case ',':
			if st.depth <= maxNested && st.arrays&(1<<(st.depth&63)) != 0 {
				return i + 1, member
			}
		}
	}
	return len(p), inside
}

// text reads to the end of a string.
func (s *scanner) text(p []byte) int {
	st := &s.state
	i := 0
	if st.escaped {
		st.escaped = false
		i = 1
	}
	for i < len(p) {
		q := bytes.IndexByte(p[i:], '"')
		e := q
		if e < 0 {
			e = len(p) - i
		}
		if b := bytes.IndexByte(p[i:i+e], '\\'); b >= 0 {
			if i+b+1 >= len(p) {
				st.escaped = true
				return len(p)
			}
			i += b + 2
			continue
		}
		if q < 0 {
			return len(p)
		}
		st.inText = false
		return i + q + 1
	}
	return len(p)
}
