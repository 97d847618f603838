package job

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/det"
	"github.com/reprise-dev/reprise/kernel/effect"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// The codes of a replay, to the letter of the document (M-66 to M-71).
// INTEGRITY_FAILURE and MISSING_SNAPSHOT stand with the snapshots.
const (
	// ErrMissingOutput means that the output of an agent was not kept, or was
	// erased, and that nothing may stand in for it. The error names the
	// iteration. In a mode that allows mocks, give one.
	ErrMissingOutput fault.NotFound = "MISSING_PERSISTED_AGENT_OUTPUT"
	// ErrResult means that the final answer comes out differently.
	ErrResult fault.Diverged = "RESULT_MISMATCH"
	// ErrDivergence means that something that was computed on the way comes out
	// differently: the output of the router or of an agent, or a tick. The error
	// holds the canonical diff; the replay has stopped there.
	ErrDivergence fault.Diverged = "REPLAY_DIVERGENCE"
	// ErrForce means that somebody wants to go on behind a divergence without
	// the approval of an admin and of the council on that very divergence. Get
	// both, and replay again.
	ErrForce fault.Denied = "FORCE_CONTINUE_REQUIRED"
	// ErrReplayTimeout means that the replay took longer, or the job has more
	// iterations, than the governance snapshot allows.
	ErrReplayTimeout fault.Halted = "REPLAY_TIMEOUT"
	// ErrReplayMode means that there is no such mode, or that an option does not
	// go with it: production takes neither mocks nor agents that run again.
	ErrReplayMode fault.Invalid = "job.bad_replay_mode"
)

// Mode is how a job is replayed.
type Mode string

// The modes.
const (
	Audit      Mode = "audit"      // read-only; mocks where an output is missing
	Reexecute  Mode = "reexecute"  // agents may run again
	Production Mode = "production" // strict: from the record alone
)

// ParseMode reads a mode; none is [Audit] (M-47).
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Audit, nil
	case Audit, Reexecute, Production:
		return m, nil
	default:
		return "", fault.New(ErrReplayMode, "job.ParseMode", "there is no mode %.40q", s)
	}
}

// Rerun is a call of an agent that may be made again.
type Rerun struct {
	Iteration string // iteration_id
	Node      string
	Attempt   int64       // calls of the agent in that iteration that failed before
	Input     canon.Value // router_input_snapshot
	Recorded  canon.Value // the output that was kept; absent: none
	Failed    string      // the code with which the agent failed; empty: it answered

	asks question
}

// Call returns the call as the engine makes it now, out of the state that the
// replay has come to. The recorded one must equal it.
func (q Rerun) Call(a Agent) (effect.Call, error) {
	if a.Node != q.Node {
		return effect.Call{}, fault.New(ErrSpec, "job.Rerun.Call", "%s was asked, and not %s", q.Node, a.Node)
	}
	return q.asks.to(a)
}

// Ran is what came of an agent that ran again.
type Ran struct {
	// Asked is what was asked otherwise than then, in its order: of the agent,
	// or by the agent of its models and tools. What follows from that is no
	// difference of its own.
	Asked []Asked
	// Output is what the agent answered. Failed is the code with which it
	// failed instead.
	Output []byte
	Failed fault.Code
	// Mocked says that mocks stood in for its models or tools.
	Mocked bool
}

// Asked is a request that comes out differently.
type Asked struct {
	What string      // of whom: agent_call, model, http, mcp, …
	Diff canon.Value // [Diff] or [Differences]
}

// ReplayOptions say how a job is replayed. The zero options are an audit.
type ReplayOptions struct {
	Mode Mode

	// Mock returns an output, as an agent gives it, to stand in for one that was
	// not kept. It is asked in audit and reexecute only, and makes the result
	// non-authoritative. A mock that says something else is a difference.
	Mock func(Rerun) ([]byte, bool)
	// Again runs an agent again, in reexecute only; nil is for an agent that is
	// not to run. How is for the caller: its models and tools answer from the
	// journal or from mocks. The output is redacted as that of the run was, before
	// it is compared. An error says that the agent could not be run, and ends the
	// replay.
	Again func(Rerun) (*Ran, error)
	// Live says that somebody was called to answer: the result is then
	// non-authoritative (M-62), whatever the mode.
	Live func() bool

	// Force goes on behind divergences, if Approvals hold the acts of an admin
	// and of the council on the first of them ([Result.Matter]).
	Force     bool
	Approvals []govern.Admitted

	// Elapsed tells how long the replay has taken; nil: no time passes.
	Elapsed func() time.Duration
	// MaxTime and MaxIterations lower the limits of the governance snapshot;
	// 0: they are as they are there.
	MaxTime       time.Duration
	MaxIterations int64
}

