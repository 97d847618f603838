package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// governFlags are those of everything that somebody says in a tenant.
type governFlags struct {
	tenant  string
	role    string
	deny    bool
	abstain bool
	founds  bool // there may be no store yet
	act     jobs.Act
}

func (f *governFlags) register(cmd *cobra.Command, votes bool) *cobra.Command {
	fs := cmd.Flags()
	fs.StringVar(&f.tenant, "tenant", "", "whose governance; empty: that of jobs without a tenant")
	fs.StringVar(&f.act.As, "as", "", "sign with this key (see keys actor; default operator)")
	fs.StringVar(&f.role, "role", "", "act in this role, for who has several")
	fs.StringVar(&f.act.Reason, "reason", "", "why, for people who read the ledger")
	if votes {
		fs.BoolVar(&f.deny, "deny", false, "say no")
		fs.BoolVar(&f.abstain, "abstain", false, "say neither, and take back what was said")
	}
	return cmd
}

func (a *app) governCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "govern", Short: "Vote, approve, halt and clear; who may, and who did", GroupID: "govern",
		Long: `Vote, approve, halt and clear; who may, and who did.

Each tenant of a store has a governance ledger: a run that verifies like any
other. It begins with your operator key in every role; govern roles enrols
others. Every act in it is signed, and bound to exactly what it is about. One
that does not verify permits nothing.

  Operator  audits and reexecutes replays, and halts them
  Admin     does that too, clears halts, enrols people, sees what is redacted
            for a data subject; with an Auditor, replays in production
  Auditor   audits and reexecutes replays
  Council   votes on what jobs ask for, allows production replays, clears halts;
            with an Admin, lets a replay go on behind a divergence`,
		Example: example("reprise govern vote last", "reprise govern roles grant alice Council", "reprise govern log"),
		Args:    exactly(0, "vote, approve, propose, policy, halt, clear, roles, log or sign"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.governVote(), a.governApprove(), a.governHalt(), a.governClear(), a.governPropose(), a.governPolicy(), a.governRoles(), a.governLog(), a.governSign())
	return cmd
}

func (a *app) governVote() *cobra.Command {
	var f governFlags
	var request string
	cmd := f.register(&cobra.Command{
		Use: "vote JOB", Short: "Answer what a job waits for the council to say",
		Long: `Answer what a job waits for the council to say: yes, or no with --deny. The act
is signed, and good for that request alone. When enough have voted the job goes
on here. With --request the answer is to one that stood in the governance
snapshot when the job began.`,
		Example: example("reprise govern vote last", "reprise govern vote last --deny --as alice"),
		Args:    exactly(1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, err := verbOf(f.deny, f.abstain)
			if err != nil {
				return err
			}
			f.act.Role = roleOf(f.role)
			return a.onJob(cmd.Context(), args[0], func(ctx context.Context, r *jobs.Runner, run ledger.RunID) (*jobs.Result, error) {
				if request != "" {
					return r.VoteOn(ctx, run, request, verb, f.act)
				}
				return r.Vote(ctx, run, verb, f.act)
			})
		},
	}, true)
	cmd.Flags().StringVar(&request, "request", "", "the beginning of the id of a request of the governance snapshot")
	return cmd
}

// governing opens the governance ledger of a tenant for a command.
func (a *app) governing(ctx context.Context, f *governFlags, do func(*opened, *jobs.Governance) error) error {
	open := a.openOld
	if f.founds {
		open = a.openNew
	}
	s, r, err := openJobs(ctx, open)
	if err != nil {
		return err
	}
	defer s.Close()
	f.act.Role = roleOf(f.role)
	g, err := jobs.OpenGovernance(ctx, r.Config, r.Keys, f.tenant)
	if err != nil {
		return err
	}
	return do(s, g)
}

func (a *app) governApprove() *cobra.Command {
	var f governFlags
	return f.register(&cobra.Command{
		Use: "approve REQUEST|PROPOSAL", Short: "Vote on a replay, or on a configuration that was proposed",
		Long: `Vote on a configuration that was proposed (govern propose), as one of the
Council, or on a replay that was refused: on one in production, which takes an Admin and
an Auditor, or the Council; or, where it has found a divergence, on going on
behind it, which takes an Admin and the Council. A vote counts for that request
alone. Then ask again with job replay --approval REQUEST.`,
		Example: example("reprise govern approve 3f9a --as alice", "reprise govern approve 3f9a --role council"),
		Args:    exactly(1, "the beginning of the id of a request or proposal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, err := verbOf(f.deny, f.abstain)
			if err != nil {
				return err
			}
			return a.governing(cmd.Context(), &f, func(_ *opened, g *jobs.Governance) error {
				return a.approve(cmd.Context(), g, args[0], verb, f.act)
			})
		},
	}, true)
}

