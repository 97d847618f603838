package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

type jobReplayFlags struct {
	mode, actor, reason string
	rerun, mocks        []string
	sandbox             string
	force               bool
	approval            string
	maxTime             time.Duration
	maxIterations       int64
	dsr                 bool
}

func (a *app) jobReplay() *cobra.Command {
	var f jobReplayFlags
	cmd := &cobra.Command{
		Use: "replay JOB", Short: "Replay a job from what it left behind, and prove that it comes out the same",
		Long: `Replay a job from what it left behind, and prove that it comes out the same.
Signatures are checked first; then every decision is computed again and compared,
bit for bit. Each step is appended to an audit run of its own.

audit (the default) reads only. With --mock NODE=FILE an output that was not kept
is stood in for, and the result does not count. reexecute runs agents again as
--rerun says, in a sandbox: their models and tools answer from the record (or
from --mock KIND:NAME=FILE), they reach no network and write into a temporary
folder only. Where this system gives no such sandbox, --sandbox auto runs them all
the same and says what they were not kept from; require refuses. production takes everything from
the record; what is missing halts it. It needs an admin and an auditor, or the
council.

The first difference stops the replay. --force-continue goes on behind it, with
votes of an admin and of the council (govern approve), and does not count.
--dsr shows an admin what was said before redaction, and records that it did.

The status is 0 if everything is the same, 1 if something differs, 2 if something
is missing, 3 if something was changed, 4 if it may not be done.`,
		Example: example(
			"reprise job replay last", "reprise job replay last --mode production --actor alice",
			"reprise job replay last --mode reexecute --rerun all", "reprise job replay last --force-continue --approval 3f9a",
		),
		Args: exactly(1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replayJob(cmd.Context(), args[0], &f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.mode, "mode", string(job.Audit), "audit, reexecute or production")
	fs.StringVar(&f.actor, "actor", "", "ask with this key (see keys actor; default operator)")
	fs.StringVar(&f.reason, "reason", "", "why, for people who read the ledger")
	fs.StringArrayVar(&f.rerun, "rerun", nil, "of reexecute: none, all, or the node or iteration whose agent runs again; may be given more than once")
	fs.StringVar(&f.sandbox, "sandbox", string(capture.IsolateAuto), "of reexecute: auto or require")
	fs.StringArrayVar(&f.mocks, "mock", nil, "an output that stands in for one that was not kept, as NODE=FILE or ITERATION=FILE; or an answer of a model or tool, as in model:chat=FILE")
	fs.BoolVar(&f.force, "force-continue", false, "go on behind differences")
	fs.StringVar(&f.approval, "approval", "", "the request whose votes allow it")
	fs.DurationVar(&f.maxTime, "max-time", 0, "stop after this long; may only lower the limit of the snapshot")
	fs.Int64Var(&f.maxIterations, "max-iterations", 0, "replay so many iterations at most; may only lower the limit of the snapshot")
	fs.BoolVar(&f.dsr, "dsr", false, "for a data subject: show what is redacted, to an admin, on the record")
	return cmd
}

func (f *jobReplayFlags) request() (jobs.ReplayRequest, error) {
	q := jobs.ReplayRequest{
		By: jobs.Act{As: f.actor, Reason: f.reason}, Mode: job.Mode(f.mode), Force: f.force, Approval: f.approval,
		MaxTime: f.maxTime, MaxIterations: f.maxIterations, DSR: f.dsr, Rerun: f.rerun,
	}
	if f.maxTime < 0 || f.maxIterations < 0 {
		return q, fault.New(ErrUsage, "cli.job", "limits can only be lowered, not be negative")
	}
	var err error
	if q.Sandbox, err = capture.ParseIsolation(f.sandbox); err != nil {
		return q, err
	}
	for _, m := range f.mocks {
		name, file, ok := strings.Cut(m, "=")
		if !ok {
			return q, fault.New(ErrUsage, "cli.job", "--mock is NODE=FILE, not %q", m)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return q, fault.Wrap(ErrFile, "cli.job", err, "the mock for %s", name)
		}
		if q.Mocks == nil {
			q.Mocks = map[string][]byte{}
		}
		q.Mocks[name] = b
	}
	return q, nil
}

func (a *app) replayJob(ctx context.Context, name string, f *jobReplayFlags) error {
	q, err := f.request()
	if err != nil {
		return err
	}
	s, run, err := a.openJob(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	q.Run = run
	r, err := s.jobRunner()
	if err != nil {
		return err
	}
	stop := a.progress("replaying")
	out, err := r.Replay(ctx, q)
	stop()
	if out == nil {
		return err
	}
	if a.json {
		a.print(replayedValue(out, err))
		return err
	}
	a.replayed(out, err)
	return err
}

// replayed prints what came of a replay. Its first line names mode and
// authority.
func (a *app) replayed(r *jobs.Replayed, err error) {
	if r.Result == nil {
		if r.Request != "" {
			a.sayf("request %s is recorded\n", r.Request[:min(12, len(r.Request))])
		}
		if errors.Is(err, jobs.ErrMode) && r.Mode == job.Production {
			a.next(a.stderr, a.err, "govern approve "+r.Request[:12]+a.flag())
		}
		return
	}
	mark, word := a.out.good("same"), "authoritative"
	if err != nil {
		mark = a.out.bad(fault.CodeOf(err).Error())
	}
	if !r.Authoritative() {
		word = a.out.warn("NON-AUTHORITATIVE")
	}
	a.printf("%s · %s replay · %s · %s\n", mark, r.Mode, word, plural(r.Result.Steps, "step"))
	for _, why := range r.Result.Why {
		a.printf("  %s %s\n", a.out.dim("because"), clean(why))
	}
	if err == nil {
		a.printf("  %s %s\n", a.out.dim("answer"), clean(r.Result.Final))
	}
	for _, b := range r.Sandbox.Blocked {
		a.printf("  %s %s\n", a.out.dim("blocked"), clean(b))
	}
	for _, o := range r.Sandbox.Open {
		a.printf("  %s %s\n", a.out.warn("not blocked"), clean(o))
	}
	for _, m := range r.Result.Missing {
		a.printf("  %s %s\n", a.out.warn("missing"), clean(m))
	}
	for _, d := range r.Result.Divergences {
		a.printf("  %s %s of iteration %d\n", a.out.bad(d.Code.Error()), clean(d.What), d.Iteration)
		for _, x := range d.Diff.Get("differences").Elems() {
			a.printf("    %s recorded %s, replayed %s\n", clean(x.Get("pointer").Str()), clean(x.Get("recorded").String()), clean(x.Get("replayed").String()))
		}
	}
	for _, id := range r.Result.Affected {
		a.printf("  %s %s\n", a.out.bad("halted"), clean(id))
	}
	for _, x := range r.Shown {
		a.printf("  %s %s\n", a.out.bold(clean(x.ID)), clean(x.Value.String()))
	}
	next := []string{"show " + short(r.Audit) + a.flag()}
	if !r.Result.Matter.Bound.IsZero() {
		next = append(next, "govern approve "+r.Request[:12]+a.flag()+" --role "+string(govern.Admin), "govern approve "+r.Request[:12]+a.flag()+" --role "+string(govern.Council))
	}
	a.next(a.stdout, a.out, next...)
}

// codeValue is the code of an error, or null.
func codeValue(err error) canon.Value {
	if err == nil {
		return canon.Null()
	}
	return canon.String(fault.CodeOf(err).Error())
}

func replayedValue(r *jobs.Replayed, err error) canon.Value {
	v := canon.Object(
		canon.M("request_id", canon.String(r.Request)),
		canon.M("audit_run", canon.String(string(r.Audit))),
		canon.M("mode", canon.String(string(r.Mode))),
		canon.M("authoritative", canon.Bool(r.Authoritative())),
		canon.M("code", codeValue(err)))
	if r.Result != nil {
		steps := make([]canon.Value, len(r.Steps))
		for i, s := range r.Steps {
			steps[i] = s.Value()
		}
		v = v.With("result", r.Result.Value()).With("steps", canon.Array(steps...)).With("affected", canon.Strings(r.Result.Affected))
	}
	if len(r.Sandbox.Blocked)+len(r.Sandbox.Open) > 0 {
		v = v.With("sandbox", canon.Object(canon.M("blocked", canon.Strings(r.Sandbox.Blocked)), canon.M("not_blocked", canon.Strings(r.Sandbox.Open))))
	}
	if len(r.Shown) > 0 {
		shown := make([]canon.Value, len(r.Shown))
		for i, x := range r.Shown {
			shown[i] = canon.Object(canon.M("id", canon.String(x.ID)), canon.M("value", x.Value))
		}
		v = v.With("unredacted", canon.Array(shown...))
	}
	if err != nil {
		v = v.With("message", canon.String(fault.Text(err)))
	}
	return v
}
