package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of the client's own.
const (
	// ErrAddress means that the address of the server is not an http or https
	// URL.
	ErrAddress fault.Invalid = "client.bad_address"
	// ErrUnreachable means that no answer came. Look at the address, or try
	// again.
	ErrUnreachable fault.Unavailable = "client.unreachable"
	// ErrAnswer means that the answer is none of this API. Look at what
	// answers at the address, and at its version.
	ErrAnswer fault.Unavailable = "client.bad_answer"
	// ErrBroken means that an answer broke off before its end. Nothing of it
	// may be relied on.
	ErrBroken fault.Unavailable = "client.answer_broken"
)

// maxAnswer bounds a JSON answer.
const maxAnswer = 64 << 20

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// HTTP makes the requests; nil: a client without a proxy, since the
	// server is on this machine as a rule. It should have no timeout, because
	// streams have no end; contexts end requests.
	HTTP *http.Client
}

// Client asks one server.
type Client struct {
	base *url.URL
	http *http.Client
}

// New returns a client of the server at an address such as
// http://127.0.0.1:7070. It does not connect.
func New(address string, opts *Options) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(ErrAddress, "client.New", "the address of a server is an http or https URL, such as http://127.0.0.1:7070")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	c := &Client{base: u, http: &http.Client{Transport: &http.Transport{}}}
	if opts != nil && opts.HTTP != nil {
		c.http = opts.HTTP
	}
	return c, nil
}

// Runs yields the runs, newest first, page by page.
func (c *Client) Runs(ctx context.Context) iter.Seq2[api.Run, error] {
	return func(yield func(api.Run, error) bool) {
		for before := ""; ; {
			q := url.Values{}
			if before != "" {
				q.Set("before", before)
			}
			page, err := get[api.RunPage](ctx, c, q, "v1", "runs")
			if err != nil {
				yield(api.Run{}, err)
				return
			}
			for _, r := range page.Runs {
				if !yield(r, nil) {
					return
				}
			}
			if before = page.Next; before == "" {
				return
			}
		}
	}
}

// Run returns one run.
func (c *Client) Run(ctx context.Context, run string) (api.RunDetail, error) {
	return get[api.RunDetail](ctx, c, nil, "v1", "runs", run)
}

// Entries yields the entries of a run from number from on, page by page.
func (c *Client) Entries(ctx context.Context, run string, from int64) iter.Seq2[api.Entry, error] {
	return pages(run, from, func(run string, q url.Values) (page[api.Entry], error) {
		p, err := get[api.EntryPage](ctx, c, q, "v1", "runs", run, "entries")
		return page[api.Entry]{p.Run, p.Entries, p.Next}, err
	})
}

// page is a page of what a run holds.
type page[T any] struct {
	run  string
	list []T
	next *int64 // where the next one begins; nil on the last
}

// pages yields what a run holds from number from on, page by page.
func pages[T any](run string, from int64, fetch func(run string, q url.Values) (page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		name, next := run, &from
		for next != nil {
			p, err := fetch(name, url.Values{"from": {strconv.FormatInt(*next, 10)}})
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, x := range p.list {
				if !yield(x, nil) {
					return
				}
			}
			name, next = p.run, p.next // last may mean another run by now
		}
	}
}

// Attachment returns the bytes of an attachment, to be read to their end and
// closed. Bytes that are not the recorded ones give an error before their end.
func (c *Client) Attachment(ctx context.Context, run string, n int64, name string) (io.ReadCloser, error) {
	body, err := c.ask(ctx, http.MethodGet, nil, nil, "", "v1", "runs", run, "entries", strconv.FormatInt(n, 10), "attachments", name)
	if err != nil {
		return nil, err
	}
	return body, nil
}

// Heads returns the signed heads of a run.
func (c *Client) Heads(ctx context.Context, run string) (api.HeadList, error) {
	return get[api.HeadList](ctx, c, nil, "v1", "runs", run, "heads")
}

