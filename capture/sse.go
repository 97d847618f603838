package capture

import (
	"bytes"
	"context"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// overhearing notes the JSON-RPC messages in a stream of server-sent events
// that are not answers: what the server says of its own accord while it works
// on a request. Their bytes are in the answer; the ledger gets an event for
// each, so that a timeline shows them.
type overhearing struct {
	line  []byte
	data  []byte
	heard []canon.Value
	off   bool
	// answered is set when the answer to a request came.
	answered bool
}

// Bounds of what is overheard; beyond them the bytes are still recorded.
const (
	maxEventData = 1 << 20
	maxHeard     = 10_000
)

func newOverhearing(to *route, contentType string) *overhearing {
	isSSE := strings.HasPrefix(strings.ToLower(contentType), "text/event-stream")
	return &overhearing{off: to.kind != KindMCP || !isSSE}
}

// write takes the next bytes of the stream.
func (o *overhearing) write(p []byte) {
	for !o.off && len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.line = append(o.line, p...)
			o.off = len(o.line) > maxEventData
			return
		}
		o.line = append(o.line, p[:i]...)
		p = p[i+1:]
		o.end(bytes.TrimSuffix(o.line, []byte("\r")))
		o.line = o.line[:0]
	}
}

// end takes a whole line.
func (o *overhearing) end(line []byte) {
	if payload, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		o.data = append(o.data, bytes.TrimPrefix(payload, []byte(" "))...)
		o.data = append(o.data, '\n')
		o.off = len(o.data) > maxEventData
		return
	}
	if len(line) > 0 || len(o.data) == 0 {
		return
	}
	m, ok := parseRPC(o.data)
	o.answered = o.answered || ok && m.batch == 0 && m.method == ""
	if ok && m.batch == 0 && m.method != "" && len(o.heard) < maxHeard {
		v := canon.Object(canon.M("method", canon.String(m.title())))
		if !m.id.IsZero() {
			v = v.With("asks", canon.Bool(true))
		}
		o.heard = append(o.heard, v)
	}
	o.data = o.data[:0]
}

// note records what was overheard under the exchange of entry n.
func (o *overhearing) note(ctx context.Context, p *Proxy, n int64) error {
	for i, v := range o.heard {
		v = v.With("dir", canon.String(dirIn)).With("seq", canon.Int(int64(i))).With("exchange", canon.Int(n))
		v = v.With("method", canon.String(p.o.Redactor.Text(v.Get("method").Str())))
		if _, err := p.note(ctx, EventMessage, v); err != nil {
			return err
		}
	}
	return nil
}
