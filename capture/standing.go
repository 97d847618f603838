package capture

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// A standing proxy records many agents that it has not started. Each is pointed
// at /UPSTREAM behind the proxy's address, and is a run of its own:
//
//	x-reprise-run: NAME         the run of that name
//	/run/NAME/UPSTREAM/…        the same, for clients that set no header
//	neither                     the run of the credential that the request carries
//
// A run begins with its first request and is sealed when it was idle for a
// while; the next request of that name begins another.

// Codes of the standing proxy.
const (
	// ErrRunName means that a name for a run cannot be used: it has up to 64
	// letters, digits, dots, - and _.
	ErrRunName fault.Invalid = "capture.bad_run_name"
	// ErrNoUpstream means that a path names no upstream. The proxy prints
	// which there are, and GET /.reprise/runs lists them.
	ErrNoUpstream fault.NotFound = "capture.no_such_upstream"
	// ErrTooMany means that as many runs are open as may be. Try again when
	// one has ended, or raise the limit.
	ErrTooMany fault.Unavailable = "capture.too_many_runs"
	// ErrForeign means that a request comes from a web page, or names the
	// proxy by a name that it does not go by.
	ErrForeign fault.Denied = "capture.foreign_request"
)

// RunHeader names the run that a request to a standing proxy belongs to. It is
// neither recorded nor passed on.
const RunHeader = "X-Reprise-Run"

// StandingPath is where a standing proxy lists its open runs.
const StandingPath = "/.reprise/runs"

// StandingOptions are what a standing proxy needs. All fields but Config have
// useful zero values.
type StandingOptions struct {
	Config    drive.Config
	StoreKey  [32]byte
	Env       []string // names upstreams, and secrets that are not stored
	Upstreams []string // NAME=URL
	Hosts     []string // names of the proxy beside those of the loopback

	Idle     time.Duration // after which a run is sealed; 0: [DefaultIdle]
	MaxRuns  int           // that are open at a time; 0: [DefaultMaxRuns]
	MaxCalls int64         // of one run, which goes on as another then; 0: [DefaultMaxCalls]
	Grace    time.Duration // of requests under way when the proxy stops; 0: ten seconds

	MaxRequest  int64
	Normalisers []match.Normaliser
	Transport   http.RoundTripper
	Sockets     Sockets

	// Said is told of every run that begins or ends, one call at a time;
	// it must not block. Nil: nobody is.
	Said func(StandingRun)
}

// Limits of a standing proxy, where options give none.
const (
	DefaultIdle     = 5 * time.Minute
	DefaultMaxRuns  = 1000
	DefaultMaxCalls = 20_000
	standingGrace   = 10 * time.Second
)

// StandingRun is one run of a standing proxy.
type StandingRun struct {
	Run   ledger.RunID
	By    string // header, path or credential
	Name  string
	Begun time.Time
	Last  time.Time // when its last request ended
	Busy  int       // requests under way
	Calls int64
	Ended bool
	Err   error // why it is not sealed
}

// Value returns r as JSON.
func (r *StandingRun) Value() canon.Value {
	return canon.Object(
		canon.M("run", canon.String(string(r.Run))), canon.M("by", canon.String(r.By)), canon.M("name", canon.String(r.Name)),
		canon.M("begun", canon.String(r.Begun.UTC().Format(time.RFC3339))), canon.M("last", canon.String(r.Last.UTC().Format(time.RFC3339))),
		canon.M("busy", canon.Int(int64(r.Busy))), canon.M("calls", canon.Int(r.Calls)),
	)
}

// Standing is a standing proxy. It is safe for concurrent use.
type Standing struct {
	o     StandingOptions
	ups   []Upstream
	names map[string]bool
	hosts map[string]bool
	red   *redact.Redactor // only makes fingerprints
	room  *Room

	mu    sync.Mutex
	runs  map[group]*standing
	ended bool
	last  sync.WaitGroup // runs that are not sealed

	telling sync.Mutex // one call of Said at a time
}

// group says which requests are one run.
type group struct{ by, name string }

// paths returns what paths begin with, in the order of the upstreams.
func (s *Standing) paths() []string {
	out := make([]string, len(s.ups))
	for i := range s.ups {
		out[i] = BasePath(&s.ups[i])
	}
	return out
}

