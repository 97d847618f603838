package reprise

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrAddress means that the address of an upstream is not an http or https
// URL.
const ErrAddress fault.Invalid = "reprise.bad_address"

// Transport returns a round tripper for the HTTP clients of the agent. Every
// request through it is recorded, or answered from the record. Streams are
// passed on as they come; the end of an answer is given when it is durable.
func (s *Session) Transport() http.RoundTripper { return &transport{s} }

// Client returns an HTTP client over [Session.Transport].
func (s *Session) Client() *http.Client { return &http.Client{Transport: s.Transport()} }

// BaseURL returns an address on the loopback that stands for the upstream of
// that base URL, or of that name where the session or its record names one, for clients that take no transport and for child processes.
// It answers until the agent returns.
func (s *Session) BaseURL(ctx context.Context, upstream string) (string, error) {
	if address := s.taps.addresses[upstream]; address != "" {
		upstream = address
	}
	u, err := parseAddress(upstream)
	if err != nil {
		return "", err
	}
	t, err := s.taps.to(u)
	if err != nil {
		return "", err
	}
	return s.taps.listen(ctx, t, u)
}

func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(ErrAddress, "reprise", "the address of an upstream is an http or https URL, such as https://api.openai.com/v1")
	}
	return u, nil
}

// transport sends requests through the recorder's proxy, over connections in
// memory.
type transport struct{ s *Session }

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if within(r.Context(), t.s) {
		return t.s.taps.direct.RoundTrip(r)
	}
	tap, err := t.s.taps.to(r.URL)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.User = "http", nil
	if user := r.URL.User; user != nil && out.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		out.SetBasicAuth(user.Username(), password)
	}
	resp, err := tap.client.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Request = r
	return resp, nil
}

// plain returns a transport that adds nothing and reads no environment.
func plain() *http.Transport {
	return &http.Transport{DisableCompression: true, IdleConnTimeout: 90 * time.Second}
}

// taps are the ways to the upstreams of one session.
type taps struct {
	proxy  *capture.Proxy
	direct http.RoundTripper // past the recorder
	names  map[string]string // by origin

	addresses map[string]string // by name

	mu     sync.Mutex
	open   map[string]*tap // by origin
	closed bool
}

// tap is the way to one upstream: a server in front of the recorder's proxy,
// and a client that is connected to it in memory.
type tap struct {
	server *http.Server
	client *http.Transport
}

func newTaps(named map[string]string) (*taps, error) {
	t := &taps{names: map[string]string{}, addresses: named, open: map[string]*tap{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		u, err := parseAddress(named[name])
		if err != nil {
			return nil, err
		}
		if other := t.names[origin(u)]; other != "" {
			return nil, fault.New(ErrAddress, "reprise", "the upstreams %s and %s have one host", other, name)
		}
		t.names[origin(u)] = name
	}
	return t, nil
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// to returns the tap to the upstream of a URL.
func (t *taps) to(u *url.URL) (*tap, error) {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(ErrAddress, "reprise", "only requests to http and https addresses are recorded")
	}
	at := origin(u)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, fault.New(ErrEnded, "reprise", "the run has ended")
	}
	if tp := t.open[at]; tp != nil {
		return tp, nil
	}
	name := t.names[at]
	if name == "" {
		name = u.Host
	}
	h, err := t.proxy.To(capture.Upstream{Name: name, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}})
	if err != nil {
		return nil, err
	}
	pipe := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	tp := &tap{
		server: &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0)},
		client: &http.Transport{DisableCompression: true, DialContext: pipe.dial, MaxIdleConnsPerHost: 64},
	}
	go func() { _ = tp.server.Serve(pipe) }() // ends with close
	t.open[at] = tp
	return tp, nil
}

// ErrEnded means that a session was used after its agent had returned.
const ErrEnded fault.Invalid = "reprise.session_ended"

// listen puts a tap on a loopback address.
func (*taps) listen(ctx context.Context, tp *tap, u *url.URL) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fault.Wrap(capture.ErrListen, "reprise.BaseURL", err, "a loopback address")
	}
	go func() { _ = tp.server.Serve(ln) }() // ends with close, which closes ln too
	local := url.URL{Scheme: "http", Host: ln.Addr().String(), Path: u.Path, RawPath: u.RawPath}
	return local.String(), nil
}

// drainFor is how long answers may take that are still coming when the agent
// has returned.
const drainFor = 2 * time.Second

func (t *taps) close() {
	t.mu.Lock()
	t.closed = true
	open := t.open
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	for _, at := range slices.Sorted(maps.Keys(open)) {
		tp := open[at]
		tp.client.CloseIdleConnections()
		if tp.server.Shutdown(ctx) != nil {
			_ = tp.server.Close()
		}
	}
}

// pipes is a listener whose connections stay in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, errors.Join(net.ErrClosed, client.Close(), server.Close())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), client.Close(), server.Close())
	}
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements [net.Listener].
func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
