package cli

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

//go:embed page.html
var pageText string

// page is what page.html shows. html/template escapes all of it.
type page struct {
	Title string
	Run   string
	Facts []string
	Sum   string
	Calls []pageCall
	Made  string
}

type pageCall struct {
	Step, Entry                int64
	Kind, Name, Model, Status  string
	Good                       bool
	In, Out, Cost, Took, Tools string
	Depth                      int
	Said                       string // what the answer says
	Parts                      []pagePart
}

type pagePart struct {
	Name, Type, Text, Note string
	Size                   string
}

// maxPart bounds the text of one content on a page; --at has the rest.
const maxPart = 128 << 10

// showHTML writes one page that needs nothing else: no network, no script of
// others.
func (s *opened) showHTML(ctx context.Context, info ledger.RunInfo, prices insight.PriceList, out string) error {
	a := s.a
	stop := a.progress("writing the page")
	p, err := s.page(ctx, info, prices)
	stop()
	if err != nil {
		return err
	}
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	if err := a.to(out, b.Bytes()); err != nil || out == "-" {
		return err
	}
	if a.json {
		a.print(canon.Object(canon.M("run", canon.String(string(info.Run))), canon.M("file", canon.String(out)), canon.M("bytes", canon.Int(int64(b.Len())))))
		return nil
	}
	a.printf("wrote %s, %s bytes\n", out, number(int64(b.Len())))
	return nil
}

func (s *opened) page(ctx context.Context, info ledger.RunInfo, prices insight.PriceList) (*page, error) {
	r, err := s.summary(ctx, info)
	if err != nil {
		return nil, err
	}
	p := &page{Title: title(&r), Run: string(r.Run), Made: s.a.now().UTC().Format("2006-01-02 15:04 MST")}
	p.Facts = []string{"recorded " + r.Opened, number(r.At.Count) + " entries", s.state(&r)}
	if d, ok := r.Took(); ok {
		p.Facts = append(p.Facts, "took "+duration(d))
	}
	if r.Exit != nil {
		p.Facts = append(p.Facts, fmt.Sprintf("agent exit %d", *r.Exit))
	}
	read := drive.NewReader(s, info.Run)
	var sums insight.Totals
	before := history{}
	for c, err := range insight.Calls(ctx, s, info.Run, prices) {
		if err == nil {
			err = sums.Add(&c)
		}
		if err != nil {
			return nil, err
		}
		line := s.a.pageCall(&c)
		for _, n := range []int64{c.N, c.Outcome} {
			if n < 0 {
				continue
			}
			d, err := insight.Load(ctx, read, n)
			if err != nil {
				return nil, err
			}
			for i := range d.Parts {
				line.Parts = append(line.Parts, before.part(&d.Parts[i], c.Name, c.Step))
			}
		}
		p.Calls = append(p.Calls, line)
	}
	p.Sum = sumLine(&sums)
	return p, nil
}

func (*app) pageCall(c *insight.Call) pageCall {
	line := pageCall{
		Step: c.Step, Entry: c.N, Kind: c.Kind, Name: c.Name, Model: strings.Clone(c.Model), Depth: c.Depth,
		Status: string(c.Status), Good: !c.Failed(), In: dash, Out: dash, Cost: cost(c.Cost), Took: dash,
		Tools: strings.Join(c.Tools(), ", "), Said: said(c.Text),
	}
	if c.HTTP > 0 {
		line.Status = strings.TrimSpace(fmt.Sprint(c.HTTP, " ", c.Error))
	}
	if c.Evidence {
		line.Status = "evidence"
	} else if c.Code != "" {
		line.Status = c.Code
	}
	if c.Status == "" {
		line.Status = "open"
	}
	if c.Usage != nil {
		line.In, line.Out = number(c.Usage.Input+c.Usage.CacheRead+c.Usage.CacheWrite), number(c.Usage.Output+c.Usage.Reasoning)
	}
	if c.Timed() {
		line.Took = duration(c.Took)
	}
	return line
}

// said bounds what an answer says, and holds on to no more of it.
func said(text string) string {
	if len(text) <= maxPart {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:maxPart]), "\uFFFD") + fmt.Sprintf("\n… the first %s bytes; show --at has all of it", number(maxPart))
}

// history is what the last request of each name held, so that a page shows
// each message once: agents send the whole conversation with every request.
type history map[string]canon.Value

// repeated are the members of requests that hold conversations.
var repeated = [...]string{"messages", "input", "contents"}

func (h history) part(p *insight.Part, name string, step int64) pagePart {
	out := pagePart{Name: p.Name, Type: p.Type, Size: number(p.Size)}
	switch {
	case p.Gone != "":
		out.Note = "not there: " + p.Gone
		return out
	case p.Plain == nil:
		out.Note = "in a coding that is not shown"
		return out
	}
	text := p.Plain
	if v, err := canon.Parse(p.Plain); err == nil {
		if p.Name == "request" {
			v = h.shorten(v, name)
		}
		text = []byte(v.String())
	}
	if pretty, ok := insight.Pretty(text); ok {
		text = pretty
	} else if !isText(text) {
		out.Note = "no text"
		return out
	}
	if len(text) > maxPart {
		text = text[:maxPart]
		out.Note = fmt.Sprintf("the first %s bytes; show --at has all of it", number(maxPart))
	}
	out.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	return out
}

// shorten replaces the elements that the request before began with as well.
func (h history) shorten(v canon.Value, name string) canon.Value {
	for _, member := range repeated {
		now := v.Get(member)
		key := name + " " + member
		then := h[key]
		if now.Kind() != canon.KindArray {
			continue
		}
		h[key] = now
		n := 0
		for n < now.Len() && n < then.Len() && now.At(n).Equal(then.At(n)) {
			n++
		}
		if n > 1 {
			rest := []canon.Value{canon.String(fmt.Sprintf("… %d elements as in the request before", n))}
			v = v.With(member, canon.Array(append(rest, now.Elems()[n:]...)...))
		}
	}
	return v
}
