package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// A command that an agent runs itself, such as git, is recorded where a shim
// stands in the agent's PATH in its place. It is one exchange of kind exec:
//
//	call     name, data {cwd, program}, content "request": JSON {argv, cwd}
//	outcome  data {exit, signal}, contents "io" and "timing"
//
// The content io is what was read and written, part by part: the number of a
// stream as a digit, the length as an unsigned varint, and the bytes. Stream 0
// is what the program was given to read, 1 what it wrote and 2 what it wrote as
// errors. A part of stream 0 without bytes is the end of what it was given. In a replay the
// program is not run: what it wrote comes again when everything was given to
// it that had been given to it before. What it had done to files is not done
// again. What the program asks of others itself is part of it and not
// recorded.

// KindExec is the kind of the calls that commands are.
const KindExec = "exec"

// IOName is the name of the content in which the streams of a command stand.
const IOName = "io"

// ioType is its type.
const ioType = "application/vnd.reprise.exec-io"

const (
	execPath     = "/.reprise/exec"
	execProtocol = "reprise-exec/1"
)

// The frames of a command beside frameHello, frameMode and frameDone.
const (
	frameIn   = '0' // from the shim: bytes for the program; to the shim: they are recorded
	frameOut  = '1' // from the shim: what the program wrote; to the shim: for the agent
	frameErr  = '2' // the same of its errors
	frameEOF  = 'c' // from the shim: the agent gives nothing more; to the shim: it is recorded
	frameExit = 'e' // from the shim: JSON {exit, signal}
	frameNote = 'n' // to the shim: a text for people, not from the program
)

// stdio is the streams of a command, as their parts say them.
const (
	stdin  = '0'
	stdout = '1'
	stderr = '2'
)

// Command is what is recorded of the command line of a program.
type command struct {
	program string
	cwd     string // relative to that of the run, where it is within
	argv    []string
}

func parseCommand(hello []byte) (*command, error) {
	v, err := canon.Parse(hello)
	if err != nil || v.Get("program").Str() == "" {
		return nil, fault.New(ErrShim, "capture.command", "a command without a program")
	}
	c := &command{program: v.Get("program").Str(), cwd: v.Get("cwd").Str()}
	for _, a := range v.Get("argv").Elems() {
		c.argv = append(c.argv, a.Str())
	}
	return c, nil
}

// call returns the call that a command is, with secrets replaced.
func (p *Proxy) commandCall(c *command) effect.Call {
	red := p.o.Redactor
	argv := make([]canon.Value, len(c.argv))
	for i, a := range c.argv {
		argv[i] = canon.String(red.Text(a))
	}
	cwd := canon.String(red.Text(within(p.surroundings().home, c.cwd)))
	request := []byte(canon.Object(canon.M("argv", canon.Array(argv...)), canon.M("cwd", cwd)).String())
	form, norms := p.rules.Form(KindExec, request)
	digest := canon.SHA256(form)
	return effect.Call{
		Kind: KindExec, Name: c.program, Class: effect.External, Norms: norms,
		Match:    effect.MatchKey([]byte(KindExec), []byte(c.program), digest[:]),
		Data:     canon.Object(canon.M("cwd", cwd), canon.M("program", canon.String(c.program))),
		Contents: []ledger.Content{{Name: RequestName, Type: "application/json", Bytes: request}},
	}
}

func (p *Proxy) surround(a surrounded) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.agent = a
}

func (p *Proxy) surroundings() surrounded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agent
}

// within returns path relative to home, if it is in there.
func within(home, path string) string {
	if home == "" {
		return path
	}
	if path == home {
		return "."
	}
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok {
		return rest
	}
	return path
}

// served is one command behind a shim.
type served struct {
	p *Proxy
	f *framed
	x *drive.Exchange
}

// serveCommand records one command, or answers it from the record.
func (p *Proxy) serveCommand(ctx context.Context, f *framed) {
	typ, hello, err := f.read()
	if err != nil || typ != frameHello {
		return
	}
	c, err := parseCommand(hello)
	if err != nil {
		return
	}
	call := p.commandCall(c)
	x, err := p.at.Begin(ctx, call)
	s := &served{p: p, f: f, x: x}
	if err != nil {
		s.refuse(fmt.Sprintf("reprise: %s was not run: %s\n", c.program, err))
		return
	}
	if !x.Live() {
		s.replay(ctx)
		return
	}
	s.record(ctx, s.how(modeLive).With("undo", canon.Strings(p.surroundings().undo)))
}