// Verify verifies a run on the server. What is wrong with it is in the report.
func (c *Client) Verify(ctx context.Context, run string, what api.VerifyRequest) (api.Report, error) {
	b, err := json.Marshal(what)
	if err != nil {
		return api.Report{}, fault.Wrap(fault.ErrUnknown, "client.Verify", err, "the request")
	}
	body, err := c.ask(ctx, http.MethodPost, nil, bytes.NewReader(b), "application/json", "v1", "runs", run, "verify")
	return decode[api.Report](body, err)
}

// Diff compares two runs, step by step.
func (c *Client) Diff(ctx context.Context, a, b string) (api.Report, error) {
	return get[api.Report](ctx, c, url.Values{"a": {a}, "b": {b}}, "v1", "diff")
}

// Export writes the bundle of a run, and of the runs that it stands on unless
// alone.
func (c *Client) Export(ctx context.Context, run string, w io.Writer, alone bool) error {
	body, err := c.ask(ctx, http.MethodGet, url.Values{"alone": {strconv.FormatBool(alone)}}, nil, "", "v1", "runs", run, "bundle")
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// Import sends a bundle. Partial takes one that withholds contents.
func (c *Client) Import(ctx context.Context, bundle io.Reader, partial bool) (api.ImportResult, error) {
	body, err := c.ask(ctx, http.MethodPost, url.Values{"partial": {strconv.FormatBool(partial)}}, bundle, api.BundleType, "v1", "bundles")
	return decode[api.ImportResult](body, err)
}

// Keys returns what is public of the server's keys. They are to be compared
// with what came another way, not trusted because the server says so.
func (c *Client) Keys(ctx context.Context) (api.Keys, error) {
	return get[api.Keys](ctx, c, nil, "v1", "keys")
}

// Ready returns nil if the server and its store answer.
func (c *Client) Ready(ctx context.Context) error {
	_, err := get[api.Health](ctx, c, nil, "readyz")
	return err
}

func get[T any](ctx context.Context, c *Client, query url.Values, path ...string) (T, error) {
	body, err := c.ask(ctx, http.MethodGet, query, nil, "", path...)
	return decode[T](body, err)
}

// ask sends a request and returns the body of the answer. An answer that is an
// error is one.
func (c *Client) ask(ctx context.Context, method string, query url.Values, body io.Reader, typ string, path ...string) (*whole, error) {
	const op = "client"
	// A name with a slash, or that is nothing but dots, is one element all
	// the same.
	u := *c.base
	for _, p := range path {
		if p == "" || p == "." || p == ".." {
			return nil, fault.New(ErrAddress, op, "%q names nothing", p)
		}
		u.RawPath = u.EscapedPath() + "/" + url.PathEscape(p)
		u.Path += "/" + p
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, fault.Wrap(ErrAddress, op, err, "the request")
	}
	if typ != "" {
		req.Header.Set("Content-Type", typ)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fault.Wrap(ErrUnreachable, op, err, "the server gave no answer")
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return &whole{resp.Body}, nil
}

// maxProblem bounds an answer that is an error.
const maxProblem = 1 << 20

// problem returns the error that an answer is.
func problem(resp *http.Response) error {
	const op = "client"
	var p api.Problem
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err == nil && typ == api.ProblemType {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Code == "" {
		return fault.New(ErrAnswer, op, "the answer is %s and no problem document", resp.Status)
	}
	code, err := fault.Recorded(p.Class, p.Code)
	if err != nil {
		return fault.Wrap(ErrAnswer, op, err, "the answer is %s with code %s", resp.Status, p.Code)
	}
	e := fault.New(code, op, "%s", p.Detail)
	for _, d := range p.Errors {
		line := d.Message
		if d.Location != "" {
			line = d.Location + ": " + line
		}
		e = e.With(line)
	}
	return e
}

func decode[T any](body *whole, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return v, err
	}
	if len(b) > maxAnswer {
		return v, fault.New(ErrAnswer, "client", "the answer is over %d bytes", maxAnswer)
	}
	return v, fault.Wrap(ErrAnswer, "client", json.Unmarshal(b, &v), "the answer")
}

// whole is a body whose end is its end: one that was broken off is an error.
type whole struct{ io.ReadCloser }

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fault.Wrap(ErrBroken, "client", err, "the answer broke off")
	}
	return n, err
}
