package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
	"golang.org/x/term"

	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// style colours text, if what it goes to is a terminal.
type style struct {
	terminal bool
	colour   bool
	width    int
}

// unlimited is the width of what is no terminal: nothing is cut off.
const unlimited = 1 << 20

func styleOf(w io.Writer, env []string) style {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return style{width: unlimited}
	}
	s := style{terminal: true, width: unlimited}
	if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
		s.width = cols
	}
	s.colour = lookup(env, "NO_COLOR") == "" && lookup(env, "TERM") != "dumb"
	return s
}

func (s style) paint(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(code)).Render(text)
}

func (s style) good(t string) string { return s.paint("2", t) }
func (s style) warn(t string) string { return s.paint("3", t) }
func (s style) bad(t string) string  { return s.paint("1", t) }
func (s style) dim(t string) string  { return s.paint("8", t) }
func (s style) name(t string) string { return s.paint("6", t) }

func (s style) bold(t string) string {
	if !s.colour || t == "" {
		return t
	}
	return lipgloss.NewStyle().Bold(true).Render(t)
}

// table is rows of cells under headings. Columns are as wide as they must be;
// on a terminal the widest of the flexible ones is cut to fit.
type table struct {
	heads []string
	right []bool // columns of numbers
	flex  int    // the column that is cut, or -1
	rows  [][]string
}

func newTable(flex int, heads ...string) *table {
	t := &table{flex: flex, right: make([]bool, len(heads))}
	for i, h := range heads {
		t.right[i] = strings.HasPrefix(h, ">")
		t.heads = append(t.heads, strings.TrimPrefix(h, ">"))
	}
	return t
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer, s style) {
	widths := make([]int, len(t.heads))
	for _, row := range append([][]string{t.heads}, t.rows...) {
		for i, c := range row {
			widths[i] = max(widths[i], lipgloss.Width(c))
		}
	}
	if t.flex >= 0 {
		total := 2 * (len(widths) - 1)
		for _, n := range widths {
			total += n
		}
		if total > s.width {
			widths[t.flex] = max(12, widths[t.flex]-(total-s.width))
		}
	}
	line := func(row []string, paint func(string) string) {
		var b strings.Builder
		for i, c := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			if i == t.flex {
				c = cut(c, widths[i])
			}
			pad := strings.Repeat(" ", max(0, widths[i]-lipgloss.Width(c)))
			switch {
			case t.right[i]:
				b.WriteString(pad + paint(c))
			case i == len(row)-1:
				b.WriteString(paint(c))
			default:
				b.WriteString(paint(c) + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	line(t.heads, s.dim)
	for _, row := range t.rows {
		line(row, func(c string) string { return c })
	}
}

// cut shortens plain text to so many columns.
func cut(text string, width int) string {
	if lipgloss.Width(text) <= width || width < 1 {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && lipgloss.Width(string(runes)) > width-1 {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// clean makes text that others wrote safe for a terminal: one line, and no
// control characters, which could move the cursor or hide what follows.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '\uFFFD'
		}
		return r
	}, text)
}

// cleanBlock is [clean] for text of several lines.
func cleanBlock(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clean(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

// dash stands for what is not known, which is not zero.
const dash = "–"

func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// dollars spells a cost, rounded to a millionth of a dollar. What costs less
// than that is not written as nothing.
func dollars(p budget.Pico) string {
	const micro, half = 1_000_000, 500_000
	switch {
	case p > 0 && p < half:
		return "<$0.000001"
	case p > 0 && p <= math.MaxInt64-half:
		p = (p + half) / micro * micro
	}
	s := p.String()
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) < 2 {
		fraction += strings.Repeat("0", 2-len(fraction))
	}
	return "$" + whole + "." + fraction[:min(len(fraction), 6)]
}

// when spells a time for a list.
func (a *app) when(t time.Time) string {
	if t.IsZero() {
		return dash
	}
	t = t.Local()
	if now := a.now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// print writes a JSON document.
func (a *app) print(v canon.Value) {
	a.printed = true
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(v.String()), "", "  "); err != nil {
		b.Reset()
		b.WriteString(v.String())
	}
	b.WriteByte('\n')
	_, _ = a.stdout.Write(b.Bytes())
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

// sayf writes to standard error.
func (a *app) sayf(format string, args ...any) { fmt.Fprintf(a.stderr, format, args...) }

// next prints commands to go on with.
func (a *app) next(w io.Writer, s style, lines ...string) {
	for _, l := range lines {
		fmt.Fprintf(w, "  %s %s\n", s.dim("→"), a.self+" "+l)
	}
}

// quote returns a word as a shell needs it.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:=@%+,~", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quote(w)
	}
	return strings.Join(out, " ")
}

// progress says on a terminal that something long goes on, until stop is
// called. Elsewhere it says nothing.
func (a *app) progress(what string) (stop func()) {
	if !a.err.terminal {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		const after, every = 700 * time.Millisecond, 200 * time.Millisecond
		begun := time.Now()
		timer := time.NewTimer(after)
		defer timer.Stop()
		shown := false
		for {
			select {
			case <-done:
				if shown {
					fmt.Fprint(a.stderr, "\r\x1b[K")
				}
				return
			case <-timer.C:
				shown = true
				fmt.Fprintf(a.stderr, "\r\x1b[K%s %s", a.err.dim(what+"…"), a.err.dim(duration(time.Since(begun))))
				timer.Reset(every)
			}
		}
	}()
	return func() { close(done); <-gone }
}
