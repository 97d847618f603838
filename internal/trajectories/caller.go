package trajectories

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	// ErrNoKey means that a signature is asked for by a key that is not here:
	// the run was begun by somebody else, or on another machine. Resume it
	// there.
	ErrNoKey fault.Invalid = "trajectories.no_key"
	// ErrLost means that a call was made and what came back cannot be taken,
	// say because it is too large. The call had its effect all the same.
	ErrLost fault.Unavailable = "trajectories.answer_lost"
)

// maxAnswer is how many bytes one tool may answer.
const maxAnswer = 4 << 20

// calls makes the calls of one run.
type calls struct {
	r      *Runner
	run    *Run
	actor  *actor
	redact *transport.Redactor
	live   drive.Caller
	now    func() time.Time
}

// caller returns what makes the calls of a run.
func (r *Runner) caller(run *Run, script Script, red Redaction) drive.Caller {
	w := r.World
	w.Most = maxAnswer
	if w.Environ == nil {
		w.Environ = func(string) string { return "" }
	}
	c := &calls{r: r, run: run, actor: &actor{script: script}, now: r.Config.Now}
	c.redact = red.redactor(run.secretNames(), w.Environ)
	more := map[string]live.Func{kindScript: c.actor.answer, "sign": c.sign, "key": c.key}
	maps.Copy(more, w.More)
	w.More = more
	if w.Now == nil {
		w.Now = r.Config.Now
	}
	c.live = w.Caller()
	return c.call
}

// call makes one call, and cleans what comes back before anybody stores it.
func (c *calls) call(ctx context.Context, call *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	c.run.watch.calling(call)
	begun := c.now()
	o, err := c.make(ctx, call, under)
	tool := call.Data.Has("transport")
	if err != nil {
		return effect.Outcome{Status: effect.Error, Code: codeFor(call, err), Data: canon.Object(
			canon.M("latency_ms", canon.Int(latency(begun, c.now()))),
			canon.M("message", canon.String(c.redact.Text(strings.ToValidUTF8(fault.Text(err), "\uFFFD")))),
		)}, nil
	}
	c.redact.Outcome(&o, tool)
	if tool {
		if o.Data.Kind() != canon.KindObject {
			o.Data = canon.Object()
		}
		o.Data = o.Data.With("latency_ms", canon.Int(latency(begun, c.now())))
	}
	return o, nil
}

func latency(from, to time.Time) int64 { return max(0, to.Sub(from).Milliseconds()) }

// codeFor keeps an engine from taking a call that was made for one that never
// left. Invalid is the class of those that did not.
func codeFor(call *effect.Call, err error) fault.Code {
	code := fault.CodeOf(err)
	if errors.Is(err, live.ErrTooLarge) && call.Class.Waits() {
		return ErrLost
	}
	return code
}

func (c *calls) make(ctx context.Context, call *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	t := call.Data.Get("transport")
	switch {
	case call.Kind == "trajectory" && !call.Data.Has("transport"):
		return c.r.delegate(ctx, c.run, call, under)
	case !call.Data.Has("transport"):
		o, err := c.live(ctx, call, under)
		if o.Data.Has("headers") {
			o.Data = o.Data.Without("headers")
		}
		return o, err
	case t.Kind() != canon.KindObject:
		return effect.Outcome{}, fault.New(transport.ErrTransport, "trajectories.call", "%s has no transport", call.Name)
	}
	lowered, err := trajectory.Lower(t)
	if err != nil {
		return effect.Outcome{}, err
	}
	made, err := (&transport.Request{
		Kind: call.Kind, Name: call.Name, Class: call.Class, Transport: lowered, Arguments: arguments(call),
		Key: call.Data.Get("idempotency_key").Str(), Environ: c.r.World.Environ,
	}).Call()
	if err != nil {
		return effect.Outcome{}, err
	}
	o, err := c.live(ctx, &made, under)
	if err == nil {
		transport.Simplify(call.Kind, &o)
	}
	return o, err
}

func arguments(call *effect.Call) []byte {
	for _, x := range call.Contents {
		if x.Name == "arguments" {
			return x.Bytes
		}
	}
	return []byte("{}")
}

// sign gives the signature that a commit or a writ of the run asks for, if the
// key is the user's.
func (c *calls) sign(_ context.Context, call *effect.Call) (effect.Outcome, error) {
	raw, err := hex.DecodeString(call.Data.Get("key").Str())
	if err != nil {
		return effect.Outcome{}, fault.Wrap(ErrNoKey, "trajectories.sign", err, "the key")
	}
	public, err := sign.ParseKey(raw)
	if err != nil {
		return effect.Outcome{}, err
	}
	group := keys.Committers
	if call.Name == "writ" {
		group = keys.Agents
	}
	_, key, err := c.r.Keys.Find(group, public)
	if errors.Is(err, keys.ErrNotFound) {
		return effect.Outcome{}, fault.Wrap(ErrNoKey, "trajectories.sign", err, "signing a %s", call.Name)
	}
	if err != nil {
		return effect.Outcome{}, err
	}
	var message []byte
	for _, x := range call.Contents {
		message = bytes.Clone(x.Bytes)
	}
	sig, err := key.Sign(message)
	return effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("signature", canon.String(hex.EncodeToString(sig))))}, err
}

// key makes the key of a delegate.
func (c *calls) key(context.Context, *effect.Call) (effect.Outcome, error) {
	p, err := c.r.Keys.NewAgent()
	if err != nil {
		return effect.Outcome{}, err
	}
	return effect.Outcome{Status: effect.OK, Data: canon.Object(canon.M("key", canon.String(hex.EncodeToString(p.Public().Raw()))))}, nil
}
