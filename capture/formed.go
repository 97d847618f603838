package capture

import (
	"context"
	"errors"

	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// formed is the form of a request that is to be compared with another, for
// people. Of a large one there is only a sketch, in which long texts are named
// by their digests.
type formed struct {
	full   []byte
	sketch func() ([]byte, error) // nil of a request without a body
	large  bool
}

// beside returns two forms that can be compared: if one of them is a sketch
// both are.
func (f formed) beside(g formed) (a, b []byte, err error) {
	if !f.large && !g.large {
		return f.full, g.full, nil
	}
	if f.sketch != nil {
		if a, err = f.sketch(); err != nil {
			return nil, nil, err
		}
	}
	if g.sketch != nil {
		b, err = g.sketch()
	}
	return a, b, err
}

// formOf returns the form of a body that is in memory.
func formOf(r *match.Rules, kind string, body []byte) formed {
	full, _ := r.Form(kind, body)
	return formed{full: full, large: len(body) > maxPooled, sketch: func() ([]byte, error) {
		var k sketch
		k.begin(r)
		if err := k.write(body); err != nil {
			return nil, err
		}
		return k.end(r, kind)
	}}
}

// formNow returns the form of the request of a call; g is the request if it is
// large.
func formNow(r *match.Rules, c *effect.Call, g *large) formed {
	switch {
	case g != nil:
		return formed{large: true, sketch: func() ([]byte, error) { return g.sketch(r, c.Kind) }}
	case len(c.Contents) > 0:
		return formOf(r, c.Kind, behind(c.Data, c.Contents[0].Bytes))
	default:
		return formed{}
	}
}

// formAt returns the form of a recorded request.
func formAt(ctx context.Context, reader *drive.Reader, o *ledger.Opened, r *match.Rules, kind string) (formed, error) {
	i := o.Attachment(RequestName)
	if i < 0 {
		return formed{}, nil
	}
	data := o.Body.Get("data")
	if o.Att[i].Size <= maxPooled || data.Get("coding").Str() != "" {
		b, err := reader.Bytes(ctx, o, i)
		if err != nil {
			return formed{}, err
		}
		return formOf(r, kind, behind(data, b)), nil
	}
	return formed{large: true, sketch: func() ([]byte, error) {
		var k sketch
		k.begin(r)
		if err := reader.WriteTo(ctx, o, i, &k); err != nil {
			return nil, err
		}
		return k.end(r, kind)
	}}, nil
}

// formOf returns the form of the request of a call without an answer. A large
// one was not kept, and is read from the run's own ledger.
func (p *Proxy) formOf(ctx context.Context, m *drive.Miss) (formed, error) {
	if len(m.Call.Contents) > 0 {
		return formNow(p.rules, &m.Call, nil), nil
	}
	own := p.s.Reader()
	o, err := own.Open(ctx, m.N)
	if errors.Is(err, ledger.ErrNotFound) {
		return formed{}, nil // it is not durable yet
	}
	if err != nil {
		return formed{}, err
	}
	return formAt(ctx, own, o, p.rules, m.Call.Kind)
}
