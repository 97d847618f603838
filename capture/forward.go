package capture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Who broke an answer off, as the member broke of an interrupted outcome says.
const (
	byClient   = "client"
	byUpstream = "upstream"
)

// forward sends the request on and gives the answer to the client as it
// comes; the last byte of it only when the outcome is durable.
func (h *handler) forward(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, b *body, x *drive.Exchange, ch *changed) {
	// The upstream is not left as soon as the client is gone: many clients
	// close when they have read the event that says the end, and the end
	// itself is just behind it.
	up, leave := context.WithCancel(ctx)
	defer leave()
	defer context.AfterFunc(r.Context(), func() { time.AfterFunc(h.p.o.Grace, leave) })()
	early := informing{w: w, red: h.p.o.Redactor}
	out := h.outgoing(early.listen(up, b), r, b)
	if ch != nil {
		h.p.sets.made(ch)
		ch.apply(out)
	}
	if err := resign(out, r.Host, h.p.o.AWSKeys, func() (io.Reader, error) { return ch.reader(b), nil }); err != nil {
		h.unreachable(ctx, w, r, x, err)
		return
	}
	resp, err := h.p.out.RoundTrip(out)
	said := early.stop()
	if err != nil {
		h.unreachable(ctx, w, r, x, err)
		return
	}
	defer resp.Body.Close()
	a := h.answered(ctx, w, r, to, x, resp)
	if a == nil {
		return
	}
	if said != nil {
		a.head = a.head.With("informational", canon.Array(said...))
	}
	a.pass(ctx)
}

// answered takes the head of an answer. One over the limit ends the exchange,
// and nothing is left to do: the answering is nil.
func (h *handler) answered(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, x *drive.Exchange, resp *http.Response) *answering {
	a := &answering{h: h, w: w, r: r, x: x, resp: resp, to: to}
	if headSize(resp.Header) > maxHead {
		a.refuse(ctx)
		return nil
	}
	a.head = a.outcomeHead()
	return a
}

// pass gives an answer to the client in the way that fits its length.
func (a *answering) pass(ctx context.Context) {
	resp := a.resp
	switch {
	case a.r.Method == http.MethodHead || resp.ContentLength == 0 || bodiless(resp.StatusCode):
		a.short(ctx, nil)
	case resp.ContentLength > 0 && resp.ContentLength <= holdMax:
		a.held(ctx)
	default:
		a.stream(ctx)
	}
}

// outgoing returns the request for the upstream: the same but for what
// belongs to the connection.
func (h *handler) outgoing(ctx context.Context, r *http.Request, b *body) *http.Request {
	u := *r.URL
	u.Scheme, u.Host = h.u.URL.Scheme, h.u.URL.Host
	if path := h.rewritten(u.Path); path != "" {
		u.Path, u.RawPath = path, ""
	}
	header := make(http.Header, len(r.Header)+2)
	copyHeader(header, r.Header)
	delete(header, "Expect") // the body is here already
	if te := r.Header["Te"]; slices.ContainsFunc(te, func(v string) bool { return strings.Contains(v, "trailers") }) {
		header["Te"] = []string{"trailers"}
	}
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = []string{""} // or the transport would set its own
	}
	if user := h.u.URL.User; user != nil && header["Authorization"] == nil {
		header["Authorization"] = []string{basic(user)}
	}
	out := &http.Request{
		Method: r.Method, URL: &u, Header: header, Host: u.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: r.ContentLength, Trailer: r.Trailer,
	}
	if !b.empty() || r.ContentLength < 0 {
		b.hold()
		if b.large == nil {
			// The transport knows this type, and writes head and body at once.
			out.Body = io.NopCloser(bytes.NewReader(b.b))
		} else {
			out.Body = &sending{b: b, r: b.reader()}
		}
	}
	return out.WithContext(ctx)
}

func basic(u *url.Userinfo) string {
	r := http.Request{Header: http.Header{}}
	password, _ := u.Password()
	r.SetBasicAuth(u.Username(), password)
	return r.Header.Get("Authorization")
}

// sending is a large request on its way to the upstream.
type sending struct {
	mu sync.Mutex // the transport may close it while it reads
	r  io.Reader
	b  *body
}

// Read implements [io.Reader].
func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	return s.r.Read(p)
}

// Close implements [io.Closer]; the transport calls it when it reads no more.
func (s *sending) Close() error {
	s.mu.Lock()
	open := s.r != nil
	s.r = nil
	s.mu.Unlock()
	if open {
		s.b.release()
	}
	return nil
}

