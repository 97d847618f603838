package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

type serveFlags struct {
	listen string
	hosts  []string
	remote bool

	run      bool
	template string

	standing standingFlags
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the runs over HTTP, on this machine", GroupID: "share",
		Long: `Serve the HTTP API over the store: runs, entries, attachments, verification,
diffs, bundles and a live stream of new entries. /openapi.json describes it,
/healthz and /readyz are for probes.

There are no users yet: whoever reaches the server may read every run and
import. It listens on the loopback, and another address is refused without
--allow-remote. A request must name the server by an address of it, by
localhost, or by a name given with --host.

With --allow-run, trajectories begin and go on here at the word of whoever
reaches the server, with the tools that they name: that starts programs. Without
it, what others propose and sign is recorded, and somebody else resumes the run.

With --record it records as well: agents that are pointed at --record-listen, each
as a run of its own, by the header x-reprise-run, by /run/NAME in front of the
path, or by the API key. A run is closed when it was idle for a while. Whoever
reaches that address can have requests made and recorded.

It stops on Ctrl-C or SIGTERM, when what is under way has ended.`,
		Example: example("reprise serve", "reprise serve --listen 127.0.0.1:0 --json", "curl http://127.0.0.1:7070/v1/runs",
			"reprise serve --record", "OPENAI_BASE_URL=http://127.0.0.1:7071/run/nightly/openai/v1 node agent.mjs"),
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd, f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7070", "the address, as HOST:PORT; port 0 takes a free one")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "a further name under which clients reach the server; may be given more than once")
	cmd.Flags().BoolVar(&f.remote, "allow-remote", false, "allow an address that other machines can reach: they may read every run")
	cmd.Flags().BoolVar(&f.run, "allow-run", false, "run trajectories, which starts the programs that are their tools; not with --allow-remote")
	cmd.Flags().StringVar(&f.template, "trajectory-template", "", "with --allow-run: a task file for trajectories of one submitted action")
	f.standing.register(cmd)
	return cmd
}

func (a *app) serve(cmd *cobra.Command, f serveFlags) error {
	ctx := cmd.Context()
	if f.template != "" && !f.run {
		return fault.New(ErrUsage, "cli.serve", "--trajectory-template needs --allow-run")
	}
	if f.run && f.remote {
		return fault.New(ErrUsage, "cli.serve", "--allow-run starts programs at the word of whoever reaches the server, so it does not go with --allow-remote")
	}
	if fs := given(cmd, []string{"record-listen", "upstream", "idle"}); len(fs) > 0 && !f.standing.record {
		return fault.New(ErrUsage, "cli.serve", "%s needs --record", strings.Join(fs, ", "))
	}
	if f.template != "" {
		if _, err := trajectories.ReadTask(f.template); err != nil {
			return err // a mistake in it is found now
		}
	}
	ln, err := server.Listen(ctx, f.listen, f.remote)
	if err != nil {
		return err
	}
	defer ln.Close()
	recording, err := f.standing.open(ctx, a.env, f.remote)
	if err != nil {
		return err
	}
	if recording != nil {
		defer recording.Close()
	}
	s, err := a.openNew(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.recoverRuns(ctx); err != nil {
		return err
	}
	hosts := f.hosts
	if host, _, err := net.SplitHostPort(f.listen); err == nil && host != "" && net.ParseIP(host) == nil {
		hosts = append(hosts, host)
	}
	opts := &server.Options{
		Keys: a.readKeys, Rand: a.rand, Holder: s.holder, Hosts: hosts, Temp: s.dir,
		Log: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if err := s.serveTrajectories(opts, f); err != nil {
		return err
	}
	srv, err := server.New(s, opts)
	if err != nil {
		return err
	}
	rec, err := s.standing(ctx, &f, recording)
	if err != nil {
		return err
	}
	address := "http://" + ln.Addr().String()
	if a.json {
		v := canon.Object(canon.M("address", canon.String(address)), canon.M("store", canon.String(s.dsn)))
		if rec != nil {
			v = v.With("recording", rec.Value())
		}
		a.print(v)
	} else {
		a.printf("serving %s at %s\n", s.dsn, a.out.name(address))
		for _, path := range []string{"/v1/runs", "/openapi.json"} {
			a.printf("  %s\n", a.out.dim(address+path))
		}
	}
	if host, _, err := net.SplitHostPort(ln.Addr().String()); err == nil && !net.ParseIP(host).IsLoopback() {
		a.sayf("%s other machines can reach %s and read every run\n", a.err.warn("warning:"), strings.TrimPrefix(address, "http://"))
	}
	if rec == nil {
		return srv.Serve(ctx, ln)
	}
	if !a.json {
		a.sayRecorder(rec)
	}
	// Either ends the other: half a server would be taken for a whole one.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	recorded := make(chan error, 1)
	go func() {
		defer stop()
		recorded <- rec.Serve(ctx, rec.ln)
	}()
	err = srv.Serve(ctx, ln)
	stop()
	return errors.Join(err, <-recorded)
}

// serveTrajectories lets a server write trajectories and jobs. Without keys there are
// none that could be written to, and none are made unless it is to run some.
func (s *opened) serveTrajectories(o *server.Options, f serveFlags) error {
	k, err := s.a.readKeys()
	if err != nil || k == nil && !f.run {
		return err
	}
	if o.Trajectories, err = s.runner(); err != nil {
		return err
	}
	o.Trajectories.Progress = nil // the log is for faults
	if o.Jobs, err = s.jobRunner(); err != nil {
		return err
	}
	o.Jobs.Progress = nil
	o.AllowRun = f.run
	if f.template == "" {
		return nil
	}
	o.Template = func() (*trajectories.Task, error) { return trajectories.ReadTask(f.template) }
	return nil
}
