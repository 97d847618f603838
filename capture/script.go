package capture

import (
	"bytes"
	"context"
	"slices"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// script plays the part of a stdio server in a replay. It knows what the
// server said of its own accord and when: a message that stands between a
// call and its outcome is said before that answer, and any other as soon as
// everything is seen that the agent had said before it.
type script struct {
	c      *channel
	reader *drive.Reader
	said   []*saying // what the server said of its own accord, in order
	heard  []*heard  // what the agent said, in order
}

// saying is a message of the server, at its place in the history: the record
// of a branch stands in more than one run, so a place is counted, not read.
type saying struct {
	at   int64
	ref  ledger.Ref
	asks bool // it is a request, and the agent's answer is awaited
	done bool
}

// heard is a message of the agent, at its place in the history.
type heard struct {
	at   int64
	end  int64 // of a call: the place of its outcome
	ref  ledger.Ref
	call bool
	seen bool
}

// script reads what one channel of the record carried.
func (r *Recorded) script(ctx context.Context, c *channel) (*script, error) {
	s := &script{c: c, reader: r.Reader}
	open := map[ledger.Ref]*heard{}
	at := int64(-1)
	within := enclosed{path: c.p.at.Path()}
	for o, err := range r.Reader.All(ctx) {
		if err != nil {
			return nil, err
		}
		at++
		if last := r.Journal.Last(); o.Run == last.Run && o.N > last.N {
			break
		}
		if o.Kind == ledger.KindOutcome {
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			if h := open[ledger.Ref{Run: o.Run, N: n}]; h != nil {
				h.end = at
			}
			continue
		}
		ours, err := within.holds(o)
		if err != nil {
			return nil, err
		}
		data := o.Body.Get("data")
		n, _ := data.Get("channel").AsInt()
		if !ours || data.Get("server").Str() != c.server || n != c.number {
			continue
		}
		in := data.Get("dir").Str() == dirIn
		ref := ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}
		switch {
		case o.Kind == ledger.KindCall && in, o.Kind == ledger.KindEvent && in:
			s.said = append(s.said, &saying{at: at, ref: ref, asks: o.Kind == ledger.KindCall})
		case o.Kind == ledger.KindCall, o.Kind == ledger.KindEvent:
			h := &heard{at: at, end: -1, ref: ref, call: o.Kind == ledger.KindCall}
			s.heard = append(s.heard, h)
			open[ledger.Ref{Run: o.Run, N: o.N}] = h
		}
	}
	return s, nil
}

// enclosed tells what of a record stands under the call that encloses what a
// proxy records, if one does: channels are numbered anew under each.
type enclosed struct {
	path string
	call ledger.Ref // its entry, once that came
}

func (e *enclosed) holds(o *ledger.Opened) (bool, error) {
	switch {
	case e.path == "":
		return true, nil
	case o.Kind == ledger.KindCall:
		_, key, err := effect.ParseCall(o.Body)
		if err == nil && key.Under() == e.path {
			e.call = ledger.Ref{Run: o.Run, N: o.N}
		}
		return key.Beneath(e.path), err
	default:
		n, ok := o.Body.Get("refs").Get("call").AsInt()
		return ok && e.call == ledger.Ref{Run: o.Run, N: n}, nil
	}
}

// answer gives the recorded answer to a request, after what the server had
// said while it worked on it.
func (s *script) answer(ctx context.Context, m *rpc, x *drive.Exchange) error {
	from, to := int64(-1), int64(-1)
	for _, h := range s.heard {
		if h.ref == x.Record().Call {
			h.seen = true
			from, to = h.at, h.end
		}
	}
	return s.play(ctx, from, to, func() error {
		if err := s.c.give(ctx, m, x); err != nil {
			return err
		}
		return s.catchUp(ctx)
	})
}

// passed takes a message of the agent that is no request.
func (s *script) passed(ctx context.Context, _ []byte) error {
	for _, h := range s.heard {
		if !h.seen && !h.call {
			h.seen = true
			break
		}
	}
	return s.catchUp(ctx)
}

// catchUp says what the server had said before the next message of the agent.
func (s *script) catchUp(ctx context.Context) error {
	to := int64(1) << 62
	for _, h := range s.heard {
		if !h.seen {
			to = h.at
			break
		}
	}
	return s.play(ctx, -1, to, func() error { return nil })
}

// play says everything between two entries and then goes on with then. Where
// the server asked something, it waits for the agent's answer.
func (s *script) play(ctx context.Context, from, to int64, then func() error) error {
	for _, m := range s.said {
		if m.done || m.at <= from || m.at >= to {
			continue
		}
		m.done = true
		o, err := s.reader.Ref(ctx, m.ref)
		if err != nil {
			return err
		}
		name := messageName
		if m.asks {
			name = RequestName
		}
		i := o.Attachment(name)
		line, err := s.reader.Bytes(ctx, o, i)
		if err != nil {
			return err
		}
		msg, ok := parseRPC(line)
		if !m.asks || !ok {
			if err := s.c.note(ctx, dirIn, msg, line); err != nil {
				return err
			}
			if err := s.c.f.write(frameToThem, line); err != nil {
				return err
			}
			continue
		}
		x, err := s.c.p.at.Begin(ctx, s.c.call(dirIn, msg, line))
		if err != nil {
			return err
		}
		s.c.asked[msg.asks()] = &asking{x: x, then: func() error { return s.play(ctx, from, to, then) }}
		return s.c.f.write(frameToThem, line)
	}
	return then()
}

// withID returns a JSON-RPC answer with another id, if it has another.
func withID(line []byte, id canon.Value) []byte {
	v, err := canon.Parse(line)
	if err != nil || v.Kind() != canon.KindObject || id.IsZero() || v.Get("id").Equal(id) {
		return line
	}
	out := []byte(v.With("id", id).String())
	return append(out, line[len(bytes.TrimRight(line, "\r\n")):]...)
}

// withIDs is withID for the answer to a request with the recorded id in a
// body of JSON or of server-sent events.
func withIDs(body []byte, recorded, now canon.Value) []byte {
	if recorded.Equal(now) || recorded.IsZero() {
		return body
	}
	if protocol.LooksJSON(body) {
		return withID(body, now)
	}
	var out []byte
	for line := range bytes.Lines(body) {
		payload, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok || !bytes.Contains(payload, []byte(`"id"`)) {
			out = append(out, line...)
			continue
		}
		payload = bytes.TrimPrefix(payload, []byte(" "))
		if v, err := canon.Parse(payload); err == nil && !v.Has("method") && v.Get("id").Equal(recorded) {
			out = append(append(out, "data: "...), withID(payload, now)...)
			continue
		}
		out = append(out, line...)
	}
	return slices.Clip(out)
}
