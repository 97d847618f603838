package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrAnswer means that an agent answered something that is no output: its
	// program ended with a failure, its server said no, or its model gave no
	// text. The job goes on without it; mend the agent.
	ErrAnswer fault.Unavailable = "jobs.bad_answer"
	// ErrFunction means that a job names a Go function that this program does
	// not have. Run the job with the program that does.
	ErrFunction fault.Invalid = "jobs.unknown_function"
)

const (
	maxAnswer = 4 << 20
	redacted  = "{redacted}"
)

// Function is an agent as a Go function: it takes what the agent is given, as
// JSON, and returns its output. What it calls goes through under.
type Function func(ctx context.Context, input []byte, under drive.Boundary) ([]byte, error)

// calls makes the calls of one run.
type calls struct {
	r       *Runner
	player  *player
	redact  *transport.Redactor
	live    drive.Caller
	tell    func(*effect.Call)
	key     [32]byte // of the store, for fingerprints
	environ func(string) string
	again   *rerun // nil: what happens, happens for the first time
}

// caller returns what makes the calls of a run.
func (r *Runner) caller(ctx context.Context, agents []job.Agent, p *player, tell func(*effect.Call)) (drive.Caller, error) {
	c, err := r.calls(ctx, agents, p, tell)
	if err != nil {
		return nil, err
	}
	return c.call, nil
}

func (r *Runner) calls(ctx context.Context, agents []job.Agent, p *player, tell func(*effect.Call)) (*calls, error) {
	w := r.World
	w.Most = maxAnswer
	if w.Environ == nil {
		w.Environ = func(string) string { return "" }
	}
	if w.Now == nil {
		w.Now = r.Config.Now
	}
	var secrets []string
	for _, a := range agents {
		secrets = append(secrets, transport.Secrets(a.Transport)...)
	}
	w.More = maps.Clone(w.More)
	c := &calls{r: r, player: p, tell: tell, environ: w.Environ, redact: transport.NewRedactor(transport.Rules{Mark: redacted}, secrets, w.Environ)}
	c.live = w.Caller()
	for _, a := range agents {
		if a.Transport.Get("kind").Str() == kindExec {
			var err error
			c.key, err = capture.StoreKey(ctx, r.Config.Store, r.Config.Rand)
			return c, err
		}
	}
	return c, nil
}

// call makes one call. Whatever goes wrong is an outcome: what follows from it
// is for the engine to say.
func (c *calls) call(ctx context.Context, call *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	if call.Kind == job.KindMAC {
		return c.mac(call)
	}
	c.tell(call)
	if ms, ok := call.Data.Get("timeout_ms").AsInt(); ok && ms > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond,
			fault.New(job.ErrAgentTimeout, "jobs.call", "%s gave no answer in %d ms", call.Name, ms))
		defer cancel()
	}
	o, err := c.agent(ctx, call, under)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(cause, job.ErrAgentTimeout) {
			err = cause
		} else if ctx.Err() != nil {
			// The job is stopped, and the agent has not failed.
			return effect.Outcome{Status: effect.Interrupted}, nil
		}
		return effect.Outcome{Status: effect.Error, Code: codeFor(err), Data: canon.Object(
			canon.M("message", canon.String(c.redact.Text(strings.ToValidUTF8(fault.Text(err), "\uFFFD")))),
		)}, nil
	}
	c.redact.Outcome(&o, false)
	for i := range o.Contents {
		o.Contents[i].Scope = job.OutputScope
	}
	return o, nil
}

// codeFor says how an agent has failed, in the words of the document.
func codeFor(err error) fault.Code {
	switch {
	case errors.Is(err, job.ErrAgentTimeout), errors.Is(err, live.ErrTimeout):
		return job.ErrAgentTimeout
	case errors.Is(err, job.ErrModelDown):
		return job.ErrModelDown
	default:
		return fault.CodeOf(err)
	}
}

// mac answers with the server key. Without it the job stands still.
func (c *calls) mac(call *effect.Call) (effect.Outcome, error) {
	k, err := c.r.Keys.FindServer(call.Data.Get("key_id").Str())
	if err == nil {
		var o effect.Outcome
		if o, err = job.AnswerMAC(call, job.Key{ID: k.ID, Secret: k.Secret}); err == nil {
			return o, nil
		}
	}
	code := fault.CodeOf(err)
	if errors.Is(err, keys.ErrNotFound) {
		code = job.ErrServerKey
	}
	return effect.Outcome{Status: effect.Error, Code: code, Data: canon.Object(canon.M("message", canon.String(fault.Text(err))))}, nil
}

