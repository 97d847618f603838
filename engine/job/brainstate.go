package job

import (
	"slices"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrBrain means that a brain state, its constants or an input of a tick is
// not of its form, or speaks of a goal or memory that is not there. Mend the
// snapshot or the event.
const ErrBrain fault.Invalid = "job.bad_brainstate"

// maxTicks limits how far a brain state counts, and every count of ticks.
const maxTicks = 1 << 30

// GoalType says what a goal wants.
type GoalType string

// The types of goals.
const (
	GoalAnswer  GoalType = "answer"
	GoalClarify GoalType = "clarify"
	GoalSave    GoalType = "save"
	GoalVerify  GoalType = "verify"
	GoalPlan    GoalType = "plan"
)

// GoalStatus says where a goal stands. Only an active goal changes.
type GoalStatus string

// The statuses of goals. No rule of the document leads out of the last three:
// what was paused is asked for again as a new goal.
const (
	GoalActive    GoalStatus = "active"
	GoalSucceeded GoalStatus = "succeeded"
	GoalFailed    GoalStatus = "failed"
	GoalPaused    GoalStatus = "paused"
)

// GoalOrigin says who set a goal.
type GoalOrigin string

// The origins of goals.
const (
	FromUser   GoalOrigin = "user"
	FromSystem GoalOrigin = "system"
	FromAgent  GoalOrigin = "agent"
)

// Goal is something that the job is to reach.
type Goal struct {
	ID        string
	Priority  Nano // 0 to 1
	Type      GoalType
	Status    GoalStatus
	CreatedAt det.Instant
	Deadline  string // deadline_ts: RFC 3339, or empty; says something to people and decides nothing
	Origin    GoalOrigin
	Attempts  int64 // that did not reach it
	Metadata  canon.Value
}

// MemoryType says what an item of working memory is.
type MemoryType string

// The types of items. One document writes user_hint for hint; hint it is.
const (
	MemoryFact    MemoryType = "fact"
	MemoryContext MemoryType = "context"
	MemoryHint    MemoryType = "hint"
	MemoryTemp    MemoryType = "temp"
)

// Memory is an item of working memory (WM).
type Memory struct {
	ID           string // wm_id
	Type         MemoryType
	Value        canon.Value
	CreatedAt    int64   // the tick that was last when it was inserted
	TTL          int64   // ticks left
	References   int64   // in all; the insertion is the first
	ReferencedAt []int64 // the ticks of those that still count for a promotion
}

// Consolidated is an item of consolidated working memory (CWM). Its id is the
// wm_id that it was promoted from.
type Consolidated struct {
	ID           string
	Type         MemoryType
	Value        canon.Value
	References   int64
	ReferencedAt int64 // the tick of the last one
	TTL          int64 // ticks left; stands still in a tick in which it is referenced
}

// Context is the consolidated working memory.
type Context struct {
	ID     string // cwm_id
	Topic  string // of the active goal that weighs most, if its metadata name one
	Items  []Consolidated
	Tokens int64 // tokens_used, by all items
}

// Attention is what modulates depth and choice. Each number is of 0 to 1.
type Attention struct {
	Gain    Nano // attention_gain
	Explore Nano // explore_bias
	Reward  Nano // reward_signal, of the last tick
}

// Budget is what a job may use. A tick cannot raise it.
type Budget struct {
	Tokens   int64 // token_budget
	Spent    int64 // of the tokens
	MaxDepth int64 // max_depth_allowed
}

// Failure is a failure of a node that the job has seen.
type Failure struct {
	Node   string
	At     det.Instant
	Reason string
}

// BrainState is the cognitive workspace of a job: a value that only [Brain.Tick]
// and the events between two ticks change.
type BrainState struct {
	Seed     det.Seed
	Created  det.Instant // timestamp, of which brainstate_id is made
	Updated  det.Instant // last_updated
	Tick     int64       // ticks so far
	Counter  int64       // wm_counter: items inserted so far
	Stale    bool        // a goal was created since the context was last composed
	Goals    []Goal      // in the order of their creation
	Working  []Memory    // WM, newest first
	Context  Context     // CWM
	Attend   Attention
	Budget   Budget
	Failures []Failure // recent_failures, newest last; the last 64
}

// maxFailures is how many failures a state remembers.
const maxFailures = 64

// ID returns brainstate_id.
func (s BrainState) ID() string { return "bs:" + string(s.Seed) + ":" + s.Created.String() }

// NewBrainState returns the state with which a job begins: no goals, empty
// memory.
func NewBrainState(seed det.Seed, at det.Instant, attend Attention, budget Budget) BrainState {
	return BrainState{
		Seed: seed, Created: at, Updated: at, Attend: attend, Budget: budget,
		Context: Context{ID: "cwm:" + string(seed)},
	}
}

// Goal returns the goal of that id.
func (s BrainState) Goal(id string) (Goal, bool) {
	i := slices.IndexFunc(s.Goals, func(g Goal) bool { return g.ID == id })
	if i < 0 {
		return Goal{}, false
	}
	return s.Goals[i], true
}

// Exhausted reports whether the token budget is used up.
func (s BrainState) Exhausted() bool { return s.Budget.Spent >= s.Budget.Tokens }

// clone returns a copy of s whose lists can be written.
func (s BrainState) clone() BrainState {
	s.Goals = slices.Clone(s.Goals)
	s.Working = slices.Clone(s.Working)
	s.Context.Items = slices.Clone(s.Context.Items)
	s.Failures = slices.Clone(s.Failures)
	return s
}

// Value returns the state as snapshots and the reflective log hold it.
func (s BrainState) Value() canon.Value {
	return canon.Object(
		canon.M("CWM", s.Context.value()),
		canon.M("WM", canon.ArrayOf(s.Working, Memory.value)),
		canon.M("attention", s.Attend.value()),
		canon.M("brainstate_id", canon.String(s.ID())),
		canon.M("cwm_stale", canon.Bool(s.Stale)),
		canon.M("goals", canon.ArrayOf(s.Goals, Goal.value)),
		canon.M("job_seed", canon.String(string(s.Seed))),
		canon.M("last_updated", canon.String(s.Updated.String())),
		canon.M("recent_failures", canon.ArrayOf(s.Failures, Failure.value)),
		canon.M("resource_budget", canon.Object(
			canon.M("max_depth_allowed", canon.Int(s.Budget.MaxDepth)),
			canon.M("token_budget", canon.Int(s.Budget.Tokens)),
			canon.M("tokens_spent", canon.Int(s.Budget.Spent)),
		)),
		canon.M("tick", canon.Int(s.Tick)),
		canon.M("timestamp", canon.String(s.Created.String())),
		canon.M("wm_counter", canon.Int(s.Counter)),
	)
}

func (a Attention) value() canon.Value {
	return canon.Object(
		canon.M("attention_gain", a.Gain.Value()),
		canon.M("explore_bias", a.Explore.Value()),
		canon.M("reward_signal", a.Reward.Value()),
	)
}

func (g Goal) value() canon.Value {
	v := canon.Object(
		canon.M("attempts", canon.Int(g.Attempts)),
		canon.M("created_at", canon.String(g.CreatedAt.String())),
		canon.M("goal_id", canon.String(g.ID)),
		canon.M("metadata", g.Metadata),
		canon.M("origin", canon.String(string(g.Origin))),
		canon.M("priority", g.Priority.Value()),
		canon.M("status", canon.String(string(g.Status))),
		canon.M("type", canon.String(string(g.Type))),
	)
	if g.Deadline != "" {
		v = v.With("deadline_ts", canon.String(g.Deadline))
	}
	return v
}

func (m Memory) value() canon.Value {
	return canon.Object(
		canon.M("created_at_tick", canon.Int(m.CreatedAt)),
		canon.M("referenced_at", canon.ArrayOf(m.ReferencedAt, canon.Int)),
		canon.M("references", canon.Int(m.References)),
		canon.M("ttl_ticks", canon.Int(m.TTL)),
		canon.M("type", canon.String(string(m.Type))),
		canon.M("value", m.Value),
		canon.M("wm_id", canon.String(m.ID)),
	)
}

func (c Consolidated) value() canon.Value {
	return canon.Object(
		canon.M("cwm_id_item", canon.String(c.ID)),
		canon.M("promoted_from_wm", canon.Bool(true)),
		canon.M("referenced_at", canon.Int(c.ReferencedAt)),
		canon.M("references", canon.Int(c.References)),
		canon.M("ttl_ticks", canon.Int(c.TTL)),
		canon.M("type", canon.String(string(c.Type))),
		canon.M("value", c.Value),
	)
}

func (c Context) value() canon.Value {
	return canon.Object(
		canon.M("cwm_id", canon.String(c.ID)),
		canon.M("items", canon.ArrayOf(c.Items, Consolidated.value)),
		canon.M("tokens_used", canon.Int(c.Tokens)),
		canon.M("topic", canon.String(c.Topic)),
	)
}

func (f Failure) value() canon.Value {
	return canon.Object(
		canon.M("node_id", canon.String(f.Node)),
		canon.M("reason", canon.String(f.Reason)),
		canon.M("ts", canon.String(f.At.String())),
	)
}

// parseBrainState reads what [BrainState.Value] writes and nothing else.
// A state whose attention lacks attention_gain gets the one given: the document
// names that default and no other.
func parseBrainState(v canon.Value, gain Nano) (s BrainState, lacksGain bool, err error) {
	const op = "job.ParseBrain"
	r := newRecord(v, ErrBrain, op, "brainstate", "CWM", "WM", "attention", "brainstate_id", "cwm_stale", "goals", "job_seed",
		"last_updated", "recent_failures", "resource_budget", "tick", "timestamp", "wm_counter")
	s = BrainState{
		Seed: det.Seed(r.Name("job_seed")), Created: r.instant("timestamp"), Updated: r.instant("last_updated"),
		Tick: r.Count("tick", maxTicks), Counter: r.Count("wm_counter", maxCount), Stale: r.Bool("cwm_stale"),
	}
	a := r.sub("attention", "attention_gain?", "explore_bias", "reward_signal")
	s.Attend = Attention{Gain: gain, Explore: a.unit("explore_bias"), Reward: a.unit("reward_signal")}
	if lacksGain = !a.Value.Has("attention_gain"); !lacksGain {
		s.Attend.Gain = a.unit("attention_gain")
	}
	r.Take("attention", a.Err)
	b := r.sub("resource_budget", "max_depth_allowed", "token_budget", "tokens_spent")
	s.Budget = Budget{
		Tokens: b.Count("token_budget", maxCount), Spent: b.Count("tokens_spent", maxCount),
		MaxDepth: b.Count("max_depth_allowed", maxTicks),
	}
	r.Take("resource_budget", b.Err)
	for _, e := range r.list("goals") {
		s.Goals = append(s.Goals, readGoal(r, e))
	}
	for _, e := range r.list("WM") {
		s.Working = append(s.Working, readMemory(r, e))
	}
	c := r.sub("CWM", "cwm_id", "items", "tokens_used", "topic")
	s.Context = Context{ID: c.Text("cwm_id", 2*canon.MaxName), Topic: c.Text("topic", canon.MaxName), Tokens: c.Count("tokens_used", maxCount)}
	for _, e := range c.list("items") {
		s.Context.Items = append(s.Context.Items, readConsolidated(c, e))
	}
	r.Take("CWM", c.Err)
	for _, e := range r.list("recent_failures") {
		s.Failures = append(s.Failures, readFailure(r, e))
	}
	if r.Err == nil {
		r.Take("brainstate", s.check())
	}
	if r.Err == nil && r.Text("brainstate_id", 2*canon.MaxName) != s.ID() {
		r.Fail("brainstate_id is not %q", s.ID())
	}
	return s, lacksGain, r.Err
}

// check refuses a state that no sequence of events leads to: two goals or two
// memories of one id would make a promotion happen twice.
func (s BrainState) check() error {
	var goals, memories []string
	for _, g := range s.Goals {
		goals = append(goals, g.ID)
	}
	for _, m := range s.Working {
		memories = append(memories, m.ID)
	}
	for _, c := range s.Context.Items {
		memories = append(memories, c.ID)
	}
	for _, ids := range [][]string{goals, memories} {
		n := len(ids)
		slices.Sort(ids)
		if len(slices.Compact(ids)) != n {
			return fault.New(ErrBrain, "job.ParseBrain", "two goals or two memories have the same id")
		}
	}
	if len(s.Failures) > maxFailures {
		return fault.New(ErrBrain, "job.ParseBrain", "more than %d recent failures", maxFailures)
	}
	return nil
}

func readGoal(r record, v canon.Value) Goal {
	g := newRecord(v, ErrBrain, r.Op, "goal", "attempts", "created_at", "deadline_ts?", "goal_id", "metadata", "origin", "priority", "status", "type")
	goal := Goal{
		ID: g.Name("goal_id"), Priority: g.unit("priority"),
		Type:      goalType(g),
		Status:    GoalStatus(g.Word("status", "active", "succeeded", "failed", "paused")),
		CreatedAt: g.instant("created_at"), Origin: goalOrigin(g),
		Attempts: g.Count("attempts", maxTicks), Metadata: v.Get("metadata"),
	}
	if v.Has("deadline_ts") {
		goal.Deadline = g.Name("deadline_ts")
	}
	if !deadline(goal.Deadline) {
		g.Fail("the deadline of goal %q is no instant", goal.ID)
	}
	if goal.Metadata.Kind() != canon.KindObject {
		g.Fail("the metadata of goal %q are no object", goal.ID)
	}
	r.Take("goals", g.Err)
	return goal
}

func readMemory(r record, v canon.Value) Memory {
	m := newRecord(v, ErrBrain, r.Op, "WM", "created_at_tick", "referenced_at", "references", "ttl_ticks", "type", "value", "wm_id")
	item := Memory{
		ID: m.digest("wm_id"), Type: memoryType(m), Value: v.Get("value"),
		CreatedAt: m.Count("created_at_tick", maxTicks), TTL: m.Count("ttl_ticks", maxTicks), References: m.Count("references", maxCount),
	}
	for _, e := range m.list("referenced_at") {
		n, ok := e.AsInt()
		if !ok || n < 0 || n > maxTicks {
			m.Fail("WM.referenced_at holds %s, which is no tick", e)
		}
		item.ReferencedAt = append(item.ReferencedAt, n)
	}
	r.Take("WM", m.Err)
	return item
}

func readConsolidated(r record, v canon.Value) Consolidated {
	c := newRecord(v, ErrBrain, r.Op, "item", "cwm_id_item", "promoted_from_wm", "referenced_at", "references", "ttl_ticks", "type", "value")
	if !c.Bool("promoted_from_wm") {
		c.Fail("an item of the context was not promoted: nothing else leads there")
	}
	item := Consolidated{
		ID: c.digest("cwm_id_item"), Type: memoryType(c), Value: v.Get("value"), References: c.Count("references", maxCount),
		ReferencedAt: c.Count("referenced_at", maxTicks), TTL: c.Count("ttl_ticks", maxTicks),
	}
	r.Take("items", c.Err)
	return item
}

func goalType(r record) GoalType {
	return GoalType(r.Word("type", "answer", "clarify", "save", "verify", "plan"))
}

func goalOrigin(r record) GoalOrigin { return GoalOrigin(r.Word("origin", "user", "system", "agent")) }

func memoryType(r record) MemoryType {
	return MemoryType(r.Word("type", "fact", "context", "hint", "temp"))
}
