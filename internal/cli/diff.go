package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/regress"
)

func (a *app) diffCommand() *cobra.Command {
	var out outputs
	cmd := &cobra.Command{
		Use: "diff RUN_A RUN_B", ValidArgsFunction: a.complete(2), Short: "Compare two runs: where they differ first, and what follows", GroupID: "replay",
		Long: `Compare two runs step by step: where they differ first, and what follows from
that. Requests are compared as the recorder matches them, answers byte for byte;
headers are left out, because they hold times and ids.

The exit status is 0 if the runs are the same and 1 if they differ.`,
		Example: example("reprise diff last~1 last", "reprise diff 0190a1 0190b2 --json", "reprise diff last~1 last --html diff.html"),
		Args:    exactly(2, "two runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diff(cmd.Context(), args[0], args[1], &out)
		},
	}
	out.flags(cmd)
	return cmd
}

func (a *app) diff(ctx context.Context, left, right string, out *outputs) error {
	if err := out.check(a); err != nil {
		return err
	}
	s, err := a.openOld(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := s.find(ctx, left)
	if err != nil {
		return err
	}
	y, err := s.find(ctx, right)
	if err != nil {
		return err
	}
	stop := a.progress("comparing")
	r, err := insight.Diff(ctx, s, x.Run, y.Run)
	if err == nil {
		err = regress.Explain(ctx, s, r)
	}
	stop()
	if err != nil {
		return err
	}
	a.status = r.Verdict.ExitStatus()
	if out.markdown != "-" && out.junit != "-" && out.html != "-" {
		a.report(r)
	}
	if err := a.publishOne(ctx, out, s, "reprise diff", short(x.Run)+" and "+short(y.Run), r, 0); err != nil {
		return err
	}
	if len(r.Divergences) > 0 && a.out.terminal && !a.json {
		a.printf("\n")
		if d := r.Divergences[0]; d.Recorded >= 0 {
			a.next(a.stdout, a.out, "show "+short(x.Run)+" --at "+number(d.Recorded)+a.flag())
		} else if d.Now >= 0 {
			a.next(a.stdout, a.out, "show "+short(y.Run)+" --at "+number(d.Now)+a.flag())
		}
	}
	return nil
}
