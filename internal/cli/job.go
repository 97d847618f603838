package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/store/s3blob"
)

func (a *app) jobCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "job", Short: "Run seeded jobs, and replay them bit for bit", GroupID: "govern",
		Long: `Run seeded jobs, and replay them bit for bit.

Every decision of a job follows from its seed, its input, five signed snapshots
and the ordered events: which agent is asked, how far it is trusted, what is
remembered. At the end the job says whether it can be replayed, and what lacks
if not.`,
		Example: example("reprise job run job.yaml", "reprise job replay last --mode production", "reprise job missing"),
		Args:    exactly(0, "run, resume, show, log, replay, missing or archive"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.jobRun(), a.jobResume(), a.jobOverride(), a.jobShow(), a.jobLog(), a.jobReplay(), a.jobMissing(), a.jobArchive())
	return cmd
}

// jobRunner returns what runs jobs in the store, with the user's keys and
// environment.
func (s *opened) jobRunner() (*jobs.Runner, error) {
	k, cfg, err := s.signing()
	if err != nil {
		return nil, err
	}
	exe, err := s.a.executable()
	if err != nil {
		return nil, err
	}
	return &jobs.Runner{
		Config: cfg, Keys: k, CellCommand: []string{exe, cellName}, World: s.a.outside(),
		Vault: func(ctx context.Context, place string) (*s3blob.Vault, error) {
			return s3blob.OpenVault(ctx, place, s.a.s3())
		},
		Progress: inTurn(s.a.jobLine),
	}, nil
}

// jobLine says what happens now, one line a step.
func (a *app) jobLine(e jobs.Event) {
	switch {
	case e.Kind == ledger.KindCall:
		a.sayf("  %s %s\n", a.err.dim("asks"), a.err.name(clean(e.Name)))
	case e.Name == job.EventRouter:
		out := e.Data.Get("router_output")
		who := out.Get("selected_agent").Str()
		if who == "" {
			who = out.Get("error").Str()
		}
		a.sayf("  routes to %s\n", a.err.name(clean(who)))
	case e.Name == job.AgentTimeout, e.Name == job.AgentException:
		a.sayf("  %s %s: %s\n", a.err.bad(strings.ToLower(strings.ReplaceAll(e.Name, "_", " "))), clean(e.Data.Get("node_id").Str()), clean(e.Data.Get("payload").String()))
	case e.Kind == ledger.KindPendingApproval:
		a.sayf("  %s\n", a.err.warn("waits for approval"))
	case e.Name == job.EventFact:
		a.sayf("  %s %s\n", a.err.good("remembers"), clean(e.Data.Get("key").Str()))
	}
}

func (a *app) jobRun() *cobra.Command {
	return &cobra.Command{
		Use: "run JOB.yaml", Short: "Begin a job and go on until it is done or waits",
		Long: `Begin a job and go on until it is done or waits for the council. Waiting is no
error: the process ends with status 0 and prints what to type next. The status
is 4 if the job ended without an answer, and 5 if it could not be archived where
its file says.`,
		Example: example("reprise job run job.yaml"),
		Args:    exactly(1, "a job file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := jobs.Read(args[0])
			if err != nil {
				return err
			}
			s, r, err := openJobs(cmd.Context(), a.openNew)
			if err != nil {
				return err
			}
			defer s.Close()
			res, err := r.Start(cmd.Context(), j)
			return s.jobResult(res, err)
		},
	}
}

func (a *app) jobResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume JOB", Short: "Go on with a job that waits, or whose process was killed",
		Example: example("reprise job resume last"),
		Args:    exactly(1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onJob(cmd.Context(), args[0], func(ctx context.Context, r *jobs.Runner, run ledger.RunID) (*jobs.Result, error) {
				return r.Resume(ctx, run)
			})
		},
	}
}

func (a *app) jobOverride() *cobra.Command {
	var f governFlags
	var apt, status string
	cmd := f.register(&cobra.Command{
		Use: "override JOB NODE --apt N", Short: "Set how far an agent is trusted in a job that is not over",
		Long: `Set how far an agent is trusted in a job that is not over. It takes an admin, or
one of the council; the signed act stands in the stream of the job in front of
the MANUAL_OVERRIDE. To quarantine a node takes a request for module_override
that the council has approved, in the governance snapshot.`,
		Example: example("reprise job override last agent:writer_v1 --apt 0.1 --reason 'it guesses'", "reprise job override last agent:writer_v1 --apt 0 --status offline --as alice"),
		Args:    exactly(2, "a job and a node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := canon.Parse([]byte(apt))
			o := job.Override{Status: job.Status(status), Reason: f.act.Reason}
			if err == nil {
				o.APT, err = job.Quantise(v)
			}
			if err != nil {
				return fault.New(ErrUsage, "cli.job", "--apt takes a number of 0 to 1, such as 0.25")
			}
			f.act.Role = govern.Role(f.role)
			return a.onJob(cmd.Context(), args[0], func(ctx context.Context, r *jobs.Runner, run ledger.RunID) (*jobs.Result, error) {
				return r.Override(ctx, run, args[1], o, f.act)
			})
		},
	}, false)
	cmd.Flags().StringVar(&apt, "apt", "", "the trust that it has from now on, 0 to 1")
	cmd.Flags().StringVar(&status, "status", "", "healthy, degraded or offline; empty: as trust and failures lead to")
	return cmd
}

