package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// ErrEmpty means that the agent ran and nothing came through the recorder, so
// that the recording holds nothing. Point the agent at the recorder.
const ErrEmpty fault.Unavailable = "capture.empty"

// The exit statuses of record beside the agent's own, as shells and their
// helpers have them.
const (
	exitRecorder     = 125
	exitNotStartable = 126
	exitNotFound     = 127
)

func (a *app) recordCommand() *cobra.Command {
	var upstreams, rules []string
	var title, sockets string
	var f around
	cmd := &cobra.Command{
		Use: "record -- CMD…", Short: "Run an agent and record its model and tool calls", GroupID: "record",
		Long: `Run an agent and record its model and MCP calls.

The agent's own variables (OPENAI_BASE_URL, ANTHROPIC_BASE_URL and the like) are
pointed at the recorder, which passes everything on to where they pointed
before, else to the provider's public address. What the agent reads and prints
is not touched, and the exit status is its own; 125 means that the recorder
failed, 126 that the agent cannot be started, 127 that it was not found.

With --proxy an agent whose client takes no base URL is recorded too: it is sent
through a proxy of this run, which shows it a certificate of the hosts of known
providers, and of those that --intercept names. Only the agent is told to trust
that certificate; its key is never written anywhere. Other hosts are passed on
unread. With --shim the programs that it names are recorded when the agent runs
them: arguments, input, output and status.

With --json the agent prints to standard error, so that standard output holds
the summary and nothing else.`,
		Example: example(
			"reprise record -- node agent.mjs",
			"reprise record --upstream openai=http://127.0.0.1:11434/v1 -- python agent.py",
			"reprise record -- sh -c 'claude -p hi'",
			"reprise record --proxy --shim git,npm -- node agent.mjs",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, agent, err := agentCommand(cmd, args, 0)
			if err != nil {
				return err
			}
			how, err := capture.ParseSockets(sockets)
			if err != nil {
				return err
			}
			a.status = exitRecorder
			return a.record(cmd.Context(), agent, upstreams, rules, title, how, &f)
		},
	}
	cmd.Flags().StringArrayVar(&upstreams, "upstream", nil, "where a provider really is, as NAME=URL; may be given more than once")
	cmd.Flags().StringArrayVar(&rules, "normalise", nil, "also match by this normaliser in replays, though it may make two different prompts equal; match rules lists them")
	f.register(cmd)
	cmd.Flags().StringVar(&title, "title", "", "what lists call the run (default: the command)")
	cmd.Flags().StringVar(&sockets, "websocket", "auto", "what becomes of WebSockets: relay, refuse, or auto: refuse the first one where HTTP will do")
	return cmd
}