func (a *app) request(q *jobs.Request) {
	state := q.Code
	switch {
	case !q.Done:
		state = "asked"
	case state == "":
		state = "same"
	}
	a.printf("%s %s replay of %s by %s: %s\n", a.out.name(q.ID[:12]), clean(string(q.Mode())), clean(short(ledger.RunID(q.Value.Get("run").Str()))), clean(q.Actor), clean(state))
	for _, v := range q.Votes {
		a.printf("  %s %s as %s\n", clean(v.Act().Actor), v.Act().Verb, v.Act().Role)
	}
	for _, v := range q.Forced {
		a.printf("  %s %s as %s to go on behind the divergence\n", clean(v.Act().Actor), v.Act().Verb, v.Act().Role)
	}
}

func requestValue(q *jobs.Request) canon.Value {
	votes := func(list []govern.Admitted) canon.Value {
		out := make([]canon.Value, len(list))
		for i, v := range list {
			x := v.Act()
			out[i] = canon.Object(canon.M("actor", canon.String(x.Actor)), canon.M("role", canon.String(string(x.Role))), canon.M("vote", canon.String(string(x.Verb))))
		}
		return canon.Array(out...)
	}
	return canon.Object(
		canon.M("actor", canon.String(q.Actor)), canon.M("audit_run", canon.String(string(q.Audit))), canon.M("code", canon.String(q.Code)),
		canon.M("done", canon.Bool(q.Done)), canon.M("forced", votes(q.Forced)), canon.M("request", q.Value), canon.M("request_id", canon.String(q.ID)),
		canon.M("votes", votes(q.Votes)))
}

func (a *app) governHalt() *cobra.Command {
	var f governFlags
	return f.register(&cobra.Command{
		Use: "halt JOB|SNAPSHOT", Short: "Halt all replays of a job or snapshot: a security incident",
		Long: `Halt all replays of a job or snapshot, as Operator, Admin or Council. It is
recorded as SECURITY_INCIDENT and FORCE_HALT_REPLAY, and stands until govern clear.`,
		Example: example("reprise govern halt last --reason 'the key was copied'"),
		Args:    exactly(1, "a job or the id of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.governing(ctx, &f, func(s *opened, g *jobs.Governance) error {
				subjects, err := s.halting(ctx, args[0])
				if err == nil {
					err = g.Incident(ctx, subjects, f.act)
				}
				if err != nil {
					return err
				}
				a.standing(g)
				return nil
			})
		},
	}, false)
}

// halting returns what is to be halted: a snapshot, or those of a job.
func (s *opened) halting(ctx context.Context, name string) ([]string, error) {
	const digits = 64
	if len(name) == digits && strings.Trim(name, "0123456789abcdef") == "" {
		return []string{name}, nil
	}
	run, err := s.findJob(ctx, name)
	if err != nil {
		return nil, err
	}
	j, err := jobs.Find(ctx, s, run)
	if err != nil {
		return nil, err
	}
	return j.Subjects(), nil
}

func (a *app) standing(g *jobs.Governance) {
	list := g.Standing()
	if a.json {
		out := make([]canon.Value, len(list))
		for i, h := range list {
			out[i] = h.Value()
		}
		a.print(canon.Object(canon.M("halts", canon.Array(out...))))
		return
	}
	for _, h := range list {
		a.printf("%s %s %s %s\n", a.out.bad("halted"), clean(h.Subject), clean(h.Cause.Error()), clean(h.Reason))
	}
	if len(list) == 0 {
		a.printf("nothing stands still\n")
	}
}

func (a *app) governClear() *cobra.Command {
	var f governFlags
	return f.register(&cobra.Command{
		Use: "clear [JOB|SNAPSHOT]", Short: "Let what is halted go on, as an Admin or one of the Council",
		Long: `Let what is halted go on: one snapshot, or all that stands still of a job. Left
out, the one thing that does. An Admin decides alone, the Council with more than
half of it; then FORCE_HALT_CLEAR is recorded. Who is both speaks as one of the
Council, unless --role says otherwise.`,
		Example: example("reprise govern clear last --as alice", "reprise govern clear last --role Admin --reason 'restored from the archive'", "reprise govern clear 3f9a --deny"),
		Args:    between(0, 1, "a job or the beginning of a snapshot's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.abstain {
				return fault.New(ErrUsage, "cli.govern", "a halt is cleared or not; there is no --abstain")
			}
			ctx := cmd.Context()
			return a.governing(ctx, &f, func(s *opened, g *jobs.Governance) error {
				for _, subject := range s.clearing(ctx, g, argument(args, 0)) {
					state, err := g.Clear(ctx, subject, !f.deny, f.act)
					if err != nil {
						return err
					}
					if !a.json {
						a.printf("%s: the vote is %s\n", clean(cmp.Or(subject, "the halt")), state)
					}
				}
				a.standing(g)
				return nil
			})
		},
	}, true)
}

