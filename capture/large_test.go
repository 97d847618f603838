package capture_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/replay"
)

const longEnv = "value-from-the-environment"

// textOfMany draws the inside of a JSON string, in all the ways in which one
// may be written; often a long one, sometimes one that is none.
func textOfMany(t *rapid.T) string {
	pieces := []string{
		"QUJD", `\u00e9`, "\u00fc", `\\`, `\\\"`, `\ud83d\ude00`, "\U0001F600", `\/`, `\n`, "2026-11-21", "/home/user/project",
		longEnv, longEnv[:9], `{\"a\":1}`, " ",
	}
	bad := []string{`\ud83d`, `\x`, "\xff", "\n", `\u12`}
	var b strings.Builder
	for range rapid.IntRange(0, 4).Draw(t, "runs") {
		p := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 40).Draw(t, "bad") == 0 {
			p = rapid.SampledFrom(bad).Draw(t, "piece")
		}
		b.WriteString(strings.Repeat(p, rapid.SampledFrom([]int{1, 3, 900, 3000}).Draw(t, "times")))
	}
	return b.String()
}

func requestOfMany(t *rapid.T) []byte {
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space"))
	b.WriteString(`{"prompt_cache_key":"` + textOfMany(t) + `","model":"m","messages":[`)
	for i := range rapid.IntRange(0, 3).Draw(t, "messages") {
		if i > 0 {
			b.WriteString(" , ")
		}
		fmt.Fprintf(&b, `{"role":"user", "content" : "%s","a":{"%s":[1.50,"%s"],"":null}}`, textOfMany(t), textOfMany(t), textOfMany(t))
	}
	b.WriteString(rapid.SampledFrom([]string{"]}", "]} ", "]", "]}}", `],"model":1}`}).Draw(t, "end"))
	return []byte(b.String())
}

var setting = match.Setting{Dates: []string{"2026-11-21"}, Cwd: "/home/user/project"}

// A request that is not held has the key, the normalisers, the secrets and the
// stored bytes of one that is.
func TestALargeRequestIsTakenLikeAnyOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		body := requestOfMany(t)
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			body = body[:rapid.IntRange(1, len(body)).Draw(t, "cut")]
		case 1:
			body = []byte("--line\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" + string(body) + "\r\n--line--" + rapid.SampledFrom([]string{"\r\n", "", "x"}).Draw(t, "end"))
		}
		coding := rapid.SampledFrom([]string{"", "", "gzip", "zstd", "deflate", "br", "gzip, br", "identity", "compress"}).Draw(t, "coding")
		if coding != "" && coding != "identity" && coding != "compress" && rapid.IntRange(0, 5).Draw(t, "lies") > 0 {
			var err error
			if body, err = capture.Coded(coding, body); err != nil {
				t.Fatal(err)
			}
		}
		list := match.Normalisers()
		if rapid.IntRange(0, 5).Draw(t, "optional") == 0 {
			list = append(list, match.Optional()...)
		}
		red := redactor(redact.Secret{Name: "ENV", Value: longEnv})
		want, err := capture.TakeHeld(list, setting, red, capture.KindModel, coding, body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := capture.TakeLarge(list, setting, red, capture.KindModel, coding, body, 1<<30, dir)
		if err != nil {
			t.Fatal(err)
		}
		got.Left = 0
		if got.Names != nil && coding != "" { // what is coded anew need not be cut alike
			for _, x := range []*capture.Taken{&got, &want} {
				if plain, ok := capture.PlainOf(coding, x.Stored); ok {
					x.Stored = plain
				}
			}
		}
		if len(got.Stored) == 0 && len(want.Stored) == 0 {
			got.Stored, want.Stored = nil, nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("a large request is taken otherwise (-held +large):\n%s", d)
		}
	})
}

