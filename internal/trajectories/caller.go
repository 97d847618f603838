package trajectories

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
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
	// ErrTransport means that a tool is called in a way that nothing here can.
	ErrTransport fault.Invalid = "trajectories.unknown_transport"
)

// maxAnswer is how many bytes one tool may answer.
const maxAnswer = 4 << 20

// calls makes the calls of one run.
type calls struct {
	r      *Runner
	run    *Run
	actor  *actor
	redact *redactor
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
	c.redact = newRedactor(red, run.secretNames(), w.Environ)
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
			canon.M("message", canon.String(c.redact.text(strings.ToValidUTF8(fault.Text(err), "\uFFFD")))),
		)}, nil
	}
	c.redact.outcome(&o, tool)
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
		return effect.Outcome{}, fault.New(ErrTransport, "trajectories.call", "%s has no transport", call.Name)
	}
	lowered, err := trajectory.Lower(t)
	if err != nil {
		return effect.Outcome{}, err
	}
	made := effect.Call{Kind: call.Kind, Name: call.Name, Class: call.Class}
	switch call.Kind {
	case "exec":
		made.Data = c.fill(lowered, call)
		made.Contents = []ledger.Content{{Name: "stdin", Type: "application/json", Bytes: arguments(call)}}
	case "mcp":
		made.Data = c.fill(lowered, call)
		made.Contents = call.Contents
	case "file":
		made.Data, made.Contents = lowered, call.Contents
	case "http":
		if err := c.http(&made, lowered, call); err != nil {
			return effect.Outcome{}, err
		}
	default:
		return effect.Outcome{}, fault.New(ErrTransport, "trajectories.call", "%s is called by %q; there are exec, http, mcp and file", call.Name, call.Kind)
	}
	o, err := c.live(ctx, &made, under)
	if err == nil && call.Kind == "http" {
		o.Data = o.Data.Without("headers")
	}
	if err == nil && call.Kind == "mcp" {
		simplify(&o)
	}
	return o, err
}

// fill gives a process its environment: the values that are declared, those
// that come from the user's environment by name, and the key under which a
// tool knows a call that is made again.
func (c *calls) fill(t canon.Value, call *effect.Call) canon.Value {
	t = resolveEnv(t, c.environ())
	env := t.Get("env")
	for _, m := range env.Members() {
		if m.Value.Str() == "{idempotency_key}" {
			env = env.With(m.Name, canon.String(call.Data.Get("idempotency_key").Str()))
		}
	}
	if env.IsZero() {
		return t
	}
	return t.With("env", env)
}

func (c *calls) environ() func(string) string {
	if c.r.World.Environ == nil {
		return func(string) string { return "" }
	}
	return c.r.World.Environ
}

// resolveEnv replaces env_from by names and values.
func resolveEnv(t canon.Value, environ func(string) string) canon.Value {
	from := t.Get("env_from")
	if from.IsZero() || environ == nil {
		return t.Without("env_from")
	}
	env := t.Get("env")
	if env.IsZero() {
		env = canon.Object()
	}
	for _, n := range from.Elems() {
		if v := environ(n.Str()); v != "" {
			env = env.With(n.Str(), canon.String(v))
		}
	}
	return t.Without("env_from").With("env", env)
}

// http makes the request that a tool's declaration and its arguments are.
func (c *calls) http(made *effect.Call, t canon.Value, call *effect.Call) error {
	args, err := canon.Parse(arguments(call))
	if err != nil {
		return fault.Wrap(ErrTransport, "trajectories.http", err, "the arguments of %s", call.Name)
	}
	address, used := t.Get("url").Str(), []string{}
	for _, m := range args.Members() {
		if slot := "{" + m.Name + "}"; strings.Contains(address, slot) {
			address = strings.ReplaceAll(address, slot, url.PathEscape(plainText(m.Value)))
			used = append(used, m.Name)
		}
	}
	method := t.Get("method").Str()
	headers := []canon.Value{}
	for _, m := range t.Get("headers").Members() {
		headers = append(headers, canon.Array(canon.String(m.Name), canon.String(plainText(m.Value))))
	}
	if name := t.Get("key_env").Str(); name != "" {
		key := c.environ()(name)
		if key == "" {
			return fault.New(live.ErrArguments, "trajectories.http", "the environment has no %s", name)
		}
		headers = append(headers, canon.Array(canon.String("Authorization"), canon.String("Bearer "+key)))
	}
	switch method {
	case "GET", "HEAD", "DELETE":
		q := url.Values{}
		for _, m := range args.Without(used...).Members() {
			q.Set(m.Name, plainText(m.Value))
		}
		if len(q) > 0 && strings.Contains(address, "?") {
			address += "&" + q.Encode()
		} else if len(q) > 0 {
			address += "?" + q.Encode()
		}
	default:
		headers = append(headers, canon.Array(canon.String("Content-Type"), canon.String("application/json")))
		made.Contents = []ledger.Content{{Name: "request", Type: "application/json", Bytes: arguments(call)}}
	}
	if call.Class.Waits() {
		headers = append(headers, canon.Array(canon.String("Idempotency-Key"), canon.String(call.Data.Get("idempotency_key").Str())))
	}
	made.Data = canon.Object(canon.M("method", canon.String(method)), canon.M("url", canon.String(address)), canon.M("headers", canon.Array(headers...)))
	return nil
}

// plainText spells a value where only text can stand.
func plainText(v canon.Value) string {
	if s, ok := v.AsString(); ok {
		return s
	}
	return v.String()
}

func arguments(call *effect.Call) []byte {
	for _, x := range call.Contents {
		if x.Name == "arguments" {
			return x.Bytes
		}
	}
	return []byte("{}")
}

// simplify gives the answer of an MCP tool the form that other tools answer
// in, where nothing is lost by that: its structured content, or its one text.
func simplify(o *effect.Outcome) {
	if bad, _ := o.Data.Get("is_error").AsBool(); bad || len(o.Contents) != 1 {
		return
	}
	v, err := canon.Parse(o.Contents[0].Bytes)
	if err != nil {
		return
	}
	c := &o.Contents[0]
	content := v.Get("content")
	if s := v.Get("structuredContent"); !s.IsZero() {
		if b, err := canon.Encode(s, canon.Foreign); err == nil {
			c.Name, c.Type, c.Bytes = "output", "application/json", b
		}
		return
	}
	if content.Len() == 1 && content.At(0).Get("type").Str() == "text" {
		c.Name, c.Type, c.Bytes = "output", "text/plain; charset=utf-8", []byte(content.At(0).Get("text").Str())
	}
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
