package job

import (
	"slices"
	"strconv"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	// LogContent is the name of the content that holds the reflective log.
	LogContent = "log"
	// LogMedia is the media type of the reflective log.
	LogMedia = "application/vnd.reprise.reflective-log.v1+json; profile=mace-fixed9"
	// MaxLog is how many bytes a reflective log may have.
	MaxLog = 256 << 20

	logVersion   = "1.0"
	logGenerator = "sha256(job_seed:log)"
	logTag       = "reprise/job/log-mac/v1\n"

	maxLogEvents = 1 << 20
)

// Log is the reflective log of a job: everything that a replay needs to know
// about it, or where to find it (M-24 to M-30).
type Log struct {
	Premise
	Snapshots  [len(kinds)]string // ids, in the order of [Kinds]; empty: it names none
	Events     []EventRef
	Iterations []Iteration
	Writes     []Write
	Final      string     // final_answer
	Error      string     // the code of what the final answer is about, or empty
	Ends       Ends       // of the states
	Draws      []det.Draw // M-12
	Replayable bool       // REPLAYABLE (M-78, M-79)
	Missing    []string   // what a production replay lacks
	Warnings   []string   // constants that the brain state snapshot lacked, for operations
	Profile    canon.Profile
	Generator  string
	Version    string
	KeyID      string
	MAC        canon.Digest
}

// Ends are the digests of the states at the end of a job.
type Ends struct {
	SelfRep, Brain, Semantic string
}

// Iteration is one line of iteration_trace. All but the numbers are as they
// were recorded, so that a replay compares what was written.
type Iteration struct {
	ID       string
	Number   int64
	Event    string      // event_id of the router's decision
	Input    canon.Value // router_input_snapshot
	Router   canon.Value // router_output
	OutputID string      // agent_output_id; empty: no agent has answered
	Digest   canon.Digest
	Output   canon.Value // agent_output; absent if it was not kept
	Failures []string    // event_ids
	Tick     canon.Value // its event, input, report and the digest of the state after it
}

// Value returns the iteration as the log holds it.
func (it Iteration) Value() canon.Value {
	output, digest := canon.Null(), canon.Null()
	if !it.Output.IsZero() {
		output = it.Output
	}
	if it.OutputID != "" {
		digest = canon.String(it.Digest.String())
	}
	return canon.Object(
		canon.M("agent_output", output),
		canon.M("agent_output_digest", digest),
		canon.M("agent_output_id", canon.Text(it.OutputID).OrNull()),
		canon.M("failures", canon.Strings(it.Failures)),
		canon.M("iteration", canon.Int(it.Number)),
		canon.M("iteration_id", canon.String(it.ID)),
		canon.M("router_event_id", canon.String(it.Event)),
		canon.M("router_input_snapshot", it.Input),
		canon.M("router_output", it.Router),
		canon.M("tick", it.Tick))
}

func readIteration(r record, v canon.Value) Iteration {
	f := newRecord(v, r.Code, r.Op, "iteration", "agent_output", "agent_output_digest", "agent_output_id", "failures", "iteration", "iteration_id",
		"router_event_id", "router_input_snapshot", "router_output", "tick")
	it := Iteration{
		ID: f.digest("iteration_id"), Number: f.Count("iteration", maxList), Event: f.digest("router_event_id"),
		Input: v.Get("router_input_snapshot"), Router: v.Get("router_output"), Failures: f.names("failures"), Tick: v.Get("tick"),
	}
	if !v.Get("agent_output_id").IsNull() {
		it.OutputID = f.digest("agent_output_id")
		it.Digest, _ = canon.ParseDigest(f.digest("agent_output_digest"))
	} else if !v.Get("agent_output_digest").IsNull() || !v.Get("agent_output").IsNull() {
		f.Fail("an output without an id")
	}
	if !v.Get("agent_output").IsNull() {
		it.Output = v.Get("agent_output")
	}
	r.Take("iteration_trace", f.Err)
	return it
}

// snapshotMembers names the five snapshots.
func (l *Log) snapshotMembers() []canon.Member {
	members := make([]canon.Member, len(kinds))
	for i, k := range kinds {
		members[i] = canon.M(k.Field(), canon.Text(l.Snapshots[i]).OrNull())
	}
	return members
}

