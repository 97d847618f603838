package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// An erasure entry says which contents of its ledger are erased on purpose, as
// refs.erased: [{"att": name, "n": entry}]. It stands behind them, and so the
// chain and the heads vouch for it; the keys of their scope are destroyed when
// it is durable. A content that is not there and that no erasure names is
// a failure.

// Erased names one content that is erased.
type Erased struct {
	N   int64
	Att string
}

// ErasureRefs returns the refs of an erasure entry, and ParseErasure what they
// name.
func ErasureRefs(list []Erased) canon.Value {
	out := make([]canon.Value, len(list))
	for i, e := range list {
		out[i] = canon.Object(canon.M("att", canon.String(e.Att)), canon.M("n", canon.Int(e.N)))
	}
	return canon.Object(canon.M("erased", canon.Array(out...)))
}

// ParseErasure returns what an erasure entry names; nothing of another entry.
func ParseErasure(o *Opened) []Erased {
	if o.Kind != KindErasure {
		return nil
	}
	var out []Erased
	for _, v := range o.Body.Get("refs").Get("erased").Elems() {
		if n, ok := v.Get("n").AsInt(); ok {
			out = append(out, Erased{N: n, Att: v.Get("att").Str()})
		}
	}
	return out
}

// MaxErased is how many contents one erasure entry names, so that it fits a
// body.
const MaxErased = 400

// content is a content by its entry and its name, as the body spells it.
type content struct {
	n    int64
	name string
}

// maxGone bounds what is kept of contents that are not there.
const maxGone = 100_000

// miss takes a content that is not there. Whether that is a failure is known
// at the end.
func (v *verifier) miss(n int64, a *rawAtt, f Finding) {
	switch {
	case v.ev.Withheld && f.Code == ErrAbsent:
		v.res.Withheld++
	case len(v.gone) >= maxGone:
		v.fail(iHashes, f)
	default:
		if v.gone == nil {
			v.gone = map[content]Finding{}
		}
		v.gone[content{n, string(a.name)}] = f
	}
}

// erasure takes what an erasure entry names.
func (v *verifier) erasure(m body) {
	for rest := field(m.refs, "erased"); ; {
		raw, next, more := element(rest)
		if !more {
			return
		}
		rest = next
		n, ok := safeInt(field(raw, "n"))
		k := content{n, string(field(raw, "att"))}
		if _, gone := v.gone[k]; ok && gone {
			delete(v.gone, k)
			v.erased++
		}
	}
}

// settle fails what is not there and was not erased, first of all what stands
// first.
func (v *verifier) settle() {
	keys := slices.SortedFunc(maps.Keys(v.gone), func(a, b content) int {
		return cmp.Or(cmp.Compare(a.n, b.n), strings.Compare(a.name, b.name))
	})
	for _, k := range keys {
		f := v.gone[k]
		p := &v.res.Phases[iHashes]
		p.Failed++
		if p.First == nil || p.First.N < 0 || f.N < p.First.N {
			p.First = &f
		}
	}
	if v.erased > 0 {
		v.res.Withheld += v.erased
		v.remark("%d contents were erased on purpose, as the ledger says", v.erased)
	}
}
