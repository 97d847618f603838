package capture_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"syscall"
	"testing"

	"github.com/reprise-dev/reprise/kernel/effect"
)

// cutOff is an upstream that writes these bytes by hand and, when they are read,
// hangs up: with a reset, which may throw away what is not read, or with a plain
// end. It returns a transport that tells it so.
func cutOff(t *testing.T, reset bool, answer string) (url string, tr *http.Transport) {
	t.Helper()
	read := make(chan struct{})
	tr = &http.Transport{
		DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &countdown{Conn: c, left: len(answer), over: read}, err
		},
	}
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what was not read would make a reset of a plain end
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, answer)
		<-read
		if reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
	}).URL, tr
}

// countdown is a connection that says when so many bytes have been read.
type countdown struct {
	net.Conn
	left int
	over chan<- struct{}
}

func (c *countdown) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if before := c.left; n > 0 && before > 0 {
		if c.left -= n; c.left <= 0 {
			close(c.over)
		}
	}
	return n, err
}

// An answer that the upstream breaks off breaks off for the client in the same
// way, live and in a replay: behind the same bytes, with a reset where there
// was a reset and else with an early end.
func TestAnswersBreakOffAsTheyDid(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, test := range []struct {
		name, answer, body string
		reset              bool
	}{
		{"a reset between chunks", chunked + "5\r\nhello\r\n", "hello", true},
		{"a reset within a chunk", chunked + "9\r\nhello", "hello", true},
		{"chunks without an end", chunked + "5\r\nhello\r\n", "hello", false},
		{"half a chunk", chunked + "9\r\nhello", "hello", false},
		{"no chunk at all", chunked, "", false},
		{"a chunk that is none", chunked + "5\r\nhello\r\nzz\r\n", "hello", false},
		{"a reset of a short answer", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "hello", true},
		{"half of a short answer", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "hello", false},
		{"a reset of a long answer", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello", "hello", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rig := newRig(t)
			up, tr := cutOff(t, test.reset, test.answer)
			rig.opts.Transport = tr
			live := rig.record(up)
			check := func(what string, g got) {
				t.Helper()
				if g.status != 200 || string(g.body) != test.body || g.err == nil || errors.Is(g.err, syscall.ECONNRESET) != test.reset {
					t.Errorf("%s = %d %q, %v; want %q and then a reset: %v", what, g.status, g.body, g.err, test.body, test.reset)
				}
			}
			check("live", send(t, "POST", live.url+"/v1/responses", `{}`))
			run := live.seal()
			o := rig.outcomes(run)[0]
			if reset, _ := o.Data.Get("reset").AsBool(); o.Status != effect.Interrupted || reset != test.reset || o.Data.Get("broke").Str() != "upstream" {
				t.Errorf("outcome = %s %s, want it interrupted by the upstream; a reset: %v", o.Status, o.Data, test.reset)
			}
			check("replay", send(t, "POST", rig.replay(run).url+"/v1/responses", `{}`))
		})
	}
}

// What an upstream says before its answer comes at once, and comes again.
func TestEarlyHintsComeAgain(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 2)
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 2 {
			w.Header().Set("Link", fmt.Sprintf("</%d>; rel=preload", i))
			w.WriteHeader(http.StatusEarlyHints)
			<-told // it has arrived before there is an answer
		}
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "{}")
	})
	ask := func(p *taping) (hints []string, g got) {
		ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, " ", h.Get("Link")))
			told <- struct{}{}
			return nil
		}})
		req, err := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/responses", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return hints, got{status: resp.StatusCode, header: resp.Header, body: b, err: err}
	}
	rig := newRig(t)
	live := rig.record(up.URL)
	first, a := ask(live)
	if want := "[103 </0>; rel=preload 103 </1>; rel=preload]"; fmt.Sprint(first) != want || a.header["Link"] != nil {
		t.Errorf("the client is told %v and then %v, want %s and no link", first, a.header, want)
	}
	second, b := ask(rig.replay(live.seal()))
	equal(t, "the answer behind hints", a, b)
	if fmt.Sprint(second) != fmt.Sprint(first) {
		t.Errorf("the replay tells %v, want %v", second, first)
	}
}

// A client that is gone before there is an answer, or that sends half of a
// large request, leaves a record that says so, or none; and nothing of it
// stays.
func TestClientsThatBreakOffTheirRequest(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("half a request was sent on") })
	rig := newRig(t)
	live := rig.record(up.URL)
	for _, head := range []string{"Content-Length: 3000000", "Transfer-Encoding: chunked"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(live.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		half := bytes.Repeat([]byte("x"), 2_000_000)
		if strings.HasPrefix(head, "T") {
			half = append(fmt.Appendf(nil, "%x\r\n", len(half)), half...)
		}
		_, _ = io.WriteString(conn, "POST /v1/files HTTP/1.1\r\nHost: x\r\n"+head+"\r\n\r\n")
		_, _ = conn.Write(half)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	run := live.end()
	if n := len(rig.outcomes(run)); n != 0 {
		t.Errorf("%d calls are recorded, want none", n)
	}
}