// signed returns what the MAC is over: all but itself.
func (l *Log) signed() canon.Value {
	return canon.Object(append(l.snapshotMembers(),
		canon.M("end_states", canon.Object(
			canon.M("brainstate", canon.String(l.Ends.Brain)),
			canon.M("selfrep", canon.String(l.Ends.SelfRep)),
			canon.M("semantic", canon.String(l.Ends.Semantic)))),
		canon.M("error", canon.Text(l.Error).OrNull()),
		canon.M("event_refs", canon.ArrayOf(l.Events, EventRef.value)),
		canon.M("final_answer", canon.String(l.Final)),
		canon.M("generator", canon.String(l.Generator)),
		canon.M("iteration_trace", canon.ArrayOf(l.Iterations, Iteration.Value)),
		canon.M("job_id", canon.String(l.JobID)),
		canon.M("job_seed", canon.String(string(l.Seed))),
		canon.M("key_id", canon.String(l.KeyID)),
		canon.M("log_id", canon.String(LogID(l.Seed))),
		canon.M("memory_writes", canon.ArrayOf(l.Writes, Write.value)),
		canon.M("missing", canon.Strings(l.Missing)),
		canon.M("premise", l.value()),
		canon.M("profile", canon.String(string(l.Profile))),
		canon.M("replayable", canon.Bool(l.Replayable)),
		canon.M("rng_draws", canon.ArrayOf(l.Draws, drawValue)),
		canon.M("schema_version", canon.String(l.Version)),
		canon.M("warnings", canon.Strings(l.Warnings)))...)
}

// Message returns the bytes that the MAC is over.
func (l *Log) Message() ([]byte, error) {
	b, err := canon.Encode(l.signed(), canon.MACEFixed9)
	if err != nil {
		return nil, fault.Wrap(ErrIntegrity, "job.Log.Message", err, "the reflective log of job %s", l.JobID)
	}
	if len(b) > MaxLog-256 {
		return nil, fault.New(ErrIntegrity, "job.Log.Message", "the reflective log of job %s has %d bytes; the most is %d", l.JobID, len(b), MaxLog)
	}
	return b, nil
}

// Bytes returns the canonical bytes of the log with its MAC: what is stored.
func (l *Log) Bytes() ([]byte, error) {
	v := l.signed()
	b, err := canon.Encode(canon.Object(append(slices.Clone(v.Members()), canon.M("mac", canon.String(l.MAC.String())))...), canon.MACEFixed9)
	if err != nil {
		return nil, fault.Wrap(ErrIntegrity, "job.Log.Bytes", err, "the reflective log of job %s", l.JobID)
	}
	return b, nil
}

// Seal signs the log with the key (M-08).
func (l *Log) Seal(key Key) error {
	l.KeyID = key.ID
	b, err := l.Message()
	if err != nil {
		return err
	}
	l.MAC, err = sign.MAC(key.Secret, []byte(logTag), b)
	return err
}

// Check refuses with INTEGRITY_FAILURE a log that is not signed with the key
// that it names; without that key it is that too, and [ErrServerKey].
func (l *Log) Check(keys ...Key) error {
	const op = "job.Log.Check"
	i := slices.IndexFunc(keys, func(k Key) bool { return k.ID == l.KeyID })
	if i < 0 {
		cause := fault.New(ErrServerKey, op, "the server key %q is not at hand", l.KeyID)
		return fault.Wrap(ErrIntegrity, op, cause, "the reflective log of job %s cannot be checked", l.JobID)
	}
	b, err := l.Message()
	if err != nil {
		return err
	}
	if err := sign.CheckMAC(keys[i].Secret, l.MAC[:], []byte(logTag), b); err != nil {
		return fault.Wrap(ErrIntegrity, op, err, "the signature of the reflective log of job %s does not fit", l.JobID)
	}
	return nil
}

