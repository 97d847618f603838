package redact

import "bytes"

// Pattern is a text that is looked for, and what stands for it.
type Pattern struct {
	Name string
	Text string // what it begins with; at least minText bytes
	With string // what replaces it; empty: the stand-in of the name
	keep int    // so many bytes of text stay in front of the replacement

	// Of a detector: after text come at least need bytes of class, one of
	// them a digit if digit is set, and all that follow belong to it.
	class *class
	need  int
	digit bool
	Alone bool // no letter, digit, - or _ stands in front of it
	Edge  bool // nor behind it

	// Of a block: within so many bytes after text stands the label, and
	// everything up to the end belongs to it.
	label string
	end   string
}

func (p *Pattern) standIn() string {
	if p.With != "" {
		return p.With
	}
	return StandIn(p.Name)
}

// MinText is the shortest beginning of a pattern: the finder looks at three
// bytes at once.
const MinText = 3

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
func (p *Pattern) at(b []byte, i int, before byte) (end int, v verdict) {
	rest := b[i:]
	if p.Alone && wordByte[before] {
		return 0, isNot
	}
	if len(rest) < len(p.Text) {
		if p.Text[:len(rest)] == string(rest) {
			return 0, maybe
		}
		return 0, isNot
	}
	if string(rest[:len(p.Text)]) != p.Text {
		return 0, isNot
	}
	i += len(p.Text)
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
	case p.Edge && i == len(b):
		return i, maybe
	case p.Edge && wordByte[b[i]]:
		return 0, isNot
	default:
		return i, is
	}
}

func (p *Pattern) detect(b []byte, i int) (end int, v verdict) {
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

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

//nolint:gochecknoglobals // a table that is never written
var wordByte = classOf(alnum + "-_")

// IsWord reports whether c is a letter, a digit, - or _.
func IsWord(c byte) bool { return wordByte[c] }