// clearing returns what a vote is about: what stands still of a job, or what is
// named.
func (s *opened) clearing(ctx context.Context, g *jobs.Governance, name string) []string {
	run, err := s.findJob(ctx, name)
	if name == "" || err != nil {
		return []string{name}
	}
	j, err := jobs.Find(ctx, s, run)
	if err != nil {
		return []string{name}
	}
	var out []string
	for _, h := range g.Standing() {
		if slices.Contains(j.Subjects(), h.Subject) {
			out = append(out, h.Subject)
		}
	}
	return out
}

func (a *app) governRoles() *cobra.Command {
	f := governFlags{founds: true} // people are enrolled before the first job
	var key string
	cmd := f.register(&cobra.Command{
		Use: "roles [grant NAME ROLE…|revoke NAME]", Short: "List who may act, or enrol somebody",
		Long: `List who may act, or enrol somebody. The roles are Operator, Admin, Auditor,
Council and Approver, in either case; grant sets all of them at once. The key is that of keys
actor NAME, or one that is given with --key.`,
		Example: example("reprise govern roles", "reprise govern roles grant alice Council Auditor", "reprise govern roles revoke alice"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.governing(cmd.Context(), &f, func(_ *opened, g *jobs.Governance) error {
				if len(args) > 0 {
					if err := enrol(cmd.Context(), g, args, key, f.act); err != nil {
						return err
					}
				}
				a.roles(g, f.tenant)
				return nil
			})
		},
	}, false)
	cmd.Flags().StringVar(&key, "key", "", "their public key: 64 hexadecimal digits, or a file in PEM form")
	return cmd
}

// roleOf reads a role, which documents write with a capital.
func roleOf(name string) govern.Role { return govern.Role(strings.ToLower(name)) }

func enrol(ctx context.Context, g *jobs.Governance, args []string, key string, by jobs.Act) error {
	grants := args[0] == "grant" && len(args) > 2
	if !grants && (args[0] != "revoke" || len(args) != 2) {
		return fault.New(ErrUsage, "cli.govern", "roles takes nothing, grant NAME ROLE…, or revoke NAME")
	}
	who := jobs.Actor{ID: args[1]}
	for _, r := range args[2:] {
		who.Roles = append(who.Roles, roleOf(r))
	}
	if key != "" {
		var err error
		if who.Key, err = jobs.ReadKey(key, key); err != nil {
			return err
		}
	}
	return g.Enrol(ctx, args[1], who, by)
}

func (a *app) roles(g *jobs.Governance, tenant string) {
	list := g.Roster().Holders(tenant, govern.Operator, govern.Admin, govern.Auditor, govern.Council, govern.Approver)
	out := make([]canon.Value, len(list))
	for i, x := range list {
		names := make([]string, len(x.Roles))
		for j, r := range x.Roles {
			names[j] = string(r)
		}
		out[i] = canon.Object(canon.M("id", canon.String(x.ID)), canon.M("key", canon.String(x.Key.ID().String())), canon.M("roles", canon.Strings(names)))
		if !a.json {
			a.printf("%s %s %s\n", a.out.name(clean(x.ID)), a.out.dim(x.Key.ID().String()[:16]), strings.Join(names, ", "))
		}
	}
	if a.json {
		a.print(canon.Object(canon.M("actors", canon.Array(out...))))
	}
}

