package trajectories

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/engine/trajectory"
	"github.com/reprise-dev/reprise/internal/yamlfile"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrTask means that a task file cannot be read: it is no YAML, or says what
// no task file says. The message has the line; mend it there.
const ErrTask fault.Invalid = "trajectories.bad_task"

// Task is what a person writes down of a trajectory: a task file.
type Task struct {
	Task     string
	Tenant   string
	Agents   []AgentTask
	Tools    []toolSpec
	Policies []trajectory.Bundle
	Issuers  []sign.PublicKey
	Actors   []actorTask
	Channels []trajectory.Channel
	Gates    struct {
		Irreversible bool
		RiskAt       trajectory.Risk
	}
	MaxSteps int64
	Redact   Redaction
	Script   Script
}

// AgentTask is one agent of a task.
type AgentTask struct {
	Name   string
	Prompt string
	Model  canon.Value // absent: its intents come from outside
	Skill  *trajectory.Skill
	Params []trajectory.Binding
	Writ   Limits
	// Conversational agents wait for a message when they have answered.
	Conversational bool
	asked          bool // the file says where its intents come from
}

// Limits is what a writ allows.
type Limits struct {
	Scopes     []string // none: every tool of the task
	Budget     trajectory.Budget
	Ceiling    trajectory.Ceiling
	NotBefore  time.Time     // zero: from the start of the run
	ExpiresAt  time.Time     // zero: Lasts after the start of the run
	Lasts      time.Duration // where ExpiresAt is zero
	Delegation trajectory.Bounds
}

// actorTask is somebody who may sign acts.
type actorTask struct {
	id    string
	key   sign.PublicKey // zero: the user's own key of that name
	roles []govern.Role
}

// defaults of what a task file may leave out. Effects beyond the world of the
// trajectory must be asked for.
func defaultLimits() Limits {
	return Limits{
		Budget:  trajectory.Budget{Tokens: 200_000, ToolCalls: 100, WallClockMS: 3_600_000, USDMillicents: 0},
		Ceiling: trajectory.Ceiling{Read: true, Write: true},
		Lasts:   24 * time.Hour,
	}
}

const (
	defaultMaxSteps = 50
	defaultAgent    = "agent"
)

// reader reads one task file. Paths in it are relative to it.
type reader struct {
	dir  string
	task *Task
}

// ReadTask reads a task file. A name that it does not know is refused.
func ReadTask(path string) (*Task, error) {
	n, err := yamlfile.Read(path, ErrTask)
	if err != nil {
		return nil, err
	}
	return taskOf(n, filepath.Dir(path))
}

// taskOf reads a task. Paths in it are relative to dir.
func taskOf(n yamlfile.Node, dir string) (*Task, error) {
	s, err := n.Section("task", "tenant", "prompt", "conversational", "model", "skill", "params", "agents", "writ", "tools", "policies",
		"issuers", "actors", "channels", "gates", "max_steps", "redact")
	if err != nil {
		return nil, err
	}
	r := &reader{dir: dir, task: &Task{}}
	for _, f := range []func(yamlfile.Section) error{r.basics, r.agents, r.tools, r.policies, r.people, r.gates} {
		if err := f(s); err != nil {
			return nil, err
		}
	}
	return r.task, nil
}

func (r *reader) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.dir, p)
}

func (r *reader) basics(s yamlfile.Section) error {
	var err error
	t := r.task
	if t.Task, err = s.Text("task"); err != nil {
		return err
	}
	if t.Task == "" {
		return s.Fail("the member task is missing: it says what is to be done")
	}
	if t.Tenant, err = s.Text("tenant"); err != nil {
		return err
	}
	steps, err := s.Count("max_steps", defaultMaxSteps)
	t.MaxSteps = int64(steps)
	return err
}

// agents reads the agents. What stands outside of the list is what they have
// in common; without a list it is the one agent.
func (r *reader) agents(s yamlfile.Section) error {
	common := AgentTask{Name: defaultAgent, Writ: defaultLimits()}
	if err := r.agent(s, &common); err != nil {
		return err
	}
	list, ok := s.Get("agents")
	if !ok {
		r.task.Agents = []AgentTask{common}
		return nil
	}
	items, err := list.Items()
	if err != nil {
		return err
	}
	for _, n := range items {
		sub, err := n.Section("name", "prompt", "conversational", "model", "skill", "params", "writ")
		if err != nil {
			return err
		}
		a := common
		if a.Name, err = sub.Text("name"); err != nil {
			return err
		}
		if a.Name == "" {
			return n.Fail("an agent without a name")
		}
		if err := r.agent(sub, &a); err != nil {
			return err
		}
		r.task.Agents = append(r.task.Agents, a)
	}
	return nil
}