// standing is one open run.
type standing struct {
	group
	ready chan struct{} // closed when the rest is set
	err   error
	s     *drive.Session
	p     *Proxy
	begun time.Time

	// Under the lock of the proxy.
	busy    int
	used    time.Time
	retired bool // it gets no more requests, and ends with those it has
}

// NewStanding returns a standing proxy.
func NewStanding(o StandingOptions) (*Standing, error) {
	ups, err := Plan(o.Env, o.Upstreams)
	if err != nil {
		return nil, err
	}
	if o.Sockets, err = ParseSockets(string(o.Sockets)); err != nil {
		return nil, err
	}
	o.Idle = cmp.Or(o.Idle, DefaultIdle)
	o.MaxRuns = cmp.Or(o.MaxRuns, DefaultMaxRuns)
	o.MaxCalls = cmp.Or(o.MaxCalls, DefaultMaxCalls)
	o.Grace = cmp.Or(o.Grace, standingGrace)
	if o.Transport == nil {
		o.Transport = transport() // one for all, so that connections are
	}
	s := &Standing{o: o, ups: ups, names: map[string]bool{}, hosts: map[string]bool{"localhost": true}, red: redact.New(o.StoreKey, nil), runs: map[group]*standing{}, room: NewRoom(DefaultRoom)}
	for i := range ups {
		s.names[ups[i].Name] = true
	}
	for _, h := range o.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	return s, nil
}

// Upstreams returns where requests go, and the path behind the address of the
// proxy that stands for it.
func (s *Standing) Upstreams() []Upstream { return slices.Clone(s.ups) }

// BasePath returns the path of the base URL that a client of u is given.
func BasePath(u *Upstream) string {
	return "/" + u.Name + strings.TrimSuffix(u.URL.EscapedPath(), "/")
}

// ServeHTTP implements [http.Handler].
func (s *Standing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.known(r) {
		problem(w, http.StatusForbidden, ErrForeign, "this proxy is for programs, and does not go by that name")
		return
	}
	if r.URL.Path == StandingPath && r.Method == http.MethodGet {
		s.list(w)
		return
	}
	upstream, rest, g, err := s.address(r)
	if err != nil {
		problem(w, fault.ClassOf(err).HTTPStatus(), fault.CodeOf(err), fault.Text(err))
		return
	}
	run, err := s.enter(r.Context(), g)
	if err != nil {
		problem(w, fault.ClassOf(err).HTTPStatus(), fault.CodeOf(err), "not recorded, so not sent: "+fault.Text(err))
		return
	}
	defer s.leave(r.Context(), run)
	h, err := run.p.Handler(upstream)
	if err != nil {
		problem(w, fault.ClassOf(err).HTTPStatus(), fault.CodeOf(err), fault.Text(err))
		return
	}
	in := *r
	u := *r.URL
	u.Path, u.RawPath = rest, ""
	if raw, ok := strings.CutPrefix(r.URL.RawPath, strings.TrimSuffix(r.URL.Path, rest)); ok && r.URL.RawPath != "" {
		u.RawPath = raw // the names in front have nothing to escape
	}
	in.URL = &u
	in.Header = r.Header.Clone()
	delete(in.Header, RunHeader)
	h.ServeHTTP(w, &in)
}

// known reports whether a program asks and not a web page: a page names itself
// as the origin, or reaches the proxy by a name of its own.
func (s *Standing) known(r *http.Request) bool {
	if r.Header.Get("Origin") != "" && !asksForSocket(r) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	return net.ParseIP(host) != nil || s.hosts[host]
}

// address says where a request goes and whose it is.
func (s *Standing) address(r *http.Request) (upstream, rest string, g group, err error) {
	const op = "capture.Standing"
	path := r.URL.Path
	if after, ok := strings.CutPrefix(path, "/run/"); ok {
		name, more, _ := strings.Cut(after, "/")
		g, path = group{"path", name}, "/"+more
	}
	if name := r.Header.Get(RunHeader); name != "" {
		g = group{"header", name}
	}
	if g.by != "" && !validName(g.name) {
		return "", "", g, fault.New(ErrRunName, op, "a run has a name of up to %d letters, digits, dots, - and _", maxName)
	}
	upstream, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !s.names[upstream] {
		return "", "", g, fault.New(ErrNoUpstream, op, "the path begins with no upstream; there are %s, and %s says more", strings.Join(s.paths(), ", "), StandingPath)
	}
	if g.by == "" {
		g = s.credential(r)
	}
	return upstream, "/" + rest, g, nil
}

