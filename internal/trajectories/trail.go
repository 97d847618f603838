package trajectories

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// Trail yields a run's history as an auditor reads it, up to and with entry
// last of the run itself; a negative last means all. A branch begins with what
// it has of its source. The lines are read one by one: nothing is kept.
func Trail(ctx context.Context, store drive.Store, run ledger.RunID, last int64) iter.Seq2[trajectory.Line, error] {
	return func(yield func(trajectory.Line, error) bool) {
		read := drive.NewReader(store, run)
		t := trajectory.NewTrail()
		for o, err := range read.All(ctx) {
			if err != nil {
				yield(trajectory.Line{}, err)
				return
			}
			if o.Run == run && last >= 0 && o.N > last {
				return
			}
			l := t.Line(o, func(name string) ([]byte, error) {
				i := o.Attachment(name)
				if i < 0 {
					return nil, fault.New(ledger.ErrAbsent, "trajectories.Trail", "entry %d has no content %s", o.N, name)
				}
				return read.Bytes(ctx, o, i)
			})
			if !yield(l, nil) {
				return
			}
		}
	}
}

// Broken reports whether an error means that the rest of a trail cannot be
// read because of what the ledger says; the verification says what that is.
func Broken(err error) bool { return err != nil && cannotFollow(err) }

// List is a list of a report that is as long as the run: what of a line stands
// in it, absent for a line that does not.
type List struct {
	Name string
	Of   func(l *trajectory.Line) []canon.Value
}

// Lists are the lists of the report of a replay: every rejection, every
// proposal that waits or waited with its trace, every commit with its proposal
// (T-26 to T-30), and every call of a tool that was committed.
func Lists() []List {
	only := func(label trajectory.Label) func(*trajectory.Line) []canon.Value {
		return func(l *trajectory.Line) []canon.Value {
			if l.Label != label {
				return nil
			}
			return []canon.Value{l.Value()}
		}
	}
	return []List{
		{"commits", only(trajectory.LabelCommit)},
		{"rejections", only(trajectory.LabelRejected)},
		{"suspensions", only(trajectory.LabelSuspended)},
		{"tool_calls", toolCalls},
	}
}

// Everything is the one list of an audit.
func Everything() List {
	return List{"entries", func(l *trajectory.Line) []canon.Value { return []canon.Value{l.Value()} }}
}

func toolCalls(l *trajectory.Line) []canon.Value {
	var out []canon.Value
	for _, x := range l.Observations {
		out = append(out, canon.Object(
			canon.M("commit_id", canon.String(trajectory.PrefixCommit+l.Commit.String())),
			canon.M("latency_ms", canon.Int(x.LatencyMS)),
			canon.M("seq", canon.Int(l.N)),
			canon.M("tool", canon.String(x.Tool)),
		))
	}
	return out
}

// WriteJSON writes the report of a proof as one JSON document, with lists in
// its detail. The lists are read from the store as they are written, so that
// memory does not grow with the run; the same proof gives the same bytes. A
// list that cannot be read to its end is as long as it could be read, which
// the verdict has said.
func (p *Proof) WriteJSON(ctx context.Context, w io.Writer, store drive.Store, lists ...List) error {
	d := document{w: w}
	report := p.Report.Value()
	d.open("{")
	for _, m := range report.Members() {
		if m.Name != "detail" {
			d.member(1, m.Name, m.Value)
		}
	}
	d.name(1, "detail")
	d.open("{")
	for _, m := range report.Get("detail").Members() {
		d.member(2, m.Name, m.Value)
	}
	if p.World != nil {
		d.name(2, "world")
		d.open("[")
		for _, it := range p.World.Items() {
			v, err := p.World.item(ctx, &it)
			if err != nil {
				return err
			}
			d.element(3, v)
		}
		d.close("]", 2)
	}
	for _, l := range lists {
		d.name(2, l.Name)
		d.open("[")
		for line, err := range Trail(ctx, store, p.Report.Run, p.Last) {
			if Broken(err) {
				break
			}
			if err != nil {
				return err
			}
			for _, v := range l.Of(&line) {
				d.element(3, v)
			}
		}
		d.close("]", 2)
	}
	d.close("}", 1)
	d.close("}", 0)
	d.text("\n")
	return fault.Wrap(ErrWrite, "trajectories.WriteJSON", d.err, "the report")
}

// ErrWrite means that a report could not be written to its end.
const ErrWrite fault.Unavailable = "trajectory.report_not_written"

// item is an item of a world as a document holds it.
func (w *World) item(ctx context.Context, it *ledger.Item) (canon.Value, error) {
	v := canon.Object(
		canon.M("kind", canon.String(it.Kind)),
		canon.M("id", canon.String(it.ID)),
		canon.M("version", canon.Int(it.Version)),
	)
	value, err := w.Value(ctx, it)
	if fault.CodeOf(err) == fault.Code(ledger.ErrAbsent) {
		return v, nil
	}
	return v.With("value", value), err
}

// document writes indented JSON, part by part.
type document struct {
	w    io.Writer
	some bool // something stands before, on this level
	err  error
}

const indent = "  "

func (d *document) text(s string) {
	if d.err == nil {
		_, d.err = io.WriteString(d.w, s)
	}
}

func (d *document) line(depth int) {
	if d.some {
		d.text(",")
	}
	d.text("\n")
	for range depth {
		d.text(indent)
	}
	d.some = true
}

func (d *document) open(bracket string) {
	d.text(bracket)
	d.some = false
}

func (d *document) close(bracket string, depth int) {
	if d.some {
		d.some = false
		d.line(depth)
	}
	d.text(bracket)
	d.some = true
}

func (d *document) name(depth int, name string) {
	d.line(depth)
	d.text(canon.String(name).String() + ": ")
}

func (d *document) member(depth int, name string, v canon.Value) {
	d.name(depth, name)
	d.value(depth, v)
}

func (d *document) element(depth int, v canon.Value) {
	d.line(depth)
	d.value(depth, v)
}

func (d *document) value(depth int, v canon.Value) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(v.String()), string(bytes.Repeat([]byte(indent), depth)), indent); err != nil {
		b.Reset()
		b.WriteString(v.String())
	}
	d.text(b.String())
}

// Verdict says in a word what a trail is worth.
func Verdict(r *replay.Report) string {
	if r.Verdict == replay.Verified {
		return "replay verified"
	}
	return "replay " + string(r.Verdict)
}
