package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func upstream(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// What the upstream gets is what the client sent, and what the client gets is
// what the upstream sent, live and with the upstream gone.
func TestProxyIsVerbatimBothWays(t *testing.T) {
	t.Parallel()
	var seen struct {
		line, body string
		header     http.Header
	}
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen.line, seen.body, seen.header = r.Method+" "+r.RequestURI, string(b), r.Header.Clone()
		h := w.Header()
		h["Date"] = []string{"Sat, 21 Nov 2026 00:00:00 GMT"}
		h["X-Ratelimit-Remaining"] = []string{"7"}
		h["Set-Thing"] = []string{"a", "b"}
		h["Content-Type"] = nil
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"a":  1}`)
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	const path, body = "/v1/chat%2Fodd/completions?b=2&a=1&&x", `{ "b":1,"a":[1,2 ] }`
	first := send(t, "POST", live.url+path, body, "X-Custom", "yes", "Accept-Encoding", "gzip, br")
	if seen.line != "POST "+path || seen.body != body {
		t.Errorf("upstream got %q %q, want %q %q", seen.line, seen.body, "POST "+path, body)
	}
	if seen.header.Get("X-Custom") != "yes" || seen.header.Get("Accept-Encoding") != "gzip, br" || seen.header.Get("X-Forwarded-For") != "" {
		t.Errorf("upstream got headers %v", seen.header)
	}
	if got, want := seen.header.Get("User-Agent"), "Go-http-client/1.1"; got != want {
		t.Errorf("User-Agent = %q, want the client's %q", got, want)
	}
	if first.status != http.StatusTeapot || string(first.body) != `{"a":  1}` || first.header.Get("Date") != "Sat, 21 Nov 2026 00:00:00 GMT" {
		t.Errorf("client got %d %q %v", first.status, first.body, first.header)
	}
	run := live.seal()
	up.Close()
	again := rig.replay(run)
	equal(t, "replay", first, send(t, "POST", again.url+path, body))
}

// No header is added to a request that has none.
func TestProxyAddsNoHeaders(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		raw <- string(b[:n])
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	}()
	live := newRig(t).record("http://" + l.Addr().String())
	c, err := net.Dial("tcp", strings.TrimPrefix(live.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: y\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if got, want := <-raw, "GET /x HTTP/1.1\r\nHost: "+l.Addr().String()+"\r\n\r\n"; got != want {
		t.Errorf("upstream got %q, want %q", got, want)
	}
	if got, want := string(answer), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"; got != want {
		t.Errorf("client got %q, want %q", got, want)
	}
}

// A stream is given on event by event, and again with the same parts.
func TestStreamKeepsEveryPart(t *testing.T) {
	t.Parallel()
	const events = 41
	next := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			fmt.Fprintf(w, "event: delta\ndata: {\"sequence_number\":%d,\"delta\":\"ü\"}\n\n", i)
			w.(http.Flusher).Flush()
			<-next // the client has it: no part is ever waited for
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		w.Header().Set(http.TrailerPrefix+"X-Usage", "41")
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+"/v1/responses", strings.NewReader(`{"stream":true}`))
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var parts []string
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			parts = append(parts, string(buf[:n]))
			if len(parts) <= events {
				next <- struct{}{}
			}
		}
		if err != nil {
			break
		}
	}
	if len(parts) != events+1 {
		t.Fatalf("the client got %d parts, want %d", len(parts), events+1)
	}
	if got := resp.Trailer.Get("X-Usage"); got != "41" {
		t.Errorf("trailer = %q, want 41", got)
	}
	run := live.seal()
	up.Close()
	again := rig.replay(run)
	head, chunks := wire(t, again.url, "/v1/responses", `{"stream":true}`)
	if len(chunks) != len(parts) {
		t.Fatalf("replay gives %d chunks, want %d", len(chunks), len(parts))
	}
	for i := range parts {
		if chunks[i] != parts[i] {
			t.Errorf("chunk %d = %q, want %q", i, chunks[i], parts[i])
		}
	}
	if !strings.Contains(head, "Trailer: X-Usage\r\n") {
		t.Errorf("replay's head %q announces no trailer", head)
	}
	timing := timingOf(t, rig, run)
	if len(timing) != len(parts) {
		t.Errorf("%d parts are recorded, want %d", len(timing), len(parts))
	}
}

func timingOf(t *testing.T, r *rig, run ledger.RunID) []drive.Part {
	t.Helper()
	for _, e := range r.entries(run) {
		if e.Kind == ledger.KindOutcome {
			p, err := drive.ParseTiming(r.content(run, &e, drive.TimingName))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	return nil
}

// The end of an answer is held back until its outcome is in the ledger.
func TestLastByteWaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 10, 200_000, 300_000, -1} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				if size >= 0 {
					w.Header().Set("Content-Length", strconv.Itoa(size))
					_, _ = w.Write(bytes.Repeat([]byte{'x'}, size))
					return
				}
				w.(http.Flusher).Flush()
				_, _ = w.Write([]byte("streamed"))
			})
			rig := newRig(t)
			live := rig.record(up.URL)
			g := send(t, "POST", live.url+"/v1/responses", `{}`)
			if g.err != nil || g.status != 200 {
				t.Fatalf("got %d %v", g.status, g.err)
			}
			// Without waiting for anything, the outcome is there.
			if got := rig.outcomes(live.s.Run()); len(got) != 1 || got[0].Status != effect.OK {
				t.Errorf("outcomes when the client has the last byte: %v", got)
			}
			run := live.seal()
			equal(t, "replay", g, send(t, "POST", rig.replay(run).url+"/v1/responses", `{}`))
		})
	}
}

func TestCompressedBodiesAreNotTouched(t *testing.T) {
	t.Parallel()
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	_, _ = g.Write(bytes.Repeat([]byte(`{"hello":"world"}`), 50))
	_ = g.Close()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b)
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	first := send(t, "POST", live.url+"/v1/responses", z.String(), "Content-Encoding", "gzip")
	if !bytes.Equal(first.body, z.Bytes()) || first.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("got %d bytes as %q, want the %d that were sent, as gzip", len(first.body), first.header.Get("Content-Encoding"), z.Len())
	}
	again := rig.replay(live.seal())
	equal(t, "replay", first, send(t, "POST", again.url+"/v1/responses", z.String(), "Content-Encoding", "gzip"))
}

// A request is the same behind its coding, and a secret there is not stored.
func TestCompressedBodiesAreSearched(t *testing.T) {
	t.Parallel()
	const env = "value-from-the-environment"
	for _, coding := range []string{"gzip", "deflate", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			t.Parallel()
			body, err := capture.Coded(coding, []byte(`{"a":1,"b":"`+env+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if !bytes.Equal(b, body) {
					t.Errorf("the upstream did not get the original")
				}
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write(b)
			})
			rig := newRig(t)
			rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: env})
			live := rig.record(up.URL)
			first := send(t, "POST", live.url+"/v1/responses", string(body), "Content-Encoding", coding)
			if !bytes.Equal(first.body, body) {
				t.Error("the client did not get the original")
			}
			run := live.seal()
			for _, e := range rig.entries(run) {
				for _, a := range e.Att {
					if p, ok := capture.PlainOf(coding, rig.content(run, &e, a.Name)); ok && bytes.Contains(p, []byte(env)) {
						t.Errorf("entry %d, %s: the secret is stored behind its coding", e.N, a.Name)
					}
				}
			}
			again := rig.replay(run)
			other, err := capture.Coded(coding, []byte(`{"b":"`+env+`",  "a":1}`))
			if err != nil {
				t.Fatal(err)
			}
			second := send(t, "POST", again.url+"/v1/responses", string(other), "Content-Encoding", coding)
			if p, ok := capture.PlainOf(coding, second.body); second.status != 200 || !ok || string(p) != `{"a":1,"b":"{redacted:ENV}"}` {
				t.Errorf("replay = %d %q", second.status, p)
			}
		})
	}
}