func (r *reader) agent(s yamlfile.Section, a *AgentTask) error {
	if n, ok := s.Get("prompt"); ok {
		var err error
		if a.Prompt, err = n.Text(); err != nil {
			return err
		}
	}
	if n, ok := s.Get("conversational"); ok {
		v, err := n.JSON()
		if err != nil {
			return err
		}
		if a.Conversational, ok = v.AsBool(); !ok {
			return n.Fail("conversational is true or false")
		}
	}
	if n, ok := s.Get("model"); ok {
		m, script, err := r.model(n)
		if err != nil {
			return err
		}
		a.Model, a.asked = m, true
		if _, listed := s.Members["name"]; listed { // answers without a name are this agent's
			for i := range script {
				script[i].name = cmp.Or(script[i].name, a.Name)
			}
		}
		if err := r.task.Script.merge(script); err != nil {
			return n.Because(err)
		}
	}
	if n, ok := s.Get("skill"); ok {
		var err error
		if a.Skill, err = r.skill(n); err != nil {
			return err
		}
	}
	if n, ok := s.Get("params"); ok {
		m, err := n.Section()
		if err != nil {
			return err
		}
		a.Params = nil
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := m.Text(n.Content[i].Value)
			if err != nil {
				return err
			}
			a.Params = append(a.Params, trajectory.Binding{Key: n.Content[i].Value, Value: v})
		}
	}
	if n, ok := s.Get("writ"); ok {
		return limits(n, &a.Writ)
	}
	return nil
}

// model reads where an agent's intents come from: an address, a script, or
// from outside.
func (r *reader) model(n yamlfile.Node) (canon.Value, Script, error) {
	if text, err := n.Text(); err == nil {
		if text == "outside" {
			return canon.Value{}, nil, nil
		}
		m, err := ModelAt(text, "")
		return m, nil, n.Because(err)
	}
	s, err := n.Section("url", "key_env", "parameters", "script")
	if err != nil {
		return canon.Value{}, nil, err
	}
	if file, err := s.Text("script"); err != nil || file != "" {
		if err != nil {
			return canon.Value{}, nil, err
		}
		script, err := ReadScript(r.path(file))
		return ScriptModel(), script, err
	}
	url, err := s.Text("url")
	if err != nil {
		return canon.Value{}, nil, err
	}
	key, err := s.Text("key_env")
	if err != nil {
		return canon.Value{}, nil, err
	}
	m, err := ModelAt(url, key)
	if err != nil {
		return m, nil, n.Because(err)
	}
	parameters, err := s.JSON("parameters")
	if err == nil && !parameters.IsZero() {
		if parameters.Kind() != canon.KindObject || parameters.Has("messages") || parameters.Has("tools") || parameters.Has("stream") {
			return m, nil, n.Fail("parameters are what a chat request holds beside messages, tools and stream, as names and values")
		}
		m = m.With("parameters", parameters)
	}
	return m, nil, err
}

// ModelAt returns the model behind an OpenAI-compatible address. The path of
// chat completions is added where only the base is given.
func ModelAt(url, keyEnv string) (canon.Value, error) {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return canon.Value{}, fault.New(ErrTask, "trajectories.ModelAt", "%q is not the address of a model", url)
	}
	const chat = "/chat/completions"
	base := strings.TrimSuffix(url, "/")
	if !strings.HasSuffix(base, chat) {
		base += chat
	}
	m := canon.Object(canon.M("kind", canon.String("model")), canon.M("url", canon.String(base)))
	if keyEnv != "" {
		m = m.With("key_env", canon.String(keyEnv))
	}
	return m, nil
}

// SetModel gives every agent that model, whatever the file says.
func (t *Task) SetModel(m canon.Value, s Script) {
	for i := range t.Agents {
		a := &t.Agents[i]
		if p := a.Model.Get("parameters"); !p.IsZero() && m.Get("kind").Str() == "model" {
			a.Model = m.With("parameters", p)
		} else {
			a.Model = m
		}
		a.asked = true
	}
	if s != nil {
		t.Script = s
	}
}

// skill reads a skill, in the file or in one of its own. What it does not say
// restricts nothing.
func (r *reader) skill(n yamlfile.Node) (*trajectory.Skill, error) {
	if file, err := n.Text(); err == nil {
		if n, err = yamlfile.Read(r.path(file), ErrTask); err != nil {
			return nil, err
		}
	}
	v, err := n.JSON()
	if err != nil {
		return nil, err
	}
	for _, m := range []canon.Member{
		canon.M("version", canon.Int(1)), canon.M("title", canon.String("")), canon.M("tools", canon.Array()),
		canon.M("budget_cap", canon.Null()), canon.M("params", canon.Array()),
		canon.M("ceiling", trajectory.Ceiling{Read: true, Write: true, External: true, Irreversible: true}.Value()),
		canon.M("model_hint", canon.Object(canon.M("model", canon.Null()), canon.M("provider", canon.Null()))),
	} {
		if !v.Has(m.Name) {
			v = v.With(m.Name, m.Value)
		}
	}
	s, err := trajectory.ParseSkill(v)
	return &s, n.Because(err)
}

