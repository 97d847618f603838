package capture

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Codes of the proxies.
const (
	// ErrTooLarge means that a request, or the head of a request or an
	// answer, is over the limit. Nothing was sent. Raise the limit.
	ErrTooLarge fault.Invalid = "capture.too_large"
	// ErrBody means that the client broke off its request. Nothing was sent.
	ErrBody fault.Invalid = "capture.request_broken"
	// ErrNoUpgrade means that the client asked for a WebSocket where it can
	// have the same over HTTP. Clients fall back; one that asks again gets it.
	ErrNoUpgrade fault.Invalid = "capture.upgrade_refused"
	// ErrUnreachable means that the upstream gave no answer. Look at its
	// address, or try again.
	ErrUnreachable fault.Unavailable = "capture.upstream_unreachable"
	// ErrRecord means that what was recorded cannot be answered with, because
	// it is not what a proxy records. Trust the record no longer.
	ErrRecord fault.Integrity = "capture.bad_record"
)

// Limits of the proxies, where options give none.
const (
	DefaultMaxRequest = 512 << 20
	DefaultMaxWhole   = 64 << 20
	DefaultGrace      = 250 * time.Millisecond
	holdMax           = 256 << 10 // an answer up to this length is held until it is durable
	partMax           = 64 << 10  // of one read of an answer that streams
	maxLooks          = 4         // large requests that are looked at at a time; each takes memory for its parts
)

// Options are what may be chosen of a proxy. The zero value records with the
// built-in normalisers and an unkeyed redactor that knows no secret.
type Options struct {
	Upstreams []Upstream
	Redactor  *redact.Redactor

	// Normalisers are the rules of the match key; nil: those of the record if
	// there is one, else [match.Normalisers].
	Normalisers []match.Normaliser
	Setting     match.Setting

	MaxRequest int64             // bytes of one request; 0: [DefaultMaxRequest]
	MaxWhole   int64             // bytes of a request that must be held to be matched; 0: [DefaultMaxWhole]
	Room       *Room             // for such requests; nil: one of [DefaultRoom]
	Transport  http.RoundTripper // nil: one that changes nothing

	// Record is the run that calls are answered from, where the session's
	// sources answer from one; nil if everything is live.
	Record *Recorded
	// Replaying says that the record answers everything: servers behind
	// shims are not started.
	Replaying bool

	// Grace is how long an answer may go on when it is over for its client,
	// who is gone or waits for the event that says the end. If it ends by
	// itself in that time it is a whole answer. 0: [DefaultGrace].
	Grace time.Duration

	// Pace is how fast recorded answers are given: 0 at once, 1 as they came,
	// 2 twice as fast.
	Pace float64

	// Sockets says what becomes of requests for a WebSocket; empty:
	// [SocketsAuto]. A replay must have what its record had.
	Sockets Sockets

	// AWSKeys are the keys with which requests to AWS are signed for their
	// upstream.
	AWSKeys []AWSKey

	// Set is what is changed in requests to models that are made.
	Set []Change

	// Under is where the proxy's calls cross, if another call of the session
	// encloses them all; zero: the outermost boundary of the session.
	Under drive.Boundary
}

// Recorded is a recorded run, as a replay looks at it beside the journal that
// answers: to name what comes nearest to a call that is not recorded.
type Recorded struct {
	Reader  *drive.Reader
	Journal *Journal
}

// Proxy records the HTTP traffic between an agent and its upstreams in one
// session, or answers it from a record: which of the two is decided, call by
// call, by the sources of the session.
type Proxy struct {
	s     *drive.Session
	at    drive.Boundary // of s
	o     Options
	rules *match.Rules
	names map[string]*Upstream
	out   http.RoundTripper

	mu       sync.Mutex
	differ   []replay.Divergence
	channels map[string]int64 // stdio servers so far, by their commands
	altered  map[string]int64 // messages of sockets that only normalisers made equal, by these
	declined map[string]bool  // sockets that were refused once, by upstream, path and who asked
	refused  atomic.Int64     // requests for sockets
	conns    []net.Conn       // of shims
	ended    bool
	busy     sync.WaitGroup // what is being recorded

	looks chan struct{} // one for each large request that is looked at now

	sets changes // what became of Options.Set

	turns *turns // of a replay; nil where there is no order to keep

	agent surrounded // under mu
}

// surrounded is what the shims of commands need to know of the run's child.
type surrounded struct {
	home  string   // its working folder
	undo  []string // what gives a program the environment back that the child would have had
	stdin string   // what it reads, as fileID names it
}

