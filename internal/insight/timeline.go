package insight

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/budget"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Call is one line of a run's timeline.
type Call struct {
	Step    int64 // from 1
	N       int64 // its entry
	Outcome int64 // the entry of its outcome, or -1
	Depth   int   // how many calls enclose it
	Kind    string
	Name    string
	Class   effect.Class
	At      time.Time // when it was made, as the header says; zero: unknown

	Status   effect.Status // empty: still open
	Code     string        // of an error
	HTTP     int64         // status of an HTTP answer, or 0
	Took     time.Duration // meaningful if Outcome is not -1
	Recorded bool          // answered from another run's record
	// Left says that the answer broke off because the agent had read enough, as
	// clients of event streams do at their last event.
	Left bool
	// Evidence says that another tool recorded the call without the bytes that
	// were sent: it can be shown, and answers nothing.
	Evidence bool
	imported bool // from a file of another tool

	protocol.Answer
	// Asked says that the answer names no model: the one here is the one that
	// was asked.
	Asked bool
	Cost  *budget.Pico // nil: not known
	// Priced names the prices by which the cost is known: the version of a
	// list, or what the answer stated.
	Priced string

	data   canon.Value // of the call
	socket *protocol.Reader
}

// maxRead is how many bytes of one answer are read for its usage; a larger
// one says nothing.
const maxRead = 64 << 20

// Calls yields the calls of a run in the order in which they were made, each
// with its outcome. Its memory grows with the calls that are open, and with
// one answer.
func Calls(ctx context.Context, store drive.Store, run ledger.RunID, prices PriceList) iter.Seq2[Call, error] {
	return func(yield func(Call, error) bool) {
		t := timeline{read: drive.NewReader(store, run), prices: prices, open: map[int64]*Call{}}
		for e, err := range store.Read(ctx, run, 0) {
			if err == nil {
				err = t.entry(ctx, e)
			}
			if err != nil {
				yield(Call{}, err)
				return
			}
			for len(t.queue) > 0 && t.queue[0].Outcome >= 0 {
				if !yield(*t.queue[0], nil) {
					return
				}
				t.queue = t.queue[1:]
			}
		}
		for _, c := range t.queue {
			if !yield(*c, nil) {
				return
			}
		}
	}
}

type timeline struct {
	read   *drive.Reader
	prices PriceList
	open   map[int64]*Call
	queue  []*Call // made, and not yielded yet
	steps  int64
}

func (t *timeline) entry(ctx context.Context, e *ledger.Entry) error {
	o, err := ledger.Parse(e)
	if err != nil || o.Body.IsZero() {
		return err
	}
	switch o.Kind {
	case ledger.KindCall:
		return t.call(&o)
	case ledger.KindOutcome:
		return t.outcome(ctx, &o)
	case ledger.KindEvent:
		return t.message(ctx, &o)
	default:
		return nil
	}
}

// message takes a message of a socket: the answers over it are those of the
// model that it leads to.
func (t *timeline) message(ctx context.Context, o *ledger.Opened) error {
	n, ok := o.Body.Get("refs").Get("call").AsInt()
	c := t.open[n]
	i := Content(o)
	if !ok || c == nil || c.Kind != kindModel || o.Body.Get("name").Str() != protocol.SocketMessage || i < 0 || o.Att[i].Size > maxRead || o.Data().Get("op").Str() != "text" {
		return nil
	}
	b, err := t.read.Bytes(ctx, o, i)
	if err != nil {
		return absent(err)
	}
	if c.socket == nil {
		c.socket = &protocol.Reader{}
	}
	if o.Data().Get("dir").Str() == "in" {
		c.socket.Message(b)
	} else if q := protocol.ReadSocket(c.data.Get("url").Str(), b); q.Model != "" {
		c.Model = q.Model
	}
	return nil
}

// kindModel is the kind of calls that ask a model.
const kindModel = "model"

