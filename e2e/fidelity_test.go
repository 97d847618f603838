package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// subject is a client of the matrix.
type subject struct {
	row    Row
	argv   []string
	trials map[string][]string // arguments, by trial
	mcp    bool                // talks to an MCP server and no model
}

// asked are the scenarios that every SDK for a model is put through.
func asked() map[string][]string {
	return map[string][]string{
		"whole":      {"plain"},
		"stream":     {"stream:plain", "stream:slow"},
		"tools":      {"tools", "stream:tools"},
		"4xx":        {"bad", "stream:bad"},
		"retries":    {"busy", "down", "stream:down"},
		"concurrent": {"many:8"},
	}
}

// curlScript plays one scenario with curl, which tries again by itself.
const curlScript = `set -u
ask() {
	curl -sS --fail-with-body --max-time 100 --retry 3 --retry-delay 1 "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' "$@"
	echo "curl: $?"
}
body() { printf '{"model":"e2e-1","stream":%s,"messages":[{"role":"user","content":"%s"}]}' "$1" "$2"; }
for s in "$@"; do
	case $s in
	many:*) for i in 1 2 3 4 5 6 7 8; do ask -d "$(body "$([ $((i % 2)) = 0 ] && echo true || echo false)" "question $i")" >"part.$i" & done; wait; cat part.*; rm part.* ;;
	stream:*) ask -N -d "$(body true "${s#stream:}")" ;;
	*) ask -d "$(body false "$s")" ;;
	esac
done
`

// subjects returns all clients of "make e2e".
func subjects(t *testing.T) []subject {
	t.Helper()
	npm := npmVersions(t)
	mod := goVersions(t)
	chat, mcpScript := filepath.Join(programs.node, "chat.mjs"), filepath.Join(programs.node, "mcp.mjs")
	node := func(name, version, speaks, sdk string) subject {
		return subject{row: Row{Client: name, Version: version, Kind: "npm", Speaks: speaks}, argv: []string{"node", chat, sdk}, trials: asked()}
	}
	golang := func(module, speaks, sdk string) subject {
		return subject{row: Row{Client: strings.TrimPrefix(module, "github.com/"), Version: mod[module], Kind: "Go", Speaks: speaks}, argv: []string{programs.sdk, sdk}, trials: asked()}
	}
	ai := "ai " + npm["ai"] + ", "
	calls := map[string][]string{"tools": nil}
	list := []subject{
		node("openai", npm["openai"], "chat completions", "openai"),
		node("openai, responses", npm["openai"], "responses", "responses"),
		node("@anthropic-ai/sdk", npm["@anthropic-ai/sdk"], "messages", "anthropic"),
		node("@google/genai", npm["@google/genai"], "generateContent", "genai"),
		node("ai with @ai-sdk/openai", ai+npm["@ai-sdk/openai"], "responses", "ai-openai"),
		node("ai with @ai-sdk/anthropic", ai+npm["@ai-sdk/anthropic"], "messages", "ai-anthropic"),
		node("ai with @ai-sdk/google", ai+npm["@ai-sdk/google"], "generateContent", "ai-google"),
		node("@aws-sdk/client-bedrock-runtime", npm["@aws-sdk/client-bedrock-runtime"], bedrockSpeaks, "bedrock"),
		node("@openai/agents", npm["@openai/agents"], "responses", "agents"),
		{row: Row{Client: "@modelcontextprotocol/sdk", Version: npm["@modelcontextprotocol/sdk"], Kind: "npm", Speaks: "MCP over HTTP"}, argv: []string{"node", mcpScript}, trials: calls, mcp: true},
		golang("github.com/openai/openai-go/v3", "chat completions", "openai"),
		golang("github.com/openai/openai-go/v3", "responses", "responses"),
		golang("github.com/anthropics/anthropic-sdk-go", "messages", "anthropic"),
		golang("google.golang.org/genai", "generateContent", "genai"),
		golang("github.com/aws/aws-sdk-go-v2/service/bedrockruntime", bedrockSpeaks, "bedrock"),
		{row: Row{Client: "modelcontextprotocol/go-sdk", Version: mod["github.com/modelcontextprotocol/go-sdk"], Kind: "Go", Speaks: "MCP over HTTP"}, argv: []string{programs.sdk, "mcp"}, trials: calls, mcp: true},
		{row: Row{Client: "curl", Version: "any", Kind: "other", Speaks: "chat completions", Lacks: map[string]string{"tools": "it runs no tools"}}, argv: []string{"sh", "-c", curlScript, "curl"}, trials: without(asked(), "tools")},
		{row: Row{Client: "Python, standard library", Version: "3", Kind: "other", Speaks: "chat completions"}, argv: []string{"python3", filepath.Join(programs.node, "..", "python", "client.py")}, trials: asked()},
	}
	for i := range list {
		switch s := &list[i]; {
		case slices.Contains(s.argv, "responses") && s.row.Kind == "Go":
			s.row.Client += ", responses"
		case s.row.Speaks == bedrockSpeaks:
			s.row.Lacks, s.trials = map[string]string{"tools": "its protocol is tried without tools"}, without(asked(), "tools")
			if s.row.Kind == "Go" {
				s.row.Client = strings.TrimPrefix(s.row.Client, "aws/")
				s.row.With = "its request bodies are wrapped so that they have no WriteTo. As it comes it closes its own connection, with or without a recorder, when a stream begins to come before it has noticed that its request is sent: at worst 49 of 300 streams on a busy machine, and none of 400 when wrapped"
			}
		}
	}
	return list
}