// agent asks an agent. What it asks others, its models and tools, stands under
// its call, in the scope in which its own output is.
func (c *calls) agent(ctx context.Context, call *effect.Call, under drive.Boundary) (effect.Outcome, error) {
	t, err := canon.Parse(contentOf(call.Contents, job.TransportContent))
	if err != nil {
		return effect.Outcome{}, err
	}
	input, err := given(call)
	if err != nil {
		return effect.Outcome{}, err
	}
	under = under.In(job.OutputScope)
	switch call.Kind {
	case kindScript:
		return c.player.answer(ctx, call)
	case kindGo:
		f, ok := c.r.Functions[t.Get("function").Str()]
		if !ok {
			return effect.Outcome{}, fault.New(ErrFunction, "jobs.agent", "there is no function %q", t.Get("function").Str())
		}
		b, err := f(ctx, input, under)
		return output(b), err
	case kindModel:
		return c.model(ctx, t, input, under)
	case kindExec:
		return c.program(ctx, call, t, input, under)
	default:
		return c.remote(ctx, call, t, input, under)
	}
}

// remote asks an agent that is a server. The request stands under the call of
// the agent, so that a replay can make it anew, compare it, and answer it from
// the journal. It is recorded with the names of its secrets in their places.
func (c *calls) remote(ctx context.Context, call *effect.Call, t canon.Value, input []byte, under drive.Boundary) (effect.Outcome, error) {
	shown, err := request(call, t, input, func(name string) string { return redact.StandIn(name) })
	if err != nil {
		return effect.Outcome{}, err
	}
	o, err := c.under(ctx, under, shown, func() (effect.Call, error) { return request(call, t, input, c.environ) })
	if err != nil {
		return o, err
	}
	if o.Status == effect.Error && o.Code != nil {
		return effect.Outcome{}, fault.New(o.Code, "jobs.remote", "%s: %s", call.Name, o.Data.Get("message").Str())
	}
	transport.Simplify(call.Kind, &o)
	return answered(call.Kind, t, &o)
}

// given returns what an agent is told: its input, and what the call says about
// it.
func given(call *effect.Call) ([]byte, error) {
	v, err := canon.Parse(contentOf(call.Contents, job.InputContent))
	if err != nil {
		return nil, err
	}
	for _, m := range call.Data.Members() {
		v = v.With(m.Name, m.Value)
	}
	return canon.Encode(v, canon.MACEFixed9)
}

// answered makes an output of what an agent answered.
func answered(kind string, t canon.Value, o *effect.Outcome) (effect.Outcome, error) {
	name := job.OutputContent
	switch kind {
	case "exec":
		name = "stdout"
		if n, _ := o.Data.Get("exit").AsInt(); n != 0 {
			return effect.Outcome{}, fault.New(ErrAnswer, "jobs.agent", "the program ended with status %d: %.200s", n, contentOf(o.Contents, "stderr"))
		}
	case "mcp":
		if err := toolFailed(o); err != nil {
			return effect.Outcome{}, err
		}
	case "http":
		name = "response"
		if n, _ := o.Data.Get("status").AsInt(); n < 200 || n > 299 {
			return effect.Outcome{}, fault.New(ErrAnswer, "jobs.agent", "the server answered with status %d", n)
		}
	}
	if o.Status != effect.OK {
		return *o, nil
	}
	return spoken(contentOf(o.Contents, name), t)
}

// toolFailed refuses the answer of a tool that is no output: the tool says that
// it has failed, or what it says is neither an object nor one text.
func toolFailed(o *effect.Outcome) error {
	if bad, _ := o.Data.Get("is_error").AsBool(); bad {
		v, err := canon.Parse(contentOf(o.Contents, "result"))
		if err != nil {
			return fault.Wrap(ErrAnswer, "jobs.agent", err, "the tool has failed")
		}
		return fault.New(ErrAnswer, "jobs.agent", "the tool has failed: %.200s", v.Get("content").At(0).Get("text").Str())
	}
	if !slices.ContainsFunc(o.Contents, func(c ledger.Content) bool { return c.Name == job.OutputContent }) {
		return fault.New(ErrAnswer, "jobs.agent", "the tool answered with neither an object nor one text")
	}
	return nil
}

