package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Codes of runs.
const (
	// ErrNoCommand means that there is no program to run. Name one.
	ErrNoCommand fault.Invalid = "capture.no_command"
	// ErrNotFound means that the program was not found. Look at its name and
	// at PATH.
	ErrNotFound fault.Invalid = "capture.command_not_found"
	// ErrNotStarted means that the program is there and cannot be started.
	ErrNotStarted fault.Invalid = "capture.command_not_startable"
	// ErrNothingRecorded means that the run holds no call, or none that has an
	// answer, so that a replay of it would prove nothing. Record again, with the
	// agent pointed at the recorder.
	ErrNothingRecorded fault.Invalid = "capture.nothing_recorded"
	// ErrListen means that no loopback address could be listened on.
	ErrListen fault.Unavailable = "capture.listen_failed"
)

// RunOptions are what a run of a foreign program needs. All fields but
// Command and Config have useful zero values.
type RunOptions struct {
	Command []string
	Env     []string // of the child, as os.Environ gives it
	Dir     string   // of the child; empty: that of this process
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan os.Signal // are passed on to the child
	Grace   time.Duration    // between asking the child to end and killing it; 0: 5 s

	Config    drive.Config
	StoreKey  [32]byte        // keys the fingerprints of credentials
	Secrets   []redact.Secret // that Env does not show by their names
	Upstreams []string        // NAME=URL
	Title     string
	Setting   match.Setting // of this run; see [SettingAt]

	MaxRequest int64
	// Normalisers are the rules of the match key; nil: those of the record that
	// is replayed, else [match.Normalisers].
	Normalisers []match.Normaliser
	Transport   http.RoundTripper
	Sockets     Sockets // of a recording; a replay takes those of its record

	// Proxy sends the child through a forward proxy as well, for clients that
	// take no base URL. A replay has one where its record had, and where it is
	// hermetic.
	Proxy bool
	// sealing says that there is a forward proxy only to refuse what the record
	// does not answer for.
	sealing bool
	// Intercept are patterns of hosts that are recorded through the forward
	// proxy, beside those of the known providers; * is every host.
	Intercept []string

	// Shims are the programs that are recorded when the child runs them by
	// name. A replay takes those of its record.
	Shims []string
	// ShimCommand is what calls [ExecShim] for a program whose name and
	// arguments follow it; there are no shims without.
	ShimCommand []string
	// CellCommand is what calls [EnterCell]; nothing is isolated without.
	CellCommand []string
	// Box is a command that runs the program whose path and arguments follow
	// it so that it writes nowhere but into a folder that goes away. Empty: the
	// program writes where its user may.
	Box []string
}

// ReplayOptions are what the replay of a recorded run needs besides.
type ReplayOptions struct {
	Run           ledger.RunID
	AnyCredential bool
	Pace          float64
	// Until is of a branch: the first so many entries answer, and what comes
	// after them is live. Zero: everything is answered from the record.
	Until int64

	// Hermetic gives the child nothing but the record: the forward proxy
	// refuses every host that it does not answer for, and where the system
	// allows it the child has a network in which there is nothing else.
	Hermetic Isolation
	// ToolsLive runs the commands that were recorded again, instead of
	// answering them from the record.
	ToolsLive bool
	// Set is of a branch: what is changed in the requests to models that it
	// makes.
	Set []Change
}

// Result is what came of a run.
type Result struct {
	Run       ledger.RunID
	Status    int // exit status of the child: 128 + n if signal n ended it
	Counts    drive.Counts
	Upstreams []Upstream
	Report    *replay.Report // of a replay
	Tunnelled []HostCount    // hosts that the forward proxy passed on, unrecorded
	Refused   int64          // WebSockets that were refused so that the client goes on with HTTP
	Unused    []ledger.Ref   // of a replay: recorded calls that answered nothing
}

// Record runs a program and records its traffic. It returns when the program
// has ended and the run is sealed. An error means that the recording is not
// complete; what the ledger holds is sound all the same.
func Record(ctx context.Context, o RunOptions) (*Result, error) {
	return run(ctx, &o, nil)
}

// Replay runs a program again and answers its traffic from a recorded run. It
// reaches no upstream, unless it is a branch that has left the record.
func Replay(ctx context.Context, o RunOptions, r ReplayOptions) (*Result, error) {
	return run(ctx, &o, &r)
}

