package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ServeHTTP guards the routes: who asks, how much and for how long.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	defer s.recovered(w, r)
	if !s.known(r) {
		refuse(w, fault.New(ErrHost, "server", "this server does not go by the name in the Host header"))
		return
	}
	if s.origin.Check(r) != nil {
		refuse(w, fault.New(ErrOrigin, "server", "the request comes from a page of another origin"))
		return
	}
	limit := s.limit(r.URL.Path)
	c := http.NewResponseController(w)
	sent := r.Body
	body := &patient{limited: http.MaxBytesReader(w, sent, limit), c: c, limit: limit, ended: r.ContentLength == 0}
	defer func() {
		// A client that is still sending would not see its answer if the
		// connection were closed now.
		if !body.ended {
			_ = c.SetReadDeadline(time.Now().Add(readHeader))
			_, _ = io.CopyN(io.Discard, sent, maxDrain)
		}
	}()
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		refuse(w, fault.New(ErrTooLarge, "server", "%d bytes are over the limit of %d", r.ContentLength, limit))
		return
	}
	r.Body = body
	pw := &patientWriter{ResponseWriter: w, c: c, body: body}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.lost(pw, r)
		return
	}
	s.mux.ServeHTTP(pw, r)
}

// limit returns how large a request may be.
func (s *Server) limit(path string) int64 {
	switch path {
	case bundlesPath:
		return s.o.MaxBundle
	case foreignPath:
		return maxForeign
	default:
		return maxBody
	}
}

// lost answers a request that no route takes.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, pattern := s.mux.Handler(&http.Request{Method: m, URL: r.URL, Host: r.Host}); pattern != "" {
			allow = append(allow, m)
		}
	}
	if len(allow) == 0 {
		refuse(w, fault.New(ErrRoute, "server", "there is no such route; /openapi.json lists them"))
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	refuse(w, fault.New(ErrRoute, "server", "the route takes %s only", strings.Join(allow, ", ")))
}

// recovered answers for a handler that panicked. That of a handler which
// breaks its answer off on purpose goes on to net/http.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	s.o.Log.LogAttrs(r.Context(), slog.LevelError, "a handler panicked",
		slog.String("path", r.URL.Path), slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
	refuse(w, fault.New(ErrPanic, "server", "the server met a fault of its own"))
}

// known reports whether the Host of a request is this server. A page of
// somebody else's can make its own name mean our address; the browser then
// sends that name.
func (s *Server) known(r *http.Request) bool {
	host := hostName(r.Host)
	if loopback(host) || s.hosts[host] {
		return true
	}
	// An address cannot be made to mean another one: that on which the
	// connection came in is ours.
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, _, err := net.SplitHostPort(local.String())
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.Equal(net.ParseIP(own))
}

// hostName returns a host without port, brackets and final dot, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// patient is a request body that may take as long as it likes if only some of
// it keeps coming.
type patient struct {
	limited interface {
		Read(p []byte) (int, error)
		Close() error
	}
	c     *http.ResponseController
	limit int64
	ended bool // all of it was read
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(time.Now().Add(patience)) // not every connection has one
	n, err := p.limited.Read(b)
	p.ended = p.ended || errors.Is(err, io.EOF)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		err = fault.New(ErrTooLarge, "server", "the body is over the limit of %d bytes", p.limit)
	}
	return n, err
}

func (p *patient) Close() error { return p.limited.Close() }

// patientWriter is an answer for which the same holds.
type patientWriter struct {
	http.ResponseWriter
	c    *http.ResponseController
	body *patient
}

// WriteHeader ends the connection with a refusal that did not read the whole
// request: what the client sends next would meet a closed one.
func (w *patientWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest && !w.body.ended {
		w.Header().Set("Connection", "close")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *patientWriter) Write(b []byte) (int, error) {
	_ = w.c.SetWriteDeadline(time.Now().Add(patience))
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *patientWriter) Flush() { _ = w.c.Flush() }

// Unwrap lets [http.ResponseController] find the connection.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
