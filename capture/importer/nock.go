package importer

import (
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// nock's recorder writes an array of {scope, method, path, body, status,
// response, rawHeaders, reqheaders, responseIsBinary}. A body that is JSON is
// parsed; one that is encoded is an array of hexadecimal texts; one that is
// neither is a text, hexadecimal if it was no UTF-8.

func isNock(s *source) bool {
	return !s.lines && s.first.has("scope", "path", "status")
}

func readNock(s *source, o *Options) (tape, error) {
	const op = "importer.readNock"
	t := tape{format: "nock"}
	for i, v := range s.list {
		if len(t.exchanges) == o.MaxExchanges {
			return tape{}, fault.New(ErrTooLarge, op, "more than %d exchanges", o.MaxExchanges)
		}
		m := members(v)
		status, _ := m.num("status")
		x := exchange{method: strings.ToUpper(m.str("method")), status: int(status), url: origin(m.str("scope") + m.str("path"))}
		if x.method == "" {
			x.method = "GET"
		}
		err := checkURL(x.url)
		if err == nil && (!isStatus(x.status) || !isToken(x.method)) {
			err = fault.New(ErrMalformed, op, "the method %.20q or the status %d", x.method, status)
		}
		if err == nil {
			x.request, err = nockMessage(m["body"], m["reqheaders"], false)
		}
		if err == nil {
			x.response, err = nockMessage(m["response"], m["rawHeaders"], string(m["responseIsBinary"]) == "true")
		}
		if err != nil {
			return tape{}, fault.Wrap(ErrMalformed, op, err, "element %d", i)
		}
		t.exchanges = append(t.exchanges, x)
	}
	return t, nil
}

func nockMessage(body, header jsontext.Value, binary bool) (m message, err error) {
	m.length = -1
	if m.header, err = nockHeader(header); err != nil {
		return m, err
	}
	switch body.Kind() {
	case '"':
		s, exact := unquoted(body)
		if m.body = []byte(s); binary {
			m.body, err = hex.DecodeString(s)
			return m, err
		}
		if !exact {
			m.form = recoded
		}
	case '[':
		if _, encoded := m.field("Content-Encoding"); encoded {
			m.body, err = hexParts(body)
			return m, err
		}
		m.form, m.body = parsed, body
	case 'n', 0:
	default:
		m.form, m.body = parsed, body
	}
	return m, nil
}

func hexParts(v jsontext.Value) ([]byte, error) {
	parts, err := elements(v, maxElements)
	if err != nil {
		return nil, err
	}
	out := []byte{}
	for _, p := range parts {
		s, _ := unquoted(p)
		b, err := hex.DecodeString(s)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// nockHeader reads a mapping of names to a value or several, in the order of
// the file, or an array of names and values in turn.
func nockHeader(v jsontext.Value) ([]Field, error) {
	var flat []string
	switch v.Kind() {
	case '[':
		list, err := elements(v, maxElements)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			s, _ := unquoted(e)
			flat = append(flat, s)
		}
	case '{':
		o := members(v)
		for _, name := range inOrder(v) {
			values := []jsontext.Value{o[name]}
			if o[name].Kind() == '[' {
				values = o.list(name)
			}
			for _, e := range values {
				flat = append(flat, name, string(plain(e)))
			}
		}
	default:
	}
	var out []Field
	for i := 0; i+1 < len(flat); i += 2 {
		if !isToken(flat[i]) || !isFieldValue(flat[i+1]) {
			return nil, fault.New(ErrMalformed, "importer.nockHeader", "%.40q is no header field", flat[i])
		}
		out = append(out, Field{flat[i], strings.Trim(flat[i+1], " \t")})
	}
	return out, nil
}
