package capture_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

func execShimMain() int {
	cwd, _ := os.Getwd()
	status, err := capture.ExecShim(context.Background(), capture.ExecOptions{
		Recorder: os.Getenv(capture.RecorderVar), Program: os.Args[2], Args: os.Args[4:], Dir: cwd, Env: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return status
}

// proxiedMain asks a provider that no variable points to, and a host that is
// none: what a client does that reads only the variables of proxies.
func proxiedMain() int {
	proxy, _ := url.Parse(os.Getenv("HTTPS_PROXY"))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(os.Getenv("H2") != "")
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), Protocols: protocols}}
	for to := range strings.FieldsSeq(os.Getenv("ASK")) {
		resp, err := c.Post(to, "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.StatusCode, string(b), err)
	}
	if at := os.Getenv("DIAL"); at != "" {
		conn, err := net.DialTimeout("tcp", at, time.Minute)
		if err == nil {
			_ = conn.Close()
		}
		fmt.Println("dialled:", err == nil)
	}
	return 0
}

// surrounded is an agent in surroundings; each option changes them.
func (r *rig) surrounded(env []string, command ...string) (capture.RunOptions, *bytes.Buffer) {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	if len(command) == 0 {
		command = []string{self}
		env = append(env, "CAPTURE_TEST_ROLE=proxied")
	}
	dir := r.t.TempDir()
	var out bytes.Buffer
	return capture.RunOptions{
		Command: command, Env: append(env, "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME")), Dir: dir, Stdout: &out, Stderr: &out, Config: r.config(),
		Setting: match.Setting{Cwd: dir}, ShimCommand: []string{self, "exec-shim"}, CellCommand: []string{self, "cell"},
	}, &out
}

func (r *rig) mustRecord(o capture.RunOptions) *capture.Result {
	r.t.Helper()
	res, err := capture.Record(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.verify(res.Run)
	return res
}

func (r *rig) mustReplay(o capture.RunOptions, ro capture.ReplayOptions) *capture.Result {
	r.t.Helper()
	res, err := capture.Replay(r.t.Context(), o, ro)
	if err != nil {
		r.t.Fatal(err)
	}
	r.verify(res.Run)
	return res
}

// secureUpstream is a server with a certificate that only the returned
// transport trusts.
func secureUpstream(t *testing.T, h http.HandlerFunc) (*httptest.Server, *http.Transport) {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	tr, ok := srv.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	tr = tr.Clone()
	tr.DisableCompression, tr.ForceAttemptHTTP2, tr.TLSNextProto = true, false, map[string]func(string, *tls.Conn) http.RoundTripper{}
	return srv, tr
}

// A client that reads no base URL is recorded through the forward proxy, with
// HTTP/1.1 and HTTP/2, and answered from the record when the provider is gone.
// A host that is no provider is passed on with its own certificate.
func TestForwardProxy(t *testing.T) {
	t.Parallel()
	for _, h2 := range []string{"", "1"} {
		up, tr := secureUpstream(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
		})
		other, _ := secureUpstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "other") })
		rig := newRig(t)
		o, out := rig.surrounded([]string{"H2=" + h2, "ASK=https://api.openai.com/v1/chat/completions https://generativelanguage.googleapis.com:444/ " + other.URL})
		o.Proxy, o.Transport, o.Upstreams = true, tr, []string{"openai=" + up.URL + "/v1"}
		res := rig.mustRecord(o)
		said := out.String()
		if !strings.Contains(said, `200 {"path":"/v1/chat/completions"}`) || res.Counts.Calls != 2 {
			t.Fatalf("record: %d calls, output %s", res.Counts.Calls, said)
		}
		// The agent does not trust the other host's certificate: it saw that one and not ours.
		if !strings.Contains(said, "certificate signed by unknown authority") || len(res.Tunnelled) != 1 || res.Tunnelled[0].Host != strings.TrimPrefix(other.URL, "https://") {
			t.Errorf("tunnelled %v, output %s", res.Tunnelled, said)
		}
		call := rig.entries(res.Run)[1]
		if got, want := call.Body.Get("data").Get("proto").Str() == "HTTP/2.0", h2 != ""; got != want {
			t.Errorf("with H2=%q: HTTP/2 = %v, want %v", h2, got, want)
		}
		up.Close()
		out.Reset()
		again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run})
		if out.String() != said || again.Report.Verdict != replay.Same {
			t.Errorf("replay says %s, want %s: %s", out.String(), said, again.Report.Value())
		}
	}
}

