package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/reprise-dev/reprise/internal/archive"
	"github.com/reprise-dev/reprise/internal/jobs"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Limits, where options give none.
const (
	DefaultMaxBundle  = 1 << 30
	DefaultMaxStreams = 64

	maxHeader    = 64 << 10
	maxBody      = 1 << 20
	readHeader   = 10 * time.Second
	patience     = 30 * time.Second // of one read of a request or one write of an answer
	idle         = 2 * time.Minute
	maxDrain     = 4 << 20
	defaultGrace = 10 * time.Second
)

// Codes of [New] and [Listen].
const (
	// ErrRemote means that the address can be reached by other machines.
	// Choose a loopback address, or allow it on purpose.
	ErrRemote fault.Denied = "server.remote_address"
	// ErrListen means that the address cannot be listened on. Choose another
	// port.
	ErrListen fault.Unavailable = "server.listen_failed"
)

// Options are what may be chosen. A nil *Options chooses the defaults.
type Options struct {
	// Keys opens the user's keys, for each request anew, since others may
	// rotate them; it returns nil if there are none. Nil: there are none.
	Keys func() (*keys.Keys, error)
	// Rand is a cryptographic source for the keys of scopes that an import
	// makes. Nil: nothing can be imported.
	Rand io.Reader
	// Holder names this process among the writers of the store.
	Holder string
	// Hosts are names beside those of the loopback under which clients reach
	// the server.
	Hosts []string
	// MaxBundle is the size limit of an imported bundle; 0:
	// [DefaultMaxBundle].
	MaxBundle int64
	// MaxStreams is how many live streams may be open; 0:
	// [DefaultMaxStreams].
	MaxStreams int
	// Temp is the folder in which a bundle is staged while it is checked;
	// empty: the system's.
	Temp string
	// Poll is how often live streams look at the store; 0: half a second.
	Poll time.Duration
	// Grace is how long requests may go on when the server stops; 0: ten
	// seconds.
	Grace time.Duration
	// Trajectories writes trajectories; nil: nothing is written to them. It
	// signs commits and issues writs with the user's keys, and no act of
	// anybody.
	Trajectories *trajectories.Runner
	// AllowRun lets trajectories begin and go on here, which starts the
	// programs that are their tools. Without it inputs are recorded only.
	AllowRun bool
	// Template reads the task of trajectories that are made for one action;
	// nil: there are none.
	Template func() (*trajectories.Task, error)
	// Jobs writes to the governance of tenants and to jobs that wait, and
	// replays; nil: nothing of that is done. It signs snapshots with the server
	// key, and no act of anybody.
	Jobs *jobs.Runner
	// Log takes faults of the server; nil: nothing is logged.
	Log *slog.Logger
	// Register adds routes, such as those of an engine.
	Register []func(huma.API)
}

// Server answers the API. It is safe for concurrent use.
type Server struct {
	o       Options
	store   archive.Store
	api     huma.API
	mux     *http.ServeMux
	openapi []byte
	hosts   map[string]bool
	origin  *http.CrossOriginProtection
	streams atomic.Int64
	foreign atomic.Int64 // ledgers of other systems that are in memory
	desk    desk
	replays chan struct{} // holds one: who writes to governance ledgers
	counted *counted
	closing chan struct{} // closed when the server begins to stop
}

// New returns a server over a store.
func New(store archive.Store, opts *Options) (*Server, error) {
	s := &Server{store: store, mux: http.NewServeMux(), closing: make(chan struct{}), origin: http.NewCrossOriginProtection(), hosts: map[string]bool{}, replays: make(chan struct{}, 1), counted: newCounted()}
	if opts != nil {
		s.o = *opts
	}
	if s.o.Keys == nil {
		s.o.Keys = func() (*keys.Keys, error) { return nil, nil }
	}
	if s.o.MaxBundle == 0 {
		s.o.MaxBundle = DefaultMaxBundle
	}
	if s.o.MaxStreams == 0 {
		s.o.MaxStreams = DefaultMaxStreams
	}
	if s.o.Temp == "" {
		s.o.Temp = os.TempDir()
	}
	if s.o.Poll == 0 {
		s.o.Poll = 500 * time.Millisecond
	}
	if s.o.Grace == 0 {
		s.o.Grace = defaultGrace
	}
	if s.o.Log == nil {
		s.o.Log = slog.New(slog.DiscardHandler)
	}
	for _, h := range s.o.Hosts {
		s.hosts[hostName(h)] = true
	}
	s.desk = desk{
		runner: s.o.Trajectories, works: s.o.AllowRun && s.o.Trajectories != nil, most: maxAtWork, log: s.o.Log,
		closing: s.closing, lanes: map[ledger.RunID]*lane{},
	}
	return s, s.routes()
}

// routes declares the API.
func (s *Server) routes() error {
	adopt()
	cfg := huma.DefaultConfig("Reprise", "1")
	cfg.Info.Description = "Flight recorder and replay engine for AI agents: the runs of one store."
	cfg.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	// No pages that load scripts from elsewhere, and no $schema in answers.
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath, cfg.CreateHooks = "", "", "", nil
	cfg.RejectUnknownQueryParameters = true
	s.api = humago.New(s.mux, cfg)

	s.runRoutes()
	s.contentRoutes()
	s.proofRoutes()
	s.bundleRoutes()
	s.eventRoutes()
	s.trajectoryRoutes()
	s.trajectoryProofRoutes()
	s.trailRoutes()
	s.runTrajectoryRoutes()
	s.actRoutes()
	s.foreignRoutes()
	s.brainRoutes()
	s.jobRoutes()
	s.replayRoutes()
	s.governanceRoutes()
	s.policyRoutes()
	s.metricRoutes()
	s.healthRoutes()
	for _, register := range s.o.Register {
		register(s.api)
	}
	var err error
	if s.openapi, err = document(s.api.OpenAPI()); err != nil {
		return err
	}
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json;version=3.1")
		_, _ = w.Write(s.openapi) // the client is gone
	})
	return nil
}

// OpenAPI returns the document that describes the server, its engines' routes
// included.
func (s *Server) OpenAPI() []byte { return s.openapi }

// Listen listens on an address: HOST:PORT, of which HOST is an address or
// localhost, and PORT may be 0 for a free one. An address that other machines
// can reach is refused unless remote allows it.
func Listen(ctx context.Context, addr string, remote bool) (net.Listener, error) {
	const op = "server.Listen"
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.New(ErrRequest, op, "%q is not HOST:PORT", addr)
	}
	if !loopback(host) && !remote {
		return nil, fault.New(ErrRemote, op, "%s can be reached by other machines, and whoever reaches the server may read every run", addr)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Wrap(ErrListen, op, err, "%s", addr)
	}
	return ln, nil
}

// loopback reports whether a host is this machine and nothing else. A name
// other than localhost may mean anything.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Serve answers requests from ln until ctx ends. Then live streams end,
// requests that are under way may finish, trajectories that are at work are
// let go of, to be resumed, and ln is closed. It returns nil
// after such a stop. A Server serves once.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: readHeader, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fault.Wrap(ErrListen, "server.Serve", err, "%s", ln.Addr())
	case <-ctx.Done():
	}
	close(s.closing)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Grace)
	defer cancel()
	err := srv.Shutdown(end)
	s.desk.stop(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if ended := <-served; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	return fault.Wrap(ErrListen, "server.Serve", err, "stopping")
}