// bodiless reports whether an answer of that status has no body.
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusNotModified || status < 200
}

// unreachable records that no answer came.
func (h *handler) unreachable(ctx context.Context, w http.ResponseWriter, r *http.Request, x *drive.Exchange, err error) {
	o := effect.Outcome{Status: effect.Error, Code: ErrUnreachable}
	if r.Context().Err() != nil {
		o = effect.Outcome{Status: effect.Interrupted, Data: canon.Object(canon.M("broke", canon.String(byClient)))}
	} else {
		msg := h.p.o.Redactor.Text(strings.ToValidUTF8(err.Error(), "\uFFFD"))
		o.Data = canon.Object(canon.M("message", canon.String("the upstream "+h.u.Name+" at "+h.u.Address()+" gave no answer: "+msg)))
	}
	if err := x.End(ctx, o); err != nil {
		h.broken(w, err)
		return
	}
	h.noAnswer(w, o)
}

// noAnswer tells the client that the upstream gave no answer; live and in a
// replay in the same words.
func (*handler) noAnswer(w http.ResponseWriter, o effect.Outcome) {
	if o.Status == effect.Interrupted {
		panic(http.ErrAbortHandler)
	}
	w.Header()["Date"] = nil
	problem(w, http.StatusBadGateway, o.Code, o.Data.Get("message").Str())
}

// answering is an answer on its way from the upstream to the client.
type answering struct {
	h    *handler
	w    http.ResponseWriter
	r    *http.Request
	x    *drive.Exchange
	to   route
	resp *http.Response
	head canon.Value // the outcome's data without trailers

	names []string // of the secrets that the head holds
}

// outcomeHead returns what the outcome says of the answer's head.
func (a *answering) outcomeHead() canon.Value {
	red := a.h.p.o.Redactor
	found := func(name, value string, c redact.Credential) {
		red.LearnCredential(name, value)
		if !slices.Contains(a.names, name) {
			a.names = append(a.names, name)
		}
	}
	list := red.Headers(a.resp.Header, hopHeader, found)
	v := canon.Object(
		canon.M("headers", canon.Array(list...)),
		canon.M("status", canon.Int(int64(a.resp.StatusCode))),
	)
	if len(a.resp.TransferEncoding) > 0 {
		v = v.With("transfer", canon.String(strings.Join(a.resp.TransferEncoding, ", ")))
	}
	return v
}

// refuse ends an exchange whose answer has too long a head.
func (a *answering) refuse(ctx context.Context) {
	o := effect.Outcome{Status: effect.Error, Code: ErrTooLarge, Data: canon.Object(canon.M("message", canon.String("the head of the answer is over the limit")))}
	if err := a.x.End(ctx, o); err != nil {
		a.h.broken(a.w, err)
		return
	}
	a.h.noAnswer(a.w, o)
}

// begin writes the head of the answer as it came.
func (a *answering) begin() {
	out := a.w.Header()
	copyHeader(out, a.resp.Header)
	exactly(out)
	if len(a.resp.Trailer) > 0 {
		names := make([]string, 0, len(a.resp.Trailer))
		for name := range a.resp.Trailer {
			names = append(names, name)
		}
		slices.Sort(names)
		out["Trailer"] = names
	}
	a.w.WriteHeader(a.resp.StatusCode)
}

// exactly keeps the server from adding headers that did not come.
func exactly(h http.Header) {
	if _, ok := h["Date"]; !ok {
		h["Date"] = nil
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil
	}
}

// short ends an answer whose bytes are all there, and gives it to the client.
func (a *answering) short(ctx context.Context, body []byte, timing ...ledger.Content) {
	o := effect.Outcome{Status: effect.OK, Data: a.head, Redacted: a.names}
	if len(body) > 0 {
		s, err := a.h.p.o.Redactor.Answer(a.resp.Header, body, DefaultMaxWhole, false)
		if err != nil {
			a.lost(ctx, err)
		}
		o.Redacted = redact.Union(o.Redacted, s.Names)
		o.Data = a.seen(o.Data, s.Blind)
		o.Contents = append([]ledger.Content{{Name: ResponseName, Type: contentType(a.resp.Header), Bytes: s.Stored}}, timing...)
	}
	if err := a.x.End(ctx, o); err != nil {
		a.h.broken(a.w, err)
		return
	}
	a.begin()
	_, _ = a.w.Write(body)
}

