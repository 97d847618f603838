package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
	"github.com/reprise-dev/reprise/kernel/sign"
)

type verifyFlags struct {
	level   string
	trust   []string
	expect  string
	partial bool
	foreign openThymosFlags
}

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify RUN|FILE", ValidArgsFunction: a.complete(1), Short: "Check that a run or a bundle was not changed", GroupID: "replay",
		Long: `Check every hash, link, tree and signature of a run in the store or of a bundle.
Nothing is run and nothing is asked of anybody.

The report names the level that the evidence reaches, and what that does not
prove: 0 chain, 1 signed by a key that you trust, 2 logged, 3 witnessed. Level 1
is asked for where a trusted root key is at hand (your own, or --trust), else 0;
--level asks for another one.

The exit status is 0 if everything asked for holds, 1 if the evidence is sound
but below the level, 3 if a check failed.

With --format openthymos the file is a ledger that OpenThymos made: a list of
entries, the answer of its GET /audit/entries, or a line for each. Two verdicts
are given: strict, which decides the exit status, and compat, which is what
OpenThymos itself says of the file.`,
		Example: example(
			"reprise verify last",
			"reprise verify run.reprise --trust key.pub",
			"reprise verify last --expect-head 12:3f9a…",
			"reprise verify last --level 1 --json",
			"reprise verify ledger.json --format openthymos --signer 03a1… --expect-head 3776…",
		),
		Args: exactly(1, "a run or a bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.foreign.check(cmd); err != nil {
				return err
			}
			if f.foreign.format != "" {
				return a.verifyOpenThymos(cmd, args[0], f.expect, &f.foreign)
			}
			return a.verify(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.level, "level", "", "the level that is asked for: 0, 1, 2 or 3")
	cmd.Flags().StringArrayVar(&f.trust, "trust", nil, "a file with public root keys to trust (PEM); may be given more than once")
	cmd.Flags().StringVar(&f.expect, "expect-head", "", "a head that the run must contain, as COUNT:ID or as a file with a signed head; with --format also the ID of the last entry")
	cmd.Flags().BoolVar(&f.partial, "partial", false, "take contents that the store does not have as withheld, not as lost")
	f.foreign.register(cmd)
	return cmd
}

// verifyOptions reads what is asked of the evidence, and which keys are
// trusted.
func (a *app) verifyOptions(f verifyFlags) (*archive.VerifyOptions, error) {
	o := &archive.VerifyOptions{Partial: f.partial, Check: engines()}
	asked, given, err := level(f.level)
	if err != nil {
		return nil, err
	}
	if given {
		o.Level = &asked
	}
	if o.Expect, err = expectedHead(f.expect); err != nil {
		return nil, err
	}
	if o.Roots, err = readTrust(f.trust); err != nil {
		return nil, err
	}
	own, err := a.readKeys()
	if err != nil {
		return nil, err
	}
	// With --trust, only those roots count: the answer must not depend on who asks.
	if own != nil && len(f.trust) == 0 {
		o.Roots, o.Manifests = own.Roots(), own.Manifests()
	}
	return o, nil
}

// engines chooses what the engine of a run checks of it.
func engines() func(ledger.Opened) (ledger.Check, error) {
	trajectory := trajectories.Check(trajectory.Pins{})
	return func(open ledger.Opened) (ledger.Check, error) {
		if c, err := jobs.Check(open); c != nil || err != nil {
			return c, err
		}
		return trajectory(open)
	}
}

func (a *app) verify(ctx context.Context, what string, f verifyFlags) error {
	o, err := a.verifyOptions(f)
	if err != nil {
		return err
	}
	if isBundle(what) {
		stop := a.progress("verifying")
		r, err := archive.VerifyFile(ctx, what, o)
		stop()
		if err != nil {
			return err
		}
		a.verified(r, f)
		return nil
	}
	s, info, err := a.openRun(ctx, what)
	if err != nil {
		return err
	}
	defer s.Close()
	stop := a.progress("verifying")
	r, err := archive.VerifyRun(ctx, s, info.Run, o)
	stop()
	if err != nil {
		return err
	}
	a.verified(r, f)
	return nil
}

func (a *app) verified(r *replay.Report, f verifyFlags) {
	a.report(r)
	switch {
	case a.json || r.Verdict != replay.Below:
		return
	case r.Level >= ledger.LevelSigned:
		a.sayf("%s levels 2 and 3 need a transparency log, which does not exist yet\n", a.err.dim("hint:"))
		return
	case len(f.trust) > 0:
		return
	}
	a.sayf("%s the run is not signed by a key that you trust; if somebody gave you their root key, pass it with --trust\n", a.err.dim("hint:"))
}

// isBundle reports whether an argument names a file. A run is never named
// with a dot or a slash.
func isBundle(what string) bool {
	if strings.ContainsAny(what, `./\`) {
		return true
	}
	info, err := os.Stat(what)
	return err == nil && !info.IsDir() && what != "last"
}

// expectedHead reads COUNT:ID, or a file that holds a signed head. Whether the
// head's signature holds is not asked: the user vouches for it.
func expectedHead(s string) (*ledger.Position, error) {
	const op = "cli.verify"
	if s == "" {
		return nil, nil
	}
	if count, id, ok := strings.Cut(s, ":"); ok {
		var at ledger.Position
		var err error
		if _, err = fmt.Sscanf(count, "%d", &at.Count); err == nil && fmt.Sprint(at.Count) == count {
			if at.Last, err = canon.ParseDigest(strings.ToLower(id)); err == nil && at.Count > 0 {
				return &at, nil
			}
		}
	}
	b, err := os.ReadFile(s)
	if err != nil {
		return nil, fault.New(ErrUsage, op, "%q is neither COUNT:ID nor a file with a signed head", s)
	}
	if len(b) > sign.MaxEnvelope {
		return nil, fault.New(ErrUsage, op, "%s is no signed head", s)
	}
	h, _, err := ledger.ParseHead(bytes.TrimSpace(b))
	if err != nil {
		return nil, fault.Wrap(ErrUsage, op, err, "%s holds no signed head", s)
	}
	return &ledger.Position{Count: h.Count, Last: h.Last}, nil
}