// Step is a verification step, as the audit of a replay holds it (M-59).
type Step struct {
	Name     string // load_log, verify_log, verify_snapshot, …
	Subject  string // what was checked: an id
	Code     fault.Code
	Expected string // a digest, or empty
	Found    string
	Note     string
	Diff     canon.Value // absent if nothing differs
}

// OK reports whether the step found nothing wrong.
func (s Step) OK() bool { return s.Code == nil }

// Value returns the step as the audit holds it.
func (s Step) Value() canon.Value {
	code, diff := canon.Null(), canon.Null()
	if s.Code != nil {
		code = canon.String(s.Code.Error())
	}
	if !s.Diff.IsZero() {
		diff = s.Diff
	}
	return canon.Object(
		canon.M("code", code),
		canon.M("diff", diff),
		canon.M("expected", canon.Text(s.Expected).OrNull()),
		canon.M("found", canon.Text(s.Found).OrNull()),
		canon.M("note", canon.Text(s.Note).OrNull()),
		canon.M("ok", canon.Bool(s.OK())),
		canon.M("step", canon.String(s.Name)),
		canon.M("subject", canon.Text(s.Subject).OrNull()))
}

// Result is what a replay has found. It is there after an error too, as far as
// the replay came.
type Result struct {
	JobID         string
	Seed          det.Seed
	Mode          Mode
	Authoritative bool
	Why           []string // why it is not authoritative
	Steps         int64
	Iterations    int64
	Divergences   []Divergence
	Final         string // final_answer, recomputed
	Code          fault.Code
	Missing       []string
	Halt          bool          // FORCE_HALT_REPLAY is to be set: INTEGRITY_FAILURE, but not for want of a key
	Affected      []string      // the snapshot ids that it binds to; none: nobody could tell which
	Matter        govern.Matter // of the first divergence: what acts to force on must be about
}

// Value returns the result as REPLAY_RESULT holds it.
func (r *Result) Value() canon.Value {
	code := canon.Null()
	if r.Code != nil {
		code = canon.String(r.Code.Error())
	}
	return canon.Object(
		canon.M("authoritative", canon.Bool(r.Authoritative)),
		canon.M("code", code),
		canon.M("divergences", canon.ArrayOf(r.Divergences, func(d Divergence) canon.Value { return d.Value(r.Seed) })),
		canon.M("final_answer", canon.String(r.Final)),
		canon.M("force_halt", canon.Bool(r.Halt)),
		canon.M("iterations", canon.Int(r.Iterations)),
		canon.M("job_id", canon.String(r.JobID)),
		canon.M("missing", canon.Strings(r.Missing)),
		canon.M("mode", canon.String(string(r.Mode))),
		canon.M("non_authoritative_because", canon.Strings(r.Why)),
		canon.M("profile", canon.String(string(canon.MACEFixed9))),
		canon.M("steps", canon.Int(r.Steps)))
}

// Replay follows section 6 of the document: it checks what a job left behind,
// computes everything anew and compares it. Each step of the verification is
// given to see as it comes, which may be nil; an error of see ends the replay,
// since a replay that cannot be recorded did not happen. The result is never
// nil. The error has the code of what went wrong, with details.
func Replay(m Materials, o ReplayOptions, see func(Step) error) (*Result, error) {
	r := &replayer{m: m, o: o, see: see, result: &Result{Mode: o.Mode, Authoritative: true}}
	err := r.run()
	r.result.Code = fault.CodeOf(err)
	r.result.Halt = errors.Is(err, ErrIntegrity) && !errors.Is(err, ErrServerKey)
	switch {
	case !r.result.Halt:
		r.result.Affected = nil
	case r.result.Affected == nil && r.log != nil:
		r.result.Affected = slices.DeleteFunc(slices.Clone(r.log.Snapshots[:]), func(id string) bool { return id == "" })
	}
	r.authority()
	return r.result, err
}

// replayer is a replay at work.
type replayer struct {
	m      Materials
	o      ReplayOptions
	see    func(Step) error
	result *Result

	log    *Log
	rules  Governance // zero until its snapshot is verified
	set    Set
	events []Event
	forced bool // the first divergence may be passed
	mocked bool
	reran  bool
	routed RouteOutput // of the iteration that is replayed
	fresh  bool        // mocks stood in for models and tools of agents that ran again
}

