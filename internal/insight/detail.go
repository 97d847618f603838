package insight

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Part is one content of a call or of its outcome.
type Part struct {
	Name  string
	Type  string
	Size  int64
	Bytes []byte // as recorded
	Plain []byte // without HTTP codings; nil if they are not known
	Gone  string // why the bytes are not there; empty: they are

	Request *protocol.Request // of a call of a model
	Answer  *protocol.Answer  // of its outcome
}

// Detail is a call or an outcome with what it holds.
type Detail struct {
	*ledger.Opened
	Parts []Part
}

// Load reads an entry and its contents. Contents that are absent say so.
func Load(ctx context.Context, r *drive.Reader, n int64) (Detail, error) {
	o, err := r.Open(ctx, n)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Opened: o}
	for i, a := range o.Att {
		if a.Type == ledger.TimingType {
			continue
		}
		p := Part{Name: a.Name, Type: a.Type, Size: a.Size}
		switch b, err := r.Bytes(ctx, o, i); {
		case err == nil:
			p.Bytes = b
			if plain, ok := Plain(o.Data(), b); ok {
				p.Plain = plain
				d.read(ctx, r, &p)
			}
		case absent(err) == nil:
			p.Gone = fault.CodeOf(err).Error()
		default:
			return d, err
		}
		d.Parts = append(d.Parts, p)
	}
	return d, nil
}

// read reads what a content says, as far as its protocol is known.
func (d *Detail) read(ctx context.Context, r *drive.Reader, p *Part) {
	call := d.Opened
	switch d.Kind {
	case ledger.KindCall:
	case ledger.KindOutcome:
		n, _ := d.Body.Get("refs").Get("call").AsInt()
		var err error
		if call, err = r.Open(ctx, n); err != nil {
			return // without its call an answer still says what it is
		}
	default:
		return
	}
	if call.Body.Get("kind").Str() != kindModel {
		return
	}
	target := call.Data().Get("url").Str()
	if d.Kind == ledger.KindCall {
		q := protocol.ReadRequest(target, p.Plain)
		p.Request = &q
		return
	}
	a := protocol.Read(protocol.Origin{URL: target, Type: p.Type, Header: func(name string) string { return Header(d.Data(), name) }}, p.Plain)
	p.Answer = &a
}

// requestValue returns what a request asks, without what it says: that stands
// beside it.
func requestValue(q *protocol.Request) canon.Value {
	var results []canon.Value
	for i := range q.Messages {
		for _, r := range q.Messages[i].Results {
			results = append(results, canon.Object(canon.M("call", canon.Text(r.ID)), canon.M("tool", canon.Text(r.Name)), canon.M("failed", canon.Bool(r.Failed))))
		}
	}
	v := canon.Object(
		canon.M("protocol", canon.Text(q.Protocol)),
		canon.M("model", canon.Text(q.Model)),
		canon.M("stream", canon.Bool(q.Stream)),
		canon.M("messages", canon.Int(int64(len(q.Messages)))),
	)
	if results != nil {
		v = v.With("tool_results", canon.Array(results...))
	}
	if q.Offered != nil {
		v = v.With("tools", canon.Strings(q.Offered))
	}
	return v
}

// Pretty returns JSON with line breaks; ok is false if it is no JSON. Names
// keep their order and numbers their digits.
func Pretty(b []byte) (text []byte, ok bool) {
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, false
	}
	return out.Bytes(), true
}

// CallOf returns the entries of the call and of the outcome that entry n
// belongs to; -1 where there is none.
func CallOf(ctx context.Context, store ledger.Store, run ledger.RunID, n int64) (call, outcome int64, err error) {
	call = -1
	for e, err := range store.Read(ctx, run, n) {
		if err != nil {
			return -1, -1, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return -1, -1, err
		}
		names, _ := o.Body.Get("refs").Get("call").AsInt()
		switch {
		case o.N == n && o.Kind == ledger.KindCall:
			call = n
		case o.N == n && o.Kind == ledger.KindOutcome:
			return names, n, nil
		case o.N == n:
			return -1, -1, nil
		case o.Kind == ledger.KindOutcome && names == call:
			return call, o.N, nil
		}
	}
	if call < 0 {
		return -1, -1, fault.New(ledger.ErrNotFound, "insight.CallOf", "run %s has no entry %d", run, n)
	}
	return call, -1, nil
}

// WorldAt folds the commits of a run up to and including entry n, a branch on
// the world of its source. Commits says how many there are.
func WorldAt(ctx context.Context, store drive.Store, run ledger.RunID, n int64) (w *ledger.World, commits int64, err error) {
	w = &ledger.World{}
	read := drive.NewReader(store, run)
	for o, err := range drive.Lineage(ctx, store, run) {
		if err != nil {
			return nil, 0, err
		}
		if o.Run == run && o.N > n {
			break
		}
		if o.Kind != ledger.KindCommit {
			continue
		}
		commits++
		changes, err := ledger.ParseDelta(o.Body.Get("delta"))
		if err != nil {
			return nil, 0, err
		}
		for _, c := range changes {
			value, err := worldValue(ctx, read, o, c.Att)
			if err != nil {
				return nil, 0, err
			}
			if err := w.Apply(c, value); err != nil {
				return nil, 0, err
			}
		}
	}
	return w, commits, nil
}

func worldValue(ctx context.Context, r *drive.Reader, o *ledger.Opened, name string) (*canon.Digest, error) {
	i := o.Attachment(name)
	if name == "" || i < 0 {
		return nil, nil
	}
	d := ledger.NewWorldValue()
	if err := r.WriteTo(ctx, o, i, d); err != nil {
		return nil, absent(err)
	}
	sum := d.Sum()
	return &sum, nil
}

// Value returns the entry and its contents as JSON. Contents that are JSON
// stand as such, other text as text, the rest as its size.
func (d *Detail) Value() canon.Value {
	parts := make([]canon.Value, len(d.Parts))
	for i := range d.Parts {
		parts[i] = d.Parts[i].value()
	}
	return canon.Object(
		canon.M("entry", canon.Int(d.N)),
		canon.M("kind", canon.String(string(d.Kind))),
		canon.M("id", canon.String(d.ID.String())),
		canon.M("time", canon.Text(d.T)),
		canon.M("body", d.Body),
		canon.M("contents", canon.Array(parts...)),
	)
}

func (p *Part) value() canon.Value {
	v := canon.Object(
		canon.M("name", canon.String(p.Name)),
		canon.M("type", canon.String(p.Type)),
		canon.M("size", canon.Int(p.Size)),
		canon.M("absent", canon.Text(p.Gone)),
	)
	if p.Plain == nil {
		return v
	}
	if j, err := canon.Parse(p.Plain); err == nil {
		v = v.With("json", j)
	} else if utf8.Valid(p.Plain) {
		v = v.With("text", canon.String(string(p.Plain)))
	}
	if a := p.Answer; a != nil && protocol.Tells(p.Type) {
		v = v.With("answer", canon.String(strings.ToValidUTF8(a.Text, "\uFFFD")))
		if len(a.Calls) > 0 {
			v = v.With("tool_calls", canon.Strings(a.Tools()))
		}
	}
	if q := p.Request; q != nil {
		v = v.With("asks", requestValue(q))
	}
	return v
}
