package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// proveFlags are those of replay that are for trajectories.
type proveFlags struct {
	verifyFlags
	derive      bool
	fold        bool
	trace       bool
	delegations bool
	compiler    string
	signer      string
	policySet   string
	root        string
	world       string
	at          int64
}

// proving are the names of these flags.
func proving() []string {
	return []string{
		"verify", "fold-world", "policy-trace", "delegations", "compiler", "signer", "policy-set", "root",
		"expect-head", "world", "at", "level", "trust", "partial",
	}
}

func (f *proveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.derive, "verify", false, "trajectory: check the ledger, its law and its signatures, and derive every decision again")
	flags.BoolVar(&f.fold, "fold-world", false, "trajectory: print the world that the commits give, and its hash")
	flags.BoolVar(&f.trace, "policy-trace", false, "trajectory: print the rules that were evaluated for each commit, rejection and suspension")
	flags.BoolVar(&f.delegations, "delegations", false, "trajectory: prove the delegates too, each under its own ledger and writ")
	flags.StringVar(&f.compiler, "compiler", "", "trajectory: the compiler version that every commit must name")
	flags.StringVar(&f.signer, "signer", "", "trajectory: the public key that must have signed every commit, in hexadecimal or as a PEM file")
	flags.StringVar(&f.policySet, "policy-set", "", "trajectory: the hash of the policy set that every commit must declare")
	flags.StringVar(&f.root, "root", "", "trajectory: the public key that must have issued the first writ, in hexadecimal or as a PEM file")
	flags.StringVar(&f.expect, "expect-head", "", "trajectory: a head that the run must contain, as the ID of an entry, as COUNT:ID or as a file with a signed head")
	flags.StringVar(&f.world, "world", "", "trajectory: a file with the world that was observed, or with its hash")
	flags.Int64Var(&f.at, "at", -1, "trajectory: look at the run up to and with this entry")
	flags.StringVar(&f.level, "level", "", "trajectory: the level that is asked for: 0, 1, 2 or 3")
	flags.StringArrayVar(&f.trust, "trust", nil, "trajectory: a file with public root keys to trust (PEM); may be given more than once")
	flags.BoolVar(&f.partial, "partial", false, "trajectory: take contents that the store does not have as withheld, not as lost")
}

// given returns the flags of a proof that were given.
func given(cmd *cobra.Command, names []string) []string {
	var out []string
	for _, n := range names {
		if cmd.Flags().Changed(n) {
			out = append(out, "--"+n)
		}
	}
	return out
}

// replayOrProve does without an agent's command what replay does of the run's
// engine: a trajectory is proven.
func (a *app) replayOrProve(cmd *cobra.Command, name string, f *proveFlags) error {
	ctx := cmd.Context()
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.needTrajectory(ctx, info.Run); err != nil {
		if fs := given(cmd, proving()); len(fs) > 0 {
			return err
		}
		return s.needCommand(ctx, info, "replay", short(info.Run))
	}
	// Each of the three says what to print; none means a proof.
	f.derive = f.derive || !f.fold && !f.trace
	o, err := s.proveOptions(ctx, info, f)
	if err != nil {
		return err
	}
	stop := a.progress("replaying")
	p, err := trajectories.Prove(ctx, s, info.Run, o)
	stop()
	if err != nil {
		return err
	}
	a.status = p.Report.Verdict.ExitStatus()
	if a.json {
		a.printed = true
		return p.WriteJSON(ctx, a.stdout, s, trajectories.Lists()...)
	}
	return s.proof(ctx, p, f)
}

// ErrEngine means that a command is for runs of another engine. The list of
// runs says which engine made which.
const ErrEngine fault.Invalid = "cli.other_engine"

func (s *opened) needTrajectory(ctx context.Context, run ledger.RunID) error {
	for e, err := range s.Read(ctx, run, 0) {
		if err != nil {
			return err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return nil //nolint:nilerr // the verification says what is wrong with it
		}
		if engine := o.Body.Get("engine").Str(); engine != trajectory.Engine && !o.Body.IsZero() {
			return fault.New(ErrEngine, "cli", "run %s is no trajectory; its engine is %q", short(run), engine)
		}
		break
	}
	return nil
}