// Sixteen clients at once each get their own answers, live and replayed.
func TestConcurrentClientsEachGetTheirOwn(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if len(b)%2 == 0 {
			w.(http.Flusher).Flush()
		}
		_, _ = w.Write(append([]byte("answer to "), b...))
	})
	rig := newRig(t)
	round := func(p *taping) {
		var wg sync.WaitGroup
		for c := range 16 {
			wg.Go(func() {
				for i := range 20 {
					body := fmt.Sprintf(`{"client":%d,"turn":%d}`, c, i*i*i)
					if g := send(t, "POST", p.url+"/v1/chat/completions", body); string(g.body) != "answer to "+body {
						t.Errorf("got %q %v to %q", g.body, g.err, body)
					}
				}
			})
		}
		wg.Wait()
	}
	live := rig.record(up.URL)
	round(live)
	run := live.seal()
	up.Close()
	again := rig.replay(run)
	round(again)
	if n := len(again.rec.Left()); n != 0 {
		t.Errorf("%d records answered nothing", n)
	}
}

// Identical requests are answered in the order in which they were recorded.
func TestIdenticalRequestsAreServedInOrder(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "answer %d", n.Add(1))
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	const body = `{"model":"m","messages":[]}`
	for range 5 {
		send(t, "POST", live.url+"/v1/chat/completions", body)
	}
	again := rig.replay(live.seal())
	for i := range 5 {
		g := send(t, "POST", again.url+"/v1/chat/completions", `{"messages":[],  "model":"m"}`)
		if want := fmt.Sprintf("answer %d", i+1); string(g.body) != want {
			t.Errorf("occurrence %d = %q, want %q", i, g.body, want)
		}
	}
	if g := send(t, "POST", again.url+"/v1/chat/completions", body); g.status != 400 {
		t.Errorf("the sixth of five = %d %q, want 400", g.status, g.body)
	}
}

