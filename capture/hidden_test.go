package capture_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/capture/redact/redacttest"
	"github.com/reprise-dev/reprise/kernel/effect"
)

// forms are the ways in which a secret may stand somewhere.
func forms(secret string) map[string]string {
	j := redacttest.Quoted(secret)
	out := map[string]string{
		"plain": secret, "JSON": j[1 : len(j)-1], "a query": url.QueryEscape(secret), "a path": url.PathEscape(secret),
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)),
	}
	for shift := 1; shift < 3; shift++ {
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret + "yy"))
		out[fmt.Sprint("base64 behind ", shift)] = whole[4 : len(whole)-8]
	}
	return out
}

// holds returns the form in which a text, or what it holds behind a coding,
// holds a secret.
func holds(b []byte, secret string) string {
	views := map[string][]byte{"": b}
	for _, coding := range []string{"gzip", "deflate", "zstd", "br"} {
		if plain, ok := capture.PlainOf(coding, b); ok {
			views[coding+", "] = plain
		}
	}
	for view, text := range views {
		for form, s := range forms(secret) {
			if strings.Contains(string(text), s) {
				return view + form
			}
		}
	}
	return ""
}

// Wherever a secret stands in the traffic, and in whatever form, it is nowhere
// in the store or in the spool, while an answer still comes and afterwards;
// and the client has it as it was.
func TestNoSecretIsStoredInAnyForm(t *testing.T) {
	t.Parallel()
	const key = "key-0123456789-of-the-caller"
	event := redacttest.Dialects()[0].Event
	var letters strings.Builder
	for _, c := range redacttest.Spelled + " and " + key {
		letters.WriteString(event(0, string(c)))
	}
	long := strings.Repeat("data: {\"filler\":1}\n\n", 20)
	inBase64 := func(shift int) string {
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + redacttest.Spelled + "yy"))
	}
	type answer struct{ typ, coding, body string }
	answers := map[string]answer{
		"spelled":           {"text/event-stream", "", letters.String()},
		"JSON":              {"application/json", "", `{"env":` + redacttest.Quoted(redacttest.Spelled) + `}`},
		"base64":            {"text/plain", "", inBase64(0) + " " + inBase64(1) + " " + inBase64(2)},
		"a query":           {"text/plain", "", "https://x.test/" + url.PathEscape(redacttest.Spelled) + "?a=" + url.QueryEscape(redacttest.Spelled)},
		"an unknown coding": {"text/plain", "lz99", "no secret"},
	}
	for _, coding := range []string{"gzip", "deflate", "zstd", "br"} {
		answers["spelled behind "+coding] = answer{"text/event-stream", coding, long + letters.String()}
		answers["whole behind "+coding] = answer{"application/json", coding, `{"env":` + redacttest.Quoted(redacttest.Spelled) + `}`}
	}
	rig := onDisk(t)
	rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		a := answers[r.URL.Query().Get("n")]
		w.Header().Set("Content-Type", a.typ)
		b := []byte(a.body)
		if a.coding != "" {
			w.Header().Set("Content-Encoding", a.coding)
			if c, err := capture.Coded(a.coding, b); err == nil {
				b = c
			}
		}
		if a.typ == "text/event-stream" {
			for rest := b; len(rest) > 0; rest = rest[min(len(rest), 200):] {
				_, _ = w.Write(rest[:min(len(rest), 200)])
				w.(http.Flusher).Flush()
			}
			if s := holds([]byte(dumpFolder(t, rig.spool)), redacttest.Spelled); s != "" {
				t.Errorf("%s: staged as %s", r.URL.Query().Get("n"), s)
			}
			return
		}
		_, _ = w.Write(b)
	})
	live := rig.record(up.URL)
	ask := func(p *taping, name string) got {
		body, coding := `{"text":`+redacttest.Quoted(redacttest.Spelled)+`,"again":"`+inBase64(1)+`","n":"`+url.QueryEscape(redacttest.Spelled)+`"}`, ""
		if _, after, ok := strings.Cut(name, "behind "); ok {
			c, err := capture.Coded(after, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			body, coding = string(c), after
		}
		return send(t, "POST", p.url+"/v1/chat/completions?n="+url.QueryEscape(name), body, "Authorization", "Bearer "+key, "Content-Encoding", coding)
	}
	said := func(name string, g got) string {
		b := g.body
		if coding := answers[name].coding; coding != "" && coding != "lz99" {
			plain, ok := capture.PlainOf(coding, b)
			if !ok {
				t.Errorf("%s: the answer is not in the coding %s", name, coding)
			}
			b = plain
		}
		return string(b)
	}
	for name, a := range answers {
		if g := ask(live, name); g.status != 200 || said(name, g) != a.body {
			t.Errorf("%s: the client got %d %.200q, %v; want what was sent", name, g.status, g.body, g.err)
		}
	}
	run := live.seal()
	for _, secret := range []string{redacttest.Spelled, key} {
		for _, e := range rig.entries(run) {
			if s := holds([]byte(e.Body.String()), secret); s != "" {
				t.Errorf("entry %d holds %q as %s", e.N, secret, s)
			}
			for _, a := range e.Att {
				if s := holds(rig.content(run, &e, a.Name), secret); s != "" {
					t.Errorf("entry %d, %s holds %q as %s", e.N, a.Name, secret, s)
				}
			}
		}
		if s := holds([]byte(dumpStore(t, rig, run)+dumpFolder(t, rig.spool)+dumpFolder(t, rig.folder)), secret); s != "" {
			t.Errorf("a file of the store holds %q as %s", secret, s)
		}
	}
	again := rig.replay(run)
	for name := range answers {
		g := ask(again, name)
		if s := said(name, g); g.status != 200 || name != "an unknown coding" && !strings.Contains(redacttest.Dialects()[0].Fields(s)+s, "{redacted:ENV}") {
			t.Errorf("%s again: %d %.300q, %v; want the stand-in", name, g.status, s, g.err)
		}
	}
}

