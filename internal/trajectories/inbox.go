package trajectories

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrInbox means that what somebody says cannot be handed to the process that
// runs a trajectory, or that it was not taken. Say it again when that process
// has ended.
const ErrInbox fault.Unavailable = "trajectories.not_taken"

// A run that another process is writing takes acts through a folder beside the
// spool: a file for each act, which that process takes between two steps and
// answers with another one. What lies there is signed, and checked like every
// act; the folder is the user's alone.
const (
	inboxIn    = ".in"
	inboxTaken = ".taken"
	inboxOut   = ".out"
	inboxMost  = 64 << 10
	inboxPause = 50 * time.Millisecond
)

// inbox returns the folder of a run's acts, or "" where there is none.
func (r *Runner) inbox(run ledger.RunID) string {
	if r.Config.Spool == "" {
		return ""
	}
	return filepath.Join(r.Config.Spool+".inbox", string(run))
}

// listen returns what takes acts out of the inbox. What would not count is
// answered with the reason, and not recorded.
func (r *Runner) listen(t *Run) func(context.Context) ([]drive.Arrival, error) {
	dir := r.inbox(t.id)
	return func(context.Context) ([]drive.Arrival, error) {
		if dir == "" {
			return nil, nil
		}
		files, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fault.Wrap(ErrInbox, "trajectories.listen", err, "the inbox")
		}
		for _, f := range files {
			name, ok := strings.CutSuffix(f.Name(), inboxIn)
			if !ok {
				continue
			}
			path := filepath.Join(dir, name)
			if os.Rename(path+inboxIn, path+inboxTaken) != nil {
				continue // its sender has taken it back
			}
			in, err := readArrival(path + inboxTaken)
			if err == nil {
				err = t.watch.m.Consult(effect.Input{Kind: in.Kind, Name: in.Name, From: in.From, Data: in.Data})
			}
			answerArrival(path, err)
			if err == nil {
				return []drive.Arrival{in}, nil // one at a time: the next is consulted on what it left
			}
		}
		return nil, nil
	}
}

func readArrival(path string) (drive.Arrival, error) {
	f, err := os.Open(path)
	if err != nil {
		return drive.Arrival{}, fault.Wrap(ErrInbox, "trajectories.listen", err, "an act")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, inboxMost))
	if err != nil {
		return drive.Arrival{}, fault.Wrap(ErrInbox, "trajectories.listen", err, "an act")
	}
	v, err := canon.Parse(b)
	a := drive.Arrival{Kind: ledger.Kind(v.Get("kind").Str()), Name: v.Get("name").Str(), From: v.Get("from").Str(), Data: v.Get("data")}
	if err == nil && (a.Kind != ledger.KindApproval && a.Kind != ledger.KindEvent || a.From == "" || a.Data.IsZero()) {
		err = fault.New(ErrInbox, "trajectories.listen", "%s holds no act", filepath.Base(path))
	}
	return a, err
}

// answerArrival leaves word for the sender. Without it the sender gives up and
// looks at the run itself.
func answerArrival(path string, refusal error) {
	v := canon.Object()
	if refusal != nil {
		code := fault.CodeOf(refusal)
		v = canon.Object(
			canon.M("class", canon.String(code.Class().String())), canon.M("code", canon.String(code.Error())),
			canon.M("message", canon.String(fault.Text(refusal))),
		)
	}
	if err := os.WriteFile(path+inboxOut+".new", []byte(v.String()), 0o600); err == nil {
		_ = os.Rename(path+inboxOut+".new", path+inboxOut)
	}
	_ = os.Remove(path + inboxTaken)
}