// bedrockSpeaks is what clients of Bedrock use for whole answers and for
// streams.
const bedrockSpeaks = "InvokeModel, ConverseStream"

func without(m map[string][]string, trials ...string) map[string][]string {
	for _, trial := range trials {
		delete(m, trial)
	}
	return m
}

// npmVersions returns the versions that the lock file pins.
func npmVersions(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(programs.node, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for path, p := range lock.Packages {
		out[strings.TrimPrefix(path, "node_modules/")] = p.Version
	}
	return out
}

// goVersions returns the versions that go.mod requires.
func goVersions(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(\S+) v(\S+)`).FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = m[2]
	}
	return out
}

var counted = regexp.MustCompile(`(\d+) calls? · (\d+) answered · (\d+) live · (\d+) missed(?:.* (\d+) normalised)?`)

// measure plays one trial: alone, recorded, and replayed with the upstream
// stopped.
func (s *subject) measure(t *testing.T, trial string) Cell {
	t.Helper()
	argv := append(slices.Clone(s.argv), s.trials[trial]...)
	cell := Cell{Trial: trial, Exact: true}
	fails := func(format string, args ...any) {
		t.Errorf(trial+": "+format, args...)
		cell.Exact = false
	}
	play := func(stop bool, verb ...string) (l *lab, r result, asked int) {
		l = newLab(t)
		for _, v := range []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY"} {
			l.set(v, apiKey)
		}
		flags := []string{}
		up := upstream.Start(t, upstream.Talk)
		if s.mcp {
			address := serveNotes(t, filepath.Join(l.dir, "notes.txt"))
			l.set("NOTES_BASE_URL", address)
			flags = []string{"--upstream", "notes=" + address}
		}
		l.set("OPENAI_BASE_URL", up.URL()+"/v1")
		l.set("ANTHROPIC_BASE_URL", up.URL())
		l.set("GOOGLE_GEMINI_BASE_URL", up.URL())
		l.set("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", up.URL())
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": upstream.AWSKeyID, "AWS_SECRET_ACCESS_KEY": upstream.AWSSecret, "AWS_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "4"} {
			l.set(name, value)
		}
		if verb == nil {
			if strings.HasSuffix(s.argv[len(s.argv)-1], "ai-anthropic") {
				l.set("ANTHROPIC_BASE_URL", up.URL()+"/v1") // it wants the path too
			}
			return l, l.run("", argv...), len(up.Requests())
		}
		r = l.reprise(append(append(append(verb, flags...), "--"), argv...)...)
		if stop {
			up.Stop()
		}
		return l, r, len(up.Requests())
	}
	_, alone, _ := play(false)
	l, recorded, _ := play(true, "record")
	if recorded.status != 0 || recorded.stdout == "" {
		fails("the recording ended with %d\n%s", recorded.status, clip(recorded.stderr))
		return cell
	}
	if recorded.stdout != alone.stdout {
		fails("the recorder changed what the client sees: %s", firstDifference(alone.stdout, recorded.stdout))
	}
	replayed := l.reprise(append([]string{"replay", "last", "--"}, argv...)...)
	if replayed.status != 0 {
		fails("the replay ended with %d\n%s", replayed.status, clip(replayed.stderr))
	}
	if replayed.stdout != recorded.stdout {
		fails("the replay differs: %s", firstDifference(recorded.stdout, replayed.stdout))
	}
	m := counted.FindStringSubmatch(replayed.stderr)
	if m == nil {
		fails("the replay does not say what it answered:\n%s", clip(replayed.stderr))
		return cell
	}
	cell.Calls, cell.Normalised, cell.By = len(l.calls("last~1")), number(m[5]), rulesIn(replayed.stderr)
	if s.mcp { // how many of its ids differ is another number each time, see the page
		cell.Normalised, cell.By = 0, []string{"mcp-meta@1"}
	}
	if trial == "retries" && cell.Calls != 8 {
		fails("%d calls, want 8: the client has not tried again until there was an answer", cell.Calls)
	}
	if m[1] != m[2] || m[3] != "0" || m[4] != "0" {
		fails("%s", m[0])
	}
	t.Logf("%s: %d calls, %d normalised by %q", trial, cell.Calls, cell.Normalised, cell.By)
	return cell
}

var normalisedBy = regexp.MustCompile(`normalised: .* by ((?:[a-z-]+@\d+(?:, )?)+)`)

// rulesIn returns the normalisers that a replay names.
func rulesIn(stderr string) (out []string) {
	for _, m := range normalisedBy.FindAllStringSubmatch(stderr, -1) {
		for name := range strings.SplitSeq(strings.Trim(m[1], ", "), ", ") {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // digits only
	return n
}

// TestFidelity puts every client through every trial and keeps the result in
// docs/fidelity.json, of which docs/fidelity.md is made. It fails if the page
// has other rows than were found, after it has put that right.
func TestFidelity(t *testing.T) {
	t.Parallel()
	list := subjects(t)
	t.Run("clients", func(t *testing.T) {
		for i := range list {
			s := &list[i]
			t.Run(s.row.Client, func(t *testing.T) {
				t.Parallel()
				for _, trial := range Trials() {
					if _, ok := s.trials[trial]; ok {
						s.row.Cells = append(s.row.Cells, s.measure(t, trial))
					}
				}
			})
		}
	})
	var rows []Row
	for i := range list {
		if list[i].row.Cells == nil {
			return // only some were asked for
		}
		rows = append(rows, list[i].row)
	}
	keepRows(t, rows, func(r Row) bool { return r.Kind == "agent" })
}

// keepRows writes rows and the page, and fails if they were others. Of the old
// rows those are kept that another job finds.
func keepRows(t *testing.T, rows []Row, others func(Row) bool) {
	t.Helper()
	data, page := filepath.Join("..", "docs", "fidelity.json"), filepath.Join("..", "docs", "fidelity.md")
	was, err := os.ReadFile(data)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var old []Row
	if was != nil {
		if old, err = ParseRows(was); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	}
	rows = Merge(slices.DeleteFunc(old, func(r Row) bool { return !others(r) }), rows)
	now, err := Encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if bytes.Equal(was, now) && string(text) == Page(rows) {
		return
	}
	if err := os.WriteFile(data, now, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte(Page(rows)), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s was stale; it is made anew, look at it and commit it", page)
}

// TestFidelityPageIsMadeOfItsRows holds the page to the rows without running
// a client.
func TestFidelityPageIsMadeOfItsRows(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "docs", "fidelity.json"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := ParseRows(b)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "fidelity.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Page(rows) {
		t.Error("docs/fidelity.md is not what its rows give; run make e2e")
	}
}

// serveNotes runs the MCP server and returns its address without a path.
func serveNotes(t *testing.T, file string) string {
	t.Helper()
	return strings.TrimSuffix(startNotes(t, exec.CommandContext(t.Context(), programs.mcpserver, "-http", "127.0.0.1:0", "-file", file)), "/mcp")
}
