package trajectory

import (
	"encoding/hex"
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// ErrCharter means that the charter of a trajectory cannot be read, or that
// its parts do not fit one another. Mend it before the run begins; in a ledger,
// trust nothing that rests on it.
const ErrCharter fault.Invalid = "trajectory.bad_charter"

// The content of the open entry that holds the charter.
const (
	CharterName = "charter"
	CharterType = "application/vnd.reprise.trajectory.charter.v1+json"
)

// Engine is the name of this engine in open entries.
const Engine = "trajectory"

// Charter is everything that a trajectory decides by. It stands in the open
// entry, so that who has the ledger has the law: the writs, the tools, the
// content of every policy, who may approve, and the key that signs commits.
// It does not change; what changes is an entry.
type Charter struct {
	Task     string
	Compiler string   // the version of the gates that decide
	Parent   *Descent // of a delegated trajectory
	Signer   sign.PublicKey
	Roots    []sign.PublicKey // whose writs are honoured
	Writs    []*Writ          // parents before children
	Agents   []Agent          // at least one
	Registry *Registry
	Policies PolicySet
	Issuers  []sign.PublicKey // whose policies are taken; none: unsigned ones are
	Roster   govern.Roster
	Channels []Channel
	// GateIrreversible suspends what cannot be taken back and has no undo.
	GateIrreversible bool
	// RiskAt suspends what a tool declares to be of at least that risk.
	RiskAt Risk
	// MaxSteps is how often each agent may ask its model.
	MaxSteps int64
}

// Descent is where a delegated trajectory comes from.
type Descent struct {
	Trajectory canon.Digest
	Proposal   canon.Digest
}

// Agent is one author of intents.
type Agent struct {
	Name   string
	Writ   canon.Digest
	Prompt string
	// Model says how the model is asked: {"kind":…} and what that kind takes.
	// Without it the agent's intents come from outside.
	Model canon.Value
	// Conversational says that an answer without tool calls does not finish the
	// agent: it waits for a message ([EventMessage]) or for [EventFinish].
	Conversational bool
	Skill          *Skill
	Params         []Binding
}

// Channel is where approvals are asked for. A channel that is not listed is
// answered by one approver.
type Channel struct {
	Name    string
	Quorums []govern.Quorum
}

// Limits of a charter.
const (
	MaxAgents = 64
	MaxSteps  = 10_000
	maxTask   = 10_000 // code points, as upstream has it
)

// Value returns c as the open holds it.
func (c *Charter) Value() (canon.Value, error) {
	tools, err := c.Registry.Value()
	if err != nil {
		return canon.Value{}, err
	}
	return canon.Object(
		canon.M("agents", canon.ArrayOf(c.Agents, Agent.value)),
		canon.M("channels", canon.ArrayOf(c.Channels, Channel.value)),
		canon.M("compiler_version", canon.String(c.Compiler)),
		canon.M("gate_irreversible", canon.Bool(c.GateIrreversible)),
		canon.M("max_steps", canon.Int(c.MaxSteps)),
		canon.M("parent", c.Parent.value()),
		canon.M("policies", canon.ArrayOf(c.Policies.Bundles(), func(b Bundle) canon.Value { return b.Value() })),
		canon.M("policy_issuers", keysValue(c.Issuers)),
		canon.M("risk_at", canon.String(string(c.RiskAt))),
		canon.M("roots", keysValue(c.Roots)),
		canon.M("roster", c.Roster.Value()),
		canon.M("signer", keyValue(c.Signer)),
		canon.M("task", canon.String(c.Task)),
		canon.M("tools", tools),
		canon.M("writs", canon.ArrayOf(c.Writs, (*Writ).Value)),
	), nil
}

// Content returns c as a content of the open.
func (c *Charter) Content() (ledger.Content, error) {
	v, err := c.Value()
	if err != nil {
		return ledger.Content{}, err
	}
	b, err := canon.Encode(v, canon.Foreign)
	if err != nil {
		return ledger.Content{}, fault.Wrap(ErrCharter, "trajectory.Charter", err, "the charter")
	}
	return ledger.Content{Name: CharterName, Type: CharterType, Bytes: b}, nil
}

// Summary returns what the body of the open says of c, for people and lists.
func (c *Charter) Summary() (canon.Value, error) {
	id, err := c.Trajectory()
	if err != nil {
		return canon.Value{}, err
	}
	return canon.Object(
		canon.M("compiler_version", canon.String(c.Compiler)),
		canon.M("policy_set_hash", canon.String(c.Policies.Hash().String())),
		canon.M("signer", keyValue(c.Signer)),
		canon.M("task", canon.String(c.Task)),
		canon.M("trajectory_id", canon.String(id.String())),
		canon.M("writ_id", canon.String(c.Agents[0].Writ.String())),
	), nil
}

// Trajectory returns the domain id of the trajectory that c opens.
func (c *Charter) Trajectory() (canon.Digest, error) {
	if len(c.Agents) == 0 {
		return canon.Digest{}, fault.New(ErrCharter, "trajectory.Charter", "the charter names no agent")
	}
	if c.Parent != nil {
		return ChildTrajectory(c.Task, c.Parent.Proposal), nil
	}
	return RunTrajectory(c.Agents[0].Writ), nil
}

// ParseCharter reads what [Charter.Value] writes and checks it as
// [Charter.Check] does.
func ParseCharter(v canon.Value) (*Charter, error) {
	r := newRecord(v, ErrCharter, "trajectory.ParseCharter", "the charter",
		"agents", "channels", "compiler_version", "gate_irreversible", "max_steps", "parent", "policies",
		"policy_issuers", "risk_at", "roots", "roster", "signer", "task", "tools", "writs")
	c := &Charter{
		Task:             r.Text("task", 4*maxTask),
		Compiler:         r.Name("compiler_version"),
		Signer:           r.key("signer"),
		Roots:            r.keys("roots"),
		Issuers:          r.keys("policy_issuers"),
		GateIrreversible: r.Bool("gate_irreversible"),
		RiskAt:           Risk(r.Text("risk_at", canon.MaxName)),
		MaxSteps:         int64(r.uint("max_steps", 32)),
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if p := v.Get("parent"); !p.IsNull() {
		s := r.sub("parent", "proposal_id", "trajectory_id")
		c.Parent = &Descent{Trajectory: s.Digest("trajectory_id"), Proposal: s.Digest("proposal_id")}
		r.Take("parent", s.Err)
	}
	for _, e := range r.List("writs", maxList) {
		w, err := ParseWrit(e)
		r.Take("writs", err)
		c.Writs = append(c.Writs, &w)
	}
	for _, e := range r.List("agents", MaxAgents) {
		a, err := parseAgent(e)
		r.Take("agents", err)
		c.Agents = append(c.Agents, a)
	}
	for _, e := range r.List("channels", maxList) {
		ch, err := parseChannel(e)
		r.Take("channels", err)
		c.Channels = append(c.Channels, ch)
	}
	var bundles []Bundle
	for _, e := range r.List("policies", MaxPolicies) {
		b, err := parseCharterBundle(e)
		r.Take("policies", err)
		bundles = append(bundles, b)
	}
	var err error
	c.Policies, err = NewPolicySet(bundles...)
	r.Take("policies", err)
	c.Roster, err = govern.ParseRoster(v.Get("roster"))
	r.Take("roster", err)
	c.Registry, err = ParseRegistry(v.Get("tools"))
	r.Take("tools", err)
	if r.Err != nil {
		return nil, r.Err
	}
	return c, c.Check()
}

// Check refuses a charter whose parts do not fit: a writ that does not hold or
// that no trusted root stands behind, an agent without its writ, a policy of
// nobody who may make one, a channel that nobody could answer.
func (c *Charter) Check() error {
	const op = "trajectory.Charter.Check"
	refuse := func(format string, args ...any) error { return fault.New(ErrCharter, op, format, args...) }
	switch n := len([]rune(c.Task)); {
	case n == 0 || n > maxTask:
		return refuse("the task has %d characters; it has at least one and at most %d", n, maxTask)
	case len(c.Agents) == 0 || len(c.Agents) > MaxAgents:
		return refuse("there are %d agents; there is at least one and at most %d", len(c.Agents), MaxAgents)
	case c.MaxSteps < 1 || c.MaxSteps > MaxSteps:
		return refuse("max_steps is %d, not from 1 to %d", c.MaxSteps, MaxSteps)
	case c.Signer.IsZero():
		return refuse("no key signs the commits")
	case !c.RiskAt.Valid():
		return refuse("there is no risk %q", c.RiskAt)
	}
	for i := range c.Agents {
		if err := c.checkAgent(i); err != nil {
			return err
		}
	}
	for _, b := range c.Policies.Bundles() {
		if len(c.Issuers) == 0 && b.Issuer.IsZero() {
			continue
		}
		if err := b.Check(c.Issuers...); err != nil {
			return fault.Wrap(ErrCharter, op, err, "policy %s", b.Policy.ID())
		}
	}
	return c.checkChannels()
}

func (c *Charter) checkAgent(i int) error {
	const op = "trajectory.Charter.Check"
	a := &c.Agents[i]
	if slices.ContainsFunc(c.Agents[:i], func(b Agent) bool { return b.Name == a.Name }) {
		return fault.New(ErrCharter, op, "there are two agents %q", a.Name)
	}
	if a.Conversational && a.Model.IsZero() {
		return fault.New(ErrCharter, op, "agent %q is conversational and has no model to answer with", a.Name)
	}
	chain := c.Chain(a.Writ)
	if chain == nil {
		return fault.New(ErrCharter, op, "the writ %s of agent %q, or one it comes from, is not among the writs", a.Writ, a.Name)
	}
	if err := CheckChain(chain, c.Roots); err != nil {
		return fault.Wrap(ErrCharter, op, err, "the writ of agent %q", a.Name)
	}
	if a.Skill != nil {
		if _, err := a.Skill.Bind(a.Params); err != nil {
			return fault.Wrap(ErrCharter, op, err, "the skill of agent %q", a.Name)
		}
	}
	return nil
}

func (c *Charter) checkChannels() error {
	const op = "trajectory.Charter.Check"
	for i, ch := range c.Channels {
		if slices.ContainsFunc(c.Channels[:i], func(o Channel) bool { return o.Name == ch.Name }) {
			return fault.New(ErrCharter, op, "there are two channels %q", ch.Name)
		}
		m := govern.Matter{Ledger: "check", Subject: "check", Bound: canon.SHA256(nil)}
		if _, err := govern.NewBallot(m, ch.Quorums...); err != nil {
			return fault.Wrap(ErrCharter, op, err, "the channel %q", ch.Name)
		}
		for _, q := range ch.Quorums {
			if have := len(c.Roster.Holders(c.tenant(), q.Roles...)); have < q.Need {
				return fault.New(ErrCharter, op, "channel %q needs %d of %v, and the roster has %d", ch.Name, q.Need, q.Roles, have)
			}
		}
	}
	return nil
}

// tenant is that of the trajectory.
func (c *Charter) tenant() string {
	if w := c.Writ(c.Agents[0].Writ); w != nil {
		return w.Body.Tenant
	}
	return ""
}

// Writ returns the writ of that id, or nil.
func (c *Charter) Writ(id canon.Digest) *Writ {
	for _, w := range c.Writs {
		if w.ID == id {
			return w
		}
	}
	return nil
}

// Chain returns the writs from the root writ down to the one of that id, or
// nil if one of them is not there.
func (c *Charter) Chain(id canon.Digest) []*Writ {
	var chain []*Writ
	for range MaxChain {
		w := c.Writ(id)
		if w == nil {
			return nil
		}
		if chain = append(chain, w); w.Body.Parent.IsZero() {
			slices.Reverse(chain)
			return chain
		}
		id = w.Body.Parent
	}
	return nil
}

// quorums returns who must answer on a channel.
func (c *Charter) quorums(channel string) []govern.Quorum {
	for _, ch := range c.Channels {
		if ch.Name == channel {
			return ch.Quorums
		}
	}
	return []govern.Quorum{{Need: 1, Roles: []govern.Role{govern.Approver, govern.Operator, govern.Admin}}}
}

func (d *Descent) value() canon.Value {
	if d == nil {
		return canon.Null()
	}
	return canon.Object(
		canon.M("proposal_id", canon.String(d.Proposal.String())),
		canon.M("trajectory_id", canon.String(d.Trajectory.String())),
	)
}

func (a Agent) value() canon.Value {
	skill := canon.Null()
	if a.Skill != nil {
		skill = a.Skill.Value()
	}
	model := a.Model
	if model.IsZero() {
		model = canon.Null()
	}
	return canon.Object(
		canon.M("conversational", canon.Bool(a.Conversational)),
		canon.M("model", model),
		canon.M("name", canon.String(a.Name)),
		canon.M("params", bindingsValue(a.Params)),
		canon.M("prompt", canon.String(a.Prompt)),
		canon.M("skill", skill),
		canon.M("writ_id", canon.String(a.Writ.String())),
	)
}

func parseAgent(v canon.Value) (Agent, error) {
	r := newRecord(v, ErrCharter, "trajectory.ParseCharter", "an agent", "conversational", "model", "name", "params", "prompt", "skill", "writ_id")
	a := Agent{
		Name: r.Name("name"), Writ: r.Digest("writ_id"), Prompt: r.Text("prompt", maxPrompt),
		Conversational: r.Bool("conversational"),
	}
	switch m := v.Get("model"); {
	case m.IsNull():
	case m.Get("kind").Str() == "":
		r.Fail("the model of agent %q has no kind", a.Name)
	default:
		a.Model = m
	}
	if s := v.Get("skill"); !s.IsNull() {
		skill, err := ParseSkill(s)
		r.Take("skill", err)
		a.Skill = &skill
	}
	for _, e := range r.List("params", maxList) {
		if e.Len() != 2 {
			r.Fail("a parameter of agent %q is not [key, value]", a.Name)
			continue
		}
		key, ok := e.At(0).AsString()
		value, ok2 := e.At(1).AsString()
		if !ok || !ok2 {
			r.Fail("a parameter of agent %q is not [key, value]", a.Name)
		}
		a.Params = append(a.Params, Binding{Key: key, Value: value})
	}
	return a, r.Err
}

// maxPrompt is the size limit of the text that an agent's model begins with.
const maxPrompt = 256 << 10

func (c Channel) value() canon.Value {
	return canon.Object(
		canon.M("name", canon.String(c.Name)),
		canon.M("quorums", canon.ArrayOf(c.Quorums, func(q govern.Quorum) canon.Value {
			return canon.Object(
				canon.M("need", canon.Int(int64(q.Need))),
				canon.M("roles", canon.Strings(q.Roles)),
				canon.M("rule", canon.String(q.Rule.String())),
			)
		})),
	)
}

func parseChannel(v canon.Value) (Channel, error) {
	r := newRecord(v, ErrCharter, "trajectory.ParseCharter", "a channel", "name", "quorums")
	c := Channel{Name: r.Name("name")}
	for _, e := range r.List("quorums", maxList) {
		s := newRecord(e, ErrCharter, "trajectory.ParseCharter", "a quorum", "need", "roles", "rule")
		q := govern.Quorum{Need: int(s.uint("need", 31))}
		for _, n := range s.Names("roles", maxList) {
			q.Roles = append(q.Roles, govern.Role(n))
		}
		switch rule := s.Name("rule"); rule {
		case govern.Veto.String():
		case govern.Majority.String():
			q.Rule = govern.Majority
		default:
			s.Fail("there is no rule %q for a quorum", rule)
		}
		r.Take("quorums", s.Err)
		c.Quorums = append(c.Quorums, q)
	}
	return c, r.Err
}

// parseCharterBundle reads a bundle as [Bundle.Value] writes it, unsigned ones
// included.
func parseCharterBundle(v canon.Value) (Bundle, error) {
	if v.Get("issuer_pubkey").IsNull() && v.Get("signature").IsNull() {
		p, err := ParsePolicy(v.Get("policy"))
		return Bundle{Policy: p}, err
	}
	return ParseBundle(v)
}

func bindingsValue(list []Binding) canon.Value {
	return canon.ArrayOf(list, func(b Binding) canon.Value { return canon.Array(canon.String(b.Key), canon.String(b.Value)) })
}

func keyValue(k sign.PublicKey) canon.Value {
	return canon.String(hex.EncodeToString(k.Raw()))
}

func keysValue(list []sign.PublicKey) canon.Value { return canon.ArrayOf(list, keyValue) }

// keys reads a list of public keys.
func (r record) keys(name string) []sign.PublicKey {
	var out []sign.PublicKey
	for _, e := range r.List(name, maxList) {
		raw, err := hex.DecodeString(e.Str())
		if err == nil {
			var k sign.PublicKey
			if k, err = sign.ParseKey(raw); err == nil {
				out = append(out, k)
			}
		}
		r.Take(name, err)
	}
	return out
}
