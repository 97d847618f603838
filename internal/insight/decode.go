package insight

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Decode undoes the codings of an HTTP body. ok is false if one of them is not
// known, the body is broken, or it grows beyond what is read.
func Decode(codings string, body []byte) (plain []byte, ok bool) {
	for _, coding := range slices.Backward(strings.Split(codings, ",")) {
		if body, ok = decodeOne(strings.ToLower(strings.TrimSpace(coding)), body); !ok {
			return nil, false
		}
	}
	return body, true
}

func decodeOne(coding string, body []byte) ([]byte, bool) {
	var r io.Reader
	var err error
	switch coding {
	case "", "identity":
		return body, true
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(bytes.NewReader(body))
	case "deflate": // zlib by the standard, raw by habit
		if r, err = zlib.NewReader(bytes.NewReader(body)); err != nil {
			r, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderMaxMemory(maxRead), zstd.WithDecoderConcurrency(1))
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
	out, err := io.ReadAll(io.LimitReader(r, maxRead+1))
	return out, err == nil && len(out) <= maxRead
}

// Header returns a header of a recorded request or answer by its lower-case
// name. Its values are joined as HTTP has it.
func Header(data canon.Value, name string) string {
	var found []string
	for _, h := range data.Get("headers").Elems() {
		if strings.EqualFold(h.At(0).Str(), name) {
			found = append(found, h.At(1).Str())
		}
	}
	for _, m := range data.Get("headers").Members() {
		if strings.EqualFold(m.Name, name) {
			found = append(found, m.Value.Str())
			for _, v := range m.Value.Elems() {
				found = append(found, v.Str())
			}
		}
	}
	var out []string
	for _, f := range found {
		if f != "" {
			out = append(out, f)
		}
	}
	return strings.Join(out, ", ")
}