func (t *timeline) call(o *ledger.Opened) error {
	c, key, err := effect.ParseCall(o.Body)
	if err != nil {
		return err
	}
	t.steps++
	call := &Call{Step: t.steps, N: o.N, Outcome: -1, Depth: key.Depth(), Kind: c.Kind, Name: c.Name, Class: c.Class, At: When(o.T), data: c.Data}
	t.open[o.N] = call
	t.queue = append(t.queue, call)
	return nil
}

func (t *timeline) outcome(ctx context.Context, o *ledger.Opened) error {
	n, _ := o.Body.Get("refs").Get("call").AsInt()
	c := t.open[n]
	if c == nil {
		return fault.New(effect.ErrCall, "insight.Calls", "the outcome at entry %d names no open call", o.N)
	}
	delete(t.open, n)
	out, err := effect.ParseOutcome(o.Body)
	if err != nil {
		return err
	}
	c.Outcome, c.Status, c.Recorded = o.N, out.Status, o.Body.Get("refs").Has("pin")
	c.HTTP, _ = out.Data.Get("status").AsInt()
	c.Left = out.Status == effect.Interrupted && out.Data.Get("broke").Str() == "client"
	if out.Code != nil {
		c.Code = out.Code.Error()
	}
	if end := When(o.T); !c.At.IsZero() && !end.IsZero() {
		c.Took = max(0, end.Sub(c.At))
	}
	asked := c.Model
	if c.Answer, err = t.answer(ctx, c, o.N, out); err != nil {
		return err
	}
	if imported := out.Data.Get("import"); !imported.IsZero() {
		c.told(imported)
	}
	if c.Model == "" {
		c.Asked, c.Model = true, asked
	}
	if c.Model == "" && c.Kind == kindModel {
		if c.Model, err = t.asked(ctx, c); err != nil {
			return err
		}
	}
	c.Cost, c.Priced = t.cost(c)
	c.data, c.socket = canon.Value{}, nil
	return nil
}

// told takes what an importer read in a file beside the bytes of an answer,
// where the answer itself does not say it. The time is the file's or none: when
// it was imported is of no interest.
func (c *Call) told(v canon.Value) {
	c.imported, c.Evidence = true, v.Has("evidence")
	c.Took = 0
	if at := When(v.Get("at").Str()); !at.IsZero() {
		c.At = at
	}
	if d, err := time.ParseDuration(strings.ReplaceAll(v.Get("took").Str(), " ", "")); err == nil && d > 0 {
		c.Took = d
	}
	if c.Model == "" {
		c.Model = v.Get("model").Str()
	}
	u := v.Get("usage")
	if u.IsNull() { // counted with the call before it
		c.Usage, c.Stated = nil, nil
	}
	if c.Usage == nil && u.Has("output") {
		n := budget.Usage{
			Input: count(u, "input"), Output: count(u, "output"),
			CacheRead: count(u, "cache_read"), CacheWrite: count(u, "cache_write"), Reasoning: count(u, "reasoning"),
		}
		if min(n.Input, n.Output, n.CacheRead, n.CacheWrite, n.Reasoning) >= 0 {
			c.Usage = &n
		}
	}
	if len(c.Calls) == 0 {
		for _, n := range v.Get("tools").Elems() {
			c.Calls = append(c.Calls, protocol.ToolCall{Name: n.Str()})
		}
	}
}

func count(v canon.Value, name string) int64 {
	n, _ := v.Get(name).AsInt()
	return n
}

// cost returns what a call cost by the list, else what its answer states, else
// nothing: what is not known is not free.
func (t *timeline) cost(c *Call) (cost *budget.Pico, by string) {
	if c.Usage != nil && c.Unpriced == "" && c.Model != "" && !c.At.IsZero() {
		if cost, err := t.prices.Cost(c.Model, c.At.UTC().Format(time.DateOnly), *c.Usage); err == nil {
			return &cost, t.prices.Version
		}
	}
	if c.Stated != nil {
		return c.Stated, "stated by the answer"
	}
	return nil, ""
}

