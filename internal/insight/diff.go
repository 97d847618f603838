package insight

import (
	"context"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/protocol"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Diff compares two runs step by step: the calls with their outcomes, and
// what an engine concluded.
func Diff(ctx context.Context, store drive.Store, a, b ledger.RunID) (*replay.Report, error) {
	x, y := drive.NewReader(store, a), drive.NewReader(store, b)
	left, err := steps(ctx, store, x)
	if err != nil {
		return nil, err
	}
	right, err := steps(ctx, store, y)
	if err != nil {
		return nil, err
	}
	al := replay.Align(left, right)
	return al.Report(a, b, func(side replay.Side, run ledger.RunID, entry int64) (ledger.Decision, error) {
		if side == replay.SideA {
			return decision(ctx, x, ledger.Ref{Run: run, N: entry})
		}
		return decision(ctx, y, ledger.Ref{Run: run, N: entry})
	})
}

// decision returns an entry in its comparison form. Headers are left out: they
// hold times and ids that differ between any two runs. Of a call, so is the
// match key, which says nothing that the rest does not.
func decision(ctx context.Context, r *drive.Reader, at ledger.Ref) (ledger.Decision, error) {
	o, err := r.Place(ctx, at.Run, at.N)
	if err != nil {
		return ledger.Decision{}, err
	}
	contents, err := r.Contents(ctx, o)
	if err != nil {
		return ledger.Decision{}, err
	}
	body := ledger.Compared(o.Body)
	switch o.Kind {
	case ledger.KindCall:
		body = body.Without("match", "occurrence", "path")
		body = body.With("data", body.Get("data").Without("headers"))
	case ledger.KindOutcome:
		body = body.With("data", body.Get("data").Without("headers", "trailers"))
	case ledger.KindEvent:
		if isMessage(o) {
			body = body.With("data", body.Get("data").Without("after", "seq", "frames"))
		}
	default:
	}
	return ledger.Decision{Kind: o.Kind, Body: body, Contents: contents}, nil
}

// steps reads a run for a diff. Opens and seals differ in what they are about
// and are left out; so are notes, which say when things came, not what.
func steps(ctx context.Context, store drive.Store, r *drive.Reader) ([]replay.Step, error) {
	var out []replay.Step
	calls := map[ledger.Ref]int{}
	seen := map[string]int64{}
	for o, err := range drive.Lineage(ctx, store, r.Run()) {
		if err != nil {
			return nil, err
		}
		if skipped(o) {
			continue
		}
		if o.Kind == ledger.KindCall {
			// The match key is taken over the request under its normalisers:
			// where those are equal, the call is the same.
			c, k, err := effect.ParseCall(o.Body)
			if err != nil {
				return nil, err
			}
			calls[ledger.Ref{Run: o.Run, N: o.N}] = len(out)
			out = append(out, replay.Step{What: string(o.Kind), Name: c.Name, Run: o.Run, Entry: o.N, Answer: -1, Match: k.Under() + " " + c.Kind, Form: c.Match})
			continue
		}
		d, err := decision(ctx, r, ledger.Ref{Run: o.Run, N: o.N})
		if err != nil {
			return nil, err
		}
		form, err := replay.Form(d)
		if err != nil {
			return nil, err
		}
		if o.Kind == ledger.KindOutcome {
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			if i, ok := calls[ledger.Ref{Run: o.Run, N: n}]; ok {
				out[i].Answer, out[i].AnswerForm = o.N, form
			}
			continue
		}
		if isMessage(o) {
			// Of each direction the nth message stands for the nth: what one side
			// says does not move what the other says.
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			about := string(o.Kind) + " " + o.Data().Get("dir").Str()
			if i, ok := calls[ledger.Ref{Run: o.Run, N: n}]; ok {
				about += " " + out[i].Match + " " + out[i].Form.String()
			}
			out = append(out, replay.Step{
				What: "message", Name: o.Body.Get("name").Str(), Run: o.Run, Entry: o.N, Answer: -1,
				Match: about + " " + canon.Int(seen[about]).String(), Form: form,
			})
			seen[about]++
			continue
		}
		id := string(o.Kind) + " " + form.String()
		s := replay.Step{What: string(o.Kind), Name: o.Body.Get("name").Str(), Run: o.Run, Entry: o.N, Answer: -1, Form: form}
		s.Match = id + " " + canon.Int(seen[id]).String()
		seen[id]++
		out = append(out, s)
	}
	return out, nil
}

// isMessage reports whether an entry is a message of a socket, which says what
// was said.
func isMessage(o *ledger.Opened) bool {
	return o.Kind == ledger.KindEvent && o.Body.Get("name").Str() == protocol.SocketMessage
}

func skipped(o *ledger.Opened) bool {
	switch o.Kind {
	case ledger.KindOpen, ledger.KindSeal, ledger.KindErasure:
		return true
	case ledger.KindEvent:
		return o.Body.Get("refs").Has("note") && !isMessage(o)
	default:
		return false
	}
}
