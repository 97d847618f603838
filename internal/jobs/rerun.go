package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/engine/job"
	"github.com/reprise-dev/reprise/internal/drive"
	"github.com/reprise-dev/reprise/internal/live"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

const (
	// ErrSandbox means that an agent cannot be run again: it would reach the
	// network or write outside of a temporary folder, and nothing here can keep it
	// from that. Leave it out of --rerun, or allow it with --sandbox auto.
	ErrSandbox fault.Denied = "jobs.no_sandbox"
	// ErrRerun means that --rerun names neither an agent of the job nor one of
	// its iterations. See job show.
	ErrRerun fault.Invalid = "jobs.unknown_rerun"
)

const (
	// RerunAll names all agents.
	RerunAll = "all"
	// RerunNone names none.
	RerunNone = "none"
)

// rerun runs agents of a job again. The engine makes each call anew; what the
// agent asks of its models and tools then is answered from the journal or by a
// mock, and never by anybody live.
type rerun struct {
	ctx     context.Context //nolint:containedctx // of the one replay that it lives for
	p       *replaying
	calls   *calls
	agents  []job.Agent
	places  map[placed]*place
	journal *capture.Journal
	reader  *drive.Reader

	top    bool  // the call that comes next is that of an agent that runs again
	now    *turn // of the agent that runs
	strict bool  // without a sandbox no program runs

	tried   bool
	unboxed error // why programs cannot be kept from files here
}

// placed finds the calls of an agent.
type placed struct {
	iteration string
	attempt   int64
}

// place is a recorded call of an agent. All of its keys but the last are those
// of calls that broke off and were made once more.
type place struct {
	n         int64 // entry of the last one
	keys      []effect.Key
	before    int         // calls of that agent before it
	given     []string    // secrets that the program had from outside
	addresses canon.Value // of its models, from outside
}

func (a *place) key() effect.Key { return a.keys[len(a.keys)-1] }

// turn is one agent that runs.
type turn struct {
	at      *place
	fatal   error // why nothing can be told
	missed  []capture.Miss
	mocked  bool
	blocked []string
	open    []string
}

// prepare reads what the run says of its agents, and makes the journal answer
// what they ask.
func (p *replaying) prepare(ctx context.Context, o *drive.Opening) (err error) {
	a := &rerun{
		ctx: ctx, p: p, places: map[placed]*place{}, reader: drive.NewReader(p.r.Config.Store, p.job.Run),
		strict: p.q.Sandbox != capture.IsolateAuto,
	}
	if a.journal, err = capture.ReadJournal(ctx, p.r.Config.Store, p.job.Run, 0); err != nil {
		return err
	}
	a.journal.AnyCredential() // nothing leaves, whoever asks
	script, err := a.read()
	if err != nil {
		return err
	}
	if a.calls, err = p.r.calls(ctx, a.agents, &player{script: script, asked: map[string]int{}}, func(*effect.Call) {}); err != nil {
		return err
	}
	a.calls.again, a.calls.live = a, nobody
	for _, name := range p.q.Rerun {
		if !a.knows(name) {
			return fault.New(ErrRerun, "jobs.rerun", "%q is neither an agent of the job nor an iteration in which one was asked", name)
		}
	}
	o.From = p.job.Run
	o.Sources = func(depth int, _ string) effect.Source { return answering{a, depth} }
	p.again = a
	return nil
}