// New returns a proxy over a session.
func New(s *drive.Session, o Options) (*Proxy, error) {
	if o.Normalisers == nil && o.Record != nil {
		var err error
		if o.Normalisers, err = match.RulesOf(o.Record.Journal.Opened()); err != nil {
			return nil, err
		}
	}
	if o.Normalisers == nil {
		o.Normalisers = match.Normalisers()
	}
	if o.MaxRequest == 0 {
		o.MaxRequest = DefaultMaxRequest
	}
	if o.MaxWhole == 0 {
		o.MaxWhole = DefaultMaxWhole
	}
	if o.Room == nil {
		o.Room = NewRoom(DefaultRoom)
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Redactor == nil {
		o.Redactor = redact.New([32]byte{}, nil)
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	o.Setting.Run = string(s.Run())
	rules, err := match.NewRules(o.Normalisers, o.Setting)
	if err != nil {
		return nil, err
	}
	p := &Proxy{s: s, at: s.Boundary, o: o, rules: rules, names: map[string]*Upstream{}, out: o.Transport, channels: map[string]int64{}, declined: map[string]bool{}, altered: map[string]int64{}, looks: make(chan struct{}, maxLooks)}
	if _, under := o.Under.Place(); under {
		p.at = o.Under
	}
	if o.Replaying && o.Record != nil {
		p.turns = newTurns(o.Record.Journal.Within(p.at.Path()))
	}
	for i := range o.Upstreams {
		p.names[o.Upstreams[i].Name] = &o.Upstreams[i]
	}
	return p, nil
}

// transport returns a client side that adds nothing, follows nothing and
// reads no environment.
func transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DisableCompression:     true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxResponseHeaderBytes: 2 * maxHead,
		ReadBufferSize:         16 << 10,
		WriteBufferSize:        16 << 10,
		Protocols:              protocols,
	}
}

// diverge notes that something came again, but not the same.
func (p *Proxy) diverge(d replay.Divergence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.differ) < replay.MaxDivergences {
		p.differ = append(p.differ, d)
	}
}

func (p *Proxy) differing() []replay.Divergence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]replay.Divergence(nil), p.differ...)
}

// Handler returns the handler of one upstream's listener.
func (p *Proxy) Handler(upstream string) (http.Handler, error) {
	u := p.names[upstream]
	if u == nil {
		return nil, fault.New(ErrUpstream, "capture.Handler", "there is no upstream %q", upstream)
	}
	return &handler{p: p, u: u}, nil
}

type handler struct {
	p *Proxy
	u *Upstream
}

// ServeHTTP takes the request whole, asks the session how it is answered, and
// makes the call or answers from the record.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.p.enter(nil) {
		h.broken(w, fault.New(drive.ErrEnded, "capture.proxy", "the run has ended"))
		return
	}
	defer h.p.leave(nil)
	if asksForSocket(r) {
		h.socket(w, r)
		return
	}
	body, err := h.readBody(w, r)
	if err != nil {
		h.unread(w, err)
		return
	}
	defer body.release()
	if headSize(r.Header)+len(r.URL.RawQuery)+len(r.URL.Path) > maxHead {
		problem(w, http.StatusRequestHeaderFieldsTooLarge, ErrTooLarge, "the head of the request is over the limit")
		return
	}
	// What the client gave up on is still recorded to its end.
	ctx := context.WithoutCancel(r.Context())
	to, call, err := h.asked(ctx, r, body)
	if err != nil {
		h.unread(w, err)
		return
	}
	if h.probe(ctx, w, r, &call) {
		return
	}
	ch, err := h.change(ctx, r, to, body)
	if err != nil {
		h.unread(w, err)
		return
	}
	if ch != nil {
		call.Data = ch.note(call.Data)
	}
	x, err := h.p.at.BeginLarge(ctx, call, body.content(r))
	if err != nil {
		body.keep() // a miss keeps the request for the report
		h.miss(ctx, w, to, &call, body.large, err)
		return
	}
	body.matched()
	if x.Live() {
		// A large request must not be held while its answer comes.
		call.Contents = nil
		x.Forget()
		h.forward(ctx, w, r, to, body, x, ch)
		return
	}
	h.answer(ctx, w, r, to, &call, x)
}

// broken answers when the recorder itself cannot go on: nothing is forwarded
// that is not recorded.
func (*handler) broken(w http.ResponseWriter, err error) {
	problem(w, fault.ClassOf(err).HTTPStatus(), fault.CodeOf(err), "not recorded, so not sent: "+err.Error())
}

// asked returns what a request is taken for, and the call that it is.
func (h *handler) asked(ctx context.Context, r *http.Request, b *body) (route, effect.Call, error) {
	if b.large != nil {
		return h.askedLarge(ctx, r, b.large)
	}
	to := routeOf(r, b.b)
	call, err := h.call(r, to, b.b)
	return to, call, err
}

