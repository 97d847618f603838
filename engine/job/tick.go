package job

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Word is what somebody said to a result: nothing, no or yes. In JSON it is
// null, false or true.
type Word uint8

// The words.
const (
	Silent Word = iota
	No
	Yes
)

func (w Word) value() canon.Value {
	if w == Silent {
		return canon.Null()
	}
	return canon.Bool(w == Yes)
}

func (w Word) nano() Nano {
	if w == Yes {
		return One
	}
	return 0
}

func (r record) opinion(name string) Word {
	switch {
	case r.Value.Get(name).IsNull():
		return Silent
	case r.Bool(name):
		return Yes
	default:
		return No
	}
}

// NewGoal is a goal that comes in.
type NewGoal struct {
	ID        string
	Type      GoalType
	Origin    GoalOrigin
	User      Nano   // the priority that the user asks for, 0 to 1
	Heuristic Nano   // the one that the rules of the system give, 0 to 1
	Deadline  string // or empty
	Metadata  canon.Value
}

// NewMemory is an item that comes into working memory. An item that is there
// already, with the same type and value, is referenced instead.
type NewMemory struct {
	Type  MemoryType
	Value canon.Value
	TTL   int64 // ticks; 0: the default of the snapshot
}

// Attempt is what an iteration did for a goal.
type Attempt struct {
	Goal        string
	Deliverable bool // what was asked for was produced
	Confidence  Nano // final_confidence
	Exhausted   bool // the repair loops are used up
}

// TickInput is what happened since the last tick, as the event records it.
type TickInput struct {
	At         det.Instant // timestamp_seeded of the event
	Goals      []NewGoal
	Insert     []NewMemory
	Reference  []string // ids of items of either memory that were used, each as often as it was
	Failures   []Failure
	Council    Word // the last vote
	User       Word // the last feedback
	Attempts   []Attempt
	TokensUsed int64
}

// TickReport is what a tick did, for events that others wait for.
type TickReport struct {
	Inserted []string // wm_ids in the order of insertion; of an item that was there, its id
	Dropped  []string // ids of items whose time was over
	Promoted []string // wm_ids that went into the context
	Ended    []string // ids of goals that are active no more
}

// Tick advances the state by one step. What happened since the last one is
// taken in first (goals, insertions, references, failures, tokens); then, in the
// order of the document: every ttl is decremented; what has none left is
// dropped; items are promoted; the context is composed anew if a goal was
// created or an item promoted; attention moves; goals are judged. It is a
// function of its receiver and input alone. An input that is not of its form is
// refused with [ErrBrain], and changes nothing.
func (b Brain) Tick(in TickInput) (Brain, TickReport, error) {
	const op = "job.Brain.Tick"
	var report TickReport
	next := b
	if b.State.Tick >= maxTicks {
		return b, report, fault.New(ErrBrain, op, "more than %d ticks", maxTicks)
	}
	for _, g := range in.Goals {
		var err error
		if next, err = next.Create(g, in.At); err != nil {
			return b, TickReport{}, err
		}
	}
	for _, m := range in.Insert {
		var id string
		var err error
		if next, id, err = next.Insert(m); err != nil {
			return b, TickReport{}, err
		}
		report.Inserted = append(report.Inserted, id)
	}
	for _, id := range in.Reference {
		var err error
		if next, err = next.Reference(id); err != nil {
			return b, TickReport{}, err
		}
	}
	if err := next.State.checkAttempts(in.Attempts); err != nil {
		return b, TickReport{}, err
	}
	for _, f := range in.Failures {
		r := newRecord(canon.Object(), ErrBrain, op, "tick")
		if readFailure(r, f.value()); r.Err != nil {
			return b, TickReport{}, r.Err
		}
	}
	if in.TokensUsed < 0 || in.TokensUsed > maxCount-next.State.Budget.Spent {
		return b, TickReport{}, fault.New(ErrBrain, op, "%d tokens were used", in.TokensUsed)
	}

	s := next.State.clone()
	s.Failures = append(s.Failures, in.Failures...)
	s.Failures = s.Failures[max(0, len(s.Failures)-maxFailures):]
	s.Budget.Spent += in.TokensUsed
	last := s.Tick
	s.Tick++
	s.Updated = in.At
	report.Dropped = s.age(last)
	promoted := s.promote(b.Constants)
	for _, c := range promoted {
		report.Promoted = append(report.Promoted, c.ID)
	}
	if s.Stale || len(promoted) > 0 {
		s.compose(b.Constants, promoted)
	}
	s.Context.Tokens = b.Constants.tokens(s.Context.Items)
	s.attend(b.Constants, in.Council, in.User)
	report.Ended = s.judge(b.Constants, in.Attempts)
	next.State = s
	return next, report, nil
}

