package capture

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrNotArrived means that a program was started and its request to the model
// did not come to the address that it was given. Look at what it said.
const ErrNotArrived fault.Unavailable = "capture.not_arrived"

// Trial is what came of trying a program against a sink.
type Trial struct {
	Version string        // as the program says it; empty if it says none
	Request string        // the first one that asks a model, as METHOD PATH
	Took    time.Duration // until it came
	Beside  []string      // hosts that it wanted to reach through a proxy; none was reached
	Said    string        // the end of what it printed, if nothing came
}

// sink takes what a program sends and answers with nothing of use.
type sink struct {
	mu      sync.Mutex
	request string
	at      time.Time // when that came
	beside  []string
	came    chan struct{}
	addr    string
}

// ServeHTTP refuses everything in a way after which clients do not try again.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect && r.Host == s.addr:
		s.tunnel(w) // a client that asks the proxy for the loopback too
	case r.Method == http.MethodConnect || r.URL.IsAbs() && r.Host != s.addr:
		s.mu.Lock()
		if !slices.Contains(s.beside, r.Host) && len(s.beside) < 32 {
			s.beside = append(s.beside, r.Host)
		}
		s.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
	case asksForSocket(r):
		w.WriteHeader(http.StatusUpgradeRequired)
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		if IsModel(r.Method, r.URL.Path) {
			s.mu.Lock()
			if s.request == "" {
				s.request, s.at = r.Method+" "+r.URL.Path, time.Now()
				close(s.came)
			}
			s.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Should-Retry", "false")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"this is only a trial","type":"authentication_error","code":401,"status":"UNAUTHENTICATED"}}`))
	}
}

// tunnel joins a connection to the sink itself.
func (s *sink) tunnel(w http.ResponseWriter) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	var d net.Dialer
	to, err := d.DialContext(context.Background(), "tcp", s.addr)
	if err != nil {
		return
	}
	defer to.Close()
	if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(to, buffered)
		_ = to.Close()
	}()
	_, _ = io.Copy(c, to)
}

// lastWords bounds what is kept of what a program prints.
const lastWords = 400

var versionIn = regexp.MustCompile(`\d+\.\d+\.\d+[-+.\w]*`)

// Try starts a program as a recording would, asks it to say hi, and sees
// whether its request comes to a sink on the loopback. The program gets a home
// of its own, which is empty and goes away, a key that is none, and a proxy
// that refuses everything, so that nothing of the user's is read or sent.
// Environ is looked at for PATH and for where files may lie.
func (p *Program) Try(ctx context.Context, path string, environ []string) (*Trial, error) {
	const op = "capture.Try"
	home, err := runFolder(environ)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	s := &sink{came: make(chan struct{})}
	l := &listeners{open: loopback}
	defer l.close()
	if s.addr, err = l.serve(ctx, s); err != nil {
		return nil, err
	}
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, fault.Wrap(ErrRedirect, op, err, "a folder for the trial")
	}
	env := append([]string{
		"PATH=" + lookup(environ, "PATH"), "HOME=" + home, "USERPROFILE=" + home, "TERM=dumb", "CI=1", "NO_COLOR=1",
		"TMPDIR=" + home, "SYSTEMROOT=" + lookup(environ, "SYSTEMROOT"),
		"HTTPS_PROXY=http://" + s.addr, "https_proxy=http://" + s.addr, "HTTP_PROXY=http://" + s.addr, "http_proxy=http://" + s.addr,
	}, p.AskEnv...)
	t := &Trial{}
	out, err := p.start(ctx, 20*time.Second, nil, []string{path, "--version"}, env, work)
	if err == nil {
		t.Version = versionIn.FindString(out)
	}
	o := RunOptions{Command: append([]string{path}, p.Ask...), Env: env, Dir: work}
	ups, err := Plan(env, nil)
	if err != nil {
		return nil, err
	}
	r, at, err := o.planRedirect()
	if err != nil {
		return nil, err
	}
	if r != nil {
		ups = r.merge(ups)
	}
	addr := map[string]string{}
	for i := range ups {
		addr[ups[i].Name] = s.addr
	}
	argv, env := o.Command, ChildEnv(env, ups, addr)
	if r != nil {
		var remove func()
		argv, env, remove, err = r.apply(argv, at, env, addr)
		defer remove()
		if err != nil {
			return nil, err
		}
	}
	begun := time.Now()
	out, err = p.start(ctx, time.Minute, s.came, argv, env, work)
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Request, t.Beside = s.request, s.beside
	if t.Request != "" {
		t.Took = s.at.Sub(begun) // how long the program then takes to end says nothing
		return t, nil
	}
	t.Said = out[max(0, len(out)-lastWords):]
	if err == nil {
		return t, fault.New(ErrNotArrived, op, "%s ended, and no request to a model came to the recorder's address", p.Title)
	}
	return t, fault.Wrap(ErrNotArrived, op, err, "no request of %s to a model came to the recorder's address", p.Title)
}

// start runs a program until it ends, something came, or the time is over,
// and returns what it printed.
func (*Program) start(ctx context.Context, limit time.Duration, came <-chan struct{}, argv, env []string, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // to try the program is what was asked for
	cmd.Env, cmd.Dir = env, dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // wrappers pass it on
	cmd.WaitDelay = 3 * time.Second
	if err := cmd.Start(); err != nil {
		return "", fault.Wrap(ErrNotStarted, "capture.Try", err, "%s cannot be started", argv[0])
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-came: // nil: never
			cancel()
		case <-ended:
		}
	}()
	err := cmd.Wait()
	return out.String(), err
}
