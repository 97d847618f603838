package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// notebook is an agent that takes notes with the tool of an MCP server, and
// the file in which they end.
type notebook struct {
	*lab
	up    *upstream.Server
	notes string
	argv  []string
	flags []string // of record and branch
}

// overStdio is a notebook whose server is a child of the agent, with the
// recorder's shim between them.
func overStdio(t *testing.T) *notebook {
	t.Helper()
	n := newNotebook(t)
	server := fmt.Sprintf("%s mcp-shim -- %s -file %s", programs.reprise, programs.mcpserver, n.notes)
	n.argv = []string{programs.agent, "-stream", "-server", server}
	return n
}

// overHTTP is a notebook whose server runs somewhere and is reached through
// the recorder's proxy.
func overHTTP(t *testing.T) *notebook { return served(t) }

// overStatelessHTTP is one whose server keeps no sessions.
func overStatelessHTTP(t *testing.T) *notebook { return served(t, "-stateless") }

func served(t *testing.T, more ...string) *notebook {
	t.Helper()
	n := newNotebook(t)
	argv := append([]string{"-http", "127.0.0.1:0", "-file", n.notes}, more...)
	server := exec.CommandContext(t.Context(), programs.mcpserver, argv...)
	address := startNotes(t, server)
	n.flags = []string{"--upstream", "notes=" + strings.TrimSuffix(address, "/mcp")}
	n.argv = []string{"sh", "-c", programs.agent + ` "$@" -endpoint "$NOTES_BASE_URL/mcp"`, "agent", "-stream"}
	return n
}

// startNotes starts the MCP server and returns its address.
func startNotes(t *testing.T, server *exec.Cmd) string {
	t.Helper()
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func newNotebook(t *testing.T) *notebook {
	t.Helper()
	l := newLab(t)
	up := upstream.Start(t, upstream.Notes)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	return &notebook{lab: l, up: up, notes: filepath.Join(l.dir, "notes.txt")}
}

// with returns a command line of reprise around the agent.
func (n *notebook) with(verb []string, more ...string) []string {
	args := append([]string{}, verb...)
	if verb[0] != "replay" { // a replay reaches no upstream
		args = append(args, n.flags...)
	}
	return append(append(append(args, "--"), n.argv...), more...)
}

// taken fails the test unless the side effect has happened so often.
func (n *notebook) taken(want int, when string) {
	n.t.Helper()
	if got := lines(n.t, n.notes); len(got) != want {
		n.t.Errorf("%s: the file has %d notes, want %d: %q", when, len(got), want, got)
	}
}

func notebooks() map[string]func(*testing.T) *notebook {
	return map[string]func(*testing.T) *notebook{"over stdio": overStdio, "over HTTP": overHTTP, "over HTTP without sessions": overStatelessHTTP}
}

var answered = regexp.MustCompile(`(\d+) tools? answered · (\d+) tools? ran in agent`)

// TestAgentWithToolsIsReplayedWithoutItsSideEffects replays an agent that
// changed the world: it says the same, and the world stays as it is.
func TestAgentWithToolsIsReplayedWithoutItsSideEffects(t *testing.T) {
	t.Parallel()
	for name, start := range notebooks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			recorded := n.must(0, n.with([]string{"record"})...)
			n.taken(2, "recorded")
			asked := len(n.up.Requests())
			if asked != 4 {
				t.Errorf("requests = %d, want 4", asked)
			}
			n.up.Stop()
			replayed := n.must(0, n.with([]string{"replay", "last"})...)
			n.taken(2, "replayed")
			if replayed.stdout != recorded.stdout {
				t.Errorf("the replay differs: %s", firstDifference(recorded.stdout, replayed.stdout))
			}
			m := answered.FindStringSubmatch(replayed.stdout + replayed.stderr)
			if m == nil || m[1] != "2" || m[2] != "1" {
				t.Errorf("the replay says %q, want that 2 tools were answered and 1 ran in the agent itself:\n%s", m, clip(replayed.stderr))
			}
			if got := len(n.up.Requests()); got != asked {
				t.Errorf("requests during the replay = %d, want 0", got-asked)
			}
		})
	}
}

// TestChangedAgentDivergesAtAPlaceThatIsNamed replays another agent than the
// recorded one.
func TestChangedAgentDivergesAtAPlaceThatIsNamed(t *testing.T) {
	t.Parallel()
	for name, start := range notebooks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			n.must(0, n.with([]string{"record"})...)
			asked := len(n.up.Requests())
			r := n.must(1, n.with([]string{"replay", "last"}, "-prompt", "take two notes and add 20 and 3")...)
			n.taken(2, "after the changed agent")
			if !strings.Contains(r.stdout+r.stderr, "/messages/1/content") {
				t.Errorf("the report does not name /messages/1/content:\n%s", clip(r.stderr))
			}
			if got := len(n.up.Requests()); got != asked {
				t.Errorf("requests during the replay = %d, want 0", got-asked)
			}
			var report report
			j := n.must(1, n.with([]string{"replay", "last~1", "--json"}, "-prompt", "take two notes and add 20 and 3")...)
			decode(t, j.stdout, &report)
			if got := report.first(); !strings.HasSuffix(got, "/messages/1/content") {
				t.Errorf("the first divergence is at %q, want /messages/1/content:\n%s", got, clip(j.stdout))
			}
		})
	}
}

// report is the part of a report that tests look at.
type report struct {
	Verdict     string
	Divergences []struct {
		Kind        string
		Differences []struct{ Pointer string }
	}
}

// first returns the pointer of the first difference, or nothing.
func (r *report) first() string {
	if len(r.Divergences) == 0 || len(r.Divergences[0].Differences) == 0 {
		return ""
	}
	return r.Divergences[0].Differences[0].Pointer
}