// A compressed stream without secrets is stored as it came, part for part, and
// one that broke off too. One behind whose coding nobody can look says so.
func TestCompressedStreamsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("data: {\"delta\":\"words\"}\n\n", 300)
	for _, test := range []struct {
		name, coding string
		cut          bool // it breaks off
		lie          bool // it is not what it says
	}{
		{"gzip", "gzip", false, false},
		{"brotli", "br", false, false},
		{"zstd that breaks off", "zstd", true, false},
		{"gzip that breaks off", "gzip", true, false},
		{"what is no gzip", "gzip", false, true},
		{"an unknown coding", "lz99", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := []byte(body)
			if !test.lie {
				var err error
				if b, err = capture.Coded(test.coding, b); err != nil {
					t.Fatal(err)
				}
			}
			if test.cut {
				b = b[:len(b)*2/3]
			}
			half := len(b) / 2
			up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", test.coding)
				_, _ = w.Write(b[:half])
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
				_, _ = w.Write(b[half:])
				w.(http.Flusher).Flush()
				if test.cut {
					panic(http.ErrAbortHandler)
				}
			})
			rig := newRig(t)
			rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: redacttest.Spelled})
			live := rig.record(up.URL)
			first := send(t, "POST", live.url+"/v1/chat/completions", `{}`)
			run := live.seal()
			o := rig.outcomes(run)[0]
			want := effect.OK
			if test.cut {
				want = effect.Interrupted
			}
			if o.Status != want || len(o.Redacted) > 0 || (o.Data.Get("unscanned").Str() != "") != test.lie {
				t.Errorf("outcome = %s %v %s", o.Status, o.Redacted, o.Data)
			}
			again := send(t, "POST", rig.replay(run).url+"/v1/chat/completions", `{}`)
			if string(first.body) != string(b) || string(again.body) != string(b) || (again.err != nil) != test.cut {
				t.Errorf("%d and then %d bytes, %v, want %d", len(first.body), len(again.body), again.err, len(b))
			}
		})
	}
}
