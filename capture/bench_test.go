package capture_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// The proxy beside the upstream itself and a bare reverse proxy, with 16
// connections. The store is in memory: a disk adds its fsync, shared by all
// that wait for it.
func BenchmarkProxy(b *testing.B) {
	answer := `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 170) + `"}}]}`
	event := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word"}}]}` + "\n\n"
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/responses") {
			w.Header().Set("Content-Type", "text/event-stream")
			for range 41 {
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer up.Close()
	history := strings.Repeat(`{"role":"user","content":"`+strings.Repeat("a word or two ", 70)+`"},`, 64)
	for _, c := range []struct{ name, path, body string }{
		{"1KB", "/v1/chat/completions", `{"model":"m","n":%d,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 190) + `"}]}`},
		{"64KB", "/v1/chat/completions", `{"model":"m","messages":[` + history + `{"role":"user","content":"%d"}]}`},
		{"SSE", "/v1/responses", `{"model":"m","n":%d,"input":[{"role":"user","content":"hi"}],"stream":true}`},
	} {
		b.Run(c.name+"/direct", func(b *testing.B) { drivePosts(b, up.URL+c.path, c.body, b.N) })
		b.Run(c.name+"/bare", func(b *testing.B) {
			u, _ := url.Parse(up.URL)
			rp := &httputil.ReverseProxy{
				Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
				Transport:     &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
				FlushInterval: -1,
			}
			srv := httptest.NewServer(rp)
			defer srv.Close()
			drivePosts(b, srv.URL+c.path, c.body, b.N)
		})
		b.Run(c.name+"/record", func(b *testing.B) {
			live := newRig(b).record(up.URL)
			drivePosts(b, live.url+c.path, c.body, b.N)
			b.StopTimer()
			live.seal()
		})
		b.Run(c.name+"/replay", func(b *testing.B) {
			b.StopTimer()
			rig := newRig(b)
			live := rig.record(up.URL)
			drivePosts(b, live.url+c.path, c.body, b.N)
			again := rig.replay(live.seal())
			b.ResetTimer()
			b.StartTimer()
			drivePosts(b, again.url+c.path, c.body, b.N)
			b.StopTimer()
			again.seal()
		})
	}
}

// drivePosts sends n different requests over 16 connections.
func drivePosts(b *testing.B, url, body string, n int) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var next, failed atomic.Int64
	before := cpuTime(b)
	done := make(chan struct{})
	for range 16 {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				resp, err := client.Post(url, "application/json", strings.NewReader(fmt.Sprintf(body, i)))
				if err != nil {
					failed.Add(1)
					continue
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					failed.Add(1)
				}
				resp.Body.Close()
			}
		}()
	}
	for range 16 {
		<-done
	}
	if failed.Load() > 0 {
		b.Fatalf("%d requests failed", failed.Load())
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(n), "cpu-µs/op")
}

// cpuTime is what the process has used: client, proxy and upstream together.
// It is comparable also where other work runs beside.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The round trip of a message over a relayed WebSocket beside a direct one.
func BenchmarkSocket(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			typ, p, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), typ, p) != nil {
				return
			}
		}
	}))
	defer up.Close()
	message := []byte(`{"type":"response.output_text.delta","delta":"` + strings.Repeat("word ", 40) + `"}`)
	live := newRig(b).record(up.URL)
	for _, c := range []struct{ name, url string }{{"direct", up.URL}, {"relayed", live.url}} {
		b.Run(c.name, func(b *testing.B) {
			conn, _, err := websocket.Dial(b.Context(), c.url+"/v1/realtime", nil) //nolint:bodyclose // it is the socket
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			for b.Loop() {
				if err := conn.Write(b.Context(), websocket.MessageText, message); err != nil {
					b.Fatal(err)
				}
				if _, _, err := conn.Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	live.end()
}
