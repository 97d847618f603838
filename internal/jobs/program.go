package jobs

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/internal/transport"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// EventProgram is the note that an agent which is a program has below its call:
// data {addresses, given}. Given are the names of the secrets that came to it
// from the environment of who ran the job; addresses are those of its models,
// by their variables, where they came from there.
const EventProgram = "job.program"

// standIn is given to an agent that runs again for a secret that this machine
// does not have. It is nobody's, and no request of the agent leaves.
const standIn = "not-needed"

// program runs an agent that is a program. It finds its models at the
// recording proxies, as a program that is recorded does: its calls stand under
// that of the agent.
func (c *calls) program(ctx context.Context, call *effect.Call, t canon.Value, input []byte, under drive.Boundary) (effect.Outcome, error) {
	t, upstreams := t.Without("upstreams"), t.Get("upstreams")
	environ := c.environ
	if c.again != nil {
		environ = c.again.environ(environ)
	}
	made, err := request(call, t, input, environ)
	if err != nil {
		return effect.Outcome{}, err
	}
	out, errs := &capped{most: maxAnswer}, &capped{most: maxAnswer}
	o := capture.RunOptions{
		Command: argvOf(made.Data), Dir: made.Data.Get("dir").Str(), Config: c.r.Config, StoreKey: c.key,
		Stdin: bytes.NewReader(contentOf(made.Contents, "stdin")), Stdout: out, Stderr: errs,
	}
	for _, m := range made.Data.Get("env").Members() {
		o.Env = append(o.Env, m.Name+"="+m.Value.Str())
	}
	for _, m := range upstreams.Members() {
		o.Upstreams = append(o.Upstreams, m.Name+"="+m.Value.Str())
	}
	note, secrets := inherited(t, environ)
	o.Secrets = secrets
	if o.Setting, err = c.setting(o.Dir); err != nil {
		return effect.Outcome{}, err
	}
	in := capture.Within{Under: under}
	if c.again != nil {
		done, err := c.again.enclose(ctx, call, &o, &in)
		if err != nil {
			return effect.Outcome{}, err
		}
		defer done()
	} else if t.Has("env_from") {
		at, _ := under.Place()
		if _, err := under.Session().Note(ctx, at.N, EventProgram, note); err != nil {
			return effect.Outcome{}, err
		}
	}
	res, err := capture.RunWithin(ctx, o, in)
	if c.again != nil {
		c.again.ended(res, err)
	}
	return programOutcome(ctx, &o, res, err, out, errs, t)
}

// inherited says what a program gets from the environment of who runs the job.
func inherited(t canon.Value, environ func(string) string) (note canon.Value, secrets []redact.Secret) {
	var given []string
	addresses := canon.Object()
	for _, e := range t.Get("env_from").Elems() {
		name := e.Str()
		v := environ(name)
		switch u, err := url.Parse(v); {
		case v == "":
		case isAddress(name) && err == nil:
			u.User, u.RawQuery = nil, ""
			addresses = addresses.With(name, canon.String(u.String()))
		default:
			given = append(given, name)
			secrets = append(secrets, redact.Secret{Name: name, Value: v})
		}
	}
	return canon.Object(canon.M("addresses", addresses), canon.M("given", canon.Strings(given))), secrets
}

// isAddress reports whether a variable says where a provider is.
func isAddress(name string) bool {
	return slices.ContainsFunc(capture.Clients(), func(c capture.Client) bool {
		return slices.ContainsFunc(c.Vars, func(v capture.Variable) bool { return v.Name == name })
	})
}

// programOutcome says what came of a program.
func programOutcome(ctx context.Context, o *capture.RunOptions, res *capture.Inside, err error, out, errs *capped, t canon.Value) (effect.Outcome, error) {
	const op = "jobs.program"
	name := filepath.Base(o.Command[0])
	switch {
	case errors.Is(err, capture.ErrNotFound), errors.Is(err, capture.ErrNotStarted):
		return effect.Outcome{}, fault.Wrap(live.ErrNotSent, op, err, "starting %s", name)
	case err != nil:
		return effect.Outcome{}, err
	case out.over || errs.over:
		return effect.Outcome{}, fault.New(live.ErrTooLarge, op, "%s wrote more than %d bytes", name, maxAnswer)
	case ctx.Err() != nil:
		return effect.Outcome{}, context.Cause(ctx)
	}
	return answered("exec", t, &effect.Outcome{
		Status: effect.OK, Data: canon.Object(canon.M("exit", canon.Int(int64(res.Status)))),
		Contents: []ledger.Content{{Name: "stdout", Bytes: out.buf.Bytes()}, {Name: "stderr", Bytes: errs.buf.Bytes()}},
	})
}

// request returns what the transport of an agent makes of its call.
func request(call *effect.Call, t canon.Value, input []byte, environ func(string) string) (effect.Call, error) {
	return (&transport.Request{
		Kind: call.Kind, Name: call.Name, Class: call.Class, Transport: t.Without("class", "confidence", "kind"), Arguments: input,
		Key: call.Data.Get("iteration_id").Str(), Environ: environ,
	}).Call()
}

// argvOf returns the command of a program. A program that is named by a path
// is looked for from its own folder.
func argvOf(data canon.Value) []string {
	var argv []string
	for _, a := range data.Get("argv").Elems() {
		argv = append(argv, a.Str())
	}
	if dir := data.Get("dir").Str(); dir != "" && len(argv) > 0 && strings.ContainsRune(argv[0], filepath.Separator) && !filepath.IsAbs(argv[0]) {
		argv[0] = filepath.Join(dir, argv[0])
	}
	return argv
}

// setting returns what the prompts of a program name of its surroundings.
func (c *calls) setting(dir string) (match.Setting, error) {
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return match.Setting{}, fault.Wrap(ErrAnswer, "jobs.program", err, "the working folder")
		}
	}
	return match.SettingAt(c.r.Config.Now(), dir), nil
}

// captured is what the open of a job says for those that match the requests of
// its programs later; nothing, if none of its agents is a program.
func (r *Runner) captured(agents []job.Agent, data canon.Value) canon.Value {
	if !slices.ContainsFunc(agents, func(a job.Agent) bool { return a.Transport.Get("kind").Str() == kindExec }) {
		return data
	}
	return data.With(match.RulesMember, match.RuleIDs(match.Normalisers())).With("setting", match.SettingAt(r.Config.Now(), "").Value())
}

// capped takes bytes up to a limit and remembers that there were more.
type capped struct {
	buf  bytes.Buffer // not embedded: its ReadFrom would go around the limit
	most int
	over bool
}

// Write implements [io.Writer].
func (b *capped) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.most {
		b.over = true
		return 0, fault.New(live.ErrTooLarge, "jobs.program", "more than %d bytes", b.most)
	}
	return b.buf.Write(p)
}
