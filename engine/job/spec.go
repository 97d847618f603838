package job

import (
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// ErrSpec means that a value is no job: a part is missing or not of its form, a
// snapshot of it is not signed, or an agent is named twice. Mend the job.
const ErrSpec fault.Invalid = "job.bad_job"

const (
	// Engine is the name of this engine in ledgers.
	Engine = "job"
	// JobMedia is the media type of a job as the open holds it.
	JobMedia = "application/vnd.reprise.job.v1+json"
	// SnapshotMedia is the media type of a snapshot as the open holds it.
	SnapshotMedia = "application/vnd.reprise.job-snapshot.v1+json; profile=mace-fixed9"

	jobContent      = "job"
	snapshotContent = "snapshot." // and the kind
)

// MaxJob is how many bytes a job may have.
const MaxJob = 64 << 20

// Persist says whether the outputs of agents are kept when a job is over.
type Persist string

// The choices. By default they are kept if the privacy snapshot says so, if the
// job is strict (M-100), or if it has changed semantic memory or governance
// (M-101).
const (
	PersistDefault Persist = "default"
	PersistAlways  Persist = "always"
	PersistNever   Persist = "never"
)

// Agent is a node that can be called, and how. The transport is an object whose
// member kind is the kind of the call, and whose member class, if it is there,
// is its effect class; the rest is for who makes the call.
type Agent struct {
	Node      string
	Transport canon.Value
}

// GoalSpec is what the job is to reach.
type GoalSpec struct {
	User, Heuristic Nano        // priorities, each of 0 to 1
	Metadata        canon.Value // an object; its member topic names the topic
}

// Spec is a job: all that decides in it besides its snapshots and its events.
type Spec struct {
	ID         string // empty: [DefaultID] of the seed
	Seed       det.Seed
	Query      string
	User       string
	Roles      []string // of who asks, sorted
	Candidates []string // sorted; none: the agents that may serve the query
	Goal       GoalSpec
	Agents     []Agent // by node
	Persist    Persist
	Strict     bool
	Consents   []Consent // that hold when the job begins
	Roster     govern.Roster
	Tenant     string // to which who votes must belong
	Semantic   Semantic
	Episodes   Episodes
}

// DefaultID returns the id of a job that is given none.
func DefaultID(seed det.Seed) string { return det.ID(string(seed), "job") }

// LogID returns reflective_log_id.
func LogID(seed det.Seed) string { return det.ID(string(seed), "log") }

// Value returns the job as the open holds it.
func (s *Spec) Value() canon.Value {
	metadata := s.Goal.Metadata
	if metadata.IsZero() {
		metadata = canon.Object()
	}
	return canon.Object(
		canon.M("agents", canon.ArrayOf(s.Agents, func(a Agent) canon.Value {
			return canon.Object(canon.M("node_id", canon.String(a.Node)), canon.M("transport", a.Transport))
		})),
		canon.M("candidate_list", canon.Strings(s.Candidates)),
		canon.M("consents", canon.ArrayOf(s.Consents, Consent.Value)),
		canon.M("episodes", canon.ArrayOf(s.Episodes.rows, Episode.Value)),
		canon.M("goal", canon.Object(
			canon.M("heuristic_score", s.Goal.Heuristic.Value()),
			canon.M("metadata", metadata),
			canon.M("user_specified", s.Goal.User.Value()))),
		canon.M("job_id", canon.String(s.ID)),
		canon.M("job_seed", canon.String(string(s.Seed))),
		canon.M("persist", canon.String(string(s.Persist))),
		canon.M("profile", canon.String(string(canon.MACEFixed9))),
		canon.M("query_text", canon.String(s.Query)),
		canon.M("roles", canon.Strings(s.Roles)),
		canon.M("roster", s.Roster.Value()),
		canon.M("semantic", s.Semantic.Value()),
		canon.M("strict", canon.Bool(s.Strict)),
		canon.M("tenant", canon.Text(s.Tenant).OrNull()),
		canon.M("user_id", canon.Text(s.User).OrNull()))
}

// ParseSpec reads what [Spec.Value] writes and nothing else. It refuses with
// [ErrSpec].
func ParseSpec(v canon.Value) (*Spec, error) {
	const op = "job.ParseSpec"
	r := newRecord(v, ErrSpec, op, "the job", "agents", "candidate_list", "consents", "episodes", "goal", "job_id", "job_seed", "persist", "profile",
		"query_text", "roles", "roster", "semantic", "strict", "tenant", "user_id")
	s := &Spec{
		ID: r.Name("job_id"), Seed: det.Seed(r.Name("job_seed")), Query: r.Text("query_text", maxText), User: r.TextOrNull("user_id", canon.MaxName),
		Roles: r.set("roles"), Candidates: r.set("candidate_list"),
		Persist: Persist(r.Word("persist", string(PersistDefault), string(PersistAlways), string(PersistNever))),
		Strict:  r.Bool("strict"), Tenant: r.TextOrNull("tenant", canon.MaxName),
	}
	r.Word("profile", string(canon.MACEFixed9))
	g := r.sub("goal", "heuristic_score", "metadata", "user_specified")
	s.Goal = GoalSpec{User: g.unit("user_specified"), Heuristic: g.unit("heuristic_score"), Metadata: g.Value.Get("metadata")}
	r.Take("goal", g.Err)
	for _, e := range r.list("agents") {
		a := newRecord(e, ErrSpec, op, "an agent", "node_id", "transport")
		agent := Agent{Node: a.Name("node_id"), Transport: e.Get("transport")}
		if _, err := agent.class(); err != nil || agent.Transport.Get("kind").Str() == "" {
			a.Fail("the transport of %q has no kind, or a class that is none", agent.Node)
		}
		if n := len(s.Agents); n > 0 && s.Agents[n-1].Node >= agent.Node {
			a.Fail("the agents are not sorted by node, or %q is there twice", agent.Node)
		}
		r.Take("agents", a.Err)
		s.Agents = append(s.Agents, agent)
	}
	for _, e := range r.list("consents") {
		c, err := ParseConsent(e)
		r.Take("consents", err)
		s.Consents = append(s.Consents, c)
	}
	if list := v.Get("episodes"); list.Kind() != canon.KindArray || list.Len() > maxEpisodes {
		r.Fail("the job's episodes are no list of at most %d elements", maxEpisodes)
	}
	for _, e := range v.Get("episodes").Elems() {
		row, err := ParseEpisode(e)
		if err == nil {
			s.Episodes, err = s.Episodes.Add(row)
		}
		if r.Take("episodes", err); r.Err != nil {
			break
		}
	}
	var err error
	s.Roster, err = govern.ParseRoster(v.Get("roster"))
	r.Take("roster", err)
	s.Semantic, err = ParseSemantic(v.Get("semantic"))
	r.Take("semantic", err)
	if r.Err != nil {
		return nil, r.Err
	}
	return s, nil
}

// class returns the effect class of calls of the agent: external, unless its
// transport says otherwise. Nobody knows what an agent does.
func (a Agent) class() (effect.Class, error) {
	if !a.Transport.Has("class") {
		return effect.External, nil
	}
	c := effect.Class(a.Transport.Get("class").Str())
	if !slices.Contains([]effect.Class{effect.Pure, effect.Read, effect.External, effect.Irreversible}, c) {
		return "", fault.New(ErrSpec, "job.Agent", "%q is no effect class", c)
	}
	return c, nil
}

// Contents returns what the open of the job's ledger holds: the job, which gets
// its id if it has none, and the five snapshots, each of them signed. It refuses
// with [ErrSpec], [ErrSnapshot] or MISSING_SNAPSHOT.
func (s *Spec) Contents(set Set) ([]ledger.Content, error) {
	const op = "job.Spec.Contents"
	full := *s
	if full.ID == "" {
		full.ID = DefaultID(s.Seed)
	}
	if full.Persist == "" {
		full.Persist = PersistDefault
	}
	full.Agents = slices.SortedFunc(slices.Values(s.Agents), func(a, b Agent) int { return strings.Compare(a.Node, b.Node) })
	full.Roles, full.Candidates = slices.Sorted(slices.Values(s.Roles)), slices.Sorted(slices.Values(s.Candidates))
	b, err := canon.Encode(full.Value(), canon.MACEFixed9)
	if err != nil {
		return nil, fault.Wrap(ErrSpec, op, err, "the job")
	}
	contents := []ledger.Content{{Name: jobContent, Type: JobMedia, Bytes: b}}
	for _, k := range kinds {
		snapshot, ok := set.Of(k)
		if !ok {
			return nil, fault.New(ErrMissingSnapshot, op, "missing: %s", k.Field()).With(set.Missing()...)
		}
		b, err := snapshot.Bytes()
		if err != nil {
			return nil, err
		}
		contents = append(contents, ledger.Content{Name: snapshotContent + string(k), Type: SnapshotMedia, Bytes: b})
	}
	if _, _, err := readOpen(contents); err != nil {
		return nil, err
	}
	return contents, nil
}

// Summary returns the data of the open: the ids of the job and its snapshots
// (M-03).
func (s *Spec) Summary(set Set) canon.Value {
	id := s.ID
	if id == "" {
		id = DefaultID(s.Seed)
	}
	return canon.Object(append(set.Members(), canon.M("job_id", canon.String(id)), canon.M("job_seed", canon.String(string(s.Seed))))...)
}

// readOpen reads the contents of an open.
func readOpen(contents []ledger.Content) (*Spec, Set, error) {
	const op = "job.readOpen"
	var spec *Spec
	var snapshots []Snapshot
	for _, c := range contents {
		switch {
		case c.Name == jobContent && c.Type == JobMedia && spec == nil:
			v, err := parseFixed(c.Bytes, MaxJob)
			if err != nil {
				return nil, Set{}, fault.Wrap(ErrSpec, op, err, "the job")
			}
			if spec, err = ParseSpec(v); err != nil {
				return nil, Set{}, err
			}
		case c.Type == SnapshotMedia:
			s, err := ParseSnapshot(c.Bytes)
			if err != nil {
				return nil, Set{}, err
			}
			if err := s.provenance(); err != nil {
				return nil, Set{}, err
			}
			if c.Name != snapshotContent+string(s.Kind) {
				return nil, Set{}, fault.New(ErrSpec, op, "the content %q holds a %s snapshot", c.Name, s.Kind)
			}
			snapshots = append(snapshots, s)
		}
	}
	if spec == nil {
		return nil, Set{}, fault.New(ErrSpec, op, "the open holds no job")
	}
	set, err := NewSet(snapshots...)
	if err != nil {
		return nil, Set{}, err
	}
	if missing := set.Missing(); len(missing) > 0 {
		return nil, Set{}, fault.New(ErrMissingSnapshot, op, "the open holds not all five snapshots").With(missing...)
	}
	return spec, set, nil
}
