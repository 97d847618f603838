package capture

import (
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/internal/websocket"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// transcript is what is said over a socket on its way into the record. A
// message waits there, and with it all that comes after it on either side, as
// long as a secret may begin in it that later messages of its side go on with.
// Nobody else waits: it is passed on when it was taken.
type transcript struct {
	x     *drive.Exchange
	r     *redact.Redactor
	sides [2]redact.Messages // of the client and of the upstream
	queue []*utterance
	size  int // bytes in the queue
	seq   int64
	beats int      // pings and pongs
	names []string // of the secrets that were found
}

// utterance is a message, a ping or a pong.
type utterance struct {
	event  string
	op     websocket.Opcode
	data   canon.Value
	size   int
	side   *redact.Messages // that knows more of m
	m      *redact.Message  // nil: stored is what is stored
	stored []byte
	done   bool // it is recorded
}

const (
	// maxWaiting is how many messages of one side wait for what follows the
	// first few letters of what may be a secret.
	maxWaiting = 64
	// maxTranscript bounds the bytes that wait on both sides.
	maxTranscript = 4 << 20
	// maxBeats bounds the pings and pongs of one socket that are recorded;
	// those beyond it are passed on.
	maxBeats = 10_000
)

func newTranscript(x *drive.Exchange, r *redact.Redactor) *transcript { return &transcript{x: x, r: r} }

// hear takes a message of one side, which may be passed on then.
func (t *transcript) hear(dir string, m *websocket.Message) (*utterance, error) {
	u := t.next(dir, m)
	payload := m.Payload()
	u.m, u.side, u.size = redact.NewMessage(payload), &t.sides[0], len(payload)
	if dir == dirIn {
		u.side = &t.sides[1]
	}
	u.side.Use(t.r.Finder()) // it may have learned since
	u.side.Add(u.m)
	if u.m.Whole() {
		u.side.LetGo(u.m)
	} else if u.side.Waiting() > maxWaiting {
		u.side.LetGo(nil)
	}
	return u, t.take(u)
}

// say takes a message that is known to hold no secret.
func (t *transcript) say(dir string, m *websocket.Message) error {
	u := t.next(dir, m)
	u.stored = m.Payload()
	u.size = len(u.stored)
	return t.take(u)
}

// next returns the next message with all but its bytes.
func (t *transcript) next(dir string, m *websocket.Message) *utterance {
	data := frameData(dir, canon.M("seq", canon.Int(t.seq)), m.Op, t.x.Elapsed())
	if len(m.Frames) > 1 && len(m.Frames) <= maxSizes {
		sizes := make([]canon.Value, len(m.Frames))
		for i := range m.Frames {
			sizes[i] = canon.Int(int64(len(m.Frames[i].Payload)))
		}
		data = data.With("frames", canon.Array(sizes...))
	}
	t.seq++
	return &utterance{event: EventSocket, op: m.Op, data: data}
}

// beat takes a ping or pong.
func (t *transcript) beat(dir string, m *websocket.Message) error {
	if t.beats++; t.beats > maxBeats {
		return nil
	}
	stored, names := t.r.Bytes(m.Payload())
	t.names = redact.Union(t.names, names)
	u := &utterance{event: EventControl, op: websocket.Binary, data: frameData(dir, canon.M("before", canon.Int(t.seq)), m.Op, t.x.Elapsed()), stored: stored}
	u.size = len(stored)
	return t.take(u)
}

func (t *transcript) take(u *utterance) error {
	t.queue = append(t.queue, u)
	if t.size += u.size; t.size > maxTranscript {
		t.sides[0].GiveUp()
		t.sides[1].GiveUp()
	}
	return t.record(false)
}

// end records what waits: nothing follows it.
func (t *transcript) end() error { return t.record(true) }

// record puts into the ledger what is decided, in the order in which it came.
func (t *transcript) record(last bool) error {
	for len(t.queue) > 0 {
		u := t.queue[0]
		if u.m != nil && u.side.Next(last) == nil {
			return nil
		}
		t.queue[0] = nil
		t.queue = t.queue[1:]
		t.size -= u.size
		if err := t.put(u); err != nil {
			return err
		}
	}
	return nil
}

func (t *transcript) put(u *utterance) error {
	if u.m != nil {
		stored, names := t.r.Bytes(u.m.Clean())
		if names = redact.Union(u.m.Names(), names); names != nil {
			t.names = redact.Union(t.names, names)
			u.data = u.data.With("redacted", canon.Strings(names))
		}
		u.stored, u.m = stored, nil
	}
	u.done = true
	return t.x.Message(u.event, u.data, ledger.Content{Name: messageName, Type: messageType(u.op, u.stored), Bytes: u.stored})
}

// maxSizes bounds the parts of a message that are kept apart.
const maxSizes = 1000

// frameData is what the event of a message, ping or pong says beside its bytes.
// The place is the number of a message, and for a ping or pong that of the
// message that it came before.
func frameData(dir string, place canon.Member, op websocket.Opcode, after time.Duration) canon.Value {
	var name string
	switch op {
	case websocket.Binary:
		name = "binary"
	case websocket.Ping:
		name = "ping"
	case websocket.Pong:
		name = "pong"
	default:
		name = "text"
	}
	return canon.Object(
		canon.M("after", canon.Int(after.Nanoseconds())),
		canon.M("dir", canon.String(dir)),
		canon.M("op", canon.String(name)),
		place,
	)
}

func messageType(op websocket.Opcode, b []byte) string {
	switch {
	case op == websocket.Binary:
		return "application/octet-stream"
	case protocol.LooksJSON(b):
		return "application/json"
	default:
		return "text/plain; charset=utf-8"
	}
}
