package trajectories

import (
	"context"
	"io"
	"iter"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// RerunOptions say how tools are called again.
type RerunOptions struct {
	// Call makes the calls. What it calls itself goes nowhere: nothing is
	// recorded.
	Call drive.Caller
	// Consent is asked before a call that may change something, and says
	// whether it is to be made. Without it no such call is.
	Consent func(ctx context.Context, c *effect.Call, tool *trajectory.Tool) (bool, error)
}

// Rerun is one call of a tool that was recorded, and what came of making it
// again.
type Rerun struct {
	Run  ledger.RunID // where the call stands
	N    int64        // its entry
	Tool string
	Made bool   // else Why says why not
	Why  string // declined, or no outcome to compare with
	// Recorded and Now are what the tool answered, without secrets, and
	// RecordedError and NowError why it failed. The calls were equal, byte for
	// byte.
	Recorded, Now           canon.Value
	RecordedError, NowError string
	Differs                 []canon.Difference
}

// Same reports whether the tool answered as it did.
func (r *Rerun) Same() bool {
	return r.Made && len(r.Differs) == 0 && r.RecordedError == r.NowError
}

// maxDifferences is how many places of an answer are listed.
const maxDifferences = 20

// RerunTools makes every recorded call of a tool again, and yields what it
// answers now beside what it answered then. It is a diagnosis of the tools and
// no proof of the run: what a tool answers today says nothing of what happened
// (T-36, T-37). Nothing is written to the run. Tools that keep what they did by
// the key of a call get the recorded key.
func RerunTools(ctx context.Context, store drive.Store, run ledger.RunID, o *RerunOptions) iter.Seq2[Rerun, error] {
	return func(yield func(Rerun, error) bool) {
		read := drive.NewReader(store, run)
		var charter *trajectory.Charter
		open := map[ledger.Ref]effect.Call{} // calls whose outcome has not come yet
		for e, err := range read.All(ctx) {
			if err != nil {
				yield(Rerun{}, err)
				return
			}
			switch e.Kind {
			case ledger.KindOpen:
				if charter == nil {
					charter, err = charterOf(ctx, read, e)
				}
			case ledger.KindCall:
				var c effect.Call
				if c, _, err = effect.ParseCall(e.Body); err == nil && c.Data.Has("idempotency_key") {
					c.Contents, err = read.Contents(ctx, e)
					open[ledger.Ref{Run: e.Run, N: e.N}] = c
				}
			case ledger.KindOutcome:
				n, _ := e.Body.Get("refs").Get("call").AsInt()
				at := ledger.Ref{Run: e.Run, N: n}
				c, ok := open[at]
				if !ok {
					continue
				}
				delete(open, at)
				r := Rerun{Run: at.Run, N: at.N, Tool: c.Name}
				if err = r.again(ctx, read, e, &c, charter, o); err == nil && !yield(r, nil) {
					return
				}
			default:
			}
			if err != nil {
				yield(Rerun{}, err)
				return
			}
		}
	}
}

// RerunTools is [RerunTools] with the caller that the runner's runs have:
// secrets come from the environment by name, and answers are cleaned.
func (r *Runner) RerunTools(ctx context.Context, run ledger.RunID, consent func(context.Context, *effect.Call, *trajectory.Tool) (bool, error)) iter.Seq2[Rerun, error] {
	fail := func(err error) iter.Seq2[Rerun, error] {
		return func(yield func(Rerun, error) bool) { yield(Rerun{}, err) }
	}
	open, err := r.first(ctx, run)
	if err != nil {
		return fail(err)
	}
	// The run is not followed: the tools of one that another version decided
	// can be called all the same.
	t := &Run{id: run, watch: r.watch(run, silent), redact: redactionOf(open.Data().Get("redact"))}
	if t.charter, err = charterOf(ctx, drive.NewReader(r.Config.Store, run), open); err != nil {
		return fail(err)
	}
	return RerunTools(ctx, r.Config.Store, run, &RerunOptions{Call: r.caller(t, nil, t.redact), Consent: consent})
}

// RerunCounts says what came of all calls.
type RerunCounts struct{ Calls, Same, Different, NotMade int64 }

// Add counts a call.
func (c *RerunCounts) Add(r *Rerun) {
	c.Calls++
	switch {
	case !r.Made:
		c.NotMade++
	case r.Same():
		c.Same++
	default:
		c.Different++
	}
}

// WriteRerunJSON writes what tools answer now as one JSON document, as they
// answer.
func WriteRerunJSON(w io.Writer, run ledger.RunID, list iter.Seq2[Rerun, error]) (RerunCounts, error) {
	var counts RerunCounts
	d := document{w: w}
	d.open("{")
	d.member(1, "verb", canon.String("rerun"))
	d.member(1, "mode", canon.String("tools"))
	d.member(1, "authoritative", canon.Bool(false))
	d.member(1, "run", canon.String(string(run)))
	d.name(1, "calls")
	d.open("[")
	var failed error
	for r, err := range list {
		if failed = err; err != nil {
			break
		}
		counts.Add(&r)
		d.element(2, r.Value())
	}
	d.close("]", 1)
	d.member(1, "counts", canon.Object(
		canon.M("calls", canon.Int(counts.Calls)), canon.M("same", canon.Int(counts.Same)),
		canon.M("different", canon.Int(counts.Different)), canon.M("not_made", canon.Int(counts.NotMade)),
	))
	if failed != nil {
		d.member(1, "error", canon.Object(canon.M("code", canon.String(fault.CodeOf(failed).Error())), canon.M("message", canon.String(fault.Text(failed)))))
	}
	d.close("}", 0)
	d.text("\n")
	if failed == nil {
		failed = fault.Wrap(ErrWrite, "trajectories.WriteRerunJSON", d.err, "the report")
	}
	return counts, failed
}

func charterOf(ctx context.Context, read *drive.Reader, o *ledger.Opened) (*trajectory.Charter, error) {
	i := o.Attachment(trajectory.CharterName)
	if i < 0 {
		return nil, fault.New(trajectory.ErrCharter, "trajectories.Rerun", "run %s has no charter", o.Run)
	}
	b, err := read.Bytes(ctx, o, i)
	if err != nil {
		return nil, err
	}
	v, err := canon.Parse(b)
	if err != nil {
		return nil, fault.Wrap(trajectory.ErrCharter, "trajectories.Rerun", err, "the charter of run %s", o.Run)
	}
	return trajectory.ParseCharter(v)
}

// again makes one call again and compares.
func (r *Rerun) again(ctx context.Context, read *drive.Reader, e *ledger.Opened, c *effect.Call, charter *trajectory.Charter, o *RerunOptions) error {
	was, err := effect.ParseOutcome(e.Body)
	if err != nil {
		return err
	}
	if was.Contents, err = read.Contents(ctx, e); err != nil {
		return err
	}
	r.Recorded, r.RecordedError = answered(&was)
	tool, ok := charter.Registry.Find(c.Name)
	if !ok {
		r.Why = "the charter has no such tool"
		return nil
	}
	// A tool that only reads is known by the charter, not by what the call says
	// of itself.
	if tool.Effect != trajectory.EffectRead || c.Class.Waits() {
		agreed := false
		if o.Consent != nil {
			if agreed, err = o.Consent(ctx, c, tool); err != nil {
				return err
			}
		}
		if !agreed {
			r.Why = "not called: its effect is " + string(tool.Effect)
			return nil
		}
	}
	now, err := o.Call(ctx, c, drive.Boundary{})
	if err != nil {
		now = effect.Outcome{Status: effect.Error, Code: fault.CodeOf(err), Data: canon.Object(canon.M("message", canon.String(fault.Text(err))))}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Made = true
	r.Now, r.NowError = answered(&now)
	r.Differs = canon.Diff(r.Recorded, r.Now, maxDifferences)
	return nil
}

// answered returns the answer of a tool, or why there is none.
func answered(o *effect.Outcome) (canon.Value, string) {
	if o.Status == effect.OK {
		return trajectory.Answered(o)
	}
	why := string(o.Status)
	if o.Code != nil {
		why = o.Code.Error()
	}
	if m := o.Data.Get("message").Str(); m != "" {
		why += ": " + m
	}
	return canon.Value{}, why
}

// Value returns r as JSON.
func (r *Rerun) Value() canon.Value {
	text := func(s string) canon.Value {
		if s == "" {
			return canon.Value{}
		}
		return canon.String(s)
	}
	list := make([]canon.Value, len(r.Differs))
	for i, d := range r.Differs {
		list[i] = canon.Object(canon.M("pointer", canon.String(d.Pointer)), canon.M("recorded", d.A), canon.M("now", d.B))
	}
	return canon.Object(
		canon.M("run", canon.String(string(r.Run))),
		canon.M("n", canon.Int(r.N)),
		canon.M("tool", canon.String(r.Tool)),
		canon.M("made", canon.Bool(r.Made)),
		canon.M("why", text(r.Why)),
		canon.M("same", canon.Bool(r.Same())),
		canon.M("recorded", r.Recorded),
		canon.M("recorded_error", text(r.RecordedError)),
		canon.M("now", r.Now),
		canon.M("now_error", text(r.NowError)),
		canon.M("differences", canon.Array(list...)),
	)
}
