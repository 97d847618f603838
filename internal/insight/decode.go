package insight

import (
	"strings"

	"github.com/reprise-dev/reprise/internal/codings"
	"github.com/reprise-dev/reprise/kernel/canon"
)

// Plain returns what a recorded body holds behind the content coding that its
// request or answer names; data is what was recorded of that. ok is false if the
// coding is not known, the body is broken, or more than is read.
func Plain(data canon.Value, body []byte) (plain []byte, ok bool) {
	plain, err := codings.Decode(Header(data, "content-encoding"), body, maxRead)
	return plain, err == nil
}

// Header returns a header of a recorded request or answer by its lower-case
// name. Its values are joined as HTTP has it.
func Header(data canon.Value, name string) string {
	var found []string
	for _, h := range data.Get("headers").Elems() {
		if strings.EqualFold(h.At(0).Str(), name) {
			found = append(found, h.At(1).Str())
		}
	}
	for _, m := range data.Get("headers").Members() {
		if strings.EqualFold(m.Name, name) {
			found = append(found, m.Value.Str())
			for _, v := range m.Value.Elems() {
				found = append(found, v.Str())
			}
		}
	}
	var out []string
	for _, f := range found {
		if f != "" {
			out = append(out, f)
		}
	}
	return strings.Join(out, ", ")
}