// asked returns the model that the request names, for an answer that names
// none. A deployment of Azure is not the model of its name, and stands in no
// request.
func (t *timeline) asked(ctx context.Context, c *Call) (string, error) {
	o, err := t.read.Open(ctx, c.N)
	if err != nil {
		return "", absent(err)
	}
	i := Content(o)
	if i < 0 || o.Att[i].Size > maxRead {
		return "", nil
	}
	b, err := t.read.Bytes(ctx, o, i)
	if err != nil {
		return "", absent(err)
	}
	if b, ok := Plain(c.data, b); ok {
		return protocol.ReadRequest(c.data.Get("url").Str(), b).Model, nil
	}
	return "", nil
}

// answer reads what the outcome says. Contents that are absent, withheld or
// in a coding that is not known say nothing.
func (t *timeline) answer(ctx context.Context, c *Call, n int64, out effect.Outcome) (protocol.Answer, error) {
	o, err := t.read.Open(ctx, n)
	if err != nil {
		return protocol.Answer{}, absent(err)
	}
	if out.Status == effect.Interrupted {
		// A killed recorder's calls are closed later: what came says how long
		// it took, the outcome's own time does not.
		if c.Took, err = t.came(ctx, o); err != nil {
			return protocol.Answer{}, absent(err)
		}
	}
	if c.socket != nil {
		return c.socket.Answer(), nil
	}
	i := Content(o)
	if i < 0 || o.Att[i].Size > maxRead {
		return protocol.Answer{}, nil
	}
	b, err := t.read.Bytes(ctx, o, i)
	if err != nil {
		return protocol.Answer{}, absent(err)
	}
	b, ok := Plain(out.Data, b)
	if !ok {
		return protocol.Answer{}, nil
	}
	return protocol.Read(protocol.Origin{
		URL: c.data.Get("url").Str(), Type: o.Att[i].Type, Header: func(name string) string { return Header(out.Data, name) },
	}, b), nil
}

// came returns how long after the call the last part of an answer came.
func (t *timeline) came(ctx context.Context, o *ledger.Opened) (d time.Duration, err error) {
	i := o.Attachment(drive.TimingName)
	if i < 0 {
		return 0, nil
	}
	b, err := t.read.Bytes(ctx, o, i)
	if err != nil {
		return 0, err
	}
	parts, err := drive.ParseTiming(b)
	for _, p := range parts {
		d += p.After
	}
	return d, err
}

// absent turns an error that says no more than that contents are not there
// into none.
func absent(err error) error {
	if errors.Is(err, ledger.ErrAbsent) || fault.ClassOf(err) == fault.ClassNotFound {
		return nil
	}
	return err
}

// Content returns the place of the first attachment that holds what was sent
// or received, or -1.
func Content(o *ledger.Opened) int {
	for i, a := range o.Att {
		if a.Type != ledger.TimingType {
			return i
		}
	}
	return -1
}

// When reads the time of a header. It is informational; a header without one
// gives the zero time.
func When(t string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, t)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Failed reports whether the call ended without an answer, or with one that
// says no. That a file of another tool does not hold the bytes is no failure
// of the call.
func (c *Call) Failed() bool {
	return c.Status != "" && c.Status != effect.OK && !c.Left && !c.Evidence || c.HTTP >= 400 || c.Error != ""
}

// Timed reports whether it is known how long the call took.
func (c *Call) Timed() bool { return c.Outcome >= 0 && (c.Took > 0 || !c.imported) }

// Totals sums up a timeline.
type Totals struct {
	Calls    int64
	Models   int64 // calls of models, and others whose answers say what a model used: the results of a batch
	Failed   int64 // as [Call.Failed] says
	Open     int64
	Usage    budget.Usage
	Counted  int64 // calls that say their usage
	Cost     budget.Pico
	Priced   int64 // calls whose cost is known
	Tools    int64 // tools that answers asked for
	Recorded int64
	Evidence int64 // as [Call.Evidence] says
}

