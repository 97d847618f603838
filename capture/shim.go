package capture

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// RecorderVar is the variable in which the children of a run find its
// recorder, as HOST:PORT/TOKEN.
const RecorderVar = "REPRISE_RECORDER"

// ShimOptions are what a shim needs.
type ShimOptions struct {
	Recorder string   // value of [RecorderVar]
	Command  []string // the server, as the agent would start it
	Env      []string // of the server
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer // of the server
}

// Shim stands in the place of a stdio server: what the agent and the server
// say to each other passes through the recorder. In a replay the server is
// not started. It returns the server's exit status. If the recorder is gone
// nothing passes any more.
func Shim(ctx context.Context, o ShimOptions) (int, error) {
	if len(o.Command) == 0 {
		return 0, fault.New(ErrNoCommand, "capture.Shim", "there is no server to run")
	}
	conn, f, err := dialRecorder(ctx, o.Recorder, shimPath, shimProtocol)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	argv := make([]canon.Value, len(o.Command))
	for i, a := range o.Command {
		argv[i] = canon.String(strings.ToValidUTF8(a, "\uFFFD"))
	}
	if err := f.write(frameHello, []byte(canon.Array(argv...).String())); err != nil {
		return 0, fault.Wrap(ErrShim, "capture.Shim", err, "the recorder does not answer")
	}
	typ, mode, err := f.read()
	if err != nil || typ != frameMode {
		return 0, fault.New(ErrShim, "capture.Shim", "the recorder refuses the server")
	}
	s := &shim{o: &o, f: f}
	if string(mode) == modeReplay {
		go s.agent()
		return 0, s.obey(nil)
	}
	return s.live(ctx)
}

// dialRecorder connects to a recorder and takes the connection over.
func dialRecorder(ctx context.Context, recorder, path, proto string) (net.Conn, *framed, error) {
	addr, token, ok := strings.Cut(recorder, "/")
	if !ok {
		return nil, nil, fault.New(ErrShim, "capture.Shim", "%s does not name a recorder; start the agent with record or replay", RecorderVar)
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fault.Wrap(ErrShim, "capture.Shim", err, "the recorder cannot be reached")
	}
	_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\nConnection: Upgrade\r\nUpgrade: "+proto+"\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	r := bufio.NewReader(conn)
	var resp *http.Response
	if err == nil {
		resp, err = http.ReadResponse(r, nil) //nolint:bodyclose // what follows is the connection, which the caller closes
	}
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		err = fault.New(ErrShim, "capture.Shim", "status %d", resp.StatusCode)
	}
	if err != nil {
		return nil, nil, errors.Join(fault.Wrap(ErrShim, "capture.Shim", err, "the recorder refuses the shim"), conn.Close())
	}
	return conn, &framed{r: r, w: conn}, nil
}

type shim struct {
	o *ShimOptions
	f *framed
}

// agent sends the agent's lines to the recorder.
func (s *shim) agent() {
	_ = s.lines(s.o.Stdin, frameAgent)
	_ = s.f.write(frameClosed, nil) // if the recorder is gone, obey says so
}

// lines sends lines as they are, with their ends.
func (s *shim) lines(r io.Reader, typ byte) error {
	in := bufio.NewReader(r)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			if err := s.f.write(typ, line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine returns the next line with its end; the last one may have none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxFrame {
			return nil, fault.New(ErrTooLarge, "capture.Shim", "a line of more than %d bytes", maxFrame)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// obey writes what the recorder sends, until it is over.
func (s *shim) obey(server io.WriteCloser) error {
	for {
		typ, p, err := s.f.read()
		if err != nil {
			return fault.Wrap(ErrShim, "capture.Shim", err, "the recorder is gone")
		}
		switch typ {
		case frameToThem:
			_, err = s.o.Stdout.Write(p)
		case frameToIt:
			if server != nil {
				_, _ = server.Write(p) // a server that reads no more will end
			}
		case frameHangUp:
			if server != nil {
				_ = server.Close()
			}
		case frameDone:
			return nil
		default:
			err = fault.New(ErrShim, "capture.Shim", "an unknown frame %q", typ)
		}
		if err != nil {
			return err
		}
	}
}

// live starts the server and carries its lines.
func (s *shim) live(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, err := find(s.o.Command[0])
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // to run the server is what was asked for
	cmd.Args, cmd.Env, cmd.Stderr = s.o.Command, s.o.Env, s.o.Stderr
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.Shim", err, "%s", s.o.Command[0])
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.Shim", err, "%s", s.o.Command[0])
	}
	if err := cmd.Start(); err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.Shim", err, "%s cannot be started", s.o.Command[0])
	}
	go s.agent()
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.lines(out, frameServer)
		_ = s.f.write(frameEnded, nil)
	})
	err = s.obey(in)
	if err != nil {
		cancel() // without a recorder nothing may pass
	}
	wg.Wait()
	_ = cmd.Wait()
	if err != nil {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
