package regress

import (
	_ "embed"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/replay"
)

//go:embed page.html
var pageText string

// page is what page.html shows. html/template escapes all of it.
type page struct {
	Title, Sum, Made string
	Good             bool
	Conditions       []string
	Cases            []pageCase
}

type pageCase struct {
	Name, Sentence, Cause, Note, Output string
	Good, Broken, Open                  bool
	Head                                string // verb, runs and verdict
	Counts                              string
	Was, Now                            string // names of the sides
	Places                              []pagePlace
	More                                int
	Sides                               *Sides
	Lines                               []Line
	Follows                             []string
	FollowsMore                         int64
	Remarks                             []string
}

type pagePlace struct{ Pointer, Was, Now string }

// HTML writes one page that needs nothing else: no network, no script of
// others. Every case can be reached and opened from the keyboard.
func (s *Suite) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	p := page{Title: s.Title, Sum: s.Sum(), Made: s.Made.UTC().Format("2006-01-02 15:04 MST"), Good: s.ExitStatus() == 0, Conditions: s.Conditions()}
	opened := false
	for i := range s.Cases {
		c := s.Cases[i].page()
		if !c.Good && !opened || len(s.Cases) == 1 {
			c.Open, opened = true, true
		}
		p.Cases = append(p.Cases, c)
	}
	return t.Execute(w, p)
}

// maxFollows is how many of the differences that follow are listed on a page.
const maxFollows = 50

func (c *Case) page() pageCase {
	out := pageCase{Name: c.Name, Sentence: c.Sentence(), Note: c.Note, Output: c.Output, Good: c.Passed(), Broken: c.Err != nil, Sides: c.Sides}
	if c.Sides != nil {
		out.Lines = Beside(c.Sides.Left, c.Sides.Right)
	}
	if c.Err != nil {
		return out
	}
	r := c.Report
	out.Head, out.Remarks = r.Head(), r.Remarks
	out.Was, out.Now = sidesOf(r)
	var counts []string
	for _, n := range r.Counts {
		counts = append(counts, count(n))
	}
	out.Counts = strings.Join(counts, " · ")
	d := r.First()
	if d == nil {
		return out
	}
	if d.Cause != nil {
		out.Cause = d.Cause.Text()
	}
	for i, w := range d.Where {
		if i == 4*maxPlaces {
			out.More = len(d.Where) - i
			break
		}
		out.Places = append(out.Places, pagePlace{at(w.Pointer), brief(w.A), brief(w.B)})
	}
	for i := range r.Divergences[1:] {
		if i == maxFollows {
			break
		}
		out.Follows = append(out.Follows, follow(&r.Divergences[i+1]))
	}
	out.FollowsMore = r.Total - 1 - int64(len(out.Follows))
	return out
}

func follow(d *replay.Divergence) string {
	one := replay.Report{Divergences: []replay.Divergence{*d}}
	text := one.Sentence()
	if _, rest, ok := strings.Cut(text, " equal; "); ok {
		text = rest
	}
	return text
}

func count(n replay.Count) string {
	return strconv.FormatInt(n.N, 10) + " " + strings.ReplaceAll(n.Name, "_", " ")
}