// onJob does something to a job, and says where it stands then.
func (a *app) onJob(ctx context.Context, name string, do func(context.Context, *jobs.Runner, ledger.RunID) (*jobs.Result, error)) error {
	s, run, err := a.openJob(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.jobRunner()
	if err != nil {
		return err
	}
	res, err := do(ctx, r, run)
	return s.jobResult(res, err)
}

// openJobs opens the store, as open does, with what runs jobs in it. The caller
// closes it.
func openJobs(ctx context.Context, open func(context.Context) (*opened, error)) (*opened, *jobs.Runner, error) {
	s, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.jobRunner()
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, r, nil
}

// openJob opens the store that must hold a job of that name. The caller closes
// it.
func (a *app) openJob(ctx context.Context, name string) (*opened, ledger.RunID, error) {
	s, err := a.openOld(ctx)
	if err != nil {
		return nil, "", err
	}
	run, err := s.findJob(ctx, name)
	if err != nil {
		return nil, "", errors.Join(err, s.Close())
	}
	return s, run, nil
}

// findJob resolves the name of a job: as of any run, but last is the newest
// job, whatever was run since.
func (s *opened) findJob(ctx context.Context, name string) (ledger.RunID, error) {
	if name != "last" {
		info, err := s.find(ctx, name)
		return info.Run, err
	}
	for j, err := range jobs.List(ctx, s) {
		if err != nil {
			return "", err
		}
		return j.Run, nil
	}
	return "", fault.New(insight.ErrNoRun, "cli.job", "the store holds no job")
}

// jobResult prints where a job stands, and how to go on.
func (s *opened) jobResult(res *jobs.Result, err error) error {
	a := s.a
	if err != nil {
		if res != nil && !res.Done {
			a.standsStill("job", res.Run)
		}
		if errors.Is(err, drive.ErrSealed) {
			return fault.New(drive.ErrSealed, "cli.job", "the job is over and takes nothing more")
		}
		return err
	}
	if a.json {
		a.print(jobValue(res))
		return res.Err()
	}
	id := short(res.Run)
	switch {
	case res.Pending != nil:
		q := res.Pending
		a.printf("%s job %s waits for approval\n", a.out.warn("‖"), a.out.name(id))
		a.printf("  %s %s of %s, %s risk: %s\n  %s\n", a.out.warn("asks for"), clean(q.Action), clean(q.Origin), clean(string(q.Class)), clean(q.Justification), clean(q.Payload.String()))
		for _, q := range res.Standing {
			a.printf("  %s %s %s of %s is %s\n", a.out.warn("open"), a.out.name(q.ID()[:12]), clean(q.Action), clean(q.Origin), q.Status())
		}
		a.next(a.stdout, a.out, "govern vote "+id+a.flag(), "govern vote "+id+a.flag()+" --deny")
	case !res.Done:
		a.printf("%s job %s waits for %s\n", a.out.warn("‖"), a.out.name(id), clean(res.Waiting))
		a.next(a.stdout, a.out, "job resume "+id+a.flag())
	default:
		mark := a.out.good("■")
		if res.Status != jobs.StatusDone {
			mark = a.out.bad("■")
		}
		a.printf("%s job %s %s after %s\n", mark, a.out.name(id), res.Status, plural(int64(len(res.Log.Iterations)), "iteration"))
		a.printf("  %s\n", clean(res.Log.Final))
		a.replayable(res.Log.Replayable, res.Log.Missing)
		if res.Archived != nil {
			a.archived(res.Archived)
		}
		if res.NotArchived != nil {
			a.next(a.stdout, a.out, "job archive "+id+a.flag())
		}
		replay := "job replay " + id + a.flag()
		if res.Log.Replayable {
			replay += " --mode production"
		}
		a.next(a.stdout, a.out, "job show "+id+a.flag(), replay)
	}
	return res.Err()
}

func (a *app) replayable(yes bool, missing []string) {
	a.printf("  REPLAYABLE: %v\n", yes)
	for _, m := range missing {
		a.printf("    %s %s\n", a.out.warn("missing"), clean(m))
	}
}

func jobValue(res *jobs.Result) canon.Value {
	v := canon.Object(
		canon.M("run", canon.String(string(res.Run))),
		canon.M("job_id", canon.String(res.JobID)),
		canon.M("status", canon.String(res.Status)),
		canon.M("done", canon.Bool(res.Done)),
		canon.M("waiting", canon.String(res.Waiting)))
	if q := res.Pending; q != nil {
		v = v.With("pending", canon.Object(
			canon.M("action", canon.String(q.Action)), canon.M("class", canon.String(string(q.Class))), canon.M("origin", canon.String(q.Origin)),
			canon.M("payload", q.Payload), canon.M("request", q.Value()), canon.M("request_id", canon.String(q.ID()))))
	}
	if l := res.Log; l != nil {
		if res.Archive != "" {
			v = v.With("archived", archivedValue(res.Archived))
		}
		v = v.With("final_answer", canon.String(l.Final)).With("error", canon.String(l.Error)).With("replayable", canon.Bool(l.Replayable)).
			With("missing", canon.Strings(l.Missing)).With("iterations", canon.Int(int64(len(l.Iterations))))
	}
	return v
}

func (a *app) jobShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [JOB]", Short: "Print a job: what was decided, by whom it was answered, whether it can be replayed",
		Example: example("reprise job show last", "reprise job show last --json"),
		Args:    between(0, 1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLog(cmd.Context(), args, func(j *jobs.Stored, l *job.Log, _ []byte) error { return a.showJob(j, l) })
		},
	}
}