// Add takes one more call.
func (t *Totals) Add(c *Call) error {
	t.Calls++
	if c.Kind == kindModel || c.Usage != nil || c.Cost != nil {
		t.Models++
	}
	t.Tools += int64(len(c.Calls))
	switch {
	case c.Status == "":
		t.Open++
	case c.Failed():
		t.Failed++
	}
	if c.Recorded {
		t.Recorded++
	}
	if c.Evidence {
		t.Evidence++
	}
	var err error
	if c.Usage != nil {
		t.Counted++
		if t.Usage, err = t.Usage.Add(*c.Usage); err != nil {
			return err
		}
	}
	if c.Cost != nil {
		t.Priced++
		t.Cost, err = t.Cost.Add(*c.Cost)
	}
	return err
}

// Value returns the call as JSON; what is not known is absent.
func (c *Call) Value() canon.Value {
	v := canon.Object(
		canon.M("step", canon.Int(c.Step)),
		canon.M("entry", canon.Int(c.N)),
		canon.M("kind", canon.String(c.Kind)),
		canon.M("name", canon.String(c.Name)),
		canon.M("class", canon.String(string(c.Class))),
		canon.M("depth", canon.Int(int64(c.Depth))),
		canon.M("status", canon.Text(string(c.Status))),
		canon.M("code", canon.Text(c.Code)),
		canon.M("protocol", canon.Text(c.Protocol)),
		canon.M("model", canon.Text(c.Model)),
		canon.M("unpriced", canon.Text(c.Unpriced)),
		canon.M("usage", UsageValue(c.Usage)),
		canon.M("recorded", canon.Bool(c.Recorded)),
		canon.M("failed", canon.Bool(c.Failed())),
		canon.M("error", canon.Text(c.Error)),
	)
	if !c.At.IsZero() {
		v = v.With("at", canon.String(c.At.UTC().Format(time.RFC3339Nano)))
	}
	if c.Outcome >= 0 {
		v = v.With("outcome_entry", canon.Int(c.Outcome))
	}
	if c.Timed() {
		v = v.With("duration_ms", canon.Int(c.Took.Milliseconds()))
	}
	if c.Evidence {
		v = v.With("evidence_only", canon.Bool(true))
	}
	if c.HTTP > 0 {
		v = v.With("http_status", canon.Int(c.HTTP))
	}
	if c.Cost != nil {
		v = v.With("cost_usd", canon.String(c.Cost.String())).With("prices", canon.String(c.Priced))
	}
	if len(c.Calls) > 0 {
		v = v.With("tool_calls", canon.Strings(c.Tools()))
	}
	return v
}

// UsageValue returns usage as JSON, or an absent value.
func UsageValue(u *budget.Usage) canon.Value {
	if u == nil {
		return canon.Value{}
	}
	return canon.Object(
		canon.M("input", canon.Int(u.Input)),
		canon.M("output", canon.Int(u.Output)),
		canon.M("cache_read", canon.Int(u.CacheRead)),
		canon.M("cache_write", canon.Int(u.CacheWrite)),
		canon.M("reasoning", canon.Int(u.Reasoning)),
	)
}

// Value returns the sums as JSON. Sums of which a part is not known say of how
// many calls they are; a sum of none is absent.
func (t *Totals) Value() canon.Value {
	v := canon.Object(
		canon.M("calls", canon.Int(t.Calls)),
		canon.M("failed", canon.Int(t.Failed)),
		canon.M("open", canon.Int(t.Open)),
		canon.M("tool_calls", canon.Int(t.Tools)),
		canon.M("recorded", canon.Int(t.Recorded)),
		canon.M("counted", canon.Int(t.Counted)),
		canon.M("priced", canon.Int(t.Priced)),
	)
	if t.Evidence > 0 {
		v = v.With("evidence_only", canon.Int(t.Evidence))
	}
	if t.Counted > 0 {
		v = v.With("usage", UsageValue(&t.Usage))
	}
	if t.Priced > 0 {
		v = v.With("cost_usd", canon.String(t.Cost.String()))
	}
	return v
}