// limits reads the member writ over what is set already.
func limits(n yamlfile.Node, l *Limits) error {
	s, err := n.Section("scopes", "budget", "ceiling", "window", "delegation")
	if err != nil {
		return err
	}
	if _, ok := s.Get("scopes"); ok {
		if l.Scopes, err = s.Texts("scopes"); err != nil {
			return err
		}
	}
	if b, ok := s.Get("budget"); ok {
		if err := budget(b, &l.Budget); err != nil {
			return err
		}
	}
	if c, ok := s.Get("ceiling"); ok {
		names, err := s.Texts("ceiling")
		if err != nil {
			return err
		}
		l.Ceiling = trajectory.Ceiling{}
		for _, name := range names {
			switch trajectory.Effect(name) {
			case trajectory.EffectRead:
				l.Ceiling.Read = true
			case trajectory.EffectWrite:
				l.Ceiling.Write = true
			case trajectory.EffectExternal:
				l.Ceiling.External = true
			case trajectory.EffectIrreversible:
				l.Ceiling.Irreversible = true
			default:
				return c.Fail("%q is no effect; there are read, write, external and irreversible", name)
			}
		}
	}
	if w, ok := s.Get("window"); ok {
		if err := window(w, l); err != nil {
			return err
		}
	}
	d, ok := s.Get("delegation")
	if !ok {
		return nil
	}
	ds, err := d.Section("depth")
	if err != nil {
		return err
	}
	if l.Delegation.MaxDepth, err = ds.Count("depth", 1); err != nil {
		return err
	}
	l.Delegation.MaySubdivide = l.Delegation.MaxDepth > 0
	return nil
}

// usdDigits is how many digits of a dollar a budget counts.
const usdDigits = 5

func budget(n yamlfile.Node, b *trajectory.Budget) error {
	s, err := n.Section("tokens", "tool_calls", "wall_clock", "usd")
	if err != nil {
		return err
	}
	if b.Tokens, err = s.Count("tokens", b.Tokens); err != nil {
		return err
	}
	if b.ToolCalls, err = s.Count("tool_calls", b.ToolCalls); err != nil {
		return err
	}
	if w, ok := s.Get("wall_clock"); ok {
		d, err := time.ParseDuration(w.Value)
		if err != nil || d < 0 {
			return w.Fail("%q is no duration such as 90s or 1h30m", w.Value)
		}
		b.WallClockMS = uint64(d.Milliseconds())
	}
	u, ok := s.Get("usd")
	if !ok {
		return nil
	}
	whole, fraction, _ := strings.Cut(u.Value, ".")
	if len(fraction) > usdDigits || whole == "" {
		return u.Fail("%q is no amount of dollars with at most %d digits behind the point", u.Value, usdDigits)
	}
	b.USDMillicents, err = strconv.ParseUint(whole+fraction+strings.Repeat("0", usdDigits-len(fraction)), 10, 64)
	if err != nil {
		return u.Fail("%q is no amount of dollars with at most %d digits behind the point", u.Value, usdDigits)
	}
	return nil
}

// window reads how long a writ holds: a duration from the start of the run,
// or two times.
func window(n yamlfile.Node, l *Limits) error {
	if text, err := n.Text(); err == nil {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return n.Fail("%q is no duration such as 24h", text)
		}
		l.Lasts, l.NotBefore, l.ExpiresAt = d, time.Time{}, time.Time{}
		return nil
	}
	s, err := n.Section("not_before", "expires_at")
	if err != nil {
		return err
	}
	at := func(name string, to *time.Time) error {
		v, ok := s.Get(name)
		if !ok {
			return nil
		}
		if *to, err = time.Parse(time.RFC3339, v.Value); err != nil {
			return v.Fail("%q is no time such as 2027-01-31T12:00:00Z", v.Value)
		}
		return nil
	}
	if err := at("not_before", &l.NotBefore); err != nil {
		return err
	}
	return at("expires_at", &l.ExpiresAt)
}

func (r *reader) gates(s yamlfile.Section) error {
	if n, ok := s.Get("gates"); ok {
		g, err := n.Section("irreversible", "risk_at")
		if err != nil {
			return err
		}
		if r.task.Gates.Irreversible, err = g.Flag("irreversible"); err != nil {
			return err
		}
		risk, err := g.Text("risk_at")
		if err != nil {
			return err
		}
		r.task.Gates.RiskAt = trajectory.Risk(risk)
		if !r.task.Gates.RiskAt.Valid() {
			return n.Fail("there is no risk %q; there are low, medium, high and critical", risk)
		}
	}
	n, ok := s.Get("redact")
	if !ok {
		return nil
	}
	d, err := n.Section("members", "env")
	if err != nil {
		return err
	}
	if r.task.Redact.Members, err = d.Texts("members"); err != nil {
		return err
	}
	r.task.Redact.Env, err = d.Texts("env")
	return err
}
