package capture

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// ContentCoding is the id under which a report says that two requests are the
// same only behind their content coding.
const ContentCoding = "content-coding@1"

// plainOf returns what a coded body holds, or false for a coding that is not
// known, a body that is not what it says, and one that would be too large.
func plainOf(coding string, b []byte, limit int64) ([]byte, bool) {
	var r io.Reader
	var err error
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(b))
	case "deflate":
		r, err = zlib.NewReader(bytes.NewReader(b))
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(limit))) //nolint:gosec // limits are positive
		if err == nil {
			defer d.Close()
			r = d
		}
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil || int64(len(out)) > limit {
		return nil, false
	}
	return out, true
}

// coded returns b in a coding that [plainOf] knows.
func coded(coding string, b []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "deflate":
		w = zlib.NewWriter(&out)
	case "zstd":
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w = z
	default:
		w = gzip.NewWriter(&out)
	}
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// safe returns what is stored of a body, what it holds behind its coding, and
// the names of the secrets that were in it. A body without secrets is stored
// as it came. One with secrets is coded anew, so that its coding stays true.
func (r *Redactor) safe(coding string, b []byte, limit int64) (stored, plain []byte, names []string, err error) {
	if coding != "" && len(b) > 0 {
		if p, ok := plainOf(coding, b, limit); ok {
			clean, names := r.Bytes(p)
			if names == nil {
				return b, p, nil, nil
			}
			stored, err := coded(coding, clean)
			return stored, clean, names, err
		}
	}
	stored, names = r.Bytes(b)
	return stored, stored, names, nil
}
