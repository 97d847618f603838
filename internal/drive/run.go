package drive

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/replay"
)

// ErrRunDiverged means that a run cannot be resumed because the engine does
// not conclude any more what it had concluded. Resume it with the version
// that began it, or branch from an entry before the difference.
const ErrRunDiverged fault.Diverged = "drive.resume_diverged"

// Caller makes a call that a source wants made. What it calls itself goes
// through under.
type Caller func(ctx context.Context, c *effect.Call, under Boundary) (effect.Outcome, error)

// State is where [Run] stopped.
type State struct {
	Done    bool
	Waiting string // what the machine waits for, if it is not done
	World   *ledger.World
}

// Run is the engines' loop. It folds what the session's ledger holds, appends
// the decisions that are missing, and goes on until the machine is done or
// waits. Waiting does not block: close the session, and resume it when the
// input is in the ledger. A run that is done is not sealed yet.
func Run(ctx context.Context, s *Session, m effect.Machine, call Caller) (State, error) {
	read := NewReader(s.cfg.Store, s.run)
	report := &replay.Report{Verb: replay.Replayed, Mode: "resume", Run: s.run}
	f := newFold(m, read, report)
	if err := s.settle(ctx); err != nil {
		return State{}, err
	}
	if err := f.run(ctx, Lineage(ctx, s.cfg.Store, s.run)); err != nil {
		return State{}, err
	}
	if report.Total > 0 {
		d := report.Divergences[0]
		return State{}, fault.New(ErrRunDiverged, "drive.Run", "%s %s at entry %d is %s", d.What, d.Name, d.Recorded, d.Kind)
	}
	s.goOn(f.seen)
	l := loop{s: s, f: f, call: call}
	return l.run(ctx)
}

// goOn counts occurrences from where a history ends: a branch's machine makes
// no call of its source's again.
func (s *Session) goOn(seen map[canon.Digest]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for match, n := range seen {
		k := effect.Key{Match: match}
		s.seen[k] = max(s.seen[k], n)
	}
}

// settle returns when everything that was appended so far is durable.
func (s *Session) settle(ctx context.Context) error {
	s.w.mu.Lock()
	g, err := s.w.last, s.w.err
	s.w.mu.Unlock()
	if err != nil || g == nil {
		return err
	}
	return g.wait(ctx)
}

type loop struct {
	s    *Session
	f    *fold
	call Caller
}

func (l *loop) run(ctx context.Context) (State, error) {
	for {
		if err := l.decide(ctx); err != nil {
			return State{}, err
		}
		if more, err := l.arrivals(ctx); err != nil || more {
			if err != nil {
				return State{}, err
			}
			continue
		}
		step := l.f.m.Next()
		switch {
		case len(step.Calls) > 0:
			if err := l.step(ctx, step.Calls); err != nil {
				return State{}, err
			}
		case step.Done:
			return State{Done: true, World: &l.f.world}, nil
		default:
			return State{Waiting: step.Wait, World: &l.f.world}, nil
		}
	}
}

// decide appends the decisions that are due.
func (l *loop) decide(ctx context.Context) error {
	due := l.f.due
	l.f.due = nil
	for _, d := range due {
		if d.Kind == ledger.KindCommit {
			if err := l.f.commit(d); err != nil {
				return err
			}
		}
	}
	return l.s.Decide(ctx, due...)
}

// result is what one call of a step gave.
type result struct {
	n    int64 // entry of the outcome: inputs are applied in that order
	call effect.Call
	key  effect.Key
	out  effect.Outcome
	err  error
}