// credential returns the run of a request that names none.
func (s *Standing) credential(r *http.Request) group {
	var prints []string
	found := func(name, value string, c redact.Credential) {
		if c == redact.LongLived && value != "" {
			prints = append(prints, s.red.Fingerprint(name, value))
		}
	}
	_ = s.red.Headers(r.Header, nil, found)
	_ = s.red.Query(r.URL.RawQuery, found)
	if len(prints) == 0 {
		return group{"credential", "none"}
	}
	slices.Sort(prints)
	return group{"credential", prints[0][:16]}
}

// enter returns the run of a group, and begins it if there is none.
func (s *Standing) enter(ctx context.Context, g group) (*standing, error) {
	const op = "capture.Standing"
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, fault.New(drive.ErrEnded, op, "the proxy is stopping")
	}
	run := s.runs[g]
	if run != nil && run.err == nil && run.s != nil && run.s.Counts().Calls >= s.o.MaxCalls {
		s.retire(context.WithoutCancel(ctx), run)
		run = nil
	}
	if run == nil {
		if len(s.runs) >= s.o.MaxRuns {
			s.mu.Unlock()
			return nil, fault.New(ErrTooMany, op, "%d runs are open", s.o.MaxRuns)
		}
		run = &standing{group: g, ready: make(chan struct{}), busy: 1}
		s.runs[g] = run
		s.last.Add(1) // until it is sealed
		s.mu.Unlock()
		s.begin(context.WithoutCancel(ctx), run)
	} else {
		run.busy++
		s.mu.Unlock()
		<-run.ready
	}
	if run.err != nil {
		return nil, run.err
	}
	return run, nil
}

// begin opens a run. One that cannot be opened is forgotten, so that the next
// request tries again.
func (s *Standing) begin(ctx context.Context, run *standing) {
	run.begun = s.o.Config.Now()
	session, err := drive.Open(ctx, s.o.Config, s.opening(run))
	var p *Proxy
	if err == nil {
		p, err = New(session, Options{
			Upstreams: s.ups, Redactor: redact.New(s.o.StoreKey, redact.EnvSecrets(s.o.Env)), Normalisers: s.o.Normalisers,
			Setting: match.SettingAt(run.begun, ""), MaxRequest: s.o.MaxRequest, Room: s.room, Transport: s.o.Transport, Sockets: s.o.Sockets,
		})
	}
	s.mu.Lock()
	run.s, run.p, run.err, run.used = session, p, err, run.begun
	switch {
	case err != nil:
		delete(s.runs, run.group)
		s.last.Done()
	case s.ended:
		s.retire(ctx, run)
	}
	s.mu.Unlock()
	close(run.ready)
	if err == nil {
		s.say(run, false, nil)
	}
}

func (s *Standing) opening(run *standing) drive.Opening {
	return drive.Opening{
		Engine: Engine, Mode: "record", Title: run.name,
		Data: canon.Object(
			canon.M("group", canon.Object(canon.M("by", canon.String(run.by)), canon.M("name", canon.String(run.name)))),
			canon.M("setting", match.SettingAt(run.begun, "").Value()),
			canon.M("sockets", canon.String(string(s.o.Sockets))),
			canon.M("upstreams", upstreamsValue(s.ups)),
		),
	}
}

func (s *Standing) leave(ctx context.Context, run *standing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run.busy--
	run.used = s.o.Config.Now()
	if run.retired && run.busy == 0 {
		go s.end(context.WithoutCancel(ctx), run)
	}
}

// retire lets the next request of a group begin another run. Lock held.
func (s *Standing) retire(ctx context.Context, run *standing) {
	delete(s.runs, run.group)
	run.retired = true
	if run.busy == 0 {
		go s.end(ctx, run)
	}
}

