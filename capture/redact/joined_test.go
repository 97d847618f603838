package redact_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
)

// stored is what becomes of a stream that comes in these parts.
func stored(r *redact.Redactor, d redacttest.Dialect, parts ...string) string {
	write := r.Cleaner(http.Header{"Content-Type": {d.Type}}).Write
	var out []byte
	for _, p := range parts {
		out = write(out, []byte(p), false)
	}
	return string(write(out, nil, true))
}

// A secret that is redacttest.Spelled over many messages of a stream is in none of them,
// in whatever parts they come; other messages keep every byte.
func TestSecretsThatAreSpelledAreFound(t *testing.T) {
	t.Parallel()
	r := redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled}, redact.Secret{Name: "OTHER", Value: "hunter2/nothing-else"})
	for _, d := range redacttest.Dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				// Two fields, each with its own text, one behind the other or mixed.
				var left [2]string
				for i := range left {
					left[i] = strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"some words ", "hunter2", redacttest.Spelled, " sk-ant-" + strings.Repeat("a1B2", 8), "ü\n\t"}), 0, 4).Draw(t, "text"), "")
				}
				all := left
				stream := d.Open
				step := rapid.IntRange(1, 12).Draw(t, "letters")
				mixed := rapid.Bool().Draw(t, "mixed")
				for k := 0; left[0]+left[1] != ""; k++ {
					i := 0
					if left[0] == "" || mixed && k%2 == 1 && left[1] != "" {
						i = 1
					}
					n := min(len(left[i]), step)
					for n < len(left[i]) && left[i][n]&0xc0 == 0x80 {
						n++
					}
					stream += d.Event(i, left[i][:n])
					left[i] = left[i][n:]
				}
				stream += d.End
				clean := true
				for _, s := range all {
					_, names := r.Bytes([]byte(s))
					clean = clean && names == nil
				}
				cuts := rapid.SliceOfN(rapid.IntRange(0, len(stream)), 0, 9).Draw(t, "cuts")
				slices.Sort(cuts)
				var parts []string
				at := 0
				for _, c := range append(cuts, len(stream)) {
					parts = append(parts, stream[at:c])
					at = c
				}
				got := stored(r, d, parts...)
				if clean && got != stream {
					t.Fatalf("a stream without secrets is stored as %q, want %q", got, stream)
				}
				if whole := stored(r, d, stream); whole != got {
					t.Fatalf("in one part %q is stored, in many %q", whole, got)
				}
				if says := d.Fields(got); strings.Contains(says, redacttest.Spelled) || strings.Contains(says, " sk-ant-a1") {
					t.Fatalf("what is stored says %q", says)
				}
				for _, s := range all {
					want, _ := r.Bytes([]byte(s))
					if !strings.Contains(d.Fields(got), string(want)) {
						t.Fatalf("what is stored says %q, want %q in it", d.Fields(got), want)
					}
				}
			})
		})
	}
}