// read finds the calls of the agents in the ledger of the job.
func (a *rerun) read() (script Script, err error) {
	before := map[string]int{}
	byEntry := map[int64]*place{}
	for o, err := range a.reader.All(a.ctx) {
		if err != nil {
			return nil, err
		}
		switch o.Kind {
		case ledger.KindOpen:
			contents, err := a.reader.Contents(a.ctx, o)
			if err == nil {
				script, err = scriptOf(contents)
			}
			if err == nil {
				a.agents, err = agentsOf(contents)
			}
			if err != nil {
				return nil, err
			}
		case ledger.KindCall:
			call, key, err := effect.ParseCall(o.Body)
			if err != nil {
				return nil, err
			}
			if key.Depth() > 0 || call.Kind == job.KindMAC {
				continue
			}
			attempt, _ := call.Data.Get("attempt").AsInt()
			id := placed{call.Data.Get("iteration_id").Str(), attempt}
			if a.places[id] == nil {
				a.places[id] = &place{}
			}
			at := a.places[id]
			at.n, at.keys, at.before = o.N, append(at.keys, key), before[call.Name]
			byEntry[o.N] = at
			before[call.Name]++
		case ledger.KindEvent:
			n, _ := o.Body.Get("refs").Get("call").AsInt()
			if at := byEntry[n]; at != nil && o.Body.Get("name").Str() == EventProgram {
				at.given, at.addresses = nil, o.Data().Get("addresses")
				for _, e := range o.Data().Get("given").Elems() {
					at.given = append(at.given, e.Str())
				}
			}
		default:
		}
	}
	return script, nil
}

// knows reports whether a name is that of something that can run again.
func (a *rerun) knows(name string) bool {
	if name == RerunAll || slices.ContainsFunc(a.agents, func(x job.Agent) bool { return x.Node == name }) {
		return true
	}
	return a.places[placed{name, 0}] != nil
}

// named reports whether an agent is to run again.
func (a *rerun) named(it job.Rerun) bool {
	return slices.Contains(a.p.q.Rerun, RerunAll) || slices.Contains(a.p.q.Rerun, it.Node) || slices.Contains(a.p.q.Rerun, it.Iteration)
}

// run runs the agent of an iteration again.
func (a *rerun) run(it job.Rerun) (*job.Ran, error) {
	const op = "jobs.rerun"
	i := slices.IndexFunc(a.agents, func(x job.Agent) bool { return x.Node == it.Node })
	if i < 0 || !a.named(it) || it.Failed == effect.ErrNoOutcome.Error() {
		return nil, nil //nolint:nilnil // nobody is to run
	}
	at := a.places[placed{it.Iteration, it.Attempt}]
	if at == nil {
		return nil, fault.New(job.ErrIntegrity, op, "the call of iteration %s is not recorded", it.Iteration).With("missing: call of " + it.Iteration)
	}
	now, err := it.Call(a.agents[i])
	if err == nil {
		err = now.Fill()
	}
	if err != nil {
		return nil, err
	}
	if now.Match != at.key().Match {
		then, err := a.asked(at.n)
		if err != nil {
			return nil, err
		}
		return &job.Ran{Asked: []job.Asked{{What: "agent_call", Diff: job.Diff(then, written(asked(&now)))}}}, nil
	}
	if err := a.kept(it, at); err != nil {
		return nil, err
	}
	a.now = &turn{at: at}
	defer func() { a.now = nil }()
	o, err := a.again(at, now)
	if err != nil {
		return nil, err
	}
	ran := &job.Ran{Mocked: a.now.mocked}
	if ran.Asked, err = a.otherwise(at); err != nil {
		return nil, err
	}
	if len(ran.Asked) == 0 && o.Code != nil && o.Code.Error() != it.Failed && (errors.Is(o.Code, live.ErrNotSent) || errors.Is(o.Code, ErrFunction)) {
		return nil, fault.New(o.Code, op, "%s cannot be run here: %s", it.Node, o.Data.Get("message").Str())
	}
	switch o.Status {
	case effect.OK:
		ran.Output = contentOf(o.Contents, job.OutputContent)
	case effect.Error:
		if ran.Failed = o.Code; ran.Failed == nil {
			ran.Failed = job.ErrAgentException
		}
	default:
		ran.Failed = effect.ErrNoOutcome
	}
	return ran, a.p.step(a.ctx, a.now.step(it))
}

// step says of an agent that ran what it was kept from.
func (t *turn) step(it job.Rerun) job.Step {
	s := job.Step{Name: "rerun_agent", Subject: it.Iteration, Note: it.Node}
	for _, b := range t.blocked {
		s.Note += "; blocked: " + b
	}
	for _, o := range t.open {
		s.Note += "; not blocked: " + o
	}
	return s
}