// Create adds a goal, which is active.
func (b Brain) Create(g NewGoal, at det.Instant) (Brain, error) {
	const op = "job.Brain.Create"
	s := b.State.clone()
	if g.Metadata.IsZero() {
		g.Metadata = canon.Object()
	}
	metadata, text, err := fixed(g.Metadata)
	if err != nil || len(text) > maxText {
		return b, fault.New(ErrBrain, op, "the metadata of goal %.80q are no JSON of at most %d bytes", g.ID, maxText)
	}
	goal := Goal{
		ID: g.ID, Type: g.Type, Origin: g.Origin, Status: GoalActive, CreatedAt: at, Deadline: g.Deadline, Metadata: metadata,
		Priority: blend(b.Constants.PriorityUser, g.User, b.Constants.PrioritySystem, g.Heuristic),
	}
	r := newRecord(canon.Object(), ErrBrain, op, "goal")
	if readGoal(r, goal.value()); r.Err != nil {
		return b, r.Err
	}
	_, there := s.Goal(g.ID)
	if there || len(s.Goals) == maxList || !g.User.Unit() || !g.Heuristic.Unit() {
		return b, fault.New(ErrBrain, op, "goal %q is there already, is one of more than %d, or asks for a priority that is not of 0 to 1", g.ID, maxList)
	}
	s.Goals = append(s.Goals, goal)
	s.Stale = true
	b.State = s
	return b, nil
}

// Insert adds an item to working memory, in front, and returns its wm_id.
func (b Brain) Insert(m NewMemory) (Brain, string, error) {
	const op = "job.Brain.Insert"
	s := b.State.clone()
	value, text, err := fixed(m.Value)
	if err != nil {
		return b, "", fault.Wrap(ErrBrain, op, err, "the value of a memory")
	}
	for _, have := range s.Working {
		if have.Type == m.Type && have.Value.Equal(value) {
			next, err := b.Reference(have.ID)
			return next, have.ID, err
		}
	}
	ttl := m.TTL
	if ttl == 0 {
		ttl = b.Constants.WorkingTTL
	}
	item := Memory{
		ID: WorkingMemoryID(s.Seed, s.Counter), Type: m.Type, Value: value,
		CreatedAt: s.Tick, TTL: ttl, References: 1, ReferencedAt: []int64{s.Tick},
	}
	r := newRecord(canon.Object(), ErrBrain, op, "memory")
	if readMemory(r, item.value()); r.Err != nil {
		return b, "", r.Err
	}
	if len(s.Working) == maxList || len(text) > maxText || ttl < 1 {
		return b, "", fault.New(ErrBrain, op, "a memory has more than %d bytes, no time to live, or is one of more than %d", maxText, maxList)
	}
	s.Counter++
	s.Working = slices.Insert(s.Working, 0, item)
	b.State = s
	return b, item.ID, nil
}

// Reference counts a use of an item of either memory.
func (b Brain) Reference(id string) (Brain, error) {
	s := b.State.clone()
	if i := slices.IndexFunc(s.Working, func(m Memory) bool { return m.ID == id }); i >= 0 {
		m := &s.Working[i]
		m.References++
		m.ReferencedAt = append(slices.Clone(m.ReferencedAt), s.Tick)
		if len(m.ReferencedAt) > maxList {
			m.ReferencedAt = m.ReferencedAt[1:] // what counts is far less
		}
	} else if i := slices.IndexFunc(s.Context.Items, func(c Consolidated) bool { return c.ID == id }); i >= 0 {
		s.Context.Items[i].References++
		s.Context.Items[i].ReferencedAt = s.Tick
	} else {
		return b, fault.New(ErrBrain, "job.Brain.Reference", "no memory has the id %.80q", id)
	}
	b.State = s
	return b, nil
}

// checkAttempts refuses attempts at what is not there. One at a goal that is
// active no more is let through, and changes nothing.
func (s BrainState) checkAttempts(attempts []Attempt) error {
	for _, a := range attempts {
		if _, ok := s.Goal(a.Goal); !ok || !a.Confidence.Unit() {
			return fault.New(ErrBrain, "job.Brain.Tick", "an attempt at goal %.80q, which is not there, or with a confidence that is not of 0 to 1", a.Goal)
		}
	}
	return nil
}

// age takes one tick off every item, and drops those without any left. An item
// of the context that was used since the last tick keeps its time.
func (s *BrainState) age(last int64) (dropped []string) {
	s.Working = slices.DeleteFunc(s.Working, func(m Memory) bool {
		if m.TTL <= 1 {
			dropped = append(dropped, m.ID)
		}
		return m.TTL <= 1
	})
	for i := range s.Working {
		s.Working[i].TTL--
	}
	s.Context.Items = slices.DeleteFunc(s.Context.Items, func(c Consolidated) bool {
		over := c.TTL <= 1 && c.ReferencedAt < last
		if over {
			dropped = append(dropped, c.ID)
		}
		return over
	})
	for i := range s.Context.Items {
		if s.Context.Items[i].ReferencedAt < last {
			s.Context.Items[i].TTL--
		}
	}
	return dropped
}