func (a *app) jobLog() *cobra.Command {
	return &cobra.Command{
		Use: "log [JOB]", Short: "Print the reflective log of a job, byte for byte",
		Long: `Print the reflective log of a job, byte for byte as it was signed: canonical
JSON with nine decimals.`,
		Example: example("reprise job log last", "reprise job log last | jq .iteration_trace"),
		Args:    between(0, 1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withLog(cmd.Context(), args, func(_ *jobs.Stored, _ *job.Log, b []byte) error {
				a.printed = true
				_, err := fmt.Fprintf(a.stdout, "%s\n", b)
				return err
			})
		},
	}
}

func (a *app) withLog(ctx context.Context, args []string, do func(*jobs.Stored, *job.Log, []byte) error) error {
	s, run, err := a.openJob(ctx, cmp.Or(argument(args, 0), "last"))
	if err != nil {
		return err
	}
	defer s.Close()
	j, err := jobs.Find(ctx, s, run)
	if err != nil {
		return err
	}
	if !j.Done {
		return fault.New(jobs.ErrUnfinished, "cli.job", "job %s is not over, so that there is no log yet", short(run))
	}
	l, b, err := jobs.ReadLog(ctx, s, run)
	if err != nil {
		return err
	}
	return do(j, l, b)
}

func (a *app) showJob(j *jobs.Stored, l *job.Log) error {
	if a.json {
		v, err := l.Bytes()
		if err != nil {
			return err
		}
		log, err := canon.Parse(v)
		if err != nil {
			return err
		}
		a.print(canon.Object(canon.M("run", canon.String(string(j.Run))), canon.M("status", canon.String(j.Status)), canon.M("log", log)))
		return nil
	}
	a.printf("job %s %s · seed %s · %s\n", a.out.name(short(j.Run)), clean(j.Title), clean(string(l.Seed)), j.Status)
	for _, it := range l.Iterations {
		who, state := it.Router.Get("selected_agent").Str(), a.out.good("answered")
		switch {
		case it.Router.Get("error").Str() != "":
			who, state = it.Router.Get("error").Str(), a.out.bad("not routed")
		case it.OutputID == "" && len(it.Failures) > 0:
			state = a.out.bad("failed")
		case it.OutputID == "":
			state = a.out.bad("not run")
		}
		a.printf("  %d %s %s", it.Number, state, a.out.name(clean(who)))
		if text := it.Output.Get("text").Str(); text != "" {
			a.printf(": %s", clean(cut(text, max(20, a.out.width-40))))
		}
		a.printf("\n")
	}
	for _, x := range j.Adopted {
		a.printf("  the %s is that of the council, proposal %s\n", clean(string(x.Kind)), clean(x.Proposal[:min(12, len(x.Proposal))]))
	}
	for _, w := range l.Writes {
		a.printf("  wrote %s %s\n", clean(w.Type), clean(w.ID))
	}
	a.printf("  %s %s\n", a.out.dim("answer"), clean(l.Final))
	a.printf("  %s\n", a.out.dim(fmt.Sprintf("%d events, key %s", len(l.Events), clean(l.KeyID))))
	for _, w := range l.Warnings {
		a.printf("  %s the snapshot has no %s; the default was taken\n", a.out.warn("warning"), clean(w))
	}
	a.replayable(l.Replayable, l.Missing)
	return nil
}

// verbOf reads how somebody votes.
func verbOf(deny, abstain bool) (govern.Verb, error) {
	switch {
	case deny && abstain:
		return "", fault.New(ErrUsage, "cli.govern", "--deny and --abstain are two votes")
	case deny:
		return govern.Deny, nil
	case abstain:
		return govern.Abstain, nil
	}
	return govern.Approve, nil
}
