package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of the command line.
const (
	// ErrUsage means that a command was called in a way that it does not have.
	// Read its help.
	ErrUsage fault.Invalid = "cli.usage"
	// ErrFile means that a file named on the command line cannot be read or
	// written. Look at its path.
	ErrFile fault.Invalid = "cli.file"
	// ErrNoStore means that nothing was recorded here yet. Record a run, or
	// name the store.
	ErrNoStore fault.NotFound = "cli.no_store"
)

// app is one call of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    []string
	self   string // how the program was called, for commands that are printed
	name   string // by which it was called
	now    func() time.Time
	rand   io.Reader

	out, err style // of stdout and stderr

	// Flags that every command has.
	store string
	blobs string
	json  bool

	// printed says that standard output holds its one document.
	printed bool
	// status is how the program ends if the command gives no error.
	status int
}

// Run is the program. Args are those of the process, its name included.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env ...string) int {
	return run(ctx, time.Now, args, stdin, stdout, stderr, env)
}

// run is the program under a clock.
func run(ctx context.Context, now func() time.Time, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{
		stdin: stdin, stdout: stdout, stderr: stderr, env: env,
		self: selfOf(args), now: now, rand: rand.Reader,
	}
	if len(args) > 0 {
		a.name = args[0]
	}
	a.out, a.err = styleOf(stdout, env), styleOf(stderr, env)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()

	root := a.root()
	root.SetArgs(args[min(1, len(args)):])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		return a.fail(cmd, err)
	}
	return a.status
}

// selfOf returns how to call the program again. "go run" builds into a folder
// that is gone afterwards, or runs what it has in its cache; neither path is
// of use to anybody.
func selfOf(args []string) string {
	if len(args) == 0 || args[0] == "" {
		return "reprise"
	}
	dir := filepath.ToSlash(filepath.Dir(args[0]))
	if strings.Contains(dir, "/go-build") {
		return "go run ./cmd/reprise"
	}
	return quote(args[0])
}

// fail prints an error and returns the exit status of its class.
func (a *app) fail(cmd *cobra.Command, err error) int {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		if _, coded := errors.AsType[fault.Code](err); !coded && !errors.Is(err, context.Canceled) {
			err = usage(err) // cobra's own errors are all of usage
		}
	}
	code := fault.CodeOf(err)
	msg := fault.Text(err)
	fmt.Fprintf(a.stderr, "reprise: %s: %s\n", a.err.bad(clean(code.Error())), clean(msg))
	if e != nil {
		for _, d := range e.Detail {
			fmt.Fprintf(a.stderr, "  %s\n", clean(d))
		}
	}
	if h := a.hint(cmd, code); h != "" {
		fmt.Fprintf(a.stderr, "  %s %s\n", a.err.dim("hint:"), h)
	}
	if a.json && !a.printed {
		a.print(canon.Object(canon.M("error", canon.Object(
			canon.M("code", canon.String(code.Error())),
			canon.M("class", canon.String(code.Class().String())),
			canon.M("message", canon.String(msg)),
			canon.M("exit_status", canon.Int(int64(code.Class().ExitStatus()))),
		))))
	}
	if a.status != 0 {
		return a.status
	}
	return code.Class().ExitStatus()
}

// usage says an error of cobra in a line: its guesses come as a list.
func usage(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	text = strings.Replace(text, " Did you mean this? ", "; did you mean one of these: ", 1)
	return fault.New(ErrUsage, "cli.Run", "%s", text)
}

