package importer

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// The format of httprr, version 1: a line "httprr trace v1", then for each
// exchange a line with two decimal lengths, and so many bytes of request and
// of response, both as HTTP/1.1 writes them. The request line has the whole
// URL. Nothing stands between two exchanges.
const (
	httprrMagic = "httprr trace v"
	httprrName  = "httprr/1"
)

func isHTTPRR(b []byte) bool { return bytes.HasPrefix(b, []byte(httprrMagic)) }

func readHTTPRR(b []byte, o *Options) (tape, error) {
	const op = "importer.readHTTPRR"
	t := tape{format: httprrName}
	line, rest, ok := bytes.Cut(b, []byte("\n"))
	if string(line) != httprrMagic+"1" || !ok {
		return t, fault.New(ErrUnknownFormat, op, "an httprr trace, but not of version 1")
	}
	for len(rest) > 0 {
		at := len(b) - len(rest)
		if len(t.exchanges) == o.MaxExchanges {
			return t, fault.New(ErrTooLarge, op, "more than %d exchanges", o.MaxExchanges)
		}
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		nreq, nresp, ok2 := twoLengths(string(line))
		if !ok || !ok2 || nreq > len(after) || nresp > len(after)-nreq {
			return t, fault.New(ErrMalformed, op, "at byte %d there are no two lengths that the file has bytes for", at)
		}
		x, err := httprrExchange(after[:nreq], after[nreq:nreq+nresp])
		if err != nil {
			return t, fault.Wrap(ErrMalformed, op, err, "the exchange at byte %d", at)
		}
		t.exchanges = append(t.exchanges, x)
		rest = after[nreq+nresp:]
	}
	return t, nil
}

// twoLengths reads "12 345", in the one spelling that httprr writes.
func twoLengths(line string) (a, b int, ok bool) {
	x, y, _ := strings.Cut(line, " ")
	a, err := strconv.Atoi(x)
	b, err2 := strconv.Atoi(y)
	return a, b, err == nil && err2 == nil && a >= 0 && b >= 0 && strconv.Itoa(a) == x && strconv.Itoa(b) == y
}

func httprrExchange(req, resp []byte) (exchange, error) {
	var x exchange
	line, m, _, err := parseMessage(req)
	if err != nil {
		return x, err
	}
	if x, err = requestLine(line, m); err != nil {
		return x, err
	}
	line, m, chunked, err := parseMessage(resp)
	if err != nil {
		return x, err
	}
	if err := x.statusLine(line, m); err != nil {
		return x, err
	}
	// What Go's client did not decode has a length, is chunked, or was closed
	// to end it: httprr writes a response through http.Response.Write.
	_, sized := m.field("Content-Length")
	_, closed := m.field("Connection")
	_, encoded := m.field("Content-Encoding")
	x.decoded = !sized && !chunked && !closed && !encoded && !x.bodiless() && len(m.body) > 0
	return x, nil
}

func requestLine(line string, m message) (x exchange, err error) {
	method, rest, _ := strings.Cut(line, " ")
	target, proto, ok := strings.Cut(rest, " ")
	if !ok || !isToken(method) || !isProto(proto) {
		return x, fault.New(ErrMalformed, "importer.requestLine", "%.80q is no request line", line)
	}
	m.proto = proto
	return exchange{method: method, url: target, request: m}, checkURL(target)
}

// checkURL refuses what no request over HTTP can have gone to.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fault.New(ErrMalformed, "importer.checkURL", "%.80q is no HTTP address", s)
	}
	return nil
}

func (x *exchange) statusLine(line string, m message) error {
	proto, rest, ok := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(code)
	if !ok || !isProto(proto) || err != nil || !isStatus(n) || len(code) != 3 {
		return fault.New(ErrMalformed, "importer.statusLine", "%.80q is no status line", line)
	}
	m.proto = proto
	x.status, x.response = n, m
	return nil
}

// isStatus reports whether n can end an exchange.
func isStatus(n int) bool { return n >= 200 && n <= 599 }

func isProto(s string) bool {
	return len(s) == len("HTTP/1.1") && strings.HasPrefix(s, "HTTP/") && s[5] >= '0' && s[5] <= '9' && s[6] == '.' && s[7] >= '0' && s[7] <= '9'
}

// parseMessage reads a message as HTTP/1.1 writes it. A chunked body is put
// together, and the field that says so goes.
func parseMessage(b []byte) (line string, m message, chunked bool, err error) {
	const op = "importer.parseMessage"
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return "", m, false, fault.New(ErrMalformed, op, "a message without the empty line after its header")
	}
	line, fields, _ := strings.Cut(string(head), "\r\n")
	m = message{body: body, length: -1}
	if fields != "" {
		if m.header, err = parseFields(fields); err != nil {
			return "", m, false, err
		}
	}
	te, ok := m.field("Transfer-Encoding")
	if !ok {
		return line, m, false, nil
	}
	if !strings.EqualFold(te, "chunked") {
		return "", m, false, fault.New(ErrMalformed, op, "the transfer encoding %.40q", te)
	}
	m.header = slices.DeleteFunc(m.header, func(f Field) bool { return strings.EqualFold(f.Name, "Transfer-Encoding") })
	m.body, m.trailer, err = dechunk(body)
	return line, m, true, err
}

func parseFields(s string) ([]Field, error) {
	var out []Field
	for l := range strings.SplitSeq(s, "\r\n") {
		name, value, ok := strings.Cut(l, ":")
		if value = strings.Trim(value, " \t"); !ok || !isToken(name) || !isFieldValue(value) {
			return nil, fault.New(ErrMalformed, "importer.parseFields", "%.80q is no header field", l)
		}
		out = append(out, Field{name, value})
	}
	return out, nil
}

// dechunk takes the chunked framing off. Nothing may follow its end.
func dechunk(b []byte) (body []byte, trailer []Field, err error) {
	const op = "importer.dechunk"
	r := bufio.NewReader(bytes.NewReader(b))
	if body, err = io.ReadAll(httputil.NewChunkedReader(r)); err != nil {
		return nil, nil, fault.Wrap(ErrMalformed, op, err, "a chunked body")
	}
	rest, err := io.ReadAll(r)
	if err != nil || !bytes.HasSuffix(rest, []byte("\r\n")) {
		return nil, nil, fault.New(ErrMalformed, op, "a chunked body without its last line")
	}
	if lines := strings.TrimSuffix(string(rest), "\r\n"); lines != "" {
		trailer, err = parseFields(strings.TrimSuffix(lines, "\r\n"))
	}
	return body, trailer, err
}

// isToken reports whether s is a token of RFC 9110, such as a field name.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isFieldValue reports whether s can stand in a header: no line ends or other
// control characters.
func isFieldValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
