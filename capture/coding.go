package capture

import (
	"github.com/reprise-dev/reprise/internal/codings"
)

// ContentCoding is the id under which a report says that two requests are the
// same only behind their content coding.
const ContentCoding = "content-coding@1"

// safe is what is stored of a body.
type safe struct {
	stored []byte
	plain  []byte // what it holds behind its coding
	names  []string
	blind  bool // nobody could look behind its coding
}

// safe returns what is stored of a request's body and the names of the secrets
// that were in it. A body without secrets is stored as it came. One with
// secrets is coded anew, so that its coding stays true.
func (r *Redactor) safe(coding string, b []byte, limit int64) (safe, error) {
	if coding == "" || len(b) == 0 {
		stored, names := r.Bytes(b)
		return safe{stored: stored, plain: stored, names: names}, nil
	}
	return safely(coding, b, limit, false, r.Bytes)
}

// safely is safe with what finds the secrets behind the coding. A body that
// broke off need not be whole.
func safely(coding string, b []byte, limit int64, broke bool, clean func([]byte) ([]byte, []string)) (safe, error) {
	list, known := codings.List(coding)
	if known && len(list) == 0 || len(b) == 0 {
		stored, names := clean(b)
		return safe{stored: stored, plain: stored, names: names}, nil
	}
	p, err := codings.Decode(coding, b, limit)
	if err == nil || broke && known && int64(len(p)) <= limit {
		out, names := clean(p)
		if names == nil {
			return safe{stored: b, plain: p}, nil
		}
		stored, err := codings.Encode(coding, out, !broke)
		return safe{stored: stored, plain: out, names: names}, err
	}
	stored, names := clean(b)
	return safe{stored: stored, plain: stored, names: names, blind: true}, nil
}
