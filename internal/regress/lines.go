package regress

import (
	"slices"
	"strings"
)

// Line is one line of two texts beside each other.
type Line struct {
	Left, Right string
	Changed     bool // the two differ
	HasL, HasR  bool // which of them there is
	Skipped     int  // so many equal lines are left out here; the rest is empty
}

// around is how many equal lines are shown beside what differs.
const around = 3

// maxCells bounds the table by which lines are compared; beyond it the lines
// between the equal ends are set side by side in order.
const maxCells = 4 << 20

// Beside sets two texts beside each other, line by line, and leaves out what is
// equal and far from any difference.
func Beside(left, right string) []Line {
	return fold(align(strings.Split(left, "\n"), strings.Split(right, "\n")))
}

func align(a, b []string) []Line {
	var out, tail []Line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, Line{Left: a[0], Right: b[0], HasL: true, HasR: true})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, Line{Left: a[len(a)-1], Right: b[len(b)-1], HasL: true, HasR: true})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out = append(out, middle(a, b)...)
	slices.Reverse(tail)
	return append(out, tail...)
}

// middle aligns by the longest common subsequence of lines.
func middle(a, b []string) []Line {
	if len(a)*len(b) > maxCells {
		return pairUp(nil, a, b)
	}
	width := len(b) + 1
	best := make([]int32, (len(a)+1)*width)
	for i := range slices.Backward(a) {
		for j := range slices.Backward(b) {
			if a[i] == b[j] {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	var out []Line
	i, j, fromA, fromB := 0, 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = pairUp(out, a[fromA:i], b[fromB:j])
			out = append(out, Line{Left: a[i], Right: b[j], HasL: true, HasR: true})
			i, j = i+1, j+1
			fromA, fromB = i, j
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return pairUp(out, a[fromA:], b[fromB:])
}

// pairUp appends lines that differ, side by side.
func pairUp(out []Line, a, b []string) []Line {
	for i := range max(len(a), len(b)) {
		l := Line{Changed: true}
		if i < len(a) {
			l.Left, l.HasL = a[i], true
		}
		if i < len(b) {
			l.Right, l.HasR = b[i], true
		}
		out = append(out, l)
	}
	return out
}

func fold(lines []Line) []Line {
	keep := make([]bool, len(lines))
	for i := range lines {
		if lines[i].Changed {
			for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
				keep[k] = true
			}
		}
	}
	var out []Line
	for i := range lines {
		switch {
		case keep[i]:
			out = append(out, lines[i])
		case len(out) > 0 && out[len(out)-1].Skipped > 0:
			out[len(out)-1].Skipped++
		default:
			out = append(out, Line{Skipped: 1})
		}
	}
	return out
}
