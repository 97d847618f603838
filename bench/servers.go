package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/sqlite"
)

// events is how many events an answer that streams has.
const events = 41

// upstreamRole plays a provider. What it answers is made once, so that it
// takes as little of the machine as a server can.
func upstreamRole(context.Context, []string) error {
	text := newWriter(5)
	answer := fmt.Appendf(nil, `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":200,"completion_tokens":210}}`, strconv.Quote(text.text(830)))
	var parts [][]byte
	for range events - 1 {
		parts = append(parts, fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", strconv.Quote(text.text(50))))
	}
	parts = append(parts, []byte("data: [DONE]\n\n"))
	stream := func(pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			out := http.NewResponseController(w)
			for i, p := range parts {
				_, _ = w.Write(p)
				_ = out.Flush()
				if i == 0 {
					time.Sleep(pause)
				}
			}
		}
	}
	whole := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/small/", whole)
	mux.HandleFunc("/history/", whole)
	mux.HandleFunc("/sse/", stream(0))
	mux.HandleFunc("/slow/", stream(time.Second))
	mux.HandleFunc("/large/", large)
	return serve(mux, nothing)
}

func reverseProxy(to string, via http.RoundTripper) (http.Handler, error) {
	u, err := url.Parse("http://" + to)
	if err != nil {
		return nil, err
	}
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = u.Host
		r.Out.RemoteAddr = "" // go-vcr compares it
	}, Transport: via}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it the server closes the request's body when a stream
		// begins, and now and then the transport is still looking for its end.
		_ = http.NewResponseController(w).EnableFullDuplex()
		p.ServeHTTP(w, r)
	}), nil
}

func keepAlive() *http.Transport {
	return &http.Transport{DisableCompression: true, MaxIdleConns: 1024, MaxIdleConnsPerHost: 256}
}

// bareRole forwards and does nothing else: what any proxy in Go costs.
func bareRole(_ context.Context, args []string) error {
	h, err := reverseProxy(args[0], keepAlive())
	if err != nil {
		return err
	}
	return serve(h, nothing)
}

// durableRole forwards, and makes one page durable before each answer: what any
// recorder over this proxy costs at least. Its argument beside the upstream is
// the folder for the page.
func durableRole(_ context.Context, args []string) error {
	u, err := url.Parse("http://" + args[0])
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(args[1], "durable"))
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, pageBytes)
	return serve(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport: keepAlive(),
		ModifyResponse: func(*http.Response) error {
			if _, err := f.Write(page); err != nil {
				return err
			}
			return f.Sync()
		},
	}, nothing)
}

// pageBytes is what the durable proxy writes for each answer.
const pageBytes = 4096

// vcrRole puts go-vcr behind the bare proxy: args are record or replay, the
// cassette and the upstream.
func vcrRole(_ context.Context, args []string) error {
	mode := recorder.ModeRecordOnly
	if args[0] == "replay" {
		mode = recorder.ModeReplayOnly
	}
	rec, err := recorder.New(args[1], recorder.WithMode(mode), recorder.WithRealTransport(keepAlive()), recorder.WithSkipRequestLatency(true))
	if err != nil {
		return err
	}
	h, err := reverseProxy(args[2], rec)
	if err != nil {
		return err
	}
	return serve(h, func() (string, error) { return "", rec.Stop() })
}

// recordRole records: args are the store, the spool folder and the upstream.
// At the end it names the run.
func recordRole(ctx context.Context, args []string) error {
	return proxyRole(ctx, args[0], args[1], args[2], "")
}

// replayRole answers from the record: args are the store, the spool folder
// and the run.
func replayRole(ctx context.Context, args []string) error {
	return proxyRole(ctx, args[0], args[1], "127.0.0.1:1", ledger.RunID(args[2]))
}

func proxyRole(ctx context.Context, path, spool, to string, from ledger.RunID) error {
	debug.SetGCPercent(400) // as the program does
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	cfg, err := sessionConfig(store)
	if err != nil {
		return err
	}
	cfg.Spool = spool
	opening := drive.Opening{Engine: capture.Engine, Mode: "record"}
	o := capture.Options{Upstreams: []capture.Upstream{{Name: "model", URL: &url.URL{Scheme: "http", Host: to}}}}
	var key [32]byte
	if _, err := rand.Read(key[:]); err != nil {
		return err
	}
	o.Redactor = redact.New(key, nil)
	if from != "" {
		j, err := capture.ReadJournal(ctx, store, from, 0)
		if err != nil {
			return err
		}
		last := j.Last()
		opening = drive.Opening{Engine: capture.Engine, Mode: "replay", Sources: drive.All(j), From: from, Lazy: true, Source: &last}
		j.AnyCredential() // the redactor of the record had another key
		o.Replaying, o.Record = true, &capture.Recorded{Reader: drive.NewReader(store, from), Journal: j}
	}
	s, err := drive.Open(ctx, cfg, opening)
	if err != nil {
		return err
	}
	p, err := capture.New(s, o)
	if err != nil {
		return err
	}
	h, err := p.Handler("model")
	if err != nil {
		return err
	}
	return serve(h, func() (string, error) {
		err := s.Seal(ctx, "ok", canon.Value{}, nil)
		counts := s.Counts()
		return strings.Join([]string{string(s.Run()), strconv.FormatInt(counts.Missed, 10)}, " "), err
	})
}
