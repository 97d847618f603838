package codings_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/internal/codings"
)

const limit = 1 << 20

var known = []string{"gzip", "x-gzip", "deflate", "zstd", "br"}

func TestWhatIsCodedIsDecoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		coding := strings.Join(rapid.SliceOfN(rapid.SampledFrom(known), 1, 4).Draw(t, "codings"), ", ")
		body := rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(t, "body")
		coded, err := codings.Encode(coding, body, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codings.Decode(coding, coded, limit); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("Decode(%s) = %q, %v; want %q", coding, got, err, body)
		}
		flushed, err := codings.Encode(coding, body, false)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codings.Decode(coding, flushed, limit); err == nil || !bytes.Equal(got, body) {
			t.Fatalf("Decode(%s) of a body without an end = %q, %v; want %q and an error", coding, got, err, body)
		}
	})
}

func TestBodyWithoutCodingIsItself(t *testing.T) {
	t.Parallel()
	for _, coding := range []string{"", "identity", " identity , "} {
		if got, err := codings.Decode(coding, []byte("plain"), limit); err != nil || string(got) != "plain" {
			t.Errorf("Decode(%q) = %q, %v", coding, got, err)
		}
	}
}

// Some servers mean by deflate what has no frame.
func TestDeflateWithoutFrameIsRead(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression)
	_, _ = io.WriteString(w, "hello")
	_ = w.Close()
	if got, err := codings.Decode("Deflate", b.Bytes(), limit); err != nil || string(got) != "hello" {
		t.Errorf("Decode = %q, %v", got, err)
	}
}

func TestBodiesThatAreNotWhatTheySay(t *testing.T) {
	t.Parallel()
	whole, err := codings.Encode("gzip", bytes.Repeat([]byte("x"), 100), true)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		coding string
		body   []byte
		limit  int64
	}{
		"a coding that is not known": {"compress", whole, limit},
		"more codings than are read": {"gzip,gzip,gzip,gzip,gzip", whole, limit},
		"another coding":             {"zstd", whole, limit},
		"a body that broke off":      {"gzip", whole[:len(whole)-1], limit},
		"something behind the body":  {"gzip", append(bytes.Clone(whole), 'x'), limit},
		"more than is read":          {"gzip", whole, 99},
		"more than is read, plain":   {"", whole, 3},
	} {
		got, err := codings.Decode(c.coding, c.body, c.limit)
		if err == nil {
			t.Errorf("%s = %q, want an error", what, got)
		}
		if what == "more than is read" && !errors.Is(err, codings.Err) {
			t.Errorf("%s = %v, want %v", what, err, codings.Err)
		}
	}
}
