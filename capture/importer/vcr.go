package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// A cassette is YAML with a list of interactions, a request and a response
// each. Its relatives differ in names:
//
//	            list               address  body                           status
//	go-vcr 1, 2 interactions       url      text                           code, status
//	vcrpy       interactions       uri      text; response {string: text}  {code, message}
//	VCR         http_interactions  uri      {encoding, string | base64_string}  {code, message}
//
// Bodies that are not UTF-8 are marked as binary. A newer vcrpy serializer
// writes parsed_body in place of body: then the bytes are lost.

// sureOf is the size up to which a file is parsed to say what it is instead of
// a cassette.
const sureOf = 1 << 20

// maxDocuments is how many documents one file may have.
const maxDocuments = 1000

// isVCR takes any text: what it is shows when it is parsed.
func isVCR(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

func readVCR(b []byte, o *Options) (tape, error) {
	if len(b) > sureOf && !bytes.Contains(b, []byte("interactions")) && !bytes.Contains(b, []byte("messages")) && !bytes.Contains(b, []byte("history")) {
		return tape{}, fault.New(ErrNotCassette, "importer.readVCR", "text without interactions")
	}
	docs, err := documents(b, maxDocuments)
	if err != nil {
		return tape{}, err
	}
	if len(docs) == 0 {
		return tape{}, fault.New(ErrUnknownFormat, "importer.readVCR", "a file without anything in it")
	}
	l := &loader{budget: 4*int64(len(b)) + 1<<20}
	var t tape
	unread := map[string]bool{}
	for _, d := range docs {
		err := l.cassette(d, o, &t, unread)
		if len(docs) == 1 && (errors.Is(err, ErrNotCassette) || errors.Is(err, ErrNotHTTP)) {
			if t, ok := readOther(d, int64(len(b)), o); ok {
				return t, nil
			}
		}
		if err != nil {
			return tape{}, err
		}
	}
	t.unread = slices.Sorted(maps.Keys(unread))
	return t, nil
}

// readOther reads a document that is no cassette of HTTP as a recording of
// messages, some of which are kept as YAML too.
func readOther(n *yaml.Node, size int64, o *Options) (tape, bool) {
	l := &loader{budget: 4*size + 1<<20}
	b, err := l.json(nil, n, 0)
	if err != nil {
		return tape{}, false
	}
	t, ok, err := readMessages(b, o)
	return t, ok && err == nil
}

func (l *loader) cassette(n *yaml.Node, o *Options, t *tape, unread map[string]bool) error {
	const op = "importer.cassette"
	top, err := l.mapping(n)
	if errors.Is(err, ErrMalformed) {
		return fault.New(ErrNotCassette, op, "line %d: a %s, where a cassette has a mapping with interactions", n.Line, kindName(n))
	}
	if err != nil {
		return err
	}
	list, ok := top.take("interactions")
	ruby, ok2 := top.take("http_interactions")
	if !ok && !ok2 {
		return fault.New(ErrNotCassette, op, "a mapping without interactions; it has %s", strings.Join(names(top), ", "))
	}
	if ok2 {
		list = ruby
	}
	version, err := l.text(top, "version")
	if err != nil {
		return err
	}
	elems, err := l.sequence(list)
	if err != nil {
		return err
	}
	for i, e := range elems {
		if len(t.exchanges) == o.MaxExchanges {
			return fault.New(ErrTooLarge, op, "more than %d exchanges", o.MaxExchanges)
		}
		x, dialect, err := l.interaction(e, unread)
		if err != nil {
			return fault.Wrap(fault.CodeOf(err), op, err, "interaction %d at line %d", i, e.Line)
		}
		if ok2 {
			dialect = "vcr"
		}
		if version != "" && dialect != "vcr" {
			dialect += "/" + version
		}
		if t.format == "" {
			t.format = dialect
		}
		t.exchanges = append(t.exchanges, x)
	}
	delete(top, "recorded_with")
	for name := range top {
		unread["/"+name] = true
	}
	return nil
}

func names(t tree) []string {
	out := slices.Sorted(maps.Keys(t))
	if len(out) > 8 {
		out = append(out[:8], "…")
	}
	for i, s := range out {
		out[i] = strconv.Quote(s[:min(len(s), 40)])
	}
	if len(out) == 0 {
		out = append(out, "nothing")
	}
	return out
}

// interaction reads one exchange and says whose dialect it is in.
func (l *loader) interaction(n *yaml.Node, unread map[string]bool) (x exchange, dialect string, err error) {
	const op = "importer.interaction"
	m, err := l.mapping(n)
	if err != nil {
		return x, "", err
	}
	reqNode, ok := m.take("request")
	respNode, ok2 := m.take("response")
	if !ok || !ok2 {
		return x, "", fault.New(ErrNotHTTP, op, "no request with a response; it has %s", strings.Join(names(m), ", "))
	}
	req, err := l.mapping(reqNode)
	if err != nil {
		return x, "", err
	}
	resp, err := l.mapping(respNode)
	if err != nil {
		return x, "", err
	}
	dialect = "vcrpy"
	if _, ok := req["url"]; ok {
		dialect = "go-vcr"
	}
	if err := l.request(&x, req, dialect); err != nil {
		return x, "", err
	}
	if err := l.response(&x, resp, dialect); err != nil {
		return x, "", err
	}
	if x.at, err = l.text(m, "recorded_at"); err != nil {
		return x, "", err
	}
	delete(m, "id")
	leftOver(unread, "", m)
	leftOver(unread, "request/", req)
	leftOver(unread, "response/", resp)
	return x, dialect, nil
}

func leftOver(unread map[string]bool, under string, t tree) {
	for name := range t {
		unread[under+name] = true
	}
}

func (l *loader) request(x *exchange, t tree, dialect string) (err error) {
	const op = "importer.request"
	name := "uri"
	if dialect == "go-vcr" {
		name = "url"
	}
	if x.url, err = l.text(t, name); err != nil {
		return err
	}
	if x.method, err = l.text(t, "method"); err != nil {
		return err
	}
	x.method = strings.ToUpper(x.method) // Ruby's VCR writes it small
	if !isToken(x.method) {
		return fault.New(ErrNotHTTP, op, "%.40q is no method", x.method)
	}
	if err := checkURL(x.url); err != nil {
		return fault.Wrap(ErrNotHTTP, op, err, "the request")
	}
	if x.request, err = l.message(t, dialect); err != nil {
		return err
	}
	// Of the rest, form is the body once more, and the others repeat the URL.
	for _, name := range []string{"form", "host", "remote_addr", "request_uri"} {
		delete(t, name)
	}
	return nil
}

func (l *loader) response(x *exchange, t tree, dialect string) (err error) {
	if n, ok := t.take("content"); ok && t["body"] == nil { // vcrpy's first shape for httpx
		t["body"] = n
	}
	if x.response, err = l.message(t, dialect); err != nil {
		return err
	}
	if x.status, err = l.status(t); err != nil {
		return err
	}
	if v, err := l.text(t, "http_version"); err != nil {
		return err
	} else if isProto(v) {
		x.response.proto = v
	}
	if x.took, err = l.text(t, "duration"); err != nil {
		return err
	}
	v, err := l.text(t, "uncompressed")
	x.decoded = v == "true"
	return err
}

// status reads code: 200, status_code: 200 or status: {code: 200}.
func (l *loader) status(t tree) (int, error) {
	const op = "importer.status"
	n, ok := t.take("code")
	if ok {
		t.take("status") // go-vcr: the same with words
	} else if n, ok = t.take("status_code"); !ok {
		s, found := t.take("status")
		if !found {
			return 0, fault.New(ErrNotHTTP, op, "a response without a status")
		}
		m, err := l.mapping(s)
		if err != nil {
			return 0, err
		}
		if n, ok = m["code"]; !ok {
			return 0, fault.New(ErrMalformed, op, "line %d: a status without a code", s.Line)
		}
	}
	b, _, err := l.scalar(n)
	if err != nil {
		return 0, err
	}
	code, err := strconv.Atoi(string(b))
	if err != nil || !isStatus(code) {
		return 0, fault.New(ErrMalformed, op, "line %d: the status %.20q", n.Line, b)
	}
	return code, nil
}

// message reads what requests and responses have in common.
func (l *loader) message(t tree, dialect string) (m message, err error) {
	m.length = -1
	if n, ok := t.take("headers"); ok {
		if m.header, err = l.fields(n); err != nil {
			return m, err
		}
	}
	if n, ok := t.take("trailer"); ok {
		if m.trailer, err = l.fields(n); err != nil {
			return m, err
		}
	}
	if m.proto, err = l.text(t, "proto"); err != nil {
		return m, err
	}
	if m.proto != "" && !isProto(m.proto) {
		return m, fault.New(ErrMalformed, "importer.message", "the protocol %.20q", m.proto)
	}
	s, err := l.text(t, "content_length")
	if err != nil {
		return m, err
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		m.length = n
	}
	for _, name := range []string{"proto_major", "proto_minor", "transfer_encoding"} {
		delete(t, name)
	}
	return m, l.body(&m, t, dialect)
}

// fields reads a mapping of names to a value or a list of values, in the
// order of the file.
func (l *loader) fields(n *yaml.Node) ([]Field, error) {
	const op = "importer.fields"
	n, err := l.follow(n)
	if err != nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, err
	}
	if _, err := l.mapping(n); err != nil {
		return nil, err
	}
	var out []Field
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, _, err := l.scalar(n.Content[i])
		if err != nil {
			return nil, err
		}
		values := []*yaml.Node{n.Content[i+1]}
		if v, err := l.follow(values[0]); err != nil {
			return nil, err
		} else if v.Kind == yaml.SequenceNode {
			values = v.Content
		}
		for _, v := range values {
			b, _, err := l.scalar(v)
			if err != nil {
				return nil, err
			}
			if !isToken(string(name)) || !isFieldValue(string(b)) {
				return nil, fault.New(ErrMalformed, op, "line %d: %.40q is no header field", v.Line, name)
			}
			out = append(out, Field{string(name), strings.Trim(string(b), " \t")})
		}
	}
	return out, nil
}

