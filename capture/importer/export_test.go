package importer

import "net/http"

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

// Parse reads a file as Import does.
func Parse(b []byte) (format string, out []Parsed, err error) {
	o := Options{}.withDefaults()
	t, err := read(b, &o)
	if err != nil {
		return "", nil, err
	}
	for i := range t.exchanges {
		x := &t.exchanges[i]
		out = append(out, Parsed{
			Method: x.method, URL: x.url, Header: headers(x.request.header), Body: x.request.body,
			Status: x.status, Answer: headers(x.response.header), Response: x.response.body, Evidence: x.evidence(),
		})
	}
	return t.format, out, nil
}

// Exchanges reports whether a file holds exchanges over HTTP; false without an
// error means that it holds messages.
func Exchanges(b []byte) (bool, error) {
	o := Options{}.withDefaults()
	t, err := read(b, &o)
	return len(t.turns) == 0, err
}
