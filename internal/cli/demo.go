package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/demo"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrDemo means that a step of the demonstration did not come out as it must.
// It is a fault of ours: report it.
const ErrDemo fault.Internal = "cli.demo_failed"

// demoPause is how long the sample model takes for one word.
const demoPause = 15 * time.Millisecond

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "demo", Short: "See it all in ten seconds: record, prove, replay, tamper, diverge, hand over", GroupID: "record",
		Long: `Records a sample agent that asks a model and sends a mail through an MCP tool,
and does with the record what Reprise is for. Agent, model and tool are in this
program: no key, no network, no configuration. Its runs stay in the store, its
files in the folder demo beside it.`,
		Example: example("reprise demo"),
		Args:    exactly(0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
	cmd.AddCommand(a.demoAgentCommand(), a.demoToolCommand(), a.demoModelCommand())
	return cmd
}

// demoAgentCommand is the sample agent: a process like any other.
func (a *app) demoAgentCommand() *cobra.Command {
	var polite bool
	cmd := &cobra.Command{
		Use: "agent", Short: "The sample agent", Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fault.Wrap(ErrDemo, "cli.demo", err, "the program itself")
			}
			agent := demo.Agent{
				BaseURL: a.lookup("OPENAI_BASE_URL"), Key: demo.Key, Polite: polite, Out: a.stdout,
				Server: []string{self, "mcp-shim", "--", self, "demo", "tool", a.outbox()},
			}
			if err := agent.Run(cmd.Context()); err != nil {
				fmt.Fprintln(a.stderr, "agent: "+err.Error())
				a.status = 1
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&polite, "polite", false, "use another system prompt, which a replay finds")
	return cmd
}

// demoToolCommand is the MCP server of the sample agent.
func (*app) demoToolCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tool OUTBOX", Short: "The sample MCP server", Hidden: true, Args: exactly(1, "the outbox file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := demo.Tool(cmd.Context(), args[0]); err != nil && !errors.Is(err, io.EOF) {
				return fault.Wrap(ErrDemo, "cli.demo", err, "the MCP server")
			}
			return nil
		},
	}
}

// demoModelCommand lends the sample model to a command, so that somebody
// without a key can record an agent of their own.
func (a *app) demoModelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "model -- CMD…", Short: "Run a command with the sample model as its OpenAI",
		Long: `Runs a command whose OPENAI_BASE_URL points to the sample model. What the model
says makes little sense, but it is a model as far as any client can tell.`,
		Example: example("reprise demo model -- reprise record -- sh agent.sh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, argv, err := agentCommand(cmd, args, 0)
			if err != nil {
				return err
			}
			t := &tour{a: a}
			if err := t.startModel(); err != nil {
				return err
			}
			defer t.model.Close()
			c := exec.CommandContext(cmd.Context(), argv[0], argv[1:]...)
			c.Env, c.Stdin, c.Stdout, c.Stderr = a.env, a.stdin, a.stdout, a.stderr
			err = c.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				a.status = exit.ExitCode()
				return nil
			}
			return fault.Wrap(ErrFile, "cli.demo", err, "starting %s", argv[0])
		},
	}
}

// demoFolder is where the demonstration leaves its files.
func (a *app) demoFolder() string {
	if dir := a.place().dir; dir != "" {
		return filepath.Join(dir, "demo")
	}
	return filepath.Join(defaultDir, "demo")
}

func (a *app) outbox() string { return filepath.Join(a.demoFolder(), "outbox.txt") }

// tour is one demonstration on its way.
type tour struct {
	a     *app
	exe   string
	model *http.Server
	step  int
}

func (a *app) demo(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return fault.Wrap(ErrDemo, "cli.demo", err, "the program itself")
	}
	dir := a.demoFolder()
	if a.place().file != "" {
		if err := makeFolder(a.place().dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(ErrFile, "cli.demo", err, "the folder of the demonstration")
	}
	t := &tour{a: a, exe: exe}
	if err := t.startModel(); err != nil {
		return err
	}
	defer t.model.Close()
	a.printf("%s\nAn agent, its model and its tool, all on this machine: no key, no network.\n", a.out.bold("Reprise in six steps"))

	mails := t.mails()
	t.title("Record", "the agent asks a model, which has it send a mail through an MCP tool")
	if err := t.run(fault.ExitDone, "record", "--title", "demo agent", "--", exe, "demo", "agent"); err != nil {
		return err
	}
	run, err := t.last(ctx)
	if err != nil {
		return err
	}
	if t.mails() != mails+1 {
		return fault.New(ErrDemo, "cli.demo", "the agent did not send its mail")
	}
	a.printf("  %s\n", a.out.dim(fmt.Sprintf("outbox: %d mail", t.mails())))

	t.title("Prove", "every hash, link and signature is computed again")
	if err := t.run(fault.ExitDone, "verify", short(run)); err != nil {
		return err
	}

	_ = t.model.Close()
	t.title("Replay", "the model is switched off; every answer comes from the record")
	if err := t.run(fault.ExitDone, "replay", short(run), "--", exe, "demo", "agent"); err != nil {
		return err
	}
	if t.mails() != mails+1 {
		return fault.New(ErrDemo, "cli.demo", "the replay sent a second mail")
	}
	a.printf("  %s\n", a.out.dim(fmt.Sprintf("outbox: still %d mail: the side effect did not happen again", t.mails())))

	if err := t.handOver(run, dir); err != nil {
		return err
	}

	t.title("Change the agent", "another system prompt; where does that make a difference?")
	if err := t.run(fault.ExitDiverged, "replay", short(run), "--", exe, "demo", "agent", "--polite"); err != nil {
		return err
	}
	changed, err := t.last(ctx)
	if err != nil {
		return err
	}
	t.goOn(run, changed, dir)
	return nil
}

