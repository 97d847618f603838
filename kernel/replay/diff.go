package replay

import (
	"fmt"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// formTag separates digests of comparison forms from every other use of
// SHA-256.
const formTag = "reprise/form/v1\n"

// Form returns the digest of a decision's comparison form: two decisions are
// [ledger.Same] exactly if their forms are equal.
func Form(d ledger.Decision) (canon.Digest, error) {
	body, err := canon.Encode(ledger.Compared(d.Body), canon.Native)
	if err != nil {
		return canon.Digest{}, err
	}
	parts := [][]byte{[]byte(d.Kind), body}
	for _, c := range d.Contents {
		if c.Type != ledger.TimingType {
			parts = append(parts, []byte(c.Name), []byte(c.Type), c.Bytes)
		}
	}
	framed := make([]byte, 0, 64)
	for _, p := range parts {
		framed = fmt.Appendf(framed, "%d:", len(p))
		framed = append(framed, p...)
	}
	return canon.Hash(formTag, framed), nil
}

// Step is one step of a run as a diff sees it: a call with its outcome, or
// something that an engine concluded. It holds no contents, so that two long
// runs fit into memory; what differs is opened then.
type Step struct {
	What  string       // call, or the kind of the entry
	Name  string       // of the call or the decision
	Run   ledger.RunID // where it stands: the steps of a branch begin in its source
	Entry int64
	// Answer is the entry of a call's outcome, or -1.
	Answer int64
	// Match finds the same step in the other run. Steps that match are paired
	// wherever they stand, so that calls made at the same time may change
	// places. It is unique within a run.
	Match string
	// Form and AnswerForm are what is compared.
	Form       canon.Digest
	AnswerForm canon.Digest
}

// Pair is one line of a diff: a step of a, one of b, or both.
type Pair struct {
	Kind Kind // empty: the same
	A, B int  // places in the two sequences, or -1
}

// Aligned is two runs, step by step.
type Aligned struct {
	A, B  []Step
	Pairs []Pair
}

// Align pairs the steps of two runs: first those that match, then, between
// these, those of the same name in their order. What is left is missing in b
// or extra in b.
func Align(a, b []Step) Aligned {
	partner := matches(a, b)
	taken := make([]bool, len(b))
	for _, j := range partner {
		if j >= 0 {
			taken[j] = true
		}
	}
	out := Aligned{A: a, B: b}
	i, j := 0, 0
	for _, anchor := range append(rising(partner), [2]int{len(a), len(b)}) {
		out.gap(partner, taken, i, anchor[0], j, anchor[1])
		if anchor[0] < len(a) {
			out.pair(anchor[0], anchor[1])
		}
		i, j = anchor[0]+1, anchor[1]+1
	}
	return out
}

// matches returns, for each step of a, the place in b of the step that
// matches, or -1.
func matches(a, b []Step) []int {
	at := make(map[string]int, len(b))
	for j := range b {
		at[b[j].Match] = j
	}
	out := make([]int, len(a))
	for i := range a {
		j, ok := at[a[i].Match]
		if !ok || a[i].What != b[j].What {
			j = -1
		}
		out[i] = j
	}
	return out
}

// rising returns the most matches that stand in the same order in both runs,
// as places in a and b.
func rising(partner []int) [][2]int {
	var ends []int // places in a; ends[n] ends the best sequence of n+1
	before := make([]int, len(partner))
	for i, j := range partner {
		if j < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, j, func(e, j int) int { return partner[e] - j })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	out := make([][2]int, 0, len(ends))
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, [2]int{i, partner[i]})
	}
	slices.Reverse(out)
	return out
}

// gap pairs what stands between two anchors: a[i:iEnd] and b[j:jEnd]. Steps
// that match but changed places come at their place in a.
func (al *Aligned) gap(partner []int, taken []bool, i, iEnd, j, jEnd int) {
	var x, y []int
	for n := i; n < iEnd; n++ {
		if partner[n] < 0 {
			x = append(x, n)
		}
	}
	for n := j; n < jEnd; n++ {
		if !taken[n] {
			y = append(y, n)
		}
	}
	same := al.common(x, y)
	next := 0
	for n := i; n < iEnd; n++ {
		if partner[n] >= 0 {
			al.pair(n, partner[n])
			continue
		}
		k := slices.Index(x, n)
		if same[k] < 0 {
			al.Pairs = append(al.Pairs, Pair{Missing, n, -1})
			continue
		}
		for ; next < same[k]; next++ {
			al.Pairs = append(al.Pairs, Pair{Extra, -1, y[next]})
		}
		al.Pairs = append(al.Pairs, Pair{Different, n, y[next]})
		next++
	}
	for ; next < len(y); next++ {
		al.Pairs = append(al.Pairs, Pair{Extra, -1, y[next]})
	}
}

