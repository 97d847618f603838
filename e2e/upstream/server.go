// Package upstream is a provider on the loopback that plays recordings: what
// real providers answered, read in place, and small answers written for one
// test. It counts what it is asked, so that a test can say that nobody asked.
package upstream

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Request is one that came.
type Request struct {
	Method string
	Proto  string
	Host   string
	URI    string // path and query as sent
	Header http.Header
	Body   []byte
	Nth    int // how many equal ones (method, URI, body) came before
}

// Answer is what is sent back.
type Answer struct {
	Status  int // 200 if zero
	Header  http.Header
	Parts   [][]byte      // each is flushed
	Pause   time.Duration // before each part but the first
	Reset   bool          // the connection is reset after the last part
	Trailer http.Header
}

// Body returns the bytes of all parts.
func (a *Answer) Body() []byte { return bytes.Join(a.Parts, nil) }

// Model answers requests. It is called by many goroutines.
type Model func(Request) Answer

// Server is a running provider.
type Server struct {
	http *httptest.Server

	mu   sync.Mutex
	seen []Request
}

// date is the Date of every answer, so that two runs can be compared.
const date = "Sat, 01 Nov 2025 10:00:00 GMT"

// Start runs a provider until the test ends or Stop is called.
func Start(tb testing.TB, model Model) *Server {
	tb.Helper()
	s := &Server{}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		s.play(w, r, model(s.note(r, body)))
	}))
	s.http.Config.Protocols = new(http.Protocols)
	s.http.Config.Protocols.SetHTTP1(true)
	s.http.Config.Protocols.SetUnencryptedHTTP2(true) // as the recorder does
	s.http.Start()
	tb.Cleanup(s.Stop)
	return s
}

// URL is the address without a path.
func (s *Server) URL() string { return s.http.URL }

// Requests returns what came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Stop closes the listener and all connections. It may be called twice.
func (s *Server) Stop() {
	s.http.CloseClientConnections()
	s.http.Close()
}

func (s *Server) note(r *http.Request, body []byte) Request {
	req := Request{Method: r.Method, Proto: r.Proto, Host: r.Host, URI: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.seen {
		if o := &s.seen[i]; o.Method == req.Method && o.URI == req.URI && bytes.Equal(o.Body, body) {
			req.Nth++
		}
	}
	s.seen = append(s.seen, req)
	return req
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, a Answer) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	if h.Get("Date") == "" {
		h.Set("Date", date)
	}
	for name := range a.Trailer {
		h.Add("Trailer", name)
	}
	bodiless := a.Status == http.StatusNoContent || a.Status == http.StatusNotModified
	if len(a.Parts) <= 1 && !a.Reset && a.Trailer == nil && !bodiless {
		h.Set("Content-Length", strconv.Itoa(len(a.Body()))) // where a proxy sets it too
	}
	w.WriteHeader(max(a.Status, http.StatusOK))
	flusher := http.NewResponseController(w)
	for i, part := range a.Parts {
		if i > 0 && a.Pause > 0 {
			select {
			case <-time.After(a.Pause):
			case <-r.Context().Done():
				return
			}
		}
		if _, err := w.Write(part); err != nil {
			return
		}
		if len(a.Parts) > 1 || a.Reset {
			if err := flusher.Flush(); err != nil {
				return
			}
		}
	}
	for name, values := range a.Trailer {
		h[name] = values
	}
	if a.Reset {
		reset(flusher)
	}
}

// reset ends the connection the hard way, as a provider that crashes does.
func reset(w *http.ResponseController) {
	conn, _, err := w.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// What was written must arrive first; a reset overtakes it otherwise.
		time.Sleep(50 * time.Millisecond)
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
