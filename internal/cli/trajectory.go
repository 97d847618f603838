package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func (a *app) trajectoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trajectory", Aliases: []string{"traj"}, Short: "Run agents whose models may only propose", GroupID: "govern",
		Long: `Run agents whose models may only propose.

What a model proposes is held against a signed writ, the tools that exist, a
budget and the policies; it is executed, or suspended until somebody approves
it, or refused. Only a commit changes the world, every commit is signed, and
every refusal is in the ledger too.`,
		Example: example("reprise trajectory run task.yaml", "reprise approve last", "reprise trajectory compensate last"),
		Args:    exactly(0, "run, resume, revoke, restore, halt, clear, compensate, propose, say, finish or rerun"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.trajectoryRun(), a.trajectoryResume(),
		a.trajectoryWrit("revoke", "Take a writ back: what it allows is no longer allowed", true),
		a.trajectoryWrit("restore", "Give a writ again that was revoked", false),
		a.trajectoryStand("halt", "Stop a trajectory until it is cleared", "reprise trajectory halt last --reason 'wrong customer'", (*trajectories.Runner).Halt),
		a.trajectoryStand("clear", "Let a trajectory go on that was halted", "reprise trajectory clear last", (*trajectories.Runner).Clear),
		a.trajectoryCompensate(), a.trajectoryPropose(), a.trajectorySay(), a.trajectoryFinish(),
		a.trajectoryRerun(),
	)
	return cmd
}

type modelFlags struct {
	model  string
	keyEnv string
	tools  []string
}

