package redact

import (
	"bytes"
	"slices"
)

// Replacer replaces what a finder finds in bytes that come in parts. It holds
// back what may be the beginning of a pattern: at most as much as the longest
// one needs to be known. It belongs to one goroutine; see [Finder.Stream].
type Replacer struct {
	f      *Finder
	hold   []byte
	before byte
	inside *Pattern // of which the rest is being swallowed
	depth  int      // bytes of a block that were swallowed
	names  []string // of the patterns that were found, each once, in order
}

// write appends to dst what comes of the next bytes.
func (r *Replacer) Write(dst, p []byte, last bool) []byte {
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
		r.note(found.Name)
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
func (r *Replacer) swallow(b []byte, last bool) (n int, ends bool) {
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

func (r *Replacer) note(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}
