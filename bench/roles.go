package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// roleOf returns what a child of this program does, by its first argument.
func roleOf(name string) func(context.Context, []string) error {
	switch name {
	case "_upstream":
		return upstreamRole
	case "_bare":
		return bareRole
	case "_durable":
		return durableRole
	case "_record":
		return recordRole
	case "_replay":
		return replayRole
	case "_vcr":
		return vcrRole
	case "_load":
		return loadRole
	default:
		return nil
	}
}

// serve listens on the loopback, says where, and serves until the parent
// closes its end of standard input. Then it calls done, whose text goes to
// the parent.
func serve(h http.Handler, done func() (string, error)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of a child that lives as long as its listener
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	text, err := done()
	fmt.Println(text)
	return err
}

func nothing() (string, error) { return "", nil }

// child is a process of this program that serves.
type child struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  *bufio.Reader
	addr string
}

func (b *bench) start(role string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(b.ctx, self, append([]string{role}, args...)...)}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if c.addr, err = c.line(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w", role, err), c.cmd.Wait())
	}
	return c, nil
}

func (c *child) line() (string, error) {
	s, err := c.out.ReadString('\n')
	return strings.TrimSpace(s), err
}

// end lets the child finish and returns what it says at the end.
func (c *child) end() (string, error) {
	_ = c.in.Close()
	text, err := c.line()
	return text, errors.Join(err, c.cmd.Wait())
}

// drop ends the child, whatever it says.
func (c *child) drop() {
	if c.cmd.ProcessState == nil {
		_, _ = c.end()
	}
}

// load runs a client process to its end.
func (b *bench) load(o loadOptions) (loadResult, error) {
	self, err := os.Executable()
	if err != nil {
		return loadResult{}, err
	}
	arg, err := json.Marshal(o)
	if err != nil {
		return loadResult{}, err
	}
	cmd := exec.CommandContext(b.ctx, self, "_load", string(arg))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return loadResult{}, fmt.Errorf("load %s: %w", arg, err)
	}
	var r loadResult
	err = json.Unmarshal(out, &r)
	return r, err
}
