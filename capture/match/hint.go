package match

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
)

// hintSet is names, each without its first quotation mark, which is
// everywhere. A body in which the steps of a normaliser lead to something has
// all names of the steps.
type hintSet struct {
	texts  []string
	byLast [256]uint64 // by the byte in front of the quotation mark, a bit for each text
}

// add returns the set of the names of steps, a bit for each. What finds no
// bit any more is left out: fewer hints only make a body be looked at.
func (h *hintSet) add(steps []string) (set uint64) {
	for _, s := range steps {
		name := strings.TrimLeft(s, "*")
		if name == "" {
			continue
		}
		at := slices.Index(h.texts, name+`"`)
		if at < 0 {
			if at = len(h.texts); at == 64 {
				continue
			}
			h.texts = append(h.texts, name+`"`)
			h.byLast[name[len(name)-1]] |= 1 << at
		}
		set |= 1 << at
	}
	return set
}

// in returns which hints stand in body. It looks at quotation marks only.
func (h *hintSet) in(body []byte) (set uint64) {
	for i := 1; i < len(body); i++ {
		q := bytes.IndexByte(body[i:], '"')
		if q < 0 {
			break
		}
		i += q
		for rest := h.byLast[body[i-1]] &^ set; rest != 0; rest &= rest - 1 {
			at := bits.TrailingZeros64(rest)
			if t := h.texts[at]; i+1 >= len(t) && string(body[i+1-len(t):i+1]) == t {
				set |= 1 << at
			}
		}
	}
	return set
}
