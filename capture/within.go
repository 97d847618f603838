package capture

import (
	"context"

	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// Within is what a program needs besides that runs within somebody else's run:
// an agent of a job, whose own calls stand under the call that the agent is.
type Within struct {
	// Under is the boundary of the call that the program is. The session is
	// neither opened nor sealed here.
	Under drive.Boundary

	// Record is the run that answers, where the session's sources answer from
	// one. The program runs again then: its servers behind shims are not
	// started, and Hermetic says what it is kept from. Nil: everything is live.
	Record   *Recorded
	Hermetic Isolation
}

// Inside is what came of a program within somebody else's run.
type Inside struct {
	Status  int // exit status: 128 + n if signal n ended it
	Misses  []Miss
	Blocked []string // of a program that ran again: what it was kept from
	Open    []string // and what it was not kept from
}

// Miss is a call that a program made and that its record does not answer.
type Miss struct {
	drive.Miss
	Nearest *Nearest // recorded call; nil: none comes near
}

// RunWithin runs a program to its end with the proxies around it, as [Record]
// and [Replay] do, but in a run that is somebody else's. Of o what belongs to a
// run of its own is not looked at.
func RunWithin(ctx context.Context, o RunOptions, in Within) (_ *Inside, err error) {
	plan, err := o.plan()
	if err != nil {
		return nil, err
	}
	if o.Sockets, err = ParseSockets(string(o.Sockets)); err != nil {
		return nil, err
	}
	opts := Options{
		Upstreams: plan.upstreams, Redactor: redact.New(o.StoreKey, append(redact.EnvSecrets(o.Env), o.Secrets...)), Normalisers: o.Normalisers,
		Setting: o.Setting, MaxRequest: o.MaxRequest, Transport: o.Transport, Sockets: o.Sockets, AWSKeys: AWSKeys(o.Env), Under: in.Under,
		Record: in.Record, Replaying: in.Record != nil,
	}
	var r *ReplayOptions
	if in.Record != nil {
		r = &ReplayOptions{Hermetic: in.Hermetic}
		o.seal(in.Hermetic)
	}
	p, err := New(in.Under.Session(), opts)
	if err != nil {
		return nil, err
	}
	w, err := o.surround(ctx, p, r, plan.upstreams)
	if err != nil {
		return nil, err
	}
	out := &Inside{}
	out.Status, _, err = o.redirected(ctx, plan, w)
	w.close()
	p.Close()
	if err != nil || r == nil {
		return out, err
	}
	c := w.conditions(p, r, in.Record.Journal)
	out.Blocked, out.Open = c.blocked, c.open
	for _, m := range in.Under.Session().Misses() {
		if !m.Key.Beneath(p.at.Path()) {
			continue
		}
		now, err := p.formOf(context.WithoutCancel(ctx), &m)
		if err != nil {
			return out, err
		}
		near, err := in.Record.near(context.WithoutCancel(ctx), p.rules, m.Key.Path, &m.Call, now)
		if err != nil {
			return out, err
		}
		out.Misses = append(out.Misses, Miss{m, near})
	}
	return out, nil
}

// note records an event that belongs to no exchange of the proxy, but to the
// call that encloses them all, if one does.
func (p *Proxy) note(ctx context.Context, name string, data canon.Value, contents ...ledger.Content) (ledger.Ref, error) {
	at := int64(-1)
	if under, ok := p.at.Place(); ok {
		at = under.N
	}
	return p.s.Note(ctx, at, name, data, contents...)
}

// plan is how a command is run: which program it is, and where its requests go.
type plan struct {
	path      string
	upstreams []Upstream
	redirect  *redirect // nil: variables are enough
	at        int       // where the program's arguments begin
}

// Check refuses what could not be run or recorded: a command that is not there,
// an upstream without an address, a shim for a program that nobody finds. It
// starts and writes nothing. [Record] and [Replay] check by themselves; this is
// for who has something to say before them.
func (o *RunOptions) Check() error {
	if len(o.Command) == 0 {
		return fault.New(ErrNoCommand, "capture.Check", "there is no program to run")
	}
	if _, err := o.plan(); err != nil {
		return err
	}
	return o.checkAround()
}

// checkAround refuses what cannot stand around a child that is recorded. A
// replay has its own from its record.
func (o *RunOptions) checkAround() error {
	if _, err := ParseSockets(string(o.Sockets)); err != nil {
		return err
	}
	if err := checkPatterns(o.Intercept); err != nil {
		return err
	}
	if len(o.Shims) == 0 {
		return nil
	}
	if err := checkShims(o.Shims, o.ShimCommand); err != nil {
		return err
	}
	for _, name := range o.Shims {
		if _, err := lookPath(name, lookup(o.Env, "PATH")); err != nil {
			return fault.New(ErrShimName, "capture.Check", "%q is not found in PATH, so that nothing of it would be recorded", name)
		}
	}
	return nil
}

func (o *RunOptions) plan() (p plan, err error) {
	if p.upstreams, err = Plan(o.Env, o.Upstreams); err != nil {
		return p, err
	}
	if p.redirect, p.at, err = o.planRedirect(); err != nil {
		return p, err
	}
	if p.redirect != nil {
		p.upstreams = p.redirect.merge(p.upstreams)
	}
	p.path, err = find(o.Command[0])
	return p, err
}
