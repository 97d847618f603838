package capture

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Codes of [Explain].
const (
	// ErrNotACall means that the entry whose match was asked for is no call of the
	// proxies. Name the entry of a call.
	ErrNotACall fault.Invalid = "capture.not_a_call"
	// ErrPath means that what was given as the address of a request is not the
	// path and query of one. Give it as /v1/chat/completions.
	ErrPath fault.Invalid = "capture.bad_path"
)

// Request is a request whose match is to be explained. It holds no secrets.
type Request struct {
	Upstream string
	Method   string
	URL      string // path and query
	Body     []byte // behind its content coding
	Kind     string // model, mcp or http
	Name     string
	Cred     canon.Value
	Setting  match.Setting
	// Server is the command of a stdio server; such a request has no upstream,
	// method and URL.
	Server canon.Value
	// Self is the entry that holds the request, if one does: it is not its own
	// nearest.
	Self ledger.Ref
	// Path is of the calls that enclose it.
	Path string

	key canon.Digest // as recorded, if it is
}

// Applied is what one normaliser made of a request.
type Applied struct {
	match.Normaliser
	Changed bool
	Where   []canon.Difference // before and after
}

// Explanation says how a request is matched with a record.
type Explanation struct {
	Request Request
	Rules   []Applied // in the order in which they are applied
	Form    []byte    // what the key is taken of
	Key     canon.Digest
	// Same are the recorded calls with this key, in ledger order: a replay
	// answers the first request under it from the first, and so on.
	Same []*effect.Record
	// Nearest is the recorded call that comes nearest, if none has this key.
	Nearest *Nearest
	// Why says in a line how the request is matched, or why it is not.
	Why string
	// Credential says whether credentials are compared, and how that ends.
	Credential string
}

// RequestAt returns the request of a recorded call.
func RequestAt(ctx context.Context, r *drive.Reader, j *Journal, ref ledger.Ref) (Request, error) {
	const op = "capture.RequestAt"
	o, err := r.Place(ctx, ref.Run, ref.N)
	if err != nil {
		return Request{}, err
	}
	if o.Kind != ledger.KindCall {
		return Request{}, fault.New(ErrNotACall, op, "entry %d is of the kind %s, not a call", ref.N, o.Kind)
	}
	c, k, err := effect.ParseCall(o.Body)
	if err != nil {
		return Request{}, err
	}
	d := c.Data
	q := Request{
		Upstream: d.Get("upstream").Str(), Method: d.Get("method").Str(), URL: d.Get("url").Str(), Server: d.Get("server"),
		Kind: c.Kind, Name: c.Name, Cred: c.Cred, Setting: match.ParseSetting(j.Opened().Get("setting")),
		Self: ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, Path: k.Path, key: c.Match,
	}
	q.Setting.Run = string(o.Run)
	if q.Server.IsZero() && q.Method == "" {
		return q, fault.New(ErrNotACall, op, "entry %d is a call that no proxy made", ref.N)
	}
	if i := o.Attachment(RequestName); i >= 0 {
		b, err := r.Bytes(ctx, o, i)
		if err != nil {
			return q, err
		}
		q.Body = behind(d, b)
	}
	return q, nil
}

// NewRequest returns a request that is not recorded as a proxy would take it:
// secrets are replaced, and it knows whether it asks a model.
func NewRequest(upstream, method, target string, body []byte, red *redact.Redactor, s match.Setting) (Request, error) {
	u, err := url.ParseRequestURI(target)
	if err != nil || u.Host != "" {
		return Request{}, fault.New(ErrPath, "capture.NewRequest", "%q is no path of a request", target)
	}
	to := routeOf(&http.Request{Method: method, URL: u, Header: http.Header{}}, body)
	stored, _ := red.Bytes(body)
	at := red.Text(u.EscapedPath())
	if u.RawQuery != "" {
		at += "?" + red.Query(u.RawQuery, func(string, string, redact.Credential) {})
	}
	return Request{Upstream: upstream, Method: method, URL: at, Body: stored, Kind: to.kind, Name: red.Text(to.name), Setting: s}, nil
}

// Explain says how a request is matched with a record: what each normaliser
// makes of it, the key that comes of that, the recorded calls under that key
// or, if there is none, the nearest one and where it differs. Nothing is
// answered and nothing is used up.
func Explain(ctx context.Context, rec *Recorded, q Request) (*Explanation, error) {
	list, err := match.RulesOf(rec.Journal.Opened())
	if err != nil {
		return nil, err
	}
	e := &Explanation{Request: q}
	rules, err := match.NewRules(list, q.Setting)
	if err != nil {
		return nil, err
	}
	if e.Rules, _, err = step(list, q); err != nil {
		return nil, err
	}
	e.Form, _ = rules.Form(q.Kind, q.Body)
	e.Key = q.matchKey(e.Form)
	if !q.key.IsZero() && q.key != e.Key {
		// The entry was keyed under other rules, or by another part of the
		// recorder: its own key is the one that counts.
		e.Key = q.key
	}
	e.Same = slices.DeleteFunc(rec.Journal.under(e.Key, q.Path), func(r *effect.Record) bool { return r.Call == q.Self })
	call := effect.Call{Kind: q.Kind, Name: q.Name, Match: e.Key, Cred: q.Cred, Data: q.data()}
	if len(q.Body) > 0 {
		call.Contents = []ledger.Content{{Name: RequestName, Bytes: q.Body}}
	}
	if len(e.Same) == 0 {
		if e.Nearest, err = rec.nearest(ctx, rules, &call, q); err != nil {
			return nil, err
		}
	}
	e.say()
	return e, nil
}

