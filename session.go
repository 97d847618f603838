package reprise

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/regress"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// RecordOptions are what may be chosen of one run. The zero value records
// under no title.
type RecordOptions struct {
	Title string
	// Upstreams names upstreams by their base URLs, as
	// {"openai": "https://api.openai.com/v1"}. The name, not the address,
	// finds a call in a replay; an upstream without a name goes by its host.
	Upstreams map[string]string
	// Transport makes the requests that are recorded; nil: one that adds
	// nothing and reads no environment.
	Transport http.RoundTripper
}

// ReplayOptions are what may be chosen of a replay. A nil *ReplayOptions
// chooses the defaults.
type ReplayOptions struct {
	// Upstreams names upstreams, as then. Those that the record names are known
	// without; a name that stands here has the address that stands here.
	Upstreams map[string]string
	// AnyCredential lets a call match although it was made with another
	// credential.
	AnyCredential bool
}

// Session is one run that an agent in this process makes: what it does
// through the session is recorded, or answered from the record. It is safe for
// concurrent use until the function that it was given to returns.
type Session struct {
	s     *drive.Session
	red   *redact.Redactor
	proxy *capture.Proxy
	taps  *taps
}

// Run returns the id of the run that is being written.
func (s *Session) Run() ledger.RunID { return s.s.Run() }

// The statuses of the seals of runs.
const (
	statusOK     = "ok"
	statusFailed = "failed"
)

// Record runs agent and records what it does through its session. The run is
// sealed when agent returns; if it panics the run stays unsealed, with all that
// was done until then. The error is agent's own, or says that the recording is
// not complete.
func (r *Recorder) Record(ctx context.Context, o RecordOptions, agent func(context.Context, *Session) error) (ledger.RunID, error) {
	red := r.redactor()
	opening := r.opening(red, o.Title)
	opening.Mode = "record"
	opening.Data = opening.Data.With("upstreams", upstreamList(o.Upstreams))
	s, err := r.begin(ctx, opening, red, o.Upstreams, capture.Options{Transport: o.Transport})
	if err != nil {
		return "", err
	}
	err = s.run(ctx, agent)
	return s.Run(), errors.Join(err, s.seal(ctx, err))
}

// Replay runs agent again and answers what it does from the record of a run.
// Nothing is called: what the record does not hold gets an error. The report
// says what came out differently; that agent returns an error where it did not
// then, or the reverse, is one of the differences.
func (r *Recorder) Replay(ctx context.Context, run string, o *ReplayOptions, agent func(context.Context, *Session) error) (*replay.Report, error) {
	if o == nil {
		o = &ReplayOptions{}
	}
	info, err := insight.Find(ctx, r.store, run)
	if err != nil {
		return nil, err
	}
	j, err := capture.ReadJournal(ctx, r.store, info.Run, 0)
	if err != nil {
		return nil, err
	}
	if o.AnyCredential {
		j.AnyCredential()
	}
	summary, err := insight.Summarise(ctx, r.store, info)
	if err != nil {
		return nil, err
	}
	red := r.redactor()
	last := j.Last()
	rules, err := match.RulesOf(j.Opened())
	if err != nil {
		return nil, err
	}
	opening := r.opening(red, summary.Title)
	opening.Data = opening.Data.With(match.RulesMember, match.RuleIDs(rules))
	named := recordedUpstreams(j.Opened(), o.Upstreams)
	opening.Data = opening.Data.With("upstreams", upstreamList(named))
	opening.Mode, opening.From, opening.Source, opening.Lazy, opening.Sources = "replay", info.Run, &last, true, drive.All(j)
	s, err := r.begin(ctx, opening, red, named, capture.Options{
		Record: &capture.Recorded{Reader: drive.NewReader(r.store, info.Run), Journal: j}, Replaying: true,
	})
	if err != nil {
		return nil, err
	}
	failed := s.run(ctx, agent)
	if err := s.seal(ctx, failed); err != nil {
		return nil, err
	}
	report, err := s.proxy.ReplayReport(ctx, r.store)
	if err != nil {
		return nil, err
	}
	compareEnd(report, summary.Status, failed)
	return report, regress.Explain(ctx, r.store, report)
}

