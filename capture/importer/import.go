package importer

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Mode stands in the open of an imported run, whose engine is
// [capture.Engine].
const Mode = "import"

// Result is what an import recorded.
type Result struct {
	Run        ledger.RunID
	Format     string // with its version, such as go-vcr/2
	Digest     canon.Digest
	Exchanges  int // all, whether over HTTP or only told of
	Replayable int
	Events     int                // messages that are no part of an exchange
	Evidence   []Count            // of exchanges by [Reason], sorted; one exchange may have several
	Lacks      []Count            // of replayable exchanges by [Lack], sorted
	Unread     []string           // members of the file that were passed over, sorted
	Upstreams  []capture.Upstream // that a replay of the run needs, in the order of the file
}

// Count says how many exchanges something holds for.
type Count struct {
	What string
	N    int
}

// Import records the exchanges of a file in a new, sealed run, in the order of
// the file. Name is what the open says that the file was called. A file that
// cannot be read whole is refused whole: nothing of it is recorded. If the
// store fails on the way, the run in the result has no seal or the status
// incomplete.
func Import(ctx context.Context, cfg drive.Config, r io.Reader, name string, o Options) (Result, error) {
	o = o.withDefaults()
	b, err := o.load(r)
	if err != nil {
		return Result{}, err
	}
	t, err := read(b, &o)
	if err != nil {
		return Result{}, err
	}
	return t.put(ctx, cfg, b, name, &o)
}

// put records what was read of the file b.
func (t *tape) put(ctx context.Context, cfg drive.Config, b []byte, name string, o *Options) (Result, error) {
	res := Result{Format: t.format, Digest: canon.SHA256(b), Unread: t.unread}
	past, err := res.plan(t, o)
	if err != nil {
		return Result{}, err
	}
	rules := o.Normalisers
	if rules == nil {
		rules = match.Normalisers()
	}
	s, err := drive.Open(ctx, cfg, drive.Opening{
		Engine: capture.Engine, Mode: Mode, Title: text(name), Data: res.opened(name, len(b)).With(match.RulesMember, match.RuleIDs(rules)),
		Lazy: true, // the file is still there: only the seal needs to be durable
	})
	if err != nil {
		return Result{}, err
	}
	res.Run = s.Run()
	err = record(ctx, s, res.Upstreams, past, o)
	if err == nil && len(t.turns) > 0 {
		o.Redactor.Learn(t.secrets...)
		err = tell(ctx, s, b, t.turns, o)
	}
	if err != nil {
		_ = s.Seal(ctx, "incomplete", canon.Value{}, nil) // the error that came first is the one that counts
		return res, err
	}
	return res, s.Seal(ctx, "ok", canon.Value{}, nil)
}

func record(ctx context.Context, s *drive.Session, ups []capture.Upstream, past []planned, o *Options) error {
	p, err := capture.New(s, capture.Options{Upstreams: ups, Redactor: o.Redactor, Normalisers: o.Normalisers, MaxRequest: o.MaxBytes})
	if err != nil {
		return err
	}
	for i := range past {
		if err := p.Take(ctx, past[i].upstream, &past[i].Past); err != nil {
			return fault.Wrap(fault.CodeOf(err), "importer.Import", err, "exchange %d", i)
		}
	}
	return nil
}

// tell records a file of messages: itself, and then turn by turn.
func tell(ctx context.Context, s *drive.Session, b []byte, turns []turn, o *Options) error {
	w := &teller{s: s, red: o.Redactor}
	if err := w.file(ctx, b); err != nil {
		return err
	}
	for i := range turns {
		if err := w.turn(ctx, s.Boundary, -1, &turns[i]); err != nil {
			return fault.Wrap(fault.CodeOf(err), "importer.Import", err, "step %d", i)
		}
	}
	return nil
}

// planned is an exchange that is ready to be recorded.
type planned struct {
	capture.Past
	upstream string
}

