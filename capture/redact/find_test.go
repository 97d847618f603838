package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/redact"
)

// Whatever bytes a finder passes over, it finds what a search of every place
// for every text finds: the leftmost, and of those the longest.
func TestFinderFindsTheLeftmostLongest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to int // lengths of texts
	}{{"short", 3, 5}, {"mixed", 3, 12}, {"long", 6, 40}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				letters := rapid.SampledFrom([]byte("abcé-\x00"))
				text := func(from, to int) string {
					return string(rapid.SliceOfN(letters, from, to).Draw(t, "text"))
				}
				var texts []string
				for range rapid.IntRange(1, 8).Draw(t, "texts") {
					texts = append(texts, text(c.from, c.to))
				}
				in := text(0, 60)
				for range rapid.IntRange(0, 3).Draw(t, "hits") {
					in += rapid.SampledFrom(texts).Draw(t, "hit") + text(0, 7)
				}
				if got, want := redact.Replaced([]byte(in), texts...), replaced(in, texts); got != want {
					t.Fatalf("%q without %q = %q, want %q", in, texts, got, want)
				}
			})
		})
	}
}

func replaced(in string, texts []string) string {
	var out strings.Builder
	for in != "" {
		found := ""
		for _, text := range texts {
			if strings.HasPrefix(in, text) && len(text) > len(found) {
				found = text
			}
		}
		if found == "" {
			out.WriteByte(in[0])
			in = in[1:]
			continue
		}
		out.WriteString(redact.StandIn(found))
		in = in[len(found):]
	}
	return out.String()
}
