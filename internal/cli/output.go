package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// outputs are the forms in which a comparison is written besides what is
// printed.
type outputs struct {
	junit, markdown, html string
	github                bool
}

func (o *outputs) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.junit, "junit", "", "write the result as JUnit XML to this file")
	f.BoolVar(&o.github, "github", false, "print annotations for GitHub, and add to the summary of the step where there is one")
	f.StringVar(&o.markdown, "markdown", "", "write the result as Markdown to this file; without =FILE print it")
	f.Lookup("markdown").NoOptDefVal = "-"
	f.StringVar(&o.html, "html", "", "write the result as one self-contained page to this file")
}

// check refuses what could not be written later, before an agent runs.
func (o *outputs) check(a *app) error {
	out := 0
	for _, name := range []string{o.junit, o.markdown, o.html} {
		switch name {
		case "":
		case "-":
			out++
		default:
			if st, err := os.Stat(name); err == nil && st.IsDir() {
				return fault.New(ErrFile, "cli.output", "%s is a folder; name a file in it", name)
			}
			if _, err := os.Stat(filepath.Dir(name)); err != nil {
				return fault.Wrap(ErrFile, "cli.output", err, "the folder of %s", name)
			}
		}
	}
	if out > 1 || out > 0 && a.json {
		return fault.New(ErrUsage, "cli.output", "standard output can hold one document only")
	}
	return nil
}

// publish writes a suite in the forms that were asked for.
func (a *app) publish(o *outputs, s *regress.Suite) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{o.junit, s.JUnit}, {o.markdown, s.Markdown}, {o.html, s.HTML}} {
		if f.name == "" {
			continue
		}
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return err
		}
		if err := a.to(f.name, b.Bytes()); err != nil {
			return err
		}
	}
	if !o.github {
		return nil
	}
	to := a.stdout
	if a.json {
		to = a.stderr
	}
	if err := s.GitHub(to); err != nil {
		return err
	}
	return a.stepSummary(s)
}

// stepSummary adds the suite to the summary that GitHub shows of a step.
func (a *app) stepSummary(s *regress.Suite) error {
	name := a.lookup("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(ErrFile, "cli.output", err, "the summary of the step")
	}
	err = s.Markdown(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return fault.Wrap(ErrFile, "cli.output", err, "the summary of the step")
}

// publishOne writes the outputs of a command that compares once.
func (a *app) publishOne(ctx context.Context, o *outputs, store drive.Store, title, name string, r *replay.Report, took time.Duration) error {
	if *o == (outputs{}) {
		return nil
	}
	sides, err := regress.SidesOf(ctx, store, r)
	if err != nil {
		return err
	}
	return a.publish(o, &regress.Suite{Title: title, Made: a.now(), Cases: []regress.Case{{Name: name, Report: r, Took: took, Sides: sides}}})
}
