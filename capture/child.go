package capture

import (
	"context"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// command returns what starts a program as the child.
func (o *RunOptions) command(ctx context.Context, path string, argv, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // to run the program is what was asked for
	cmd.Args, cmd.Env, cmd.Dir = argv, env, o.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if cmd.WaitDelay = o.Grace; o.Grace == 0 {
		cmd.WaitDelay = 5 * time.Second
	}
	return cmd
}

// child runs the program to its end.
func (o *RunOptions) child(ctx context.Context, path string, argv []string, w *surroundings) (status int, signal string, err error) {
	var cmd *exec.Cmd
	if w.cell != nil {
		cmd = w.cell.cmd
		if err := w.cell.run(order{Path: path, Argv: argv, Env: w.env}); err != nil {
			return 0, "", err
		}
	} else {
		cmd = o.command(ctx, path, argv, w.env)
		if err := cmd.Start(); err != nil {
			return 0, "", fault.Wrap(ErrNotStarted, "capture.Run", err, "%s cannot be started", o.Command[0])
		}
	}
	done := make(chan struct{})
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		for {
			select {
			case sig := <-o.Signals:
				_ = cmd.Process.Signal(sig)
			case <-done:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(done)
	<-forwarded
	if cmd.ProcessState == nil {
		return 0, "", fault.Wrap(ErrNotStarted, "capture.Run", err, "%s", o.Command[0])
	}
	status, signal = statusOf(cmd.ProcessState)
	return status, signal, nil
}

// listeners are the loopback addresses of one run.
type listeners struct {
	open    func(context.Context) (net.Listener, error)
	addr    map[string]string // of the upstreams
	servers []*http.Server
}

// loopback listens on a free port.
func loopback(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fault.Wrap(ErrListen, "capture.Run", err, "a loopback address")
	}
	return ln, nil
}

// upstreams serves each upstream at an address of its own.
func (l *listeners) upstreams(ctx context.Context, p *Proxy, ups []Upstream) error {
	for i := range ups {
		h, err := p.Handler(ups[i].Name)
		if err != nil {
			return err
		}
		if l.addr[ups[i].Name], err = l.serve(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// token draws what only the child is told.
func token(rand io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(rand, b[:]); err != nil {
		return "", fault.Wrap(drive.ErrRandom, "capture.Run", err, "no randomness")
	}
	return hex.EncodeToString(b[:]), nil
}

// serve listens and answers with h. It returns the address.
func (l *listeners) serve(ctx context.Context, h http.Handler) (string, error) {
	ln, err := l.open(ctx)
	if err != nil {
		return "", err
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 2 * maxHead, ErrorLog: log.New(io.Discard, "", 0), Protocols: spoken(),
	}
	l.servers = append(l.servers, s)
	go func() { _ = s.Serve(ln) }() // ends with close
	return ln.Addr().String(), nil
}

// spoken is what a listener without TLS understands. Some clients, such as the
// SDK of AWS for JavaScript, speak HTTP/2 to a base URL without asking.
func spoken() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

// drainFor is how long answers that are still coming may take when the
// program has ended.
const drainFor = 2 * time.Second

// close lets the requests end that the program has left behind.
func (l *listeners) close() {
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	for _, s := range l.servers {
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}