// kept refuses an agent whose models or tools gave answers that were not kept.
func (a *rerun) kept(it job.Rerun, at *place) error {
	for _, r := range a.journal.Within(at.key().Under()) {
		if _, mocked := a.p.q.Mocks[mockName(r.Kind, r.Name)]; mocked || r.Outcome.N < 0 {
			continue
		}
		o, err := a.reader.Ref(a.ctx, r.Outcome)
		for i := 0; err == nil && i < len(o.Att); i++ {
			err = a.reader.WriteTo(a.ctx, o, i, io.Discard)
		}
		if errors.Is(err, ledger.ErrAbsent) || gone(err) {
			return fault.New(job.ErrMissingOutput, "jobs.rerun", "the answer of %s %s in iteration %s was not persisted", r.Kind, r.Name, it.Iteration).
				With("iteration_id: "+it.Iteration, fmt.Sprintf("entry: %d", r.Outcome.N))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// again makes the call of an agent once more, within the audit of the replay.
// Calls that broke off break off again, so that the place of the last one is
// that of then.
func (a *rerun) again(at *place, now effect.Call) (effect.Outcome, error) {
	audit := a.p.audit
	for range at.keys[1:] {
		x, err := audit.Begin(a.ctx, now)
		if err == nil {
			err = x.End(a.ctx, effect.Outcome{})
		}
		if err != nil {
			return effect.Outcome{}, err
		}
	}
	a.top = true
	x, err := audit.Begin(a.ctx, now)
	a.top = false
	if err != nil {
		return effect.Outcome{}, err
	}
	a.calls.player.asked[now.Name] = at.before
	o, err := a.calls.call(a.ctx, &now, x.Under())
	if err != nil {
		o = effect.Outcome{Status: effect.Interrupted}
	}
	return o, errors.Join(a.now.fatal, err, a.ctx.Err(), x.End(context.WithoutCancel(a.ctx), o))
}

// otherwise returns what the agent that ran asked otherwise than then.
func (a *rerun) otherwise(at *place) ([]job.Asked, error) {
	var out []job.Asked
	path := at.key().Under()
	for _, m := range a.p.audit.Misses() {
		if !m.Key.Beneath(path) {
			continue
		}
		d, err := a.compare(&m)
		if err != nil {
			return nil, err
		}
		out = append(out, job.Asked{What: m.Call.Kind + " " + m.Call.Name, Diff: d})
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, r := range a.journal.LeftWithin(path) {
		if _, mocked := a.p.q.Mocks[mockName(r.Kind, r.Name)]; mocked {
			continue
		}
		then, err := a.asked(r.Call.N)
		if err != nil {
			return nil, err
		}
		out = append(out, job.Asked{What: r.Kind + " " + r.Name, Diff: job.Diff(canon.Object(canon.M("request", then)), canon.Object())})
	}
	return out, nil
}

// compare says where a request that is not recorded differs from the one that
// comes nearest.
func (a *rerun) compare(m *drive.Miss) (canon.Value, error) {
	for _, c := range a.now.missed {
		if c.N == m.N && c.Nearest != nil && len(c.Nearest.Where) > 0 {
			list := slices.Clone(c.Nearest.Where)
			for i := range list {
				list[i].A, list[i].B = written(list[i].A), written(list[i].B)
			}
			return job.Differences(list), nil
		}
	}
	now := written(asked(&m.Call))
	for _, r := range a.journal.LeftWithin(m.Key.Path) {
		if r.Kind != m.Call.Kind || r.Name != m.Call.Name {
			continue
		}
		then, err := a.asked(r.Call.N)
		return job.Diff(then, now), err
	}
	return job.Diff(canon.Object(), canon.Object(canon.M("request", now))), nil
}

// asked returns a recorded call as diffs show it.
func (a *rerun) asked(n int64) (canon.Value, error) {
	o, err := a.reader.Open(a.ctx, n)
	if err != nil {
		return canon.Value{}, err
	}
	c, _, err := effect.ParseCall(o.Body)
	if err == nil {
		c.Contents, err = a.reader.Contents(a.ctx, o)
	}
	if errors.Is(err, ledger.ErrAbsent) || gone(err) {
		err = nil // the rest is there
	}
	return written(asked(&c)), err
}

func asked(c *effect.Call) canon.Value {
	v := canon.Object(canon.M("kind", canon.String(c.Kind)), canon.M("name", canon.String(c.Name)))
	for _, m := range c.Data.Members() {
		if m.Name != "headers" { // no answer depends on them
			v = v.With(m.Name, m.Value)
		}
	}
	for _, b := range c.Contents {
		x, err := canon.Parse(b.Bytes)
		if err != nil {
			x = canon.String(strings.ToValidUTF8(string(b.Bytes), "\uFFFD"))
		}
		v = v.With(b.Name, x)
	}
	return v
}

// maxShown bounds a text in a diff.
const maxShown = 4 << 10

// written returns a value as a diff may hold it: long texts are cut, and what
// the profile of diffs cannot write is text.
func written(v canon.Value) canon.Value {
	switch v.Kind() {
	case canon.KindString:
		if s := v.Str(); len(s) > maxShown {
			return canon.String(strings.ToValidUTF8(s[:maxShown], "") + "…")
		}
	case canon.KindArray:
		list := slices.Clone(v.Elems())
		for i := range list {
			list[i] = written(list[i])
		}
		return canon.Array(list...)
	case canon.KindObject:
		list := slices.Clone(v.Members())
		for i := range list {
			list[i].Value = written(list[i].Value)
		}
		return canon.Object(list...)
	default:
		if v.IsZero() {
			return v
		}
		if _, err := canon.Encode(v, canon.MACEFixed9); err != nil {
			return canon.String(v.String())
		}
	}
	return v
}

// answering answers what is asked while agents run again: the call of the agent
// that runs is made; those of then that broke off, and what agents ask, are
// answered from the journal or by mocks.
type answering struct {
	a     *rerun
	depth int
}

// Name implements [effect.Source].
func (answering) Name() string { return "rerun" }

// Answer implements [effect.Source].
func (s answering) Answer(k effect.Key, c *effect.Call) (effect.Answer, error) {
	if s.depth == 0 && s.a.top {
		return effect.Answer{Mode: effect.MakeIt}, nil
	}
	if b, ok := s.a.p.q.Mocks[mockName(c.Kind, c.Name)]; ok && s.depth > 0 && s.a.now != nil {
		s.a.now.mocked = true
		return effect.Answer{Mode: effect.Given, Outcome: mockOutcome(b)}, nil
	}
	return s.a.journal.Answer(k, c)
}

// mockName is under which name a mock stands in for what agents ask.
func mockName(kind, name string) string { return kind + ":" + name }

// mockOutcome is an answer of a model, a server or a tool that a mock gives.
func mockOutcome(b []byte) *effect.Outcome {
	typ := "application/json"
	if text := strings.TrimSpace(string(b)); strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "event:") {
		typ = "text/event-stream"
	}
	return &effect.Outcome{
		Status: effect.OK,
		Data: canon.Object(
			canon.M("headers", canon.Array(canon.Array(canon.String("Content-Type"), canon.String(typ)))),
			canon.M("status", canon.Int(200))),
		Contents: []ledger.Content{{Name: capture.ResponseName, Type: typ, Bytes: b}, {Name: job.OutputContent, Type: typ, Bytes: b}},
	}
}

// nobody makes no call: what the journal does not hold has no answer.
func nobody(_ context.Context, c *effect.Call, _ drive.Boundary) (effect.Outcome, error) {
	return effect.Outcome{}, fault.New(effect.ErrRefused, "jobs.rerun", "a %s call is not made in a replay", c.Kind)
}