// body reads the body in any of its spellings.
func (l *loader) body(m *message, t tree, dialect string) (err error) {
	n, ok := t.take("body")
	if p, isParsed := t.take("parsed_body"); isParsed {
		m.form = parsed
		m.body, err = l.json(nil, p, 0)
		return err
	}
	if !ok {
		m.form = absent
		return nil
	}
	if n, err = l.follow(n); err != nil {
		return err
	}
	encoding := ""
	if n.Kind == yaml.MappingNode {
		t, err := l.mapping(n)
		if err != nil {
			return err
		}
		s, plain := t["string"]
		b64, coded := t["base64_string"]
		if encoding, err = l.text(t, "encoding"); err != nil {
			return err
		}
		switch {
		case coded:
			b, _, err := l.scalar(b64)
			if err == nil {
				m.body, err = decode64(string(b))
			}
			return fault.Wrap(ErrMalformed, "importer.body", err, "line %d", b64.Line)
		case plain:
			if n, err = l.follow(s); err != nil {
				return err
			}
		default: // the body itself, as a tree
			m.form = parsed
			m.body, err = l.json(nil, n, 0)
			return err
		}
	}
	if n.Kind == yaml.SequenceNode {
		m.form = parsed
		m.body, err = l.json(nil, n, 0)
		return err
	}
	if m.body, n, err = l.scalar(n); err != nil {
		return err
	}
	m.form = spelling(m.body, n, dialect, encoding)
	return nil
}

// spelling says whether text in a cassette is what was sent. vcrpy never
// writes a block of its own accord: where JSON stands in one, a serializer
// has laid it out. Ruby's VCR names the charset of a text; YAML is UTF-8.
func spelling(b []byte, n *yaml.Node, dialect, encoding string) form {
	ascii := bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	switch strings.ToUpper(encoding) {
	case "", "UTF-8", "US-ASCII", "ASCII-8BIT", "BINARY":
	default:
		if !ascii {
			return recoded
		}
	}
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if dialect == "vcrpy" && encoding == "" && block && json.Valid(b) {
		return reformatted
	}
	return verbatim
}

// quote appends s as a JSON string.
func quote(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // text always can be written
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

func jsonScalar(dst []byte, n *yaml.Node) []byte {
	switch {
	case n.Tag == "!!null":
		return append(dst, "null"...)
	case n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false"),
		(n.Tag == "!!int" || n.Tag == "!!float") && json.Valid([]byte(n.Value)):
		return append(dst, n.Value...)
	default:
		return quote(dst, n.Value)
	}
}
