package capture

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// A stdio server of the Model Context Protocol is recorded by a shim that the
// agent starts in its place. The shim is a process of its own and only
// carries lines: every one that it reads goes to the recorder as a frame, and
// what the recorder sends back it writes. So the order of the ledger is that
// of the recorder, and a line reaches the other side only when it is recorded.
//
// A frame is a type, a length of four bytes, big-endian, and the bytes.
const (
	frameHello  = 'h' // from the shim: the server's command as a JSON array
	frameAgent  = 'o' // from the shim: a line of the agent
	frameServer = 'i' // from the shim: a line of the server
	frameClosed = 'c' // from the shim: the agent has closed its side
	frameEnded  = 'e' // from the shim: the server has closed its side
	frameMode   = 'm' // to the shim: live or replay
	frameToIt   = 's' // to the shim: a line for the server
	frameToThem = 'a' // to the shim: a line for the agent
	frameHangUp = 'd' // to the shim: close the server's input
	frameDone   = 'x' // to the shim: it is over
)

const (
	shimPath     = "/.reprise/mcp"
	shimProtocol = "reprise-mcp/1"
	modeLive     = "live"
	modeReplay   = "replay"
	maxFrame     = DefaultMaxWhole
)

// ErrShim means that a shim and its recorder do not understand each other, or
// that one of them is gone. Use both from the same version.
const ErrShim fault.Unavailable = "capture.shim_failed"

// framed is a connection that carries frames.
type framed struct {
	r  *bufio.Reader
	mu sync.Mutex // of w
	w  io.Writer
}

func (f *framed) read() (typ byte, p []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fault.New(ErrTooLarge, "capture.Shim", "a line of %d bytes", n)
	}
	p = make([]byte, n)
	_, err = io.ReadFull(f.r, p)
	return head[0], p, err
}

func (f *framed) write(typ byte, p []byte) error {
	b := make([]byte, 5, 5+len(p))
	b[0] = typ
	binary.BigEndian.PutUint32(b[1:], uint32(len(p))) //nolint:gosec // lines are bounded below that
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.w.Write(append(b, p...))
	return err
}

// Recorder returns the handler of the listener that shims connect to. Only
// who knows the token, which is in the environment of the child, may.
func (p *Proxy) Recorder(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		token := token // of a path that there is
		serve, proto := p.serveShim, shimProtocol
		if r.URL.Path == execPath {
			serve, proto = p.serveCommand, execProtocol
		} else if r.URL.Path != shimPath {
			token = ""
		}
		if token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 || r.Header.Get("Upgrade") != proto {
			problem(w, http.StatusNotFound, ErrShim, "not a shim of this recorder")
			return
		}
		h, ok := w.(http.Hijacker)
		if !ok {
			problem(w, http.StatusInternalServerError, ErrShim, "the connection cannot be taken over")
			return
		}
		conn, rw, err := h.Hijack()
		if err != nil {
			return
		}
		if !p.enter(conn) {
			_ = conn.Close()
			return
		}
		defer p.leave(conn)
		_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+proto+"\r\n\r\n")
		if err == nil {
			serve(context.WithoutCancel(r.Context()), &framed{r: rw.Reader, w: conn})
		}
	})
}

// enter notes that something is being recorded, so that the run is not sealed
// under it. A connection that is not nil is closed when the run ends.
func (p *Proxy) enter(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	if c != nil {
		p.conns = append(p.conns, c)
	}
	p.busy.Add(1)
	return true
}

func (p *Proxy) leave(c net.Conn) {
	if c != nil {
		_ = c.Close()
		p.mu.Lock()
		p.conns = slices.DeleteFunc(p.conns, func(x net.Conn) bool { return x == c })
		p.mu.Unlock()
	}
	p.busy.Done()
}

// Close refuses what comes from now on, hangs up on shims and returns when
// everything that was under way is recorded. The session can then be sealed.
// The listeners must be closed before, so that nothing waits for a client.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.ended = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.busy.Wait()
}