func (a *app) replayCommand() *cobra.Command {
	var o capture.ReplayOptions
	var f proveFlags
	var in inner
	var pace string
	var out outputs
	cmd := &cobra.Command{
		Use: "replay RUN [-- CMD…]", ValidArgsFunction: a.complete(1), Short: "Run the agent again, every answer from the record; or prove a trajectory", GroupID: "replay",
		Long: `Run the agent again and answer its model and MCP calls from the record of RUN,
byte for byte. No upstream is reached. A call that is not in the record gets no
answer and is reported with the recorded call that comes nearest; recorded
calls that do not come again are reported too.

The exit status is 0 if the agent did the same and ended with the same status,
1 if not.

With --hermetic the agent reaches the record and nothing else. On Linux it gets
a network of its own, where users may have one; where not, it is sent through a
proxy that refuses, and the report says what was not blocked. Commands that were
recorded with --shim are answered from the record and not run; --tools live runs
them. The report names the level: hermetic, tools live, or of a branch branch
live; verify runs nothing at all.

A trajectory has no agent to run again, and is replayed without CMD: no model and
no tool is called. --verify checks the ledger, the law that it holds, every
signature, and that each decision follows from what came in; --fold-world prints
the world; --policy-trace prints the rules behind every commit, rejection and
suspension. Without any of the three it is --verify. Pins (--compiler, --signer,
--policy-set, --root, --expect-head, --world) find drift. The exit status is 3 if
a check failed, 1 if not everything could be checked.`,
		Example: example(
			"reprise replay last -- node agent.mjs", "reprise replay last --pace original -- node agent.mjs", "reprise replay last --hermetic -- node agent.mjs", "reprise replay 0190a1 --json -- node agent.mjs",
			"reprise replay last --verify --fold-world --policy-trace", "reprise replay last --verify --signer signer.pub --policy-set 4ab6… --expect-head 61:3f9a…",
			"reprise replay last --verify --at 12 --json",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() < 0 && len(args) == 1 {
				if fs := given(cmd, []string{"any-credential", "pace", "hermetic", "tools"}); len(fs) == 0 && out == (outputs{}) {
					return a.replayOrProve(cmd, args[0], &f)
				}
			}
			if fs := given(cmd, proving()); len(fs) > 0 {
				return fault.New(ErrUsage, "cli.replay", "%s is for trajectories, which are replayed without a command", strings.Join(fs, ", "))
			}
			own, agent, err := agentCommand(cmd, args, 1)
			if err != nil {
				return err
			}
			if o.Pace, err = capture.ParsePace(pace); err != nil {
				return err
			}
			if err := in.apply(&o); err != nil {
				return err
			}
			return a.replay(cmd.Context(), own[0], agent, o, &out)
		},
	}
	cmd.Flags().BoolVar(&o.AnyCredential, "any-credential", false, "match calls that were recorded with another credential")
	f.register(cmd)
	out.flags(cmd)
	in.register(cmd)
	cmd.Flags().StringVar(&pace, "pace", "none", "how fast answers come: none (at once), original (as they came), or so many times as fast")
	return cmd
}

func (a *app) branchCommand() *cobra.Command {
	var upstreams []string
	var note, script string
	var o capture.ReplayOptions
	var f changeFlags
	cmd := &cobra.Command{
		Use: "branch RUN@N [-- CMD…]", Short: "Replay a run up to entry N and go on live, as a new run", GroupID: "replay",
		Long: `Run the agent again. Its calls are answered from the record of RUN up to and
including entry N (show prints the entries); what it asks after that is made
live. The result is a new run that names the one it left, and where.

--model asks another model from there on, and --set changes any other part of
the requests to models, such as a prompt. The record has what the agent asked
and what was changed in it.

The exit status is ours: 0 when the branch was recorded, whatever the agent's
status; that is in the summary.

A trajectory needs no command: its engine goes on from entry N by itself, with
the world as it stood there.`,
		Example: example("reprise branch last@6 --note 'without the discount'", "reprise branch last@6 -- node agent.mjs",
			"reprise branch last@6 --model gpt-5-mini --set /temperature=0 -- node agent.mjs", "reprise branch last@6 --upstream openai=http://127.0.0.1:11434/v1 -- node agent.mjs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.apply(&o); err != nil {
				return err
			}
			if cmd.ArgsLenAtDash() < 0 && len(args) == 1 && len(o.Set) == 0 {
				return a.branchEngine(cmd, args, note, script)
			}
			own, agent, err := agentCommand(cmd, args, 1)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("note") || cmd.Flags().Changed("script") {
				return fault.New(ErrUsage, "cli.branch", "--note and --script are for trajectories, which go on without a command")
			}
			return a.branch(cmd.Context(), own[0], agent, upstreams, o)
		},
	}
	cmd.Flags().StringArrayVar(&upstreams, "upstream", nil, "where a provider really is, as NAME=URL; may be given more than once")
	cmd.Flags().BoolVar(&o.AnyCredential, "any-credential", false, "match calls that were recorded with another credential")
	f.register(cmd)
	cmd.Flags().StringVar(&note, "note", "", "of a trajectory: why, for people who read the ledger")
	cmd.Flags().StringVar(&script, "script", "", "of a trajectory: answer from this script from now on")
	return cmd
}

func (s *opened) storeKey(ctx context.Context) ([32]byte, error) {
	return capture.StoreKey(ctx, s, s.a.rand)
}