func (a *app) governLog() *cobra.Command {
	var f governFlags
	cmd := &cobra.Command{
		Use: "log", Short: "Print the governance ledger: requests, votes, halts, in their order",
		Example: example("reprise govern log", "reprise govern log --json"),
		Args:    exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.governing(ctx, &f, func(_ *opened, g *jobs.Governance) error {
				var out []canon.Value
				for o, err := range g.Entries(ctx) {
					if err != nil {
						return err
					}
					if a.json {
						out = append(out, canon.Object(canon.M("n", canon.Int(o.N)), canon.M("t", canon.String(o.T)), canon.M("kind", canon.String(string(o.Kind))), canon.M("body", o.Body)))
						continue
					}
					a.governLine(o)
				}
				if a.json {
					a.print(canon.Object(canon.M("run", canon.String(string(g.Run()))), canon.M("entries", canon.Array(out...))))
				} else {
					a.next(a.stdout, a.out, "verify "+short(g.Run())+a.flag())
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "whose governance; empty: that of jobs without a tenant")
	return cmd
}

func (a *app) governLine(o *ledger.Opened) {
	d := o.Data()
	name := o.Body.Get("name").Str()
	if o.Kind == ledger.KindOpen {
		name = "opened"
	}
	text := ""
	switch name {
	case jobs.EventRequest:
		q := d.Get("request")
		text = q.Get("mode").Str() + " of " + short(ledger.RunID(q.Get("run").Str()))
	case jobs.EventResult:
		text = d.Get("mode").Str() + " " + d.Get("code").Str()
		if d.Get("code").Str() == "" {
			text = d.Get("mode").Str() + " same"
		}
	case jobs.EventHalt, jobs.EventClear:
		text = d.Get("halt").Get("subject").Str()
	case jobs.EventIntegrity, jobs.EventIncident:
		text = d.Get("snapshot_id").Str()
	case jobs.EventAccess:
		text = d.Get("actor_id").Str() + " saw " + d.Get("object_id").Str()
	case govern.EventVote:
		text = "on a " + d.Get("about").Str()
	case jobs.EventProposed:
		text = "another " + d.Get("kind").Str()
	case jobs.EventAdopted:
		text = d.Get("kind").Str() + " of the proposal " + short(ledger.RunID(d.Get("proposal_id").Str()))
	}
	a.printf("%s\n", strings.TrimRight(fmt.Sprintf("%4d %s %s %s", o.N, a.out.bold(clean(name)), clean(o.Body.Get("from").Str()), clean(text)), " "))
}

func (a *app) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "The signed snapshots that jobs start from", GroupID: "govern",
		Example: example("reprise snapshot list", "reprise snapshot verify last"),
		Args:    exactly(0, "list, show or verify"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list [JOB]", Short: "List the snapshots of a job, or of all", Example: example("reprise snapshot list"), Args: between(0, 1, "a job"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.snapshots(cmd.Context(), argument(args, 0), false)
			},
		},
		&cobra.Command{
			Use: "show SNAPSHOT", Short: "Print a snapshot, byte for byte", Example: example("reprise snapshot show 3f9a"), Args: exactly(1, "the beginning of a snapshot's id"),
			RunE: func(cmd *cobra.Command, args []string) error { return a.snapshotShow(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use: "verify [JOB|SNAPSHOT]", Short: "Check signatures, addresses and the provenance of ids with the server key",
			Example: example("reprise snapshot verify last", "reprise snapshot verify"), Args: between(0, 1, "a job or the beginning of a snapshot's id"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.snapshots(cmd.Context(), argument(args, 0), true)
			},
		},
	)
	return cmd
}

// snapshots lists snapshots, and verifies them if asked to.
func (a *app) snapshots(ctx context.Context, name string, verify bool) error {
	s, err := a.openOld(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	var run ledger.RunID
	prefix := name
	if name != "" {
		if id, err := s.findJob(ctx, name); err == nil {
			run, prefix = id, ""
		}
	}
	var list []canon.Value
	var first error
	for x, err := range jobs.Snapshots(ctx, s, run, prefix) {
		if err != nil {
			return err
		}
		v := canon.Object(
			canon.M("run", canon.String(string(x.Run))), canon.M("snapshot_id", canon.String(x.ID)), canon.M("kind", canon.String(string(x.Kind))))
		state := ""
		if verify {
			err := x.Check(k)
			state = a.out.good("verified")
			if err != nil {
				state = a.out.bad(fault.CodeOf(err).Error()) + " " + clean(fault.Text(err))
				if first == nil {
					first = err
				}
			}
			v = v.With("ok", canon.Bool(err == nil))
		}
		list = append(list, v)
		if !a.json {
			a.printf("%s\n", strings.TrimRight(fmt.Sprintf("%s %-10s %s %s", a.out.name(x.ID), x.Kind, a.out.dim(short(x.Run)), state), " "))
		}
	}
	if len(list) == 0 && name != "" {
		return fault.New(insight.ErrNoRun, "cli.snapshot", "no job or snapshot is named %q", name)
	}
	if a.json {
		a.print(canon.Object(canon.M("snapshots", canon.Array(list...))))
	}
	return first
}

func (a *app) snapshotShow(ctx context.Context, prefix string) error {
	s, err := a.openOld(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for x, err := range jobs.Snapshots(ctx, s, "", prefix) {
		if err != nil {
			return err
		}
		b, err := x.Bytes()
		if err != nil {
			return err
		}
		a.printed = true
		a.printf("%s\n", b)
		return nil
	}
	return fault.New(insight.ErrNoRun, "cli.snapshot", "no snapshot begins with %q", prefix)
}