// needCommand says that a run needs its agent's command to come again, and
// which that was.
func (s *opened) needCommand(ctx context.Context, info ledger.RunInfo, verb, place string) error {
	r, err := s.summary(ctx, info)
	if err != nil {
		return err
	}
	if r.Engine == job.Engine {
		return fault.New(ErrEngine, "cli."+verb, "run %s is a job; use %q", short(info.Run), s.a.self+" job "+verb+" "+short(info.Run))
	}
	var argv []string
	for _, v := range r.Open.Get("argv").Elems() {
		argv = append(argv, v.Str())
	}
	e := fault.New(ErrUsage, "cli."+verb, "run %s is that of an agent, which has to run again: put its command behind --", short(info.Run))
	if len(argv) > 0 {
		e = e.With("as it was recorded: " + s.a.self + " " + verb + " " + place + s.a.flag() + " -- " + quoteAll(argv))
	}
	return e
}

func (s *opened) proveOptions(ctx context.Context, info ledger.RunInfo, f *proveFlags) (*trajectories.ProveOptions, error) {
	head := f.expect
	f.expect = ""
	v, err := s.a.verifyOptions(f.verifyFlags)
	if err != nil {
		return nil, err
	}
	o := &trajectories.ProveOptions{VerifyOptions: *v, Derive: f.derive, Fold: f.fold}
	o.Delegations, o.Pins.Compiler = f.delegations, f.compiler
	if o.Expect, err = s.headOf(ctx, info, head); err != nil {
		return nil, err
	}
	if f.at >= 0 {
		o.Until = &f.at
	}
	if f.signer != "" {
		k, err := readSigner(f.signer)
		if err != nil {
			return nil, err
		}
		o.Pins.Signer = &k
	}
	if f.root != "" {
		k, err := readSigner(f.root)
		if err != nil {
			return nil, err
		}
		o.Pins.Root = &k
	}
	if f.policySet != "" {
		d, err := canon.ParseDigest(strings.ToLower(f.policySet))
		if err != nil {
			return nil, fault.New(ErrUsage, "cli.replay", "--policy-set %q is no hash of 64 hexadecimal digits", f.policySet)
		}
		o.Pins.PolicySet = &d
	}
	if f.world != "" {
		const most = 64 << 20
		b, err := readLimited(f.world, most)
		if err != nil {
			return nil, err
		}
		if len(b) > most {
			return nil, fault.New(ErrFile, "cli.replay", "%s is larger than %d bytes", f.world, most)
		}
		if o.Seen, err = trajectories.ParseObserved(b); err != nil {
			return nil, fault.Wrap(fault.CodeOf(err), "cli.replay", err, "%s", f.world)
		}
	}
	return o, nil
}

// headOf reads --expect-head, which may be the id of an entry. One that the
// run does not hold is expected all the same: the verification says so.
func (s *opened) headOf(ctx context.Context, info ledger.RunInfo, text string) (*ledger.Position, error) {
	id, err := canon.ParseDigest(strings.ToLower(text))
	if err != nil {
		return expectedHead(text)
	}
	for e, err := range s.Read(ctx, info.Run, 0) {
		if err != nil {
			return nil, err
		}
		h, err := ledger.ParseHeader(e.Header)
		if err != nil {
			break
		}
		if e.ID == id {
			return &ledger.Position{Count: h.N + 1, Last: id}, nil
		}
	}
	return &ledger.Position{Count: info.At.Count, Last: id}, nil
}

// proof prints a proof for people. What is as long as the run is read line by
// line.
func (s *opened) proof(ctx context.Context, p *trajectories.Proof, f *proveFlags) error {
	a := s.a
	a.report(p.Report)
	a.summary(p.Report.Detail)
	if p.World != nil {
		if err := a.folded(ctx, p.World, ""); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		label trajectory.Label
		title string
	}{
		{trajectory.LabelCommit, "commits"},
		{trajectory.LabelRejected, "rejections"},
		{trajectory.LabelSuspended, "asked for approval"},
	} {
		n := 0
		for l, err := range trajectories.Trail(ctx, s, p.Report.Run, p.Last) {
			if trajectories.Broken(err) {
				break
			}
			if err != nil {
				return err
			}
			if l.Label != list.label {
				continue
			}
			if n++; n == 1 {
				a.printf("\n%s\n", a.out.bold("["+list.title+"]"))
			}
			a.line(&l, p.Report.Run, lineOptions{trace: f.trace || l.Label == trajectory.LabelSuspended, whole: true})
		}
	}
	a.result(p.Report)
	return nil
}

