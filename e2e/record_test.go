package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// client is a real client and how it is started.
type client struct {
	name string
	argv []string
}

// nodeScenarios are all that the official client of npm is put through.
var nodeScenarios = []string{
	"plain", "stream:plain", "responses", "tools", "stream:tools", "bad", "busy", "gzip",
	"stream:reset", "stream:slow", "trailer", "models", "plain", "plain",
}

func clients() []client {
	curl := `set -u
ask() {
	curl -sSi --max-time 100 "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' "$@"
	case $? in
	18|56) echo "curl: broken off" ;; # an early end or a reset
	0) echo "curl: done" ;;
	*) echo "curl: something else" ;;
	esac
}
ask -d '{"model":"e2e-1","messages":[{"role":"user","content":"plain"}]}'
ask -d '{"model":"e2e-1","stream":true,"messages":[{"role":"user","content":"plain"}]}'
ask -N -d '{"model":"e2e-1","stream":true,"messages":[{"role":"user","content":"slow"}]}'
ask --compressed -d '{"model":"e2e-1","messages":[{"role":"user","content":"gzip"}]}'
ask -d '{"model":"e2e-1","messages":[{"role":"user","content":"bad"}]}'
ask -d '{"model":"e2e-1","messages":[{"role":"user","content":"busy"}]}'
ask -d '{"model":"e2e-1","messages":[{"role":"user","content":"busy"}]}'
ask -d '{"model":"e2e-1","stream":true,"messages":[{"role":"user","content":"reset"}]}' 2>/dev/null
ask --http1.0 -d '{"model":"e2e-1","messages":[{"role":"user","content":"plain"}]}'
curl -sSi "$OPENAI_BASE_URL/models?limit=1&after=a%2Fb"; echo "curl: $?"
curl -sSI "$OPENAI_BASE_URL/models"; echo "curl: $?"
`
	odd := `set -u
get() { curl -sSi --max-time 100 -H 'X-Mine: a  b' "$@" >answer; echo "curl: $?"; head -c 600 answer | tr -c '[:print:]\n' '?'; sha256sum answer; }
u=$OPENAI_BASE_URL
for status in 200 201 202 204 301 302 304 307 400 401 404 418 422 429 500 503 529; do get "$u/status/$status"; done
for size in 0 1 262143 262144 262145 3000000; do get "$u/large/$size"; get "$u/long/$size"; done
get "$u/coded"; get --head "$u/empty"; get "$u/empty"
for method in GET PUT PATCH DELETE OPTIONS; do get -X $method "$u/echo?x=%2F&x=1&y=a+b&z"; done
get "$u/echo/%2e%2e/a%20b/%C3%A9//c;d=1" --path-as-is
head -c 2500000 /dev/zero | tr '\0' 'z' >big
get -T big "$u/echo"                                     # Expect: 100-continue
head -c 100000 big | get -T - "$u/echo"                  # in chunks
get -F file=@big -F name=x "$u/status/200"               # another boundary every time
printf 'one two three' | gzip -n | get --data-binary @- -H 'Content-Encoding: gzip' "$u/echo"
printf '\000\377\376' | get --data-binary @- -H 'Content-Type: audio/wav' "$u/echo"
printf '{"a":1,"a":2,"n":1e400,"s":"\\ud800"}' | get --data-binary @- -H 'Content-Type: application/json' "$u/echo"
rm -f big answer
`
	return []client{
		{"curl, odd HTTP", []string{"sh", "-c", odd}},
		{"npm openai", append([]string{"node", filepath.Join(programs.node, "client.mjs")}, nodeScenarios...)},
		{"curl", []string{"sh", "-c", curl}},
		{"openai-go", []string{programs.agent}},
		{"openai-go streaming", []string{programs.agent, "-stream"}},
	}
}

// model returns what the client talks to.
func (c *client) model() upstream.Model {
	switch {
	case strings.HasPrefix(c.name, "openai-go"):
		return upstream.Own
	case c.name == "curl, odd HTTP":
		return upstream.Odd
	default:
		return upstream.Scenarios
	}
}

// TestClientsAreReplayedWithoutTheirUpstream records real clients, stops the
// upstream, and runs them again: same output, same status, nobody asked.
func TestClientsAreReplayedWithoutTheirUpstream(t *testing.T) {
	t.Parallel()
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			alone := upstream.Start(t, c.model())
			l.set("OPENAI_BASE_URL", alone.URL()+"/v1")
			bare := l.run("", c.argv...)

			up := upstream.Start(t, c.model())
			l.set("OPENAI_BASE_URL", up.URL()+"/v1")
			recorded := l.must(0, append([]string{"record", "--"}, c.argv...)...)
			if recorded.stdout != bare.stdout {
				t.Errorf("the recorder changed what the client sees: %s", firstDifference(bare.stdout, recorded.stdout))
			}
			asked := len(up.Requests())
			if want := len(alone.Requests()); asked != want {
				t.Errorf("requests = %d when recorded, want %d", asked, want)
			}
			up.Stop()

			replayed := l.must(0, append([]string{"replay", "last", "--"}, c.argv...)...)
			// A cookie is a credential: a replay gives what was kept of it.
			want := regexp.MustCompile(`(?m)^Set-Cookie: .*?(\r?)$`).ReplaceAllString(recorded.stdout, "Set-Cookie: {redacted:set-cookie}$1")
			if replayed.stdout != want {
				t.Errorf("the replay differs: %s", firstDifference(want, replayed.stdout))
			}
			if got := len(up.Requests()); got != asked {
				t.Errorf("requests during the replay = %d, want 0", got-asked)
			}
		})
	}
}

