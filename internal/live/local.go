package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	defaultTimeout = 5 * time.Minute
	defaultMost    = 64 << 20
	maxRandom      = 1 << 20
	killAfter      = 5 * time.Second
)

func (w *World) defaults() *World {
	d := *w
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Rand == nil {
		d.Rand = rand.Reader
	}
	if d.Client == nil {
		d.Client = &http.Client{
			Transport:     &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if d.Environ == nil {
		d.Environ = os.Getenv
	}
	if d.Timeout == 0 {
		d.Timeout = defaultTimeout
	}
	if d.Most == 0 {
		d.Most = defaultMost
	}
	return &d
}

func said(v canon.Value) effect.Outcome { return effect.Outcome{Status: effect.OK, Data: v} }

func (w *World) clock(context.Context, *effect.Call) (effect.Outcome, error) {
	return said(canon.String(w.Now().UTC().Format(time.RFC3339Nano))), nil
}

func (w *World) random(_ context.Context, c *effect.Call) (effect.Outcome, error) {
	n, ok := c.Data.Get("bytes").AsInt()
	if !ok || n < 1 || n > maxRandom {
		return effect.Outcome{}, fault.New(ErrArguments, "live.random", "bytes is not a number from 1 to %d", maxRandom)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(w.Rand, b); err != nil {
		return effect.Outcome{}, fault.Wrap(ErrUnreachable, "live.random", err, "no randomness")
	}
	return said(canon.String(hex.EncodeToString(b))), nil
}

func (*World) sleep(ctx context.Context, c *effect.Call) (effect.Outcome, error) {
	ms, ok := c.Data.Get("ms").AsInt()
	if !ok || ms < 0 {
		return effect.Outcome{}, fault.New(ErrArguments, "live.sleep", "ms is not a number of milliseconds")
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return said(canon.Value{}), nil
	case <-ctx.Done():
		return effect.Outcome{Status: effect.Interrupted}, context.Cause(ctx)
	}
}

// exec runs a program. Its environment is exactly what the call says: a
// program must not decide by what nobody recorded.
func (w *World) exec(ctx context.Context, c *effect.Call) (effect.Outcome, error) {
	argv, err := words(c.Data.Get("argv"))
	if err != nil {
		return effect.Outcome{}, err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = c.Data.Get("dir").Str(), killAfter
	cmd.Env = environ(c.Data)
	out, errOut := &limited{most: w.Most}, &limited{most: w.Most}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(content(c, "stdin")), out, errOut
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.over || errOut.over:
		return effect.Outcome{}, fault.New(ErrTooLarge, "live.exec", "%s wrote more than %d bytes", argv[0], w.Most)
	case err != nil && !errors.As(err, &exit) && cmd.Process == nil:
		return effect.Outcome{}, fault.Wrap(ErrNotSent, "live.exec", err, "starting %s", argv[0])
	case err != nil && !errors.As(err, &exit):
		return effect.Outcome{}, fault.Wrap(ErrUnreachable, "live.exec", err, "running %s", argv[0])
	case ctx.Err() != nil:
		return effect.Outcome{}, context.Cause(ctx)
	}
	o := said(canon.Object(canon.M("exit", canon.Int(int64(cmd.ProcessState.ExitCode())))))
	o.Contents = []ledger.Content{
		{Name: "stdout", Type: "application/octet-stream", Bytes: out.buf.Bytes()},
		{Name: "stderr", Type: "application/octet-stream", Bytes: errOut.buf.Bytes()},
	}
	return o, nil
}

// environ returns the environment that a call declares, and nothing else.
func environ(data canon.Value) []string {
	env := []string{}
	for _, m := range data.Get("env").Members() {
		env = append(env, m.Name+"="+m.Value.Str())
	}
	return env
}

// limited takes bytes up to a limit and remembers that there were more.
type limited struct {
	buf  bytes.Buffer // not embedded: its ReadFrom would go around the limit
	most int64
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(l.buf.Len()+len(p)) > l.most {
		l.over = true
		return 0, fault.New(ErrTooLarge, "live.exec", "more than %d bytes", l.most)
	}
	return l.buf.Write(p)
}

func words(v canon.Value) ([]string, error) {
	out := make([]string, 0, v.Len())
	for _, e := range v.Elems() {
		s, ok := e.AsString()
		if !ok {
			return nil, fault.New(ErrArguments, "live.exec", "argv is not a list of strings")
		}
		out = append(out, s)
	}
	if len(out) == 0 || out[0] == "" {
		return nil, fault.New(ErrArguments, "live.exec", "argv names no program")
	}
	return out, nil
}

// content returns the content of that name, or nothing.
func content(c *effect.Call, name string) []byte {
	for _, x := range c.Contents {
		if x.Name == name {
			return x.Bytes
		}
	}
	return nil
}
