package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/trajectories"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrAtWork means that a trajectory is in the middle of a step, such as a
	// slow tool. Send it again.
	ErrAtWork fault.Unavailable = "server.trajectory_at_work"
	// ErrRunsNothing means that this server begins and goes on with no
	// trajectory, because that starts programs. Allow it when the server is
	// started, or do it on the machine itself.
	ErrRunsNothing fault.Denied = "server.runs_nothing"
	// ErrCrowded means that so many trajectories are at work that no other one
	// is begun. Try again later.
	ErrCrowded fault.Unavailable = "server.too_many_trajectories"
)

// turnPatience is how long a request waits for its turn at a trajectory.
const turnPatience = 20 * time.Second

// desk is where trajectories are written. One goroutine at a time holds a run;
// the lease of the store keeps other processes away, but it is the same for
// all of this one. A run that is at work stops between two steps when somebody
// wants to be heard, so that a halt need not wait for an agent to be done.
type desk struct {
	runner  *trajectories.Runner // nil: nothing is written
	works   bool                 // trajectories may go on here
	most    int64
	log     *slog.Logger
	closing <-chan struct{}

	mu    sync.Mutex
	lanes map[ledger.RunID]*lane
	busy  atomic.Int64   // runs at work
	all   sync.WaitGroup // works
}

// lane is the way to one run.
type lane struct {
	run    ledger.RunID
	turn   chan struct{} // holds one
	wanted atomic.Int64  // requests that wait for their turn
	users  int           // guarded by the desk
	owed   bool          // its work was paused and is to go on; guarded by the turn
}

// enter waits for the turn at a run.
func (d *desk) enter(ctx context.Context, run ledger.RunID) (*lane, error) {
	const op = "server.desk"
	if d.runner == nil {
		return nil, fault.New(ErrReadOnly, op, "this server writes nothing")
	}
	l := d.lane(run)
	l.wanted.Add(1)
	late := time.NewTimer(turnPatience)
	defer late.Stop()
	var err error
	select {
	case l.turn <- struct{}{}:
	case <-late.C:
		err = fault.New(ErrAtWork, op, "run %s is in the middle of a step that takes long", run)
	case <-ctx.Done():
		err = fault.New(ErrSlow, op, "nobody waits for the answer any more")
	case <-d.closing:
		err = fault.New(ErrStopping, op, "the server stops")
	}
	l.wanted.Add(-1)
	if err != nil {
		d.settle(l)
		return nil, err
	}
	return l, nil
}

func (d *desk) lane(run ledger.RunID) *lane {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[run]
	if l == nil {
		l = &lane{run: run, turn: make(chan struct{}, 1)}
		d.lanes[run] = l
	}
	l.users++
	return l
}

// forget ends the use of a lane.
func (d *desk) forget(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(d.lanes, l.run)
	}
}

// settle ends the use of a lane by somebody without the turn. Work that was
// paused for a request that has gone is taken up again.
func (d *desk) settle(l *lane) {
	select {
	case l.turn <- struct{}{}:
		d.leave(l)
	default: // who has the turn sees to it
		d.forget(l)
	}
}

// leave gives the turn back; or, where work is owed, works with it.
func (d *desk) leave(l *lane) {
	if l.owed && d.works {
		h, err := d.runner.Hold(context.Background(), l.run)
		if err == nil {
			d.work(l, h)
			return
		}
		d.failed(l, err)
	}
	l.owed = false
	<-l.turn
	d.forget(l)
}

// work goes on with a run, in the background, and then gives the turn back.
func (d *desk) work(l *lane, h *trajectories.Held) {
	l.owed = false
	d.busy.Add(1)
	d.all.Go(func() {
		defer d.busy.Add(-1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-d.closing:
				cancel()
			case <-done:
			}
		}()
		res, err := h.GoOn(ctx, func() bool { return l.wanted.Load() > 0 })
		if err != nil && ctx.Err() == nil {
			d.failed(l, err)
		}
		if l.owed = err == nil && res.Waiting == trajectories.Paused; l.owed {
			<-l.turn
			d.settle(l) // who it was paused for may have gone
			return
		}
		<-l.turn
		d.forget(l)
	})
}

func (d *desk) failed(l *lane, err error) {
	if errors.Is(err, drive.ErrSealed) {
		return
	}
	d.log.LogAttrs(context.Background(), slog.LevelWarn, "a trajectory cannot go on", slog.String("run", string(l.run)), slog.String("error", err.Error()))
}

// may refuses work beyond what the server was started for.
func (d *desk) may(op string) error {
	switch {
	case d.runner == nil:
		return fault.New(ErrReadOnly, op, "this server writes nothing")
	case !d.works:
		return fault.New(ErrRunsNothing, op, "this server was not started to run trajectories")
	case d.busy.Load() >= d.most:
		return fault.New(ErrCrowded, op, "%d trajectories are at work, which is the limit", d.most)
	}
	return nil
}

// begun puts a run that was just begun to work.
func (d *desk) begun(h *trajectories.Held) {
	l := d.lane(h.Run())
	l.turn <- struct{}{} // nobody knows of it yet
	d.work(l, h)
}

// held does something to a run, and lets it go on if something came of it.
func (d *desk) held(ctx context.Context, run ledger.RunID, do func(h *trajectories.Held) error) (last ledger.Ref, works bool, err error) {
	l, err := d.enter(ctx, run)
	if err != nil {
		return last, false, err
	}
	h, err := d.runner.Hold(ctx, run)
	if err != nil {
		d.leave(l)
		return last, false, err
	}
	err = do(h)
	last = h.Last()
	if d.works && (err == nil || l.owed) {
		d.work(l, h)
		return last, true, err
	}
	err = errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	d.leave(l)
	return last, false, err
}

// stop waits until all work has ended, which the server's end cancels.
func (d *desk) stop(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		d.all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
