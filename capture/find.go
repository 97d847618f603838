package capture

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// pattern is a text that is looked for, and what stands for it.
type pattern struct {
	name string
	text string // what it begins with; at least minText bytes
	with string // what replaces it; empty: the stand-in of the name
	keep int    // so many bytes of text stay in front of the replacement

	// Of a detector: after text come at least need bytes of class, one of
	// them a digit if digit is set, and all that follow belong to it.
	class *class
	need  int
	digit bool
	alone bool // no letter, digit, - or _ stands in front of it
	edge  bool // nor behind it

	// Of a block: within so many bytes after text stands the label, and
	// everything up to the end belongs to it.
	label string
	end   string
}

func (p *pattern) standIn() string {
	if p.with != "" {
		return p.with
	}
	return StandIn(p.name)
}

// minText is the shortest beginning of a pattern: the finder looks at three
// bytes at once.
const minText = 3

const (
	labelIn  = 40       // a block's label stands within so many bytes
	maxBlock = 64 << 10 // and its end within so many
)

// class is a set of bytes.
type class [256]bool

func classOf(s string) *class {
	var c class
	for i := range len(s) {
		c[s[i]] = true
	}
	return &c
}

// finder finds the leftmost, longest of many patterns in one pass. It is not
// changed after it is made.
//
// Most bytes are passed over by a table of pairs. Where all patterns are long,
// it says how far before two bytes one may begin at the most. Else it says of
// two bytes whether they may be the first two of a pattern or the next two, so
// that one look decides on two places. Where a pattern may begin, another
// table says of three bytes in which of eight buckets it is.
type finder struct {
	width   int            // bytes of the shortest text, at most maxWidth
	skips   [skipped]uint8 // if the width is at least minSkip
	starts  *[1 << 16]uint8
	grams   [1 << gramBits]uint8
	masks   [minText - 1][256]uint8 // of single bytes, for the last two
	buckets [8][]*pattern
}

const (
	minSkip  = 6 // bytes of a text below which nothing can be passed over
	maxWidth = 32
	skipped  = 4096
	gramBits = 12

	isFirst = 1 << 0 // two bytes may be the first two of a pattern
	isNext  = 1 << 1 // or its second and third
)

// pair is where two bytes stand in the table of skips.
func pair(a, b byte) int { return (int(a)<<5 ^ int(b)) % skipped }

// two is where two bytes stand in the table of pairs: as they do in memory.
func two(a, b byte) uint16 { return uint16(a) | uint16(b)<<8 }

// gram is where three bytes stand in the table of buckets.
func gram(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - gramBits)
}

func newFinder(list []*pattern) *finder {
	f := &finder{width: maxWidth}
	for _, p := range list {
		f.width = min(f.width, len(p.text))
	}
	if f.width < minSkip {
		f.starts = new([1 << 16]uint8)
	}
	for i := range f.skips {
		f.skips[i] = uint8(f.width - 1)
	}
	for _, p := range list {
		for i := range f.width - 1 {
			at := &f.skips[pair(p.text[i], p.text[i+1])]
			*at = min(*at, uint8(f.width-2-i))
		}
		a, b, c := p.text[0], p.text[1], p.text[2]
		if f.starts != nil {
			f.starts[two(a, b)] |= isFirst
			f.starts[two(b, c)] |= isNext
		}
		n := gram(a, b, c) % 8
		f.grams[gram(a, b, c)] |= 1 << n
		for i := range f.masks {
			f.masks[i][p.text[i]] |= 1 << n
		}
		f.buckets[n] = append(f.buckets[n], p)
	}
	return f
}

// next returns the first place at or after i where a pattern may begin, with
// the buckets to look in, or len(b).
func (f *finder) next(b []byte, i int) (at int, buckets uint8) {
	if f.starts != nil {
		at, buckets = f.step(b, i)
	} else {
		at, buckets = f.skip(b, i)
	}
	if buckets != 0 {
		return at, buckets
	}
	for ; at < len(b); at++ { // the beginning of a text, perhaps
		m := f.masks[0][b[at]]
		if at+1 < len(b) {
			m &= f.masks[1][b[at+1]]
		}
		if m != 0 {
			return at, m
		}
	}
	return len(b), 0
}

// step is next for patterns of which some are short: it looks at two places at
// once. Without buckets it returns where less than three bytes are left.
func (f *finder) step(b []byte, i int) (at int, buckets uint8) {
	const many = 8
	starts := f.starts
	for ; i+2 < len(b); i += 2 {
		for i+many < len(b) {
			w := binary.LittleEndian.Uint64(b[i+1:])
			if starts[uint16(w)]|starts[uint16(w>>16)]|starts[uint16(w>>32)]|starts[uint16(w>>48)] != 0 { //nolint:gosec // two bytes at a time
				break
			}
			i += many
		}
		if i+2 >= len(b) {
			break
		}
		is := starts[two(b[i+1], b[i+2])]
		if is == 0 {
			continue
		}
		if is&isNext != 0 {
			if m := f.grams[gram(b[i], b[i+1], b[i+2])]; m != 0 {
				return i, m
			}
		}
		if is&isFirst != 0 {
			if i+3 == len(b) {
				return i + 1, 0
			}
			if m := f.grams[gram(b[i+1], b[i+2], b[i+3])]; m != 0 {
				return i + 1, m
			}
		}
	}
	return min(i, len(b)), 0
}

// skip is next for patterns that are all long.
func (f *finder) skip(b []byte, i int) (at int, buckets uint8) {
	for last := f.width - 1; i+last < len(b); {
		if skip := f.skips[pair(b[i+last-1], b[i+last])]; skip > 0 {
			i += int(skip)
			continue
		}
		if m := f.grams[gram(b[i], b[i+1], b[i+2])]; m != 0 {
			return i, m
		}
		i++
	}
	for ; i+2 < len(b); i++ {
		if m := f.grams[gram(b[i], b[i+1], b[i+2])]; m != 0 {
			return i, m
		}
	}
	return i, 0
}

