// Package codings reads and writes the content codings of HTTP: gzip, deflate,
// zstd and br, also one behind the other.
//
// Everything here is safe for concurrent use but a reader or a writer, which is
// for one goroutine.
package codings

import (
	"bytes"
	"io"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Err means that a body is not in the coding that it says, that it is in one
// that is not known, or that it is larger than is read. Take the body as it is.
const Err fault.Invalid = "capture.content_coding"

const (
	maxCodings = 4       // that stand one behind the other
	zstdWindow = 8 << 20 // bytes that a zstd body may refer back to, as browsers allow

	// ReadAhead is how much a reader asks for at a time.
	ReadAhead = 16 << 10
)

// List returns the codings of a body in the order in which they were
// applied; ok is false if one of them is not known.
func List(header string) (list []string, ok bool) {
	for name := range strings.SplitSeq(header, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
		case "gzip", "x-gzip", "deflate", "zstd", "br":
			list = append(list, name)
		default:
			return nil, false
		}
	}
	return list, len(list) <= maxCodings
}

// Decode returns what a coded body holds: b itself if it has no coding. With an
// error it returns what could be read; that it is larger than limit is [Err].
func Decode(coding string, b []byte, limit int64) ([]byte, error) {
	if list, known := List(coding); known && len(list) == 0 && int64(len(b)) <= limit {
		return b, nil
	}
	r, closer, err := NewReader(coding, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer closer()
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fault.New(Err, "codings.Decode", "more than %d bytes", limit)
	}
	return out, err
}

// Encode codes a body; one that is not whole has no end.
func Encode(coding string, b []byte, whole bool) ([]byte, error) {
	var out bytes.Buffer
	w, err := NewWriter(coding, &out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if whole {
		err = w.Close()
	} else {
		err = w.Flush()
	}
	return out.Bytes(), err
}
