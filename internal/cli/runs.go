package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func (a *app) runsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "runs", Aliases: []string{"ls", "list"}, Short: "List the runs, newest first", GroupID: "record",
		Long: `List the runs, newest first. Every other command takes a run as "last", as
"last~1" for the one before, or as the beginning of its id.`,
		Example: example("reprise runs", "reprise runs --limit 0 --json"),
		Args:    exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runs(cmd.Context(), limit)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many runs are listed; 0: all")
	return cmd
}

func (a *app) runs(ctx context.Context, limit int) error {
	s, err := a.openOld(ctx)
	if errors.Is(err, ErrNoStore) {
		if a.json {
			a.print(canon.Object(canon.M("runs", canon.Array())))
			return nil
		}
		a.sayf("nothing was recorded here yet; begin with\n")
		a.next(a.stderr, a.err, "record"+a.flag()+" -- CMD…")
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	defer a.progress("reading")()
	var list []insight.Run
	more := false
	for info, err := range s.Runs(ctx) {
		if err != nil {
			return err
		}
		if limit > 0 && len(list) == limit {
			more = true
			break
		}
		r, err := insight.Summarise(ctx, s, info)
		if err != nil {
			return err
		}
		list = append(list, r)
	}
	if a.json {
		out := make([]canon.Value, len(list))
		for i := range list {
			out[i] = list[i].Value().With("state", canon.String(s.state(&list[i])))
		}
		a.print(canon.Object(canon.M("runs", canon.Array(out...)), canon.M("more", canon.Bool(more))))
		return nil
	}
	t := newTable(2, "RUN", "WHEN", "TITLE", ">CALLS", "STATE", ">EXIT", ">TOOK")
	for i := range list {
		r := &list[i]
		exit, took := dash, dash
		if r.Exit != nil {
			exit = fmt.Sprint(*r.Exit)
		}
		if d, ok := r.Took(); ok {
			took = duration(d)
		}
		t.add(a.out.name(short(r.Run)), a.when(insight.When(r.Opened)), title(r), number(r.Calls), a.paintState(s.state(r)), exit, took)
	}
	t.write(a.stdout, a.out)
	if more {
		a.sayf("%s\n", a.err.dim(fmt.Sprintf("more runs than %d; all of them: %s runs --limit 0", limit, a.self)))
	}
	return nil
}

// title says what a run is, for one line.
func title(r *insight.Run) string {
	t := clean(r.Title)
	if t == "" {
		t = clean(strings.TrimSpace(r.Engine + " " + r.Mode))
	}
	if r.Source != nil {
		what := "branch of "
		if strings.Contains(r.Mode, "replay") {
			what = "replay of "
		}
		t = what + short(r.Source.Run) + ": " + t
	}
	return t
}

// The states of a run in lists.
const (
	stateSealed   = "sealed"
	stateUnsealed = "unsealed"
	stateWriting  = "being written"
)

func (s *opened) state(r *insight.Run) string {
	switch {
	case r.Sealed:
		return stateSealed
	case s.writing(r.Run):
		return stateWriting
	default:
		return stateUnsealed
	}
}

func (a *app) paintState(state string) string {
	switch state {
	case stateSealed:
		return a.out.good(state)
	case stateWriting:
		return a.out.warn(state)
	default:
		return a.out.bad(state)
	}
}

// summary reads one run for a heading.
func (s *opened) summary(ctx context.Context, info ledger.RunInfo) (insight.Run, error) {
	return insight.Summarise(ctx, s, info)
}
