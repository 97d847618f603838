package capture

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/internal/websocket"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// A WebSocket is one exchange. The request for it is the call, the answer to
// that the head of the outcome, and the way the socket closes the rest of it.
// Each message in between is an event of the call. Frames are passed on as
// they come, with their masks and in their parts; only the offer of extensions
// is taken out, because what a client and a server compress between them
// nobody could read.

// Sockets says what becomes of requests for a WebSocket.
type Sockets string

const (
	// SocketsAuto refuses the first request for a socket where the same path
	// answers HTTP too, because clients such as Codex then go on with HTTP at
	// once; a client that asks again insists and gets it. The agents that Codex
	// starts each ask for themselves, and say which of them they are. Where
	// there is only a socket, as with realtime APIs, it is relayed at once.
	SocketsAuto Sockets = "auto"
	// SocketsRelay relays every socket.
	SocketsRelay Sockets = "relay"
	// SocketsRefuse refuses every socket.
	SocketsRefuse Sockets = "refuse"
)

// Codes of WebSockets.
const (
	// ErrSockets means that a word does not say what becomes of WebSockets.
	// It is auto, relay or refuse.
	ErrSockets fault.Invalid = "capture.bad_sockets"
	// ErrSocket means that the two sides cannot be stood between: the upstream
	// answers with an extension that it was not offered, or the connection
	// cannot be taken over. Try over HTTP.
	ErrSocket fault.Unavailable = "capture.socket_failed"
)

// ParseSockets reads one of the words; an empty one is [SocketsAuto].
func ParseSockets(s string) (Sockets, error) {
	switch v := Sockets(s); v {
	case "":
		return SocketsAuto, nil
	case SocketsAuto, SocketsRelay, SocketsRefuse:
		return v, nil
	default:
		return "", fault.New(ErrSockets, "capture.ParseSockets", "%q is none of auto, relay and refuse", s)
	}
}

// socketsOf returns what became of sockets in a recorded run. Runs that do not
// say it refused them all.
func socketsOf(opened canon.Value) Sockets {
	v := opened.Get("sockets")
	if v.IsZero() {
		return SocketsRefuse
	}
	s, err := ParseSockets(v.Str())
	if err != nil {
		return SocketsRefuse // a later version's word: nothing is relayed that cannot be replayed
	}
	return s
}

// EventSocket names the events of the messages of a WebSocket.
const EventSocket = protocol.SocketMessage

// EventControl names the events of the pings and pongs of a WebSocket. They
// say when each side was there.
const EventControl = "websocket.control"

const socketProtocol = "websocket"

// closeWait is how long the other side may take to say goodbye too.
const closeWait = 2 * time.Second

// asksForSocket reports whether a request wants to go on as a WebSocket. Other
// protocols that a client offers, such as h2c, may be passed over.
func asksForSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && slices.ContainsFunc(r.Header["Upgrade"], func(v string) bool {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), socketProtocol) {
				return true
			}
		}
		return false
	})
}

// socketRoute is what a request for a socket is taken for. What is said over
// one that is not known may change something.
func socketRoute(r *http.Request) route {
	path := r.URL.Path
	to := route{kind: KindHTTP, name: r.Method + " " + path, class: effect.External, upgrade: socketProtocol}
	if protocol.IsSocket(path) {
		to.kind, to.class = KindModel, effect.Read
	}
	return to
}

// declines reports whether a socket is refused, so that the client goes on
// with HTTP.
func (h *handler) declines(r *http.Request) bool {
	path := r.URL.Path
	switch h.p.o.Sockets {
	case SocketsRelay:
		return false
	case SocketsRefuse:
		return true
	default:
		if !IsModel(http.MethodPost, path) {
			return false
		}
		asker := r.Header.Get("Thread-Id") // of an agent of Codex; others have none
		at := h.u.Name + " " + path + " " + asker[:min(len(asker), maxAsker)]
		h.p.mu.Lock()
		defer h.p.mu.Unlock()
		before := h.p.declined[at]
		if len(h.p.declined) < maxDeclined {
			h.p.declined[at] = true
		}
		return !before
	}
}

// maxDeclined bounds the sockets of which it is known that they were refused,
// and maxAsker what is remembered of who asked for one.
const (
	maxDeclined = 10_000
	maxAsker    = 64
)

// refuseUpgrade answers a request for a socket. Codex asks for one first,
// takes 426 as no and goes on with HTTP; any other answer makes it try again.
func (h *handler) refuseUpgrade(w http.ResponseWriter, r *http.Request) {
	data := canon.Object(
		canon.M("upstream", canon.String(h.u.Name)),
		canon.M("method", canon.String(r.Method)),
		canon.M("url", canon.String(h.p.o.Redactor.Text(strings.ToValidUTF8(r.URL.EscapedPath(), "\uFFFD")))),
		canon.M("protocol", canon.String(strings.ToValidUTF8(r.Header.Get("Upgrade"), "\uFFFD"))),
	)
	if _, err := h.p.note(context.WithoutCancel(r.Context()), "capture.upgrade_refused", data); err != nil {
		h.broken(w, err)
		return
	}
	h.p.refused.Add(1)
	how := "go on without " + socketProtocol
	if h.p.o.Sockets != SocketsRefuse {
		how += "; who asks again gets it"
	}
	problem(w, http.StatusUpgradeRequired, ErrNoUpgrade, how)
}

