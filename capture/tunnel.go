package capture

import (
	"bufio"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of the forward proxy.
const (
	// ErrSealed means that a hermetic replay was asked for a host that the
	// replayer does not answer for. Nothing left the machine. Record it, or
	// replay without --hermetic.
	ErrSealed fault.Denied = "capture.host_refused"
	// ErrForward means that a request cannot be passed on as a proxy does:
	// it names no host, or comes from somebody who is not the run's child.
	ErrForward fault.Invalid = "capture.bad_proxy_request"
)

// tunnel is the forward proxy of one run, for clients that take no base URL.
// Where a provider is asked it is the provider, with a certificate of the
// run's authority, and hands the requests to the handlers of its upstreams;
// everything else it passes on without looking at it.
type tunnel struct {
	p      *Proxy
	ca     *authority
	hosts  *intercepts
	secret string // what the child says to be let in
	sealed bool   // nothing is passed on

	inner *http.Server // of what was taken out of tunnels
	took  *handover
	plain *httputil.ReverseProxy

	mu     sync.Mutex
	passed map[string]int64 // hosts that were tunnelled
	denied map[string]int64 // hosts that were refused
	open   map[net.Conn]bool
	ended  bool
}

const (
	proxyUser   = "reprise"
	dialPatient = 30 * time.Second
	maxHosts    = 1000 // that are counted one by one
)

func newTunnel(p *Proxy, ca *authority, hosts *intercepts, secret string, sealed bool) *tunnel {
	t := &tunnel{
		p: p, ca: ca, hosts: hosts, secret: secret, sealed: sealed,
		took:   &handover{conns: make(chan net.Conn), done: make(chan struct{})},
		passed: map[string]int64{}, denied: map[string]int64{}, open: map[net.Conn]bool{},
	}
	t.inner = &http.Server{
		Handler: http.HandlerFunc(t.serveTaken), ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 2 * maxHead, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: t.secured(), // says that the server knows HTTP/2
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if s, ok := c.(*tls.Conn); ok {
				c = s.NetConn()
			}
			return context.WithValue(ctx, takenKey{}, c)
		},
	}
	go func() { _ = t.inner.Serve(t.took) }() // ends with close
	t.plain = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Header.Del("Proxy-Authorization") },
		Transport: transport(), FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			problem(w, http.StatusBadGateway, ErrUnreachable, err.Error())
		},
	}
	return t
}

// close hangs up on everything that goes through. The listener must be closed
// before.
func (t *tunnel) close(ctx context.Context) {
	t.mu.Lock()
	t.ended = true
	for c := range t.open {
		_ = c.Close()
	}
	t.mu.Unlock()
	if t.inner.Shutdown(ctx) != nil {
		_ = t.inner.Close()
	}
}