// maxTable bounds the table of [Aligned.common]; beyond it steps are paired
// greedily.
const maxTable = 1 << 22

// common returns, for each place of x, the place in y of its partner in the
// longest common subsequence of names, or -1. Of several such pairs the first
// ones are taken.
func (al *Aligned) common(x, y []int) []int {
	out := make([]int, len(x))
	like := func(i, j int) bool {
		return al.A[x[i]].What == al.B[y[j]].What && al.A[x[i]].Name == al.B[y[j]].Name
	}
	if len(x)*len(y) > maxTable {
		j := 0
		for i := range x {
			out[i] = -1
			if j < len(y) && like(i, j) {
				out[i] = j
				j++
			}
		}
		return out
	}
	width := len(y) + 1
	best := make([]int32, (len(x)+1)*width) // of x[i:] and y[j:]
	for i := range slices.Backward(x) {
		for j := range slices.Backward(y) {
			if like(i, j) {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	j := 0
	for i := range x {
		out[i] = -1
		for k := j; k < len(y) && best[i*width+k] == best[i*width+j]; k++ {
			if like(i, k) && best[i*width+k] == best[(i+1)*width+k+1]+1 {
				out[i], j = k, k+1
				break
			}
		}
	}
	return out
}

func (al *Aligned) pair(i, j int) {
	p := Pair{A: i, B: j}
	if al.A[i].Form != al.B[j].Form || al.A[i].AnswerForm != al.B[j].AnswerForm {
		p.Kind = Different
	}
	al.Pairs = append(al.Pairs, p)
}

// Side says which of two runs.
type Side bool

// The sides.
const (
	SideA Side = false
	SideB Side = true
)

// OpenFunc returns an entry of one side in its comparison form.
type OpenFunc func(side Side, run ledger.RunID, entry int64) (ledger.Decision, error)

// Report says where the runs differ. The entries that differ are opened, the
// first [MaxDivergences] of them.
func (al *Aligned) Report(a, b ledger.RunID, open OpenFunc) (*Report, error) {
	r := &Report{Verb: Diff, Mode: "step by step", Verdict: Same, Authoritative: true, Run: a, Other: b}
	var same int64
	for n, p := range al.Pairs {
		if p.Kind == "" {
			same++
			continue
		}
		d, err := al.divergence(p, open, len(r.Divergences) < MaxDivergences)
		if err != nil {
			return nil, err
		}
		d.Step = int64(n) + 1
		if d.Run == a {
			d.Run = ""
		}
		if d.NowRun == b {
			d.NowRun = ""
		}
		r.Diverge(d)
	}
	if r.Total > 0 {
		r.Verdict = Diverged
	}
	r.Counts = []Count{
		{"same", same}, {"different", al.count(Different)}, {"missing", al.count(Missing)}, {"extra", al.count(Extra)},
	}
	return r, nil
}

func (al *Aligned) count(k Kind) (n int64) {
	for _, p := range al.Pairs {
		if p.Kind == k {
			n++
		}
	}
	return n
}

func (al *Aligned) divergence(p Pair, open OpenFunc, detail bool) (Divergence, error) {
	d := Divergence{Kind: p.Kind, Recorded: -1, Now: -1, Nearest: -1}
	if p.A >= 0 {
		s := al.A[p.A]
		d.What, d.Name, d.Recorded, d.Run = s.What, s.Name, s.Entry, s.Run
	}
	if p.B >= 0 {
		s := al.B[p.B]
		d.What, d.Name, d.Now, d.NowRun = s.What, s.Name, s.Entry, s.Run
	}
	if p.Kind != Different {
		return d, nil
	}
	a, b := al.A[p.A], al.B[p.B]
	x, y := a.Entry, b.Entry
	if a.Form == b.Form {
		d.What, x, y = "outcome", a.Answer, b.Answer
		d.Recorded, d.Now = x, y
	}
	if !detail || x < 0 || y < 0 {
		return d, nil
	}
	was, err := open(SideA, a.Run, x)
	if err != nil {
		return d, err
	}
	now, err := open(SideB, b.Run, y)
	if err != nil {
		return d, err
	}
	d.Where = Decisions(was, now)
	return d, nil
}