// socket takes a request for a WebSocket.
func (h *handler) socket(w http.ResponseWriter, r *http.Request) {
	if headSize(r.Header)+len(r.URL.RawQuery)+len(r.URL.Path) > maxHead {
		problem(w, http.StatusRequestHeaderFieldsTooLarge, ErrTooLarge, "the head of the request is over the limit")
		return
	}
	if h.declines(r) {
		h.refuseUpgrade(w, r)
		return
	}
	ctx := context.WithoutCancel(r.Context())
	to := socketRoute(r)
	call, err := h.call(r, to, nil)
	if err != nil {
		h.broken(w, err)
		return
	}
	x, err := h.p.at.Begin(ctx, call)
	switch {
	case err != nil:
		h.miss(ctx, w, to, &call, nil, err)
	case x.Live():
		h.relay(ctx, w, r, to, x)
	default:
		h.perform(ctx, w, r, to, &call, x)
	}
}

// relay asks the upstream for the socket. What is no socket is an answer like
// any other.
func (h *handler) relay(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, x *drive.Exchange) {
	up, leave := context.WithCancel(ctx)
	defer leave()
	out := h.outgoing(up, r, &body{})
	out.Header["Connection"], out.Header["Upgrade"] = []string{"Upgrade"}, []string{socketProtocol}
	delete(out.Header, extensionsHeader)
	resp, err := h.p.out.RoundTrip(out)
	if err != nil {
		h.unreachable(ctx, w, r, x, err)
		return
	}
	defer resp.Body.Close()
	a := h.answered(ctx, w, r, to, x, resp)
	if a == nil {
		return
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		a.pass(ctx)
		return
	}
	server, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.Header[extensionsHeader] != nil {
		a.noSocket(ctx, "the upstream answers with an extension that it was not offered")
		return
	}
	if err := x.Duplex(ctx, a.head); err != nil {
		a.lost(ctx, err)
	}
	conn, in, err := h.takeOver(w, resp.Header)
	if err != nil {
		a.noSocket(ctx, "the connection of the client cannot be taken over")
		return
	}
	defer h.p.leave(conn)
	s := &socket{h: h, x: x, a: a, client: conn, server: server, said: newTranscript(x, h.p.o.Redactor)}
	s.run(ctx, in, bufio.NewReader(server))
}

const extensionsHeader = "Sec-Websocket-Extensions"

// noSocket ends an exchange that cannot be relayed.
func (a *answering) noSocket(ctx context.Context, why string) {
	o := effect.Outcome{Status: effect.Error, Code: ErrSocket, Data: canon.Object(canon.M("message", canon.String(why)))}
	if err := a.x.End(ctx, o); err != nil {
		a.h.broken(a.w, err)
		return
	}
	a.h.noAnswer(a.w, o)
}

// takeOver takes the connection of the client from its server and writes the
// head of the answer. The proxy closes it when the run ends; who took it over
// leaves it.
func (h *handler) takeOver(w http.ResponseWriter, header http.Header) (net.Conn, *bufio.Reader, error) {
	const op = "capture.socket"
	hj, ok := w.(http.Hijacker)
	if !ok {
		return nil, nil, fault.New(ErrSocket, op, "the connection cannot be taken over")
	}
	conn, rw, err := hj.Hijack()
	if err != nil {
		return nil, nil, fault.Wrap(ErrSocket, op, err, "the connection cannot be taken over")
	}
	if !h.p.enter(conn) {
		_ = conn.Close()
		return nil, nil, fault.New(drive.ErrEnded, op, "the run has ended")
	}
	out := http.Header{}
	copyHeader(out, header)
	var b strings.Builder
	b.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + socketProtocol + "\r\n")
	_ = out.Write(&b) // a builder takes everything
	b.WriteString("\r\n")
	if _, err := io.WriteString(conn, b.String()); err != nil {
		// Whoever reads from it will find that it is gone.
		_ = conn.Close()
	}
	return conn, rw.Reader, nil
}

// socket is one WebSocket that is relayed.
type socket struct {
	h      *handler
	x      *drive.Exchange
	a      *answering
	client net.Conn
	server io.ReadWriteCloser

	mu    sync.Mutex // orders the messages of both directions
	said  *transcript
	mask  [4]byte // that the client used last
	ended bool
}

// ending is how one direction of a socket ended.
type ending struct {
	dir    string
	close  *websocket.Message // nil: it broke off
	answer *websocket.Message // how the other side closed, where it is known in time
	err    error
	wrote  bool // it was the other side that was gone
}