// compareEnd adds a divergence if the agent ended otherwise than then.
func compareEnd(r *replay.Report, then string, failed error) {
	now := statusOf(failed)
	if then == "" || then == now {
		return
	}
	d := replay.Divergence{
		Kind: replay.Different, What: "result", Recorded: -1, Now: -1, Nearest: -1,
		Where: []canon.Difference{{Pointer: "/status", A: canon.String(then), B: canon.String(now)}},
		Msg:   "the agent ended otherwise",
	}
	if failed != nil {
		d.Msg += ": " + failed.Error()
	}
	r.Diverge(d)
	r.Verdict = replay.Diverged
}

func statusOf(failed error) string {
	if failed != nil {
		return statusFailed
	}
	return statusOK
}

// opening returns what the opens of all runs of this process say.
func (r *Recorder) opening(red *redact.Redactor, title string) drive.Opening {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // it is only left out of comparisons
	}
	setting := match.SettingAt(r.o.Now(), cwd)
	return drive.Opening{
		Engine: capture.Engine, Title: red.Text(strings.ToValidUTF8(title, "\uFFFD")),
		Data: canon.Object(canon.M("setting", setting.Value()), canon.M(match.RulesMember, match.RuleIDs(match.Normalisers()))),
	}
}

// upstreamList returns named upstreams as an open lists them; absent if there
// are none.
func upstreamList(named map[string]string) canon.Value {
	if len(named) == 0 {
		return canon.Value{}
	}
	list := make([]canon.Value, 0, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, canon.Object(canon.M("name", canon.String(name)), canon.M("url", canon.String(plainAddress(named[name])))))
	}
	return canon.Array(list...)
}

// plainAddress returns a base URL without what may be a secret in it.
func plainAddress(address string) string {
	u, err := parseAddress(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// recordedUpstreams returns the upstreams of a record beside those given. One
// whose host is given already goes by the given name.
func recordedUpstreams(opened canon.Value, given map[string]string) map[string]string {
	out := map[string]string{}
	taken := map[string]bool{}
	for name, address := range given {
		out[name] = address
		if u, err := parseAddress(address); err == nil {
			taken[origin(u)] = true
		}
	}
	for _, v := range opened.Get("upstreams").Elems() {
		name, address := v.Get("name").Str(), v.Get("url").Str()
		u, err := parseAddress(address)
		if err != nil || name == "" || out[name] != "" || taken[origin(u)] {
			continue
		}
		out[name], taken[origin(u)] = address, true
	}
	return out
}

func (r *Recorder) begin(ctx context.Context, opening drive.Opening, red *redact.Redactor, named map[string]string, o capture.Options) (*Session, error) {
	taps, err := newTaps(named)
	if err != nil {
		return nil, err
	}
	s, err := drive.Open(ctx, r.cfg, opening)
	if err != nil {
		return nil, err
	}
	o.Redactor = red
	o.Setting = match.ParseSetting(opening.Data.Get("setting"))
	p, err := capture.New(s, o)
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	taps.proxy, taps.direct = p, o.Transport
	if taps.direct == nil {
		taps.direct = plain()
	}
	return &Session{s: s, red: red, proxy: p, taps: taps}, nil
}

// run runs the agent, and ends everything that it left under way.
func (s *Session) run(ctx context.Context, agent func(context.Context, *Session) error) error {
	returned := false
	defer func() {
		s.taps.close()
		s.proxy.Close()
		if !returned { // a panic goes on; what was recorded is kept
			_ = s.s.Close(context.WithoutCancel(ctx))
		}
	}()
	err := agent(ctx, s)
	returned = true
	return err
}

func (s *Session) seal(ctx context.Context, failed error) error {
	data := canon.Object()
	if failed != nil {
		data = canon.Object(canon.M("error", canon.String(s.clip(failed.Error()))))
	}
	return s.s.Seal(context.WithoutCancel(ctx), statusOf(failed), data, nil)
}

// maxMessage bounds the text of an error in a ledger.
const maxMessage = 8 << 10

func (s *Session) clip(msg string) string {
	return s.red.Text(strings.ToValidUTF8(msg[:min(len(msg), maxMessage)], "\uFFFD"))
}