// step makes the calls of one step at the same time and applies their
// outcomes in the order in which they came into the ledger.
func (l *loop) step(ctx context.Context, calls []effect.Call) error {
	results := make([]result, len(calls))
	xs := make([]*Exchange, len(calls))
	for i, c := range calls { // in order, so that occurrences are the same each time
		var err error
		if xs[i], err = l.s.Begin(ctx, c); err != nil {
			return errors.Join(err, interruptAll(ctx, xs[:i]))
		}
	}
	var wg sync.WaitGroup
	for i, x := range xs {
		wg.Go(func() { results[i] = l.exchange(ctx, x) })
	}
	wg.Wait()
	slices.SortFunc(results, func(a, b result) int { return int(a.n - b.n) })
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
	}
	for _, r := range results {
		ds, err := l.f.m.Apply(effect.Input{Kind: ledger.KindOutcome, N: r.n, Call: &r.call, Key: r.key, Outcome: &r.out})
		if err != nil {
			return fault.Wrap(ErrMachine, "drive.Run", err, "the engine cannot take the outcome at entry %d", r.n)
		}
		l.f.due = append(l.f.due, ds...)
	}
	return nil
}

// interruptAll closes exchanges that were begun and will not be made.
func interruptAll(ctx context.Context, xs []*Exchange) error {
	var err error
	for _, x := range xs {
		err = errors.Join(err, x.End(ctx, effect.Outcome{Status: effect.Interrupted}))
	}
	return err
}

func (l *loop) exchange(ctx context.Context, x *Exchange) result {
	r := result{call: x.call, key: x.key}
	out, answered, err := x.Answered()
	if err == nil && answered {
		out.Contents, err = x.Contents(ctx)
	}
	if err == nil && !answered {
		out, err = l.call(ctx, &x.call, x.Under())
	}
	if err != nil {
		// A call that could not be made has an outcome too: an error with its
		// code. The engine decides what that means.
		out = effect.Outcome{Status: effect.Error, Code: fault.CodeOf(err), Data: canon.Object(canon.M("message", canon.String(err.Error())))}
	}
	r.out = out
	r.n, r.err = x.end(ctx, out)
	return r
}

// Replay gives a recorded run to a fresh machine without a call and without
// writing anything, and reports what came out differently. A run that ends
// before the machine does is reported, never completed.
func Replay(ctx context.Context, store Store, run ledger.RunID, m effect.Machine, mode string) (*replay.Report, error) {
	f, err := replayed(ctx, store, run, m, mode, Lineage(ctx, store, run))
	if err != nil {
		return nil, err
	}
	if len(f.open) > 0 && !f.stopped {
		n := slices.MinFunc(slices.Collect(maps.Keys(f.open)), func(a, b place) int { return int(a.n - b.n) }).n
		return nil, fault.New(effect.ErrNoOutcome, "drive.Replay", "the record ends before the outcome of the call at entry %d", n)
	}
	if err := f.rest(); err != nil {
		return nil, err
	}
	report := f.concluded()
	if !f.sealed {
		report.Remarks = append(report.Remarks, "the run is not sealed: it may go on")
	}
	return report, nil
}

// ReplayUntil is [Replay] of a beginning: up to and with entry last of the run
// itself. What the machine would conclude or ask for behind it is no
// divergence.
func ReplayUntil(ctx context.Context, store Store, run ledger.RunID, m effect.Machine, mode string, last int64) (*replay.Report, error) {
	f, err := replayed(ctx, store, run, m, mode, func(yield func(*ledger.Opened, error) bool) {
		for o, err := range Lineage(ctx, store, run) {
			if err == nil && o.Run == run && o.N > last || !yield(o, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return f.concluded(), nil
}

func replayed(ctx context.Context, store Store, run ledger.RunID, m effect.Machine, mode string, history iter.Seq2[*ledger.Opened, error]) (*fold, error) {
	report := &replay.Report{Verb: replay.Replayed, Mode: mode, Run: run, Authoritative: true}
	f := newFold(m, NewReader(store, run), report)
	if err := f.run(ctx, history); err != nil {
		return nil, err
	}
	if f.inputs == 0 {
		return nil, fault.New(ledger.ErrNotFound, "drive.Replay", "there is no run %s", run)
	}
	return f, nil
}

// concluded completes the report.
func (f *fold) concluded() *replay.Report {
	f.report.Counts = []replay.Count{{Name: "inputs", N: f.inputs}, {Name: "calls", N: f.made}, {Name: "decisions", N: f.decided}}
	f.report.Verdict = replay.Same
	if f.report.Total > 0 {
		f.report.Verdict = replay.Diverged
	}
	return f.report
}
