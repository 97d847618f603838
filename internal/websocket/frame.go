// Package websocket reads and writes the frames of a WebSocket (RFC 6455) so
// that who stands between a client and a server can pass them on byte for
// byte: a frame that is read and appended again is the same, its mask and its
// place in a fragmented message included.
//
// Nothing is negotiated here. Extensions change what frames mean, so frames
// with reserved bits are refused; who relays takes the offer of extensions out
// of the handshake.
package websocket

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the standard has it; it protects nothing
	"encoding/base64"
	"encoding/binary"
	"io"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of frames.
const (
	// ErrFrame means that one side does not keep to the standard. Close the
	// connection with status 1002.
	ErrFrame fault.Invalid = "websocket.bad_frame"
	// ErrTooLarge means that a message is over the limit. Close the connection
	// with status 1009, or raise the limit.
	ErrTooLarge fault.Invalid = "websocket.too_large"
)

// Opcode says what a frame is.
type Opcode byte

// The opcodes of the standard.
const (
	Continuation Opcode = 0
	Text         Opcode = 1
	Binary       Opcode = 2
	Close        Opcode = 8
	Ping         Opcode = 9
	Pong         Opcode = 10
)

// Control reports whether frames of that opcode are about the connection.
func (o Opcode) Control() bool { return o >= Close }

func (o Opcode) known() bool { return o <= Binary || o >= Close && o <= Pong }

// Status codes of close frames.
const (
	GoingAway     = 1001
	ProtocolError = 1002
	Policy        = 1008
	TooBig        = 1009
)

// Frame is one frame. The payload is as it was before it was masked.
type Frame struct {
	Final   bool
	Op      Opcode
	Masked  bool
	Mask    [4]byte
	Payload []byte
}

const (
	finalBit   = 0x80
	reserved   = 0x70
	maskBit    = 0x80
	len16      = 126
	len64      = 127
	maxControl = 125 // bytes of the payload of a control frame
)

// readFrame reads one frame of at most limit bytes.
func readFrame(r *bufio.Reader, limit int64) (Frame, error) {
	const op = "websocket.Reader"
	var head [8]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return Frame{}, err
	}
	f := Frame{Final: head[0]&finalBit != 0, Op: Opcode(head[0] & 0x0f), Masked: head[1]&maskBit != 0}
	if head[0]&reserved != 0 || !f.Op.known() {
		return f, fault.New(ErrFrame, op, "a frame that begins with %#02x; no extension was agreed on", head[0])
	}
	n := uint64(head[1] &^ maskBit)
	short := n
	switch short {
	case len16:
		if _, err := io.ReadFull(r, head[:2]); err != nil {
			return f, broken(err)
		}
		n = uint64(binary.BigEndian.Uint16(head[:2]))
	case len64:
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return f, broken(err)
		}
		n = binary.BigEndian.Uint64(head[:8])
	}
	if short == len16 && n < len16 || short == len64 && n <= 0xffff {
		return f, fault.New(ErrFrame, op, "the length %d is not written in its shortest form", n)
	}
	if f.Op.Control() && (n > maxControl || !f.Final) {
		return f, fault.New(ErrFrame, op, "a control frame of %d bytes or in parts", n)
	}
	if limit < 0 || n > uint64(limit) {
		return f, fault.New(ErrTooLarge, op, "a frame of %d bytes; %d are left of the limit", n, max(limit, 0))
	}
	if f.Masked {
		if _, err := io.ReadFull(r, f.Mask[:]); err != nil {
			return f, broken(err)
		}
	}
	// Memory grows with what really comes, not with what a head announces.
	payload, err := readAll(r, int(n)) //nolint:gosec // bounded by limit
	if err != nil {
		return f, broken(err)
	}
	f.mask(payload)
	f.Payload = payload
	return f, nil
}

// step bounds what is made room for before it has come.
const step = 1 << 20