// step applies the rules one by one, in the order in which normal does.
func step(list []match.Normaliser, q Request) (out []Applied, form []byte, err error) {
	rank := func(n *match.Normaliser) int {
		switch n.ID() {
		case match.DateCwd:
			return 0
		case match.UUIDs, match.Times:
			return 1
		case match.MultipartBoundary:
			return 2
		case match.JSONStrings:
			return 5
		}
		if n.Kind == "" {
			return 3
		}
		return 4
	}
	ordered := slices.Clone(list)
	slices.SortStableFunc(ordered, func(a, b match.Normaliser) int { return rank(&a) - rank(&b) })
	form = q.Body
	for _, n := range ordered {
		if n.Kind != "" && n.Kind != q.Kind {
			continue
		}
		one, err := match.NewRules([]match.Normaliser{n}, q.Setting)
		if err != nil {
			return nil, nil, err
		}
		next, changed := one.Form(q.Kind, form)
		a := Applied{Normaliser: n, Changed: len(changed) > 0}
		if a.Changed {
			a.Where = replay.Bytes(form, next)
			form = next
		}
		out = append(out, a)
	}
	return out, form, nil
}

func (q *Request) matchKey(form []byte) canon.Digest {
	digest := canon.SHA256(form)
	return effect.MatchKey([]byte(q.Upstream), []byte(q.Method), []byte(q.URL), digest[:])
}

func (q *Request) data() canon.Value {
	if !q.Server.IsZero() {
		return canon.Object(canon.M("server", q.Server))
	}
	return canon.Object(
		canon.M("method", canon.String(q.Method)), canon.M("upstream", canon.String(q.Upstream)), canon.M("url", canon.String(q.URL)),
	)
}

// maxExplained is how many recorded calls are compared with one that is
// explained: a person waits for the answer, not an agent.
const maxExplained = 2000

// nearest is near over many more calls, and also those that answered already.
func (r *Recorded) nearest(ctx context.Context, now *match.Rules, c *effect.Call, q Request) (*Nearest, error) {
	form := formOf(now, c.Kind, q.Body)
	var best *Nearest
	for _, rec := range r.Journal.nearest(effect.Key{Match: c.Match, Path: q.Path}, c, maxExplained) {
		if rec.Call == q.Self {
			continue
		}
		n, err := r.compare(ctx, now, c, rec, form)
		if err != nil {
			return nil, err
		}
		if best == nil || n.closer(best) {
			best = n
		}
	}
	return best, nil
}

func (e *Explanation) say() {
	q := &e.Request
	switch {
	case len(e.Same) == 1:
		e.Why = fmt.Sprintf("it is the call at entry %d: the keys are equal", e.Same[0].Call.N)
	case len(e.Same) > 1:
		e.Why = fmt.Sprintf("%d recorded calls have this key, the first at entry %d; they answer in their order", len(e.Same), e.Same[0].Call.N)
	case e.Nearest == nil:
		e.Why = fmt.Sprintf("no call of the kind %s is recorded beside it", q.Kind)
	case len(e.Nearest.Where) == 0:
		e.Why = fmt.Sprintf("entry %d is the same request under other rules or in another place", e.Nearest.Record.Call.N)
	default:
		e.Why = describe(e.Nearest)
	}
	var other *effect.Record
	if len(e.Same) > 0 {
		other = e.Same[0]
	} else if e.Nearest != nil {
		other = e.Nearest.Record
	}
	switch {
	case other == nil || q.Cred.IsZero() && other.Cred.IsZero():
		e.Credential = "neither side has one that is compared"
	case q.Cred.IsZero() || other.Cred.IsZero():
		e.Credential = "one side has none, so they are not compared; a replay says so"
	case q.Cred.Get("key").Str() != other.Cred.Get("key").Str():
		e.Credential = "fingerprints of two stores cannot be compared; a replay says so"
	case q.Cred.Equal(other.Cred):
		e.Credential = "the same fingerprint"
	default:
		e.Credential = "another fingerprint: no match unless any credential is asked for"
	}
}

// Differences compares the requests of two recorded calls as they are matched:
// the route first, then what the normalisers of then leave of the bodies.
func Differences(ctx context.Context, then, now *Recorded, a, b ledger.Ref) ([]canon.Difference, error) {
	list, err := match.RulesOf(then.Journal.Opened())
	if err != nil {
		return nil, err
	}
	x, err := RequestAt(ctx, then.Reader, then.Journal, a)
	if err != nil {
		return nil, err
	}
	y, err := RequestAt(ctx, now.Reader, now.Journal, b)
	if err != nil {
		return nil, err
	}
	forms := make([][]byte, 2)
	for i, q := range []*Request{&x, &y} {
		rules, err := match.NewRules(list, q.Setting)
		if err != nil {
			return nil, err
		}
		forms[i], _ = rules.Form(q.Kind, q.Body)
	}
	call := effect.Call{Kind: y.Kind, Name: y.Name, Data: y.data()}
	return differences(canon.Object(canon.M("data", x.data())), &call, forms[0], forms[1]), nil
}
