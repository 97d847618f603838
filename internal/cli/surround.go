package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// The names of the commands that only the program itself calls.
const (
	execShimName = "exec-shim"
	cellName     = "cell"
)

// around is what a recording puts around its agent besides addresses.
type around struct {
	proxy     bool
	intercept []string
	shims     []string
}

func (f *around) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.proxy, "proxy", false, "send the agent through a forward proxy as well, for clients without a base URL variable")
	cmd.Flags().StringArrayVar(&f.intercept, "intercept", nil, "record this host too, with --proxy: a name in which * stands for anything; may be given more than once")
	cmd.Flags().StringSliceVar(&f.shims, "shim", nil, "record these programs when the agent runs them by name, as in git,npm")
}

func (f *around) apply(o *capture.RunOptions) error {
	if len(f.intercept) > 0 && !f.proxy {
		return fault.New(ErrUsage, "cli.record", "--intercept is for --proxy")
	}
	o.Proxy, o.Intercept, o.Shims = f.proxy, f.intercept, f.shims
	return nil
}

// inner is how a replay keeps the agent from what is not recorded.
type inner struct {
	hermetic string
	tools    string
}

func (f *inner) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.hermetic, "hermetic", "", "let the agent reach nothing but the record: auto (with a network of its own where the system allows it) or require")
	cmd.Flags().Lookup("hermetic").NoOptDefVal = string(capture.IsolateAuto)
	cmd.Flags().StringVar(&f.tools, "tools", "recorded", "the commands that were recorded with --shim: recorded, or live to run them again")
}

func (f *inner) apply(o *capture.ReplayOptions) (err error) {
	if o.Hermetic, err = capture.ParseIsolation(f.hermetic); err != nil {
		return err
	}
	switch f.tools {
	case "recorded":
	case "live":
		o.ToolsLive = true
	default:
		return fault.New(ErrUsage, "cli.replay", "--tools is recorded or live, not %q", f.tools)
	}
	if o.ToolsLive && o.Hermetic != capture.IsolateNot {
		return fault.New(ErrUsage, "cli.replay", "--hermetic answers tools from the record; --tools live runs them")
	}
	return nil
}

// changeFlags are what a branch changes in requests.
type changeFlags struct {
	model string
	set   []string
}

func (f *changeFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.model, "model", "", "ask this model behind the branch, whatever the agent asks for")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "change requests to models behind the branch, as JSONPOINTER=VALUE; may be given more than once")
}

func (f *changeFlags) apply(o *capture.ReplayOptions) error {
	if f.model != "" {
		o.Set = append(o.Set, capture.Change{Model: f.model})
	}
	for _, s := range f.set {
		c, err := capture.ParseChange(s)
		if err != nil {
			return err
		}
		o.Set = append(o.Set, c)
	}
	return nil
}

// executable returns the path of this program, so that an agent's children can
// call it.
func (a *app) executable() (string, error) {
	path, err := exec.LookPath(a.name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		path, err = os.Executable()
	}
	return path, fault.Wrap(ErrFile, "cli.record", err, "the path of this program")
}

// execShimCommand stands in an agent's PATH in place of a program.
func (a *app) execShimCommand() *cobra.Command {
	return &cobra.Command{
		Use: execShimName + " PROGRAM -- ARG…", Short: "Run a program for an agent through the recorder", Hidden: true,
		Long: `Stands in an agent's PATH in place of a program that record --shim names: what
it reads and writes goes through the recorder that started the agent. In a
replay the program is not run.`,
		Example: example("reprise " + execShimName + " git -- status"),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at != 1 {
				return fault.New(ErrUsage, "cli.shim", "put the arguments of one program behind --")
			}
			cwd, err := os.Getwd()
			if err != nil {
				return fault.Wrap(ErrFile, "cli.shim", err, "the working folder")
			}
			a.status = exitRecorder
			status, err := capture.ExecShim(cmd.Context(), capture.ExecOptions{
				Recorder: a.lookup(capture.RecorderVar), Program: args[0], Args: args[1:], Dir: cwd, Env: a.env,
				Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
			})
			if err != nil {
				return a.recordFailed(err)
			}
			a.status = status
			return nil
		},
	}
}

// cellCommand becomes the agent of a hermetic replay.
func (a *app) cellCommand() *cobra.Command {
	return &cobra.Command{
		Use: cellName, Short: "Become the agent of a hermetic replay", Hidden: true,
		Long:    `Started by replay --hermetic in a network of its own, in which it becomes the agent.`,
		Example: example("reprise replay last --hermetic -- node agent.mjs"),
		Args:    exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			a.status = exitNotStartable
			return capture.EnterCell()
		},
	}
}

// saved sums up what the record answered, up to entry until, and nobody had to
// be asked again, and puts it into the report.
func (s *opened) saved(ctx context.Context, r *insight.Run, until int64, o *capture.ReplayOptions, res *capture.Result) (*insight.Totals, error) {
	prices, err := s.a.prices("")
	if err != nil {
		return nil, err
	}
	unused := map[int64]bool{}
	for _, u := range res.Unused {
		if u.Run == r.Run {
			unused[u.N] = true
		}
	}
	sums := &insight.Totals{}
	for c, err := range insight.Calls(ctx, s, r.Run, prices) {
		ran := o.ToolsLive && c.Kind == capture.KindExec
		if err == nil && c.Outcome >= 0 && c.Outcome < until && !unused[c.N] && !ran && !c.Evidence {
			err = sums.Add(&c)
		}
		if err != nil {
			return nil, err
		}
	}
	res.Report.Detail = res.Report.Detail.With("saved", sums.Value())
	return sums, nil
}

// saySaved prints what the record has saved.
func (a *app) saySaved(sums *insight.Totals) {
	if sums.Calls > 0 {
		a.sayf("%s the record answered %s\n", a.err.good("saved:"), sumLine(sums))
	}
}