// channel is one stdio server behind a shim.
type channel struct {
	p      *Proxy
	f      *framed
	server string // its command, for people
	key    string // its command in the form that keys are taken of
	number int64  // among the channels of that server, from 0
	seq    int64  // of the next message

	pending map[string]*drive.Exchange // what the agent asked, by id
	asked   map[string]*asking         // what the server asked, by id
	greeted map[string]bool            // what the server was asked only to greet it
	script  *script                    // of a replay
}

// asking is a request of the server that the agent has not answered.
type asking struct {
	x    *drive.Exchange
	then func() error // goes on with the replay
}

func (p *Proxy) serveShim(ctx context.Context, f *framed) {
	typ, hello, err := f.read()
	if err != nil || typ != frameHello {
		return
	}
	c, err := p.channel(ctx, f, hello)
	if err != nil {
		return
	}
	mode := modeLive
	if c.script != nil {
		mode = modeReplay
	}
	if f.write(frameMode, []byte(mode)) != nil {
		return
	}
	err = c.serve(ctx)
	for _, x := range c.pending {
		_ = x.End(ctx, effect.Outcome{Status: effect.Interrupted})
	}
	for _, a := range c.asked {
		_ = a.x.End(ctx, effect.Outcome{Status: effect.Interrupted})
	}
	if err == nil {
		_ = f.write(frameDone, nil)
	}
}

