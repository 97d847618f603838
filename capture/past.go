package capture

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Past is a whole exchange that somebody else recorded.
type Past struct {
	Method string
	URL    *url.URL
	Proto  string // HTTP/1.1; empty: unknown
	Header http.Header
	Body   []byte

	Status         int
	ResponseHeader http.Header
	Trailer        http.Header
	Response       []byte

	// About is what the importer has to say of the exchange. It stands in the
	// outcome's data, as the member import.
	About canon.Value

	// Evidence is set if the exchange must not answer anything: the outcome
	// then is an error with this code, and Why says why.
	Evidence fault.Code
	Why      string
}

// Take puts an exchange into the session with the entries that it would have
// if the proxy had seen it, but for the time at which its parts came: nobody
// knows it.
func (p *Proxy) Take(ctx context.Context, upstream string, e *Past) error {
	const op = "capture.Take"
	u := p.names[upstream]
	if u == nil {
		return fault.New(ErrUpstream, op, "there is no upstream %q", upstream)
	}
	h := &handler{p: p, u: u}
	if err := e.Check(min(p.o.MaxRequest, p.o.MaxWhole)); err != nil {
		return err
	}
	r := e.request(ctx)
	call, err := h.call(r, routeOf(r, e.Body), e.Body)
	if err != nil {
		return err
	}
	x, err := p.at.Begin(ctx, call)
	if err != nil {
		return err
	}
	resp := &http.Response{StatusCode: e.Status, Header: e.ResponseHeader, TransferEncoding: e.ResponseHeader["Transfer-Encoding"]}
	a := &answering{h: h, r: r, x: x, resp: resp}
	o := effect.Outcome{Status: effect.OK, Data: a.outcomeHead().With("import", e.About), Redacted: a.names}
	if t := p.o.Redactor.Headers(e.Trailer, nil, nil); len(t) > 0 {
		o.Data = o.Data.With("trailers", canon.Array(t...))
	}
	if len(e.Response) > 0 {
		s, err := p.o.Redactor.Answer(e.ResponseHeader, e.Response, DefaultMaxWhole, false)
		if err != nil {
			return err
		}
		o.Redacted = redact.Union(a.names, s.Names)
		o.Data = a.seen(o.Data, s.Blind)
		o.Contents = []ledger.Content{{Name: ResponseName, Type: contentType(e.ResponseHeader), Bytes: s.Stored}}
	}
	if e.Evidence != nil {
		o.Status, o.Code = effect.Error, e.Evidence
		o.Data = o.Data.With("message", canon.String(e.Why))
	}
	return x.End(ctx, o)
}

// Check refuses what a proxy would not have taken: a head that no ledger body
// holds, or a request over the limit; 0 is [DefaultMaxWhole].
func (e *Past) Check(maxRequest int64) error {
	const op = "capture.Check"
	if maxRequest == 0 {
		maxRequest = DefaultMaxWhole
	}
	if headSize(e.Header)+len(e.URL.RawQuery)+len(e.URL.Path) > maxHead || headSize(e.ResponseHeader)+headSize(e.Trailer) > maxHead {
		return fault.New(ErrTooLarge, op, "the head of a request or of an answer is over the limit of %d bytes", maxHead)
	}
	if int64(len(e.Body)) > maxRequest {
		return fault.New(ErrTooLarge, op, "a request of %d bytes; the limit is %d", len(e.Body), maxRequest)
	}
	return nil
}

// request returns the request as the handler of a listener would get it.
func (e *Past) request(ctx context.Context) *http.Request {
	u := *e.URL
	u.Scheme, u.Host, u.User, u.Fragment = "", "", nil, ""
	if u.Path == "" {
		u.Path = "/"
	}
	header := e.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	delete(header, "Host")
	proto := e.Proto
	if proto == "" {
		proto = "HTTP/1.1"
	}
	r := &http.Request{Method: e.Method, URL: &u, Proto: strings.ToUpper(proto), Header: header, Host: e.URL.Host, ContentLength: int64(len(e.Body))}
	return r.WithContext(ctx)
}
