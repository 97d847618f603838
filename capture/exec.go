package capture

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ExecOptions are what the shim of a command needs.
type ExecOptions struct {
	Recorder string   // value of [RecorderVar]
	Program  string   // name of the program that the agent runs
	Args     []string // what the agent gives it, without its name
	Dir      string   // working folder
	Env      []string
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
}

// ExecShim stands in the place of a program that an agent runs: what it reads
// and writes passes through the recorder. In a replay the program is not run.
// It returns the program's exit status.
func ExecShim(ctx context.Context, o ExecOptions) (int, error) {
	if o.Program == "" {
		return 0, fault.New(ErrNoCommand, "capture.ExecShim", "there is no program to run")
	}
	conn, f, err := dialRecorder(ctx, o.Recorder, execPath, execProtocol)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	argv := make([]canon.Value, len(o.Args))
	for i, a := range o.Args {
		argv[i] = canon.String(strings.ToValidUTF8(a, "\uFFFD"))
	}
	hello := canon.Object(
		canon.M("argv", canon.Array(argv...)), canon.M("cwd", canon.String(strings.ToValidUTF8(o.Dir, "\uFFFD"))),
		canon.M("program", canon.String(strings.ToValidUTF8(o.Program, "\uFFFD"))),
	)
	if err := f.write(frameHello, []byte(hello.String())); err != nil {
		return 0, fault.Wrap(ErrShim, "capture.ExecShim", err, "the recorder does not answer")
	}
	typ, b, err := f.read()
	if err != nil || typ != frameMode {
		return 0, fault.New(ErrShim, "capture.ExecShim", "the recorder refuses the command")
	}
	how, err := canon.Parse(b)
	if err != nil {
		return 0, fault.Wrap(ErrShim, "capture.ExecShim", err, "the recorder says something else")
	}
	s := &execShim{o: &o, f: f, acked: make(chan struct{}, 1)}
	if how.Get("mode").Str() == modeReplay {
		if !s.inherited(how.Get("stdin").Str()) {
			go s.input(nil)
		}
		return s.obey()
	}
	return s.live(ctx, how)
}

type execShim struct {
	o     *ExecOptions
	f     *framed
	acked chan struct{} // what the program is given next is recorded
}

// inherited reports whether the command shares what it reads with the agent,
// or with the keyboard: nothing may be read of it that the program would not
// have read.
func (s *execShim) inherited(agents string) bool {
	f, ok := s.o.Stdin.(*os.File)
	if !ok {
		return s.o.Stdin == nil
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0 || agents != "" && fileID(f) == agents
}

// input sends what the agent gives to the recorder, and then to the program.
func (s *execShim) input(to io.WriteCloser) {
	buf := make([]byte, partMax)
	for {
		n, err := s.o.Stdin.Read(buf)
		if n > 0 {
			if s.f.write(frameIn, buf[:n]) != nil {
				return
			}
			<-s.acked
			if to != nil {
				_, _ = to.Write(buf[:n]) // a program that reads no more will end
			}
		}
		if err != nil {
			if s.f.write(frameEOF, nil) == nil {
				<-s.acked
			}
			if to != nil {
				_ = to.Close()
			}
			return
		}
	}
}

// obey writes what the recorder sends, until it is over.
func (s *execShim) obey() (int, error) {
	for {
		typ, p, err := s.f.read()
		if err != nil {
			return 0, fault.Wrap(ErrShim, "capture.ExecShim", err, "the recorder is gone")
		}
		switch typ {
		case frameOut:
			_, err = s.o.Stdout.Write(p)
		case frameErr, frameNote:
			_, err = s.o.Stderr.Write(p)
		case frameIn, frameEOF:
			s.acked <- struct{}{}
		case frameDone:
			v, err := canon.Parse(p)
			status, ok := v.Get("exit").AsInt()
			if err != nil || !ok {
				return 0, fault.New(ErrShim, "capture.ExecShim", "the recorder gives no status")
			}
			return int(status), nil
		default:
			return 0, fault.New(ErrShim, "capture.ExecShim", "an unknown frame %q", typ)
		}
		if err != nil {
			return 0, err
		}
	}
}

// live runs the program as the agent would have, in the environment that it
// had before the recorder changed it.
func (s *execShim) live(ctx context.Context, how canon.Value) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	env := s.o.Env
	for _, kv := range how.Get("undo").Elems() {
		env = without(env, kv.Str())
	}
	path, err := lookPath(s.o.Program, lookup(env, "PATH"))
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // to run the program is what was asked for
	cmd.Args, cmd.Env, cmd.Dir = append([]string{s.o.Program}, s.o.Args...), env, s.o.Dir
	cmd.WaitDelay = 5 * time.Second
	var in io.WriteCloser
	if s.inherited(how.Get("stdin").Str()) {
		cmd.Stdin = s.o.Stdin
	} else if in, err = cmd.StdinPipe(); err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.ExecShim", err, "%s", s.o.Program)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.ExecShim", err, "%s", s.o.Program)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.ExecShim", err, "%s", s.o.Program)
	}
	if err := cmd.Start(); err != nil {
		return 0, fault.Wrap(ErrNotStarted, "capture.ExecShim", err, "%s cannot be started", s.o.Program)
	}
	if in != nil {
		go s.input(in)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.output(frameOut, out) })
	wg.Go(func() { s.output(frameErr, errs) })
	go func() {
		wg.Wait()
		_ = cmd.Wait() // the status says how it ended
		status, signal := statusOf(cmd.ProcessState)
		_ = s.f.write(frameExit, []byte(exitValue(int64(status), signal).String()))
	}()
	status, err := s.obey()
	if err != nil {
		cancel() // without a recorder nothing may pass
	}
	return status, err
}

