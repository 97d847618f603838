package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// programs are built once for all tests.
var programs struct {
	dir                                                    string
	reprise, agent, mcpserver, sdk, sender, streamer, node string
}

func TestMain(m *testing.M) {
	status, err := main(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		status = 1
	}
	os.Exit(status)
}

func main(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "reprise-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	p := &programs
	p.dir = dir
	for _, b := range []struct {
		at       *string
		from, of string
	}{
		{&p.reprise, "..", "./cmd/reprise"},
		{&p.agent, ".", "./agent"},
		{&p.mcpserver, ".", "./mcpserver"},
		{&p.sdk, ".", "./sdk"},
		{&p.sender, ".", "./sender"},
		{&p.streamer, ".", "./streamer"},
	} {
		*b.at = filepath.Join(dir, filepath.Base(b.of))
		if err := setUp("go", "-C", b.from, "build", "-o", *b.at, b.of); err != nil {
			return 1, err
		}
	}
	p.node, err = filepath.Abs("node")
	if err != nil {
		return 1, err
	}
	if stale(p.node) {
		if err := setUp("npm", "ci", "--prefix", p.node, "--no-fund", "--no-audit", "--ignore-scripts"); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// stale reports whether the packages of npm are not those of the lock file.
func stale(dir string) bool {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return true
	}
	installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err != nil || installed.ModTime().Before(lock.ModTime())
}

func setUp(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// apiKey is the credential of all clients. It must never be on disk.
const apiKey = "sk-e2e-Zk3vQm81TtLw0pXb9RcYh27nDfGs5aJu"

// lab is a working folder with a store and a user of its own.
type lab struct {
	t   *testing.T
	dir string
	env []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	work := filepath.Join(dir, "work")
	for _, d := range []string{home, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &lab{t: t, dir: work, env: []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"TMPDIR=" + os.TempDir(),
		"OPENAI_API_KEY=" + apiKey,
	}}
}

// set changes a variable for all that runs after.
func (l *lab) set(name, value string) { l.env = append(l.env, name+"="+value) }

// result is how a command ended.
type result struct {
	stdout, stderr string
	status         int
}

// limit ends a command that hangs, long before the test binary's own.
const limit = 2 * time.Minute

// run runs a command in the folder of the lab.
func (l *lab) run(stdin string, argv ...string) result {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = l.dir, l.env
	cmd.WaitDelay = 5 * time.Second
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		l.t.Fatalf("%s: %v, %v\n%s", strings.Join(argv, " "), err, ctx.Err(), stderr.String())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// reprise runs the built binary.
func (l *lab) reprise(args ...string) result {
	l.t.Helper()
	return l.run("", append([]string{programs.reprise}, args...)...)
}

// must fails the test unless the command ended with that status.
func (l *lab) must(status int, args ...string) result {
	l.t.Helper()
	r := l.reprise(args...)
	r.want(l.t, status, args)
	return r
}

func (r result) want(t *testing.T, status int, args []string) {
	t.Helper()
	if r.status != status {
		t.Fatalf("reprise %s = %d, want %d\nstdout: %s\nstderr: %s", strings.Join(args, " "), r.status, status, clip(r.stdout), clip(r.stderr))
	}
}

// clip shortens what a failure prints.
func clip(s string) string {
	if len(s) > 4000 {
		return s[:2000] + "\n…\n" + s[len(s)-2000:]
	}
	return s
}

// realData returns the folder of real recordings, or skips.
func realData(t *testing.T) string {
	t.Helper()
	data := os.Getenv("REPRISE_DATA")
	if data == "" {
		t.Skip("REPRISE_DATA is not set: no real recordings")
	}
	if _, err := os.Stat(data); err != nil {
		t.Skipf("no real recordings: %v", err)
	}
	return data
}

// decode reads what --json printed.
func decode(t *testing.T, doc string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		t.Fatalf("no JSON document: %v\n%s", err, clip(doc))
	}
}
