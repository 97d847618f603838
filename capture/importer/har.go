package importer

import (
	"encoding/base64"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// HAR 1.2, as browsers, Polly.js and proxies write it: {"log": {"entries":
// [{request, response, startedDateTime, time}]}}. A body is text, or base64;
// Polly writes what has a content encoding as an array of base64 texts, in a
// text. Without a text there was no body, or it was not kept: the sizes say
// which.

func isHAR(s *source) bool { return s.top.obj("log").has("entries") }

func readHAR(s *source, o *Options) (tape, error) {
	const op = "importer.readHAR"
	log := s.top.obj("log")
	t := tape{format: versioned("har", log.str("version"))}
	unread := map[string]bool{}
	for i, v := range log.list("entries") {
		e := members(v)
		req, resp := e.obj("request"), e.obj("response")
		status, _ := resp.num("status")
		target := req.str("url")
		switch {
		case req == nil || resp == nil:
			return tape{}, fault.New(ErrMalformed, op, "entry %d has no request with a response", i)
		case !isStatus(int(status)) || checkURL(target) != nil:
			// Browsers list what was aborted, upgraded or never left, too.
			unread["/log/entries without an HTTP answer"] = true
			continue
		case len(t.exchanges) == o.MaxExchanges:
			return tape{}, fault.New(ErrTooLarge, op, "more than %d exchanges", o.MaxExchanges)
		case !isToken(req.str("method")):
			return tape{}, fault.New(ErrMalformed, op, "entry %d: %.40q is no method", i, req.str("method"))
		}
		x := exchange{method: req.str("method"), url: target, status: int(status), at: e.str("startedDateTime")}
		if e.has("time") {
			x.took = string(e["time"]) + " ms"
		}
		var err error
		if x.request, err = harMessage(req, "bodySize"); err == nil {
			x.response, err = harMessage(resp, "")
		}
		if err == nil {
			harPost(&x.request, req.obj("postData"))
			err = harContent(&x.response, resp.obj("content"))
		}
		if err != nil {
			return tape{}, fault.Wrap(ErrMalformed, op, err, "entry %d", i)
		}
		t.exchanges = append(t.exchanges, x)
	}
	t.unread = slices.Sorted(maps.Keys(unread))
	return t, nil
}

// harMessage reads what both sides have. Fields of HTTP/2 that begin with a
// colon are no fields.
func harMessage(o object, size string) (message, error) {
	m := message{length: -1}
	if p := strings.ToUpper(o.str("httpVersion")); isProto(p) {
		m.proto = p
	}
	for _, v := range o.list("headers") {
		h := members(v)
		name, value := h.str("name"), strings.Trim(h.str("value"), " \t\r\n")
		if strings.HasPrefix(name, ":") {
			continue
		}
		for part := range strings.SplitSeq(value, "\n") { // browsers put one field per line
			if !isToken(name) || !isFieldValue(part) {
				return m, fault.New(ErrMalformed, "importer.harMessage", "%.40q is no header field", name)
			}
			m.header = append(m.header, Field{name, part})
		}
	}
	if n, ok := o.num(size); ok {
		m.length = n
	}
	return m, nil
}

func harPost(m *message, post object) {
	s, exact := unquoted(post["text"])
	switch {
	case post.has("text") && post["text"].Kind() == '"':
		m.body = []byte(s)
		if post.str("encoding") == "base64" {
			b, err := decode64(s)
			exact = exact && err == nil
			m.body = b
		}
		if !exact {
			m.form = recoded
		}
	case len(post.list("params")) > 0:
		form := url.Values{}
		for _, v := range post.list("params") {
			form.Add(members(v).str("name"), members(v).str("value"))
		}
		m.form, m.body = parsed, []byte(form.Encode())
	case m.length > 0:
		m.form = absent
	}
}

func harContent(m *message, content object) error {
	const op = "importer.harContent"
	size, sized := content.num("size")
	if content["text"].Kind() != '"' {
		if size > 0 {
			m.form = absent
		}
		return nil
	}
	s, exact := unquoted(content["text"])
	switch content.str("encoding") {
	case "base64":
		var err error
		m.body, err = parts64(s)
		return fault.Wrap(ErrMalformed, op, err, "a body in base64")
	case "", "utf8", "utf-8":
		m.body = []byte(s)
		// Chrome and Polly count in bytes, Firefox in UTF-16.
		if sized && size > 0 && size != units(s) {
			m.length = size
		}
		if !exact || converted(content.str("mimeType"), s) {
			m.form = recoded
		}
		return nil
	default:
		return fault.New(ErrMalformed, op, "the encoding %.40q of a body", content.str("encoding"))
	}
}

// converted reports whether the text of a body was in another charset than
// the one that the file is in.
func converted(mediaType, s string) bool {
	_, params, err := mime.ParseMediaType(mediaType)
	charset := strings.ToLower(params["charset"])
	if err != nil || charset == "" || charset == "utf-8" || charset == "utf8" {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
}

// units counts s in UTF-16, as JavaScript does.
func units(s string) (n int64) {
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// parts64 reads base64, or a JSON array of texts in base64.
func parts64(s string) ([]byte, error) {
	if !strings.HasPrefix(s, "[") {
		return decode64(s)
	}
	parts, err := elements(jsontext.Value(s), maxElements)
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for _, p := range parts {
		part, _ := unquoted(p)
		b, err := base64.StdEncoding.DecodeString(part)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// origin returns the address without the port that its scheme has anyway, so
// that it names the same upstream as a client's.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err == nil && (u.Scheme == "https" && n == 443 || u.Scheme == "http" && n == 80) {
			u.Host = strings.TrimSuffix(u.Host, ":"+p)
		}
	}
	return u.String()
}