// plan labels every exchange and names where it went.
func (res *Result) plan(t *tape, o *Options) ([]planned, error) {
	ups := newUpstreams(o.Upstreams)
	evidence, lacks := map[string]int{}, map[string]int{}
	res.Exchanges = len(t.exchanges)
	for i := range t.turns {
		t.turns[i].count(&res.Exchanges, &res.Events, evidence)
	}
	out := make([]planned, len(t.exchanges))
	for i := range t.exchanges {
		x := &t.exchanges[i]
		u, err := url.Parse(x.url)
		if err != nil {
			return nil, fault.Wrap(ErrMalformed, "importer.plan", err, "the address of exchange %d", i)
		}
		p := planned{upstream: ups.name(u), Past: capture.Past{
			Method: x.method, URL: u, Proto: x.request.proto, Header: headers(x.request.header), Body: x.request.body,
			Status: x.status, ResponseHeader: headers(x.response.header), Trailer: headers(x.response.trailer), Response: x.response.body,
		}}
		why := x.evidence()
		if err := p.Check(o.MaxBytes); err != nil {
			return nil, fault.Wrap(ErrTooLarge, "importer.plan", err, "exchange %d", i)
		}
		p.About = x.about(why)
		if len(why) > 0 {
			p.Evidence = ErrEvidenceOnly
			p.Why = "the imported file does not hold the bytes as they were sent: " + joined(why)
			for _, w := range why {
				evidence[string(w)]++
			}
		} else {
			res.Replayable++
			for _, l := range x.lacks() {
				lacks[string(l)]++
			}
		}
		out[i] = p
	}
	res.Upstreams, res.Evidence, res.Lacks = ups.list, counts(evidence), counts(lacks)
	return out, nil
}

func joined(why []Reason) string {
	var b strings.Builder
	for i, w := range why {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

func counts(m map[string]int) []Count {
	out := make([]Count, 0, len(m))
	for what, n := range m {
		out = append(out, Count{what, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return strings.Compare(a.What, b.What) })
	return out
}

// about returns what the outcome says of the import.
func (x *exchange) about(why []Reason) canon.Value {
	v := canon.Object(canon.M("lacks", list(x.lacks())))
	if len(why) > 0 {
		v = v.With("evidence", list(why))
	}
	if x.at != "" {
		v = v.With("at", canon.String(text(x.at)))
	}
	if x.took != "" {
		v = v.With("took", canon.String(text(x.took)))
	}
	if x.response.proto != "" {
		v = v.With("proto", canon.String(x.response.proto))
	}
	return v
}

func list[S ~string](in []S) canon.Value {
	out := make([]canon.Value, len(in))
	for i, s := range in {
		out[i] = canon.String(text(string(s)))
	}
	return canon.Array(out...)
}

// maxText bounds what a file says of itself in its own words.
const maxText = 512

// text makes s fit for a body.
func text(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// maxUnread bounds how many unread members are named.
const maxUnread = 64

// opened returns what the open of the run says.
func (res *Result) opened(name string, size int) canon.Value {
	ups := make([]canon.Value, len(res.Upstreams))
	for i := range res.Upstreams {
		ups[i] = canon.Object(
			canon.M("name", canon.String(res.Upstreams[i].Name)),
			canon.M("url", canon.String(text(res.Upstreams[i].Address()))),
		)
	}
	v := canon.Object(
		canon.M("bytes", canon.Int(int64(size))),
		canon.M("exchanges", canon.Int(int64(res.Exchanges))),
		canon.M("file", canon.String(text(name))),
		canon.M("format", canon.String(res.Format)),
		canon.M("replayable", canon.Int(int64(res.Replayable))),
		canon.M("sha256", canon.String(res.Digest.String())),
	)
	if len(res.Evidence) > 0 {
		v = v.With("evidence", countsValue(res.Evidence))
	}
	if len(res.Lacks) > 0 {
		v = v.With("lacks", countsValue(res.Lacks))
	}
	if res.Events > 0 {
		v = v.With("events", canon.Int(int64(res.Events)))
	}
	if n := len(res.Unread); n > 0 {
		v = v.With("unread", list(res.Unread[:min(n, maxUnread)]))
	}
	return canon.Object(canon.M("import", v), canon.M("upstreams", canon.Array(ups...)))
}

func countsValue(cs []Count) canon.Value {
	ms := make([]canon.Member, len(cs))
	for i, c := range cs {
		ms[i] = canon.M(c.What, canon.Int(int64(c.N)))
	}
	return canon.Object(ms...)
}
