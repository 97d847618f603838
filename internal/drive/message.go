package drive

import (
	"context"
	"encoding/binary"
	"iter"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Messages go both ways for as long as an exchange lasts, and nobody can wait
// for its end. So what is held back is not the last byte but nothing: each
// message is an event of its own in the ledger, and it may be passed on as
// soon as it is staged. The events become durable with whatever is stored
// next, at the latest with the outcome, which stands behind all of them.

// Duplex says that messages will go both ways on this exchange, and returns
// when the call outlives this process. Head is what the outcome will say as far
// as it is known; it is staged for the case that the process is killed.
func (x *Exchange) Duplex(ctx context.Context, head canon.Value) error {
	if x.trunk || x.s.lazy || x.duplex != nil {
		return nil
	}
	var err error
	if x.duplex, err = x.s.spool.begin(x.n, "", "", x.scope, head); err != nil {
		return err
	}
	if kept, err := x.s.w.outlive(x.duplex); kept || err != nil {
		return err
	}
	return x.begun.wait(ctx)
}

// Message records one message of a duplex exchange as an event that belongs to
// its call, and returns when it may be passed on: it outlives this process,
// though not yet the loss of power. Messages of both directions must come one
// after another, in the order that the ledger is to have.
func (x *Exchange) Message(name string, data canon.Value, c ledger.Content) error {
	if x.trunk {
		return nil
	}
	if c.Scope == "" {
		c.Scope = x.scope
	}
	if err := x.duplex.message(name, data, c); err != nil {
		return err
	}
	return x.s.message(x.n, name, data, c)
}

// Elapsed returns how long ago the exchange began.
func (x *Exchange) Elapsed() time.Duration {
	return time.Duration(elapsed(x.started, x.s.cfg.Now()))
}

// Messages yields the messages of a recorded call, in their order.
func (r *Reader) Messages(ctx context.Context, rec *effect.Record) iter.Seq2[*ledger.Opened, error] {
	return func(yield func(*ledger.Opened, error) bool) {
		for e, err := range r.store.Read(ctx, rec.Call.Run, rec.Call.N+1) {
			if err != nil {
				yield(nil, err)
				return
			}
			o, err := ledger.Parse(e)
			if err != nil {
				yield(nil, err)
				return
			}
			if o.Run == rec.Outcome.Run && o.N == rec.Outcome.N {
				return
			}
			n, ok := o.Body.Get("refs").Get("call").AsInt()
			if o.Kind == ledger.KindEvent && ok && n == rec.Call.N && !yield(&o, nil) {
				return
			}
		}
	}
}

func (s *Session) message(call int64, name string, data canon.Value, c ledger.Content) error {
	refs := canon.Object(canon.M("note", canon.Bool(true)), canon.M("call", canon.Int(call)))
	body := canon.Object(canon.M("name", canon.String(name)), canon.M("data", data))
	_, _, err := s.append(ledger.KindEvent, body, refs, []ledger.Content{c})
	return err
}

// message stages one message: what it says beside its bytes, and these.
func (st *staged) message(name string, data canon.Value, c ledger.Content) error {
	if st == nil {
		return nil
	}
	text, err := canon.Encode(canon.Object(
		canon.M("content", canon.String(c.Name)),
		canon.M("data", data),
		canon.M("name", canon.String(name)),
		canon.M("scope", canon.String(c.Scope)),
		canon.M("type", canon.String(c.Type)),
	), canon.Native)
	if err != nil {
		return err
	}
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf[:0], frameMessage)
	s.buf = binary.AppendUvarint(s.buf, uint64(st.n)) //nolint:gosec // entry numbers are not negative
	s.buf = binary.AppendUvarint(s.buf, uint64(len(text)))
	s.buf = append(s.buf, text...)
	s.buf = binary.AppendUvarint(s.buf, uint64(len(c.Bytes)))
	s.buf = append(s.buf, c.Bytes...)
	return st.flush()
}

// said is a message that was staged.
type said struct {
	name    string
	data    canon.Value
	content ledger.Content
}

func parseSaid(text, b []byte) (said, error) {
	v, err := canon.Parse(text)
	if err != nil {
		return said{}, fault.Wrap(ErrDamaged, "drive.Recover", err, "a staged message")
	}
	return said{
		name: v.Get("name").Str(), data: v.Get("data"),
		content: ledger.Content{Name: v.Get("content").Str(), Type: v.Get("type").Str(), Bytes: b, Scope: v.Get("scope").Str()},
	}, nil
}

// messages appends the messages of an open call that were staged when its
// process was killed and that the ledger does not have: all but the first so
// many, because both have one order.
func (s *Session) messages(call int64, list []said, have int64) error {
	for i := min(have, int64(len(list))); i < int64(len(list)); i++ {
		if err := s.message(call, list[i].name, list[i].data, list[i].content); err != nil {
			return err
		}
	}
	return nil
}
