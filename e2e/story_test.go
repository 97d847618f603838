package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/e2e/upstream"
)

// call is a line of the timeline.
type call struct {
	Entry int    `json:"entry"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// calls returns the timeline of a run.
func (l *lab) calls(run string) []call {
	l.t.Helper()
	var doc struct{ Calls []call }
	decode(l.t, l.must(0, "show", run, "--json").stdout, &doc)
	return doc.Calls
}

// TestBranchGoesOnLiveFromTheMiddle replays a run up to its second model call
// and goes on live: only what comes behind is asked and done again. A server
// over HTTP that keeps sessions knows nothing of the recorded one, so there is
// no going on with it.
func TestBranchGoesOnLiveFromTheMiddle(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *notebook{
		"over stdio": overStdio, "over HTTP without sessions": overStatelessHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			recorded := n.must(0, n.with([]string{"record"})...)
			asked := len(n.up.Requests())
			var models, tools []call
			for _, c := range n.calls("last") {
				switch {
				case c.Kind == "model":
					models = append(models, c)
				case strings.Contains(c.Name, "note"):
					tools = append(tools, c)
				}
			}
			if len(models) != 4 || len(tools) != 2 {
				t.Fatalf("the timeline has %d model calls and %d tool calls, want 4 and 2: %+v", len(models), len(tools), n.calls("last"))
			}
			// Up to the entry before the third model call, the second note is ahead.
			at := fmt.Sprintf("last@%d", models[2].Entry-1)
			branched := n.must(0, n.with([]string{"branch", at})...)
			if got := len(n.up.Requests()) - asked; got != 2 {
				t.Errorf("requests behind the branch = %d, want 2", got)
			}
			n.taken(3, "branched") // two recorded, one more of the branch
			// The server counts the notes that are there, and there is one more now.
			want := strings.Replace(recorded.stdout, `the sum is 5"}): {"lines":2}`, `the sum is 5"}): {"lines":3}`, 1)
			if branched.stdout != want {
				t.Errorf("the branch says: %s", firstDifference(want, branched.stdout))
			}
			n.must(0, "verify", "last")
			d := n.must(1, "diff", "last~1", "last", "--json")
			var r report
			decode(t, d.stdout, &r)
			if len(r.Divergences) == 0 {
				t.Errorf("diff finds nothing, want the result of the second note: %s", clip(d.stdout))
			}
			// A branch is a run like any other.
			asked = len(n.up.Requests())
			n.up.Stop()
			again := n.must(0, n.with([]string{"replay", "last"})...)
			n.taken(3, "the branch replayed")
			if again.stdout != branched.stdout {
				t.Errorf("the replay of the branch differs: %s", firstDifference(branched.stdout, again.stdout))
			}
		})
	}
}

// TestDiffNamesWhatTheTwoRunsDifferIn compares runs of the same and of
// another agent.
func TestDiffNamesWhatTheTwoRunsDifferIn(t *testing.T) {
	t.Parallel()
	n := overStdio(t)
	n.must(0, n.with([]string{"record"})...)
	if err := os.Remove(n.notes); err != nil {
		t.Fatal(err)
	}
	n.must(0, n.with([]string{"record"})...)
	n.must(0, "diff", "last~1", "last")
	n.must(0, n.with([]string{"record"}, "-prompt", "something else")...)
	r := n.must(1, "diff", "last~1", "last")
	if !strings.Contains(r.stdout, "/messages/1/content") || !strings.Contains(r.stdout, "something else") {
		t.Errorf("diff does not name /messages/1/content and what stands there now:\n%s", clip(r.stdout))
	}
}

// TestBundleIsVerifiedAndReplayedElsewhere hands a run over as one file, to
// someone who has another store, other keys and no upstream.
func TestBundleIsVerifiedAndReplayedElsewhere(t *testing.T) {
	t.Parallel()
	for name, start := range notebooks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t)
			recorded := n.must(0, n.with([]string{"record"})...)
			n.must(0, "verify", "last", "--level", "1")
			n.must(0, "export", "last", "-o", "run.reprise")
			n.must(0, "keys", "export", "-o", "key.pub")
			n.up.Stop()

			other := newLab(t)
			other.set("OPENAI_BASE_URL", n.up.URL()+"/v1")
			file, key := filepath.Join(n.dir, "run.reprise"), filepath.Join(n.dir, "key.pub")
			v := other.must(0, "verify", file, "--trust", key)
			if !strings.Contains(v.stdout, "level 1") && !strings.Contains(v.stdout, "signed") {
				t.Errorf("verify does not name the level:\n%s", clip(v.stdout))
			}
			other.must(0, "import", file)
			// The folder of a run is another one there, also in the agent's command.
			argv := strings.Split(strings.ReplaceAll(strings.Join(n.argv, "\x00"), n.dir, other.dir), "\x00")
			replayed := other.reprise(append([]string{"replay", "last", "--"}, argv...)...)
			replayed.want(t, 0, []string{"replay", "in another store"})
			n.taken(2, "replayed elsewhere")
			if got := lines(t, filepath.Join(other.dir, "notes.txt")); got != nil {
				t.Errorf("the replay took notes of its own: %q", got)
			}
			if replayed.stdout != recorded.stdout {
				t.Errorf("the replay differs: %s", firstDifference(recorded.stdout, replayed.stdout))
			}
			other.must(0, "import", file) // once more changes nothing

			// Somebody else's key does not vouch for it.
			other.must(0, "keys", "export", "-o", "own.pub")
			if r := other.reprise("verify", file, "--trust", "own.pub"); r.status == 0 {
				t.Errorf("verify with a key that signed nothing = 0\n%s", clip(r.stdout))
			}
			// One flipped bit anywhere is found.
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{len(b) / 7, len(b) / 3, len(b) / 2, len(b) * 6 / 7, len(b) - 1} {
				b[at] ^= 0x10
				bad := filepath.Join(other.dir, "bad.reprise")
				if err := os.WriteFile(bad, b, 0o644); err != nil {
					t.Fatal(err)
				}
				if r := other.reprise("verify", bad, "--trust", key); r.status != 2 && r.status != 3 {
					t.Errorf("verify with bit 4 of byte %d flipped = %d\n%s", at, r.status, clip(r.stdout))
				}
				if r := other.reprise("import", bad); r.status == 0 {
					t.Errorf("import with bit 4 of byte %d flipped = 0", at)
				}
				b[at] ^= 0x10
			}
		})
	}
}

// TestRecordEndsAsTheAgentEnds holds the exit statuses.
func TestRecordEndsAsTheAgentEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Own)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	plain := filepath.Join(l.dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		want int
		args []string
	}{
		{"the agent's own status", 7, []string{"record", "--", programs.agent, "-exit", "7"}},
		{"a signal", 128 + 15, []string{"record", "--", "sh", "-c", programs.agent + " && kill -TERM $$"}},
		{"not a program", 126, []string{"record", "--", plain}},
		{"a folder", 126, []string{"record", "--", l.dir}},
		{"not found", 127, []string{"record", "--", "no-such-agent-anywhere"}},
		{"not found by path", 127, []string{"record", "--", "./no-such-agent"}},
		{"the store cannot be made", 125, []string{"record", "--store", "sqlite:file/x/reprise.db", "--", programs.agent}},
		{"a bad upstream", 125, []string{"record", "--upstream", "openai=ftp://x", "--", programs.agent}},
		{"no command", 2, []string{"record"}},
		{"an agent that passes the recorder by", 125, []string{"record", "--", "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(up.Requests())
			r := l.reprise(c.args...)
			r.want(t, c.want, c.args)
			if c.want == 125 && !strings.Contains(r.stderr, "reprise: ") {
				t.Errorf("the recorder does not say why it failed: %q", r.stderr)
			}
			if ran := len(up.Requests()) > before; ran != (c.want == 7 || c.want == 143) {
				t.Errorf("the agent ran: %v", ran)
			}
		})
	}
}

// TestReplayComparesTheExitStatus replays agents that end otherwise.
func TestReplayComparesTheExitStatus(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Own)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	l.must(7, "record", "--", programs.agent, "-exit", "7")
	up.Stop()
	l.must(0, "replay", "last", "--", programs.agent, "-exit", "7")
	r := l.must(1, "replay", "last", "--json", "--", programs.agent, "-exit", "8")
	var doc report
	decode(t, r.stdout, &doc)
	if doc.Verdict != "diverged" || len(doc.Divergences) != 1 {
		t.Errorf("the report is %+v, want the status as its one divergence", doc)
	}
	l.must(127, "record", "--", "no-such-agent")
}

// TestUpstreamThatIsNotThereIsRecordedToo records an agent whose provider
// cannot be reached, and replays how it failed.
func TestUpstreamThatIsNotThereIsRecordedToo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.set("OPENAI_BASE_URL", "http://127.0.0.1:1/v1") // a port that was open before may be another test's by now
	argv := []string{"sh", "-c", `curl -s -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/json' -d '{"model":"m","messages":[]}' "$OPENAI_BASE_URL/chat/completions"`}
	recorded := l.must(0, append([]string{"record", "--"}, argv...)...)
	if recorded.stdout != "502\n" {
		t.Errorf("the agent saw %q, want 502", recorded.stdout)
	}
	replayed := l.must(0, append([]string{"replay", "last", "--"}, argv...)...)
	if replayed.stdout != recorded.stdout {
		t.Errorf("the replay gives %q, want %q", replayed.stdout, recorded.stdout)
	}
}