func (p *Proxy) channel(ctx context.Context, f *framed, hello []byte) (*channel, error) {
	v, err := canon.Parse(hello)
	if err != nil || v.Len() == 0 {
		return nil, fault.New(ErrShim, "capture.Recorder", "a shim that names no server")
	}
	var words []string
	for i, e := range v.Elems() {
		w := p.o.Redactor.Text(e.Str())
		if i == 0 {
			w = filepath.Base(w) // where a program is installed does not matter
		}
		words = append(words, w)
	}
	c := &channel{
		p: p, f: f, server: clip(strings.Join(words, " ")),
		pending: map[string]*drive.Exchange{}, asked: map[string]*asking{}, greeted: map[string]bool{},
	}
	form, _ := p.rules.Form(KindMCP, []byte(strings.Join(words, "\x00")))
	c.key = string(form)
	p.mu.Lock()
	c.number = p.channels[c.key]
	p.channels[c.key]++
	p.mu.Unlock()
	if p.o.Record != nil && p.o.Replaying {
		if c.script, err = p.o.Record.script(ctx, c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// serve takes frames until one side has ended.
func (c *channel) serve(ctx context.Context) error {
	for {
		typ, line, err := c.f.read()
		if err != nil {
			return err
		}
		switch typ {
		case frameAgent:
			err = c.fromAgent(ctx, line)
		case frameServer:
			err = c.fromServer(ctx, line)
		case frameClosed:
			if c.script != nil {
				return nil
			}
			err = c.f.write(frameHangUp, nil)
		case frameEnded:
			return nil
		default:
			err = fault.New(ErrShim, "capture.Recorder", "an unknown frame %q", typ)
		}
		if err != nil {
			return err
		}
	}
}

// Directions of messages, as seen from the agent.
const (
	dirOut = "out"
	dirIn  = "in"
)

// fromAgent takes a line of the agent.
func (c *channel) fromAgent(ctx context.Context, line []byte) error {
	m, ok := parseRPC(line)
	switch {
	case !ok || m.asks() == "" && m.answers() == "":
		if err := c.note(ctx, dirOut, m, line); err != nil {
			return err
		}
		if c.script != nil {
			return c.script.passed(ctx, line)
		}
	case m.asks() != "":
		return c.agentAsks(ctx, m, line)
	case c.asked[m.answers()] != nil:
		a := c.asked[m.answers()]
		delete(c.asked, m.answers())
		if err := c.agentAnswers(ctx, a, line); err != nil {
			return err
		}
		if a.then != nil {
			return a.then()
		}
	default:
		if err := c.note(ctx, dirOut, m, line); err != nil {
			return err
		}
	}
	if c.script != nil {
		return nil
	}
	return c.f.write(frameToIt, line)
}

func (c *channel) agentAsks(ctx context.Context, m *rpc, line []byte) error {
	call := c.call(dirOut, m, line)
	x, err := c.p.at.Begin(ctx, call)
	if err != nil {
		return c.missed(ctx, m, &call, err)
	}
	if x.Live() {
		if c.script != nil {
			return fault.New(ErrShim, "capture.Recorder", "the server was not started, and the record has ended")
		}
		c.pending[m.asks()] = x
		return c.f.write(frameToIt, line)
	}
	if c.script != nil {
		return c.script.answer(ctx, m, x)
	}
	// A branch within its prefix. The server that will go on live must have
	// been greeted; what it says to that is not recorded again.
	if m.method == "initialize" {
		c.greeted[m.asks()] = true
		if err := c.f.write(frameToIt, line); err != nil {
			return err
		}
	}
	return c.give(ctx, m, x)
}

// give writes the recorded answer itself.
func (c *channel) give(ctx context.Context, m *rpc, x *drive.Exchange) error {
	o, _, err := x.Answered()
	if err != nil {
		return err
	}
	var line []byte
	if x.Has(ResponseName) {
		if line, err = x.Content(ctx, ResponseName); err != nil {
			return err
		}
	}
	if err := x.End(ctx, effect.Outcome{}); err != nil {
		return err
	}
	if line == nil || o.Status != effect.OK {
		return nil // the server never answered: neither does this
	}
	return c.f.write(frameToThem, withID(line, m.id))
}

// missed answers a request that is not recorded with a JSON-RPC error.
func (c *channel) missed(ctx context.Context, m *rpc, call *effect.Call, why error) error {
	data := canon.Object(canon.M("code", canon.String(fault.CodeOf(why).Error())))
	if rec := c.p.o.Record; rec != nil {
		if n, err := rec.near(ctx, c.p.rules, c.p.at.Path(), call, formNow(c.p.rules, call, nil)); err == nil && n != nil {
			data = data.With("nearest", canon.Object(
				canon.M("entry", canon.Int(n.Record.Call.N)), canon.M("name", canon.String(n.Record.Name)), canon.M("differences", pointers(n.Where)),
			))
		}
	}
	id := m.id
	if id.IsZero() {
		id = canon.Null()
	}
	v := canon.Object(
		canon.M("jsonrpc", canon.String("2.0")),
		canon.M("id", id),
		canon.M("error", canon.Object(
			canon.M("code", canon.Int(-32001)),
			canon.M("message", canon.String(why.Error())),
			canon.M("data", data),
		)),
	)
	return c.f.write(frameToThem, append([]byte(v.String()), '\n'))
}

// agentAnswers ends what the server asked.
func (c *channel) agentAnswers(ctx context.Context, a *asking, line []byte) error {
	stored, names := c.p.o.Redactor.Bytes(line)
	if !a.x.Live() {
		then, err := a.x.Content(ctx, ResponseName)
		if err != nil {
			return err
		}
		// Both in the form of keys: an id that is drawn anew is no difference.
		was, _ := c.p.rules.Form(KindMCP, then)
		is, _ := c.p.rules.Form(KindMCP, stored)
		if string(was) != string(is) {
			c.p.diverge(replay.Divergence{
				Kind: replay.Different, What: "answer", Name: "to " + a.x.Record().Name, Recorded: a.x.Record().Outcome.N, Now: a.x.N(), Nearest: -1,
				Where: replay.Bytes(was, is), Msg: "the agent answers the server otherwise",
			})
		}
	}
	return a.x.End(ctx, effect.Outcome{Status: effect.OK, Redacted: names, Contents: []ledger.Content{{Name: ResponseName, Type: "application/json", Bytes: stored}}})
}

// fromServer takes a line of the server.
func (c *channel) fromServer(ctx context.Context, line []byte) error {
	m, ok := parseRPC(line)
	switch {
	case ok && c.greeted[m.answers()]:
		delete(c.greeted, m.answers())
		return nil
	case ok && m.answers() != "" && c.pending[m.answers()] != nil:
		x := c.pending[m.answers()]
		delete(c.pending, m.answers())
		stored, names := c.p.o.Redactor.Bytes(line)
		err := x.End(ctx, effect.Outcome{Status: effect.OK, Redacted: names, Contents: []ledger.Content{{Name: ResponseName, Type: "application/json", Bytes: stored}}})
		if err != nil {
			return err
		}
	case ok && m.asks() != "":
		x, err := c.p.at.Begin(ctx, c.call(dirIn, m, line))
		if err != nil {
			return err
		}
		c.asked[m.asks()] = &asking{x: x}
	default:
		if err := c.note(ctx, dirIn, m, line); err != nil {
			return err
		}
	}
	return c.f.write(frameToThem, line)
}

// call returns the call that a request in either direction is.
func (c *channel) call(dir string, m *rpc, line []byte) effect.Call {
	stored, redacted := c.p.o.Redactor.Bytes(line)
	form, norms := c.p.rules.Form(KindMCP, stored)
	digest := canon.SHA256(form)
	call := effect.Call{
		Kind: KindMCP, Name: c.p.o.Redactor.Text(m.title()), Class: m.class(), Norms: norms,
		Match: effect.MatchKey([]byte("stdio"), []byte(c.key), []byte(dir), digest[:]),
		Data: canon.Object(
			canon.M("channel", canon.Int(c.number)),
			canon.M("dir", canon.String(dir)),
			canon.M("server", canon.String(c.server)),
			canon.M("transport", canon.String("stdio")),
		),
		Contents: []ledger.Content{{Name: RequestName, Type: "application/json", Bytes: stored}},
	}
	if dir == dirIn {
		call.Class = effect.Read
	}
	if redacted != nil {
		call.Data = call.Data.With("redacted", canon.Strings(redacted))
	}
	return call
}

// EventMessage names the events of messages that are no requests.
const EventMessage = "mcp.message"

// note records a message that asks and answers nothing, or that cannot be
// read, as it is.
func (c *channel) note(ctx context.Context, dir string, m *rpc, line []byte) error {
	stored, redacted := c.p.o.Redactor.Bytes(line)
	data := canon.Object(
		canon.M("channel", canon.Int(c.number)),
		canon.M("dir", canon.String(dir)),
		canon.M("seq", canon.Int(c.seq)),
		canon.M("server", canon.String(c.server)),
	)
	if m != nil {
		data = data.With("method", canon.String(m.title()))
	}
	if redacted != nil {
		data = data.With("redacted", canon.Strings(redacted))
	}
	c.seq++
	_, err := c.p.note(ctx, EventMessage, data, ledger.Content{Name: messageName, Type: "application/json", Bytes: stored, Scope: c.p.at.Scope()})
	return err
}

const messageName = "message"

// asks returns the key under which an answer to m is found, or nothing if m
// asks nothing. A batch is one question.
func (m *rpc) asks() string {
	if m.batch > 0 {
		return m.wants
	}
	if m.method == "" || m.id.IsZero() || m.id.IsNull() {
		return ""
	}
	return m.id.String()
}

// answers returns the key of the question that m answers, or nothing.
func (m *rpc) answers() string {
	if m.batch > 0 {
		return m.gives
	}
	if m.method != "" || m.id.IsZero() {
		return ""
	}
	return m.id.String()
}

func batchKey(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return fmt.Sprint(ids)
}