// ParseLog reads what [Log.Bytes] returns and nothing else. Other bytes are
// INTEGRITY_FAILURE; where something is missing that a replay needs, the details
// name it. The signature is for [Log.Check].
func ParseLog(b []byte) (*Log, error) {
	const op = "job.ParseLog"
	v, err := parseFixed(b, MaxLog)
	if err != nil {
		return nil, fault.Wrap(ErrIntegrity, op, err, "these bytes are no reflective log")
	}
	if p := v.Get("profile").Str(); p != string(canon.MACEFixed9) {
		return nil, fault.New(ErrIntegrity, op, "missing: serializer profile %q", p).With("missing: serializer_profile")
	}
	if v.Get("job_seed").Str() == "" {
		return nil, fault.New(ErrIntegrity, op, "missing: job_seed").With("missing: job_seed")
	}
	if v.Get("job_id").Str() == "" {
		return nil, fault.New(ErrIntegrity, op, "missing: job_id").With("missing: job_id")
	}
	names := []string{
		"end_states", "error", "event_refs", "final_answer", "generator", "iteration_trace", "job_id", "job_seed", "key_id", "log_id", "mac",
		"memory_writes", "missing", "premise", "profile", "replayable", "rng_draws", "schema_version", "warnings",
	}
	for _, k := range kinds {
		names = append(names, k.Field())
	}
	r := newRecord(v, ErrIntegrity, op, "the log", names...)
	l := &Log{
		Final: r.Text("final_answer", maxOutput), Error: r.TextOrNull("error", canon.MaxName), Replayable: r.Bool("replayable"),
		Missing: r.names("missing"), Warnings: r.names("warnings"), Profile: canon.MACEFixed9,
		Generator: r.Word("generator", logGenerator), Version: r.Word("schema_version", logVersion), KeyID: r.Name("key_id"),
	}
	l.MAC, _ = canon.ParseDigest(r.digest("mac"))
	e := r.sub("end_states", "brainstate", "selfrep", "semantic")
	l.Ends = Ends{Brain: e.digest("brainstate"), SelfRep: e.digest("selfrep"), Semantic: e.digest("semantic")}
	r.Take("end_states", e.Err)
	for i, k := range kinds {
		if !v.Get(k.Field()).IsNull() {
			l.Snapshots[i] = r.digest(k.Field())
		}
	}
	refs := v.Get("event_refs")
	if refs.Kind() != canon.KindArray || refs.Len() > maxLogEvents {
		r.Fail("event_refs is no list of at most %d elements", maxLogEvents)
	}
	for _, e := range refs.Elems() {
		if l.Events = append(l.Events, readRef(r, e)); r.Err != nil {
			return nil, r.Err
		}
	}
	for _, e := range r.list("iteration_trace") {
		l.Iterations = append(l.Iterations, readIteration(r, e))
	}
	for _, e := range r.list("memory_writes") {
		w := newRecord(e, ErrIntegrity, op, "memory_write", "event_id", "event_type", "id")
		l.Writes = append(l.Writes, Write{Event: w.digest("event_id"), Type: w.Name("event_type"), ID: w.Name("id")})
		r.Take("memory_writes", w.Err)
	}
	for _, e := range r.list("rng_draws") {
		l.Draws = append(l.Draws, readDraw(r, e))
	}
	l.Premise, err = parsePremise(v.Get("premise"))
	r.Take("premise", err)
	if l.JobID, l.Seed = r.Name("job_id"), det.Seed(r.Name("job_seed")); r.Err == nil && r.digest("log_id") != LogID(l.Seed) {
		r.Fail("log_id is not that of the seed")
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return l, nil
}

func drawValue(d det.Draw) canon.Value {
	return canon.Object(
		canon.M("label", canon.String(d.Label)),
		canon.M("n", canon.Int(int64(d.N))), // a count of iterations
		canon.M("value", canon.String(strconv.FormatUint(d.Value, 10))))
}

func readDraw(r record, v canon.Value) det.Draw {
	f := newRecord(v, r.Code, r.Op, "draw", "label", "n", "value")
	d := det.Draw{Label: f.Name("label"), N: uint64(f.Count("n", maxCount))}
	var err error
	if d.Value, err = strconv.ParseUint(f.Name("value"), 10, 64); err != nil || strconv.FormatUint(d.Value, 10) != v.Get("value").Str() {
		f.Fail("the value is no number of 64 bits")
	}
	r.Take("rng_draws", f.Err)
	return d
}

// value returns the premise as the log holds it; id and seed stand beside it.
func (p Premise) value() canon.Value {
	metadata := p.Goal.Metadata
	if metadata.IsZero() {
		metadata = canon.Object()
	}
	return canon.Object(
		canon.M("candidate_list", canon.Strings(p.Candidates)),
		canon.M("episodes", canon.ArrayOf(p.Episodes.rows, Episode.Value)),
		canon.M("goal", canon.Object(
			canon.M("heuristic_score", p.Goal.Heuristic.Value()),
			canon.M("metadata", metadata),
			canon.M("user_specified", p.Goal.User.Value()))),
		canon.M("pii", canon.Bool(p.Blocked)),
		canon.M("query_text", canon.String(p.Query)),
		canon.M("roles", canon.Strings(p.Roles)),
		canon.M("roster", p.Roster.Value()),
		canon.M("semantic", p.Semantic.Value()),
		canon.M("tenant", canon.Text(p.Tenant).OrNull()),
		canon.M("user_id", canon.Text(p.User).OrNull()))
}

func parsePremise(v canon.Value) (Premise, error) {
	const op = "job.ParseLog"
	r := newRecord(v, ErrIntegrity, op, "the premise", "candidate_list", "episodes", "goal", "pii", "query_text", "roles", "roster", "semantic", "tenant", "user_id")
	p := Premise{
		Query: r.Text("query_text", maxText), Blocked: r.Bool("pii"), User: r.TextOrNull("user_id", canon.MaxName), Roles: r.set("roles"),
		Candidates: r.set("candidate_list"), Tenant: r.TextOrNull("tenant", canon.MaxName),
	}
	g := r.sub("goal", "heuristic_score", "metadata", "user_specified")
	p.Goal = GoalSpec{User: g.unit("user_specified"), Heuristic: g.unit("heuristic_score"), Metadata: g.Value.Get("metadata")}
	r.Take("goal", g.Err)
	var err error
	for _, e := range v.Get("episodes").Elems() {
		row, err := ParseEpisode(e)
		if err == nil {
			p.Episodes, err = p.Episodes.Add(row)
		}
		if r.Take("episodes", err); r.Err != nil {
			return Premise{}, r.Err
		}
	}
	p.Roster, err = govern.ParseRoster(v.Get("roster"))
	r.Take("roster", err)
	p.Semantic, err = ParseSemantic(v.Get("semantic"))
	r.Take("semantic", err)
	return p, r.Err
}