// verdict is what a pattern says of a place.
type verdict uint8

const (
	isNot verdict = iota
	maybe         // more bytes decide
	is
)

// at says whether p stands at b[i:], and where what is needed to know ends;
// maybe with an end means that it does unless more bytes come. Before is the
// byte in front, or zero at the beginning.
func (p *pattern) at(b []byte, i int, before byte) (end int, v verdict) {
	rest := b[i:]
	if p.alone && wordByte[before] {
		return 0, isNot
	}
	if len(rest) < len(p.text) {
		if p.text[:len(rest)] == string(rest) {
			return 0, maybe
		}
		return 0, isNot
	}
	if string(rest[:len(p.text)]) != p.text {
		return 0, isNot
	}
	i += len(p.text)
	switch {
	case p.class != nil:
		return p.detect(b, i)
	case p.label != "":
		within := b[i:min(len(b), i+labelIn)]
		if at := bytes.Index(within, []byte(p.label)); at >= 0 {
			return i + at + len(p.label), is
		}
		if len(within) == labelIn {
			return 0, isNot
		}
		return 0, maybe
	case p.edge && i == len(b):
		return i, maybe
	case p.edge && wordByte[b[i]]:
		return 0, isNot
	default:
		return i, is
	}
}

func (p *pattern) detect(b []byte, i int) (end int, v verdict) {
	digit := !p.digit
	for n := range p.need {
		if i+n >= len(b) {
			return 0, maybe
		}
		c := b[i+n]
		if !p.class[c] {
			return 0, isNot
		}
		digit = digit || c >= '0' && c <= '9'
	}
	if !digit {
		return 0, isNot
	}
	return i + p.need, is
}

// best returns the longest pattern that stands at b[i:]. It waits if more
// bytes could give another answer, so that how the bytes are cut into parts
// never matters.
func (f *finder) best(b []byte, i int, buckets, before byte, last bool) (*pattern, int, verdict) {
	var found *pattern
	end := 0
	for n := range f.buckets {
		if buckets&(1<<n) == 0 {
			continue
		}
		for _, p := range f.buckets[n] {
			e, v := p.at(b, i, before)
			if v == maybe && !last {
				return nil, 0, maybe
			}
			if v == maybe && e > 0 { // at the edge of everything
				v = is
			}
			if v == is && (e > end || e == end && p.name < found.name) {
				found, end = p, e
			}
		}
	}
	if found == nil {
		return nil, 0, isNot
	}
	return found, end, is
}

// replacer replaces what a finder finds in bytes that come in parts. It holds
// back what may be the beginning of a pattern: at most as much as the longest
// one needs to be known. The zero value of all but f is ready.
type replacer struct {
	f      *finder
	hold   []byte
	before byte
	inside *pattern // of which the rest is being swallowed
	depth  int      // bytes of a block that were swallowed
	names  []string // of the patterns that were found, each once, in order
}

// write appends to dst what comes of the next bytes.
func (r *replacer) write(dst, p []byte, last bool) []byte {
	in := p
	if len(r.hold) > 0 {
		r.hold = append(r.hold, p...)
		in = r.hold
	}
	i, done := 0, 0 // done: what is copied or swallowed already
	for i < len(in) {
		if r.inside != nil {
			n, all := r.swallow(in[i:], last)
			i += n
			done = i
			if !all {
				break
			}
			r.inside = nil
			continue
		}
		at, buckets := r.f.next(in, i)
		if at == len(in) {
			i = at
			break
		}
		before := r.before
		if at > 0 {
			before = in[at-1]
		}
		found, end, v := r.f.best(in, at, buckets, before, last)
		i = at
		if v == maybe {
			break
		}
		if v == isNot {
			i++
			continue
		}
		dst = append(dst, in[done:at+found.keep]...)
		dst = append(dst, found.standIn()...)
		r.note(found.name)
		i, done = end, end
		if found.class != nil || found.label != "" {
			r.inside, r.depth = found, 0
		}
	}
	dst = append(dst, in[done:i]...)
	if i > 0 {
		r.before = in[i-1]
	}
	r.hold = append(r.hold[:0], in[i:]...)
	return dst
}

// swallow returns how many bytes belong to the pattern that was found, and
// whether it ends there.
func (r *replacer) swallow(b []byte, last bool) (n int, ends bool) {
	p := r.inside
	if p.class != nil {
		for n < len(b) && p.class[b[n]] {
			n++
		}
		return n, n < len(b)
	}
	room := maxBlock - r.depth
	if i := bytes.Index(b[:min(len(b), room)], []byte(p.end)); i >= 0 {
		return i + len(p.end), true
	}
	if len(b) >= room {
		return room, true
	}
	n = len(b)
	if !last {
		n = max(0, n-len(p.end)+1)
	}
	r.depth += n
	return n, false
}

func (r *replacer) note(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// replace returns b with every pattern replaced, and the names of those that
// were found. Without any it returns b itself.
func (f *finder) replace(b []byte) ([]byte, []string) {
	at, m := f.next(b, 0)
	for ; at < len(b); at, m = f.next(b, at+1) {
		var before byte
		if at > 0 {
			before = b[at-1]
		}
		if _, _, v := f.best(b, at, m, before, true); v == is {
			break
		}
	}
	if at == len(b) {
		return b, nil
	}
	r := replacer{f: f}
	out := r.write(make([]byte, 0, len(b)), b, true)
	return out, r.names
}

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

//nolint:gochecknoglobals // a table that is never written
var wordByte = classOf(alnum + "-_")