// firstDifference names the first line in which two outputs differ.
func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return "\n- " + clip(as[i]) + "\n+ " + clip(bs[i])
		}
	}
	return clip("one has more lines:\n" + strings.Join(as[min(len(as), len(bs)):], "\n") + strings.Join(bs[min(len(as), len(bs)):], "\n"))
}

// TestConcurrentClientsAreReplayedInAnyOrder replays what many clients asked
// at once, one after the other and backwards.
func TestConcurrentClientsAreReplayedInAnyOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Trickle)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	then, now, list := filepath.Join(l.dir, "then.log"), filepath.Join(l.dir, "now.log"), filepath.Join(l.dir, "list.txt")
	l.must(0, "record", "--", programs.streamer, "-log", then, "-clients", "12", "-each", "10")
	up.Stop()
	recorded := readLog(t, then)
	var ids []string
	want := map[string]string{}
	for _, a := range slices.Backward(recorded) {
		ids = append(ids, a.id)
		want[a.id] = string(a.data)
		if a.end != "whole" {
			t.Errorf("%s ended with %q", a.id, a.end)
		}
	}
	if len(ids) != 120 {
		t.Fatalf("%d answers were recorded, want 120", len(ids))
	}
	if err := os.WriteFile(list, []byte(strings.Join(ids, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l.must(0, "replay", "last", "--", programs.streamer, "-log", now, "-again", list)
	for _, a := range readLog(t, now) {
		if string(a.data) != want[a.id] || a.end != "whole" {
			t.Errorf("%s: the replay gives %d bytes, %q, want %d", a.id, len(a.data), a.end, len(want[a.id]))
		}
	}
	l.must(0, "verify", "last~1")
	l.must(0, "verify", "last")
}

// variables are those by which the clients of a provider find it, and the
// path that stands in them already.
var variables = map[string]struct{ name, path string }{
	"openai":    {"OPENAI_BASE_URL", "/v1"},
	"anthropic": {"ANTHROPIC_BASE_URL", ""},
	"gemini":    {"GOOGLE_GEMINI_BASE_URL", ""},
	"mistral":   {"MISTRAL_BASE_URL", "/v1"},
}

// TestRealRecordingsAreReplayedByteForByte sends the requests of real
// recordings through the recorder to an upstream that plays them, and again
// to the replay: every answer is the recorded one, whole.
func TestRealRecordingsAreReplayedByteForByte(t *testing.T) {
	t.Parallel()
	tapes, err := upstream.Tapes(realData(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tape := range tapes {
		t.Run(tape.Name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			up := upstream.Start(t, upstream.Play(tape))
			stdin, used := requests(t, tape)
			for provider := range used {
				v := variables[provider]
				l.set(v.name, up.URL()+v.path)
			}
			bare := l.run(stdin, programs.sender)
			if bare.status != 0 || strings.Contains(bare.stdout, "404 ") {
				t.Fatalf("without the recorder: %d\n%s%s", bare.status, bare.stdout, bare.stderr)
			}
			asked := len(up.Requests())
			recorded := l.run(stdin, programs.reprise, "record", "--", programs.sender)
			recorded.want(t, 0, []string{"record"})
			if recorded.stdout != bare.stdout {
				t.Errorf("the recorder changed what the client sees: %s", firstDifference(bare.stdout, recorded.stdout))
			}
			if got := len(up.Requests()) - asked; got != len(tape.Exchanges) {
				t.Errorf("requests = %d, want %d", got, len(tape.Exchanges))
			}
			up.Stop()
			replayed := l.run(stdin, programs.reprise, "replay", "last", "--", programs.sender)
			replayed.want(t, 0, []string{"replay"})
			if replayed.stdout != bare.stdout {
				t.Errorf("the replay differs: %s", firstDifference(bare.stdout, replayed.stdout))
			}
		})
	}
}

// requests returns the input of the sender for a tape, and the providers.
func requests(t *testing.T, tape upstream.Tape) (string, map[string]bool) {
	t.Helper()
	var b strings.Builder
	used := map[string]bool{}
	for i := range tape.Exchanges {
		x := &tape.Exchanges[i]
		provider := x.Provider()
		v, ok := variables[provider]
		if !ok {
			t.Fatalf("%s: no variable for %s", tape.Name, x.URL)
		}
		used[provider] = true
		line, err := json.Marshal(struct {
			Base, Method, Path string
			Header             map[string][]string
			Body               []byte
		}{v.name, x.Method, strings.TrimPrefix(x.URL.RequestURI(), v.path), x.Header, x.Body})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String(), used
}

// lines returns the lines of a file; none if it is not there.
func lines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}