// Who does not know the secret of the child gets nothing, and the key of the
// run's authority is in no file.
func TestForwardProxyIsForTheChild(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	said := filepath.Join(t.TempDir(), "said")
	o, _ := rig.surrounded([]string{"SAID=" + said}, "sh", "-c", `(grep -rl "PRIVATE KEY" "$(dirname "$SSL_CERT_FILE")"; echo "$SSL_CERT_FILE"; echo "$HTTPS_PROXY") >"$SAID"; echo ready; read x`)
	o.Proxy = true
	in, feed := io.Pipe()
	o.Stdin = in
	stdout := &notify{ch: make(chan struct{}, 1)}
	o.Stdout = stdout
	done := make(chan *capture.Result)
	go func() { done <- rig.mustRecord(o) }()
	<-stdout.ch
	b, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(b))
	u, err := url.Parse(lines[1])
	if err != nil || len(lines) != 2 {
		t.Fatalf("the child says %q", lines)
	}
	u.User = nil
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u)}}
	if _, err := c.Get("https://api.openai.com/"); err == nil || //nolint:bodyclose // there is none
		!strings.Contains(err.Error(), "Proxy Authentication Required") {
		t.Errorf("without the secret: %v", err)
	}
	_ = feed.Close()
	<-done
	if _, err := os.Stat(lines[0]); !os.IsNotExist(err) {
		t.Errorf("the certificates of the run are still there: %v", err)
	}
}

// A hermetic replay refuses what the record does not answer. Where the system
// gives the child a network of its own nothing can be dialled past it, and the
// report says what was blocked; where not, it says that this was not.
func TestHermeticReplay(t *testing.T) {
	t.Parallel()
	up, tr := secureUpstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	other := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "other") })
	at := strings.TrimPrefix(other.URL, "http://")
	rig := newRig(t)
	o, out := rig.surrounded([]string{"ASK=https://api.openai.com/v1/chat/completions " + other.URL, "DIAL=" + at})
	o.Proxy, o.Transport, o.Upstreams = true, tr, []string{"openai=" + up.URL + "/v1"}
	res := rig.mustRecord(o)
	if !strings.Contains(out.String(), "200 other") || !strings.Contains(out.String(), "dialled: true") {
		t.Fatalf("record: %s", out)
	}
	out.Reset()
	again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
	if !strings.Contains(out.String(), "200 {}") || !strings.Contains(out.String(), "403 ") {
		t.Errorf("hermetic: %s", out)
	}
	d := again.Report.Detail
	if d.Get("level").Str() != "hermetic" || d.Get("refused").At(0).Get("host").Str() != at {
		t.Errorf("detail = %s", d)
	}
	_, require := capture.Replay(t.Context(), o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateRequire})
	switch celled := strings.Contains(d.Get("blocked").String(), "network of its own"); {
	case celled && (require != nil || !strings.Contains(out.String(), "dialled: false")):
		t.Errorf("in a cell: %v, %s", require, out)
	case !celled && (fault.CodeOf(require) != capture.ErrCell || !strings.Contains(d.Get("not_blocked").String(), "pass over the variables")):
		t.Errorf("without a cell: %v, %s", require, d)
	}
	// Without a way into a cell it is the same as on a system that has none.
	o.CellCommand = nil
	out.Reset()
	again = rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
	if !strings.Contains(again.Report.Detail.Get("not_blocked").String(), "pass over the variables") || !strings.Contains(out.String(), "dialled: true") || !strings.Contains(out.String(), "403 ") {
		t.Errorf("not isolated: %s, %s", out, again.Report.Detail)
	}
}

