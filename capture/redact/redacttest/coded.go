package redacttest

import (
	"bytes"

	"github.com/reprise-dev/reprise/internal/codings"
)

// CodedParts codes texts one behind the other, so that each part of the body
// can be read when it has come; the last part is the end.
func CodedParts(coding string, texts ...string) ([][]byte, error) {
	var out bytes.Buffer
	w, err := codings.NewWriter(coding, &out)
	if err != nil {
		return nil, err
	}
	var list [][]byte
	for _, s := range texts {
		if _, err := w.Write([]byte(s)); err != nil {
			return nil, err
		}
		if err := w.Flush(); err != nil {
			return nil, err
		}
		list = append(list, bytes.Clone(out.Bytes()))
		out.Reset()
	}
	err = w.Close()
	return append(list, bytes.Clone(out.Bytes())), err
}

// BeginningOf decodes what can be read of a body that is not whole.
func BeginningOf(coding string, b []byte) string {
	plain, _ := codings.Decode(coding, b, 1<<30)
	return string(plain)
}
