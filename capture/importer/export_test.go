package importer

import (
	"bytes"
	"context"
	"net/http"

	"github.com/reprise-dev/reprise/internal/drive"
)

// Parsed is an exchange as the readers of this package give it, for tests that
// send it again.
type Parsed struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	Status      int
	Answer      http.Header
	Response    []byte
	Evidence    []Reason
}

// Parse reads a file as Import does. A file of messages gives no exchange.
func Parse(b []byte) (format string, out []Parsed, err error) {
	o := Options{}.withDefaults()
	t, err := read(b, &o)
	if err != nil {
		return "", nil, err
	}
	return t.format, t.parsed(), nil
}

// ImportParsed is Import with what it read; large files are parsed once so.
func ImportParsed(ctx context.Context, cfg drive.Config, b []byte, name string) (Result, []Parsed, error) {
	o := Options{}.withDefaults()
	b, err := o.load(bytes.NewReader(b))
	if err != nil {
		return Result{}, nil, err
	}
	t, err := read(b, &o)
	if err != nil {
		return Result{}, nil, err
	}
	res, err := t.put(ctx, cfg, b, name, &o)
	return res, t.parsed(), err
}

func (t *tape) parsed() (out []Parsed) {
	for i := range t.exchanges {
		x := &t.exchanges[i]
		out = append(out, Parsed{
			Method: x.method, URL: x.url, Header: headers(x.request.header), Body: x.request.body,
			Status: x.status, Answer: headers(x.response.header), Response: x.response.body, Evidence: x.evidence(),
		})
	}
	return out
}