// What the recorded agent asked past the recorder is in no record. A hermetic
// replay refuses it, says so, and counts it as no step: agents look for updates
// and plugins at hosts that models are asked at, too.
func TestHermeticReplayRefusesWhatWentPastTheRecorder(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	rig := newRig(t)
	const ask = `curl -sS "$OPENAI_BASE_URL/models"; `
	o, out := rig.surrounded([]string{"OPENAI_BASE_URL=" + up.URL + "/v1"}, "sh", "-c", ask)
	res := rig.mustRecord(o)
	out.Reset()
	o.Command = []string{"sh", "-c", ask + `curl -s -o plugins -w " %{http_connect}" https://chatgpt.com/backend-api/plugins; true`}
	again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
	if again.Report.Verdict != replay.Same || again.Counts.Calls != 1 || out.String() != "{} 403" {
		t.Errorf("Replay = %s with %d calls, which says %q; want the same with one call, and a refusal", again.Report.Verdict, again.Counts.Calls, out)
	}
	if got := again.Report.Detail.Get("refused").At(0).Get("host").Str(); got != "chatgpt.com:443" {
		t.Errorf("refused = %q in %s", got, again.Report.Detail)
	}
}

// The vendor of an agent has its models and what its agents report to at one
// host. What is no model is refused there, too, and counted as no step; a model
// that is asked past the recorder is looked for in the record.
func TestHermeticReplayRefusesWhatWentPastTheRecorderToTheProvider(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	rig := newRig(t)
	const ask = `curl -sS "$ANTHROPIC_BASE_URL/v1/messages" -d '{"model":"m"}'; `
	o, out := rig.surrounded([]string{"ANTHROPIC_BASE_URL=" + up.URL}, "sh", "-c", ask)
	res := rig.mustRecord(o)
	out.Reset()
	o.Command = []string{"sh", "-c", ask + `curl -s -o told -w " %{http_code}" https://api.anthropic.com/api/event_logging/batch -d '{}'; true`}
	again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
	if again.Report.Verdict != replay.Same || again.Counts.Calls != 1 || out.String() != "{} 403" {
		t.Errorf("Replay = %s with %d calls, which says %q; want the same with one call, and a refusal", again.Report.Verdict, again.Counts.Calls, out)
	}
	if got := again.Report.Detail.Get("refused").At(0).Get("host").Str(); got != "api.anthropic.com:443" {
		t.Errorf("refused = %q in %s", got, again.Report.Detail)
	}
	o.Command = []string{"sh", "-c", ask + `curl -s https://api.anthropic.com/v1/messages -d '{"model":"m","more":1}' >told; true`}
	again = rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
	if again.Report.Verdict != replay.Diverged || again.Counts.Missed != 1 {
		t.Errorf("Replay with a model that is asked past the recorder = %s with %d missed, want a divergence", again.Report.Verdict, again.Counts.Missed)
	}
}

// A program that cannot be started in a cell is reported like any other.
func TestHermeticReplayOfWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	up := upstream(t, func(http.ResponseWriter, *http.Request) {})
	rig := newRig(t)
	o, _ := rig.surrounded([]string{"OPENAI_BASE_URL=" + up.URL}, "sh", "-c", `curl -sS "$OPENAI_BASE_URL/models"`)
	res := rig.mustRecord(o)
	bad := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(bad, []byte{0x7f, 'E', 'L', 'F'}, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Command = []string{bad}
	if _, err := capture.Replay(t.Context(), o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto}); fault.CodeOf(err) != capture.ErrNotStarted {
		t.Errorf("Replay = %v, want %v", err, capture.ErrNotStarted)
	}
}

// commands is an agent that runs programs: with arguments, with input, with
// errors and a status, and one that answers line by line.
const commands = `
tool ok "a b" '*' ; echo "status $?"
printf 'one\ntwo' | tool upper; echo "status $?"
tool fail; echo "status $?"
mkdir -p sub; cd sub; tool ok; cd ..
mkfifo in out 2>/dev/null
tool talk <in >out & exec 3>in 4<out
echo "$SAY" >&3; read answer <&4; echo "got $answer"
echo bye >&3; read answer <&4; echo "got $answer"; exec 3>&-; wait
echo sk-proj-abcdefghijklmnopqrstuvwxyz0123456789 | tool upper
`

// tool is what the agent runs. It leaves a trace in $TRACE each time.
const tool = `#!/bin/sh
echo run >> "$TRACE"
case $1 in
ok) shift; echo "args: $# $*"; pwd | sed 's|.*/||' ;;
upper) tr a-z A-Z ;;
fail) echo out; echo err >&2; exit 3 ;;
talk) while read line; do echo "heard $line"; [ "$line" = bye ] && break; done; exit 0 ;;
esac
`

