package trajectories_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const mcpTask = `
task: Add
model: {script: script.yaml}
writ: {ceiling: [read, external]}
tools:
  - mcp: {argv: [%q], env: {TRAJ_TEST: mcp, ODD: %q, SECRET_NAME: x}, env_from: [MY_KEY], effects: {add: read}%s}
redact: {members: [has]}
`

func TestToolsOfAnMCPServer(t *testing.T) {
	t.Parallel()
	g := newRig(t, map[string]string{"MY_KEY": "s3cr3t-value", "OTHER": "not declared"})
	res := g.start(fmt.Sprintf(mcpTask, os.Args[0], "", ""), `
- calls: [{add: {a: 2, b: 40}}, {add: {a: two, b: 1}}, {fail: {}}, {leak: {}}]
- text: "42"
`)
	if !res.Done || res.Commits != 2 {
		t.Fatalf("done %v with %d commits, want 2: a sum and a leak", res.Done, res.Commits)
	}
	commits := g.entries(res.Run, ledger.KindCommit)
	if got := commits[0].Get("data").Get("body").Get("observations").At(0); got.Get("output").String() != "42" || got.Get("tool").Str() != "add" {
		t.Errorf("observation = %s, want the output 42", got)
	}
	if got := g.entries(res.Run, ledger.KindRejection); len(got) != 1 || !strings.Contains(got[0].String(), "type_mismatch") {
		t.Errorf("rejections = %v, want the one of a text where a number belongs: the server's own schema is held", got)
	}
	all := g.contents(res.Run)
	for _, bad := range []string{"s3cr3t-value", "hunter22", "not declared"} {
		if strings.Contains(all, bad) {
			t.Errorf("the ledger holds %q", bad)
		}
	}
	for _, good := range []string{"out of paper", `MY_KEY=***REDACTED***`} {
		if !strings.Contains(all, good) {
			t.Errorf("the ledger lacks %q", good)
		}
	}
}

func TestASchemaThatIsNotHeldRefusesItsTool(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	script := "- calls: [{odd: {x: 1}}]\n- text: ok\n"
	_, err := g.r.Start(t.Context(), g.task(fmt.Sprintf(mcpTask, os.Args[0], "1", ""), script))
	if err == nil || !strings.Contains(err.Error(), "patternProperties") || !strings.Contains(err.Error(), "odd") {
		t.Errorf("Start = %v, want an error that names the tool and the keyword", err)
	}
	if res := g.start(fmt.Sprintf(mcpTask, os.Args[0], "1", ", loose: true"), script); res.Commits != 1 {
		t.Errorf("with loose: true %d commits, want 1", res.Commits)
	}
	if res := g.start(fmt.Sprintf(mcpTask, os.Args[0], "1", ", only: [add]"), script); res.Commits != 0 {
		t.Errorf("with only: [add] %d commits, want 0", res.Commits)
	}
}

func TestHTTPTools(t *testing.T) {
	t.Parallel()
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+fmt.Sprint(r.Header.Get("Idempotency-Key") != ""))
		w.Header().Set("Set-Cookie", "session=abcdefgh")
		fmt.Fprint(w, `{"id":"o/1","token":"tok-1234567","seen":"key-0123456"}`)
	}))
	defer srv.Close()
	g := newRig(t, map[string]string{"SHOP_KEY": "key-0123456"})
	res := g.start(fmt.Sprintf(`
task: Look up an order
model: {script: script.yaml}
writ: {ceiling: [read, external]}
tools:
  - name: order
    effect: read
    args: {type: object, properties: {id: {type: string}, full: {type: boolean}}, required: [id]}
    http: {method: GET, url: %[1]q, key_env: SHOP_KEY}
  - name: cancel
    effect: external
    args: {type: object, properties: {id: {type: string}}, required: [id]}
    http: {url: %[1]q, key_env: SHOP_KEY}
`, srv.URL+"/orders/{id}"), `
- calls: [{order: {id: o/1, full: true}}, {cancel: {id: o/1}}]
- text: ok
`)
	if res.Commits != 2 {
		t.Fatalf("%d commits, want 2", res.Commits)
	}
	want := []string{"GET /orders/o%2F1?full=true Bearer key-0123456 false", "POST /orders/o%2F1 Bearer key-0123456 true"}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("requests = %q, want %q", seen, want)
	}
	all := g.contents(res.Run)
	for _, bad := range []string{"key-0123456", "tok-1234567", "abcdefgh"} {
		if strings.Contains(all, bad) {
			t.Errorf("the ledger holds %q", bad)
		}
	}
}

func TestFileToolsStayInTheirFolder(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	root := filepath.Join(g.dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := g.file("outside.txt", "not for agents")
	if err := os.Symlink(secret, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	res := g.start(`
task: Write
model: {script: script.yaml}
writ: {ceiling: [read, external]}
tools: [{files: {root: root, write: true}}]
`, `
- calls:
    - fs_write: {path: a/b.txt, content: "one\n"}
    - fs_write: {path: a/b.txt, content: "two\n"}
    - fs_read: {path: a/b.txt}
    - fs_list: {}
    - fs_read: {path: ../outside.txt}
    - fs_read: {path: link}
    - fs_write: {path: ../outside.txt, content: x}
    - fs_read: {path: /etc/hostname}
- text: ok
`)
	if res.Commits != 4 {
		t.Errorf("%d commits, want 4", res.Commits)
	}
	if b, err := os.ReadFile(filepath.Join(root, "a", "b.txt")); err != nil || string(b) != "two\n" {
		t.Errorf("a/b.txt = %q, %v", b, err)
	}
	if strings.Contains(g.contents(res.Run), "not for agents") {
		t.Error("a file outside of the folder was read")
	}
	// Taken back, the file holds what it held before.
	first := g.entries(res.Run, ledger.KindCommit)[1].Get("data").Get("id").Str()
	if _, err := g.r.Compensate(t.Context(), res.Run, first, trajectories.Act{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "a", "b.txt")); err != nil || string(b) != "one\n" {
		t.Errorf("a/b.txt after the compensation = %q, %v", b, err)
	}
}

func TestAProgramThatIsNotThereIsAFailureAndNotAQuestion(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	res := g.start(`
task: Call
model: {script: script.yaml}
writ: {ceiling: [external]}
tools: [{name: gone, effect: external, exec: [/does/not/exist]}, {name: loud, effect: external, exec: [/bin/sh, -c, "head -c 5000000 /dev/zero"]}]
`, `
- calls: [{gone: {}}]
- calls: [{loud: {}}]
- text: ok
`)
	if len(res.Pending) != 1 || res.Pending[0].Proposal.Tool != "loud" {
		t.Errorf("pending = %+v, want only the tool that ran and whose answer is lost", res.Pending)
	}
}

func TestAModelThatFailsIsAskedAgain(t *testing.T) {
	t.Parallel()
	g := newRig(t, nil)
	task := "task: x\nmodel: {script: script.yaml}\n"
	res := g.start(task, "- fail: overloaded\n- fail: overloaded\n- text: there you are\n")
	if !res.Done || res.Agents[0].Answer.Str() != "there you are" {
		t.Errorf("result = %+v", res)
	}
	res = g.start(task, strings.Repeat("- fail: overloaded\n", 5)+"- text: too late\n")
	if err := res.Err(); !errors.Is(err, trajectories.ErrAgentFailed) || !strings.Contains(res.Agents[0].Answer.Str(), "5 attempts: overloaded") {
		t.Errorf("result = %v, %s", err, res.Agents[0].Answer)
	}
}