// promote takes out of working memory what was referenced often enough within
// the window. The id of an item is never given again, so that none can be
// promoted twice.
func (s *BrainState) promote(c BrainConstants) (promoted []Consolidated) {
	s.Working = slices.DeleteFunc(s.Working, func(m Memory) bool {
		recent := slices.DeleteFunc(slices.Clone(m.ReferencedAt), func(t int64) bool { return t < s.Tick-c.PromotionWindow })
		if int64(len(recent)) < c.PromotionReferences {
			return false
		}
		promoted = append(promoted, Consolidated{
			ID: m.ID, Type: m.Type, Value: m.Value, References: m.References, ReferencedAt: recent[len(recent)-1], TTL: c.ContextTTL,
		})
		return true
	})
	for i, m := range s.Working { // what is too old counts never again
		s.Working[i].ReferencedAt = slices.DeleteFunc(slices.Clone(m.ReferencedAt), func(t int64) bool { return t < s.Tick-c.PromotionWindow })
	}
	return promoted
}

// compose makes the context anew: the items that were referenced most come
// first, of equal ones the last used, then by id, and as many are kept as fit into
// the share of the token budget. One that is too long is left out and the next
// ones are tried.
func (s *BrainState) compose(c BrainConstants, promoted []Consolidated) {
	items := append(s.Context.Items, promoted...)
	slices.SortFunc(items, func(a, b Consolidated) int {
		return cmp.Or(cmp.Compare(b.References, a.References), cmp.Compare(b.ReferencedAt, a.ReferencedAt), strings.Compare(a.ID, b.ID))
	})
	room := s.Budget.Tokens / c.ContextShare
	s.Context.Items = slices.DeleteFunc(items, func(item Consolidated) bool {
		n := c.tokens([]Consolidated{item})
		if n > room {
			return true
		}
		room -= n
		return false
	})
	s.Context.Topic = s.topic()
	s.Stale = false
}

// tokens estimates what items use: the canonical bytes of each value, divided
// and rounded up.
func (c BrainConstants) tokens(items []Consolidated) (n int64) {
	for _, item := range items {
		text, err := canon.Encode(item.Value, canon.MACEFixed9)
		if err != nil {
			panic("job: " + err.Error()) // Insert has encoded it
		}
		n += (int64(len(text)) + c.BytesPerToken - 1) / c.BytesPerToken
	}
	return n
}

// topic returns what the active goal that weighs most is about. Of equal ones
// the first by id counts.
func (s *BrainState) topic() string {
	var best *Goal
	for i := range s.Goals {
		g := &s.Goals[i]
		if g.Status == GoalActive && (best == nil || g.Priority > best.Priority || g.Priority == best.Priority && g.ID < best.ID) {
			best = g
		}
	}
	if best == nil {
		return ""
	}
	topic := best.Metadata.Get("topic").Str()
	if len(topic) > canon.MaxName {
		return ""
	}
	return topic
}

// attend moves attention by what council and user said. Without a council
// there is no reward.
func (s *BrainState) attend(c BrainConstants, council, user Word) {
	reward := Nano(0)
	if council != Silent {
		if c.CouncilOverrides && user != Silent {
			user = min(user, council)
		}
		reward = blend(c.RewardCouncil, council.nano(), c.RewardUser, user.nano())
	}
	s.Attend = Attention{
		Gain:    drift(s.Attend.Gain, c.AttentionDecay, reward, c.AttentionGain),
		Explore: drift(s.Attend.Explore, c.ExploreDecay, One-reward, c.ExploreGain),
		Reward:  reward,
	}
}

// judge ends goals: by what was attempted, then for want of budget, then
// because another active goal weighs more by over the margin.
func (s *BrainState) judge(c BrainConstants, attempts []Attempt) (ended []string) {
	end := func(g *Goal, status GoalStatus) {
		g.Status = status
		ended = append(ended, g.ID)
	}
	for _, a := range attempts {
		g := &s.Goals[slices.IndexFunc(s.Goals, func(g Goal) bool { return g.ID == a.Goal })]
		if g.Status != GoalActive {
			continue
		}
		if a.Deliverable && a.Confidence >= c.ConfidenceThreshold {
			end(g, GoalSucceeded)
			continue
		}
		g.Attempts++
		if a.Exhausted || g.Attempts >= c.MaxAttempts {
			end(g, GoalFailed)
		}
	}
	highest := Nano(0)
	for _, g := range s.Goals {
		if g.Status == GoalActive {
			highest = max(highest, g.Priority)
		}
	}
	for i := range s.Goals {
		g := &s.Goals[i]
		if g.Status == GoalActive && (s.Exhausted() || highest-g.Priority > c.PreemptMargin) {
			end(g, GoalPaused)
		}
	}
	return ended
}
