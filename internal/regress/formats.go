package regress

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// maxPlaces is how many places of a difference are spelled out.
const maxPlaces = 5

// body says a case in full, as text, but for what the agent printed.
func (c *Case) body() string {
	var b strings.Builder
	b.WriteString(c.Sentence() + "\n")
	if c.Err == nil {
		if d := c.Report.First(); d != nil {
			for i, w := range d.Where {
				if i == maxPlaces {
					fmt.Fprintf(&b, "and %d more places\n", len(d.Where)-i)
					break
				}
				was, now := sidesOf(c.Report)
				fmt.Fprintf(&b, "%s\n  %s %s\n  %s %s\n", at(w.Pointer), was, brief(w.A), now, brief(w.B))
			}
			if n := c.Report.Total - 1; n > 0 {
				fmt.Fprintf(&b, "%d more differences follow\n", n)
			}
		}
	}
	if c.Note != "" {
		b.WriteString(c.Note + "\n")
	}
	return b.String()
}

// sidesOf names the two sides of a comparison.
func sidesOf(r *replay.Report) (was, now string) {
	if r.Verb == replay.Diff {
		return "first run", "second run"
	}
	return "recorded", "now"
}

// at leaves out the part of a pointer that names the content: a request and an
// answer have one.
func at(pointer string) string {
	if rest, ok := strings.CutPrefix(pointer, "/contents/0"); ok && rest != "" {
		return rest
	}
	return pointer
}

// brief spells a value in a line.
func brief(v canon.Value) string {
	if v.IsZero() {
		return "nothing"
	}
	const most = 300
	s := []rune(strings.ToValidUTF8(v.String(), "\uFFFD"))
	if len(s) > most {
		return string(s[:most]) + "…"
	}
	return string(s)
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Says     *junitSays  `xml:"properties,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitSays struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure,omitempty"`
	Error   *junitProblem `xml:"error,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the suite in the format that CI servers read.
func (s *Suite) JUnit(w io.Writer) error {
	diverged, broken := s.Failed()
	var took time.Duration
	says := &junitSays{}
	for _, l := range s.Conditions() {
		name, value, _ := strings.Cut(l, ": ")
		says.List = append(says.List, junitProperty{name, value})
	}
	suite := junitSuite{Name: s.Title, Tests: len(s.Cases), Failures: diverged, Errors: broken, Stamp: s.Made.UTC().Format("2006-01-02T15:04:05")}
	for i := range s.Cases {
		c := &s.Cases[i]
		took += c.Took
		one := junitCase{Name: c.Name, Class: s.Title, Time: seconds(c.Took), Output: c.Output}
		switch {
		case c.Err != nil:
			one.Error = &junitProblem{Message: c.Sentence(), Type: fault.CodeOf(c.Err).Error(), Text: c.body()}
		case !c.Passed():
			one.Failure = &junitProblem{Message: c.Sentence(), Type: string(c.Report.Verdict), Text: c.body()}
		}
		suite.Cases = append(suite.Cases, one)
	}
	if suite.Time = seconds(took); len(says.List) > 0 {
		suite.Says = says
	}
	all := junitSuites{Tests: suite.Tests, Failures: diverged, Errors: broken, Time: suite.Time, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// GitHub writes an annotation for each case that did not pass, as the commands
// that GitHub reads from the output of a step. A recording has no lines; it is
// annotated at its first one.
func (s *Suite) GitHub(w io.Writer) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for i := range s.Cases {
		c := &s.Cases[i]
		if c.Passed() {
			continue
		}
		where := ""
		if c.File != "" {
			where = "file=" + property.Replace(c.File) + ",line=1,"
		}
		text := c.body()
		if c.Output != "" {
			text += "the agent printed:\n" + c.Output
		}
		text = strings.TrimRight(text, "\n")
		if _, err := fmt.Fprintf(w, "::error %stitle=%s::%s\n", where, property.Replace(s.Title+": "+c.Name), data.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes the suite for a comment or a summary.
func (s *Suite) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n", line(s.Title), s.Sum())
	for i, l := range s.Conditions() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", line(l))
	}
	if len(s.Cases) > 1 {
		b.WriteString("\n| | recording | result |\n|---|---|---|\n")
		for i := range s.Cases {
			c := &s.Cases[i]
			fmt.Fprintf(&b, "| %s | %s | %s |\n", mark(c), line(c.Name), line(c.Sentence()))
		}
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		if c.Passed() && len(s.Cases) > 1 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s %s\n\n%s\n", mark(c), line(c.Name), line(c.Sentence()))
		if c.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", line(c.Note))
		}
		if c.Err != nil {
			continue
		}
		s.places(&b, c.Report)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (*Suite) places(b *strings.Builder, r *replay.Report) {
	d := r.First()
	if d == nil || len(d.Where) == 0 {
		return
	}
	was, now := sidesOf(r)
	fmt.Fprintf(b, "\n| where | %s | %s |\n|---|---|---|\n", was, now)
	for i, w := range d.Where {
		if i == maxPlaces {
			break
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", line(at(w.Pointer)), line(brief(w.A)), line(brief(w.B)))
	}
	if n := len(d.Where) - maxPlaces; n > 0 {
		fmt.Fprintf(b, "\nand %d more places\n", n)
	}
	if n := r.Total - 1; n > 0 {
		fmt.Fprintf(b, "\n%d more differences follow.\n", n)
	}
}

func mark(c *Case) string {
	switch {
	case c.Err != nil:
		return "⚠️"
	case c.Passed():
		return "✅"
	default:
		return "❌"
	}
}

// line makes text of strangers safe in a line of Markdown: no markup of it acts.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer(
		`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "#", `\#`, "@", "@\u200b", "://", ":\u200b//", "!", `\!`, "|", `\|`, "~", `\~`,
	).Replace(s)
}
