package redact

import (
	"net/http"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/codings"
)

// Body is what is stored of a body.
type Body struct {
	Stored []byte
	Plain  []byte   // what it holds behind its coding
	Names  []string // of the secrets that were in it
	Blind  bool     // nobody could look behind its coding
}

// Request returns what is stored of a request's body. A body without secrets is stored as it came. One with
// secrets is coded anew, so that its coding stays true.
func (r *Redactor) Request(coding string, b []byte, limit int64) (Body, error) {
	if coding == "" || len(b) == 0 {
		stored, names := r.Bytes(b)
		return Body{Stored: stored, Plain: stored, Names: names}, nil
	}
	return safely(coding, b, limit, false, r.Bytes)
}

// safely is [Redactor.Request] with what finds the secrets behind the coding. A body that
// broke off need not be whole.
func safely(coding string, b []byte, limit int64, broke bool, clean func([]byte) ([]byte, []string)) (Body, error) {
	list, known := codings.List(coding)
	if known && len(list) == 0 || len(b) == 0 {
		stored, names := clean(b)
		return Body{Stored: stored, Plain: stored, Names: names}, nil
	}
	p, err := codings.Decode(coding, b, limit)
	if err == nil || broke && known && int64(len(p)) <= limit {
		out, names := clean(p)
		if names == nil {
			return Body{Stored: b, Plain: p}, nil
		}
		stored, err := codings.Encode(coding, out, !broke)
		return Body{Stored: stored, Plain: out, Names: names}, err
	}
	stored, names := clean(b)
	return Body{Stored: stored, Plain: stored, Names: names, Blind: true}, nil
}

// Answer returns what is stored of a whole answer with these headers, or of one
// that broke off.
func (r *Redactor) Answer(h http.Header, b []byte, limit int64, broke bool) (Body, error) {
	s, err := safely(h.Get("Content-Encoding"), b, limit, broke, func(p []byte) ([]byte, []string) {
		c := r.Cleaner(h)
		out := c.Write(make([]byte, 0, len(p)), p, true)
		if names := c.Found(); names != nil {
			return out, names
		}
		return p, nil
	})
	// Recorders leave the header on what they have decoded: text hides nothing.
	s.Blind = s.Blind && !utf8.Valid(b)
	return s, err
}
