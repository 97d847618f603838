package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func (a *app) trajectoryRerun() *cobra.Command {
	var tools, yes bool
	cmd := &cobra.Command{
		Use: "rerun RUN --tools", ValidArgsFunction: a.complete(1), Short: "Call the tools of a trajectory again, and compare what they answer",
		Long: `Call every tool that a trajectory called once more, with the arguments and the key
that are recorded, and compare what it answers now with what it answered then.

This is a diagnosis of the tools. It proves nothing of what happened, and is no
verdict on the run; "replay RUN --verify" is. Nothing is written to the run.

Before a tool that may change something is called you are asked; --yes says yes
to all. Where there is nobody to ask, such a tool is not called. The exit status
is 1 if an answer differs or a tool was not called.`,
		Example: example("reprise trajectory rerun last --tools", "reprise trajectory rerun last --tools --yes --json"),
		Args:    exactly(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !tools {
				return fault.New(ErrUsage, "cli.rerun", "say what is to be run again: --tools")
			}
			return a.rerun(cmd.Context(), args[0], yes)
		},
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "call the tools again")
	cmd.Flags().BoolVar(&yes, "yes", false, "call tools that may change something without asking")
	return cmd
}

func (a *app) rerun(ctx context.Context, name string, yes bool) error {
	s, info, err := a.openTrajectory(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.runner()
	if err != nil {
		return err
	}
	r.Progress = nil
	list := r.RerunTools(ctx, info.Run, a.consent(yes))
	if a.json {
		a.printed = true
		counts, err := trajectories.WriteRerunJSON(a.stdout, info.Run, list)
		a.rerunStatus(counts)
		return err
	}
	a.printf("rerun %s, mode tools: %s · what the tools answer today; it proves nothing of what happened\n\n", info.Run, a.out.warn("non-authoritative"))
	var counts trajectories.RerunCounts
	for x, err := range list {
		if err != nil {
			return err
		}
		counts.Add(&x)
		a.rerunLine(&x)
	}
	a.printf("\n%s: %s the same, %s different, %s not called\n", plural(counts.Calls, "call"), number(counts.Same), number(counts.Different), number(counts.NotMade))
	a.rerunStatus(counts)
	return nil
}

func (a *app) rerunStatus(c trajectories.RerunCounts) {
	if c.Same != c.Calls {
		a.status = fault.ExitDiverged
	}
}

func (a *app) rerunLine(x *trajectories.Rerun) {
	what := a.out.good("same")
	switch {
	case !x.Made:
		what = a.out.warn(clean(x.Why))
	case !x.Same():
		what = a.out.bad("different")
	}
	a.printf("#%-5d %s %s\n", x.N, a.out.name(clean(x.Tool)), what)
	if x.RecordedError != x.NowError && x.Made {
		a.printf("    %s %s\n    %s %s\n", a.out.dim("recorded"), orAnswer(x.RecordedError), a.out.dim("now     "), orAnswer(x.NowError))
		return
	}
	for i, d := range x.Differs {
		if i == maxPlaces {
			a.printf("    %s\n", a.out.dim(fmt.Sprintf("and %d more places", len(x.Differs)-i)))
			return
		}
		p := d.Pointer
		if p == "" {
			p = "the answer"
		}
		a.printf("    %s\n      %s %s\n      %s %s\n", a.out.name(clean(p)), a.out.dim("recorded"), excerpt(d.A, d.B), a.out.dim("now     "), excerpt(d.B, d.A))
	}
}

func orAnswer(failed string) string {
	if failed == "" {
		return "an answer"
	}
	return clean(failed)
}

// consent asks the user before a tool is called that may change something.
// Where nobody can be asked the answer is no.
func (a *app) consent(yes bool) func(context.Context, *effect.Call, *trajectory.Tool) (bool, error) {
	var in *bufio.Reader
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		in = bufio.NewReader(f)
	}
	return func(_ context.Context, c *effect.Call, tool *trajectory.Tool) (bool, error) {
		if yes || in == nil {
			return yes, nil
		}
		args := ""
		for _, x := range c.Contents {
			if v, err := canon.Parse(x.Bytes); err == nil {
				args = clean(v.String())
			}
		}
		a.sayf("%s is %s. Call it again with %s? [y/N] ", a.err.name(clean(tool.Name)), a.err.bad(string(tool.Effect)), cut(args, 200))
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fault.Wrap(ErrFile, "cli.rerun", err, "standard input")
		}
		answer := strings.ToLower(strings.TrimSpace(line))
		return answer == "y" || answer == "yes", nil
	}
}