func run(ctx context.Context, o *RunOptions, r *ReplayOptions) (_ *Result, err error) {
	if len(o.Command) == 0 {
		return nil, fault.New(ErrNoCommand, "capture.Run", "there is no program to run")
	}
	plan, err := o.plan()
	if err != nil {
		return nil, err
	}
	if r == nil {
		if err := o.checkAround(); err != nil {
			return nil, err
		}
	}
	ups := plan.upstreams
	red := redact.New(o.StoreKey, append(redact.EnvSecrets(o.Env), o.Secrets...))
	if o.Sockets, err = ParseSockets(string(o.Sockets)); err != nil {
		return nil, err
	}
	opening, j, err := o.opening(ctx, r, ups, red)
	if err != nil {
		return nil, err
	}
	if plan.redirect != nil {
		opening.Data = opening.Data.With("program", canon.String(plan.redirect.program.Name))
	}
	s, err := drive.Open(ctx, o.Config, opening)
	if err != nil {
		return nil, err
	}
	opts := Options{
		Upstreams: ups, Redactor: red, Normalisers: o.Normalisers, Setting: o.Setting,
		MaxRequest: o.MaxRequest, Transport: o.Transport, Sockets: o.Sockets, AWSKeys: AWSKeys(o.Env),
	}
	if r != nil {
		opts.Pace, opts.Replaying, opts.Set = r.Pace, r.Until == 0, r.Set
		opts.Record = &Recorded{Reader: drive.NewReader(o.Config.Store, r.Run), Journal: j}
	}
	p, err := New(s, opts)
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	w, err := o.surround(ctx, p, r, ups)
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	status, signal, err := o.redirected(ctx, plan, w)
	w.close()
	p.Close()
	end := context.WithoutCancel(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Seal(end, "not_started", canon.Value{}, nil))
	}
	how := "ok"
	if status != 0 {
		how = "failed"
	}
	data := canon.Object(canon.M("exit", canon.Int(int64(status))))
	if signal != "" {
		data = data.With("signal", canon.String(signal))
	}
	passed, _ := w.tunnel.counts()
	if passed != nil {
		data = data.With("tunnelled", hostsValue(passed))
	}
	if err := s.Seal(end, how, data, nil); err != nil {
		return nil, err
	}
	res := &Result{Run: s.Run(), Status: status, Counts: s.Counts(), Upstreams: ups, Tunnelled: passed, Refused: p.refused.Load()}
	if r == nil {
		return res, nil
	}
	for _, left := range j.Left() {
		res.Unused = append(res.Unused, left.Call)
	}
	if res.Report, err = p.ReplayReport(end, o.Config.Store); err != nil {
		return res, err
	}
	w.conditions(p, r, j).report(res.Report)
	compareExit(res.Report, j, int64(status))
	return res, nil
}

// compareExit adds a divergence if the program ended otherwise than then.
func compareExit(r *replay.Report, j *Journal, now int64) {
	then, ok := j.Sealed().Get("data").Get("exit").AsInt()
	if !ok || then == now {
		return
	}
	r.Diverge(replay.Divergence{
		Kind: replay.Different, What: "exit status", Recorded: -1, Now: -1, Nearest: -1,
		Where: []canon.Difference{{Pointer: "/exit", A: canon.Int(then), B: canon.Int(now)}},
		Msg:   "the program ended with another status",
	})
	r.Verdict = replay.Diverged
}