func tooled(t *testing.T, r *rig) (capture.RunOptions, *bytes.Buffer, string) {
	t.Helper()
	bin := t.TempDir()
	trace := filepath.Join(bin, "trace")
	if err := os.WriteFile(filepath.Join(bin, "tool"), []byte(tool), 0o700); err != nil {
		t.Fatal(err)
	}
	o, out := r.surrounded([]string{"TRACE=" + trace, "SAY=hello"}, "sh", "-c", commands)
	o.Env = append(o.Env, "PATH="+bin+":"+os.Getenv("PATH"))
	o.Shims = []string{"tool"}
	return o, out, trace
}

// The commands that an agent runs are recorded where that was asked for, and
// are answered in a replay without running: their output, their errors and
// their status, in the order in which they spoke and were spoken to.
func TestCommandsAreRecordedAndNotRunAgain(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	o, out, trace := tooled(t, rig)
	res := rig.mustRecord(o)
	said := out.String()
	for _, want := range []string{"args: 2 a b *\n", "ONE\nTWOstatus 0", "out\n", "err\n", "status 3", "sub\n", "got heard hello", "got heard bye", "SK-PROJ-ABC"} {
		if !strings.Contains(said, want) {
			t.Fatalf("record says %s, want %q", said, want)
		}
	}
	ran, err := os.ReadFile(trace)
	if err != nil || strings.Count(string(ran), "run") != 6 || res.Counts.Calls != 6 {
		t.Fatalf("%d calls, ran %q, %v", res.Counts.Calls, ran, err)
	}
	for _, e := range rig.entries(res.Run) {
		for _, a := range e.Att {
			if b := rig.content(res.Run, &e, a.Name); bytes.Contains(b, []byte("abcdefghijklmnopqrstuvwxyz")) {
				t.Errorf("entry %d, %s holds the secret: %q", e.N, a.Name, b)
			}
		}
	}
	o.Dir = t.TempDir()
	o.Setting.Cwd = o.Dir
	out.Reset()
	again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run})
	if out.String() != said || again.Report.Verdict != replay.Same {
		t.Errorf("replay says %s\nwant %s\n%s", out, said, again.Report.Value())
	}
	if now, _ := os.ReadFile(trace); !bytes.Equal(now, ran) {
		t.Errorf("commands ran again: %q", now)
	}
	live := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, ToolsLive: true})
	if now, _ := os.ReadFile(trace); len(now) != 2*len(ran) || live.Report.Verdict != replay.Same {
		t.Errorf("with live tools: ran %q, %s", now, live.Report.Value())
	}
}

// What a command was given to read is no part of how it is found, and so it is
// compared: other input is a divergence and gets no answer.
func TestCommandsWithOtherInput(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	o, out, trace := tooled(t, rig)
	o.Command = []string{"sh", "-c", `printf "$SAY" | tool upper; echo "status $?"; tool ok "$ARG"`}
	res := rig.mustRecord(o)
	ran, _ := os.ReadFile(trace)
	for _, c := range []struct{ name, env, want string }{
		{"other input", "SAY=other", "/stdin"},
		{"less", "SAY=hel", "/stdin"},
		{"more", "SAY=hello there", "/stdin"},
		{"another argument", "ARG=x", "/argv/1"},
	} {
		out.Reset()
		now := o
		now.Env = append(append([]string(nil), o.Env...), c.env)
		again := rig.mustReplay(now, capture.ReplayOptions{Run: res.Run})
		if again.Report.Verdict != replay.Diverged || again.Report.Divergences[0].Where[0].Pointer != c.want {
			t.Errorf("%s: %s", c.name, again.Report.Value())
		}
		if c.want == "/stdin" && !strings.Contains(out.String(), "status 125") {
			t.Errorf("%s: the agent is told %s", c.name, out)
		}
	}
	if now, _ := os.ReadFile(trace); !bytes.Equal(now, ran) {
		t.Errorf("commands ran again: %q", now)
	}
}

