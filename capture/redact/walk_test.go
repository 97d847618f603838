package redact_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
)

// anyJSON draws JSON as servers write it, and now and then what is none.
func anyJSON(t *rapid.T, depth int) string {
	texts := []string{
		"", "word", "ü", "h", "unter2", "s", "k-ant-", strings.Repeat("a1B2", 8), " ", `\n`, `\"`, `\u00fc`, `\ud83d\ude00`, `\ud83d`, `\x`, "\t", `\\`, "\xff",
		"response.output_text.delta", "response.done", "msg_1", redacttest.Quoted(redacttest.Spelled)[1 : len(redacttest.Quoted(redacttest.Spelled))-1], `unter2\/\"key\"-of+many letters`,
	}
	plain := texts[:9]
	text := func() string {
		from := plain
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			from = texts
		}
		return `"` + rapid.SampledFrom(from).Draw(t, "text") + `"`
	}
	space := func() string {
		return rapid.SampledFrom([]string{"", "", "", " ", "\t", "\r"}).Draw(t, "space")
	}
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case depth > 3 || kind < 5 && depth > 0:
		return text()
	case kind == 5 && depth > 0:
		return rapid.SampledFrom([]string{"0", "-1", "1.5e+3", "true", "false", "null", "01", "1.", "-", "tru", "1e", "nul", "1e5x"}).Draw(t, "scalar")
	case kind < 8:
		var out []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			name := rapid.SampledFrom([]string{"type", "delta", "text", "index", "item_id", "output_index", "id", "content", "", "x", "y", "z", `te\u0078t`}).Draw(t, "name")
			out = append(out, space()+`"`+name+`"`+space()+":"+space()+anyJSON(t, depth+1)+space())
		}
		return "{" + space() + strings.Join(out, ",") + "}"
	default:
		var out []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			out = append(out, space()+anyJSON(t, depth+1)+space())
		}
		return "[" + space() + strings.Join(out, ",") + "]"
	}
}

// What is read quickly is read as it is slowly.
func TestMessagesAreReadAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(anyJSON(t, 0))
		if rapid.IntRange(0, 3).Draw(t, "broken") == 0 && len(b) > 0 {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.SampledFrom([]byte(`{}[]",:\ 0`+"\n")).Draw(t, "byte")
		}
		alike(t, b)
	})
}

func alike(t interface{ Fatalf(string, ...any) }, b []byte) {
	got, ok := redact.Walked(b, false)
	if !ok {
		return // that is left to who reads slowly
	}
	if want, ok := redact.Walked(b, true); !ok || got != want {
		t.Fatalf("%q is read as\n%s\nand slowly, %t, as\n%s", b, got, ok, want)
	}
}

func FuzzMessagesAreReadAlike(f *testing.F) {
	for _, d := range redacttest.Dialects() {
		f.Add(bytes.TrimPrefix([]byte(d.Event(1, "some text")), []byte("data: ")))
	}
	for _, s := range redacttest.Spellings() {
		f.Add([]byte(s.Message(1, "\n")))
	}
	f.Add([]byte(`{"":{"index":1,"index":2},"a":[[],{},"x",{"index":"\u00e9","b":-0.5e-7}]} `))
	f.Fuzz(func(t *testing.T, b []byte) { alike(t, b) })
}

// Most messages are read quickly, or there would be no use in it.
func TestMessagesOfProvidersAreReadQuickly(t *testing.T) {
	t.Parallel()
	for _, s := range redacttest.Spellings() {
		if _, ok := redact.Walked([]byte(s.Message(1, "a \"word\"\n – ")), false); !ok {
			t.Errorf("%s: %s is read slowly", s.Name, s.Message(1, "word"))
		}
	}
}

// However a stream is read, the same is recorded, and under the same names:
// random messages, and secrets that are redacttest.Spelled over them in random parts,
// which come in random parts themselves.
func TestStreamsAreCleanedAlike(t *testing.T) {
	t.Parallel()
	r := redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled}, redact.Secret{Name: "OTHER", Value: "hunter2/nothing-else"})
	events := redacttest.Dialects()[:4]
	rapid.Check(t, func(t *rapid.T) {
		var stream strings.Builder
		left := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"some words ", "to ask", "hunter2", redacttest.Spelled, " ", "sk-ant-" + strings.Repeat("a1B2", 8), "ü\n\t", "-----BEGIN A PRIVATE KEY-----\nx\n-----END A PRIVATE KEY-----"}), 1, 8).Draw(t, "says"), "")
		odd := rapid.SampledFrom([]int{0, 8}).Draw(t, "odd") // most streams have one kind of message for long
		d := rapid.SampledFrom(events).Draw(t, "dialect")
		doc := anyJSON(t, 0)
		for left != "" {
			n := min(len(left), rapid.IntRange(0, 9).Draw(t, "letters"))
			for n < len(left) && left[n]&0xc0 == 0x80 {
				n++
			}
			switch rapid.IntRange(8-odd, 8).Draw(t, "event") {
			case 0:
				doc = anyJSON(t, 0)
				fmt.Fprintf(&stream, "data: %s\n\n", doc)
			case 1, 2: // the same again, with something else in it
				said := redacttest.Quoted(left[:n])
				fmt.Fprintf(&stream, "data: %s\n\n", strings.NewReplacer(`"word"`, said, `"h"`, said, `"s"`, `""`, "0", "1.5", "null", "true").Replace(doc))
			case 3:
				stream.WriteString(": sk-ant-\n")
			case 4:
				stream.WriteString(d.Event(1, "sk-"))
			default:
				stream.WriteString(d.Event(0, left[:n]))
				left = left[n:]
			}
		}
		all := stream.String()
		want, names := redact.Slowly(r, all)
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(all)), 0, 30).Draw(t, "cuts")
		slices.Sort(cuts)
		var parts []string
		at := 0
		for _, c := range append(cuts, len(all)) {
			parts = append(parts, all[at:c])
			at = c
		}
		got, found := cleaned(r, http.Header{"Content-Type": {"text/event-stream"}}, parts...)
		slices.Sort(names)
		slices.Sort(found)
		if got != want || !slices.Equal(found, names) {
			t.Fatalf("%q is recorded as\n%q %v, and slowly as\n%q %v", all, got, found, want, names)
		}
	})
}

// cleaned is what becomes of a stream that comes in parts, and what was found.
func cleaned(r *redact.Redactor, h http.Header, parts ...string) (string, []string) {
	c := r.Cleaner(h)
	var out []byte
	for _, p := range parts {
		out = c.Write(out, []byte(p), false)
	}
	return string(c.Write(out, nil, true)), c.Found()
}
