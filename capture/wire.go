package capture

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// hopHeaders belong to one connection and are neither passed on nor recorded.
// The trailer header is written anew from the trailers that come.
func hopHeader(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// copyHeader copies what is passed on. Values are shared, not copied.
func copyHeader(dst, src http.Header) {
	named := src["Connection"]
	for name, values := range src {
		if hopHeader(name) || named != nil && isNamed(named, name) {
			continue
		}
		dst[name] = values
	}
}

// isNamed reports whether a Connection header names the header.
func isNamed(connection []string, name string) bool {
	for _, v := range connection {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

// addHeaders adds recorded headers to h.
func addHeaders(h http.Header, recorded canon.Value) error {
	for _, e := range recorded.Elems() {
		name, value := e.At(0).Str(), e.At(1).Str()
		if e.At(2).Str() == "base64" {
			b, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return fault.Wrap(ErrRecord, "capture.answer", err, "the header %s", name)
			}
			value = string(b)
		}
		h[name] = append(h[name], value)
	}
	return nil
}

// maxHead bounds the head of a request or an answer: it stands in a ledger
// body, which is small.
const maxHead = 32 << 10

// headSize returns about how long a header is on the wire.
func headSize(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(v) + 4
		}
	}
	return n
}

// contentType returns the media type under which bytes are attached.
func contentType(h http.Header) string {
	t := h.Get("Content-Type")
	if t == "" || len(t) > 128 || !utf8.ValidString(t) {
		return "application/octet-stream"
	}
	return t
}

// problem answers a request with problem+json (RFC 9457). Clients are told
// not to try again: another try would be another call.
func problem(w http.ResponseWriter, status int, code fault.Code, detail string, more ...canon.Member) {
	v := canon.Object(
		canon.M("type", canon.String("about:blank")),
		canon.M("title", canon.String(http.StatusText(status))),
		canon.M("status", canon.Int(int64(status))),
		canon.M("code", canon.String(code.Error())),
		canon.M("detail", canon.String(strings.ToValidUTF8(detail, "\uFFFD"))),
	)
	for _, m := range more {
		v = v.With(m.Name, m.Value)
	}
	body := append([]byte(v.String()), '\n')
	h := w.Header()
	h["Content-Type"] = []string{"application/problem+json"}
	h["X-Should-Retry"] = []string{"false"}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
