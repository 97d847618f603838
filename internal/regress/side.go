package regress

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/insight"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// side is one of the two runs that are compared, as its calls stand.
type side struct {
	rec  *capture.Recorded
	list []*exchange
	by   map[position]*exchange // by its call and by its outcome
}

// exchange is a call with its outcome.
type exchange struct {
	step    int64
	kind    string
	name    string
	cred    canon.Value // the fingerprint of its credential; may be absent
	call    ledger.Ref
	outcome ledger.Ref // N is -1 if there is none
	// evidence says that the outcome was imported and answers nothing.
	evidence bool
}

// tool returns the MCP tool that the exchange calls, or nothing.
func (e *exchange) tool() string {
	if name, ok := strings.CutPrefix(e.name, "tools/call "); ok && e.kind == capture.KindMCP {
		return name
	}
	return ""
}

// position is where an entry stands.
type position struct {
	run ledger.RunID
	n   int64
}

func open(ctx context.Context, store drive.Store, run ledger.RunID) (*side, error) {
	s := &side{by: map[position]*exchange{}}
	for o, err := range drive.Lineage(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		switch o.Kind {
		case ledger.KindCall:
			c, _, err := effect.ParseCall(o.Body)
			if err != nil {
				return nil, err
			}
			e := &exchange{
				step: int64(len(s.list)) + 1, kind: c.Kind, name: c.Name, cred: c.Cred,
				call: ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, outcome: ledger.Ref{N: -1},
			}
			s.list = append(s.list, e)
			s.by[position{o.Run, o.N}] = e
		case ledger.KindOutcome:
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			if e := s.by[position{o.Run, n}]; e != nil {
				e.outcome, e.evidence = ledger.Ref{Run: o.Run, N: o.N, ID: o.ID}, capture.IsEvidence(o.Body)
				s.by[position{o.Run, o.N}] = e
			}
		default:
		}
	}
	j, err := capture.ReadJournal(ctx, store, run, 0)
	if err != nil {
		return nil, err
	}
	s.rec = &capture.Recorded{Reader: drive.NewReader(store, run), Journal: j}
	return s, nil
}

// at returns the exchange that an entry belongs to, or nil. An empty run is
// the side's own.
func (s *side) at(run ledger.RunID, n int64) *exchange {
	if run == "" {
		run = s.rec.Reader.Run()
	}
	return s.by[position{run, n}]
}

// before yields the exchanges that were answered before e was asked, the
// latest first.
func (s *side) before(e *exchange) []*exchange {
	var out []*exchange
	for _, x := range slices.Backward(s.list) {
		if x.step < e.step && x.outcome.N >= 0 && (x.outcome.Run != e.call.Run || x.outcome.N < e.call.N) {
			out = append(out, x)
		}
	}
	return out
}

// Bounds of what is looked through for the origin of a part.
const (
	maxLooked = 500
	maxRead   = 4 << 20
)

// content returns the bytes of the content of an entry behind its codings, and
// its type. What is not there is nothing.
func (s *side) content(ctx context.Context, ref ledger.Ref) (body []byte, kind string, o *ledger.Opened, err error) {
	if o, err = s.rec.Reader.Place(ctx, ref.Run, ref.N); err != nil {
		return nil, "", nil, err
	}
	i := insight.Content(o)
	if i < 0 || o.Att[i].Size > maxRead {
		return nil, "", o, nil
	}
	b, err := s.rec.Reader.Bytes(ctx, o, i)
	if errors.Is(err, ledger.ErrAbsent) || fault.ClassOf(err) == fault.ClassNotFound {
		return nil, "", o, nil
	}
	if err != nil {
		return nil, "", nil, err
	}
	plain, ok := insight.Plain(o.Data(), b)
	if !ok {
		return nil, "", o, nil
	}
	return plain, o.Att[i].Type, o, nil
}

// request returns a request as JSON; absent if it is none.
func (s *side) request(ctx context.Context, e *exchange) (canon.Value, error) {
	q, err := capture.RequestAt(ctx, s.rec.Reader, s.rec.Journal, e.call)
	if err != nil {
		return canon.Value{}, err
	}
	v, err := canon.Parse(q.Body)
	if err != nil {
		return canon.Value{}, nil //nolint:nilerr // a request that is no JSON has no parts with names
	}
	return v, nil
}

// said is what an answer says.
type said struct {
	protocol.Answer
	texts []string // every text in it
	ok    bool     // it is an answer of success
}

func (s *side) answer(ctx context.Context, e *exchange) (said, error) {
	if e.outcome.N < 0 {
		return said{}, nil
	}
	b, kind, o, err := s.content(ctx, e.outcome)
	if err != nil || b == nil {
		return said{}, err
	}
	out := said{Answer: protocol.Read(protocol.Origin{Type: kind}, b)}
	status, has := o.Data().Get("status").AsInt()
	out.ok = o.Body.Get("status").Str() == string(effect.OK) && (!has || status < 400)
	if v, err := canon.Parse(b); err == nil {
		out.texts = leaves(nil, v)
	} else if out.Text != "" {
		out.texts = []string{out.Text}
	} else {
		out.texts = eventTexts(b)
	}
	for i := range out.Calls {
		out.texts = leaves(append(out.texts, out.Calls[i].Arguments), arguments(&out.Calls[i]))
	}
	return out, nil
}

// arguments returns what a model gave a tool: JSON, or the text that it wrote.
func arguments(t *protocol.ToolCall) canon.Value {
	if v, err := canon.Parse([]byte(t.Arguments)); err == nil {
		return v
	}
	return canon.String(t.Arguments)
}

// eventTexts returns the texts of a stream of JSON events.
func eventTexts(b []byte) []string {
	var out []string
	for data := range protocol.Events(b) {
		if v, err := canon.Parse(data); err == nil {
			out = leaves(out, v)
		}
	}
	if out == nil {
		out = []string{string(b)}
	}
	return out
}

// leaves appends every text in v.
func leaves(dst []string, v canon.Value) []string {
	if s, ok := v.AsString(); ok {
		return append(dst, s)
	}
	for _, e := range v.Elems() {
		dst = leaves(dst, e)
	}
	for _, m := range v.Members() {
		dst = leaves(dst, m.Value)
	}
	return dst
}

// asked returns the latest exchange before e whose answer asks for a tool, by
// the id of the call or, where there is none, by its name; and that name.
func (s *side) asked(ctx context.Context, id, tool string, e *exchange) (*exchange, string, error) {
	for i, x := range s.before(e) {
		if i == maxLooked {
			break
		}
		if x.kind != capture.KindModel {
			continue
		}
		a, err := s.answer(ctx, x)
		if err != nil {
			return nil, "", err
		}
		for _, t := range a.Calls {
			if id != "" && t.ID == id || id == "" && tool != "" && t.Name == tool {
				return x, t.Name, nil
			}
		}
	}
	return nil, "", nil
}

// says returns the latest exchange before e whose answer holds one of the
// texts, or nil.
func (s *side) says(ctx context.Context, texts []string, e *exchange) (*exchange, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	for i, x := range s.before(e) {
		if i == maxLooked {
			break
		}
		a, err := s.answer(ctx, x)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			if slices.ContainsFunc(a.texts, func(t string) bool { return strings.Contains(t, text) }) {
				return x, nil
			}
		}
	}
	return nil, nil
}