func readAll(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		at := len(b)
		b = append(b, make([]byte, min(n-at, step))...)
		if _, err := io.ReadFull(r, b[at:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// broken tells an end within a frame from one between frames.
func broken(err error) error {
	if err == io.EOF { //nolint:errorlint // ReadFull gives it as it is
		return io.ErrUnexpectedEOF
	}
	return err
}

func (f *Frame) mask(b []byte) {
	if !f.Masked || f.Mask == [4]byte{} {
		return
	}
	for i := range b {
		b[i] ^= f.Mask[i&3]
	}
}

// Append appends the frame as it stands on the wire.
func (f *Frame) Append(dst []byte) []byte {
	first := byte(f.Op)
	if f.Final {
		first |= finalBit
	}
	var second byte
	if f.Masked {
		second = maskBit
	}
	switch n := len(f.Payload); {
	case n < len16:
		dst = append(dst, first, second|byte(n))
	case n <= 0xffff:
		dst = append(dst, first, second|len16)
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	default:
		dst = append(dst, first, second|len64)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	if f.Masked {
		dst = append(dst, f.Mask[:]...)
	}
	at := len(dst)
	dst = append(dst, f.Payload...)
	f.mask(dst[at:])
	return dst
}

// Message is a control frame, or the frames that make up one message.
type Message struct {
	Op     Opcode
	Frames []Frame
}

// Payload returns what the message says.
func (m *Message) Payload() []byte {
	if len(m.Frames) == 1 {
		return m.Frames[0].Payload
	}
	var out []byte
	for i := range m.Frames {
		out = append(out, m.Frames[i].Payload...)
	}
	return out
}

// Append appends the message as it stands on the wire.
func (m *Message) Append(dst []byte) []byte {
	for i := range m.Frames {
		dst = m.Frames[i].Append(dst)
	}
	return dst
}

// maxFrames bounds the frames of one message: empty ones cost memory too.
const maxFrames = 1 << 16

// NewMessage returns a message of a server, cut into frames of these sizes. If
// they do not add up to the payload it is one frame.
func NewMessage(op Opcode, payload []byte, sizes ...int) Message {
	rest := len(payload)
	for _, n := range sizes {
		if n < 0 || n > rest {
			rest = -1
			break
		}
		rest -= n
	}
	if len(sizes) == 0 || rest != 0 {
		sizes = []int{len(payload)}
	}
	m := Message{Op: op}
	for i, n := range sizes {
		f := Frame{Op: op, Final: i == len(sizes)-1, Payload: payload[:n]}
		if i > 0 {
			f.Op = Continuation
		}
		m.Frames = append(m.Frames, f)
		payload = payload[n:]
	}
	return m
}

// Closing returns a close frame of a server. The reason is cut to what a
// control frame holds.
func Closing(code int, reason string) Message {
	b := binary.BigEndian.AppendUint16(nil, uint16(code)) //nolint:gosec // codes are below 5000
	return NewMessage(Close, append(b, strings.ToValidUTF8(reason[:min(len(reason), maxControl-2)], "")...))
}

// CloseStatus returns what a close frame says; code is 0 if it says nothing.
func (m *Message) CloseStatus() (code int, reason string) {
	p := m.Payload()
	if len(p) < 2 {
		return 0, ""
	}
	return int(binary.BigEndian.Uint16(p)), string(p[2:])
}

// As returns the message as the client sends it whose mask is given.
func (m *Message) As(mask [4]byte) Message {
	out := Message{Op: m.Op, Frames: append([]Frame(nil), m.Frames...)}
	for i := range out.Frames {
		out.Frames[i].Masked, out.Frames[i].Mask = true, mask
	}
	return out
}

// Reader reads the messages of one side.
type Reader struct {
	r      *bufio.Reader
	masked bool
	limit  int64
	part   *Message // of which more frames come
	size   int64
}

// NewReader returns a reader of messages of at most limit bytes. The frames of
// clients must be masked, those of servers must not.
func NewReader(r *bufio.Reader, masked bool, limit int64) *Reader {
	return &Reader{r: r, masked: masked, limit: limit}
}

// Next returns the next message or control frame; control frames may come in
// the middle of a message. The error is [io.EOF] if the connection ends
// between frames.
func (r *Reader) Next() (Message, error) {
	const op = "websocket.Reader"
	for {
		f, err := readFrame(r.r, r.limit-r.size)
		if err != nil {
			return Message{}, err
		}
		if f.Masked != r.masked {
			return Message{}, fault.New(ErrFrame, op, "a frame from the wrong side: only clients mask")
		}
		if f.Op.Control() {
			return Message{Op: f.Op, Frames: []Frame{f}}, nil
		}
		if (f.Op == Continuation) != (r.part != nil) {
			return Message{}, fault.New(ErrFrame, op, "a message that begins in another, or goes on without a beginning")
		}
		if r.part == nil {
			r.part = &Message{Op: f.Op}
		}
		r.part.Frames = append(r.part.Frames, f)
		r.size += int64(len(f.Payload))
		if len(r.part.Frames) > maxFrames {
			return Message{}, fault.New(ErrTooLarge, op, "a message in more than %d frames", maxFrames)
		}
		if f.Final {
			m := *r.part
			r.part, r.size = nil, 0
			return m, nil
		}
	}
}

// Accept returns the answer to the key of a client's handshake.
func Accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // the standard has it
	return base64.StdEncoding.EncodeToString(sum[:])
}