// A request that is not recorded is never forwarded and never given another's
// answer.
func TestMissNamesTheNearestCall(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	rig := newRig(t)
	live := rig.record(up.URL)
	for _, city := range []string{"Rome", "Oslo"} {
		send(t, "POST", live.url+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+city+`"}]}`)
	}
	again := rig.replay(live.seal())
	g := send(t, "POST", again.url+"/v1/chat/completions", `{"model":"n","messages":[{"role":"user","content":"Oslo"}]}`)
	if g.status != 400 || g.header.Get("X-Should-Retry") != "false" || g.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("a miss = %d %v", g.status, g.header)
	}
	v, err := canon.Parse(g.body)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("code").Str(); got != effect.ErrMissing.Error() {
		t.Errorf("code = %q, want %q", got, effect.ErrMissing)
	}
	d := v.Get("nearest").Get("differences")
	if d.Len() != 1 || d.At(0).Get("pointer").Str() != "/model" || d.At(0).Get("recorded").Str() != "m" || d.At(0).Get("now").Str() != "n" {
		t.Errorf("nearest = %s, want the one with another model", v.Get("nearest"))
	}
	if n := again.s.Counts(); n.Live != 0 || n.Missed != 1 {
		t.Errorf("counts = %+v, want none live and one missed", n)
	}
}

// What broke off breaks off again, after the same bytes.
func TestUpstreamReset(t *testing.T) {
	t.Parallel()
	for _, length := range []bool{false, true} {
		t.Run(fmt.Sprintf("length known %v", length), func(t *testing.T) {
			t.Parallel()
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				if length {
					w.Header().Set("Content-Length", "100")
				}
				_, _ = io.WriteString(w, "half an ans")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			rig := newRig(t)
			live := rig.record(up.URL)
			first := send(t, "POST", live.url+"/v1/responses", `{}`)
			if first.err == nil || string(first.body) != "half an ans" {
				t.Errorf("live = %q, %v; want the half and an error", first.body, first.err)
			}
			run := live.seal()
			o := rig.outcomes(run)
			if len(o) != 1 || o[0].Status != effect.Interrupted || o[0].Data.Get("broke").Str() != "upstream" {
				t.Errorf("outcomes = %v, want one interrupted by the upstream", o)
			}
			again := send(t, "POST", rig.replay(run).url+"/v1/responses", `{}`)
			if again.err == nil || string(again.body) != "half an ans" || again.status != first.status {
				t.Errorf("replay = %q, %v; want the half and an error", again.body, again.err)
			}
		})
	}
}