// TestRealCassettesAreImportedAndReplayed imports real recordings and sends
// their requests to the replay: each answer comes back byte for byte, or the
// file is refused or marked as evidence, with a reason.
func TestRealCassettesAreImportedAndReplayed(t *testing.T) {
	t.Parallel()
	data := realData(t)
	tapes, err := upstream.Tapes(data)
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
				l.set(variables[provider].name, up.URL()+variables[provider].path)
			}
			bare := l.run(stdin, programs.sender)
			up.Stop()
			l.must(0, "import", filepath.Join(data, tape.Name))
			l.must(0, "verify", "last")
			replayed := l.run(stdin, programs.reprise, "replay", "last", "--", programs.sender)
			if replayed.status != 0 {
				t.Fatalf("replay = %d\n%s", replayed.status, clip(replayed.stderr))
			}
			if got, want := bodies(replayed.stdout), bodies(bare.stdout); got != want {
				t.Errorf("the replay differs: %s", firstDifference(want, got))
			}
		})
	}
}

// bodies leaves the status, the length and the digest of each answer that the
// sender printed: a cassette has not all headers.
func bodies(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 4 {
			b.WriteString(line)
			continue
		}
		fmt.Fprintln(&b, words[0], words[len(words)-3], words[len(words)-2])
	}
	return b.String()
}

// TestTwoStoresInOneFolderLeaveEachOtherAlone lists the runs of one store
// while the other records.
func TestTwoStoresInOneFolderLeaveEachOtherAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	up := upstream.Start(t, upstream.Trickle)
	l.set("OPENAI_BASE_URL", up.URL()+"/v1")
	argv := []string{"--", programs.streamer, "-clients", "2", "-each", "5", "-log"}
	l.must(0, append([]string{"record", "--store", "sqlite:a.db"}, append(argv, "a.log")...)...)
	list := fmt.Sprintf("%s -clients 1 -each 1 -log b.log && %s runs --store sqlite:a.db >list && %s -clients 2 -each 5 -log b.log", programs.streamer, programs.reprise, programs.streamer)
	l.must(0, "record", "--store", "sqlite:b.db", "--", "sh", "-c", list)
	l.must(0, "verify", "last", "--store", "sqlite:b.db")
	for _, a := range readLog(t, filepath.Join(l.dir, "b.log")) {
		if !strings.HasSuffix(a.end, "whole") {
			t.Errorf("%s ended with %q", a.id, a.end)
		}
	}
}