// seen says in the data of an outcome if nobody could look behind the coding
// of the answer.
func (a *answering) seen(data canon.Value, blind bool) canon.Value {
	if !blind {
		return data
	}
	return data.With(unscanned, canon.String(strings.ToValidUTF8(a.resp.Header.Get("Content-Encoding"), "\uFFFD")))
}

// held reads a short answer of known length to its end before the client gets
// any of it: one write and one entry, and nothing to stage.
func (a *answering) held(ctx context.Context) {
	buf, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	size := int(a.resp.ContentLength)
	if cap(*buf) < size {
		*buf = make([]byte, 0, size)
	}
	b := (*buf)[:size]
	n, err := io.ReadFull(a.resp.Body, b)
	if err == nil {
		a.short(ctx, b)
		return
	}
	// The bytes that came before the answer broke off go to the client, and
	// then it breaks off for the client too.
	how := a.breaker(err)
	s, lost := a.h.p.o.Redactor.Answer(a.resp.Header, b[:n], DefaultMaxWhole, true)
	if lost != nil {
		a.lost(ctx, lost)
	}
	o := effect.Outcome{
		Status: effect.Interrupted, Redacted: redact.Union(a.names, s.Names),
		Data:     a.seen(how.note(a.head), s.Blind),
		Contents: []ledger.Content{{Name: ResponseName, Type: contentType(a.resp.Header), Bytes: s.Stored}},
	}
	if err := a.x.End(ctx, o); err != nil {
		a.h.broken(a.w, err)
		return
	}
	a.begin()
	_, _ = a.w.Write(b[:n])
	hangUp(a.w, how)
}

func (a *answering) flush() {
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}

//nolint:gochecknoglobals // memory that is used again, not state
var parts = sync.Pool{New: func() any { b := make([]byte, partMax); return &b }}

// stream gives the client each part of the answer when it is staged, and the
// end when the outcome is durable: the end of the chunked coding, or the last
// byte where the length is known; and before that the event that says the end
// (see [finale]).
func (a *answering) stream(ctx context.Context) {
	st, err := a.x.Stream(ResponseName, contentType(a.resp.Header), a.head)
	if err != nil {
		a.lost(ctx, err)
	}
	buf, _ := parts.Get().(*[]byte)
	defer parts.Put(buf)
	a.begin()
	a.flush()
	rec, err := a.recorder(st)
	if err != nil {
		a.lost(ctx, err)
	}
	defer rec.close()
	heard := newOverhearing(&a.to, a.resp.Header.Get("Content-Type"))
	out := newFinale(a, heard)
	defer out.close()
	left := a.resp.ContentLength
	var last []byte
	var broke broken
	for broke.by == "" {
		n, err := a.resp.Body.Read(*buf)
		if n > 0 {
			p := (*buf)[:n]
			heard.write(p)
			if err := rec.write(p); err != nil {
				a.lost(ctx, err)
			}
			if left >= 0 {
				if left -= int64(n); left == 0 {
					last = append(last, p[n-1])
					p = p[:n-1]
				}
			}
			out.write(p) // if the client is gone what still comes is recorded
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			broke = a.breaker(err)
		}
	}
	o := effect.Outcome{Status: effect.OK, Data: a.head, Redacted: a.names}
	if broke.by != "" {
		o.Status, o.Data = effect.Interrupted, broke.note(a.head)
	}
	if err := rec.end(&o, broke.by != ""); err != nil {
		a.lost(ctx, err)
	}
	if t := a.h.p.o.Redactor.Headers(a.resp.Trailer, nil, nil); len(t) > 0 {
		o.Data = o.Data.With("trailers", canon.Array(t...))
	}
	if err := heard.note(ctx, a.h.p, a.x.N()); err != nil {
		a.lost(ctx, err)
	}
	if err := a.x.End(ctx, o); err != nil {
		panic(http.ErrAbortHandler) // the client must not take this for an answer
	}
	held, gone := out.close()
	_, _ = a.w.Write(held)
	if broke.by != "" || gone {
		hangUp(a.w, broke)
	}
	_, _ = a.w.Write(last)
	for name, values := range a.resp.Trailer {
		a.w.Header()[http.TrailerPrefix+name] = values
	}
}

// lost ends an answer that cannot be recorded: the client must not have it.
func (a *answering) lost(ctx context.Context, err error) {
	_ = a.x.End(ctx, effect.Outcome{Status: effect.Interrupted, Code: fault.CodeOf(err), Data: a.head})
	panic(http.ErrAbortHandler)
}
