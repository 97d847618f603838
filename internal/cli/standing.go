package cli

import (
	"context"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/server"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// standingFlags are those of serve's recorder.
type standingFlags struct {
	record    bool
	listen    string
	upstreams []string
	idle      time.Duration
}

func (f *standingFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.record, "record", false, "record agents that are pointed at --record-listen, each as a run of its own")
	cmd.Flags().StringVar(&f.listen, "record-listen", "127.0.0.1:7071", "with --record: the address that agents are pointed at")
	cmd.Flags().StringArrayVar(&f.upstreams, "upstream", nil, "with --record: where a provider really is, as NAME=URL; may be given more than once")
	cmd.Flags().DurationVar(&f.idle, "idle", capture.DefaultIdle, "with --record: after which an idle run is closed")
}

// open opens the address that agents are pointed at, or nothing if none was
// asked for. What serve could not record with is refused first.
func (f *standingFlags) open(ctx context.Context, environ []string, remote bool) (net.Listener, error) {
	if !f.record {
		return nil, nil
	}
	if f.idle <= 0 {
		return nil, fault.New(ErrUsage, "cli.serve", "--idle is a time, as in 5m")
	}
	if _, err := capture.Plan(environ, f.upstreams); err != nil {
		return nil, err
	}
	return server.Listen(ctx, f.listen, remote)
}

// recorder is a standing proxy and where it listens.
type recorder struct {
	*capture.Standing
	ln net.Listener
}

// standing opens the recorder of serve behind a listener, or nothing if there
// is none.
func (s *opened) standing(ctx context.Context, f *serveFlags, ln net.Listener) (*recorder, error) {
	if ln == nil {
		return nil, nil
	}
	a := s.a
	k, err := a.openKeys()
	if err != nil {
		return nil, err
	}
	o := capture.StandingOptions{Env: a.env, Upstreams: f.standing.upstreams, Hosts: f.hosts, Idle: f.standing.idle, Said: a.sayRun}
	if o.Config, err = s.config(k); err != nil {
		return nil, err
	}
	if o.StoreKey, err = s.storeKey(ctx); err != nil {
		return nil, err
	}
	st, err := capture.NewStanding(o)
	if err != nil {
		return nil, err
	}
	return &recorder{st, ln}, nil
}

// sayRun prints that a run began or ended.
func (a *app) sayRun(r capture.StandingRun) {
	switch {
	case r.Err != nil:
		a.sayf("%s run %s (%s %s): %s\n", a.err.bad("not sealed:"), short(r.Run), r.By, clean(r.Name), clean(fault.Text(r.Err)))
	case r.Ended:
		a.sayf("%s recorded run %s (%s %s): %s\n", a.err.good("■"), short(r.Run), r.By, clean(r.Name), plural(r.Calls, "call"))
	default:
		a.sayf("%s recording run %s (%s %s)\n", a.err.bad("●"), short(r.Run), r.By, clean(r.Name))
	}
}

// address returns where agents are pointed.
func (r *recorder) address() string { return "http://" + r.ln.Addr().String() }

// Value returns where agents are pointed, for --json.
func (r *recorder) Value() canon.Value {
	ups := r.Upstreams()
	list := make([]canon.Member, len(ups))
	for i := range ups {
		list[i] = canon.M(ups[i].Name, canon.String(r.address()+capture.BasePath(&ups[i])))
	}
	return canon.Object(canon.M("address", canon.String(r.address())), canon.M("upstreams", canon.Object(list...)))
}

// say prints the base URLs that agents are given.
func (a *app) sayRecorder(r *recorder) {
	a.printf("recording at %s; point agents at\n", a.out.name(r.address()))
	ups := r.Upstreams()
	for i := range ups {
		for _, v := range ups[i].Vars {
			a.printf("  %s=%s%s\n", v.Name, r.address(), capture.BasePath(&ups[i]))
			break
		}
	}
	a.printf("  %s\n", a.out.dim("a run is named by the header x-reprise-run, by /run/NAME in front of the path, or by its API key"))
	a.printf("  %s\n", a.out.dim(r.address()+capture.StandingPath+" lists the open ones"))
}