// A long text is cut between two characters, so that its parts mean what the
// whole means.
func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{`\u00e9`, "\u00fc", `\\`, `\"`, `\ud83d\ude00`, `\\\ud83d\ude00`, "\U0001F600", "a", "ud83d", `\\ud83d`, `\n`}
		var text strings.Builder
		for _, p := range rapid.SliceOfN(rapid.SampledFrom(pieces), 8, 30).Draw(t, "pieces") {
			text.WriteString(p)
		}
		all := text.String()
		end := rapid.IntRange(min(40, len(all)), len(all)).Draw(t, "end")
		n := capture.WholeCharacters([]byte(all[:end]))
		if n > end || n < end-18 {
			t.Fatalf("%q is cut at %d, want at most 18 bytes before its end", all[:end], n)
		}
		var front, rest, whole string
		for _, x := range []struct {
			in  string
			out *string
		}{{all[:n], &front}, {all[n:], &rest}, {all, &whole}} {
			form, err := canon.Canonicalize([]byte(`"` + x.in + `"`))
			if err != nil {
				t.Fatalf("%q cut at %d: %q: %v", all, n, x.in, err)
			}
			if err := json.Unmarshal(form, x.out); err != nil {
				t.Fatal(err)
			}
		}
		if front+rest != whole {
			t.Fatalf("%q cut at %d = %q and %q, want %q", all, n, front, rest, whole)
		}
	})
}

// What is held of a request is what stands beside its long texts; if that is
// too much it is refused.
func TestHowMuchOfALargeRequestIsHeld(t *testing.T) {
	t.Parallel()
	image := `{"messages":[{"content":"` + strings.Repeat("QUJD", 1<<20) + `"}]}`
	got, err := capture.TakeLarge(match.Normalisers(), setting, redactor(), capture.KindModel, "", []byte(image), 1<<10, t.TempDir())
	if err != nil || got.Left > 100 {
		t.Errorf("of a request of %d bytes %d are held, %v; want what stands beside its long text", len(image), got.Left, err)
	}
	many := `{"messages":[` + strings.Repeat(`"short",`, 1<<18) + `""]}`
	for name, list := range map[string][]match.Normaliser{
		"many short texts":                match.Normalisers(),
		"a normaliser that needs a whole": append(match.Normalisers(), match.Optional()...),
	} {
		if _, err := capture.TakeLarge(list, setting, redactor(), capture.KindModel, "", []byte(many), 1<<20, t.TempDir()); fault.CodeOf(err) != capture.ErrWhole {
			t.Errorf("%s over the limit = %v, want %v", name, err, capture.ErrWhole)
		}
	}
}

// randomText returns text that does not compress well.
func randomText(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n/4*3)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return []byte(base64.StdEncoding.EncodeToString(b))
}

