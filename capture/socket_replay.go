package capture

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/websocket"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// perform plays the part of the upstream of a recorded socket: what it said
// is said again when everything has come that the client had said before it,
// and the socket ends as it did. A message of the client that is not the
// recorded one gets no answer: the socket is closed.
func (h *handler) perform(ctx context.Context, w http.ResponseWriter, r *http.Request, to route, c *effect.Call, x *drive.Exchange) {
	o, _, err := x.Answered()
	if err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	if status, _ := o.Data.Get("status").AsInt(); status != http.StatusSwitchingProtocols || x.Record() == nil || h.p.o.Record == nil {
		h.answer(ctx, w, r, to, c, x) // it never became a socket
		return
	}
	defer h.p.turns.begin(x.Record())()
	lines, err := h.p.o.Record.spoken(ctx, x.Record())
	if err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	header := http.Header{}
	if err := addHeaders(header, o.Data.Get("headers")); err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	header["Sec-Websocket-Accept"] = []string{websocket.Accept(r.Header.Get("Sec-Websocket-Key"))}
	conn, in, err := h.takeOver(w, header)
	if err != nil {
		h.cannot(ctx, w, x, err)
		return
	}
	defer h.p.leave(conn)
	p := &performance{
		h: h, x: x, kind: c.Kind, name: c.Name, conn: conn,
		in: websocket.NewReader(in, true, h.p.o.MaxRequest), lines: lines, end: o, said: newTranscript(x, h.p.o.Redactor),
	}
	p.run(ctx)
	_ = p.settle(ctx) // the session keeps what went wrong
	_ = conn.Close()
}

// line is a message of a recorded socket.
type line struct {
	n     int64 // its entry
	at    ledger.Ref
	dir   string
	op    websocket.Opcode
	after time.Duration // since the call
	sizes []int
	clean bool // no secret was in it
}

// spoken returns the messages of a recorded socket without their bytes.
func (r *Recorded) spoken(ctx context.Context, rec *effect.Record) ([]line, error) {
	var out []line
	for o, err := range r.Reader.Messages(ctx, rec) {
		if err != nil {
			return nil, err
		}
		name := o.Body.Get("name").Str()
		if name != EventSocket && name != EventControl {
			continue
		}
		data := o.Body.Get("data")
		after, _ := data.Get("after").AsInt()
		l := line{n: o.N, at: ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, dir: data.Get("dir").Str(), op: websocket.Text, after: time.Duration(after), clean: data.Get("redacted").IsZero()}
		switch data.Get("op").Str() {
		case "binary":
			l.op = websocket.Binary
		case "ping":
			l.op = websocket.Ping
		case "pong":
			l.op = websocket.Pong
		}
		if l.op.Control() && (l.op == websocket.Pong || l.dir == dirOut) {
			// A pong is given when its ping comes. When a client sends its own
			// pings is no part of what it says: they are not waited for.
			continue
		}
		for _, v := range data.Get("frames").Elems() {
			n, _ := v.AsInt()
			l.sizes = append(l.sizes, int(n))
		}
		out = append(out, l)
	}
	return out, nil
}

// performance is one socket that is answered from the record.
type performance struct {
	h    *handler
	x    *drive.Exchange
	kind string
	name string
	conn net.Conn
	in   *websocket.Reader

	lines []line
	end   effect.Outcome // how it ended then
	said  *transcript
	doubt []doubtful
	clock time.Duration // how far the recorded time has been played
	over  bool          // the outcome is recorded
}

// doubtful is a message of the client of which it is known only later what is
// stored of it: a secret is spelled from there on.
type doubtful struct {
	l    *line
	then []byte
	now  *utterance
}

