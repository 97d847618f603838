package redact

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/kernel/canon"
)

// Spellings returns the ways in which a value stands in bodies: as it is, in
// JSON as different writers escape it, and in a query.
func Spellings(v string) []string {
	inJSON := strings.Trim(string(canon.AppendString(nil, v)), `"`)
	out := []string{
		v, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), escapeHTML(inJSON), escapeASCII(inJSON), escapeASCII(escapeHTML(inJSON)),
		url.QueryEscape(v), url.PathEscape(v), lowerHex(url.QueryEscape(v)), lowerHex(url.PathEscape(v)),
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerHex writes the escapes of a query with small letters.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// inBase64 returns the texts of which one stands in everything that holds the
// value in base64, in either alphabet: what is around it decides on the first
// and the last letters, so these are left out.
func inBase64(v string) []string {
	var out []string
	const group, letters = 3, 4
	for shift := range group {
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := e.EncodeToString([]byte(strings.Repeat("\x00", shift) + v))
			from := (shift*letters + group - 1) / group
			to := (shift + len(v)) * letters / group
			out = append(out, text[from:to])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// escapeHTML escapes what Go's encoder escapes besides.
func escapeHTML(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(s)
}

// escapeASCII escapes what Python's encoder escapes besides.
func escapeASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