// hint says what to do about the errors that people meet most.
func (a *app) hint(cmd *cobra.Command, code fault.Code) string {
	switch code.Error() {
	case "cli.usage":
		return strings.TrimPrefix(strings.Replace(" "+cmd.CommandPath(), " "+cmd.Root().Name(), a.self, 1)+" --help", " ")
	case "insight.no_such_run", "insight.ambiguous_run":
		return "list the runs: " + a.self + " runs"
	case "ledger.run_not_found":
		return a.self + " runs lists the runs, " + a.self + " show RUN the entries of one"
	case "cli.no_recordings":
		return a.self + " export RUN -o NAME" + bundleExt + " puts a recording there"
	case "capture.nothing_recorded":
		return "record it again, with the agent pointed at the recorder; " + a.self + " doctor says how that is done for each"
	case "capture.not_a_call":
		return "the entries of calls are those that " + a.self + " show RUN prints"
	case "capture.bad_upstream":
		return "as in --upstream openai=http://127.0.0.1:11434/v1"
	case "cli.no_store":
		return "--store or REPRISE_STORE name another one; " + a.self + " record -- CMD… makes one"
	case "ledger.leased":
		return "another process writes to this run; wait until it ends, or ten seconds if it was killed"
	case "sign.untrusted_root":
		return "ask the sender for the output of \"reprise keys export\" and pass it with --trust"
	case "store.bad_name":
		return "the default is --store sqlite:.reprise/reprise.db"
	case "keys.exposed":
		return "chmod 600 the file, and " + a.self + " keys rotate if others could have read it"
	case "server.remote_address":
		return "--listen 127.0.0.1:7070, or --allow-remote if they may read every run"
	case "server.listen_failed":
		return "port 0 takes a free one, with --listen or, for the recorder, --record-listen"
	case "capture.no_isolation":
		return "--hermetic without require goes on, and the report says what was not blocked"
	case "capture.bad_shim":
		return "--shim takes the names of programs that are in PATH where " + a.self + " is started, as in git,npm"
	case "keys.no_signer":
		return a.self + " keys rotate"
	}
	return ""
}

// lookup returns a variable of the environment.
func (a *app) lookup(name string) string { return lookup(a.env, name) }

func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "Record what an AI agent does, prove the record, replay it offline",
		Long: `Reprise is a flight recorder and replay engine for AI agents.

It runs your agent, records every model and tool call that it makes, and keeps
them in a ledger that cannot be changed unnoticed. A recorded run can be looked
at, verified by somebody else, and replayed without calling anything.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetHelpCommandGroupID("more")
	root.AddGroup(
		&cobra.Group{ID: "record", Title: "Record and look:"},
		&cobra.Group{ID: "replay", Title: "Prove, replay, compare:"},
		&cobra.Group{ID: "govern", Title: "Govern agents:"},
		&cobra.Group{ID: "share", Title: "Hand over:"},
		&cobra.Group{ID: "more", Title: "More:"},
	)
	flags := root.PersistentFlags()
	flags.StringVar(&a.store, "store", "", "where runs are kept, as sqlite:PATH (default .reprise/ in the working folder; REPRISE_STORE)")
	flags.StringVar(&a.blobs, "blobs", "", "where a new store keeps contents: file:DIR or s3://BUCKET/PREFIX (default in the store itself; REPRISE_BLOBS)")
	flags.BoolVar(&a.json, "json", false, "print one JSON document on standard output")
	root.AddCommand(a.matchCommand(), a.testCommand())
	root.AddCommand(
		a.demoCommand(), a.recordCommand(), a.runsCommand(), a.showCommand(),
		a.verifyCommand(), a.replayCommand(), a.diffCommand(), a.branchCommand(),
		a.trajectoryCommand(), a.approveCommand(),
		a.jobCommand(), a.governCommand(), a.snapshotCommand(),
		a.auditCommand(), a.worldCommand(),
		a.exportCommand(), a.importCommand(), a.keysCommand(),
		a.serveCommand(), a.doctorCommand(), a.shimCommand(), a.execShimCommand(), a.cellCommand(), a.completionCommand(root),
	)
	return root
}

// example joins commands for a help text.
func example(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }

// exactly refuses another number of arguments, in our words.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			got := plural(int64(len(args)), "argument")
			if len(args) == 0 {
				got = "nothing"
			}
			return fault.New(ErrUsage, "cli", "%s takes %s; it was given %s", cmd.CommandPath(), what, got)
		}
		return nil
	}
}

// agentCommand splits "RUN -- CMD…" at the dashes: cobra leaves them out.
func agentCommand(cmd *cobra.Command, args []string, before int) (own, agent []string, err error) {
	at := cmd.ArgsLenAtDash()
	if at >= 0 && at < before {
		return nil, nil, fault.New(ErrUsage, "cli", "name the run in front of the --, as in %q", strings.Replace(cmd.UseLine(), " [flags]", "", 1))
	}
	if at < 0 || at != before || len(args) == at {
		return nil, nil, fault.New(ErrUsage, "cli", "put the agent's command behind --, as in %q", strings.Replace(cmd.UseLine(), " [flags]", "", 1))
	}
	return args[:at], args[at:], nil
}

func (a *app) completionCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell", GroupID: "more",
		Example:   example("source <(reprise completion bash)", "reprise completion zsh > ~/.zfunc/_reprise"),
		Args:      exactly(1, "the name of a shell"),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return fault.New(ErrUsage, "cli.completion", "no completion for the shell %q", args[0])
		},
	}
}