// call returns the call that a request is, with secrets replaced.
func (h *handler) call(r *http.Request, to route, body []byte) (effect.Call, error) {
	return h.callOf(r, &to, func() (said, error) {
		coding := r.Header.Get("Content-Encoding")
		s, err := h.p.o.Redactor.Request(coding, body, h.p.o.MaxRequest)
		if err != nil {
			return said{}, err
		}
		form, norms := h.p.rules.Form(to.kind, s.Plain)
		out := said{digest: canon.SHA256(form), norms: norms, redacted: s.Names, blind: s.Blind, stored: s.Stored}
		if coding != "" && len(s.Plain) > 0 && &s.Plain[0] != &s.Stored[0] {
			out.coding = coding
		}
		return out, nil
	})
}

// said is what a body says, as far as a call says it.
type said struct {
	digest   canon.Digest // of the form that the key is taken of
	norms    []string
	redacted []string
	coding   string // behind which it was looked
	blind    bool   // it has one behind which nobody could look
	stored   []byte // nil of a large one
}

// callOf returns the call that a request is. Its body is looked at when it is
// known which secrets its head holds; to may be settled by that.
func (h *handler) callOf(r *http.Request, to *route, look func() (said, error)) (effect.Call, error) {
	red := h.p.o.Redactor
	var prints []canon.Member
	found := func(name, value string, c redact.Credential) {
		red.LearnCredential(name, value)
		if c == redact.LongLived && value != "" {
			prints = append(prints, canon.M(name, canon.String(red.Fingerprint(name, value))))
		}
	}
	headers := red.Headers(r.Header, func(name string) bool { return hopHeader(name) }, found)
	target := red.Text(r.URL.EscapedPath())
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		target += "?" + red.Query(r.URL.RawQuery, found)
	}
	body, err := look()
	if err != nil {
		return effect.Call{}, err
	}
	norms := body.norms
	if body.coding != "" {
		norms = append(norms, match.ContentCoding)
	}
	digest := body.digest
	match := [][]byte{[]byte(h.u.Name), []byte(r.Method), []byte(target), digest[:]}
	if to.upgrade != "" {
		match = append(match, []byte(to.upgrade))
	}
	c := effect.Call{
		Kind: to.kind, Name: to.name, Class: to.class, Norms: norms,
		Match: effect.MatchKey(match...),
		Data: canon.Object(
			canon.M("headers", canon.Array(headers...)),
			canon.M("method", canon.String(r.Method)),
			canon.M("upstream", canon.String(h.u.Name)),
			canon.M("url", canon.String(strings.ToValidUTF8(target, "\uFFFD"))),
		),
	}
	c.Name = red.Text(strings.ToValidUTF8(c.Name, "\uFFFD"))
	if body.coding != "" {
		c.Data = c.Data.With("coding", canon.String(body.coding))
	}
	if body.redacted != nil {
		c.Data = c.Data.With("redacted", canon.Strings(body.redacted))
	}
	if body.blind {
		c.Data = c.Data.With(unscanned, canon.String(strings.ToValidUTF8(r.Header.Get("Content-Encoding"), "\uFFFD")))
	}
	if t := red.Headers(r.Trailer, nil, found); len(t) > 0 {
		c.Data = c.Data.With("trailers", canon.Array(t...))
	}
	if to.upgrade != "" {
		c.Data = c.Data.With("upgrade", canon.String(to.upgrade))
	}
	if r.Proto != "HTTP/1.1" {
		c.Data = c.Data.With("proto", canon.String(r.Proto))
	}
	if t := h.rewritten(r.URL.Path); t != "" {
		c.Data = c.Data.With("sent_to", canon.String(t))
	}
	if prints != nil {
		c.Cred = canon.Object(canon.M("key", canon.String(red.KeyID())), canon.M("fp", canon.Object(unique(prints)...)))
	}
	if len(body.stored) > 0 {
		c.Contents = []ledger.Content{{Name: RequestName, Type: contentType(r.Header), Bytes: body.stored}}
	}
	return c, nil
}

// unscanned is the member of a call's or an outcome's data that names a coding
// behind which nobody could look: secrets may stand there.
const unscanned = "unscanned"

// Names of the contents of calls and outcomes.
const (
	RequestName  = "request"
	ResponseName = "response"
)

// unique leaves out members whose name came before: two headers of one name
// are one credential.
func unique(ms []canon.Member) []canon.Member {
	out := ms[:0]
	for _, m := range ms {
		twice := false
		for _, o := range out {
			twice = twice || o.Name == m.Name
		}
		if !twice {
			out = append(out, m)
		}
	}
	return out
}

// rewritten returns the path that a request goes to instead of its own, or
// nothing. Some Anthropic clients take the base URL with /v1 and some without;
// with the one address of a listener both must find the route.
func (h *handler) rewritten(path string) string {
	if h.u.Provider == "anthropic" && h.u.URL.Path == "" && (path == "/messages" || strings.HasPrefix(path, "/messages/")) {
		return "/v1" + path
	}
	return ""
}

// Engine is what the opens of captured runs name as their engine.
const Engine = "capture"