func (s *execShim) output(typ byte, from io.Reader) {
	buf := make([]byte, partMax)
	for {
		n, err := from.Read(buf)
		if n > 0 && s.f.write(typ, buf[:n]) != nil {
			return
		}
		if err != nil {
			return
		}
	}
}

// statusOf returns the status of a process that has ended: 128 + n if signal
// n ended it.
func statusOf(state *os.ProcessState) (status int, signal string) {
	if state == nil {
		return commandFailed, ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String()
	}
	return state.ExitCode(), ""
}

// without returns environ with NAME=VALUE set, or without NAME.
func without(environ []string, kv string) []string {
	name, _, set := strings.Cut(kv, "=")
	out := make([]string, 0, len(environ)+1)
	for _, have := range environ {
		if n, _, _ := strings.Cut(have, "="); n != name {
			out = append(out, have)
		}
	}
	if set {
		out = append(out, kv)
	}
	return out
}

// undoing returns what makes the environment now that of before: NAME=VALUE,
// or NAME for what was not set.
func undoing(before, now []string) []string {
	var out []string
	for _, kv := range now {
		name, value, _ := strings.Cut(kv, "=")
		if !has(before, name) {
			out = append(out, name)
		} else if old := lookup(before, name); old != value {
			out = append(out, name+"="+old)
		}
	}
	return out
}

func has(environ []string, name string) bool {
	for _, kv := range environ {
		if n, _, _ := strings.Cut(kv, "="); n == name {
			return true
		}
	}
	return false
}

// lookPath finds a program in the folders of a PATH that is not this
// process's own.
func lookPath(name, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return at, nil
		}
	}
	return "", fault.New(ErrNotFound, "capture.ExecShim", "%q is not found", name)
}

// ErrShimName means that a shim was asked for by a name that is not that of a
// program in PATH. Correct the name, or the PATH that the agent is started with.
const ErrShimName fault.Invalid = "capture.bad_shim"

// writeShims puts a shim for each program into dir. How is the command that
// calls [ExecShim] for the program whose name and arguments follow.
func writeShims(dir string, names, how []string) error {
	if err := checkShims(names, how); err != nil {
		return err
	}
	quoted := make([]string, len(how))
	for i, s := range how {
		quoted[i] = "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	for _, name := range names {
		text := "#!/bin/sh\nexec " + strings.Join(quoted, " ") + " " + name + ` -- "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
			return fault.Wrap(ErrShim, "capture.shims", err, "the shim of %s", name)
		}
	}
	return nil
}

// checkShims refuses names that cannot be those of programs.
func checkShims(names, how []string) error {
	const op = "capture.shims"
	if len(how) == 0 {
		return fault.New(ErrShimName, op, "this program has no shims for commands")
	}
	for _, name := range names {
		if !validName(name) || name == "." || name == ".." {
			return fault.New(ErrShimName, op, "%q is not the name of a program", name)
		}
	}
	return nil
}