func (a *app) trajectoryRun() *cobra.Command {
	var f modelFlags
	cmd := &cobra.Command{
		Use: "run TASK.yaml", Short: "Begin a trajectory and go on until it is done or waits",
		Long: `Begin a trajectory and go on until it is done or waits for somebody. Waiting is
no error: the process ends with status 0 and prints what to type next.

The status is 4 if it ended without its agents being done.`,
		Example: example("reprise trajectory run task.yaml", "reprise trajectory run task.yaml --model http://127.0.0.1:11434/v1", "reprise trajectory run task.yaml --model script.yaml --tools tools.yaml"),
		Args:    exactly(1, "a task file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.trajectoryStart(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.model, "model", "", "answer with this model instead of the task's: an OpenAI-compatible address, or a script file")
	cmd.Flags().StringVar(&f.keyEnv, "key-env", "", "with an address: the environment variable that holds the key")
	cmd.Flags().StringArrayVar(&f.tools, "tools", nil, "add the tools of this file; may be given more than once")
	return cmd
}

func (a *app) trajectoryStart(ctx context.Context, file string, f modelFlags) error {
	t, err := trajectories.ReadTask(file)
	if err != nil {
		return err
	}
	for _, tools := range f.tools {
		if err := t.AddTools(tools); err != nil {
			return err
		}
	}
	if err := f.apply(t); err != nil {
		return err
	}
	s, err := a.openNew(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.runner()
	if err != nil {
		return err
	}
	res, err := r.Start(ctx, t)
	return s.trajectoryResult(res, err)
}

func (f *modelFlags) apply(t *trajectories.Task) error {
	switch {
	case f.model == "":
		return nil
	case strings.HasPrefix(f.model, "http://"), strings.HasPrefix(f.model, "https://"):
		m, err := trajectories.ModelAt(f.model, f.keyEnv)
		if err == nil {
			t.SetModel(m, nil)
		}
		return err
	default:
		s, err := trajectories.ReadScript(f.model)
		if err == nil {
			t.SetModel(trajectories.ScriptModel(), s)
		}
		return err
	}
}

// runner returns what runs trajectories in the store, with the user's keys and
// environment.
func (s *opened) runner() (*trajectories.Runner, error) {
	k, cfg, err := s.signing()
	if err != nil {
		return nil, err
	}
	return &trajectories.Runner{Config: cfg, Keys: k, World: s.a.outside(), Progress: inTurn(s.a.trajectoryLine)}, nil
}

// trajectoryLine says what happens now, one line a step.
func (a *app) trajectoryLine(e trajectories.Event) {
	var step insight.Step
	var ok bool
	if e.Call != nil {
		step, ok = insight.StepOf(ledger.KindCall, e.Call.Body(effect.Key{}))
	} else if e.Kind == string(ledger.KindApproval) || e.Agent != "" {
		step, ok = insight.StepOf(ledger.Kind(e.Kind), canon.Object(canon.M("name", canon.String(e.Name)), canon.M("from", canon.String(e.Agent)), canon.M("data", e.Data)))
	} else {
		step, ok = insight.StepOf(ledger.Kind(e.Kind), e.Data)
	}
	if !ok {
		return
	}
	what, who, text := stepCells(a.err, &step)
	if who != "" {
		who = a.err.name(who) + " "
	}
	a.sayf("  %s %s%s\n", what, who, cut(text, max(20, a.err.width-30)))
}

// stepCells spells a step: what it is, who did it, and the rest.
func stepCells(st style, s *insight.Step) (what, who, text string) {
	what = string(s.Kind)
	switch s.Kind {
	case ledger.KindDecision:
		what = strings.ReplaceAll(clean(s.Name), "_", " ")
		text = clean(s.Text)
	case ledger.KindPendingApproval:
		what = "waits"
		text = "on channel " + clean(s.Name) + ": " + clean(s.Text)
	default:
		text = strings.TrimSpace(clean(s.Name) + " " + clean(s.Text))
		if s.Name != "" && s.Text != "" {
			text = clean(s.Name) + ": " + clean(s.Text)
		}
	}
	switch s.Kind {
	case ledger.KindCommit, ledger.KindSeal, ledger.KindResult:
		what = st.good(what)
	case ledger.KindRejection, ledger.KindOutcome:
		what = st.bad(what)
	case ledger.KindPendingApproval:
		what = st.warn(what)
	default:
	}
	return what, clean(s.Who), text
}

func (a *app) trajectoryResume() *cobra.Command {
	return &cobra.Command{
		Use: "resume RUN", ValidArgsFunction: a.complete(1), Short: "Go on with a trajectory that waits, or whose process was killed",
		Long: `Go on with a trajectory that waits, or whose process was killed. What was done is
not done again: a tool that was called and gave no answer is asked about.`,
		Example: example("reprise trajectory resume last"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Resume(ctx, run)
			})
		},
	}
}

// onTrajectory does something to a run, and says where it stands then.
func (a *app) onTrajectory(ctx context.Context, name string, do func(context.Context, *trajectories.Runner, ledger.RunID) (*trajectories.Result, error)) error {
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.runner()
	if err != nil {
		return err
	}
	res, err := do(ctx, r, info.Run)
	return s.trajectoryResult(res, err)
}

// actFlags adds the flags of everything that somebody signs.
func actFlags(cmd *cobra.Command, act *trajectories.Act) *cobra.Command {
	cmd.Flags().StringVar(&act.As, "as", "", "sign with this key (see keys actor; default operator)")
	cmd.Flags().StringVar(&act.Reason, "reason", "", "why, for people who read the ledger")
	return cmd
}

func (a *app) approveCommand() *cobra.Command {
	var act trajectories.Act
	var deny bool
	var proposal string
	cmd := &cobra.Command{
		Use: "approve RUN", ValidArgsFunction: a.complete(1), Short: "Answer a proposal that waits for approval", GroupID: "govern",
		Long: `Answer a proposal that waits for approval. The answer is signed, and bound to
that proposal with exactly its arguments: it is good for nothing else. When
enough have approved, the trajectory goes on here.`,
		Example: example("reprise approve last", "reprise approve last --deny --reason 'not this customer'", "reprise approve last --as alice --proposal 3f9a"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Approve(ctx, run, proposal, !deny, act)
			})
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "say no")
	cmd.Flags().StringVar(&proposal, "proposal", "", "the beginning of the proposal's id, where more than one waits")
	return actFlags(cmd, &act)
}

func (a *app) trajectoryWrit(verb, short string, revoke bool) *cobra.Command {
	var act trajectories.Act
	return actFlags(&cobra.Command{
		Use: verb + " RUN [WRIT]", ValidArgsFunction: a.complete(1), Short: short,
		Long:    short + ".\nWRIT is the name of an agent or the beginning of a writ's id; it may be left out\nwhere there is one.",
		Example: example("reprise trajectory "+verb+" last", "reprise trajectory "+verb+" last planner --as alice"),
		Args:    between(1, 2, "a run and a writ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.SetWrit(ctx, run, argument(args, 1), revoke, act)
			})
		},
	}, &act)
}

// trajectoryStand stops a trajectory or lets it go on, as do says.
func (a *app) trajectoryStand(verb, short, usage string, do func(*trajectories.Runner, context.Context, ledger.RunID, trajectories.Act) (*trajectories.Result, error)) *cobra.Command {
	var act trajectories.Act
	return actFlags(&cobra.Command{
		Use: verb + " RUN", ValidArgsFunction: a.complete(1), Short: short,
		Example: example(usage),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return do(r, ctx, run, act)
			})
		},
	}, &act)
}

