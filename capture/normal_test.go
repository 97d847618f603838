package capture_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
)

// A client draws another boundary for every upload; what stands between them
// is the request.
func TestBoundaryOfAFormIsLeftOut(t *testing.T) {
	t.Parallel()
	form := func(b, text string) string {
		return "--" + b + "\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" + text + "\r\n--" + b + "\r\n\r\nx\r\n--" + b + "--\r\n"
	}
	for _, c := range []struct {
		name, body, want string
		changed          bool
	}{
		{"a form", form("------------------------d74496d66958873e", "a--b"), form("{boundary}", "a--b"), true},
		{"without a last line break", strings.TrimSuffix(form("x1", "a"), "\r\n"), strings.TrimSuffix(form("{boundary}", "a"), "\r\n"), true},
		{"a form that does not end", strings.TrimSuffix(form("x1", "a"), "--\r\n"), strings.TrimSuffix(form("x1", "a"), "--\r\n"), false},
		{"a boundary that is too long", form(strings.Repeat("x", 71), "a"), form(strings.Repeat("x", 71), "a"), false},
		{"the longest boundary", form(strings.Repeat("x", 70), "a"), form("{boundary}", "a"), true},
		{"no form", "--\r\nx\r\n----", "--\r\nx\r\n----", false},
		{"empty", "", "", false},
	} {
		got, changed, err := capture.Form(capture.KindModel, c.body)
		if err != nil || got != c.want || slices.Contains(changed, capture.MultipartBoundary) != c.changed {
			t.Errorf("%s: Form() = %q %v, %v, want %q", c.name, got, changed, err, c.want)
		}
	}
}