// run carries messages both ways until both sides have ended. The frame that
// closes the socket reaches the client only when the outcome is durable.
func (s *socket) run(ctx context.Context, in, back *bufio.Reader) {
	limit := min(s.h.p.o.MaxRequest, DefaultMaxWhole) // a larger one could not be staged
	ends := make(chan ending, 2)
	go func() { ends <- s.pump(dirOut, websocket.NewReader(in, true, limit), s.server) }()
	go func() { ends <- s.pump(dirIn, websocket.NewReader(back, false, limit), s.client) }()
	first := <-ends
	timer := time.AfterFunc(closeWait, func() { _ = s.server.Close(); _ = s.client.Close() })
	defer timer.Stop()
	if first.close != nil && first.dir == dirOut {
		// The upstream says goodbye too, and may say more before.
		_, _ = s.server.Write(first.close.Append(nil))
		second := <-ends
		first.answer = second.close
		if s.end(ctx, first) == nil && second.close != nil {
			_, _ = s.client.Write(second.close.Append(nil))
		}
	} else {
		err := s.end(ctx, first)
		switch {
		case err == nil && first.close != nil:
			_, _ = s.client.Write(first.close.Append(nil))
		case fault.ClassOf(first.err) == fault.ClassInvalid:
			s.refuse(first.err)
		default:
			// The one side is gone without a word: so it is for the other.
			_ = s.server.Close()
			_ = s.client.Close()
		}
		if second := <-ends; second.close != nil && first.close != nil {
			_, _ = s.server.Write(second.close.Append(nil))
		}
	}
	_ = s.server.Close()
	_ = s.client.Close()
}

// pump carries the messages of one direction until one closes the socket.
func (s *socket) pump(dir string, from *websocket.Reader, to io.Writer) ending {
	var wire []byte
	for {
		m, err := from.Next()
		if err == nil && m.Op == websocket.Close {
			return ending{dir: dir, close: &m}
		}
		if err == nil && !m.Op.Control() {
			err = s.record(dir, &m)
		} else if err == nil {
			err = s.beat(dir, &m)
		}
		if err != nil {
			return ending{dir: dir, err: err}
		}
		wire = m.Append(wire[:0])
		if _, err := to.Write(wire); err != nil {
			return ending{dir: dir, err: err, wrote: true}
		}
	}
}

// record takes a message for the ledger. It may be passed on then.
func (s *socket) record(dir string, m *websocket.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return fault.New(drive.ErrEnded, "capture.socket", "the socket has ended")
	}
	if m.Frames[0].Masked {
		s.mask = m.Frames[0].Mask
	}
	_, err := s.said.hear(dir, m)
	return err
}

// beat puts a ping or pong into the ledger.
func (s *socket) beat(dir string, m *websocket.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return s.said.beat(dir, m)
}

// end records how the socket ended, and returns when that is durable. Nothing
// that comes later is recorded or passed on.
func (s *socket) end(ctx context.Context, e ending) error {
	s.mu.Lock()
	s.ended = true
	err := s.said.end()
	names := s.said.names
	s.mu.Unlock()
	if err != nil {
		return err
	}
	by := byUpstream
	if (e.dir == dirOut) != e.wrote {
		by = byClient
	}
	o := effect.Outcome{Status: effect.OK, Data: s.a.head, Redacted: redact.Union(s.a.names, names)}
	if e.close == nil {
		o.Status, o.Data = effect.Interrupted, o.Data.With("broke", canon.String(by))
		if fault.ClassOf(e.err) == fault.ClassInvalid {
			o.Code = fault.CodeOf(e.err)
		}
		return s.x.End(ctx, o)
	}
	how := s.farewell(canon.Object(canon.M("by", canon.String(by))), e.close)
	if e.answer != nil {
		how = how.With("answer", s.farewell(canon.Object(), e.answer))
	}
	o.Data = o.Data.With("close", how)
	return s.x.End(ctx, o)
}

// farewell adds to v what a close frame says.
func (s *socket) farewell(v canon.Value, m *websocket.Message) canon.Value {
	code, reason := m.CloseStatus()
	if code == 0 {
		return v
	}
	v = v.With("code", canon.Int(int64(code)))
	return v.With("reason", canon.String(s.h.p.o.Redactor.Text(strings.ToValidUTF8(reason, "\uFFFD"))))
}

// refuse tells both sides that one of them does not keep to the standard.
func (s *socket) refuse(why error) {
	code := websocket.ProtocolError
	if errors.Is(why, websocket.ErrTooLarge) {
		code = websocket.TooBig
	}
	m := websocket.Closing(code, fault.CodeOf(why).Error())
	_, _ = s.client.Write(m.Append(nil))
	s.mu.Lock()
	masked := m.As(s.mask)
	s.mu.Unlock()
	_, _ = s.server.Write(masked.Append(nil))
	_ = s.server.Close()
	_ = s.client.Close()
}
