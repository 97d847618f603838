package importer

import (
	"net/http"
	"strconv"
	"strings"
)

// Reason says why an exchange is evidence only.
type Reason string

// The reasons, for either side of an exchange.
const (
	RequestAbsent       Reason = "request.body_absent"        // the file has no body
	RequestParsed       Reason = "request.body_parsed"        // the body was parsed; its bytes are lost
	RequestReformatted  Reason = "request.body_reformatted"   // JSON that the recorder laid out anew
	RequestLength       Reason = "request.length_differs"     // the headers declare another length
	ResponseAbsent      Reason = "response.body_absent"       // the file has no body
	ResponseParsed      Reason = "response.body_parsed"       // the body was parsed; its bytes are lost
	ResponseReformatted Reason = "response.body_reformatted"  // JSON that the recorder laid out anew
	ResponseLength      Reason = "response.length_differs"    // the headers declare another length
	ResponseDecoded     Reason = "response.body_decoded"      // the headers name an encoding that the body no longer has
	ResponseRecoded     Reason = "response.charset_converted" // the text was converted to UTF-8
	RequestRecoded      Reason = "request.charset_converted"  // the text has lost bytes that are no UTF-8
	MessagesOnly        Reason = "messages_only"              // the file holds what was said, not the bytes that carried it
)

// Lack names something that a replayable exchange has not kept.
type Lack string

// The lacks.
const (
	LacksRequestHeaders  Lack = "request.headers"
	LacksResponseHeaders Lack = "response.headers"
	LacksEncoding        Lack = "response.encoding" // the client took a content encoding off
	LacksChunks          Lack = "chunks"
	LacksTiming          Lack = "timing"
)

// Field is one line of a header.
type Field struct{ Name, Value string }

// form says how a body stands in the file.
type form uint8

const (
	verbatim form = iota
	absent
	parsed      // as a tree: the bytes were made from it
	reformatted // as text that its writer laid out
	recoded     // as text in another charset
)

// message is one side of an exchange.
type message struct {
	proto   string // HTTP/1.1; empty if unknown
	header  []Field
	trailer []Field
	body    []byte
	form    form
	length  int64 // declared beside the headers; -1 if unknown
}

// exchange is one recorded request with its response, as the file has it.
type exchange struct {
	method   string
	url      string
	request  message
	status   int
	response message
	decoded  bool   // the client took an encoding off, and the headers with it
	at       string // when, in the file's own words
	took     string // how long, in the file's own words
}

// headers returns the fields as a map. Names that differ only in case are one.
func headers(list []Field) http.Header {
	h := make(http.Header, len(list))
	for _, f := range list {
		h.Add(f.Name, f.Value)
	}
	return h
}

func (m *message) field(name string) (string, bool) {
	for _, f := range m.header {
		if strings.EqualFold(f.Name, name) {
			return f.Value, true
		}
	}
	return "", false
}

// declared returns the length that the headers or the file declare, or -1.
func (m *message) declared() int64 {
	if v, ok := m.field("Content-Length"); ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil && n >= 0 {
			return n
		}
	}
	if m.length > 0 { // 0 is also what go-vcr writes when nothing is known
		return m.length
	}
	return -1
}

// bodiless reports whether the response has no body whatever its headers say.
func (x *exchange) bodiless() bool {
	return x.method == http.MethodHead || x.status < 200 || x.status == http.StatusNoContent || x.status == http.StatusNotModified
}

// evidence returns why x is not replayable; nothing means that it is.
func (x *exchange) evidence() []Reason {
	var out []Reason
	switch x.request.form {
	case absent:
		out = append(out, RequestAbsent)
	case parsed:
		out = append(out, RequestParsed)
	case recoded:
		out = append(out, RequestRecoded)
	case reformatted:
		if x.request.declared() != int64(len(x.request.body)) {
			out = append(out, RequestReformatted)
		}
	case verbatim:
		if n := x.request.declared(); n >= 0 && n != int64(len(x.request.body)) {
			out = append(out, RequestLength)
		}
	}
	switch n := x.response.declared(); {
	case x.response.form == absent:
		out = append(out, ResponseAbsent)
	case x.response.form == parsed:
		out = append(out, ResponseParsed)
	case x.response.form == recoded:
		out = append(out, ResponseRecoded)
	case x.response.form == reformatted && n != int64(len(x.response.body)):
		out = append(out, ResponseReformatted)
	case !x.encoded():
		out = append(out, ResponseDecoded)
	case n >= 0 && n != int64(len(x.response.body)) && (!x.bodiless() || len(x.response.body) > 0):
		out = append(out, ResponseLength)
	}
	return out
}

// encoded reports whether the response body still has the content encoding
// that its headers name. What cannot be recognised by its first bytes is taken
// to have it unless the body is text or the length says otherwise.
func (x *exchange) encoded() bool {
	v, ok := x.response.field("Content-Encoding")
	v = strings.ToLower(strings.TrimSpace(v))
	if !ok || v == "" || v == "identity" || len(x.response.body) == 0 {
		return true
	}
	b := x.response.body
	switch v {
	case "gzip", "x-gzip":
		return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b
	case "zstd":
		return len(b) > 4 && string(b[:4]) == "\x28\xb5\x2f\xfd"
	default:
		return !isText(b)
	}
}

// lacks returns what the file has not kept of x, in a fixed order.
func (x *exchange) lacks() []Lack {
	var out []Lack
	if len(x.request.header) == 0 {
		out = append(out, LacksRequestHeaders)
	}
	if len(x.response.header) == 0 {
		out = append(out, LacksResponseHeaders)
	}
	if x.decoded {
		out = append(out, LacksEncoding)
	}
	return append(out, LacksChunks, LacksTiming)
}
