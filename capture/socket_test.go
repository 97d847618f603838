package capture_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// realtime is an upstream that speaks as a realtime API does: it greets, sends
// each message back in two, and closes when it is told to.
func realtime(t *testing.T) *httptest.Server {
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("the upstream is offered %q", r.Header.Get("Sec-WebSocket-Extensions"))
		}
		w.Header().Set("X-Session", "s1")
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"realtime"}, CompressionMode: websocket.CompressionContextTakeover})
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		ctx := r.Context()
		_ = c.Write(ctx, websocket.MessageText, []byte(`{"type":"session.created"}`))
		for {
			typ, b, err := c.Read(ctx)
			if err != nil {
				return
			}
			if strings.Contains(string(b), "bye") {
				_ = c.Close(4000, "as you wish")
				return
			}
			_ = c.Write(ctx, typ, append([]byte("one "), b...))
			_ = c.Write(ctx, typ, append([]byte("two "), b...))
		}
	})
}

// dial asks for a socket and returns how that is answered.
func dial(t *testing.T, base, path string) (*websocket.Conn, got) {
	t.Helper()
	c, resp, err := websocket.Dial(t.Context(), base+path, &websocket.DialOptions{
		Subprotocols: []string{"realtime", "openai-insecure-api-key.secret-key-of-the-socket"}, CompressionMode: websocket.CompressionContextTakeover,
	})
	if resp == nil {
		t.Fatal(err)
	}
	g := got{status: resp.StatusCode, header: resp.Header, err: err}
	if c == nil {
		g.body, _ = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	return c, g
}

// talk says each message and returns all that comes back, two for each, and
// how the socket ends.
func talk(t *testing.T, base, path string, says ...string) (heard []string, end websocket.CloseError) {
	t.Helper()
	c, g := dial(t, base, path)
	if g.err != nil {
		t.Fatal(g.err)
	}
	defer func() { _ = c.CloseNow() }()
	heard = append(heard, g.header.Get("X-Session")+" "+c.Subprotocol())
	read := func() bool {
		typ, b, err := c.Read(t.Context())
		if err != nil {
			_ = errors.As(err, &end)
			return false
		}
		heard = append(heard, typ.String()+" "+string(b))
		return true
	}
	read()
	for i, s := range says {
		typ := websocket.MessageText
		if i%2 == 1 {
			typ = websocket.MessageBinary
		}
		if err := c.Write(t.Context(), typ, []byte(s)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !read() {
				return heard, end
			}
		}
	}
	_ = c.Close(websocket.StatusNormalClosure, "done")
	return heard, end
}

// A socket is relayed, recorded message by message, and given again when the
// upstream is gone.
func TestSocketIsRelayedAndReplayed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		says []string
		code websocket.StatusCode
		by   string
	}{
		{"the client closes", []string{`{"type":"response.create","event_id":"evt_1"}`, "\x00\x01audio", `{"a": 2}`}, 0, "client"},
		{"the upstream closes", []string{`{"type":"response.create"}`, "bye"}, 4000, "upstream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up := realtime(t)
			rig := newRig(t)
			live := rig.record(up.URL)
			want, end := talk(t, live.url, "/v1/realtime?model=gpt-realtime", test.says...)
			if len(want) < 2 || want[0] != "s1 realtime" || end.Code != test.code {
				t.Fatalf("live = %q, closed with %v", want, end)
			}
			run := live.end()
			up.Close()

			var said []string
			for _, e := range rig.entries(run) {
				data := e.Body.Get("data")
				switch e.Kind {
				case ledger.KindCall:
					c, _, err := effect.ParseCall(e.Body)
					if err != nil || c.Kind != capture.KindModel || c.Class != effect.Read || data.Get("upgrade").Str() != "websocket" {
						t.Errorf("call = %s, %v", e.Body, err)
					}
					if strings.Contains(e.Body.String(), "secret-key-of-the-socket") {
						t.Error("the key in the subprotocols is stored")
					}
				case ledger.KindEvent:
					if n, _ := e.Body.Get("refs").Get("call").AsInt(); n != 1 {
						t.Errorf("a message belongs to entry %d, want 1", n)
					}
					if n, _ := data.Get("seq").AsInt(); n != int64(len(said)) {
						t.Errorf("message %d has the number %d", len(said), n)
					}
					said = append(said, data.Get("dir").Str()+" "+string(rig.content(run, &e, "message")))
				case ledger.KindOutcome:
					if got := data.Get("close").Get("by").Str(); got != test.by || e.Body.Get("status").Str() != "ok" {
						t.Errorf("closed by %q in %s, want %q", got, e.Body, test.by)
					}
				default:
				}
			}
			if wantSaid := 1 + 3*len(test.says); test.by == "client" && len(said) != wantSaid {
				t.Errorf("%d messages are recorded, want %d: %q", len(said), wantSaid, said)
			}

			again := rig.replay(run)
			says := append([]string(nil), test.says...)
			says[0] = strings.Replace(says[0], "evt_1", "evt_2", 1) // drawn anew
			got, endAgain := talk(t, again.url, "/v1/realtime?model=gpt-realtime", says...)
			if strings.Join(got, "|") != strings.Join(want, "|") || endAgain != end {
				t.Errorf("replay = %q %v, want %q %v", got, endAgain, want, end)
			}
			again.end()
			report, err := again.p.ReplayReport(t.Context(), rig.store)
			if err != nil || report.Total != 0 {
				t.Errorf("report = %s, %v; want the same", report.Value(), err)
			}
			if remarks := strings.Join(report.Remarks, "\n"); strings.Contains(test.says[0], "evt_1") != strings.Contains(remarks, "1 messages differ from their record by realtime-ids@1") {
				t.Errorf("remarks = %q", remarks)
			}
		})
	}
}