// A shim that nothing would go through is refused, whatever else is asked for,
// and before the program runs: who names a program wants it recorded.
func TestShimsAreForNamesOfPrograms(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	bin := t.TempDir()
	for name, mode := range map[string]os.FileMode{"text": 0o600, "tool": 0o700} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(bin, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", "a/b", "a b", "$(x)", "no-such-program-anywhere", "text", "folder"} {
		o, _ := rig.surrounded(nil, "sh", "-c", "echo run > ran")
		o.Env = append(o.Env, "PATH="+bin+":"+os.Getenv("PATH"))
		o.Shims = []string{"tool", name}
		if err := o.Check(); fault.CodeOf(err) != capture.ErrShimName {
			t.Errorf("Check of a shim for %q = %v, want %v", name, err, capture.ErrShimName)
		}
		if _, err := capture.Record(t.Context(), o); fault.CodeOf(err) != capture.ErrShimName {
			t.Errorf("Record with a shim for %q = %v, want %v", name, err, capture.ErrShimName)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, "ran")); err == nil {
			t.Errorf("Record with a shim for %q ran the program", name)
		}
	}
	for run, err := range rig.store.Runs(t.Context()) {
		t.Errorf("run %s was opened, %v", run.Run, err)
	}
}

// A replay runs no recorded command, so it needs none of them.
func TestShimmedProgramIsGoneInAReplay(t *testing.T) {
	t.Parallel()
	rig := newRig(t)
	o, out, trace := tooled(t, rig)
	o.Command = []string{"sh", "-c", "tool ok a"}
	res := rig.mustRecord(o)
	said := out.String()
	if err := os.Remove(filepath.Join(filepath.Dir(trace), "tool")); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run})
	if out.String() != said || again.Report.Verdict != replay.Same {
		t.Errorf("replay says %s, want %s\n%s", out, said, again.Report.Value())
	}
}

// Real programs that read no base URL: each is recorded through the forward
// proxy and answered from the record in a network of its own.
func TestRealClientsThroughTheProxy(t *testing.T) {
	t.Parallel()
	const ask = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	python := `import urllib.request as u
r=u.Request("https://api.openai.com/v1/chat/completions",b'` + ask + `',{"content-type":"application/json"})
print(u.urlopen(r).read().decode())`
	node := `const http=require("http"),https=require("https"),p=new URL(process.env.HTTPS_PROXY);
http.request({host:p.hostname,port:p.port,method:"CONNECT",path:"api.openai.com:443",headers:{"proxy-authorization":"Basic "+Buffer.from(p.username+":"+p.password).toString("base64")}})
.on("connect",(_,socket)=>{const r=https.request({host:"api.openai.com",path:"/v1/chat/completions",method:"POST",socket,agent:false,headers:{"content-type":"application/json"}},a=>{let s="";a.on("data",d=>s+=d);a.on("end",()=>{console.log(s);process.exit()})});r.end('` + ask + `')}).end()`
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"curl", []string{"curl", "-sS", "https://api.openai.com/v1/chat/completions", "-H", "content-type: application/json", "-d", ask}},
		{"python3", []string{"python3", "-c", python}},
		{"node", []string{"node", "-e", node}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.name); err != nil {
				t.Skipf("%s is not on this machine", c.name)
			}
			up, tr := secureUpstream(t, func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range 3 {
					fmt.Fprintf(w, "data: {\"n\":%d,\"of\":%d}\n\n", i, len(b))
					_ = http.NewResponseController(w).Flush()
				}
			})
			rig := newRig(t)
			o, out := rig.surrounded(nil, c.command...)
			o.Proxy, o.Transport, o.Upstreams = true, tr, []string{"openai=" + up.URL + "/v1"}
			res := rig.mustRecord(o)
			said := out.String()
			if !strings.Contains(said, `"n":2`) || res.Counts.Calls != 1 {
				t.Fatalf("%d calls, %s", res.Counts.Calls, said)
			}
			up.Close()
			out.Reset()
			again := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Hermetic: capture.IsolateAuto})
			if out.String() != said || again.Report.Verdict != replay.Same {
				t.Errorf("replay says %s, want %s: %s", out, said, again.Report.Value())
			}
		})
	}
}