// spoken returns the output that an agent gave as JSON, or what it said as
// text. The confidence of its transport is that of an agent that gives none.
func spoken(b []byte, t canon.Value) (effect.Outcome, error) {
	v, err := canon.Parse(b)
	if err != nil || v.Kind() != canon.KindObject || !v.Has("text") {
		v = canon.Object(canon.M("text", canon.String(strings.ToValidUTF8(strings.TrimSpace(string(b)), "\uFFFD"))))
	}
	if c := t.Get("confidence"); !c.IsZero() && !v.Has("confidence") {
		v = v.With("confidence", c)
	}
	b, err = canon.Encode(v, canon.Foreign)
	return output(b), err
}

// model asks a chat model. The call of the model stands under that of the
// agent, so that a replay can answer it from the journal.
func (c *calls) model(ctx context.Context, t canon.Value, input []byte, under drive.Boundary) (effect.Outcome, error) {
	const op = "jobs.model"
	body := t.Get("parameters")
	if body.IsZero() {
		body = canon.Object()
	}
	var messages []canon.Value
	message := func(role, text string) {
		messages = append(messages, canon.Object(canon.M("role", canon.String(role)), canon.M("content", canon.String(text))))
	}
	if p := t.Get("prompt").Str(); p != "" {
		message("system", p)
	}
	message("user", string(input))
	b, err := canon.Encode(body.With("messages", canon.Array(messages...)), canon.Foreign)
	if err != nil {
		return effect.Outcome{}, err
	}
	data := canon.Object(canon.M("url", t.Get("url")))
	if k := t.Get("key_env"); !k.IsZero() {
		data = data.With("key_env", k)
	}
	chat := effect.Call{
		Kind: kindModel, Name: "chat", Class: effect.Read, Data: data,
		Contents: []ledger.Content{{Name: "request", Type: "application/json", Bytes: b}},
	}
	o, err := c.under(ctx, under, chat, func() (effect.Call, error) { return chat, nil })
	if err != nil || o.Status == effect.Error {
		if o.Code != nil {
			err = fault.New(o.Code, op, "the model")
		}
		return effect.Outcome{}, fault.Wrap(job.ErrModelDown, op, err, "the model does not answer")
	}
	if n, _ := o.Data.Get("status").AsInt(); n < 200 || n > 299 {
		return effect.Outcome{}, fault.New(job.ErrModelDown, op, "the model answered with status %d", n)
	}
	v, err := canon.Parse(contentOf(o.Contents, "response"))
	text, ok := v.Get("choices").At(0).Get("message").Get("content").AsString()
	if err != nil || !ok {
		return effect.Outcome{}, fault.New(ErrAnswer, op, "the model gave no text")
	}
	out, err := spoken([]byte(text), t)
	if n, ok := v.Get("usage").Get("total_tokens").AsInt(); ok && n >= 0 && err == nil {
		if w, err := canon.Parse(out.Contents[0].Bytes); err == nil && !w.Has("tokens_used") {
			if b, err := canon.Encode(w.With("tokens_used", canon.Int(n)), canon.Foreign); err == nil {
				out = output(b)
			}
		}
	}
	return out, err
}

// under makes a call that stands under another one. What is made, if it is, has
// the secrets that the call which is recorded only names.
func (c *calls) under(ctx context.Context, under drive.Boundary, call effect.Call, made func() (effect.Call, error)) (effect.Outcome, error) {
	x, err := under.Begin(ctx, call)
	if err != nil {
		return effect.Outcome{}, err
	}
	o, ok, err := x.Answered()
	if err != nil {
		return o, err
	}
	if ok {
		if o.Contents, err = x.Contents(ctx); err != nil {
			return o, err
		}
		return o, x.End(ctx, o)
	}
	to, err := made()
	if err == nil {
		o, err = c.live(ctx, &to, under)
	}
	if err != nil {
		text := c.redact.Text(strings.ToValidUTF8(fault.Text(err), "\uFFFD"))
		o = effect.Outcome{Status: effect.Error, Code: codeFor(err), Data: canon.Object(canon.M("message", canon.String(text)))}
	} else {
		if call.Kind != "mcp" { // whose answer is recorded as it came
			transport.Simplify(call.Kind, &o)
		}
		c.redact.Outcome(&o, false)
	}
	return o, x.End(context.WithoutCancel(ctx), o)
}

func contentOf(contents []ledger.Content, name string) []byte {
	for _, c := range contents {
		if c.Name == name {
			return c.Bytes
		}
	}
	return nil
}