// opening returns what the open of the run says.
func (o *RunOptions) opening(ctx context.Context, r *ReplayOptions, ups []Upstream, red *redact.Redactor) (drive.Opening, *Journal, error) {
	argv := make([]canon.Value, len(o.Command))
	for i, a := range o.Command {
		argv[i] = canon.String(red.Text(strings.ToValidUTF8(a, "\uFFFD")))
	}
	title := o.Title
	if title == "" {
		title = strings.Join(o.Command, " ")
	}
	j, err := o.journal(ctx, r)
	if err != nil {
		return drive.Opening{}, nil, err
	}
	open := drive.Opening{
		Engine: Engine, Mode: "record", Title: clip(red.Text(strings.ToValidUTF8(title, "\uFFFD"))),
		Data: canon.Object(
			canon.M("argv", canon.Array(argv...)),
			canon.M(match.RulesMember, match.RuleIDs(o.Normalisers)),
			canon.M("setting", o.Setting.Value()),
			canon.M("sockets", canon.String(string(o.Sockets))),
			canon.M("upstreams", upstreamsValue(ups)),
		),
	}
	if r == nil {
		open.Data = o.declare(open.Data)
		return open, nil, nil
	}
	o.Sockets = socketsOf(j.Opened())
	open.Data = open.Data.With("sockets", canon.String(string(o.Sockets)))
	o.inherit(j.Opened(), r)
	open.Data = o.declare(open.Data)
	if len(r.Set) > 0 {
		open.Data = open.Data.With("set", changesValue(r.Set))
	}
	if r.ToolsLive {
		j.forget(KindExec)
	}
	last := j.Last()
	open.Mode, open.From, open.Source, open.Lazy = "replay", r.Run, &last, true
	open.Sources = drive.All(j)
	if r.Until > 0 {
		open.Mode, open.Lazy, open.Trunk = drive.ModeBranch, false, true
		open.Sources = drive.All(prefix{j})
	}
	return open, j, nil
}

// journal reads the record of a replay, and settles which normalisers hold.
func (o *RunOptions) journal(ctx context.Context, r *ReplayOptions) (j *Journal, err error) {
	if r == nil {
		if o.Normalisers == nil {
			o.Normalisers = match.Normalisers()
		}
		return nil, nil
	}
	if j, err = ReadJournal(ctx, o.Config.Store, r.Run, r.Until); err != nil {
		return nil, err
	}
	if r.Until == 0 {
		const op = "capture.Replay"
		if j.Len() == 0 {
			return nil, fault.New(ErrNothingRecorded, op, "run %s holds no call: nothing came through the recorder then, and there is nothing to compare with", r.Run)
		}
		if n, imported := j.Opened().Get("import").Get("replayable").AsInt(); imported && n == 0 {
			return nil, fault.New(ErrNothingRecorded, op, "run %s was imported as evidence only: it can be shown, verified and compared, and answers nothing", r.Run)
		}
	}
	if r.AnyCredential {
		j.AnyCredential()
	}
	if o.Normalisers == nil {
		o.Normalisers, err = match.RulesOf(j.Opened())
	}
	return j, err
}

// maxTitle bounds a title.
const maxTitle = 200

func clip(s string) string {
	if len(s) <= maxTitle {
		return s
	}
	return strings.ToValidUTF8(s[:maxTitle], "") + "…"
}

// prefix answers from the beginning of a record until all of that is used,
// and makes every call from then on.
type prefix struct{ *Journal }

// Name implements [effect.Source].
func (prefix) Name() string { return "prefix" }

// Answer implements [effect.Source].
func (p prefix) Answer(k effect.Key, c *effect.Call) (effect.Answer, error) {
	a, err := p.Journal.Answer(k, c)
	if errors.Is(err, effect.ErrNoOutcome) || errors.Is(err, effect.ErrMissing) && len(p.Left()) == 0 {
		return effect.Answer{Mode: effect.MakeIt}, nil
	}
	return a, err
}

// find returns the path of a program.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return "", fault.New(ErrNotStarted, "capture.Run", "%s is not a program that may be run", name)
	default:
		return "", fault.New(ErrNotFound, "capture.Run", "%q is not found", name)
	}
}

// redirected runs the program to its end in its surroundings. What the ledger
// names is the command as the user gave it.
func (o *RunOptions) redirected(ctx context.Context, p plan, w *surroundings) (status int, signal string, err error) {
	path, argv := p.path, o.Command
	if r := p.redirect; r != nil {
		var remove func()
		argv, w.env, remove, err = r.apply(argv, p.at, w.env, w.listeners.addr)
		defer remove()
		if err != nil {
			return 0, "", err
		}
	}
	if len(o.Box) > 0 {
		argv = append(append(slices.Clone(o.Box), path), argv[1:]...)
		if path, err = find(o.Box[0]); err != nil {
			return 0, "", err
		}
	}
	return o.child(ctx, path, argv, w)
}
