package match

import (
	"bytes"

	"github.com/reprise-dev/reprise/capture/redact"
)

// MaxBoundary is the longest boundary of a form: that of RFC 2046.
const MaxBoundary = 70

// withoutBoundary returns a form in which {boundary} stands for the boundary.
// A body that does not begin and end as a form is none.
func withoutBoundary(body []byte) ([]byte, bool) {
	line, ok := BoundaryLine(body)
	if !ok || !EndsForm(body, line) {
		return nil, false
	}
	return bytes.ReplaceAll(body, line, []byte(boundary)), true
}

// boundary stands for the line between the parts of a form.
const boundary = "--{boundary}"

// Boundary returns what finds the line between the parts of a form.
func Boundary(line []byte) *redact.Finder {
	return redact.NewFinder([]*redact.Pattern{{Name: "boundary", Text: string(line), With: boundary}})
}

// BoundaryLine returns the line with which a form begins.
func BoundaryLine(body []byte) ([]byte, bool) {
	line, _, ok := bytes.Cut(body[:min(len(body), MaxBoundary+4)], []byte("\r\n"))
	return line, ok && len(line) >= 3 && bytes.HasPrefix(line, []byte("--"))
}

// EndsForm reports whether b ends as the form with that line.
func EndsForm(b, line []byte) bool {
	end := append(append([]byte("\r\n"), line...), "--"...)
	return bytes.HasSuffix(bytes.TrimSuffix(b, []byte("\r\n")), end)
}