// handOver exports the run, verifies the file with nothing but a public key,
// and shows what one flipped bit does.
func (t *tour) handOver(run ledger.RunID, dir string) error {
	a := t.a
	file, key := filepath.Join(dir, "run.reprise"), filepath.Join(dir, "key.pub")
	t.title("Hand over", "one file and one public key are all that an auditor needs")
	for _, old := range []string{file, key} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fault.Wrap(ErrFile, "cli.demo", err, "a file of an earlier demonstration")
		}
	}
	if err := t.run(fault.ExitDone, "export", short(run), "-o", file); err != nil {
		return err
	}
	if err := t.run(fault.ExitDone, "keys", "export", "-o", key); err != nil {
		return err
	}
	if err := t.run(fault.ExitDone, "verify", file, "--trust", key); err != nil {
		return err
	}

	t.title("Tamper", "one bit of a copy is flipped: 12.50 EUR becomes 13.50")
	b, err := os.ReadFile(file)
	if err != nil {
		return fault.Wrap(ErrFile, "cli.demo", err, "the exported file")
	}
	at := bytes.LastIndex(b, []byte("12.50"))
	if at < 0 {
		return fault.New(ErrDemo, "cli.demo", "the exported file does not hold what the agent said")
	}
	b[at+1] ^= 1
	forged := filepath.Join(dir, "forged.reprise")
	if err := os.WriteFile(forged, b, 0o600); err != nil {
		return fault.Wrap(ErrFile, "cli.demo", err, "the copy")
	}
	a.printf("  %s\n", a.out.dim(fmt.Sprintf("byte %d of the copy: 0x%02x → 0x%02x", at+1, b[at+1]^1, b[at+1])))
	return t.run(fault.ExitIntegrity, "verify", forged, "--trust", key)
}

// startModel serves the sample model on a port of this machine, where the
// agent's own variable points to.
func (t *tour) startModel() error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fault.Wrap(ErrDemo, "cli.demo", err, "a port for the sample model")
	}
	t.model = &http.Server{Handler: demo.Model{Pause: demoPause}, ReadHeaderTimeout: time.Minute}
	go func() { _ = t.model.Serve(l) }()
	t.a.env = append(slices.Clip(t.a.env),
		"OPENAI_BASE_URL=http://"+l.Addr().String()+"/v1", "OPENAI_API_KEY="+demo.Key)
	return nil
}

func (t *tour) title(name, what string) {
	t.step++
	a := t.a
	a.printf("\n%s %s\n", a.out.bold(fmt.Sprintf("%d  %s:", t.step, name)), what)
}

// run prints a command as one would type it, and runs it.
func (t *tour) run(want int, args ...string) error {
	a := t.a
	if a.store != "" {
		args = append([]string{args[0], "--store", a.store}, args[1:]...)
	}
	a.printf("%s\n", a.out.name("   $ "+a.self+" "+t.shown(args)))
	name := t.exe
	if !strings.Contains(a.self, " ") {
		name = a.self // so that what the command prints has the name that was typed
	}
	got := Run(context.Background(), append([]string{name}, args...), a.stdin, a.stdout, a.stdout, a.env...) // one stream: the order is part of the story
	if got != want {
		return fault.New(ErrDemo, "cli.demo", "step %d ended with status %d, not %d", t.step, got, want)
	}
	return nil
}

// shown is a command line in which the program stands under the name by which
// it was called.
func (t *tour) shown(args []string) string {
	return strings.ReplaceAll(quoteAll(args), quote(t.exe), t.a.self)
}

// mails counts the lines of the outbox.
func (t *tour) mails() int {
	b, err := os.ReadFile(t.a.outbox())
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte("\n"))
}

func (t *tour) last(ctx context.Context) (ledger.RunID, error) {
	s, err := t.a.openOld(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	info, err := s.find(ctx, "last")
	return info.Run, err
}

func (t *tour) goOn(run, changed ledger.RunID, dir string) {
	a := t.a
	file, key := filepath.Join(dir, "run.reprise"), filepath.Join(dir, "key.pub")
	a.printf("\n%s\n", a.out.bold("Go on"))
	flag := a.flag()
	a.next(a.stdout, a.out,
		"runs"+flag,
		"show "+short(run)+flag,
		"show "+short(run)+" --html "+quote(filepath.Join(dir, "run.html"))+flag,
		"diff "+short(run)+" "+short(changed)+flag,
		"replay "+short(run)+flag+" -- "+a.self+" demo agent",
		"verify "+quote(file)+" --trust "+quote(key),
	)
	a.printf("  %s\n", a.out.dim("and with your own agent:"))
	a.next(a.stdout, a.out, "record -- node agent.mjs")
}