// Large requests of every kind reach the upstream as they were sent, are
// stored without their secrets, and are found again.
func TestLargeRequestsAreRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	const key = "key-0123456789-of-the-caller"
	words := strings.Repeat("many words and "+longEnv+" and ", 40_000)
	bodies := map[string][2]string{ // body and coding
		"an image":         {`{"model":"m","messages":[{"image":"` + strings.Repeat("QUJD", 1<<19) + `"},{"text":"` + longEnv + `"}]}`, ""},
		"a long prompt":    {`{"model":"m","prompt":"` + words + key + `"}`, ""},
		"no JSON":          {words, ""},
		"an upload":        {"--b\r\nContent-Type: text/plain\r\n\r\n" + words + "\r\n--b--\r\n", ""},
		"zstd":             {`{"model":"m","prompt":"` + string(randomText(t, 2<<20)) + longEnv + `"}`, "zstd"},
		"brotli":           {`{"model":"m","prompt":"` + string(randomText(t, 2<<20)) + `"}`, "br"},
		"a message of MCP": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"text":"` + words + `"}}}`, ""},
	}
	var mu sync.Mutex
	sentOn := map[string]string{}
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		sentOn[r.URL.Query().Get("n")] = string(b)
		fmt.Fprintf(w, `{"n":%q}`, r.URL.Query().Get("n"))
	})
	rig := newRig(t)
	rig.opts.Redactor = redactor(redact.Secret{Name: "ENV", Value: longEnv})
	live := rig.record(up.URL)
	sent := map[string]string{}
	ask := func(p *taping, name string) got {
		return send(t, "POST", p.url+"/v1/x?n="+strings.ReplaceAll(name, " ", "+"), sent[name], "Authorization", "Bearer "+key, "Content-Encoding", bodies[name][1])
	}
	for name, b := range bodies {
		sent[name] = b[0]
		if b[1] != "" {
			c, err := capture.Coded(b[1], []byte(b[0]))
			if err != nil {
				t.Fatal(err)
			}
			sent[name] = string(c)
		}
		if len(sent[name]) <= 1<<20 {
			t.Fatalf("%s has %d bytes, which is not large", name, len(sent[name]))
		}
		if g := ask(live, name); g.status != 200 || sentOn[name] != sent[name] {
			t.Errorf("%s: %d %s, %v; the upstream got %d bytes, want the %d that were sent", name, g.status, g.body, g.err, len(sentOn[name]), len(sent[name]))
		}
	}
	run := live.seal()
	if list, _ := os.ReadDir(rig.spool); len(list) > 0 {
		t.Errorf("the spool holds %v afterwards", list)
	}
	names := map[string]int{}
	for _, e := range rig.entries(run) {
		names[e.Body.Get("name").Str()]++
		for _, a := range e.Att {
			b := rig.content(run, &e, a.Name)
			if coding := e.Body.Get("data").Get("coding").Str(); coding != "" {
				b, _ = capture.PlainOf(coding, b)
			}
			if bytes.Contains(b, []byte(longEnv)) || bytes.Contains(b, []byte(key)) {
				t.Errorf("entry %d, %s holds a secret", e.N, a.Name)
			}
		}
	}
	if names["tools/call write"] != 1 {
		t.Errorf("the calls are %v, want one of the tool", names)
	}
	again := rig.replay(run)
	for name := range bodies {
		if g := ask(again, name); g.status != 200 || string(g.body) != fmt.Sprintf(`{"n":%q}`, name) {
			t.Errorf("%s again: %d %s, %v", name, g.status, g.body, g.err)
		}
	}
	again.seal()
	normalised := func(c replay.Count) bool { return c.Name == "normalised" && c.N > 0 }
	if r, err := again.p.ReplayReport(t.Context(), rig.store); err != nil || r.Total != 0 || slices.ContainsFunc(r.Counts, normalised) {
		t.Errorf("the replay = %v, %v %v; want every call as recorded", r.Divergences, r.Counts, err)
	}

	other := rig.replay(run)
	sent["an image"] = strings.Replace(sent["an image"], "QUJDQUJD", "QUJDQUJE", 1)
	g := ask(other, "an image")
	if g.status != http.StatusBadRequest || !strings.Contains(string(g.body), "/messages/0/image") || len(g.body) > 4096 {
		t.Errorf("another image = %d %.300s, want a miss that says where", g.status, g.body)
	}
	other.seal()
	r, err := other.p.ReplayReport(t.Context(), rig.store)
	if err != nil || len(r.Divergences) == 0 || len(r.Divergences[0].Where) != 1 || r.Divergences[0].Where[0].Pointer != "/messages/0/image" {
		t.Errorf("the report = %+v, %v; want the one place that differs", r.Divergences, err)
	}
}

// A request of which too much must be held is refused, and not sent.
func TestARequestThatCannotBeMatchedIsNotSent(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	rig := newRig(t)
	rig.opts.MaxWhole = 1 << 20
	live := rig.record(up.URL)
	g := send(t, "POST", live.url+"/v1/messages", `{"messages":[`+strings.Repeat(`"short",`, 1<<18)+`""]}`)
	if g.status != http.StatusRequestEntityTooLarge || !strings.Contains(string(g.body), string(capture.ErrWhole)) {
		t.Errorf("%d %s, want 413 %s", g.status, g.body, capture.ErrWhole)
	}
}
