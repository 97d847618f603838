package server_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func TestOnlyLoopbackAddressesAreListenedOnUnlessAllowed(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]fault.Code{
		"127.0.0.1:0": nil, "localhost:0": nil, "127.8.8.8:0": nil,
		":0": server.ErrRemote, "0.0.0.0:0": server.ErrRemote, "[::]:0": server.ErrRemote, "192.0.2.1:0": server.ErrRemote,
		"example.org:0": server.ErrRemote, "localhost.example.org:0": server.ErrRemote,
		"127.0.0.1": server.ErrRequest, "": server.ErrRequest,
	} {
		ln, err := server.Listen(t.Context(), addr, false)
		if fault.CodeOf(err) != want {
			t.Errorf("Listen(%q) = %v, want %v", addr, err, want)
		}
		if err == nil {
			ln.Close()
		}
	}
	ln, err := server.Listen(t.Context(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatalf("Listen where it is allowed = %v", err)
	}
	defer ln.Close()
	if again, err := server.Listen(t.Context(), ln.Addr().String(), true); fault.CodeOf(err) != fault.Code(server.ErrListen) {
		t.Errorf("Listen on a taken port = %v, %v", again, err)
	}
}

func TestAForeignHostIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.opts.Hosts = []string{"Recorder.Internal"} })
	port := r.http.URL[strings.LastIndex(r.http.URL, ":"):]
	for host, ok := range map[string]bool{
		"127.0.0.1" + port: true, "localhost" + port: true, "LOCALHOST": true, "[::1]" + port: true, "127.0.0.1.": true,
		"recorder.internal:80": true, "recorder.internal.": true,
		"evil.example" + port: false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "192.0.2.7": false, "0.0.0.0" + port: false,
		"evil.example@127.0.0.1": false, "2130706433": false,
	} {
		resp, b := r.ask(http.MethodGet, "/healthz", nil, func(q *http.Request) { q.Host = host })
		if ok && resp.StatusCode != http.StatusOK {
			t.Errorf("host %s = %s %s", host, resp.Status, b)
		}
		if !ok && resp.StatusCode == http.StatusBadRequest {
			continue // net/http itself takes it for no host
		}
		if !ok {
			r.wantProblem(resp, b, http.StatusForbidden, "server.foreign_host")
		}
	}
}

func TestAPageOfAnotherOriginChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, c := range []struct {
		name    string
		headers map[string]string
		ok      bool
	}{
		{"a program", nil, true},
		{"our own page", map[string]string{"Origin": r.http.URL}, true},
		{"our own page, as new browsers say it", map[string]string{"Sec-Fetch-Site": "same-origin"}, true},
		{"another site", map[string]string{"Origin": "https://evil.example"}, false},
		{"another port", map[string]string{"Origin": "http://127.0.0.1:1"}, false},
		{"a file", map[string]string{"Origin": "null"}, false},
		{"another site, as new browsers say it", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
	} {
		for _, path := range []string{"/v1/bundles", "/v1/runs/last/verify"} {
			var body io.Reader
			if path == "/v1/bundles" {
				body = bytes.NewReader(sample(t))
			}
			resp, b := r.ask(http.MethodPost, path, body, func(q *http.Request) {
				for n, v := range c.headers {
					q.Header.Set(n, v)
				}
			})
			if c.ok && resp.StatusCode != http.StatusOK {
				t.Errorf("%s: POST %s = %s %s", c.name, path, resp.Status, b)
			}
			if !c.ok {
				r.wantProblem(resp, b, http.StatusForbidden, "server.foreign_origin")
			}
		}
	}
	// No answer lets another origin read it.
	resp, _ := r.ask(http.MethodOptions, "/v1/runs", nil, func(q *http.Request) {
		q.Header.Set("Origin", "https://evil.example")
		q.Header.Set("Access-Control-Request-Method", "GET")
	})
	if resp.StatusCode == http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight = %s %v", resp.Status, resp.Header)
	}
}

func TestWhatNoRouteTakesIsAProblem(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodGet, "/", ""},
		{http.MethodGet, "/docs", ""},
		{http.MethodGet, "/v1", ""},
		{http.MethodGet, "/v1/runs/", ""},
		{http.MethodGet, "/v1/runs/last/entries/1/attachments/a/b", ""},
		{http.MethodGet, "/%2e%2e/x", ""},
		{http.MethodDelete, "/v1/runs", "GET, HEAD"},
		{http.MethodGet, "/v1/bundles", "POST"},
		{"BREW", "/healthz", "GET, HEAD"},
	} {
		resp, b := r.ask(c.method, c.path, nil, nil)
		r.wantProblem(resp, b, http.StatusNotFound, "server.no_such_route")
		if got := resp.Header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s allows %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

func TestWhatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, length := range []int64{2 << 20, -1} {
		resp, b := r.ask(http.MethodPost, "/v1/runs/last/verify", bytes.NewReader(make([]byte, 2<<20)), func(q *http.Request) {
			q.ContentLength = length
			q.Header.Set("Content-Type", "application/json")
		})
		r.wantProblem(resp, b, http.StatusBadRequest, "server.too_large")
	}
	for _, path := range []string{"/v1/runs/" + strings.Repeat("a", 5000), "/v1/runs?limit=501", "/v1/runs/last/entries?limit=0", "/v1/runs/last/entries?from=-1", "/v1/runs/last/entries/99999999999999999999/attachments/x"} {
		resp, b := r.ask(http.MethodGet, path, nil, nil)
		r.wantProblem(resp, b, http.StatusBadRequest, "server.bad_request")
	}
	ln, err := server.Listen(t.Context(), "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.s.Serve(t.Context(), ln) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ln.Addr().String()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("a", 100<<10))
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("100 KiB of headers = %s", resp.Status)
		}
	}
}

func TestJunkOnTheConnectionHarmsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, junk := range []string{
		"\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/9.9\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
		"POST /v1/bundles HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"POST /v1/bundles HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /v1/bundles HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab",
	} {
		c, err := net.Dial("tcp", r.http.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, junk)
		_ = c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		c.Close()
		if bytes.HasPrefix(b, []byte("HTTP/1.1 5")) && !bytes.HasPrefix(b, []byte("HTTP/1.1 505")) || bytes.HasPrefix(b, []byte("HTTP/1.1 200")) {
			t.Errorf("%q is answered with %.80q", junk, b)
		}
	}
	if resp, _ := r.ask(http.MethodGet, "/healthz", nil, nil); resp.StatusCode != http.StatusOK {
		t.Errorf("then /healthz = %s", resp.Status)
	}
}