// run says and hears line after line, and ends the socket as it ended then.
func (p *performance) run(ctx context.Context) {
	for i := range p.lines {
		l := &p.lines[i]
		then, err := p.recorded(ctx, l)
		if err != nil {
			p.diverge(replay.Missing, l.n, nil, "%v", err)
			p.refuse(ctx, fault.CodeOf(err).Error())
			return
		}
		if l.dir == dirIn {
			if p.say(l, then) != nil {
				p.left(ctx, p.lines[i:], nil)
				return
			}
			continue
		}
		m, err := p.next()
		if err != nil || m.Op == websocket.Close {
			p.left(ctx, p.lines[i:], &m)
			return
		}
		if !p.hear(ctx, l, then, &m) {
			return
		}
	}
	if err := p.said.end(); err != nil { // nothing follows that could say more of a message
		p.left(ctx, nil, nil)
		return
	}
	if bad := p.settled(); bad != nil {
		p.refuse(ctx, notTheMessage(bad))
		return
	}
	p.close(ctx)
}

func (p *performance) recorded(ctx context.Context, l *line) ([]byte, error) {
	r := p.h.p.o.Record.Reader
	o, err := r.Ref(ctx, l.at)
	if err != nil {
		return nil, err
	}
	i := o.Attachment(messageName)
	if i < 0 {
		return nil, fault.New(ErrRecord, "capture.socket", "the message at entry %d has no bytes", l.n)
	}
	return r.Bytes(ctx, o, i)
}

// say says what the upstream had said.
func (p *performance) say(l *line, b []byte) error {
	if pace := p.h.p.o.Pace; pace > 0 && l.after > p.clock {
		time.Sleep(time.Duration(float64(l.after-p.clock) / pace))
	}
	p.clock = max(p.clock, l.after)
	m := websocket.NewMessage(l.op, b, l.sizes...)
	record := p.said.say
	if l.op.Control() {
		record = p.said.beat
	}
	if err := record(dirIn, &m); err != nil {
		return err
	}
	_, err := p.conn.Write(m.Append(nil))
	return err
}

// hear compares what the client says with what it had said, and reports
// whether it is the same.
func (p *performance) hear(ctx context.Context, l *line, then []byte, m *websocket.Message) bool {
	p.clock = max(p.clock, l.after)
	u, err := p.said.hear(dirOut, m)
	if err != nil {
		return false
	}
	now, _ := p.h.p.o.Redactor.Bytes(m.Payload())
	bad := p.settled()
	if bad == nil && !p.same(l, then, u, now) {
		bad = l
	}
	if bad != nil {
		p.refuse(ctx, notTheMessage(bad))
	}
	return bad == nil
}

func notTheMessage(l *line) string {
	return fmt.Sprintf("%s: not the message of entry %d", effect.ErrMissing.Error(), l.n)
}

// same reports whether a message is the recorded one. If a part of a secret
// was in that which others went on with, and nobody knows yet whether they do
// so now, it is taken for it until they come.
func (p *performance) same(l *line, then []byte, u *utterance, now []byte) bool {
	was, is, _ := p.forms(then, now)
	switch {
	case l.clean || string(was) == string(is):
		return p.compare(l, then, u.op, now)
	case u.done:
		return p.compare(l, then, u.op, u.stored)
	default:
		p.doubt = append(p.doubt, doubtful{l, then, u})
		return true
	}
}

// settled compares those messages of which it is known now what is stored,
// and returns the first that is not the recorded one.
func (p *performance) settled() (bad *line) {
	for len(p.doubt) > 0 && p.doubt[0].now.done {
		d := p.doubt[0]
		p.doubt = p.doubt[1:]
		if !p.compare(d.l, d.then, d.now.op, d.now.stored) {
			return d.l
		}
	}
	return nil
}

// compare compares what is stored of a message with its record.
func (p *performance) compare(l *line, then []byte, op websocket.Opcode, now []byte) bool {
	was, is, norms := p.forms(then, now)
	if op == l.op && string(was) == string(is) {
		if string(then) != string(now) {
			p.h.p.alter(norms)
		}
		return true
	}
	p.diverge(replay.Different, l.n, replay.Bytes(was, is), "the client says otherwise than at entry %d", l.n)
	return false
}

func (p *performance) forms(then, now []byte) (was, is []byte, norms []string) {
	was, _ = p.h.p.o.Record.rules(p.h.p.rules).Form(p.kind, then)
	is, norms = p.h.p.rules.Form(p.kind, now)
	return was, is, norms
}

