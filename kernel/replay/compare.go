package replay

import (
	"strconv"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// maxWhere is how many places of difference a divergence lists.
const maxWhere = 20

// Decisions compares one decision with its record and returns where they
// differ; nothing means that they are the same.
func Decisions(recorded, now ledger.Decision) []canon.Difference {
	if ledger.Same(recorded, now) {
		return nil
	}
	var out []canon.Difference
	if recorded.Kind != now.Kind {
		out = append(out, canon.Difference{Pointer: "/kind", A: canon.String(string(recorded.Kind)), B: canon.String(string(now.Kind))})
	}
	out = append(out, canon.Diff(ledger.Compared(recorded.Body), ledger.Compared(now.Body), maxWhere)...)
	return append(out, contents(recorded.Contents, now.Contents)...)
}

func contents(a, b []ledger.Content) []canon.Difference {
	var out []canon.Difference
	for i := range max(len(a), len(b)) {
		at := "/contents/" + strconv.Itoa(i)
		switch {
		case i >= len(a):
			out = append(out, canon.Difference{Pointer: at, B: canon.String(b[i].Name)})
		case i >= len(b):
			out = append(out, canon.Difference{Pointer: at, A: canon.String(a[i].Name)})
		case a[i].Name != b[i].Name || a[i].Type != b[i].Type:
			out = append(out, canon.Difference{Pointer: at, A: canon.String(a[i].Name + " " + a[i].Type), B: canon.String(b[i].Name + " " + b[i].Type)})
		case a[i].Type != ledger.TimingType:
			for _, d := range Bytes(a[i].Bytes, b[i].Bytes) {
				d.Pointer = at + d.Pointer
				out = append(out, d)
			}
		}
	}
	return out
}

// Bytes compares two contents: as JSON, by pointer, if both are JSON; else by
// the first byte that differs.
func Bytes(a, b []byte) []canon.Difference {
	if string(a) == string(b) {
		return nil
	}
	va, errA := canon.Parse(a)
	vb, errB := canon.Parse(b)
	if errA == nil && errB == nil {
		if d := canon.Diff(va, vb, maxWhere); len(d) > 0 {
			return d
		}
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return []canon.Difference{{Pointer: "@" + strconv.Itoa(i), A: excerpt(a, i), B: excerpt(b, i)}}
}

// excerpt returns some text of p from i on, for a person to read.
func excerpt(p []byte, i int) canon.Value {
	const most = 80
	if i >= len(p) {
		return canon.Value{}
	}
	p = p[i:min(len(p), i+most)]
	for len(p) > 0 && !utf8.RuneStart(p[0]) {
		p = p[1:]
	}
	s := make([]rune, 0, most)
	for _, r := range string(p) {
		s = append(s, r)
	}
	return canon.String(string(s))
}