// A branch asks another model, and other things, behind the point where it
// leaves the record; the ledger has what the agent asked and what was changed.
func TestBranchAsksOtherwise(t *testing.T) {
	t.Parallel()
	var asked []string
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+" "+string(b))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	})
	rig := newRig(t)
	script := `for n in 1 2; do curl -sS "$OPENAI_BASE_URL/chat/completions" -H 'content-type: application/json' -d "{\"model\":\"old\",\"messages\":[{\"content\":\"$n\"}]}"; done
curl -sS "$GOOGLE_GEMINI_BASE_URL/v1beta/models/old:generateContent" -H 'content-type: application/json' -d '{"contents":[]}'`
	o, _ := rig.surrounded([]string{"OPENAI_BASE_URL=" + up.URL + "/v1", "GOOGLE_GEMINI_BASE_URL=" + up.URL}, "sh", "-c", script)
	res := rig.mustRecord(o)
	asked = nil
	var set []capture.Change
	for _, s := range []string{"/temperature=0", "/messages/0/content=x", "/no/where=1"} {
		c, err := capture.ParseChange(s)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, c)
	}
	set = append(set, capture.Change{Model: "new"})
	branch := rig.mustReplay(o, capture.ReplayOptions{Run: res.Run, Until: 3, Set: set})
	want := []string{
		`/v1/chat/completions {"messages":[{"content":"x"}],"model":"new","temperature":0}`,
		`/v1beta/models/new:generateContent {"contents":[],"temperature":0}`,
	}
	if len(asked) != 2 || canonical(asked[0]) != want[0] || canonical(asked[1]) != want[1] {
		t.Errorf("asked %q, want %q", asked, want)
	}
	d := branch.Report.Detail
	if d.Get("level").Str() != "branch live" || !strings.Contains(d.Get("changed").String(), "model=new in 2 of 2") || !strings.Contains(d.Get("changed").String(), "/no/where=1 in 0 of 2") {
		t.Errorf("detail = %s", d)
	}
	entries := rig.entries(branch.Run)
	var call *ledger.Opened
	for i := range entries {
		if entries[i].Kind == ledger.KindCall {
			call = &entries[i]
			break
		}
	}
	if got := call.Body.Get("data").Get("set").String(); !strings.Contains(got, `{"now":"\"new\"","pointer":"/model","was":"\"old\""}`) {
		t.Errorf("set = %s", got)
	}
	if b := rig.content(branch.Run, call, capture.RequestName); !bytes.Contains(b, []byte(`"old"`)) {
		t.Errorf("the request = %s, want what the agent asked", b)
	}
	// The branch is a run like any other: it replays.
	again := rig.mustReplay(o, capture.ReplayOptions{Run: branch.Run})
	if again.Report.Verdict != replay.Same || again.Counts.Recorded != 3 {
		t.Errorf("replay of the branch: %s", again.Report.Value())
	}
}

func canonical(s string) string {
	path, body, _ := strings.Cut(s, " ")
	b, err := canon.Canonicalize([]byte(body))
	if err != nil {
		return s
	}
	return path + " " + string(b)
}

func TestParseChange(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "=1", "model=x", "/a", "~2=1"} {
		if c, err := capture.ParseChange(bad); fault.CodeOf(err) != capture.ErrChange {
			t.Errorf("ParseChange(%q) = %v, %v, want %v", bad, c, err, capture.ErrChange)
		}
	}
	for in, want := range map[string]string{"/a=1": "/a=1", "/a=x=y": `/a="x=y"`, `/a/0={"b":null}`: `/a/0={"b":null}`, "/a=": `/a=""`} {
		if c, err := capture.ParseChange(in); err != nil || c.String() != want {
			t.Errorf("ParseChange(%q) = %s, %v, want %s", in, c.String(), err, want)
		}
	}
}

// What is no recording of streams ends the reading, and nothing panics.
func TestReadIOOfAnything(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"two parts", "1\x02ab2\x01c", "1ab 2c "},
		{"the end of what was given", "0\x00", "0 "},
		{"cut short", "1\x02ab1\x05c", "1ab "},
		{"no such stream", "1\x01a3\x01b", "1a "},
		{"no length", "1", ""},
		{"an endless length", "1\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ""},
		{"the largest length", "1\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ""},
	} {
		got := ""
		for stream, b := range capture.ReadIO([]byte(c.in)) {
			got += fmt.Sprintf("%d%s ", stream, b)
		}
		if got != c.want {
			t.Errorf("%s: ReadIO = %q, want %q", c.name, got, c.want)
		}
	}
}
