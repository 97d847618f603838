package redact_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
)

// What is recorded of a compressed body before its end tells nothing of a
// secret, not even its first letter, wherever it is flushed and however it is
// cut into parts.
func TestWhatIsClearTellsNoSecret(t *testing.T) {
	t.Parallel()
	r := redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
	words := []string{"some words. ", "0123456789.", strings.Repeat("A long line of text. ", 2000), "\n", "unter2/.", "h ", ". "}
	rapid.Check(t, func(t *rapid.T) {
		coding := rapid.SampledFrom([]string{"gzip", "deflate", "zstd", "br"}).Draw(t, "coding")
		texts := rapid.SliceOfN(rapid.SampledFrom(words), 1, 12).Draw(t, "texts")
		texts = append(texts, ". ") // no secret begins with it
		plain := strings.Join(texts, "")
		has := rapid.Bool().Draw(t, "secret")
		if has {
			texts = append(texts, redacttest.Spelled[:7], redacttest.Spelled[7:], " and more. ")
		}
		list, err := redacttest.CodedParts(coding, texts...)
		if err != nil {
			t.Fatal(err)
		}
		if coding == "gzip" && rapid.Bool().Draw(t, "members") { // which bodies of gzip may have
			more, err := redacttest.CodedParts(coding, texts...)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, more...)
			if !has {
				plain += plain
			}
		}
		all := slices.Concat(list...)
		whole := rapid.Bool().Draw(t, "as flushed")
		if !whole {
			list = nil
			for rest := all; len(rest) > 0; {
				n := min(len(rest), rapid.IntRange(1, 3000).Draw(t, "part"))
				list = append(list, rest[:n])
				rest = rest[n:]
			}
		}
		c := redact.NewClearing(coding, r.Stream(), 1<<30)
		defer c.Stop()
		var came, clear int64
		found := false
		for _, p := range list {
			came += int64(len(p))
			n, ok := c.Write(p)
			if !ok {
				found = true
				break
			}
			clear = max(clear, n)
			if says := redacttest.BeginningOf(coding, all[:clear]); clear > came || !strings.HasPrefix(plain, says) && !strings.HasPrefix(says, plain) || has && len(says) > len(plain) {
				t.Fatalf("%d of %d bytes are clear, which say %d bytes, of which %d are", clear, came, len(says), len(plain))
			}
		}
		if !found {
			found = !c.End(false)
		}
		if found != has {
			t.Fatalf("a secret is found: %t, want %t", found, has)
		}
	})
}