// how returns what a shim is told first.
func (s *served) how(mode string) canon.Value {
	return canon.Object(canon.M("mode", canon.String(mode)), canon.M("stdin", canon.String(s.p.surroundings().stdin)))
}

// commandFailed is the status of a command that has no answer. Shells and
// their helpers have it for a helper that fails.
const commandFailed = 125

// refuse tells the agent that the command has no answer.
func (s *served) refuse(why string) {
	_ = s.f.write(frameMode, []byte(s.how(modeReplay).String()))
	_ = s.f.write(frameNote, []byte(why))
	_ = s.f.write(frameDone, []byte(exitValue(commandFailed, "").String()))
}

func exitValue(status int64, signal string) canon.Value {
	v := canon.Object(canon.M("exit", canon.Int(status)))
	if signal != "" {
		v = v.With("signal", canon.String(signal))
	}
	return v
}

// record passes on what a command reads and writes when it is staged, and its
// status when the outcome is durable.
func (s *served) record(ctx context.Context, how canon.Value) {
	head := canon.Object()
	st, err := s.x.Stream(IOName, ioType, head)
	if err == nil {
		err = s.f.write(frameMode, []byte(how.String()))
	}
	red := s.p.o.Redactor
	clean := map[byte]*redact.Replacer{stdin: red.Stream(), stdout: red.Stream(), stderr: red.Stream()}
	var safe, part []byte
	stage := func(stream byte, p []byte, last bool) error {
		if safe = clean[stream].Write(safe[:0], p, last); len(safe) == 0 {
			return nil
		}
		part = appendIO(part[:0], stream, safe)
		_, err := st.Write(part)
		return err
	}
	ended := map[byte]bool{}
	end := func(stream byte) error {
		if ended[stream] {
			return nil
		}
		ended[stream] = true
		return stage(stream, nil, true)
	}
	o := effect.Outcome{Status: effect.Interrupted, Data: head.With("broke", canon.String(byClient))}
	for err == nil {
		var typ byte
		var p []byte
		if typ, p, err = s.f.read(); err != nil {
			break
		}
		switch typ {
		case frameIn:
			if err = stage(stdin, p, false); err == nil {
				err = s.f.write(frameIn, nil)
			}
		case frameEOF:
			if err = end(stdin); err == nil {
				if _, err = st.Write(appendIO(nil, stdin, nil)); err == nil {
					err = s.f.write(frameEOF, nil)
				}
			}
		case frameOut, frameErr:
			if err = stage(typ, p, false); err == nil {
				err = s.f.write(typ, p)
			}
		case frameExit:
			var v canon.Value
			if v, err = canon.Parse(p); err == nil {
				o.Status, o.Data = effect.OK, head.With("exit", v.Get("exit"))
				if sig := v.Get("signal"); !sig.IsZero() {
					o.Data = o.Data.With("signal", sig)
				}
			}
		default:
			err = fault.New(ErrShim, "capture.command", "an unknown frame %q", typ)
		}
		if o.Status == effect.OK {
			break
		}
	}
	for _, stream := range []byte{stdin, stdout, stderr} {
		_ = end(stream) // what cannot be staged is lost with the outcome
		o.Redacted = redact.Union(o.Redacted, clean[stream].Found())
	}
	if s.x.End(ctx, o) != nil || o.Status != effect.OK {
		return // the agent must not take this for an answer
	}
	_ = s.f.write(frameDone, []byte(o.Data.String()))
}

// replay gives the agent what the command had written.
func (s *served) replay(ctx context.Context) {
	o, _, err := s.x.Answered()
	var all []byte
	var parts []drive.Part
	if err == nil && s.x.Has(IOName) {
		if all, err = s.x.Content(ctx, IOName); err == nil {
			parts, err = s.timing(ctx)
		}
	}
	exit, ok := o.Data.Get("exit").AsInt()
	if err == nil && (o.Status != effect.OK || !ok) {
		err = fault.New(effect.ErrNoOutcome, "capture.command", "the command was broken off")
	}
	if err == nil {
		err = s.x.End(ctx, effect.Outcome{})
	} else {
		_ = s.x.End(ctx, effect.Outcome{Status: effect.Error, Code: fault.CodeOf(err)})
	}
	if err == nil {
		err = s.f.write(frameMode, []byte(s.how(modeReplay).String()))
	} else {
		s.refuse("reprise: " + err.Error() + "\n")
	}
	if err != nil {
		return
	}
	if !s.play(ctx, all, parts) {
		_ = s.f.write(frameNote, []byte("reprise: the command was given something else to read than was recorded\n"))
		_ = s.f.write(frameDone, []byte(exitValue(commandFailed, "").String()))
		return
	}
	_ = s.f.write(frameDone, []byte(exitValue(exit, o.Data.Get("signal").Str()).String()))
}

