package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/insight"
)

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff RUN_A RUN_B", ValidArgsFunction: a.complete(2), Short: "Compare two runs: where they differ first, and what follows", GroupID: "replay",
		Long: `Compare two runs step by step: where they differ first, and what follows from
that. Requests are compared as the recorder matches them, answers byte for byte;
headers are left out, because they hold times and ids.

The exit status is 0 if the runs are the same and 1 if they differ.`,
		Example: example("reprise diff last~1 last", "reprise diff 0190a1 0190b2 --json"),
		Args:    exactly(2, "two runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diff(cmd.Context(), args[0], args[1])
		},
	}
}

func (a *app) diff(ctx context.Context, left, right string) error {
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
	stop()
	if err != nil {
		return err
	}
	a.report(r)
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
