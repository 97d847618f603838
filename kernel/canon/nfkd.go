package canon

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// decomposed returns s in Unicode normalisation form KD (UAX #15): every
// character fully decomposed, marks in the order of their class. Characters
// that are younger than the tables stay as they are.
func decomposed(s string) string {
	runes := make([]rune, 0, len(s))
	for _, r := range s {
		if r < utf8.RuneSelf {
			runes = append(runes, r)
			continue
		}
		if l, v, t, ok := hangul(r); ok {
			runes = append(runes, l, v)
			if t != 0 {
				runes = append(runes, t)
			}
			continue
		}
		if line := lookup(decompositions, func(line string) int { return int(runeAt(line)) - int(r) }); line != "" {
			runes = append(runes, []rune(line)[1:]...)
			continue
		}
		runes = append(runes, r)
	}
	orderMarks(runes)
	return string(runes)
}

// orderMarks sorts every run of marks by class and otherwise leaves the order.
func orderMarks(runes []rune) {
	for i := 0; i < len(runes); {
		if class(runes[i]) == 0 {
			i++
			continue
		}
		j := i
		for j < len(runes) && class(runes[j]) != 0 {
			j++
		}
		slices.SortStableFunc(runes[i:j], func(a, b rune) int { return int(class(a)) - int(class(b)) })
		i = j
	}
}

// class returns the canonical combining class of r.
func class(r rune) rune {
	if r < 0x300 {
		return 0
	}
	line := lookup(combining, func(line string) int {
		first, n := utf8.DecodeRuneInString(line)
		switch {
		case r < first:
			return 1
		case r > runeAt(line[n:]):
			return -1
		default:
			return 0
		}
	})
	if line == "" {
		return 0
	}
	return []rune(line)[2] - 256
}

// hangul splits a Hangul syllable, by the arithmetic of the Unicode Standard,
// section 3.12. The last part may be missing, and is then 0.
func hangul(r rune) (l, v, t rune, ok bool) {
	const (
		first, count       = 0xAC00, 11172
		lBase, vBase       = 0x1100, 0x1161
		tBase, vMany, many = 0x11A7, 21, 28
	)
	i := r - first
	if i < 0 || i >= count {
		return 0, 0, 0, false
	}
	if i%many != 0 {
		t = tBase + i%many
	}
	return lBase + i/(vMany*many), vBase + i%(vMany*many)/many, t, true
}

// lookup searches ascending lines, of which none is empty, for the one that
// compares as 0. It returns "" if there is none.
func lookup(lines string, compare func(line string) int) string {
	for len(lines) > 0 {
		start := strings.LastIndexByte(lines[:len(lines)/2], '\n') + 1
		end := start + strings.IndexByte(lines[start:], '\n')
		switch c := compare(lines[start:end]); {
		case c == 0:
			return lines[start:end]
		case c < 0:
			lines = lines[end+1:]
		default:
			lines = lines[:start]
		}
	}
	return ""
}

func runeAt(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