// What the client says otherwise gets no answer, and is named.
func TestSocketThatDivergesIsClosed(t *testing.T) {
	t.Parallel()
	up := realtime(t)
	rig := newRig(t)
	live := rig.record(up.URL)
	_, _ = talk(t, live.url, "/v1/realtime", `{"type":"a","n":1}`, "x", `{"type":"b","n":2}`)
	run := live.end()
	for _, test := range []struct {
		name  string
		says  []string
		kind  string
		heard int
		want  websocket.StatusCode
	}{
		{"another message", []string{`{"n":1,"type":"a"}`, "x", `{"type":"b","n":3}`}, "different", 6, 1008},
		{"a message of another type", []string{`{"n":1,"type":"a"}`, "y"}, "different", 4, 1008},
		{"one more", []string{`{"n":1,"type":"a"}`, "x", `{"n":2,"type":"b"}`, "z"}, "extra", 8, 1008},
		{"one fewer", []string{`{"n":1,"type":"a"}`, "x"}, "missing", 6, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			again := rig.replay(run)
			heard, end := talk(t, again.url, "/v1/realtime", test.says...)
			if len(heard) != test.heard || end.Code != test.want {
				t.Errorf("heard %q and closed with %v, want %d messages and %d", heard, end, test.heard, test.want)
			}
			again.end()
			report, err := again.p.ReplayReport(t.Context(), rig.store)
			if err != nil || report.Total != 1 || string(report.Divergences[0].Kind) != test.kind {
				t.Errorf("report = %s, %v; want one %s", report.Value(), err, test.kind)
			}
		})
	}
	t.Run("another socket", func(t *testing.T) {
		t.Parallel()
		again := rig.replay(run)
		if _, g := dial(t, again.url, "/v1/realtime?model=other"); g.status != http.StatusBadRequest {
			t.Errorf("a socket that is not recorded = %d, %v; want 400", g.status, g.err)
		}
	})
}

// Codex falls back to HTTP at once if a WebSocket is answered 426. Who asks
// again gets it, and a realtime API gets it at once.
func TestSocketIsRefusedFirstWhereHTTPWillDo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		sockets capture.Sockets
		path    string
		want    []int
	}{
		{"responses", "", "/v1/responses", []int{426, 101, 101}},
		{"realtime", "", "/v1/realtime", []int{101, 101}},
		{"always", capture.SocketsRelay, "/v1/responses", []int{101}},
		{"never", capture.SocketsRefuse, "/v1/realtime", []int{426, 426}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up := realtime(t)
			rig := newRig(t)
			rig.opts.Sockets = test.sockets
			live := rig.record(up.URL)
			try := func(p *taping) {
				for i, want := range test.want {
					c, g := dial(t, p.url, test.path)
					if g.status != want {
						t.Errorf("request %d = %d, %v; want %d", i, g.status, g.err, want)
					}
					if c != nil {
						_, _, _ = c.Read(t.Context())
						_ = c.Close(websocket.StatusNormalClosure, "")
					}
				}
			}
			try(live)
			try(rig.replay(live.end()))
		})
	}
}

