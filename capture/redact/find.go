package redact

import (
	"encoding/binary"
)

// Finder finds the leftmost, longest of many patterns in one pass. It is not
// changed after it is made.
//
// Most bytes are passed over by a table of pairs. Where all patterns are long,
// it says how far before two bytes one may begin at the most. Else it says of
// two bytes whether they may be the first two of a pattern or the next two, so
// that one look decides on two places. Where a pattern may begin, another
// table says of three bytes in which of eight buckets it is.
type Finder struct {
	width   int            // bytes of the shortest text, at most maxWidth
	skips   [skipped]uint8 // if the width is at least minSkip
	starts  *[1 << 16]uint8
	grams   [1 << gramBits]uint8
	masks   [MinText - 1][256]uint8 // of single bytes, for the last two
	buckets [8][]*Pattern
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

// NewFinder returns a finder of these patterns, whose texts have at least
// [MinText] bytes.
func NewFinder(list []*Pattern) *Finder {
	f := &Finder{width: maxWidth}
	for _, p := range list {
		f.width = min(f.width, len(p.Text))
	}
	if f.width < minSkip {
		f.starts = new([1 << 16]uint8)
	}
	for i := range f.skips {
		f.skips[i] = uint8(f.width - 1)
	}
	for _, p := range list {
		for i := range f.width - 1 {
			at := &f.skips[pair(p.Text[i], p.Text[i+1])]
			*at = min(*at, uint8(f.width-2-i))
		}
		a, b, c := p.Text[0], p.Text[1], p.Text[2]
		if f.starts != nil {
			f.starts[two(a, b)] |= isFirst
			f.starts[two(b, c)] |= isNext
		}
		n := gram(a, b, c) % 8
		f.grams[gram(a, b, c)] |= 1 << n
		for i := range f.masks {
			f.masks[i][p.Text[i]] |= 1 << n
		}
		f.buckets[n] = append(f.buckets[n], p)
	}
	return f
}

// Stream returns what replaces the patterns in bytes that come in parts.
func (f *Finder) Stream() *Replacer { return &Replacer{f: f} }

// next returns the first place at or after i where a pattern may begin, with
// the buckets to look in, or len(b).
func (f *Finder) next(b []byte, i int) (at int, buckets uint8) {
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
func (f *Finder) step(b []byte, i int) (at int, buckets uint8) {
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
func (f *Finder) skip(b []byte, i int) (at int, buckets uint8) {
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

// best returns the longest pattern that stands at b[i:]. It waits if more
// bytes could give another answer, so that how the bytes are cut into parts
// never matters.
func (f *Finder) best(b []byte, i int, buckets, before byte, last bool) (*Pattern, int, verdict) {
	var found *Pattern
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
			if v == is && (e > end || e == end && p.Name < found.Name) {
				found, end = p, e
			}
		}
	}
	if found == nil {
		return nil, 0, isNot
	}
	return found, end, is
}

// Replace returns b with every pattern replaced, and the names of those that
// were found. Without any it returns b itself.
func (f *Finder) Replace(b []byte) ([]byte, []string) {
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
	r := Replacer{f: f}
	out := r.Write(make([]byte, 0, len(b)), b, true)
	return out, r.names
}