// alter notes that a message is the recorded one only behind normalisers.
func (p *Proxy) alter(norms []string) {
	by := "only in how its JSON is written"
	if norms != nil {
		by = "by " + strings.Join(norms, ", ")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.altered[by]++
}

// alterations returns a line for each set of normalisers that made messages
// of sockets equal.
func (p *Proxy) alterations() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for by, n := range p.altered {
		out = append(out, fmt.Sprintf("%d messages differ from their record %s", n, by))
	}
	slices.Sort(out)
	return out
}

// close ends the socket as it ended then.
func (p *performance) close(ctx context.Context) {
	how := p.end.Data.Get("close")
	switch {
	case how.Get("by").Str() == byUpstream:
		m := websocket.NewMessage(websocket.Close, nil)
		if code, ok := how.Get("code").AsInt(); ok {
			m = websocket.Closing(int(code), how.Get("reason").Str())
		}
		if p.settle(ctx) == nil {
			p.goodbye(&m)
		}
	case how.IsZero() && p.end.Data.Get("broke").Str() != byClient:
		// The upstream was gone without a word.
	default:
		m, err := p.next()
		if err != nil || m.Op == websocket.Close {
			p.left(ctx, nil, &m)
			return
		}
		if _, err := p.said.hear(dirOut, &m); err == nil {
			p.diverge(replay.Extra, -1, nil, "the client says more than was recorded")
			p.refuse(ctx, effect.ErrMissing.Error()+": the record has ended")
		}
	}
}

// left ends the socket when the client has left it before these lines.
func (p *performance) left(ctx context.Context, lines []line, m *websocket.Message) {
	for i := range lines {
		if lines[i].dir == dirOut {
			p.diverge(replay.Missing, lines[i].n, nil, "the client left before it said what it had said at entry %d", lines[i].n)
			break
		}
	}
	if p.settle(ctx) == nil && m != nil && m.Op == websocket.Close {
		echo := websocket.NewMessage(websocket.Close, m.Payload())
		if code, ok := p.end.Data.Get("close").Get("answer").Get("code").AsInt(); ok && lines == nil {
			echo = websocket.Closing(int(code), p.end.Data.Get("close").Get("answer").Get("reason").Str())
		}
		_, _ = p.conn.Write(echo.Append(nil))
	}
}

// refuse closes the socket because there is no answer to the client.
func (p *performance) refuse(ctx context.Context, why string) {
	if p.settle(ctx) == nil {
		m := websocket.Closing(websocket.Policy, why)
		p.goodbye(&m)
	}
}

// goodbye sends a close frame and waits a moment for that of the client.
func (p *performance) goodbye(m *websocket.Message) {
	_, err := p.conn.Write(m.Append(nil))
	_ = p.conn.SetReadDeadline(time.Now().Add(closeWait))
	for err == nil {
		var answer websocket.Message
		if answer, err = p.next(); answer.Op == websocket.Close {
			return
		}
	}
}

// settle records the outcome, once.
func (p *performance) settle(ctx context.Context) error {
	if p.over {
		return nil
	}
	p.over = true
	if err := p.said.end(); err != nil {
		return err
	}
	p.settled()
	return p.x.End(ctx, effect.Outcome{})
}

// next returns the next message of the client, or its close frame.
func (p *performance) next() (websocket.Message, error) {
	for {
		m, err := p.in.Next()
		if err != nil || !m.Op.Control() || m.Op == websocket.Close {
			return m, err
		}
		if !p.over {
			if err := p.said.beat(dirOut, &m); err != nil {
				return m, err
			}
		}
		if m.Op == websocket.Ping {
			pong := websocket.NewMessage(websocket.Pong, m.Payload())
			if _, err := p.conn.Write(pong.Append(nil)); err != nil {
				return m, err
			}
		}
	}
}

func (p *performance) diverge(kind replay.Kind, recorded int64, where []canon.Difference, format string, args ...any) {
	p.h.p.diverge(replay.Divergence{
		Kind: kind, What: "message", Name: p.name, Recorded: recorded, Now: p.x.N(), Nearest: -1, Where: where, Msg: fmt.Sprintf(format, args...),
	})
}