// The agents that Codex starts ask for a socket each for itself: it is not the
// same client that insists.
func TestSocketIsRefusedOnceToEachAgentOfCodex(t *testing.T) {
	t.Parallel()
	up := realtime(t)
	rig := newRig(t)
	live := rig.record(up.URL)
	try := func(p *taping) {
		for _, ask := range []struct {
			agent string
			want  int
		}{{"root", 426}, {"first", 426}, {"second", 426}, {"first", 101}} {
			c, resp, err := websocket.Dial(t.Context(), p.url+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Thread-Id": {ask.agent}}})
			if resp == nil {
				t.Fatal(err)
			}
			if c != nil {
				_, _, _ = c.Read(t.Context())
				_ = c.Close(websocket.StatusNormalClosure, "")
			} else {
				_ = resp.Body.Close()
			}
			if resp.StatusCode != ask.want {
				t.Errorf("a socket for %s = %d, %v; want %d", ask.agent, resp.StatusCode, err, ask.want)
			}
		}
	}
	try(live)
	try(rig.replay(live.end()))
}

// What is no socket is an answer like any other.
func TestSocketThatTheUpstreamRefuses(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"no"}`)
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	ask := func(p *taping) string {
		_, g := dial(t, p.url, "/v1/realtime")
		return http.StatusText(g.status) + " " + g.header.Get("Www-Authenticate") + " " + string(g.body)
	}
	want := ask(live)
	if want != `Unauthorized Bearer {"error":"no"}` {
		t.Errorf("live = %q", want)
	}
	run := live.end()
	up.Close()
	if got := ask(rig.replay(run)); got != want {
		t.Errorf("replay = %q, want %q", got, want)
	}
}

// A socket that breaks off without a word breaks off again.
func TestSocketThatBreaksOff(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = c.Write(r.Context(), websocket.MessageText, []byte("half"))
		_ = c.CloseNow()
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	talk := func(p *taping) (string, error) {
		c, g := dial(t, p.url, "/v1/realtime")
		if g.err != nil {
			t.Fatal(g.err)
		}
		defer func() { _ = c.CloseNow() }()
		_, b, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Read(t.Context())
		return string(b), err
	}
	if got, err := talk(live); got != "half" || websocket.CloseStatus(err) != -1 || err == nil {
		t.Errorf("live = %q, %v", got, err)
	}
	run := live.end()
	o := rig.outcomes(run)
	if len(o) != 1 || o[0].Status != effect.Interrupted || o[0].Data.Get("broke").Str() != "upstream" {
		t.Errorf("outcomes = %v, want one that the upstream broke off", o)
	}
	if got, err := talk(rig.replay(run)); got != "half" || websocket.CloseStatus(err) != -1 || err == nil {
		t.Errorf("replay = %q, %v", got, err)
	}
}

// A message over the limit ends the socket for both sides.
func TestSocketMessageOverTheLimit(t *testing.T) {
	t.Parallel()
	up := realtime(t)
	rig := newRig(t)
	rig.opts.MaxRequest = 1000
	live := rig.record(up.URL)
	_, end := talk(t, live.url, "/v1/realtime", strings.Repeat("x", 1001))
	if end.Code != websocket.StatusMessageTooBig {
		t.Errorf("closed with %v, want 1009", end)
	}
	run := live.end()
	o := rig.outcomes(run)
	if len(o) != 1 || o[0].Status != effect.Interrupted || o[0].Data.Get("broke").Str() != "client" {
		t.Errorf("outcomes = %v, want one that the client broke off", o)
	}
}

// The run ends, and with it its sockets.
func TestSocketEndsWithTheRun(t *testing.T) {
	t.Parallel()
	up := realtime(t)
	rig := newRig(t)
	live := rig.record(up.URL)
	c, g := dial(t, live.url, "/v1/realtime")
	if g.err != nil {
		t.Fatal(g.err)
	}
	defer func() { _ = c.CloseNow() }()
	if _, _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := live.end()
	if o := rig.outcomes(run); len(o) != 1 || o[0].Status != effect.Interrupted {
		t.Errorf("outcomes = %v, want one interrupted", o)
	}
}

// A protocol that a client only offers, as Java's does, is passed over.
func TestOfferedProtocolIsPassedOver(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade")+r.Header.Get("Http2-Settings") != "" {
			t.Errorf("the upstream is offered %v", r.Header)
		}
		_, _ = io.WriteString(w, "ok")
	})
	live := newRig(t).record(up.URL)
	g := send(t, "POST", live.url+"/v1/responses", `{}`, "Connection", "Upgrade, HTTP2-Settings", "Upgrade", "h2c", "HTTP2-Settings", "AAMAAABkAAQ")
	if g.status != http.StatusOK || string(g.body) != "ok" {
		t.Errorf("a request that offers h2c = %d %q, %v", g.status, g.body, g.err)
	}
}