// runOptions returns what record, replay and branch have in common, without
// what [opened.complete] takes from the store.
func (a *app) runOptions(agent, upstreams []string) (capture.RunOptions, error) {
	o := capture.RunOptions{
		Command: agent, Env: a.env, Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Upstreams: upstreams,
	}
	if a.json {
		o.Stdout = a.stderr
	}
	exe, err := a.executable()
	if err != nil {
		return o, err
	}
	o.ShimCommand, o.CellCommand = []string{exe, execShimName}, []string{exe, cellName}
	cwd, err := os.Getwd()
	if err != nil {
		return o, fault.Wrap(ErrFile, "cli.record", err, "the working folder")
	}
	o.Setting = match.SettingAt(a.now(), cwd)
	return o, nil
}

// complete adds where a run is written and what signs it.
func (s *opened) complete(ctx context.Context, o *capture.RunOptions) error {
	k, err := s.a.openKeys()
	if err != nil {
		return err
	}
	if o.Config, err = s.config(k); err != nil {
		return err
	}
	o.StoreKey, err = s.storeKey(ctx)
	return err
}

// again returns what a recorded run runs again with. What cannot be run is
// refused.
func (s *opened) again(ctx context.Context, r *insight.Run, agent, upstreams []string) (capture.RunOptions, error) {
	o, err := s.a.runOptions(agent, upstreamsOf(r, upstreams...))
	if err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	o.Title = r.Title
	return o, s.complete(ctx, &o)
}

// typed returns a command as it can be typed again: this program itself by the
// name that it was called by, since "go run" leaves no file behind.
func (a *app) typed(agent []string) string {
	own, err := os.Executable()
	if err != nil || len(agent) == 0 || agent[0] != own {
		return quoteAll(agent)
	}
	return strings.TrimSpace(a.self + " " + quoteAll(agent[1:]))
}

// signals returns what is passed on to the agent. An interrupt from the
// keyboard goes to both processes by itself.
func (a *app) signals() (list <-chan os.Signal, stop func()) {
	ch := make(chan os.Signal, 8)
	watch := []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
	if f, ok := a.stdin.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		watch = append(watch, os.Interrupt)
	}
	signal.Notify(ch, watch...)
	return ch, func() { signal.Stop(ch) }
}

func (a *app) record(ctx context.Context, agent, upstreams, rules []string, title string, sockets capture.Sockets, f *around) error {
	list, err := match.Select(rules)
	if err != nil {
		return err
	}
	o, err := a.runOptions(agent, upstreams)
	if err != nil {
		return err
	}
	o.Title, o.Sockets, o.Normalisers = title, sockets, list
	if err := f.apply(&o); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return a.recordFailed(err) // before a store is made or a word is said
	}
	ctx = context.WithoutCancel(ctx) // the agent decides when it ends
	s, err := a.openNew(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.complete(ctx, &o); err != nil {
		return err
	}
	signals, stop := a.signals()
	o.Signals = signals
	defer stop()
	a.sayf("%s recording %s into %s\n", a.err.bad("●"), a.err.bold(clean(a.typed(agent))), clean(s.dsn))
	res, err := capture.Record(ctx, o)
	if err != nil {
		return a.recordFailed(err)
	}
	a.status = res.Status
	next := []string{"show last", "verify last", "replay last -- " + a.typed(agent)}
	if res.Counts.Calls == 0 {
		next = nil
	}
	if err := s.summarise(ctx, res.Run, "recorded", nil, next...); err != nil {
		return err
	}
	if res.Counts.Calls > 0 {
		return nil
	}
	if a.status == 0 {
		a.status = exitRecorder
	}
	return a.empty(res)
}

func (a *app) recordFailed(err error) error {
	switch {
	case errors.Is(err, capture.ErrNotFound):
		a.status = exitNotFound
	case errors.Is(err, capture.ErrNotStarted):
		a.status = exitNotStartable
	}
	return err
}

