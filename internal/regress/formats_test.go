package regress_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// nasty is text that means something to each of the formats.
const nasty = "a | b\r\n::error::x%0A ]]> <script>alert(1)</script> [x](http://evil.test) @all `c` \x1b[31m\x00"

func suite() *regress.Suite {
	same := &replay.Report{Verb: replay.Replayed, Verdict: replay.Same, Counts: []replay.Count{{Name: "calls", N: 4}}}
	differs := &replay.Report{Verb: replay.Replayed, Verdict: replay.Diverged}
	differs.Diverge(replay.Divergence{
		Kind: replay.Extra, What: "call", Name: nasty, Step: 42, Now: 7, Recorded: -1, Nearest: 5,
		Where:  []canon.Difference{{Pointer: "/messages/7/content", A: canon.String(nasty), B: canon.String("x")}},
		Effect: "tool write_file /path",
		Cause:  &replay.Cause{Part: "messages[7] of the request", About: "the result of the tool read_file", Origin: replay.FromTool, Entry: -1},
	})
	differs.Diverge(replay.Divergence{Kind: replay.Missing, What: "call", Name: "m", Recorded: 5, Now: -1, Nearest: -1, Step: 42})
	return &regress.Suite{Title: "reprise test", Made: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Cases: []regress.Case{
		{Name: "same.reprise", File: "same.reprise", Report: same, Took: 1500 * time.Millisecond},
		{Name: nasty, File: "a,b:c.reprise", Report: differs, Output: nasty, Sides: &regress.Sides{What: "request", Left: "{\n  \"a\": 1\n}", Right: "{\n  \"a\": " + nasty + "\n}"}},
		{Name: "broken.reprise", Err: fault.New(ledger.ErrAbsent, "test", "half of it is gone")},
		{Name: "anew.reprise", Report: differs, Updated: true, Note: "recorded anew"},
	}}
}

func TestSuiteCountsAndExits(t *testing.T) {
	t.Parallel()
	s := suite()
	if got, want := s.Sum(), "2 same, 1 diverged, 1 not compared"; got != want {
		t.Errorf("Sum = %q, want %q", got, want)
	}
	if got, want := s.ExitStatus(), ledger.ErrAbsent.Class().ExitStatus(); got != want {
		t.Errorf("ExitStatus = %d, want that of the gravest case, %d", got, want)
	}
	s.Cases = s.Cases[:2]
	if got := s.ExitStatus(); got != fault.ExitDiverged {
		t.Errorf("ExitStatus = %d, want %d", got, fault.ExitDiverged)
	}
	want := "steps 1 to 41 equal; step 42 tool write_file /path differs; cause: messages[7] of the request, the result of the tool read_file; the tool ran in the agent itself and gave something else"
	if got := s.Cases[1].Sentence(); got != want {
		t.Errorf("Sentence = %q, want %q", got, want)
	}
}

func TestJUnitIsReadBack(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := suite().JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suite    struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Time    string `xml:"time,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Error *struct {
					Type string `xml:"type,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Suite.Cases
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || len(c) != 4 || c[0].Time != "1.500" {
		t.Fatalf("suites = %+v", got)
	}
	if c[0].Failure != nil || c[1].Failure == nil || !strings.HasPrefix(c[1].Failure.Message, "steps 1 to 41 equal; ") || c[2].Error == nil || c[2].Error.Type != ledger.ErrAbsent.Error() || c[3].Failure != nil {
		t.Errorf("cases = %+v", c)
	}
}

// A text from outside stays within its annotation: it begins no line.
func TestGitHubAnnotationsAreOneLineEach(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := suite().GitHub(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each case that did not pass:\n%s", len(lines), &b)
	}
	if want := "::error file=a%2Cb%3Ac.reprise,line=1,title=reprise test%3A a | b%0D%0A%3A%3Aerror%3A%3Ax%250A"; !strings.HasPrefix(lines[0], want) {
		t.Errorf("annotation = %q, want it to begin with %q", lines[0], want)
	}
	if !strings.HasPrefix(lines[1], "::error title=reprise test%3A broken.reprise::ledger.") {
		t.Errorf("annotation = %q", lines[1])
	}
}

// Text from outside is text: no table breaks, no link, no mention, no tag.
func TestMarkdownHoldsNoMarkupOfStrangers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := suite().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script", "[x](", "http://", " @all", "\x1b", "\x00", "\n::error"} {
		if strings.Contains(text, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
	for _, want := range []string{"## reprise test\n\n2 same, 1 diverged, 1 not compared\n", "| ✅ | same.reprise | all 4 steps equal |", "| where | recorded | now |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

func TestPageEscapesAndAsksNobody(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := suite().HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script>alert", "src=", "href=", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := strings.Count(page, `<details class="case"`); n != 4 {
		t.Errorf("%d cases on the page, want 4", n)
	}
}

func TestBeside(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("same\n", 20)
	for _, tt := range []struct{ name, left, right, want string }{
		{"equal", "a\nb", "a\nb", "…2"},
		{"one line", "a\nb\nc", "a\nx\nc", "=a b|x =c"},
		{"an insertion", "a\nc", "a\nb\nc", "=a |b =c"},
		{"a removal", "a\nb\nc", "a\nc", "=a b| =c"},
		{"far from it", long + "x", long + "y", "…17 =same =same =same =|= x|y"},
		{"nothing beside something", "", "a", "|a"},
	} {
		var got []string
		for _, l := range regress.Beside(tt.left, tt.right) {
			switch {
			case l.Skipped > 0:
				got = append(got, fmt.Sprintf("…%d", l.Skipped))
			case l.Changed:
				got = append(got, l.Left+"|"+l.Right)
			default:
				got = append(got, "="+l.Left)
			}
		}
		want := strings.ReplaceAll(tt.want, " =|=", "")
		if strings.Join(got, " ") != want {
			t.Errorf("%s: Beside = %q, want %q", tt.name, strings.Join(got, " "), want)
		}
	}
}

// Whatever the texts are, both are there whole, in their order.
func TestBesideLosesNothing(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 12).Draw(t, "lines"), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		left, right, skipped := 0, 0, 0
		for _, l := range regress.Beside(a, b) {
			skipped += l.Skipped
			if l.HasL {
				left++
			}
			if l.HasR {
				right++
			}
			if l.Changed && l.HasL && l.HasR && l.Left == l.Right {
				t.Fatalf("%q stands as changed", l.Left)
			}
		}
		if left+skipped != strings.Count(a, "\n")+1 || right+skipped != strings.Count(b, "\n")+1 {
			t.Fatalf("%d and %d lines and %d skipped of %q and %q", left, right, skipped, a, b)
		}
	})
}
