package otel

import (
	"bufio"
	"context"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrWrite means that the spans could not be written. Look at the disk.
const ErrWrite fault.Unavailable = "otel.write_failed"

// ErrRun means that the run is not one that has an open. Verify it.
const ErrRun fault.Integrity = "otel.bad_run"

// Options are what may be chosen of an export. The zero value is the default.
type Options struct {
	// Content also writes what was asked and answered, as gen_ai.input.messages
	// and gen_ai.output.messages, and the arguments and results of tools.
	Content bool
	// Service is the service.name of the resource; empty: reprise.
	Service string
	// Version is the version of the scope; empty: none.
	Version string
	// Prices are for the cost of calls; the zero value leaves it out.
	Prices insight.PriceList
}

// Export writes the spans of a run to w and returns how many there are.
func Export(ctx context.Context, store drive.Store, run ledger.RunID, w io.Writer, o *Options) (int, error) {
	if o == nil {
		o = &Options{}
	}
	e := &exporter{
		store: store, run: run, o: o, w: bufio.NewWriter(w), read: drive.NewReader(store, run),
		trace: strings.ReplaceAll(string(run), "-", ""), spans: map[int64]string{},
	}
	if err := e.open(ctx); err != nil {
		return 0, err
	}
	e.head()
	for c, err := range insight.Calls(ctx, store, run, o.Prices) {
		if err != nil {
			return 0, err
		}
		if err := e.call(ctx, &c); err != nil {
			return 0, err
		}
	}
	if err := e.root(ctx); err != nil {
		return 0, err
	}
	e.put("]}]}]}\n")
	if err := e.w.Flush(); err != nil {
		return 0, fault.Wrap(ErrWrite, "otel.Export", err, "the spans")
	}
	return e.n, nil
}

type exporter struct {
	store drive.Store
	run   ledger.RunID
	o     *Options
	w     *bufio.Writer // errors show at the end
	read  *drive.Reader
	trace string
	first *ledger.Opened
	spans map[int64]string // ids by the entry of the call
	from  time.Time        // of all calls
	to    time.Time
	n     int
}

func (e *exporter) open(ctx context.Context) error {
	o, err := e.read.Open(ctx, 0)
	if err != nil {
		return err
	}
	if o.Kind != ledger.KindOpen {
		return fault.New(ErrRun, "otel.Export", "entry 0 is a %s, not an open", o.Kind)
	}
	e.first = o
	return nil
}

func (e *exporter) head() {
	service := e.o.Service
	if service == "" {
		service = "reprise"
	}
	resource := attributes{}
	resource.text("service.name", service)
	scope := canon.Object(canon.M("name", canon.String("github.com/reprise-dev/reprise")))
	if e.o.Version != "" {
		scope = scope.With("version", canon.String(e.o.Version))
	}
	e.put(`{"resourceSpans":[{"resource":{"attributes":` + resource.value().String() + `},"scopeSpans":[{"scope":` + scope.String() + `,"spans":[`)
}

// span is one span on its way out.
type span struct {
	id, parent string
	name       string
	kind       int64 // 1 internal, 3 client
	from, to   time.Time
	attrs      attributes
	fault      string // what went wrong; empty: nothing
}

func (e *exporter) write(s *span) {
	if e.n > 0 {
		e.put(",")
	}
	e.n++
	v := canon.Object(
		canon.M("traceId", canon.String(e.trace)),
		canon.M("spanId", canon.String(s.id)),
		canon.M("name", canon.String(s.name)),
		canon.M("kind", canon.Int(s.kind)),
		canon.M("startTimeUnixNano", nanos(s.from)),
		canon.M("endTimeUnixNano", nanos(s.to)),
		canon.M("attributes", s.attrs.value()),
	)
	if s.parent != "" {
		v = v.With("parentSpanId", canon.String(s.parent))
	}
	if s.fault != "" {
		v = v.With("status", canon.Object(canon.M("code", canon.Int(2)), canon.M("message", canon.String(s.fault))))
	}
	e.put(v.String())
}

// put writes s; what goes wrong shows when the writer is flushed.
func (e *exporter) put(s string) { _, _ = e.w.WriteString(s) }

func nanos(t time.Time) canon.Value {
	if t.IsZero() {
		return canon.String("0")
	}
	return canon.String(strconv.FormatInt(t.UnixNano(), 10))
}

func spanID(id canon.Digest) string { return hex.EncodeToString(id[:8]) }

// call writes the span of one call.
func (e *exporter) call(ctx context.Context, c *insight.Call) error {
	d, err := insight.Load(ctx, e.read, c.N)
	if err != nil {
		return err
	}
	s := span{id: spanID(d.ID), parent: spanID(e.first.ID), kind: 1, from: c.At, to: c.At.Add(c.Took)}
	e.spans[c.N] = s.id
	if n, ok := d.Body.Get("refs").Get("under").AsInt(); ok && e.spans[n] != "" {
		s.parent = e.spans[n]
	}
	s.attrs.text("reprise.run", string(e.run))
	s.attrs.number("reprise.entry", c.N)
	s.attrs.text("reprise.entry.id", d.ID.String())
	var answer insight.Detail
	if c.Outcome >= 0 {
		if answer, err = insight.Load(ctx, e.read, c.Outcome); err != nil {
			return err
		}
	}
	if c.Evidence {
		s.attrs.flag("reprise.evidence_only", true)
	}
	e.describe(&s, c, &d, &answer)
	s.failed(c)
	if !s.from.IsZero() && (e.from.IsZero() || s.from.Before(e.from)) {
		e.from = s.from
	}
	if s.to.After(e.to) {
		e.to = s.to
	}
	e.write(&s)
	return nil
}

// failed says what went wrong.
func (s *span) failed(c *insight.Call) {
	switch {
	case c.Status == "":
		s.fault = "the call has no outcome"
		s.attrs.text("error.type", "_OTHER")
	case c.HTTP >= 400:
		s.fault = "HTTP status " + strconv.FormatInt(c.HTTP, 10)
		s.attrs.text("error.type", strconv.FormatInt(c.HTTP, 10))
	case c.Failed():
		s.fault = c.Code
		if s.fault == "" {
			s.fault = string(c.Status)
		}
		s.attrs.text("error.type", s.fault)
	}
}

// describe says what the call is in the words of the conventions.
func (e *exporter) describe(s *span, c *insight.Call, d, answer *insight.Detail) {
	data := d.Data()
	if m := data.Get("method").Str(); m != "" {
		s.kind = 3
		s.attrs.text("http.request.method", m)
		if u, err := url.Parse(data.Get("url").Str()); err == nil {
			s.attrs.text("url.path", u.Path)
		}
	}
	if c.HTTP > 0 {
		s.attrs.number("http.response.status_code", c.HTTP)
	}
	switch c.Kind {
	case capture.KindModel:
		e.model(s, c, d, answer)
	case capture.KindMCP:
		method, rest, _ := strings.Cut(c.Name, " ")
		s.name, s.kind = c.Name, 3
		s.attrs.text("mcp.method.name", method)
		if method == "tools/call" {
			e.tool(s, rest, d, answer)
		}
	case "tool", "exec":
		e.tool(s, c.Name, d, answer)
	case "agent":
		s.name = c.Name
		if !strings.HasPrefix(s.name, "invoke_agent") {
			s.name = "invoke_agent " + c.Name
		}
		s.attrs.text("gen_ai.operation.name", "invoke_agent")
	case capture.KindHTTP:
		s.name = data.Get("method").Str()
	}
	if s.name == "" {
		s.name = c.Kind + " " + c.Name
	}
	s.attrs.text("reprise.kind", c.Kind)
	if c.Recorded {
		s.attrs.flag("reprise.recorded", true)
	}
}

func (e *exporter) tool(s *span, name string, d, answer *insight.Detail) {
	s.name = "execute_tool " + name
	s.attrs.text("gen_ai.operation.name", "execute_tool")
	s.attrs.text("gen_ai.tool.name", name)
	if e.o.Content {
		s.attrs.text("gen_ai.tool.call.arguments", content(d, capture.RequestName))
		s.attrs.text("gen_ai.tool.call.result", content(answer, capture.ResponseName))
	}
}

// root writes the span of the run.
func (e *exporter) root(ctx context.Context) error {
	body := e.first.Body
	title := body.Get("title").Str()
	s := span{id: spanID(e.first.ID), kind: 1, name: strings.TrimSpace("invoke_agent " + title), from: e.from, to: e.to}
	s.attrs.text("gen_ai.operation.name", "invoke_agent")
	s.attrs.text("gen_ai.agent.name", title)
	s.attrs.text("gen_ai.conversation.id", string(e.run))
	s.attrs.text("reprise.run", string(e.run))
	s.attrs.text("reprise.engine", body.Get("engine").Str())
	s.attrs.text("reprise.mode", body.Get("mode").Str())
	imported := body.Get("data").Has("import")
	if opened := insight.When(e.first.T); !opened.IsZero() && (s.from.IsZero() || !imported && opened.Before(s.from)) {
		s.from = opened
	}
	status := ""
	for entry, err := range e.store.Read(ctx, e.run, 0) {
		if err != nil {
			return err
		}
		o, err := ledger.Parse(entry)
		if err != nil {
			return err
		}
		if t := insight.When(o.T); !imported && t.After(s.to) {
			s.to = t
		}
		if o.Kind == ledger.KindSeal {
			status = o.Body.Get("status").Str()
		}
	}
	if s.to.Before(s.from) {
		s.to = s.from
	}
	s.attrs.text("reprise.status", status)
	if status != "" && status != string(effect.OK) {
		s.fault = status
		s.attrs.text("error.type", status)
	}
	e.write(&s)
	return nil
}

// maxContent bounds what of one content stands in a span.
const maxContent = 1 << 20

// content returns a content as text; empty if it is none, or too large.
func content(d *insight.Detail, name string) string {
	if d.Opened == nil {
		return ""
	}
	i := slices.IndexFunc(d.Parts, func(p insight.Part) bool { return p.Name == name })
	if i < 0 || d.Parts[i].Plain == nil || len(d.Parts[i].Plain) > maxContent {
		return ""
	}
	return strings.ToValidUTF8(string(d.Parts[i].Plain), "\uFFFD")
}