// summary prints the report of the source document.
func (a *app) summary(d canon.Value) {
	if d.Get("trajectory_id").IsZero() {
		return
	}
	n := func(name string) string { return d.Get(name).String() }
	a.printf("\n%s %s\n", a.out.bold("[integrity]"), a.out.name(d.Get("trajectory_id").Str()))
	a.printf("%s entries · %s commits · %s rejected · %s asked for approval · %s tool calls · %s delegations · %s branches\n",
		n("entries_seen"), n("commits_replayed"), n("rejected_proposals"), n("pending_approvals"), n("tool_calls_seen"), count(d.Get("delegations")), n("branches"))
	head := d.Get("head_commit").Str()
	if head == "" {
		head = "none"
	}
	a.printf("head sequence %s · head commit %s\n", n("head_seq"), a.out.name(head))
	var names []string
	for _, c := range d.Get("compiler_versions_seen").Elems() {
		names = append(names, clean(c.Str()))
	}
	if len(names) > 0 {
		a.printf("compiler %s\n", strings.Join(names, ", "))
	}
	for _, c := range d.Get("delegations").Elems() {
		verdict := c.Get("verdict").Str()
		if verdict == "" {
			verdict = "not followed; --delegations does"
		}
		a.printf("delegated to run %s: %s\n", a.out.name(clean(c.Get("run").Str())), a.verdict(replay.Verdict(verdict)))
	}
}

// count is how many delegations there are: a number, or a list of them.
func count(v canon.Value) string {
	if v.Kind() == canon.KindArray {
		return number(int64(v.Len()))
	}
	return v.String()
}

// result is the last line: what came of the run, and what that is worth.
func (a *app) result(r *replay.Report) {
	d := r.Detail
	verdict := "replay " + a.verdict(r.Verdict)
	if f := ledger.First(r.Phases); f != nil {
		verdict = a.out.bad("replay FAILED") + ": " + a.out.bad(f.Code.Error())
		if f.N >= 0 {
			verdict += " at entry " + number(f.N)
		}
	}
	commits, _ := d.Get("commits_replayed").AsInt()
	rejections, _ := d.Get("rejected_proposals").AsInt()
	a.printf("\nresult: %s, %s — %s\n", plural(commits, "commit"), plural(rejections, "rejection"), verdict)
}

func (a *app) auditCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "audit RUN", ValidArgsFunction: a.complete(1), Short: "Print the trail of a trajectory: who did what, under which rules, and who approved it", GroupID: "replay",
		Long: `Print one line for every entry of a trajectory that says something about what was
done and why it was allowed: what was committed, refused, asked for and approved,
by whom, under which rules, and whether the signature holds. --all prints what
stands between too: intents, calls, answers and the clock.

"verified" means that the signature was checked now, against the key that the
charter of the run names; not that there is one.

The whole run is proven before the first line is printed, as replay --verify
does it. A run that fails says so in its first and in its last line, and the
exit status is 3.`,
		Example: example("reprise audit last", "reprise audit last --all", "reprise audit 0190a1 --json"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.audit(cmd.Context(), args[0], all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "print the technical entries too")
	return cmd
}

