package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

func (a *app) jobMissing() *cobra.Command {
	return &cobra.Command{
		Use: "missing", Short: "List the jobs that cannot be replayed, or are not archived, and what each lacks",
		Long: `List the jobs that are over and cannot be replayed, and what each lacks; and those
that are not in the archive that their files ask for: their process ended before
they were there, or the archive could not be reached. job archive puts them there.`,
		Example: example("reprise job missing", "reprise job missing --json"),
		Args:    exactly(0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.missing(cmd.Context()) },
	}
}

func (a *app) missing(ctx context.Context) error {
	s, err := a.openOld(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var list, away []canon.Value
	for j, err := range jobs.List(ctx, s) {
		if err != nil {
			return err
		}
		if !j.Done || j.Replayable {
			continue
		}
		list = append(list, canon.Object(canon.M("run", canon.String(string(j.Run))), canon.M("title", canon.String(j.Title)), canon.M("missing", canon.Strings(j.Missing))))
		if a.json {
			continue
		}
		a.printf("%s %s\n", a.out.name(short(j.Run)), clean(j.Title))
		for _, m := range j.Missing {
			a.printf("  %s %s\n", a.out.warn("missing"), clean(m))
		}
	}
	k, err := a.readKeys()
	if err != nil {
		return err
	}
	for j, err := range jobs.NotArchived(ctx, s, k) {
		if err != nil {
			return err
		}
		away = append(away, canon.Object(canon.M("run", canon.String(string(j.Run))), canon.M("title", canon.String(j.Title)), canon.M("archive", canon.String(j.Archive))))
		if !a.json {
			a.printf("%s %s\n  %s in %s\n", a.out.name(short(j.Run)), clean(j.Title), a.out.warn("not archived"), clean(j.Archive))
		}
	}
	if a.json {
		a.print(canon.Object(canon.M("jobs", canon.Array(list...)), canon.M("not_archived", canon.Array(away...))))
		return nil
	}
	if len(list) == 0 {
		a.sayf("every job that is over can be replayed\n")
	}
	if len(away) > 0 {
		a.next(a.stdout, a.out, "job archive"+a.flag())
	}
	return nil
}

func (a *app) jobArchive() *cobra.Command {
	return &cobra.Command{
		Use: "archive [JOB]", Short: "Archive a job where its file says, or all that are not there yet",
		Long: `Archive a job that is over where its file says (archive:), or all of them that are
not there yet: see job missing. It may be repeated: what is there is not stored
again. The status is 5 if one of them could not be archived. Any run goes
anywhere with export RUN --to.`,
		Example: example("reprise job archive", "reprise job archive last"),
		Args:    between(0, 1, "a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.archiveJobs(cmd.Context(), argument(args, 0))
		},
	}
}

// archiveJobs archives the job of that name; empty: all that are not archived.
// One that cannot be archived keeps no other from it.
func (a *app) archiveJobs(ctx context.Context, name string) error {
	s, r, err := openJobs(ctx, a.openOld)
	if err != nil {
		return err
	}
	defer s.Close()
	var runs []ledger.RunID
	if name != "" {
		run, err := s.findJob(ctx, name)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	} else {
		for j, err := range jobs.NotArchived(ctx, s, r.Keys) {
			if err != nil {
				return err
			}
			runs = append(runs, j.Run)
		}
	}
	var list []canon.Value
	var first error
	for _, run := range runs {
		stop := a.progress("archiving")
		x, err := r.Archive(ctx, run)
		stop()
		if err != nil && first == nil {
			first = err
		}
		list = append(list, canon.Object(canon.M("run", canon.String(string(run))), canon.M("archived", archivedValue(x)), canon.M("code", codeValue(err))))
		switch {
		case a.json:
		case err != nil:
			a.printf("%s %s\n", a.out.name(short(run)), a.out.bad("not archived"))
		default:
			a.printf("%s\n", a.out.name(short(run)))
			a.archived(x)
		}
	}
	if a.json {
		a.print(canon.Object(canon.M("jobs", canon.Array(list...))))
	} else if len(runs) == 0 {
		a.sayf("every job that is over is where its file asks for\n")
	}
	return first
}