func (r *replayer) run() error {
	mode, err := ParseMode(string(r.o.Mode))
	if err != nil {
		return err
	}
	r.o.Mode, r.result.Mode = mode, mode
	if mode == Production && (r.o.Mock != nil || r.o.Again != nil) || mode != Reexecute && r.o.Again != nil {
		return fault.New(ErrReplayMode, "job.Replay", "a %s replay takes no such agents or mocks", mode)
	}
	for _, step := range []func() error{
		r.loadLog, r.checkIDs, r.loadSnapshots, r.loadEvents, r.seedDraws, r.loadOutputs, r.materialise, r.iterations, r.final,
	} {
		if err := r.inTime(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// step records a step. A step that found something ends the replay with the
// error given.
func (r *replayer) step(s Step, err error) error {
	r.result.Steps++
	if err != nil && s.Code == nil {
		s.Code = fault.CodeOf(err)
	}
	if r.see != nil {
		if err := r.see(s); err != nil {
			return err
		}
	}
	return err
}

// inTime enforces the limits (M-102, M-103).
func (r *replayer) inTime() error {
	limit := time.Duration(math.MaxInt64) // until the snapshot that has it is verified
	if _, verified := r.set.Of(KindGovernance); verified {
		limit = time.Duration(r.rules.MaxReplayMS) * time.Millisecond
	}
	if r.o.MaxTime > 0 {
		limit = min(limit, r.o.MaxTime)
	}
	if r.o.Elapsed == nil || r.o.Elapsed() <= limit {
		return nil
	}
	return r.step(Step{Name: "limit", Subject: "max_replay_ms"},
		fault.New(ErrReplayTimeout, "job.Replay", "the replay took longer than %s", limit))
}

// broken is INTEGRITY_FAILURE for something that is not there or not sound.
func broken(cause error, missing, format string, args ...any) error {
	e := fault.New(ErrIntegrity, "job.Replay", format, args...)
	e.Err = cause
	if missing != "" {
		return e.With("missing: " + missing)
	}
	return e
}

// loadLog is step 1, with the signature, which comes before everything (M-09).
func (r *replayer) loadLog() error {
	b, err := r.m.Log()
	if errors.Is(err, ErrNoMaterial) {
		r.result.Missing = []string{"reflective_log"}
		return r.step(Step{Name: "load_log"}, broken(err, "reflective_log", "missing: the reflective log"))
	}
	if err != nil {
		return err
	}
	l, err := ParseLog(b)
	if err != nil {
		if e, ok := errors.AsType[*fault.Error](err); ok {
			for _, d := range e.Detail {
				if name, ok := strings.CutPrefix(d, "missing: "); ok {
					r.result.Missing = append(r.result.Missing, name)
				}
			}
		}
		return r.step(Step{Name: "load_log"}, err)
	}
	r.log, r.result.JobID, r.result.Seed = l, l.JobID, l.Seed
	if err := r.step(Step{Name: "load_log", Subject: LogID(l.Seed), Found: canon.SHA256(b).String()}, nil); err != nil {
		return err
	}
	key, err := r.key(l.KeyID)
	if err == nil {
		err = l.Check(key)
	}
	return r.step(Step{Name: "verify_log", Subject: LogID(l.Seed), Note: "key " + l.KeyID}, err)
}

// key returns a server key. One that is not at hand is an integrity failure
// that halts nothing.
func (r *replayer) key(id string) (Key, error) {
	k, err := r.m.Key(id)
	if errors.Is(err, ErrNoMaterial) {
		r.result.Missing = append(r.result.Missing, "server_key "+id)
		return Key{}, broken(fault.Wrap(ErrServerKey, "job.Replay", err, "ask operations for it"), "server_key "+id, "missing: server key %s", id)
	}
	return k, err
}

// checkIDs is step 2.
func (r *replayer) checkIDs() error {
	var missing []string
	for i, k := range kinds {
		if r.log.Snapshots[i] == "" {
			missing = append(missing, k.Field())
		}
	}
	return r.step(Step{Name: "snapshot_ids", Subject: r.log.JobID}, r.missingSnapshots(missing))
}

func (r *replayer) missingSnapshots(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	r.result.Missing = missing
	return fault.New(ErrMissingSnapshot, "job.Replay", "missing: %s", strings.Join(missing, ", ")).With(missing...)
}

// loadSnapshots is step 3.
func (r *replayer) loadSnapshots() error {
	var missing []string
	var raw [len(kinds)][]byte
	for i, k := range kinds {
		b, err := r.m.Snapshot(r.log.Snapshots[i])
		if errors.Is(err, ErrNoMaterial) {
			missing = append(missing, k.Field())
			continue
		}
		if err != nil {
			return err
		}
		raw[i] = b
	}
	if err := r.step(Step{Name: "load_snapshots", Subject: r.log.JobID}, r.missingSnapshots(missing)); err != nil {
		return err
	}
	var all []Snapshot
	for i, k := range kinds {
		id := r.log.Snapshots[i]
		s, err := r.snapshot(raw[i], k, id)
		if err != nil && !errors.Is(err, ErrServerKey) {
			r.result.Affected = []string{id}
		}
		if err := r.step(Step{Name: "verify_snapshot", Subject: id, Found: s.Address.String(), Note: string(k)}, err); err != nil {
			return err
		}
		all = append(all, s)
	}
	set, err := NewSet(all...)
	if err != nil {
		return err
	}
	held, _ := set.Of(KindGovernance)
	if r.rules, err = ParseGovernance(held.Content); err != nil {
		return broken(err, "", "the governance snapshot cannot be read")
	}
	r.set = set
	limit := r.rules.MaxIterations
	if r.o.MaxIterations > 0 {
		limit = min(limit, r.o.MaxIterations)
	}
	if n := int64(len(r.log.Iterations)); n > limit {
		return r.step(Step{Name: "limit", Subject: "iteration_cap"},
			fault.New(ErrReplayTimeout, "job.Replay", "the job has %d iterations; at most %d are replayed", n, limit))
	}
	return nil
}

func (r *replayer) snapshot(b []byte, k Kind, id string) (Snapshot, error) {
	s, err := ParseSnapshot(b)
	if err != nil {
		return s, err
	}
	key, err := r.key(s.KeyID)
	if s.KeyID != r.log.KeyID && err != nil {
		return s, broken(err, "", "the snapshot %s names another key than the log", id)
	}
	if err == nil {
		err = s.Check(key)
	}
	if err == nil && (s.ID != id || s.Kind != k) {
		err = broken(nil, "", "under the id %s stands the %s snapshot %s", id, s.Kind, s.ID)
	}
	return s, err
}

// loadEvents is step 4.
func (r *replayer) loadEvents() error {
	for i, ref := range r.log.Events {
		e, err := r.event(int64(i), ref)
		if err := r.step(Step{Name: "load_event", Subject: ref.ID, Expected: ref.Digest.String(), Note: ref.Type}, err); err != nil {
			return err
		}
		r.events = append(r.events, e)
	}
	return nil
}

func (r *replayer) event(i int64, ref EventRef) (Event, error) {
	if ref.Index != i {
		return Event{}, broken(nil, "", "event_refs are not dense: index %d stands at place %d", ref.Index, i)
	}
	b, err := r.m.Event(ref)
	if errors.Is(err, ErrNoMaterial) {
		r.result.Missing = []string{"event " + ref.ID}
		return Event{}, broken(err, "event "+ref.ID, "missing: event %s", ref.ID)
	}
	if err != nil {
		return Event{}, err
	}
	if got := canon.SHA256(b); got != ref.Digest {
		return Event{}, broken(nil, "", "event %s is not the one that the log names", ref.ID)
	}
	e, err := ParseEvent(b, r.log.Seed)
	if err != nil || e.Stamp.ID != ref.ID || e.Stamp.Index != ref.Index || e.Type != ref.Type {
		return Event{}, broken(err, "", "event %s is not of its form", ref.ID)
	}
	return e, nil
}

// seedDraws is step 5: what was drawn is drawn again.
func (r *replayer) seedDraws() error {
	for _, d := range r.log.Draws {
		var diff canon.Value
		err := r.log.Seed.Verify(d)
		if err != nil {
			diff = Diff(drawValue(d), drawValue(r.log.Seed.Draw(d.Label, d.N)))
		}
		if err := r.compared(Step{Name: "rng_draw", Subject: d.Label, Diff: diff}, ErrDivergence, -1, "rng_draw"); err != nil {
			return err
		}
	}
	return nil
}

// authority says whether the result counts (M-62, M-65).
func (r *replayer) authority() {
	for _, c := range []struct {
		applies bool
		why     string
	}{
		{r.result.Mode == Reexecute, "reexecute is a test"},
		{r.mocked, "mocks stood in for outputs that were not kept"},
		{r.reran, "agents ran again"},
		{r.fresh, "mocks stood in for models and tools"},
		{r.o.Live != nil && r.o.Live(), "live calls were made"},
		{r.o.Force, "force-continue was asked for"},
	} {
		if c.applies {
			r.result.Why = append(r.result.Why, c.why)
		}
	}
	r.result.Authoritative = len(r.result.Why) == 0
}