func TestClientLeavesEarly(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first part")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the upstream sees it too
		close(gone)
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", live.url+"/v1/responses", strings.NewReader(`{}`))
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-gone
	run := live.seal()
	o := rig.outcomes(run)
	if len(o) != 1 || o[0].Status != effect.Interrupted || o[0].Data.Get("broke").Str() != "client" {
		t.Fatalf("outcomes = %v, want one interrupted by the client", o)
	}
	for _, e := range rig.entries(run) {
		if e.Kind == ledger.KindOutcome && string(rig.content(run, &e, "response")) != "first part" {
			t.Errorf("recorded %q, want the part that came", rig.content(run, &e, "response"))
		}
	}
}

func TestUpstreamDown(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	live := rig.record("http://127.0.0.1:1")
	first := send(t, "POST", live.url+"/v1/responses", `{}`)
	if first.status != http.StatusBadGateway || !strings.Contains(string(first.body), "capture.upstream_unreachable") {
		t.Errorf("live = %d %s", first.status, first.body)
	}
	equal(t, "replay", first, send(t, "POST", rig.replay(live.seal()).url+"/v1/responses", `{}`))
}

func TestRequestOverTheLimit(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	rig.opts.MaxRequest = 1000
	live := rig.record("http://127.0.0.1:1")
	g := send(t, "POST", live.url+"/v1/responses", strings.Repeat("x", 1001))
	if g.status != http.StatusRequestEntityTooLarge || g.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("known length = %d %s", g.status, g.body)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+"/v1/responses", io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))))
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("unknown length = %d", resp.StatusCode)
	}
	if n := live.s.Counts().Calls; n != 0 {
		t.Errorf("%d calls are recorded, want none", n)
	}
}

// Codex falls back to HTTP at once if a WebSocket is answered 426.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	live := rig.record("http://127.0.0.1:1")
	g := send(t, "GET", live.url+"/v1/responses", "", "Connection", "Upgrade", "Upgrade", "websocket")
	if g.status != http.StatusUpgradeRequired {
		t.Errorf("GET with Upgrade = %d, want 426", g.status)
	}
}

// A replay can be given at the pace of the recording, here of one that took two
// hours by its clock, or at once.
func TestPace(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	heard := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			if i > 0 {
				<-heard
				later.Add(int64(time.Hour))
			}
			_, _ = io.WriteString(w, "tick")
			w.(http.Flusher).Flush()
		}
	})
	rig := newRig(t)
	rig.now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	live := rig.record(up.URL)
	resp, err := client().Post(live.url+"/v1/responses", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 2 {
		if _, err := io.ReadFull(resp.Body, make([]byte, len("tick"))); err != nil {
			t.Fatal(err)
		}
		heard <- struct{}{}
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	run := live.seal()
	for pace, least := range map[float64]time.Duration{2 * 3600 / 0.4: 400 * time.Millisecond, 0: 0} {
		rig.opts.Pace = pace
		again := rig.replay(run)
		start := time.Now()
		g := send(t, "POST", again.url+"/v1/responses", `{}`)
		if took := time.Since(start); string(g.body) != "tickticktick" || g.err != nil || took < least {
			t.Errorf("at pace %v: %q, %v in %s, want at least %s", pace, g.body, g.err, took, least)
		}
	}
}

// Many clients stop reading at the event that says the end, and close. The
// answer is whole all the same: its end is just behind.
func TestClientThatStopsAtTheLastEvent(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
		w.(http.Flusher).Flush()
		<-closed
		time.Sleep(20 * time.Millisecond) // the end of the body comes when the client is gone
	})
	rig := newRig(t)
	live := rig.record(up.URL)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", live.url+"/v1/chat/completions", strings.NewReader(`{"stream":true}`))
	resp, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 14)); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	close(closed)
	run := live.end()
	o := rig.outcomes(run)
	if len(o) != 1 || o[0].Status != effect.OK {
		t.Fatalf("outcomes = %v, want one that is ok", o)
	}
	g := send(t, "POST", rig.replay(run).url+"/v1/chat/completions", `{"stream":true}`)
	if g.err != nil || string(g.body) != "data: [DONE]\n\n" {
		t.Errorf("replay = %q, %v", g.body, g.err)
	}
}
