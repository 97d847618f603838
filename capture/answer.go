package capture

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// answer gives the client the recorded answer: the same status, headers,
// bytes, parts and trailers, and the same end.
func (h *handler) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *effect.Call, x *drive.Exchange) {
	defer h.p.turns.begin(x.Record())()
	o, _, err := x.Answered()
	if err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	if o.Status == effect.Error || o.Data.Get("status").IsZero() {
		if err := x.End(ctx, effect.Outcome{}); err != nil {
			h.broken(w, err)
			return
		}
		if o.Data.Get("broke").Str() == byClient {
			// The upstream was still silent when the client gave up; so is this.
			<-r.Context().Done()
		}
		h.noAnswer(w, o)
		return
	}
	a, err := h.recorded(ctx, to, c, x, o)
	if err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	// The outcome goes first: what follows is the last byte and all before.
	if err := x.End(ctx, effect.Outcome{}); err != nil {
		h.broken(w, err)
		return
	}
	if rec := h.p.o.Record; rec != nil && a.broke.by == "" && x.Record() != nil && r.Method == http.MethodGet && strings.HasPrefix(a.headers.Get("Content-Type"), "text/event-stream") {
		// A stream of what a server says of its own accord went on beside
		// other calls. It ends when those have come, not before.
		a.hold = func() { rec.Journal.await(r.Context(), h.p.at.Path(), x.Record().Outcome.N) }
	}
	a.turn = func() { h.p.turns.await(r.Context(), x.Record()) }
	a.give(w, r, h.p.o.Pace)
}

// cannot answers when the record is there but cannot be answered with.
func (*handler) cannot(ctx context.Context, w http.ResponseWriter, x *drive.Exchange, err error) {
	if end := x.End(ctx, effect.Outcome{Status: effect.Error, Code: fault.CodeOf(err)}); end != nil {
		err = end
	}
	problem(w, http.StatusBadRequest, fault.CodeOf(err), err.Error())
}

// recording is a recorded answer, ready to be given.
type recording struct {
	status   int
	headers  http.Header
	trailers http.Header
	body     []byte
	parts    []drive.Part
	resized  bool // the body is not as long as it was
	broke    broken
	early    []canon.Value // what was said before
	after    time.Duration // what it took, where nobody knows when its parts came
	hold     func()        // waits before the end; may be nil
	turn     func()        // waits before the last part until it may end
}

func (h *handler) recorded(ctx context.Context, to route, c *effect.Call, x *drive.Exchange, o effect.Outcome) (*recording, error) {
	status, ok := o.Data.Get("status").AsInt()
	if !ok || status < 100 || status > 999 {
		return nil, fault.New(ErrRecord, "capture.answer", "the outcome has no HTTP status")
	}
	a := &recording{
		status: int(status), headers: http.Header{}, trailers: http.Header{}, resized: len(o.Redacted) > 0,
		broke: brokenOf(o.Data), early: o.Data.Get("informational").Elems(),
	}
	if o.Status == effect.Interrupted && a.broke.by == "" {
		a.broke.by = byUpstream
	}
	if err := addHeaders(a.headers, o.Data.Get("headers")); err != nil {
		return nil, err
	}
	if err := addHeaders(a.trailers, o.Data.Get("trailers")); err != nil {
		return nil, err
	}
	if h.p.o.Pace > 0 && !x.Has(drive.TimingName) {
		var err error
		if a.after, err = x.Took(ctx); err != nil {
			return nil, err
		}
	}
	if !x.Has(ResponseName) {
		return a, nil
	}
	var err error
	if a.body, err = x.Content(ctx, ResponseName); err != nil {
		return nil, err
	}
	if to.rpc != nil && to.rpc.batch == 0 {
		if err := h.readdress(ctx, a, to.rpc, x); err != nil {
			return nil, err
		}
	}
	if x.Has(drive.TimingName) {
		t, err := x.Content(ctx, drive.TimingName)
		if err != nil {
			return nil, err
		}
		if a.parts, err = drive.ParseTiming(t); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// readdress gives the answer to a JSON-RPC request the id of the one that
// asks now, if it has another.
func (h *handler) readdress(ctx context.Context, a *recording, now *rpc, x *drive.Exchange) error {
	rec := h.p.o.Record
	if rec == nil || now.id.IsZero() {
		return nil
	}
	if x.Record() == nil { // it was given
		v, err := canon.Parse(a.body)
		if err == nil && v.Get("jsonrpc").Str() == "2.0" {
			a.body, a.resized = withIDs(a.body, v.Get("id"), now.id), true
		}
		return nil //nolint:nilerr // whatever was given is the answer
	}
	o, err := rec.Reader.Ref(ctx, x.Record().Call)
	if err != nil {
		return err
	}
	i := o.Attachment(RequestName)
	if i < 0 {
		return nil
	}
	b, err := rec.Reader.Bytes(ctx, o, i)
	if err != nil {
		return err
	}
	then, err := canon.Parse(b)
	if err != nil {
		return err
	}
	if body := withIDs(a.body, then.Get("id"), now.id); len(body) != len(a.body) || string(body) != string(a.body) {
		a.body, a.resized = body, true
	}
	return nil
}

// give writes the answer.
func (a *recording) give(w http.ResponseWriter, r *http.Request, pace float64) {
	if pace > 0 && a.after > 0 && !sleep(r.Context(), time.Duration(float64(a.after)/pace)) {
		panic(http.ErrAbortHandler)
	}
	for _, e := range a.early {
		header := http.Header{}
		code, _ := e.Get("status").AsInt()
		if code > http.StatusSwitchingProtocols && code < http.StatusOK && addHeaders(header, e.Get("headers")) == nil {
			inform(w, int(code), header)
		}
	}
	out := w.Header()
	maps.Copy(out, a.headers)
	exactly(out)
	if out["Content-Length"] != nil && a.resized && a.broke.by == "" && r.Method != http.MethodHead {
		out["Content-Length"] = []string{strconv.Itoa(len(a.body))} // stand-ins have other lengths
	}
	for name := range a.trailers {
		out.Add("Trailer", name)
	}
	w.WriteHeader(a.status)
	a.write(w, r, pace)
	if a.hold != nil {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		a.hold()
	}
	if a.broke.by != "" {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		if a.broke.by == byClient && r.Method == http.MethodGet {
			// The upstream would have gone on: an event stream is held open
			// until the client leaves it, as it did.
			<-r.Context().Done()
		}
		hangUp(w, a.broke)
	}
	for name, values := range a.trailers {
		out[http.TrailerPrefix+name] = values
	}
}

func (a *recording) write(w http.ResponseWriter, r *http.Request, pace float64) {
	f, ok := w.(http.Flusher)
	if !ok || len(a.parts) == 0 {
		a.turn()
		_, _ = w.Write(a.body)
		return
	}
	f.Flush()
	rest := a.body
	for i, p := range a.parts {
		if i == len(a.parts)-1 {
			a.turn()
		}
		if pace > 0 && !sleep(r.Context(), time.Duration(float64(p.After)/pace)) {
			return
		}
		n := min(p.Size, len(rest))
		_, _ = w.Write(rest[:n])
		f.Flush()
		rest = rest[n:]
	}
	_, _ = w.Write(rest)
}

// sleep waits, and reports whether it was not interrupted.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