func (s *Standing) say(run *standing, ended bool, err error) {
	if s.o.Said == nil {
		return
	}
	s.mu.Lock()
	said := s.describe(run)
	s.mu.Unlock()
	said.Ended, said.Err = ended, err
	s.telling.Lock()
	defer s.telling.Unlock()
	s.o.Said(said)
}

// describe returns what is said of a run. Lock held.
func (*Standing) describe(run *standing) StandingRun {
	return StandingRun{
		Run: run.s.Run(), By: run.by, Name: run.name, Begun: run.begun, Last: run.used, Busy: run.busy, Calls: run.s.Counts().Calls,
	}
}

// Runs returns the open runs, oldest first.
func (s *Standing) Runs() []StandingRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []StandingRun
	for _, run := range s.runs {
		if run.s != nil {
			out = append(out, s.describe(run))
		}
	}
	slices.SortFunc(out, func(a, b StandingRun) int { return strings.Compare(string(a.Run), string(b.Run)) })
	return out
}

func (s *Standing) list(w http.ResponseWriter) {
	runs, ups := s.Runs(), make([]canon.Value, len(s.ups))
	open := make([]canon.Value, len(runs))
	for i := range runs {
		open[i] = runs[i].Value()
	}
	for i := range s.ups {
		ups[i] = canon.Object(canon.M("name", canon.String(s.ups[i].Name)), canon.M("path", canon.String(BasePath(&s.ups[i]))), canon.M("url", canon.String(s.ups[i].Address())))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, canon.Object(canon.M("runs", canon.Array(open...)), canon.M("upstreams", canon.Array(ups...))).String()+"\n")
}

// sweep seals the runs that were idle for long.
func (s *Standing) sweep(ctx context.Context) {
	now := s.o.Config.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		if run.s != nil && run.busy == 0 && now.Sub(run.used) >= s.o.Idle {
			s.retire(ctx, run)
		}
	}
}

// end seals a run that gets no more requests.
func (s *Standing) end(ctx context.Context, run *standing) {
	defer s.last.Done()
	run.p.Close()
	err := run.s.Seal(ctx, "ok", canon.Object(), nil)
	s.say(run, true, err)
}

// Serve answers requests from ln until ctx ends. Then requests under way may
// finish, all runs are sealed, and ln is closed. A Standing serves once.
func (s *Standing) Serve(ctx context.Context, ln net.Listener) error {
	kept := &keeping{Listener: ln, open: map[*keptConn]bool{}}
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 2 * maxHead, ErrorLog: log.New(io.Discard, "", 0), Protocols: spoken(),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(kept) }()
	tick := time.NewTicker(max(s.o.Idle/4, 10*time.Millisecond))
	defer tick.Stop()
	end := context.WithoutCancel(ctx)
	var err error
	for waiting := true; waiting; {
		select {
		case <-tick.C:
			s.sweep(end)
		case err = <-served:
			waiting = false
		case <-ctx.Done():
			grace, cancel := context.WithTimeout(end, s.o.Grace)
			if srv.Shutdown(grace) != nil {
				_ = srv.Close()
			}
			cancel()
			err, waiting = <-served, false
		}
	}
	kept.hangUp() // on sockets, which the server no longer knows
	s.close(end)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fault.Wrap(ErrListen, "capture.Standing", err, "%s", ln.Addr())
}

// close seals everything.
func (s *Standing) close(ctx context.Context) {
	s.mu.Lock()
	s.ended = true
	for _, run := range s.runs {
		if run.s != nil && run.err == nil {
			s.retire(ctx, run)
		}
	}
	s.mu.Unlock()
	s.last.Wait()
}

// keeping is a listener that can hang up on what it has accepted.
type keeping struct {
	net.Listener
	mu   sync.Mutex
	open map[*keptConn]bool
}

type keptConn struct {
	net.Conn
	k *keeping
}

// Accept implements [net.Listener].
func (k *keeping) Accept() (net.Conn, error) {
	c, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	kept := &keptConn{c, k}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[kept] = true
	return kept, nil
}

// Close implements [net.Conn].
func (c *keptConn) Close() error {
	c.k.mu.Lock()
	delete(c.k.open, c)
	c.k.mu.Unlock()
	return c.Conn.Close()
}

func (k *keeping) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.open {
		_ = c.Conn.Close()
	}
}