// empty says that a recording holds nothing, and what may be the reason.
func (a *app) empty(res *capture.Result) error {
	if res.Refused > 0 {
		return fault.New(ErrEmpty, "cli.record", "the agent asked for a WebSocket, was refused, and asked for nothing else").With(
			"to relay and record it: " + a.self + " record --websocket relay -- CMD…",
		)
	}
	var vars []string
	for i := range res.Upstreams {
		for _, v := range res.Upstreams[i].Vars {
			vars = append(vars, v.Name)
		}
	}
	return fault.New(ErrEmpty, "cli.record", "the agent ran, and nothing came through the recorder").With(
		"an agent is recorded if it honours one of these variables: "+strings.Join(vars, ", "),
		"for one that reads another variable NAME_BASE_URL: "+a.self+" record --upstream name=URL -- CMD…",
		"one that takes an argument or a configuration instead, as "+a.self+" doctor says, is pointed at the recorder where it is CMD itself, not where a shell or a script starts it",
	)
}

// summarise closes what a run of an agent prints: what it was and how to go
// on. Report is that of a replay or a branch.
func (s *opened) summarise(ctx context.Context, run ledger.RunID, verb string, report *replay.Report, next ...string) error {
	a := s.a
	prices, err := a.prices("")
	if err != nil {
		return err
	}
	var sums insight.Totals
	failed := int64(-1)
	for c, err := range insight.Calls(ctx, s, run, prices) {
		if err == nil {
			err = sums.Add(&c)
		}
		if failed < 0 && c.Failed() && c.HTTP == 0 {
			failed = c.Outcome
		}
		if err != nil {
			return err
		}
	}
	info, err := s.find(ctx, string(run))
	if err != nil {
		return err
	}
	r, err := s.summary(ctx, info)
	if err != nil {
		return err
	}
	if a.json {
		v := canon.Object(canon.M("run", r.Value().With("state", canon.String(s.state(&r)))), canon.M("totals", sums.Value()))
		if report != nil {
			v = v.With("report", report.Value())
		}
		a.print(v)
		return nil
	}
	took := ""
	if d, ok := r.Took(); ok {
		took = " · " + duration(d)
	}
	exit := ""
	if r.Exit != nil && *r.Exit != 0 {
		exit = " · " + a.err.bad(fmt.Sprintf("agent exit %d", *r.Exit))
	}
	a.sayf("%s %s run %s: %s%s%s\n", a.err.good("■"), verb, a.err.name(short(run)), sumLine(&sums), took, exit)
	if failed >= 0 && sums.Failed == sums.Calls {
		a.sayf("%s no call got an answer; entry %d says why\n", a.err.warn("warning:"), failed)
		next = append([]string{fmt.Sprintf("show last --at %d", failed)}, next...)
	}
	for i := range next {
		next[i] += a.flag()
		if at := strings.Index(next[i], " -- "); at >= 0 && a.flag() != "" {
			next[i] = strings.TrimSuffix(next[i], a.flag())
			next[i] = next[i][:at] + a.flag() + next[i][at:]
		}
	}
	a.next(a.stderr, a.err, next...)
	return nil
}

// recorded returns the recorded run that name stands for. A replay is a run
// too, but what it was answered from is what is replayed again.
func (s *opened) recorded(ctx context.Context, name string) (insight.Run, error) {
	info, err := s.find(ctx, name)
	if err != nil {
		return insight.Run{}, err
	}
	for {
		r, err := s.summary(ctx, info)
		if err != nil || r.Mode != "replay" || r.Source == nil {
			return r, err
		}
		s.a.sayf("%s\n", s.a.err.dim(fmt.Sprintf("run %s is itself a replay; taking the run it replayed, %s", short(r.Run), short(r.Source.Run))))
		if info, err = s.find(ctx, string(r.Source.Run)); err != nil {
			return r, err
		}
	}
}

// upstreamsOf returns the upstreams of a recorded run as flags, so that the
// agent makes the same requests whatever its environment says now. Those that
// are given take the place of recorded ones of the same name.
func upstreamsOf(r *insight.Run, given ...string) []string {
	out := slices.Clone(given)
	for _, u := range r.Open.Get("upstreams").Elems() {
		// A name with a variable in it stands for a second address of a provider;
		// only the environment can say that one.
		name, address := u.Get("name").Str(), u.Get("url").Str()
		isNew := !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(g, name+"=") })
		if !strings.Contains(name, ".") && isNew {
			out = append(out, name+"="+address)
		}
	}
	return out
}

