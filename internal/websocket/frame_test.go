package websocket_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/websocket"
)

func read(b []byte, masked bool, limit int64) ([]websocket.Message, error) {
	r := websocket.NewReader(bufio.NewReader(bytes.NewReader(b)), masked, limit)
	var out []websocket.Message
	for {
		m, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
}

// The examples of RFC 6455, section 5.7.
func TestFramesOfTheStandard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		wire   []byte
		masked bool
		op     websocket.Opcode
		want   string
	}{
		{"text", []byte{0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f}, false, websocket.Text, "Hello"},
		{"masked text", []byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}, true, websocket.Text, "Hello"},
		{"in parts", []byte{0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f}, false, websocket.Text, "Hello"},
		{"ping", []byte{0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f}, false, websocket.Ping, "Hello"},
		{"256 bytes", append([]byte{0x82, 0x7e, 0x01, 0x00}, bytes.Repeat([]byte{'x'}, 256)...), false, websocket.Binary, string(bytes.Repeat([]byte{'x'}, 256))},
		{"64 KiB", append([]byte{0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0}, bytes.Repeat([]byte{'x'}, 65536)...), false, websocket.Binary, string(bytes.Repeat([]byte{'x'}, 65536))},
	} {
		got, err := read(c.wire, c.masked, 1<<20)
		if !errors.Is(err, io.EOF) || len(got) != 1 {
			t.Errorf("%s: %d messages, %v; want one and EOF", c.name, len(got), err)
			continue
		}
		if got[0].Op != c.op || string(got[0].Payload()) != c.want {
			t.Errorf("%s = %d %q, want %d %q", c.name, got[0].Op, got[0].Payload(), c.op, c.want)
		}
		if b := got[0].Append(nil); !bytes.Equal(b, c.wire) {
			t.Errorf("%s appends %x, want %x", c.name, b, c.wire)
		}
	}
	if got, want := websocket.Accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="; got != want {
		t.Errorf("Accept = %q, want %q", got, want)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		wire []byte
		want error
	}{
		{"reserved bit", []byte{0xc1, 0x00}, websocket.ErrFrame},
		{"unknown opcode", []byte{0x83, 0x00}, websocket.ErrFrame},
		{"masked by a server", []byte{0x81, 0x80, 0, 0, 0, 0}, websocket.ErrFrame},
		{"long form of a short length", []byte{0x81, 0x7e, 0x00, 0x05}, websocket.ErrFrame},
		{"longest form of a short length", []byte{0x81, 0x7f, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, websocket.ErrFrame},
		{"control in parts", []byte{0x09, 0x00}, websocket.ErrFrame},
		{"long control", []byte{0x89, 0x7e, 0x00, 0x7e}, websocket.ErrFrame},
		{"goes on without a beginning", []byte{0x80, 0x00}, websocket.ErrFrame},
		{"begins in another", []byte{0x01, 0x00, 0x01, 0x00}, websocket.ErrFrame},
		{"over the limit", []byte{0x82, 0x7e, 0x04, 0x01}, websocket.ErrTooLarge},
		{"over the limit in parts", append(append([]byte{0x02, 0x7e, 0x04, 0x00}, make([]byte, 1024)...), 0x80, 0x01, 0), websocket.ErrTooLarge},
		{"a length that no machine has", []byte{0x82, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, websocket.ErrTooLarge},
		{"cut in the head", []byte{0x82}, io.ErrUnexpectedEOF},
		{"cut in the length", []byte{0x82, 0x7e}, io.ErrUnexpectedEOF},
		{"cut in the payload", []byte{0x82, 0x02, 0}, io.ErrUnexpectedEOF},
	} {
		if got, err := read(c.wire, false, 1024); !errors.Is(err, c.want) || len(got) != 0 {
			t.Errorf("%s = %d messages, %v; want %v", c.name, len(got), err, c.want)
		}
	}
}

func TestCloseStatus(t *testing.T) {
	t.Parallel()
	m := websocket.Closing(websocket.Policy, "no "+string(bytes.Repeat([]byte{'x'}, 200)))
	if code, reason := m.CloseStatus(); code != 1008 || len(reason) != 123 {
		t.Errorf("CloseStatus = %d and %d bytes, want 1008 and 123", code, len(reason))
	}
	empty := websocket.NewMessage(websocket.Close, nil)
	if code, reason := empty.CloseStatus(); code != 0 || reason != "" {
		t.Errorf("CloseStatus of an empty frame = %d %q", code, reason)
	}
	if got := empty.As([4]byte{1, 2, 3, 4}); !bytes.Equal(got.Append(nil), []byte{0x88, 0x80, 1, 2, 3, 4}) {
		t.Errorf("a close frame of a client = %x", got.Append(nil))
	}
}

// TestMessagesAreTheSameBehindTheReader: what is cut, masked and written is
// read as the same bytes.
func TestMessagesAreTheSameBehindTheReader(t *testing.T) { rapid.Check(t, sameBehindReader) }

func sameBehindReader(t *rapid.T) {
	payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
	sizes := rapid.SliceOfN(rapid.IntRange(0, 200), 0, 4).Draw(t, "sizes")
	m := websocket.NewMessage(websocket.Binary, payload, sizes...)
	masked := rapid.Bool().Draw(t, "masked")
	if masked {
		m = m.As([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "mask")))
	}
	wire := m.Append(nil)
	got, err := read(wire, masked, 1000)
	if !errors.Is(err, io.EOF) || len(got) != 1 || !bytes.Equal(got[0].Payload(), payload) || !bytes.Equal(got[0].Append(nil), wire) {
		t.Fatalf("read(%x) = %v, %v", wire, got, err)
	}
}

// FuzzReader: nothing panics, and what is taken appends to the same bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0x01, 0x03, 0x48, 0x65, 0x6c, 0x89, 0x00, 0x80, 0x02, 0x6c, 0x6f}, false)
	f.Add([]byte{0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58}, true)
	f.Fuzz(func(t *testing.T, b []byte, masked bool) {
		got, _ := read(b, masked, 1<<16)
		n := 0
		control := false
		var again []byte
		for _, m := range got {
			control = control || m.Op.Control()
			again = m.Append(again)
			n += len(m.Frames)
		}
		// Without control frames between them, messages stand one after another.
		if !control && !bytes.HasPrefix(b, again) {
			t.Errorf("read %d frames of %x, which append to %x", n, b, again)
		}
	})
}