// ServeHTTP implements [http.Handler].
func (t *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !t.known(r) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="reprise"`)
		problem(w, http.StatusProxyAuthRequired, ErrForward, "this proxy is for the child of one run")
		return
	}
	if r.Method == http.MethodConnect {
		t.connect(w, r)
		return
	}
	if r.URL.Host == "" || r.URL.Scheme != "http" {
		problem(w, http.StatusBadRequest, ErrForward, "a proxy is asked for a whole address")
		return
	}
	if u := t.hosts.find(r.URL.Scheme, r.URL.Hostname(), portOf(r.URL)); u != nil && !t.past(u, r) {
		t.handle(w, r, u)
		return
	}
	host := net.JoinHostPort(r.URL.Hostname(), portOf(r.URL))
	if t.sealed {
		t.refuse(w, host)
		return
	}
	t.count(t.passed, host)
	t.plain.ServeHTTP(w, r)
}

// known reports whether the run's child asks: only who reads its environment
// has the secret.
func (t *tunnel) known(r *http.Request) bool {
	name, value, ok := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	if !ok || !strings.EqualFold(name, "Basic") {
		return false
	}
	asked := http.Request{Header: http.Header{"Authorization": {"Basic " + strings.TrimSpace(value)}}}
	user, password, ok := asked.BasicAuth()
	return ok && user == proxyUser && subtle.ConstantTimeCompare([]byte(password), []byte(t.secret)) == 1
}

func (t *tunnel) refuse(w http.ResponseWriter, host string) {
	t.count(t.denied, host)
	problem(w, http.StatusForbidden, ErrSealed, "hermetic: "+host+" is not answered for")
}

func (t *tunnel) count(m map[string]int64, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, seen := m[host]; !seen && len(m) >= maxHosts {
		host = "others"
	}
	m[host]++
}

// handle gives a request to the handler of an upstream, as if it had come to
// the upstream's own listener.
func (t *tunnel) handle(w http.ResponseWriter, r *http.Request, u *Upstream) {
	h, err := t.p.To(*u)
	if err != nil {
		problem(w, http.StatusInternalServerError, fault.CodeOf(err), err.Error())
		return
	}
	own := *r.URL
	own.Scheme, own.Host, own.User = "", "", nil
	if own.Path == "" {
		own.Path = "/"
	}
	in := *r
	in.URL = &own
	h.ServeHTTP(w, &in)
}

// connect takes a tunnel over: as the provider, if one is asked for.
func (t *tunnel) connect(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil || host == "" || port == "" {
		problem(w, http.StatusBadRequest, ErrForward, "a tunnel leads to HOST:PORT")
		return
	}
	ours := t.hosts.find(schemeTLS, host, port) != nil || t.hosts.find("http", host, port) != nil
	if !ours && t.sealed {
		t.refuse(w, r.Host)
		return
	}
	var up net.Conn
	if !ours {
		d := net.Dialer{Timeout: dialPatient}
		if up, err = d.DialContext(r.Context(), "tcp", r.Host); err != nil {
			problem(w, http.StatusBadGateway, ErrUnreachable, err.Error())
			return
		}
		defer up.Close()
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		problem(w, http.StatusInternalServerError, ErrForward, "the connection cannot be taken over")
		return
	}
	conn, rw, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	if ours {
		t.take(&taken{Conn: conn, r: rw.Reader, host: host, port: port})
		return
	}
	defer conn.Close()
	if !t.enter(conn) {
		return
	}
	defer t.leave(conn)
	t.count(t.passed, net.JoinHostPort(host, port))
	splice(conn, rw.Reader, up)
}

// splice carries bytes both ways until both sides have ended.
func splice(conn net.Conn, from io.Reader, up net.Conn) {
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(up, from)
		closeWrite(up)
	})
	_, _ = io.Copy(conn, up)
	closeWrite(conn)
	wg.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}

func (t *tunnel) enter(c net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.open[c] = true
	}
	return !t.ended
}

func (t *tunnel) leave(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// taken is a connection that a client believes to lead to a provider.
type taken struct {
	net.Conn
	r    *bufio.Reader
	host string
	port string
	tls  bool
}

type takenKey struct{}

// Read implements [net.Conn]: the client may have spoken on before it was
// answered.
func (c *taken) Read(p []byte) (int, error) { return c.r.Read(p) }

// secured returns how the proxy speaks as a provider.
func (t *tunnel) secured() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Rand: t.ca.rand, Time: t.ca.now}
}

// take gives the connection to the inner server. What begins like TLS is TLS.
func (t *tunnel) take(c *taken) {
	_ = c.SetReadDeadline(time.Now().Add(dialPatient))
	first, err := c.r.Peek(1)
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	const handshake = 0x16
	c.tls = first[0] == handshake
	if !c.tls {
		t.took.put(c)
		return
	}
	cfg := t.secured()
	cfg.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if hello.ServerName != "" {
			return t.ca.leaf(hello.ServerName)
		}
		return t.ca.leaf(c.host)
	}
	t.took.put(tls.Server(c, cfg))
}

// serveTaken answers a request that came through a tunnel.
func (t *tunnel) serveTaken(w http.ResponseWriter, r *http.Request) {
	c, ok := r.Context().Value(takenKey{}).(*taken)
	if !ok {
		problem(w, http.StatusInternalServerError, ErrForward, "a request without a tunnel")
		return
	}
	scheme := "http"
	if c.tls {
		scheme = schemeTLS
	}
	u := t.hosts.find(scheme, c.host, c.port)
	if u == nil || t.past(u, r) {
		t.refuse(w, net.JoinHostPort(c.host, c.port))
		return
	}
	t.handle(w, r, u)
}

// past reports whether the recorded child asked for that past the recorder, as
// agents do who tell their vendor what they were used for: it had no forward
// proxy, and the host is one of a provider whose models alone it asked through
// the recorder. A model is looked for in the record all the same, however it
// is asked.
func (t *tunnel) past(u *Upstream, r *http.Request) bool {
	return t.hosts.only && u.Provider != "" && !IsModel(r.Method, r.URL.Path) && !asksForSocket(r)
}

// handover is a listener whose connections are put into it.
type handover struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (h *handover) put(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.done:
		_ = c.Close()
	}
}

// Accept implements [net.Listener].
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (h *handover) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements [net.Listener].
func (*handover) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// HostCount is how often a host was asked for.
type HostCount struct {
	Host string
	N    int64
}

func counted(m map[string]int64) []HostCount {
	out := make([]HostCount, 0, len(m))
	for host, n := range m {
		out = append(out, HostCount{host, n})
	}
	slices.SortFunc(out, func(a, b HostCount) int { return strings.Compare(a.Host, b.Host) })
	return out
}

// counts returns the hosts that were passed on to and those that were refused.
func (t *tunnel) counts() (passed, denied []HostCount) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return counted(t.passed), counted(t.denied)
}

func hostsValue(list []HostCount) canon.Value {
	out := make([]canon.Value, len(list))
	for i, h := range list {
		out[i] = canon.Object(canon.M("host", canon.String(strings.ToValidUTF8(h.Host, "\uFFFD"))), canon.M("n", canon.Int(h.N)))
	}
	return canon.Array(out...)
}

// proxyVars returns the variables by which the child is sent through a
// forward proxy at addr. The loopback is where the other listeners are.
func proxyVars(addr, secret string) []string {
	to := "http://" + proxyUser + ":" + secret + "@" + addr
	const local = "127.0.0.1,localhost,::1"
	return []string{
		"HTTPS_PROXY=" + to, "https_proxy=" + to, "HTTP_PROXY=" + to, "http_proxy=" + to, "ALL_PROXY=" + to, "all_proxy=" + to,
		"NO_PROXY=" + local, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1", // Node's own fetch reads the others only with this
	}
}