func (a *app) replay(ctx context.Context, name string, agent []string, o capture.ReplayOptions, out *outputs) error {
	if err := out.check(a); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	s, err := a.openOld(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.recorded(ctx, name)
	if err != nil {
		return err
	}
	ro, err := s.again(ctx, &r, agent, nil)
	if err != nil {
		return err
	}
	signals, stop := a.signals()
	ro.Signals = signals
	defer stop()
	o.Run = r.Run
	a.sayf("%s replaying run %s: every answer from the record, no upstream is reached\n", a.err.good("▶"), a.err.name(short(r.Run)))
	from := a.now()
	res, err := capture.Replay(ctx, ro, o)
	if err != nil {
		return err
	}
	if err := regress.Explain(ctx, s, res.Report); err != nil {
		return err
	}
	took := a.now().Sub(from)
	sums, err := s.saved(ctx, &r, math.MaxInt64, &o, res)
	if err != nil {
		return err
	}
	publish := func() error {
		return a.publishOne(ctx, out, s, "reprise replay", or(r.Title, short(r.Run)), res.Report, took)
	}
	if a.json {
		a.report(res.Report)
		return publish()
	}
	a.toStderr()
	if err := publish(); err != nil {
		return err
	}
	a.report(res.Report)
	a.saySaved(sums)
	d := res.Report.First()
	if d != nil {
		a.next(a.stderr, a.err, "diff "+short(r.Run)+" "+short(res.Run)+a.flag())
	}
	if d != nil && d.Cause != nil && d.Cause.Origin == replay.FromCaller {
		a.next(a.stderr, a.err, "replay "+short(r.Run)+a.flag()+" --any-credential -- "+quoteAll(agent))
	}
	return nil
}

// toStderr lets results go to standard error, because the agent has printed
// to standard output.
func (a *app) toStderr() { a.stdout, a.out = a.stderr, a.err }

func (a *app) branch(ctx context.Context, at string, agent, upstreams []string, o capture.ReplayOptions) error {
	ctx = context.WithoutCancel(ctx)
	name, n, err := splitAt(at)
	if err != nil {
		return err
	}
	s, r, err := a.openSummary(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	if n >= r.At.Count {
		return fault.New(ErrUsage, "cli.branch", "run %s has %d entries, so there is no entry %d", short(r.Run), r.At.Count, n)
	}
	ro, err := s.again(ctx, &r, agent, upstreams)
	if err != nil {
		return err
	}
	signals, stop := a.signals()
	ro.Signals = signals
	defer stop()
	o.Run, o.Until = r.Run, n+1
	a.sayf("%s branching from run %s: answers from the record up to entry %d, live from there\n", a.err.good("⑂"), a.err.name(short(r.Run)), n)
	res, err := capture.Replay(ctx, ro, o)
	if err != nil {
		return err
	}
	if res.Counts.Missed > 0 {
		a.status = fault.ExitDiverged
	}
	sums, err := s.saved(ctx, &r, n+1, &o, res)
	if err != nil {
		return err
	}
	if !a.json {
		a.saySaved(sums)
		for _, m := range res.Report.Remarks {
			a.sayf("%s %s\n", a.err.dim("·"), clean(m))
		}
	}
	if err := s.summarise(ctx, res.Run, "branched", res.Report, "show last", "diff "+short(r.Run)+" "+short(res.Run)); err != nil {
		return err
	}
	if res.Counts.Missed > 0 && !a.json {
		a.sayf("%s %s did not match the record before the branch left it, and got no answer\n", a.err.bad("diverged:"), plural(res.Counts.Missed, "call"))
	}
	return nil
}

// splitAt reads RUN@N.
func splitAt(s string) (run string, n int64, err error) {
	i := strings.LastIndexByte(s, '@')
	if i < 0 {
		return "", 0, fault.New(ErrUsage, "cli.branch", "%q is not RUN@N; %q prints the entries of a run", s, "reprise show RUN")
	}
	if _, err := fmt.Sscanf(s[i+1:], "%d", &n); err != nil || n < 0 || fmt.Sprint(n) != s[i+1:] {
		return "", 0, fault.New(ErrUsage, "cli.branch", "%q is not RUN@N with the number of an entry", s)
	}
	return s[:i], n, nil
}
