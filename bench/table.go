package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	name   string
	got    float64
	unit   string
	bar    bar
	beside string // the limit or peer, as it was measured in this run
	why    string // why there is no figure; then the row is neither met nor missed
}

// bar is what a figure must reach. The zero bar is none.
type bar struct {
	atMost bool
	value  float64
	text   string // in place of the value
}

func atLeast(v float64) bar { return bar{value: v} }

func atMost(v float64) bar { return bar{atMost: true, value: v} }

func (r *row) judged() bool { return r.why == "" && r.bar != bar{} }

func (r *row) met() bool {
	if r.bar.atMost {
		return r.got <= r.bar.value
	}
	return r.got >= r.bar.value
}

func (r *row) mark() string {
	switch {
	case !r.judged():
		return "–"
	case r.met():
		return "✓"
	default:
		return "✗"
	}
}

func (r *row) figure() string {
	if r.why != "" {
		return "not measured"
	}
	return amount(r.got, r.unit)
}

func (r *row) limit() string {
	if r.bar == (bar{}) {
		return ""
	}
	sign := "≥ "
	if r.bar.atMost {
		sign = "≤ "
	}
	if r.bar.text != "" {
		return sign + r.bar.text
	}
	return sign + amount(r.bar.value, r.unit)
}

// amount writes a figure with as many digits as it deserves.
func amount(v float64, unit string) string {
	switch {
	case unit == "/s" && v >= 10000:
		return fmt.Sprintf("%.0fk/s", v/1000)
	case unit == "/s":
		return fmt.Sprintf("%.0f/s", v)
	case unit == "":
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.2f %s", v, unit)
	}
}

// add prints a row and keeps it.
func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	beside := r.beside
	if r.why != "" {
		beside = r.why
	}
	fmt.Printf("%s  %s %s %s  %s\n", r.mark(), pad(r.name, 52), pad(r.figure(), 14), pad(r.limit(), 30), beside)
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len([]rune(s)))) }

func (b *bench) verdict() (met bool, line string) {
	var met1, judged, open int
	for i := range b.rows {
		switch r := &b.rows[i]; {
		case r.why != "":
			open++
		case r.judged():
			judged++
			if r.met() {
				met1++
			}
		}
	}
	line = fmt.Sprintf("%d of %d bars met", met1, judged)
	if open > 0 {
		line += fmt.Sprintf(", %d not measured", open)
	}
	return met1 == judged, line
}

// The marks in a page between which the table stands.
const (
	tableBegin = "<!-- table: make bench -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// writeMarkdown puts the table into a page, in place of the one that stands
// between the marks. A page that does not exist is begun.
func (b *bench) writeMarkdown(path string, at time.Time) error {
	page, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		page = []byte("# Performance\n\n" + tableBegin + tableEnd)
	} else if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(page, []byte(tableBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the marks %q and %q", path, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	var out bytes.Buffer
	out.Write(head)
	out.WriteString(tableBegin)
	_, line := b.verdict()
	fmt.Fprintf(&out, "%s, on %s%s: %s.\n\n", at.Format(time.DateOnly), machine(), b.busy, line)
	out.WriteString("| | | figure | bar | measured beside it in the same run |\n|---|---|---|---|---|\n")
	for i := range b.rows {
		r := &b.rows[i]
		beside := r.beside
		if r.why != "" {
			beside = r.why
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", r.mark(), r.name, r.figure(), r.limit(), beside)
	}
	out.WriteString(tableEnd)
	out.Write(tail)
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// machine names what the figures were measured on.
func machine() string {
	cpu := runtime.GOARCH
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// load says how busy the machine is, if it is: then the figures are too low.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	one, _, _ := strings.Cut(string(b), " ")
	if n, err := strconv.ParseFloat(one, 64); err != nil || n < 0.5*float64(runtime.NumCPU()) {
		return ""
	}
	return ", which was busy with other work (load " + one + "), so the figures are too low"
}
