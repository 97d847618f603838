package protocol

import (
	"encoding/binary"
	"hash/crc32"
	"iter"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// EventStreamType is the media type of the binary event streams of AWS. A
// stream is frames, one behind the other, all numbers big-endian:
//
//	length of the frame (4) · length of the headers (4) · CRC-32 of these eight bytes (4)
//	headers · payload · CRC-32 of all before (4)
//
// A header is the length of its name (1), the name, the type of its value (1)
// and the value.
const EventStreamType = "application/vnd.amazon.eventstream"

// ErrEventStream means that bytes are no event stream, or a damaged one. What
// stands before can be read.
const ErrEventStream fault.Invalid = "protocol.bad_event_stream"

// Event is one frame of a binary event stream.
type Event struct {
	Headers []byte // as they stand in the frame
	Payload []byte
}

const (
	preludeSize  = 12
	frameMin     = preludeSize + 4
	maxEventSize = 24 << 20 // more than AWS sends
)

// NextEvent cuts the first frame off a stream. If the frame is not whole yet,
// n is 0 and there is no error. The event shares the memory of b.
func NextEvent(b []byte) (e Event, n int, err error) {
	const op = "protocol.NextEvent"
	if len(b) < preludeSize {
		return e, 0, nil
	}
	size, headers := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if crc32.ChecksumIEEE(b[:8]) != binary.BigEndian.Uint32(b[8:]) {
		return e, 0, fault.New(ErrEventStream, op, "the prelude of a frame does not hold its checksum")
	}
	if size < frameMin || size > maxEventSize || headers > size-frameMin {
		return e, 0, fault.New(ErrEventStream, op, "a frame of %d bytes with %d of headers", size, headers)
	}
	if uint32(len(b)) < size { //nolint:gosec // longer than a frame is enough
		return e, 0, nil
	}
	end := size - 4
	if crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return e, 0, fault.New(ErrEventStream, op, "a frame does not hold its checksum")
	}
	at := preludeSize + headers
	return Event{Headers: b[preludeSize:at], Payload: b[at:end]}, int(size), nil
}

// Append appends the frame, with its lengths and checksums.
func (e *Event) Append(dst []byte) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameMin+len(e.Headers)+len(e.Payload))) //nolint:gosec // bounded by who reads
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Headers)))                         //nolint:gosec // as above
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
	dst = append(dst, e.Headers...)
	dst = append(dst, e.Payload...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}

// widths are the sizes of values of fixed size, by their type: true, false,
// byte, short, integer, long, then two of their own length, timestamp, UUID.
var widths = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}

// Types of values that say their length.
const (
	typeBytes  = 6
	typeString = 7
)

// Header returns the text of a header, such as ":event-type"; empty if it is
// not there.
func (e *Event) Header(name string) string {
	b := e.Headers
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < n+2 {
			return ""
		}
		is, typ := string(b[1:1+n]) == name, int(b[1+n])
		b = b[n+2:]
		var size int
		switch {
		case typ == typeBytes || typ == typeString:
			if len(b) < 2 {
				return ""
			}
			size = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		case typ < len(widths):
			size = widths[typ]
		default:
			return ""
		}
		if len(b) < size {
			return ""
		}
		if is && typ == typeString {
			return string(b[:size])
		}
		b = b[size:]
	}
	return ""
}

// EventStream yields the frames of a binary stream up to its end, or to where
// it broke off or is damaged.
func EventStream(b []byte) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, n, err := NextEvent(b)
			if err != nil || n == 0 || !yield(e) {
				return
			}
			b = b[n:]
		}
	}
}