func (a *app) trajectoryCompensate() *cobra.Command {
	var act trajectories.Act
	return actFlags(&cobra.Command{
		Use: "compensate RUN [COMMIT]", ValidArgsFunction: a.complete(1), Short: "Take commits back, from the newest to COMMIT",
		Long: `Take commits back, from the newest to COMMIT, the beginning of a commit's id; left
out, the newest alone. Nothing is deleted: what takes a commit back is a commit
too. A run that is sealed takes nothing more, so that happens in a branch.`,
		Example: example("reprise trajectory compensate last", "reprise trajectory compensate last 3f9a --reason 'booked twice'"),
		Args:    between(1, 2, "a run and a commit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Compensate(ctx, run, argument(args, 1), act)
			})
		},
	}, &act)
}

func (a *app) trajectoryPropose() *cobra.Command {
	var agent, why string
	cmd := &cobra.Command{
		Use: "propose RUN TOOL [ARGUMENTS]", ValidArgsFunction: a.complete(1), Short: "Propose for an agent whose intents come from outside",
		Long:    "Propose for an agent whose intents come from outside (model: outside). ARGUMENTS\nare JSON; left out, an empty object.",
		Example: example(`reprise trajectory propose last kv_set '{"key":"a","value":1}'`),
		Args:    between(2, 3, "a run, a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := canon.Object()
			if text := argument(args, 2); text != "" {
				var err error
				if v, err = canon.Parse([]byte(text)); err != nil {
					return fault.Wrap(ErrUsage, "cli.propose", err, "the arguments are no JSON")
				}
			}
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Propose(ctx, run, agent, args[1], v, why)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "for this agent, where there are more")
	cmd.Flags().StringVar(&why, "why", "", "the rationale")
	return cmd
}

func (a *app) trajectorySay() *cobra.Command {
	var agent, from string
	cmd := &cobra.Command{
		Use: "say RUN TEXT", ValidArgsFunction: a.complete(1), Short: "Tell a conversational agent more",
		Example: example("reprise trajectory say last 'and the return flight?'"),
		Args:    exactly(2, "a run and a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Say(ctx, run, agent, from, args[1])
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "this agent, where more wait")
	cmd.Flags().StringVar(&from, "from", "user", "who speaks")
	return cmd
}

func (a *app) trajectoryFinish() *cobra.Command {
	var agent, answer string
	cmd := &cobra.Command{
		Use: "finish RUN", ValidArgsFunction: a.complete(1), Short: "Say that an agent whose intents come from outside is done",
		Example: example("reprise trajectory finish last --answer 'all booked'"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTrajectory(cmd.Context(), args[0], func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
				return r.Finish(ctx, run, agent, answer)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "this agent, where there are more")
	cmd.Flags().StringVar(&answer, "answer", "", "what came of it")
	return cmd
}

// branchEngine is branch without an agent's command: an engine can go on by
// itself.
func (a *app) branchEngine(cmd *cobra.Command, args []string, note, script string) error {
	ctx := cmd.Context()
	name, n, err := splitAt(args[0])
	if err != nil {
		return err
	}
	var own trajectories.Script
	if script != "" {
		if own, err = trajectories.ReadScript(script); err != nil {
			return err
		}
	}
	err = a.onTrajectory(ctx, name, func(ctx context.Context, r *trajectories.Runner, run ledger.RunID) (*trajectories.Result, error) {
		return r.Branch(ctx, run, n, note, own)
	})
	if !errors.Is(err, trajectories.ErrNotTrajectory) {
		return err
	}
	s, info, err := a.openRun(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.needCommand(ctx, info, "branch", fmt.Sprintf("%s@%d", short(info.Run), n))
}

// trajectoryResult prints where a trajectory stands, and how to go on.
func (s *opened) trajectoryResult(res *trajectories.Result, err error) error {
	a := s.a
	if err != nil {
		if res != nil && !res.Done {
			a.standsStill("trajectory", res.Run)
		}
		if errors.Is(err, drive.ErrSealed) {
			return fault.New(drive.ErrSealed, "cli.trajectory", "the trajectory has ended and takes nothing more; branch from it")
		}
		return err
	}
	if a.json {
		a.print(resultValue(res))
	} else {
		s.trajectoryState(res)
	}
	for p := res.Parent; p != nil; p = p.Parent {
		if !a.json {
			s.trajectoryState(p)
		}
	}
	return res.Err()
}

func (s *opened) trajectoryState(res *trajectories.Result) {
	a := s.a
	mark, state := a.out.good("■"), res.Status
	if !res.Done {
		mark, state = a.out.warn("‖"), "waiting"
	} else if res.Status != trajectories.StatusDone {
		mark = a.out.bad("■")
	}
	a.printf("%s run %s %s · %s\n", mark, a.out.name(short(res.Run)), state, plural(res.Commits, "commit"))
	for _, g := range res.Agents {
		if g.Status == "" {
			a.printf("  %s %s\n", a.out.name(clean(g.Name)), g.Phase)
			continue
		}
		a.printf("  %s %s: %s\n", a.out.name(clean(g.Name)), clean(g.Status), clean(answerText(g.Answer)))
	}
	id := short(res.Run)
	for _, p := range res.Pending {
		a.printf("  %s %s %s on channel %s: %s\n", a.out.warn("waits"), clean(p.Proposal.Tool), clean(p.Proposal.Args.String()), clean(p.Channel), clean(p.Reason))
		for _, v := range p.Votes {
			a.printf("    %s %s\n", clean(v.Actor), clean(string(v.Verb)))
		}
		name := ""
		if len(res.Pending) > 1 {
			name = " --proposal " + p.ID.String()[:12]
		}
		a.next(a.stdout, a.out, "approve "+id+name+a.flag(), "approve "+id+name+a.flag()+" --deny --reason …")
	}
	switch {
	case res.Done:
		a.next(a.stdout, a.out, "show "+id+a.flag(), "verify "+id+a.flag())
	case len(res.Pending) == 0:
		a.printf("  %s\n", a.out.dim("waits for "+clean(res.Waiting)))
	}
}

func answerText(v canon.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	if v.IsZero() || v.IsNull() {
		return ""
	}
	return v.String()
}

func resultValue(res *trajectories.Result) canon.Value {
	state := "waiting"
	if res.Done {
		state = "done"
	}
	agents := make([]canon.Value, len(res.Agents))
	for i, g := range res.Agents {
		agents[i] = canon.Object(
			canon.M("name", canon.String(g.Name)), canon.M("status", canon.String(g.Status)), canon.M("phase", canon.String(g.Phase)),
			canon.M("answer", g.Answer), canon.M("spent", g.Spent.Value()), canon.M("writ", canon.String(trajectory.PrefixWrit+g.Writ.String())),
		)
	}
	pending := make([]canon.Value, len(res.Pending))
	for i, p := range res.Pending {
		pending[i] = pendingValue(&p)
	}
	v := canon.Object(
		canon.M("run", canon.String(string(res.Run))),
		canon.M("trajectory", canon.String(trajectory.PrefixTrajectory+res.Trajectory.String())),
		canon.M("state", canon.String(state)),
		canon.M("status", canon.String(res.Status)),
		canon.M("waiting", canon.String(res.Waiting)),
		canon.M("agents", canon.Array(agents...)),
		canon.M("pending", canon.Array(pending...)),
		canon.M("commits", canon.Int(res.Commits)),
		canon.M("entries", canon.Int(res.Last.N+1)),
	)
	if res.Commits > 0 {
		v = v.With("head", canon.String(trajectory.PrefixCommit+res.Head.String()))
	}
	if res.World != nil {
		v = v.With("world", canon.String(res.World.String()))
	}
	if res.Parent != nil {
		v = v.With("parent", resultValue(res.Parent))
	}
	return v
}

func pendingValue(p *trajectory.Pending) canon.Value {
	votes := make([]canon.Value, len(p.Votes))
	for i, v := range p.Votes {
		votes[i] = canon.Object(canon.M("actor", canon.String(v.Actor)), canon.M("vote", canon.String(string(v.Verb))))
	}
	return canon.Object(
		canon.M("agent", canon.String(p.Agent)), canon.M("channel", canon.String(p.Channel)), canon.M("reason", canon.String(p.Reason)),
		canon.M("proposal", canon.String(trajectory.PrefixProposal+p.ID.String())), canon.M("tool", canon.String(p.Proposal.Tool)),
		canon.M("args", p.Proposal.Args), canon.M("votes", canon.Array(votes...)),
	)
}

// between refuses another number of arguments, in our words.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fault.New(ErrUsage, "cli", "%s takes %s, not %d arguments", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// argument returns an argument that may be left out.
func argument(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