func (s *served) timing(ctx context.Context) ([]drive.Part, error) {
	if !s.x.Has(drive.TimingName) {
		return nil, nil
	}
	b, err := s.x.Content(ctx, drive.TimingName)
	if err != nil {
		return nil, err
	}
	return drive.ParseTiming(b)
}

// play gives out the parts in their order and reports whether the agent gave
// what it had given then.
func (s *served) play(ctx context.Context, all []byte, parts []drive.Part) bool {
	in := s.listen()
	defer in.stop()
	i := -1
	for stream, p := range ReadIO(all) {
		i++
		switch {
		case stream == 0 && len(p) == 0:
			if got := in.more(); len(got) > 0 {
				s.differs("it was given more than was recorded", "", string(clipBytes(got)))
				return false
			}
		case stream == 0:
			if got := in.next(len(p)); !bytes.Equal(got, p) {
				s.differs("it was given something else", string(clipBytes(p)), string(clipBytes(got)))
				return false
			}
		default:
			if s.p.o.Pace > 0 && i < len(parts) && !sleep(ctx, time.Duration(float64(parts[i].After)/s.p.o.Pace)) {
				return false
			}
			if s.f.write(stdin+byte(stream), p) != nil {
				return false
			}
		}
	}
	return true
}

// clipBytes shortens what a report shows of a stream.
func clipBytes(b []byte) []byte { return b[:min(len(b), maxTitle)] }

func (s *served) differs(why, then, now string) {
	s.p.diverge(replay.Divergence{
		Kind: replay.Different, What: "input", Name: s.x.Record().Name, Recorded: s.x.Record().Call.N, Now: s.x.N(), Nearest: -1,
		Where: []canon.Difference{{Pointer: "/stdin", A: canon.String(strings.ToValidUTF8(then, "\uFFFD")), B: canon.String(strings.ToValidUTF8(now, "\uFFFD"))}},
		Msg:   why,
	})
}

// given is what the agent gives a command to read, without secrets.
type given struct {
	parts chan []byte // closed at the end
	over  chan struct{}
	rest  []byte
}

// listen takes what the agent gives in a replay.
func (s *served) listen() *given {
	g := &given{parts: make(chan []byte), over: make(chan struct{})}
	go func() {
		defer close(g.parts)
		clean := s.p.o.Redactor.Stream()
		for {
			typ, p, err := s.f.read()
			last := err != nil || typ == frameEOF
			out := clean.Write(nil, p, last)
			if len(out) > 0 {
				select {
				case g.parts <- out:
				case <-g.over:
					return
				}
			}
			if last {
				_ = s.f.write(frameEOF, nil) // if the shim is gone it needs none
				return
			}
			if s.f.write(frameIn, nil) != nil {
				return
			}
		}
	}()
	return g
}

func (g *given) stop() { close(g.over) }

// next returns the next n bytes, or fewer at the end.
func (g *given) next(n int) []byte {
	for len(g.rest) < n {
		p, ok := <-g.parts
		if !ok {
			break
		}
		g.rest = append(g.rest, p...)
	}
	n = min(n, len(g.rest))
	out := slices.Clone(g.rest[:n])
	g.rest = g.rest[n:]
	return out
}

// more returns what comes before the end, a part of it at most.
func (g *given) more() []byte {
	if len(g.rest) > 0 {
		return g.rest
	}
	return <-g.parts
}

func appendIO(dst []byte, stream byte, p []byte) []byte {
	dst = binary.AppendUvarint(append(dst, stream), uint64(len(p)))
	return append(dst, p...)
}

// ReadIO yields the parts of a command's [IOName] content: the stream, 0, 1 or
// 2, and its bytes. It ends at what it cannot read.
func ReadIO(io []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for len(io) > 0 && io[0] >= stdin && io[0] <= stderr {
			size, n := binary.Uvarint(io[1:])
			if n <= 0 || size > uint64(len(io)-1-n) {
				return
			}
			from := 1 + n
			to := from + int(size) //nolint:gosec // it is within io
			if !yield(int(io[0]-stdin), io[from:to]) {
				return
			}
			io = io[to:]
		}
	}
}