// send hands an act to the process that runs a trajectory, and waits until it
// was taken. If that process ends first, ok is false and the act does not count
// yet.
func (r *Runner) send(ctx context.Context, run ledger.RunID, a Act, about func(*trajectory.Machine) (statement, error)) (res *Result, ok bool, err error) {
	t, err := r.load(ctx, run)
	if err != nil {
		return nil, false, err
	}
	in, err := r.sign(t.watch.m, a, about)
	if err != nil {
		return nil, false, err
	}
	path, err := r.drop(run, in)
	if err != nil {
		return nil, false, err
	}
	defer os.Remove(path + inboxOut)
	timer := time.NewTicker(inboxPause)
	defer timer.Stop()
	for {
		if b, err := os.ReadFile(path + inboxOut); err == nil {
			if err := refusalOf(b); err != nil {
				return nil, true, err
			}
			res, err := r.State(ctx, run)
			return res, true, err
		}
		select {
		case <-ctx.Done():
			_ = os.Remove(path + inboxIn)
			return nil, true, context.Cause(ctx)
		case <-timer.C:
		}
		if r.written(ctx, run) {
			continue
		}
		if os.Remove(path+inboxIn) == nil {
			return nil, false, nil
		}
		if _, err := os.Stat(path + inboxOut); err == nil {
			continue
		}
		// Who took it has ended, by a kill, before there was an answer.
		_ = os.Remove(path + inboxTaken)
		if ok, err = r.counted(ctx, run, in); err != nil || !ok {
			return nil, false, err
		}
		if res, err = r.Resume(ctx, run); errors.Is(err, drive.ErrSealed) {
			res, err = r.State(ctx, run)
		}
		return res, true, err
	}
}

// counted reports whether a run has recorded an act.
func (r *Runner) counted(ctx context.Context, run ledger.RunID, in effect.Input) (bool, error) {
	want := in.Data.String()
	for e, err := range r.Config.Store.Read(ctx, run, 0) {
		if err != nil {
			return false, err
		}
		o, err := ledger.Parse(e)
		if err != nil {
			return false, err
		}
		if o.Kind == in.Kind && o.Data().String() == want {
			return true, nil
		}
	}
	return false, nil
}

// drop puts an act into the inbox, whole or not at all.
func (r *Runner) drop(run ledger.RunID, in effect.Input) (string, error) {
	const op = "trajectories.send"
	dir := r.inbox(run)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fault.Wrap(ErrInbox, op, err, "the inbox")
	}
	var name [16]byte
	if _, err := io.ReadFull(r.Config.Rand, name[:]); err != nil {
		return "", fault.Wrap(ErrRandom, op, err, "no randomness")
	}
	path := filepath.Join(dir, hex.EncodeToString(name[:]))
	v := canon.Object(
		canon.M("data", in.Data), canon.M("from", canon.String(in.From)), canon.M("kind", canon.String(string(in.Kind))), canon.M("name", canon.String(in.Name)),
	)
	err := os.WriteFile(path+".new", []byte(v.String()), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path+inboxIn)
	}
	return path, fault.Wrap(ErrInbox, op, err, "the inbox")
}

func refusalOf(b []byte) error {
	v, err := canon.Parse(b)
	if err != nil {
		return fault.Wrap(ErrInbox, "trajectories.send", err, "the answer")
	}
	if !v.Has("code") {
		return nil
	}
	code, err := fault.Recorded(v.Get("class").Str(), v.Get("code").Str())
	if err != nil {
		return err
	}
	return fault.New(code, "trajectories.send", "%s", v.Get("message").Str())
}

// written reports whether another process holds the run. To ask is to take the
// lease, which is given back at once.
func (r *Runner) written(ctx context.Context, run ledger.RunID) bool {
	holder := r.Config.Holder + ", asking"
	if _, err := r.Config.Store.Acquire(ctx, run, holder, time.Second); err != nil {
		return true
	}
	_, err := r.Config.Store.Acquire(context.WithoutCancel(ctx), run, holder, 0)
	return err != nil
}

// swept removes the inbox of a run that takes nothing more, if it is empty.
func (r *Runner) swept(run ledger.RunID) {
	if dir := r.inbox(run); dir != "" {
		_ = os.Remove(dir)
	}
}