func (a *app) audit(ctx context.Context, name string, all bool) error {
	s, info, err := a.openTrajectory(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	o, err := s.proveOptions(ctx, info, &proveFlags{derive: true, at: -1})
	if err != nil {
		return err
	}
	stop := a.progress("proving")
	p, err := trajectories.Prove(ctx, s, info.Run, o)
	stop()
	if err != nil {
		if fault.ClassOf(err) == fault.ClassIntegrity && !a.json {
			a.printf("audit %s: %s\n%s\nresult: %s\n", info.Run, a.out.bad("FAILED"), clean(fault.Text(err)), a.out.bad("replay FAILED: "+fault.CodeOf(err).Error()))
		}
		return err
	}
	a.status = p.Report.Verdict.ExitStatus()
	if a.json {
		a.printed = true
		return p.WriteJSON(ctx, a.stdout, s, trajectories.Everything())
	}
	return s.trail(ctx, p, all)
}

// trail prints an audit.
func (s *opened) trail(ctx context.Context, p *trajectories.Proof, all bool) error {
	a, r := s.a, p.Report
	head := strings.TrimPrefix(r.Head(), string(replay.Verify)+" ")
	if f := ledger.First(r.Phases); f != nil {
		a.printf("audit %s\n", strings.Replace(head, string(r.Verdict), a.out.bad("FAILED"), 1))
		a.finding(f)
	} else {
		a.printf("audit %s\n", strings.Replace(head, string(r.Verdict), a.verdict(r.Verdict), 1))
	}
	a.printf("\n")
	marked := failing(r)
	hidden := int64(0)
	for l, err := range trajectories.Trail(ctx, s, r.Run, p.Last) {
		if trajectories.Broken(err) {
			a.printf("%s\n", a.out.bad("the trail ends here: "+clean(fault.Text(err))))
			break
		}
		if err != nil {
			return err
		}
		bad := l.Run == r.Run && marked[l.N]
		if l.Technical && !all && !bad {
			hidden++
			continue
		}
		a.line(&l, r.Run, lineOptions{trace: true, bad: bad})
	}
	if hidden > 0 {
		a.printf("%s\n", a.out.dim(number(hidden)+" technical entries are not shown; --all prints them"))
	}
	if !p.Report.Detail.Get("trajectory_id").IsZero() || a.status != 0 {
		a.result(r)
	}
	return nil
}

// failing are the entries at which a phase failed first.
func failing(r *replay.Report) map[int64]bool {
	out := map[int64]bool{}
	for i := range r.Phases {
		if f := r.Phases[i].First; f != nil && f.N >= 0 {
			out[f.N] = true
		}
	}
	return out
}

func (a *app) worldCommand() *cobra.Command {
	var at int64
	var kind string
	cmd := &cobra.Command{
		Use: "world RUN", ValidArgsFunction: a.complete(1), Short: "Print the world that the commits of a run give", GroupID: "replay",
		Long: `Fold the commits of a run, of a branch those of its source first, and print what
there is. Nothing is verified: "replay RUN --verify --fold-world" does both.`,
		Example: example("reprise world last", "reprise world last --at 12", "reprise world last --kind booking --json"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, err := a.openRun(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			w, err := trajectories.Fold(ctx, s, info.Run, at)
			if err != nil {
				return err
			}
			if !a.json {
				return a.folded(ctx, w, kind)
			}
			v, err := w.Document(ctx, info.Run, kind)
			if err != nil {
				return err
			}
			a.print(v)
			return nil
		},
	}
	cmd.Flags().Int64Var(&at, "at", -1, "fold up to and with this entry")
	cmd.Flags().StringVar(&kind, "kind", "", "only things of this kind")
	return cmd
}

// folded prints a world.
func (a *app) folded(ctx context.Context, w *trajectories.World, kind string) error {
	alive, gone := w.Len()
	hash := "no hash: values are not there"
	if d, ok := w.Hash(); ok {
		hash = "hash " + d.String()
	}
	a.printf("\n%s %s · %s · %s\n", a.out.bold("[fold]"), plural(alive, "resource"), plural(w.Commits, "commit"), a.out.name(hash))
	if gone > 0 {
		a.printf("%s\n", a.out.warn(number(gone)+" of its values are not there"))
	}
	for _, it := range w.Items() {
		if kind != "" && it.Kind != kind {
			continue
		}
		value := dash
		v, err := w.Value(ctx, &it)
		switch {
		case err == nil:
			value = v.String()
		case fault.CodeOf(err) != fault.Code(ledger.ErrAbsent):
			return err
		}
		a.printf("  %s %s %s %s\n", a.out.name(clean(it.Kind)), clean(it.ID), a.out.dim("v"+number(it.Version)), cut(clean(value), max(20, a.out.width-40)))
	}
	return nil
}
